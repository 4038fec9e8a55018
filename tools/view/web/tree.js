// SPDX-License-Identifier: Apache-2.0
// Nodes in groups: by scope, bodies below the node that owns them, repeated layers as one group,
// and long flat lists in pages, so that no group has more children than a screen takes.
//
// A child is a node's index (a number) or a group (an object).

const MOST_CHILDREN = 100; // of a group, before it gets pages
const PAGE = 50;           // children of a page
const MOST_PAGES = 60;     // of a group
const MOST_ENDS = 10;      // inputs or outputs that stand alone

const CLOSED = new Set(['repeat', 'inputs', 'outputs']); // at first

class Group {
  constructor(id, label, kind, parent) {
    this.id = id;         // the same in all passes: permalinks and expansion hold it
    this.label = label;
    this.kind = kind;     // root, scope, owner (a node with bodies), body, repeat, page
    this.parent = parent;
    this.children = [];
    this.owner = -1;      // of kind owner: the node's index
    this.times = 0;       // of kind repeat
    this.lo = this.hi = 0; // its nodes are order[lo..hi) of the tree
  }
}

// FNV-1a over numbers.
function mix(hash, x) {
  return Math.imul(hash ^ x, 0x01000193) >>> 0;
}

function hashText(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}

class Tree {
  constructor(union) {
    this.union = union;
    this.root = new Group('', '', 'root', null);
    this.groups = new Map([['', this.root]]);
    this.byOwner = new Map();
    this.byScope = new Map();
    this.findOwners();
    for (let i = 0; i < union.n; i++) this.place(i);
    this.gatherEnds();
    this.tidy(this.root);
    this.fold(this.root);
    this.number();
  }

  // Nodes that own bodies, by key.
  findOwners() {
    this.owners = new Set();
    const u = this.union;
    for (let i = 0; i < u.n; i++) {
      const [part, r] = u.best(i);
      const parent = part.model.records.parent[r];
      if (parent >= 0) this.owners.add(this.keyFor(part, parent));
    }
  }

  keyFor(part, id) {
    return part.keyOf ? part.keyOf(id) : id;
  }

  place(i) {
    const u = this.union, [part, r] = u.best(i), rec = part.model.records;
    const scope = this.scopeOf(part, rec, r);
    if (!this.owners.has(u.key[i])) {
      scope.children.push(i);
      return;
    }
    const group = this.ownerGroup(u.key[i], scope);
    group.owner = i;
    group.label = u.op(i);
    if (group.parent !== scope) { // its body came first
      const list = group.parent.children;
      list.splice(list.indexOf(group), 1);
      group.parent = scope;
      scope.children.push(group);
    }
  }

  // Inputs and outputs in a group of their own, if they are many.
  gatherEnds() {
    const { root, union: u } = this;
    for (const kind of [1, 2]) {
      const ends = root.children.filter((c) => typeof c !== 'object' && u.kind(c) === kind);
      if (ends.length <= MOST_ENDS) continue;
      const made = this.add(kind === 1 ? '<' : '>', '', kind === 1 ? 'inputs' : 'outputs', root);
      const set = new Set(ends);
      root.children = root.children.filter((c) => !set.has(c) && c !== made);
      made.children = ends;
      if (kind === 1) root.children.unshift(made);
      else root.children.push(made);
    }
  }

  ownerGroup(key, parent) {
    let group = this.byOwner.get(key);
    if (!group) {
      group = this.add(`n${key}`, '', 'owner', parent);
      this.byOwner.set(key, group);
    }
    return group;
  }

  add(id, label, kind, parent) {
    const group = new Group(id, label, kind, parent);
    parent.children.push(group);
    this.groups.set(id, group);
    return group;
  }

  scopeOf(part, rec, r) {
    let top = this.root;
    if (rec.parent[r] >= 0) {
      const owner = this.ownerGroup(this.keyFor(part, rec.parent[r]), this.root);
      const id = `${owner.id}.${rec.body[r]}`;
      top = this.groups.get(id) || this.add(id, `${rec.body[r]}`, 'body', owner);
    }
    const scope = rec.scope[r];
    if (!scope) return top;
    const mark = `${top.id}\n${part.model.prefix}${scope}`;
    let group = this.byScope.get(mark);
    if (!group) {
      group = this.path(top, part.model.text(scope));
      this.byScope.set(mark, group);
    }
    return group;
  }

  // The group of a path such as encoder/layer.0; very deep ones end in one group.
  path(top, scope) {
    let group = top, id = top.id;
    const words = scope.split('/').filter(Boolean);
    const parts = words.length > 24 ? [...words.slice(0, 23), words.slice(23).join('/')] : words;
    for (const word of parts) {
      id += '/' + word;
      group = this.groups.get(id) || this.add(id, word, 'scope', group);
    }
    return group;
  }

  // ---- tidying ----------------------------------------------------------------------------------

  // A group of one node tells nothing, and one of one group is one with it.
  tidy(group) {
    for (const child of group.children) if (typeof child === 'object') this.tidy(child);
    group.children = group.children.flatMap((child) => {
      if (typeof child !== 'object' || child.kind !== 'scope') return [child];
      if (child.children.length === 0) return [];
      if (child.children.length > 1) return [child];
      const only = child.children[0];
      this.groups.delete(child.id);
      if (typeof only === 'object') {
        only.parent = group;
        if (only.kind === 'scope') only.label = child.label + '/' + only.label;
      }
      return [only];
    });
  }

  // ---- repeated layers and pages ----------------------------------------------------------------

  fold(group) {
    for (const child of group.children) if (typeof child === 'object') this.fold(child);
    group.hash = this.hashOf(group);
    this.foldGroups(group);
    this.foldNodes(group);
    this.paginate(group);
  }

  hashOfChild(child) {
    return typeof child === 'object' ? child.hash : this.opHash(child);
  }

  opHash(i) {
    const [part, r] = this.union.best(i);
    const rec = part.model.records;
    const op = part.model.opHashes || (part.model.opHashes = new Map());
    let h = op.get(rec.op[r]);
    if (h === undefined) op.set(rec.op[r], h = hashText(part.model.text(rec.op[r])));
    return mix(h, rec.ins[r].length);
  }

  hashOf(group) {
    let h = mix(0x811c9dc5, group.children.length);
    for (const child of group.children) h = mix(h, this.hashOfChild(child));
    if (group.owner >= 0) h = mix(h, this.opHash(group.owner));
    return h;
  }

  // Three or more equal groups in a row (nodes may stand between them) become one.
  foldGroups(group) {
    const scopes = group.children.filter((c) => typeof c === 'object' && c.kind === 'scope');
    for (let i = 0; i < scopes.length;) {
      let end = i + 1;
      while (end < scopes.length && scopes[end].hash === scopes[i].hash &&
             alike(scopes[i].label, scopes[end].label)) end++;
      if (end - i >= 3 && end - i < group.children.length) this.gather(group, scopes.slice(i, end));
      else if (end - i >= 3) group.times = group.kind === 'root' ? 0 : end - i;
      i = end;
    }
  }

  gather(group, members) {
    const first = members[0], last = members[members.length - 1];
    const made = new Group(`${first.id}×`, `${first.label} … ${tail(first.label, last.label)}`,
      'repeat', group);
    made.times = members.length;
    this.groups.set(made.id, made);
    const set = new Set(members);
    const at = group.children.indexOf(first);
    group.children = group.children.filter((c) => !set.has(c));
    group.children.splice(at, 0, made);
    for (const m of members) m.parent = made;
    made.children = members;
    made.hash = mix(first.hash, members.length);
  }

  // Models without names: the same sequence of ops again and again.
  foldNodes(group) {
    if (group.children.length < 24) return;
    const found = bestPeriod(group.children.map((c) => this.hashOfChild(c)));
    if (!found) return;
    const { start, period, times } = found, blocks = [];
    const made = new Group(`${group.id}/×${start}`, '', 'repeat', group);
    made.times = times;
    for (let t = 0; t < times; t++) {
      const block = new Group(`${made.id}.${t}`, `${t + 1}`, 'block', made);
      block.children = group.children.slice(start + t * period, start + (t + 1) * period);
      for (const c of block.children) if (typeof c === 'object') c.parent = block;
      block.hash = this.hashOf(block);
      this.groups.set(block.id, block);
      blocks.push(block);
      if (period >= 24) this.foldNodes(block);
      this.paginate(block);
    }
    made.children = blocks;
    this.groups.set(made.id, made);
    if (times * period === group.children.length && group.kind !== 'root') {
      group.children = blocks;
      group.times = times;
      for (const b of blocks) b.parent = group;
    } else {
      group.children.splice(start, times * period, made);
    }
    this.paginate(made);
  }

  paginate(group) {
    const long = group.children.length > MOST_CHILDREN;
    while (long && group.children.length > MOST_PAGES) {
      const pages = [], list = group.children, size = PAGE;
      for (let at = 0; at < list.length; at += size) {
        const page = new Group(`${group.id}/#${list.length}.${at}`,
          `${at + 1} – ${Math.min(at + size, list.length)}`, 'page', group);
        page.children = list.slice(at, at + size);
        for (const c of page.children) if (typeof c === 'object') c.parent = page;
        this.groups.set(page.id, page);
        pages.push(page);
      }
      group.children = pages;
    }
  }

  // ---- numbers ----------------------------------------------------------------------------------

  // The nodes of each group are a range of `order`; groupOf has the innermost group of a node.
  number() {
    const u = this.union;
    this.order = new Int32Array(u.n);
    this.groupOf = new Array(u.n);
    let next = 0;
    const visit = (group, depth) => {
      group.depth = depth;
      group.lo = next;
      if (group.owner >= 0) {
        this.groupOf[group.owner] = group;
        this.order[next++] = group.owner;
      }
      for (const child of group.children) {
        if (typeof child === 'object') visit(child, depth + 1);
        else {
          this.groupOf[child] = group;
          this.order[next++] = child;
        }
      }
      group.hi = next;
      if (group.kind === 'page') group.label = `${group.lo + 1} – ${group.hi}`;
      group.count = group.hi - group.lo;
    };
    visit(this.root, 0);
  }

  // Groups around a node, innermost first, without the root. For a node that owns bodies, its own
  // group is not around it.
  around(i) {
    const out = [];
    let g = this.groupOf[i];
    if (g && g.owner === i) g = g.parent;
    for (; g && g.parent; g = g.parent) out.push(g);
    return out;
  }

  // What is expanded at first: the largest groups as long as all fits a screen.
  firstExpanded(most) {
    const open = new Set(['']);
    let visible = this.root.children.length;
    for (;;) {
      let best = null;
      const look = (group) => {
        for (const c of group.children) {
          if (typeof c !== 'object') continue;
          if (open.has(c.id)) look(c);
          else if (!CLOSED.has(c.kind) && !c.times && visible + c.children.length <= most &&
                   (!best || c.depth < best.depth || c.depth === best.depth &&
                    c.count > best.count)) best = c;
        }
      };
      look(this.root);
      if (!best) return open;
      open.add(best.id);
      visible += best.children.length;
    }
  }
}

// Labels that differ in numbers alone.
function alike(a, b) {
  return a.replace(/\d+/g, '0') === b.replace(/\d+/g, '0');
}

function tail(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i] && !/\d/.test(a[i])) i++;
  return b.slice(i);
}

// The run of equal blocks that covers most of a sequence, at least three of four elements each.
function bestPeriod(hashes) {
  const votes = new Map(), last = new Map();
  let gram = 0;
  for (let i = 3; i < hashes.length; i++) {
    gram = mix(mix(mix(mix(0, hashes[i - 3]), hashes[i - 2]), hashes[i - 1]), hashes[i]);
    if (last.has(gram)) {
      const p = i - last.get(gram);
      votes.set(p, (votes.get(p) || 0) + 1);
    }
    last.set(gram, i);
  }
  const periods = [...votes.entries()].filter(([p, n]) => p >= 4 && n * 2 >= p)
    .sort((x, y) => y[1] - x[1]).slice(0, 8).map(([p]) => p);
  let best = null;
  for (const period of periods) {
    for (let i = 0; i + period < hashes.length;) {
      let run = 0;
      const same = () => i + period + run < hashes.length &&
        hashes[i + run] === hashes[i + period + run];
      while (same()) run++;
      const times = Math.floor(run / period) + 1, covered = times * period;
      if (times >= 3 && (!best || covered > best.covered ||
          covered === best.covered && period < best.period))
        best = { start: i, period, times, covered };
      i += run + 1;
    }
  }
  return best && best.covered * 3 >= hashes.length ? best : null;
}
