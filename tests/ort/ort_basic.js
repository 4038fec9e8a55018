#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// ort_basic.js LIST.tsv --ort DIR [--level L]: for each line "model<TAB>output" of the list, lets
// ONNX Runtime optimize the model at this level, basic if none is given, and save it. Prints
// "model<TAB>ok" or "model<TAB>message". A model that brings the runtime down costs only itself: every line runs in a child.
'use strict';
const fs = require('fs');
const { fork } = require('child_process');

if (process.send) {
  const ort = require(require.resolve('onnxruntime-node', { paths: [process.argv[2]] }));
  process.on('message', async ([model, save]) => {
    let said = 'ok';
    try {
      await ort.InferenceSession.create(model, {
        graphOptimizationLevel: process.argv[3], optimizedModelFilePath: save, intraOpNumThreads: 1,
        interOpNumThreads: 1, enableCpuMemArena: false, logSeverityLevel: 4,
      });
    } catch (e) {
      said = String(e.message || e).replace(/\s+/g, ' ').slice(0, 200);
    }
    process.send(said);
  });
} else {
  const dir = process.argv[process.argv.indexOf('--ort') + 1];
  const at = process.argv.indexOf('--level');
  const level = at < 0 ? 'basic' : process.argv[at + 1];
  const rows = fs.readFileSync(process.argv[2], 'utf8').split('\n').filter(Boolean)
    .map((line) => line.split('\t'));
  let next = 0;
  const worker = () => {
    const child = fork(__filename, [dir, level], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    let row = null;
    const step = () => {
      if (next === rows.length) return child.disconnect();
      row = rows[next++];
      child.send(row);
    };
    child.on('message', (said) => {
      console.log(`${row[0]}\t${said}`);
      row = null;
      step();
    });
    child.on('exit', () => {
      if (row) {
        console.log(`${row[0]}\tthe runtime ended`);
        worker();
      }
    });
    step();
  };
  worker();
  worker();
}
