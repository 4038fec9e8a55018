/* SPDX-License-Identifier: Apache-2.0 */
/* Names to values: definition, forward references, and names that are unique in the end. A value
 * name may not be shadowed in the module, but ONNX Runtime lets bodies shadow: such values get a
 * fresh name. */
#include "frontend/onnx/import.h"

static const char private_mark = '\x1f';

tl_status tl_onnx_set_slot(tl_u32_vec *v, tl_symbol s, uint32_t value) {
  if (s >= v->n) {
    uint32_t want = s < UINT32_MAX / 2 ? s + s / 2 + 64 : UINT32_MAX;
    if (want > v->cap && !tl_u32_vec_reserve(v, want))
      return TL_NO_MEMORY;
    memset(v->at + v->n, 0, (size_t)(v->cap - v->n) * sizeof *v->at);
    v->n = v->cap;
  }
  v->at[s] = value;
  return TL_OK;
}

static const tl_formal *formal_of(const tl_onnx *x, tl_symbol name) {
  uint32_t low = 0;
  uint32_t high = x->frame->n_formals;
  const tl_formal *at = x->formals.at + x->frame->first_formal;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (at[mid].name == name)
      return &at[mid];
    if (at[mid].name < name)
      low = mid + 1;
    else
      high = mid;
  }
  return NULL;
}

static tl_symbol joined(tl_onnx *x, tl_sv prefix, char separator, tl_sv name) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, prefix);
  tl_buf_add_char(&text, separator);
  tl_buf_add_sv(&text, name);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_intern(x->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

tl_symbol tl_onnx_key(tl_onnx *x, tl_sv name) {
  tl_symbol plain = tl_onnx_symbol(x, name);
  if (!x->frame->function || plain == 0 || plain == TL_NO_SYMBOL)
    return plain;
  const tl_formal *formal = formal_of(x, plain);
  if (formal)
    return formal->key;
  tl_symbol key = joined(x, tl_sym(x->m, x->frame->prefix), private_mark, name);
  if (key == TL_NO_SYMBOL || tl_onnx_slot(&x->display, key))
    return key;
  tl_symbol readable = joined(x, tl_sym(x->m, x->frame->prefix), '/', name);
  if (readable == TL_NO_SYMBOL || tl_onnx_set_slot(&x->display, key, readable))
    return TL_NO_SYMBOL;
  return key;
}

tl_symbol tl_onnx_display(const tl_onnx *x, tl_symbol key) {
  tl_symbol readable = tl_onnx_slot(&x->display, key);
  return readable ? readable : key;
}

/* A name that nothing has: base_N, N going on from the last one made of this base, since a hostile
 * model can ask for thousands. */
static tl_symbol numbered(tl_onnx *x, tl_symbol base) {
  tl_buf text;
  tl_symbol name = TL_NO_SYMBOL;
  uint32_t n = tl_onnx_slot(&x->numbers, base);
  tl_buf_init(&text);
  do {
    tl_buf_clear(&text);
    tl_buf_add_sv(&text, tl_sym(x->m, base));
    tl_buf_printf(&text, "_%u", ++n);
  } while (!text.failed && tl_symbol_find(&x->m->symbols, tl_buf_view(&text)) != TL_NO_SYMBOL);
  if (!text.failed && tl_onnx_set_slot(&x->numbers, base, n) == TL_OK)
    name = tl_module_intern(x->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return name;
}

static tl_status rename_fresh(tl_onnx *x, tl_value_id v) {
  tl_symbol name = numbered(x, tl_value_get(x->m, v)->name);
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_value_set_name(x->m, v, name);
  return tl_onnx_set_slot(&x->claim, name, v);
}

/* Gives v the readable form of its private key, or a fresh name where that is taken. */
static tl_status name_private(tl_onnx *x, tl_symbol name, tl_value_id v) {
  tl_value_set_name(x->m, v, name);
  if (tl_onnx_slot(&x->value_of, name) || tl_onnx_slot(&x->claim, name))
    return rename_fresh(x, v);
  return tl_onnx_set_slot(&x->claim, name, v);
}

/* Names from the file win over names that were made up earlier. */
static tl_status name_plain(tl_onnx *x, tl_symbol key, tl_value_id v, bool shadows) {
  tl_value_set_name(x->m, v, key);
  tl_value_id other = tl_onnx_slot(&x->claim, key);
  if (other) {
    TL_TRY(tl_onnx_set_slot(&x->claim, key, 0));
    TL_TRY(rename_fresh(x, other));
  }
  return shadows ? rename_fresh(x, v) : TL_OK;
}

tl_status tl_onnx_define(tl_onnx *x, tl_graph_id g, tl_symbol key, tl_value_id v,
                         tl_location where) {
  tl_value_id old = tl_onnx_lookup(x, key);
  if (old && tl_value_graph(x->m, old) == g) {
    tl_sv name = tl_sym(x->m, tl_onnx_display(x, key));
    return tl_fail(x->d, TL_INVALID_MODEL, where,
                   "value '%.*s' is defined twice\v"
                   "every value name may be produced once in a graph",
                   TL_SV_ARG(name));
  }
  tl_symbol readable = tl_onnx_slot(&x->display, key);
  if (readable)
    TL_TRY(name_private(x, readable, v));
  else
    TL_TRY(name_plain(x, key, v, old != TL_NO_VALUE));
  if (x->closed.n && tl_onnx_slot(&x->closed, key) > x->depth &&
      !tl_u32_vec_push(&x->shadowed, key))
    return TL_NO_MEMORY;
  if (x->depth > 1 && !tl_undo_vec_push(&x->undo, (tl_undo){key, old}))
    return TL_NO_MEMORY;
  return tl_onnx_set_slot(&x->value_of, key, v);
}

tl_status tl_onnx_close_scope(tl_onnx *x, uint32_t undo_mark) {
  bool ok = true;
  while (x->undo.n > undo_mark) {
    tl_undo last = x->undo.at[--x->undo.n];
    x->value_of.at[last.key] = last.value;
    if (ok && tl_onnx_slot(&x->closed, last.key) < x->depth)
      ok = tl_onnx_set_slot(&x->closed, last.key, x->depth) == TL_OK;
  }
  return ok ? TL_OK : TL_NO_MEMORY;
}

static tl_status undefined(tl_onnx *x, const tl_pending *p) {
  tl_sv name = tl_sym(x->m, tl_onnx_display(x, p->key));
  if (tl_node_is_return(x->m, p->node))
    return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                   "graph output '%.*s' is produced by no node", TL_SV_ARG(name));
  return tl_fail(x->d, TL_INVALID_MODEL, tl_node_where(x->m, p->node),
                 "operand %u reads '%.*s', which nothing defines", p->operand, TL_SV_ARG(name));
}

tl_status tl_onnx_settle(tl_onnx *x, uint32_t mark, bool *sort) {
  uint32_t kept = mark;
  *sort = false;
  for (uint32_t i = mark; i < x->pending.n; i++) {
    tl_pending p = x->pending.at[i];
    tl_value_id v = tl_onnx_lookup(x, p.key);
    if (v) {
      tl_node_set_operand(x->m, p.node, p.operand, v);
      *sort = true;
    } else if (x->depth == 1) {
      return undefined(x, &p);
    } else {
      x->pending.at[kept++] = p;
    }
  }
  x->pending.n = kept;
  return TL_OK;
}

tl_status tl_onnx_unshadow(tl_onnx *x) {
  if (x->shadowed.n == 0)
    return TL_OK;
  for (uint32_t i = 0; i < x->shadowed.n; i++)
    TL_TRY(tl_onnx_set_slot(&x->mark, x->shadowed.at[i], 1));
  uint32_t end = tl_module_value_end(x->m);
  for (tl_value_id v = 1; v < end; v++) {
    const tl_value *value = tl_value_get(x->m, v);
    if (value->kind == TL_VALUE_NONE || !tl_onnx_slot(&x->mark, value->name))
      continue;
    if (tl_graph_get(x->m, tl_value_graph(x->m, v))->kind == TL_GRAPH_BODY)
      TL_TRY(rename_fresh(x, v));
  }
  for (uint32_t i = 0; i < x->shadowed.n; i++)
    TL_TRY(tl_onnx_set_slot(&x->mark, x->shadowed.at[i], 0));
  return TL_OK;
}
