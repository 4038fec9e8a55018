// SPDX-License-Identifier: Apache-2.0
// The bar on top: the model, the search, before and after, language and light.

class Bar {
  constructor(app) {
    this.app = app;
    this.element = el('header.bar');
    this.chosen = -1;
    this.ask = debounce(() => this.search(), 60);
  }

  render() {
    const { app } = this, model = app.index.models[0], second = app.index.models[1];
    const icon = (sign, key, work, pressed) => button(sign, work, { class: 'icon', title: t(key),
      'aria-label': t(key), 'aria-pressed': pressed });
    const file = shown(fileName(model.path), 80) + (second ? ' ↔ ' +
      shown(fileName(second.path), 80) : '');
    this.input = el('input', { type: 'search', placeholder: t('searchHint'), role: 'combobox',
      'aria-label': t('search'), 'aria-expanded': 'false', 'aria-controls': 'hits',
      'aria-autocomplete': 'list', autocomplete: 'off', spellcheck: 'false',
      oninput: this.ask, onkeydown: (e) => this.key(e), onfocus: () => this.begin(),
      onblur: () => setTimeout(() => this.close(), 200) });
    this.input.value = app.state.query;
    this.count = el('span.count');
    this.hits = el('div.hits.hidden', { id: 'hits', role: 'listbox', 'aria-label': t('found') });
    this.modes = el('div.seg.modes', { role: 'group', 'aria-label': t('mode') });
    replace(this.element,
      icon('☰', 'passes', () => app.togglePart('rail'), !app.closed('rail')),
      el('h1.brand', null, el('span.logo', null, 'tailor'), el('span.file.cut',
        { title: shown(model.path, 400) }, file), model.chip ? el('span.tag', null,
        shown(model.chip, 40)) : null),
      el('div.find', null, el('span.glass', { 'aria-hidden': 'true' }, '⌕'), this.input,
        this.count, this.hits),
      this.modes,
      app.hasTimeline() ? icon('▤', 'timeline', () => app.toggleDrawer('timeline')) : null,
      icon(LANGUAGE.now === 'zh' ? 'EN' : '中', 'language', () => app.setLanguage(
        LANGUAGE.now === 'zh' ? 'en' : 'zh')),
      icon('◐', 'theme', () => app.toggleTheme()), icon('?', 'help', () => app.help.open()),
      icon('▥', 'details', () => app.togglePart('side'), !app.closed('side')));
    this.update();
  }

  update() {
    const { app } = this;
    const mode = (name) => button(t('mode_' + name), () => app.setMode(name), {
      'data-mode': name, 'aria-pressed': String(app.state.mode === name) });
    const any = app.hasTwo() || app.index.passes.length > 0;
    replace(this.modes, ...(any ? ['graph', 'overlay', 'side'].map(mode) : []));
    this.modes.classList.toggle('hidden', !any);
  }

  // ---- search -----------------------------------------------------------------------------------

  // Whoever comes to the search will ask soon.
  begin() {
    for (const search of this.app.searches.values()) search.prepare();
    this.search();
  }

  search() {
    const { app } = this;
    if (!app.scene) return;
    const text = this.input.value, found = app.search(text);
    this.count.textContent = text.trim() ? String(found.length) : '';
    this.chosen = -1;
    const rows = found.slice(0, 100).map((i, at) => this.hit(i, at));
    this.elsewhere = [];
    if (text.trim() && !rows.length) this.searchElsewhere(text);
    if (!text.trim()) rows.push(el('div.empty', null, t('searchHelp')));
    replace(this.hits, ...rows);
    this.show(document.activeElement === this.input);
  }

  // What is in no node of the present graph may be in that of another pass.
  async searchElsewhere(text) {
    const { app } = this, { model } = app, k = app.comparing() ? -1 : app.lastPass();
    if (k >= 0) await model.loadDelta(k);
    if (this.input.value !== text) return;
    this.elsewhere = app.comparing() ? [] : findElsewhere(model, app.searches.get(model), text,
      100);
    const rows = this.elsewhere.map((id, at) => el('button.hit', { type: 'button', role: 'option',
      id: `hit${at}`, tabindex: -1, 'aria-selected': 'false', onclick: () => this.goKey(id) },
    el('span.cut.grow', null, app.absentName(id)), el('span.dim', null, t('elsewhere'))));
    if (!rows.length) rows.push(el('div.empty', null, t('nothing')));
    replace(this.hits, ...rows);
  }

  hit(i, at) {
    const u = this.app.graph, op = u.op(i);
    return el('button.hit', { type: 'button', role: 'option', id: `hit${at}`, tabindex: -1,
      'aria-selected': 'false', onclick: () => this.go(i) },
    el('i.dot', { style: { background: this.app.palette.kinds[kindOfOp(op)] } }),
    el('b.cut', null, shown(op, 40)), el('span.cut.grow.dim', null, shown(u.name(i), 120)),
    el('span.mono.dim.cut', null, shown(u.firstType(i), 40)));
  }

  show(on) {
    this.hits.classList.toggle('hidden', !on);
    this.input.setAttribute('aria-expanded', String(on));
  }

  close() {
    this.show(false);
  }

  go(i) {
    this.goKey(this.app.graph.key[i]);
  }

  goKey(key) {
    this.close();
    this.app.state.tab = 'details';
    this.app.stage.left.canvas.focus();
    return this.app.reveal([key]);
  }

  key(e) {
    const found = this.app.found || [], rows = this.hits.querySelectorAll('.hit');
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      this.show(true);
      const step = e.key === 'ArrowDown' ? 1 : -1;
      this.chosen = Math.max(0, Math.min(rows.length - 1, this.chosen + step));
      rows.forEach((row, i) => row.setAttribute('aria-selected', String(i === this.chosen)));
      const row = rows[this.chosen];
      if (row) {
        row.scrollIntoView({ block: 'nearest' });
        this.input.setAttribute('aria-activedescendant', row.id);
      }
    } else if (e.key === 'Enter') {
      this.search();
      const list = this.app.found || found;
      if (list.length) {
        this.at = this.chosen < 0 && this.lastText === this.input.value ?
          (this.at + (e.shiftKey ? list.length - 1 : 1)) % list.length : Math.max(this.chosen, 0);
        this.lastText = this.input.value;
        this.go(list[this.at]);
      } else if (this.input.value.trim()) {
        this.searchElsewhere(this.input.value).then(() => {
          if (this.elsewhere.length) this.goKey(this.elsewhere[Math.max(this.chosen, 0)]);
        });
      }
    } else if (e.key === 'Escape') {
      if (this.hits.classList.contains('hidden')) this.input.value = '';
      this.search();
      this.close();
      if (!this.input.value) this.app.stage.left.canvas.focus();
    } else {
      return;
    }
    e.stopPropagation();
  }

  focus() {
    this.input.focus();
    this.input.select();
  }
}
