// SPDX-License-Identifier: Apache-2.0
// The graph that is drawn: the nodes of one state, or those of two, each with what became of it.
// A node has a key that stays the same in all passes (selection and permalinks hold keys): the id
// of the model, or for what only the second model of a comparison has, SECOND plus its id there.

const SAME = 0, ADDED = 1, REMOVED = 2, CHANGED = 3;

class Union {
  // a, b: {model, state}, before and after; a may be null. keyOfB: id in b -> key.
  constructor(a, b, keyOfB, touched) {
    this.a = a;
    this.b = b;
    this.key = [];
    this.recordA = [];
    this.recordB = [];
    this.status = [];
    this.indexOf = new Map();
    this.merge(keyOfB, touched);
    this.n = this.key.length;
    this.edges();
  }

  merge(keyOfB, touched) {
    const { a, b } = this, idB = new Map();
    for (const id of b.state.live) idB.set(keyOfB ? keyOfB(id) : id, id);
    const put = (key, ra, rb, status) => {
      this.indexOf.set(key, this.key.length);
      this.key.push(key);
      this.recordA.push(ra);
      this.recordB.push(rb);
      this.status.push(status);
    };
    if (!a) {
      for (const [key, id] of idB) put(key, -1, b.state.recordOf[id], SAME);
      return;
    }
    // Both lists are in topological order; what is in both keeps them in step.
    const listB = [...idB.entries()], inA = new Set(a.state.live);
    let next = 0;
    const upTo = (key) => {
      for (; next < listB.length && listB[next][0] !== key; next++) {
        const [k, id] = listB[next];
        if (!inA.has(k)) put(k, -1, b.state.recordOf[id], ADDED);
        else if (!this.indexOf.has(k)) return;
      }
    };
    for (const key of a.state.live) {
      const id = idB.get(key), ra = a.state.recordOf[key];
      if (id === undefined) {
        put(key, ra, -1, REMOVED);
        continue;
      }
      upTo(key);
      const rb = b.state.recordOf[id];
      put(key, ra, rb, touched ? (touched.has(key) ? CHANGED : SAME) : ra === rb ? SAME : CHANGED);
      while (next < listB.length && this.indexOf.has(listB[next][0])) next++;
    }
    for (const [k, id] of listB)
      if (!this.indexOf.has(k)) put(k, -1, b.state.recordOf[id], ADDED);
  }

  // Edges between nodes: from, to (indexes), bits of the sides (1 before, 2 after), value; value -1
  // is an order without a value.
  edges() {
    const from = [], to = [], side = [], value = [], seen = new Map();
    const add = (u, v, bit, val) => {
      if (u < 0 || v < 0 || u === v) return;
      const both = this.a !== null;
      const name = both ? u * this.n + v : 0;
      if (both && seen.has(name) && val >= 0) {
        side[seen.get(name)] |= bit;
        return;
      }
      if (both) seen.set(name, from.length);
      from.push(u);
      to.push(v);
      side.push(bit);
      value.push(val);
    };
    for (const [part, bit, list] of [[this.a, 1, this.recordA], [this.b, 2, this.recordB]])
      if (part) this.edgesOf(part, bit, list, add);
    this.from = Int32Array.from(from);
    this.to = Int32Array.from(to);
    this.side = Uint8Array.from(side);
    this.value = Int32Array.from(value);
    this.neighbours();
  }

  edgesOf(part, bit, list, add) {
    const { model, state } = part, ins = model.records.ins, indexOfId = new Int32Array(
      state.recordOf.length).fill(-1);
    for (let i = 0; i < this.n; i++)
      if (list[i] >= 0) indexOfId[model.records.id[list[i]]] = i;
    for (let i = 0; i < this.n; i++) {
      if (list[i] < 0) continue;
      for (const v of ins[list[i]]) {
        const p = v >= 0 ? state.producer[v] : -1;
        if (p >= 0) add(indexOfId[p], i, bit, v);
      }
    }
    for (const [p, q] of state.control) add(indexOfId[p] ?? -1, indexOfId[q] ?? -1, bit, -1);
  }

  // Lists of edges by where they start and where they end.
  neighbours() {
    this.outAt = new Int32Array(this.n + 1);
    this.inAt = new Int32Array(this.n + 1);
    const count = this.from.length;
    for (let e = 0; e < count; e++) {
      this.outAt[this.from[e] + 1]++;
      this.inAt[this.to[e] + 1]++;
    }
    for (let i = 0; i < this.n; i++) {
      this.outAt[i + 1] += this.outAt[i];
      this.inAt[i + 1] += this.inAt[i];
    }
    const a = this.outAt.slice(), b = this.inAt.slice();
    this.outEdges = new Int32Array(count);
    this.inEdges = new Int32Array(count);
    for (let e = 0; e < count; e++) {
      this.outEdges[a[this.from[e]]++] = e;
      this.inEdges[b[this.to[e]]++] = e;
    }
  }

  // The part and record that describe a node: after, where it is there.
  best(i) {
    return this.recordB[i] >= 0 ? [this.b, this.recordB[i]] : [this.a, this.recordA[i]];
  }

  op(i) {
    const [part, r] = this.best(i);
    return part.model.text(part.model.records.op[r]);
  }

  name(i) {
    const [part, r] = this.best(i);
    return part.model.nodeName(r);
  }

  kind(i) {
    const [part, r] = this.best(i);
    return part.model.records.kind[r];
  }

  firstType(i) {
    const [part, r] = this.best(i);
    const rec = part.model.records;
    const v = rec.outs[r].length ? rec.outs[r][0] : rec.kind[r] === 2 ? rec.ins[r][0] : undefined;
    return v === undefined ? '' : part.model.type(v, part.state.k);
  }
}
