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
    const controls = el('div.controls', null, subjectChoice(app),
      el('label', null, t('show'), choice));
    replace(panel, controls);
    if (!names.length) panel.append(el('div.empty', null, t('noOverlays')));
    else if (!o) panel.append(this.choices(names));
    else {
      controls.append(...this.controlsOf(o));
      this.table = o.errors ? tensorTable(app, o) : this.makeTable(o);
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
    if (o.errors) out.push(errorSummary(this.app, o));
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
    this.says = el('span.dim', { 'data-rows': '1' });
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
    const { app } = this, { model } = o;
    const noteOf = (row) => o.note.get(row.id) || '';
    const nameOf = (row) => model.nodeName(row.record);
    const opOf = (row) => shortOp(model.text(model.records.op[row.record]));
    const columns = [
      { key: 'node', label: t('node'), text: (row) => endOf(nameOf(row), 24),
        value: (row) => row.at },
      { key: 'op', label: t('opWord'), text: (row) => shown(opOf(row), 40), value: opOf },
      { key: 'value', label: shown(o.unit || t('value'), 20), right: o.isNumber,
        text: (row) => shown(o.text(row.value), 60), value: (row) => row.value },
    ];
    if (o.note.size) columns.push({ key: 'note', label: t('note'),
      text: (row) => shown(noteOf(row), 120), value: noteOf });
    const widths = o.note.size ? '5fr 3fr 3fr 4fr' : '5fr 3fr 3fr';
    return new Table(columns, widths, { label: o.title,
      title: (row) => [nameOf(row), o.text(row.value), noteOf(row)].map((x) => shown(x, 300))
        .join('\n'), ...tablePicks(app, model) });
  }

  // Rows that the threshold and the filter leave.
  fill(o) {
    const { model } = o, { records } = model, { filter } = this;
    const fits = (row) => {
      const text = row.tensor ? `${row.tensor.name} ${row.tensor.reference} ${row.tensor.op}` :
        `${model.nodeName(row.record)} ${model.text(records.op[row.record])} ` +
          `${o.isNumber ? '' : row.value} ${o.note.get(row.id) || ''}`;
      return text.toLowerCase().includes(filter);
    };
    for (const row of o.rows) row.record = model.lastRecord(row.id); // as far as passes are read
    this.table.fill(o.rows.filter((row) => (row.record >= 0 || row.tensor) && o.shows(row.value) &&
      (!filter || fits(row))));
    this.says.textContent = `${this.table.rows.length}/${o.rows.length}`;
  }

  refresh() {
    if (!this.table) return;
    const { app } = this, { model } = app.overlay(), chosen = new Set(app.state.selection);
    const at = this.table.rows.findIndex((row) => chosen.has(app.keyIn(model, row.id)));
    if (at >= 0 && this.last !== this.table.rows[at].id) this.table.showRow(at);
    this.last = at >= 0 ? this.table.rows[at].id : null;
    this.table.draw();
  }
}

// Selecting in a table, and showing there what is selected.
function tablePicks(app, model) {
  return {
    selected: (row) => row.id >= 0 && app.state.selection.includes(app.keyIn(model, row.id)),
    pick: (row, e) => {
      if (row.id < 0) return;
      const key = app.keyIn(model, row.id);
      if (e.shiftKey && e.type === 'click') app.select([...app.state.selection, key], { tab: false });
      else app.reveal([key]);
    },
  };
}

// Of two models: which one is meant.
function subjectChoice(app) {
  if (!app.comparing()) return null;
  return el('div.seg', { role: 'group', 'aria-label': t('subject') }, ...app.index.models.map(
    (m, i) => button(`${i ? 'B' : 'A'}: ${endOf(fileName(m.path), 22)}`, () => app.setSubject(i),
      { 'aria-pressed': String(app.state.of === i), 'data-subject': i })));
}

function overlayTitle(name) {
  return TEXTS['overlay_' + name] ? t('overlay_' + name) : name;
}

function overlayText(name) {
  return TEXTS['about_' + name] ? t('about_' + name) : '';
}
