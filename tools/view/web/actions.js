// SPDX-License-Identifier: Apache-2.0
// What keys and buttons do besides: walking through the graph, parts of the page, language and
// light, and bringing back a state that an address holds.

const Actions = {
  selectedItem() {
    const { selection } = this.state;
    return selection.length ? this.itemFor(selection[selection.length - 1]) : null;
  },

  // What is selected stays so while others are selected, until this is asked again.
  keepSelected() {
    this.kept = this.kept.length ? [] : this.state.selection;
    this.say(t(this.kept.length ? 'keeps' : 'keepsNot'));
  },

  openSelected() {
    const item = this.selectedItem();
    if (item && item.group) this.toggle(item);
  },

  // To the item above or below by an edge, or beside in the same group.
  walk(way) {
    const item = this.selectedItem();
    if (!item || !item.parent) {
      const first = this.firstInSight();
      if (first !== undefined) this.selectItem(this.itemFor(first));
      return;
    }
    const to = way === 'up' || way === 'down' ? this.alongLink(item, way) : this.beside(item, way);
    if (to) this.selectItem(to);
    else this.say(t('noFurther'));
  },

  selectItem(item) {
    this.select([this.whatOf(item)]);
    this.center(this.whatOf(item));
    this.stage.redraw(true);
  },

  // The visible item that gives an operand, or that takes a result: the one that is drawn nearest.
  alongLink(item, way) {
    const u = this.graph, ends = new Set(), look = this.look(this.stage.left.side);
    const at = way === 'up' ? u.inAt : u.outAt, list = way === 'up' ? u.inEdges : u.outEdges;
    const other = way === 'up' ? u.from : u.to;
    for (const i of this.indexes(this.whatOf(item)).slice(0, 5000)) {
      for (let e = at[i]; e < at[i + 1]; e++) {
        const to = this.scene.itemOf[other[list[e]]];
        if (to !== item && !within(to, item) && look.statuses.item(to) !== HIDDEN) ends.add(to);
      }
    }
    const far = (i) => Math.abs(i.x + i.w / 2 - item.x - item.w / 2) +
      Math.abs(i.y + i.h / 2 - item.y - item.h / 2);
    return [...ends].sort((a, b) => far(a) - far(b))[0] || null;
  },

  beside(item, way) {
    const sign = way === 'right' ? 1 : -1, look = this.look(this.stage.left.side);
    let best = null, least = Infinity;
    for (const other of item.parent.items) {
      const dx = (other.x + other.w / 2 - item.x - item.w / 2) * sign;
      if (other === item || dx <= 0 || look.statuses.item(other) === HIDDEN) continue;
      const d = dx + 4 * Math.abs(other.y + other.h / 2 - item.y - item.h / 2);
      if (d < least) {
        least = d;
        best = other;
      }
    }
    return best;
  },

  selectAround() {
    const item = this.selectedItem();
    if (item && item.parent && item.parent.parent) this.selectItem(item.parent);
  },

  centerSelected() {
    const [what] = this.state.selection;
    if (what !== undefined) this.center(what, 0.9);
    this.stage.redraw(true);
  },

  followSelected() {
    const [what] = this.state.selection;
    if (this.state.follow !== null) this.follow(null);
    else if (typeof what === 'number') this.follow(what);
    else this.note(t('selectFirst'));
  },

  nextPass(step) {
    const { passes } = this.index;
    let k = this.state.pass + step;
    while (k >= 0 && k < passes.length && !this.changedBy(k)) k += step;
    return k >= passes.length ? this.state.pass : k;
  },

  nextOverlay() {
    const names = this.overlayNames();
    if (!names.length) {
      this.note(t('noOverlays'));
      return;
    }
    const at = names.indexOf(this.state.overlay);
    this.setOverlay(at + 1 < names.length ? names[at + 1] : '');
  },

  searchFor(text) {
    this.bar.input.value = text;
    this.bar.focus();
    this.bar.search();
  },

  escape() {
    const { state } = this;
    if (state.reach) this.setReach(state.reach);
    else if (state.step) this.setStep(0);
    else if (state.selection.length) this.select([]);
    else if (state.query) {
      this.bar.input.value = '';
      this.search('');
      this.bar.search();
    }
    if (this.narrow()) this.closeParts();
  },

  // ---- parts of the page ------------------------------------------------------------------------

  narrow() {
    return window.innerWidth <= 860;
  },

  closed(part) {
    return this.root.classList.contains('no' + part);
  },

  togglePart(part) {
    const closing = !this.closed(part);
    if (this.narrow() && !closing) this.closeParts();
    this.root.classList.toggle('no' + part, closing);
    this.bar.render();
  },

  closeParts() {
    this.root.classList.add('norail', 'noside');
    this.bar.render();
  },

  toggleDrawer(name) {
    const { state } = this;
    if (name && !this.chunks.has(name)) {
      this.note(t('noTimeline'));
      return;
    }
    state.drawer = state.drawer === name ? null : name;
    this.update(['drawer']);
  },

  setLanguage(language) {
    LANGUAGE.now = language;
    document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
    remember('language', language);
    this.reasonLists.clear();
    this.renderAll();
    if (this.graph) this.build({ view: { ...this.view } });
  },

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    this.palette = readPalette();
    this.invalidate();
  },

  toggleTheme() {
    this.setTheme(this.theme === 'dark' ? 'light' : 'dark');
    remember('theme', this.theme);
    this.renderAll();
    if (this.graph) this.update(['stage', 'side', 'drawer']);
  },

  renderAll() {
    for (const part of ['bar', 'rail', 'side', 'stage', 'drawer']) this[part].render();
  },

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch (e) {
      const box = el('textarea', { style: { position: 'fixed', opacity: '0' } });
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand('copy');
      box.remove();
    }
    this.copied = text;
    this.note(t('copied'));
  },

  copySelected() {
    const texts = this.state.selection.flatMap((w) => this.indexes(w)).map((i) => {
      const [part, r] = this.graph.best(i);
      return tirOf(part.model, r, part.state.k);
    });
    if (texts.length) this.copy(texts.join('\n'));
    else this.note(t('selectFirst'));
  },

  // ---- links ------------------------------------------------------------------------------------

  async restoreState(saved) {
    if (!saved) return;
    const { state } = this;
    if (saved.theme) this.setTheme(saved.theme);
    if (saved.language) LANGUAGE.now = saved.language;
    state.pass = Math.max(-1, Math.min(saved.pass, this.lastPass()));
    for (const key of ['mode', 'step', 'query', 'tab', 'drawer']) state[key] = saved[key];
    if (!this.hasTwo()) state.mode = 'graph';
    state.of = saved.of;
    if (saved.overlay && this.overlayNames().includes(saved.overlay)) {
      state.overlay = saved.overlay;
      await this.readOverlay(saved.overlay);
    }
    const { tree } = await this.union(), byHash = new Map();
    for (const id of tree.groups.keys()) byHash.set(hashText(id).toString(36), id);
    if (saved.open) {
      this.open = new Set(['']);
      for (const hash of saved.open) if (byHash.has(hash)) this.open.add(byHash.get(hash));
    }
    state.selection = saved.selection.map((w) => w.startsWith('g') ? byHash.get(w.slice(1)) :
      Number(w)).filter((w) => typeof w === 'string' || Number.isSafeInteger(w));
    this.fitted = Boolean(saved.view);
    this.renderAll();
    await this.build({ view: saved.view });
    if (saved.follow !== null) await this.follow(saved.follow);
    state.reach = saved.reach;
    this.invalidate();
    this.update(['stage', 'side']);
  },
};

Object.assign(App.prototype, Actions);

function within(item, group) {
  for (let i = item; i; i = i.parent) if (i === group) return true;
  return false;
}

// What a reader chose lasts where the browser keeps it; from a file it may not.
function remember(key, value) {
  try {
    localStorage.setItem('tailor-view-' + key, value);
  } catch (e) {
    return;
  }
}

function remembered(key) {
  try {
    return localStorage.getItem('tailor-view-' + key);
  } catch (e) {
    return null;
  }
}
