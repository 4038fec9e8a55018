#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The formula of each optimizer is written in several places: in its kernel, in the rules that
expand it, in the pass that spells updates as arithmetic, and in the meaning of NPU ops. Each of
them computes the same random steps here (shapes, dtypes, attributes, counts, no epsilon).

Where the same operations come in the same order, results must be equal bit by bit: rules, pass and
NPU form round each operation. Where the order differs (kernels compute in f64; AdamApplyOne of a
step whose rate is corrected), results must lie as near to the formula of formula_reference.py as
arithmetic in the dtype can: its bound has one rounding for each operation. Twice that bound is
allowed, since what regroups a product or a sum rounds as often again.

Then the reference is made wrong on purpose, one flaw at a time; each must be found.

  formulas.py --tailor BIN [--seed N]"""
import argparse
import itertools
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import formula_reference as ref  # noqa: E402
import guard  # noqa: E402

IR = {np.float16: 'f16', np.float32: 'f32', np.float64: 'f64', np.int64: 'i64', np.bool_: 'bool'}
TRAIN, MS = 'ai.onnx.preview.training', 'com.microsoft'
ANY_ORDER = 2  # times the bound, see above
# A last bucket that takes long, and an update that takes longer than its arithmetic: tail-opt then
# decomposes the update.
PROFILE = 'name,us\nAR2,9000000\nSTEP,90000000\n'
TAIL = ['--passes=infer-shapes,tail-opt', '--graph-run-mode=1', '--is-distributed=true',
        '--rank-size=8', '--hw-preset=unit', '--is-tailing-optimization=true',
        '--optimizer-is-tailing-optimization=true', '--decompose-updates=1']


class Wrong(Exception):
    """What a case shows that must not be."""


class Tool:
    def __init__(self, tailor, where):
        self.tailor, self.where = tailor, where
        self.profile = self.path('profile.csv', PROFILE)

    def path(self, name, text):
        path = os.path.join(self.where, name)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def call(self, *argv):
        p = guard.run([self.tailor, *argv], capture_output=True, text=True)
        if p.returncode:
            raise Wrong(f'{argv[0]} fails: {p.stderr.strip()[:300]}')
        return p.stdout

    def opt(self, text, *options):
        return self.call('opt', self.path('in.tir', text), *options)

    def run(self, text, inputs, n):
        """Results of a module in exact arithmetic."""
        argv = ['run', self.path('run.tir', text), '--exact', '--format=npy', '-o', self.where]
        for name, a in inputs.items():
            path = os.path.join(self.where, f'in_{name}.npy')
            np.save(path, a)
            argv.append(f'--input={name}={path}')
        self.call(*argv)
        return [np.load(os.path.join(self.where, f'output_{i}.npy')) for i in range(n)]


def typed(name, a):
    return f'%{name}: {IR[a.dtype.type]}[{",".join(map(str, a.shape))}]'


def attributes(attrs):
    def text(v):
        if isinstance(v, str):
            return f'"{v}"'
        if isinstance(v, bool):
            return 'true' if v else 'false'
        return repr(float(v)) if isinstance(v, float) else str(v)
    return '{' + ', '.join(f'{k}={text(v)}' for k, v in attrs.items()) + '}' if attrs else ''


def graph(inputs, results, lines, form=''):
    head = ', '.join(typed(k, a) for k, a in inputs.items())
    body = ''.join(f'  {line}\n' for line in lines)
    return f'{form}graph @g({head}) -> ({", ".join("%" + r for r in results)}) {{\n{body}}}\n'


def listed(names):
    return ', '.join('%' + n for n in names)


# ---- cases ---------------------------------------------------------------------------------------

class Update:
    """A step of an optimizer on some tensors. attrs: all attributes, also those with defaults."""

    def __init__(self, rng, op, formula, kinds, attrs, **how):
        self.op, self.formula, self.kinds, self.attrs = op, formula, kinds, attrs
        self.dtype, self.step, self.shapes = how['dtype'], how['step'], how['shapes']
        self.lists = how.get('lists', False)
        self.go = how.get('go')
        scalar = how.get('scalar', ())
        if op[0] == TRAIN and () in self.shapes:
            scalar = ()  # rules refuse what would turn a number into a vector
        rate_dtype = how.get('rate', self.dtype)
        self.inputs = {'r': np.full(scalar, rng.uniform(0.01, 0.5), rate_dtype)}
        if self.counted():
            self.inputs['t'] = np.full(scalar, self.step, np.int64)
        for i, kind in enumerate('xgvh'[:kinds]):
            for k, shape in enumerate(self.shapes):
                self.inputs[f'{kind}{k}'] = self.tensor(rng, i, shape)
        if self.go is not None:
            self.inputs['go'] = np.full((1,), self.go)
        states = [kind for kind in 'xgvh'[:kinds] if kind != 'g']
        self.results = [f'{kind}{k}.new' for kind in states for k in range(len(self.shapes))]
        self.name = (f'{op[1]} {attributes(attrs)} {IR[self.dtype]} {self.shapes} '
                     f'count {self.step} '
                     f'rate {IR[rate_dtype]}{list(scalar)} go {self.go}')

    def counted(self):
        return 'SGD' not in self.op[1]

    def tensor(self, rng, i, shape):
        """Second moments (and the only state of Adagrad) are not below 0; states of a first step
        are 0."""
        squares = i == 3 or (i == 2 and self.formula is ref.adagrad)
        low = 0.01 if squares else -2
        a = rng.uniform(low, 2, shape) * 10.0 ** rng.integers(-2, 2, shape)
        return np.asarray(a * (0 if i > 1 and self.step == 0 else 1), self.dtype)

    def node(self, operands, results):
        attrs = attributes(self.attrs)
        return f'{listed(results)} = "{self.op[0]}"::{self.op[1]}({listed(operands)}) @STEP {attrs}'

    def text(self):
        names = [n for n in self.inputs if n[0] in 'xgvh']
        head = [n for n in ('r', 't') if n in self.inputs]
        if not self.lists:
            return graph(self.inputs, self.results, [self.node(head + names, self.results)])
        n, kinds = len(self.shapes), 'xgvh'[:self.kinds]
        ir = IR[self.dtype]
        lines = [f'const %at{k} = i64[] {k}' for k in range(n)]
        lines += [f'%{kind}s = SequenceConstruct({listed(f"{kind}{k}" for k in range(n))})'
                  for kind in kinds]
        states = [kind for kind in kinds if kind != 'g']
        out = ['done', *(f'{kind}s.new' for kind in states)]
        tail = ['go'] if self.go is not None else []
        lines.append(self.node([*head, *(f'{kind}s' for kind in kinds), *tail], out)
                     + ' : bool[1]' + f', seq({ir}[*])' * len(states))
        lines += [f'%{kind}{k}.new = SequenceAt(%{kind}s.new, %at{k})'
                  for kind in states for k in range(n)]
        return graph(self.inputs, self.results, lines)

    def tail(self):
        """The step behind the last bucket of a distributed one, where tail-opt decomposes it. On
        one rank the sum over ranks is its operand, and a gradient times 1 the gradient."""
        inputs = dict(self.inputs, one=np.ones_like(self.inputs['g0']),
                      w=np.ones((2,), np.float32))
        names = ['s0' if n == 'g0' else n for n in self.inputs]
        lines = ['%gw = Mul(%w, %w) @B4', '%gg = Mul(%one, %g0) @B3']
        for old, new, k in (('gw', 'sw', 1), ('gg', 's0', 2)):
            ir = typed(old, inputs['w' if k == 1 else 'g0']).split(': ')[1]
            lines.append(f'%{new} = npu.hcom::HcomAllReduce(%{old}) @AR{k} '
                         f'{{reduction="sum", group="g", fusion=1}} : {ir}')
        lines += ['%w.new = Sub(%w, %sw)', self.node(names, self.results)]
        lines += [f'state %{r.removesuffix(".new")} -> %{r}' for r in [*self.results, 'w.new']]
        lines += ['gradient %w -> %gw', 'gradient %x0 -> %gg']
        return inputs, graph(inputs, [*self.results, 'w.new'], lines)

    def forms(self, tool):
        """Yields (name, inputs, module, group): forms of a group are equal bit by bit."""
        text = self.text()
        yield 'kernel', self.inputs, text, 'kernel'
        name = self.op[1] + '('
        passes = 'plain-updates' if self.op[0] == MS else 'split-optimizers,expand'
        plain = tool.opt(text, '--graph-run-mode=1', f'--passes=infer-shapes,{passes}')
        if name in plain:
            raise Wrong(f'{passes} leaves the op')
        yield passes, self.inputs, plain, 'arithmetic'
        if self.dtype == np.float64:  # which neither NPUs nor their collectives have
            return
        npu = tool.opt(text, '--graph-run-mode=1', '--npu')
        yield 'NPU form', self.inputs, npu, 'fused' if 'AdamApplyOne' in npu else 'arithmetic'
        if self.op[0] == TRAIN and len(self.shapes) == 1:
            inputs, text = self.tail()
            tail = tool.opt(text, *TAIL, f'--profile={tool.profile}')
            left = self.formula is ref.adagrad and not self.attrs['norm_coefficient'] \
                and not self.attrs['decay_factor']  # nothing of it can run before its gradient
            if (name in tail) != left:
                raise Wrong('tail-opt ' + ('takes what gains nothing' if left else 'leaves the op'))
            yield 'tail-opt', inputs, tail, 'kernel' if left else 'arithmetic'

    def expected(self, flaw=None):
        """For each result (numbers, bound)."""
        exact, rounded = ref.numbers(self.dtype)
        if self.go is False:
            return [exact(self.inputs[r.removesuffix('.new')]) for r in self.results]
        attrs = {k: np.float32(v) if isinstance(v, float) else v for k, v in self.attrs.items()}
        out = []
        for k in range(len(self.shapes)):
            tensors = [exact(self.inputs[f'{kind}{k}']) for kind in 'xgvh'[:self.kinds]]
            rate = rounded(self.inputs['r'].reshape(()))
            out.append(self.formula(attrs, rounded, self.step, rate, tensors, flaw))
        return [made[i] for i in range(len(out[0])) for made in out]


class Step:
    """An op all of whose numbers are operands. ops: ways to write it, (name, operands, attributes);
    names of tensors come before the colon. places: for each op which results the formula has."""

    def __init__(self, rng, formula, ops, results, dtype, shape, **fixed):
        self.formula, self.ops, self.n = formula, ops, results
        tensors, numbers = (part.split() for part in fixed.pop('operands').split(':'))
        self.inputs = {}
        for name in tensors:
            a = rng.uniform(0.01 if name in ('v', 'gg') else -2, 2, shape)
            self.inputs[name] = np.asarray(a, dtype)
        for name in numbers:
            value = fixed.get(name, rng.uniform(0.05, 0.95))
            self.inputs[name] = np.asarray(value, dtype)
        self.name = f'{ops[0][0]} {IR[dtype]}{list(shape)} {fixed}'

    def forms(self, tool):
        results = [f'out{i}' for i in range(self.n)]
        for op, operands, attrs in self.ops:
            form = 'module {\n  form npu\n}\n' if op.startswith('npu') else ''
            line = f'{listed(results)} = {op}({listed(operands.split())}) {attributes(attrs)}'
            text = graph(self.inputs, results, [line], form)
            yield op, self.inputs, text, 'arithmetic'
            if not form:
                yield f'{op}, NPU form', self.inputs, tool.opt(text, '--npu'), 'arithmetic'

    def expected(self, flaw=None):
        dtype = next(iter(self.inputs.values())).dtype
        exact = ref.numbers(dtype)[0]
        return self.formula({k: exact(a) for k, a in self.inputs.items()}, flaw)[:self.n]


def updates(rng):
    shapes = itertools.cycle([[(3, 4)], [()], [(5,), (2, 1, 3)], [(1,)], [(0, 3)], [(7,)]])
    steps = itertools.cycle([0, 1, 2, 100])
    dtypes = itertools.cycle([np.float32, np.float32, np.float64])
    scalars = itertools.cycle([(), (), (1,), (), (1,)])
    one = ('alpha', 'beta', 'epsilon', 'norm_coefficient', 'norm_coefficient_post')

    def how(**more):
        return dict({'dtype': next(dtypes), 'step': next(steps), 'shapes': next(shapes),
                     'scalar': next(scalars)}, **more)
    for values in itertools.product((0.9, 0.5), (0.999, 0.75), (1e-6, 0.0), (0.0, 0.1),
                                    (0.0, 0.01)):
        yield Update(rng, (TRAIN, 'Adam'), ref.adam, 4, dict(zip(one, values)), **how())
    for eps, norm, decay in itertools.product((1e-6, 0.0), (0.0, 0.1), (0.0, 0.25)):
        attrs = {'decay_factor': decay, 'epsilon': eps, 'norm_coefficient': norm}
        for _ in range(2):
            yield Update(rng, (TRAIN, 'Adagrad'), ref.adagrad, 3, attrs, **how())
    for mode, beta, norm in itertools.product(('standard', 'nesterov'), (1.0, 0.5), (0.0, 0.1)):
        attrs = {'alpha': 0.9, 'beta': beta, 'mode': mode, 'norm_coefficient': norm}
        for _ in range(3):
            yield Update(rng, (TRAIN, 'Momentum'), ref.momentum, 3, attrs, **how())
    yield Update(rng, (TRAIN, 'Adam'), ref.adam, 4, dict(zip(one, (0.9, 0.99, 1e-6, 0.1, 0.1))),
                 **how(dtype=np.float32, rate=np.float64, shapes=[(4,)]))
    for mode, correct, decay, eps in itertools.product((0, 1), (1, 0), (0.01, 0.0), (1e-8, 0.0)):
        attrs = {'adam_mode': mode, 'alpha': 0.9, 'beta': 0.999, 'correct_bias': correct,
                 'epsilon': eps, 'weight_decay': decay}
        for step in (0, 1, 100):
            yield Update(rng, (MS, 'AdamWOptimizer'), ref.adamw, 4, attrs,
                         **how(dtype=np.float32, rate=np.float32, step=step, lists=True,
                               scalar=(1,), go=[None, True][step == 1]))
    for go in (None, True, False):
        more = {'dtype': np.float32, 'lists': True, 'scalar': (1,), 'go': go}
        yield Update(rng, (MS, 'SGDOptimizerV2'), ref.sgd, 2, {}, **how(**more))
    yield Update(rng, (MS, 'AdamWOptimizer'), ref.adamw, 4, attrs, **how(**dict(more, step=3)))
    for _ in range(3):
        yield Update(rng, (MS, 'SGDOptimizer'), ref.sgd, 2, {},
                     **how(dtype=np.float32, shapes=[(3, 2)]))


def single_steps(rng):
    attrs = {'use_nesterov': False, 'use_locking': False}
    ahead = dict(attrs, use_nesterov=True)
    one = 'lr b1 a1 b2 a2'
    for dtype, shape in itertools.product((np.float32, np.float16), ((3, 4), (), (0,), (2, 1, 5))):
        for eps in (0.001, 0.0):
            yield Step(rng, ref.apply_one, [
                ('tl::AdamApplyOne', f'v m p g {one} eps', {}),
                ('npu::AdamApplyOne', f'g v m p {one} eps', {})], 3, dtype, shape,
                operands=f'v m p g: {one} eps', eps=eps)
            yield Step(rng, ref.apply_one_with_decay, [
                ('tl::AdamApplyOneWithDecay', f'v m p g {one} eps decay', {}),
                ('npu::AdamApplyOneWithDecay', f'g v m p {one} decay eps', {})], 3, dtype, shape,
                operands=f'v m p g: {one} decay eps', eps=eps)
            yield Step(rng, ref.lamb_next, [
                ('tl::LambNext', 'v m gg g p c2 c1 b1 a1 b2 a2 decay eps', {}),
                ('npu::LambNextMV', 'gg v c2 g m c1 p b1 a1 b2 a2 decay eps', {})], 4, dtype, shape,
                operands='v m gg g p: c2 c1 b1 a1 b2 a2 decay eps', eps=eps)
        for norms in ({}, {'pn': 0}, {'un': 0}, {'pn': 0, 'un': 0}):
            yield Step(rng, ref.lamb_update, [
                ('tl::LambUpdate', 'p u lr pn un', {}),
                ('npu::LambUpdateWithLrV2', 'pn un lr u p zero one', {})], 1, dtype, shape,
                operands='p u: lr pn un zero one', zero=0, one=1, **norms)
        for formula, a in ((ref.apply_momentum, attrs), (ref.apply_nesterov, ahead)):
            yield Step(rng, formula, [
                ('npu::ApplyMomentumD', 'var accum lr g momentum', a)], 2, dtype, shape,
                operands='var accum g: lr momentum')
            yield Step(rng, formula, [
                ('npu::ApplyMomentum', 'var accum lr g momentum', a)], 1, dtype, shape,
                operands='var accum g: lr momentum')
        yield Step(rng, ref.apply_adam, [
            ('npu::ApplyAdamD', 'var m v p1 p2 lr b1 b2 eps g', attrs)], 3, dtype, shape,
            operands='var m v g: p1 p2 lr b1 b2 eps')


# ---- comparing -----------------------------------------------------------------------------------

def off(got, want):
    """How many times the bound a result is off at most; infinity where one is no number and the
    other is."""
    if got.shape != want.v.shape:
        return np.inf
    with np.errstate(all='ignore'):
        d = abs(got.astype(np.longdouble) - want.v)
        same = (np.isnan(got) & np.isnan(want.v)) | (got == want.v)
        times = np.where(same, 0, d / want.e)
    times = np.where(np.isnan(times), np.inf, times)
    return float(times.max(initial=0))


def judge(case, tool):
    """Compares all forms of a case; returns (results of the first, how far it was off)."""
    want = case.expected()
    groups, first, most = {}, None, 0
    for name, inputs, text, group in case.forms(tool):
        got = tool.run(text, inputs, len(want))
        first = first or got
        times = max(off(g, w) for g, w in zip(got, want))
        most = max(most, times)
        if times > ANY_ORDER:
            raise Wrong(f'{name}: {times:.3g} times what rounding explains')
        before, bits = groups.setdefault(group, (name, [g.tobytes() for g in got]))
        if bits != [g.tobytes() for g in got]:
            raise Wrong(f'{name} and {before} differ in bits')
    return first, most


FOUND_BY = {ref.adam: 'sign correction root square decay', ref.adagrad: 'sign root square decay',
            ref.momentum: 'sign decay ahead first', ref.sgd: 'sign',
            ref.adamw: 'sign correction root square decay', ref.apply_one: 'sign root square',
            ref.apply_one_with_decay: 'sign root square decay', ref.lamb_update: 'sign ratio',
            ref.lamb_next: 'correction root decay', ref.apply_momentum: 'sign',
            ref.apply_nesterov: 'sign ahead', ref.apply_adam: 'sign correction root square'}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--seed', type=int, default=0)
    args = p.parse_args()
    np.seterr(all='ignore')
    rng = np.random.default_rng(args.seed)
    passed = failed = 0
    found, most = set(), 0
    with tempfile.TemporaryDirectory() as where:
        tool = Tool(os.path.abspath(args.tailor), where)
        for case in itertools.chain(updates(rng), single_steps(rng)):
            try:
                got, times = judge(case, tool)
            except Wrong as why:
                print(f'FAIL {case.name}: {why}')
                failed += 1
                continue
            passed += 1
            most = max(most, times)
            for flaw in FOUND_BY[case.formula].split():
                wrong = case.expected(flaw)
                if any(off(g, w) > ANY_ORDER for g, w in zip(got, wrong)):
                    found.add((case.formula, flaw))
    for formula, flaws in FOUND_BY.items():
        for flaw in flaws.split():
            if (formula, flaw) in found:
                passed += 1
            else:
                print(f'FAIL {formula.__name__}: not found: {ref.FLAWS[flaw]}')
                failed += 1
    print(f'formulas: off by at most {most:.2f} times the bound of rounding; {len(found)} planted '
          f'flaws found')
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
