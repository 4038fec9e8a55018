#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Mixed precision on random graphs, against a second model of it (reference.py):

  random_graphs.py --tailor BIN [--n 20000] [--seed 1] [--keep FOLDER]

Ops, signatures of the chip, colours, modes, lists of kept nodes and of dtypes are random. For each
graph the dtypes at every node are those of the reference; the casts are exactly the distinct
values and dtypes that need one, none is on a constant; inputs and outputs are as before; the
verifier agrees after each pass; moving casts never adds one. Where the reference finds an error,
tailor finds the same. The last line is 'N passed, M failed, 0 skipped'."""
import argparse
import collections
import json
import os
import random
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
import reference  # noqa: E402
from reference import Config, Node, Row, Value  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

GRAPHS = 20  # in one run of tailor, under one configuration
MODES = {'force_fp16': 'precision-mode=force_fp16',
         'allow_fp16': 'precision-mode=allow_fp32_to_fp16',
         'allow_bf16': 'precision-mode=allow_fp32_to_bf16', 'origin': 'precision-mode-v2=origin',
         'force_fp32': 'precision-mode=force_fp32', 'mix_fp16': 'precision-mode-v2=mixed_float16',
         'mix_bf16': 'precision-mode-v2=mixed_bfloat16',
         'cube_hif8': 'precision-mode-v2=cube_hif8', 'mix_hif8': 'precision-mode-v2=mixed_hif8'}
# Op of the model -> judged type, operands, further slots of the row that the model has no operand
# for, results of the row.
UNARY = {'Relu': 'Relu', 'Exp': 'Exp', 'Log': 'Log', 'Sqrt': 'Sqrt', 'Sigmoid': 'Sigmoid',
         'Tanh': 'Tanh', 'Erf': 'Erf', 'Softplus': 'Softplus'}
BINARY = {'Add': 'Add', 'Sub': 'Sub', 'Max': 'Maximum', 'MatMul': 'BatchMatMulV2'}
SLOTS = {**{t: (['x'], ['y']) for t in UNARY.values()},
         **{t: (['x1', 'x2'], ['y']) for t in BINARY.values()},
         'AccumulateNV2': (['x'], ['y']), 'GatherV2': (['x', 'indices', 'axis'], ['y']),
         'LayerNorm': (['x', 'gamma', 'beta'], ['y', 'mean', 'variance']),
         'Identity': (['x'], ['y']), 'Reshape': (['x', 'shape'], ['y'])}
GE = {'hif8': 'hifloat8', 'f32': 'float', 'f16': 'float16', 'bf16': 'bfloat16', 'i32': 'int32',
      'i64': 'int64'}
ONNX = {'f32': 1, 'f16': 10, 'bf16': 16, 'i32': 6}
FLOATS = ('f32', 'f16', 'bf16')


# ---- the chip -----------------------------------------------------------------------------------

def random_row(rng, judged, hif8):
    ins, outs = SLOTS[judged]
    colour = rng.choice(('white', 'black', 'gray', 'gray'))
    if judged in ('Identity', 'Reshape'):
        kinds = list(FLOATS) + ['i32']
        shape = [['i64'] * 4] if judged == 'Reshape' else []
        return Row('gray', [kinds] + shape, [kinds], view=True)
    kinds = [d for d in FLOATS if rng.random() < (0.9 if d == 'f32' else 0.7)] or ['f32']
    kinds += ['hif8'] * (hif8 and rng.random() < 0.6)
    rng.shuffle(kinds)
    columns = [([d] * len(ins), [d] * len(outs)) for d in kinds]
    mixed = FLOATS + ('hif8',) * hif8
    for _ in range(rng.randrange(3)):  # mixed signatures
        columns.insert(rng.randrange(len(columns) + 1),
                       ([rng.choice(mixed) for _ in ins], [rng.choice(mixed) for _ in outs]))
    if rng.random() < 0.5:
        columns.insert(rng.randrange(len(columns) + 1), (['i32'] * len(ins), ['i32'] * len(outs)))
    if judged == 'GatherV2':
        columns = [([a[0], 'i32', 'i32'], b) for a, b in columns]
    return Row(colour, [list(c) for c in zip(*(a for a, _ in columns))],
               [list(c) for c in zip(*(b for _, b in columns))], dynamic=judged == 'AccumulateNV2')


def op_info(rows):
    """The rows as the JSON file of a CANN installation."""
    found = {}
    for judged, row in rows.items():
        if judged == 'Cast':
            continue
        ins, outs = SLOTS[judged]
        entry = {}
        for side, names, slots in (('input', ins, row.inputs), ('output', outs, row.outputs)):
            for i, (name, dtypes) in enumerate(zip(names, slots)):
                kind = 'dynamic' if row.dynamic and side == 'input' else 'required'
                entry[f'{side}{i}'] = {'name': name, 'paramType': kind,
                                       'dtype': ','.join(GE[d] for d in dtypes)}
        if row.colour != 'gray':
            entry['precision_reduce'] = {'flag': 'true' if row.colour == 'white' else 'false'}
        if row.view:
            entry['opFile'] = {'value': 'Null'}
        found[judged] = entry
    return found


def cast_row():
    """The casts that random graphs have, as the built-in table knows them, in no special order."""
    kinds = ('f32', 'f16', 'bf16', 'i32')
    pairs = [(a, b) for a in kinds for b in kinds if a != b]
    return Row('gray', [[a for a, _ in pairs]], [[b for _, b in pairs]])


# ---- a graph ------------------------------------------------------------------------------------

class Maker:
    def __init__(self, rng, name):
        self.rng = rng
        self.name = name
        self.inputs = [Value(f'{name}_x{i}', d) for i, d in
                       enumerate(['f32', rng.choice(FLOATS), 'i32'])]
        self.constants = []
        self.outputs = []
        self.n = 0

    def constant(self, dtype, text, shape='[2,2]'):
        v = Value(f'{self.name}_c{len(self.constants)}', dtype, constant=True)
        self.constants.append(f'  const %{v.name}: {dtype}{shape} = {text}')
        return v

    def pick(self, values, dtype):
        fits = [v for v in values if v.dtype == dtype and not v.constant]
        if dtype in FLOATS and (not fits or self.rng.random() < 0.15):
            return self.constant(dtype, '[1.0, 2.0, 3.0, 0.5]')
        return self.rng.choice(fits[-6:]) if fits else None

    def fresh(self):
        self.n += 1
        return f'{self.name}_n{self.n}'

    def add(self, op, judged, operands, dtype, attrs='', shape='[2,2]'):
        name = self.fresh()
        result = Value(name + '_r', dtype)
        node = Node(name, op, judged, operands, [result])
        result.producer = node
        names = ', '.join('%' + v.name for v in operands)
        node.text = f'%{result.name} = {op}({names}) @{name}{attrs} : {dtype}{shape}'
        return node

    def node(self, values, depth):
        rng = self.rng
        kind = rng.random()
        like = rng.choice([v for v in values if not v.constant][-6:])
        d = like.dtype
        if kind < 0.12:
            to = rng.choice([t for t in ONNX if t != d])
            return self.add('Cast', 'Cast', [like], to, f' {{to={ONNX[to]}}}')
        if kind < 0.2:
            op = rng.choice(('Identity', 'Reshape', 'test::Unknown'))
            more = [self.constant('i64', '[2, 2]', '[2]')] if op == 'Reshape' else []
            return self.add(op, '' if '::' in op else op, [like] + more, d)
        if kind < 0.26 and depth < 2:
            return self.branches(values, depth)
        if kind < 0.32 and d in FLOATS:
            index = self.constant('i32', '[1, 0]', '[2]')
            return self.add('Gather', 'GatherV2', [like, index], d)
        if kind < 0.4 and d in FLOATS:
            scale, bias = (self.constant(d, '[1.0, 2.0]', '[2]') for _ in range(2))
            return self.add('LayerNormalization', 'LayerNorm', [like, scale, bias], d)
        if kind < 0.48 and d in FLOATS:
            return self.add('Sum', 'AccumulateNV2',
                            [like] + [self.pick(values, d) for _ in range(2)], d)
        if kind < 0.75 or d == 'i32':
            op = rng.choice(list(BINARY))
            pair = [like, self.pick(values, d)]
            rng.shuffle(pair)
            return self.add(op, BINARY[op], pair, d)
        op = rng.choice(list(UNARY))
        return self.add(op, UNARY[op], [like], d)

    def branches(self, values, depth):
        name = self.fresh()
        dtype = self.rng.choice(FLOATS)
        bodies, texts = [], []
        for side in ('then_branch', 'else_branch'):
            inner = self.nodes(list(values), self.rng.randrange(1, 4), depth + 1)
            last = inner[-1].results[0]
            if last.dtype != dtype:
                inner.append(self.add('Cast', 'Cast', [last], dtype, f' {{to={ONNX[dtype]}}}'))
                last = inner[-1].results[0]
            bodies.append((inner, last))
            lines = '\n'.join('  ' + n.text for n in inner)
            texts.append(f'{side}=graph @{name}.{side}() -> (%{last.name}) {{\n{lines}\n}}')
        result = Value(name + '_r', dtype)
        node = Node(name, 'If', '', [self.condition], [result], bodies=bodies)
        result.producer = node
        node.text = (f'%{result.name} = If(%{self.condition.name}) @{name} {{' + ',\n'.join(texts) +
                     f'}} : {dtype}[2,2]')
        return node

    def nodes(self, values, n, depth):
        found = []
        for _ in range(n):
            node = self.node(values, depth)
            found.append(node)
            values.extend(node.results)
        return found

    def graph(self):
        self.condition = Value(f'{self.name}_p', 'bool')
        made = self.nodes(list(self.inputs), self.rng.randrange(2, 12), 0)
        used = {v.name for n in made for v in n.operands}
        results = [v for n in made for v in n.results]
        self.outputs = [v for v in results if v.name not in used or self.rng.random() < 0.2]
        return made

    def text(self, made):
        inputs = ', '.join(f'%{v.name}: {v.dtype}[2,2]' for v in self.inputs)
        outputs = ', '.join('%' + v.name for v in self.outputs)
        lines = self.constants + ['  ' + n.text for n in made]
        inputs += f', %{self.condition.name}: bool[]'
        return f'graph @{self.name}({inputs}) -> ({outputs}) {{\n' + '\n'.join(lines) + '\n}\n'


# ---- what comes out -----------------------------------------------------------------------------

STATEMENT = re.compile(r'^\s*(%\S+(?:, (?:%\S+|_))*) = (\S+?)\(([^)]*)\)(?: @(\S+))?(.*)$')
TYPE = re.compile(r'(?:^|[\s}]): ([^{}]*?)(?: npu .*| mixed.*| meta .*|)$')


class Result:
    """The textual IR that tailor printed, as far as dtypes go."""

    def __init__(self, text):
        self.type = {}      # value -> dtype
        self.nodes = {}     # node name -> (operands, results)
        self.maker = {}     # value -> node name
        self.casts = []     # inserted: (graph, operand, dtype)
        self.n_casts = 0
        self.inputs, self.outputs = {}, {}
        self.constants = set()
        self.opened = []    # nodes with bodies around the line, as (results, name, body number)
        for line in text.splitlines():
            self.line(line)

    def declare(self, values, types):
        for v, t in zip(values, types.split(', ')):
            self.type[v] = t.split('[')[0]

    def header(self, m):
        for v, t in re.findall(r'(%\S+): (\w+)\[', m.group(2)):
            self.type[v] = t
            self.inputs[v] = t
        self.root = m.group(1)
        self.outputs[self.root] = re.findall(r'%[^\s,)]+', m.group(3))

    def where(self):
        return '.'.join(f'{name}.{i}' if k == len(self.opened) - 1 else '' for k, (_, name, i) in
                        enumerate(self.opened)).lstrip('.')

    def line(self, line):
        m = re.match(r'^graph @(\S+?)\((.*)\) -> \((.*)\) \{$', line)
        if m:
            self.header(m)
            return
        m = re.match(r'^\s*const (%\S+): (\w+)\[', line)
        if m:
            self.type[m.group(1)] = m.group(2)
            self.constants.add(m.group(1))
            return
        m = re.match(r'^\s*(?:then|else)_branch=graph @\S+\(\) -> \((%\S+)\) \{$', line)
        if m:
            self.opened[-1][2] += 1
            self.bodies.setdefault(self.opened[-1][1], []).append(m.group(1))
            return
        m = re.match(r'^\s*\}(?: : (\S+?)\[.*| npu.*)$', line)
        if m and self.opened:
            results, name, _ = self.opened.pop()
            self.type[results[0]] = m.group(1)
            return
        m = STATEMENT.match(line)
        if m:
            self.statement(m)

    bodies = {}

    def statement(self, m):
        results, op, operands, name, rest = m.groups()
        results = results.split(', ')
        operands = [o for o in operands.split(', ') if o]
        self.nodes[name] = (operands, results)
        for r in results:
            self.maker[r] = name
        if op == 'If' and rest.rstrip().endswith('{'):
            self.opened.append([results, name, -1])
            return
        types = TYPE.search(rest)
        self.declare(results, types.group(1) if types else '?')
        if op == 'Cast':
            self.n_casts += 1
        if 'meta "inserted"' in rest:
            self.casts.append((self.where(), operands[0], self.type[results[0]]))


def identity(maker, value):
    """A value by what makes it: names of outputs move to casts."""
    return maker.get('%' + value.lstrip('%'), value.lstrip('%'))


# ---- one run ------------------------------------------------------------------------------------

def random_config(rng):
    strict = rng.random() < 0.2
    if rng.random() < 0.75:
        return Config(rng.choice(list(MODES)), strict=strict)
    level, bfloat = rng.choice(list(reference.LEVELS)), rng.random() < 0.4
    return Config(reference.LEVELS[level][bfloat], strict=strict, level=level)


def mode_options(config):
    chip = ['--soc-version=Ascend950'] if config.mode in reference.HIF8 else []
    if not config.level:
        return ['--' + MODES[config.mode]] + chip
    bfloat = config.mode != reference.LEVELS[config.level][0]
    return [f'--amp-level={config.level}'] + ['--amp-dtype=bfloat16'] * bfloat


def tailor(args, folder, config, passes, text):
    argv = [args.tailor, 'opt', f'--passes={passes}', '--verify-each', *mode_options(config),
            f'--op-info={folder}/op_info.json', '-o', '-', '-']
    argv += ['--strict-mix-low'] if config.strict else []
    for option, name in (('modify-mixlist', 'mix.json'), ('keep-dtype', 'keep.cfg'),
                         ('customize-dtypes', 'custom.cfg')):
        if os.path.exists(f'{folder}/{name}'):
            argv.append(f'--{option}={folder}/{name}')
    p = guard.run(argv, input=text, capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def all_nodes(made):
    for n in made:
        yield n
        for body, _ in n.bodies:
            yield from all_nodes(body)


def random_lists(rng, rows, config, graphs, folder):
    lists = {}
    if config.mode in reference.MIXED and config.level != 'O3' and rng.random() < 0.6:
        for judged in rng.sample(list(rows), rng.randrange(1, 5)):
            colour = rng.choice(('black', 'white', 'gray'))
            lists.setdefault(colour + '-list', {'to-add': []})['to-add'].append(judged)
            config.colours[judged] = colour
        with open(f'{folder}/mix.json', 'w', encoding='utf-8') as f:
            json.dump(lists, f)
    nodes = [n for _, made in graphs for n in all_nodes(made) if n.judged in rows]
    if nodes and rng.random() < 0.3:
        config.kept = {n.name for n in rng.sample(nodes, min(len(nodes), 12))}
        with open(f'{folder}/keep.cfg', 'w', encoding='utf-8') as f:
            f.write('\n'.join(sorted(config.kept)) + '\n')
    if nodes and rng.random() < 0.3:
        lines = []
        for n in rng.sample(nodes, min(len(nodes), 8)):
            row = rows[n.judged]
            k = rng.randrange(row.columns())
            ins = [col[k] if rng.random() < 0.6 else '' for col in row.inputs]
            outs = [col[k] if rng.random() < 0.6 else '' for col in row.outputs]
            if n.judged == 'Cast' or not any(ins + outs) or row.dynamic:
                continue
            config.custom[n.name] = (ins, outs)
            lines.append(f'{n.name}:InputDtype:{",".join(GE.get(d, "") for d in ins)},'
                         f'OutputDtype:{",".join(GE.get(d, "") for d in outs)}')
        if lines:
            with open(f'{folder}/custom.cfg', 'w', encoding='utf-8') as f:
                f.write('\n'.join(lines) + '\n')


def compare_dtypes(d, made, r):
    for n in all_nodes(made):
        if n.name not in r.nodes:
            return f'{n.name} is gone'
        operands, results = r.nodes[n.name]
        got = ([r.type[o] for o in operands], [r.type[v] for v in results])
        if list(got[0]) != list(d.slots[n.name][0]) or list(got[1]) != list(d.slots[n.name][1]):
            return f'{n.name} ({n.op}) is {got}, the reference has {d.slots[n.name]}'
    return None


def compare_casts(d, maker, made, r):
    needed, _ = reference.casts(d, made, maker.outputs)
    names = {v.name: v.producer.name for n in all_nodes(made) for v in n.results}
    wanted = {(where.rsplit('/', 1)[-1], names.get(v, v), dtype) for where, v, dtype in needed}
    mine = [c for c in r.casts if identity(r.maker, c[1]).startswith(maker.name + '_')]
    got = collections.Counter((where, identity(r.maker, v), dtype) for where, v, dtype in mine)
    if any(v in r.constants for _, v, dtype in mine if dtype != 'hif8'):
        return 'a cast is on a constant'
    if any(n > 1 for n in got.values()):
        return f'a cast is there twice: {[k for k, n in got.items() if n > 1]}'
    if set(got) != wanted:
        return f'casts {sorted(set(got) - wanted)} too many, {sorted(wanted - set(got))} missing'
    return None


def compare_signature(maker, r):
    outputs = ['%' + v.name for v in maker.outputs]
    if r.outputs[maker.name] != outputs:
        return f'outputs are {r.outputs[maker.name]}, not {outputs}'
    for v in maker.inputs + maker.outputs:
        if r.type['%' + v.name] != v.dtype:
            return f'{v.name} is {r.type["%" + v.name]}, not {v.dtype}'
    return None


def expect_error(args, folder, config, maker, made, d):
    code, _, messages = tailor(args, folder, config, 'infer-shapes,select,precision',
                               maker.text(made))
    found = re.search(r'error: node (\S+?): .* \[(P\d+)\]', messages)
    if code == 0 or not found:
        return f'the reference has {d.error}, tailor: exit {code} {messages}'
    if found.groups() != d.error:
        return f'the reference has {d.error}, tailor {found.groups()}'
    return None


def run(args, seed):
    rng = random.Random(seed)
    folder = os.path.join(args.folder, str(seed))
    os.makedirs(folder)
    config = random_config(rng)
    hif8 = config.mode in reference.HIF8
    rows = {judged: random_row(rng, judged, hif8) for judged in SLOTS}
    rows['Cast'] = cast_row()
    with open(f'{folder}/op_info.json', 'w', encoding='utf-8') as f:
        json.dump(op_info(rows), f)
    graphs = []
    for i in range(GRAPHS):
        maker = Maker(rng, f'g{i}')
        graphs.append((maker, maker.graph()))
    random_lists(rng, rows, config, graphs, folder)
    problems, good = [], []
    failing = 0
    for maker, made in graphs:
        d = reference.decide(rows, config, made)
        if not d.error:
            good.append((maker, made, d))
        elif failing < 2:  # one process each
            failing += 1
            problem = expect_error(args, folder, config, maker, made, d)
            problems += [f'{maker.name}: {problem}'] if problem else []
    if good:
        problems += check_good(args, folder, config, good)
    return len(good) + failing - len(problems), [f'seed {seed}: {config.level or config.mode}: {p}'
                                                 for p in problems]


def check_good(args, folder, config, good):
    text = ''.join(maker.text(made) for maker, made, _ in good)
    with open(f'{folder}/in.tir', 'w', encoding='utf-8') as f:
        f.write(text)
    outs = []
    for passes in ('infer-shapes,select,precision', 'infer-shapes,select,precision,cast-motion'):
        code, out, messages = tailor(args, folder, config, passes, text)
        if code:
            return [f'{passes}: exit {code}: {messages}']
        outs.append(out)
    r, moved = Result(outs[0]), Result(outs[1])
    problems = []
    for maker, made, d in good:
        problem = (compare_dtypes(d, made, r) or compare_casts(d, maker, made, r) or
                   compare_signature(maker, r) or compare_signature(maker, moved))
        problems += [f'{maker.name}: {problem}'] if problem else []
    if moved.n_casts > r.n_casts:
        problems.append(f'motion made {moved.n_casts} casts of {r.n_casts}')
    return problems


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--n', type=int, default=20000)
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--keep')
    p.add_argument('--show', type=int, default=10)
    args = p.parse_args()
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        args.folder = args.keep or folder
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            seed = args.seed
            while passed + len(failures) < args.n:
                batch = range(seed, seed + 16)
                seed += len(batch)
                for n, problems in pool.map(lambda s: run(args, s), batch):
                    passed += n
                    failures += problems
                if len(failures) > 50:
                    break
    for f in failures[:args.show]:
        print('FAIL', f)
    print(f'{passed} passed, {len(failures)} failed, 0 skipped')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
