// SPDX-License-Identifier: Apache-2.0
// What a reader asks of the graph: a rewrite, what leads to a node, a node to follow, an overlay, a
// search.

const Choices = {
  // ---- rewrites ---------------------------------------------------------------------------------

  rewrites() {
    const delta = this.state.pass >= 0 && !this.comparing() ? this.model.deltas[this.state.pass] :
      null;
    return delta ? delta.rewrites : [];
  },

  // Shows rewrite `step` of the pass (from 1): those before it are done, those behind it are not.
  async setStep(step) {
    const list = this.rewrites();
    if (!list.length) return;
    const to = Math.max(0, Math.min(step, list.length));
    const modeWas = this.state.mode;
    this.state.step = to;
    if (modeWas === 'graph') this.state.mode = 'overlay';
    this.state.tab = 'pass';
    if (to === 0) {
      this.state.selection = [];
      await this.build();
      return;
    }
    const w = list[to - 1];
    if (modeWas === 'graph') await this.build({ quiet: true });
    const own = [...new Set([...w.added, ...w.removed])];
    await this.reveal(own.length ? own : w.changed, { select: [...own, ...w.changed]
      .filter((id) => !this.model.passing.has(id)) });
    this.say(t('rewriteSaid', to, list.length, this.model.text(w.rule)));
  },

  stepStatus(u) {
    const { step } = this.state, list = this.rewrites();
    if (!step || !list.length) return null;
    const done = new Map();
    list.forEach((w, i) => {
      for (const id of w.removed) done.set(id, i + 1);
      for (const id of w.added) if (!done.has(id)) done.set(id, i + 1);
    });
    return (i, status) => {
      const at = done.get(u.key[i]);
      if (at === undefined || status === CHANGED) return at === step ? status : SAME;
      if (at > step) return status === ADDED ? HIDDEN : SAME;
      if (at < step) return status === REMOVED ? HIDDEN : SAME;
      return status;
    };
  },

  // ---- upstream, downstream, paths --------------------------------------------------------------

  setReach(kind) {
    const { state } = this;
    state.reach = state.reach === kind ? null : kind;
    if (state.reach === 'path' || state.reach === 'between') {
      if (state.selection.length < 2) {
        state.reach = null;
        this.note(t('pathNeedsTwo'));
        return;
      }
    } else if (state.reach && !state.selection.length) {
      state.reach = null;
      this.note(t('selectFirst'));
      return;
    }
    this.invalidate();
    if (state.reach && !this.reached()) {
      state.reach = null;
      this.note(t('noPath'));
      this.invalidate();
    }
    this.update(['stage', 'side']);
  },

  // {set, path, count}: the nodes that the present reach marks.
  reached() {
    const { reach: kind, selection } = this.state, u = this.graph;
    if (!kind || !u) return null;
    const starts = selection.flatMap((w) => this.indexes(w));
    let set = null, path = null;
    if (kind === 'up' || kind === 'down') set = reach(u, starts, kind === 'down');
    else if (kind === 'both') {
      const up = reach(u, starts, false);
      set = reach(u, starts, true).map((x, i) => x | up[i]);
    } else {
      const a = this.indexes(selection[0])[0], b = this.indexes(selection[1])[0];
      if (a === undefined || b === undefined) return null;
      path = shortestPath(u, a, b);
      if (!path) return null;
      if (kind === 'path') {
        set = new Uint8Array(u.n);
        for (const i of path) set[i] = 1;
      } else {
        set = between(u, a, b);
      }
    }
    return { set, path, count: set.reduce((s, x) => s + x, 0) };
  },

  // ---- follow -----------------------------------------------------------------------------------

  async follow(key) {
    this.state.follow = key;
    this.followed = key === null ? null : await this.lifeOf(key);
    if (this.followed === null) this.state.follow = null;
    this.update(['rail', 'side', 'bar']);
  },

  // Of two models, in the chosen one where it has the node.
  async lifeOf(key) {
    if (!this.comparing()) return followNode(this.model, key);
    const i = this.graph.indexOf.get(key), first = this.subject();
    for (const model of [first, first === this.model ? this.other : this.model]) {
      const id = i === undefined ? -1 : idIn(this.graph, i, model);
      if (id >= 0) return followNode(model, id);
    }
    return null;
  },

  // Keys of what the followed node is after pass k.
  followedKeys(k) {
    const { model, rows } = this.followed, at = this.comparing() && k >= 0 ? rows.length - 1 : k;
    return followedAt(this.followed, at).map((id) => this.keyIn(model, id));
  },

  selectFollowed() {
    const { pass } = this.state, keys = this.followedKeys(pass);
    this.state.selection = keys.length || pass < 0 ? keys : this.followedKeys(pass - 1);
  },

  async showFollowed() {
    const present = this.state.selection.filter((id) => this.graph.indexOf.has(id));
    if (present.length) await this.reveal(present, { select: this.state.selection });
  },

  // ---- overlays ---------------------------------------------------------------------------------

  overlayNames() {
    const begin = this.subject().prefix + 'overlay-';
    return [...this.chunks.names].filter((n) => n.startsWith(begin))
      .map((n) => n.slice(begin.length)).sort();
  },

  // Reads an overlay of the subject, once; null where it has none of that name.
  async readOverlay(name) {
    const model = this.subject(), key = model.prefix + name;
    if (!this.overlays.has(key)) {
      const chunk = await model.get('overlay-' + name);
      const errors = chunk && name === 'error' ? await model.get('errors') : null;
      this.overlays.set(key, chunk ? new Overlay(name, chunk, model, errors) : null);
    }
    return this.overlays.get(key);
  },

  async setOverlay(name, options = {}) {
    this.state.overlay = name || null;
    if (name && !await this.readOverlay(name)) this.state.overlay = null;
    if (name && !options.keepTab) this.state.tab = 'overlay';
    this.invalidate();
    const o = this.overlay();
    if (o && !options.keepTab && this.fewOf(o, this.graph.b.state)) {
      this.state.pass = await this.stateFor(o);
      this.state.mode = 'graph';
      await this.build();
      return;
    }
    this.update(['stage', 'side', 'bar']);
  },

  overlay() {
    return this.state.overlay ?
      this.overlays.get(this.subject().prefix + this.state.overlay) || null : null;
  },

  // Of two models, the one that overlays and reasons are about.
  async setSubject(of) {
    this.state.of = of;
    this.side.reset();
    if (this.state.overlay) await this.setOverlay(this.state.overlay, { keepTab: true });
    this.update(['stage', 'side', 'drawer']);
  },

  // Why things in a model are as they are: read once.
  reasons(model) {
    if (!this.reasonLists.has(model)) this.reasonLists.set(model, readReasons(model));
    return this.reasonLists.get(model);
  },

  // Whether the present state lacks what an overlay speaks of.
  fewOf(overlay, state) {
    return !this.comparing() && this.partOf(overlay, state) < 0.9;
  },

  partOf(overlay, state) {
    let there = 0;
    for (const id of overlay.value.keys()) if (this.model.recordAt(id, state) >= 0) there++;
    return there / Math.max(overlay.value.size, 1);
  },

  // The last state, or the first where that has more of what the overlay speaks of.
  async stateFor(overlay) {
    const k = overlay.state < 0 ? this.lastPass() : overlay.state;
    const last = this.partOf(overlay, await this.model.state(k));
    return this.partOf(overlay, await this.model.state(-1)) > last ? -1 : k;
  },

  // ---- search -----------------------------------------------------------------------------------

  search(text) {
    this.state.query = text;
    const start = performance.now();
    this.found = text.trim() ? findNodes(this.graph, this.searches, text) : [];
    this.times.search = performance.now() - start;
    this.hits = new Set(this.found.slice(0, 5000).map((i) => this.scene.itemOf[i]));
    this.invalidate();
    this.update(['stage']);
    return this.found;
  },
};

Object.assign(App.prototype, Choices);
