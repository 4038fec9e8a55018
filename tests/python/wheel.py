#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel: its tag, its size, what is in it, and that it works where there is no compiler.

  wheel.py --library libtailor.so [--build]

Without --build the wheel is put together as meson-python does it, from a library that is built
already; lib/python/wheel_backend.py marks it. With --build pip does all of it, as users do."""
import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types
import unittest
import zipfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
import guard  # noqa: E402

PACKAGE = os.path.join(ROOT, 'lib', 'python', 'tailor')
PYTHON = '/usr/bin/python3'
PLATFORM = re.sub(r'[-.]', '_', sysconfig.get_platform())
# Today it is 2.1 MB: the stripped library takes 6.3 MB before it is compressed.
LARGEST = 3 << 20
ARGS = None

USE = """
import sys, numpy, tailor
assert tailor.__file__.startswith(sys.prefix), tailor.__file__
try:
    tailor.load(b'no model at all')
except tailor.InputError as e:
    print(e.code)
print(len(tailor.options()) > 50, 'soc_version' in tailor.options())
"""


def digest(data):
    return 'sha256=' + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()


def as_meson_python(folder, *_):
    """A wheel as meson-python writes it: it takes the library for a module of this Python."""
    tag = f'cp{sys.version_info[0]}{sys.version_info[1]}'
    name, info = f'tailor-0.1.0-{tag}-{tag}-{PLATFORM}.whl', 'tailor-0.1.0.dist-info/'
    with tempfile.TemporaryDirectory() as work:
        library = os.path.join(work, 'libtailor.so.1')
        subprocess.run(['strip', '--strip-unneeded', '-o', library, ARGS.library], check=True)
        paths = {'tailor/libtailor.so.1': library}
        for file in os.listdir(PACKAGE):
            paths['tailor/' + file] = os.path.join(PACKAGE, file)
        data = {info + 'METADATA': b'Metadata-Version: 2.1\nName: tailor\nVersion: 0.1.0\n',
                info + 'WHEEL': ('Wheel-Version: 1.0\nGenerator: meson\nRoot-Is-Purelib: false\n'
                                 f'Tag: {tag}-{tag}-{PLATFORM}').encode()}
        for inside, path in paths.items():
            if os.path.isfile(path):
                with open(path, 'rb') as f:
                    data[inside] = f.read()
    lines = [f'{path},{digest(b)},{len(b)}\n' for path, b in data.items()]
    data[info + 'RECORD'] = ''.join(lines + [info + 'RECORD,,\n']).encode()
    with zipfile.ZipFile(os.path.join(folder, name), 'w', zipfile.ZIP_DEFLATED) as wheel:
        for inside, b in data.items():
            wheel.writestr(inside, b)
    return name


def make(folder):
    """Makes the wheel in a folder; its path."""
    if ARGS.build:
        subprocess.run([PYTHON, '-m', 'pip', 'wheel', ROOT, '--no-build-isolation', '--no-deps',
                        '--no-index', '-w', folder], check=True, stdout=subprocess.DEVNULL)
        return os.path.join(folder, *os.listdir(folder))
    backend = types.ModuleType('mesonpy')
    backend.build_wheel = as_meson_python
    sys.modules['mesonpy'] = backend
    sys.path.insert(0, os.path.join(ROOT, 'lib', 'python'))
    import wheel_backend
    return os.path.join(folder, wheel_backend.build_wheel(folder))


class Wheel(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = make(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_one_file_for_every_python(self):
        """No ABI of a Python: what has no extension module fits all of them."""
        self.assertEqual(os.listdir(self.folder.name), [os.path.basename(self.path)])
        self.assertEqual(os.path.basename(self.path), f'tailor-0.1.0-py3-none-{PLATFORM}.whl')
        with zipfile.ZipFile(self.path) as wheel:
            told = wheel.read('tailor-0.1.0.dist-info/WHEEL').decode()
        self.assertIn(f'Tag: py3-none-{PLATFORM}', told.splitlines())
        self.assertIn('Root-Is-Purelib: false', told.splitlines())

    def test_the_package_and_one_library(self):
        with zipfile.ZipFile(self.path) as wheel:
            names = wheel.namelist()
        sources = [f for f in os.listdir(PACKAGE) if f != '__pycache__']
        self.assertEqual(sorted(n for n in names if '.dist-info/' not in n),
                         sorted('tailor/' + n for n in sources + ['libtailor.so.1']))
        self.assertLess(os.path.getsize(self.path), LARGEST)

    def test_meson_knows_all_modules(self):
        with open(os.path.join(ROOT, 'lib', 'python', 'meson.build'), encoding='utf-8') as f:
            listed = re.findall(r"'(\w+\.\w+)'[,\]]", f.read().split('endforeach')[0])
        self.assertEqual(sorted(listed), sorted(f for f in os.listdir(PACKAGE) if '.' in f))

    def test_record(self):
        """Installers compare files with the list, which comes last."""
        with zipfile.ZipFile(self.path) as wheel:
            names = wheel.namelist()
            listed = dict(line.split(',', 1) for line in wheel.read(names[-1]).decode().split())
            for name in names[:-1]:
                data = wheel.read(name)
                self.assertEqual(listed[name], f'{digest(data)},{len(data)}')
        self.assertEqual(sorted(listed), sorted(names))

    def test_works_without_a_compiler(self):
        if guard.run([PYTHON, '-m', 'pip', '--version'], capture_output=True).returncode:
            self.skipTest('no pip: apt-get install python3-pip')
        home = os.path.join(self.folder.name, 'venv with a space')
        self.addCleanup(shutil.rmtree, home)
        subprocess.run([PYTHON, '-m', 'venv', '--without-pip', '--system-site-packages', home],
                       check=True)
        python = os.path.join(home, 'bin', 'python3')
        subprocess.run([PYTHON, '-m', 'pip', '--python', python, 'install', '--no-index',
                        '--no-deps', self.path], check=True, stdout=subprocess.DEVNULL)
        used = guard.run([python, '-c', USE], capture_output=True, text=True, cwd='/',
                         env={'PATH': '/nowhere'})
        self.assertEqual((used.stdout, used.stderr), ('2\nTrue True\n', ''))


def main():
    global ARGS
    p = argparse.ArgumentParser()
    p.add_argument('--library', required=True)
    p.add_argument('--build', action='store_true')
    ARGS = p.parse_args()
    try:
        import numpy  # noqa: F401
    except ImportError as e:
        print(f'skip wheel: {e}\n0 passed, 0 failed, 1 skipped')
        return 0
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f'{result.testsRun - failed} passed, {failed} failed, {len(result.skipped)} skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
