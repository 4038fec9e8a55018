// SPDX-License-Identifier: Apache-2.0
// Details of a selected node: what it takes and gives, attributes against defaults, weights,
// reasons, the op's document and NPU form, its life; or of a group, of several nodes, of the model.

const MOST_LISTED = 40;

class Details {
  constructor(app) {
    this.app = app;
    this.kept = new Map();
  }

  reset() {
    this.reasonsOf = null;
  }

  // Chunks that details read come when they are first needed.
  chunk(model, name, then) {
    const key = model.prefix + name;
    if (this.kept.has(key)) return this.kept.get(key);
    this.kept.set(key, null);
    model.get(name).then((value) => {
      this.kept.set(key, value);
      if (value && this.app.state.tab === 'details') then();
    });
    return null;
  }

  show(panel) {
    const { app } = this, { selection } = app.state;
    panel.className = 'panel';
    const again = () => this.show(panel);
    if (!selection.length) replace(panel, ...this.ofModel(again));
    else if (selection.length > 1) replace(panel, ...this.ofMany(selection));
    else if (typeof selection[0] === 'string') replace(panel, ...this.ofGroup(selection[0]));
    else if (app.graph.indexOf.has(selection[0]))
      replace(panel, ...this.ofNode(app.graph.indexOf.get(selection[0]), again));
    else replace(panel, ...this.ofAbsent(selection[0]));
  }

  // ---- the model --------------------------------------------------------------------------------

  ofModel(again) {
    const { app } = this, { index, graph } = app, rows = [];
    const put = (key, value) => rows.push(el('dt', null, t(key)), el('dd', null, value));
    for (const m of index.models) {
      put('file', shown(m.path, 300));
      if (m.chip) put('chip', shown(m.chip, 60));
      if (m.options && m.options.length) put('options', shown(m.options.join(' '), 600));
      if (m.ended) put('ended', shown(m.ended, 600));
      if (m.command) put('command', el('span.mono', null, shown(m.command, 600)));
    }
    const nodes = graph.n - app.model.shift;
    put('nodesWord', String(Math.max(0, nodes)));
    put('passesWord', String(index.passes.length));
    if (index.options && index.options.length)
      put('options', shown(index.options.join(' '), 1000));
    put('tool', shown(index.tool || '', 80));
    if (index.against) put('comparedWith', shown(index.against, 300));
    if (app.link.ready) this.counts(again, put); // not before the page is there
    const ops = new Map();
    for (let i = 0; i < graph.n; i++)
      if (!graph.kind(i)) ops.set(graph.op(i), (ops.get(graph.op(i)) || 0) + 1);
    const list = [...ops.entries()].sort((a, b) => b[1] - a[1]).slice(0, 24);
    return [el('h1', null, t('model')), el('section', null, el('dl.kv', null, ...rows)),
      section(t('opsWord'), ...list.map(([op, n]) => el('button.ref', { type: 'button',
        onclick: () => app.searchFor(`op:"${op}"`) },
      el('i.dot', { style: { background: app.palette.kinds[kindOfOp(op)] } }),
      el('span.cut.grow', null, shown(op, 80)), el('span.mono', null, String(n))))),
      el('p.dim', null, t('firstHint'))];
  }

  // How many fusions, near misses, expansions and casts there are.
  counts(again, put) {
    const model = this.app.subject(), decisions = this.chunk(model, 'decisions', again);
    const precision = this.chunk(model, 'precision', again), count = { done: 0, missed: 0,
      expand: 0 };
    for (const d of decisions || [])
      count[!d.effect ? 'missed' : d.expanded ? 'expand' : 'done']++;
    for (const [kind, n] of Object.entries(decisions ? count : {})) put('why_' + kind, String(n));
    if (precision) put('why_cast', precisionText(model, precision));
  }

  // ---- groups and several nodes -----------------------------------------------------------------

  actions(...more) {
    const { app } = this, { reach } = app.state;
    const kind = (name) => button(t('reach_' + name), () => app.setReach(name),
      { 'aria-pressed': String(reach === name), 'data-reach': name });
    return el('div.actions', null, kind('up'), kind('down'), kind('both'),
      app.state.selection.length === 2 ? [kind('path'), kind('between')] : null, ...more);
  }

  reachText() {
    const reached = this.app.reached();
    return reached ? el('div.callout.info', null, t('reached', reached.count)) : null;
  }

  ofGroup(id) {
    const { app } = this, { tree } = app.graph, group = tree.groups.get(id);
    if (!group) return [el('p.empty', null, t('groupGone'))];
    const inner = [...tree.order.subarray(group.lo, group.hi)], ops = new Map();
    for (const i of inner) ops.set(app.graph.op(i), (ops.get(app.graph.op(i)) || 0) + 1);
    const list = [...ops.entries()].sort((a, b) => b[1] - a[1]).slice(0, MOST_LISTED);
    const item = app.scene.byGroup.get(id);
    const open = item ? button(t(item.open ? 'collapse' : 'expand'), () => app.toggle(item)) : null;
    return [el('h1', null, groupTitle(group, app.graph)),
      group.times ? el('div.callout.info', null, t('timesText', group.times)) : null,
      el('div.path', null, t('nodes', group.count)), this.actions(open), this.reachText(),
      this.changesIn(inner),
      section(t('opsWord'), ...list.map(([op, n]) => el('div.ref', null, el('i.dot',
        { style: { background: app.palette.kinds[kindOfOp(op)] } }),
      el('span.cut.grow', null, shown(op, 80)), el('span.mono', null, String(n)))))];
  }

  changesIn(inner) {
    const { app } = this;
    if (!app.graph.a || app.state.mode === 'graph') return null;
    const touched = inner.filter((i) => app.graph.status[i] !== SAME);
    if (!touched.length) return null;
    return section(t('changes'), ...touched.slice(0, MOST_LISTED).map((i) =>
      nodeButton(app, app.graph.key[i], null, t(STATUS_NAMES[app.graph.status[i]] + 'Short'))));
  }

  ofMany(selection) {
    const { app } = this;
    return [el('h1', null, t('selected', selection.length)), this.actions(), this.reachText(),
      this.pathList(),
      section(t('selection'), ...selection.slice(0, MOST_LISTED).map((what) =>
        typeof what === 'number' ? nodeButton(app, what) :
          el('button.ref', { type: 'button', onclick: () => app.select([what]) },
            app.nameOf(what))))];
  }

  pathList() {
    const reached = this.app.reached();
    if (!reached || !reached.path) return null;
    return section(t('pathOf', reached.path.length), ...reached.path.slice(0, 200).map((i) =>
      nodeButton(this.app, this.app.graph.key[i], null, shown(this.app.graph.firstType(i), 30))));
  }

  ofAbsent(key) {
    const { app } = this;
    return [el('h1', null, app.absentName(key)), el('div.callout', null, t('notHere')),
      el('div.actions', null, button(t('goWhere'), () => app.reveal([key])),
        button(t('follow'), () => app.follow(key)))];
  }

  // ---- one node ---------------------------------------------------------------------------------

  ofNode(i, again) {
    const { app } = this, u = app.graph, [part, r] = u.best(i), { model, state } = part;
    const rec = model.records, key = u.key[i], op = model.text(rec.op[r]);
    const ops = this.chunk(model, 'ops', again), about = ops && Object.hasOwn(ops, op) ? ops[op] : null;
    const following = app.state.follow !== null && app.followed;
    return [
      el('h1', null, el('i.dot', { style: { background: app.palette.kinds[kindOfOp(op)],
        marginRight: '8px', width: '11px', height: '11px' } }), shown(op, 120)),
      el('div.path', { 'data-name': '1' }, shown(model.nodeName(r), 600)),
      rec.npu[r] ? el('div.path', null, `NPU: ${shown(model.text(rec.npu[r]), 120)}`) : null,
      rec.scope[r] ? el('div.path', null, shown(model.text(rec.scope[r]), 300)) : null,
      this.statusOf(i),
      this.actions(
        rec.kind[r] ? null : button(t(following ? 'unfollow' : 'follow'),
          () => app.follow(following ? null : key), { 'aria-pressed': String(Boolean(following)),
            'data-follow': '1' }),
        button(t('copyTir'), () => app.copy(tirOf(model, r, state.k))),
        button(t('copyLink'), () => app.copy(location.href))),
      this.reachText(), this.life(),
      this.reasons(part, r, again), this.dtypes(part, r, again),
      this.operands(part, r), this.results(part, r), this.attributes(u, i, part, r, about),
      this.weights(part, r, again), this.overlayValues(model, model.records.id[r]),
      about ? this.document(about, model.text(rec.npu[r])) : null];
  }

  statusOf(i) {
    const { app } = this, u = app.graph;
    if (!u.a || app.state.mode === 'graph' || u.status[i] === SAME) return null;
    const w = app.rewrites().find((x) => x.added.includes(u.key[i]) ||
      x.removed.includes(u.key[i]));
    const name = STATUS_NAMES[u.status[i]];
    const text = app.comparing() ? t(name + 'Compare') : t(name + 'By',
      app.index.passes[app.state.pass].name);
    return el('div.callout' + (u.status[i] === ADDED ? '.good' : ''), { 'data-status': name }, text,
      w ? el('div', null, button(`${t('rewrite')} ${w.number}: ` +
        shown(app.model.text(w.rule), 80),
        () => app.setStep(app.rewrites().indexOf(w) + 1), { class: 'soft' })) : null,
      this.differences(i));
  }

  // What another record of the same node has else.
  differences(i) {
    const u = this.app.graph;
    if (u.recordA[i] < 0 || u.recordB[i] < 0) return null;
    const a = tirOf(u.a.model, u.recordA[i], u.a.state.k);
    const b = tirOf(u.b.model, u.recordB[i], u.b.state.k);
    if (a === b) return null;
    return el('pre', null, el('span.minus', null, '− ' + shown(a, 2000)), '\n',
      el('span.plus', null, '+ ' + shown(b, 2000)));
  }

  operands(part, r) {
    const { app } = this, { model, state } = part, rows = [];
    for (const v of model.records.ins[r].slice(0, 200)) {
      if (v < 0) {
        rows.push(el('div.ref.dim', null, t('absent')));
        continue;
      }
      const from = state.producer[v];
      const type = shown(model.type(v, state.k), 80);
      if (from >= 0) {
        rows.push(nodeButton(app, this.keyOf(part, from), this.valueText(model, v, state.k), type));
      } else {
        rows.push(el('div.ref', null, el('span.cut.grow', null, this.valueText(model, v, state.k),
          el('span.dim', null, ' ' + t('constant'))), el('span.mono.cut', null, type)));
      }
    }
    return rows.length ? section(t('operands', rows.length), ...rows) : null;
  }

  keyOf(part, id) {
    return part.keyOf ? part.keyOf(id) : id;
  }

  valueText(model, v, k) {
    return '%' + (shown(model.valueName(v, k), 120) || v);
  }

  results(part, r) {
    const { app } = this, { model, state } = part, rows = [];
    for (const v of model.records.outs[r].slice(0, 60)) {
      rows.push(el('div.ref', null, el('span.cut.grow', null, this.valueText(model, v, state.k)),
        el('span.mono.cut', null, shown(model.type(v, state.k), 80))));
      const users = model.users(v, state);
      for (const id of users.slice(0, 30)) rows.push(nodeButton(app, this.keyOf(part, id), '→ ' +
        app.nameOf(this.keyOf(part, id))));
      if (users.length > 30) rows.push(el('div.dim', null, t('andMore', users.length - 30)));
    }
    return rows.length ? section(t('results'), ...rows) : null;
  }

  // Attributes, and with the op's document those that have their default, in grey.
  attributes(u, i, part, r, about) {
    const own = parseAttrs(part.model.text(part.model.records.attrs[r]));
    const defaults = about && about.defaults || {}, rows = [];
    const other = u.recordA[i] >= 0 && u.recordB[i] >= 0 && u.recordA[i] !== u.recordB[i] ?
      new Map(parseAttrs(u.a.model.text(u.a.model.records.attrs[u.recordA[i]]))) : null;
    for (const [name, value] of own) {
      const same = Object.hasOwn(defaults, name) && String(defaults[name]) === value;
      const was = other && other.get(name);
      rows.push(el('dt', null, shown(name, 80)), el('dd.mono' + (same ? '.default' : ''), null,
        shown(value, 1000), same ? ' ' + t('isDefault') : Object.hasOwn(defaults, name) ?
          el('span.default', null, ` (${t('default')} ${shown(String(defaults[name]), 60)})`) :
          null,
        was !== undefined && was !== null && was !== value && other ?
          el('div.minus', null, '− ' + shown(was, 300)) : null));
    }
    const has = new Set(own.map(([name]) => name));
    for (const [name, value] of Object.entries(defaults)) if (!has.has(name))
      rows.push(el('dt', null, shown(name, 80)), el('dd.mono.default', null,
        `${shown(String(value), 200)} ${t('isDefault')}`));
    return rows.length ? section(t('attributes'), el('dl.kv', null, ...rows)) : null;
  }

  // ---- weights ----------------------------------------------------------------------------------

  weights(part, r, again) {
    const { model, state } = part, weightOf = (v) => model.values.weight.at(v, state.k);
    const values = model.records.ins[r].filter((v) => v >= 0 && weightOf(v) >= 0);
    if (!values.length || !model.has('weights')) return null;
    const all = this.chunk(model, 'weights', again);
    if (!all) return null;
    return section(t('weights'), ...values.slice(0, 6).map((v) =>
      this.weight(model, all[weightOf(v)])));
  }

  weight(model, w) {
    if (!w) return null;
    const rows = [], put = (key, value) =>
      rows.push(el('dt', null, t(key)), el('dd.mono', null, value));
    put('shape', `${w.dtype}[${(w.shape || []).join(',')}]`);
    put('size', quantity(w.bytes, 'B'));
    if (Number.isFinite(w.min)) put('rangeWord', `${number(w.min)} … ${number(w.max)}, ` +
      `${t('meanWord')} ${number(w.mean)}`);
    if (w.first && w.first.length) put('firstValues', w.first.map(number).join(', ') + ', …');
    if (w.sampled) put('sampled', t('sampledText', w.sampled));
    if (w.computed) put('kindWord', t('computed'));
    if (w.file) put('file', shown(typeof w.file === 'number' ? model.text(w.file) : w.file, 200));
    if (w.hash) put('hash', shown(w.hash, 80));
    return el('div', null, el('div.cut', null, shown(model.text(w.name), 200) || t('noName')),
      w.histogram && w.histogram.length ? this.histogram(w) : null, el('dl.kv', null, ...rows));
  }

  histogram(w) {
    const canvas = el('canvas.hist', { width: 600, height: 128, role: 'img',
      'aria-label': t('histogram', number(w.min), number(w.max)) });
    const c = canvas.getContext('2d'), most = Math.max(...w.histogram, 1);
    c.fillStyle = this.app.palette.accent;
    w.histogram.forEach((n, i) => {
      const h = n ? Math.max(2, 124 * n / most) : 0, step = 600 / w.histogram.length;
      c.fillRect(i * step + 1, 126 - h, step - 2, h);
    });
    c.fillStyle = this.app.palette.line;
    c.fillRect(0, 126, 600, 2);
    return canvas;
  }

  // ---- reasons, documents, life -----------------------------------------------------------------

  reasons(part, r, again) {
    const { app } = this, { model } = part, id = model.records.id[r];
    if (!this.reasonsOf) this.reasonsOf = new Map();
    if (!this.reasonsOf.has(model)) {
      this.reasonsOf.set(model, null);
      app.reasons(model).then((list) => {
        this.reasonsOf.set(model, byNode(list));
        if (app.state.tab === 'details') again();
      });
    }
    const known = this.reasonsOf.get(model), mine = (known && known.get(id) || []).slice(0, 20);
    return mine.length ? section(t('reasonsWord'), ...mine.map((d) => el('div.callout' +
      { missed: '', done: '.good', expand: '.good', dtype: '.info', cast: '.info' }[d.kind],
    { 'data-why-kind': d.kind }, el('b', null, `${shown(d.title, 80)} · ${shown(d.under, 60)}`),
    el('div', null, (d.code ? d.code + ' ' : '') + shown(d.reason, 800))))) : null;
  }

  // What mixed precision decided about each operand and result, and why.
  dtypes(part, r, again) {
    const { model } = part, p = this.chunk(model, 'precision', again);
    const i = p ? placeIn(p, model.records.id[r] - model.shift) : -1;
    if (i < 0) return null;
    const text = (key, at) => model.text(p[key][at]), rows = [];
    for (let k = p.at[i]; k < (p.at[i + 1] ?? p.port.length) && rows.length < 120; k++) {
      const was = text('original', k), is = text('chosen', k);
      rows.push(el('dt.mono', { title: shown(text('value', k), 300) },
        shown(text('port', k) || `%${text('value', k)}`, 40)),
      el('dd', null, el('b.mono', null, was === is ? was : `${was} → ${is}`), ' ' +
        shown(text('reason', k), 400)));
    }
    const judged = p.judged[i] ? t('judgedAs', shown(text('judged', i), 80), text('colour', i)) : '';
    return section(t('why_dtype'), judged ? el('div', null, judged) : null,
      p.signature[i] ? el('div.mono.dim', null, shown(text('signature', i), 200)) : null,
      el('dl.kv', { 'data-dtypes': '1' }, ...rows));
  }

  overlayValues(model, id) {
    const rows = [];
    for (const o of this.app.overlays.values()) {
      const v = o && o.model === model ? o.value.get(id) : undefined;
      if (v === undefined) continue;
      rows.push(el('dt', null, o.title), el('dd', null, shown(o.text(v), 200),
        o.note.has(id) ? el('span.dim', null, ' ' + shown(o.note.get(id), 400)) : null));
    }
    return rows.length ? section(t('values'), el('dl.kv', null, ...rows)) : null;
  }

  // What the table of ops says, and the forms that the NPU has for it: the one that was chosen is
  // marked.
  document(about, npu) {
    const forms = (about.npu || []).map((c) => el('div.callout' + (c.type === npu ? '.good' : '.info'),
      null, el('b.mono', null, shown(c.type, 80)), c.type === npu ? ` ${t('chosen')}` : '',
      el('div.mono', null, shown(c.guard || '', 400)),
      el('div.dim', null, [c.lowering, c.from].filter(Boolean).map((x) => shown(x, 120))
        .join(' · '))));
    return section(t('opDocument'),
      about.doc ? el('pre', null, shownLines(about.doc, 4000)) : null,
      forms.length ? el('div.dim', { style: { marginTop: '8px' } }, t('candidates')) : null,
      ...forms);
  }

  life() {
    const { app } = this;
    return app.followed && app.state.follow !== null ? section(t('life'), ...this.followRows()) :
      null;
  }

  followRows() {
    const { app } = this, { followed } = app, { model } = followed, out = [];
    followed.rows.forEach((row, k) => {
      if (!row || row.what === 'none' || row.what === 'kept') return;
      const rules = row.rewrites.slice(0, 3).map((w) => shown(model.text(w.rule), 80));
      out.push(el('button.ref', { type: 'button', 'data-life': k,
        onclick: () => app.setPass(app.comparing() ? app.lastPass() : k) },
        el('span.followed.' + ({ became: 'changed' }[row.what] || row.what), null,
          t('follow_' + row.what)),
        el('span.cut.grow', null, shown(model.index.passes[k].name, 80)),
        el('span.dim.cut', null, rules.join(', '))));
    });
    if (!out.length) out.push(el('div.dim', null, t('neverTouched')));
    return out;
  }
}

// Reasons by node.
function byNode(list) {
  const out = new Map();
  for (const d of list) for (const id of d.nodes) {
    if (!out.has(id)) out.set(id, []);
    out.get(id).push(d);
  }
  return out;
}

// Where a node is in the table of dtypes, -1 for none.
function placeIn(p, uid) {
  if (!p.places) p.places = new Map(p.node.map((node, i) => [node, i]));
  return p.places.get(uid) ?? -1;
}

function number(x) {
  if (!Number.isFinite(x)) return String(x);
  return Math.abs(x) >= 1e5 || x !== 0 && Math.abs(x) < 1e-4 ? x.toExponential(3) :
    String(Math.round(x * 1e4) / 1e4);
}
