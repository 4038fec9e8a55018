// SPDX-License-Identifier: Apache-2.0
// Where a difference is born: all tensors that verify --layers compared, with what each node adds
// and what it passes on.

const HOTTEST = 10;

// A number as people read it; null is an infinity or NaN against a number.
function short(v) {
  return v === null || v === undefined ? '∞' : v === 0 ? '0' : v.toPrecision(4);
}

// Powers of ten above 1e-8, at most ten.
function heatLevel(v) {
  if (v === null) return HOTTEST;
  return v > 0 ? Math.max(0, Math.min(HOTTEST, Math.ceil(Math.log10(v) + 8))) : 0;
}

// Dark is what the node adds, light what it passes on beyond that.
function heatBar({ adds, rel }) {
  const own = heatLevel(adds), all = Math.max(own, heatLevel(rel));
  const part = (kind, n) => el('i.' + kind, { style: { width: `${n * 8}px` } });
  return el('span.heat', { title: t('heatTitle', own, all) }, part('adds', own),
    part('passes', all - own));
}

function tensorTable(app, o) {
  const least = (v) => v === null || v === undefined ? Infinity : v;
  const number = (key, label) => ({ key, label, right: true, text: (row) => short(row.tensor[key]),
    value: (row) => least(row.tensor[key]) });
  const about = ({ name, reference }) => name + (reference && reference !== name ?
    ` ${t('againstName', reference)}` : '');
  const columns = [
    { key: 'node', label: t('tensor'), text: (row) => endOf(row.tensor.name, 24) ||
      t('noName'), value: (row) => row.at },
    { key: 'rank', label: t('rank'), right: true, value: (row) => least(row.tensor.rank),
      text: (row) => row.tensor.rank === null ? '' : `#${row.tensor.rank}` },
    { ...number('adds', t('adds')), key: 'value', className: (row) => row.tensor.too_much ?
      'bad' : '' },
    { key: 'heat', label: t('heat'), draw: (row) => heatBar(row.tensor), text: () => '',
      value: (row) => least(row.tensor.rel) },
    { key: 'op', label: t('opWord'), text: (row) => shown(row.tensor.op, 40),
      value: (row) => row.tensor.op },
    number('rel', 'rel'), number('max_abs', 'max abs'), number('cosine', 'cosine'),
    number('ulp', 'ulp')];
  return new Table(columns, '142px 50px 78px 98px 120px repeat(4, 84px)', { label: o.title, wide: true,
    title: (row) => shown(about(row.tensor), 600), ...tablePicks(app, o.model) });
}

// What was compared with what, and how it ended.
function errorSummary(app, o) {
  const e = o.errors, { model } = o, { index } = app;
  const outputs = e.outputs.slice(0, 20).map((out) => el('div.ref', { 'data-output': '1' },
    el('span.cut.grow', null, shown(model.text(out.name), 120)),
    el('span', { class: out.equal ? 'plus' : 'minus' }, t(out.equal ? 'isEqual' : 'isOther')),
    el('span.mono', null, `cosine ${short(out.cosine)}`)));
  const note = model.text(e.note);
  return el('div', { 'data-errors': '1' },
    el('div', null, index.against ? t('againstName', shown(index.against, 200)) : null),
    el('div', null, t('comparedTensors', e.compared, e.differ, e.adding)),
    e.skipped ? el('div', null, t('skippedTensors', e.skipped)) : null,
    e.other_shape ? el('div', null, t('otherShapes', e.other_shape)) : null,
    note ? el('div.dim', null, shown(note, 400)) : null, ...outputs);
}
