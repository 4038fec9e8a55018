/* SPDX-License-Identifier: Apache-2.0 */
/* Looks elements up in lists: LabelEncoder, CategoryMapper, OneHotEncoder. */
#include <math.h>
#include <stdlib.h>

#include "ir/eval/ml/ml.h"

/* A key. Strings compare by bytes, numbers by value; all NaN are the same. The fields that a key's
 * type does not use are 0, so one comparison serves all types. */
typedef struct entry {
  tl_sv text;
  double number;
  int64_t integer;
  uint64_t at; /* place in the lists */
} entry;

/* Keys and values of one node. The keys are sorted, so a lookup is a binary search. */
typedef struct lookup {
  tl_host *keys; /* released by the kernel */
  tl_host *values;
  tl_host *fallback; /* one element of the type of the values; NULL: there is none */
  entry *sorted;
} lookup;

static bool is_text(const tl_host *t) { return t->dtype == TL_DTYPE_STRING; }

/* Reads an element of any type as a key. */
static entry read_entry(const tl_host *t, uint64_t i) {
  if (is_text(t))
    return (entry){.text = ((const tl_sv *)t->data)[i], .at = i};
  if (tl_dtype_is_float((tl_dtype)t->dtype))
    return (entry){.number = tl_ml_number(t, i), .at = i};
  return (entry){.integer = tl_host_int_at(t, i), .at = i};
}

/* NaN sorts behind all numbers. */
static int compare_numbers(double a, double b) {
  if (isnan(a) || isnan(b))
    return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
  return a < b ? -1 : a > b;
}

static int compare_texts(tl_sv a, tl_sv b) {
  const size_t n = a.n < b.n ? a.n : b.n;
  int order = n ? memcmp(a.p, b.p, n) : 0;
  return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

/* Fields that are not used are equal. */
static int compare_keys(const void *a, const void *b) {
  const entry *p = a, *q = b;
  int order = compare_texts(p->text, q->text);
  if (order == 0)
    order = compare_numbers(p->number, q->number);
  return order ? order : p->integer < q->integer ? -1 : p->integer > q->integer;
}

/* Equal keys keep their order, so that the first one is found. */
static int compare_entries(const void *a, const void *b) {
  const entry *p = a, *q = b;
  int order = compare_keys(a, b);
  return order ? order : p->at < q->at ? -1 : p->at > q->at;
}

/* The entries remember their places, which lead to the values. */
static tl_status sort_keys(tl_eval *ctx, lookup *l) {
  l->sorted = tl_eval_scratch(ctx, l->keys->n, sizeof *l->sorted);
  if (!l->sorted)
    return tl_eval_no_memory(ctx);
  for (uint64_t i = 0; i < l->keys->n; i++)
    l->sorted[i] = read_entry(l->keys, i);
  qsort(l->sorted, (size_t)l->keys->n, sizeof *l->sorted, compare_entries);
  return TL_OK;
}

/* Returns the place of the first equal key, -1 for none. */
static int64_t find(const lookup *l, const entry *key) {
  uint64_t low = 0, high = l->keys->n;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (compare_keys(&l->sorted[middle], key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < l->keys->n && compare_keys(&l->sorted[low], key) == 0 ? (int64_t)l->sorted[low].at
                                                                     : -1;
}

/* NULL is fine. */
static void release(lookup *l) {
  tl_host_release(l->keys);
  tl_host_release(l->values);
  tl_host_release(l->fallback);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Makes a tensor of an attribute, list or single. *out stays as it is when the attribute is not
 * set, or when *out is set already. The caller releases it. */
static tl_status list_of(tl_eval *ctx, const tl_attr *a, tl_host **out) {
  const int64_t n = a && tl_attr_kind_is_list((tl_attr_kind)a->kind) ? a->count : 1;
  if (!a || *out || n == 0)
    return TL_OK;
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_TENSOR:
    *out = tl_host_from_tensor(ctx->heap, ctx->m, tl_tensor_get(ctx->m, a->u.t));
    return *out ? TL_OK : tl_eval_no_memory(ctx);
  case TL_ATTR_INT:
  case TL_ATTR_INTS: *out = tl_host_new(ctx->heap, TL_DTYPE_I64, 1, &n); break;
  case TL_ATTR_FLOAT:
  case TL_ATTR_FLOATS: *out = tl_host_new(ctx->heap, TL_DTYPE_F32, 1, &n); break;
  default: *out = tl_host_new(ctx->heap, TL_DTYPE_STRING, 1, &n);
  }
  if (!*out)
    return tl_eval_no_memory(ctx);
  for (int64_t i = 0; i < n; i++)
    switch ((tl_attr_kind)a->kind) {
    case TL_ATTR_INT: ((int64_t *)(*out)->data)[i] = a->u.i; break;
    case TL_ATTR_INTS: ((int64_t *)(*out)->data)[i] = a->u.is[i]; break;
    case TL_ATTR_FLOAT: ((float *)(*out)->data)[i] = a->u.f; break;
    case TL_ATTR_FLOATS: ((float *)(*out)->data)[i] = a->u.fs[i]; break;
    case TL_ATTR_STRING: ((tl_sv *)(*out)->data)[i] = tl_sym(ctx->m, a->u.s); break;
    default: ((tl_sv *)(*out)->data)[i] = tl_sym(ctx->m, a->u.ids[i]);
    }
  return TL_OK;
}

/* Takes the first attribute of a list of names that is set. */
static tl_status first_list(tl_eval *ctx, const tl_symbol *names, uint32_t n, tl_host **out) {
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(list_of(ctx, tl_node_attr(ctx->m, ctx->node, names[i]), out));
  return TL_OK;
}

/* Makes the numbers 0 .. n-1. */
static tl_status positions(tl_eval *ctx, uint64_t n, tl_host **out) {
  const int64_t dim = (int64_t)n;
  *out = tl_host_new(ctx->heap, TL_DTYPE_I64, 1, &dim);
  for (uint64_t i = 0; *out && i < n; i++)
    ((int64_t *)(*out)->data)[i] = (int64_t)i;
  return *out ? TL_OK : tl_eval_no_memory(ctx);
}

/* Reads the default that goes with the type of the values. */
static tl_status read_fallback(tl_eval *ctx, lookup *l) {
  tl_symbol name = is_text(l->values)                              ? TL_SYM_default_string
                   : tl_dtype_is_float((tl_dtype)l->values->dtype) ? TL_SYM_default_float
                                                                   : TL_SYM_default_int64;
  const tl_attr *tensor = tl_node_attr(ctx->m, ctx->node, TL_SYM_default_tensor);
  TL_TRY(list_of(ctx, tensor, &l->fallback));
  if (l->fallback && (l->fallback->n != 1 || l->fallback->dtype != l->values->dtype))
    return tl_eval_fail(ctx, "default_tensor must be one %s",
                        tl_dtype_get((tl_dtype)l->values->dtype)->name);
  return list_of(ctx, tl_node_attr_or_default(ctx->m, ctx->node, name), &l->fallback);
}

/* ---- mapping -------------------------------------------------------------------------------- */

/* Returns true for the types that the op maps from and to. */
static bool is_mapped(const tl_host *t) {
  const uint64_t types = TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F64) |
                         TL_DTYPE_BIT(TL_DTYPE_I16) | TL_DTYPE_BIT(TL_DTYPE_I32) |
                         TL_DTYPE_BIT(TL_DTYPE_I64) | TL_DTYPE_BIT(TL_DTYPE_STRING);
  return (types >> t->dtype & 1) != 0;
}

/* Keys match data of their kind: texts, floats or integers, of any width. */
static bool same_kind(const tl_host *a, const tl_host *b) {
  if (is_text(a) || is_text(b))
    return is_text(a) && is_text(b);
  return tl_dtype_is_float((tl_dtype)a->dtype) == tl_dtype_is_float((tl_dtype)b->dtype);
}

/* Copies one value, converted where default and values differ in width. */
static void copy_element(const tl_host *from, uint64_t at, tl_host *to, uint64_t i) {
  const size_t size = tl_host_element_size((tl_dtype)to->dtype);
  if (from->dtype == to->dtype)
    memcpy((char *)to->data + i * size, (const char *)from->data + at * size, size);
  else if (to->dtype == TL_DTYPE_F64)
    ((double *)to->data)[i] = tl_ml_number(from, at);
  else if (to->dtype == TL_DTYPE_I32)
    ((int32_t *)to->data)[i] = (int32_t)tl_host_int_at(from, at);
  else
    ((int16_t *)to->data)[i] = (int16_t)tl_host_int_at(from, at);
}

/* Maps every element, or gives the default where no key matches. */
static tl_status map_all(tl_eval *ctx, lookup *l) {
  const tl_host *in = tl_eval_in(ctx, 0);
  tl_host *out;
  if (!l->keys || !l->values || l->keys->n != l->values->n)
    return tl_eval_fail(ctx, "keys and values are missing or differ in length");
  if (!same_kind(in, l->keys))
    return tl_eval_fail(ctx, "the keys are %s, the data are %s",
                        tl_dtype_get((tl_dtype)l->keys->dtype)->name,
                        tl_dtype_get((tl_dtype)in->dtype)->name);
  if (!is_mapped(l->keys) || !is_mapped(l->values))
    return tl_eval_unsupported(ctx, "keys of type %s and values of type %s",
                               tl_dtype_get((tl_dtype)l->keys->dtype)->name,
                               tl_dtype_get((tl_dtype)l->values->dtype)->name);
  TL_TRY(read_fallback(ctx, l));
  TL_TRY(sort_keys(ctx, l));
  TL_TRY(tl_eval_result_like(ctx, 0, (tl_dtype)l->values->dtype, in, &out));
  for (uint64_t i = 0; i < in->n; i++) {
    entry key = read_entry(in, i);
    int64_t at = find(l, &key);
    copy_element(at < 0 ? l->fallback : l->values, at < 0 ? 0 : (uint64_t)at, out, i);
  }
  return TL_OK;
}

/* Reads the lists of version 1 (classes_strings) and of CategoryMapper: names to positions and
 * back, depending on the operand's type. */
static tl_status read_classes(tl_eval *ctx, lookup *l) {
  static const tl_symbol names[] = {TL_SYM_classes_strings, TL_SYM_cats_strings};
  tl_host **texts = is_text(tl_eval_in(ctx, 0)) ? &l->keys : &l->values;
  tl_host **numbers = is_text(tl_eval_in(ctx, 0)) ? &l->values : &l->keys;
  TL_TRY(first_list(ctx, names, 2, texts));
  TL_TRY(list_of(ctx, tl_node_attr(ctx->m, ctx->node, TL_SYM_cats_int64s), numbers));
  if (*texts && !*numbers && tl_node_attr(ctx->m, ctx->node, TL_SYM_classes_strings))
    TL_TRY(positions(ctx, (*texts)->n, numbers));
  return TL_OK;
}

/* Tensors come first, then strings, integers and floats. */
static tl_status read_lookup(tl_eval *ctx, lookup *l) {
  static const tl_symbol keys[] = {TL_SYM_keys_tensor, TL_SYM_keys_strings, TL_SYM_keys_int64s,
                                   TL_SYM_keys_floats};
  static const tl_symbol values[] = {TL_SYM_values_tensor, TL_SYM_values_strings,
                                     TL_SYM_values_int64s, TL_SYM_values_floats};
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK));
  TL_TRY(first_list(ctx, keys, 4, &l->keys));
  TL_TRY(first_list(ctx, values, 4, &l->values));
  if (!l->keys && !l->values)
    TL_TRY(read_classes(ctx, l));
  return TL_OK;
}

/* LabelEncoder, and CategoryMapper, whose categories are the two lists. */
tl_status tl_eval_ml_label(tl_eval *ctx) {
  lookup l = {0};
  tl_status status = read_lookup(ctx, &l);
  if (status == TL_OK)
    status = map_all(ctx, &l);
  release(&l);
  return status;
}

/* ---- OneHotEncoder -------------------------------------------------------------------------- */

/* Sets 1 where a category matches; a row without a match is all 0, or an error. */
static tl_status mark(tl_eval *ctx, const lookup *l) {
  const tl_host *in = tl_eval_in(ctx, 0);
  const bool zeros = tl_eval_int(ctx, TL_SYM_zeros, 1) != 0;
  int64_t dims[TL_MAX_RANK];
  tl_host *out;
  memcpy(dims, in->dims, (size_t)in->rank * sizeof *dims);
  dims[in->rank] = (int64_t)l->keys->n;
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_F32, in->rank + 1, dims, &out));
  if (out->n)
    memset(out->data, 0, (size_t)out->bytes);
  for (uint64_t i = 0; i < in->n; i++) {
    entry key = read_entry(in, i);
    if (!is_text(in)) /* floats are truncated to integers */
      key = (entry){.integer = tl_host_int_at(in, i)};
    int64_t at = find(l, &key);
    if (at < 0 && !zeros)
      return tl_eval_fail(ctx, "element %llu is none of the categories", (unsigned long long)i);
    if (at >= 0)
      ((float *)out->data)[i * l->keys->n + (uint64_t)at] = 1.0f;
  }
  return TL_OK;
}

tl_status tl_eval_ml_one_hot(tl_eval *ctx) {
  lookup l = {0};
  TL_TRY(tl_eval_need_rank(ctx, 0, 0, TL_MAX_RANK - 1));
  const bool text = is_text(tl_eval_in(ctx, 0));
  tl_symbol name = text ? TL_SYM_cats_strings : TL_SYM_cats_int64s;
  tl_status status = list_of(ctx, tl_node_attr(ctx->m, ctx->node, name), &l.keys);
  if (status == TL_OK && !l.keys)
    status = tl_eval_fail(ctx, "there are no categories for %s", text ? "strings" : "numbers");
  if (status == TL_OK)
    status = sort_keys(ctx, &l);
  if (status == TL_OK)
    status = mark(ctx, &l);
  release(&l);
  return status;
}
