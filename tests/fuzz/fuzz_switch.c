/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a switch file: reading them must end with a configuration or an error; what was read
 * answers every question, and a text that the JSON scanner takes, cJSON takes. */
#include <stdlib.h>

#include "frontend/config/fusion_switch.h"
#include "frontend/config/json.h"
#include "tests/fuzz/target.h"

static void check_json(tl_sv text) {
  tl_json json;
  tl_json_error error;
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_OK)
    tl_json_release(&json);
  else if (status != TL_INVALID_ARGUMENT || !error.problem || error.place.line == 0)
    abort();
}

static void ask(const tl_fusion_config *config) {
  uint32_t n;
  const tl_fusion_name *rows = tl_fusion_names(&n);
  for (uint32_t i = 0; i < n; i++) {
    const char *why = NULL;
    (void)tl_fusion_is_on(config, tl_sv_from(rows[i].name), (tl_fusion_kind)rows[i].kind, &why);
    if (!why)
      abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_sv text = {(const char *)data, size};
  tl_diag diag = {0};
  tl_fusion_config config = {0};
  tl_arena arena;
  tl_arena_init(&arena, 0);
  tl_status status = tl_read_fusion_text(&diag, &arena, "fuzz", text, &config);
  if ((status == TL_OK) != (diag.errors == 0))
    abort();
  if (status == TL_OK) {
    if (tl_fusion_check(&diag, &config, NULL, NULL) != TL_OK)
      abort();
    ask(&config);
  }
  check_json(text);
  if (tl_read_optimization_switch(&diag, &arena, (tl_location){0}, text, &config) != TL_OK)
    abort();
  ask(&config);
  tl_arena_release(&arena);
  return 0;
}
