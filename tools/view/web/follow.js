// SPDX-License-Identifier: Apache-2.0
// One node through all passes: what each pass did to it, and what it is called where.
//
// Forwards, a node that a rewrite removes goes on as what the rewrite added, and what becomes of
// that; backwards, a node that a rewrite added comes from what it removed.

const MOST_FOLLOWED = 64;

// rows[k]: {what: 'kept' | 'changed' | 'removed' | 'added' | 'became' | 'none', ids, rewrites} for
// each pass; ids are the nodes after it. `born` is the pass that made the node, or -1.
async function followNode(model, id) {
  const count = model.passCount(), rows = new Array(count);
  for (let k = 0; k < count; k++) await model.loadDelta(k);
  const born = bornIn(model, id);
  let ids = new Set([id]);
  for (let k = born + 1; k < count; k++) ids = forward(model, k, ids, rows);
  ids = new Set([id]);
  for (let k = born; k >= 0; k--) ids = backward(model, k, ids, rows, id);
  return { model, id, born, rows, first: [...ids] };
}

function bornIn(model, id) {
  for (let k = 0; k < model.passCount(); k++) {
    const d = model.deltas[k];
    if (!d) continue;
    for (let i = 0; i < d.addedCount; i++) if (model.records.id[d.added + i] === id) return k;
  }
  return -1;
}

// Rewrites of a pass one after the other: what one of them removes, the next has no more. Nodes that
// live within the pass alone are followed, too.
function throughRewrites(rewrites, ids, from, to) {
  const now = new Set(ids), used = [];
  for (const w of rewrites) {
    const hit = w[from].filter((id) => now.has(id));
    if (!hit.length) continue;
    used.push(w);
    for (const id of hit) now.delete(id);
    for (const id of w[to]) if (now.size < MOST_FOLLOWED) now.add(id);
  }
  return { now, used };
}

function forward(model, k, ids, rows) {
  const d = model.deltas[k];
  if (!ids.size || !d) {
    rows[k] = { what: ids.size ? 'kept' : 'none', ids: [...ids], rewrites: [] };
    return ids;
  }
  const gone = new Set(d.removed), { now, used } = throughRewrites(d.rewrites, ids, 'removed',
    'added');
  for (const id of [...now]) if (gone.has(id) || model.passing.has(id)) now.delete(id);
  const lost = [...ids].some((id) => !now.has(id));
  const touched = !lost && changedIds(model, d).some((id) => ids.has(id));
  rows[k] = { what: lost ? (now.size ? 'became' : 'removed') : touched ? 'changed' : 'kept',
    ids: [...now], rewrites: lost ? used : [] };
  return now;
}

function backward(model, k, ids, rows) {
  const d = model.deltas[k];
  if (!ids.size || !d) {
    rows[k] = { what: ids.size ? 'kept' : 'none', ids: [...ids], rewrites: [] };
    return ids;
  }
  const fresh = new Set();
  for (let i = 0; i < d.addedCount; i++) fresh.add(model.records.id[d.added + i]);
  const { now, used } = throughRewrites([...d.rewrites].reverse(), ids, 'added', 'removed');
  for (const id of [...now]) if (fresh.has(id) || model.passing.has(id)) now.delete(id);
  const born = [...ids].some((id) => fresh.has(id));
  const touched = !born && changedIds(model, d).some((id) => ids.has(id));
  rows[k] = { what: born ? 'added' : touched ? 'changed' : 'kept', ids: [...ids],
    rewrites: born ? used : [] };
  return now;
}

function changedIds(model, d) {
  const out = [];
  for (let i = 0; i < d.changedCount; i++) out.push(model.records.id[d.changed + i]);
  return out;
}

// The nodes that stand for the followed one after pass k (-1: as the passes began).
function followedAt(follow, k) {
  if (k < 0) return follow.first;
  const row = follow.rows[k];
  return row ? row.ids : [];
}
