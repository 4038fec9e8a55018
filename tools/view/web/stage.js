// SPDX-License-Identifier: Apache-2.0
// The middle of the page: one canvas, or two side by side, with what lies above them.

class Stage {
  constructor(app) {
    this.app = app;
    const on = {
      change: () => this.redraw(true),
      resized: (port) => this.resized(port),
      look: (side) => app.look(side),
      pick: (item, e, handle) => this.pick(item, e, handle),
      open: (item) => app.toggle(item),
      hover: (item, x, y, port) => this.hover(item, x, y, port),
    };
    this.left = new Viewport('both', app.view, on);
    this.right = new Viewport('after', app.view, on);
    this.mini = new Minimap(app.view, () => this.redraw(true));
    this.crumbs = el('div.crumbs');
    this.legend = el('div.legend.hidden');
    this.stepper = el('div.stepper.hidden');
    this.tip = el('div.tip.hidden', { role: 'tooltip' });
    this.busyLine = el('div.busy.hidden');
    this.noteBox = el('div.note.hidden', { role: 'status' });
    this.printed = el('img.printed', { alt: '' });
    this.tools = el('div.tools', { role: 'toolbar' });
    this.element = el('main.stage', null, this.left.element, this.right.element, this.crumbs,
      this.legend, this.stepper, this.tools, this.mini.element, this.tip, this.busyLine,
      this.noteBox, this.printed);
    this.frames = [];
    window.addEventListener('beforeprint', () => this.print());
  }

  render() {
    const { app } = this;
    this.arrange();
    this.element.setAttribute('aria-label', t('graph'));
    for (const port of [this.left, this.right])
      port.canvas.setAttribute('aria-label', t('graphLabel'));
    this.tools.setAttribute('aria-label', t('viewTools'));
    const tool = (sign, key, work) => button(sign, work, { class: 'icon', title: t(key),
      'aria-label': t(key) });
    replace(this.tools, tool('＋', 'zoomIn', () => this.zoom(1.3)),
      tool('－', 'zoomOut', () => this.zoom(1 / 1.3)), tool('⤢', 'fit', () => this.fit()),
      tool('⊞', 'expandAll', () => app.expandAll()),
      tool('⊟', 'collapseAll', () => app.collapseAll()));
  }

  size() {
    const { clientWidth: width, clientHeight: height } = this.left.element;
    return { width, height };
  }

  // One canvas, or two.
  arrange() {
    const { app } = this, { mode } = app.state, two = mode === 'side' && app.hasTwo();
    this.left.side = two ? 'before' : mode === 'graph' ? 'after' : 'both';
    this.right.element.classList.toggle('hidden', !two);
    return two;
  }

  resized(port) {
    const { app } = this;
    if (port === this.left && app.scene && !app.fitted) app.fit();
    port.draw();
    this.redraw();
  }

  update() {
    const { app } = this, two = this.arrange();
    for (const [port, key] of [[this.left, 'before'], [this.right, 'after']]) {
      port.which.classList.toggle('hidden', !two);
      port.which.textContent = app.comparing() ? this.fileOf(key) : t(key);
    }
    this.drawCrumbs();
    this.drawLegend();
    this.drawStepper();
    this.mapOf = null;
    this.redraw();
  }

  fileOf(key) {
    const { models } = this.app.index;
    return shown(fileName((models[key === 'before' ? 0 : 1] || models[0]).path), 60);
  }

  // Draws once a frame, however often it is asked.
  redraw(moved) {
    if (moved) this.hideTip();
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      const start = performance.now();
      this.left.draw();
      if (!this.right.element.classList.contains('hidden')) this.right.draw();
      this.drawMap();
      this.frames.push(performance.now() - start);
      if (this.frames.length > 120) this.frames.shift();
      this.app.link.later();
    });
  }

  drawMap() {
    const look = this.app.look(this.left.side);
    if (!look) return;
    if (this.mapOf !== look) this.mini.prepare(look);
    this.mapOf = look;
    this.mini.draw(this.left.width, this.left.height);
  }

  zoom(factor) {
    const { width, height } = this.size();
    this.app.view.zoomAt(width / 2, height / 2, factor);
    this.redraw(true);
  }

  // Moves the view by a fifth of what is in sight.
  pan(x, y) {
    const { width, height } = this.size(), { view } = this.app;
    view.x += x * width / 5;
    view.y += y * height / 5;
    this.redraw(true);
  }

  fit() {
    this.app.fit();
    this.redraw(true);
  }

  // ---- pointing ---------------------------------------------------------------------------------

  pick(item, e, handle) {
    const { app } = this, { selection } = app.state;
    this.hideTip();
    if (!item) {
      if (!e.shiftKey && selection.length) app.select([]);
      return;
    }
    if (handle) {
      app.toggle(item);
      return;
    }
    const what = app.whatOf(item);
    if (e.shiftKey || e.ctrlKey || e.metaKey) {
      const without = selection.filter((w) => w !== what);
      app.select(without.length < selection.length ? without : [...selection, what]);
    } else {
      app.select([what]);
    }
  }

  hover(item, x, y, port) {
    const { app } = this;
    if (item !== app.hover) {
      app.hover = item;
      this.redraw();
      clearTimeout(this.tipTimer);
      this.hideTip();
      if (item) this.tipTimer = setTimeout(() => this.showTip(item, x, y, port), 350);
    }
    if (port) port.canvas.style.cursor = item ? 'pointer' : 'grab';
  }

  showTip(item, x, y, port) {
    const u = this.app.graph, lines = [];
    if (!this.app.scene || this.app.hover !== item) return;
    if (item.node >= 0) {
      lines.push(el('b', null, shown(u.op(item.node), 80)), el('div.mono', null,
        shown(u.name(item.node), 160)));
      lines.push(el('div.dim.mono', null, shown(u.firstType(item.node), 80)));
      const o = this.app.overlay();
      const v = o && o.value.get(idIn(u, item.node, o.model));
      if (v !== undefined && o) lines.push(el('div', null, `${o.title}: ${o.text(v)}`));
    } else {
      lines.push(el('b', null, groupTitle(item.group, u)), el('div.dim', null,
        t('nodes', item.group.count)), el('div.dim', null, t('openHint')));
    }
    replace(this.tip, ...lines);
    this.tip.classList.remove('hidden');
    const left = port.element.offsetLeft + x + 14, wide = this.element.clientWidth;
    this.tip.style.left = `${Math.min(left, wide - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${Math.min(y + 14, this.element.clientHeight -
      this.tip.offsetHeight - 8)}px`;
  }

  hideTip() {
    this.tip.classList.add('hidden');
  }

  // ---- what lies above --------------------------------------------------------------------------

  drawCrumbs() {
    const { app } = this, [what] = app.state.selection, parts = [];
    const i = typeof what === 'number' && app.graph ? app.graph.indexOf.get(what) : undefined;
    if (i !== undefined) {
      for (const g of app.graph.tree.around(i).reverse())
        parts.push(button(groupTitle(g, app.graph), () => app.select([g.id]), { class: 'cut' }));
    }
    replace(this.crumbs, ...parts);
    this.crumbs.classList.toggle('hidden', app.state.mode === 'side');
  }

  drawLegend() {
    const { app } = this, p = app.palette, o = app.overlay(), rows = [];
    const row = (colour, text) => el('div.row', null, el('i.swatch',
      { style: { background: colour } }), text);
    if (o && o.isNumber) {
      rows.push(el('b', null, o.title), el('div.scale', { style: { background:
        `linear-gradient(90deg, ${p.low}, ${p.high})` } }),
      el('div.ends', null, el('span', null, o.text(o.min)), el('span', null, o.text(o.max))));
    } else if (o) {
      rows.push(el('b', null, o.title));
      for (const [name, count] of o.list.slice(0, 12))
        rows.push(row(o.colour(name, p), `${shown(name, 40)} (${count})`));
    } else if (app.state.mode !== 'graph' && app.hasTwo()) {
      rows.push(row(p.added, t('added')), row(p.removed, t('removed')),
        row(p.changed, t('changedNode')));
    }
    replace(this.legend, ...rows);
    this.legend.classList.toggle('hidden', !rows.length);
  }

  drawStepper() {
    const { app } = this, list = app.rewrites(), { step } = app.state;
    this.stepper.classList.toggle('hidden', !list.length || app.state.mode === 'graph');
    if (!list.length) return;
    const label = step ? app.model.text(list[step - 1].rule) : t('allRewrites');
    const move = (sign, key, to, off) => button(sign, () => app.setStep(to), { class: 'icon',
      title: t(key), 'aria-label': t(key), disabled: off });
    replace(this.stepper, move('‹', 'prevRewrite', step - 1, step === 0),
      el('span.cut', null, `${step}/${list.length} ${shown(label, 60)}`),
      move('›', 'nextRewrite', step + 1, step === list.length),
      step ? move('×', 'allRewrites', 0) : null);
  }

  // ---- telling ----------------------------------------------------------------------------------

  busy(on) {
    clearTimeout(this.busyTimer);
    if (!on) this.busyLine.classList.add('hidden');
    else this.busyTimer = setTimeout(() => this.busyLine.classList.remove('hidden'), 120);
    this.element.setAttribute('aria-busy', String(on));
  }

  note(text) {
    this.noteBox.textContent = text;
    this.noteBox.classList.remove('hidden');
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => this.noteBox.classList.add('hidden'), 3500);
  }

  // On paper the graph is a picture of all of it in light colours.
  print() {
    const { app } = this, look = app.look(this.left.side), { theme } = document.documentElement
      .dataset;
    if (!look) return;
    document.documentElement.dataset.theme = 'light';
    const width = 1600, root = app.scene.root;
    const height = Math.round(Math.min(2200, Math.max(500, width * root.h / Math.max(root.w, 1))));
    const canvas = el('canvas', { width: width * 2, height: height * 2 }), view = new View();
    view.fit(root, width, height, 2, 20);
    const paper = { ...look, palette: readPalette(), hover: null };
    new Painter(canvas.getContext('2d')).draw(paper, view, width, height, 2);
    this.printed.src = canvas.toDataURL('image/png');
    document.documentElement.dataset.theme = theme;
  }
}

function fileName(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}
