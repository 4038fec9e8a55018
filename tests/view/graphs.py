# SPDX-License-Identifier: Apache-2.0
"""Chunks of made-up models for the page of `tailor view`, column by column as the command writes
them: graphs whose every node, change and reason a test knows beforehand."""

COLUMNS = ('uid', 'op', 'name', 'scope', 'parent', 'body', 'attrs')


class Strings:
    def __init__(self):
        self.all, self.index = [''], {'': 0}

    def __call__(self, text):
        if text not in self.index:
            self.index[text] = len(self.all)
            self.all.append(text)
        return self.index[text]


class Node:
    def __init__(self, uid, op, name, scope, ins, outs, attrs='', parent=-1, body=0):
        self.uid, self.op, self.name, self.scope = uid, op, name, scope
        self.ins, self.outs, self.attrs = ins, outs, attrs
        self.parent, self.body = parent, body


class Graph:
    """A graph that grows, and the deltas of passes over it."""

    def __init__(self):
        self.s = Strings()
        self.nodes, self.values, self.control = [], [], []
        self.inputs, self.outputs, self.weights = [], [], []
        self.next_uid, self.passes, self.rules = 1, [], []
        self.began = None  # values as the passes began

    def value(self, name, type_, kind=0, weight=-1):
        self.values.append((self.s(name), self.s(type_), weight, kind))
        return len(self.values) - 1

    def input(self, name, type_):
        self.inputs.append(self.value(name, type_, 1))
        return self.inputs[-1]

    def weight(self, name, dtype, shape, mean=0.0):
        count = 1
        for size in shape:
            count *= size
        size = count * {'f32': 4, 'f16': 2}[dtype]
        v = self.value(name, f'{dtype}[{",".join(map(str, shape))}]', 2, len(self.weights))
        bars = [max(0, 100 - (i - 16) ** 2) for i in range(32)]
        self.weights.append(dict(
            value=v, name=self.s(name), dtype=dtype, shape=shape, bytes=size,
            file=self.s('model.onnx'), hash=f'{v * 2654435761 & 0xffffffff:08x}', min=-1.5, max=1.5,
            mean=mean, histogram=bars, first=[round(0.1 * i - 0.35, 3) for i in range(8)]))
        return v

    def node(self, op, ins, type_='f32[8,64]', name='', scope='', attrs='', parent=-1, body=0,
             results=1):
        outs = [self.value(f'{name}_{i}' if i else name, type_) for i in range(results)]
        n = Node(self.next_uid, op, name, scope, list(ins), outs, attrs, parent, body)
        self.next_uid += 1
        self.nodes.append(n)
        return n

    def call(self, *args, **kwargs):
        return self.node(*args, **kwargs).outs[0]

    # ---- chunks ---------------------------------------------------------------------------------

    def columns(self, nodes):
        s, flat = self.s, dict(n=len(nodes))
        flat.update(
            uid=[n.uid for n in nodes], op=[s(n.op) for n in nodes],
            name=[s(n.name) for n in nodes], scope=[s(n.scope) for n in nodes],
            parent=[n.parent for n in nodes], body=[n.body for n in nodes],
            attrs=[s(n.attrs) for n in nodes])
        for side, lists in (('in', [n.ins for n in nodes]), ('out', [n.outs for n in nodes])):
            at = [0]
            for values in lists:
                at.append(at[-1] + len(values))
            flat[side] = [v for values in lists for v in values]
            flat[side + '_at'] = at
        flat['control'] = self.control
        return flat

    def value_columns(self, first=0):
        some = self.values[first:]
        return dict(n=len(some), name=[v[0] for v in some], type=[v[1] for v in some],
                    weight=[v[2] for v in some], kind=[v[3] for v in some])

    def begin(self):
        """The graph as it is now is state 0."""
        self.began = self.columns(self.nodes)
        self.first_values = dict(self.value_columns(), inputs=self.inputs, outputs=self.outputs)

    def rule(self, name, text, fusion=''):
        self.rules.append(dict(name=name, text=text, file='passes/rules/made_up.tlr',
                               fusion=fusion))
        return len(self.rules) - 1

    def run(self, name, stage, doc, edits=(), types=(), changed=(), milliseconds=1.0):
        """A pass of edits (rule, removed nodes, added nodes, why); types: (value, type)."""
        count = len(self.nodes)
        gone, added, rewrites = set(), [], []
        number = sum(len(p['delta']['rewrites']) for p in self.passes if p['delta'])
        for rule, removed, new, why in edits:
            number += 1
            gone |= {n.uid for n in removed}
            added += new
            rewrites.append(dict(
                number=number, rule=self.s(self.rules[rule]['name'] if rule >= 0 else name),
                text=rule, removed=[n.uid for n in removed], added=[n.uid for n in new], changed=[],
                why=self.s(why)))
        fresh = {n.uid for n in added}
        self.nodes = [n for n in self.nodes if n.uid not in gone]
        delta = dict(
            removed=sorted(gone), added=self.columns([n for n in self.nodes if n.uid in fresh]),
            changed=self.columns(list(changed)), rewrites=rewrites, order=None,
            values=dict(self.value_columns(self.known), **{'from': self.known}),
            value_types=[[v, self.s(t)] for v, t in types])
        delta['added'].pop('control')
        delta['changed'].pop('control')
        before_it = {n.uid: p.uid if p else 0 for p, n in zip([None] + self.nodes, self.nodes)}
        delta['added']['after'] = [before_it[uid] for uid in delta['added']['uid']]
        self.known = len(self.values)
        touched = bool(gone or fresh or changed or types)
        self.passes.append(dict(
            name=name, stage=stage, doc=doc, nanoseconds=int(milliseconds * 1e6),
            rewrites=len(rewrites), nodes_before=count - len(fresh), nodes_after=len(self.nodes),
            changed=touched, delta=delta if touched else None))

    known = 0

    def chunks(self, **more):
        """name -> chunk; more: further chunks, '_' for '-' in their names."""
        out, passes = {}, []
        for k, p in enumerate(self.passes):
            delta = p.pop('delta')
            passes.append(dict(p, id=k, chunk=f'pass-{k}' if delta else None))
            if delta:
                out[f'pass-{k}'] = delta
        out.update(graph=self.began, values=self.first_values, rules=self.rules,
                   weights=self.weights)
        out.update({name.replace('_', '-'): value for name, value in more.items()})
        out['strings'] = self.s.all
        out['index'] = dict(
            schema=1, tool='tailor 0.0', key='made up', passes=passes, language='en', what='view',
            models=[dict(path='made_up.onnx', chip='Ascend910B', options=['--fp16'],
                         command='tailor view made_up.onnx --fp16')], chunks=sorted(out))
        return out
