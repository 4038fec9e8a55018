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
  return { id, born, rows, first: [...ids] };
}

function bornIn(model, id) {
  for (let k = 0; k < model.passCount(); k++) {
    const d = model.deltas[k];
    if (!d) continue;
    for (let i = 0; i < d.addedCount; i++) if (model.records.id[d.added + i] === id) return k;
  }
  return -1;
}

// Whether a rewrite's text is about a node, by what it removed or added.
function rewritesOf(delta, side, ids) {
  return delta.rewrites.filter((w) => w[side].some((id) => ids.has(id)));
}

function forward(model, k, ids, rows) {
  const d = model.deltas[k];
  if (!ids.size) {
    rows[k] = { what: 'none', ids: [], rewrites: [] };
    return ids;
  }
  if (!d) {
    rows[k] = { what: 'kept', ids: [...ids], rewrites: [] };
    return ids;
  }
  const gone = new Set(d.removed), next = new Set();
  const used = rewritesOf(d, 'removed', ids);
  let lost = false;
  for (const id of ids) if (gone.has(id)) lost = true; else next.add(id);
  if (lost) for (const w of used) for (const id of w.added) if (next.size < MOST_FOLLOWED)
    next.add(id);
  for (const id of [...next]) if (gone.has(id)) next.delete(id);
  const touched = !lost && changedIds(model, d).some((id) => ids.has(id));
  rows[k] = { what: lost ? (next.size ? 'became' : 'removed') : touched ? 'changed' : 'kept',
    ids: [...next], rewrites: lost ? used : [] };
  return next;
}

function backward(model, k, ids, rows) {
  const d = model.deltas[k];
  const made = d ? rewritesOf(d, 'added', ids) : [];
  const fresh = new Set();
  for (let i = 0; d && i < d.addedCount; i++) fresh.add(model.records.id[d.added + i]);
  const before = new Set();
  let born = false;
  for (const id of ids) if (fresh.has(id)) born = true; else before.add(id);
  if (born) for (const w of made) for (const id of w.removed) if (before.size < MOST_FOLLOWED)
    before.add(id);
  const touched = d && !born && changedIds(model, d).some((id) => ids.has(id));
  rows[k] = { what: born ? 'added' : !ids.size ? 'none' : touched ? 'changed' : 'kept',
    ids: [...ids], rewrites: born ? made : [] };
  return before;
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
