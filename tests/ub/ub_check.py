#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ub_check.py - independent checker of kernels of several nodes (buffer fusion) in AIR files.

  ub_check.py [--chip NAME] FILE.air...      report; exit 1 if anything is wrong

What groups may be is written down here a second time, from the published rules: which op types
are of which kernel class (from the text of the op information), which classes a pass takes in
which order, how large groups are, who may use what they compute. It shares no code with the pass,
and the AIR files are decoded by tests/oracle/air_check.py. Checked per file: a group lies in one
graph, has two nodes at least, one pass and one stream; its nodes hang together by data; the graph
with every group as one node has no cycle; sizes, classes, shapes, users and cores are within the
limits of its pass.
"""
import argparse
import collections
import math
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, 'tests/oracle'))
import air_check  # noqa: E402

SPLIT = re.compile(r'Ascend910B\d|Ascend910_93|Ascend910C', re.I)
NONE = re.compile(r'Ascend950|Ascend910_95', re.I)

# ---- kernel classes ------------------------------------------------------------------------------
# Types whose class the op information leaves to their kernel.
OPEN = {
    'EW': 'Add Addcdiv Addcmul Axpy AxpyV2 BiasAdd Celu Cos Div Erfinv FastGeluGrad FusedMulAdd '
          'GeluGrad HardShrink HardSigmoidGrad HardSwishGrad Lerp LogAddExp LogSigmoid Mul PRelu '
          'RealDiv Relu6Grad Select SelectV2 SiluGrad SoftplusV2 TanhGrad',
    'CommReduce': 'EuclideanNorm ReduceAny ReduceAnyD ReduceMean ReduceMeanD ReduceMin ReduceMinD '
                  'ReduceProd ReduceProdD ReduceSum',
    'Segment': 'UnsortedSegmentMax UnsortedSegmentMaxD UnsortedSegmentMin UnsortedSegmentMinD '
               'UnsortedSegmentProd UnsortedSegmentProdD UnsortedSegmentSumD',
    'Pool2d': 'AvgPool AvgPoolV2 Pooling', 'MaxPool': 'MaxPool MaxPoolV3',
    'Convolution': 'Conv2DCompress',
    'Matmul': 'FullyConnection MatMul MatMulV2 MatMulV2Compress',
    'BatchMatmul': 'BatchMatMul BatchMatMulV2',
    'bn_reduce': 'BNTrainingReduce',
    'bn_update': 'BNTrainingUpdate BNTrainingUpdateV2 BNTrainingUpdateV3',
    'confusiontranspose': 'ConfusionTransposeD', 'DropOutDoMaskV3D': 'DropOutDoMaskV3D',
    'anti_quant': 'AscendAntiQuant', 'dequant': 'AscendDequant', 'quant': 'AscendQuant',
    'requant': 'AscendRequant', 'dequant_s16': 'AscendDequantS16',
    'requant_s16': 'AscendRequantS16', 'aipp': 'Aipp', 'strided_read': 'StridedRead',
    'strided_write': 'StridedWrite'}
CUBE = {'Convolution', 'DepthwiseConvolution', 'Conv3d', 'Matmul', 'BatchMatmul', 'GEMM',
        'Conv2d_backprop_input', 'Conv2d_backprop_filter', 'Conv3d_backprop_input'}
MOVES = {'aipp', 'strided_read', 'strided_write', 'Transdata'}  # on either core


def read_classes():
    """NPU type -> class, 'EW' for what is ElemWise or Broadcast by its shapes."""
    said = {t: c for c, names in OPEN.items() for t in names.split()}
    classes = dict(said)
    with open(os.path.join(ROOT, 'ir/chip/op_info/ascend910b.tbl'), encoding='utf-8') as f:
        for line in f:
            if not line.startswith('op '):
                continue
            words = line.split()
            facts = dict(w.split('=', 1) for w in words if '=' in w)
            kernel, name = facts.get('kernel', ''), words[1]
            pattern = facts.get('pattern', '')
            if kernel == 'Opaque' or 'no_kernel' in words:
                classes.pop(name, None)
            elif kernel in ('ElemWise', 'CommReduce', 'Transdata') or kernel in CUBE:
                classes[name] = 'EW' if kernel == 'ElemWise' else kernel
            elif name not in said and pattern in ('formatAgnostic', 'broadcast'):
                classes[name] = 'EW'
            elif name not in said and pattern == 'reduce':
                classes[name] = 'CommReduce'
    return classes


# ---- passes --------------------------------------------------------------------------------------
# The kinds of a group in the order of its nodes, 'class/type ' each; and whether somebody else may
# use what inner nodes compute.
E, ONE = r'(?:ElemWise|Broadcast)/\w+ ', r'ElemWise1/\w+ '
CONV, DW = r'Convolution/\w+ ', r'\w+/DepthwiseConv2D '
MM = r'(?:Matmul|GEMM|BatchMatmul)/\w+ '
DX = r'Conv2d_backprop_input/\w+ '
TAIL = (r'\w+/(?:Elu|LeakyRelu|Gelu|Softsign|Relu6|Relu|Softplus|Sigmoid|Tanh|Selu|GeluGrad|Add|'
        r'AddN|FastGelu|FastGeluV2|FastGeluGrad|Eltwise|PRelu|Mul|Muls|Power|Relu6D|TanhGrad) ')


def kind(c):
    return rf'{c}/\w+ '


def types(names):
    return rf'\w+/(?:{names}) '


Q, DQ, RQ, SW = kind('quant'), kind('dequant'), kind('requant'), kind('strided_write')
SR = kind('strided_read')
EW_ANY = r'(?:ElemWise|ElemWise1)/\w+ '
ACT = types('Relu|LeakyRelu|PRelu')
SIG, MUL, ADD, DIV = types('Sigmoid'), types('Mul'), types('Add'), types('RealDiv|Div')
PASSES = {
    'AutomaticUbFusion': (None, True),
    'TbeEltwiseFusionPass': (rf'({E}){{2,6}}', False),
    'TbeEltwiseCastFusionPass': (types('Cast') + rf'({E}){{0,4}}' + types('Cast') +
                                 rf'({E}){{0,4}}', False),
    'TbeEltwiseQuantFusionPass': (rf'({E}){{1,27}}{Q}', False),
    'TbeMultiOutputFusionPass': (rf'({E}){{2,6}}', True),
    'TbeMultiOutputByWayFusionPass': (rf'({E}){{2,6}}', True),
    'TbeReduceElemwiseFusionPass': (rf'({E}){{0,5}}{kind("CommReduce")}({E}){{0,4}}', False),
    'TbeDynamicElemwiseReduceFusionPass': (rf'({E}){{1,5}}{kind("CommReduce")}', False),
    'TbeSegmentElemwiseFusionPass': (kind('Segment') + EW_ANY, False),
    'TbeConvSingleInFusionPass': (CONV + ONE, False),
    'TbeConvDoubleInFusionPass': (CONV + EW_ANY + EW_ANY, False),
    'TbeConvReluQuantFusionPass': (CONV + ONE + Q, False),
    'TbeConvReluMaxpoolingFusionPass': (CONV + ONE + kind('MaxPool'), False),
    'TbeConv2DReluv2Pass': (CONV + types('ReluV2'), False),
    'TbeConvSigmoidMulQuantFusionPass': (CONV + SIG + MUL + rf'({Q})?', False),
    'TbeConv2dAddRelu6MulMulFusionPass': (CONV + ADD + types('Relu6') + MUL + MUL, False),
    'TbeConv2dAddClipMulDivFusionPass': (CONV + ADD + types('ClipByValue') + MUL + DIV, False),
    'ConvClipByValueFusionPass': (CONV + types('ClipByValue'), False),
    'TbeConvBnreduceFusionPass': (CONV + r'(?:bn_reduce|TupleReduce)/\w+ ', True),
    'TbeConvDequantQuantFusionPass': (CONV + DQ + rf'({types("Relu|LeakyRelu")})?' + Q, False),
    'TbeConvDequantVaddReluFusionPass':
        (CONV + DQ + rf'({types("LeakyRelu")})?' + types('Add|Eltwise') + types('Relu'), False),
    'TbeConvDequantVaddReluQuantFusionPass':
        (CONV + DQ + rf'({types("LeakyRelu")})?' + types('Add|Eltwise') +
         rf'({types("Relu")})?' + Q, False),
    'TbeConvDequantSigmoidMulAddFusionPass': (CONV + DQ + SIG + MUL + ADD, False),
    'TbeConvDequantS16FusionPass':
        (CONV + kind('dequant_s16') + rf'({kind("requant_s16")})?', False),
    'TbeConvRequantFusionPass': (rf'({SR})?' + CONV + RQ + rf'({SW})?', False),
    'TbeConv2DAddMulQuantPass': (CONV + DQ + ADD + Q, True),
    'TbeConvCommonRules0FusionPass':
        (rf'({SR})?{CONV}({DQ})?({EW_ANY}){{0,3}}({Q})?({SW})?', False),
    'TbeConvCommonRules2FusionPass':
        (rf'({SR})?{CONV}({DQ})?({EW_ANY}){{0,3}}({Q})?({SW})?', True),
    'TbeConv3dElemwisePass': (kind('Conv3d') + ADD + rf'({types("Relu")})?', False),
    'TbeDepthwiseConvRequantFusionPass': (DW + RQ, False),
    'TbeDepthwiseConvDequantFusionPass':
        (DW + DQ + rf'(({SIG}{MUL})|({types("Relu|Relu6|LeakyRelu|Mul")})?({Q})?)', False),
    'TbeDepthwiseConvElemwiseFusionPass':
        (DW + rf'({types("Power")}{types("Relu6")}{types("Power")}{types("Eltwise|Mul")}'
         rf'|{types("Relu|Relu6|LeakyRelu|Mul")})({Q})?', False),
    'TbePool2dQuantFusionPass': (r'(?:Pool2d|MaxPool)/\w+ ' + Q + rf'({SW})?', False),
    'TbeAntiquantMaxpoolingFusionPass':
        (kind('anti_quant') + kind('MaxPool') + rf'({Q})?', False),
    'TbeBatchMatmulQuantFusionPass': (MM + rf'({DQ})?({types("FastGeluV2")})?' + Q, False),
    'BatchMatmulV2DequantMulAddFusionPass': (kind('BatchMatmul') + DQ + MUL + ADD, False),
    'TbeFullyconnectionElemwiseDequantFusionPass':
        (MM + DQ + rf'({TAIL}){{0,2}}({Q})?', False),
    'TbeBatchMatmulElementWiseFusionPass':
        (kind('BatchMatmul') + rf'({MUL}{SIG}{MUL}|'
         rf'{types("FusedMulAdd|Add|Div|RealDiv|Relu|ReluGrad")}'
         rf'({types("Add|Relu|FusedMulAdd")})?)', False),
    'ATbeMatmulElemwiseFusionPass': (MM + rf'({TAIL}){{1,2}}', False),
    'MatmulGelugradUbFusion': (MM + types('GeluGrad'), False),
    'MatmulFastGelugradUbFusion': (MM + types('FastGeluGrad'), False),
    'MatmulReduceSumUbFusion': (MM + types('ReduceSumD|ReduceSum'), False),
    'MatmulDropOutDoMaskV3DFusionPass': (MM + kind('DropOutDoMaskV3D') + rf'({ADD})?', False),
    'BatchMatmulConfusiontransposeUbFusion':
        (kind('BatchMatmul') + kind('confusiontranspose'), False),
    'MatmulConfusiontransposeUbFusion':
        (r'(?:Matmul|GEMM)/\w+ ' + kind('confusiontranspose'), False),
    'MatmulTransdataFusionPass': (r'(?:Matmul|BatchMatmul)/\w+ ' + kind('Transdata'), False),
    'TbeDxElemwisePass': (DX + ACT, False),
    'TbeDxDeqElemQuantPass': (DX + DQ + ACT + Q, False),
    'TbeConv2DBackpropElemwiseFusionPass':
        (r'Conv[23]d_backprop_input/\w+ ' + types('AddN|LeakyReluGrad|ReluGrad'), False),
    'TbeConv2DBackpropDequantFusionPass': (DX + DQ + rf'({ACT})?', False),
    'TbeConv2DBackpropDequantQuantFusionPass': (DX + DQ + Q, False),
    'TbeConv2DBackpropRequantFusionPass': (DX + RQ, False),
    'TbeBnupdateEltwiseFusionPass': (kind('bn_update') + E, True),
    'TbeBnupdateEltwiseEltwiseFusionPass': (kind('bn_update') + E + E, True),
    'AddLayernormV3FusionPass': (ADD + types('LayerNormV3'), True),
    'AddRmsNormFusionPass': (ADD + types('RmsNorm'), True),
}
MIXED = {'TbeConvBnreduceFusionPass', 'TbeConv2DBackpropElemwiseFusionPass'}
# Kernels that the automatic fusion made, or made larger.
JOINED = {'AutomaticUbFusion', 'TbeEltwiseQuantFusionPass'}
DYNAMIC = {'TbeDynamicElemwiseReduceFusionPass'}
MOST_CHAIN, MOST_AUTOMATIC, MOST_USERS = 6, 28, 6

# ---- graphs --------------------------------------------------------------------------------------
# ins: (index of the producer or None, dims) of each operand; outs: dims of each result; after:
# indices of nodes that run before; users: how often each result leaves the graph.
Node = collections.namedtuple('Node', 'name type ins outs after scope ub_pass stream free final')


def class_of(node, classes):
    c = classes.get(node.type)
    if c != 'EW':
        return c or ('other' if node.type in ('ReluV2', 'LayerNormV3') else None)
    if len(node.outs) != 1:
        return None
    if all(dims == node.outs[0] for _, dims in node.ins):
        return 'ElemWise'
    return 'Broadcast' if len(node.ins) > 1 else None


def is_static(dims):
    return all(isinstance(d, int) and d >= 0 for d in dims)


class Checker:
    def __init__(self, nodes, chip, classes):
        self.nodes, self.classes = nodes, classes
        self.split, self.none = bool(SPLIT.match(chip)), bool(NONE.match(chip))
        self.problems = []
        self.groups = collections.OrderedDict()
        self.users = collections.defaultdict(set)
        for i, n in enumerate(nodes):
            if n.scope:
                self.groups.setdefault(n.scope, []).append(i)
            for p, _ in n.ins:
                if p is not None:
                    self.users[p].add(i)

    def say(self, scope, text):
        self.problems.append(f'kernel {scope}: {text}')

    def run(self):
        for n in self.nodes:
            if bool(n.scope) != bool(n.ub_pass):
                self.problems.append(f'{n.name}: fusion_scope and pass_name_ub come together')
        for scope, members in self.groups.items():
            self.group(scope, members)
        if not self.is_acyclic():
            self.problems.append('kernels as nodes make a cycle')
        return self.problems

    def group(self, scope, members):
        nodes = [self.nodes[i] for i in members]
        name = nodes[0].ub_pass
        if self.none:
            self.say(scope, 'the chip has no buffer fusion')
        if len(members) < 2:
            self.say(scope, 'one node only')
        if len({(n.ub_pass, n.stream) for n in nodes}) != 1:
            self.say(scope, 'several passes or streams')
        if not all(n.free for n in nodes):
            self.say(scope, 'a node that must stay alone')
        if name not in PASSES:
            self.say(scope, f'unknown pass {name}')
            return
        if not self.hangs_together(members):
            self.say(scope, 'does not hang together')
        self.kinds(scope, members, name)
        self.outside(scope, members, name)
        self.shapes(scope, members, name)

    def hangs_together(self, members):
        inside, seen, todo = set(members), {members[0]}, [members[0]]
        while todo:
            i = todo.pop()
            near = self.users[i] | {p for p, _ in self.nodes[i].ins if p is not None}
            for k in near & inside - seen:
                seen.add(k)
                todo.append(k)
        return seen == inside

    def kinds(self, scope, members, name):
        kinds = [class_of(self.nodes[i], self.classes) for i in members]
        if None in kinds:
            self.say(scope, f'{self.nodes[members[kinds.index(None)]].type} is of no class')
            return
        pattern, _ = PASSES[name]
        most = MOST_AUTOMATIC if name in JOINED else MOST_CHAIN
        if len(members) > most:
            self.say(scope, f'{len(members)} nodes, at most {most}')
        if pattern is None and not set(kinds) <= {'ElemWise', 'Broadcast'}:
            self.say(scope, f'kinds {kinds}')
        words = ''.join(f'{k}/{self.nodes[i].type} ' for k, i in zip(kinds, members))
        unary = ''.join(f'ElemWise1/{self.nodes[i].type} '
                        if k == 'ElemWise' and len(self.nodes[i].ins) == 1
                        else f'{k}/{self.nodes[i].type} ' for k, i in zip(kinds, members))
        if pattern and not re.fullmatch(pattern, words) and not re.fullmatch(pattern, unary):
            self.say(scope, f'{name} takes no {words}')
        cubes = [k in CUBE for k in kinds if k not in MOVES]
        if self.split and name not in MIXED and any(cubes) and not all(cubes):
            self.say(scope, 'cube and vector nodes on a chip with separate cores')

    def outside(self, scope, members, name):
        """Inner nodes, that is, those that others of the group take from."""
        inside = set(members)
        for i in members:
            users = self.users[i]
            if not users & inside:
                continue
            leaves = users - inside or self.nodes[i].final
            if leaves and not PASSES[name][1]:
                self.say(scope, f'{self.nodes[i].name} is used outside')
            if name in JOINED and len(users) > MOST_USERS:
                self.say(scope, f'{self.nodes[i].name} has {len(users)} users')

    def is_broadcast(self, i, inside, large):
        """May a node compute less than its kernel does, to be broadcast in it?"""
        dims = self.nodes[i].outs[0]
        fits = len(dims) <= len(large) and all(
            d in (1, e) for d, e in zip(reversed(dims), reversed(large)))
        return (class_of(self.nodes[i], self.classes) == 'Broadcast' and fits and
                self.users[i] <= inside and not self.nodes[i].final)

    def shape_in_all(self, scope, members):
        """One shape for all nodes but those that are broadcast in the kernel."""
        inside = set(members)
        shapes = [self.nodes[i].outs[0] for i in members]
        large = max(shapes, key=lambda dims: (math.prod(dims), len(dims)))
        for i, dims in zip(members, shapes):
            if dims != large and not self.is_broadcast(i, inside, large):
                self.say(scope, f'{self.nodes[i].name} has another shape than the kernel')

    def shapes(self, scope, members, name):
        inside = set(members)
        if name in JOINED and is_static([d for i in members for d in self.nodes[i].outs[0]]):
            self.shape_in_all(scope, members)
        for i in members:
            n = self.nodes[i]
            shapes = [dims for _, dims in n.ins] + n.outs
            known = is_static([d for dims in shapes for d in dims])
            if known == (name in DYNAMIC):
                self.say(scope, f'{n.name}: sizes are {"" if known else "not "}known')
            if name not in JOINED and class_of(n, self.classes) in ('ElemWise', 'Broadcast'):
                if any(p in inside and dims != n.outs[0] for p, dims in n.ins):
                    self.say(scope, f'{n.name} has another shape than what it takes')

    def is_acyclic(self):
        home = {}
        for scope, members in self.groups.items():
            for i in members:
                home[i] = ('g', scope)
        at = [home.get(i, i) for i in range(len(self.nodes))]
        after = collections.defaultdict(set)
        for i, n in enumerate(self.nodes):
            for p in [p for p, _ in n.ins if p is not None] + list(n.after):
                if at[p] != at[i]:
                    after[at[p]].add(at[i])
        waits = collections.Counter(t for ts in after.values() for t in ts)
        ready = [x for x in set(at) if not waits[x]]
        done = 0
        while ready:
            x = ready.pop()
            done += 1
            for t in after[x]:
                waits[t] -= 1
                if not waits[t]:
                    ready.append(t)
        return done == len(set(at))


# ---- AIR -----------------------------------------------------------------------------------------
def text_of(attrs, key):
    a = attrs.get(key)
    return bytes(a['s']).decode('utf-8', 'replace') if a and 's' in a else ''


def int_of(attrs, key):
    a = attrs.get(key)
    return a['i'] if a and 'i' in a else 0


def read_graph(graph):
    """Data, constants and the end are no nodes here."""
    ops = graph.op
    aside = air_check.SOURCE_TYPES | {'NetOutput'}
    index, nodes = {}, []
    for op in ops:
        if op.type not in aside:
            index[op.name] = len(index)
    final = set()
    for op in ops:
        refs = [r.rsplit(':', 1) for r in op.input if ':' in r]
        if op.type == 'NetOutput':
            final |= {r[0] for r in refs}
        if op.type in aside:
            continue
        descs = [air_check.dims(d) for d in op.input_desc]
        data = [(i, r.rsplit(':', 1)) for i, r in enumerate(op.input)
                if ':' in r and not r.endswith(':-1')]
        attrs = op.attr
        nodes.append(dict(
            name=op.name, type=op.type,
            ins=[(index.get(r[0]), descs[i] if i < len(descs) else []) for i, r in data],
            outs=[air_check.dims(d) for d in op.output_desc],
            after=[index[r[0]] for r in refs if r[1] == '-1' and r[0] in index],
            scope=int_of(attrs, 'fusion_scope'), ub_pass=text_of(attrs, 'pass_name_ub'),
            stream=text_of(attrs, '_stream_label'),
            free=text_of(attrs, '_dump_able') != 'true'))
    return [Node(final=n['name'] in final, **n) for n in nodes]


def bytes_of(desc):
    """0 when a size is not known."""
    bits, dims = air_check.DTYPES.get(desc.dtype, ('', 0))[1], air_check.dims(desc)
    if bits <= 0 or any(d < 0 for d in dims):
        return 0
    n = 1
    for d in dims:
        n *= d
    return (n * bits + 7) // 8


def saved_of(graph):
    """Bytes that kernels of several nodes neither read nor write: what their nodes would move one
    by one, each distinct operand and each used result once, less what the kernels move."""
    sizes, users, groups = {}, collections.defaultdict(set), collections.defaultdict(list)
    for op in graph.op:
        for i, desc in enumerate(op.output_desc):
            sizes[f'{op.name}:{i}'] = bytes_of(desc)
        for ref in op.input:
            users[ref].add(op.name)
        scope = int_of(op.attr, 'fusion_scope')
        if scope:
            groups[scope].append(op)
    total = 0
    for ops in groups.values():
        names = {op.name for op in ops}
        reads, apart, together = set(), 0, 0
        for op in ops:
            operands = {r for r in op.input if ':' in r and not r.endswith(':-1')}
            results = [f'{op.name}:{i}' for i in range(len(op.output_desc))]
            apart += sum(sizes[r] for r in operands) + sum(sizes[r] for r in results if users[r])
            reads |= {r for r in operands if r.rsplit(':', 1)[0] not in names}
            together += sum(sizes[r] for r in results if users[r] - names)
        total += apart - together - sum(sizes[r] for r in reads)
    return total


def check_file(path, chip, classes):
    """(problems, number of kernels, bytes of traffic that they save)"""
    with open(path, 'rb') as f:
        data = f.read()
    model = air_check.Decoder(lambda *_: None).decode('ModelDef', data, 0, len(data))
    problems, homes, groups, saved = [], {}, 0, 0
    for graph in model.graph:
        checker = Checker(read_graph(graph), chip, classes)
        problems += checker.run()
        groups += len(checker.groups)
        saved += saved_of(graph)
        for scope in checker.groups:
            if homes.setdefault(scope, graph.name) != graph.name:
                problems.append(f'kernel {scope}: in two graphs')
    return problems, groups, saved


def main():
    parser = argparse.ArgumentParser(description='checks kernels of several nodes in AIR files')
    parser.add_argument('--chip', default='Ascend910B1')
    parser.add_argument('files', nargs='+')
    args = parser.parse_args()
    classes, wrong, groups = read_classes(), 0, 0
    for path in args.files:
        problems, n, saved = check_file(path, args.chip, classes)
        groups += n
        wrong += bool(problems)
        print(f'{path}: {n} kernels save {saved} bytes')
        for text in problems:
            print(f'{path}: {text}')
    print(f'{len(args.files)} files, {groups} kernels, {wrong} files with problems')
    return int(wrong > 0)


if __name__ == '__main__':
    sys.exit(main())
