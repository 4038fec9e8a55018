/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: names of kinds, builders, equality. */
#include "ir/attr.h"

#include "ir/module.h"

const char *tl_attr_kind_name(tl_attr_kind kind) {
  static const char *const names[TL_N_ATTR_KINDS] = {
      [TL_ATTR_NONE] = "none",       [TL_ATTR_INT] = "int",
      [TL_ATTR_FLOAT] = "float",     [TL_ATTR_STRING] = "string",
      [TL_ATTR_TENSOR] = "tensor",   [TL_ATTR_GRAPH] = "graph",
      [TL_ATTR_TYPE] = "type",       [TL_ATTR_SPARSE] = "sparse",
      [TL_ATTR_INTS] = "ints",       [TL_ATTR_FLOATS] = "floats",
      [TL_ATTR_STRINGS] = "strings", [TL_ATTR_TENSORS] = "tensors",
      [TL_ATTR_GRAPHS] = "graphs",   [TL_ATTR_TYPES] = "types",
      [TL_ATTR_SPARSES] = "sparses", [TL_ATTR_BOOL] = "bool",
      [TL_ATTR_DTYPE] = "dtype",     [TL_ATTR_BOOLS] = "bools",
      [TL_ATTR_DTYPES] = "dtypes",   [TL_ATTR_INT_LISTS] = "intlists",
      [TL_ATTR_CARRIED] = "carried"};
  return names[kind];
}

/* Relies on the order of the enumeration: lists of ONNX follow its single kinds, lists of NPU
 * prototypes are at the end. */
bool tl_attr_kind_is_list(tl_attr_kind kind) {
  return (kind >= TL_ATTR_INTS && kind <= TL_ATTR_SPARSES) || kind >= TL_ATTR_BOOLS;
}

/* All list pointers of the union have one representation, so one member serves to set them. */
static tl_attr with_list(tl_module *m, tl_symbol name, tl_attr_kind kind, const void *v, uint32_t n,
                         size_t size) {
  const void *copy = tl_arena_copy(&m->arena, v, n * size);
  if (!copy)
    return (tl_attr){.kind = TL_ATTR_NONE};
  return (tl_attr){.name = name, .kind = (uint8_t)kind, .count = n, .u.is = copy};
}

tl_attr tl_attr_ints(tl_module *m, tl_symbol name, const int64_t *v, uint32_t n) {
  return with_list(m, name, TL_ATTR_INTS, v, n, sizeof *v);
}

tl_attr tl_attr_floats(tl_module *m, tl_symbol name, const float *v, uint32_t n) {
  return with_list(m, name, TL_ATTR_FLOATS, v, n, sizeof *v);
}

/* Strings, graphs, types and tensors are all ids of 32 bits. */
tl_attr tl_attr_ids(tl_module *m, tl_symbol name, tl_attr_kind kind, const uint32_t *v,
                    uint32_t n) {
  return with_list(m, name, kind, v, n, sizeof *v);
}

enum { COMPARED_BYTES = 4096 }; /* larger tensors that are not the same bytes count as different */

/* Compares lists of tensors one by one. */
static bool same_tensors(const tl_module *m, const tl_attr *a, const tl_attr *b) {
  for (uint32_t i = 0; i < a->count; i++)
    if (!tl_tensor_equal(m, tl_tensor_get(m, a->u.ids[i]), tl_tensor_get(m, b->u.ids[i]),
                         COMPARED_BYTES))
      return false;
  return true;
}

/* Lists may be empty, and then have no address. */
static bool same_bytes(const void *a, const void *b, size_t n) {
  return n == 0 || memcmp(a, b, n) == 0;
}

/* Compares lists of lists, each by length and bytes. */
static bool same_int_lists(const tl_attr *a, const tl_attr *b) {
  for (uint32_t i = 0; i < a->count; i++)
    if (a->u.lists[i].n != b->u.lists[i].n ||
        !same_bytes(a->u.lists[i].at, b->u.lists[i].at, a->u.lists[i].n * sizeof(int64_t)))
      return false;
  return true;
}

/* Floats compare by bits: NaN equals itself, and 0 differs from -0. */
bool tl_attr_equal(const tl_module *m, const tl_attr *a, const tl_attr *b) {
  if (a->name != b->name || a->kind != b->kind || a->count != b->count)
    return false;
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT:
  case TL_ATTR_BOOL:
  case TL_ATTR_DTYPE: return a->u.i == b->u.i;
  case TL_ATTR_FLOAT: return memcmp(&a->u.f, &b->u.f, sizeof a->u.f) == 0;
  case TL_ATTR_STRING:
  case TL_ATTR_SPARSE:
  case TL_ATTR_CARRIED:
  case TL_ATTR_GRAPH:
  case TL_ATTR_TYPE: return a->u.s == b->u.s;
  case TL_ATTR_TENSOR:
    return tl_tensor_equal(m, tl_tensor_get(m, a->u.t), tl_tensor_get(m, b->u.t), COMPARED_BYTES);
  case TL_ATTR_INTS:
  case TL_ATTR_BOOLS:
  case TL_ATTR_DTYPES: return same_bytes(a->u.is, b->u.is, a->count * sizeof *a->u.is);
  case TL_ATTR_FLOATS: return same_bytes(a->u.fs, b->u.fs, a->count * sizeof *a->u.fs);
  case TL_ATTR_STRINGS:
  case TL_ATTR_SPARSES:
  case TL_ATTR_GRAPHS:
  case TL_ATTR_TYPES: return same_bytes(a->u.ids, b->u.ids, a->count * sizeof *a->u.ids);
  case TL_ATTR_TENSORS: return same_tensors(m, a, b);
  case TL_ATTR_INT_LISTS: return same_int_lists(a, b);
  case TL_ATTR_NONE:
  case TL_N_ATTR_KINDS: return true;
  }
  return false;
}
