// SPDX-License-Identifier: Apache-2.0
// The order of all nodes that a model has in any state, as a list: a new node stands behind the one
// that was before it when it came, and nodes that are gone keep their place.

class NodeOrder {
  constructor() {
    this.next = new Map();
    this.first = -1;
    this.last = -1;
    this.stale = true;
  }

  has(id) {
    return this.next.has(id);
  }

  append(id) {
    if (this.last < 0) this.first = id;
    else this.next.set(this.last, id);
    this.next.set(id, -1);
    this.last = id;
    this.stale = true;
  }

  // Behind `before`, or first where that is none.
  insert(id, before) {
    if (this.has(id)) return;
    if (before < 0 || !this.has(before)) {
      this.next.set(id, this.first);
      if (this.first < 0) this.last = id;
      this.first = id;
    } else {
      this.next.set(id, this.next.get(before));
      this.next.set(before, id);
      if (this.last === before) this.last = id;
    }
    this.stale = true;
  }

  // These come in this order now; what is not among them stays behind what it stood behind.
  arrange(ids) {
    const chosen = new Set(ids), tails = new Map();
    let before = -1;
    for (let id = this.first; id >= 0; id = this.next.get(id)) {
      if (chosen.has(id)) before = id;
      else if (tails.has(before)) tails.get(before).push(id);
      else tails.set(before, [id]);
    }
    this.next.clear();
    this.first = this.last = -1;
    for (const id of [-1, ...ids]) {
      if (id >= 0) this.append(id);
      for (const other of tails.get(id) || []) this.append(other);
    }
  }

  // id -> place.
  places(count) {
    if (!this.stale && this.kept.length >= count) return this.kept;
    this.kept = new Int32Array(count);
    let at = 0;
    for (let id = this.first; id >= 0; id = this.next.get(id)) this.kept[id] = at++;
    this.stale = false;
    return this.kept;
  }
}
