// SPDX-License-Identifier: Apache-2.0
// The drawer below the graph: what runs when on which stream, before and after the tail of a
// training step was optimized.

const LANE = 22, GAP = 10, LEFT = 110;

class Drawer {
  constructor(app) {
    this.app = app;
    this.element = el('div.drawer.hidden', { role: 'region' });
    this.zoomed = 1;
  }

  render() {
    this.element.setAttribute('aria-label', t('timeline'));
    this.built = false;
    this.update();
  }

  update() {
    const open = this.app.state.drawer === 'timeline';
    this.element.classList.toggle('hidden', !open);
    if (!open) return;
    const model = this.app.subject();
    if (this.model !== model) {
      this.model = model;
      this.data = null;
      this.built = false;
      model.get('timeline').then((data) => {
        if (this.model !== model) return;
        this.data = data || { stages: [] };
        this.update();
      });
    }
    if (!this.data) return;
    if (!this.built) this.build();
    this.draw();
  }

  // The key of the node of an event.
  keyOf(event) {
    return this.app.keyIn(this.model, event.uid + this.model.shift);
  }

  build() {
    this.built = true;
    const icon = (sign, key, work) => button(sign, work, { class: 'icon', title: t(key),
      'aria-label': t(key) });
    this.canvas = el('canvas', { tabindex: 0, role: 'application', 'aria-label': t('timelineLabel'),
      onclick: (e) => this.pick(e), onmousemove: (e) => this.hover(e),
      onkeydown: (e) => this.key(e) });
    this.lanes = el('div.lanes', { onscroll: () => this.draw() }, this.canvas);
    this.says = el('span.cut.grow.dim');
    replace(this.element, el('div.drawerhead', null, el('h2', null, t('timeline')),
      subjectChoice(this.app), this.says,
      icon('＋', 'zoomIn', () => this.zoom(1.6)), icon('－', 'zoomOut', () => this.zoom(1 / 1.6)),
      icon('×', 'close', () => this.app.toggleDrawer(null))), this.lanes);
    const stages = (this.data.stages || []).filter((x) => x.streams && x.streams.length);
    this.parts = [...new Set([stages[0], stages[stages.length - 1]])].filter(Boolean)
      .map((stage) => ({ label: this.labelOf(stage), streams: this.streamsOf(stage) }));
    this.says.textContent = this.parts.length ? '' : t('noStep');
    this.end = 1;
    for (const part of this.parts) for (const s of part.streams) for (const e of s.events)
      this.end = Math.max(this.end, e.end);
    this.list = this.parts.flatMap((part) => part.streams.flatMap((s) => s.events));
    this.walked = this.list.filter((e) => e.uid > 0);
    this.classes = [...new Set(this.list.map((e) => e.kind))];
    new ResizeObserver(() => this.draw()).observe(this.lanes);
  }

  labelOf(stage) {
    const unit = this.data.unit || '';
    return t('stepTime', stage.name, quantity(stage.step, unit),
      quantity(stage.exposed_comm ?? 0, unit));
  }

  // Streams, and buckets as one more.
  streamsOf(stage) {
    const buckets = (stage.buckets || []).map((b) => ({ uid: 0, label: b.name, start: b.start,
      end: b.end, kind: 'bucket' }));
    return buckets.length ? [...stage.streams, { name: t('buckets'), events: buckets }] :
      stage.streams;
  }

  textOf(event) {
    return event.label ?? this.model.text(event.name);
  }

  zoom(factor) {
    this.zoomed = Math.min(400, Math.max(1, this.zoomed * factor));
    this.draw();
  }

  draw() {
    if (!this.lanes || !this.lanes.clientWidth) return;
    const width = Math.max(300, this.lanes.clientWidth);
    let rows = 0;
    for (const part of this.parts) rows += part.streams.length * LANE + GAP + 18;
    const height = Math.max(rows + 20, this.lanes.clientHeight - 4), ratio = Math.min(2,
      window.devicePixelRatio || 1);
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const c = this.canvas.getContext('2d'), p = this.app.palette;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    this.scale = (width - LEFT - 12) / this.end * this.zoomed;
    this.from = Math.min(Math.max(this.from || 0, 0), this.end - (width - LEFT - 12) / this.scale);
    this.boxes = [];
    let y = 4;
    for (const part of this.parts) y = this.part(c, p, part, y, width);
    c.clearRect(0, y, width, 1);
  }

  part(c, p, part, top, width) {
    let y = top;
    c.fillStyle = p.text;
    c.font = BOLD;
    if (part.label) c.fillText(part.label, 12, y + 12);
    y += 18;
    for (const stream of part.streams) {
      c.fillStyle = p.group0;
      c.fillRect(LEFT, y, width - LEFT - 8, LANE - 4);
      c.save();
      c.beginPath();
      c.rect(LEFT, y, width - LEFT - 8, LANE);
      c.clip();
      for (const e of stream.events) this.event(c, p, e, y);
      c.restore();
      c.fillStyle = p.dim;
      c.font = PLAIN;
      c.fillText(cut(shown(stream.name, 60), PLAIN, LEFT - 20), 12, y + 13);
      y += LANE;
    }
    return y + GAP;
  }

  event(c, p, e, y) {
    const x = LEFT + (e.start - this.from) * this.scale, w = Math.max(1, (e.end - e.start) *
      this.scale - 0.5);
    if (x + w < LEFT || x > this.canvas.clientWidth + 4000) return;
    const key = this.keyOf(e), is = this.app.state.selection.includes(key);
    c.fillStyle = is ? p.changed : p.series[this.classes.indexOf(e.kind) % p.series.length];
    c.fillRect(x, y, is ? Math.max(w, 3) : w, LANE - 4);
    if (is) c.fillRect(x - 1, y - 3, Math.max(w, 3) + 2, 3);
    this.boxes.push({ x, y, w, e, key });
    const text = this.textOf(e);
    if (w < 36) return;
    c.fillStyle = inkOn(c.fillStyle);
    c.font = PLAIN;
    c.fillText(cut(shown(text.slice(text.lastIndexOf('/') + 1), 40), PLAIN, w - 8), x + 4, y + 13);
  }

  at(e) {
    return this.boxes.find((b) => e.offsetX >= b.x && e.offsetX <= b.x + Math.max(b.w, 3) &&
      e.offsetY >= b.y && e.offsetY <= b.y + LANE);
  }

  pick(e) {
    const box = this.at(e);
    if (box) this.choose(box.e);
  }

  choose(event) {
    this.tell(event);
    if (event.uid > 0) this.app.reveal([this.keyOf(event)]);
  }

  hover(e) {
    const box = this.at(e);
    this.canvas.style.cursor = box ? 'pointer' : 'default';
    if (box) this.tell(box.e);
  }

  tell(e) {
    const unit = this.data.unit || '';
    this.says.textContent = `${shown(this.textOf(e), 160)} · ${e.kind} · ` +
      `${quantity(e.start, unit)} – ${quantity(e.end, unit)}`;
  }

  key(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (e.key === '+' || e.key === '-') this.zoom(e.key === '+' ? 1.6 : 1 / 1.6);
    else if (step && e.shiftKey) {
      this.from += step * 80 / this.scale;
      this.draw();
    } else if (step) {
      const now = this.walked.findIndex((x) => this.app.state.selection.includes(this.keyOf(x)));
      const to = this.walked[Math.max(0, Math.min(this.walked.length - 1, now + step))];
      if (to) this.choose(to);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }
}
