# SPDX-License-Identifier: Apache-2.0
"""Reads the chunks of a page of `tailor view`, and replays its passes: the independent half of
tests/view/data.py."""
import base64
import json
import re
import zlib

CHUNK = re.compile(r'<script type="application/octet-stream" data-chunk="([a-z0-9-]+)" '
                   r'data-form="(deflate|plain)">([^<]*)</script>\n')
NODE_COLUMNS = ('op', 'name', 'scope', 'parent', 'body', 'attrs', 'npu', 'stream')
NAME = r'(?:%(?:"(?:\\.|[^"\\])*"|[^\s,():="]+)|_)'
VALUE = re.compile(NAME)
STATEMENT = re.compile(rf' *({NAME}(?:, {NAME})*) = ([\w:."]+)\(')


def decode(form, text):
    if form == 'plain':
        return json.loads(text)
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True), -15))


def split(page):
    """(the page without its data, {name: (form, text)})"""
    return CHUNK.sub('', page), {m[1]: (m[2], m[3]) for m in CHUNK.finditer(page)}


def chunks(page):
    return {name: decode(*chunk) for name, chunk in split(page)[1].items()}


class State:
    """The graph of a page at one moment: begin with the first state, apply passes in order."""

    def __init__(self, data, prefix=''):
        self.data, self.prefix = data, prefix
        self.strings = data[prefix + 'strings']
        self.values = self.columns(data[prefix + 'values'], ('name', 'type', 'weight', 'kind'))
        graph = data[prefix + 'graph']
        self.nodes, self.order = {}, []
        self.put(graph)
        self.order = list(graph['uid'])
        self.inputs, self.outputs = graph['inputs'], graph['outputs']
        self.control = {tuple(edge) for edge in graph['control']}

    @staticmethod
    def columns(part, keys):
        return [dict(zip(keys, row)) for row in zip(*(part[key] for key in keys))]

    def put(self, part):
        for i, uid in enumerate(part['uid']):
            node = {key: part[key][i] for key in NODE_COLUMNS}
            node['in'] = part['in'][part['in_at'][i]:part['in_at'][i + 1]]
            node['out'] = part['out'][part['out_at'][i]:part['out_at'][i + 1]]
            self.nodes[uid] = node

    def apply(self, delta):
        for uid in delta['removed']:
            del self.nodes[uid]
        gone = set(delta['removed'])
        assert delta['values']['from'] == len(self.values)
        self.values += self.columns(delta['values'], ('name', 'type', 'weight', 'kind'))
        for v, text in delta.get('value_types', []):
            self.values[v]['type'] = text
        for v, text in delta.get('value_names', []):
            self.values[v]['name'] = text
        for v, weight, kind in delta.get('value_weights', []):
            self.values[v].update(weight=weight, kind=kind)
        assert not self.nodes.keys() & set(delta['added']['uid'])
        assert self.nodes.keys() >= set(delta['changed']['uid'])
        self.put(delta['added'])
        self.put(delta['changed'])
        self.order = delta.get('order') or self.insert(gone, delta['added'])
        self.inputs = delta.get('inputs', self.inputs)
        self.outputs = delta.get('outputs', self.outputs)
        if 'control' in delta:
            self.control = {tuple(edge) for edge in delta['control']}

    def insert(self, gone, added):
        """The order with new nodes behind those that they follow."""
        follow = {}
        for uid, after in zip(added['uid'], added['after']):
            follow.setdefault((after, self.nodes[uid]['parent'], self.nodes[uid]['body'])
                              if not after else after, []).append(uid)
        first = [uid for key, uids in follow.items() if isinstance(key, tuple) for uid in uids]
        out, todo = [], list(reversed(first + [u for u in self.order if u not in gone]))
        while todo:
            uid = todo.pop()
            out.append(uid)
            todo += reversed(follow.get(uid, []))
        return out

    def text(self, number):
        return self.strings[number]

    def value(self, v):
        return '_' if v < 0 else self.text(self.values[v]['name']) or '$'

    def statements(self):
        """Sorted (results, op, operands) of all nodes."""
        return sorted((tuple(self.value(v) for v in n['out']), self.text(n['op']),
                       tuple(self.value(v) for v in n['in'])) for n in self.nodes.values())

    def by_name(self, name):
        return next(uid for uid, n in self.nodes.items() if self.text(n['name']) == name)


def unquote(value):
    if value == '_' or value.startswith('%$'):
        return value.lstrip('%')[:1]
    text = value[1:]
    return json.loads(text) if text.startswith('"') else text


def operands(text):
    """Names of the values up to the parenthesis that ends the list."""
    out = []
    while not text.startswith(')'):
        match = VALUE.match(text)
        out.append(unquote(match[0]))
        text = text[match.end():].removeprefix(', ')
    return tuple(out)


def statements_of(tir):
    """What State.statements gives, of textual IR."""
    out = []
    for line in tir.split('\n'):
        match = STATEMENT.match(line)
        if match:
            results = tuple(unquote(v) for v in VALUE.findall(match[1]))
            out.append((results, match[2].replace('"', ''), operands(line[match.end():])))
    return sorted(out)
