/* SPDX-License-Identifier: Apache-2.0 */
/* Reads laws of nodes from the table passes/layout/ops.tbl, the op table and the nodes (law.h). */
#include "passes/layout/law.h"

#include "ir/ops_gen.h"

#define ALL TL_LAW_RESULTS_ALL
#define ONE TL_LAW_RESULTS_ONE
#define FIRST TL_LAW_RESULTS_FIRST
#define NO TL_LAW_RESULTS_NO
#define EXACT false
#define SUMS true

enum {
  ROW_NONE,
#define LAW(op, kind, operands, axis, kept, results, numerics) ROW_##op,
#include "passes/layout/ops.tbl"
  ROW_ELEMENTWISE
};

static const uint8_t row_of_op[TL_N_OPS] = {
#define LAW(op, kind, operands, axis, kept, results, numerics) [TL_OP_##op] = ROW_##op,
#include "passes/layout/ops.tbl"
};

static const tl_law_row rows[] = {
#define LAW(op, kind, operands, axis, kept, results, numerics)                                     \
  [ROW_##op] = {operands, TL_LAW_##kind, TL_LAW_AXIS_##axis, kept, results, numerics},
#include "passes/layout/ops.tbl"
    [ROW_ELEMENTWISE] = {"x", TL_LAW_SPREAD, TL_LAW_AXIS_NONE, 0, ALL, EXACT}};

/* ---- reading --------------------------------------------------------------------------------- */

static const tl_type *type_of(const tl_module *m, tl_value_id v) {
  return tl_type_get(m, tl_value_type(m, v));
}

/* Returns the rank of a tensor; -1 if it is unknown, or beyond what an order holds. */
static int rank_of(const tl_module *m, tl_value_id v) {
  const tl_type *t = type_of(m, v);
  return v && t->kind == TL_KIND_TENSOR && t->rank <= TL_MOST_AXES ? t->rank : -1;
}

/* The letter of operand i in its row. */
static char letter(const tl_law *law, uint32_t i) {
  const char *at = law->row->operands;
  while (i-- && at[1])
    at++;
  return *at;
}

bool tl_law_lists_axes(const tl_law *law, uint32_t i, bool *first) {
  *first = letter(law, i) == 'f';
  return *first || letter(law, i) == 'a';
}

bool tl_law_list(const tl_module *m, tl_value_id v, int64_t *at, uint32_t most, uint32_t *n) {
  const tl_tensor *t = v ? tl_value_constant(m, v) : NULL;
  uint64_t count = t ? tl_tensor_elements(m, t) : 0;
  if (!t || count > most)
    return false;
  for (uint32_t i = 0; i < count; i++)
    if (!tl_tensor_int_at(m, t, i, &at[i]))
      return false;
  *n = (uint32_t)count;
  return true;
}

/* Makes the axes of a list places from the front; false if one is out of range. */
static bool settle(int64_t *axes, uint32_t n, int rank) {
  for (uint32_t i = 0; i < n; i++) {
    axes[i] += axes[i] < 0 ? rank : 0;
    if (axes[i] < 0 || axes[i] >= rank)
      return false;
  }
  return true;
}

/* Returns the axis that the attribute of the node names; -1 without one. */
static int named_axis(const tl_module *m, tl_node_id n, int rank) {
  int64_t axis = tl_node_attr_int(m, n, TL_SYM_axis, TL_MOST_AXES);
  return settle(&axis, 1, rank) ? (int)axis : -1;
}

static bool has_users(const tl_module *m, tl_value_id v) { return tl_value_get(m, v)->n_uses != 0; }

/* Returns true if the lists of axes of a node are constants within its rank. A list that is written
 * out when the node moves has as many axes as operand 1 has numbers. */
static bool lists_fit(const tl_law *law, const tl_module *m, tl_node_id n, int rank) {
  int64_t at[TL_MOST_AXES];
  uint32_t count;
  for (uint32_t i = 1; law->row->operands[i]; i++) {
    bool first;
    tl_value_id v = tl_operand(m, n, i), numbers = tl_operand(m, n, 1);
    if (!tl_law_lists_axes(law, i, &first) || (!v && !first))
      continue;
    if (v ? !(tl_law_list(m, v, at, TL_MOST_AXES, &count) && settle(at, count, rank))
          : rank_of(m, numbers) != 1 || !tl_dim_is_static(type_of(m, numbers)->dims[0]))
      return false;
  }
  return true;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Bits of the axes from `first` on. */
static uint16_t tail(int first, int rank) { return (uint16_t)((1u << rank) - (1u << first)); }

/* Reads the axis that an attribute names. */
static bool axis_fits(tl_law *law, const tl_module *m, tl_node_id n) {
  int rank = law->n_axes, scales = 1;
  if (law->row->axis == TL_LAW_AXIS_NONE || law->row->axis == TL_LAW_AXIS_BEHIND)
    return true;
  if (law->row->axis == TL_LAW_AXIS_ROWS) {
    law->kept |= tail(rank - 1, rank);
    return rank_of(m, tl_operand(m, n, 1)) == 2 && !tl_node_attr_int(m, n, TL_SYM_transA, 0);
  }
  if (law->row->axis == TL_LAW_AXIS_SCALES) {
    scales = rank_of(m, tl_operand(m, n, 1));
    if (scales < 0 || tl_node_attr_int(m, n, TL_SYM_block_size, 0))
      return false;
  }
  int axis = scales ? named_axis(m, n, rank) : 0;
  if (axis >= 0 && law->row->axis == TL_LAW_AXIS_TAIL)
    law->kept |= tail(axis, rank);
  return axis >= 0;
}

static bool read_each(tl_law *law, const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  int rank = rank_of(m, tl_operand(m, n, 0));
  if (rank < 2)
    return false;
  law->n_axes = law->n_in = law->n_out = (uint8_t)rank;
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (letter(law, i) == 'x' && rank_of(m, tl_operand(m, n, i)) != rank)
      return false;
  for (uint32_t i = 0; i < node->n_results; i++)
    if ((i == 0 || law->row->results == TL_LAW_RESULTS_ALL) && has_users(m, node->results + i) &&
        rank_of(m, node->results + i) != rank)
      return false;
  return axis_fits(law, m, n) && lists_fit(law, m, n, rank) && !tl_node_attr(m, n, TL_SYM_axes);
}

static bool read_spread(tl_law *law, const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  int rank = node->n_results == 1 ? rank_of(m, node->results) : -1;
  if (rank < 2)
    return false;
  law->n_axes = law->n_out = (uint8_t)rank;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    int own = rank_of(m, tl_operand(m, n, i));
    if (letter(law, i) == 'x' && (own < 0 || own > rank))
      return false;
  }
  /* without a row: ONNX alone says that operands are broadcast */
  return law->row != &rows[ROW_ELEMENTWISE] || node->n_operands == 1 ||
         tl_op_domain_symbol(m, node->op) == 0;
}

static bool read_reduced(tl_law *law, const tl_module *m, tl_node_id n) {
  int64_t axes[TL_MOST_AXES];
  uint32_t count = 0;
  int rank = rank_of(m, tl_operand(m, n, 0));
  if (rank < 2)
    return false;
  if (law->row->axis == TL_LAW_AXIS_ATTR) {
    int axis = named_axis(m, n, rank);
    if (axis < 0)
      return false;
    axes[count++] = axis;
  } else if (tl_operand(m, n, 1) &&
             !(tl_law_list(m, tl_operand(m, n, 1), axes, TL_MOST_AXES, &count) &&
               settle(axes, count, rank))) {
    return false;
  }
  unsigned gone = 0;
  for (uint32_t i = 0; i < count; i++)
    gone |= 1u << axes[i];
  if (!count && !tl_node_attr_int(m, n, TL_SYM_noop_with_empty_axes, 0))
    gone = tail(0, rank);
  if (tl_node_attr_int(m, n, TL_SYM_keepdims, 1))
    gone = 0;
  law->n_axes = law->n_in = (uint8_t)rank;
  for (unsigned i = 0; i < (unsigned)rank; i++)
    if (!(gone >> i & 1))
      law->out = tl_order_with(law->out, law->n_out++, i);
  return rank_of(m, tl_result(m, n, 0)) == law->n_out;
}

static bool read_picked(tl_law *law, const tl_module *m, tl_node_id n) {
  int rank = rank_of(m, tl_operand(m, n, 0));
  int places = rank_of(m, tl_operand(m, n, 1));
  int axis = rank < 2 ? -1 : named_axis(m, n, rank);
  if (axis < 0 || places < 0 || places > 1)
    return false;
  law->n_axes = law->n_in = (uint8_t)rank;
  for (unsigned i = 0; i < (unsigned)rank; i++)
    if (places == 1 || i != (unsigned)axis)
      law->out = tl_order_with(law->out, law->n_out++, i);
  return rank_of(m, tl_result(m, n, 0)) == law->n_out;
}

static bool read_sized(tl_law *law, const tl_module *m, tl_node_id n) {
  int rank = rank_of(m, tl_operand(m, n, 0));
  law->n_axes = law->n_in = (uint8_t)(rank < 0 ? 0 : rank);
  return rank >= 2 && tl_node_attr_int(m, n, TL_SYM_start, 0) == 0 &&
         !tl_node_attr(m, n, TL_SYM_end);
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool same_dim(tl_dim a, tl_dim b) { return a == b && a != TL_DIM_UNKNOWN && a != 0; }

/* Appends an axis: a dim of the operand, of the result, or of both. */
static bool add_axis(tl_law *law, bool in, bool out) {
  if (law->n_axes == TL_MOST_AXES)
    return false;
  if (in)
    law->in = tl_order_with(law->in, law->n_in++, law->n_axes);
  if (out)
    law->out = tl_order_with(law->out, law->n_out++, law->n_axes);
  law->n_axes++;
  return true;
}

/* Dims other than 1 correspond in their order; those of size 1 are axes of one side. */
static bool read_reshape(tl_law *law, const tl_module *m, tl_node_id n) {
  int a = rank_of(m, tl_operand(m, n, 0)), b = rank_of(m, tl_result(m, n, 0));
  const tl_dim *from = type_of(m, tl_operand(m, n, 0))->dims;
  const tl_dim *to = type_of(m, tl_result(m, n, 0))->dims;
  int i = 0, k = 0;
  while (i < a || k < b) {
    bool in = i < a && from[i] == 1, out = k < b && to[k] == 1;
    if (!in && !out)
      in = out = i < a && k < b && same_dim(from[i], to[k]);
    else if (in)
      out = false;
    if (!(in || out) || !add_axis(law, in, out))
      return false;
    i += in;
    k += out;
  }
  return a >= 0 && b >= 0 && law->n_axes > 1 && tl_value_constant(m, tl_operand(m, n, 1));
}

/* The listed dims are on one side only. */
static bool read_listed(tl_law *law, const tl_module *m, tl_node_id n) {
  int64_t axes[TL_MOST_AXES];
  uint32_t count;
  bool inserts = law->row->kind == TL_LAW_INSERTED;
  int rank = rank_of(m, inserts ? tl_result(m, n, 0) : tl_operand(m, n, 0));
  if (rank < 2 || !tl_law_list(m, tl_operand(m, n, 1), axes, TL_MOST_AXES, &count) ||
      !settle(axes, count, rank))
    return false;
  for (int i = 0; i < rank; i++) {
    bool listed = false;
    for (uint32_t k = 0; k < count; k++)
      listed |= axes[k] == i;
    if (!add_axis(law, !(listed && inserts), !listed || inserts))
      return false;
  }
  return rank_of(m, tl_operand(m, n, 0)) == law->n_in &&
         rank_of(m, tl_result(m, n, 0)) == law->n_out;
}

bool tl_law_reshape(const tl_law *law, const tl_module *m, tl_node_id n, tl_order o, int64_t *spec,
                    bool *same) {
  const tl_dim *from = type_of(m, tl_operand(m, n, 0))->dims;
  const tl_dim *to = type_of(m, tl_result(m, n, 0))->dims;
  tl_order in = tl_law_seen((tl_law_port){law->n_in, false, law->in}, o);
  tl_order out = tl_law_seen((tl_law_port){law->n_out, false, law->out}, o);
  int open = 0;
  *same = law->n_in == law->n_out;
  for (unsigned i = 0; i < law->n_out; i++) {
    tl_dim d = to[tl_order_at(out, i)];
    bool equal = i < law->n_in && from[tl_order_at(in, i)] == d;
    *same = *same && equal;
    spec[i] = tl_dim_is_static(d) ? d : equal ? 0 : -1;
    open += spec[i] == -1;
  }
  return open <= 1;
}

/* ---- laws ------------------------------------------------------------------------------------ */

static bool read_kind(tl_law *law, const tl_module *m, tl_node_id n) {
  switch ((tl_law_kind)law->row->kind) {
  case TL_LAW_EACH: return read_each(law, m, n);
  case TL_LAW_SPREAD: return read_spread(law, m, n);
  case TL_LAW_REDUCED: return read_reduced(law, m, n);
  case TL_LAW_PICKED: return read_picked(law, m, n);
  case TL_LAW_RESHAPED: return read_reshape(law, m, n);
  case TL_LAW_DROPPED:
  case TL_LAW_INSERTED: return read_listed(law, m, n);
  case TL_LAW_SIZED:
  case TL_LAW_COUNTED: return read_sized(law, m, n);
  }
  return false;
}

/* Returns true if no operand needs a node of its own in another order. */
static bool is_plain(const tl_law *law, const tl_module *m, tl_node_id n) {
  tl_law_port port;
  if (law->row->kind == TL_LAW_RESHAPED || law->row->kind == TL_LAW_SIZED)
    return false;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
    if (tl_law_runs(law, m, n, i) ||
        (law->row->kind == TL_LAW_SPREAD && tl_law_operand(law, m, n, i, &port) && !port.whole))
      return false;
  return true;
}

bool tl_law_read(const tl_module *m, tl_node_id n, bool exact, tl_law *out) {
  const tl_node *node = tl_node_get(m, n);
  uint8_t row = node->op < TL_N_OPS ? row_of_op[node->op] : ROW_NONE;
  if (row == ROW_NONE && tl_op_has_trait(node->op, TL_TRAIT_ELEMENTWISE))
    row = ROW_ELEMENTWISE;
  if (row == ROW_NONE || node->n_operands == 0 || (exact && rows[row].sums))
    return false;
  *out = (tl_law){.row = &rows[row],
                  .in = TL_ORDER_SAME,
                  .out = TL_ORDER_SAME,
                  .now = TL_ORDER_SAME,
                  .kept = rows[row].kept};
  for (uint32_t i = 1; out->row->results == TL_LAW_RESULTS_ONE && i < node->n_results; i++)
    if (has_users(m, node->results + i))
      return false;
  bool fits = read_kind(out, m, n);
  out->plain = fits && is_plain(out, m, n);
  return fits;
}

/* Returns true if the value has one element, which stands for all. */
static bool is_one(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return tl_type_elements(m, tl_value_type(m, v), &n) && n == 1;
}

static bool is_whole(const tl_law *law, uint8_t n, tl_order axes) {
  return n == law->n_axes && axes == TL_ORDER_SAME;
}

bool tl_law_operand(const tl_law *law, const tl_module *m, tl_node_id n, uint32_t i,
                    tl_law_port *out) {
  tl_value_id v = tl_operand(m, n, i);
  if (!v || letter(law, i) != 'x')
    return false;
  *out = (tl_law_port){law->n_in, is_whole(law, law->n_in, law->in), law->in};
  if (law->row->kind != TL_LAW_SPREAD)
    return true;
  unsigned own = (unsigned)rank_of(m, v);
  if ((own < law->n_axes || tl_value_constant(m, v)) && is_one(m, v))
    return false;
  *out = (tl_law_port){(uint8_t)own, own == law->n_axes, TL_ORDER_SAME};
  for (unsigned k = 0; k < own && !out->whole; k++)
    out->axes = tl_order_with(out->axes, k, law->n_axes - own + k);
  return true;
}

bool tl_law_result(const tl_law *law, uint32_t i, tl_law_port *out) {
  *out = (tl_law_port){law->n_out, is_whole(law, law->n_out, law->out), law->out};
  return law->row->results != TL_LAW_RESULTS_NO &&
         (i == 0 || law->row->results == TL_LAW_RESULTS_ALL);
}

tl_order tl_law_seen(tl_law_port port, tl_order o) {
  tl_order seen = TL_ORDER_SAME;
  unsigned n = 0;
  if (o == TL_ORDER_SAME || port.whole)
    return o;
  for (unsigned i = 0; i < TL_MOST_AXES && n < port.n; i++)
    for (unsigned k = 0; k < port.n; k++)
      if (tl_order_at(port.axes, k) == tl_order_at(o, i))
        seen = tl_order_with(seen, n++, k);
  return seen;
}

tl_order tl_law_wanting(tl_law_port port, tl_order o, tl_order seen) {
  unsigned n = 0;
  tl_order made = o;
  if (port.whole)
    return seen;
  for (unsigned i = 0; i < TL_MOST_AXES && n < port.n; i++)
    for (unsigned k = 0; k < port.n; k++)
      if (tl_order_at(port.axes, k) == tl_order_at(o, i)) {
        made = tl_order_with(made, i, tl_order_at(port.axes, tl_order_at(seen, n++)));
        break;
      }
  return made;
}

/* Runtimes resize along dims behind the first two only. */
static bool resizes_behind(const tl_module *m, tl_node_id n, tl_order o) {
  const tl_type *from = type_of(m, tl_operand(m, n, 0)), *to = type_of(m, tl_result(m, n, 0));
  for (unsigned i = 0; i < 2; i++)
    if (!same_dim(from->dims[tl_order_at(o, i)], to->dims[tl_order_at(o, i)]))
      return false;
  return true;
}

bool tl_law_allows(const tl_law *law, const tl_module *m, tl_node_id n, tl_order o) {
  int64_t spec[TL_MOST_AXES];
  bool same;
  if (o == TL_ORDER_SAME)
    return true;
  for (unsigned i = 0; i < law->n_axes; i++)
    if ((law->kept >> i & 1) && tl_order_at(o, i) != i)
      return false;
  if (law->row->kind == TL_LAW_RESHAPED)
    return tl_law_reshape(law, m, n, o, spec, &same);
  return law->row->axis != TL_LAW_AXIS_BEHIND || resizes_behind(m, n, o);
}

static bool is_weight(const tl_module *m, tl_value_id v) {
  if (tl_value_constant(m, v))
    return true;
  tl_node_id from = tl_value_producer(m, v);
  if (!from || !tl_op_has_trait(tl_node_get(m, from)->op, TL_TRAIT_UNFOLDED) ||
      tl_value_get(m, v)->n_uses != 1 || tl_node_attr_int(m, from, TL_SYM_block_size, 0))
    return false;
  for (uint32_t i = 0; i < tl_node_get(m, from)->n_operands; i++)
    if (tl_operand(m, from, i) && !tl_value_constant(m, tl_operand(m, from, i)))
      return false;
  return true;
}

tl_law_beside tl_law_beside_of(const tl_law *law, const tl_module *m, tl_node_id n, uint32_t i,
                               tl_order o) {
  tl_law_port port;
  if (!tl_law_operand(law, m, n, i, &port))
    return TL_LAW_AS_IS;
  bool constant = tl_value_constant(m, tl_operand(m, n, i)) != NULL;
  bool aligned = true;
  for (unsigned k = law->n_axes - port.n; k < law->n_axes; k++)
    aligned = aligned && tl_order_at(o, k) + port.n >= law->n_axes &&
              (!constant || tl_order_at(o, k) == k);
  if (aligned || (port.n == law->n_axes && !constant))
    return TL_LAW_AS_IS;
  return is_weight(m, tl_operand(m, n, i)) ? TL_LAW_WEIGHT : TL_LAW_VALUE;
}

uint32_t tl_law_runs(const tl_law *law, const tl_module *m, tl_node_id n, uint32_t i) {
  char kind = letter(law, i);
  if (!tl_operand(m, n, i) || (kind != 'n' && kind != 'm'))
    return 0;
  for (uint32_t k = 1; kind == 'm' && k < tl_node_get(m, n)->n_operands; k++)
    if (letter(law, k) == 'a' && tl_operand(m, n, k))
      return 0; /* the numbers are those of the axes */
  return kind == 'n' ? 1 : 2;
}

uint32_t tl_law_nodes(const tl_law *law, const tl_module *m, tl_node_id n, tl_order o) {
  int64_t spec[TL_MOST_AXES];
  bool same;
  uint32_t count = 0;
  if (law->plain)
    return 0;
  if (law->row->kind == TL_LAW_RESHAPED)
    return tl_law_reshape(law, m, n, o, spec, &same) && !same;
  if (o == TL_ORDER_SAME)
    return 0;
  if (law->row->kind == TL_LAW_SIZED)
    return 1;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    if (law->row->kind == TL_LAW_SPREAD)
      count += tl_law_beside_of(law, m, n, i, o) == TL_LAW_VALUE;
    if (tl_law_runs(law, m, n, i))
      count += !tl_value_constant(m, tl_operand(m, n, i));
  }
  return count;
}
