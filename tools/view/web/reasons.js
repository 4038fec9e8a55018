// SPDX-License-Identifier: Apache-2.0
// Why: fusions that were done or nearly, ops that were spelled out, nodes whose dtype was chosen for
// a reason, and casts.

const REASON_KINDS = ['missed', 'done', 'expand', 'dtype', 'cast'];

// [{kind, nodes, title, under, reason, rule, code}]; nodes are ids of the model, rule is an index of
// the chunk of rules or -1.
async function readReasons(model) {
  if (model.passCount()) await model.loadDelta(model.passCount() - 1); // names of all nodes
  const [decisions, dtypes, casts, precision] = await Promise.all(
    ['decisions', 'overlay-dtype', 'overlay-casts', 'precision'].map((name) => model.get(name)));
  const out = (decisions || []).map((d) => reasonOfRule(model, d));
  if (precision) out.push(...precision.casts.map((c) => reasonOfCast(model, c)),
    ...precision.motion.map((m) => reasonOfMotion(model, m)));
  const told = new Set();
  for (const chunk of [casts, dtypes]) {
    for (let i = 0; chunk && i < chunk.node.length; i++) {
      const id = chunk.node[i] + model.shift;
      if (!chunk.note[i] || told.has(id)) continue;
      told.add(id);
      out.push({ kind: 'dtype', nodes: [id], title: model.text(chunk.value[i]),
        under: t('why_dtype'), reason: model.text(chunk.note[i]), rule: -1, code: '' });
    }
  }
  return out;
}

function reasonOfRule(model, d) {
  const nodes = [...new Set([d.node, ...d.nodes])].filter((uid) => uid > 0)
    .map((uid) => uid + model.shift);
  const made = d.made ? shown(model.text(d.made), 80) : '';
  const kind = !d.effect ? 'missed' : d.expanded ? 'expand' : 'done';
  const reason = !d.effect ? model.text(d.reason) + (d.nodes.length < d.pattern_nodes ? ' ' +
    t('partFits', d.nodes.length, d.pattern_nodes) : '') :
    d.kernel ? t('becameKernel', d.kernel, quantity(d.saved_bytes || 0, 'B')) :
      d.expanded > 1 ? t('becameNodes', d.expanded, made) : made ? t('becameOp', made) : '';
  return { kind, nodes, title: model.text(d.rule), reason, rule: d.text ?? -1,
    under: (model.index.passes[d.pass] || { name: '' }).name,
    code: d.code ? model.text(d.code) : '' };
}

function reasonOfCast(model, c) {
  const lost = ['out_of_range', 'become_zero', 'subnormal'].filter((key) => c[key])
    .map((key) => t('lost_' + key, c[key]));
  const more = c.consumers > 1 ? ' ' + t('andMore', c.consumers - 1) : '';
  const id = c.for ? c.for + model.shift : 0;
  const name = id ? model.nodeName(Math.max(0, model.lastRecord(id))) : t('outputs');
  return { kind: 'cast', nodes: id ? [id] : [], code: '', rule: -1,
    title: `${model.text(c.from)} → ${model.text(c.to)}`,
    under: t(c.constant ? 'constantCast' : 'castOf', shown(model.text(c.value), 120)),
    reason: [t('castFor', shown(name, 160)) + more, ...lost,
      c.constant && c.out_of_range === undefined ? t('notCounted') : ''].filter(Boolean)
      .join(', ') };
}

function reasonOfMotion(model, [uid, label, why]) {
  return { kind: 'cast', nodes: uid ? [uid + model.shift] : [], code: '', rule: -1,
    title: t('castMoved'), under: shown(model.text(label), 120), reason: model.text(why) };
}

// What the precision pass did as a whole, in one sentence.
function precisionText(model, p) {
  const s = p.summary;
  return t('precisionText', p.mode || t('modelsOwn'), s.lowered, s.nodes, s.casts,
    p.motion.length) + ' ' + t('constantsText', s.constants, s.out_of_range, s.become_zero,
    s.subnormal) + (s.uncounted ? ' ' + t('uncountedText', s.uncounted) : '') + ' ' +
    t('savedText', quantity(s.constant_bytes_saved, 'B'), quantity(s.result_bytes_saved, 'B'));
}
