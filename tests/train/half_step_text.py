#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Texts of the training steps of half_steps.py: forward and backward in f16 or f32, and what may
lie between a gradient and its update."""

ROWS, IN, OUT = 4, 3, 2
F16, F32, F64 = 10, 1, 11
HEADER = ('module {\n  ir_version 10\n  opset "" 21\n  opset "com.microsoft" 1\n'
          '  opset "npu.hcom" 1\n}\n\n')
OPS = ('ort_adam', 'ort_adamw', 'ort_clipped')  # all parameters at once
OPTIMIZERS = ('sgd', 'momentum', 'adam', 'adamw')


class Step:
    """The text of a step. half: backward is f16; else all of it is f32. spelling: what lies between
    a gradient and its update; rows, k: of the batch, and the exponent of what gradients are."""

    def __init__(self, spelling, optimizer, half, k, rows=ROWS):
        self.half, self.k, self.rows, self.spelling = half, k, rows, spelling
        self.to, self.h = (F16, 'f16') if half else (F32, 'f32')
        self.lines, self.consts, self.count = [], [], 0
        self.inputs = [f'%x: f32[{rows},{IN}]', f'%t: f32[{rows},{OUT}]']
        self.outputs, self.states = ['L'], []
        self.build(optimizer)

    def op(self, op, *operands, attrs='', name=None):
        self.count += 1
        name = name or f'v{self.count}'
        self.lines.append(f'  %{name} = {op}({", ".join("%" + o for o in operands)}) {attrs}')
        return name

    def const(self, kind, value):
        self.count += 1
        self.consts.append(f'  const %c{self.count}: {kind} = {value}')
        return f'c{self.count}'

    def number(self, value, half=False):
        return self.const(f'{self.h if half else "f32"}[]', repr(float(value)))

    def cast(self, v, to):
        return self.op('Cast', v, attrs=f'{{to={to}}}')

    def state(self, name, kind, values):
        shape = kind[kind.index('[') + 1:-1]
        text = f'[{", ".join(map(repr, values))}]' if shape else repr(values[0])
        self.inputs.append(f'%{name}: {kind} = {text}')
        self.outputs.append(f'{name}.new')
        self.states.append(name)

    # ---- forward, backward ----
    def build(self, optimizer):
        kind = self.kind = 'f16' if self.spelling == 'masters' else 'f32'
        self.state('w', f'{kind}[{IN},{OUT}]', [0.0, 0.5, 0.0, -0.25, 0.0, 1.0])
        self.state('b', f'{kind}[{OUT}]', [0.0, 0.5])
        k = self.number(2.0 ** -self.k)
        x, w, b = (self.cast(v, self.to) for v in 'xwb')
        table = self.spelling.startswith('table')
        rows = self.const(f'i64[{self.rows}]', ([0, 2, 1, 0] * self.rows)[:self.rows])
        h = self.op('Gather', w, rows) if table else self.op('MatMul', x, w)
        y = self.cast(self.op('Add', h, b), F32)
        loss = self.op('ReduceSum', self.op('Mul', y, 't'), attrs='{keepdims=0}')
        self.op('Mul', loss, k, name='L')
        dy = self.op('Mul', 't', k, name='dy')
        dyh = self.cast(dy, self.to)
        if table:  # the gradient of a Gather: rows are added to a tensor of zeros
            gw = self.op('com.microsoft::GatherGrad', self.const('i64[2]', [IN, OUT]), rows, dyh,
                         name='gw')
        else:
            gw = self.op('MatMul', self.op('Transpose', x), dyh, name='gw')
        gb = self.op('ReduceSum', dyh, self.const('i64[1]', '[0]'), attrs='{keepdims=0}', name='gb')
        grads = getattr(self, self.spelling)({'w': gw, 'b': gb})
        if optimizer in OPS:
            getattr(self, optimizer)(grads)
            return
        for p, g in grads.items():
            getattr(self, optimizer)(p, g)

    # ---- between gradients and updates; each gives f32 ----
    def each(self, grads, change, before=False):
        """change(g) in f16, and the cast; or the cast first."""
        if before:
            return {p: change(self.cast(g, F32)) for p, g in grads.items()}
        return {p: self.cast(change(g), F32) for p, g in grads.items()}

    def plain(self, grads):
        return self.each(grads, lambda g: g)

    def table(self, grads):
        return self.plain(grads)

    def table_bounded(self, grads):
        return self.bounded(grads)

    def copied(self, grads):
        return self.each(grads, lambda g: self.op('Identity', g))

    def viewed(self, grads):
        def view(g):
            flat = self.op('Reshape', g, self.const('i64[1]', '[-1]'))
            dims = [IN, OUT] if g == 'gw' else [OUT]
            return self.op('Reshape', flat, self.const(f'i64[{len(dims)}]', dims))
        return self.each(grads, view)

    def viewed_behind(self, grads):
        grads = self.plain(grads)
        grads['w'] = self.op('Transpose', self.op('Transpose', grads['w']))
        return grads

    def scaled(self, grads):
        return self.each(grads, lambda g: self.op('Mul', g, self.number(0.5, True)))

    def bounded(self, grads, before=False):
        low, high = (self.number(s * 2.0 ** (3 - self.k), not before) for s in (-1, 1))
        return self.each(grads, lambda g: self.op('Clip', g, low, high), before)

    def bounded_behind(self, grads):
        return self.bounded(grads, True)

    def norm(self, grads, half):
        """By the norm of all: squares of gradients underflow f16 by far."""
        parts = [self.op('ReduceSum', self.op('Mul', g, g), attrs='{keepdims=0}')
                 for g in grads.values()]
        n = self.op('Sqrt', self.op('Add', *parts))
        factor = self.op('Div', self.number(2.0 ** (4 - self.k), half),
                         self.op('Add', n, self.number(2.0 ** -24, half)))
        factor = self.op('Min', factor, self.number(1, half))
        return {p: self.op('Mul', g, factor) for p, g in grads.items()}

    def normed(self, grads):
        return self.plain(self.norm(grads, True))

    def normed_behind(self, grads):
        return self.norm(self.plain(grads), False)

    def cast_twice(self, grads):
        """To f32, back to f16, and again."""
        return self.each({p: self.cast(self.cast(g, F32), self.to) for p, g in grads.items()},
                         lambda g: self.op('Identity', g))

    def cast_in_rounds(self, grads):
        """f32 first, the bounds in f16, then f32 again."""
        return self.bounded({p: self.cast(self.cast(g, F32), self.to) for p, g in grads.items()})

    def shown(self, grads):
        """Gradients are outputs too, in f16 and in f32; a cast has several users."""
        done = self.plain(grads)
        self.outputs += [grads['w'], done['b']]
        self.op('ReduceMax', done['w'], attrs='{keepdims=0}', name='top')
        self.outputs.append('top')
        return done

    def cast_each(self, grads):
        """Two casts of one gradient, half of each."""
        def parts(g):
            return self.op('Add', *(self.op('Mul', self.cast(g, F32), self.number(0.5))
                                    for _ in 'ab'))
        return {p: parts(g) for p, g in grads.items()}

    def chosen(self, grads):
        """Another f16 gradient by a condition."""
        def choose(g):
            n = self.op('ReduceMax', self.op('Abs', g), attrs='{keepdims=0}')
            c = self.op('Greater', n, self.number(2.0 ** (2 - self.k), True))
            half = self.number(0.5, True)
            self.count += 1
            r = f'v{self.count}'
            self.lines.append(
                f'  %{r} = If(%{c}) {{\n    then_branch=graph @then{r}() -> (%{r}a) {{\n'
                f'      %{r}a = Mul(%{g}, %{half})\n    }},\n    else_branch=graph @else{r}() -> '
                f'(%{r}b) {{\n      %{r}b = Identity(%{g})\n    }}\n  }}')
            return r
        return self.each(grads, choose)

    def chosen_twice(self, grads):
        """A choice in a choice, of the gradient from around both."""
        def choose(g):
            c = self.op('Greater', self.op('ReduceMax', g, attrs='{keepdims=0}'),
                        self.number(0, True))
            half = self.number(0.5, True)
            self.count += 1
            r = f'v{self.count}'
            self.lines.append(
                f'  %{r} = If(%{c}) {{\n    then_branch=graph @t{r}() -> (%{r}a) {{\n'
                f'      %{r}a = If(%{c}) {{\n        then_branch=graph @tt{r}() -> (%{r}b) {{\n'
                f'          %{r}b = Mul(%{g}, %{half})\n        }},\n'
                f'        else_branch=graph @te{r}() -> (%{r}c) {{\n'
                f'          %{r}c = Neg(%{g})\n        }}\n      }}\n    }},\n'
                f'    else_branch=graph @e{r}() -> (%{r}d) {{\n'
                f'      %{r}d = Identity(%{g})\n    }}\n  }}')
            return r
        return self.each(grads, choose)

    def cast_alike(self, grads):
        return {p: self.op('CastLike', g, p) for p, g in grads.items()}

    def through_double(self, grads):
        return {p: self.cast(self.cast(g, F64), F32) for p, g in grads.items()}

    def unit(self, grads, before=False):
        """Of length one each."""
        def divide(g):
            return self.op('Div', g, self.op('ReduceL2', g, attrs='{keepdims=0}'))
        return self.each(grads, divide, before)

    def unit_behind(self, grads):
        return self.unit(grads, True)

    def counted(self, grads):
        """The step looks for overflow itself, and counts."""
        done = self.plain(grads)
        self.state('n', 'i64[]', [5])
        fine = self.op('com.microsoft::IsAllFinite', *grads.values())
        more = self.op('Add', 'n', self.const('i64[]', 1))
        self.op('Where', fine, more, 'n', name='n.new')
        return done

    def selected(self, grads):
        def select(g):
            low = self.op('Less', g, self.number(0, True))
            return self.op('Where', low, self.op('Neg', g), g)
        return self.each(grads, select)

    def in_parts(self, grads):
        """Cut and put together again."""
        def cut(g):
            size = self.const('i64[2]', '[1, 1]' if g == 'gb' else '[2, 1]')
            self.count += 1
            a, b = f'p{self.count}', f'q{self.count}'
            self.lines.append(f'  %{a}, %{b} = Split(%{g}, %{size}) {{axis=0}}')
            return self.op('Concat', a, b, attrs='{axis=0}')
        return self.each(grads, cut)

    def sum_over_ranks(self, g):
        return self.op('npu.hcom::HcomAllReduce', g, attrs='{reduction="sum", '
                       'group="hccl_world_group", fusion=1, fusion_id=-1}')

    def reduced(self, grads):
        """A collective of the model's own, and a mean in f16."""
        return self.each(grads, lambda g: self.op('Div', self.sum_over_ranks(g),
                                                  self.number(4, True)))

    def reduced_behind(self, grads):
        """The mean in f32."""
        sums = self.each(grads, self.sum_over_ranks)
        return {p: self.op('Div', s, self.number(4)) for p, s in sums.items()}

    def halves(self, grads):
        return {p: self.op('Identity', self.op('Mul', g, self.number(0.5, True)))
                for p, g in grads.items()}

    def reduced_later(self, grads):
        """Half of it, a copy, and the collective then."""
        return self.reduced(self.halves(grads))

    def reduced_later_behind(self, grads):
        return self.reduced_behind(self.halves(grads))

    def reduced_in_f16(self, grads):
        """Sent in f16, though it was f32 before."""
        return self.reduced({p: self.cast(self.cast(g, F32), self.to) for p, g in grads.items()})

    def accumulated(self, grads):
        for p, g in self.plain(grads).items():
            kind = f'f32[{IN},{OUT}]' if p == 'w' else f'f32[{OUT}]'
            n = IN * OUT if p == 'w' else OUT
            self.state(p + '_acc', kind, [2.0 ** -self.k] * n)
            grads[p] = self.op('Add', p + '_acc', g, name=p + '_acc.new')
        return grads

    def accumulated_op(self, grads):
        """By the op of ONNX Runtime, which takes f16 into a buffer of f32."""
        for p, g in grads.items():
            kind = f'f32[{IN},{OUT}]' if p == 'w' else f'f32[{OUT}]'
            n = IN * OUT if p == 'w' else OUT
            self.state(p + '_acc', kind, [2.0 ** -self.k] * n)
            self.lines.append(f'  %{p}_done, %{p}_acc.new = com.microsoft::InPlaceAccumulatorV2('
                              f'%{p}_acc, %{g})')
            grads[p] = p + '_acc.new'
        return grads

    def masters(self, grads):
        """Weights of f16, whose update is f16 too."""
        return grads

    # ---- optimizers; states of f16 are computed with in f32, if anything is ----
    def old(self, state):
        return self.cast(state, F32) if self.kind == 'f16' and not self.half else state

    def next(self, state, op, *operands):
        """The next value of a state."""
        if self.kind == 'f16' and not self.half:
            v = self.op(op, *operands)
            self.op('Cast', v, attrs=f'{{to={F16}}}', name=state + '.new')
            return v
        return self.op(op, *operands, name=state + '.new')

    def moment(self, p, suffix, value):
        self.state(p + suffix, f'{self.kind}[{IN},{OUT}]' if p == 'w' else f'{self.kind}[{OUT}]',
                   [value] * (IN * OUT if p == 'w' else OUT))
        return p + suffix

    def rate(self):
        return self.number(2.0 ** min(self.k - 7, 15), self.kind == 'f16')

    def sgd(self, p, g):
        self.next(p, 'Sub', self.old(p), self.op('Mul', self.rate(), g))

    def momentum(self, p, g):
        m = self.moment(p, '_m', 2.0 ** -min(self.k, 20))
        kept = self.op('Mul', self.old(m), self.number(0.875, self.kind == 'f16'))
        v = self.next(m, 'Add', kept, g)
        self.next(p, 'Sub', self.old(p), self.op('Mul', self.rate(), v))

    def average(self, state, value, factor):
        kept = self.op('Mul', state, self.number(factor))
        part = self.op('Mul', value, self.number(1 - factor))
        return self.next(state, 'Add', kept, part)

    def adam(self, p, g, decay=0.0):
        if 'count' not in self.states:
            self.state('count', 'f32[]', [3.0])
            self.next('count', 'Add', 'count', self.number(1))
        m = self.average(self.moment(p, '_m', 2.0 ** -self.k), g, 0.9)
        v = self.average(self.moment(p, '_v', 4.0 ** -self.k), self.op('Mul', g, g), 0.999)
        fixes = [self.op('Sub', self.number(1), self.op('Pow', self.number(f), 'count.new'))
                 for f in (0.9, 0.999)]
        root = self.op('Sqrt', self.op('Div', v, fixes[1]))
        step = self.op('Div', self.op('Div', m, fixes[0]),
                       self.op('Add', root, self.number(2.0 ** -self.k)))
        old = self.op('Mul', p, self.number(1 - 0.01 * decay)) if decay else p
        self.next(p, 'Sub', old, self.op('Mul', self.number(0.01), step))

    def adamw(self, p, g):
        self.adam(p, g, 0.1)

    # ---- ops of ONNX Runtime, which take gradients of f16 ----
    def node(self, text, *results):
        self.lines.append(f'  {", ".join(r if r == "_" else "%" + r for r in results)} = {text}')

    def raw(self, grads):
        return grads

    def ort_adam(self, grads):
        for p, g in grads.items():
            m, v = self.moment(p, '_m', 2.0 ** -self.k), self.moment(p, '_v', 4.0 ** -self.k)
            self.state(f'{p}_count', 'i64[]', [3])
            self.node(f'com.microsoft::AdamOptimizer(%{self.number(0.01)}, %{p}_count, %{p}, %{g}, '
                      f'%{m}, %{v}) {{epsilon={2.0 ** -self.k}}}', f'{p}_count.new', f'{m}.new',
                      f'{v}.new', f'{p}.new')

    def lists(self, grads, clipped=False):
        """Lists of gradients, moments and weights; their norm, where they are clipped."""
        made = [self.op('SequenceConstruct', *at) for at in
                (grads, grads.values(), [p + '_m' for p in grads], [p + '_v' for p in grads])]
        if clipped:
            made[1] = self.op('com.microsoft::InplaceClipGradNorm', made[1],
                              attrs=f'{{max_norm={2.0 ** (2 - self.k)}}}')
        return made

    def ort_adamw(self, grads, clipped=False):
        for p in grads:
            self.moment(p, '_m', 2.0 ** -self.k)
            self.moment(p, '_v', 4.0 ** -self.k)
        lists = ', '.join('%' + v for v in self.lists(grads, clipped))
        self.node(f'com.microsoft::AdamWOptimizer(%{self.number(0.01)}, '
                  f'%{self.const("i64[]", 3)}, {lists}) {{epsilon={2.0 ** -self.k}}}',
                  '_', 'ws', 'ms', 'vs')
        for i, p in enumerate(grads):
            for kind, suffix in zip('wmv', ('', '_m', '_v')):
                self.op('SequenceAt', kind + 's', self.const('i64[]', i),
                        name=p + suffix + '.new')

    def ort_clipped(self, grads):
        self.ort_adamw(grads, True)

    def text(self):
        tail = [f'  state %{s} -> %{s}.new' for s in self.states] + ['  seed %dy', '  loss %L']
        return (HEADER + f'graph @step({", ".join(self.inputs)}) -> '
                f'({", ".join("%" + o for o in self.outputs)}) {{\n' +
                '\n'.join(self.consts + self.lines + tail) + '\n}\n')


SPELLINGS = ('plain', 'table', 'table_bounded', 'copied', 'viewed', 'viewed_behind', 'scaled',
             'bounded', 'bounded_behind', 'normed', 'normed_behind', 'cast_twice',
             'cast_in_rounds', 'shown', 'cast_each', 'chosen', 'selected', 'in_parts', 'reduced',
             'reduced_behind', 'reduced_later', 'reduced_later_behind', 'reduced_in_f16',
             'accumulated', 'accumulated_op', 'chosen_twice', 'cast_alike', 'through_double',
             'unit', 'unit_behind', 'counted')
