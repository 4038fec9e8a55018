# SPDX-License-Identifier: Apache-2.0
"""Accuracy traps in bodies of Loop and Scan: angles and logarithms that are computed outside, in
another turn, or taken behind the loop. What passes into a body and out of it is f32 in every mode;
what a body computes with it need not be."""
import numpy as np

from trap_graph import trap

TURNS = 900


def frequencies(g):
    return g.const(10000.0 ** (-np.arange(8) / 8).reshape(1, 8))


@trap('rotary embedding in a loop that counts positions')
def counted(g):
    x, w = g.input(g.normal(1, 8)), g.linear
    step, start, rates = g.const([[1.0]]), g.const([[1900.0]]), frequencies(g)
    turns = g.const(TURNS, np.int64)
    q = w(x, 8, 8)
    return g.loop('Loop', [turns, '', start], 2, f'''@b(%i: i64[], %c: bool[], %p: f32[1,1]) ->
        (%go, %p2, %o) {{
      %go = Identity(%c)
      %a = Mul(%p, %{rates})
      %s = Sin(%a)
      %o = Mul(%s, %{q})
      %p2 = Add(%p, %{step})
    }}''')[1]


@trap('angles that a loop captures')
def captured(g):
    x = g.input(g.normal(1, 16))
    angles = g.op('Mul', x, g.const(g.rng.uniform(300, 900, size=(1, 16))))
    turns, start = g.const(300, np.int64), g.const(np.ones((1, 16)))
    half = g.const(0.5)
    return g.loop('Loop', [turns, '', start], 1, f'''@b(%i: i64[], %c: bool[], %v: f32[1,16]) ->
        (%go, %v2) {{
      %go = Identity(%c)
      %s = Cos(%{angles})
      %h = Mul(%v, %{half})
      %v2 = Add(%h, %s)
    }}''')


@trap('angles that a scan goes over')
def scanned(g):
    positions = g.op('Cast', g.input(np.arange(3000, 3300).reshape(300, 1)), to=1)
    angles = g.op('Mul', positions, frequencies(g))
    start, half = g.const(np.zeros(8)), g.const(0.5)
    return g.loop('Scan', [start, angles], 2, f'''@b(%v: f32[8], %a: f32[8]) -> (%v2, %s) {{
      %s = Sin(%a)
      %h = Mul(%v, %{half})
      %v2 = Add(%h, %s)
    }}''', 'num_scan_inputs=1, ')


@trap('sines of angles that a loop adds up')
def added_up(g):
    x = g.input(g.rng.uniform(0.5, 3, size=(300, 8)).astype(np.float32))
    start, rate = g.const(np.zeros(8)), g.const(7.3)
    last, every = g.loop('Scan', [start, x], 2, f'''@b(%v: f32[8], %d: f32[8]) -> (%v2, %o) {{
      %s = Mul(%d, %{rate})
      %v2 = Add(%v, %s)
      %o = Identity(%v2)
    }}''', 'num_scan_inputs=1, ')
    return g.op('Sin', last), g.op('Cos', every)


@trap('logarithm of exponentials that a scan adds up')
def logarithm(g):
    x = g.input(g.normal(300, 8, shift=-24))
    start = g.const(np.zeros(8))
    total, _ = g.loop('Scan', [start, x], 2, '''@b(%v: f32[8], %a: f32[8]) -> (%v2, %o) {
      %e = Exp(%a)
      %v2 = Add(%v, %e)
      %o = Relu(%a)
    }''', 'num_scan_inputs=1, ')
    return g.op('Log', total)


@trap('logarithm in a loop of a product of probabilities')
def products(g):
    x = g.input(g.rng.uniform(1e-5, 2e-4, size=(1, 16)).astype(np.float32))
    y = g.input(g.rng.uniform(1e-5, 2e-4, size=(1, 16)).astype(np.float32))
    both = g.op('Mul', x, y)
    turns, start = g.const(300, np.int64), g.const(np.ones((1, 16)))
    half = g.const(0.5)
    return g.loop('Loop', [turns, '', start], 1, f'''@b(%i: i64[], %c: bool[], %v: f32[1,16]) ->
        (%go, %v2) {{
      %go = Identity(%c)
      %l = Log(%{both})
      %h = Mul(%v, %{half})
      %v2 = Add(%h, %l)
    }}''')


@trap('logarithm of probabilities that a loop multiplies')
def multiplied(g):
    x = g.input(g.rng.uniform(np.linspace(0.6, 0.99, 8), 1.0, size=(300, 8)).astype(np.float32))
    start = g.const(np.ones(8))
    total, _ = g.loop('Scan', [start, x], 2, '''@b(%v: f32[8], %a: f32[8]) -> (%v2, %o) {
      %v2 = Mul(%v, %a)
      %o = Relu(%a)
    }''', 'num_scan_inputs=1, ')
    return g.op('Log', total)


@trap('an If in a loop takes the sine of what the loop counts')
def branched(g):
    x = g.input(g.normal(1, 8))
    step, start, rates = g.const([[1.0]]), g.const([[2000.0]]), frequencies(g)
    turns = g.const(300, np.int64)
    return g.loop('Loop', [turns, '', start], 2, f'''@b(%i: i64[], %c: bool[], %p: f32[1,1]) ->
        (%go, %p2, %o) {{
      %go = Identity(%c)
      %a = Mul(%p, %{rates})
      %s = If(%c) @if {{
        then_branch=graph @t() -> (%u) {{
          %u = Sin(%a)
        }},
        else_branch=graph @e() -> (%w) {{
          %w = Cos(%a)
        }}
      }}
      %o = Mul(%s, %{x})
      %p2 = Add(%p, %{step})
    }}''')[1]
