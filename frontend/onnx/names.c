/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves names: definitions, forward references, and clashes between bodies and outer graphs.
 * A body may name inputs and constants like values around it. It keeps these names where it can,
 * since ONNX Runtime finds inputs of some bodies by name; only where a name would resolve to the
 * wrong value, the inner value is renamed. */
#include "frontend/onnx/names.h"
#include "ir/names.h"

static const char private_mark = '\x1f';

void tl_onnx_names_release(tl_onnx_names *names) {
  tl_u32_vec *const tables[] = {&names->value_of, &names->claim, &names->display, &names->mark,
                                &names->numbers};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    tl_u32_vec_release(tables[i]);
  tl_pending_vec_release(&names->pending);
  tl_undo_vec_release(&names->undo);
}

static const tl_formal *formal_of(const tl_onnx_names *names, tl_symbol name) {
  uint32_t low = 0;
  uint32_t high = names->calls->frame->n_formals;
  const tl_formal *at = names->calls->formals.at + names->calls->frame->first_formal;
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

static tl_symbol joined(tl_onnx_names *names, tl_sv prefix, char separator, tl_sv name) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, prefix);
  tl_buf_add_char(&text, separator);
  tl_buf_add_sv(&text, name);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_intern(names->r->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

tl_symbol tl_onnx_key(tl_onnx_names *names, tl_sv name) {
  tl_symbol plain = tl_onnx_symbol(names->r, name);
  if (!tl_onnx_in_function(names->calls) || plain == 0 || plain == TL_NO_SYMBOL)
    return plain;
  const tl_formal *formal = formal_of(names, plain);
  if (formal)
    return formal->key;
  tl_symbol key =
      joined(names, tl_sym(names->r->m, names->calls->frame->prefix), private_mark, name);
  if (key == TL_NO_SYMBOL || tl_slot_get(&names->display, key))
    return key;
  tl_symbol readable = joined(names, tl_sym(names->r->m, names->calls->frame->prefix), '/', name);
  if (readable == TL_NO_SYMBOL || tl_slot_set(&names->display, key, readable))
    return TL_NO_SYMBOL;
  return key;
}

tl_symbol tl_onnx_display(const tl_onnx_names *names, tl_symbol key) {
  tl_symbol readable = tl_slot_get(&names->display, key);
  return readable ? readable : key;
}

/* Returns a fresh name base_N. N continues from the last number of this base: a search from 1 would
 * be quadratic for a hostile model that asks for thousands. */
static tl_symbol numbered(tl_onnx_names *names, tl_symbol base) {
  tl_buf text;
  tl_symbol name = TL_NO_SYMBOL;
  uint32_t n = tl_slot_get(&names->numbers, base);
  tl_buf_init(&text);
  do {
    tl_buf_clear(&text);
    tl_buf_add_sv(&text, tl_sym(names->r->m, base));
    tl_buf_printf(&text, "_%u", ++n);
  } while (!text.failed &&
           tl_symbol_find(&names->r->m->symbols, tl_buf_view(&text)) != TL_NO_SYMBOL);
  if (!text.failed && tl_slot_set(&names->numbers, base, n) == TL_OK)
    name = tl_module_intern(names->r->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return name;
}

static tl_status rename_fresh(tl_onnx_names *names, tl_value_id v) {
  tl_symbol name = numbered(names, tl_value_get(names->r->m, v)->name);
  if (name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  tl_value_set_name(names->r->m, v, name);
  return tl_slot_set(&names->claim, name, v);
}

/* Names v by the readable form of its private key, or by a fresh name if that is taken. */
static tl_status name_private(tl_onnx_names *names, tl_symbol name, tl_value_id v) {
  tl_value_set_name(names->r->m, v, name);
  if (tl_slot_get(&names->value_of, name) || tl_slot_get(&names->claim, name))
    return rename_fresh(names, v);
  return tl_slot_set(&names->claim, name, v);
}

/* Names v by its key. A name of the file wins over a made-up one: the value that has it is renamed.
 */
static tl_status name_plain(tl_onnx_names *names, tl_symbol key, tl_value_id v) {
  tl_value_set_name(names->r->m, v, key);
  tl_value_id other = tl_slot_get(&names->claim, key);
  if (!other)
    return TL_OK;
  TL_TRY(tl_slot_set(&names->claim, key, 0));
  return rename_fresh(names, other);
}

tl_status tl_onnx_define(tl_onnx_names *names, tl_graph_id g, tl_symbol key, tl_value_id v,
                         tl_location where) {
  tl_value_id old = tl_onnx_lookup(names, key);
  if (old && tl_value_graph(names->r->m, old) == g) {
    tl_sv name = tl_sym(names->r->m, tl_onnx_display(names, key));
    return tl_fail(names->r->d, TL_INVALID_MODEL, where,
                   "value '%.*s' is defined twice\v"
                   "every value name may be produced once in a graph",
                   TL_SV_ARG(name));
  }
  tl_symbol readable = tl_slot_get(&names->display, key);
  if (readable)
    TL_TRY(name_private(names, readable, v));
  else
    TL_TRY(name_plain(names, key, v));
  if (names->depth > 1 && !tl_undo_vec_push(&names->undo, (tl_undo){key, old}))
    return TL_NO_MEMORY;
  return tl_slot_set(&names->value_of, key, v);
}

void tl_onnx_close_scope(tl_onnx_names *names, uint32_t undo_mark) {
  while (names->undo.n > undo_mark) {
    tl_undo last = names->undo.at[--names->undo.n];
    names->value_of.at[last.key] = last.value;
  }
}

static tl_status undefined(tl_onnx_names *names, const tl_pending *p) {
  tl_sv name = tl_sym(names->r->m, tl_onnx_display(names, p->key));
  if (tl_node_is_return(names->r->m, p->node))
    return tl_fail(names->r->d, TL_INVALID_MODEL, TL_AT_FILE(names->r->path),
                   "graph output '%.*s' is produced by no node", TL_SV_ARG(name));
  return tl_fail(names->r->d, TL_INVALID_MODEL, tl_node_where(names->r->m, p->node),
                 "operand %u reads '%.*s', which nothing defines", p->operand, TL_SV_ARG(name));
}

tl_status tl_onnx_settle(tl_onnx_names *names, uint32_t mark, bool *sort) {
  uint32_t kept = mark;
  *sort = false;
  for (uint32_t i = mark; i < names->pending.n; i++) {
    tl_pending p = names->pending.at[i];
    tl_value_id v = tl_onnx_lookup(names, p.key);
    if (v) {
      tl_node_set_operand(names->r->m, p.node, p.operand, v);
      *sort = true;
    } else if (names->depth == 1) {
      return undefined(names, &p);
    } else {
      names->pending.at[kept++] = p;
    }
  }
  names->pending.n = kept;
  return TL_OK;
}

static tl_status rename_result(void *user, tl_value_id v, bool seen) {
  (void)seen;
  return rename_fresh(user, v);
}

static tl_status rename_hider(void *user, tl_node_id n, uint32_t i, tl_value_id hider) {
  (void)n;
  (void)i;
  return rename_fresh(user, hider);
}

tl_status tl_onnx_unhide(tl_onnx_names *names) {
  tl_name_visitor visitor = {.shadows = rename_result, .hidden = rename_hider, .user = names};
  return names->r->m->graphs.n > 1 ? tl_names_walk(names->r->m, &visitor) : TL_OK;
}
