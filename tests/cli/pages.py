#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py --tailor BIN: the pages of `tailor explain --page` and `tailor verify --layers --page`
hold what the commands say as JSON, need nothing from elsewhere, are not moved by what a model calls
its nodes, and are drawn by a browser where there is one (headless Chromium)."""
import argparse
import html.parser
import json
import os
import re
import shutil
import sys
import tempfile
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

GELU = '''graph @g(%x: f32[2,8], %w: f32[8,8]) -> (%y) {
  const %h: f32[] = 0.5
  const %o: f32[] = 1.0
  const %r: f32[] = 1.4142135
  %m = MatMul(%x, %w) @"<NAME>/MatMul"
  %d = Div(%m, %r) @"<NAME>/Div"
  %e = Erf(%d) @"<NAME>/Erf"
  %a = Add(%e, %o) @"<NAME>/Add"
  %p = Mul(%m, %a) @"<NAME>/Mul"
  %y = Mul(%p, %h) @"<NAME>/Mul_1"
}
'''
HOSTILE = "</script><img src=x onerror=alert(1)><!--"
MODE = '--precision-mode-v2=mixed_float16'
problems = []
passed = skipped = 0


def check(what, good):
    global passed
    if good:
        passed += 1
    else:
        problems.append(what)


class Page(html.parser.HTMLParser):
    """Elements of a page, and the text of the one with the data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.data, self.inside = [], '', False
        self.links = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ('src', 'href')]
        self.inside = ('id', 'data') in attrs

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.data += data if self.inside else ''


def run(tool, *words):
    return guard.run([tool, *words], capture_output=True, text=True)


def page_of(tool, folder, model, *options):
    path = os.path.join(folder, 'page.html')
    p = run(tool, 'explain', model, f'--page={path}', '-q', *options)
    check(f'explain {options}: {p.stderr}', p.returncode == 0 and p.stdout == '')
    with open(path, encoding='utf-8') as f:
        return f.read()


def said(tool, model, *options):
    return json.loads(run(tool, 'explain', model, '--json', '-q', *options).stdout)


def check_page(tool, folder, model, name):
    text = page_of(tool, folder, model, MODE)
    page = Page(text)
    data = json.loads(page.data)
    check(f'{name}: model', data['model'] == model)
    check(f'{name}: fusions', data['fusion'] == said(tool, model, '--fusion', MODE))
    check(f'{name}: expansions', data['expand'] == said(tool, model, '--expand', MODE))
    check(f'{name}: dtypes', data['precision'] == said(tool, model, MODE))
    gelu = [e for p in data['fusion'] for e in p['events'] if e.get('made') == 'Gelu']
    check(f'{name}: what was fused is there', len(gelu) == 1 and
          gelu[0]['nodes'][0] == name + '/Div')
    check(f'{name}: casts are there', any(c['to'] == 'f16' for c in data['precision']['casts']))
    check(f'{name}: passes are there', any(p['pass'] == 'graph-fusion' and p['rewrites']
                                           for p in data['passes']))
    check(f'{name}: nothing from elsewhere', not page.links and
          not re.search(r'https?://|url\(', text))
    check(f'{name}: names are no elements', 'img' not in page.tags and
          page.tags.count('script') == 2)
    check(f'{name}: the same again', page_of(tool, folder, model, MODE) == text)
    plain = json.loads(Page(page_of(tool, folder, model)).data)
    check(f'{name}: without a mode there are no dtypes', plain['precision'] is None)


def check_errors(tool, folder, model):
    path = os.path.join(folder, 'not.html')
    for option in ('--fusion', '--expand', '--node=x', '--casts', '--type=Add', '--json'):
        p = run(tool, 'explain', model, f'--page={path}', option)
        check(f'{option}: {p.stderr}', p.returncode != 0 and
              '--page writes all explanations' in p.stderr)
    p = run(tool, 'explain', os.path.join(folder, 'missing.onnx'), f'--page={path}')
    check('no model, no page', p.returncode != 0 and not os.path.exists(path))
    p = run(tool, 'explain', model, f'--page={folder}/no/such/folder/p.html')
    check('no folder for the page', p.returncode != 0 and 'no/such/folder' in p.stderr)


def check_layers(tool, folder, model, name):
    """verify --layers --page holds what --json prints, and shows the wrong node first."""
    other, path = os.path.join(folder, 'other.tir'), os.path.join(folder, 'layers.html')
    with open(model, encoding='utf-8') as f, open(other, 'w', encoding='utf-8') as to:
        to.write(f.read().replace('Erf(', 'Tanh('))
    words = ('verify', model, other, '--layers', '--json')
    p = run(tool, *words, f'--page={path}')
    check(f'{name}: layers: {p.stderr}', p.returncode == 5)
    with open(path, encoding='utf-8') as f:
        text = f.read()
    page = Page(text)
    data = json.loads(page.data)
    check(f'{name}: layers: the report', data['verify'] == json.loads(p.stdout) and
          data['model'] == model and data['against'] == other)
    check(f'{name}: layers: the wrong node', data['verify']['layers']['culprits'][0] == 'e')
    check(f'{name}: layers: nothing from elsewhere', not page.links and 'img' not in page.tags)
    p = run(tool, 'verify', model, other, f'--page={path}')
    check('--page without --layers', p.returncode == 1 and '--layers' in p.stderr)
    browser = shutil.which('chromium') or shutil.which('chromium-browser')
    if browser:  # that there is none was said
        dom = guard.run([browser, '--headless', '--no-sandbox', '--disable-gpu', '--dump-dom',
                         '--virtual-time-budget=1000', f'--user-data-dir={folder}/user',
                         'file://' + path], capture_output=True, text=True).stdout
        check(f'{name}: browser: layers', '#1</td>' in dom and 'heat adds' in dom and
              Page(dom).tags.count('section') == 1)


def check_browser(tool, folder, model, name):
    global skipped
    browser = shutil.which('chromium') or shutil.which('chromium-browser')
    if not browser:
        skipped += 1
        print('skipped: the page in a browser: chromium is not installed')
        return
    page_of(tool, folder, model, MODE)
    dom = guard.run([browser, '--headless', '--no-sandbox', '--disable-gpu', '--dump-dom',
                     '--virtual-time-budget=1000', f'--user-data-dir={folder}/user',
                     'file://' + os.path.join(folder, 'page.html')], capture_output=True,
                    text=True).stdout
    shown = Page(dom)
    check(f'{name}: browser: five sections', shown.tags.count('section') == 5)
    check(f'{name}: browser: the fusion is shown', '<span class="chip made">Gelu</span>' in dom)
    check(f'{name}: browser: casts are shown', 'f32 → f16' in dom)
    check(f'{name}: browser: names are text', 'img' not in shown.tags)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    tool = os.path.abspath(p.parse_args().tailor)
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(('/net/act', HOSTILE)):
            model = os.path.join(folder, f'{i}.tir')
            with open(model, 'w', encoding='utf-8') as f:
                f.write(GELU.replace('<NAME>', name))
            check_page(tool, folder, model, name)
            check_browser(tool, folder, model, name)
            check_layers(tool, folder, model, name)
        check_errors(tool, folder, model)
    for line in problems:
        print('FAIL', line)
    print(f'{passed} passed, {len(problems)} failed, {skipped} skipped')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
