// SPDX-License-Identifier: Apache-2.0
// Colours: style.css has them, the canvas reads them from there, so both change together.

const COLOURS = ['bg', 'panel', 'line', 'text', 'dim', 'accent', 'card', 'cardline', 'edge',
  'group0', 'group1', 'added', 'removed', 'changed', 'addedbg', 'removedbg', 'changedbg',
  'hot', 'up', 'down',   'grid', 'select', 'low', 'high', 'none'];

function readPalette() {
  const style = getComputedStyle(document.documentElement), palette = {};
  for (const name of COLOURS) palette[name] = style.getPropertyValue('--' + name).trim();
  palette.kinds = {};
  for (const [kind] of KINDS) palette.kinds[kind] = style.getPropertyValue('--k-' + kind).trim();
  palette.series = [];
  for (let i = 0; i < 10; i++) palette.series.push(style.getPropertyValue(`--s${i}`).trim());
  return palette;
}

// What ops are about; the first that fits counts.
const KINDS = [
  ['end', /^(input|output)$/],
  ['cast', /Cast|Quant|TransData|DynamicQuant/i],
  ['control', /^(If|Loop|Scan|While|StatelessIf|StatelessWhile|Case|.*PartitionedCall)$/i],
  ['comm', /AllReduce|AllGather|ReduceScatter|Broadcast$|AllToAll|^Send|^Receive|^Hcom/i],
  ['matrix', /Conv|MatMul|Gemm|Einsum|Attention|LSTM|GRU|^RNN|Linear|BatchMatMul/i],
  ['norm', /Norm|Softmax|^LRN/i],
  ['act', /Relu|Gelu|Sigmoid|Tanh|Erf|Elu|Swish|Silu|Softplus|Mish|Clip|HardS|Selu|Exp$|^Log$/i],
  ['reduce', /Reduce|Pool|ArgM|TopK|CumSum/i],
  ['train', /Grad|Adam|SGD|Momentum|Apply|Optimizer|Lamb|Adagrad/i],
  ['move', new RegExp('Reshape|Transpose|Gather|Slice|Concat|Split|Squeeze|Expand|Tile|Pad|' +
    'Flatten|Shape|Scatter|Resize|Identity|DepthToSpace|SpaceToDepth|Range|Constant|OneHot|View',
  'i')],
  ['math', /./],
];
const kindCache = new Map();

function kindOfOp(op) {
  let kind = kindCache.get(op);
  if (!kind) {
    const last = op.slice(op.lastIndexOf(':') + 1);
    kind = (KINDS.find(([, pattern]) => pattern.test(last)) || ['math'])[0];
    kindCache.set(op, kind);
  }
  return kind;
}

// '#rrggbb' as numbers, and a mixture of two colours.
function rgb(hex) {
  const x = parseInt(hex.slice(1), 16);
  return [x >> 16 & 255, x >> 8 & 255, x & 255];
}

function blend(a, b, t) {
  const p = rgb(a), q = rgb(b);
  const part = (i) => Math.round(p[i] + (q[i] - p[i]) * t).toString(16).padStart(2, '0');
  return '#' + part(0) + part(1) + part(2);
}

// Black or white, whichever is read better on a colour.
function inkOn(hex) {
  const [r, g, b] = rgb(hex).map((x) => {
    const c = x / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? '#14181f' : '#ffffff';
}
