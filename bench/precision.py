# SPDX-License-Identifier: Apache-2.0
"""bench/run --precision: what making a model f16 costs. Whole conversions against `cp` of the same
files, in turns; the pass that decides and casts, a node; and beside them the figures of
onnxconverter-common, which are typed in: it is no part of this checkout."""
import os
import re
import shutil
import statistics
import subprocess

from measure import fresh, memory, timed

MIB = 1 << 20
COPY_MAX = 1.3
PASS_MAX = 0.5  # microseconds a node
LOWER = '--precision-mode=force_fp16'

# Model, further options, turns. The weights of the last are external before and after.
MODELS = (('bert_base', (), 9), ('bert_large', (), 5), ('bert_xl', ('--external-weight=2',), 5))
GRAPH, RUNS = 'llama_100k', 9

# CPU seconds, times cp there, peak RSS in MB of onnx.load, convert_float_to_float16 and onnx.save of
# these very models: onnxconverter-common 1.17.0 (git 28b00d4), onnx 1.12.0, one thread of a shared
# two-core machine. Source: the comparison of peers that this project was planned by, main table,
# last column. bert_xl needs shape inference turned off there: its protobuf is beyond 2 GB.
PEER = {'bert_base': (4.60, 21, 2138), 'bert_large': (15.5, 27, 6446), 'bert_xl': (29.7, 19, 3681),
        'llama_100k': (59.0, 6000, 393)}

COLUMNS = (('model', 11), ('nodes', 8), ('file MB', 9), ('wall ms', 10), ('cpu ms', 9), ('x cp', 7),
           ('cpu x cp', 9), ('private MiB', 12), ('RSS MiB', 9), ('peer s', 8), ('peer x cp', 10),
           ('peer RSS MB', 12))


def line(cells):
    widths = [w for _, w in COLUMNS]
    print(cells[0].ljust(widths[0]) + ''.join(str(c).rjust(w) for c, w in zip(cells[1:], widths[1:])),
          flush=True)


def convert(args, folder, model, more, rounds):
    """Figures of one model; None: the conversion fails."""
    path, files, nodes = model
    out = os.path.join(folder, 'out')
    tool = [args.tailor, 'convert', path, '-O2', '-q', '--summary=none', LOWER, *more, '-o',
            os.path.join(out, 'low.onnx')]
    copy = [shutil.which('cp'), *files, out]
    times, copies = [], []
    for _ in range(rounds):
        times.append(fresh(out, lambda: timed(tool)))
        if not times[-1]:
            return None
        copies.append(fresh(out, lambda: timed(copy)))
    private, resident = fresh(out, lambda: memory(tool))
    wall, cpu = (statistics.median(t[i] for t in times) for i in range(2))
    cp_wall, cp_cpu = (statistics.median(t[i] for t in copies) for i in range(2))
    return {'nodes': nodes, 'bytes': sum(map(os.path.getsize, files)), 'wall_ms': wall,
            'cpu_ms': cpu, 'x_cp': wall / cp_wall, 'cpu_x_cp': cpu / cp_cpu,
            'private_bytes': private, 'resident_bytes': resident}


def pass_ns(args, folder, path):
    """The least time of the pass over some runs: others on the machine only add to it."""
    out = os.path.join(folder, 'low.onnx')
    argv = [args.tailor, 'opt', path, '-O2', LOWER, '--time-passes=json', '-o', out]
    found = []
    for _ in range(RUNS):
        p = subprocess.run(argv, capture_output=True, text=True, check=False)
        told = re.search(r'"precision": (\d+)', p.stderr + p.stdout)
        if p.returncode or not told:
            return None
        found.append(int(told.group(1)))
    os.remove(out)
    return min(found)


def show(name, r):
    line([name, r['nodes'], f'{r["bytes"] / 1e6:.1f}', f'{r["wall_ms"]:.1f}', f'{r["cpu_ms"]:.1f}',
          f'{r["x_cp"]:.2f}', f'{r["cpu_x_cp"]:.2f}', f'{r["private_bytes"] / MIB:.1f}',
          f'{r["resident_bytes"] / MIB:.0f}', *PEER[name]])


def measure_all(args, folder, generate):
    """Prints the table; returns (rows, [(name, value, bound, unit)])."""
    line([title for title, _ in COLUMNS])
    rows, checks = [], []
    for name, more, rounds in MODELS:
        model = generate(folder, name)
        r = convert(args, folder, model, more, rounds)
        for f in model[1]:
            os.remove(f)
        if not r:
            checks.append((f'{name} to f16: failed', float('inf'), COPY_MAX, 'x'))
            continue
        show(name, r)
        rows.append({'model': name, **r})
        checks += [(f'{name} to f16: wall against cp', r['x_cp'], COPY_MAX, 'x'),
                   (f'{name} to f16: private memory', r['private_bytes'] / MIB,
                    (32 * MIB + 600 * r['nodes']) / MIB, 'MiB')]
    path, _, nodes = model = generate(folder, GRAPH)
    r = convert(args, folder, model, (), RUNS)
    ns = pass_ns(args, folder, path)
    if r:
        show(GRAPH, r)
        rows.append({'model': GRAPH, 'pass_ns': ns, **r})
    checks.append((f'{GRAPH}: the pass, a node', ns / 1e3 / nodes if ns else float('inf'), PASS_MAX,
                   'us'))
    return rows, checks
