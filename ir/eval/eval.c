/* SPDX-License-Identifier: Apache-2.0 */
/* Hands the table of all kernels to the driver, and reports what the evaluator cannot run. */
#include "ir/eval/eval.h"

#include "ir/ops_gen.h"
#include "ir/user_ops.h"

enum { SHOWN_NODES = 3, SHOWN_OPS = 64 };

/* Generated from the op table when Tailor is built. */
extern const tl_eval_row tl_eval_rows[TL_N_OPS];

tl_status tl_eval_graph(tl_module *m, tl_graph_id g, const tl_eval_options *o, tl_host_heap *heap,
                        tl_host *const *inputs, tl_host **outputs) {
  tl_activity around = tl_activity_begin(m->diag, "while running", m->path);
  return tl_activity_end(
      m->diag, around,
      tl_eval_run_graph(&(tl_eval_job){tl_eval_rows, m, o, heap}, g, inputs, outputs));
}

tl_status tl_eval_one(tl_module *m, tl_node_id n, const tl_eval_options *o, tl_host_heap *heap,
                      tl_host *const *operands, tl_host **results) {
  return tl_eval_run_one(&(tl_eval_job){tl_eval_rows, m, o, heap}, n, operands, results);
}

/* ---- what cannot be run --------------------------------------------------------------------- */

bool tl_eval_has_kernel(tl_op_id op) { return tl_eval_row_of(tl_eval_rows, op) != NULL; }

bool tl_eval_can(const tl_module *m, tl_node_id n) {
  return tl_eval_has_kernel(tl_node_get(m, n)->op);
}

/* An op without a kernel, how many nodes have it, and the first of them. */
typedef struct lack {
  tl_op_id op;
  uint32_t n;
  tl_node_id nodes[SHOWN_NODES];
} lack;

typedef struct lacks {
  lack at[SHOWN_OPS];
  uint32_t n;
  uint32_t more; /* nodes of further ops */
} lacks;

static void note_lack(lacks *l, tl_op_id op, tl_node_id n) {
  uint32_t i = 0;
  while (i < l->n && l->at[i].op != op)
    i++;
  if (i == SHOWN_OPS) {
    l->more++;
    return;
  }
  if (i == l->n)
    l->at[l->n++] = (lack){.op = op};
  if (l->at[i].n < SHOWN_NODES)
    l->at[i].nodes[l->at[i].n] = n;
  l->at[i].n++;
}

static void print_lacks(tl_module *m, const lacks *l, tl_buf *out) {
  for (uint32_t i = 0; i < l->n; i++) {
    tl_sv domain = tl_op_domain(m, l->at[i].op), name = tl_op_name(m, l->at[i].op);
    tl_buf_printf(out, "%s%.*s%s%.*s (", i ? ", " : "", TL_SV_ARG(domain), domain.n ? "::" : "",
                  TL_SV_ARG(name));
    for (uint32_t k = 0; k < l->at[i].n && k < SHOWN_NODES; k++) {
      tl_sv node = tl_node_where(m, l->at[i].nodes[k]).node;
      tl_buf_printf(out, "%s'%.*s'", k ? ", " : "", TL_SV_ARG(node));
    }
    tl_buf_printf(out, l->at[i].n > SHOWN_NODES ? " and %u more)" : ")", l->at[i].n - SHOWN_NODES);
  }
  if (l->more)
    tl_buf_printf(out, ", and %u nodes of further ops", l->more);
}

/* Returns true when g is `outer` or a body inside it. All graphs are in one list of the module, so
 * the way leads up through the nodes that own the bodies. */
static bool is_inside(const tl_module *m, const tl_graph *g, tl_graph_id outer) {
  while (g->id != outer && g->owner)
    g = tl_graph_get(m, tl_node_get(m, g->owner)->graph);
  return g->id == outer;
}

static bool has_own_kernel(const tl_module *m, tl_node_id n) {
  const tl_user_op *own = tl_user_op_of(m, n);
  return own && own->evaluate;
}

/* Returns a value of the list whose elements the evaluator cannot read; TL_NO_VALUE: there is
 * none. */
static tl_value_id without_numbers(const tl_module *m, const uint32_t *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    tl_dtype d = at[i] ? tl_type_dtype(m, tl_value_type(m, at[i])) : TL_DTYPE_NONE;
    if (d != TL_DTYPE_NONE && d != TL_DTYPE_STRING && !tl_dtype_has_numbers(d))
      return at[i];
  }
  return TL_NO_VALUE;
}

/* Refuses inputs and constants of dtypes that only devices know. No kernel takes or makes them. */
static tl_status check_dtypes(tl_module *m, const tl_graph *g) {
  tl_value_id v = without_numbers(m, g->inputs.at, g->inputs.n);
  if (!v)
    v = without_numbers(m, g->constants.at, g->constants.n);
  if (!v)
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                 "'%.*s' is %s, whose numbers the evaluator does not know\v"
                 "hand the model to another runtime (tailor verify --runner)",
                 TL_SV_ARG(tl_value_name(m, v)),
                 tl_dtype_get(tl_type_dtype(m, tl_value_type(m, v)))->name);
}

tl_status tl_eval_check(tl_module *m, tl_graph_id id) {
  lacks l = {.n = 0};
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased || !is_inside(m, g, id))
      continue;
    TL_TRY(check_dtypes(m, g));
    TL_FOR_NODES(m, g, n)
      if (!tl_eval_can(m, n) && !has_own_kernel(m, n))
        note_lack(&l, tl_node_get(m, n)->op, n);
  }
  if (!l.n)
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  print_lacks(m, &l, &text);
  tl_sv shown = text.failed ? TL_SV("several ops") : tl_buf_view(&text);
  tl_status status = tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                             "the evaluator has no kernel for %.*s\v"
                             "hand the model to another runtime (tailor verify --runner)",
                             TL_SV_ARG(shown));
  tl_buf_release(&text);
  return status;
}
