#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""step_files.py --tailor BIN: report, trace and page of a training step say the same, the page
needs nothing from elsewhere and is drawn by a browser where there is one (headless Chromium); steps
of the training specification take what they must."""
import argparse
import html.parser
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import golden_cases  # noqa: E402
import guard  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
NET = os.path.join(ROOT, 'tests', 'golden', 'schedule')
TAIL = os.path.join(ROOT, 'tests', 'golden', 'tail-opt')
problems = []
passed = skipped = 0


def check(what, good):
    global passed
    if good:
        passed += 1
    else:
        problems.append(what)


def run(tool, folder, name):
    """The three files of net X."""
    text = golden_cases.read(os.path.join(NET, 'streams.tir')).cases[0].module
    files = {k: os.path.join(folder, f'{name}.{k}') for k in ('report', 'trace', 'html')}
    subprocess.run([tool, 'opt', '--passes=infer-shapes,schedule', '--graph-run-mode=1',
                    '--is-distributed=true', '--rank-size=8', '--hw-preset=unit',
                    f'--profile={NET}/net-x.csv', '-', '-o', os.path.join(folder, 'out.tir'),
                    f'--schedule-report={files["report"]}', f'--trace={files["trace"]}',
                    f'--timeline={files["html"]}'], input=text, text=True, check=True)
    return files


class Page(html.parser.HTMLParser):
    """Counts what a page draws, and what it would fetch."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.fetched, self.open, self.lanes = {}, [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.fetched += [v for k, v in attrs if k in ('src', 'href', 'xlink:href', 'data')]
        if tag not in ('meta', 'line', 'br', 'link', 'img'):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1

    def handle_endtag(self, tag):
        check(f'page: <{tag}> closes what is open', self.open and self.open[-1] == tag)
        if self.open:
            self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == 'text' and not data[:1].isdigit():
            self.lanes.append(data)


def check_page(text):
    page = Page(text)
    check('page: all tags are closed', not page.open)
    check('page: nothing is fetched',
          not page.fetched and 'url(' not in text and '@import' not in text)
    check('page: no scripts', 'script' not in page.tags)
    check('page: two timelines', page.tags.get('svg') == 2)
    check('page: lanes', page.lanes == ['M', 'C:hccl_world_group'] * 2 + ['U'])
    check('page: a tooltip a task', page.tags.get('title') == 1 + 15 + 15)
    check('page: dark and light', 'prefers-color-scheme:dark' in text)


def check_trace(trace, report):
    events = [e for e in trace['traceEvents'] if e['ph'] == 'X']
    keys = [(e['pid'], e['tid'], e['ts']) for e in events]
    check('trace: sorted', keys == sorted(keys))
    check('trace: 15 tasks before and after', len(events) == 30)
    for pid, stage in ((0, report['stages'][0]), (1, report['stages'][-1])):
        of = [e for e in events if e['pid'] == pid]
        comm = [e for e in of if e['cat'] == 'comm']
        check('trace: ends with the step',
              max(e['ts'] + e['dur'] for e in of) == stage['step_time'])
        check('trace: collectives', sum(e['dur'] for e in comm) == stage['comm_busy'])
        check('trace: buckets', [e['args']['bucket'] for e in comm] == [0, 1])
        for tid in {e['tid'] for e in of}:
            lane = [e for e in of if e['tid'] == tid]
            check('trace: one task at a time',
                  all(a['ts'] + a['dur'] <= b['ts'] for a, b in zip(lane, lane[1:])))
    names = {(e['pid'], e['tid']): e['args']['name'] for e in trace['traceEvents']
             if e['name'] == 'thread_name'}
    check('trace: names of streams', names[1, 0] == 'M' and names[1, 2] == 'U')


def check_report(r):
    steps = {s['name']: s['step_time'] for s in r['stages']}
    check('report: examples 18 and 19', steps == {'given': 204, 'streams': 162, 'scheduled': 162})
    check('report: bound', r['lower_bound'] == 162 and r['efficiency'] == 1)
    check('report: exposed', r['exposed_comm'] == 18 == sum(b['exposed'] for b in r['buckets']))


# Examples 20 to 25 of the training specification: folder of the golden test whose graph and options
# they have, whether its tail is optimized, and what the report says of the last stage.
EXAMPLES = [
    ('20', 'early-local', False, {'given': 182, 'given_overlap': 0.4706}),
    ('21', 'early-local', True, {'step_time': 172, 'overlap_ratio': 0.6176, 'edges_added': 1}),
    ('22 (a)', 'late-commit', True, {'step_time': 167, 'comm_busy': 60, 'edges_added': 0}),
    ('22 (b)', 'late', False, {'step_time': 168, 'comm_busy': 68}),
    ('23', 'clip-keeps-the-flag', True, {'edges_added': 0, 'edges_rejected': 0}),
    ('25', 'edge-against-a-user', True, {'edges_added': 0, 'edges_rejected': 1}),
    ('38', 'states-in-place', True, {'edges_added': 0, 'hazard_edges': 1}),
    ('26', 'adamw', True, {'splits': 1}),
]

# What the report counts of golden tests: nodes that were split, edges that were removed, edges that
# would have closed a cycle, edges in front of states in place. The first line of each says why.
COUNTS = {
    'one-bucket': (0, 0, 0, 0), 'norm-of-one-bucket': (0, 0, 0, 0),
    'barrier-of-one-bucket': (0, 0, 0, 0), 'states-apart': (0, 0, 0, 0),
    'effects-stay-together': (0, 0, 0, 0), 'joined-for-a-norm': (0, 0, 0, 0),
    'adagrad-needs-its-gradient': (0, 0, 0, 0), 'preview-optimizers': (1, 0, 0, 0),
    'conditional-updates': (1, 0, 0, 0), 'joined-tensors': (1, 0, 0, 0),
    'check-of-three': (1, 0, 0, 0), 'decomposed-adam': (1, 0, 0, 0), 'norm-of-all': (1, 0, 0, 0),
    'barriers': (1, 5, 0, 0), 'barrier-in-front-of-others': (1, 6, 0, 0),
    'last-bucket-of-two-groups': (1, 3, 0, 0), 'gates-go': (0, 1, 0, 0),
    'user-edges-go-when-asked': (0, 2, 0, 0), 'relaxed-user-edge': (0, 0, 1, 0),
    'edge-against-a-user': (0, 0, 1, 0), 'states-in-place': (0, 0, 0, 1), 'loop': (0, 1, 0, 1),
    'reader-behind-its-writer': (0, 0, 1, 1),
}


def tail_report(tool, name, folder, tail, as_it_stands=False):
    """Report, explanation, trace and messages of a golden test of tail-opt, scheduled. A node with
    a stream tells that its nodes stand in an order that counts."""
    golden = golden_cases.read(os.path.join(TAIL, name + '.tir'))
    text = golden.cases[0].module
    if as_it_stands:
        text = text.replace('@F\n', '@F stream 0\n')
    options = [o for o in golden.run.split() if not o.startswith('--passes')]
    if not tail:
        options = [o for o in options if 'tailing' not in o]
    files = [os.path.join(folder, k) for k in ('report', 'explain', 'trace')]
    p = subprocess.run([tool, *options, '--passes=infer-shapes,tail-opt,schedule', '-',
                        '-o', os.path.join(folder, 'out.tir'), f'--schedule-report={files[0]}',
                        f'--tail-explain={files[1]}', f'--trace={files[2]}'],
                       input=text, text=True, cwd=ROOT, capture_output=True,
                       check=True)
    out = []
    for path in files:
        with open(path, encoding='utf-8') as f:
            out.append(json.load(f))
    return (*out, p.stderr)


def check_in_place(trace):
    """Example 38: what writes a state in place starts behind its last reader."""
    at = {e['name']: e for e in trace['traceEvents'] if e['ph'] == 'X' and e['pid'] == 1}
    check('example 38: the update starts behind the reader',
          at['w_out']['ts'] >= at['DX']['ts'] + at['DX']['dur'])


def check_explained(example, explained, trace):
    """What is said of nodes beside the last bucket holds in the trace. Nothing is said of what the
    bucket waits for, nor of what takes no time."""
    at = {e['name']: e for e in trace['traceEvents'] if e['ph'] == 'X' and e['pid'] == 1}
    last = at[explained['last_bucket']]
    check(f'example {example}: the last bucket', last['name'] == 'AR2')
    start, end = last['ts'], last['ts'] + last['dur']
    told = {n['name']: n for n in explained['nodes']}
    check(f'example {example}: a line for each node', len(told) == len(explained['nodes']) and
          not {'F', 'B4', 'B1', 'AR2'} & set(told) and all(at[n]['dur'] > 0 for n in told))
    for name, n in told.items():
        verdict, e = n['verdict'], at[name]
        holds = {'earlier': e['ts'] + e['dur'] <= start, 'later': e['ts'] >= end,
                 'overlaps': e['ts'] < end and e['ts'] + e['dur'] > start}
        check(f'example {example}: {name} is {verdict}',
              holds.get(verdict, holds['later'] and n.get('because') in at))


def check_values(tool, folder):
    """Examples 21 and 22: the rewritten step computes what the given one does, bit by bit."""
    for name in ('early-local', 'late-commit', 'late'):
        files = [os.path.join(folder, f'{name}.{side}.tir') for side in ('given', 'made')]
        case = golden_cases.read(os.path.join(TAIL, name + '.tir')).cases[0]
        for path, text in zip(files, (case.module, case.after)):
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
        p = subprocess.run([tool, 'verify', *files, '--rtol=0', '--atol=0'], capture_output=True,
                           check=False)
        check(f'examples 21 and 22: values of {name}', p.returncode == 0)


def check_examples(tool, folder):
    for example, name, tail, wanted in EXAMPLES:
        report, explained, trace, messages = tail_report(tool, name, folder, tail, example == '20')
        report['given'] = report['stages'][0]['step_time']
        report['given_overlap'] = report['stages'][0]['overlap_ratio']
        for key, value in wanted.items():
            check(f'example {example}: {key} is {report[key]}, not {value}', report[key] == value)
        steps = [s['step_time'] for s in report['stages']]
        check(f'example {example}: never worse', tail < 1 or name == 'states-in-place' or
              steps[-1] <= min(steps))
        check(f'example {example}: within its bound', report['efficiency'] <= 1)
        check(f'example {example}: W-TAIL-CLIP', ('W-TAIL-CLIP' in messages) == (example == '23'))
        if example == '38':
            check_in_place(trace)
        told = bool(explained.get('last_bucket'))
        check(f'example {example}: the last bucket is told if the tail was looked at',
              told == bool(tail))
        if told:
            check_explained(example, explained, trace)
        if example == '22 (a)':
            verdicts = {n['name']: n['verdict'] for n in explained['nodes']}
            check('explained: what runs under AR2', verdicts['U4'] == verdicts['S3'] == 'overlaps')
            check('explained: what waits', verdicts['U1'] == verdicts['W4'] == 'data')


def check_counts(tool, folder):
    for name, wanted in COUNTS.items():
        report, _, _, messages = tail_report(tool, name, folder, True)
        found = tuple(report[k] for k in ('splits', 'edges_removed', 'edges_rejected',
                                          'hazard_edges'))
        check(f'counts of {name}: {found}, not {wanted}', found == wanted)
        check(f'{name}: W-TAIL-STATE', messages.count('W-TAIL-STATE') == (
            name == 'reader-behind-its-writer'))


def drawn(png):
    """Are several colours there? Rows of an 8-bit picture, filters not undone: enough to tell."""
    with open(png, 'rb') as f:
        data = f.read()
    at, body = 8, b''
    while at < len(data):
        n, kind = struct.unpack('>I4s', data[at:at + 8])
        body += data[at + 8:at + 8 + n] if kind == b'IDAT' else b''
        at += 12 + n
    return len(set(zlib.decompress(body))) > 16


def check_browser(folder, page):
    global skipped
    browser = shutil.which('chromium') or shutil.which('chromium-browser')
    if not browser:
        skipped += 1
        print('skipped: the page in a browser: chromium is not installed')
        return
    base = [browser, '--headless', '--no-sandbox', '--disable-gpu', '--virtual-time-budget=1000',
            f'--user-data-dir={folder}/user']
    url = 'file://' + page
    dom = guard.run([*base, '--dump-dom', url], capture_output=True, text=True).stdout
    check('browser: all tasks are drawn', dom.count('<rect class="t ') == 30)
    png = os.path.join(folder, 'page.png')
    guard.run([*base, '--window-size=1500,900', f'--screenshot={png}', url],
              capture_output=True)
    check('browser: a picture', os.path.exists(png) and drawn(png))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tool = os.path.abspath(args.tailor)
        first, second = run(tool, folder, 'a'), run(tool, folder, 'b')
        texts = {}
        for kind, path in first.items():
            with open(path, encoding='utf-8') as f, open(second[kind], encoding='utf-8') as g:
                texts[kind] = f.read()
                check(f'{kind}: the same bytes again', texts[kind] == g.read())
        report = json.loads(texts['report'])
        check_report(report)
        check_trace(json.loads(texts['trace']), report)
        check_page(texts['html'])
        check_examples(tool, folder)
        check_counts(tool, folder)
        check_values(tool, folder)
        check_browser(folder, first['html'])
    for line in problems:
        print('FAIL', line)
    print(f'{passed} passed, {len(problems)} failed, {skipped} skipped')
    sys.exit(bool(problems))


if __name__ == '__main__':
    main()
