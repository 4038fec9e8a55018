#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the command line leaves in AIR files.

  test_air_options.py --tailor BIN

Every option that frontend/config/options.tbl says is carried must stand in the model's attributes,
alone and under GE's key; every option that is accepted without effect must warn exactly once; what
shapes inputs must reach the Data nodes. Files are decoded by tests/oracle/air_check.py."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tests', 'oracle'))
import air_check  # noqa: E402
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import guard  # noqa: E402

MODEL = 'graph @g(%x: f32[n,3,8,8]) -> (%y) {\n  %y = Relu(%x)\n}\n'
ROW = re.compile(r'^(CARRY|WARN)\((.*?)\)$', re.M | re.S)
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|(\w+)')
# Texts that are more than a word, with what else the option asks for.
TEXTS = {
    'input-hint-shape': ('0:[1,3,8,8]', []),
    'aicore-num': ('20', []),
    'is-input-adjust-hw-layout': ('true', []),
    'is-output-adjust-hw-layout': ('true', []),
}
# Profiles: values, the input shape whose open dims they fill, GE's key.
PROFILES = {
    'dynamic-batch-size': ('1,2,4', 'x:-1,3,8,8', 'ge.dynamicBatchSize'),
    'dynamic-image-size': ('8,8;16,16', 'x:1,3,-1,-1', 'ge.dynamicImageSize'),
    'dynamic-dims': ('1;2', 'x:-1,3,8,8', 'ge.dynamicDims'),
}
# Words of run configurations for what the device compiler counts.
WORDS = {('jit-compile', 'false'): '0'}


def rows(fate):
    """Name, kind, values and the rest of every row of a fate."""
    with open(os.path.join(ROOT, 'frontend', 'config', 'options.tbl'), encoding='utf-8') as f:
        table = f.read()
    for match in ROW.finditer(re.sub(r'"\s*\n\s*"', '', table[table.index('#endif'):])):
        if match.group(1) == fate:
            _, name, kind, values, *rest = [a or b for a, b in WORD.findall(match.group(2))]
            yield name, kind, values, rest


def value_of(name, kind, values):
    if name in TEXTS:
        return TEXTS[name]
    choices = {'BIT': '1', 'BOOL': 'true', 'INT': '7', 'CHOICE': values.split('|')[-1]}
    return choices.get(kind, 'some/thing'), []


class Run:
    def __init__(self, tool, folder):
        self.tool = tool
        self.folder = folder
        with open(os.path.join(folder, 'm.tir'), 'w', encoding='utf-8') as f:
            f.write(MODEL)
        path = os.path.join(folder, 'aipp.cfg')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('aipp_op { aipp_mode: dynamic max_src_image_size: 192 }\n')
        TEXTS['insert-op-conf'] = (path, [])

    def convert(self, *arguments):
        """Exit code, messages and the decoded model, None when there is none."""
        path = os.path.join(self.folder, 'm.air')
        if os.path.exists(path):
            os.unlink(path)
        p = guard.run([self.tool, 'convert', 'm.tir', '-o', 'm.air', '--summary=none',
                       *arguments], cwd=self.folder, capture_output=True, text=True,
                      stdin=subprocess.DEVNULL)
        if not os.path.exists(path):
            return p.returncode, p.stderr, None
        with open(path, 'rb') as f:
            data = f.read()
        faults = []
        decoder = air_check.Decoder(lambda code, text: faults.append(f'{code} {text}'))
        model = decoder.decode('ModelDef', data, 0, len(data))
        return p.returncode, p.stderr + ''.join(faults), model


def strings(model):
    return {key: bytes(value['s']).decode() for key, value in model.attr.items()}


def carried(run):
    for name, kind, values, rest in rows('CARRY'):
        value, more = value_of(name, kind, values)
        code, messages, model = run.convert(f'--{name}={value}', *more)
        found = strings(model) if model else None
        wanted = {rest[1]: WORDS.get((name, value), value)}
        yield name, code == 0 and not messages and found == wanted, (code, messages, found)
        code, messages, model = run.convert(f'--{name.replace("-", "_")}', value, *more)
        yield name + ' (atc)', code == 0 and strings(model) == wanted, (code, messages)


def warned(run):
    for name, kind, values, _ in rows('WARN'):
        value, _ = value_of(name, kind, values)
        code, messages, model = run.convert(f'--{name}={value}')
        once = messages.count('warning:') == 1 and f'--{name}:' in messages
        yield name, code == 0 and once and not model.attr, (code, messages)


def inputs(run):
    """--input-format, --input-shape and --soc-version in the file."""
    def data(model):
        return model.graph[0].op[0].input_desc[0]
    _, _, model = run.convert()
    yield 'default format', data(model).layout == 'NCHW' and not model.attr, data(model)
    yield 'unknown batch', air_check.dims(data(model)) == [-1, 3, 8, 8], data(model)
    _, _, model = run.convert('--input_format=ND', '--input_shape=x:2,3,8,8')
    yield 'format ND', data(model).layout == 'ND', data(model)
    yield 'fixed batch', air_check.dims(data(model)) == [2, 3, 8, 8], data(model)
    _, _, model = run.convert('--soc_version=Ascend310P3')
    yield 'chip', strings(model) == {'ge.socVersion': 'Ascend310P3'}, model.attr
    _, _, model = run.convert('--input_shape_range=x:[1~4,3,8,8]')
    yield 'range', strings(model) == {'ge.inputShape': 'x:[1~4,3,8,8]'}, model.attr
    _, messages, model = run.convert('--deterministic=1', '--ge.deterministic=0')
    last = strings(model) == {'ge.deterministic': '0'} and messages.count('warning:') == 1
    yield 'the last of two counts', last, messages


def profiles(run):
    """Profiles stand in the file beside the shape that they are for, whose dims stay open."""
    for name, (value, shape, key) in PROFILES.items():
        more = ['--input-format=ND'] if name == 'dynamic-dims' else []
        for spelling in (name, name.replace('-', '_'), key):
            code, messages, model = run.convert(f'--{spelling}={value}', f'--input-shape={shape}',
                                                *more)
            found = strings(model) if model else None
            data = model.graph[0].op[0].input_desc[0] if model else None
            dims = data and air_check.dims(data)
            good = found == {key: value, 'ge.inputShape': shape} and not messages
            good = good and dims == [int(d) for d in shape[2:].split(',')]
            yield spelling, code == 0 and good, (code, messages, found, dims)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--tailor', required=True)
    args = p.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        run = Run(os.path.abspath(args.tailor), folder)
        for family in (carried, warned, inputs, profiles):
            for name, good, seen in family(run):
                passed += bool(good)
                failed += not good
                if not good:
                    print(f'FAIL {family.__name__}: {name}: {seen}')
    print(f'{passed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
