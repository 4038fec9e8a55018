/* SPDX-License-Identifier: Apache-2.0 */
/* Sets single elements of tensors. */
#include "lib/values/elements.h"

tl_host *tl_zeros(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims) {
  tl_host *t = tl_host_new(h, dtype, rank, dims);
  if (t && t->bytes)
    memset(t->data, 0, (size_t)t->bytes);
  return t;
}

void tl_put_float(tl_host *t, uint64_t i, double v) {
  /* f64 and f16 are rounded once, from double; the other types are rounded from f32. */
  float narrow = (float)v;
  if (t->dtype == TL_DTYPE_F64)
    ((double *)t->data)[i] = v;
  else if (t->dtype == TL_DTYPE_F16)
    ((uint16_t *)t->data)[i] = tl_f16_from_f64(v);
  else
    tl_host_from_f32((tl_dtype)t->dtype, &narrow, t->data, i, 1, true);
}

/* Sets an element of a type below a byte. Such elements are packed, the first at the low end. */
static void put_packed(tl_host *t, unsigned bits, uint64_t i, int64_t v) {
  uint8_t *byte = (uint8_t *)t->data + i * bits / 8;
  unsigned shift = (unsigned)(i * bits % 8), mask = ((1u << bits) - 1) << shift;
  *byte = (uint8_t)((*byte & ~mask) | ((unsigned)v << shift & mask));
}

void tl_put_int(tl_host *t, uint64_t i, int64_t v) {
  unsigned bits = tl_dtype_get((tl_dtype)t->dtype)->bits;
  if (t->dtype == TL_DTYPE_BOOL)
    v = v != 0;
  switch (bits) {
  case 64: memcpy((uint64_t *)t->data + i, &v, sizeof v); break;
  case 32: ((uint32_t *)t->data)[i] = (uint32_t)v; break;
  case 16: ((uint16_t *)t->data)[i] = (uint16_t)v; break;
  case 8: ((uint8_t *)t->data)[i] = (uint8_t)v; break;
  default: put_packed(t, bits, i, v); break;
  }
}
