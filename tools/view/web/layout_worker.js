// SPDX-License-Identifier: Apache-2.0
// Runs in a worker, which gets its source as text: nothing outside this function is seen in it.
//
// A message has groups, inner ones first: {sizes: [w, h, ...] or [-1, index of an inner group],
// edges: [from, to, weight, ...], ins, outs}. Nodes 0..items-1 are items; then come ins ports on
// the upper border and outs ports on the lower one. The answer has for each group its size, the
// middle of each node and the bends of each edge.
function layoutWorker(dagre) {
  const PAD = 18, HEAD = 34, NODE_GAP = 26, RANK_GAP = 38;
  const DAGRE_ITEMS = 60; // dagre's orders are better, its time grows fast

  // ---- a layout in layers of our own, for what is large -----------------------------------------

  // The layer of each node: below all that leads to it; what nothing leads to stands right above
  // its first user, ports stand first and last.
  function ranksOf(n, edges, ins, outs) {
    const next = Array.from({ length: n }, () => []), degree = new Int32Array(n);
    for (const [a, b] of edges) {
      next[a].push(b);
      degree[b]++;
    }
    const entered = Uint8Array.from(degree, (d) => d > 0 ? 1 : 0);
    const rank = new Int32Array(n), order = [], items = n - ins - outs;
    for (let i = 0; i < n; i++) {
      if (!degree[i]) order.push(i);
      if (ins && i < items) rank[i] = 1;
    }
    for (let at = 0; at < order.length; at++) {
      for (const b of next[order[at]]) {
        rank[b] = Math.max(rank[b], rank[order[at]] + 1);
        if (!--degree[b]) order.push(b);
      }
    }
    for (let at = order.length - 1; at >= 0; at--) {
      const a = order[at];
      if (a < items && next[a].length && !entered[a])
        rank[a] = next[a].reduce((least, b) => Math.min(least, rank[b]), Infinity) - 1;
    }
    let most = 0;
    for (let i = 0; i < items + ins; i++) most = Math.max(most, rank[i]);
    for (let i = items + ins; i < n; i++) rank[i] = most + 1;
    return rank;
  }

  function layered(sizes, edgeList, ins, outs) {
    const rank = ranksOf(sizes.length, edgeList, ins, outs);
    const nodes = sizes.map(([w, h], i) => ({ w, h, rank: rank[i], up: [], down: [], x: 0,
      real: true }));
    const chains = edgeList.map(([a, b]) => chain(nodes, a, b));
    let layers = [];
    nodes.forEach((node) => {
      (layers[node.rank] || (layers[node.rank] = [])).push(node);
    });
    layers = layers.filter(Boolean);
    order(layers);
    coordinates(layers);
    let y = 0;
    for (const layer of layers) {
      const high = layer.reduce((most, node) => Math.max(most, node.h), 0);
      for (const node of layer) node.y = y + high / 2;
      y += high + RANK_GAP;
    }
    return { nodes, points: chains.map((c) => c.slice(1, -1).map((node) => [node.x, node.y])) };
  }

  // The nodes of an edge, with one that is not real in each layer between.
  function chain(nodes, a, b) {
    const list = [nodes[a]];
    for (let r = nodes[a].rank + 1; r < nodes[b].rank; r++) {
      const node = { w: 6, h: 1, rank: r, up: [], down: [], x: 0, real: false };
      nodes.push(node);
      list.push(node);
    }
    list.push(nodes[b]);
    for (let i = 1; i < list.length; i++) {
      list[i - 1].down.push(list[i]);
      list[i].up.push(list[i - 1]);
    }
    return list;
  }

  function order(layers) {
    const number = (layer) => layer.forEach((node, i) => { node.at = i; });
    layers.forEach(number);
    const sweep = (layer, side) => {
      layer.forEach((node) => {
        const near = node[side];
        node.key = near.length ? near.reduce((s, m) => s + m.at, 0) / near.length : node.at;
      });
      layer.sort((p, q) => p.key - q.key || p.at - q.at);
      number(layer);
    };
    for (let round = 0; round < 6; round++) {
      for (let i = 1; i < layers.length; i++) sweep(layers[i], 'up');
      for (let i = layers.length - 2; i >= 0; i--) sweep(layers[i], 'down');
    }
  }

  // Each layer in turn: as near to the neighbours as the distances allow (pool adjacent violators).
  function settle(layer, wanted, weight) {
    const blocks = [];
    let offset = 0;
    for (let i = 0; i < layer.length; i++) {
      if (i) offset += (layer[i - 1].w + layer[i].w) / 2 +
        (layer[i].real && layer[i - 1].real ? NODE_GAP : NODE_GAP / 2);
      layer[i].offset = offset;
      let block = { sum: (wanted[i] - offset) * weight[i], weight: weight[i], from: i };
      while (blocks.length) {
        const before = blocks[blocks.length - 1];
        if (before.sum / before.weight <= block.sum / block.weight) break;
        blocks.pop();
        block = { sum: before.sum + block.sum, weight: before.weight + block.weight,
          from: before.from };
      }
      blocks.push(block);
    }
    blocks.forEach((block, k) => {
      const end = k + 1 < blocks.length ? blocks[k + 1].from : layer.length;
      const x = block.sum / block.weight;
      for (let i = block.from; i < end; i++) layer[i].x = x + layer[i].offset;
    });
  }

  function coordinates(layers) {
    for (const layer of layers) settle(layer, layer.map(() => 0), layer.map(() => 1));
    const pull = (layer, sides) => {
      const wanted = [], weight = [];
      for (const node of layer) {
        const near = sides.flatMap((side) => node[side]);
        let sum = 0, count = 0;
        for (const m of near) {
          const w = !m.real && !node.real ? 8 : !m.real || !node.real ? 2 : 1;
          sum += m.x * w;
          count += w;
        }
        wanted.push(count ? sum / count : node.x);
        weight.push(count || 0.1);
      }
      settle(layer, wanted, weight);
    };
    for (let round = 0; round < 4; round++) {
      for (let i = 1; i < layers.length; i++) pull(layers[i], ['up']);
      for (let i = layers.length - 2; i >= 0; i--) pull(layers[i], ['down']);
    }
    for (const layer of layers) pull(layer, ['up', 'down']);
  }

  // ---- dagre ------------------------------------------------------------------------------------

  function byDagre(sizes, edgeList, ins, outs) {
    const g = new dagre.graphlib.Graph({ multigraph: true });
    g.setGraph({ nodesep: NODE_GAP, ranksep: RANK_GAP, edgesep: 14, marginx: 0, marginy: 0 });
    g.setDefaultEdgeLabel(() => ({}));
    const items = sizes.length - ins - outs;
    const hasUp = new Uint8Array(sizes.length), hasDown = new Uint8Array(sizes.length);
    sizes.forEach(([width, height], i) => g.setNode(String(i), { width, height }));
    edgeList.forEach(([a, b, weight], i) => {
      g.setEdge(String(a), String(b), { weight, minlen: 1 }, String(i));
      if (a < items) hasDown[a] = 1;
      if (b < items && a < items) hasUp[b] = 1;
    });
    for (let i = 0; i < items; i++) { // ports are first and last, whatever they lead to
      for (let p = 0; p < ins && !hasUp[i]; p++)
        g.setEdge(String(items + p), String(i), { weight: 0, minlen: 1 }, `in${p}.${i}`);
      for (let p = 0; p < outs && !hasDown[i]; p++)
        g.setEdge(String(i), String(items + ins + p), { weight: 0, minlen: 1 }, `out${p}.${i}`);
    }
    dagre.layout(g);
    const nodes = sizes.map((_, i) => g.node(String(i)));
    const points = edgeList.map(([a, b], i) =>
      g.edge(String(a), String(b), String(i)).points.slice(1, -1).map((p) => [p.x, p.y]));
    return { nodes, points };
  }

  // What stands in one layer begins at one height, and edges go straight down beside what is
  // higher, so that none crosses a box.
  function aligned(sizes, edgeList, { nodes, points }) {
    const layers = new Map();
    sizes.forEach(([, h], i) => {
      const key = Math.round(nodes[i].y), layer = layers.get(key) || { top: Infinity, bottom: 0 };
      layer.top = Math.min(layer.top, nodes[i].y - h / 2);
      layer.bottom = Math.max(layer.bottom, nodes[i].y + h / 2);
      layers.set(key, layer);
    });
    const layerOf = (y) => layers.get(Math.round(y));
    const routes = edgeList.map(([a], e) => {
      const out = [], from = layerOf(nodes[a].y);
      if (from.bottom - from.top > sizes[a][1] + 8) out.push([nodes[a].x, from.bottom]);
      for (const [x, y] of points[e]) {
        const layer = layerOf(y);
        if (layer) out.push([x, layer.top], [x, layer.bottom]);
      }
      return out;
    });
    return { nodes: sizes.map(([, h], i) => ({ x: nodes[i].x,
      y: layerOf(nodes[i].y).top + h / 2 })), points: routes };
  }

  // ---- groups -----------------------------------------------------------------------------------

  function acyclic(n, edgeList) {
    // Edges that close a circle (a union of two graphs may have them) are laid out the other way.
    const next = Array.from({ length: n }, () => []), state = new Uint8Array(n), back = new Set();
    edgeList.forEach(([a, b], e) => next[a].push([b, e]));
    for (let s = 0; s < n; s++) {
      if (state[s]) continue;
      const stack = [[s, 0]];
      state[s] = 1;
      while (stack.length) {
        const top = stack[stack.length - 1];
        if (top[1] === next[top[0]].length) {
          state[top[0]] = 2;
          stack.pop();
          continue;
        }
        const [b, e] = next[top[0]][top[1]++];
        if (state[b] === 1) back.add(e);
        else if (!state[b]) {
          state[b] = 1;
          stack.push([b, 0]);
        }
      }
    }
    return back;
  }

  function layoutGroup(group, done) {
    const sizes = [], flat = group.sizes;
    for (let i = 0; i < flat.length; i += 2)
      sizes.push(flat[i] < 0 ? [done[flat[i + 1]].w, done[flat[i + 1]].h] : [flat[i], flat[i + 1]]);
    const items = sizes.length;
    for (let i = 0; i < group.ins + group.outs; i++) sizes.push([10, 1]);
    const edges = [];
    for (let i = 0; i < group.edges.length; i += 3)
      edges.push([group.edges[i], group.edges[i + 1], group.edges[i + 2]]);
    const back = acyclic(sizes.length, edges);
    const forward = edges.map(([a, b, w], e) => back.has(e) ? [b, a, w] : [a, b, w]);
    let result = null;
    if (items <= DAGRE_ITEMS && forward.length <= 3 * DAGRE_ITEMS && !group.fast) {
      try {
        result = byDagre(sizes, forward, group.ins, group.outs);
      } catch (e) {
        result = null; // ours lays out everything
      }
    }
    if (!result) result = layered(sizes, forward, group.ins, group.outs);
    return framed(group, sizes, aligned(sizes, forward, result), back, items);
  }

  function framed(group, sizes, { nodes, points }, back, items) {
    let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
    sizes.forEach(([w, h], i) => {
      left = Math.min(left, nodes[i].x - w / 2);
      right = Math.max(right, nodes[i].x + w / 2);
      if (i >= items) return;
      top = Math.min(top, nodes[i].y - h / 2);
      bottom = Math.max(bottom, nodes[i].y + h / 2);
    });
    for (const list of points) for (const [x] of list) {
      left = Math.min(left, x - 4);
      right = Math.max(right, x + 4);
    }
    if (left > right) left = right = top = bottom = 0;
    if (top > bottom) top = bottom = 0;
    const pad = group.root ? 0 : PAD, head = group.root ? 0 : HEAD;
    const least = group.least || 0, w = Math.max(right - left + 2 * pad, least);
    const dx = (w - (right - left)) / 2 - left, dy = head - top + (group.ins ? 14 : 0);
    const h = bottom + dy + pad + (group.outs ? 8 : 0);
    const at = [];
    sizes.forEach((_, i) => at.push(nodes[i].x + dx, nodes[i].y + dy));
    const bends = points.map((list, e) => {
      const out = list.map(([x, y]) => [x + dx, y + dy]);
      return (back.has(e) ? out.reverse() : out).flat();
    });
    return { w, h, at, bends };
  }

  const kept = new Map();

  self.onmessage = ({ data }) => {
    const done = [], start = performance.now();
    for (const group of data.groups) {
      const inner = [];
      for (let i = 0; i < group.sizes.length; i += 2)
        if (group.sizes[i] < 0) inner.push(done[group.sizes[i + 1]].w, done[group.sizes[i + 1]].h);
      const key = JSON.stringify([group, inner]);
      if (!kept.has(key)) kept.set(key, layoutGroup(group, done));
      done.push(kept.get(key));
    }
    if (kept.size > 4000) kept.clear();
    self.postMessage({ id: data.id, groups: done, time: performance.now() - start });
  };
}
