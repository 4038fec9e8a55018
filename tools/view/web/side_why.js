// SPDX-License-Identifier: Apache-2.0
// Reasons: fusions that happened or nearly did and the condition in the way, and why there are
// casts.

class WhyPanel {
  constructor(app) {
    this.app = app;
    this.filter = '';
    this.kind = 'all';
  }

  show(panel) {
    const { app } = this;
    panel.className = 'panel';
    if (!this.asked) {
      this.asked = app.reasons().then((list) => {
        this.data = list;
        if (app.state.tab === 'why') this.show(panel);
      });
    }
    if (!this.data) {
      replace(panel, el('div.empty', null, t('loading')));
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
      this.show(panel);
    }, { 'aria-pressed': String(this.kind === name), 'data-why': name });
    replace(panel, el('div.seg', { role: 'group', 'aria-label': t('tab_why') },
      ...['all', 'missed', 'done', 'dtype'].map(kind)),
    el('div.controls', { style: { padding: '8px 0', border: '0' } }, el('label', null, box)),
    this.list);
    this.fill();
  }

  // Of what is selected first.
  fill() {
    const { app } = this, chosen = new Set(app.state.selection), { filter, kind } = this;
    const rows = this.data.filter((d) => (kind === 'all' || d.kind === kind) &&
      (!filter || `${d.title} ${d.under} ${d.reason} ${this.namesOf(d.nodes)}`.toLowerCase()
        .includes(filter)));
    const mine = (row) => row.nodes.some((id) => chosen.has(id)) ? 0 : 1;
    if (chosen.size) rows.sort((a, b) => mine(a) - mine(b));
    replace(this.list, el('p.dim', null, t('whyCount', rows.length)),
      ...rows.slice(0, 200).map((row) => this.row(row, !mine(row))),
      rows.length > 200 ? el('p.dim', null, t('andMore', rows.length - 200)) : null,
      !rows.length ? el('p.empty', null, t(this.data.length ? 'nothing' : 'whyNone')) : null);
  }

  namesOf(nodes) {
    return nodes.slice(0, 3).map((id) => this.app.absentName(id)).join(', ');
  }

  row(row, is) {
    return el('button.rewrite', { type: 'button', 'aria-current': String(is), 'data-reason': '1',
      onclick: () => this.app.reveal(row.nodes) },
    el('span.top', null, reasonDot(this.app, row), el('b.cut.grow', null, shown(row.title, 100)),
      el('span.dim.cut', null, shown(row.under, 40))),
    el('div', null, shown(row.reason, 400)),
    el('div.why', null, this.namesOf(row.nodes)));
  }
}

function reasonDot(app, row) {
  const { accent, changed, added } = app.palette;
  return el('i.dot', { style: { background: { dtype: accent, missed: changed, done: added }[
    row.kind] } });
}
