// SPDX-License-Identifier: Apache-2.0
// Tensors for tests that run models in ONNX Runtime: reading TensorProto files, seeded random
// inputs, and elements as numbers (this Node hands halves over as their bits).
'use strict';
const fs = require('fs');
const path = require('path');

// TensorProto.DataType -> type of the runtime, and what holds its elements.
const TYPES = new Map([
  [1, 'float32'], [2, 'uint8'], [3, 'int8'], [4, 'uint16'], [5, 'int16'], [6, 'int32'],
  [7, 'int64'], [8, 'string'], [9, 'bool'], [10, 'float16'], [11, 'float64'], [12, 'uint32'],
  [13, 'uint64'],
]);
const LISTS = {
  float32: Float32Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array,
  int16: Int16Array, int32: Int32Array, int64: BigInt64Array, bool: Uint8Array,
  float16: Uint16Array, float64: Float64Array, uint32: Uint32Array, uint64: BigUint64Array,
};
const LARGEST = 5e7; // elements of a random input

// ---- halves -------------------------------------------------------------------------------------

const HALVES = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = bits >> 10 & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
});

// Bits of the half nearest to x, ties to even; x is at most 65504 in magnitude.
function halfOf(x) {
  const sign = x < 0 ? 0x8000 : 0;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(x) || 1e-9)), -14);
  const steps = Math.abs(x) / 2 ** (exponent - 10); // in units of the last place
  let n = Math.floor(steps);
  if (steps - n > 0.5 || (steps - n === 0.5 && n % 2)) n++;
  return sign | (n + (exponent + 14 << 10)); // a carry goes into the exponent by itself
}

// Element i of a tensor as a number.
function element(tensor, i) {
  if (tensor.type === 'float16' && tensor.data instanceof Uint16Array) return HALVES[tensor.data[i]];
  return Number(tensor.data[i]);
}

// ---- reading ------------------------------------------------------------------------------------

function varint(b, p) {
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = b[p++];
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, p];
  }
}

function packed(bytes, add) {
  for (let p = 0, v; p < bytes.length;) {
    [v, p] = varint(bytes, p);
    add(v);
  }
}

// [field, value] of a message: a bigint, the bytes, or a number for fixed sizes.
function* fields(b) {
  for (let p = 0; p < b.length;) {
    let key;
    let v;
    [key, p] = varint(b, p);
    const wire = Number(key & 7n);
    if (wire === 0) {
      [v, p] = varint(b, p);
    } else if (wire === 1) {
      v = b.readDoubleLE(p);
      p += 8;
    } else if (wire === 5) {
      v = b.readFloatLE(p);
      p += 4;
    } else if (wire === 2) {
      [v, p] = varint(b, p);
      const size = Number(v);
      v = b.subarray(p, p + size);
      p += size;
    } else {
      throw new Error('wire type ' + wire);
    }
    yield [Number(key >> 3n), v];
  }
}

function parse(bytes) {
  const t = { dims: [], type: 0, raw: null, floats: [], doubles: [], integers: [], strings: [] };
  const integer = (v) => t.integers.push(BigInt.asIntN(64, v));
  const dim = (v) => t.dims.push(Number(BigInt.asIntN(64, v)));
  for (const [field, v] of fields(bytes)) {
    const many = v instanceof Uint8Array;
    if (field === 1) many ? packed(v, dim) : dim(v);
    else if (field === 2) t.type = Number(v);
    else if (field === 4 && !many) t.floats.push(v);
    else if (field === 4) for (let q = 0; q < v.length; q += 4) t.floats.push(v.readFloatLE(q));
    else if (field === 5 || field === 7 || field === 11) many ? packed(v, integer) : integer(v);
    else if (field === 6) t.strings.push(v.toString());
    else if (field === 9) t.raw = v;
    else if (field === 10 && !many) t.doubles.push(v);
    else if (field === 10) for (let q = 0; q < v.length; q += 8) t.doubles.push(v.readDoubleLE(q));
  }
  return t;
}

// The tensor of a TensorProto file.
function readTensor(ort, file) {
  const t = parse(fs.readFileSync(file));
  const type = TYPES.get(t.type);
  if (!type) throw new Error('dtype ' + t.type);
  if (type === 'string') return new ort.Tensor('string', t.strings, t.dims);
  const List = LISTS[type];
  let data;
  if (t.raw) {
    const copy = Uint8Array.from(t.raw); // aligned
    data = new List(copy.buffer, 0, copy.byteLength / List.BYTES_PER_ELEMENT);
  } else if (type === 'float32') {
    data = List.from(t.floats);
  } else if (type === 'float64') {
    data = List.from(t.doubles);
  } else {
    const wide = type === 'int64' || type === 'uint64';
    data = List.from(wide ? t.integers : t.integers.map(Number));
  }
  return new ort.Tensor(type, data, t.dims);
}

// Tensors of KIND_0.pb, KIND_1.pb ... of a folder.
function dataOf(ort, folder, kind) {
  const number = (f) => parseInt(f.slice(kind.length + 1), 10);
  const files = fs.readdirSync(folder).filter((f) => f.startsWith(kind) && /_\d+\.pb$/.test(f));
  files.sort((a, b) => number(a) - number(b));
  return files.map((f) => readTensor(ort, path.join(folder, f)));
}

// The inputs of a folder for those of a session.
function dataInputs(ort, session, folder) {
  const feeds = {};
  dataOf(ort, folder, 'input').forEach((t, i) => { feeds[session.inputNames[i]] = t; });
  return feeds;
}

function dataOutputs(ort, folder) {
  return dataOf(ort, folder, 'output');
}

// ---- random inputs ------------------------------------------------------------------------------

function generator(seed) {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Reals between -1 and 1, integers below `integers`; `size` for dims without one.
function randomInputs(ort, session, size, integers) {
  const feeds = {};
  const next = generator(7);
  for (const m of session.inputMetadata) {
    if (!m.isTensor) throw new Error('non-tensor input');
    const dims = m.shape.map((d) => (typeof d === 'number' && d >= 0 ? d : size));
    const length = dims.reduce((a, b) => a * b, 1);
    if (length > LARGEST) throw new Error('huge input');
    const List = LISTS[m.type];
    if (!List) throw new Error('input type ' + m.type);
    const real = () => next() * 2 - 1;
    const whole = () => Math.floor(next() * integers);
    let make = whole;
    if (m.type === 'float16') make = () => halfOf(real());
    else if (/float/.test(m.type)) make = real;
    else if (/64/.test(m.type)) make = () => BigInt(whole());
    feeds[m.name] = new ort.Tensor(m.type, List.from({ length }, make), dims);
  }
  return feeds;
}

module.exports = { dataInputs, dataOutputs, element, halfOf, randomInputs, HALVES };
