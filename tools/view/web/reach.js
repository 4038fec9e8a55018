// SPDX-License-Identifier: Apache-2.0
// What leads to nodes and what they lead to. Sets are Uint8Arrays over the nodes of a union.

function reach(union, starts, forward) {
  const seen = new Uint8Array(union.n), work = [...starts];
  const at = forward ? union.outAt : union.inAt, list = forward ? union.outEdges : union.inEdges;
  const other = forward ? union.to : union.from;
  for (const i of work) seen[i] = 1;
  while (work.length) {
    const i = work.pop();
    for (let e = at[i]; e < at[i + 1]; e++) {
      const j = other[list[e]];
      if (!seen[j]) {
        seen[j] = 1;
        work.push(j);
      }
    }
  }
  return seen;
}

// A shortest path in the direction of the data, or else against it: nodes from a to b, or null.
function shortestPath(union, a, b) {
  return bfs(union, a, b) || bfs(union, b, a);
}

function bfs(union, a, b) {
  const from = new Int32Array(union.n).fill(-1), work = [a];
  from[a] = a;
  for (let at = 0; at < work.length && from[b] < 0; at++) {
    const i = work[at];
    for (let e = union.outAt[i]; e < union.outAt[i + 1]; e++) {
      const j = union.to[union.outEdges[e]];
      if (from[j] < 0) {
        from[j] = i;
        work.push(j);
      }
    }
  }
  if (from[b] < 0) return null;
  const path = [b];
  while (path[path.length - 1] !== a) path.push(from[path[path.length - 1]]);
  return path.reverse();
}

// All nodes that lie on any path between two, in whichever direction there is one.
function between(union, a, b) {
  const both = (p, q) => {
    const down = reach(union, [p], true);
    if (!down[q]) return null;
    const up = reach(union, [q], false);
    return down.map((x, i) => x & up[i]);
  };
  return both(a, b) || both(b, a);
}

// Edges whose both ends are in a set.
function edgesInside(union, set, most = 20000) {
  const out = [];
  for (let e = 0; e < union.from.length && out.length < most; e++)
    if (set[union.from[e]] && set[union.to[e]]) out.push(e);
  return out;
}
