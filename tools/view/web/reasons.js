// SPDX-License-Identifier: Apache-2.0
// Why: fusions that were done or nearly, and nodes whose dtype was chosen for a reason.

// [{kind: 'done' | 'missed' | 'dtype', nodes, title, under, reason, rule}]; nodes are ids, rule is an
// index of the chunk of rules or -1.
async function readReasons(model) {
  if (model.passCount()) await model.loadDelta(model.passCount() - 1); // names of all nodes
  const [decisions, dtypes, casts] = await Promise.all(
    ['decisions', 'overlay-dtype', 'overlay-casts'].map((name) => model.get(name)));
  const out = (decisions || []).map((d) => ({
    kind: d.effect ? 'done' : 'missed',
    nodes: [...new Set([d.node, ...d.nodes])].filter((uid) => uid > 0)
      .map((uid) => uid + model.shift),
    title: model.text(d.rule),
    under: (model.index.passes[d.pass] || { name: '' }).name,
    reason: d.effect ? (d.made ? t('becameOp', shown(model.text(d.made), 80)) : '') :
      model.text(d.reason),
    rule: d.text ?? -1,
  }));
  const told = new Set();
  for (const chunk of [casts, dtypes]) {
    for (let i = 0; chunk && i < chunk.node.length; i++) {
      const id = chunk.node[i] + model.shift;
      if (!chunk.note[i] || told.has(id)) continue;
      told.add(id);
      out.push({ kind: 'dtype', nodes: [id], title: model.text(chunk.value[i]),
        under: t('why_dtype'), reason: model.text(chunk.note[i]), rule: -1 });
    }
  }
  return out;
}
