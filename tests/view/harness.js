// SPDX-License-Identifier: Apache-2.0
// A browser for tests of the page: opening pages, what is on the screen, and counting what holds.
'use strict';
const path = require('path');
const fs = require('fs');
const { chromium } = require('playwright-core');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const counts = { passed: 0, failed: 0 };

function check(what, good, detail) {
  if (good) {
    counts.passed++;
  } else {
    counts.failed++;
    console.log(`FAIL ${what}${detail === undefined ? '' : ': ' + JSON.stringify(detail)}`);
  }
}

class Pages {
  constructor(folder, executable) {
    this.folder = folder;
    this.executable = executable;
    this.free = []; // pages that are closed
    this.opened = 0;
  }

  async start() {
    this.browser = await chromium.launch({ executablePath: this.executable, timeout: 0,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  }

  // A page of the browser, where nothing is open.
  async fresh() {
    const p = await (await this.browser.newContext()).newPage();
    p.setDefaultTimeout(0);
    p.on('pageerror', (e) => p.complaints.push(String(e.stack || e)));
    p.on('console', (m) => m.type() === 'error' && p.complaints.push(m.text()));
    p.on('request', (r) => /^(file|data|blob):/.test(r.url()) ||
      p.address && r.url().startsWith(p.address) || p.complaints.push(r.url()));
    return p;
  }

  // A page of the folder, ready to be used; whatever it complains of is a failure. A process of
  // the browser shows one after the other: to start it takes as long as three pages. The number
  // makes each a page of its own, whatever comes after the '#'.
  async open(name, { address, hash = '', width = 1280, height = 800, scheme = 'light' } = {}) {
    const p = this.free.pop() || await this.fresh();
    Object.assign(p, { complaints: [], address });
    await p.setViewportSize({ width, height });
    await p.emulateMedia({ media: null, colorScheme: scheme });
    const file = `file://${path.join(this.folder, name)}.html?${this.opened++}`;
    await p.goto((address || file) + hash);
    await p.waitForSelector('#app[data-ready]');
    await this.settle(p);
    return p;
  }

  async settle(p) {
    await p.evaluate(() => window.tailorView.idle());
  }

  async close(p, what) {
    check(`${what}: no complaint of the browser`, !p.complaints.length, p.complaints);
    await p.evaluate(() => [localStorage, sessionStorage].forEach((s) => s.clear()));
    await p.mouse.move(0, 0);
    this.free.push(p);
  }
}

// The state of the page: what tests ask of it.
function state(p) {
  return p.evaluate(() => {
    const app = window.tailorView, names = (w) => app.nameOf(w);
    return { ...app.state, names: app.state.selection.map(names), items: app.scene.count,
      nodes: app.graph.n, theme: app.theme, k: app.view.k, x: app.view.x, y: app.view.y,
      open: [...app.open].filter((id) => app.graph.tree.groups.has(id)).sort() };
  });
}

// Where on the page the item of a node (by a part of 'op name') or of a group (by its title) is.
function where(p, text, side = 0) {
  return p.evaluate(([wanted, half]) => {
    const app = window.tailorView, u = app.graph;
    let item = null;
    for (const g of app.scene.byGroup.values())
      if (!item && g.texts && g.texts.title === wanted) item = g;
    for (let i = 0; i < u.n && !item; i++)
      if (`${u.op(i)} ${u.name(i)}`.includes(wanted) && app.scene.itemOf[i].node === i)
        item = app.scene.itemOf[i];
    if (!item) return null;
    const port = [app.stage.left, app.stage.right][half], v = app.view;
    const box = port.canvas.getBoundingClientRect();
    const y = item.open ? 12 : item.h / 2;
    return { x: box.left + (item.x + item.w / 2) * v.k + v.x, y: box.top + (item.y + y) * v.k + v.y,
      left: box.left + (item.x + 14) * v.k + v.x, top: box.top + (item.y + 18) * v.k + v.y,
      key: app.whatOf(item), open: item.open };
  }, [text, side]);
}

async function clickOn(p, text, options = {}) {
  const at = await where(p, text);
  if (!at) throw new Error(`${text} is not on the screen`);
  await p.mouse.click(at.x, at.y, options);
}

// How many pixels of a canvas have about a colour of the palette.
function pixels(p, colour, side = 0) {
  return p.evaluate(([name, half]) => {
    const app = window.tailorView, port = [app.stage.left, app.stage.right][half];
    port.draw();
    const hex = app.palette[name] || name, want = [1, 3, 5].map((i) =>
      parseInt(hex.slice(i, i + 2), 16));
    const { width, height } = port.canvas;
    const { data } = port.canvas.getContext('2d').getImageData(0, 0, width, height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (want.every((x, c) => Math.abs(data[i + c] - x) <= 3)) count++;
    return count;
  }, [colour, side]);
}

// Serious findings of axe-core.
async function accessible(p, what) {
  await p.evaluate(AXE);
  const found = await p.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`);
  });
  check(`${what}: accessible`, !found.length, found);
}

module.exports = { Pages, accessible, check, clickOn, counts, pixels, state, where };
