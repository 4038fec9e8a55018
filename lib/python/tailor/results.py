# SPDX-License-Identifier: Apache-2.0
"""What models tell of themselves: plain dataclasses, with HTML for notebooks."""
import html
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, Union


@dataclass(frozen=True)
class Value:
    """An input or output. dims of shape are sizes, names, or None; shape None: unknown rank."""
    name: str
    dtype: Optional[str]
    shape: Optional[Tuple[Union[int, str, None], ...]]


@dataclass(frozen=True)
class Node:
    """A node of the main graph. Absent operands are ''."""
    name: str
    op: str
    domain: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    attributes: Dict[str, Any] = field(repr=False)
    origins: str = field(repr=False)


def _table(head, rows):
    """HTML of a table; every cell is escaped."""
    cells = ''.join(f'<th style="text-align:left">{html.escape(h)}</th>' for h in head)
    lines = [f'<tr>{cells}</tr>']
    for row in rows:
        cells = ''.join(f'<td style="text-align:left">{html.escape(str(c))}</td>' for c in row)
        lines.append(f'<tr>{cells}</tr>')
    return '<table>' + ''.join(lines) + '</table>'


@dataclass(frozen=True)
class Difference:
    """How far one output is apart. reason says why elements cannot be compared, '' if they can."""
    name: str
    equal: bool
    reason: str
    elements: int
    off: int
    max_abs: float
    max_rel: float
    ulp: float
    cosine: float
    got: float
    want: float


@dataclass(frozen=True)
class Comparison:
    """What verify found; true in a condition if all outputs are equal."""
    outputs: List[Difference]

    @property
    def equal(self) -> bool:
        return all(o.equal for o in self.outputs)

    def __bool__(self):
        return self.equal

    def _repr_html_(self):
        return _table(('output', 'equal', 'max abs', 'max rel', 'cosine', 'elements off'),
                      [(o.name, 'yes' if o.equal else o.reason or 'no', f'{o.max_abs:.3g}',
                        f'{o.max_rel:.3g}', f'{o.cosine:.6f}', f'{o.off} of {o.elements}')
                       for o in self.outputs])


@dataclass(frozen=True)
class Pass:
    """What one pass did."""
    name: str
    rewrites: int
    seconds: float
    nodes_before: int
    nodes_after: int


@dataclass(frozen=True)
class Remark:
    """Something that a pass did (applied) or declined to do, and why (reason)."""
    name: str
    applied: bool
    node: str
    message: str
    rule: str
    fusion: str
    reason: str


@dataclass(frozen=True)
class Explanation:
    """The passes of the last optimize, in order, and their remarks."""
    passes: List[Pass]
    remarks: List[Remark]

    @property
    def applied(self) -> List[Remark]:
        return [r for r in self.remarks if r.applied]

    @property
    def missed(self) -> List[Remark]:
        return [r for r in self.remarks if not r.applied]

    def _repr_html_(self):
        worked = [p for p in self.passes if p.rewrites]
        return (_table(('pass', 'rewrites', 'nodes before', 'nodes after'),
                       [(p.name, p.rewrites, p.nodes_before, p.nodes_after) for p in worked]) +
                _table(('', 'pass', 'node', 'what', 'rule'),
                       [('done' if r.applied else r.reason or 'declined', r.name, r.node,
                         r.message, r.rule) for r in self.remarks]))
