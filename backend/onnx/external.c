/* SPDX-License-Identifier: Apache-2.0 */
/* Places the large weights of an ONNX model in a file beside it, and writes that file. */
#include <stdlib.h>

#include "backend/data.h"
#include "backend/onnx/emit.h"
#include "support/pool.h"

/* Bytes. SMALLEST: tensors below this size stay in the model. ALIGNMENT: a common page size, which
 * lets runtimes map single weights. */
enum { SMALLEST = 1024, ALIGNMENT = 4096 };

/* Returns the tensor of a constant or of an input with a default; NULL for other values. */
static const tl_tensor *data_of(const tl_module *m, tl_value_id v) {
  tl_tensor_id t = v ? tl_value_get(m, v)->tensor : TL_NO_TENSOR;
  return t ? tl_tensor_get(m, t) : NULL;
}

/* Returns true if the data of v goes beside the model: it is neither small nor strings. */
static bool goes_out(const tl_module *m, tl_value_id v) {
  const tl_tensor *t = data_of(m, v);
  return t && t->kind != TL_SOURCE_STRINGS && t->bytes >= SMALLEST;
}

/* Lists the values whose data goes beside the model, in the order of the file; false if memory is
 * out. */
static bool collect(const tl_module *m, tl_u32_vec *out) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (uint32_t k = 0; !g->erased && k < g->constants.n; k++)
      if (goes_out(m, g->constants.at[k]) && !tl_u32_vec_push(out, g->constants.at[k]))
        return false;
    for (uint32_t k = 0; !g->erased && k < g->inputs.n; k++)
      if (goes_out(m, g->inputs.at[k]) && !tl_u32_vec_push(out, g->inputs.at[k]))
        return false;
  }
  return true;
}

/* Assigns offsets one behind the other. */
static void place_in_order(const tl_module *m, tl_onnx_layout *layout) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < layout->values.n; i++) {
    tl_value_id v = layout->values.at[i];
    layout->offsets[v] = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    end = layout->offsets[v] + data_of(m, v)->bytes;
  }
}

/* Arguments of hash_one. */
typedef struct hashing {
  const tl_module *m;
  const tl_u32_vec *values;
  char (*hashes)[65]; /* owned */
} hashing;

/* Hashes one weight; workers write to different entries, so no lock is needed. */
static tl_status hash_one(void *user, size_t i, unsigned worker) {
  hashing *h = user;
  (void)worker;
  tl_hash_tensor(data_of(h->m, h->values->at[i]), h->hashes[i]);
  return TL_OK;
}

/* Hashes the weights in parallel, then assigns places in files that several models share. */
static tl_status place_shared(const tl_module *m, tl_onnx_layout *layout, tl_weight_files *shared) {
  hashing h = {m, &layout->values, calloc(layout->values.n + 1u, sizeof *h.hashes)};
  tl_pool *pool = tl_pool_create(0);
  tl_status status = h.hashes && pool ? tl_pool_run(pool, layout->values.n, hash_one, &h)
                                      : TL_NO_MEMORY;
  for (uint32_t i = 0; i < layout->values.n && status == TL_OK; i++) {
    const tl_weight_place *place;
    tl_value_id v = layout->values.at[i];
    status = tl_weight_files_share(shared, data_of(m, v), h.hashes[i], &place);
    if (status == TL_OK)
      layout->offsets[v] = place->offset;
  }
  tl_pool_destroy(pool);
  free(h.hashes);
  return status;
}

tl_status tl_onnx_place_weights(tl_module *m, tl_onnx_layout *layout, tl_weight_files *shared) {
  uint32_t n = tl_module_value_end(m);
  layout->offsets = malloc(n * sizeof *layout->offsets);
  if (!layout->offsets)
    return TL_NO_MEMORY;
  layout->n = n;
  for (uint32_t i = 0; i < n; i++)
    layout->offsets[i] = TL_ONNX_INLINE;
  if (!collect(m, &layout->values))
    return TL_NO_MEMORY;
  if (shared)
    return place_shared(m, layout, shared);
  place_in_order(m, layout);
  return TL_OK;
}

/* Writes zeros up to a position, which is less than ALIGNMENT bytes away. */
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
