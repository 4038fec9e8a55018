// SPDX-License-Identifier: Apache-2.0
// Puts the page together and shows the model.

function firstTheme(saved) {
  return saved && saved.theme || remembered('theme') ||
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
}

async function main() {
  const root = document.getElementById('app'), app = new App(root, new Chunks());
  const saved = new Link(app).read();
  app.theme = firstTheme(saved);
  document.documentElement.dataset.theme = app.theme;
  app.palette = readPalette();
  try {
    await app.load();
  } catch (e) {
    root.append(el('div.empty', { role: 'alert' }, t('broken') + ' ' + e.message));
    return;
  }
  LANGUAGE.now = saved && saved.language || remembered('language') ||
    (app.index.language === 'zh' ? 'zh' : 'en');
  document.documentElement.lang = LANGUAGE.now === 'zh' ? 'zh-CN' : 'en';
  document.title = `${fileName(shown(app.index.models[0].path, 80))} - tailor view`;
  app.link = new Link(app);
  app.live = el('div.sr', { 'aria-live': 'polite', id: 'live' });
  Object.assign(app, { stage: new Stage(app), bar: new Bar(app), rail: new Rail(app),
    side: new Side(app), drawer: new Drawer(app), help: new Help(app) });
  if (app.narrow()) root.classList.add('norail', 'noside');
  if (!app.index.passes.length) root.classList.add('norail');
  root.append(app.bar.element, app.rail.element, app.stage.element, app.side.element,
    app.drawer.element, app.live, app.help.element);
  app.renderAll();
  listenToKeys(app);
  const { width } = app.stage.element.getBoundingClientRect();
  if (width) for (const port of [app.stage.left, app.stage.right]) port.resize();
  if (saved) await app.restoreState(saved);
  else await app.build({ fit: true });
  if (!saved && app.index.overlay) await app.setOverlay(app.index.overlay);
  app.link.ready = true;
  requestAnimationFrame(() => {
    app.times.open = performance.now();
    root.dataset.ready = '1';
    if (app.state.tab === 'details') app.side.update(); // with what need not be there at once
  });
  window.tailorView = app; // for tests and for the curious
}

main();
