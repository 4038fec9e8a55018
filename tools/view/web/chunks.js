// SPDX-License-Identifier: Apache-2.0
// The model's data: blocks in the page, or with `--serve` what the address /chunk/NAME gives.
// Texts are JSON, raw-deflated where that pays.

const SERVED = document.documentElement.dataset.serve === '1';

function bytesOfBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).text();
}

class Chunks {
  constructor() {
    this.blocks = new Map();
    this.loaded = new Map();
    this.loading = 0;
    for (const e of document.querySelectorAll('script[data-chunk]'))
      this.blocks.set(e.dataset.chunk, e);
    this.names = new Set(this.blocks.keys());
  }

  // After the index came: what there is.
  know(index) {
    for (const name of index.chunks || []) this.names.add(name);
  }

  has(name) {
    return this.names.has(name);
  }

  // The chunk, or null where the file has none.
  get(name) {
    if (!this.loaded.has(name)) {
      this.loading++;
      this.loaded.set(name, this.read(name).finally(() => this.loading--));
    }
    return this.loaded.get(name);
  }

  async read(name) {
    const block = this.blocks.get(name);
    if (block) {
      const text = block.textContent;
      block.remove();
      return JSON.parse(block.dataset.form === 'deflate' ? await inflate(bytesOfBase64(text.trim()))
        : text);
    }
    if (!SERVED || (name !== 'index' && !this.has(name))) return null;
    const answer = await fetch('/chunk/' + encodeURIComponent(name));
    if (!answer.ok) return null;
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const first = bytes[0];
    const plain = first === 0x7b || first === 0x5b; // '{' and '[' begin no deflated text of ours
    return JSON.parse(plain ? new TextDecoder().decode(bytes) : await inflate(bytes));
  }
}
