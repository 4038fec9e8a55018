#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// browser.js FOLDER BROWSER ADDRESS [PART...]: what pages do in a browser, those of made-up models
// (synthetic.py), and those that the command wrote or serves at an address: each
// ability is used by keyboard or mouse, and asserted on elements or pixels. Prints the times that
// the page measured, and "N passed, M failed".
'use strict';
const { Pages, accessible, check, clickOn, counts, pixels, state, where } = require('./harness.js');
const tasks = require('./tasks.js');

const text = (p, selector) => p.$eval(selector, (e) => e.textContent);

async function opening(pages) {
  const p = await pages.open('transformer');
  const s = await state(p);
  check('open: collapsed to what fits a screen', s.items > 5 && s.items < 40, s.items);
  check('open: all nodes are there', s.nodes > 500, s.nodes);
  check('open: nothing runs out of the page', await p.evaluate(() =>
    document.documentElement.scrollWidth <= innerWidth));
  check('open: cards are drawn', await pixels(p, 'card') > 4000);
  check('open: layers are one group', (await where(p, 'encoder')).open === false);
  check('open: bodies are groups', await where(p, 'then') && await where(p, 'else'));
  check('open: passes with what they did', /graph-fusion.*36 rewrites.*192/.test(
    await text(p, '[data-pass="2"]')));
  check('open: a pass that changed nothing is not marked', 
    await p.$('[data-pass="0"]:not(.changed)'));
  await accessible(p, 'open');
  await pages.close(p, 'open');
}

async function groups(pages) {
  const p = await pages.open('transformer'), before = await state(p);
  await clickOn(p, 'encoder');
  check('group: its details', /12 equal blocks/.test(await text(p, '.panel')));
  await p.keyboard.press('Enter');
  await pages.settle(p);
  const opened = await state(p);
  check('expand by Enter: twelve layers', opened.items === before.items + 12, opened.items);
  check('expand: layers are there', await where(p, 'layer.7'));
  await p.keyboard.press('Enter');
  await pages.settle(p);
  check('collapse by Enter', (await state(p)).items === before.items);
  const at = await where(p, 'embeddings');
  await p.mouse.click(at.left, at.top);
  await pages.settle(p);
  check('collapse by the mark', (await where(p, 'embeddings')).open === false);
  const now = await where(p, 'embeddings');
  check('collapse: the group stays in place', Math.abs(now.left - at.left) < 2 &&
    Math.abs(now.top - at.top) < 2, [at, now]);
  await p.mouse.dblclick(now.x, now.y);
  await pages.settle(p);
  check('expand by double click', (await where(p, 'embeddings')).open === true);
  await p.keyboard.press('e');
  await pages.settle(p);
  check('expand all: every node', (await state(p)).items > 500);
  await p.keyboard.press('x');
  await pages.settle(p);
  check('collapse all', (await state(p)).items === before.items);
  await pages.close(p, 'groups');
}

async function moving(pages) {
  const p = await pages.open('transformer'), a = await state(p);
  await p.mouse.move(700, 400);
  await p.mouse.wheel(0, -400);
  await pages.settle(p);
  const b = await state(p);
  check('wheel: zooms at the pointer', b.k > a.k * 1.3, [a.k, b.k]);
  await p.mouse.down();
  await p.mouse.move(600, 320, { steps: 4 });
  await p.mouse.up();
  const c = await state(p);
  check('drag: pans', Math.abs(c.x - b.x + 100) < 6 && Math.abs(c.y - b.y + 80) < 6, [b, c]);
  check('drag: selects nothing', c.selection.length === 0);
  const mini = await p.$('.mini canvas'), box = await mini.boundingBox();
  await p.mouse.click(box.x + box.width / 2, box.y + 12);
  await pages.settle(p);
  check('minimap: moves the view', (await state(p)).y !== c.y);
  await p.keyboard.press('0');
  await pages.settle(p);
  check('0: fits', Math.abs((await state(p)).k - a.k) < 0.01);
  await pages.close(p, 'moving');
}

async function searching(pages) {
  const p = await pages.open('transformer');
  await p.keyboard.press('/');
  await p.keyboard.type('op:Erf name:layer.3');
  await p.waitForSelector('.hit');
  await p.evaluate(() => window.tailorView.bar.search()); // not that of the first letters
  check('search: one node', await text(p, '.find .count') === '1');
  await p.keyboard.press('Enter');
  await pages.settle(p);
  const s = await state(p);
  check('search: it is selected and visible', s.names[0].startsWith('Erf bert/encoder/layer.3') &&
    await where(p, 'layer.3/ffn/gelu/Erf'), s.names);
  check('search: its details', /layer\.3\/ffn\/gelu\/Erf/.test(await text(p, '.panel')));
  for (const [query, most] of [['dtype:i64', 1], ['attr:perm', 48], ['op:MatMul -name:ffn', 60],
    ['type:f32[1,2]', 1], ['weight:cls.weight', 1], ['"no such"', 0]]) {
    await p.fill('.find input', query);
    await p.evaluate(() => window.tailorView.bar.search());
    check(`search: ${query}`, Number(await text(p, '.find .count') || 0) === most,
      await text(p, '.find .count'));
  }
  await pages.close(p, 'search');
}

async function searchFor(p, words) {
  await p.keyboard.press('/');
  await p.keyboard.type(words);
  await p.keyboard.press('Enter');
}

async function shift(p, key) {
  await p.keyboard.down('Shift');
  await p.keyboard.press(key);
  await p.keyboard.up('Shift');
}

async function walking(pages) {
  const p = await pages.open('transformer');
  await clickOn(p, 'Gemm classifier');
  await p.keyboard.press('u');
  const up = await text(p, '.panel .callout.info');
  check('upstream: all that leads there', /5\d\d nodes/.test(up), up);
  await p.keyboard.press('u');
  await p.keyboard.press('d');
  check('downstream: itself and the output',
    /\b2 nodes/.test(await text(p, '.panel .callout.info')));
  await p.keyboard.press('Escape');
  await p.keyboard.press('ArrowUp');
  check('arrows: to the operand', (await state(p)).names[0].startsWith('If'),
    (await state(p)).names);
  await p.keyboard.press('ArrowDown');
  check('arrows: and back', (await state(p)).names[0].startsWith('Gemm'));
  await p.keyboard.press('0');
  await pages.settle(p);
  await p.keyboard.down('Shift');
  await clickOn(p, 'input_ids');
  await p.keyboard.up('Shift');
  await p.keyboard.press('p');
  check('path: between two nodes', /Path of \d+ nodes/.test(await text(p, '.panel')));
  await p.keyboard.press('Escape');
  await p.keyboard.press('Escape');
  check('Escape: nothing is selected', (await state(p)).selection.length === 0);
  await searchFor(p, 'op:Gemm');
  await p.keyboard.press('m');
  await searchFor(p, 'input_ids');
  check('m: what is found next is added', (await state(p)).selection.length === 2,
    (await state(p)).names);
  await p.keyboard.press('p');
  check('m: the path between both', /Path of \d+ nodes/.test(await text(p, '.panel')));
  const before = await p.evaluate(() => [window.tailorView.view.x, window.tailorView.view.y]);
  await shift(p, 'ArrowLeft');
  await shift(p, 'ArrowUp');
  const after = await p.evaluate(() => [window.tailorView.view.x, window.tailorView.view.y]);
  check('Shift and arrows: the view moves', after[0] > before[0] && after[1] > before[1],
    [before, after]);
  await p.keyboard.press('Escape');
  await p.keyboard.press('Escape');
  await p.keyboard.press('?');
  check('?: all keys', await p.$eval('dialog', (d) => d.open &&
    d.querySelectorAll('kbd').length > 30));
  await p.keyboard.press('Escape');
  await pages.close(p, 'walking');
}

async function passes(pages) {
  const p = await pages.open('transformer');
  await p.keyboard.press(']');
  await pages.settle(p);
  check(']: the first pass that changed something', (await state(p)).pass === 1);
  await p.click('[data-pass="2"]');
  await pages.settle(p);
  const s = await state(p);
  check('pass: shows its changes', s.mode === 'overlay' && s.pass === 2);
  check('pass: what it added and removed is coloured', await pixels(p, 'changedbg') > 300);
  await p.keyboard.press('.');
  await pages.settle(p);
  const first = await state(p);
  check('rewrite: matched and made nodes are selected', first.step === 1 &&
    first.selection.length === 8, first.selection);
  check('rewrite: rule and text', /GeluErf|LayerNormDecomposed/.test(await text(p, '[data-rule]')));
  check('rewrite: red and green', await pixels(p, 'removedbg') > 500 &&
    await pixels(p, 'addedbg') > 100);
  await p.keyboard.press('.');
  await pages.settle(p);
  check('rewrite: the next one', (await state(p)).step === 2);
  await p.keyboard.press(',');
  await p.keyboard.press('3');
  await pages.settle(p);
  check('side by side: before has no added node', await pixels(p, 'addedbg', 0) === 0 &&
    await pixels(p, 'removedbg', 0) > 300);
  check('side by side: after has no removed one', await pixels(p, 'removedbg', 1) === 0 &&
    await pixels(p, 'addedbg', 1) > 100);
  const left = await where(p, 'LayerNorm', 0), right = await where(p, 'LayerNorm', 1);
  const half = await p.$eval('.half + .half', (e) => e.getBoundingClientRect().left);
  const start = await p.$eval('.half', (e) => e.getBoundingClientRect().left);
  check('side by side: one view', Math.abs(right.x - left.x - (half - start)) < 2, [left, right]);
  await accessible(p, 'side by side');
  await p.keyboard.press('1');
  await pages.settle(p);
  check('1: the graph after the pass', (await state(p)).mode === 'graph' &&
    await pixels(p, 'removedbg') === 0);
  await pages.close(p, 'passes');
}

async function following(pages) {
  const p = await pages.open('transformer');
  await p.keyboard.press('/');
  await p.keyboard.type('name:layer.1/LayerNorm_1/Sqrt');
  await p.keyboard.press('Enter');
  await pages.settle(p);
  await p.keyboard.press('f');
  await p.waitForSelector('.followed');
  check('follow: kept, then replaced', /kept/.test(await text(p, '[data-pass="1"]')) &&
    /replaced/.test(await text(p, '[data-pass="2"]')));
  check('follow: the rule is named', /LayerNormDecomposed/.test(await text(p, '[data-life="2"]')));
  await p.click('[data-pass="3"]');
  await pages.settle(p);
  const s = await state(p);
  check('follow: what became of it is selected', s.names.length === 1 &&
    s.names[0].startsWith('LayerNorm'), s.names);
  await pages.close(p, 'follow');
}

async function overlays(pages) {
  const p = await pages.open('transformer');
  await p.click('#tab-overlay');
  await p.selectOption('[data-overlay]', 'casts');
  await p.waitForSelector('.trow');
  await pages.settle(p);
  const casts = (await state(p)).pass;
  await p.selectOption('[data-overlay]', 'macs');
  await p.waitForFunction(() => /MMAC/.test(document.querySelector('.trow').textContent));
  await pages.settle(p);
  check('overlay: goes to the graph it is about', casts === 4, casts);
  check('overlay: legend', /MAC/.test(await text(p, '.legend')));
  check('overlay: what has most is darkest', await pixels(p, 'high') > 300);
  check('overlay: the table begins with the largest', /302 MMAC/.test(await text(p, '.trow')));
  const rows = () => p.$eval('.controls .dim', (e) => e.textContent);
  check('overlay: all rows', await rows() === '85/85', await rows());
  await p.fill('[data-threshold]', '900');
  check('overlay: the threshold leaves the largest', await rows() === '24/85', await rows());
  await p.fill('[data-filter]', 'layer.7');
  check('overlay: the filter', await rows() === '2/85', await rows());
  await p.click('.trow');
  await pages.settle(p);
  check('table: selects in the graph', (await state(p)).names[0].includes('layer.7'));
  await p.fill('[data-filter]', '');
  await p.fill('[data-threshold]', '0');
  const key = (await state(p)).selection[0];
  await p.evaluate((k) => window.tailorView.select([k], { tab: false }), key);
  check('graph: selects in the table', await p.$('.trow[aria-selected="true"]'));
  await p.selectOption('[data-overlay]', 'streams');
  await p.waitForFunction(() => /stream 1/.test(document.querySelector('.legend').textContent));
  check('overlay: classes have colours', await pixels(p, '#3b6fe0') > 100);
  await accessible(p, 'overlay');
  await pages.close(p, 'overlays');
}

async function looks(pages) {
  const p = await pages.open('transformer', { scheme: 'dark' });
  check('dark: as the system says', (await state(p)).theme === 'dark' &&
    await pixels(p, '#0e1116') > 10000);
  await accessible(p, 'dark');
  await p.click('button[aria-label="Light or dark"]');
  await pages.settle(p);
  check('light: by the button', await pixels(p, '#f5f6f8') > 10000);
  await p.click('button[aria-label="Language: 中文"]');
  await pages.settle(p);
  check('Chinese: all parts', /优化阶段/.test(await text(p, '.rail')) &&
    /详情/.test(await text(p, '.tabs')) && await p.$eval('html', (e) => e.lang) === 'zh-CN');
  const words = await p.evaluate(() => document.body.innerText.match(/\b(undefined|null|NaN)\b/));
  check('Chinese: no text is missing', words === null, words);
  await p.emulateMedia({ media: 'print' });
  await p.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  check('print: the graph is a picture', await p.$eval('img.printed', (e) =>
    e.src.startsWith('data:image/png') && getComputedStyle(e).display === 'block'));
  await pages.close(p, 'looks');
}

async function narrow(pages) {
  const p = await pages.open('transformer', { width: 420, height: 800 });
  const inside = () => p.evaluate(() => document.documentElement.scrollWidth <= innerWidth &&
    [...document.querySelectorAll('.bar button, .bar input')].every((e) => {
      const b = e.getBoundingClientRect();
      return b.width === 0 || b.left >= 0 && b.right <= innerWidth + 1;
    }));
  check('420 px: all of the bar is in sight', await inside());
  check('420 px: the graph has the room', await p.$eval('.stage', (e) => e.clientWidth) === 420);
  await clickOn(p, 'Gemm');
  await p.click('button[aria-label="Details"]');
  check('420 px: details come above it', await p.$eval('.side', (e) =>
    e.getBoundingClientRect().width > 250) && /Gemm/.test(await text(p, '.panel')));
  await accessible(p, '420 px');
  await pages.close(p, 'narrow');
}

async function links(pages) {
  const p = await pages.open('transformer');
  await p.click('[data-pass="2"]');
  await pages.settle(p);
  await p.keyboard.press('.');
  await p.keyboard.press('.');
  await pages.settle(p);
  await p.evaluate(() => window.tailorView.link.store());
  const hash = await p.evaluate(() => location.hash), a = await state(p);
  await pages.close(p, 'link');
  const q = await pages.open('transformer', { hash }), b = await state(q);
  for (const key of ['pass', 'mode', 'step', 'selection', 'tab', 'open'])
    check(`link: the same ${key}`, JSON.stringify(a[key]) === JSON.stringify(b[key]),
      [a[key], b[key]]);
  check('link: the same view', Math.abs(a.x - b.x) < 1 && Math.abs(a.k - b.k) < 0.01);
  await pages.close(q, 'link again');
  for (const bad of ['#p=99&m=x&s=1e9.gzz&e=..&v=0_0_-1&f=-5&o=none', '#%00%ff&&&=',
    '#p=NaN&r=-4']) {
    const r = await pages.open('transformer', { hash: bad });
    check(`link: ${bad} does no harm`, (await state(r)).items > 3);
    await pages.close(r, bad);
  }
}

async function details(pages) {
  const p = await pages.open('transformer');
  await p.keyboard.press('/');
  await p.keyboard.type('op:Gemm');
  await p.keyboard.press('Enter');
  await pages.settle(p);
  await p.waitForSelector('.hist');
  const panel = await text(p, '.panel');
  for (const word of ['MatMulV2', 'beta == 0', '(default)', 'cls.weight', '6 KiB', '-0.35, -0.25'])
    check(`details: ${word}`, panel.includes(word), panel.slice(0, 400));
  check('details: the histogram is drawn', await p.$eval('.hist', (c) =>
    c.getContext('2d').getImageData(0, 0, 600, 128).data.some((x) => x > 0)));
  await p.keyboard.press('y');
  const tir = await p.evaluate(() => window.tailorView.copied);
  check('details: copied as TIR',
    tir.startsWith('%classifier/Gemm = Gemm(%pooler/If, %cls.weight)') &&
    tir.endsWith('@classifier/Gemm {alpha=1.0, transB=0} : f32[1,2]'), tir);
  await p.keyboard.press('t');
  await p.waitForSelector('.lanes canvas');
  await pages.settle(p);
  await p.focus('.lanes canvas');
  await p.keyboard.press('ArrowRight');
  await pages.settle(p);
  check('timeline: an event selects its node', (await state(p)).selection.length === 1);
  await pages.close(p, 'details');
}

async function hostile(pages) {
  const p = await pages.open('hostile');
  p.on('dialog', () => check('hostile: no dialog', false));
  await p.keyboard.press('e');
  await pages.settle(p);
  const { selection } = await state(p);
  check('hostile: opens', selection.length === 0);
  const count = await p.evaluate(() => window.tailorView.graph.n);
  for (let i = 0; i < count; i++) {
    await p.evaluate((at) => window.tailorView.reveal([window.tailorView.graph.key[at]]), i);
    await pages.settle(p);
  }
  await p.fill('.find input', '<img src=x');
  await p.evaluate(() => window.tailorView.bar.search());
  check('hostile: names are found', Number(await text(p, '.find .count')) > 0);
  check('hostile: nothing was executed', await p.evaluate(() => window.executed === undefined));
  check('hostile: no element came from a name', await p.$$eval('img:not(.printed), iframe, object',
    (list) => list.length) === 0);
  check('hostile: no controls of direction', !/[\u202e\u0000\u0001]/.test(await text(p, '#app')));
  await accessible(p, 'hostile');
  await pages.close(p, 'hostile');
}

// 5,000 nodes with names of 10,000 letters each.
async function longNames(pages) {
  const p = await pages.open('names');
  check('long names: few items at first', (await state(p)).items < 100);
  const found = await p.evaluate(() => window.tailorView.search('op:Neg').length);
  check('long names: nodes are found', found === 2500, found);
  await p.evaluate(() => window.tailorView.reveal([window.tailorView.graph.key[7]]));
  await pages.settle(p);
  const most = await p.$$eval('#app *', (list) => Math.max(...list.filter((e) =>
    !e.children.length).map((e) => e.textContent.length)));
  check('long names: no element holds more than one name', most < 20000, most);
  await pages.close(p, 'long names');
}

// The timelines of two steps: of the one that is chosen, with its nodes.
async function timelines(pages) {
  const p = await pages.open('steps');
  await p.keyboard.press('t');
  const look = () => p.evaluate(async () => {
    const app = window.tailorView, { drawer } = app;
    while (!drawer.data) await new Promise((done) => setTimeout(done, 10));
    const stage = drawer.data.stages[drawer.data.stages.length - 1];
    return { step: stage.step, names: drawer.walked.map((e) => drawer.textOf(e)),
      there: drawer.walked.every((e) => app.graph.indexOf.has(drawer.keyOf(e))) };
  });
  const a = await look();
  await p.click('.drawer [data-subject="0"]');
  await pages.settle(p);
  const b = await look();
  check('timelines: each has its own time', a.step !== b.step && a.step > 0 && b.step > 0, [a, b]);
  check('timelines: events have names', a.names.length > 3 && b.names.every(Boolean), [a, b]);
  check('timelines: nodes of events are on the page', a.there && b.there, [a, b]);
  await p.evaluate(() => window.tailorView.drawer.choose(window.tailorView.drawer.walked[0]));
  await pages.settle(p);
  check('timelines: an event selects its node', (await state(p)).selection.length === 1);
  await pages.close(p, 'timelines');
}

async function others(pages) {
  const p = await pages.open('compare');
  check('compare: coloured', await pixels(p, 'removedbg') > 100 &&
    await pixels(p, 'changedbg') > 100);
  await p.keyboard.press('3');
  await pages.settle(p);
  check('compare: both files', /made_up\.onnx/.test(await text(p, '.half')) &&
    /other\.onnx/.test(await text(p, '.half + .half')));
  await pages.close(p, 'compare');
  const q = await pages.open('empty');
  check('empty: input and output', (await state(q)).items === 3);
  await pages.close(q, 'empty');
}

// ---- pages of the command -----------------------------------------------------------------------

async function isGelu(pages, p, what) {
  await p.keyboard.press('/');
  await p.keyboard.type('op:Erf');
  await p.keyboard.press('Enter');
  await pages.settle(p);
  await p.keyboard.press('f');
  await p.waitForSelector('[data-life]');
  const life = await text(p, '[data-life]');
  check(`${what}: Erf becomes Gelu by its rule`, /replaced.*GeluErf/.test(life), life);
  await p.click('[data-life]');
  await pages.settle(p);
  const s = await state(p);
  check(`${what}: Gelu stands for it`, s.names.some((n) => n.startsWith('Gelu')), s.names);
  await p.keyboard.press('.');
  await p.waitForSelector('[data-rule]'); // served data come when they come
  check(`${what}: the rule's text`, /match/.test(await text(p, '[data-rule]')));
  check(`${what}: names are text`, await p.evaluate(() => window.executed === undefined));
}

async function written(pages) {
  const p = await pages.open('written');
  await isGelu(pages, p, 'written');
  await p.click('#tab-overlay');
  await p.selectOption('[data-overlay]', 'dtype');
  await p.waitForSelector('.trow');
  check('written: dtypes', /f16/.test(await text(p, '.legend')));
  await accessible(p, 'written');
  await pages.close(p, 'written');
}

// Of two models, what overlays, reasons and lives are about is chosen.
async function subjects(pages) {
  const p = await pages.open('options');
  check('options: differences are coloured', await pixels(p, 'changedbg') +
    await pixels(p, 'addedbg') > 100);
  await p.click('#tab-overlay');
  await p.selectOption('[data-overlay]', 'dtype');
  await p.waitForSelector('.trow');
  check('options: the second model has f16', /f16/.test(await text(p, '.legend')));
  await p.click('.trow');
  await pages.settle(p);
  check('options: its table selects', (await state(p)).selection.length === 1 &&
    await p.$('.trow[aria-selected="true"]'));
  await p.click('[data-subject="0"]');
  await p.waitForFunction(() => !/f16/.test(document.querySelector('.legend').textContent));
  check('options: the first one has none', /f32/.test(await text(p, '.legend')));
  await p.click('[data-subject="1"]');
  await p.keyboard.press('w');
  await p.click('[data-why="cast"]');
  check('options: casts of the second one', /f32 → f16/.test(await text(p, '[data-reason]')));
  await p.click('[data-reason]');
  await pages.settle(p);
  check('options: a reason selects its node', (await state(p)).selection.length === 1);
  await p.click('#tab-details');
  await p.keyboard.press('f');
  await p.waitForSelector('[data-life]');
  check('options: the life of its node', /changed|made here|replaced/.test(
    await text(p, '[data-life]')));
  await accessible(p, 'options');
  await pages.close(p, 'options');
}

// What explain --page has besides.
async function explained(pages) {
  const p = await pages.open('explained');
  await p.waitForFunction(() => /lowered/.test(document.querySelector('.panel').textContent));
  check('explain: numbers of the model', /Done2Near misses0.*mixed_float16: 2 of 2/.test(
    await text(p, '.panel')), await text(p, '.panel'));
  await p.keyboard.press('w');
  await p.click('[data-why="cast"]');
  check('explain: casts and what they do', /constant.*casts|casts,.*constants are cast/.test(
    await text(p, '[data-precision]')) && /for /.test(await text(p, '[data-reason]')));
  await p.fill('[data-whyfilter]', 'no such thing');
  check('explain: reasons are searched', await p.$('[data-reason]') === null);
  await p.fill('[data-whyfilter]', '');
  await p.click('[data-reason]');
  await pages.settle(p);
  await p.click('#tab-details');
  await p.waitForSelector('[data-dtypes]');
  check('explain: dtypes of a node with reasons', /x.*f32 → f16.*/.test(
    await text(p, '[data-dtypes]')), await text(p, '[data-dtypes]'));
  check('explain: names are text', await p.evaluate(() => window.executed === undefined));
  await accessible(p, 'explain');
  await pages.close(p, 'explain');
}

// What verify --layers --page opens with.
async function layers(pages) {
  const p = await pages.open('layers');
  await p.waitForSelector('.trow');
  check('layers: the wrong node is first', /Tanh|%?e/.test(await text(p, '.trow')) &&
    /#1/.test(await text(p, '.trow')), await text(p, '.trow'));
  check('layers: with its heat', await p.$eval('.trow .heat .adds', (e) => e.clientWidth > 30));
  check('layers: what was compared', /differ/.test(await text(p, '[data-errors]')) &&
    /y.*differs/.test(await text(p, '[data-output]')));
  await p.click('[data-sort="node"]');
  await p.click('.trow');
  await pages.settle(p);
  check('layers: a row selects its node', (await state(p)).names[0].startsWith('MatMul'),
    (await state(p)).names);
  await p.click('button[aria-label="Language: 中文"]');
  await pages.settle(p);
  check('layers: in Chinese', /个张量/.test(await text(p, '[data-errors]')));
  await accessible(p, 'layers');
  await pages.close(p, 'layers');
}

async function served(pages) {
  const p = await pages.open('served', { address: process.argv[4] });
  check('served: data come when they are needed', await p.evaluate(() =>
    document.querySelectorAll('script[data-chunk]').length === 0));
  await isGelu(pages, p, 'served');
  await pages.close(p, 'served');
}

// ---- times, printed alone -----------------------------------------------------------------------

async function times(pages) {
  for (const name of ['transformer', 'flat']) {
    const p = await pages.open(name);
    const { open, items } = await p.evaluate(() => window.tailorView.times);
    const search = await p.evaluate(() => {
      const app = window.tailorView, out = [];
      for (const query of ['op:MatMul', 'relu', 'name:layer.7', 'dtype:f32 attr:axes']) {
        app.search(query);
        out.push(app.times.search);
      }
      return Math.max(...out.slice(1));
    });
    check(`${name}: few items at first`, items < 100, items);
    console.log(`times: ${name}: opens in ${open.toFixed(0)} ms, ${items} items; ` +
      `search at most ${search.toFixed(0)} ms`);
    await pages.close(p, name);
  }
  const p = await pages.open('wide');
  await p.keyboard.press('e');
  await pages.settle(p);
  const items = (await state(p)).items;
  const frame = await p.evaluate(async () => {
    const app = window.tailorView, times = [];
    for (let i = 0; i < 40; i++) {
      app.view.x += i % 2 ? 7 : -6;
      const start = performance.now();
      app.stage.left.draw();
      app.stage.left.canvas.getContext('2d').getImageData(0, 0, 1, 1); // waits for the drawing
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[20];
  });
  check('wide: all nodes are on the screen', items > 5000, items);
  console.log(`times: ${items} items on the screen: ${(1000 / frame).toFixed(0)} frames a second`);
  await pages.close(p, 'wide');
}

async function main() {
  const pages = new Pages(process.argv[2], process.argv[3]);
  await pages.start();
  const all = [opening, groups, moving, searching, walking, passes, following, overlays, looks,
    narrow, links, details, hostile, longNames, timelines, others, written, served, subjects,
    explained, layers, tasks.run, times];
  const only = process.argv.slice(5);
  for (const part of all) {
    if (only.length && !only.includes(part.name)) continue;
    console.error(`in ${part.name}`);
    try {
      await part(pages);
    } catch (e) {
      check(part.name, false, String(e.stack || e).slice(0, 600));
    }
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exit(counts.failed ? 1 : 0); // which ends the browser
}

main();
