/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates how coarsely the values of a model are computed. */
#include "lib/values/grain.h"

#include <math.h>
#include <stdlib.h>

#include "ir/op.h"
#include "ir/ops_gen.h"

/* Upper bounds on nested bodies and on trips of a loop that are counted. */
enum { MAX_DEPTH = 64, MOST_TRIPS = 1 << 20 };

/* State of one walk over a module. */
typedef struct finder {
  const tl_module *m;
  tl_grains *out;
  tl_dtype emulate;
} finder;

/* Returns one unit in the last place relative to the number: 2 to the minus number of fraction
 * bits; 0 for dtypes that are no float. */
static double unit_of(tl_dtype d) {
  switch (d) {
  case TL_DTYPE_F64: return 0x1p-52;
  case TL_DTYPE_F32: return 0x1p-23;
  case TL_DTYPE_F16: return 0x1p-10;
  case TL_DTYPE_BF16: return 0x1p-7;
  case TL_DTYPE_F8E4M3FN:
  case TL_DTYPE_F8E4M3FNUZ:
  case TL_DTYPE_HIF8: return 0x1p-3;
  case TL_DTYPE_F8E5M2:
  case TL_DTYPE_F8E5M2FNUZ: return 0x1p-2;
  case TL_DTYPE_F4E2M1: return 0x1p-1;
  default: return 0;
  }
}

tl_grain tl_grain_of(const tl_grains *g, tl_value_id v) {
  return v < g->n && g->at ? g->at[v] : (tl_grain){0};
}

bool tl_grain_is_coarse(tl_grain g) { return g.unit >= 0x1p-10; }

double tl_grain_share(tl_grain g) { return g.unit * sqrt(g.steps); }

tl_grain tl_grain_worse(tl_grain a, tl_grain b) {
  if (a.unit < b.unit || (a.unit <= b.unit && a.steps < b.steps))
    return b;
  return a;
}

/* Returns the dtype to which a value is really rounded: the emulated one for f32 and f64. */
static tl_dtype rounded_to(const finder *f, tl_value_id v) {
  tl_dtype d = tl_type_dtype(f->m, tl_value_type(f->m, v));
  bool wide = d == TL_DTYPE_F32 || d == TL_DTYPE_F64;
  return wide && f->emulate != TL_DTYPE_NONE ? f->emulate : d;
}

/* Returns true if a node rounds. A node that only moves data or widens it does not; of a node with
 * bodies, the bodies do. */
static bool rounds(const finder *f, const tl_node *node, tl_dtype to) {
  const tl_op *op = tl_op_row(node->op);
  if (op && (op->traits & TL_TRAIT_LAYOUT))
    return false;
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].kind == TL_ATTR_GRAPH) /* its bodies do */
      return false;
  if (node->op != TL_OP_Cast || node->n_operands == 0)
    return true;
  tl_value_id x = tl_use_get(f->m, node->operands)->value;
  double from = x ? unit_of(rounded_to(f, x)) : 0;
  return from <= 0 || from < unit_of(to);
}

/* Returns the coarsest grain among the operands. */
static tl_grain of_operands(const finder *f, const tl_node *node) {
  tl_grain worst = {0};
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(f->m, node->operands + i)->value;
    if (v)
      worst = tl_grain_worse(worst, tl_grain_of(f->out, v));
  }
  return worst;
}

/* Sets the grains of a node's results. A coarser unit starts a new count of roundings, the same
 * unit continues the count, and a finer one adds nothing that could be seen. */
static void set_results(const finder *f, const tl_node *node, tl_grain worst) {
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_dtype to = rounded_to(f, node->results + i);
    double unit = unit_of(to);
    tl_grain g = worst;
    if (unit > 0 && rounds(f, node, to)) {
      g.steps = unit > g.unit ? 1 : unit < g.unit ? g.steps : g.steps + 1;
      g.dtype = unit > g.unit ? to : g.dtype;
      g.unit = unit > g.unit ? unit : g.unit;
    }
    f->out->at[node->results + i] = g;
  }
}

/* Returns the trips of a Loop with a constant trip count, else 1. */
static double trips_of(const finder *f, const tl_node *node) {
  tl_value_id v = node->op == TL_OP_Loop && node->n_operands
                      ? tl_use_get(f->m, node->operands)->value
                      : TL_NO_VALUE;
  const tl_tensor *t = v ? tl_value_constant(f->m, v) : NULL;
  int64_t trips = 1;
  if (!t || !tl_tensor_int_at(f->m, t, 0, &trips) || trips < 1)
    return 1;
  return trips > MOST_TRIPS ? MOST_TRIPS : (double)trips;
}

/* Returns the grain of two computations in a row: roundings to the same unit add up. */
static tl_grain one_after_other(tl_grain a, tl_grain b) {
  tl_grain worst = tl_grain_worse(a, b);
  bool same = !(a.unit < b.unit) && !(b.unit < a.unit);
  worst.steps = same ? a.steps + b.steps : worst.steps;
  return worst;
}

static tl_grain of_graph(const finder *f, tl_graph_id g, int depth);

/* Returns the worst grain of a node's bodies. What a body does to its values it does in each
 * trip. */
static tl_grain of_bodies(const finder *f, const tl_node *node, int depth) {
  tl_grain worst = {0};
  for (uint32_t i = 0; i < node->n_attrs && depth < MAX_DEPTH; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      worst = tl_grain_worse(worst, of_graph(f, a->u.g, depth + 1));
  }
  worst.steps *= trips_of(f, node);
  return worst;
}

/* Sets the grains of a graph's nodes and returns the worst of them. */
static tl_grain of_graph(const finder *f, tl_graph_id id, int depth) {
  const tl_graph *g = tl_graph_get(f->m, id);
  tl_grain worst = {0};
  TL_FOR_NODES(f->m, g, n) {
    const tl_node *node = tl_node_get(f->m, n);
    set_results(f, node, one_after_other(of_operands(f, node), of_bodies(f, node, depth)));
    for (uint32_t i = 0; i < node->n_results; i++)
      worst = tl_grain_worse(worst, f->out->at[node->results + i]);
  }
  return worst;
}

bool tl_grains_find(const tl_module *m, tl_dtype emulate, tl_grains *out) {
  uint32_t n = tl_module_value_end(m);
  *out = (tl_grains){.at = calloc(n ? n : 1, sizeof *out->at), .n = n};
  if (!out->at)
    return false;
  finder f = {.m = m, .out = out, .emulate = emulate};
  (void)of_graph(&f, tl_module_main(m)->id, 0);
  return true;
}

void tl_grains_release(tl_grains *g) {
  free(g->at);
  *g = (tl_grains){0};
}

tl_tolerance tl_tolerance_for(const tl_tolerance *t, tl_grain g) {
  tl_tolerance own = *t;
  if (t->by_depth) {
    own.share = tl_grain_share(g);
    own.unit = tl_grain_is_coarse(g) ? g.unit : 0;
  }
  return own;
}
