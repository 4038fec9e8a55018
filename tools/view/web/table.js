// SPDX-License-Identifier: Apache-2.0
// A table of any length: sorted by a click on a heading, and only the rows in sight are elements.

const ROW = 26;

class Table {
  // columns: [{key, label, right, text(row), value(row)}], widths: a CSS list of columns;
  // on.pick(row, event).
  constructor(columns, widths, on) {
    this.columns = columns;
    this.on = on;
    this.sort = null;
    this.rows = [];
    this.head = el('div.thead', { role: 'row', style: { gridTemplateColumns: widths } });
    this.body = el('div.tbody', { role: 'rowgroup' });
    this.widths = widths;
    this.element = el('div.table' + (on.wide ? '.wide' : ''), { tabindex: 0, role: 'grid', 'aria-label': on.label,
      onscroll: () => this.draw(), onkeydown: (e) => this.key(e) }, this.head, this.body);
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.heading();
  }

  heading() {
    replace(this.head, ...this.columns.map((c) => el('div' + (c.right ? '.right' : ''),
      { role: 'columnheader', 'aria-sort': this.sort && this.sort.key === c.key ?
        (this.sort.down ? 'descending' : 'ascending') : 'none' },
      button(c.label + (this.sort && this.sort.key === c.key ? (this.sort.down ? ' ↓' : ' ↑') : ''),
        () => this.sortBy(c.key), { 'data-sort': c.key, style: { width: '100%' } }))));
  }

  sortBy(key, down) {
    const column = this.columns.find((c) => c.key === key);
    this.sort = { key, down: down ?? (this.sort && this.sort.key === key ? !this.sort.down :
      Boolean(column.right)) };
    this.order();
    this.heading();
    this.element.scrollTop = 0;
    this.draw();
  }

  order() {
    if (!this.sort) return;
    const { value } = this.columns.find((c) => c.key === this.sort.key);
    const sign = this.sort.down ? -1 : 1;
    this.rows.sort((a, b) => {
      const x = value(a), y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * sign;
    });
  }

  fill(rows) {
    this.rows = rows;
    this.order();
    this.body.style.height = `${rows.length * ROW}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - 4);
    const count = Math.ceil((this.element.clientHeight || 400) / ROW) + 8;
    const rows = this.rows.slice(first, first + count).map((row, i) => this.row(row, first + i));
    replace(this.body, ...rows);
  }

  row(row, at) {
    return el('button.trow', { type: 'button', role: 'row', tabindex: -1,
      title: this.on.title ? this.on.title(row) : null,
      'aria-selected': String(Boolean(this.on.selected && this.on.selected(row))),
      style: { top: `${at * ROW}px`, gridTemplateColumns: this.widths },
      onclick: (e) => this.on.pick(row, e) },
    ...this.columns.map((c) => el('span' + (c.right ? '.right' : ''), { role: 'gridcell' },
      c.draw ? c.draw(row) : c.className && c.className(row) ?
        el('b', { class: c.className(row) }, c.text(row)) : c.text(row))));
  }

  key(e) {
    if (e.key !== 'ArrowDown' && e.key !== 'ArrowUp') return;
    e.preventDefault();
    e.stopPropagation();
    const now = this.rows.findIndex((row) => this.on.selected && this.on.selected(row));
    const to = Math.max(0, Math.min(this.rows.length - 1, now + (e.key === 'ArrowDown' ? 1 : -1)));
    if (!this.rows[to]) return;
    this.showRow(to);
    this.on.pick(this.rows[to], e);
  }

  showRow(at) {
    const e = this.element, top = at * ROW;
    if (top < e.scrollTop) e.scrollTop = top;
    else if (top + 2 * ROW > e.scrollTop + e.clientHeight)
      e.scrollTop = top + 2 * ROW - e.clientHeight;
  }
}
