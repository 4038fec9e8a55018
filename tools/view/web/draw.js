// SPDX-License-Identifier: Apache-2.0
// Draws a scene on a canvas: only what is in sight, and less of it the further away it is.

const FONT = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", "Noto Sans CJK SC", sans-serif';
const BOLD = `600 12.5px ${FONT}`, PLAIN = `11px ${FONT}`, HEADING = `600 13px ${FONT}`;
const NODE_H = 44, GROUP_H = 54, HIDDEN = 4;

// ---- texts --------------------------------------------------------------------------------------

const measured = new Map(), cutTexts = new Map();
let measuring = null;

function widthOf(text, font) {
  const key = font + text;
  let w = measured.get(key);
  if (w === undefined) {
    if (!measuring) measuring = document.createElement('canvas').getContext('2d');
    measuring.font = font;
    if (measured.size > 50000) measured.clear();
    measured.set(key, w = measuring.measureText(text).width);
  }
  return w;
}

// The text, or as much of it as has room.
function cut(text, font, room) {
  if (widthOf(text, font) <= room) return text;
  const key = `${font}${Math.round(room)} ${text}`;
  let found = cutTexts.get(key);
  if (found !== undefined) return found;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(text.slice(0, middle) + '…', font) <= room) low = middle;
    else high = middle - 1;
  }
  if (cutTexts.size > 50000) cutTexts.clear();
  cutTexts.set(key, found = low ? text.slice(0, low) + '…' : '');
  return found;
}

// ---- sizes and texts of items -------------------------------------------------------------------

function textsOf(item, union) {
  if (item.texts) return item.texts;
  const { group, node } = item;
  let title, under, times = 0;
  if (!group) {
    title = shown(union.kind(node) ? union.name(node) || union.op(node) :
      shortOp(union.op(node)), 60);
    under = shown(union.firstType(node), 60);
  } else {
    times = group.times;
    title = groupTitle(group, union);
    under = t('nodes', group.count);
  }
  return (item.texts = { title, under, times });
}

// On cards NPU ops and those of Tailor's own go without their domain.
function shortOp(op) {
  return op.replace(/^(npu|tl)::/, '');
}

function groupTitle(group, union) {
  if (group.kind === 'owner') return shown(shortOp(union.op(group.owner)), 80);
  if (group.kind === 'body') return bodyTitle(group, union);
  if (group.kind === 'page') return t('page', group.label);
  if (group.kind === 'block') return t('block', group.label);
  if (group.kind === 'inputs' || group.kind === 'outputs') return t(group.kind);
  if (group.kind === 'repeat') return shown(group.label, 80) || t('repeated');
  return shown(group.label, 80);
}

function bodyTitle(group, union) {
  const op = group.parent.owner >= 0 ? union.op(group.parent.owner) : '';
  if (/If$/.test(op)) return group.label === '0' ? t('then') : t('else');
  return t('body', group.label);
}

function measureItem(union) {
  return (item) => {
    const { title, under, times } = textsOf(item, union);
    if (item.open) {
      item.least = widthOf(title, HEADING) + widthOf(under, PLAIN) + (times ? 110 : 70);
      return;
    }
    const wide = Math.max(widthOf(title, BOLD) + (item.group ? 26 : 0) + (times ? 40 : 0),
      widthOf(under, PLAIN) + (item.group ? 26 : 0));
    item.w = Math.ceil(Math.min(Math.max(wide + 28, item.group ? 124 : 88), 260));
    item.h = item.group ? GROUP_H : NODE_H;
    if (item.node >= 0 && !item.group && union.kind(item.node)) item.h = 36;
  };
}

// ---- what to draw, and how ----------------------------------------------------------------------

// Statuses of nodes as one side shows them, with sums over the tree's order for groups.
class Statuses {
  constructor(tree, side, on, step) {
    const u = tree.union, n = u.n;
    this.of = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      let status = on ? u.status[i] : SAME;
      if (step) status = step(i, status);
      if (side === 'before' && status === ADDED || side === 'after' && status === REMOVED)
        status = HIDDEN;
      this.of[i] = status;
    }
    this.sums = [ADDED, REMOVED, CHANGED, HIDDEN].map((status) => {
      const sum = new Int32Array(n + 1);
      for (let i = 0; i < n; i++)
        sum[i + 1] = sum[i] + (this.of[tree.order[i]] === status ? 1 : 0);
      return sum;
    });
  }

  // [added, removed, changed, hidden] nodes of a group.
  counts(group) {
    return this.sums.map((sum) => sum[group.hi] - sum[group.lo]);
  }

  item(item) {
    if (!item.group) return this.of[item.node];
    if (!item.counts || item.countsOf !== this) {
      item.counts = this.counts(item.group);
      item.countsOf = this;
    }
    const [added, removed, changed, hidden] = item.counts;
    if (hidden === item.group.count && hidden) return HIDDEN;
    if (!added && !removed && !changed) return SAME;
    if (added === item.group.count) return ADDED;
    if (removed === item.group.count) return REMOVED;
    return CHANGED;
  }
}

// Draws what `look` says: {scene, palette, statuses, side, lit, hot, selected, hits, paint, hover}.
class Painter {
  constructor(context) {
    this.c = context;
  }

  draw(look, view, width, height, ratio) {
    const c = this.c;
    this.look = look;
    this.k = view.k;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = look.palette.bg;
    c.fillRect(0, 0, width, height);
    this.dots(view, width, height);
    c.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
    this.box = { left: -view.x / view.k, top: -view.y / view.k,
      right: (width - view.x) / view.k, bottom: (height - view.y) / view.k };
    this.drawn = 0;
    this.late = [];
    this.openGroup(look.scene.root);
    this.hotLinks();
    for (const item of this.late) this.outline(item);
  }

  dots(view, width, height) {
    const c = this.c, step = 26 * view.k;
    if (step < 14) return;
    c.fillStyle = this.look.palette.grid;
    const x0 = ((view.x % step) + step) % step, y0 = ((view.y % step) + step) % step;
    for (let x = x0; x < width; x += step) for (let y = y0; y < height; y += step)
      c.fillRect(x, y, 1.4, 1.4);
  }

  sees(item) {
    const b = this.box;
    return item.x < b.right && item.x + item.w > b.left && item.y < b.bottom &&
      item.y + item.h > b.top;
  }

  openGroup(item) {
    if (item.parent) this.frame(item);
    if (item.parent && item.w * this.k < 14) return;
    this.links(item);
    for (const inner of item.items) {
      if (!this.sees(inner)) continue;
      if (this.look.statuses.item(inner) === HIDDEN) continue;
      if (inner.open) this.openGroup(inner);
      else this.card(inner);
    }
  }

  alpha(item) {
    const { lit } = this.look;
    return lit && !lit.has(item) ? 0.22 : 1;
  }

  // ---- groups -----------------------------------------------------------------------------------

  frame(item) {
    const c = this.c, p = this.look.palette, { title, under, times } = textsOf(item,
      this.look.scene.union);
    const status = this.look.statuses.item(item);
    c.globalAlpha = 1;
    c.fillStyle = item.depth % 2 ? p.group0 : p.group1;
    c.strokeStyle = status === SAME ? p.cardline : this.ink(status);
    c.lineWidth = 1;
    this.round(item.x, item.y, item.w, item.h, 12);
    c.fill();
    c.stroke();
    this.mark(item);
    if (this.k < 0.25) return;
    const x = item.x + 12, y = item.y + 20;
    this.chevron(x + 2, y - 4, true);
    c.fillStyle = p.text;
    c.font = HEADING;
    const head = cut(title, HEADING, item.w - 60);
    c.fillText(head, x + 14, y);
    const after = x + 22 + widthOf(head, HEADING);
    if (times) this.badge(`× ${times}`, after, item.y + 7, p.accent);
    c.fillStyle = p.dim;
    c.font = PLAIN;
    c.fillText(cut(under, PLAIN, item.x + item.w - after - (times ? 56 : 8)),
      after + (times ? 46 : 0), y);
  }

  chevron(x, y, down, colour) {
    const c = this.c;
    c.strokeStyle = colour || this.look.palette.dim;
    c.lineWidth = 1.6;
    c.beginPath();
    if (down) {
      c.moveTo(x - 3.5, y - 2);
      c.lineTo(x, y + 2);
      c.lineTo(x + 3.5, y - 2);
    } else {
      c.moveTo(x - 2, y - 3.5);
      c.lineTo(x + 2, y);
      c.lineTo(x - 2, y + 3.5);
    }
    c.stroke();
  }

  badge(text, x, y, colour) {
    const c = this.c, w = widthOf(text, PLAIN) + 12;
    c.fillStyle = colour;
    this.round(x, y, w, 17, 8.5);
    c.fill();
    c.fillStyle = inkOn(colour);
    c.font = PLAIN;
    c.fillText(text, x + 6, y + 12.5);
    return w;
  }

  // ---- cards of nodes and collapsed groups ------------------------------------------------------

  card(item) {
    this.drawn++;
    const look = this.look, p = look.palette, c = this.c;
    const status = look.statuses.item(item);
    const paint = look.paint ? look.paint(item) : null;
    c.globalAlpha = this.alpha(item);
    if (this.k < 0.28) {
      this.block(item, status, paint);
    } else {
      const bg = status === SAME ? p.card : [p.card, p.addedbg, p.removedbg, p.changedbg][status];
      const plain = status === SAME && !item.group && look.scene.union.kind(item.node);
      const fill = paint && paint.fill || (plain ? p.group0 : bg);
      if (item.group && item.group.times && this.k > 0.4) this.stack(item, fill);
      c.fillStyle = fill;
      c.strokeStyle = status === SAME ? p.cardline : this.ink(status);
      c.lineWidth = status === SAME ? 1 : 1.6;
      if (status === REMOVED) c.setLineDash([5, 3]);
      this.round(item.x, item.y, item.w, item.h, this.radius(item));
      c.fill();
      c.stroke();
      if (status === REMOVED) c.setLineDash([]);
      this.inside(item, paint, fill);
    }
    c.globalAlpha = 1;
    this.mark(item);
  }

  radius(item) {
    return item.group ? 10 : this.look.scene.union.kind(item.node) ? 18 : 8;
  }

  // Far away: a block in the colour of what it says.
  block(item, status, paint) {
    const c = this.c, p = this.look.palette;
    c.fillStyle = status !== SAME ? this.ink(status) : paint && paint.fill ||
      (item.group ? p.edge : p.kinds[this.kind(item)]);
    c.fillRect(item.x, item.y, item.w, item.h);
  }

  stack(item, fill) {
    const c = this.c;
    c.fillStyle = fill;
    c.strokeStyle = this.look.palette.cardline;
    c.lineWidth = 1;
    for (const d of [7, 3.5]) {
      this.round(item.x + d, item.y + d, item.w, item.h, 10);
      c.fill();
      c.stroke();
    }
  }

  kind(item) {
    if (!item.kind) item.kind = kindOfOp(this.look.scene.union.op(item.node));
    return item.kind;
  }

  inside(item, paint, fill) {
    const c = this.c, p = this.look.palette, { title, under, times } = textsOf(item,
      this.look.scene.union);
    const ink = paint && paint.fill ? inkOn(fill) : p.text;
    const soft = paint && paint.fill ? ink : p.dim;
    let x = item.x + 14, room = item.w - 24;
    if (item.group) {
      this.chevron(item.x + 14, item.y + 19, false, ink);
      x += 12;
      room -= 14 + (times ? 38 : 0);
    } else if (this.look.scene.union.kind(item.node)) {
      x += 2;
    } else {
      c.fillStyle = p.kinds[this.kind(item)];
      this.round(item.x + 5, item.y + 7, 3.5, item.h - 14, 1.7);
      c.fill();
    }
    if (this.k < 0.36 && !item.group) return;
    const y = item.y + (item.h < 40 ? 15 : item.group ? 24 : 18);
    c.fillStyle = ink;
    c.font = BOLD;
    c.fillText(cut(title, BOLD, room), x, y);
    if (times) this.badge(`× ${times}`, item.x + item.w - 46, item.y + 9, p.accent);
    if (this.k < 0.46) return;
    c.fillStyle = soft;
    c.font = PLAIN;
    const line = paint && paint.text ? paint.text : under;
    const mark = item.group && !(paint && paint.text) ? this.changes(item, x, y + 16, paint) : 0;
    c.fillStyle = soft;
    c.fillText(cut(line, PLAIN, item.w - (x - item.x) - 10 - mark), x + mark, y + 16);
  }

  // '+3 -12 ~1' in a collapsed group; how wide it is.
  changes(item, x, y, paint) {
    const c = this.c, p = this.look.palette, status = this.look.statuses.item(item);
    if (status === SAME || paint) return 0;
    const [added, removed, changed] = item.counts;
    let at = x;
    c.font = PLAIN;
    for (const [n, sign, colour] of [[added, '+', p.added], [removed, '−', p.removed],
      [changed, '~', p.changed]]) {
      if (!n) continue;
      c.fillStyle = colour;
      c.fillText(sign + n, at, y);
      at += widthOf(sign + n, PLAIN) + 5;
    }
    return at - x;
  }

  ink(status) {
    const p = this.look.palette;
    return [p.cardline, p.added, p.removed, p.changed, p.cardline][status];
  }

  // Selected, found or pointed at: drawn last, above everything.
  mark(item) {
    const { selected, hits, hover, marks } = this.look;
    if (selected.has(item) || hits && hits.has(item) || hover === item ||
        marks && marks.has(item)) this.late.push(item);
  }

  outline(item) {
    const { selected, hits, hover, marks, palette: p } = this.look, c = this.c;
    const mark = marks && marks.get(item);
    const chosen = selected.has(item);
    c.lineWidth = Math.max(chosen ? 2.5 : 1.6, (chosen ? 2.2 : 1.4) / this.k);
    c.strokeStyle = selected.has(item) ? p.select : mark || (hits && hits.has(item) ? p.changed :
      p.dim);
    const d = hover === item && !selected.has(item) && !mark ? 1 : 3;
    this.round(item.x - d, item.y - d, item.w + 2 * d, item.h + 2 * d,
      item.open ? 14 : this.radius(item) + d);
    c.stroke();
  }

  round(x, y, w, h, r) {
    const c = this.c;
    c.beginPath();
    if (this.k < 0.2) c.rect(x, y, w, h);
    else c.roundRect(x, y, w, h, Math.min(r, h / 2));
  }

  // ---- links ------------------------------------------------------------------------------------

  // All links of a group that look alike are one path.
  links(item) {
    const c = this.c, p = this.look.palette, batches = new Map();
    for (const link of item.links.values()) {
      if (!link.points || !this.seesLink(link)) continue;
      const style = this.styleOf(link);
      if (!style) continue;
      if (!batches.has(style)) batches.set(style, []);
      batches.get(style).push(link);
    }
    const faint = this.look.lit || this.look.hot ? 0.35 : 1;
    for (const [style, list] of batches) {
      const colour = style === 'plain' || style === 'order' ? p.edge : p[style];
      c.globalAlpha = style === 'plain' || style === 'order' ? faint : Math.max(faint, 0.6);
      c.strokeStyle = c.fillStyle = colour;
      c.lineWidth = Math.max(style === 'plain' ? 1.2 : 1.5, 0.6 / this.k);
      c.setLineDash(style === 'order' ? [2, 4] : style === 'removed' ? [6, 4] : []);
      c.beginPath();
      for (const link of list) this.trace(link.points);
      c.stroke();
      c.setLineDash([]);
      if (this.k > 0.4) for (const link of list) this.head(link);
    }
    c.globalAlpha = 1;
  }

  seesLink(link) {
    const b = this.box;
    return link.left < b.right && link.right > b.left && link.top < b.bottom && link.bottom > b.top;
  }

  styleOf(link) {
    const { side, statuses, scene, step } = this.look;
    for (const item of [link.a, link.b]) if (item && statuses.item(item) === HIDDEN) return null;
    if (scene.union.a) {
      if (side === 'before' && !(link.side & 1)) return null;
      if (side === 'after' && !(link.side & 2)) return null;
      if (side === 'both' && link.side === 1) return step ? 'plain' : 'removed';
      if (side === 'both' && link.side === 2) return step ? 'plain' : 'added';
    }
    return link.control ? 'order' : 'plain';
  }

  trace(p) {
    const c = this.c;
    c.moveTo(p[0], p[1]);
    for (let i = 2; i < p.length; i += 2) {
      if (this.k < 0.3 || Math.abs(p[i] - p[i - 2]) < 0.5) {
        c.lineTo(p[i], p[i + 1]);
      } else {
        const middle = (p[i - 1] + p[i + 1]) / 2;
        c.bezierCurveTo(p[i - 2], middle, p[i], middle, p[i], p[i + 1]);
      }
    }
  }

  head(link) {
    if (!link.b || link.b.open) return;
    const c = this.c, p = link.points, x = p[p.length - 2], y = p[p.length - 1];
    const up = p[p.length - 3] > y ? 1 : -1;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x - 3.6, y + 6.5 * up);
    c.lineTo(x + 3.6, y + 6.5 * up);
    c.fill();
  }

  hotLinks() {
    const c = this.c, { hot } = this.look;
    if (!hot) return;
    for (const [link, colour] of hot) {
      if (!link.points || !this.seesLink(link)) continue;
      if (!this.styleOf(link)) continue;
      c.strokeStyle = c.fillStyle = colour;
      c.lineWidth = Math.max(2, 1.4 / this.k);
      c.beginPath();
      this.trace(link.points);
      c.stroke();
      if (this.k > 0.3) this.head(link);
    }
  }
}
