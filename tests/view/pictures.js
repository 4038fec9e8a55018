#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// pictures.js FOLDER BROWSER OUT: takes the pictures of docs/view.md, for scripts/view-pictures.
'use strict';
const path = require('path');
const { Pages, clickOn } = require('./harness.js');

const SIZE = { width: 1180, height: 720 };

async function shoot(pages, p, name) {
  await pages.settle(p);
  await p.waitForTimeout(400);
  await p.screenshot({ path: path.join(process.argv[4], `view-${name}.png`) });
}

async function find(pages, p, words) {
  await p.keyboard.press('/');
  await p.keyboard.type(words);
  await p.keyboard.press('Enter');
  await pages.settle(p);
  await p.fill('.find input', '');
  await p.evaluate(() => window.tailorView.bar.search());
  await p.focus('.half canvas');
}

async function passNamed(pages, p, name) {
  await p.click(`.pass:has-text("${name}")`);
  await pages.settle(p);
}

async function main() {
  const pages = new Pages(process.argv[2], process.argv[3]);
  await pages.start();
  let p = await pages.open('bert', SIZE);
  await passNamed(pages, p, 'graph-fusion');
  await p.fill('.panel input[type="search"]', 'GeluErf');
  await p.click('.rewrite');
  await shoot(pages, p, 'rewrite');
  await p.keyboard.press('3');
  await shoot(pages, p, 'side');
  await p.context().close();

  p = await pages.open('bert', SIZE);
  await clickOn(p, 'encoder');
  await shoot(pages, p, 'graph');
  await p.click('#tab-overlay');
  await p.selectOption('[data-overlay]', 'dtype');
  await pages.settle(p);
  await p.fill('[data-filter]', 'f32');
  await p.click('.trow');
  await shoot(pages, p, 'overlay');
  await p.context().close();

  p = await pages.open('bert', { ...SIZE, scheme: 'dark' });
  await find(pages, p, 'op:Erf name:layer.3');
  await p.keyboard.press('f');
  await p.waitForSelector('.followed');
  await shoot(pages, p, 'follow');
  await p.context().close();

  p = await pages.open('step', SIZE);
  await p.keyboard.press('t');
  await p.waitForSelector('.lanes canvas');
  await p.click('#tab-overlay');
  await p.selectOption('[data-overlay]', 'streams');
  await shoot(pages, p, 'step');
  await p.context().close();

  p = await pages.open('options', SIZE);
  await p.click('#tab-pass');
  await shoot(pages, p, 'options');
  await pages.browser.close();
}

main();
