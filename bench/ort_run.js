#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// ort_run.js MODEL INPUTS.json --ort DIR [--runs N] [--threads 2]: runs the model in ONNX Runtime
// (level basic) and prints JSON: processor time in ms of the best run but the first one. INPUTS.json
// maps a name to {"type": "int64"|"float32", "dims": [...], "top": N}: integers are below N.
'use strict';
const fs = require('fs');
const args = process.argv.slice(2);
const option = (name, other) => (args.includes(name) ? args[args.indexOf(name) + 1] : other);
const ort = require(require.resolve('onnxruntime-node', { paths: [option('--ort', __dirname)] }));

function tensor({ type, dims, top }) {
  const n = dims.reduce((a, b) => a * b, 1);
  const data = type === 'int64' ? BigInt64Array.from({ length: n }, (_, i) => BigInt(i % top))
    : Float32Array.from({ length: n }, (_, i) => Math.sin(i));
  return new ort.Tensor(type, data, dims);
}

async function main() {
  const session = await ort.InferenceSession.create(args[0], {
    intraOpNumThreads: Number(option('--threads', 2)), interOpNumThreads: 1,
    graphOptimizationLevel: 'basic', logSeverityLevel: 4,
  });
  const feeds = {};
  for (const [name, spec] of Object.entries(JSON.parse(fs.readFileSync(args[1], 'utf8'))))
    feeds[name] = tensor(spec);
  let best = Infinity;
  await session.run(feeds);
  for (let i = 1; i < Number(option('--runs', 5)); i++) {
    const before = process.cpuUsage();
    await session.run(feeds);
    const spent = process.cpuUsage(before);
    best = Math.min(best, (spent.user + spent.system) / 1e3);
  }
  console.log(JSON.stringify({ run: best }));
}
main();
