#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""citations.py finds what is not there, and accepts what is."""
import sys

import citations

PROJECT = citations.Project()
# check, kind of file, text, how many problems
CASES = [
    ('links', 'docs/a.md', 'see [options](options.md) and [the map](../ARCHITECTURE.md)', 0),
    ('links', 'docs/a.md', '[x](nothing.md)', 1),
    ('links', 'docs/a.md', '[x](rules.md#scopes) [y](rules.md#no-such-heading)', 1),
    ('links', 'docs/a.md', '# A title\n[x](#a-title) [web](https://example.com/nothing)', 1),
    ('links', 'docs/a.md', '```\n[x](nothing.md)\n```\n`[y](nothing.md)`', 0),
    ('paths', 'docs/a.md', '`tools/main.c` `docs/` `frontend/config/{options,run_config}.tbl`', 0),
    ('paths', 'docs/a.md', '`tools/nothing.c`', 1),
    ('paths', 'docs/a.md', '`tests/golden/PASS/BEHAVIOUR.tir` `passes/rules/*.tlr`', 0),
    ('paths', 'docs/a.md', '`passes/rules/*.nothing` `nothing/NAME.c`', 1),
    ('paths', 'docs/a.md', 'not in backticks: tools/nothing.c', 0),
    ('paths', 'ir/a.c', '/* see tools/main.c */ int x; // docs/nothing.md', 1),
    ('paths', 'ir/a.c', 'const char *s = "docs/nothing.md /* not a comment */";', 0),
    ('paths', 'tests/a.py', '"""docs/nothing.md"""\nx = "docs/nothing.md"  # docs/README.md', 1),
    ('paths', 'ir/meson.build', '# docs/nothing.md\nx = \'docs/nothing.md\'', 1),
    ('paths', 'tests/golden/a.tir', '# see docs/nothing.md\n  %a = Exp(%x) # docs/nothing.md', 1),
    ('paths', 'scripts/a', '#!/usr/bin/python3\nx = "docs/nothing.md"  # docs/nothing.md', 1),
    ('names', 'docs/a.md', '`passes.tbl` `main.c`', 0),
    ('names', 'ir/a.h', '/* nothing_at_all.c does it */', 1),
    ('names', 'docs/a.md', '`mine.h`:\n\n```\n```\n`mine.h` is shown above', 0),
    ('commands', 'docs/a.md', '`tailor convert --soc_version=X -o y` `tailor passes`', 0),
    ('commands', 'docs/a.md', '`tailor convrt`', 1),
    ('commands', 'docs/a.md', '`tailor info --soc-version=X --passes=y`', 1),
    ('commands', 'docs/a.md', '```sh\nbuild/tools/tailor opt m.tir \\\n  --nothing\n```', 1),
    ('commands', 'docs/a.md', '`--input-shape=X` `--ge.inputShape` `--nothing`', 1),
    ('index', 'docs/README.md', '[a](options.md)',
     len([f for f in PROJECT.files if f.startswith('docs/') and f.endswith('.md') and
          f.count('/') == 1]) - 2),
]


def main():
    failed = 0
    for check, path, text, wanted in CASES:
        found = list(citations.CHECKS[check](PROJECT, path, text))
        if len(found) != wanted:
            failed += 1
            print(f'FAIL {check} of {text!r}: {len(found)} problems, {wanted} expected: {found}')
    print(f'{len(CASES) - failed} passed, {failed} failed, 0 skipped')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
