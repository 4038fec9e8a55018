/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the body of a loop as a cell (cell_reader.h), from its results back to the products. */
#include "passes/loops/cell_reader.h"

#include "ir/ops_gen.h"

enum { MOST_IDENTITIES = 8, MOST_DEPTH = 24 };

tl_value_id tl_cell_plain(const tl_module *m, tl_value_id v) {
  for (int i = 0; i < MOST_IDENTITIES && v; i++) {
    tl_node_id n = tl_value_producer(m, v);
    if (!n || tl_node_get(m, n)->op != TL_OP_Identity)
      break;
    v = tl_operand(m, n, 0);
  }
  return v;
}

static tl_value_id operand(const tl_cell_reader *r, tl_node_id n, uint32_t i) {
  return tl_cell_plain(r->m, tl_operand(r->m, n, i));
}

/* Returns the node of that op that makes v, TL_NO_NODE if another one does. */
static tl_node_id made_by(const tl_cell_reader *r, tl_value_id v, tl_op_id op) {
  tl_node_id n = v ? tl_value_producer(r->m, v) : TL_NO_NODE;
  return n && tl_node_get(r->m, n)->op == op && tl_node_get(r->m, n)->graph == r->body ? n
                                                                                       : TL_NO_NODE;
}

static const tl_type *type_of(const tl_cell_reader *r, tl_value_id v) {
  return tl_type_get(r->m, tl_value_type(r->m, v));
}

/* Returns the size of the last dim; 0 if it is open. */
static int64_t last_dim(const tl_cell_reader *r, tl_value_id v) {
  const tl_type *t = type_of(r, v);
  bool known = v && t->kind == TL_KIND_TENSOR && t->rank > 0;
  return known && tl_dim_is_static(t->dims[t->rank - 1]) ? t->dims[t->rank - 1] : 0;
}

static bool is_matrix(const tl_cell_reader *r, tl_value_id v) {
  const tl_type *t = type_of(r, v);
  return v && t->kind == TL_KIND_TENSOR && t->rank == 2;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Adds a constant: a row, from column col on. */
static bool read_bias(tl_cell_reader *r, tl_value_id v, int64_t col, tl_cell_sum *s) {
  const tl_type *t = type_of(r, v);
  if (s->n_biases == TL_MOST_BIASES || t->rank > 2 || (t->rank == 2 && t->dims[0] != 1) ||
      last_dim(r, v) < col + r->hidden)
    return false;
  s->bias[s->n_biases++] = (tl_cell_part){.at = v, .col = col};
  return true;
}

static bool set_part(tl_cell_part *to, tl_cell_part part, int64_t rows) {
  if (to->at)
    return false;
  *to = part;
  to->rows = rows;
  return true;
}

/* Reads a product of x, of `state`, or of both side by side, by weights. */
static bool read_product(tl_cell_reader *r, tl_value_id a, tl_cell_part part, tl_value_id state,
                         tl_cell_sum *s) {
  if (a == r->x)
    return set_part(&s->x, part, r->width);
  if (a == state)
    return set_part(&s->h, part, r->hidden);
  tl_node_id n = made_by(r, a, TL_OP_Concat);
  if (!n || tl_node_get(r->m, n)->n_operands != 2 ||
      (tl_node_attr_int(r->m, n, TL_SYM_axis, 0) != 1 &&
       tl_node_attr_int(r->m, n, TL_SYM_axis, 0) != -1))
    return false;
  for (uint32_t i = 0; i < 2; i++) {
    tl_value_id v = operand(r, n, i);
    if ((v != r->x && v != state) || !read_product(r, v, part, state, s))
      return false;
    part.row += v == r->x ? r->width : r->hidden;
  }
  return true;
}

/* Reads weights of MatMul or Gemm: a constant matrix that has all rows and columns. */
static bool read_weights(tl_cell_reader *r, tl_node_id n, bool turned, int64_t col,
                         tl_value_id state, tl_cell_sum *s) {
  tl_value_id w = operand(r, n, 1);
  if (!is_matrix(r, w) || !tl_value_constant(r->m, w))
    return false;
  const tl_dim *dims = type_of(r, w)->dims;
  if (dims[turned ? 0 : 1] < col + r->hidden)
    return false;
  return read_product(r, operand(r, n, 0), (tl_cell_part){.at = w, .col = col, .turned = turned},
                      state, s);
}

static bool read_sum(tl_cell_reader *r, tl_value_id v, int64_t col, tl_value_id state,
                     tl_cell_sum *s);

static bool read_gemm(tl_cell_reader *r, tl_node_id n, int64_t col, tl_value_id state,
                      tl_cell_sum *s) {
  tl_value_id c = operand(r, n, 2);
  if (tl_node_attr_int(r->m, n, TL_SYM_transA, 0) ||
      tl_node_attr_float(r->m, n, TL_SYM_alpha, 1) != 1 ||
      tl_node_attr_float(r->m, n, TL_SYM_beta, 1) != 1)
    return false;
  bool turned = tl_node_attr_int(r->m, n, TL_SYM_transB, 0) != 0;
  return read_weights(r, n, turned, col, state, s) && (!c || read_sum(r, c, col, state, s));
}

/* Reads a part of a value with more columns. */
static bool read_split(tl_cell_reader *r, tl_node_id n, tl_value_id v, int64_t col,
                       tl_value_id state, tl_cell_sum *s) {
  int64_t axis = tl_node_attr_int(r->m, n, TL_SYM_axis, 0);
  tl_value_id first = tl_node_get(r->m, n)->results;
  if ((axis != 1 && axis != -1) || !is_matrix(r, v))
    return false;
  for (tl_value_id part = first; part < v; part++) {
    if (!last_dim(r, part))
      return false;
    col += last_dim(r, part);
  }
  return read_sum(r, operand(r, n, 0), col, state, s);
}

static bool read_slice(tl_cell_reader *r, tl_node_id n, int64_t col, tl_value_id state,
                       tl_cell_sum *s) {
  int64_t at[3] = {0, 0, 1}; /* begin, axis, step */
  const uint32_t operands[] = {1, 3, 4};
  for (uint32_t i = 0; i < 3; i++) {
    tl_value_id v = operand(r, n, operands[i]);
    const tl_tensor *t = v ? tl_value_constant(r->m, v) : NULL;
    if (v ? !t || tl_tensor_elements(r->m, t) != 1 || !tl_tensor_int_at(r->m, t, 0, &at[i])
          : i == 0)
      return false;
  }
  tl_value_id from = operand(r, n, 0);
  if ((at[1] != 1 && at[1] != -1) || at[2] != 1 || !is_matrix(r, from) || !last_dim(r, from))
    return false;
  at[0] += at[0] < 0 ? last_dim(r, from) : 0;
  return at[0] >= 0 && read_sum(r, from, col + at[0], state, s);
}

/* Reads columns [col, col + hidden) of v as a sum of products of x and `state` and of constants. */
static bool read_sum(tl_cell_reader *r, tl_value_id v, int64_t col, tl_value_id state,
                     tl_cell_sum *s) {
  tl_node_id n = v ? tl_value_producer(r->m, v) : TL_NO_NODE;
  if (v && tl_value_constant(r->m, v))
    return read_bias(r, v, col, s);
  if (!n || tl_node_get(r->m, n)->graph != r->body || r->depth == MOST_DEPTH ||
      last_dim(r, v) < col + r->hidden)
    return false;
  r->depth++;
  bool good = false;
  switch (tl_node_get(r->m, n)->op) {
  case TL_OP_Add:
    good = read_sum(r, operand(r, n, 0), col, state, s) &&
           read_sum(r, operand(r, n, 1), col, state, s);
    break;
  case TL_OP_MatMul: good = read_weights(r, n, false, col, state, s); break;
  case TL_OP_Gemm: good = read_gemm(r, n, col, state, s); break;
  case TL_OP_Split: good = read_split(r, n, v, col, state, s); break;
  case TL_OP_Slice: good = read_slice(r, n, col, state, s); break;
  default: break;
  }
  r->depth--;
  return good;
}

/* Reads a whole gate: a function of a sum that has both products and as many columns as h. */
static bool read_gate(tl_cell_reader *r, tl_value_id v, tl_op_id function, tl_value_id state,
                      tl_cell_sum *s) {
  tl_node_id n = made_by(r, v, function);
  *s = (tl_cell_sum){0};
  return n && last_dim(r, v) == r->hidden && read_sum(r, operand(r, n, 0), 0, state, s) &&
         s->x.at && s->h.at;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Finds v among the two operands of a node; *other is the other one. */
static bool has(const tl_cell_reader *r, tl_node_id n, tl_value_id v, tl_value_id *other) {
  for (uint32_t i = 0; n && i < 2; i++) {
    *other = operand(r, n, 1 - i);
    if (operand(r, n, i) == v)
      return true;
  }
  return false;
}

/* h' = o tanh(c') and c' = f c + i g. */
bool tl_cell_read_lstm(tl_cell_reader *r) {
  enum { I, O, F, C };
  tl_node_id product = made_by(r, r->next_h, TL_OP_Mul), sum = made_by(r, r->next_c, TL_OP_Add);
  tl_value_id gate = TL_NO_VALUE, forget = TL_NO_VALUE;
  bool found = false;
  for (uint32_t i = 0; product && i < 2 && !found; i++) {
    tl_node_id tanh = made_by(r, operand(r, product, i), TL_OP_Tanh);
    gate = operand(r, product, 1 - i);
    found = tanh && operand(r, tanh, 0) == r->next_c;
  }
  if (!found || !sum || !read_gate(r, gate, TL_OP_Sigmoid, r->h, &r->gate[O]))
    return false;
  for (uint32_t i = 0; i < 2; i++) {
    tl_node_id kept = made_by(r, operand(r, sum, i), TL_OP_Mul);
    tl_node_id added = made_by(r, operand(r, sum, 1 - i), TL_OP_Mul);
    if (!added || !has(r, kept, r->c, &forget) ||
        !read_gate(r, forget, TL_OP_Sigmoid, r->h, &r->gate[F]))
      continue;
    for (uint32_t k = 0; k < 2; k++)
      if (read_gate(r, operand(r, added, k), TL_OP_Sigmoid, r->h, &r->gate[I]) &&
          read_gate(r, operand(r, added, 1 - k), TL_OP_Tanh, r->h, &r->gate[C]))
        return true;
  }
  return false;
}

static bool is_one(const tl_cell_reader *r, tl_value_id v) {
  const tl_tensor *t = v ? tl_value_constant(r->m, v) : NULL;
  double one = 0;
  return t && tl_tensor_elements(r->m, t) == 1 && tl_tensor_float_at(r->m, t, 0, &one) && one == 1;
}

/* Reads the candidate: tanh(x W + (r h) U + b), or tanh(x W + b + r (h U + b')). */
static bool read_candidate(tl_cell_reader *r, tl_value_id v) {
  enum { R = 1, H = 2 };
  tl_node_id tanh = made_by(r, v, TL_OP_Tanh);
  tl_node_id sum = tanh ? made_by(r, operand(r, tanh, 0), TL_OP_Add) : TL_NO_NODE;
  for (uint32_t i = 0; sum && i < 2; i++) {
    tl_node_id after = made_by(r, operand(r, sum, i), TL_OP_Mul);
    for (uint32_t k = 0; after && k < 2; k++) {
      r->gate[H] = r->inner = (tl_cell_sum){0};
      r->reset_after = true;
      if (read_gate(r, operand(r, after, k), TL_OP_Sigmoid, r->h, &r->gate[R]) &&
          read_sum(r, operand(r, after, 1 - k), 0, r->h, &r->inner) && r->inner.h.at &&
          !r->inner.x.at && read_sum(r, operand(r, sum, 1 - i), 0, r->h, &r->gate[H]) &&
          r->gate[H].x.at && !r->gate[H].h.at)
        return last_dim(r, v) == r->hidden;
    }
  }
  r->reset_after = false;
  const tl_graph *g = tl_graph_get(r->m, r->body);
  TL_FOR_NODES(r->m, g, n) {
    tl_value_id gate = TL_NO_VALUE;
    if (tl_node_get(r->m, n)->op == TL_OP_Mul && has(r, n, r->h, &gate) &&
        read_gate(r, gate, TL_OP_Sigmoid, r->h, &r->gate[R]) &&
        read_gate(r, v, TL_OP_Tanh, tl_result(r->m, n, 0), &r->gate[H]))
      return true;
  }
  return false;
}

/* h' = z h + (1 - z) g */
bool tl_cell_read_gru(tl_cell_reader *r) {
  tl_node_id sum = made_by(r, r->next_h, TL_OP_Add);
  for (uint32_t i = 0; sum && i < 2; i++) {
    tl_node_id kept = made_by(r, operand(r, sum, i), TL_OP_Mul);
    tl_node_id added = made_by(r, operand(r, sum, 1 - i), TL_OP_Mul);
    tl_value_id update = TL_NO_VALUE;
    if (!added || !has(r, kept, r->h, &update) ||
        !read_gate(r, update, TL_OP_Sigmoid, r->h, &r->gate[0]))
      continue;
    for (uint32_t k = 0; k < 2; k++) {
      tl_node_id rest = made_by(r, operand(r, added, k), TL_OP_Sub);
      if (rest && is_one(r, operand(r, rest, 0)) && operand(r, rest, 1) == update &&
          read_candidate(r, operand(r, added, 1 - k)))
        return true;
    }
  }
  return false;
}
