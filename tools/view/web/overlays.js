// SPDX-License-Identifier: Apache-2.0
// Facts about nodes as colours: of one overlay at a time, for nodes and collapsed groups.

class Overlay {
  // errors: the table of all tensors behind the overlay of errors, or null.
  constructor(name, chunk, model, errors) {
    this.name = name;
    this.model = model;
    this.errors = errors;
    this.title = chunk.title;
    this.unit = chunk.unit || '';
    this.isNumber = chunk.kind === 'number';
    this.state = chunk.state;
    this.value = new Map();
    this.note = new Map();
    chunk.node.forEach((uid, i) => {
      const id = uid + model.shift;
      const v = chunk.value[i];
      this.value.set(id, this.isNumber ? v : model.text(v));
      if (chunk.note && chunk.note[i]) this.note.set(id, model.text(chunk.note[i]));
    });
    if (this.isNumber) this.range();
    else this.classes();
    this.rows = errors ? this.tensors(errors) : this.nodes();
    this.from = -Infinity;
    this.off = new Set(); // classes that are not shown
  }

  // Rows of the table: of each node, or of each tensor that was compared.
  nodes() {
    return [...this.value].map(([id, value], at) => ({ id, value, record: -1, at }));
  }

  tensors(e) {
    const { model } = this, text = (key, i) => model.text(e[key][i]);
    return e.node.map((uid, i) => {
      const id = uid ? uid + model.shift : -1, tensor = { name: text('name', i),
        reference: text('reference', i), op: text('op', i) };
      for (const key of ['rank', 'adds', 'too_much', 'rel', 'max_abs', 'cosine', 'ulp', 'differs'])
        tensor[key] = e[key][i];
      return { id, at: i, record: -1, tensor,
        value: this.value.get(id) ?? tensor.adds ?? Infinity };
    });
  }

  // Of a collapsed group the sum says most, but for what is no amount.
  adds() {
    return this.isNumber && this.unit !== '' && this.unit !== '%';
  }

  range() {
    const all = [...this.value.values()].filter(Number.isFinite).sort((a, b) => a - b);
    this.sorted = all;
    this.min = all.length ? all[0] : 0;
    this.max = all.length ? all[all.length - 1] : 1;
    this.logarithmic = this.min > 0 && this.max / this.min > 200;
  }

  classes() {
    const count = new Map();
    for (const v of this.value.values()) count.set(v, (count.get(v) || 0) + 1);
    this.list = [...count.entries()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    this.number = new Map(this.list.map(([name], i) => [name, i]));
  }

  // 0..1 on the scale.
  place(x) {
    if (!(this.max > this.min)) return 1;
    const f = this.logarithmic ? (v) => Math.log(Math.max(v, this.min)) : (v) => v;
    return Math.min(1, Math.max(0, (f(x) - f(this.min)) / (f(this.max) - f(this.min))));
  }

  fromPlace(p) {
    if (p <= 0) return -Infinity;
    if (this.logarithmic) return this.min * (this.max / this.min) ** p;
    return this.min + (this.max - this.min) * p;
  }

  colour(v, palette) {
    if (this.isNumber) return blend(palette.low, palette.high, this.place(v));
    const i = this.number.get(v);
    const base = palette.series[i % palette.series.length];
    return i < palette.series.length ? base : blend(base, palette.panel, 0.45);
  }

  shows(v) {
    return this.isNumber ? v >= this.from : !this.off.has(v);
  }

  text(v) {
    return this.isNumber ? quantity(v, this.unit) : v;
  }
}

// What an item is painted with: {fill, text} or null.
function overlayPaint(overlay, union, tree, palette, model) {
  const cache = new Map();
  const idOf = (i) => idIn(union, i, model);
  const ofNode = (i) => overlay.value.get(idOf(i));
  const one = (v) => v === undefined || !overlay.shows(v) ? { fill: palette.none, text: '' } :
    { fill: overlay.colour(v, palette), text: shown(overlay.text(v), 60) };
  const ofGroup = (group) => {
    let sum = 0, most = -Infinity;
    const count = new Map();
    for (let i = group.lo; i < group.hi; i++) {
      const v = ofNode(tree.order[i]);
      if (v === undefined || !overlay.shows(v)) continue;
      if (overlay.isNumber) {
        sum += v;
        most = Math.max(most, v);
      } else {
        count.set(v, (count.get(v) || 0) + 1);
      }
    }
    if (overlay.isNumber) {
      if (most === -Infinity) return { fill: palette.none, text: '' };
      const v = overlay.adds() ? sum : most;
      return { fill: overlay.colour(v, palette),
        text: (overlay.adds() ? 'Σ ' : 'max ') + overlay.text(v) };
    }
    const best = [...count.entries()].sort((a, b) => b[1] - a[1])[0];
    if (!best) return { fill: palette.none, text: '' };
    const rest = count.size - 1;
    return { fill: blend(overlay.colour(best[0], palette), palette.panel, rest ? 0.35 : 0),
      text: `${shown(best[0], 40)} × ${best[1]}` + (rest ? `, +${rest}` : '') };
  };
  return (item) => {
    let p = cache.get(item);
    if (!p) cache.set(item, p = item.group ? ofGroup(item.group) : one(ofNode(item.node)));
    return p;
  };
}

// The id that a node of a union has in a model, or -1.
function idIn(union, i, model) {
  if (union.b && union.b.model === model && union.recordB[i] >= 0)
    return model.records.id[union.recordB[i]];
  if (union.a && union.a.model === model && union.recordA[i] >= 0)
    return model.records.id[union.recordA[i]];
  return -1;
}
