// SPDX-License-Identifier: Apache-2.0
// How the graph is drawn at the moment: statuses, what is lit, hot, selected, found and painted.

const Looks = {
  invalidate() {
    this.looks.clear();
  },

  look(side) {
    if (!this.scene) return null;
    if (!this.looks.has(side)) this.looks.set(side, this.makeLook(side));
    const look = this.looks.get(side);
    look.hover = this.hover;
    return look;
  },

  makeLook(side) {
    const { scene, palette, graph } = this, on = this.state.mode !== 'graph' && graph.a !== null;
    const overlay = this.overlay(), step = side === 'both' ? this.stepStatus(graph) : null;
    const statuses = new Statuses(graph.tree, side, on, step);
    const look = { scene, palette, side, statuses, step: Boolean(step),
      selected: this.selectedItems(), hits: this.state.query ? this.hitItems() : null,
      lit: null, hot: null, marks: null, hover: null,
      paint: overlay ? overlayPaint(overlay, graph, graph.tree, palette, overlay.model) : null };
    this.light(look);
    return look;
  },

  hitItems() {
    if (this.hitsOf !== this.scene) {
      this.found = this.state.query.trim() ? findNodes(this.graph, this.searches,
        this.state.query) : [];
      this.hitsOf = this.scene;
    }
    return new Set(this.found.slice(0, 5000).map((i) => this.scene.itemOf[i]));
  },

  // Which items are lit and which links are hot: of a reach, or around the selection.
  light(look) {
    const { scene, graph: u, palette } = this, reached = this.reached();
    if (reached) {
      look.lit = new Set();
      for (let i = 0; i < u.n; i++) if (reached.set[i]) look.lit.add(scene.itemOf[i]);
      look.hot = new Map();
      const colour = { up: palette.up, down: palette.down }[this.state.reach] || palette.hot;
      for (const e of edgesInside(u, reached.set))
        for (const link of scene.linksOf(e)) look.hot.set(link, colour);
      return;
    }
    if (!look.selected.size) return;
    look.hot = new Map();
    for (const i of this.state.selection.flatMap((w) => this.indexes(w)).slice(0, 400)) {
      for (let e = u.inAt[i]; e < u.inAt[i + 1]; e++)
        for (const link of scene.linksOf(u.inEdges[e])) look.hot.set(link, palette.up);
      for (let e = u.outAt[i]; e < u.outAt[i + 1]; e++)
        for (const link of scene.linksOf(u.outEdges[e])) look.hot.set(link, palette.down);
    }
  },
};

Object.assign(App.prototype, Looks);
