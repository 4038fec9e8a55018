/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a run configuration: reading ends with values or errors, and what the values say
 * together with a configuration or errors. The same bytes as a value of every key, and as the other
 * texts that keys hold. */
#include <stdlib.h>

#include "frontend/config/debug_config.h"
#include "frontend/config/run_config.h"
#include "frontend/config/settings.h"
#include "frontend/config/values.h"
#include "tests/fuzz/target.h"

static void check(bool fact) {
  if (!fact)
    abort();
}

/* Keys that name files of other readers have targets of their own. */
static void drop_files(tl_settings *s) {
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++)
    if (tl_option_row_get((tl_option_id)i)->kind == TL_OPTION_PATH)
      s->file_value[i] = NULL;
}

static void read_file(tl_sv text) {
  tl_settings s;
  tl_diag diag = {0};
  tl_settings_init(&s);
  tl_status status = tl_read_run_config_text(&s, &diag, "fuzz", text);
  check((status == TL_OK) == (diag.errors == 0));
  drop_files(&s);
  status = tl_settings_resolve(&s, &diag);
  check((status == TL_OK) <= (s.options.train != NULL));
  check(status == TL_OK || diag.errors > 0);
  check(s.train.n_engines <= TL_TRAIN_MAX_ENGINES && s.train.rank_size <= 1 << 20);
  tl_settings_release(&s);
}

/* A value that is taken has a normal form that stays what it is. */
static void read_values(tl_sv text) {
  uint32_t n;
  const tl_run_key *keys = tl_run_keys(&n);
  tl_location where = {.attr = TL_SV("--key")};
  for (uint32_t i = 0; i < n; i++) {
    tl_diag diag = {0};
    tl_buf once, twice;
    tl_buf_init(&once);
    tl_buf_init(&twice);
    tl_status status = tl_run_option_value(&diag, where, &keys[i], text, &once);
    check((status == TL_OK) == (diag.errors == 0));
    if (status == TL_OK)
      check(tl_run_option_value(&diag, where, &keys[i], tl_buf_view(&once), &twice) == TL_OK &&
            tl_sv_eq(tl_buf_view(&once), tl_buf_view(&twice)));
    tl_buf_release(&once);
    tl_buf_release(&twice);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_sv text = {(const char *)data, size};
  tl_diag diag = {0};
  tl_options options = tl_options_default();
  tl_debug_config debug = {0};
  tl_arena arena;
  tl_arena_init(&arena, 0);
  read_file(text);
  read_values(tl_sv_trim(text));
  tl_status status = tl_read_shape_lists(&diag, &arena, (tl_location){0}, text, &options);
  check((status == TL_OK) == (diag.errors == 0));
  diag.errors = 0;
  status = tl_read_debug_config_text(&diag, "fuzz", text, &debug);
  check((status == TL_OK) == (diag.errors == 0));
  tl_arena_release(&arena);
  return 0;
}
