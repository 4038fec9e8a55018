/* SPDX-License-Identifier: Apache-2.0 */
/* Types: interning, so that equal types have equal ids, and their text. dim.c has the arithmetic
 * over dims. */
#include "ir/type.h"

#include <stdlib.h>

#include "ir/module.h"
#include "support/assert.h"
#include "support/hash.h"

/* Hashes exactly the fields that same_type compares. */
static uint64_t hash_type(const tl_type *t) {
  uint64_t h = tl_hash_mix(t->kind, (uint64_t)t->dtype << 32 | (uint16_t)t->rank);
  h = tl_hash_mix(h, (uint64_t)t->element << 32 | t->domain);
  h = tl_hash_mix(h, t->name);
  for (int i = 0; i < t->rank; i++)
    h = tl_hash_mix(h, (uint64_t)t->dims[i]);
  return h;
}

/* Dims are sizes or interned symbols, so that equal dims have equal bytes. */
static bool same_type(const tl_type *a, const tl_type *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank ||
      a->element != b->element || a->domain != b->domain || a->name != b->name)
    return false;
  return a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

/* Doubles the hash index; at most half of it is used, so that probing ends. 0 marks a free slot,
 * since type 0 is not in the index. */
static bool grow_slots(tl_module *m) {
  uint32_t want = m->n_type_slots ? m->n_type_slots * 2 : 256;
  uint32_t *slots = calloc(want, sizeof *slots);
  if (!slots)
    return false;
  for (uint32_t id = 1; id < m->types.n; id++) {
    uint32_t at = (uint32_t)hash_type(&m->types.at[id]) & (want - 1);
    while (slots[at])
      at = (at + 1) & (want - 1);
    slots[at] = id;
  }
  free(m->type_slots);
  m->type_slots = slots;
  m->n_type_slots = want;
  return true;
}

/* Returns the type with rank 0 and without dims where they mean nothing, so that such fields cannot
 * make equal types differ. */
static tl_type normalized(const tl_type *t) {
  tl_type copy = *t;
  if (t->kind != TL_KIND_TENSOR && t->kind != TL_KIND_SPARSE_TENSOR)
    copy.rank = 0;
  if (copy.rank <= 0)
    copy.dims = NULL;
  return copy;
}

/* Open addressing with linear probing. Types are never removed, so that a free slot ends a
 * search. */
tl_type_id tl_type_intern(tl_module *m, const tl_type *given) {
  tl_type t = normalized(given);
  if (t.rank > TL_MAX_RANK || (m->types.n * 2 >= m->n_type_slots && !grow_slots(m)))
    return TL_NO_TYPE;
  uint32_t at = (uint32_t)hash_type(&t) & (m->n_type_slots - 1);
  for (; m->type_slots[at]; at = (at + 1) & (m->n_type_slots - 1))
    if (same_type(&m->types.at[m->type_slots[at]], &t))
      return m->type_slots[at];
  if (t.rank > 0) {
    t.dims =
        (const tl_dim *)(void *)tl_arena_copy(&m->arena, t.dims, (size_t)t.rank * sizeof *t.dims);
    if (!t.dims)
      return TL_NO_TYPE;
  }
  if (!tl_type_vec_push(&m->types, t))
    return TL_NO_TYPE;
  m->type_slots[at] = m->types.n - 1;
  return m->types.n - 1;
}

tl_type_id tl_type_tensor(tl_module *m, tl_dtype dtype, int rank, const tl_dim *dims) {
  if (rank > TL_MAX_RANK)
    return TL_NO_TYPE;
  tl_type t = {
      .kind = TL_KIND_TENSOR, .dtype = (uint8_t)dtype, .rank = (int16_t)rank, .dims = dims};
  return tl_type_intern(m, &t);
}

/* Maps and sequences have no dtype of their own. */
tl_dtype tl_type_dtype(const tl_module *m, tl_type_id id) {
  const tl_type *t = tl_type_get(m, id);
  return t->kind == TL_KIND_TENSOR || t->kind == TL_KIND_SPARSE_TENSOR ? (tl_dtype)t->dtype
                                                                       : TL_DTYPE_NONE;
}

/* Static dims are not negative: symbols and unknown dims are. */
bool tl_type_is_static(const tl_module *m, tl_type_id id) {
  const tl_type *t = tl_type_get(m, id);
  if (t->kind != TL_KIND_TENSOR || t->rank < 0)
    return false;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] < 0)
      return false;
  return true;
}

bool tl_type_same_dims(const tl_module *m, tl_type_id a, tl_type_id b) {
  const tl_type *x = tl_type_get(m, a), *y = tl_type_get(m, b);
  if (x->kind != TL_KIND_TENSOR || y->kind != TL_KIND_TENSOR || x->rank < 0 || x->rank != y->rank)
    return false;
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] != y->dims[i] || x->dims[i] == TL_DIM_UNKNOWN)
      return false;
  return true;
}

bool tl_types_clash(const tl_module *m, tl_type_id a, tl_type_id b) {
  const tl_type *x = tl_type_get(m, a), *y = tl_type_get(m, b);
  if (a == b || x->kind == TL_KIND_UNKNOWN || y->kind == TL_KIND_UNKNOWN)
    return false;
  if (x->kind != y->kind)
    return true;
  if (x->dtype != y->dtype && x->dtype != TL_DTYPE_NONE && y->dtype != TL_DTYPE_NONE)
    return true;
  if (x->kind != TL_KIND_TENSOR || x->rank < 0 || y->rank < 0)
    return false;
  bool differ = x->rank != y->rank;
  for (int i = 0; i < x->rank && !differ; i++)
    differ = tl_dim_is_static(x->dims[i]) && tl_dim_is_static(y->dims[i]) &&
             x->dims[i] != y->dims[i];
  return differ;
}

/* A dim of 0 makes the product 0, even where the other dims overflow. */
bool tl_type_elements(const tl_module *m, tl_type_id id, uint64_t *n) {
  if (!tl_type_is_static(m, id))
    return false;
  const tl_type *t = tl_type_get(m, id);
  uint64_t product = 1;
  bool zero = false;
  for (int i = 0; i < t->rank; i++)
    zero |= t->dims[i] == 0;
  for (int i = 0; i < t->rank && !zero; i++)
    if (__builtin_mul_overflow(product, (uint64_t)t->dims[i], &product))
      return false;
  *n = zero ? 0 : product;
  return true;
}

/* Names that are no identifiers are quoted. */
static void print_dim(const tl_module *m, tl_dim d, tl_buf *out) {
  if (d >= 0) {
    tl_buf_add_i64(out, d);
    return;
  }
  if (d == TL_DIM_UNKNOWN) {
    tl_buf_add_char(out, '?');
    return;
  }
  tl_sv name = tl_sym(m, tl_dim_symbol(d));
  bool plain = name.n > 0 && !(name.p[0] >= '0' && name.p[0] <= '9');
  for (size_t i = 0; i < name.n; i++)
    plain &= name.p[i] == '_' || (name.p[i] >= '0' && name.p[i] <= '9') ||
             ((name.p[i] | 32) >= 'a' && (name.p[i] | 32) <= 'z');
  if (plain)
    tl_buf_add_sv(out, name);
  else
    tl_buf_add_quoted(out, name);
}

/* "f32[*]" is a tensor of unknown rank. */
static void print_tensor(const tl_module *m, const tl_type *t, tl_buf *out) {
  tl_buf_add_z(out, tl_dtype_get((tl_dtype)t->dtype)->name);
  if (t->rank < 0) {
    tl_buf_add_z(out, "[*]");
    return;
  }
  tl_buf_add_char(out, '[');
  for (int i = 0; i < t->rank; i++) {
    if (i)
      tl_buf_add_char(out, ',');
    print_dim(m, t->dims[i], out);
  }
  tl_buf_add_char(out, ']');
}

void tl_type_print(const tl_module *m, tl_type_id id, tl_buf *out) {
  const tl_type *t = tl_type_get(m, id);
  switch ((tl_type_kind)t->kind) {
  case TL_KIND_UNKNOWN: tl_buf_add_char(out, '?'); return;
  case TL_KIND_TENSOR: print_tensor(m, t, out); return;
  case TL_KIND_SPARSE_TENSOR:
    tl_buf_add_z(out, "sparse(");
    print_tensor(m, t, out);
    break;
  case TL_KIND_SEQUENCE:
  case TL_KIND_OPTIONAL:
    tl_buf_add_z(out, t->kind == TL_KIND_SEQUENCE ? "seq(" : "optional(");
    tl_type_print(m, t->element, out);
    break;
  case TL_KIND_MAP:
    tl_buf_printf(out, "map(%s,", tl_dtype_get((tl_dtype)t->dtype)->name);
    tl_type_print(m, t->element, out);
    break;
  case TL_KIND_OPAQUE:
    tl_buf_add_z(out, "opaque(");
    tl_buf_add_quoted(out, tl_sym(m, t->domain));
    tl_buf_add_char(out, ',');
    tl_buf_add_quoted(out, tl_sym(m, t->name));
    break;
  }
  tl_buf_add_char(out, ')');
}
