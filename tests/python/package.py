#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package against the command and numpy.

  package.py --tailor BIN --library libtailor.so [--every N]

Models of Debian's libonnx-testdata (every N-th), and those of a corpus beside the repository, are
optimized from memory: the bytes are those of the command. Needs python3-numpy and python3-onnx."""
import argparse
import glob
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import unittest
import warnings

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

OFFICIAL = '/usr/lib/python3/dist-packages/onnx/backend/test/data'
ARGS = None
FOLDER = []  # where the package is


def install(library, folder):
    """Puts the package into a folder as a wheel has it: the library beside its modules."""
    package = os.path.join(folder, 'tailor')
    shutil.copytree(os.path.join(ROOT, 'lib', 'python', 'tailor'), package,
                    ignore=shutil.ignore_patterns('__pycache__'))
    os.symlink(os.path.abspath(library), os.path.join(package, 'libtailor.so.1'))
    sys.path.insert(0, folder)
    FOLDER.append(folder)


def small_model(columns=4):
    """y = Relu(x w + b), with an Identity in between, as onnx.ModelProto."""
    import numpy
    from onnx import TensorProto, helper, numpy_helper
    w = numpy.arange(3 * columns, dtype=numpy.float32).reshape(3, columns)
    nodes = [helper.make_node('MatMul', ['x', 'w'], ['t'], 'product'),
             helper.make_node('Add', ['t', 'b'], ['u'], 'sum'),
             helper.make_node('Identity', ['u'], ['v'], 'same'),
             helper.make_node('Relu', ['v'], ['y'], 'relu')]
    graph = helper.make_graph(
        nodes, 'g', [helper.make_tensor_value_info('x', TensorProto.FLOAT, ['n', 3])],
        [helper.make_tensor_value_info('y', TensorProto.FLOAT, ['n', columns])],
        [numpy_helper.from_array(w, 'w'),
         numpy_helper.from_array(numpy.ones(columns, numpy.float32), 'b')])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])


class Session(unittest.TestCase):
    """What docs/python.md and the READMEs do, step by step."""

    def setUp(self):
        import tailor
        self.tailor, self.proto = tailor, small_model()
        self.model = tailor.load(self.proto)

    def test_look(self):
        m = self.model
        self.assertEqual([(v.name, v.dtype, v.shape) for v in m.inputs],
                         [('x', 'float32', ('n', 3))])
        self.assertEqual([n.op for n in m.nodes], ['MatMul', 'Add', 'Identity', 'Relu'])
        self.assertEqual(m.nodes[0].inputs, ('x', 'w'))
        self.assertEqual(m.weights['w'].sum(), 66)
        self.assertEqual(len(m), 4)
        self.assertIn('x', m._repr_html_())

    def test_numbers_that_devices_know(self):
        """A refused comparison leaves no message for the next call on either model."""
        one = self.tailor.load(b'graph(%c: bool[], %x: f32[2]) -> (%c) {}', name='a.tir')
        other = self.tailor.load(b'graph(%c: bool[], %x: hif8[2]) -> (%c) {}', name='b.tir')
        for a, b in ((one, other), (other, one)):
            with self.assertRaises(self.tailor.TailorError) as e:
                a.verify(b)
            self.assertIn(e.exception.code, (1, 3))
            self.assertEqual((a.nodes, b.nodes), ([], []))

    def test_weights_are_views(self):
        data = bytearray(self.proto.SerializeToString())
        weights = self.tailor.load(data).weights['w']
        start = data.index(self.proto.graph.initializer[0].raw_data)
        data[start:start + 4] = b'\0\0\x80\x3f'  # 1.0, where 0.0 was
        self.assertEqual(weights[0, 0], 1)
        with self.assertRaises(ValueError):
            weights[0, 0] = 2

    def test_optimize_keeps_the_original(self):
        better = self.model.optimize()
        self.assertEqual((len(self.model), len(better) < 4), (4, True))
        self.assertTrue(self.model.verify(better))
        self.assertTrue(self.model.verify(better).equal)

    def test_air(self):
        made = self.model.optimize(to='air', soc_version='Ascend310P3', input_shape={'x': [2, 3]})
        self.assertGreater(len(made.to_bytes('air')), 100)
        with self.assertRaises(self.tailor.TailorError):
            made.to_bytes('onnx')

    def test_round_trip_as_proto(self):
        made = self.model.optimize().to_onnx()
        self.assertEqual([v.name for v in made.graph.output], ['y'])
        self.assertTrue(self.model.verify(self.tailor.load(made)))

    def test_run(self):
        import numpy
        x = numpy.array([[1, 0, 0], [-1, -1, -1]], numpy.float32)
        y = self.model.run({'x': x})['y']
        self.assertTrue((y == [[1, 2, 3, 4], [0, 0, 0, 0]]).all())
        turned = numpy.asfortranarray(x)
        self.assertTrue((self.model.run({'x': turned})['y'] == y).all())
        self.assertEqual(self.model.run(random=True, seed=3)['y'].shape, (1, 4))
        with self.assertRaises(self.tailor.UsageError):
            self.model.run({'x': x.astype('int64')})
        with self.assertRaises(self.tailor.UsageError):
            self.model.run()

    def test_results_outlive_the_model(self):
        import gc
        import numpy
        y = self.tailor.load(self.proto).run({'x': numpy.ones((1, 3), 'float32')})['y']
        gc.collect()
        self.assertEqual(y.tolist(), [[13, 16, 19, 22]])

    def test_collected_in_any_order(self):
        """A garbage collector finalizes a cycle in any order: nothing is freed before what was made
        of it."""
        import gc
        import numpy

        class Holder:
            pass
        x = numpy.ones((1, 3), 'float32')
        names = ['model', 'made', 'y', 'me']
        for turn in range(len(names)):
            order = names[turn:] + names[:turn]
            holder = Holder()
            model = self.tailor.load(self.proto)
            made = model.optimize(progress=lambda *_: order is None)
            parts = {'model': model, 'made': made, 'y': made.run({'x': x})['y'], 'me': holder}
            for name in order:
                setattr(holder, name, parts[name])
            made._context.progress = holder
            del model, made, parts, holder
            gc.collect()
        made = self.tailor.load(self.proto).optimize().copy()
        gc.collect()
        self.assertEqual(made.run({'x': x})['y'].tolist(), [[13, 16, 19, 22]])

    def test_freed_by_another_thread(self):
        """Results that die while their model works wait for the end of that."""
        import numpy
        x, alive = numpy.ones((2, 3), 'float32'), []

        def work():
            for _ in range(50):
                alive.append(self.model.run({'x': x})['y'])
                if len(alive) > 3:
                    alive.pop(0)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(alive[0].tolist(), [[13, 16, 19, 22]] * 2)
        alive.clear()
        with self.model._context.lock as turn:
            self.assertFalse(turn.waiting)

    def test_copies(self):
        import copy
        import pickle
        for made in (self.model.copy(), copy.copy(self.model), copy.deepcopy(self.model)):
            self.assertEqual(made.to_bytes(), self.model.to_bytes())
        with self.assertRaisesRegex(TypeError, 'to_bytes'):
            pickle.dumps(self.model)

    def test_arguments_that_c_would_cut(self):
        import numpy
        x = {'x': numpy.ones((1, 3), 'float32')}
        for wrong in ({'threads': -1}, {'seed': 1 << 64}, {'seed': 0.5}, {'emulate': 'int9'}):
            with self.assertRaises(self.tailor.UsageError):
                self.model.run(x, **wrong)
        with self.assertRaises(self.tailor.UsageError):
            self.model.optimize(memory_limit=-1)
        with tempfile.TemporaryDirectory() as folder:
            for call in (lambda: self.tailor.load(folder + '/m.onnx\0.onnx'),
                         lambda: self.model.save(folder + '/m.onnx\0.tir'),
                         lambda: self.model.optimize(soc_version='Ascend310P3\0')):
                with self.assertRaisesRegex(ValueError, 'NUL'):
                    call()
            self.assertEqual(os.listdir(folder), [])
        for wrong in ({1: x['x']}, x['x'], [x]):
            with self.assertRaises(TypeError):
                self.model.run(wrong)
        with self.assertRaises(TypeError):
            self.model.verify(self.proto)
        with self.assertRaises(self.tailor.UsageError) as caught:
            self.model.to_bytes('om')
        self.assertNotIn('/', str(caught.exception))

    def test_arrays_of_any_layout(self):
        import numpy
        want = [[13, 16, 19, 22]] * 2
        wide = numpy.ones((4, 6), 'float32')
        for x in (wide[::2, ::2], wide[:3, :2].T, wide[:2, :3][::-1], wide[:2, :3].astype('>f4')):
            self.assertEqual(self.model.run({'x': x})['y'].tolist(), want)
        self.assertEqual(self.model.run({'x': wide[:0, :3]})['y'].shape, (0, 4))
        for x in (numpy.float32(1), wide, wide.astype('float64'), wide.astype('M8[s]'), None,
                  numpy.array(['a']), numpy.zeros((2, 3), 'i4,f4')):
            with self.assertRaises(self.tailor.UsageError):
                self.model.run({'x': x})

    def test_verify_finds_a_difference(self):
        other = small_model()
        other.graph.node[3].op_type = 'Neg'
        found = self.model.verify(self.tailor.load(other), seed=1)
        self.assertFalse(found)
        self.assertGreater(found.outputs[0].max_abs, 0)
        self.assertIn('<table>', found._repr_html_())

    def test_explain(self):
        told = self.model.explain()
        self.assertIn('clean-up', [p.name for p in told.passes])
        self.assertTrue(told.applied)
        self.assertTrue(all(r.reason for r in told.missed if r.rule))
        self.assertIn('<table>', told._repr_html_())

    def test_errors(self):
        with self.assertRaises(self.tailor.FileError) as caught:
            self.tailor.load('no-such-file.onnx')
        self.assertEqual(caught.exception.code, 4)
        self.assertIsInstance(caught.exception, OSError)
        with self.assertRaises(self.tailor.InputError):
            self.tailor.load(b'no model at all')
        with self.assertRaises(self.tailor.UsageError) as caught:
            self.tailor.load(self.proto, soc_versoin='x')
        self.assertIn('soc-version', caught.exception.messages[0].hint)
        with self.assertRaises(self.tailor.UsageError):
            self.model.optimize(to='om')

    def test_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            self.tailor.load(self.proto, check_report='x')
        self.assertEqual([w.category for w in caught], [self.tailor.TailorWarning])
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            with self.assertRaises(self.tailor.TailorWarning):
                self.tailor.load(self.proto, check_report='x')

    def test_progress_and_cancel(self):
        seen = []
        self.model.optimize(progress=lambda name, step, nodes: seen.append(name))
        self.assertIn('clean-up', seen)
        with self.assertRaises(self.tailor.Cancelled):
            self.model.optimize(progress=lambda *event: True)
        with self.assertRaises(KeyError):
            self.model.optimize(progress=lambda *event: {}['missing'])

    def test_rules(self):
        rules = ('rules 1\nrule Mine : cleanup numerics exact about "x" {\n'
                 '  match { %y = Relu(%x) }\n  replace { %y = Sigmoid(%x) }\n}\n')
        made = self.model.optimize(rules=rules, passes=['clean-up'])
        self.assertIn('Sigmoid', [n.op for n in made.nodes])
        made = self.tailor.load(self.proto, rules=rules).optimize(passes=['clean-up'])
        self.assertIn('Sigmoid', [n.op for n in made.nodes])

    def test_files_that_change(self):
        """A model that was read is independent of its files; a mapped one of other files with its
        names."""
        large = self.tailor.load(small_model(columns=400))
        files = large.optimize(external_weight=1).to_files('m.onnx')
        for read, change in ((True, os.truncate), (True, lambda path, _: os.remove(path)),
                             (False, lambda path, _: os.remove(path)),
                             (False, lambda path, _: os.rename(path, path + '.old'))):
            with tempfile.TemporaryDirectory() as folder:
                for name, data in files.items():
                    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                    with open(os.path.join(folder, name), 'wb') as f:
                        f.write(data)
                made = self.tailor.load(os.path.join(folder, 'm.onnx'), read=read)
                before = made.to_files('m.onnx')
                for name in files:
                    change(os.path.join(folder, name), 0)
                self.assertEqual(made.weights['w'].sum(), 1199 * 600)
                self.assertEqual(made.to_files('m.onnx'), before)
                self.assertTrue(made.verify(large))

    def test_external_data(self):
        from onnx import TensorProto
        with tempfile.TemporaryDirectory() as folder:
            w = self.proto.graph.initializer[0]
            with open(os.path.join(folder, 'w.bin'), 'wb') as f:
                f.write(w.raw_data)
            w.ClearField('raw_data')
            w.data_location = TensorProto.EXTERNAL
            w.external_data.add(key='location', value='w.bin')
            with self.assertRaises(self.tailor.UnsupportedError):
                self.tailor.load(self.proto)
            path = os.path.join(folder, 'm.onnx')
            with open(path, 'wb') as f:
                f.write(self.proto.SerializeToString())
            self.assertEqual(self.tailor.load(path).weights['w'].sum(), 66)
            w.external_data[0].value = '../w.bin'  # leaves the folder: nobody is asked
            with self.assertRaises(self.tailor.InputError):
                self.tailor.load(self.proto, files=self.fail)
        large = self.tailor.load(small_model(columns=400))
        files = large.optimize(external_weight=2).to_files('m.onnx')
        self.assertEqual(len(files), 2)
        self.assertEqual(list(files)[-1], 'm.onnx')  # files of weights come first
        self.assertGreaterEqual(sum(map(len, files.values())), 4800)

    def test_files_in_memory(self):
        import numpy
        large = self.tailor.load(small_model(columns=400))
        files = large.optimize(external_weight=2).to_files('m.onnx')
        model = files.pop('m.onnx')
        (name, weights), = files.items()
        asked = []

        def give(which):
            asked.append(which)
            return files.get(which)
        for source in (files, give):
            made = self.tailor.load(model, name='m.onnx', files=source)
            self.assertTrue(large.verify(made).equal)
            self.assertTrue(made.optimize().verify(made).equal)
        self.assertEqual(asked, [name])
        address = numpy.frombuffer(weights, 'uint8').ctypes.data
        self.assertIn(address, [w.ctypes.data for w in made.weights.values()])  # no copy
        with self.assertRaises(self.tailor.FileError):
            self.tailor.load(model, files={})
        with self.assertRaises(self.tailor.InputError):
            self.tailor.load(model, files={name: weights[:-1]})
        with self.assertRaises(ZeroDivisionError):
            self.tailor.load(model, files=lambda which: 1 // 0)
        with self.assertRaises(TypeError):
            self.tailor.load(model, files=lambda which: 'no bytes')

    def test_threads(self):
        made = []

        def work():
            made.append(self.model.optimize().to_bytes())
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(made, [made[0]] * 4)

    def test_tables(self):
        self.assertIn('soc_version', self.tailor.options())
        self.assertIn('soc_version', self.model.optimize.__doc__)
        self.assertIn('dead-nodes', self.tailor.passes())


class Document(unittest.TestCase):
    """The sessions of docs/python.md."""

    def test_sessions(self):
        import doctest
        with open(os.path.join(ROOT, 'docs', 'python.md'), encoding='utf-8') as f:
            blocks = re.findall(r'^```python\n(.*?)^```$', f.read(), re.M | re.S)
        test = doctest.DocTestParser().get_doctest('\n'.join(blocks), {'proto': small_model()},
                                                   'docs/python.md', None, 0)
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            try:
                runner = doctest.DocTestRunner()
                runner.run(test)
            finally:
                os.chdir(here)
        self.assertGreater(runner.tries, 10)
        self.assertEqual(runner.failures, 0)


class Chain(unittest.TestCase):
    """examples/chain: what PyTorch exports, optimized, in a session of ONNX Runtime."""

    def test_chain(self):
        modules = os.path.join(ROOT, 'tests', 'ort', 'node_modules')
        if not os.path.isdir(os.path.join(modules, 'onnxruntime-node')):
            self.skipTest('no onnxruntime-node: sh scripts/install-deps test')
        runner = 'node ' + os.path.join(ROOT, 'tools', 'runners', 'onnxruntime.js')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'm.onnx')
            with open(path, 'wb') as f:
                f.write(small_model().SerializeToString())
            models = [[path]] + ([] if importlib.util.find_spec('torch') is None else [[]])
            for model in models:
                p = guard.run([sys.executable, os.path.join(ROOT, 'examples/chain/chain.py'),
                               *model, '--runner', runner], capture_output=True, text=True,
                              env=dict(os.environ, NODE_PATH=modules, PYTHONPATH=FOLDER[0]))
                self.assertEqual(p.returncode, 0, p.stderr)
                counts = re.match(r'(\d+) nodes, (\d+) after .* the same$', p.stdout)
                self.assertLess(int(counts[2]), int(counts[1]))


class Command(unittest.TestCase):
    """The package and the command are one program."""

    def models(self):
        paths = sorted(glob.glob(os.path.join(OFFICIAL, 'node', '*', 'model.onnx')))
        paths += sorted(glob.glob(os.path.join(OFFICIAL, 'light', '*.onnx')))
        corpus = os.path.join(os.path.dirname(ROOT), 'shared', 'corpus')
        paths = paths[::ARGS.every]
        more = sorted(glob.glob(os.path.join(corpus, '**', '*.onnx'), recursive=True))
        return paths + [p for p in more[::10 * ARGS.every] if os.path.getsize(p) < 1 << 20]

    def by_command(self, path, work):
        """The optimized bytes, or the exit code."""
        out = os.path.join(work, 'out.onnx')
        p = guard.run([ARGS.tailor, 'convert', path, '-o', out, '--quiet', '--summary=none'],
                      capture_output=True, text=True)
        if p.returncode:
            return p.returncode
        with open(out, 'rb') as f:
            return f.read()

    def by_package(self, path):
        import tailor
        with open(path, 'rb') as f:
            data = f.read()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                return tailor.load(data, name='m.onnx').optimize().to_bytes()
        except tailor.TailorError as e:
            return e.code

    def test_the_same_bytes(self):
        paths = self.models()
        if not paths:
            self.skipTest('no models: apt-get install libonnx-testdata')
        with tempfile.TemporaryDirectory() as work:
            for path in paths:
                with self.subTest(path):
                    want = self.by_command(path, work)
                    if want != 3:  # a file has external data beside it, memory has not
                        self.assertEqual(self.by_package(path), want)
        print(f'{len(paths)} models optimized from memory')

    def test_overhead(self):
        """The binding itself: what a load and a save of a small model take beyond the library."""
        import tailor
        data, best = small_model().SerializeToString(), 1.0
        for _ in range(20):
            start = time.process_time()
            tailor.load(data).to_bytes()
            best = min(best, time.process_time() - start)
        print(f'overhead: load and save of four nodes {best * 1e3:.2f} ms')
        self.assertLess(best, 0.02)


def main():
    global ARGS
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    p.add_argument('--library', required=True)
    p.add_argument('--every', type=int, default=20)
    ARGS = p.parse_args()
    try:
        import numpy  # noqa: F401
        import onnx  # noqa: F401
    except ImportError as e:
        print(f'skip python: {e}\n0 passed, 0 failed, 1 skipped')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        install(ARGS.library, folder)
        suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
        result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f'{result.testsRun - failed} passed, {failed} failed, {len(result.skipped)} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
