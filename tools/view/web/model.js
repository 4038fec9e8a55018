// SPDX-License-Identifier: Apache-2.0
// A model as its passes change it. Records are nodes as they are between two changes; a state (the
// graph after pass K, or state -1 as the passes began) says which record each node has.
//
// Nodes have ids: those of the data (uid) plus `shift`, since inputs and outputs of the graph are
// nodes here too and take the first ids.

const NO_LIST = new Int32Array(0);

class Model {
  constructor(chunks, prefix, index, strings) {
    this.chunks = chunks;
    this.prefix = prefix;
    this.index = index;
    this.strings = strings;
    this.records = { id: [], op: [], name: [], scope: [], parent: [], body: [], attrs: [],
      ins: [], outs: [], kind: [], state: [] };
    this.states = new Map();
    this.deltas = [];
    this.typeChanges = new Map();
    this.idCount = 0;
  }

  static async load(chunks, prefix) {
    const [index, strings, graph, values] = await Promise.all(
      ['index', 'strings', 'graph', 'values'].map((name) => chunks.get(prefix + name)));
    const model = new Model(chunks, prefix, index, strings);
    model.begin(graph, values);
    return model;
  }

  get(name) {
    return this.chunks.get(this.prefix + name);
  }

  has(name) {
    return this.chunks.has(this.prefix + name);
  }

  intern(text) {
    this.strings.push(text);
    return this.strings.length - 1;
  }

  text(sid) {
    return this.strings[sid] || '';
  }

  begin(graph, values) {
    this.valueName = Array.from(values.name);
    this.valueType = Array.from(values.type);
    this.valueWeight = Array.from(values.weight);
    this.valueKind = Array.from(values.kind);
    this.inputs = values.inputs || [];
    this.outputs = values.outputs || [];
    this.shift = this.inputs.length + this.outputs.length;
    this.control = (graph.control || []).map(([a, b]) => [a + this.shift, b + this.shift]);
    const input = this.intern('input'), output = this.intern('output');
    this.inputs.forEach((v, i) => this.addEnd(i, input, v, [], [v], 1));
    const first = this.addColumns(graph, -1);
    this.outputs.forEach((v, i) =>
      this.addEnd(this.inputs.length + i, output, v, [v], [], 2));
    const recordOf = new Int32Array(Math.max(this.idCount, 1)).fill(-1);
    this.records.id.forEach((id, r) => { recordOf[id] = r; });
    this.place = new Float64Array(recordOf.length);
    this.records.id.forEach((id, r) => { this.place[id] = r; });
    this.firstRecord = first;
    this.states.set(-1, this.finish({ k: -1, recordOf }));
    this.lastState = -1;
  }

  addEnd(id, op, value, ins, outs, kind) {
    const r = this.records;
    r.id.push(id);
    r.op.push(op);
    r.name.push(this.valueName[value] || 0);
    r.scope.push(0);
    r.parent.push(-1);
    r.body.push(0);
    r.attrs.push(0);
    r.ins.push(ins);
    r.outs.push(outs);
    r.kind.push(kind);
    r.state.push(-1);
    this.idCount = Math.max(this.idCount, id + 1);
  }

  // Records of columns; the number of the first one.
  addColumns(c, state) {
    const r = this.records, first = r.id.length;
    for (let i = 0; i < c.n; i++) {
      const id = c.uid[i] + this.shift;
      r.id.push(id);
      r.op.push(c.op[i]);
      r.name.push(c.name[i]);
      r.scope.push(c.scope[i]);
      r.parent.push(c.parent[i] < 0 ? -1 : c.parent[i] + this.shift);
      r.body.push(c.body[i]);
      r.attrs.push(c.attrs[i]);
      r.ins.push(c.in.slice(c.in_at[i], c.in_at[i + 1]));
      r.outs.push(c.out.slice(c.out_at[i], c.out_at[i + 1]));
      r.kind.push(0);
      r.state.push(state);
      if (id >= this.idCount) this.idCount = id + 1;
    }
    return first;
  }

  passCount() {
    return this.index.passes.length;
  }

  // ---- states -----------------------------------------------------------------------------------

  async loadDelta(k) {
    if (this.deltas[k] !== undefined) return this.deltas[k];
    const name = this.index.passes[k].chunk;
    const raw = name ? await this.get(name) : null;
    this.deltas[k] = raw ? this.readDelta(k, raw) : null;
    return this.deltas[k];
  }

  readDelta(k, raw) {
    const shifted = (list) => (list || []).map((uid) => uid + this.shift);
    const v = raw.values;
    if (v) {
      for (let i = 0; i < v.n; i++) {
        this.valueName[v.from + i] = v.name[i];
        this.valueType[v.from + i] = v.type[i];
        this.valueWeight[v.from + i] = v.weight[i];
        this.valueKind[v.from + i] = v.kind[i];
      }
    }
    for (const [value, type] of raw.value_types || []) {
      if (!this.typeChanges.has(value)) this.typeChanges.set(value, []);
      this.typeChanges.get(value).push([k, type]);
    }
    const added = raw.added ? this.addColumns(raw.added, k) : 0;
    const changed = raw.changed ? this.addColumns(raw.changed, k) : 0;
    const rewrites = (raw.rewrites || []).map((w) => ({ ...w, removed: shifted(w.removed),
      added: shifted(w.added) }));
    return { removed: shifted(raw.removed), added, addedCount: raw.added ? raw.added.n : 0,
      changed, changedCount: raw.changed ? raw.changed.n : 0, rewrites,
      outputs: raw.outputs || null, types: raw.value_types || [] };
  }

  // The graph after pass k. Deltas apply in their order, so all before it are read.
  async state(k) {
    if (this.states.has(k)) return this.states.get(k);
    let from = k - 1;
    while (!this.states.has(from)) from--;
    for (let i = 0; i <= k; i++) await this.loadDelta(i);
    const recordOf = new Int32Array(this.idCount).fill(-1);
    recordOf.set(this.states.get(from).recordOf);
    let same = true;
    for (let i = from + 1; i <= k; i++) same = !this.applyDelta(recordOf, this.deltas[i]) && same;
    const old = this.states.get(from);
    const state = same ? { ...old, k } : this.finish({ k, recordOf });
    this.states.set(k, state);
    this.forgetStates(k);
    return state;
  }

  applyDelta(recordOf, delta) {
    if (!delta) return false;
    const r = this.records;
    const place = this.placeOfNew(recordOf, delta);
    for (const id of delta.removed) recordOf[id] = -1;
    for (let i = 0; i < delta.addedCount; i++) recordOf[r.id[delta.added + i]] = delta.added + i;
    for (let i = 0; i < delta.changedCount; i++)
      recordOf[r.id[delta.changed + i]] = delta.changed + i;
    if (delta.outputs) this.moveOutputs(recordOf, delta);
    return place || delta.removed.length + delta.addedCount + delta.changedCount > 0;
  }

  // A new node stands where those stood that it replaces, or behind the last one it takes from.
  placeOfNew(recordOf, delta) {
    if (this.place.length < this.idCount) {
      const place = new Float64Array(this.idCount);
      place.set(this.place);
      this.place = place;
    }
    if (delta.placed || !delta.addedCount) return false;
    delta.placed = true;
    const r = this.records, at = new Map();
    for (const w of delta.rewrites)
      for (const id of w.added) if (w.removed.length) at.set(id, Math.max(
        ...w.removed.slice(0, 1000).map((x) => this.place[x] || 0)));
    const from = new Map();
    for (let i = 0; i < recordOf.length; i++)
      if (recordOf[i] >= 0) for (const v of r.outs[recordOf[i]]) from.set(v, i);
    for (let i = 0; i < delta.addedCount; i++) {
      const id = r.id[delta.added + i];
      let best = at.get(id);
      if (best === undefined) {
        best = 0;
        for (const v of r.ins[delta.added + i])
          if (from.has(v)) best = Math.max(best, this.place[from.get(v)]);
        best += 1e-3;
      }
      this.place[id] = best;
      for (const v of r.outs[delta.added + i]) from.set(v, id);
    }
    return true;
  }

  moveOutputs(recordOf, delta) {
    delta.outputs.forEach((v, i) => {
      const id = this.inputs.length + i, r = this.records;
      if (id >= this.shift || r.ins[recordOf[id]][0] === v) return;
      this.addEnd(id, r.op[recordOf[id]], v, [v], [], 2);
      r.name[r.name.length - 1] = r.name[recordOf[id]];
      recordOf[id] = r.id.length - 1;
    });
  }

  // Nodes in order, and who gives and who takes each value.
  finish(state) {
    const r = this.records, { recordOf } = state, live = [];
    for (let id = 0; id < recordOf.length; id++) if (recordOf[id] >= 0) live.push(id);
    const place = this.place;
    live.sort((a, b) => place[a] - place[b] || a - b);
    const producer = new Int32Array(this.valueName.length).fill(-1);
    const count = new Int32Array(this.valueName.length + 1);
    for (const id of live) {
      for (const v of r.outs[recordOf[id]]) if (v >= 0) producer[v] = id;
      for (const v of r.ins[recordOf[id]]) if (v >= 0) count[v + 1]++;
    }
    for (let i = 1; i < count.length; i++) count[i] += count[i - 1];
    const users = new Int32Array(count[count.length - 1]), fill = count.slice();
    for (const id of live)
      for (const v of r.ins[recordOf[id]]) if (v >= 0) users[fill[v]++] = id;
    return Object.assign(state, { live, producer, users, usersAt: count });
  }

  forgetStates(keep) {
    const spare = [...this.states.keys()].filter((k) => k !== -1 && Math.abs(k - keep) > 2);
    while (spare.length > 6) this.states.delete(spare.shift());
  }

  // ---- asking -----------------------------------------------------------------------------------

  recordAt(id, state) {
    return id >= 0 && id < state.recordOf.length ? state.recordOf[id] : -1;
  }

  type(value, k) {
    let type = this.valueType[value];
    for (const [pass, sid] of this.typeChanges.get(value) || NO_LIST) if (pass <= k) type = sid;
    return this.text(type);
  }

  users(value, state) {
    if (value + 1 >= state.usersAt.length) return [];
    return [...new Set(state.users.subarray(state.usersAt[value], state.usersAt[value + 1]))];
  }

  operands(r) {
    return this.records.ins[r];
  }

  // What a node is called on the screen: its name, else its first result, else its number.
  nodeName(r) {
    const rec = this.records;
    if (rec.name[r]) return this.text(rec.name[r]);
    const out = rec.outs[r][0];
    if (out !== undefined && this.valueName[out]) return '%' + this.text(this.valueName[out]);
    return rec.kind[r] ? '' : `#${rec.id[r] - this.shift}`;
  }
}
