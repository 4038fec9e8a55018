#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""run.py --tailor BIN: the page of `tailor view` in a browser: pages of made-up models
(synthetic.py) and of what the command writes and serves, driven by browser.js.
Needs Chromium and, from npm, playwright-core and axe-core;
says so and skips without them."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.dirname(HERE)]
import guard  # noqa: E402
import synthetic  # noqa: E402

CPU = 600  # seconds: a browser has many processes, and drawing is done without a graphics card


def browser():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return shutil.which(name)
    return None


def install():
    """What is missing, or None: the npm packages of package-lock.json, without a browser."""
    if not shutil.which('node') or not shutil.which('npm'):
        return 'node and npm are not installed'
    if os.path.isdir(os.path.join(HERE, 'node_modules', 'playwright-core')):
        return None
    p = subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix',
                        HERE], env=dict(os.environ, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD='1'),
                       capture_output=True, text=True, check=False)
    return 'npm ci failed: ' + p.stderr.strip()[-300:] if p.returncode else None


# Gelu in parts, behind a matrix product, and a name that wants to be HTML.
MODEL = '''graph @g(%x: f32[2,8], %w: f32[8,8]) -> (%y) {
  const %h: f32[] = 0.5
  const %o: f32[] = 1.0
  const %r: f32[] = 1.4142135
  %m = MatMul(%x, %w) @"block/</script><script>executed=1</script>"
  %d = Div(%m, %r) @"block/gelu/Div"
  %e = Erf(%d) @"block/gelu/Erf"
  %a = Add(%e, %o) @"block/gelu/Add"
  %p = Mul(%m, %a) @"block/gelu/Mul"
  %y = Mul(%p, %h) @"block/gelu/Mul_1"
}
'''
MODE = '--precision-mode-v2=mixed_float16'


# A training step with two gradients that ranks add up.
STEP = '''graph @g(%x: f32[4,4], %lr: f32[], %w: f32[4,4], %v: f32[4,4]) -> (%y, %z) {
  %g = MatMul(%x, %w) @B1
  %r = npu.hcom::HcomAllReduce(%g) @AR1 {reduction="sum", group="g", fusion=1} : f32[4,4]
  %d = Mul(%r, %lr) @S1
  %y = Sub(%w, %d) @U1
  %h = MatMul(%g, %v) @B2
  %s = npu.hcom::HcomAllReduce(%h) @AR2 {reduction="sum", group="g", fusion=1} : f32[4,4]
  %e = Mul(%s, %lr) @S2
  %z = Sub(%v, %e) @U2
  state %w -> %y
  state %v -> %z
  gradient %w -> %g
  gradient %v -> %h
}
'''
RANKS = ('--graph-run-mode=1', '--is-distributed=true', '--rank-size=4',
         '--soc-version=Ascend910A')


def steps(tailor, folder):
    """The page of a step on four ranks against the same on eight."""
    model = os.path.join(folder, 'steps.tir')
    with open(model, 'w', encoding='utf-8') as f:
        f.write(STEP)
    guard.run([tailor, 'view', model, '-q', *RANKS, '--against=--rank-size=8', '-o',
               os.path.join(folder, 'steps.html')], check=True)


def long_names(tailor, folder):
    """The page of 5,000 nodes with 50 MB of names."""
    model = os.path.join(folder, 'names.tir')
    with open(model, 'w', encoding='utf-8') as f:
        f.write('graph @g(%x: f32[1]) -> (%t4999) {\n')
        for i in range(5000):
            f.write(f'  %t{i} = {"Relu" if i % 2 else "Neg"}(%{f"t{i - 1}" if i else "x"}) '
                    f'@"layer.{i % 50}/{"abcdefghij" * 1000}{i}"\n')
        f.write('}\n')
    guard.run([tailor, 'view', model, '-q', '-o', os.path.join(folder, 'names.html')], check=True)


def explained(tailor, folder, model):
    """Pages of explain and of verify, which compares with a model in which one op is another."""
    other = os.path.join(folder, 'other.tir')
    with open(other, 'w', encoding='utf-8') as f:
        f.write(MODEL.replace('%e = Erf(', '%e = Tanh('))
    guard.run([tailor, 'explain', model, MODE, '-q', '--page=' +
               os.path.join(folder, 'explained.html')], check=True)
    p = guard.run([tailor, 'verify', model, other, '--layers', '--page=' +
                   os.path.join(folder, 'layers.html')], capture_output=True)
    if p.returncode != 5:
        sys.exit(p.stderr)


def written(tailor, folder):
    """Pages that the command writes: of one model, and of what an option changes."""
    model = os.path.join(folder, 'model.tir')
    with open(model, 'w', encoding='utf-8') as f:
        f.write(MODEL)
    for name, options in (('written', [MODE]), ('options', ['--against=' + MODE])):
        guard.run([tailor, 'view', model, '-q', *options, '-o',
                   os.path.join(folder, name + '.html')], check=True)
    explained(tailor, folder, model)
    long_names(tailor, folder)
    steps(tailor, folder)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tailor', required=True)
    parser.add_argument('only', nargs='*', help='parts of browser.js')
    args = parser.parse_args()
    program, missing = browser(), install()
    if not program or missing:
        print(f'skipped: the page in a browser: {missing or "chromium is not installed"}')
        print('0 passed, 0 failed, 1 skipped')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in synthetic.MODELS.items():
            synthetic.write(os.path.join(folder, name + '.html'), make())
        model = written(args.tailor, folder)
        server = guard.begin([args.tailor, 'view', model, MODE, '--serve'], stderr=-1, text=True)
        try:
            address = re.search(r'http://\S+', server.stderr.readline())
            p = guard.run(['node', os.path.join(HERE, 'browser.js'), folder, program,
                           address.group(0) if address else '-', *args.only],
                          cpu=CPU, capture_output=True, text=True)
        except subprocess.TimeoutExpired as hung:
            p = subprocess.CompletedProcess(hung.cmd, 2, hung.stdout, hung.stderr + 'it hung')
        finally:
            server.terminate()
            server.wait()
    print(p.stdout, end='')
    if p.returncode > 1 or not re.search(r'^\d+ passed, \d+ failed$', p.stdout, re.M):
        print(p.stderr[-3000:])
        print('0 passed, 1 failed')
        return 1
    return p.returncode


if __name__ == '__main__':
    sys.exit(main())
