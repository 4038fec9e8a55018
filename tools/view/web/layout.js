// SPDX-License-Identifier: Apache-2.0
// Positions of a scene: its groups go to the worker, and its answer becomes absolute coordinates.

class Layout {
  constructor() {
    const source = `const dagre = (${dagreSource.toString()})();\n` +
      `(${layoutWorker.toString()})(dagre);`;
    const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    this.worker = new Worker(address);
    this.waiting = new Map();
    this.next = 1;
    this.worker.onmessage = ({ data }) => {
      const done = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      this.time = data.time;
      if (done) done(data.groups);
    };
  }

  // Fills in x, y, w, h of items and the points of links.
  async run(scene) {
    const open = scene.openItems(), number = new Map(open.map((item, i) => [item, i]));
    const fast = scene.count > 1500;
    const requests = open.map((item) => request(item, number, fast));
    const answers = await new Promise((resolve) => {
      const id = this.next++;
      this.waiting.set(id, resolve);
      this.worker.postMessage({ id, groups: requests.map((r) => r.message) });
    });
    open.forEach((item, i) => {
      item.w = answers[i].w;
      item.h = answers[i].h;
    });
    scene.root.x = scene.root.y = 0;
    for (let i = open.length - 1; i >= 0; i--) position(open[i], requests[i], answers[i]);
    for (let i = open.length - 1; i >= 0; i--) joinPorts(open[i]);
  }
}

// What the worker needs to lay out an open group, and which links its edges are.
function request(item, number, fast) {
  const sizes = [], edges = [], links = [], ins = new Map(), outs = new Map();
  for (const inner of item.items) {
    if (inner.open) sizes.push(-1, number.get(inner));
    else sizes.push(Math.round(inner.w), Math.round(inner.h));
  }
  for (const link of item.links.values()) {
    if (!link.a) portOf(ins, link.peer);
    if (!link.b) portOf(outs, link.peer);
  }
  const firstIn = item.items.length, countIn = portCount(ins);
  const seen = new Map();
  for (const link of item.links.values()) {
    const a = link.a ? link.a.place : firstIn + portOf(ins, link.peer);
    const b = link.b ? link.b.place : firstIn + countIn + portOf(outs, link.peer);
    if (a === b) continue;
    link.ends = [a, b];
    const key = a * 100000 + b;
    if (!seen.has(key)) {
      seen.set(key, links.length);
      edges.push(a, b, link.a && link.b ? 2 : 1);
      links.push([]);
    }
    links[seen.get(key)].push(link);
  }
  return { links, message: { sizes, edges, ins: countIn, outs: portCount(outs), fast,
    root: !item.parent, least: item.parent ? item.least || 0 : 0 } };
}

function portOf(ports, peer) {
  if (!ports.has(peer)) ports.set(peer, ports.size);
  return ports.size > MOST_PORTS ? 0 : ports.get(peer);
}

function portCount(ports) {
  return ports.size > MOST_PORTS ? 1 : ports.size;
}

function position(item, { links }, { at, bends }) {
  item.items.forEach((inner, i) => {
    inner.x = item.x + at[2 * i] - inner.w / 2;
    inner.y = item.y + at[2 * i + 1] - inner.h / 2;
  });
  const end = (i) => [item.x + at[2 * i], item.y + at[2 * i + 1]];
  links.forEach((list, e) => {
    const middle = [];
    for (let i = 0; i < bends[e].length; i += 2)
      middle.push(item.x + bends[e][i], item.y + bends[e][i + 1]);
    for (const link of list) {
      const [ax] = end(link.ends[0]), [bx] = end(link.ends[1]);
      link.middle = middle;
      link.ax = ax;
      link.bx = bx;
    }
  });
}

// Where links begin and end: on the borders of what they join, and at one point with the link that
// goes on inside.
function joinPorts(item) {
  const inner = new Map();
  for (const open of item.items) {
    if (!open.open) continue;
    for (const link of open.links.values()) {
      if (link.ends && !link.a) inner.set(`${itemNumber(open)}<${itemNumber(link.peer)}`, link.ax);
      if (link.ends && !link.b) inner.set(`${itemNumber(open)}>${itemNumber(link.peer)}`, link.bx);
    }
  }
  for (const link of item.links.values()) {
    if (!link.ends) continue;
    const { a, b } = link;
    let ax = link.ax, bx = link.bx;
    const across = a || link.peer, beyond = b || link.peer;
    if (a && a.open) ax = inner.get(`${itemNumber(a)}>${itemNumber(beyond)}`) ?? ax;
    if (b && b.open) bx = inner.get(`${itemNumber(b)}<${itemNumber(across)}`) ?? bx;
    const ay = a ? a.y + a.h : item.y, by = b ? b.y : item.y + item.h;
    link.points = simplified([ax, ay, ...link.middle, bx, by]);
    bound(link);
  }
}

// Bends that change nothing are left out.
function simplified(p) {
  const out = [p[0], p[1]];
  for (let i = 2; i + 3 < p.length; i += 2) {
    const x0 = out[out.length - 2], straight = Math.abs(p[i] - x0) < 1 &&
      Math.abs(p[i + 2] - p[i]) < 1;
    if (!straight) out.push(p[i], p[i + 1]);
  }
  out.push(p[p.length - 2], p[p.length - 1]);
  return out;
}

function bound(link) {
  const p = link.points;
  let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
  for (let i = 0; i < p.length; i += 2) {
    left = Math.min(left, p[i]);
    right = Math.max(right, p[i]);
    top = Math.min(top, p[i + 1]);
    bottom = Math.max(bottom, p[i + 1]);
  }
  Object.assign(link, { left, right, top, bottom });
}
