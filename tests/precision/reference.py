# SPDX-License-Identifier: Apache-2.0
"""The decision of mixed precision a second time: plain, slow, and written from the rules alone, to
compare with (random_graphs.py). Dtypes are the words of textual IR.

A row is what a chip's table says of an op type: columns, one legal signature each. A graph is a
list of nodes in order; values know their dtype in the model. decide() gives, for every node, the
dtype of each operand and result, or the code of an error."""
import dataclasses

RANK = {'f32': 100000, 'bf16': 200000, 'f16': 200001}
LOW = ('f16', 'bf16')
HIF8 = ('cube_hif8', 'mix_hif8')
MIXED = ('mix_fp16', 'mix_bf16', 'mix_hif8')
# Levels of MindSpore: mode with a low dtype of f16, with bf16, colour of types without a line, and
# lines of the types that random graphs have.
LEVELS = {'O0': ('origin', 'origin', None, {}),
          'O1': ('mix_fp16', 'mix_bf16', 'black', {'BatchMatMulV2': 'white', 'Relu': 'white'}),
          'O2': ('mix_fp16', 'mix_bf16', 'white', {'LayerNorm': 'black'}),
          'O3': ('force_fp16', 'mix_bf16', 'white', {}),
          'auto': ('mix_fp16', 'mix_bf16', 'gray',
                   {'BatchMatMulV2': 'white', 'Exp': 'black', 'Log': 'black', 'Softplus': 'black',
                    'LayerNorm': 'black'})}
CUBE = {'Conv2D', 'BatchMatMulV2', 'MatMulV2', 'DepthwiseConv2D'}


@dataclasses.dataclass
class Row:
    colour: str              # white, black, gray
    inputs: list             # [[dtype by column] by slot]; the last repeats if `dynamic`
    outputs: list
    dynamic: bool = False
    view: bool = False       # no kernel of its own

    def columns(self):
        return len(self.outputs[0])


@dataclasses.dataclass
class Node:
    name: str
    op: str                  # of the model, as text writes it
    judged: str              # NPU type, '' when no table knows the op
    operands: list           # values, in the order of the row's slots
    results: list
    text: str = ''
    bodies: list = dataclasses.field(default_factory=list)  # of an If: (nodes, output)


@dataclasses.dataclass
class Value:
    name: str
    dtype: str               # in the model
    producer: object = None  # Node, or None
    constant: bool = False


@dataclasses.dataclass
class Config:
    mode: str                # a key of random_graphs.MODES
    colours: dict = dataclasses.field(default_factory=dict)   # edited ones by type
    kept: set = dataclasses.field(default_factory=set)        # node names
    custom: dict = dataclasses.field(default_factory=dict)    # node name -> (inputs, outputs)
    strict: bool = False
    level: str = ''          # of MindSpore, then mode is that of the level

    def colour(self, judged, row):
        _, _, unlisted, lines = LEVELS.get(self.level, (None, None, None, {}))
        return self.colours.get(judged) or lines.get(judged) or unlisted or row.colour


# ---- matchers: possible columns in order -> the same, or None -----------------------------------

def precise(s, col, e):
    return [k for k in s if col[k] == e] or None


def rise(s, col, e, without=None):
    if e not in RANK:
        return precise(s, col, e)
    fits = [k for k in s if col[k] in RANK and col[k] != without]
    exact = [k for k in fits if RANK[col[k]] == RANK[e]]
    return exact or [k for k in fits if 100 < RANK[e] - RANK[col[k]] < 1000000] or None


def reduce(s, col, e, without=None):
    if e not in RANK:
        return precise(s, col, e)
    gaps = [(RANK[col[k]] - RANK[e], k) for k in s if col[k] in RANK and col[k] != without]
    return [k for gap, k in sorted((g for g in gaps if 0 < g[0] < 1000000),
                                   key=lambda g: g[0])] or None


# ---- one op -------------------------------------------------------------------------------------

class Judge:
    """An op while its tensors are looked at one after the other."""

    def __init__(self, config, node, row):
        self.config = config
        self.mode = config.mode
        self.row = row
        self.colour = config.colour(node.judged, row)
        self.cube = node.judged in CUBE
        self.kept = node.name in config.kept and config.mode != 'origin'
        self.sensitive = node.judged in ('Cast', 'Range')
        self.forced = False
        self.columns = list(range(row.columns()))

    def narrow(self, found):
        if found is not None:
            self.columns = found
        return found is not None

    def allow_fp16(self, col, o, without, cube):
        e = 'f16' if o == 'f32' and cube else o
        if self.narrow(rise(self.columns, col, e, without)):
            return 'found'
        if e in ('f32', 'bf16') and self.narrow(reduce(self.columns, col, e, without)):
            self.forced = self.forced or e == 'f32'
            return 'found'
        return None

    def rise_or_reduce(self, col, e, without):
        return 'found' if (self.narrow(rise(self.columns, col, e, without)) or
                           self.narrow(reduce(self.columns, col, e, without))) else None

    def force_fp16(self, col, o, without):
        return 'found' if self.narrow(rise(self.columns, col, 'f16' if o in RANK else o,
                                           without)) else None

    def white(self, col, o, without, low):
        if o not in RANK:
            return 'found' if self.narrow(precise(self.columns, col, o)) else None
        if self.config.strict:
            if self.narrow(precise(self.columns, col, low)):
                return 'mixed'
        else:
            self.columns = [k for k in self.columns if col[k] != without]
            if self.narrow([k for k in self.columns if col[k] in LOW] or None):
                return 'mixed'
        return self.rise_or_reduce(col, o, without)

    def by_colour(self, col, o, producer, mixed, forbid):
        other, low = ('bf16', 'f16') if mixed == 'mix_fp16' else ('f16', 'bf16')

        def without(d):
            return other if forbid and d != other else None
        if self.colour == 'black':
            return 'found' if self.narrow(rise(self.columns, col, o, without(o))) else None
        if self.colour == 'white':
            return self.white(col, o, without(o), low)
        if producer:
            return self.rise_or_reduce(col, producer, without(producer))
        if mixed == 'mix_fp16':
            return self.allow_fp16(col, o, without(o), self.cube and not self.kept)
        return self.rise_or_reduce(col, o, without(o))

    def first_of(self, col, wanted):
        for e in wanted:
            if self.narrow(precise(self.columns, col, e)):
                return 'found'
        return None

    def hif8(self, col, o, producer):
        """Lists of dtypes, of which the first that there is counts."""
        def plain(key):
            return {'bf16': ['bf16', 'f32'], 'f16': ['f16', 'f32']}.get(key, [key])
        white = self.cube if self.mode == 'cube_hif8' else self.colour == 'white'
        if white:
            lists = {'hif8': ['hif8', 'f16', 'f32'], 'bf16': ['hif8', 'bf16', 'f32'],
                     'f16': ['hif8', 'f16', 'f32'], 'f32': ['hif8', 'f16', 'f32']}
            return self.first_of(col, lists.get(o, [o]))
        if self.mode == 'mix_hif8' and self.colour == 'gray' and producer:
            if producer == 'hif8':
                return self.first_of(col, ['hif8', 'bf16' if o == 'bf16' else 'f16', 'f32'])
            return self.first_of(col, plain(producer))
        return self.first_of(col, plain(o))

    def tensor(self, col, o, producer, first):
        """Narrows the columns; None: nothing fits, 'mixed': a white tensor found a low dtype."""
        if self.kept or self.sensitive:
            return self.allow_fp16(col, o, None, False)
        if self.row.view and self.mode != 'force_fp16':
            return self.by_colour(col, o, producer, 'mix_fp16', False)
        if self.forced and self.mode == 'allow_fp16':
            return self.force_fp16(col, o, None)
        if self.mode == 'force_fp16':
            return self.force_fp16(col, o, 'bf16')
        if self.mode == 'allow_fp16':
            return self.allow_fp16(col, o, None if o == 'bf16' else 'bf16', self.cube)
        if self.mode == 'allow_bf16':
            return self.rise_or_reduce(col, o, None if o == 'f16' else 'f16')
        if self.mode == 'force_fp32':
            row = self.row
            low = first and self.cube and o in RANK and any(
                a == 'f16' and b == 'f32' for a, b in zip(row.inputs[0], row.outputs[0]))
            return self.rise_or_reduce(col, 'f16' if low else 'f32' if o in RANK else o, 'bf16')
        if self.mode in ('mix_fp16', 'mix_bf16'):
            return self.by_colour(col, o, producer, self.mode, True)
        if self.mode in HIF8:
            return self.hif8(col, o, producer)
        return 'found' if self.narrow(rise(self.columns, col, o)) else None

    def reachable(self, o, s):
        """May an engine get a tensor of dtype o as s?"""
        if s == o or (s == 'f32' and o in LOW):
            return True
        if self.kept or self.mode == 'origin':
            return False
        black = self.colour == 'black'
        if s == 'f16' and o in ('f32', 'bf16'):
            return self.mode not in ('allow_bf16', 'mix_bf16') and not (
                black and self.mode in ('force_fp32', 'mix_fp16'))
        if s == 'bf16' and o == 'f32':
            return self.mode not in ('allow_fp16', 'mix_fp16') and not (
                black and self.mode in ('force_fp32', 'mix_bf16'))
        return False


# ---- the graph ----------------------------------------------------------------------------------

class Decision:
    def __init__(self, rows, config):
        self.rows = rows
        self.config = config
        self.current = {}    # by value name: dtype that its node gives
        self.slots = {}      # by node name: ([dtype by operand], [dtype by result])
        self.error = None    # (node name, code), the first one

    def now(self, value):
        return self.current.get(value.name, value.dtype)

    def seen_through(self, value):
        """A gray op looks through one cast that widens the low type of the mode."""
        cast = value.producer
        low = 'bf16' if self.config.mode == 'mix_bf16' else 'f16'
        if cast and cast.judged == 'Cast' and cast.name in self.slots:
            colour = self.config.colour('Cast', self.rows['Cast'])
            operands, results = self.slots[cast.name]
            rises = operands[0] == low and results[0] in RANK and results[0] != low
            if colour != 'black' and rises:
                return self.now(cast.operands[0])
        return self.now(value)

    def fail(self, node, code):
        self.error = self.error or (node.name, code)

    def tensors(self, node, row):
        """(column dtypes, original, value, is input) of all slots, in the order they are judged."""
        def slot(i):
            return row.inputs[min(i, len(row.inputs) - 1) if row.dynamic else i]
        inputs = [(slot(i), v.dtype, v, i) for i, v in enumerate(node.operands)]
        early = [t for t in inputs if not t[2].constant]
        late = [t for t in inputs if t[2].constant]
        return early + late, [(row.outputs[i], v.dtype, v, i) for i, v in enumerate(node.results)]

    def judge(self, node, row):
        j = Judge(self.config, node, row)
        inputs, outputs = self.tensors(node, row)
        custom = self.config.custom.get(node.name) if j.mode != 'origin' else None
        if custom:
            for ins, group in ((custom[0], inputs), (custom[1], outputs)):
                for col, _, _, i in group:
                    if i < len(ins) and ins[i] and not j.narrow(precise(j.columns, col, ins[i])):
                        return self.fail(node, 'P0202')
        else:
            lost = [o for col, o, _, _ in inputs + outputs
                    if not any(j.reachable(o, s) for s in col)]
            if any(o in RANK for o in lost):
                black = j.colour == 'black' and j.mode in MIXED
                return self.fail(node, 'P0204' if black else 'P0201')
            if lost:  # integers: the op runs on the host
                return None
        how = {}
        for col, o, v, i in inputs:
            how['in', i] = j.tensor(col, o, self.seen_through(v), i == 0)
        if not j.columns:
            j.columns = list(range(row.columns()))
        for col, o, v, i in outputs:
            how['out', i] = j.tensor(col, o, None, False)
        for k in j.columns:
            if all(j.reachable(o, col[k]) or
                   (j.mode in HIF8 and o in RANK and col[k] == 'hif8') or
                   (how[side, i] == 'mixed' and col[k] in LOW) or
                   (custom and o in RANK and col[k] in RANK)
                   for side, group in (('in', inputs), ('out', outputs))
                   for col, o, v, i in group):
                break
        else:  # casts and views are what the model says
            kept = (row.view or j.sensitive) and not custom
            return None if kept else self.fail(node, 'P0203')
        operands = [None] * len(node.operands)
        for col, _, _, i in inputs:
            operands[i] = col[k]
        self.slots[node.name] = (operands, [col[k] for col, _, _, _ in outputs])
        return None

    def walk(self, nodes):
        for node in nodes:
            if self.error:
                return
            if node.bodies:
                self.walk_if(node)
                continue
            row = self.rows.get(node.judged)
            self.slots[node.name] = ([v.dtype for v in node.operands],
                                     [v.dtype for v in node.results])
            if row:
                self.judge(node, row)
            for v, d in zip(node.results, self.slots[node.name][1]):
                self.current[v.name] = d

    def walk_if(self, node):
        self.slots[node.name] = ([v.dtype for v in node.operands], [])
        given = set()
        for nodes, output in node.bodies:
            self.walk(nodes)
            given.add(self.now(output))
        result = node.results[0]
        agreed = given.pop() if len(given) == 1 else result.dtype
        lower = agreed in LOW and result.dtype in ('f32', agreed)
        self.current[result.name] = agreed if lower else result.dtype
        self.slots[node.name][1].append(self.current[result.name])


def decide(rows, config, nodes):
    d = Decision(rows, config)
    d.walk(nodes)
    return d


def casts(d, nodes, outputs):
    """The casts that a decision needs: (graph, value, dtype) for values, (value, dtype) for
    constants, without duplicates."""
    needed, constants = set(), set()

    def use(graph, value, want):
        if d.now(value) != want and want is not None:
            stays = value.constant and want != 'hif8'  # whose numbers are left to the device
            (constants.add((value.name, want)) if stays
             else needed.add((graph, value.name, want)))

    def visit(graph, some):
        for node in some:
            for v, want in zip(node.operands, d.slots[node.name][0]):
                use(graph, v, want)
            for i, (body, output) in enumerate(node.bodies):
                inner = f'{node.name}.{i}'
                visit(inner, body)
                use(inner, output, d.slots[node.name][1][0])
    visit('', nodes)
    for v in outputs:
        use('', v, v.dtype)
    return needed, constants
