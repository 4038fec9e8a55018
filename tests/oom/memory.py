#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command with one allocation failing, and with all failing from one on: it says "out of
memory" and nothing else, ends with exit code 70, leaves the files as they were and gives all memory
back; or it does without, and then all is as ever.

  memory.py --tailor BIN --faults LIB [--sample N] [--only TEXT] [--jobs N] [--show]

LIB is the library of faults.c; BIN has no sanitizers, which have allocators of their own. --sample
takes N allocations of each command and kind, spread evenly; 0 takes all."""
import argparse
import sys

sys.dont_write_bytecode = True
import commands  # noqa: E402  (beside this file)
import runs  # noqa: E402

INTERNAL = 70
MEMORY = 'out of memory'


class Run(runs.Run):
    """One command line without memory."""

    def judge(self, outcome):
        """What is wrong with how it ended, or ''."""
        code, text, files = outcome.all
        if code < 0 or code > 128 and code != self.whole.code:
            return f'died with {code}: {text[1][-300:]!r}'
        if outcome.all == self.whole.all or self.does_without(outcome):
            return self.leaked(outcome)
        if code not in (INTERNAL, self.whole.code if '--atc-exit' in self.command else INTERNAL) \
                or MEMORY not in text[1]:
            return f'exit code {code}: {text[1][-300:]!r}'
        return self.untrue(text[1]) or self.left(files) or self.leaked(outcome)

    def does_without(self, outcome):
        """All is done, and what could not be done besides is a warning."""
        added = [line for line in outcome.text[1].splitlines()
                 if line not in self.whole.text[1].splitlines()]
        return (outcome.code, outcome.text[0], outcome.files) == \
            (self.whole.code, self.whole.text[0], self.whole.files) and added and \
            all(': warning: ' in line and MEMORY in line.lower().replace('cannot allocate memory',
                                                                         MEMORY)
                for line in added)

    def untrue(self, text):
        """A message that is not so, or ''."""
        known = set(self.whole.text[1].splitlines())
        for line in text.splitlines():
            if line.endswith('_BATCH]'):  # which job it was, and which were left out
                continue
            if ': error: ' in line and MEMORY not in line and line not in known:
                return f'says what is not so: {line}'
            if ': warning: ' in line and line not in known and MEMORY not in line:
                return f'warns of what is not so: {line}'
        return ''

    def left(self, files):
        """Files that it should not have left or changed, or ''."""
        wrong = [f for f in files if files[f] != self.start.get(f)]
        if '--batch' in self.command or '--verify' in self.command:
            # What other jobs have done is done, and so is what is verified.
            wrong = [f for f in wrong if files[f] != self.whole.files.get(f)]
        lost = set(self.start) - set(files)
        return f'left {sorted(wrong)}, removed {sorted(lost)}' if wrong or lost else ''

    def check(self):
        """(passed, failures)"""
        if not self.whole.counts or not self.whole.counts.allocations:
            return 0, [f'{self.command!r}: no allocation was seen']
        chosen = self.sampled(range(1, self.whole.counts.allocations + 1))
        bad = [f'{self.command!r}, {kind} {n}: {problem}' for kind in ('allocation', 'from')
               for n in chosen for problem in [self.judge(self.call(**{kind: n}))] if problem]
        return 2 * len(chosen) - len(bad), bad


def main():
    ap = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    runs.add_arguments(ap)
    args = ap.parse_args()
    return runs.run_commands(args, Run, [c for c in commands.COMMANDS if args.only in c])


if __name__ == '__main__':
    sys.exit(main())
