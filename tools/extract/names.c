/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the values that names of --from and --to stand for. A name is that of a value, else of a
 * node, else NODE:INDEX, a result of a node. */
#include "ir/trace.h"
#include "passes/edit/values.h"
#include "tools/extract/extract.h"

/* Names of the main graph. */
typedef struct finder {
  tl_part *p;
  const tl_graph *g;
  tl_option_id option; /* whose names are read */
  tl_map names;        /* (VALUE, symbol): value; (NODE, symbol): the first node of that name */
} finder;

enum { VALUE = 1, NODE = 2 };

static tl_status no_memory(tl_part *p) { return tl_fail_memory(&p->cli->diag, TL_NOWHERE); }

static tl_location here(const finder *f) { return tl_at_option(&f->p->cli->settings, f->option); }

/* ---- the index ------------------------------------------------------------------------------- */

static bool index_value(finder *f, tl_value_id v) {
  tl_symbol name = v ? tl_value_get(f->p->m, v)->name : 0;
  return !name || tl_map_set(&f->names, tl_map_pair(VALUE, name), v);
}

static bool index_names(finder *f) {
  const tl_module *m = f->p->m;
  bool good = true;
  for (uint32_t i = 0; i < f->g->inputs.n; i++)
    good = good && index_value(f, f->g->inputs.at[i]);
  for (uint32_t i = 0; i < f->g->constants.n; i++)
    good = good && index_value(f, f->g->constants.at[i]);
  TL_FOR_NODES(m, f->g, n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; i < node->n_results; i++)
      good = good && index_value(f, node->results + i);
    if (node->name && !tl_map_find(&f->names, tl_map_pair(NODE, node->name), NULL))
      good = good && tl_map_set(&f->names, tl_map_pair(NODE, node->name), n);
  }
  return good;
}

static bool find(const finder *f, uint32_t kind, tl_sv name, uint32_t *id) {
  tl_symbol s = tl_symbol_find(&f->p->m->symbols, name);
  return s != TL_NO_SYMBOL && s != 0 && tl_map_find(&f->names, tl_map_pair(kind, s), id);
}

/* ---- names that nothing has ------------------------------------------------------------------ */

static void try_value(const finder *f, tl_nearest *near, tl_value_id v) {
  if (v)
    tl_nearest_try(near, tl_value_name(f->p->m, v));
}

/* Returns the name of a value or node of the main graph that is likely meant, empty for none. */
static tl_sv nearest(const finder *f, tl_sv name) {
  const tl_module *m = f->p->m;
  tl_nearest near = tl_nearest_start(name);
  for (uint32_t i = 0; i < f->g->inputs.n; i++)
    try_value(f, &near, f->g->inputs.at[i]);
  TL_FOR_NODES(m, f->g, n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; i < node->n_results; i++)
      try_value(f, &near, node->results + i);
    tl_nearest_try(&near, tl_sym(m, node->name));
  }
  return near.found;
}

static bool graph_has(const tl_module *m, const tl_graph *g, tl_symbol name) {
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (tl_value_get(m, g->inputs.at[i])->name == name)
      return true;
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i] && tl_value_get(m, g->constants.at[i])->name == name)
      return true;
  TL_FOR_NODES(m, g, n) {
    const tl_node *node = tl_node_get(m, n);
    for (uint32_t i = 0; i < node->n_results; i++)
      if (tl_value_get(m, node->results + i)->name == name)
        return true;
    if (node->name == name)
      return true;
  }
  return false;
}

/* Returns the node of the main graph around a body. */
static tl_node_id outermost(const tl_module *m, const tl_graph *g) {
  tl_node_id n = g->owner;
  while (n && tl_node_get(m, n)->graph != tl_module_main(m)->id)
    n = tl_graph_get(m, tl_node_get(m, n)->graph)->owner;
  return n;
}

static bool is_made_of(const tl_module *m, tl_node_id n, tl_sv name, tl_buf *room) {
  tl_sv origins = tl_trace_get(m, n, TL_TRACE_NAMES), item;
  tl_trace_items at = tl_trace_start(origins);
  while (origins.n && tl_trace_next(&at, room, &item))
    if (tl_sv_eq(item, name))
      return true;
  return false;
}

/* Returns the last node of the main graph that was made of a node of this name. */
static tl_node_id made_of(const finder *f, tl_sv name) {
  tl_node_id found = TL_NO_NODE;
  tl_buf room;
  tl_buf_init(&room);
  TL_FOR_NODES(f->p->m, f->g, n)
    if (tl_node_get(f->p->m, n)->extra && is_made_of(f->p->m, n, name, &room))
      found = n;
  tl_buf_release(&room);
  return found;
}

/* Reports a name that is only in a body or in another graph; TL_OK: it is in none. */
static tl_status fail_elsewhere(const finder *f, tl_sv name) {
  tl_module *m = f->p->m;
  tl_diag *d = &f->p->cli->diag;
  tl_sv shown = tl_sv_shown(name);
  tl_symbol s = tl_symbol_find(&m->symbols, name);
  for (uint32_t i = 0; s && s != TL_NO_SYMBOL && i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased || g == f->g || !graph_has(m, g, s))
      continue;
    tl_node_id around = outermost(m, g);
    if (!around)
      return tl_fail(d, TL_INVALID_ARGUMENT, here(f),
                     "'%.*s' is not in the first graph of the file, from which parts are taken",
                     TL_SV_ARG(shown));
    tl_sv owner = tl_sv_shown(tl_node_where(m, around).node);
    return tl_fail(d, TL_INVALID_ARGUMENT, here(f),
                   "'%.*s' is inside a body of '%.*s', which no part divides\vname '%.*s' or a "
                   "value outside",
                   TL_SV_ARG(shown), TL_SV_ARG(owner), TL_SV_ARG(owner));
  }
  return TL_OK;
}

/* Reports a name that the main graph lacks: of a body, of another graph, of a node that others were
 * made of, misspelled, or unknown. */
static tl_status fail_unknown(const finder *f, tl_sv name) {
  const tl_module *m = f->p->m;
  tl_diag *d = &f->p->cli->diag;
  tl_sv shown = tl_sv_shown(name), hint = {"", 0};
  TL_TRY(fail_elsewhere(f, name));
  tl_node_id made = made_of(f, name);
  if (made)
    hint = tl_sv_shown(tl_sym(m, tl_node_get(m, made)->name));
  if (hint.n)
    return tl_fail(d, TL_INVALID_ARGUMENT, here(f),
                   "'%.*s' is no node of this file, but nodes were made of it: '%.*s' is the last",
                   TL_SV_ARG(shown), TL_SV_ARG(hint));
  hint = tl_sv_shown(nearest(f, name));
  if (hint.n)
    return tl_fail(d, TL_INVALID_ARGUMENT, here(f),
                   "the model has no value and no node '%.*s'\vdid you mean '%.*s'?",
                   TL_SV_ARG(shown), TL_SV_ARG(hint));
  return tl_fail(d, TL_INVALID_ARGUMENT, here(f),
                 "the model has no value and no node '%.*s'\v'tailor opt MODEL --passes=' prints "
                 "the names",
                 TL_SV_ARG(shown));
}

/* ---- what names stand for -------------------------------------------------------------------- */

/* Lists a value once. */
static tl_status list(tl_part *p, tl_u32_vec *v, tl_value_id id, uint8_t mark) {
  if (p->value[id] & mark)
    return TL_OK;
  p->value[id] |= mark;
  return tl_u32_vec_push(v, id) ? TL_OK : no_memory(p);
}

static tl_status take_value(finder *f, tl_value_id v) {
  tl_part *p = f->p;
  unsigned kind = tl_value_get(p->m, v)->kind;
  tl_sv shown = tl_sv_shown(tl_value_name(p->m, v));
  bool from = f->option == TL_OPTION_EXTRACT_FROM;
  if (from && kind != TL_VALUE_CONSTANT)
    return list(p, &p->from, v, TL_PART_BORDER);
  if (!from && kind == TL_VALUE_RESULT)
    return list(p, &p->to, v, TL_PART_OUTPUT);
  return tl_fail(&p->cli->diag, TL_INVALID_ARGUMENT, here(f),
                 from ? "'%.*s' is a constant, which the part has as a weight\vleave it out"
                 : kind == TL_VALUE_CONSTANT
                     ? "'%.*s' is a constant: no node computes it"
                     : "'%.*s' is an input of the model: no node computes it",
                 TL_SV_ARG(shown));
}

/* Makes what a node of --from reads a border; its weights stay weights. */
static tl_status take_operand(tl_part *p, tl_value_id v) {
  return tl_value_get(p->m, v)->kind == TL_VALUE_CONSTANT ? TL_OK
                                                          : list(p, &p->from, v, TL_PART_BORDER);
}

static bool is_used(const tl_module *m, tl_value_id v) { return tl_value_get(m, v)->n_uses != 0; }

/* Takes the results of a node: those that something uses, else all. */
static tl_status take_results(finder *f, tl_node_id n) {
  const tl_module *m = f->p->m;
  uint32_t used = 0, taken = 0;
  for (uint32_t i = 0; tl_result(m, n, i); i++)
    used += is_used(m, tl_result(m, n, i));
  for (uint32_t i = 0; tl_result(m, n, i); i++) {
    tl_value_id v = tl_result(m, n, i);
    bool wanted = used ? is_used(m, v) : tl_value_get(m, v)->name != 0;
    taken += wanted;
    if (wanted)
      TL_TRY(take_value(f, v));
  }
  tl_sv shown = tl_sv_shown(tl_sym(m, tl_node_get(m, n)->name));
  return taken ? TL_OK
               : tl_fail(&f->p->cli->diag, TL_INVALID_ARGUMENT, here(f),
                         "node '%.*s' has no results", TL_SV_ARG(shown));
}

static tl_status take_node(finder *f, tl_node_id n) {
  if (f->option == TL_OPTION_EXTRACT_TO)
    return take_results(f, n);
  return tl_u32_vec_push(&f->p->heads, n) ? tl_part_each_used(f->p, n, take_operand)
                                          : no_memory(f->p);
}

/* Says that a name of two things was taken as the value. */
static void note_value(finder *f, tl_sv name, tl_value_id v, tl_node_id n) {
  tl_sv shown = tl_sv_shown(name);
  if (f->option == TL_OPTION_EXTRACT_TO && tl_value_producer(f->p->m, v) == n)
    return; /* both mean the same */
  tl_buf_printf(&f->p->notes,
                "note: --%s: '%.*s' is the name of a value and of a node; the value is taken\n",
                f->option == TL_OPTION_EXTRACT_TO ? "to" : "from", TL_SV_ARG(shown));
}

/* Takes "NODE:INDEX". *known: the node exists. */
static tl_status take_result(finder *f, tl_sv name, bool *known) {
  const tl_module *m = f->p->m;
  size_t colon = name.n;
  uint64_t index;
  uint32_t n;
  while (colon > 0 && name.p[colon - 1] != ':')
    colon--;
  *known = colon > 1 && tl_parse_u64((tl_sv){name.p + colon, name.n - colon}, &index) &&
           find(f, NODE, (tl_sv){name.p, colon - 1}, &n);
  if (!*known)
    return TL_OK;
  tl_value_id v = index < UINT32_MAX ? tl_result(m, n, (uint32_t)index) : TL_NO_VALUE;
  tl_sv shown = tl_sv_shown(name);
  return v ? take_value(f, v)
           : tl_fail(&f->p->cli->diag, TL_INVALID_ARGUMENT, here(f),
                     "'%.*s': results of the node are counted from 0, and there are %u",
                     TL_SV_ARG(shown), tl_node_get(m, n)->n_results);
}

/* Takes one name. *known: something has it. */
static tl_status take_name(finder *f, tl_sv name, bool *known) {
  uint32_t v = 0, n = 0;
  bool is_value = find(f, VALUE, name, &v), is_node = find(f, NODE, name, &n);
  *known = is_value || is_node;
  if (is_value && is_node)
    note_value(f, name, v, n);
  if (*known)
    return is_value ? take_value(f, v) : take_node(f, n);
  return take_result(f, name, known);
}

/* Takes names with commas between, or one name that has commas itself. */
static tl_status take_list(finder *f, tl_sv text) {
  bool known;
  TL_TRY(take_name(f, text, &known));
  for (tl_sv rest = text; !known && rest.p;) {
    bool found;
    tl_sv name = tl_sv_trim(tl_sv_split(&rest, ','));
    if (name.n == 0)
      return tl_fail(&f->p->cli->diag, TL_INVALID_ARGUMENT, here(f),
                     "has an empty name\vwrite names with commas between");
    TL_TRY(take_name(f, name, &found));
    if (!found)
      return fail_unknown(f, name);
  }
  return TL_OK;
}

/* Reads an option, which may be given several times. */
static tl_status take_option(finder *f, tl_option_id option) {
  f->option = option;
  tl_sv rest = tl_sv_from(tl_cli_get(f->p->cli, option));
  while (rest.p)
    TL_TRY(take_list(f, tl_sv_trim(tl_sv_split(&rest, '\n'))));
  return TL_OK;
}

tl_status tl_part_names(tl_part *p) {
  finder f = {.p = p, .g = tl_module_main(p->m)};
  p->closed = tl_cli_has(p->cli, TL_OPTION_EXTRACT_FROM);
  tl_status status = index_names(&f) ? TL_OK : no_memory(p);
  if (status == TL_OK && p->closed)
    status = take_option(&f, TL_OPTION_EXTRACT_FROM);
  if (status == TL_OK && tl_cli_has(p->cli, TL_OPTION_EXTRACT_TO))
    status = take_option(&f, TL_OPTION_EXTRACT_TO);
  tl_map_release(&f.names);
  return status;
}
