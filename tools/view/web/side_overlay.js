// SPDX-License-Identifier: Apache-2.0
// Overlays: which one, from what value on, and a table of it that selects nodes and shows what is
// selected.

class OverlayPanel {
  constructor(app) {
    this.app = app;
    this.filter = '';
  }

  reset() {
    this.for = undefined;
  }

  show(panel) {
    const { app } = this, o = app.overlay();
    panel.className = 'panel flush';
    if (this.for !== (o || null) || this.in !== panel.firstChild || !panel.firstChild) {
      this.build(panel, o);
      this.for = o || null;
      this.in = panel.firstChild;
    }
    this.refresh();
  }

  build(panel, o) {
    const { app } = this, names = app.overlayNames();
    const choice = el('select', { 'aria-label': t('tab_overlay'), 'data-overlay': '1',
      onchange: (e) => app.setOverlay(e.target.value) }, el('option', { value: '' }, t('none')),
    ...names.map((n) => el('option', { value: n, selected: app.state.overlay === n },
      overlayTitle(n))));
    this.table = null;
    const controls = el('div.controls', null, el('label', null, t('show'), choice));
    replace(panel, controls);
    if (!names.length) panel.append(el('div.empty', null, t('noOverlays')));
    else if (!o) panel.append(this.choices(names));
    else {
      controls.append(...this.controlsOf(o));
      this.table = this.makeTable(o);
      panel.append(this.table.element);
      this.fill(o);
      this.table.sortBy(o.isNumber ? 'value' : 'node', o.isNumber);
    }
  }

  choices(names) {
    return el('div', { style: { padding: '8px' } }, ...names.map((n) => el('button.rewrite',
      { type: 'button', onclick: () => this.app.setOverlay(n) },
      el('b', null, overlayTitle(n)), el('div.why', null, overlayText(n)))));
  }

  controlsOf(o) {
    const out = [];
    if (o.isNumber) {
      const says = el('span.mono', null, '');
      const range = el('input', { type: 'range', min: 0, max: 1000, value: 0,
        'aria-label': t('threshold'), 'data-threshold': '1', oninput: () => {
          o.from = o.fromPlace(Number(range.value) / 1000);
          says.textContent = Number.isFinite(o.from) ? '≥ ' + o.text(o.from) : t('all');
          this.changed(o);
        } });
      says.textContent = t('all');
      out.push(el('label', null, t('threshold'), range, says));
    } else {
      out.push(el('div.chips', null, ...o.list.slice(0, 24).map(([name, n]) => this.toggle(o,
        name, n))));
    }
    const box = el('input', { type: 'search', placeholder: t('filter'), 'aria-label': t('filter'),
      'data-filter': '1', oninput: (e) => {
        this.filter = e.target.value.toLowerCase();
        this.fill(o);
      } });
    box.value = this.filter = '';
    this.says = el('span.dim', null);
    out.push(el('label', null, box, this.says));
    return out;
  }

  toggle(o, name, n) {
    const b = button(`${shown(name, 40)} (${n})`, () => {
      if (o.off.has(name)) o.off.delete(name);
      else o.off.add(name);
      b.setAttribute('aria-pressed', String(!o.off.has(name)));
      b.style.opacity = o.off.has(name) ? '0.45' : '1';
      this.changed(o);
    }, { class: 'chip', 'aria-pressed': String(!o.off.has(name)) });
    b.style.borderColor = o.colour(name, this.app.palette);
    return b;
  }

  changed(o) {
    this.app.invalidate();
    this.fill(o);
    this.app.stage.update();
  }

  makeTable(o) {
    const { app } = this, { model } = app;
    const noteOf = (row) => o.note.get(row.id) || '';
    const r = (row) => model.records.id.length && row.record;
    const opOf = (row) => shortOp(model.text(model.records.op[r(row)]));
    const columns = [
      { key: 'node', label: t('node'), text: (row) => endOf(model.nodeName(r(row)), 24),
        value: (row) => row.at },
      { key: 'op', label: t('opWord'), text: (row) => shown(opOf(row), 40), value: opOf },
      { key: 'value', label: shown(o.unit || t('value'), 20), right: o.isNumber,
        text: (row) => shown(o.text(row.value), 60), value: (row) => row.value },
    ];
    if (o.note.size) columns.push({ key: 'note', label: t('note'),
      text: (row) => shown(noteOf(row), 120), value: noteOf });
    const widths = o.note.size ? '5fr 3fr 3fr 4fr' : '5fr 3fr 3fr';
    return new Table(columns, widths, { label: o.title,
      title: (row) => shown([model.nodeName(r(row)), o.text(row.value), noteOf(row)].join('\n'),
        600).replace(/\ufffd/g, '\n'),
      selected: (row) => app.state.selection.includes(row.id),
      pick: (row, e) => {
        if (e.shiftKey && e.type === 'click')
          app.select([...app.state.selection, row.id], { tab: false });
        else app.reveal([row.id]);
      } });
  }

  // Rows that the threshold and the filter leave.
  fill(o) {
    const { model } = this.app, rows = [], latest = this.latestRecords();
    let at = 0;
    for (const [id, value] of o.value) {
      const record = latest.get(id);
      at++;
      if (record === undefined || !o.shows(value)) continue;
      if (this.filter) {
        const text = `${model.nodeName(record)} ${model.text(model.records.op[record])} ` +
          `${o.isNumber ? '' : value} ${o.note.get(id) || ''}`;
        if (!text.toLowerCase().includes(this.filter)) continue;
      }
      rows.push({ id, value, record, at });
    }
    this.table.fill(rows);
    this.says.textContent = `${rows.length}/${o.value.size}`;
  }

  latestRecords() {
    const { id } = this.app.model.records;
    if (this.latest && this.latestOf === id.length) return this.latest;
    this.latest = new Map(id.map((x, r) => [x, r]));
    this.latestOf = id.length;
    return this.latest;
  }

  refresh() {
    if (!this.table) return;
    const at = this.table.rows.findIndex((row) => this.app.state.selection.includes(row.id));
    if (at >= 0 && this.last !== this.table.rows[at].id) this.table.showRow(at);
    this.last = at >= 0 ? this.table.rows[at].id : null;
    this.table.draw();
  }
}

function overlayTitle(name) {
  return TEXTS['overlay_' + name] ? t('overlay_' + name) : name;
}

function overlayText(name) {
  return TEXTS['about_' + name] ? t('about_' + name) : '';
}
