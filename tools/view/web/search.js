// SPDX-License-Identifier: Apache-2.0
// Searching nodes: words are parts of names or ops; op:, name:, dtype:, type:, attr:, scope:, in:,
// out: and status: ask for one of them, -word excludes, "..." holds blanks together.

const FIELDS = ['op', 'name', 'dtype', 'type', 'attr', 'scope', 'in', 'out', 'status', 'weight'];

function parseQuery(text) {
  const terms = [];
  for (const [, minus, field, quoted, word] of
    text.matchAll(/(-?)(?:(\w+):)?(?:"([^"]*)"|(\S+))/g)) {
    let value = quoted ?? word, key = (field || '').toLowerCase();
    if (field && !FIELDS.includes(key)) {
      value = field + ':' + value;
      key = '';
    }
    value = value.toLowerCase();
    if (value) terms.push({ not: minus === '-', field: key, value });
  }
  return terms;
}

class Search {
  constructor(model) {
    this.model = model;
    this.tables = new Map();
  }

  // All texts in lower case, one after the other with a line feed between: one search through a
  // long text is faster than a hundred thousand through short ones.
  prepare() {
    if (this.starts && this.starts.length > this.model.strings.length) return;
    const lowered = this.model.strings.map((text) => (text || '').toLowerCase());
    this.starts = new Uint32Array(lowered.length + 1);
    lowered.forEach((text, sid) => {
      this.starts[sid + 1] = this.starts[sid] + text.length + 1;
    });
    this.joined = lowered.join('\n');
  }

  // Marks the texts of the table in which a word stands, at their beginning and end or anywhere.
  marked(value, fits) {
    this.prepare();
    const { joined, starts } = this, known = new Uint8Array(starts.length);
    let sid = 0;
    for (let at = joined.indexOf(value); at >= 0; at = joined.indexOf(value, starts[sid])) {
      while (starts[sid + 1] <= at) sid++;
      known[sid] = !fits || fits(joined.slice(starts[sid], starts[sid + 1] - 1)) ? 1 : 0;
      if (++sid + 1 >= starts.length) break;
    }
    return known;
  }

  // Which texts of the table hold a word: asked once a text, however many nodes have it. What fits
  // holds the word.
  matcher(value, fits = null) {
    let known = null;
    return (sid) => {
      if (!known) known = this.marked(value, fits);
      return known[sid] === 1;
    };
  }

  // Whether a record fits a term.
  test({ field, value }, part) {
    const { model } = this, rec = model.records, k = part.state.k;
    const has = this.matcher(value), typeOf = (v) => model.values.type.at(v, k) || 0;
    const isDtype = this.matcher(value, (text) => dtypeOf(text) === value);
    const exactOp = this.matcher(value, (text) => text === value);
    const anyOp = field === 'op' && this.opExists(exactOp) ? exactOp : has;
    const nameOf = (v) => has(model.values.name.at(v, k) || 0);
    switch (field) {
      case 'op': return (r) => anyOp(rec.op[r]) || anyOp(rec.npu[r]);
      case 'name': return (r) => has(rec.name[r]) || rec.outs[r].some(nameOf);
      case 'scope': return (r) => has(rec.scope[r]);
      case 'attr': return (r) => has(rec.attrs[r]);
      case 'dtype': return (r) => rec.outs[r].some((v) => isDtype(typeOf(v)));
      case 'type': return (r) => rec.outs[r].some((v) => has(typeOf(v)));
      case 'in': return (r) => rec.ins[r].some((v) => v >= 0 &&
        (nameOf(v) || has(typeOf(v))));
      case 'out': return (r) => rec.outs[r].some((v) => nameOf(v) || has(typeOf(v)));
      case 'weight': return (r) => rec.ins[r].some((v) => v >= 0 &&
        model.values.kind.at(v, k) === 2 && nameOf(v));
      default: return (r) => has(rec.op[r]) || has(rec.npu[r]) || has(rec.name[r]) ||
        has(rec.scope[r]) || rec.outs[r].some(nameOf);
    }
  }

  opExists(exact) {
    if (!this.ops) this.ops = [...new Set(this.model.records.op)];
    return this.ops.some(exact);
  }
}

function dtypeOf(type) {
  const end = type.indexOf('[');
  return end < 0 ? type : type.slice(0, end);
}

const STATUS_NAMES = ['same', 'added', 'removed', 'changed'];

// Indexes of the nodes of a union that fit all terms.
function findNodes(union, searches, text) {
  const terms = parseQuery(text);
  if (!terms.length) return [];
  const tests = new Map(), out = [];
  for (const part of [union.a, union.b]) {
    if (!part) continue;
    const search = searches.get(part.model);
    tests.set(part, terms.filter((x) => x.field !== 'status').map((term) => {
      const test = search.test(term, part);
      return term.not ? (r) => !test(r) : test;
    }));
  }
  const wanted = terms.filter((x) => x.field === 'status');
  for (let i = 0; i < union.n; i++) {
    const [part, r] = union.best(i);
    if (wanted.some((x) => (STATUS_NAMES[union.status[i]] === x.value) === x.not)) continue;
    if (tests.get(part).every((test) => test(r))) out.push(i);
  }
  return out;
}

// Of nodes that the present graph lacks: ids whose last record fits, in any state that was read.
function findElsewhere(model, search, text, most) {
  const part = { model, state: { k: Infinity } };
  const tests = parseQuery(text).filter((x) => x.field !== 'status').map((term) => {
    const test = search.test(term, part);
    return term.not ? (r) => !test(r) : test;
  });
  const last = new Map(), out = [];
  model.records.id.forEach((id, r) => last.set(id, r));
  for (const [id, r] of last) {
    if (out.length >= most) break;
    if (tests.length && tests.every((test) => test(r))) out.push(id);
  }
  return out;
}
