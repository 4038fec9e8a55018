// SPDX-License-Identifier: Apache-2.0
// The chosen pass: what it is for, and each rewrite with its rule, what it matched and what it
// made.

class PassPanel {
  constructor(app) {
    this.app = app;
    this.filter = '';
  }

  async rules() {
    if (!this.ruleList) this.ruleList = (await this.app.model.get('rules')) || [];
    return this.ruleList;
  }

  show(panel) {
    const { app } = this, { pass } = app.state;
    panel.className = 'panel';
    if (app.comparing()) {
      replace(panel, ...this.compared());
      return;
    }
    if (pass < 0) {
      replace(panel, el('h1', null, t('asRead')), el('p.dim', null, t('asReadText')), this.next());
      return;
    }
    const p = app.index.passes[pass], list = app.rewrites();
    if (!this.ruleList) this.rules().then(() => app.state.tab === 'pass' && this.show(panel));
    replace(panel, el('h1', null, shown(p.name, 120)), el('p', null, shown(p.doc || '', 1000)),
      el('dl.kv', null, ...this.facts(p)), this.next(),
      list.length ? section(t('rewrites') + ` (${list.length})`, this.filterBox(panel, list),
        this.listOf(list)) :
        el('p.dim', null, t(app.changedBy(pass) ? 'noRewrites' : 'samePass')),
      this.changedNodes());
    const now = panel.querySelector('.rewrite[aria-current="true"]');
    if (now) now.scrollIntoView({ block: 'nearest' });
  }

  facts(p) {
    const rows = [], put = (key, value) => rows.push(el('dt', null, t(key)),
      el('dd', null, value));
    if (p.stage) put('stageWord', shown(p.stage, 60));
    if (p.nanoseconds) put('time', milliseconds(p.nanoseconds));
    put('nodesWord', `${p.nodes_before} → ${p.nodes_after}`);
    put('rewrites', String(p.rewrites));
    return rows;
  }

  next() {
    const { app } = this, { pass } = app.state;
    const to = app.index.passes.findIndex((_, k) => k > pass && app.changedBy(k));
    return to < 0 ? null : el('div.actions', null, button(t('nextChanged') + ' ›', () =>
      app.setPass(to)));
  }

  filterBox(panel, list) {
    if (list.length < 12) return null;
    const box = el('input', { type: 'search', placeholder: t('filter'), 'aria-label': t('filter'),
      oninput: (e) => {
        this.filter = e.target.value.toLowerCase();
        replace(panel.querySelector('.rewrites'), ...this.rows(list));
      } });
    box.value = this.filter;
    return el('div.controls', { style: { padding: '0 0 6px', border: '0' } },
      el('label', null, box));
  }

  listOf(list) {
    return el('div.rewrites', null, ...this.rows(list));
  }

  rows(list) {
    const { app } = this, { step } = app.state, { model } = app;
    const about = (w) => `${model.text(w.rule)} ${w.removed.concat(w.added).map((id) =>
      app.absentName(id)).join(' ')}`.toLowerCase();
    const fits = this.filter ? list.filter((w) => about(w).includes(this.filter)) : list;
    const near = Math.max(0, fits.indexOf(list[step - 1]) - 60);
    const out = fits.slice(near, near + 200).map((w) => this.row(w, list.indexOf(w) + 1));
    if (near) out.unshift(el('div.dim', null, t('andMore', near)));
    if (fits.length > near + 200) out.push(el('div.dim', null,
      t('andMore', fits.length - near - 200)));
    return out;
  }

  row(w, at) {
    const { app } = this, open = app.state.step === at;
    return el('div', null, el('button.rewrite', { type: 'button', 'aria-current': String(open),
      'data-rewrite': at, onclick: () => app.setStep(open ? 0 : at) },
    el('span.top', null, el('span.mono.dim', null, `${w.number}`),
      el('b.cut.grow', null, shown(app.model.text(w.rule), 100)),
      el('span.minus', null, `−${w.removed.length}`), el('span.plus', null, `+${w.added.length}`)),
    w.why ? el('div.why', null, shown(typeof w.why === 'number' ? app.model.text(w.why) : w.why,
      400)) : null), open ? this.opened(w) : null);
  }

  opened(w) {
    const { app } = this, rule = this.ruleList && w.text >= 0 ? this.ruleList[w.text] : null;
    const chip = (kind) => (id) => button(app.absentName(id), () => app.reveal([id]),
      { class: `chip ${kind}` });
    return el('div', { 'data-opened': '1' },
      w.removed.length ? [el('div.dim', null, t('matched')), el('div.chips', null,
        ...w.removed.slice(0, 40).map(chip('removed')))] : null,
      w.added.length ? [el('div.dim', null, t('replacement')), el('div.chips', null,
        ...w.added.slice(0, 40).map(chip('added')))] : null,
      rule ? [el('pre', { 'data-rule': '1' }, shownLines(rule.text || rule.about || '', 20000)),
        el('div.dim', null, [rule.fusion, rule.file].filter(Boolean).map((x) => shown(x, 200))
          .join(' · '))] : null);
  }

  // What changed without a rewrite that says so.
  changedNodes() {
    const { app } = this, u = app.graph;
    if (!u || !u.a) return null;
    const told = new Set(app.rewrites().flatMap((w) => [...w.added, ...w.removed])), rows = [];
    let more = 0;
    for (let i = 0; i < u.n; i++) {
      if (u.status[i] === SAME || told.has(u.key[i])) continue;
      if (rows.length >= 60) more++;
      else rows.push(nodeButton(app, u.key[i], null, t(STATUS_NAMES[u.status[i]] + 'Short')));
    }
    if (more) rows.push(el('div.dim', null, t('andMore', more)));
    return rows.length ? section(t('otherChanges'), ...rows) : null;
  }

  // Of two models: what differs, first things first.
  compared() {
    const { app } = this, u = app.graph, rows = [], texts = new Map();
    for (const [uid, , text] of app.match.changed || []) texts.set(uid + app.model.shift, text);
    const count = [0, 0, 0, 0];
    for (let i = 0; i < u.n; i++) {
      count[u.status[i]]++;
      if (u.status[i] === SAME || rows.length >= 200) continue;
      rows.push(nodeButton(app, u.key[i], null, t(STATUS_NAMES[u.status[i]] + 'Short')));
      const text = texts.get(u.key[i]);
      if (text) rows.push(el('div.dim', null, shown(typeof text === 'number' ?
        app.model.text(text) : text, 400)));
    }
    return [el('h1', null, t('differences')), el('dl.kv', null,
      ...[ADDED, REMOVED, CHANGED].flatMap((s) => [el('dt', null, t(STATUS_NAMES[s] + 'Short')),
        el('dd', null, String(count[s]))])),
    rows.length ? section(t('changes'), ...rows) : el('p.dim', null,
      u.a ? t('noDifference') : t('chooseOverlay'))];
  }
}
