// SPDX-License-Identifier: Apache-2.0
// What is visible of a tree: items (nodes, collapsed and expanded groups) and the edges between
// them, level by level. An edge that crosses the border of an expanded group is one edge on each
// level, and the border has a port for it.

const MOST_PORTS = 4;

class Item {
  constructor(parent, group, node) {
    this.parent = parent; // item of the expanded group around it
    this.group = group;   // or null
    this.node = node;     // index of the node, or -1
    this.open = false;
    this.depth = parent ? parent.depth + 1 : 0;
    this.items = [];      // of an open group
    this.links = null;    // of an open group: key -> link
    this.x = this.y = this.w = this.h = 0;
    this.place = 0;       // among its parent's items
  }
}

class Scene {
  constructor(tree, expanded, measure) {
    this.tree = tree;
    this.union = tree.union;
    this.itemOf = new Array(tree.union.n).fill(null);
    this.byGroup = new Map();
    this.count = 0;
    this.root = this.visit(null, tree.root, expanded, measure);
    this.linkAll();
  }

  visit(parent, group, expanded, measure) {
    const item = new Item(parent, group, group.owner);
    this.byGroup.set(group.id, item);
    this.count++;
    if (!expanded.has(group.id)) {
      for (let i = group.lo; i < group.hi; i++) this.itemOf[this.tree.order[i]] = item;
      measure(item);
      return item;
    }
    item.open = true;
    item.links = new Map();
    if (group.owner >= 0) this.itemOf[group.owner] = item;
    for (const child of group.children) {
      let inner;
      if (typeof child === 'object') {
        inner = this.visit(item, child, expanded, measure);
      } else {
        inner = new Item(item, null, child);
        this.itemOf[child] = inner;
        this.count++;
        measure(inner);
      }
      inner.place = item.items.length;
      item.items.push(inner);
    }
    measure(item);
    return item;
  }

  linkAll() {
    const u = this.union;
    for (let e = 0; e < u.from.length; e++) this.walk(e, (group, a, b, peer) => {
      const key = linkKey(a, b, peer);
      let link = group.links.get(key);
      if (!link) {
        link = { group, a, b, peer, count: 0, side: 0, control: true, edge: e, points: null };
        group.links.set(key, link);
      }
      link.count++;
      link.side |= u.side[e];
      if (u.value[e] >= 0) link.control = false;
    });
  }

  // The links that draw an edge: visit(group item, from item or null for the upper border, to item
  // or null for the lower one, the item outside).
  walk(e, visit) {
    let a = this.itemOf[this.union.from[e]], b = this.itemOf[this.union.to[e]];
    if (a === b) return;
    const up = [], down = [];
    while (a.parent !== b.parent) {
      if (a.depth > b.depth || !b.parent) {
        up.push(a);
        a = a.parent;
      } else {
        down.push(b);
        b = b.parent;
      }
      if (a === b) return;
    }
    for (const item of up) visit(item.parent, item, null, b);
    visit(a.parent, a, b, null);
    for (const item of down) visit(item.parent, null, item, a);
  }

  // Links by which an edge is drawn, for marking it.
  linksOf(e) {
    const out = [];
    this.walk(e, (group, a, b, peer) => {
      const link = group.links.get(linkKey(a, b, peer));
      if (link) out.push(link);
    });
    return out;
  }

  // Open groups, inner ones first.
  openItems() {
    const out = [];
    const visit = (item) => {
      for (const inner of item.items) if (inner.open) visit(inner);
      out.push(item);
    };
    visit(this.root);
    return out;
  }

  // The item that shows a node: it, or the collapsed group around it.
  shows(i) {
    return this.itemOf[i];
  }
}

let itemNumbers = 0;
const numberOfItem = new WeakMap();

function itemNumber(item) {
  if (!item) return 0;
  let n = numberOfItem.get(item);
  if (!n) numberOfItem.set(item, n = ++itemNumbers);
  return n;
}

function linkKey(a, b, peer) {
  return `${itemNumber(a)}>${itemNumber(b)}:${itemNumber(peer)}`;
}
