// SPDX-License-Identifier: Apache-2.0
// Ten things that an author of passes wants to know, each in at most five actions from the page as
// it opens. An action is a key, a text that is typed, a click or a choice.
'use strict';
const { check, clickOn, state } = require('./harness.js');

const MOST = 5;
const press = (key) => (p) => p.keyboard.press(key);
const type = (words) => (p) => p.keyboard.type(words);
const click = (selector) => (p) => p.click(selector);
const choose = (name) => (p) => p.selectOption('[data-overlay]', name);
const panel = (p) => p.$eval('.panel', (e) => e.textContent);
const rail = (p, k) => p.$eval(`[data-pass="${k}"]`, (e) => e.textContent);
const firstRow = async (p) => {
  await p.waitForSelector('.trow');
  return p.$eval('.trow', (e) => e.textContent);
};

const TASKS = [
  ['why this LayerNorm was not fused', 'transformer',
    [press('w'), click('[data-why="missed"]'), click('[data-reason]')],
    async (p) => (await panel(p)).includes('the variance has a second user') &&
      (await state(p)).selection.length === 7],
  ['which pass dropped this node', 'transformer',
    [press('/'), type('op:Identity'), press('Enter'), press('f')],
    async (p) => {
      await p.waitForSelector('.followed');
      return (await rail(p, 1)).includes('removed');
    }],
  ['where f32 is kept, and why', 'transformer',
    [click('#tab-overlay'), choose('dtype'), (p) => p.fill('[data-filter]', 'f32')],
    async (p) => (await panel(p)).includes('12/') && /Softmax.*kept by the list/.test(
      await firstRow(p))],
  ['what is largest', 'transformer', [click('#tab-overlay'), choose('weights')],
    async (p) => /embeddings\/Gather.*89\.4 MiB/.test(await firstRow(p))],
  ['which rewrite added this Cast', 'transformer',
    [press('/'), type('op:Cast name:layer.5'), press('Enter'), press('f')],
    async (p) => {
      await p.waitForSelector('[data-life]');
      return /insert-casts.*CastForPrecision/.test(await p.$eval('[data-life]',
        (e) => e.textContent));
    }],
  ['what runs on which stream', 'transformer',
    [click('#tab-overlay'), choose('streams'), press('t')],
    async (p) => {
      await p.waitForSelector('.lanes canvas');
      return /stream 0.*stream 1/.test(await p.$eval('.legend', (e) => e.textContent));
    }],
  ['what two options change', 'compare', [click('#tab-pass')],
    async (p) => /Tanh.*changed.*op: Relu, Tanh.*Softmax.*removed/.test(await panel(p))],
  ['which block repeats', 'transformer', [(p) => clickOn(p, 'encoder')],
    async (p) => (await panel(p)).includes('12 equal blocks')],
  ['where a weight goes', 'transformer',
    [press('/'), type('weight:layer.4/ffn.out'), press('Enter'), press('f')],
    async (p) => {
      await p.waitForSelector('.hist');
      return /MatMul_1/.test(await panel(p)) && (await rail(p, 3)).includes('kept');
    }],
  ['which tensor differs first', 'transformer',
    [click('#tab-overlay'), choose('error'), (p) => p.fill('[data-threshold]', '500'),
      click('[data-sort="node"]'), click('.trow')],
    async (p) => {
      const first = await p.evaluate(() => {
        const o = window.tailorView.overlay();
        return [...o.value].find(([, v]) => o.shows(v))[0];
      });
      return (await state(p)).selection[0] === first;
    }],
];

async function run(pages) {
  for (const [what, name, actions, holds] of TASKS) {
    const p = await pages.open(name);
    for (const act of actions) {
      await act(p);
      await pages.settle(p);
    }
    check(`task: ${what}`, actions.length <= MOST && await holds(p), await panel(p));
    await pages.close(p, what);
  }
}

module.exports = { run };
