/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file or an option of mixed precision; the first one chooses the reader. Reading
 * ends with a configuration or with an error that was reported. */
#include <stdlib.h>

#include "frontend/config/impl_modes.h"
#include "frontend/config/precision.h"
#include "tests/fuzz/target.h"

static tl_status read_any(unsigned which, tl_diag *d, tl_arena *a, tl_sv text,
                          tl_precision_config *out) {
  static const tl_out_node node = {{"n", 1}, 0, true};
  tl_options options = {.out_nodes = &node, .n_out_nodes = 1};
  tl_impl_config modes = {0};
  switch (which % 8) {
  case 0: return tl_read_mixlist_text(d, a, "fuzz", text, out);
  case 1: return tl_read_keep_dtype_text(d, a, "fuzz", text, out);
  case 2: return tl_read_custom_dtypes_text(d, a, "fuzz", text, out);
  case 3: return tl_read_output_type(d, a, (tl_location){0}, text, &options, out);
  case 4: return tl_read_to_float(d, a, (tl_location){0}, text, out);
  case 5: return tl_read_impl_modes_text(d, a, "fuzz", text, &modes);
  case 6: return tl_read_fp16_inputs(d, a, (tl_location){0}, text, out);
  default: return tl_read_ranges_text(d, a, "fuzz", text, &out->ranges);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_diag diag = {0};
  tl_precision_config config = tl_precision_default();
  tl_arena arena;
  if (size == 0)
    return 0;
  tl_arena_init(&arena, 0);
  tl_sv text = {(const char *)data + 1, size - 1};
  tl_status status = read_any(data[0], &diag, &arena, text, &config);
  if ((status == TL_OK) != (diag.errors == 0))
    abort();
  for (uint32_t i = 0; i < config.n_mix && status == TL_OK; i++)
    if (!tl_mix_edits_legal(config.mix[i].edits))
      abort();
  tl_arena_release(&arena);
  return 0;
}
