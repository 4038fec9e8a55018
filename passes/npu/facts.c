/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, dims and lists of numbers at one node (facts.h). */
#include "passes/npu/facts.h"

void *tl_npu_room(tl_site *site, uint64_t n, size_t size) {
  void *p = tl_arena_calloc(site->scratch, n, size);
  site->failed = site->failed || !p;
  return p;
}

static const tl_type *type_of(const tl_site *site, tl_value_id v) {
  return tl_type_get(site->m, tl_value_type(site->m, v));
}

int tl_npu_rank(const tl_site *site, tl_value_id v) {
  const tl_type *t = type_of(site, v);
  return t->kind == TL_KIND_TENSOR ? t->rank : -1;
}

tl_dim tl_npu_dim(const tl_site *site, tl_value_id v, int64_t k) {
  int rank = tl_npu_rank(site, v);
  k += k < 0 ? rank : 0;
  return rank > 0 && k >= 0 && k < rank ? type_of(site, v)->dims[k] : TL_DIM_UNKNOWN;
}

bool tl_npu_as_ints(tl_site *site, tl_rv v, tl_int_list *out) {
  if (v.kind == TL_RV_INT || v.kind == TL_RV_BOOL) {
    int64_t *one = tl_npu_room(site, 1, sizeof *one);
    if (one)
      *one = v.i;
    *out = (tl_int_list){one, 1};
    return one != NULL;
  }
  *out = v.is;
  return v.kind == TL_RV_INTS;
}

bool tl_npu_as_floats(tl_site *site, tl_rv v, const double **out, uint32_t *n) {
  if (v.kind == TL_RV_FLOATS && v.wide) {
    *out = v.ds;
    *n = v.is.n;
    return true;
  }
  tl_int_list list = v.is;
  bool one = v.kind == TL_RV_FLOAT, floats = v.kind == TL_RV_FLOATS;
  if (!one && !floats && !tl_npu_as_ints(site, v, &list))
    return false;
  *n = one ? 1 : list.n;
  double *fs = tl_npu_room(site, *n, sizeof *fs);
  for (uint32_t i = 0; fs && i < *n; i++)
    fs[i] = one ? v.f : floats ? tl_rv_float_at(v, i) : (double)list.at[i];
  *out = fs;
  return fs != NULL;
}
