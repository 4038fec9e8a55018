/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the steps that make a model smaller. */
#include "tools/debug/edits.h"

#include <stdlib.h>

#include "ir/graph.h"
#include "ir/infer/infer.h"
#include "tools/extract/extract.h"
#include "lib/values/elements.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* Returns the type of a value as it was in the run, else the one that inference knows. */
static tl_type_id type_of(const tl_module *m, const tl_recorded *r, tl_value_id v) {
  return v < r->n && r->type[v] ? r->type[v] : tl_value_type(m, v);
}

static bool holds_floats(tl_dtype d) {
  return d == TL_DTYPE_F32 || d == TL_DTYPE_F16 || d == TL_DTYPE_BF16 || d == TL_DTYPE_F64;
}

/* ---- cutting nodes --------------------------------------------------------------------------- */

/* State of a cut. */
typedef struct cut {
  tl_cli *cli;
  tl_module *m;
  const tl_recorded *r;
  const tl_reduction *e;
  tl_part part;
  bool *gone; /* by node: it is cut */
} cut;

static tl_status see_use(tl_part *p, tl_value_id v) {
  p->value[v] |= TL_PART_REACHED;
  return TL_OK;
}

/* Marks the values that nodes which stay use. */
static tl_status mark_uses(cut *c) {
  TL_FOR_NODES(c->m, tl_module_main(c->m), n)
    if (!c->gone[n])
      TL_TRY(tl_part_each_used(&c->part, n, see_use));
  return TL_OK;
}

static bool is_kept_output(const cut *c, tl_value_id v) {
  if (!c->e->outputs)
    return true;
  for (uint32_t i = 0; i < c->e->n_outputs; i++)
    if (c->e->outputs[i] == v)
      return true;
  return false;
}

static bool is_listed(const tl_u32_vec *list, tl_value_id v) {
  for (uint32_t i = 0; i < list->n; i++)
    if (list->at[i] == v)
      return true;
  return false;
}

/* Lists the outputs that stay. */
static bool list_outputs(cut *c) {
  const tl_graph *g = tl_module_main(c->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(c->m, g); i++) {
    tl_value_id v = tl_graph_output(c->m, g, i);
    bool made = tl_value_get(c->m, v)->kind == TL_VALUE_RESULT &&
                !c->gone[tl_value_producer(c->m, v)];
    if (made && is_kept_output(c, v) && !is_listed(&c->part.to, v) &&
        !tl_u32_vec_push(&c->part.to, v))
      return false;
  }
  return true;
}

/* What only nodes that go have used becomes an output: the nodes before them would be dead. */
static bool list_new_outputs(cut *c) {
  for (uint32_t k = 0; k < c->e->n_nodes; k++) {
    const tl_node *node = tl_node_get(c->m, c->e->nodes[k]);
    for (uint32_t i = 0; i < node->n_operands; i++) {
      tl_value_id v = tl_operand(c->m, c->e->nodes[k], i);
      bool made = v && tl_value_get(c->m, v)->kind == TL_VALUE_RESULT &&
                  tl_value_graph(c->m, v) == tl_module_main(c->m)->id &&
                  !c->gone[tl_value_producer(c->m, v)];
      if (made && !(c->part.value[v] & TL_PART_REACHED) && !is_listed(&c->part.to, v) &&
          !tl_u32_vec_push(&c->part.to, v))
        return false;
    }
  }
  return true;
}

/* Puts the recorded contents in the place of a result. */
static bool become_constant(cut *c, tl_value_id v) {
  tl_symbol name = tl_module_fresh_name(c->m, tl_value_name(c->m, v));
  tl_value_id made = name == TL_NO_SYMBOL ? TL_NO_VALUE
                                          : tl_graph_add_constant(c->m, tl_module_main(c->m)->id,
                                                                  name, c->r->tensor[v]);
  if (made)
    tl_value_replace_uses(c->m, v, made);
  return made;
}

/* Settles what stands for the results of nodes that go: numbers become inputs, what counts or
 * decides becomes a constant, since random numbers would make no sense there. */
static bool replace_results(cut *c) {
  for (uint32_t k = 0; k < c->e->n_nodes; k++) {
    const tl_node *node = tl_node_get(c->m, c->e->nodes[k]);
    for (uint32_t i = 0; i < node->n_results; i++) {
      tl_value_id v = node->results + i;
      if (!(c->part.value[v] & TL_PART_REACHED))
        continue;
      tl_type_id type = type_of(c->m, c->r, v);
      tl_dtype d = tl_type_dtype(c->m, type);
      bool known = v < c->r->n && c->r->tensor[v];
      if (known && !holds_floats(d)) {
        if (!become_constant(c, v))
          return false;
        continue;
      }
      if (d == TL_DTYPE_NONE)
        return false;
      tl_value_set_type(c->m, v, type);
      c->part.value[v] |= TL_PART_BORDER;
      if (!tl_u32_vec_push(&c->part.from, v))
        return false;
    }
  }
  return true;
}

static bool do_cut(cut *c) {
  tl_part *p = &c->part;
  for (uint32_t k = 0; k < c->e->n_nodes; k++)
    c->gone[c->e->nodes[k]] = true;
  if (mark_uses(c) != TL_OK || !list_outputs(c) || !list_new_outputs(c) || p->to.n == 0 ||
      !replace_results(c))
    return false;
  uint8_t *marks = calloc(tl_module_value_end(c->m), 1); /* constants are new */
  if (!marks)
    return false;
  for (uint32_t i = 0; i < p->from.n; i++)
    marks[p->from.at[i]] = TL_PART_BORDER;
  for (uint32_t i = 0; i < p->to.n; i++)
    marks[p->to.at[i]] |= TL_PART_OUTPUT;
  free(p->value);
  p->value = marks;
  return tl_part_mark_needed(p) == TL_OK && tl_part_cut(p) == TL_OK;
}

static bool cut_nodes(tl_cli *cli, tl_module *m, const tl_recorded *r, const tl_reduction *e) {
  cut c = {.cli = cli, .m = m, .r = r, .e = e, .part = {.cli = cli, .m = m, .closed = true}};
  tl_buf_init(&c.part.notes);
  c.gone = calloc(tl_module_node_end(m), sizeof *c.gone);
  c.part.value = calloc(tl_module_value_end(m), 1);
  c.part.node = calloc(tl_module_node_end(m), 1);
  bool ok = c.gone && c.part.value && c.part.node && do_cut(&c);
  free(c.gone);
  tl_part_release(&c.part);
  return ok;
}

/* ---- the other steps ------------------------------------------------------------------------- */

/* Makes a tensor of one number. */
static tl_tensor_id filled(tl_module *m, tl_type_id type, double number) {
  const tl_type *t = tl_type_get(m, type);
  tl_host_heap heap;
  tl_tensor_id made = TL_NO_TENSOR;
  int64_t dims[TL_MAX_RANK];
  for (int i = 0; i < t->rank; i++)
    dims[i] = t->dims[i];
  tl_host_heap_init(&heap, UINT64_C(1) << 31);
  tl_host *h = tl_zeros(&heap, (tl_dtype)t->dtype, t->rank, dims);
  if (h) {
    for (uint64_t i = 0; number != 0 && i < h->n; i++)
      if (holds_floats((tl_dtype)t->dtype))
        tl_put_float(h, i, number);
      else
        tl_put_int(h, i, (int64_t)number);
    made = tl_tensor_from_bytes(m, type, h->data, h->bytes);
    tl_host_release(h);
  }
  tl_host_heap_release(&heap);
  return made;
}

static bool is_number(const tl_module *m, tl_type_id type) {
  uint64_t n;
  return tl_dtype_has_numbers(tl_type_dtype(m, type)) && tl_type_elements(m, type, &n) && n > 0;
}

static bool fill(tl_module *m, const tl_reduction *e) {
  tl_type_id type = tl_value_type(m, e->value);
  tl_tensor_id tensor = is_number(m, type) ? filled(m, type, e->fill) : TL_NO_TENSOR;
  if (tensor)
    tl_value_get(m, e->value)->tensor = tensor;
  return tensor;
}

static bool freeze(tl_module *m, const tl_reduction *e) {
  tl_type_id type = tl_value_type(m, e->value);
  tl_tensor_id tensor = is_number(m, type) ? filled(m, type, 1) : TL_NO_TENSOR;
  if (!tensor)
    return false;
  tl_value_get(m, e->value)->tensor = tensor;
  return tl_graph_freeze_input(m, e->value) == TL_OK;
}

/* Forgets all that was inferred, since sizes are others now. */
static void forget_types(tl_module *m) {
  for (tl_value_id v = 1; v < tl_module_value_end(m); v++)
    if (tl_value_get(m, v)->kind == TL_VALUE_RESULT) {
      tl_value_get(m, v)->tensor = TL_NO_TENSOR;
      tl_value_set_type(m, v, TL_NO_TYPE);
    }
  m->substitutes.n = 0;
  m->sizes.n = 0;
}

static bool resize(tl_module *m, const tl_reduction *e) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, e->value));
  tl_dim dims[TL_MAX_RANK];
  for (int i = 0; i < t->rank; i++)
    dims[i] = i == e->axis ? e->size : t->dims[i];
  tl_type_id type = tl_type_tensor(m, (tl_dtype)t->dtype, t->rank, dims);
  if (!type)
    return false;
  tl_value_set_type(m, e->value, type);
  forget_types(m);
  return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool apply(tl_cli *cli, tl_module *m, const tl_recorded *r, const tl_reduction *e) {
  switch (e->kind) {
  case TL_EDIT_CUT: return cut_nodes(cli, m, r, e);
  case TL_EDIT_PASS: return tl_session_run_passes(&cli->session, m, e->pass) == TL_OK;
  case TL_EDIT_FREEZE: return freeze(m, e);
  case TL_EDIT_FILL: return fill(m, e);
  case TL_EDIT_SIZE: return resize(m, e);
  default: tl_node_remove_attr(m, e->node, e->attr); return true;
  }
}

/* Removes inputs and constants without use, which the steps leave behind. */
static void sweep(tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = g->inputs.n; i-- > 0;)
    if (tl_value_get(m, g->inputs.at[i])->n_uses == 0)
      tl_graph_erase_input(m, g->inputs.at[i]);
  for (uint32_t i = 0; i < g->constants.n; i++)
    if (g->constants.at[i] && tl_value_get(m, g->constants.at[i])->n_uses == 0)
      tl_graph_erase_constant(m, g->constants.at[i]);
}

bool tl_edit_do(tl_cli *cli, tl_module *m, const tl_recorded *r, const tl_reduction *e) {
  tl_diag_fn shown = cli->diag.fn;
  uint32_t errors = cli->diag.errors;
  cli->diag.fn = NULL; /* what a step leaves out is meant to go */
  bool ok = apply(cli, m, r, e) && tl_infer_module(m) == TL_OK;
  if (ok)
    sweep(m);
  cli->diag.fn = shown;
  cli->diag.errors = errors;
  return ok;
}
