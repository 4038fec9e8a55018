// SPDX-License-Identifier: Apache-2.0
// The keyboard: everything that the mouse does, and the table of keys that help shows.

const KEYS = [
  ['/', 'key_search', (app) => app.bar.focus()],
  ['[', 'key_prevPass', (app) => app.setPass(app.nextPass(-1))],
  [']', 'key_nextPass', (app) => app.setPass(app.nextPass(1))],
  ['{', 'key_prevAny', (app) => app.setPass(app.state.pass - 1, { quiet: true })],
  ['}', 'key_nextAny', (app) => app.setPass(app.state.pass + 1, { quiet: true })],
  ['1', 'mode_graph', (app) => app.setMode('graph')],
  ['2', 'mode_overlay', (app) => app.setMode('overlay')],
  ['3', 'mode_side', (app) => app.setMode('side')],
  [',', 'prevRewrite', (app) => app.setStep(app.state.step - 1)],
  ['.', 'nextRewrite', (app) => app.setStep(app.state.step + 1)],
  ['Enter', 'key_open', (app) => app.openSelected()],
  ['ArrowUp', 'key_up', (app) => app.walk('up')],
  ['ArrowDown', 'key_down', (app) => app.walk('down')],
  ['ArrowLeft', 'key_left', (app) => app.walk('left')],
  ['ArrowRight', 'key_right', (app) => app.walk('right')],
  ['Shift+ArrowUp', 'pan_up', (app) => app.stage.pan(0, 1)],
  ['Shift+ArrowDown', 'pan_down', (app) => app.stage.pan(0, -1)],
  ['Shift+ArrowLeft', 'pan_left', (app) => app.stage.pan(1, 0)],
  ['Shift+ArrowRight', 'pan_right', (app) => app.stage.pan(-1, 0)],
  ['m', 'key_keep', (app) => app.keepSelected()],
  ['Backspace', 'key_around', (app) => app.selectAround()],
  ['u', 'reach_up', (app) => app.setReach('up')],
  ['d', 'reach_down', (app) => app.setReach('down')],
  ['b', 'reach_both', (app) => app.setReach('both')],
  ['p', 'reach_path', (app) => app.setReach('path')],
  ['f', 'follow', (app) => app.followSelected()],
  ['o', 'key_overlay', (app) => app.nextOverlay()],
  ['w', 'tab_why', (app) => app.side.go('why')],
  ['t', 'timeline', (app) => app.toggleDrawer('timeline')],
  ['0', 'fit', (app) => app.stage.fit()],
  ['c', 'key_center', (app) => app.centerSelected()],
  ['+', 'zoomIn', (app) => app.stage.zoom(1.3)],
  ['-', 'zoomOut', (app) => app.stage.zoom(1 / 1.3)],
  ['e', 'expandAll', (app) => app.expandAll()],
  ['x', 'collapseAll', (app) => app.collapseAll()],
  ['y', 'copyTir', (app) => app.copySelected()],
  ['l', 'copyLink', (app) => app.copy(location.href)],
  ['r', 'passes', (app) => app.togglePart('rail')],
  ['i', 'details', (app) => app.togglePart('side')],
  ['Escape', 'key_escape', (app) => app.escape()],
  ['?', 'help', (app) => app.help.open()],
];

function listenToKeys(app) {
  const known = new Map(KEYS.map(([key, , work]) => [key, work]));
  known.set('=', known.get('+'));
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !app.scene) return;
    const { target } = e, tag = target.tagName;
    if (tag === 'INPUT' || tag === 'SELECT' || tag === 'TEXTAREA' || app.help.isOpen()) {
      if (e.key === 'Escape' && tag === 'INPUT') target.blur();
      return;
    }
    const onButton = tag === 'BUTTON' && (e.key === 'Enter' || e.key === ' ');
    const scrolls = e.key.startsWith('Arrow') && target.closest('.panel, .rail, .table') &&
      tag !== 'CANVAS';
    const work = known.get(e.shiftKey && e.key.startsWith('Arrow') ? `Shift+${e.key}` : e.key);
    if (!work || onButton || scrolls && !moveFocus(e)) return;
    if (!scrolls) work(app);
    e.preventDefault();
  });
}

// Arrows in a list of buttons go from one to the next.
function moveFocus(e) {
  if (e.key !== 'ArrowDown' && e.key !== 'ArrowUp') return false;
  const box = e.target.closest('.passes, .panel'), all = box ?
    [...box.querySelectorAll('button:not([disabled])')] : [];
  const to = all[all.indexOf(e.target) + (e.key === 'ArrowDown' ? 1 : -1)];
  if (!to || e.target.tagName !== 'BUTTON') return false;
  to.focus();
  return true;
}

class Help {
  constructor(app) {
    this.app = app;
    this.element = el('dialog');
    this.element.addEventListener('click', (e) => {
      if (e.target === this.element) this.element.close();
    });
  }

  isOpen() {
    return this.element.open;
  }

  open() {
    const close = button(t('close'), () => this.element.close(), { class: 'soft' });
    this.element.setAttribute('aria-label', t('help'));
    replace(this.element, el('h1', { style: { margin: '0', fontSize: '18px' } }, t('help')),
      el('p.dim', null, t('helpMouse')), el('p', null, t('searchHelp')),
      el('div.keys', { tabindex: 0, style: { maxHeight: '50vh', overflow: 'auto' } },
        ...KEYS.flatMap(([key, text]) =>
          [el('span', null, el('kbd', null, signOf(key))), el('span', null, t(text))])),
      close);
    this.element.showModal();
  }
}

const KEY_SIGNS = { ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc' };

function signOf(key) {
  return key.startsWith('Shift+') ? `Shift ${KEY_SIGNS[key.slice(6)]}` : KEY_SIGNS[key] || key;
}
