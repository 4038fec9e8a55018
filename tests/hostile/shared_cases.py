# SPDX-License-Identifier: Apache-2.0
"""The table of hostile models that ../shared/corpus/make_hostile.py writes, when it is there. Each
row says whether the model must be rejected, accepted, or may be either."""
import os
import subprocess

from sandbox import IO_EXIT, Skip, judge

CODES = {'accept': (0,), 'reject': (2, 3), 'either': (0, 2, 3)}


def cases(root, scratch, box):
    """Yields (name, job); a job returns '' or what is wrong."""
    generator = os.path.join(root, '..', 'shared', 'corpus', 'make_hostile.py')
    if not os.path.exists(generator):
        yield 'shared table', missing('../shared/corpus/make_hostile.py is not there')
        return
    folder = os.path.join(scratch, 'shared')
    p = subprocess.run(['/usr/bin/python3', generator, folder], capture_output=True, text=True,
                       check=False)
    if p.returncode:
        reason = p.stderr.strip().splitlines()[-1]
        yield 'shared table', missing(f'make_hostile.py does not run: {reason}')
        return
    for line in p.stdout.splitlines()[1:]:
        name, expect, category, _ = line.split('\t')
        model = os.path.join(folder, name, 'model.onnx')
        yield f'{name} ({expect})', converted(box, model, expect, category)
        yield f'{name} (files opened)', traced(box, model)


def missing(reason):
    def job():
        raise Skip(reason)
    return job


def converted(box, model, expect, category):
    """Into ONNX as the row says; into AIR an accepted model may also lack NPU forms."""
    def job():
        codes = CODES[expect]
        if expect != 'accept' and category == 'external':
            codes += (IO_EXIT,)
        for suffix, allowed in (('.onnx', codes), ('.air', codes + (3,))):
            out = os.path.join(os.path.dirname(model), 'out' + suffix)
            os.mkdir(out)
            target = 'result' + suffix
            r = box.run('convert', model, '-O2', '-q', '-o', os.path.join(out, target))
            bad = judge(r, allowed, out, [target], 'model.onnx')
            if bad:
                return f'to {suffix}: {bad}'
            if r.code == 0 and suffix == '.onnx':
                again = box.run('info', os.path.join(out, target))
                if again.code != 0:
                    return f'the result does not load: {again.text[:300]}'
        return ''
    return job


def traced(box, model):
    """No file outside the model's folder is opened, whatever becomes of the model."""
    def job():
        if box.no_trace:
            raise Skip(box.no_trace)
        folder = os.path.dirname(model)
        out = os.path.join(folder, 'traced.tir')
        _, foreign = box.foreign_files(folder, folder + '.trace', 'convert', model, '-q', '-o', out)
        return f'opened {foreign}' if foreign else ''
    return job
