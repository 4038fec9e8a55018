# SPDX-License-Identifier: Apache-2.0
"""Handles of the library: who may use them when, and in which order they are freed.

A garbage collector finalizes what is in a cycle in any order and on any thread. The library wants
results freed before their model, copies before what they were copied of, models before their
context, and nothing freed while another thread uses the same context."""
import threading
from collections import deque
from ctypes import c_void_p

_counting = threading.RLock()


class Turn:
    """The right to use a context; `with` waits for it. What is to be freed meanwhile waits for the
    end of the call, since a finalizer that waited might wait for ever."""

    def __init__(self):
        self.lock, self.depth, self.waiting = threading.RLock(), 0, deque()

    def __enter__(self):
        self.lock.acquire()
        self.depth += 1
        return self

    def __exit__(self, *_):
        self.depth -= 1
        if not self.depth:
            self._free_all()
        self.lock.release()

    def _free_all(self):
        while self.waiting:
            self.waiting.popleft().free_now()

    def free(self, handle):
        self.waiting.append(handle)
        if self.lock.acquire(blocking=False):
            if not self.depth:
                self._free_all()
            self.lock.release()


class Handle:
    """What the library gave, to be freed by `free` once it is closed and nothing is made of it.

    parents: handles that have to live longer. kept: what its memory or functions belong to."""

    def __init__(self, turn, free, parents=(), kept=None):
        self.value, self.turn, self.destroy = c_void_p(), turn, free
        self.parents, self.kept = parents, kept
        self.children, self.closed, self.freed = 0, False, False
        with _counting:
            for parent in parents:
                parent.children += 1

    def __del__(self):
        self.closed = True
        self._free_if_unused()

    def _free_if_unused(self):
        with _counting:
            due = self.closed and not self.children and not self.freed
            self.freed = self.freed or due
        if due:
            self.turn.free(self)

    def free_now(self):
        if self.value:
            self.destroy(self.value)
        with _counting:
            for parent in self.parents:
                parent.children -= 1
        for parent in self.parents:
            parent._free_if_unused()
