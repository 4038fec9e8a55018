#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Runner for `tailor run --runner` and `tailor verify --runner`: evaluates a model in ONNX Runtime
// for Node. Usage: onnxruntime.js MODEL INPUTS OUTPUTS (docs/evaluator.md has the protocol).
// Optimizations of the runtime are off, so that its tensors are those of the model. The package
// onnxruntime-node is looked up from this file, from the working directory and on NODE_PATH.
'use strict';
const fs = require('fs');
const path = require('path');

// TensorProto.DataType -> type of the runtime, array that holds it.
const TYPES = new Map([
  [1, ['float32', Float32Array]], [2, ['uint8', Uint8Array]], [3, ['int8', Int8Array]],
  [4, ['uint16', Uint16Array]], [5, ['int16', Int16Array]], [6, ['int32', Int32Array]],
  [7, ['int64', BigInt64Array]], [8, ['string', null]], [9, ['bool', Uint8Array]],
  [10, ['float16', Uint16Array]], [11, ['float64', Float64Array]], [12, ['uint32', Uint32Array]],
  [13, ['uint64', BigUint64Array]],
]);
const FIELD = { dims: 1, dataType: 2, strings: 6, name: 8, raw: 9 };

function loadRuntime() {
  const places = [__dirname, process.cwd()];
  try {
    return require(require.resolve('onnxruntime-node', { paths: places }));
  } catch (e) {
    throw new Error('the package onnxruntime-node is not found: set NODE_PATH to the node_modules '
                    + 'folder that holds it');
  }
}

// ---- reading ----------------------------------------------------------------------------------

// Fields of a message as [number, varint or bytes].
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= bytes.length) throw new Error('a message is cut off');
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = Number(tag & 7n);
    if (wire === 0) {
      yield [Number(tag >> 3n), varint()];
    } else if (wire === 2) {
      const length = Number(varint());
      yield [Number(tag >> 3n), bytes.subarray(at, at + length)];
      at += length;
    } else {
      throw new Error(`wire type ${wire} in a tensor`);
    }
  }
}

function readTensor(ort, file) {
  const t = { dims: [], type: 0, name: '', strings: [], raw: new Uint8Array(0) };
  for (const [number, value] of fields(fs.readFileSync(file))) {
    if (number === FIELD.dims) t.dims.push(Number(value));
    else if (number === FIELD.dataType) t.type = Number(value);
    else if (number === FIELD.name) t.name = Buffer.from(value).toString();
    else if (number === FIELD.strings) t.strings.push(Buffer.from(value).toString());
    else if (number === FIELD.raw) t.raw = value;
  }
  const known = TYPES.get(t.type);
  if (!known)
    throw new Error(`${path.basename(file)}: element type ${t.type} cannot be handed to the runtime`);
  const [type, List] = known;
  if (!List) return [t.name, new ort.Tensor(type, t.strings, t.dims)];
  const copy = Uint8Array.from(t.raw); // aligned
  return [t.name, new ort.Tensor(type, new List(copy.buffer), t.dims)];
}

function inputFiles(folder) {
  const number = (f) => Number(f.slice('input_'.length, -'.pb'.length));
  return fs.readdirSync(folder).filter((f) => /^input_\d+\.pb$/.test(f))
    .sort((a, b) => number(a) - number(b)).map((f) => path.join(folder, f));
}

// ---- writing ----------------------------------------------------------------------------------

function varint(value) {
  const out = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  out.push(Number(rest));
  return Buffer.from(out);
}

function numberField(number, value) {
  return Buffer.concat([varint(number << 3), varint(value)]);
}

function bytesField(number, bytes) {
  return Buffer.concat([varint(number << 3 | 2), varint(bytes.length), bytes]);
}

function tensorBytes(name, tensor) {
  if (!tensor || !tensor.dims)
    throw new Error(`output '${name}' is no tensor, which ONNX Runtime for Node cannot give back`);
  const parts = tensor.dims.map((d) => numberField(FIELD.dims, d));
  const found = [...TYPES].find(([, [type]]) => type === tensor.type);
  if (!found) throw new Error(`output '${name}' has the unknown element type ${tensor.type}`);
  parts.push(numberField(FIELD.dataType, found[0]), bytesField(FIELD.name, Buffer.from(name)));
  const data = tensor.data;
  if (tensor.type === 'string')
    for (const s of data) parts.push(bytesField(FIELD.strings, Buffer.from(s)));
  else
    parts.push(bytesField(FIELD.raw, Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
  return Buffer.concat(parts);
}

async function main() {
  const [model, inputs, outputs] = process.argv.slice(2);
  if (!outputs) throw new Error('usage: onnxruntime.js MODEL INPUTS OUTPUTS');
  const ort = loadRuntime();
  const options = { graphOptimizationLevel: 'disabled', logSeverityLevel: 3 };
  const session = await ort.InferenceSession.create(model, options);
  const feeds = {};
  for (const file of inputFiles(inputs)) {
    const [name, tensor] = readTensor(ort, file);
    feeds[name] = tensor;
  }
  const results = await session.run(feeds);
  session.outputNames.forEach((name, i) => {
    fs.writeFileSync(path.join(outputs, `output_${i}.pb`), tensorBytes(name, results[name]));
  });
}

main().catch((e) => {
  process.stderr.write(`onnxruntime.js: ${String(e.message || e).split('\n')[0]}\n`);
  process.exitCode = 1;
});
