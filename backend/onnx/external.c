/* SPDX-License-Identifier: Apache-2.0 */
/* The file of weights beside a model. */
#include <stdlib.h>

#include "backend/data.h"
#include "backend/onnx/emit.h"

enum { SMALLEST = 1024, ALIGNMENT = 4096 };

static const tl_tensor *data_of(const tl_module *m, tl_value_id v) {
  tl_tensor_id t = v ? tl_value_get(m, v)->tensor : TL_NO_TENSOR;
  return t ? tl_tensor_get(m, t) : NULL;
}

/* Gives v the next aligned place unless it is small or of strings. */
static bool place(const tl_module *m, tl_onnx_layout *layout, tl_value_id v, uint64_t *end) {
  const tl_tensor *t = data_of(m, v);
  if (!t || t->kind == TL_SOURCE_STRINGS || t->bytes < SMALLEST)
    return true;
  uint64_t at = (*end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  layout->offsets[v] = at;
  *end = at + t->bytes;
  return tl_u32_vec_push(&layout->values, v);
}

tl_status tl_onnx_place_weights(tl_module *m, tl_onnx_layout *layout) {
  uint32_t n = tl_module_value_end(m);
  uint64_t end = 0;
  layout->offsets = malloc(n * sizeof *layout->offsets);
  if (!layout->offsets)
    return TL_NO_MEMORY;
  layout->n = n;
  for (uint32_t i = 0; i < n; i++)
    layout->offsets[i] = TL_ONNX_INLINE;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (uint32_t k = 0; !g->erased && k < g->constants.n; k++)
      if (!place(m, layout, g->constants.at[k], &end))
        return TL_NO_MEMORY;
    for (uint32_t k = 0; !g->erased && k < g->inputs.n; k++)
      if (!place(m, layout, g->inputs.at[k], &end))
        return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status pad(tl_writer *out, uint64_t to) {
  static const unsigned char zeros[ALIGNMENT] = {0};
  return tl_writer_write(out, zeros, (size_t)(to - tl_writer_position(out)));
}

tl_status tl_onnx_write_weights(const tl_module *m, const tl_onnx_layout *layout, tl_writer *out) {
  for (uint32_t i = 0; i < layout->values.n; i++) {
    tl_value_id v = layout->values.at[i];
    const tl_tensor *t = data_of(m, v);
    TL_TRY(pad(out, layout->offsets[v]));
    TL_TRY(tl_data_write(out, t));
  }
  return TL_OK;
}

void tl_onnx_layout_release(tl_onnx_layout *layout) {
  free(layout->offsets);
  tl_u32_vec_release(&layout->values);
  layout->offsets = NULL;
  layout->n = 0;
}
