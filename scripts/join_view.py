# SPDX-License-Identifier: Apache-2.0
"""Joins the parts of the page of `tailor view`: join_view.py WEB_DIR OUT [DEPFILE]. The files that
parts.txt lists become one script in one function, and the page's policy gets the hashes of script
and style. The mark @DATA@ remains in OUT, once: the command writes the model's data there."""
import base64
import hashlib
import os
import sys


def read(folder, name):
    with open(os.path.join(folder, name), encoding='utf-8') as f:
        return f.read()


def without_licence_line(text):
    lines = text.split('\n')
    return '\n'.join(lines[1:] if 'SPDX' in lines[0] else lines)


def script(folder):
    """All parts in one function; 'FILE as NAME' is a library that becomes a function of its own,
    since the worker gets it as text."""
    out = ['(() => {', "'use strict';"]
    for line in read(folder, 'parts.txt').split('\n'):
        words = line.split('#')[0].split()
        if len(words) == 3:
            out += [f'function {words[2]}() {{', read(folder, words[0]), 'return dagre;', '}']
        elif words:
            out.append(without_licence_line(read(folder, words[0])))
    return '\n'.join(out + ['})();', ''])


def hash_of(text):
    return 'sha256-' + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(folder):
    style, code = without_licence_line(read(folder, 'style.css')), script(folder)
    for text, end in ((style, '</style'), (code, '</script'), (code, '<!--')):
        if end in text:
            sys.exit(f'{folder}: {end} stands in what goes between such marks')
    policy = ("default-src 'none'; script-src '" + hash_of(code) + "'; style-src '" +
              hash_of(style) + "'; worker-src blob:; img-src data: blob:; connect-src 'none'; "
              "base-uri 'none'; form-action 'none'")
    text = without_licence_line(read(folder, 'shell.html'))
    for mark, part in (('@CSP@', policy), ('@STYLE@', style), ('@SCRIPT@', code)):
        if text.count(mark) != 1:
            sys.exit(f'shell.html: the mark {mark} stands there once')
        text = text.replace(mark, part)
    if text.count('@DATA@') != 1:
        sys.exit('the mark @DATA@ stands once in the page')
    return text


def main(folder, out, depfile=None):
    with open(out, 'w', encoding='utf-8') as f:
        f.write(page(folder))
    if depfile:  # for the build: all that was read
        names = [line.split('#')[0].split() for line in read(folder, 'parts.txt').split('\n')]
        parts = ['shell.html', 'style.css', 'parts.txt', *(words[0] for words in names if words)]
        with open(depfile, 'w', encoding='utf-8') as f:
            f.write(f'{out}: ' + ' '.join(os.path.join(folder, part) for part in parts) + '\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
