// SPDX-License-Identifier: Apache-2.0
// Elements of the page. What comes from a model goes in as text alone, never as HTML.

// An element: tag with classes ('div.row.wide'), properties, children (elements or texts).
function el(tag, props, ...children) {
  const [name, ...classes] = tag.split('.');
  const e = document.createElement(name);
  if (classes.length) e.className = classes.join(' ');
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key === 'text') e.textContent = value;
    else if (key === 'style') Object.assign(e.style, value);
    else e.setAttribute(key, value === true ? '' : String(value));
  }
  append(e, children);
  return e;
}

function append(parent, children) {
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(child);
  }
}

function replace(parent, ...children) {
  parent.textContent = '';
  append(parent, children);
}

// A button with a text key as its label, and what else it needs.
function button(label, onclick, props) {
  return el('button', { type: 'button', onclick, ...props }, label);
}

// Names may be megabytes long or hold what turns the direction of text: what is shown is short and
// has visible marks instead of controls.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function shown(text, most = 200) {
  let s = text.length > most ? text.slice(0, most - 1) + '…' : text;
  if (CONTROLS.test(s)) s = s.replace(CONTROLS, '\ufffd');
  return s;
}

// The same for texts of several lines.
function shownLines(text, most) {
  return text.slice(0, most).split('\n').map((line) => shown(line, most)).join('\n');
}

// Of long names the end says most.
function endOf(text, most) {
  return text.length > most ? '…' + shown(text.slice(1 - most), most) : shown(text, most);
}

function debounce(work, delay) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), delay);
  };
}

// 1234567 as '1.23 M'; bytes with powers of 1024.
function quantity(x, unit) {
  if (typeof x !== 'number' || !Number.isFinite(x)) return String(x);
  if (unit === 'us') return milliseconds(x * 1000);
  const base = unit === 'B' ? 1024 : 1000;
  const steps = unit === 'B' ? ['', 'Ki', 'Mi', 'Gi', 'Ti'] : ['', 'k', 'M', 'G', 'T', 'P'];
  let size = Math.abs(x), step = 0;
  if (size !== 0 && size < 0.01) return x.toExponential(2) + (unit ? ' ' + unit : '');
  while (size >= base && step + 1 < steps.length) {
    size /= base;
    step++;
  }
  const digits = size >= 100 || Number.isInteger(size) ? 0 : size >= 10 ? 1 : 2;
  const text = (x < 0 ? '-' : '') + size.toFixed(digits);
  return (text + ' ' + steps[step] + (unit || '')).trim();
}

function milliseconds(ns) {
  const ms = ns / 1e6;
  if (ms >= 1000) return (ms / 1000).toFixed(2) + ' s';
  if (ms < 0.1) return (ns / 1000).toFixed(1) + ' µs';
  return (ms >= 10 ? ms.toFixed(0) : ms.toFixed(ms >= 1 ? 2 : 3)) + ' ms';
}
