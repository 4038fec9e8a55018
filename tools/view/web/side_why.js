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
    if (this.data === undefined) {
      this.data = null;
      app.model.get('decisions').then((d) => {
        this.data = d || { decisions: [], casts: [] };
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
      ...['all', 'missed', 'done', 'casts'].map(kind)),
    el('div.controls', { style: { padding: '8px 0', border: '0' } }, el('label', null, box)),
    this.list);
    this.fill();
  }

  fill() {
    const { app } = this, { model } = app, chosen = new Set(app.state.selection), rows = [];
    const wanted = (nodes, text) => (!this.filter || text.toLowerCase().includes(this.filter));
    for (const d of this.data.decisions || []) {
      const missed = isMissed(d);
      if (this.kind === 'casts' || this.kind === 'missed' && !missed ||
          this.kind === 'done' && missed) continue;
      const nodes = d.nodes.map((uid) => uid + model.shift);
      const rule = model.text(d.rule), reason = model.text(d.reason), text = model.text(d.text);
      if (!wanted(nodes, `${rule} ${reason} ${text} ${d.pass} ${this.namesOf(nodes)}`)) continue;
      rows.push({ nodes, missed, title: rule, under: String(d.pass), reason, text });
    }
    for (const c of this.data.casts || []) {
      if (this.kind !== 'all' && this.kind !== 'casts') continue;
      const nodes = [c.uid + model.shift], reason = model.text(c.reason), text = model.text(c.text);
      if (!wanted(nodes, `${reason} ${text} ${this.namesOf(nodes)}`)) continue;
      rows.push({ nodes, cast: true, title: this.namesOf(nodes), under: t('why_casts'), reason,
        text });
    }
    const mine = (row) => row.nodes.some((id) => chosen.has(id)) ? 0 : 1;
    if (chosen.size) rows.sort((a, b) => mine(a) - mine(b));
    replace(this.list, el('p.dim', null, t('whyCount', rows.length)),
      ...rows.slice(0, 200).map((row) => this.row(row, chosen)),
      rows.length > 200 ? el('p.dim', null, t('andMore', rows.length - 200)) : null,
      !rows.length ? el('p.empty', null, t('whyNone')) : null);
  }

  namesOf(nodes) {
    return nodes.slice(0, 3).map((id) => this.app.absentName(id)).join(', ');
  }

  row(row, chosen) {
    const is = row.nodes.some((id) => chosen.has(id));
    return el('button.rewrite', { type: 'button', 'aria-current': String(is), 'data-reason': '1',
      onclick: () => this.app.reveal(row.nodes, { keepTab: true }) },
    el('span.top', null, el('i.dot', { style: { background: row.cast ? this.app.palette.accent :
      row.missed ? this.app.palette.changed : this.app.palette.added } }),
    el('b.cut.grow', null, shown(row.title, 100)), el('span.dim.cut', null, shown(row.under, 40))),
    el('div', null, shown(row.reason, 300)),
    row.text && row.text !== row.reason ? el('div.why', null, shown(row.text, 600)) : null,
    row.cast ? null : el('div.why.cut', null, this.namesOf(row.nodes)));
  }
}

function isMissed(d) {
  return d.effect === 'missed' || d.effect === 'near-miss' || d.effect === 'near_miss' ||
    d.effect === 'refused';
}
