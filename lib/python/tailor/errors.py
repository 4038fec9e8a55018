# SPDX-License-Identifier: Apache-2.0
"""What calls raise and say: an exception for each exit code of the command, and one warning."""


class Message:
    """One message of the library.

    severity is 'note', 'warning' or 'error'; code, file, node, attribute and hint may be None."""

    __slots__ = ('severity', 'text', 'code', 'file', 'node', 'attribute', 'what', 'hint')

    def __init__(self, **parts):
        for name in self.__slots__:
            setattr(self, name, parts.get(name))

    def __str__(self):
        return self.text

    def __repr__(self):
        return f'Message({self.severity}: {self.what})'


class TailorError(Exception):
    """A call failed. messages has all that was said, code the exit code of the command."""
    code = 70

    def __init__(self, messages):
        self.messages = list(messages)
        errors = [m.text for m in self.messages if m.severity == 'error']
        super().__init__('\n'.join(errors) or 'tailor failed without a message')


class UsageError(TailorError, ValueError):
    """An option or argument is wrong (exit code 1)."""
    code = 1


def usage(text):
    """The exception for an argument that is wrong before the library sees it."""
    return UsageError([Message(severity='error', text=text, what=text)])


class InputError(TailorError, ValueError):
    """The model is not well formed, or beyond a documented limit (exit code 2)."""
    code = 2


class UnsupportedError(TailorError, NotImplementedError):
    """The model is well formed, but beyond this version (exit code 3)."""
    code = 3


class FileError(TailorError, OSError):
    """The operating system refused to read or write (exit code 4)."""
    code = 4


class InternalError(TailorError):
    """Out of memory, or a defect of the library (exit code 70)."""


def out_of_memory():
    """The exception for a context that the library could not make: there is none to say why."""
    return InternalError([Message(severity='error', text='tailor: error: out of memory',
                                  what='out of memory')])


class Cancelled(TailorError):
    """The function of progress= asked to stop."""
    code = 130


class TailorWarning(UserWarning):
    """A warning of the library."""


BY_CODE = {e.code: e for e in (UsageError, InputError, UnsupportedError, FileError, InternalError,
                               Cancelled)}
