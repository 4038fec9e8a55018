#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py --tailor BIN: the pages of `tailor explain --page` and `tailor verify --layers --page`
hold what these commands say as JSON: each fusion, near miss, expansion, dtype, cast and tensor; the
same command writes the same bytes, names of a model stay data, and errors leave no file. (The kind
`view` shows these pages in a browser.)"""
import argparse
import json
import os
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402
from view import page_data  # noqa: E402

# A Gelu that is fused, one whose inner value has another user, an op that the NPU spells out, and a
# constant with numbers that f16 cannot hold.
NET = '''graph @g(%x: f32[2,8], %w: f32[8,8], %l: f32[1,1,9]) -> (%y2, %f, %s, %big, %line) {
  const %h: f32[] = 0.5
  const %o: f32[] = 1.0
  const %r: f32[] = 1.4142135
  const %c: f32[8,2] = [1.0, 2.0, 1e9, 1e-9, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0,
    4.0]
  %m = MatMul(%x, %w) @"<NAME>/MatMul"
  %d = Div(%m, %r) @"<NAME>/Div"
  %e = Erf(%d) @"<NAME>/Erf"
  %a = Add(%e, %o) @"<NAME>/Add"
  %p = Mul(%m, %a) @"<NAME>/Mul"
  %y = Mul(%p, %h) @"<NAME>/Mul_1"
  %d2 = Div(%y, %r) @"<NAME>/Div_2"
  %f = Erf(%d2) @"<NAME>/Erf_2"
  %a2 = Add(%f, %o) @"<NAME>/Add_2"
  %p2 = Mul(%y, %a2) @"<NAME>/Mul_2"
  %y2 = Mul(%p2, %h) @"<NAME>/Mul_3"
  %s = Neg(%a2) @"<NAME>/Neg"
  %big = MatMul(%y, %c) @"<NAME>/MatMul_2"
  %line = LpPool(%l) @"<NAME>/LpPool" {kernel_shape=[3], p=2}
}
'''
HOSTILE = "</script><img src=x onerror=alert(1)><!--"
MODE = '--precision-mode-v2=fp16'
problems = []
passed = 0


def check(what, good):
    global passed
    if good:
        passed += 1
    else:
        problems.append(what)


def run(tool, *words):
    return guard.run([tool, *words], capture_output=True, text=True)


def read(path):
    with open(path, encoding='utf-8', newline='') as f:
        return f.read()


def page_of(tool, folder, model, *options):
    path = os.path.join(folder, 'page.html')
    p = run(tool, 'explain', model, f'--page={path}', '-q', *options)
    check(f'explain {options}: {p.stderr}', p.returncode == 0 and p.stdout == '')
    return read(path)


def said(tool, model, *options):
    return json.loads(run(tool, 'explain', model, '--json', '-q', *options).stdout)


# ---- rules ---------------------------------------------------------------------------------------

def told(events):
    """What explain --json says of rules, without names of nodes, which the page has as ids."""
    return sorted((p['pass'], e['rule'], e['effect'], e.get('why_not', ''), e.get('reason', ''),
                   e.get('made', ''), e.get('fusion_scope', 0), e.get('saved_bytes', 0),
                   e['pattern_nodes'], len(e['nodes'])) for p in events for e in p['events'])


def shown(data, decisions):
    text = data['strings'].__getitem__
    return sorted((text(d['fusion']), text(d['rule']), d['effect'], text(d.get('code', 0)),
                   text(d.get('reason', 0)), '' if d.get('kernel') else text(d.get('made', 0)),
                   d.get('kernel', 0), d.get('saved_bytes', 0), d['pattern_nodes'],
                   len(d['nodes'])) for d in decisions)


def check_rules(tool, model, name, data):
    fused = [d for d in data['decisions'] if 'expanded' not in d]
    wanted = told(said(tool, model, '--fusion', MODE))
    check(f'{name}: fusions and near misses:\n{shown(data, fused)}\n{wanted}',
          shown(data, fused) == wanted)
    check(f'{name}: both are there', {w[2] for w in wanted} == {False, True})
    spelled = [d for d in data['decisions'] if 'expanded' in d]
    wanted = [w for w in told(said(tool, model, '--expand', MODE)) if w[2]]
    check(f'{name}: what was spelled out: {wanted}', shown(data, spelled) == wanted and wanted)
    state = page_data.State(data)
    gelu = next(d for d in fused if d['effect'] and data['strings'][d['made']] == 'Gelu')
    check(f'{name}: nodes of a fusion', {state.text(state.nodes[n]['name'])
                                         for n in gelu['nodes']} ==
          {f'{name}/{n}' for n in ('Div', 'Erf', 'Add', 'Mul', 'Mul_1')})


# ---- dtypes --------------------------------------------------------------------------------------

def check_dtypes(name, data, wanted):
    p, text = data['precision'], data['strings'].__getitem__
    slots = list(zip(*(p[k] for k in ('output', 'index', 'port', 'value', 'original', 'chosen',
                                      'reason'))))
    ends, nodes = p['at'][1:] + [len(slots)], []
    for i, (judged, colour, signature) in enumerate(zip(p['judged'], p['colour'],
                                                        p['signature'])):
        nodes.append((text(judged), text(colour), text(signature),
                      [(o, k, *map(text, rest)) for o, k, *rest in slots[p['at'][i]:ends[i]]]))
    check(f'{name}: dtypes of nodes', nodes == [
        (n['judged'], n.get('colour', ''), n.get('signature', ''),
         [(int('output' in t), t.get('output', t.get('input')), t['port'], t['value'],
           t['original'], t['chosen'], t['reason']) for t in n['tensors']])
        for n in wanted['nodes']])
    keys = ('out_of_range', 'become_zero', 'subnormal')
    check(f'{name}: casts', [(text(c['value']), c['constant'], text(c['from']), text(c['to']),
                              c['consumers'], [c.get(k) for k in keys]) for c in p['casts']] ==
          [(c['value'], c['constant'], c['from'], c['to'], c['consumers'],
            [c.get(k) for k in keys]) for c in wanted['casts']])
    check(f'{name}: numbers that are out of range', wanted['summary']['out_of_range'] == 1 and
          wanted['summary']['become_zero'] == 1)
    check(f'{name}: the sum of it', {k: v for k, v in p['summary'].items() if k != 'uncounted'} ==
          {k: v for k, v in wanted['summary'].items() if k != 'motions'} and
          not p['summary']['uncounted'] and p['mode'] == wanted['mode'])
    check(f'{name}: casts that moved', [(text(label), text(why)) for _, label, why in
                                        p['motion']] ==
          [(m['node'], m['reason']) for m in wanted['motion']])


def check_page(tool, folder, model, name):
    text = page_of(tool, folder, model, MODE)
    frame, _ = page_data.split(text)
    data = page_data.chunks(text)
    index = data['index']['models'][0]
    check(f'{name}: model', index['path'] == model and index['swept'] == 0)
    check_rules(tool, model, name, data)
    check_dtypes(name, data, said(tool, model, MODE))
    check(f'{name}: passes are there', any(p['name'] == 'graph-fusion' and p['rewrites']
                                           for p in index['passes']))
    check(f'{name}: names are data', 'alert(1)' not in frame)
    check(f'{name}: the same again', page_of(tool, folder, model, MODE) == text)
    check(f'{name}: where the page goes is no option of the model',
          data['index']['options'] == [MODE, '-q'] or data['index']['options'] == ['-q', MODE])


def check_errors(tool, folder, model):
    path = os.path.join(folder, 'not.html')
    for option in ('--fusion', '--expand', '--node=x', '--casts', '--type=Add', '--json'):
        p = run(tool, 'explain', model, f'--page={path}', option)
        check(f'{option}: {p.stderr}', p.returncode != 0 and
              '--page writes all explanations' in p.stderr)
    p = run(tool, 'explain', os.path.join(folder, 'missing.onnx'), f'--page={path}')
    check('no model, no page', p.returncode == 4 and not os.path.exists(path))
    p = run(tool, 'explain', model, f'--page={folder}/no/such/folder/p.html')
    check('no folder for the page', p.returncode == 4 and 'no/such/folder' in p.stderr)
    p = run(tool, 'explain', model, f'--page={model}')
    check(f'the model is no page: {p.stderr}', p.returncode == 1 and
          'would be overwritten' in p.stderr and '--page: ' in p.stderr)


# ---- verify --------------------------------------------------------------------------------------

def check_tensors(name, data, report):
    e, text = data['errors'], data['strings'].__getitem__
    layers = report['layers']
    columns = [[text(v) for v in e[k]] for k in ('name', 'reference', 'op')]
    columns += [e[k] for k in ('rank', 'adds', 'rel', 'max_abs', 'cosine', 'ulp', 'too_much',
                               'differs')]
    check(f'{name}: layers: all tensors', list(zip(*columns)) == [
        (t['name'], t.get('reference', ''), t['op'], t['rank'], t['own']['rel'] if 'own' in t
         else 0, *(t['total'][k] for k in ('rel', 'max_abs', 'cosine', 'ulp')),
         int('own' in t and not t['own']['equal']), int(not t['total']['equal']))
        for t in layers['tensors']])
    check(f'{name}: layers: the counts', all(e[k] == layers[k] for k in (
        'compared', 'differ', 'adding', 'skipped', 'other_shape')) and
          text(e['note']) == report['note'])
    check(f'{name}: layers: outputs', [(text(o['name']), o['equal'], o['cosine'])
                                       for o in e['outputs']] ==
          [(o['name'], o['equal'], o['cosine']) for o in report['outputs']])


def check_layers(tool, folder, model, name):
    """Of two models, the second is shown as it is; with --npu the way to NPU form."""
    other, path = os.path.join(folder, 'other.tir'), os.path.join(folder, 'layers.html')
    with open(other, 'w', encoding='utf-8') as to:
        to.write(read(model).replace('%e = Erf(', '%e = Tanh('))
    for words, code, against in (((model, other), 5, model),
                                 ((model, '--npu'), 0, None)):
        p = run(tool, 'verify', *words, '--layers', '--json', f'--page={path}')
        check(f'{name}: layers: {p.stderr}', p.returncode == code)
        data = page_data.chunks(read(path))
        check_tensors(name, data, json.loads(p.stdout))
        index = data['index']
        check(f'{name}: layers: the page opens with them', index['overlay'] == 'error' and
              index.get('against') == against and index['models'][0]['path'] == (
                  model if code == 0 else other))
        check(f'{name}: layers: passes', bool(index['models'][0]['passes']) == (code == 0))
        if code:
            state, first = page_data.State(data), data['errors']['rank'].index(1)
            check(f'{name}: layers: the wrong node', state.by_name(f'{name}/Erf') ==
                  data['errors']['node'][first])
    p = run(tool, 'verify', model, other, f'--page={path}')
    check('--page without --layers', p.returncode == 1 and '--layers' in p.stderr)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tool = os.path.abspath(p.parse_args().tailor)
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(('/net/act', HOSTILE)):
            model = os.path.join(folder, f'{i}.tir')
            with open(model, 'w', encoding='utf-8') as f:
                f.write(NET.replace('<NAME>', name))
            check_page(tool, folder, model, name)
            check_layers(tool, folder, model, name)
        check_errors(tool, folder, model)
    for line in problems:
        print('FAIL', line[:3000])
    print(f'{passed} passed, {len(problems)} failed')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
