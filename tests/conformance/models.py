# SPDX-License-Identifier: Apache-2.0
"""The model sets: official node tests of Debian's libonnx-testdata, and the corpus beside the
project when it is there. A case is (name, model path, folder of reference data or None, whether
ONNX Runtime loads it, whether ONNX Runtime reproduces the data)."""
import collections
import os

Case = collections.namedtuple('Case', 'name path data ort reproduced', defaults=[None])

OFFICIAL = '/usr/lib/python3/dist-packages/onnx/backend/test/data'


def find_shared(root):
    """../shared beside the checkout, or None."""
    folder = os.path.join(os.path.dirname(root), 'shared')
    return folder if os.path.isdir(os.path.join(folder, 'corpus')) else None


def data_folder(case_dir):
    for name in ('test_data_set_0', 'ort_data_set_0'):
        folder = os.path.join(case_dir, name)
        if os.path.isdir(folder):
            return folder
    return None


def official(_root):
    """Every model of the official suite. Whether ONNX Runtime runs one is found out by trying."""
    for base, dirs, files in os.walk(OFFICIAL):
        dirs.sort()
        if 'model.onnx' in files:
            name = os.path.relpath(base, OFFICIAL)
            yield Case(name, os.path.join(base, 'model.onnx'), data_folder(base), None)


def corpus(root):
    """The corpus' cases; `ort` says whether ONNX Runtime loads the original (MANIFEST.tsv)."""
    shared = find_shared(root)
    if not shared:
        return
    base = os.path.join(shared, 'corpus')
    with open(os.path.join(base, 'MANIFEST.tsv'), encoding='utf-8') as f:
        head = f.readline().rstrip('\n').split('\t')
        for line in f:
            row = dict(zip(head, line.rstrip('\n').split('\t')))
            path = os.path.join(base, row['path'])
            folder = os.path.dirname(path)
            reproduced = row['ref'].startswith('match') or row['ref'] == 'ort-made'
            yield Case(os.path.dirname(row['path']), path, data_folder(folder), row['ort'] == 'ok',
                       reproduced)


SETS = {'official': official, 'corpus': corpus}
