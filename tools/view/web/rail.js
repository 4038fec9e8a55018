// SPDX-License-Identifier: Apache-2.0
// The passes in their order: what changed, how much, how long it took; and what became of the node
// that one follows.

class Rail {
  constructor(app) {
    this.app = app;
    this.element = el('nav.rail');
  }

  render() {
    const { app } = this;
    this.element.setAttribute('aria-label', t('passes'));
    this.list = el('div.passes');
    const only = button(t('changedOnly'), () => {
      app.state.changedOnly = !app.state.changedOnly;
      this.update();
    }, { class: 'soft' });
    this.only = only;
    replace(this.element, el('div.railhead', null, el('h2.grow', null, t('passes')), only),
      this.list);
    this.update();
  }

  update() {
    const { app } = this, { passes } = app.index, rows = [];
    this.only.setAttribute('aria-pressed', String(app.state.changedOnly));
    const most = Math.max(1, ...passes.map((p) => p.nanoseconds || 0));
    rows.push(this.first());
    let stage = null;
    passes.forEach((p, k) => {
      if (app.comparing() && k < passes.length - 1) return;
      if (app.state.changedOnly && !app.changedBy(k) && app.state.pass !== k) return;
      if (p.stage && p.stage !== stage && !app.comparing())
        rows.push(el('div.stagename', null, shown(p.stage, 60)));
      stage = p.stage;
      rows.push(this.row(p, k, most));
    });
    if (!passes.length) rows.push(el('div.empty', null, t('noPasses')));
    const { scrollTop } = this.list, had = this.list.contains(document.activeElement);
    replace(this.list, ...rows);
    this.list.scrollTop = scrollTop;
    const now = this.list.querySelector('[aria-current="true"]');
    if (now) now.scrollIntoView({ block: 'nearest' });
    if (had && now) now.focus();
  }

  first() {
    const { app } = this;
    return el('button.pass.first', { type: 'button', 'data-pass': -1,
      'aria-current': String(app.state.pass === -1), onclick: () => app.setPass(-1) },
    el('span.mark'), el('span.name', null, t('asRead')), this.followMark(-1));
  }

  row(p, k, most) {
    const { app } = this, delta = p.nodes_after - p.nodes_before, changed = app.changedBy(k);
    const current = app.state.pass === k;
    if (app.comparing()) return this.final(k);
    const width = `${Math.max(2, Math.round(100 * (p.nanoseconds || 0) / most))}%`;
    const about = current || changed ? el('span.more', null,
      p.rewrites ? el('span', { title: t('rewrites') }, t('rewritesShort', p.rewrites)) : null,
      delta ? el('span', { class: delta < 0 ? 'minus' : 'plus', title: t('nodeDelta') },
        (delta < 0 ? '−' : '+') + Math.abs(delta)) : null,
      p.nanoseconds ? el('span.bartrack', { 'aria-hidden': 'true' }, el('i',
        { style: { width } })) : null) : null;
    return el('button.pass' + (changed ? '.changed' : ''), { type: 'button', 'data-pass': k,
      'aria-current': String(current), title: shown(p.doc || '', 300),
      onclick: () => app.setPass(k) },
    el('span.mark', { role: 'img', 'aria-label': t(changed ? 'changedPass' : 'samePass') }),
    el('span.name', null, shown(p.name, 80)),
    this.followMark(k) || el('span.num', null, p.nanoseconds ? milliseconds(p.nanoseconds) : ''),
    about);
  }

  // Two models are compared as they were read and as they are after all passes.
  final(k) {
    const { app } = this;
    return el('button.pass.first', { type: 'button', 'data-pass': k,
      'aria-current': String(app.state.pass === k), onclick: () => app.setPass(k) },
    el('span.mark'), el('span.name', null, t('afterPasses')), this.followMark(k));
  }

  // Of two models, only what is left of it after all passes is told here.
  atTheEnd({ rows, id, first }) {
    const ids = rows.length ? rows[rows.length - 1].ids : first;
    return ids.includes(id) ? 'kept' : ids.length ? 'became' : 'removed';
  }

  // What became of the followed node.
  followMark(k) {
    const { followed } = this.app;
    if (!followed) return null;
    const what = k < 0 ? (followed.first.length ? 'kept' : 'none') :
      this.app.comparing() ? this.atTheEnd(followed) : followed.rows[k].what;
    if (what === 'none') return el('span.dim', null, '·');
    const looks = { became: 'changed' }[what] || what;
    return el('span.followed.' + looks, null, t('follow_' + what));
  }
}
