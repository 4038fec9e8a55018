// SPDX-License-Identifier: Apache-2.0
// The panel on the right: tabs for details of what is selected, the pass, overlays, and reasons.

const TABS = ['details', 'pass', 'overlay', 'why'];

class Side {
  constructor(app) {
    this.app = app;
    this.tabs = el('div.tabs', { role: 'tablist' });
    this.panel = el('div.panel', { role: 'tabpanel', id: 'panel', tabindex: -1 });
    this.element = el('aside.side', null, this.tabs, this.panel);
    this.parts = { details: new Details(app), pass: new PassPanel(app),
      overlay: new OverlayPanel(app), why: new WhyPanel(app) };
  }

  render() {
    this.element.setAttribute('aria-label', t('details'));
    this.tabs.setAttribute('aria-label', t('details'));
    this.reset();
    this.update();
  }

  // What is shown is made anew.
  reset() {
    for (const part of Object.values(this.parts)) if (part.reset) part.reset();
  }

  update() {
    const { app } = this, now = app.state.tab;
    replace(this.tabs, ...TABS.map((name) => button(t('tab_' + name), () => this.go(name), {
      role: 'tab', id: 'tab-' + name, 'aria-selected': String(name === now),
      'aria-controls': 'panel', tabindex: name === now ? 0 : -1,
      onkeydown: (e) => this.key(e) })));
    this.panel.setAttribute('aria-labelledby', 'tab-' + now);
    if (app.graph) this.parts[now].show(this.panel);
  }

  go(name) {
    this.app.state.tab = name;
    this.update();
    this.app.link.later();
  }

  key(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.stopPropagation();
    const at = TABS.indexOf(this.app.state.tab);
    this.go(TABS[(at + step + TABS.length) % TABS.length]);
    this.tabs.querySelector('[aria-selected="true"]').focus();
  }
}

function section(title, ...children) {
  return el('section', null, el('h2', null, title), ...children);
}

// A button that leads to a node.
function nodeButton(app, key, name, right) {
  return el('button.ref', { type: 'button', 'data-key': key,
    onclick: () => app.reveal([key]) },
  el('span.cut.grow', null, name ?? app.nameOf(key)),
  right ? el('span.mono.cut', null, right) : null);
}
