// SPDX-License-Identifier: Apache-2.0
// The whole state of the page in the fragment of its address, so that a link shows the same again.

class Link {
  constructor(app) {
    this.app = app;
    this.write = debounce(() => this.store(), 250);
    window.addEventListener('hashchange', () => {
      if (location.hash.slice(1) !== this.written) app.restoreState(this.read());
    });
  }

  later() {
    if (this.ready) this.write();
  }

  store() {
    const { state, view, graph, open } = this.app;
    if (!graph) return;
    const parts = new URLSearchParams();
    const put = (key, value, plain) => {
      if (value !== plain && value !== null && value !== '') parts.set(key, value);
    };
    put('p', state.pass, -1);
    put('m', state.mode, 'graph');
    put('r', state.step, 0);
    put('s', state.selection.slice(0, 50).map((w) => typeof w === 'number' ? String(w) :
      'g' + hashText(w).toString(36)).join('.'));
    put('reach', state.reach);
    put('o', state.overlay);
    put('f', state.follow);
    put('q', state.query);
    put('of', state.of, 1);
    put('t', state.tab, 'details');
    put('d', state.drawer);
    put('l', LANGUAGE.now);
    put('th', this.app.theme);
    if (open) put('e', [...open].filter((id) => graph.tree.groups.has(id) && id)
      .slice(0, 400).map((id) => hashText(id).toString(36)).join('.'));
    put('v', [view.x.toFixed(0), view.y.toFixed(0), view.k.toPrecision(4)].join('_'));
    this.written = parts.toString();
    history.replaceState(null, '', '#' + this.written);
  }

  // What the fragment says, or null without one; values that make no sense are left out.
  read() {
    const text = location.hash.slice(1);
    if (!text) return null;
    const p = new URLSearchParams(text), whole = (key, otherwise) => {
      const x = parseInt(p.get(key) ?? '', 10);
      return Number.isSafeInteger(x) ? x : otherwise;
    };
    const one = (key, list, otherwise) => list.includes(p.get(key)) ? p.get(key) : otherwise;
    const view = (p.get('v') || '').split('_').map(Number);
    return {
      pass: whole('p', -1), mode: one('m', ['graph', 'overlay', 'side'], 'graph'),
      step: whole('r', 0), reach: one('reach', ['up', 'down', 'both', 'path', 'between'], null),
      selection: (p.get('s') || '').split('.').filter(Boolean), overlay: p.get('o'),
      follow: whole('f', null), query: p.get('q') || '', of: whole('of', 1) ? 1 : 0, tab: one('t', TABS, 'details'),
      drawer: one('d', ['timeline'], null), language: one('l', ['en', 'zh'], null),
      theme: one('th', ['light', 'dark'], null),
      open: p.has('e') ? new Set(p.get('e').split('.')) : null,
      view: view.length === 3 && view.every(Number.isFinite) && view[2] > 0 ?
        { x: view[0], y: view[1], k: Math.min(4, Math.max(0.01, view[2])) } : null,
    };
  }
}
