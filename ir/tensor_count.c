/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what rounding to f16 or bf16 does to a constant: f32 in place, other floats through chunks
 * of f32. */
#include "ir/tensor_count.h"

#include <math.h>

#include "ir/host.h"
#include "ir/tensor_expr.h"

enum { CHUNK = 512 }; /* elements converted at a time, on the stack */

/* Converts n floats of the dtype of t to f32 and counts them. Chunks are copied first, since data
 * of a file need no alignment. */
static void count_converted(const tl_tensor *t, const void *data, size_t n,
                            const tl_float_bounds *bounds, tl_float_counts *out) {
  const unsigned char *p = data;
  size_t size = tl_dtype_get((tl_dtype)t->dtype)->bits / 8u;
  union {
    unsigned char bytes[CHUNK * 8];
    double aligned;
  } in;
  float wide[CHUNK];
  for (size_t k; n; n -= k, p += k * size) {
    k = n < CHUNK ? n : CHUNK;
    memcpy(in.bytes, p, k * size);
    tl_host_to_f32((tl_dtype)t->dtype, in.bytes, wide, 0, k);
    tl_half_unit_fastest()->count(wide, k, bounds, out);
  }
}

static bool is_counted(unsigned dtype) {
  return dtype == TL_DTYPE_F32 || dtype == TL_DTYPE_F16 || dtype == TL_DTYPE_BF16 ||
         dtype == TL_DTYPE_F64;
}

bool tl_tensor_count(const tl_tensor *t, tl_dtype to, tl_float_counts *out) {
  const tl_float_bounds *bounds = to == TL_DTYPE_F16 ? &tl_f16_bounds : &tl_bf16_bounds;
  if (!is_counted(t->dtype) || (to != TL_DTYPE_F16 && to != TL_DTYPE_BF16))
    return false;
  *out = (tl_float_counts){.least = INFINITY, .greatest = -INFINITY};
  size_t size = tl_dtype_get((tl_dtype)t->dtype)->bits / 8u;
  tl_tensor_room room;
  size_t bytes;
  for (uint64_t at = 0; at < t->bytes; at += bytes) {
    const void *data = tl_tensor_block(t, at, &room, &bytes);
    if (t->dtype == TL_DTYPE_F32)
      tl_half_unit_fastest()->count(data, bytes / 4, bounds, out);
    else
      count_converted(t, data, bytes / size, bounds, out);
  }
  out->least += 0.0f; /* -0 becomes 0: which zero came first depends on the vector width */
  out->greatest += 0.0f;
  return true;
}
