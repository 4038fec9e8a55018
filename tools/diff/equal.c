/* SPDX-License-Identifier: Apache-2.0 */
/* Compares parts of two modules, whose ids and symbols mean nothing to each other: texts by bytes,
 * types by what they read as, tensors by content. */
#include <math.h>

#include "ir/tensor_expr.h"
#include "tools/diff/diff.h"

static bool same_symbol(const tl_pairs *p, tl_symbol a, tl_symbol b) {
  return tl_sv_eq(tl_sym(p->m[0], a), tl_sym(p->m[1], b));
}

bool tl_same_op(const tl_pairs *p, tl_node_id a, tl_node_id b) {
  tl_op_id x = tl_node_get(p->m[0], a)->op, y = tl_node_get(p->m[1], b)->op;
  return tl_sv_eq(tl_op_name(p->m[0], x), tl_op_name(p->m[1], y)) &&
         tl_sv_eq(tl_op_domain(p->m[0], x), tl_op_domain(p->m[1], y));
}

/* Returns true if `op`, of module m, may become the NPU op `npu` of the other module. */
static bool becomes(const tl_pairs *p, int side, tl_node_id op, tl_node_id npu) {
  const tl_op *row = tl_op_row(tl_node_get(p->m[side], op)->op);
  const tl_module *m = p->m[!side];
  tl_op_id other = tl_node_get(m, npu)->op;
  if (!row || !tl_sv_is(tl_op_domain(m, other), "npu"))
    return false;
  for (int i = 0; i < row->n_npu; i++)
    if (tl_sv_is(tl_op_name(m, other), row->npu[i].npu_type))
      return true;
  return false;
}

bool tl_kin_op(const tl_pairs *p, tl_node_id a, tl_node_id b) {
  return tl_same_op(p, a, b) || becomes(p, 0, a, b) || becomes(p, 1, b, a);
}

/* Compares what two types read as, from a character on (0: from the beginning). */
static bool same_from(const tl_pairs *p, tl_type_id a, tl_type_id b, char from) {
  const tl_type_id ids[] = {a, b};
  tl_buf text[2];
  tl_sv view[2];
  for (int s = 0; s < 2; s++) {
    tl_buf_init(&text[s]);
    tl_type_print(p->m[s], ids[s], &text[s]);
    view[s] = tl_buf_view(&text[s]);
    const char *at = from ? memchr(view[s].p, from, view[s].n) : NULL;
    if (at)
      view[s] = (tl_sv){at, (size_t)(view[s].p + view[s].n - at)};
  }
  bool same = tl_sv_eq(view[0], view[1]);
  tl_buf_release(&text[0]);
  tl_buf_release(&text[1]);
  return same;
}

bool tl_same_type(const tl_pairs *p, tl_type_id a, tl_type_id b) { return same_from(p, a, b, 0); }

bool tl_same_shape(const tl_pairs *p, tl_type_id a, tl_type_id b) {
  return same_from(p, a, b, '[');
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool same_strings(const tl_pairs *p, const tl_tensor *x, const tl_tensor *y) {
  for (uint64_t i = 0; i < tl_tensor_elements(p->m[0], x); i++)
    if (!same_symbol(p, x->u.strings[i], y->u.strings[i]))
      return false;
  return true;
}

/* Compares bytes, computed ones block by block. */
static bool same_bytes(const tl_tensor *x, const tl_tensor *y) {
  tl_tensor_room rooms[2];
  for (uint64_t at = 0; at < x->bytes; at += TL_TENSOR_BLOCK) {
    size_t n = 0, k = 0;
    const void *a = tl_tensor_block(x, at, &rooms[0], &n);
    const void *b = tl_tensor_block(y, at, &rooms[1], &k);
    size_t block = x->bytes - at < TL_TENSOR_BLOCK ? (size_t)(x->bytes - at) : TL_TENSOR_BLOCK;
    if (!a || !b || n < block || k < block || memcmp(a, b, block) != 0)
      return false;
  }
  return true;
}

bool tl_same_tensor(const tl_pairs *p, tl_tensor_id a, tl_tensor_id b) {
  if (!a || !b)
    return a == b;
  const tl_tensor *x = tl_tensor_get(p->m[0], a), *y = tl_tensor_get(p->m[1], b);
  if (x->dtype != y->dtype || !tl_same_type(p, x->type, y->type))
    return false;
  bool text = x->kind == TL_SOURCE_STRINGS;
  if (text != (y->kind == TL_SOURCE_STRINGS))
    return false;
  return text ? same_strings(p, x, y) : x->bytes == y->bytes && same_bytes(x, y);
}

/* Adds the difference of element i of two tensors that are not computed, if it is a number. */
static void note_number(const tl_pairs *p, const tl_tensor *x, const tl_tensor *y, uint64_t i,
                        tl_apart *out) {
  double a, b;
  if (x->kind == TL_SOURCE_EXPR || y->kind == TL_SOURCE_EXPR ||
      !tl_tensor_float_at(p->m[0], x, i, &a) || !tl_tensor_float_at(p->m[1], y, i, &b) ||
      !isfinite(a) || !isfinite(b))
    return;
  out->numbers = true;
  if (fabs(a - b) > out->largest)
    out->largest = fabs(a - b);
}

bool tl_tensors_apart(const tl_pairs *p, tl_tensor_id a, tl_tensor_id b, tl_apart *out) {
  const tl_tensor *x = tl_tensor_get(p->m[0], a), *y = tl_tensor_get(p->m[1], b);
  size_t size = tl_dtype_get(x->dtype)->bits / 8u;
  *out = (tl_apart){.elements = tl_tensor_elements(p->m[0], x)};
  if (x->dtype != y->dtype || x->kind == TL_SOURCE_STRINGS || y->kind == TL_SOURCE_STRINGS ||
      x->bytes != y->bytes || size == 0 || size > 16 || x->bytes != out->elements * size)
    return false;
  tl_tensor_room rooms[2];
  for (uint64_t at = 0; at < x->bytes; at += TL_TENSOR_BLOCK) {
    size_t n = 0, k = 0;
    const char *c = tl_tensor_block(x, at, &rooms[0], &n);
    const char *d = tl_tensor_block(y, at, &rooms[1], &k);
    size_t block = x->bytes - at < TL_TENSOR_BLOCK ? (size_t)(x->bytes - at) : TL_TENSOR_BLOCK;
    if (!c || !d || n < block || k < block)
      return false;
    for (size_t i = 0; i < block; i += size) {
      if (memcmp(c + i, d + i, size) == 0)
        continue;
      out->differ++;
      note_number(p, x, y, (at + i) / size, out);
    }
  }
  return true;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool same_id(const tl_pairs *p, tl_attr_kind kind, uint32_t a, uint32_t b) {
  switch (kind) {
  case TL_ATTR_TENSORS: return tl_same_tensor(p, a, b);
  case TL_ATTR_GRAPHS: return p->graph[0][a] == b;
  case TL_ATTR_TYPES: return tl_same_type(p, a, b);
  default: return same_symbol(p, a, b); /* STRINGS, SPARSES */
  }
}

static bool same_ids(const tl_pairs *p, const tl_attr *a, const tl_attr *b) {
  for (uint32_t i = 0; i < a->count; i++)
    if (!same_id(p, (tl_attr_kind)a->kind, a->u.ids[i], b->u.ids[i]))
      return false;
  return true;
}

static bool same_lists(const tl_attr *a, const tl_attr *b) {
  for (uint32_t i = 0; i < a->count; i++) {
    const tl_int_list *x = &a->u.lists[i], *y = &b->u.lists[i];
    if (x->n != y->n || (x->n && memcmp(x->at, y->at, x->n * sizeof *x->at) != 0))
      return false;
  }
  return true;
}

/* Floats are equal where their bits are. */
bool tl_same_attr(const tl_pairs *p, const tl_attr *a, const tl_attr *b) {
  if (a->kind != b->kind || a->count != b->count)
    return false;
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_NONE: return true;
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE: return a->u.i == b->u.i;
  case TL_ATTR_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
  case TL_ATTR_STRING:
  case TL_ATTR_SPARSE:
  case TL_ATTR_CARRIED: return same_symbol(p, a->u.s, b->u.s);
  case TL_ATTR_TENSOR: return tl_same_tensor(p, a->u.t, b->u.t);
  case TL_ATTR_GRAPH: return p->graph[0][a->u.g] == b->u.g;
  case TL_ATTR_TYPE: return tl_same_type(p, a->u.type, b->u.type);
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_DTYPES:
    return a->count == 0 || memcmp(a->u.is, b->u.is, a->count * sizeof *a->u.is) == 0;
  case TL_ATTR_FLOATS:
    return a->count == 0 || memcmp(a->u.fs, b->u.fs, a->count * sizeof *a->u.fs) == 0;
  case TL_ATTR_INT_LISTS: return same_lists(a, b);
  default: return same_ids(p, a, b);
  }
}
