// SPDX-License-Identifier: Apache-2.0
// The state of the page, and what changes it. Parts of the page (bar, rail, stage, side, drawer)
// show the state; they call methods here and are told by `update`.

const FIRST_VISIBLE = 17; // items of the first view
const MOST_VISIBLE = 6000;
const SECOND = 2 ** 31; // keys of nodes that only the second of two models has begin here

class App {
  constructor(root, chunks) {
    this.root = root;
    this.chunks = chunks;
    this.kept = []; // what `m` keeps selected
    this.state = { pass: -1, mode: 'graph', step: 0, selection: [], reach: null, overlay: null,
      follow: null, query: '', tab: 'details', drawer: null, changedOnly: false, of: 1 };
    this.view = new View();
    this.layout = new Layout();
    this.unions = new Map();
    this.searches = new Map();
    this.overlays = new Map();
    this.reasonLists = new Map();
    this.expandedBy = new Map(); // tree kind -> expanded groups; one set for all passes
    this.looks = new Map();
    this.times = {};
    this.serial = 0;
  }

  async load() {
    const index = await this.chunks.get('index');
    this.chunks.know(index);
    this.model = await Model.load(this.chunks, '');
    this.index = this.model.index;
    this.searches.set(this.model, new Search(this.model));
    this.rules = [];
    if (index.what === 'compare' && this.chunks.has('b-graph')) {
      this.other = await Model.load(this.chunks, 'b-');
      this.searches.set(this.other, new Search(this.other));
      this.state.mode = 'overlay';
      this.state.pass = this.chunks.has('match-final') ? this.lastPass() : -1;
    }
    this.times.data = performance.now();
  }

  // ---- the graph that is shown ------------------------------------------------------------------

  lastPass() {
    return this.model.passCount() - 1;
  }

  // Whether a pass says of itself that it changed something.
  changedBy(k) {
    const p = this.index.passes[k];
    return Boolean(p && (p.changed ?? p.chunk));
  }

  comparing() {
    return Boolean(this.other);
  }

  // The model that overlays, reasons and tables of dtypes are about: of two, the chosen one.
  subject() {
    return this.comparing() && this.state.of === 1 ? this.other : this.model;
  }

  // Whether a model is a training step.
  hasTimeline() {
    return [this.model, this.other].some((model) => model && model.has('timeline'));
  }

  // The key of a node of a model.
  keyIn(model, id) {
    return model === this.other && this.graph ? this.graph.b.keyOf(id) : id;
  }

  // Whether there is something before and after.
  hasTwo() {
    return this.comparing() || this.state.pass >= 0;
  }

  async union() {
    const { pass, mode } = this.state, two = mode !== 'graph' && this.hasTwo();
    const name = `${pass}${two ? '+' : ''}`;
    if (!this.unions.has(name)) {
      if (this.unions.size > 5) this.unions.delete(this.unions.keys().next().value);
      this.unions.set(name, await this.makeUnion(two));
    }
    return this.unions.get(name);
  }

  async makeUnion(two) {
    const { pass } = this.state, { model } = this;
    if (this.comparing()) return this.compareUnion(two);
    const after = { model, state: await model.state(pass) };
    const before = two ? { model, state: await model.state(pass - 1) } : null;
    return this.withTree(new Union(before, after, null, this.retyped(two ? pass : -1)));
  }

  // Nodes whose records or the types of whose results a pass changed.
  retyped(pass) {
    const delta = pass >= 0 ? this.model.deltas[pass] : null;
    if (!delta) return pass >= 0 ? new Set() : null;
    const touched = new Set(changedIds(this.model, delta));
    const state = this.model.states.get(pass);
    for (const [value] of delta.types)
      if (state && state.producer[value] >= 0) touched.add(state.producer[value]);
    return touched;
  }

  async compareUnion(two) {
    const { model, other } = this, keys = new Map(), touched = new Set();
    const read = this.state.pass < 0;
    const match = (await this.chunks.get(read ? 'match' : 'match-final')) ||
      { same: [], changed: [] };
    const a = { model, state: await model.state(read ? -1 : model.passCount() - 1) };
    const b = { model: other, state: await other.state(read ? -1 : other.passCount() - 1) };
    this.match = match;
    for (const [uidA, uidB, text] of [...match.same, ...match.changed]) {
      keys.set(uidB + other.shift, uidA + model.shift);
      if (text !== undefined) touched.add(uidA + model.shift);
    }
    for (let i = 0; i < other.shift; i++) this.matchEnd(i, keys);
    const keyOf = (id) => keys.get(id) ?? SECOND + id;
    b.keyOf = keyOf;
    return this.withTree(two ? new Union(a, b, keyOf, touched) : new Union(null, b, keyOf, null));
  }

  matchEnd(i, keys) {
    const { model, other } = this, isInput = i < other.inputs.length;
    const place = isInput ? i : i - other.inputs.length;
    if (isInput && place < model.inputs.length) keys.set(i, place);
    if (!isInput && place < model.outputs.length) keys.set(i, model.inputs.length + place);
  }

  withTree(union) {
    union.tree = new Tree(union);
    return union;
  }

  expanded(tree) {
    if (!this.open) this.open = tree.firstExpanded(FIRST_VISIBLE);
    return this.open;
  }

  // Builds what is visible anew and lays it out. keep: an item's group or node that stays where it
  // is on the screen.
  async build(options = {}) {
    const mine = ++this.serial, start = performance.now();
    this.busy(true);
    const u = await this.union();
    if (mine !== this.serial) return;
    const open = this.expanded(u.tree);
    const scene = new Scene(u.tree, open, measureItem(u));
    const made = performance.now();
    await this.layout.run(scene);
    if (mine !== this.serial) return;
    const anchor = this.anchor(options.keep);
    this.graph = u;
    this.scene = scene;
    this.invalidate();
    this.restore(anchor, options);
    Object.assign(this.times, { scene: made - start, layout: performance.now() - made,
      items: scene.count });
    this.busy(false);
    this.update(options.quiet ? ['stage'] : ['stage', 'rail', 'side', 'bar', 'drawer']);
  }

  // When all that was asked for is loaded, built and drawn.
  async idle() {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    do {
      await frame();
      await new Promise((resolve) => setTimeout(resolve, 0));
      await frame();
    } while (this.chunks.loading || this.stage.element.getAttribute('aria-busy') === 'true');
  }

  // Where something is on the screen, to be there again.
  anchor(keep) {
    const item = keep === undefined || !this.scene ? null : this.itemFor(keep);
    return item && item.parent ? { keep, x: item.x * this.view.k + this.view.x,
      y: item.y * this.view.k + this.view.y } : null;
  }

  restore(anchor, options) {
    if (anchor) {
      const item = this.itemFor(anchor.keep);
      if (item) {
        this.view.x = anchor.x - item.x * this.view.k;
        this.view.y = anchor.y - item.y * this.view.k;
      }
    } else if (options.view) {
      Object.assign(this.view, options.view);
    } else if (options.fit || !this.fitted) {
      this.fit();
    }
    if (options.show !== undefined) this.center(options.show, options.zoom);
  }

  fit() {
    const { width, height } = this.stage.size();
    if (!width) return;
    this.fitted = true;
    const root = this.scene.root;
    this.view.fit(root, width, height);
    // A long chain would be too small to read: begin at its top.
    if (this.view.k < 0.35 && this.scene.count < 60) {
      this.view.k = 0.6;
      this.view.x = width / 2 - root.w * 0.3;
      this.view.y = 50;
    }
  }

  // Brings something, or all of a list, into sight.
  center(what, zoom) {
    const box = this.boxOf(Array.isArray(what) ? what : [what]);
    const { width, height } = this.stage.size();
    if (!box || !width) return;
    const v = this.view, inSight = box.x * v.k + v.x > 40 && box.y * v.k + v.y > 50 &&
      (box.x + box.w) * v.k + v.x < width - 40 && (box.y + box.h) * v.k + v.y < height - 60;
    if (inSight && v.k > 0.45 && !zoom) return;
    const room = Math.min(1, (width - 80) / box.w, (height - 130) / box.h);
    v.k = Math.max(0.3, Math.min(room, Math.max(Math.min(v.k, 1.2), zoom || 0.8)));
    v.x = width / 2 - (box.x + box.w / 2) * v.k;
    v.y = Math.max(height / 2 - (box.y + box.h / 2) * v.k, 60 - box.y * v.k);
    if (box.h * v.k > height) v.y = 60 - box.y * v.k;
  }

  boxOf(list) {
    let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
    for (const item of list.slice(0, 400).map((what) => this.itemFor(what))) {
      if (!item) continue;
      left = Math.min(left, item.x);
      right = Math.max(right, item.x + item.w);
      top = Math.min(top, item.y);
      bottom = Math.max(bottom, item.y + (item.open ? 40 : item.h));
    }
    return left > right ? null : { x: left, y: top, w: right - left, h: bottom - top };
  }

  // ---- items, keys, groups ----------------------------------------------------------------------

  // The visible item of a key (number) or a group's id (text).
  itemFor(what) {
    if (!this.scene) return null;
    if (typeof what === 'number') {
      const i = this.graph.indexOf.get(what);
      return i === undefined ? null : this.scene.itemOf[i];
    }
    for (let g = this.graph.tree.groups.get(what); g; g = g.parent)
      if (this.scene.byGroup.has(g.id)) return this.scene.byGroup.get(g.id);
    return null;
  }

  whatOf(item) {
    if (item.group && item.group.owner < 0) return item.group.id;
    return this.graph.key[item.node];
  }

  indexes(what) {
    if (typeof what === 'number') {
      const i = this.graph.indexOf.get(what);
      return i === undefined ? [] : [i];
    }
    const g = this.graph.tree.groups.get(what);
    return g ? [...this.graph.tree.order.subarray(g.lo, g.hi)] : [];
  }

  selectedItems() {
    return new Set(this.state.selection.map((w) => this.itemFor(w)).filter((i) => i && i.parent));
  }

  // ---- actions ----------------------------------------------------------------------------------

  select(list, options = {}) {
    if (!list.length) this.kept = [];
    this.state.selection = this.withKept(list);
    if (!options.keepReach) this.state.reach = null;
    if (list.length && options.tab !== false && this.state.tab === 'pass' && !options.fromPass)
      this.state.tab = 'details';
    this.invalidate();
    this.update(['stage', 'side', 'drawer', 'rail']);
    if (list.length) this.say(list.map((w) => this.nameOf(w)).slice(0, 3).join(', '));
    if (this.state.follow !== null && list.length === 1 && typeof list[0] === 'number' &&
        options.follow !== false) this.follow(list[0]);
  }

  withKept(list) {
    return [...this.kept.filter((what) => !list.includes(what)), ...list];
  }

  nameOf(what) {
    if (typeof what === 'string') {
      const g = this.graph.tree.groups.get(what);
      return g ? groupTitle(g, this.graph) : what;
    }
    const i = this.graph.indexOf.get(what);
    return i === undefined ? this.absentName(what) : `${shown(this.graph.op(i), 60)} ` +
      shown(this.graph.name(i), 120);
  }

  // Of a node that the present state does not have.
  absentName(key) {
    return key >= SECOND && this.other ? this.nameIn(this.other, key - SECOND) :
      this.nameIn(this.model, key);
  }

  nameIn(model, id) {
    const passing = model.passing.get(id), r = passing ? -1 : model.lastRecord(id);
    if (passing) return shown(`${model.text(passing.op)} ${model.text(passing.name)}`, 120);
    return r < 0 ? `#${id}` : `${shown(model.text(model.records.op[r]), 60)} ` +
      shown(model.nodeName(r), 120);
  }

  // Expands what is around nodes, selects them and brings the first into sight.
  async reveal(keys, options = {}) {
    const open = this.open;
    let present = keys.filter((key) => this.graph.indexOf.has(key));
    if (!present.length && keys.length && await this.goWhere(keys[0]))
      present = keys.filter((key) => this.graph.indexOf.has(key));
    for (const key of present.slice(0, 200))
      for (const g of this.graph.tree.around(this.graph.indexOf.get(key))) open.add(g.id);
    this.state.selection = options.select || this.withKept(present);
    if (!options.keepReach) this.state.reach = null;
    await this.build({ show: present.slice(0, options.all ? 100 : 20), zoom: options.zoom });
    if (options.select === undefined && present.length) this.say(this.nameOf(present[0]));
    return present.length;
  }

  // Goes to the last state that has a node; false where none has.
  async goWhere(key) {
    const m = this.model;
    if (this.comparing() || !m.records.id.includes(key)) return false;
    let last = this.lastPass();
    if (last >= 0) await m.loadDelta(last);
    for (let k = 0; k <= last; k++)
      if (m.deltas[k] && m.deltas[k].removed.includes(key)) last = k - 1;
    this.state.pass = last;
    this.state.mode = 'graph';
    this.state.step = 0;
    await this.build();
    return true;
  }

  async toggle(item) {
    const { group } = item;
    if (!group || !group.parent) return;
    const { open } = this;
    if (open.has(group.id)) {
      open.delete(group.id);
      if (group.kind === 'page' || group.kind === 'repeat')
        for (const id of [...open]) if (id.startsWith(group.id + '/')) open.delete(id);
    } else {
      if (this.scene.count + group.children.length > MOST_VISIBLE) {
        this.note(t('tooMany', MOST_VISIBLE));
        return;
      }
      open.add(group.id);
    }
    await this.build({ keep: group.id, quiet: true });
    this.sayGroup(group, open.has(group.id));
  }

  sayGroup(group, isOpen) {
    this.say(t(isOpen ? 'saidOpen' : 'saidClosed', groupTitle(group, this.graph)));
  }

  // Expands all, level by level, as long as there is room; or collapses to the first view.
  async expandAll() {
    const { tree } = this.graph, open = this.open;
    let level = [tree.root], count = 1;
    while (level.length) {
      const next = [];
      for (const g of level) {
        if (count + g.children.length > MOST_VISIBLE) continue;
        open.add(g.id);
        count += g.children.length;
        next.push(...g.children.filter((c) => typeof c === 'object'));
      }
      level = next;
    }
    await this.build({ fit: true, quiet: true });
  }

  async collapseAll() {
    this.open = this.graph.tree.firstExpanded(FIRST_VISIBLE);
    await this.build({ fit: true, quiet: true });
  }

  async setPass(k, options = {}) {
    const pass = Math.max(-1, Math.min(k, this.lastPass()));
    const { state } = this, keepView = this.fitted;
    const first = this.firstInSight();
    state.step = 0;
    state.pass = pass;
    if (options.mode) state.mode = options.mode;
    else if (pass < 0) state.mode = 'graph';
    else if (state.mode === 'graph' && this.changedBy(pass) && !options.quiet)
      state.mode = 'overlay';
    if (this.state.follow !== null && this.followed) this.selectFollowed();
    else if (!options.keepTab && pass >= 0 && !state.selection.length) state.tab = 'pass';
    await this.build({ keep: keepView ? first : undefined });
    if (this.state.follow !== null && this.followed) await this.showFollowed();
    this.say(pass < 0 ? t('asRead') : this.index.passes[pass].name);
  }

  // What stays in place when the graph changes: the selection, or what is in the middle.
  firstInSight() {
    if (!this.scene) return undefined;
    const chosen = this.state.selection.find((w) => this.itemFor(w));
    if (chosen !== undefined) return chosen;
    const { width, height } = this.stage.size();
    const [x, y] = this.view.toGraph(width / 2, height / 2);
    let best = null, least = Infinity;
    const visit = (item) => {
      for (const inner of item.items) {
        if (inner.open) visit(inner);
        const d = Math.abs(inner.x + inner.w / 2 - x) + Math.abs(inner.y + inner.h / 2 - y);
        if (!inner.open && d < least && inner.node >= 0) {
          least = d;
          best = inner;
        }
      }
    };
    visit(this.scene.root);
    return best ? this.whatOf(best) : undefined;
  }

  async setMode(mode) {
    if (mode !== 'graph' && !this.hasTwo()) {
      await this.setPass(this.firstChanged(), { mode });
      return;
    }
    const first = this.firstInSight(), { width } = this.stage.size();
    this.state.mode = mode;
    this.state.step = mode === 'graph' ? 0 : this.state.step;
    this.stage.arrange();
    this.view.x += (this.stage.size().width - width) / 2; // what is in the middle stays there
    const { selection } = this.state;
    await this.build({ keep: first, show: selection.length ? selection.slice(0, 20) : undefined });
  }

  firstChanged() {
    const k = this.index.passes.findIndex((_, i) => this.changedBy(i));
    return k < 0 ? this.lastPass() : k;
  }

  // ---- telling the parts ------------------------------------------------------------------------

  update(parts) {
    for (const part of parts) if (this[part]) this[part].update();
    this.link.later();
  }

  busy(on) {
    if (this.stage) this.stage.busy(on);
  }

  note(text) {
    if (this.stage) this.stage.note(text);
    this.say(text);
  }

  // For those who do not see the canvas.
  say(text) {
    if (this.live) this.live.textContent = text;
  }
}
