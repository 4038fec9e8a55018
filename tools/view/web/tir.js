// SPDX-License-Identifier: Apache-2.0
// Nodes as textual IR, and the attributes in such texts.

const PLAIN_NAME = /^[A-Za-z0-9_./:-]*[A-Za-z0-9_./-]$/;

function quoted(text) {
  return '"' + text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t') + '"';
}

function tirValue(model, v, k) {
  if (v < 0) return '_';
  const name = model.valueName(v, k);
  if (!name) return `%$${v}`;
  return '%' + (PLAIN_NAME.test(name) ? name : quoted(name));
}

function tirOf(model, r, k) {
  const rec = model.records, name = model.text(rec.name[r]);
  const outs = rec.outs[r].map((v) => tirValue(model, v, k)).join(', ');
  const ins = rec.ins[r].map((v) => tirValue(model, v, k)).join(', ');
  const types = rec.outs[r].map((v) => model.type(v, k)).filter(Boolean).join(', ');
  return `${outs} = ${model.text(rec.op[r])}(${ins})` +
    (name ? ' @' + (PLAIN_NAME.test(name) ? name : quoted(name)) : '') +
    (rec.attrs[r] ? ' ' + braced(model.text(rec.attrs[r])) : '') + (types ? ' : ' + types : '');
}

function braced(text) {
  return text.startsWith('{') ? text : `{${text}}`;
}

// [[name, value], ...] of '{a=1, b=[2, 3]}': commas within brackets and strings do not count.
function parseAttrs(text) {
  const out = [], body = text.startsWith('{') ? text.slice(1, -1) : text;
  let depth = 0, start = 0, inside = false;
  const put = (end) => {
    const item = body.slice(start, end).trim(), at = equalsIn(item);
    if (item) out.push(at < 0 ? [item, ''] : [unquoted(item.slice(0, at).trim()),
      item.slice(at + 1).trim()]);
    start = end + 1;
  };
  for (let i = 0; i < body.length; i++) {
    const c = body[i];
    if (inside) {
      if (c === '\\') i++;
      else if (c === '"') inside = false;
    } else if (c === '"') inside = true;
    else if ('[({'.includes(c)) depth++;
    else if ('])}'.includes(c)) depth--;
    else if (c === ',' && depth === 0) put(i);
  }
  put(body.length);
  return out;
}

function equalsIn(item) {
  if (!item.startsWith('"')) return item.indexOf('=');
  let i = 1;
  while (i < item.length && item[i] !== '"') i += item[i] === '\\' ? 2 : 1;
  return item.indexOf('=', i);
}

function unquoted(name) {
  return name.startsWith('"') ? name.slice(1, -1).replace(/\\(.)/g, '$1') : name;
}
