/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file or an option of mixed precision; the first one chooses the reader. Reading
 * ends with a configuration or with an error that was reported. */
#include <stdlib.h>

#include "frontend/config/accelerate.h"
#include "frontend/config/impl_modes.h"
#include "frontend/config/precision.h"
#include "tests/fuzz/target.h"

/* The string ends at its first NUL, as an argument does. */
static tl_status read_accelerate(tl_diag *d, tl_arena *a, tl_sv text) {
  tl_accelerate mode = {0};
  const char *copy = tl_arena_copy(a, text.p, text.n);
  if (!copy)
    abort();
  tl_status status = tl_read_accelerate(d, (tl_location){0}, copy, &mode);
  bool step = mode.trigger == TL_ACCELERATE_STEP;
  bool legal = step ? mode.ratio >= 0.2F && mode.ratio <= 0.9F
                    : mode.ratio >= 1.01F && mode.ratio <= 1.5F;
  if (status == TL_OK ? !legal || mode.text != copy : mode.text != NULL)
    abort();
  return status;
}

/* Entries fit the room that was asked for. */
static tl_status read_listed(tl_diag *d, tl_arena *a, tl_sv text, bool nodes) {
  uint32_t room = tl_listed_room(text);
  tl_listed_entries entries = {tl_arena_calloc(a, room + 1U, sizeof *entries.at), 0};
  if (!entries.at)
    abort();
  tl_status status = nodes ? tl_read_listed_nodes(d, a, (tl_location){0}, text, true, &entries)
                           : tl_read_listed_types(d, a, (tl_location){0}, text, false, &entries);
  if (entries.n > room)
    abort();
  return status;
}

static tl_status read_any(unsigned which, tl_diag *d, tl_arena *a, tl_sv text,
                          tl_precision_config *out) {
  static const tl_out_node node = {{"n", 1}, 0, true};
  tl_options options = {.out_nodes = &node, .n_out_nodes = 1};
  tl_impl_config modes = {0};
  switch (which % 16) {
  case 0: return tl_read_mixlist_text(d, a, "fuzz", text, out);
  case 1: return tl_read_keep_dtype_text(d, a, "fuzz", text, out);
  case 2: return tl_read_custom_dtypes_text(d, a, "fuzz", text, out);
  case 3: return tl_read_output_type(d, a, (tl_location){0}, text, &options, out);
  case 4: return tl_read_to_float(d, a, (tl_location){0}, text, out);
  case 5: return tl_read_impl_modes_text(d, a, "fuzz", text, &modes);
  case 6: return tl_read_fp16_inputs(d, a, (tl_location){0}, text, out);
  case 7: return tl_read_ranges_text(d, a, "fuzz", text, &out->ranges);
  case 8: return read_accelerate(d, a, text);
  case 9: return tl_read_impl_types(d, a, (tl_location){0}, text, TL_SV("high_precision"), &modes);
  case 10: return read_listed(d, a, text, false);
  case 11: return read_listed(d, a, text, true);
  default: return tl_read_kept_signature(d, a, (tl_location){0}, text, out);
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
