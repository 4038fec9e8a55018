// SPDX-License-Identifier: Apache-2.0
// times.js CHROMIUM PAGE...: how long pages take in a headless browser without a graphics card, as
// they measure it themselves. bench/view calls it.
'use strict';
const path = require('path');
const { chromium } = require('playwright-core');

const QUERIES = ['op:MatMul', 'relu', 'name:layers.7', 'dtype:f32 attr:axes', 'proj'];

async function measure(browser, page) {
  const p = await (await browser.newContext()).newPage();
  p.setDefaultTimeout(0);
  await p.goto('file://' + path.resolve(page));
  await p.waitForSelector('#app[data-ready]');
  await p.evaluate(() => window.tailorView.idle());
  const found = await p.evaluate((queries) => {
    const app = window.tailorView, begin = performance.now();
    for (const search of app.searches.values()) search.prepare();
    const prepare = performance.now() - begin;
    const search = queries.map((query) => {
      app.search(query);
      return app.times.search;
    });
    return { ...app.times, prepare, search, nodes: app.graph.n };
  }, QUERIES);
  await p.context().close();
  return found;
}

async function main([executable, ...pages]) {
  const browser = await chromium.launch({ executablePath: executable, timeout: 0,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  for (const page of pages) {
    const t = await measure(browser, page);
    console.log(`${path.basename(page)}: ${t.nodes} nodes; opens in ${t.open.toFixed(0)} ms with ` +
      `${t.items} items; first search ready after ${t.prepare.toFixed(0)} ms; searches take ` +
      t.search.map((x) => x.toFixed(0)).join(', ') + ' ms');
  }
  await browser.close();
}

main(process.argv.slice(2));
