// SPDX-License-Identifier: Apache-2.0
// Reasons: fusions that happened or nearly did and the condition in the way, ops that were spelled
// out, dtypes and casts. Near misses are counted by rule and condition.

const MOST_GROUPS = 12;

class WhyPanel {
  constructor(app) {
    this.app = app;
    this.filter = '';
    this.kind = 'all';
    this.group = '';
  }

  reset() {
    this.data = null;
    this.asked = null;
  }

  show(panel) {
    const { app } = this, model = app.subject();
    panel.className = 'panel';
    if (this.asked !== model) {
      this.asked = model;
      this.data = null;
      Promise.all([app.reasons(model), model.get('precision')]).then(([list, precision]) => {
        if (this.asked !== model) return;
        this.data = list;
        this.precision = precision;
        if (app.state.tab === 'why') this.show(panel);
      });
    }
    if (!this.data) {
      replace(panel, subjectChoice(app), el('div.empty', null, t('loading')));
      return;
    }
    this.list = el('div');
    const box = el('input', { type: 'search', placeholder: t('whyFilter'), 'data-whyfilter': '1',
      'aria-label': t('whyFilter'), oninput: (e) => {
        this.filter = e.target.value.toLowerCase();
        this.fill();
      } });
    box.value = this.filter;
    const kind = (name) => button(t('why_' + name), () => {
      this.kind = name;
      this.group = '';
      this.show(panel);
    }, { 'aria-pressed': String(this.kind === name), 'data-why': name });
    replace(panel, subjectChoice(app), el('div.seg.wrap', { role: 'group',
      'aria-label': t('tab_why') }, ...['all', ...REASON_KINDS].map(kind)),
    this.about(), el('div.controls', { style: { padding: '8px 0', border: '0' } },
      el('label', null, box)), this.groups(panel), this.list);
    this.fill();
  }

  // What holds for the whole model.
  about() {
    const { kind, app } = this, { swept } = app.index.models[app.subject() === app.other ? 1 : 0];
    if (kind === 'missed' && swept) return el('p.dim', { 'data-swept': '1' }, t('sweptText', swept));
    if ((kind === 'dtype' || kind === 'cast') && this.precision)
      return el('p.dim', { 'data-precision': '1' }, precisionText(app.subject(), this.precision));
    return null;
  }

  // Near misses by rule and condition, with their number.
  groups(panel) {
    if (this.kind !== 'missed') return null;
    const count = new Map();
    for (const row of this.data) if (row.kind === 'missed') {
      const name = groupOfReason(row);
      count.set(name, (count.get(name) || 0) + 1);
    }
    const list = [...count].sort((a, b) => b[1] - a[1]).slice(0, MOST_GROUPS);
    return el('div.chips', null, ...list.map(([name, n]) => button(`${shown(name, 60)} (${n})`,
      () => {
        this.group = this.group === name ? '' : name;
        this.show(panel);
      }, { class: 'chip', 'aria-pressed': String(this.group === name), 'data-group': '1' })));
  }

  // Of what is selected first.
  fill() {
    const { app } = this, model = app.subject(), { filter, kind, group } = this;
    const chosen = new Set(app.state.selection);
    const rows = this.data.filter((d) => (kind === 'all' || d.kind === kind) &&
      (!group || groupOfReason(d) === group) && (!filter || this.textOf(d).includes(filter)));
    const keys = (row) => row.nodes.map((id) => app.keyIn(model, id));
    const mine = (row) => keys(row).some((key) => chosen.has(key)) ? 0 : 1;
    if (chosen.size) rows.sort((a, b) => mine(a) - mine(b));
    replace(this.list, el('p.dim', null, t('whyCount', rows.length)),
      ...rows.slice(0, 200).map((row) => this.row(row, keys(row), !mine(row))),
      rows.length > 200 ? el('p.dim', null, t('andMore', rows.length - 200)) : null,
      !rows.length ? el('p.empty', null, t(this.data.length ? 'nothing' : 'whyNone')) : null);
  }

  textOf(row) {
    if (!row.text) row.text = [row.title, row.under, row.code, row.reason, ...row.nodes.map((id) =>
      this.app.nameIn(this.app.subject(), id))].join(' ').toLowerCase();
    return row.text;
  }

  namesOf(nodes) {
    const names = nodes.slice(0, 3).map((id) => this.app.nameIn(this.app.subject(), id)).join(', ');
    return nodes.length > 3 ? `${names} ${t('andMore', nodes.length - 3)}` : names;
  }

  row(row, keys, is) {
    return el('button.rewrite', { type: 'button', 'aria-current': String(is), 'data-reason': '1',
      'data-kind': row.kind, onclick: () => this.app.reveal(keys) },
    el('span.top', null, reasonDot(this.app, row), el('b.cut.grow', null, shown(row.title, 100)),
      el('span.dim.cut', null, shown(row.under, 60))),
    el('div', null, row.code ? el('b', null, shown(row.code, 60) + ' ') : null,
      shown(row.reason, 400)),
    el('div.why', null, this.namesOf(row.nodes)));
  }
}

function groupOfReason(row) {
  return `${row.title} · ${row.code}`;
}

function reasonDot(app, row) {
  const { accent, changed, added, up, down } = app.palette;
  return el('i.dot', { style: { background: { dtype: accent, missed: changed, done: added,
    expand: up, cast: down }[row.kind] } });
}
