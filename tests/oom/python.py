#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package does when an allocation of the library fails, alone or with all that
follow: it raises InternalError, which says "out of memory" and nothing else, and all memory is
given back with the objects; or it does without, and then the result is as ever.

  python.py --library libtailor.so --allocator liballocator.so [--sample N] [--only TEXT]

--sample takes N requests for memory of each session and kind, spread evenly; 0 takes all. Memory of
Python itself does not fail. Needs python3-numpy."""
import argparse
import ctypes
import gc
import logging
import os
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'python'))
from package import install  # noqa: E402

MEMORY = 'out of memory'
INTERNAL = 70


class Allocator(ctypes.Structure):
    _fields_ = [('user', ctypes.c_void_p), ('allocate', ctypes.c_void_p),
                ('resize', ctypes.c_void_p), ('release', ctypes.c_void_p)]


def counting(path, lib):
    """The allocator, which is set before the library does anything."""
    own = ctypes.CDLL(os.path.abspath(path))
    own.allocator_seen.restype = ctypes.c_ulong
    own.allocator_live.restype = ctypes.c_long
    own.allocator_start.argtypes = [ctypes.c_ulong, ctypes.c_ulong]
    functions = [ctypes.cast(getattr(own, 'allocator_' + name), ctypes.c_void_p)
                 for name in ('allocate', 'resize', 'release')]
    lib.tl_allocator_set.argtypes = [ctypes.POINTER(Allocator)]
    if lib.tl_allocator_set(ctypes.byref(Allocator(None, *functions))):
        sys.exit('python.py: the library took memory before it was used')
    return own


# ---- sessions: what a user does, and what comes of it ------------------------------------------

def text_of(name):
    with open(os.path.join(HERE, name), 'rb') as f:
        return f.read()


SIMPLE = b'''graph @g(%x: f32[2,3]) -> (%y) {
  const %w: f32[3,4] = [0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
  const %b: f32[4] = [1, 2, 3, 4]
  %t = MatMul(%x, %w) @product
  %u = Add(%t, %b) @sum
  %v = Identity(%u) @same
  %y = Relu(%v) @relu
}
'''
RULE = '''rules 1
rule Twice : cleanup numerics exact about "Relu of Relu is Relu" {
  match {
    %t = Relu(%x)
    %y = Relu(%t)
  }
  replace { %y = Relu(%x) }
}
'''


def look(model):
    return ([(v.name, v.dtype, v.shape) for v in [*model.inputs, *model.outputs]],
            [(n.name, n.op, n.domain, n.inputs, n.outputs, sorted(n.attributes.items()), n.origins)
             for n in model.nodes],
            {name: w.tolist() for name, w in model.weights.items()}, len(model))


def load(tailor, folder):
    del folder
    return look(tailor.load(SIMPLE, name='m.tir'))


def load_path(tailor, folder):
    return look(tailor.load(os.path.join(folder, 'simple.tir'), read=True))


def load_onnx(tailor, folder):
    with open(os.path.join(folder, 'simple.onnx'), 'rb') as f:
        return look(tailor.load(f.read()))


def load_files(tailor, folder):
    files = {}
    for name in ('big.onnx', 'weight/big_weight_combined'):
        with open(os.path.join(folder, name), 'rb') as f:
            files[name] = f.read()
    return look(tailor.load(files['big.onnx'], name='big.onnx', files=files))


def refused_option(tailor, folder):
    del folder
    try:
        tailor.load(SIMPLE, name='m.tir', soc_version='Ascend1')
    except tailor.UsageError as e:
        return str(e)
    return 'taken'


def refused_model(tailor, folder):
    del folder
    try:
        tailor.load(b'graph @g(%x) -> (%y) { %y = Relu(%z) }', name='m.tir')
    except tailor.InputError as e:
        return str(e)
    return 'taken'


def optimize(tailor, folder):
    del folder
    model = tailor.load(text_of('model.tir'), name='model.tir')
    better = model.optimize(near_misses=True)
    told = better.explain()
    return (look(better), better.to_bytes(), better.to_bytes('tir'),
            [(r.name, r.node, r.message) for r in [*told.applied, *told.missed]])


def to_air(tailor, folder):
    del folder
    model = tailor.load(text_of('model.tir'), name='model.tir',
                        precision_mode='allow_mix_precision')
    return model.optimize(to='air', soc_version='Ascend310P3').to_bytes('air')


def rules(tailor, folder):
    del folder
    model = tailor.load(b'graph @g(%x: f32[2]) -> (%y) { %t = Relu(%x) %y = Relu(%t) }',
                        name='m.tir')
    return look(model.optimize(rules=RULE))


def passes(tailor, folder):
    del folder
    steps = []
    model = tailor.load(SIMPLE, name='m.tir')
    made = model.optimize(passes=['infer-shapes', 'clean-up'],
                          progress=lambda name, *_: steps.append(name))
    return look(made), steps


def copies(tailor, folder):
    del folder
    return look(tailor.load(SIMPLE, name='m.tir').copy())


def run(tailor, folder):
    del folder
    import numpy
    model = tailor.load(SIMPLE, name='m.tir')
    given = model.run({'x': numpy.arange(6, dtype='float32').reshape(2, 3)})
    drawn = model.run(random=True, seed=3, emulate='float16')
    return {name: a.tolist() for r in (given, drawn) for name, a in r.items()}


def verify(tailor, folder):
    del folder
    model = tailor.load(SIMPLE, name='m.tir')
    result = model.verify(model.optimize(), seed=2)
    return result.equal, [(o.name, o.equal, o.elements) for o in result.outputs]


def save(tailor, folder):
    model = tailor.load(SIMPLE, name='m.tir')
    path = os.path.join(folder, 'out.onnx')
    try:
        model.save(path)
        with open(path, 'rb') as f:
            return f.read()
    finally:
        if os.path.exists(path):
            os.remove(path)


def save_files(tailor, folder):
    del folder
    return tailor.load(SIMPLE, name='m.tir', external_weight=2).to_files()


SESSIONS = (load, load_path, load_onnx, load_files, refused_option, refused_model, optimize, to_air,
            rules, passes, copies, run, verify, save, save_files)


# ---- one session -------------------------------------------------------------------------------

class Trial:
    """A session, again and again, with requests for memory that fail."""

    def __init__(self, tailor, own, session, folder):
        self.tailor, self.own, self.session, self.folder = tailor, own, session, folder
        self.requests = 0  # for memory, of the last call
        self.call(0, 0)  # what is kept once and for all
        self.base = self.live()
        self.expected = self.call(0, 0)

    def live(self):
        gc.collect()
        return self.own.allocator_live()

    def call(self, at, start):
        """(result, exception, warnings)"""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter('always')
            self.own.allocator_start(at, start)
            try:
                result, raised = self.session(self.tailor, self.folder), None
            except Exception as e:  # whatever it is, the caller judges it
                result, raised = None, e.with_traceback(None)
            finally:
                self.requests = self.own.allocator_seen()
                self.own.allocator_start(0, 0)
        return result, raised, [str(w.message) for w in said]

    def judge(self, at, start):
        """What is wrong, or ''."""
        result, raised, said = self.call(at, start)
        kept = self.live()
        known = self.expected[2]
        if raised is None and result != self.expected[0]:
            return f'another result: {str(result)[:200]}'
        if raised is not None and not self.is_told(raised):
            return f'{type(raised).__name__}: {raised}'
        if any(text not in known and MEMORY not in text for text in said):
            return f'warns of what is not so: {said}'
        del raised
        kept = self.live()
        return f'{kept - self.base} blocks are not given back' if kept != self.base else ''

    def is_told(self, raised):
        """True if it is lack of memory, behind nothing but what is said with memory, too."""
        if not isinstance(raised, self.tailor.InternalError) or raised.code != INTERNAL:
            return False
        errors = [m for m in raised.messages if m.severity == 'error']
        so = self.expected[0] if isinstance(self.expected[0], str) else ''
        return bool(errors) and MEMORY in errors[-1].what and \
            all(m.what in so for m in errors[:-1])


def sampled(count, most):
    if not most or count <= most:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})


def check(trial, most):
    """(passed, failed)"""
    passed = failed = 0
    for n in sampled(trial.requests, most):
        for kind, given in (('request', (n, 0)), ('from request', (0, n))):
            wrong = trial.judge(*given)
            if wrong:
                print(f'FAIL {trial.session.__name__}, {kind} {n}: {wrong}', flush=True)
            passed, failed = passed + (not wrong), failed + bool(wrong)
    return passed, failed


def prepare(tailor, folder):
    model = tailor.load(SIMPLE, name='m.tir')
    model.save(os.path.join(folder, 'simple.tir'))
    model.save(os.path.join(folder, 'simple.onnx'))
    tailor.load(SIMPLE, name='m.tir', external_weight=2).save(
        os.path.join(folder, 'big.onnx'))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--library', required=True)
    parser.add_argument('--allocator', required=True)
    parser.add_argument('--sample', type=int, default=0)
    parser.add_argument('--only', default='')
    args = parser.parse_args()
    logging.getLogger('tailor').setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix='tailor-oom-') as folder:
        install(args.library, folder)
        import tailor
        own = counting(args.allocator, tailor._library.lib)
        prepare(tailor, folder)
        totals = [check(Trial(tailor, own, session, folder), args.sample)
                  for session in SESSIONS if args.only in session.__name__]
    failed = sum(f for _, f in totals)
    print(f'{sum(p for p, _ in totals)} passed, {failed} failed, 0 skipped')
    return min(failed, 1)


if __name__ == '__main__':
    sys.exit(main())
