/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a part needs: back from its outputs, until a border, a constant or an input of the
 * model. What goes round the border is told. */
#include "tools/extract/extract.h"

enum { MOST_SHOWN = 4 }; /* names in a note */

static tl_status no_memory(tl_part *p) { return tl_fail_memory(&p->cli->diag, TL_NOWHERE); }

/* ---- what a node uses ------------------------------------------------------------------------ */

static tl_status each_used_inside(tl_part *p, tl_graph_id id, tl_used_fn fn) {
  const tl_graph *g = tl_graph_get(p->m, id);
  TL_FOR_NODES(p->m, g, n)
    TL_TRY(tl_part_each_used(p, n, fn));
  return tl_part_each_used(p, g->ret, fn);
}

/* Bodies nest at most TL_MAX_BODY_DEPTH deep. */
tl_status tl_part_each_used(tl_part *p, tl_node_id n, tl_used_fn fn) {
  const tl_node *node = tl_node_get(p->m, n);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(p->m, n, i);
    if (v && tl_value_graph(p->m, v) == tl_module_main(p->m)->id)
      TL_TRY(fn(p, v));
  }
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      TL_TRY(each_used_inside(p, a->u.g, fn));
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      TL_TRY(each_used_inside(p, a->u.ids[k], fn));
  }
  return TL_OK;
}

/* ---- forward: what comes from where ---------------------------------------------------------- */

static tl_status join_marks(tl_part *p, tl_value_id v) {
  uint8_t marks = p->value[v];
  if (marks & TL_PART_BORDER)
    marks |= TL_PART_REACHED | TL_PART_LIVE;
  p->joined |= marks & (TL_PART_REACHED | TL_PART_LIVE);
  return TL_OK;
}

/* Marks nodes and values that are computed from a border, and those from an input of the model.
 * Nodes are listed behind what they use. */
static tl_status mark_forward(tl_part *p) {
  const tl_graph *g = tl_module_main(p->m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    p->value[g->inputs.at[i]] |= TL_PART_LIVE;
  TL_FOR_NODES(p->m, g, n) {
    p->joined = 0;
    TL_TRY(tl_part_each_used(p, n, join_marks));
    p->node[n] |= p->joined;
    for (uint32_t i = 0; i < tl_node_get(p->m, n)->n_results; i++)
      p->value[tl_node_get(p->m, n)->results + i] |= p->joined;
  }
  return TL_OK;
}

/* Without --to: the outputs of the model that come from --from, or all of them. */
static tl_status take_outputs(tl_part *p) {
  const tl_graph *g = tl_module_main(p->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(p->m, g); i++) {
    tl_value_id v = tl_graph_output(p->m, g, i);
    uint8_t *marks = &p->value[v];
    bool wanted = tl_value_get(p->m, v)->kind == TL_VALUE_RESULT &&
                  !(*marks & (TL_PART_OUTPUT | TL_PART_BORDER)) &&
                  (!p->closed || *marks & TL_PART_REACHED);
    if (!wanted)
      continue;
    *marks |= TL_PART_OUTPUT;
    if (!tl_u32_vec_push(&p->to, v))
      return no_memory(p);
  }
  return TL_OK;
}

/* ---- backward: what is needed ---------------------------------------------------------------- */

static tl_status need(tl_part *p, tl_value_id v) {
  if (p->value[v] & TL_PART_NEEDED)
    return TL_OK;
  p->value[v] |= TL_PART_NEEDED;
  if (p->value[v] & TL_PART_BORDER || tl_value_get(p->m, v)->kind != TL_VALUE_RESULT)
    return TL_OK;
  return tl_u32_vec_push(&p->work, v) ? TL_OK : no_memory(p);
}

tl_status tl_part_mark_needed(tl_part *p) {
  for (uint32_t i = 0; i < p->to.n; i++)
    TL_TRY(need(p, p->to.at[i]));
  while (p->work.n) {
    tl_node_id n = tl_value_producer(p->m, p->work.at[--p->work.n]);
    if (p->node[n] & TL_PART_NEEDED)
      continue;
    p->node[n] |= TL_PART_NEEDED;
    TL_TRY(tl_part_each_used(p, n, need));
  }
  return TL_OK;
}

/* ---- what is wrong, and what is told --------------------------------------------------------- */

static tl_status refuse(tl_part *p, tl_option_id option, const char *fmt, tl_sv name) {
  tl_sv shown = tl_sv_shown(name);
  return tl_fail(&p->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&p->cli->settings, option), fmt,
                 TL_SV_ARG(shown));
}

static tl_status check_outputs(tl_part *p) {
  for (uint32_t i = 0; i < p->to.n; i++)
    if (p->value[p->to.at[i]] & TL_PART_BORDER)
      return refuse(p, TL_OPTION_EXTRACT_TO,
                    "'%.*s' is in --from as well, or is what a node of --from reads: there is "
                    "nothing between",
                    tl_value_name(p->m, p->to.at[i]));
  if (p->to.n)
    return TL_OK;
  return tl_fail(&p->cli->diag, TL_INVALID_ARGUMENT,
                 tl_at_option(&p->cli->settings, TL_OPTION_EXTRACT_FROM),
                 "no output of the model is computed from these values\vname values in front of "
                 "an output, or say with --to what the part gives");
}

/* ONNX and AIR state at least which elements an input has. */
static bool lacks_type(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return t->kind == TL_KIND_UNKNOWN || (t->kind == TL_KIND_TENSOR && t->dtype == TL_DTYPE_NONE);
}

static tl_status check_border(tl_part *p) {
  static const char text[] = "'%.*s' is on no path to an output of the part\vleave it out";
  for (uint32_t i = 0; i < p->heads.n; i++)
    if (!(p->node[p->heads.at[i]] & TL_PART_NEEDED))
      return refuse(p, TL_OPTION_EXTRACT_FROM, text,
                    tl_sym(p->m, tl_node_get(p->m, p->heads.at[i])->name));
  for (uint32_t i = 0; i < p->from.n; i++) {
    tl_value_id v = p->from.at[i];
    if (!(p->value[v] & TL_PART_NEEDED))
      return refuse(p, TL_OPTION_EXTRACT_FROM, text, tl_value_name(p->m, v));
    if (lacks_type(p->m, v))
      return refuse(p, TL_OPTION_EXTRACT_FROM,
                    "nothing says which type '%.*s' has, so it cannot be an input"
                    "\vname another value",
                    tl_value_name(p->m, v));
  }
  return TL_OK;
}

/* Lists a value that comes round the border: computed from an input of the model alone, and used
 * where the border has been passed. */
static tl_status list_round(tl_part *p, tl_value_id v) {
  uint8_t marks = p->value[v];
  if (!(marks & TL_PART_LIVE) || marks & (TL_PART_BORDER | TL_PART_REACHED | TL_PART_ROUND))
    return TL_OK;
  p->value[v] |= TL_PART_ROUND;
  return tl_u32_vec_push(&p->work, v) ? TL_OK : no_memory(p);
}

static tl_status find_round(tl_part *p) {
  const tl_graph *g = tl_module_main(p->m);
  const uint8_t within = TL_PART_NEEDED | TL_PART_REACHED;
  TL_FOR_NODES(p->m, g, n)
    if ((p->node[n] & within) == within)
      TL_TRY(tl_part_each_used(p, n, list_round));
  for (uint32_t i = 0; i < p->to.n; i++)
    TL_TRY(list_round(p, p->to.at[i]));
  return TL_OK;
}

/* How many nodes of the part come from no border, but from an input. */
static uint32_t count_round(const tl_part *p) {
  uint32_t count = 0;
  TL_FOR_NODES(p->m, tl_module_main(p->m), n)
    count += (p->node[n] & (TL_PART_NEEDED | TL_PART_REACHED | TL_PART_LIVE)) ==
             (TL_PART_NEEDED | TL_PART_LIVE);
  return count;
}

/* Tells which values come round the border; with them in --from the cut would be closed. */
static tl_status note_round(tl_part *p) {
  if (!p->closed)
    return TL_OK;
  TL_TRY(find_round(p));
  if (p->work.n == 0)
    return TL_OK;
  uint32_t n = count_round(p);
  tl_buf_add_z(&p->notes, "note: --from does not name ");
  for (uint32_t i = 0; i < p->work.n && i < MOST_SHOWN; i++) {
    tl_sv name = tl_sv_shown(tl_value_name(p->m, p->work.at[i]));
    tl_buf_printf(&p->notes, "%s'%.*s'", i ? ", " : "", TL_SV_ARG(name));
  }
  if (p->work.n > MOST_SHOWN)
    tl_buf_printf(&p->notes, " and %u more values", p->work.n - MOST_SHOWN);
  tl_buf_add_z(&p->notes, ", which the part needs: ");
  if (n)
    tl_buf_printf(&p->notes, "it has %u node%s in front of the border, and ", n, n == 1 ? "" : "s");
  tl_buf_add_z(&p->notes, "inputs of the model stay inputs\n");
  return TL_OK;
}

tl_status tl_part_walk(tl_part *p) {
  TL_TRY(mark_forward(p));
  if (!tl_cli_has(p->cli, TL_OPTION_EXTRACT_TO))
    TL_TRY(take_outputs(p));
  TL_TRY(check_outputs(p));
  TL_TRY(tl_part_mark_needed(p));
  TL_TRY(check_border(p));
  return note_round(p);
}
