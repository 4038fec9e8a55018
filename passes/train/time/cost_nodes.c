/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the time of a node: the larger of its arithmetic and its memory traffic, plus a launch
 * (roofline model). */
#include <math.h>
#include <stdlib.h>

#include "ir/ops_gen.h"
#include "passes/edit/values.h"
#include "passes/train/time/cost.h"

/* Ways to count the work of an op; cost_ops.tbl describes them. */
typedef enum cost_kind {
  MATMUL,
  CONV,
  CONV_BACK,
  CONV_GRAD,
  MAP,
  ALL,
  REDUCE,
  ATTENTION,
  MOVE,
  VIEW,
  AICPU,
  COMM
} cost_kind;

typedef struct cost_row {
  const char *name;
  cost_kind kind;
  double weight;
} cost_row;

static const cost_row rows[] = {
#define COST(name, kind, weight) {name, kind, weight},
#include "passes/train/time/cost_ops.tbl"
};

enum { N_ROWS = sizeof rows / sizeof *rows, NEST_LIMIT = 64 };

const char *tl_cost_row_name(uint32_t i) { return i < N_ROWS ? rows[i].name : NULL; }

static int by_name(const void *key, const void *row) {
  return tl_sv_compare(*(const tl_sv *)key, tl_sv_from(((const cost_row *)row)->name));
}

static const cost_row plain = {"", MAP, 1};
static const cost_row move = {"", MOVE, 1};

static const cost_row *find_row(const tl_module *m, tl_op_id op) {
  tl_sv name = tl_op_name(m, op);
  const cost_row *row = bsearch(&name, rows, N_ROWS, sizeof *rows, by_name);
  if (row)
    return row;
  return tl_op_has_trait(op, TL_TRAIT_LAYOUT) ? &move : &plain;
}

/* Returns the row of an op, found once per op, since a step has many nodes of each. Opaque ops are
 * rare and not cached. */
static const cost_row *row_of(const tl_costs *c, const tl_module *m, tl_op_id op) {
  if (!c->rows || op >= TL_N_OPS)
    return find_row(m, op);
  if (!c->rows[op])
    c->rows[op] = find_row(m, op);
  return c->rows[op];
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Returns dim i, counted from the end if negative; 1 if it is unknown. */
static double dim(const tl_type *t, int i) {
  if (t->kind != TL_KIND_TENSOR || t->rank < 0)
    return 1;
  i += i < 0 ? t->rank : 0;
  return i >= 0 && i < t->rank && tl_dim_is_static(t->dims[i]) ? (double)t->dims[i] : 1;
}

static double elements_of(const tl_type *t) {
  double n = 1;
  if (t->kind != TL_KIND_TENSOR)
    return 0;
  for (int i = 0; i < t->rank; i++)
    n *= tl_dim_is_static(t->dims[i]) ? (double)t->dims[i] : 1;
  return n;
}

static const tl_type *type_of(const tl_module *m, tl_value_id v) {
  return tl_type_get(m, tl_value_type(m, v));
}

static double bytes_of(const tl_type *t) {
  return elements_of(t) * tl_dtype_get((tl_dtype)t->dtype)->bits / 8;
}

/* Sum over the tensors that a sequence is made of; 0 if they are not known. */
static double of_parts(const tl_module *m, tl_value_id v, double (*of)(const tl_type *t)) {
  tl_node_id n = tl_list_maker(m, v);
  double sum = 0;
  if (!n)
    return 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
    sum += of(type_of(m, tl_operand(m, n, i)));
  return sum;
}

static double elements(const tl_module *m, tl_value_id v) {
  const tl_type *t = v ? type_of(m, v) : NULL;
  if (!t)
    return 0;
  return t->kind == TL_KIND_SEQUENCE ? of_parts(m, v, elements_of) : elements_of(t);
}

double tl_cost_value_bytes(const tl_module *m, tl_value_id v) {
  const tl_type *t = v ? type_of(m, v) : NULL;
  if (!t)
    return 0;
  return t->kind == TL_KIND_SEQUENCE ? of_parts(m, v, bytes_of) : bytes_of(t);
}

/* Counts an operand that occurs twice only once. The search is limited to the first 16 operands. */
static bool is_earlier_operand(const tl_module *m, tl_node_id n, uint32_t i) {
  for (uint32_t k = 0; k < i && k < 16; k++)
    if (tl_operand(m, n, k) == tl_operand(m, n, i))
      return true;
  return false;
}

static double operand_bytes(const tl_module *m, tl_node_id n) {
  double bytes = 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
    if (!is_earlier_operand(m, n, i))
      bytes += tl_cost_value_bytes(m, tl_operand(m, n, i));
  return bytes;
}

static double result_bytes(const tl_module *m, tl_node_id n) {
  double bytes = 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
    bytes += tl_cost_value_bytes(m, tl_result(m, n, i));
  return bytes;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* Size of a matrix product: M, N, K, and the number of such products. */
typedef struct product {
  double m, n, k, batch;
} product;

static bool attr_true(const tl_module *m, tl_node_id n, const char *name) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (tl_sv_is(tl_sym(m, node->attrs[i].name), name))
      return (node->attrs[i].kind == TL_ATTR_INT || node->attrs[i].kind == TL_ATTR_BOOL) &&
             node->attrs[i].u.i != 0;
  return false;
}

/* K is the dim of operand 0 that the result lacks; the attributes tell which one when it is
 * transposed. */
static product matmul(const tl_module *m, tl_node_id n) {
  const tl_type *a = type_of(m, tl_operand(m, n, 0));
  const tl_type *y = type_of(m, tl_result(m, n, 0));
  bool turned = attr_true(m, n, "transA") || attr_true(m, n, "transpose_x1") ||
                attr_true(m, n, "adj_x1");
  if (a->rank == 1)
    return (product){1, elements_of(y), dim(a, 0), 1};
  double rows_of_y = y->rank >= 2 ? dim(y, -2) : 1;
  double columns = y->rank >= 1 ? dim(y, -1) : 1;
  double batch = elements_of(y) / fmax(1, rows_of_y * columns);
  return (product){rows_of_y, columns, dim(a, turned ? -2 : -1), batch};
}

/* Convolution as a product. y: the output, w: the weights [Co, Ci / g, kernel...]. Each element of
 * y takes Ci / g times the kernel's size products. */
static product conv(const tl_type *y, const tl_type *w) {
  double co = fmax(1, dim(w, 0));
  return (product){elements_of(y) / fmax(1, dim(y, 1)), dim(y, 1), elements_of(w) / co, 1};
}

/* Replaces fmax(), which is a call on some targets because it cares about NaN; sizes are never
 * NaN. */
static inline double larger(double a, double b) { return a > b ? a : b; }

static double largest_result(const tl_module *m, tl_node_id n) {
  double most = 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
    most = larger(most, elements(m, tl_result(m, n, i)));
  return most;
}

static double all_operands(const tl_module *m, tl_node_id n) {
  double sum = 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
    sum += elements(m, tl_operand(m, n, i));
  return sum;
}

/* Returns how many products like *out the node makes; 0 if it is none. */
static double products(const tl_module *m, tl_node_id n, const cost_row *row, product *out) {
  switch (row->kind) {
  case MATMUL: *out = matmul(m, n); return row->weight;
  case CONV:
    *out =
        conv(type_of(m, tl_result(m, n, 0)), type_of(m, tl_operand(m, n, (uint32_t)row->weight)));
    return 1;
  case CONV_BACK:
    *out =
        conv(type_of(m, tl_operand(m, n, (uint32_t)row->weight)), type_of(m, tl_operand(m, n, 1)));
    return 1;
  case CONV_GRAD: /* dX and dW of dY, X, W */
    *out = conv(type_of(m, tl_operand(m, n, 0)), type_of(m, tl_operand(m, n, 2)));
    return (tl_value_get(m, tl_result(m, n, 0))->name != 0) +
           (tl_result(m, n, 1) && tl_value_get(m, tl_result(m, n, 1))->name != 0);
  case ATTENTION: {
    const tl_type *x = type_of(m, tl_operand(m, n, 0));
    double heads = x->rank == 4 ? dim(x, 1) : 1;
    *out = (product){dim(x, -2), dim(x, -2), dim(x, -1), dim(x, 0) * heads};
    return row->weight / 2;
  }
  default: return 0;
  }
}

static double vector_flops(const tl_module *m, tl_node_id n, const cost_row *row) {
  switch (row->kind) {
  case MAP: return row->weight * largest_result(m, n);
  case ALL: return row->weight * all_operands(m, n);
  case REDUCE:
  case AICPU: return row->weight * elements(m, tl_operand(m, n, 0));
  default: return 0;
  }
}

/* ---- time ------------------------------------------------------------------------------------ */

static bool is_narrow(tl_dtype d) {
  const tl_dtype_info *info = tl_dtype_get(d);
  return info->bits > 0 && info->bits <= 16;
}

static double blocks(double size) { return ceil(fmax(size, 1) / 16); }

/* GE's estimate: cycles of one core, in 16x16x16 blocks or in vectors. */
static double ge_us(const tl_costs *c, const tl_module *m, tl_node_id n, const cost_row *row,
                    double n_products, const product *p) {
  double cycles = n_products > 0
                      ? n_products * blocks(p->m) * blocks(p->n) * blocks(p->k) * fmax(1, p->batch)
                      : 3 * largest_result(m, n) / c->hw.vector_lanes;
  return row->kind == VIEW ? 0 : cycles / c->hw.mhz;
}

/* The cube unit takes products, the vector unit everything else; 32-bit vectors run at half the
 * rate. */
static void cost_compute(const tl_costs *c, const tl_module *m, tl_node_id n, const cost_row *row,
                         tl_node_cost *out) {
  const tl_hw_preset *hw = &c->hw;
  product p = {0};
  double n_products = products(m, n, row, &p);
  bool narrow = is_narrow(tl_type_dtype(m, tl_value_type(m, tl_operand(m, n, 0))));
  double rate = n_products > 0 ? hw->cube * (narrow ? 1 : hw->cube_f32) * hw->eta_cube
                               : hw->vector * (narrow ? 1 : 0.5) * hw->eta_vector;
  if (row->kind == VIEW)
    return;
  if (row->kind == AICPU)
    out->engine = TL_ENGINE_AICPU;
  out->bytes = operand_bytes(m, n) + out->memory;
  out->flops = n_products > 0 ? n_products * 2 * p.m * p.n * p.k * p.batch
                              : vector_flops(m, n, row);
  out->us = c->ge ? ge_us(c, m, n, row, n_products, &p)
                  : larger(out->flops / rate, out->bytes / (hw->hbm * hw->eta_memory)) * 1e6 +
                        hw->launch;
}

static tl_node_cost node_cost(const tl_costs *c, const tl_module *m, tl_node_id n, int depth);

/* Adds the cost of bodies: the longest branch of an If; other bodies run one after the other. */
static void cost_bodies(const tl_costs *c, const tl_module *m, tl_node_id n, int depth,
                        tl_node_cost *out) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs && depth < NEST_LIMIT; i++) {
    tl_node_cost body = {0};
    if (node->attrs[i].kind != TL_ATTR_GRAPH)
      continue;
    const tl_graph *g = tl_graph_get(m, node->attrs[i].u.g);
    TL_FOR_NODES(m, g, k) {
      tl_node_cost part = node_cost(c, m, k, depth + 1);
      body.us += part.us;
      body.flops += part.flops;
      body.bytes += part.bytes;
    }
    bool branch = node->op == TL_OP_If;
    out->us = branch ? fmax(out->us, body.us) : out->us + body.us;
    out->flops = branch ? fmax(out->flops, body.flops) : out->flops + body.flops;
    out->bytes = branch ? fmax(out->bytes, body.bytes) : out->bytes + body.bytes;
  }
  out->us += c->hw.launch;
}

/* A profile replaces the time, but not bytes and operations. */
static tl_node_cost node_cost(const tl_costs *c, const tl_module *m, tl_node_id n, int depth) {
  tl_node_cost out = {.engine = TL_ENGINE_AICORE, .memory = result_bytes(m, n)};
  const tl_node *node = tl_node_get(m, n);
  const cost_row *row = row_of(c, m, node->op);
  if (tl_op_has_trait(node->op, TL_TRAIT_BODY)) {
    cost_bodies(c, m, n, depth, &out);
  } else if (row->kind == COMM) {
    tl_collective kind = (tl_collective)row->weight;
    out.comm = true;
    out.engine = c->ranks > c->hw.server ? TL_ENGINE_LINK1 : TL_ENGINE_LINK0;
    out.bytes = kind == TL_ALL_GATHER ? out.memory : operand_bytes(m, n);
    out.us = tl_cost_collective(c, kind, out.bytes);
  } else {
    cost_compute(c, m, n, row, &out);
  }
  out.profiled =
      tl_cost_profile_find(c, tl_sym(m, node->name), &out.us) ||
      (node->n_results && tl_cost_profile_find(c, tl_value_name(m, node->results), &out.us));
  return out;
}

static double macs_of(const tl_module *m, tl_node_id n, int depth);

static double macs_of_bodies(const tl_module *m, tl_node_id n, int depth) {
  const tl_node *node = tl_node_get(m, n);
  double macs = 0;
  for (uint32_t i = 0; i < node->n_attrs && depth < NEST_LIMIT; i++) {
    if (node->attrs[i].kind != TL_ATTR_GRAPH)
      continue;
    const tl_graph *g = tl_graph_get(m, node->attrs[i].u.g);
    double body = 0;
    TL_FOR_NODES(m, g, k)
      body += macs_of(m, k, depth + 1);
    macs = node->op == TL_OP_If ? larger(macs, body) : macs + body;
  }
  return macs;
}

static double macs_of(const tl_module *m, tl_node_id n, int depth) {
  product p = {0};
  if (tl_op_has_trait(tl_node_get(m, n)->op, TL_TRAIT_BODY))
    return macs_of_bodies(m, n, depth);
  return products(m, n, find_row(m, tl_node_get(m, n)->op), &p) * p.m * p.n * p.k * p.batch;
}

double tl_cost_macs(const tl_module *m, tl_node_id n) { return macs_of(m, n, 0); }

tl_node_cost tl_cost_node(const tl_costs *c, const tl_module *m, tl_node_id n) {
  return node_cost(c, m, n, 0);
}

bool tl_node_is_collective(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  bool may_be = op >= TL_N_OPS || tl_op_has_trait(op, TL_TRAIT_EFFECT);
  return may_be && find_row(m, op)->kind == COMM;
}
