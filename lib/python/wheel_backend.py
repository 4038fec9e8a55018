# SPDX-License-Identifier: Apache-2.0
"""meson-python, with the tag that the wheel deserves.

The package has a library, which belongs to a platform, and no extension module of one Python.
meson-python takes every library beside modules for such a module; the wheel is marked anew as
py3-none-PLATFORM after it is built. The rest of the build is meson-python's own."""
import base64
import hashlib
import os
import re
import zipfile

from mesonpy import *  # noqa: F401, F403
from mesonpy import build_wheel as _build_wheel

OF_ONE_PYTHON = re.compile(r'-(?:cp|pp)\d\w*-\w+-(?=[^-]+\.whl$)')


def _record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
    return f'{name},sha256={digest},{len(data)}'


def _changed(name, data, tag, marked):
    """The bytes of one file of the wheel; `marked` becomes what RECORD says of the file WHEEL."""
    if name.endswith('.dist-info/WHEEL'):
        data = re.sub(rb'(?m)^Tag: .*$', b'Tag: ' + tag.encode(), data)
        marked[name] = _record_line(name, data)
    elif name.endswith('.dist-info/RECORD'):
        lines = data.decode().split('\n')
        data = '\n'.join(marked.get(s.split(',')[0], s) for s in lines).encode()
    return data


def mark(path):
    """Writes the wheel again without the Python in its tag, and removes the old one; its path."""
    made = OF_ONE_PYTHON.sub('-py3-none-', path)
    if made == path:
        return path
    tag, marked = '-'.join(made[:-len('.whl')].split('-')[-3:]), {}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, 'w') as new:
        # RECORD last: it tells of all others.
        for item in sorted(old.infolist(), key=lambda i: i.filename.endswith('/RECORD')):
            data = _changed(item.filename, old.read(item), tag, marked)
            new.writestr(item, data, zipfile.ZIP_DEFLATED, 9)
    os.remove(path)
    return made


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = _build_wheel(wheel_directory, config_settings, metadata_directory)
    return os.path.basename(mark(os.path.join(wheel_directory, name)))
