// SPDX-License-Identifier: Apache-2.0
// A canvas that shows the graph: panning, zooming, pointing. Two of them side by side share a view.

class View {
  constructor() {
    this.x = this.y = 0;
    this.k = 1;
  }

  zoomAt(px, py, factor) {
    const k = Math.min(4, Math.max(0.01, this.k * factor));
    this.x = px - (px - this.x) * k / this.k;
    this.y = py - (py - this.y) * k / this.k;
    this.k = k;
  }

  fit(box, width, height, most = 1.1, below = 64) {
    const w = Math.max(box.w, 1), h = Math.max(box.h, 1), margin = 30, high = height - below;
    this.k = Math.min(most, (width - 2 * margin) / w, (high - margin) / h);
    this.k = Math.max(0.01, this.k);
    this.x = (width - w * this.k) / 2 - box.x * this.k;
    this.y = margin + Math.max(0, (high - margin - h * this.k) / 2) - box.y * this.k;
  }

  toGraph(px, py) {
    return [(px - this.x) / this.k, (py - this.y) / this.k];
  }
}

class Viewport {
  // on: {change(), pick(item, event), open(item), hover(item, x, y), look()}
  constructor(side, view, on) {
    this.side = side;
    this.view = view;
    this.on = on;
    this.canvas = el('canvas', { tabindex: 0, role: 'application',
      'aria-label': t('graphLabel') });
    this.which = el('span.which.pill.hidden');
    this.element = el('div.half', null, this.canvas, this.which);
    this.painter = new Painter(this.canvas.getContext('2d', { alpha: false }));
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.element;
    if (!w || !h) return;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(w * this.ratio);
    this.canvas.height = Math.round(h * this.ratio);
    this.width = w;
    this.height = h;
    this.on.resized(this);
  }

  draw() {
    const look = this.on.look(this.side);
    if (!look || !this.width) return;
    this.painter.draw(look, this.view, this.width, this.height, this.ratio);
  }

  listen() {
    const c = this.canvas;
    c.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    c.addEventListener('pointerdown', (e) => this.down(e));
    c.addEventListener('pointermove', (e) => this.move(e));
    c.addEventListener('pointerup', (e) => this.up(e));
    c.addEventListener('pointercancel', (e) => this.pointers.delete(e.pointerId));
    c.addEventListener('pointerleave', () => this.on.hover(null));
    c.addEventListener('dblclick', (e) => {
      const item = this.at(e);
      if (item) this.on.open(item, e);
    });
    c.addEventListener('contextmenu', (e) => e.preventDefault());
  }

  wheel(e) {
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 16 : 1;
    if (e.ctrlKey || e.metaKey || !e.shiftKey && Math.abs(e.deltaY) >= Math.abs(e.deltaX)) {
      this.view.zoomAt(e.offsetX, e.offsetY, Math.exp(-e.deltaY * lines * 0.0016));
    } else {
      this.view.x -= e.deltaX || e.deltaY;
      this.view.y -= e.deltaX ? e.deltaY : 0;
    }
    this.on.change();
  }

  down(e) {
    this.canvas.setPointerCapture(e.pointerId);
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    this.moved = 0;
    if (this.pointers.size === 2) this.pinch = this.spread();
  }

  spread() {
    const [a, b] = [...this.pointers.values()];
    return { d: Math.hypot(a.x - b.x, a.y - b.y), x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  }

  move(e) {
    const p = this.pointers.get(e.pointerId);
    if (!p) {
      this.on.hover(this.at(e), e.offsetX, e.offsetY, this);
      return;
    }
    const dx = e.offsetX - p.x, dy = e.offsetY - p.y;
    p.x = e.offsetX;
    p.y = e.offsetY;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.pointers.size === 2) {
      const now = this.spread();
      this.view.x += now.x - this.pinch.x;
      this.view.y += now.y - this.pinch.y;
      this.view.zoomAt(now.x, now.y, now.d / Math.max(this.pinch.d, 1));
      this.pinch = now;
    } else if (this.moved > 3) {
      this.view.x += dx;
      this.view.y += dy;
      this.canvas.style.cursor = 'grabbing';
    } else {
      return;
    }
    this.on.change();
  }

  up(e) {
    const had = this.pointers.delete(e.pointerId);
    this.canvas.style.cursor = '';
    if (!had || this.moved > 3) return;
    const item = this.at(e);
    this.on.pick(item, e, item && this.onHandle(item, e));
  }

  // The item below the pointer; a click on an open group counts on its heading alone.
  at(e) {
    const look = this.on.look(this.side);
    if (!look) return null;
    const [x, y] = this.view.toGraph(e.offsetX, e.offsetY);
    return itemAt(look, x, y);
  }

  // On what opens and closes a group: the mark on the left.
  onHandle(item, e) {
    if (!item.group) return false;
    const [x, y] = this.view.toGraph(e.offsetX, e.offsetY);
    return x - item.x < 28 && y - item.y < 34;
  }
}

function itemAt(look, x, y) {
  let item = look.scene.root;
  for (;;) {
    const inner = item.items.find((i) => x >= i.x && x <= i.x + i.w && y >= i.y &&
      y <= i.y + i.h && look.statuses.item(i) !== HIDDEN);
    if (!inner) break;
    item = inner;
    if (!item.open) return item;
  }
  return item.parent && y - item.y < 34 ? item : null;
}

// ---- the small map ------------------------------------------------------------------------------

class Minimap {
  constructor(view, change) {
    this.view = view;
    this.canvas = el('canvas', { 'aria-hidden': 'true' });
    this.element = el('div.mini', null, this.canvas);
    const go = (e) => {
      if (!this.scene || !e.buttons) return;
      this.view.x = this.size[0] / 2 - (e.offsetX - this.dx) / this.k * this.view.k;
      this.view.y = this.size[1] / 2 - (e.offsetY - this.dy) / this.k * this.view.k;
      change();
    };
    this.canvas.addEventListener('pointerdown', go);
    this.canvas.addEventListener('pointermove', go);
  }

  // The graph as a picture, once a scene; then only the frame of what is in sight moves.
  prepare(look) {
    const w = this.element.clientWidth, h = this.element.clientHeight, { root } = look.scene;
    if (!w) return;
    this.canvas.width = w * 2;
    this.canvas.height = h * 2;
    this.scene = look.scene;
    this.palette = look.palette;
    this.k = Math.min((w - 12) / Math.max(root.w, 1), (h - 12) / Math.max(root.h, 1));
    this.dx = (w - root.w * this.k) / 2;
    this.dy = (h - root.h * this.k) / 2;
    this.picture = document.createElement('canvas');
    this.picture.width = w * 2;
    this.picture.height = h * 2;
    const c = this.picture.getContext('2d');
    c.setTransform(2 * this.k, 0, 0, 2 * this.k, 2 * this.dx, 2 * this.dy);
    const visit = (item) => {
      const status = look.statuses.item(item);
      if (item.parent && status !== HIDDEN) {
        c.fillStyle = item.open ? look.palette.group0 : status === SAME ? look.palette.edge :
          [0, look.palette.added, look.palette.removed, look.palette.changed][status];
        if (look.selected.has(item)) c.fillStyle = look.palette.select;
        c.fillRect(item.x, item.y, item.w, item.h);
      }
      for (const inner of item.items) visit(inner);
    };
    visit(root);
  }

  draw(width, height) {
    if (!this.picture) return;
    this.size = [width, height];
    const c = this.canvas.getContext('2d'), v = this.view;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.drawImage(this.picture, 0, 0);
    c.setTransform(2, 0, 0, 2, 0, 0);
    const x = this.dx - v.x / v.k * this.k, y = this.dy - v.y / v.k * this.k;
    c.strokeStyle = this.palette.accent;
    c.lineWidth = 1.5;
    c.strokeRect(x, y, width / v.k * this.k, height / v.k * this.k);
  }
}
