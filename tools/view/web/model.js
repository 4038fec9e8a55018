// SPDX-License-Identifier: Apache-2.0
// A model as its passes change it. Records are nodes as they are between two changes; a state (the
// graph after pass K, or state -1 as the passes began) says which record each node has.
//
// Nodes have ids: those of the data (uid) plus `shift`, since inputs and outputs of the graph are
// nodes here too and take the first ids.

class Model {
  constructor(chunks, prefix, index, strings) {
    this.chunks = chunks;
    this.prefix = prefix;
    this.index = index;
    this.strings = strings;
    this.records = { id: [], op: [], name: [], scope: [], parent: [], body: [], attrs: [], npu: [],
      ins: [], outs: [], kind: [] };
    this.states = new Map();
    this.deltas = [];
    this.passing = new Map();
    this.idCount = 0;
    this.order = new NodeOrder();
  }

  static async load(chunks, prefix) {
    const [index, strings, graph, values] = await Promise.all(
      [chunks.get('index'), ...['strings', 'graph', 'values'].map((n) => chunks.get(prefix + n))]);
    const model = new Model(chunks, prefix, modelIndex(index, prefix), strings);
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
    this.values = { name: new Column(values.name), type: new Column(values.type),
      weight: new Column(values.weight), kind: new Column(values.kind) };
    this.inputs = graph.inputs || values.inputs || [];
    this.outputs = graph.outputs || values.outputs || [];
    this.shift = this.inputs.length + this.outputs.length;
    const input = this.intern('input'), output = this.intern('output');
    this.inputs.forEach((v, i) => this.addEnd(i, input, v, 1));
    this.addColumns(graph);
    this.outputs.forEach((v, i) => this.addEnd(this.inputs.length + i, output, v, 2));
    const recordOf = new Int32Array(Math.max(this.idCount, 1)).fill(-1);
    this.records.id.forEach((id, r) => {
      recordOf[id] = r;
      this.order.append(id);
    });
    this.states.set(-1, this.finish({ k: -1, recordOf, control: this.pairs(graph.control) }));
  }

  pairs(list) {
    return (list || []).map(([a, b]) => [a + this.shift, b + this.shift]);
  }

  // The node that stands for an input (kind 1) or an output (2) of the graph.
  addEnd(id, op, value, kind) {
    const r = this.records, list = [value];
    r.id.push(id);
    r.op.push(op);
    r.name.push(this.values.name.at(value, Infinity) || 0);
    for (const key of ['scope', 'body', 'attrs', 'npu']) r[key].push(0);
    r.parent.push(-1);
    r.ins.push(kind === 2 ? list : []);
    r.outs.push(kind === 1 ? list : []);
    r.kind.push(kind);
    this.idCount = Math.max(this.idCount, id + 1);
  }

  // Records of columns; the number of the first one.
  addColumns(c) {
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
      r.npu.push(c.npu ? c.npu[i] : 0);
      r.ins.push(c.in.slice(c.in_at[i], c.in_at[i + 1]));
      r.outs.push(c.out.slice(c.out_at[i], c.out_at[i + 1]));
      r.kind.push(0);
      if (id >= this.idCount) this.idCount = id + 1;
    }
    return first;
  }

  passCount() {
    return this.index.passes.length;
  }

  // ---- states -----------------------------------------------------------------------------------

  // Deltas are read in their order, since each builds on those before it.
  async loadDelta(k) {
    while (this.deltas.length <= k) {
      const next = this.deltas.length;
      if (!this.reading || this.reading.k < next)
        this.reading = { k: next, done: this.readNext(next) };
      await this.reading.done;
    }
    return this.deltas[k];
  }

  async readNext(k) {
    const name = this.index.passes[k].chunk, raw = name ? await this.get(name) : null;
    this.deltas[k] = raw ? this.readDelta(k, raw) : null;
  }

  readDelta(k, raw) {
    this.readValues(k, raw);
    const shifted = (list) => (list || []).map((uid) => uid + this.shift);
    for (const [uid, op, name] of raw.passing || [])
      this.passing.set(uid + this.shift, { op, name });
    const added = raw.added ? this.addColumns(raw.added) : 0;
    const changed = raw.changed ? this.addColumns(raw.changed) : 0;
    const rewrites = (raw.rewrites || []).map((w) => ({ ...w, removed: shifted(w.removed),
      added: shifted(w.added), changed: shifted(w.changed) }));
    const delta = { removed: shifted(raw.removed), added, addedCount: raw.added ? raw.added.n : 0,
      changed, changedCount: raw.changed ? raw.changed.n : 0, rewrites,
      outputs: raw.outputs || null, types: raw.value_types || [],
      control: raw.control ? this.pairs(raw.control) : null };
    this.readOrder(raw, delta);
    if (raw.outputs) delta.ends = this.newOutputs(raw.outputs);
    return delta;
  }

  readValues(k, raw) {
    const { name, type, weight, kind } = this.values, v = raw.values;
    for (let i = 0; v && i < v.n; i++) {
      name.set(v.from + i, v.name[i]);
      type.set(v.from + i, v.type[i]);
      weight.set(v.from + i, v.weight[i]);
      kind.set(v.from + i, v.kind[i]);
    }
    for (const [value, sid] of raw.value_types || []) type.change(value, k, sid);
    for (const [value, sid] of raw.value_names || []) name.change(value, k, sid);
    for (const [value, w, what] of raw.value_weights || []) {
      weight.change(value, k, w);
      kind.change(value, k, what);
    }
  }

  readOrder(raw, delta) {
    const after = raw.added && raw.added.after, r = this.records;
    let waiting = [];
    for (let i = 0; i < delta.addedCount; i++) {
      const id = r.id[delta.added + i];
      const before = after ? (after[i] ? after[i] + this.shift : r.parent[delta.added + i]) : null;
      waiting.push([id, before === null ? this.order.last : before]);
    }
    while (waiting.length) {
      const later = waiting.filter(([id, before]) => {
        if (before >= 0 && !this.order.has(before)) return true;
        this.order.insert(id, before);
        return false;
      });
      if (later.length === waiting.length) { // behind what does not exist: at the end
        for (const [id] of later) this.order.append(id);
        break;
      }
      waiting = later;
    }
    if (raw.order) this.order.arrange(raw.order.map((uid) => uid + this.shift));
  }

  // Records of the outputs where others are given now; there are as many of them as at first.
  newOutputs(values) {
    const first = this.records.id.length, op = this.intern('output');
    values.slice(0, this.outputs.length).forEach((v, i) =>
      this.addEnd(this.inputs.length + i, op, v, 2));
    return [first, this.records.id.length];
  }

  // The graph after pass k.
  async state(k) {
    if (this.states.has(k)) return this.states.get(k);
    let from = k - 1;
    while (!this.states.has(from)) from--;
    await this.loadDelta(k);
    const old = this.states.get(from), recordOf = new Int32Array(this.idCount).fill(-1);
    recordOf.set(old.recordOf);
    let same = true, { control } = old;
    for (let i = from + 1; i <= k; i++) {
      same = !this.applyDelta(recordOf, this.deltas[i]) && same;
      if (this.deltas[i] && this.deltas[i].control) control = this.deltas[i].control;
    }
    const state = same && control === old.control ? { ...old, k } :
      this.finish({ k, recordOf, control });
    this.states.set(k, state);
    this.forgetStates(k);
    return state;
  }

  applyDelta(recordOf, delta) {
    if (!delta) return false;
    const r = this.records;
    for (const id of delta.removed) if (id < recordOf.length) recordOf[id] = -1;
    for (let i = 0; i < delta.addedCount; i++) recordOf[r.id[delta.added + i]] = delta.added + i;
    for (let i = 0; i < delta.changedCount; i++)
      recordOf[r.id[delta.changed + i]] = delta.changed + i;
    if (delta.ends) for (let i = delta.ends[0]; i < delta.ends[1]; i++) recordOf[r.id[i]] = i;
    return delta.removed.length + delta.addedCount + delta.changedCount > 0 || Boolean(delta.ends);
  }

  // Nodes in order, and who gives and who takes each value.
  finish(state) {
    const r = this.records, { recordOf } = state, live = [];
    for (let id = 0; id < recordOf.length; id++) if (recordOf[id] >= 0) live.push(id);
    const place = this.order.places(this.idCount), valueCount = this.values.name.list.length;
    live.sort((a, b) => place[a] - place[b]);
    const producer = new Int32Array(valueCount).fill(-1);
    const count = new Int32Array(valueCount + 1);
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
    return this.text(this.values.type.at(value, k));
  }

  valueName(value, k) {
    return this.text(this.values.name.at(value, k) || 0);
  }

  // The last record of a node, -1 for none.
  lastRecord(id) {
    const { id: ids } = this.records;
    if (!this.last) this.last = new Map();
    for (let r = this.lastRead || 0; r < ids.length; r++) this.last.set(ids[r], r);
    this.lastRead = ids.length;
    return this.last.get(id) ?? -1;
  }

  users(value, state) {
    if (value + 1 >= state.usersAt.length) return [];
    return [...new Set(state.users.subarray(state.usersAt[value], state.usersAt[value + 1]))];
  }

  // What a node is called on the screen: its name, else its first result, else its number.
  nodeName(r) {
    const rec = this.records;
    if (rec.name[r]) return this.text(rec.name[r]);
    const out = rec.outs[r][0];
    const name = out === undefined ? '' : this.valueName(out, Infinity);
    if (name) return '%' + name;
    return rec.kind[r] ? '' : `#${rec.id[r] - this.shift}`;
  }
}

// A column of the table of values, which passes change here and there.
class Column {
  constructor(list) {
    this.list = Array.from(list);
    this.changes = new Map();
  }

  set(i, x) {
    this.list[i] = x;
  }

  change(i, pass, x) {
    if (!this.changes.has(i)) this.changes.set(i, []);
    this.changes.get(i).push([pass, x]);
  }

  // As it is after pass k.
  at(i, k) {
    let x = this.list[i];
    if (this.changes.size && this.changes.has(i))
      for (const [pass, y] of this.changes.get(i)) if (pass <= k) x = y;
    return x;
  }
}

// Passes may stand in the index itself or with their model.
function modelIndex(index, prefix) {
  const model = index.models[prefix ? 1 : 0] || index.models[0];
  return { ...index, passes: model.passes || (prefix ? [] : index.passes) || [] };
}
