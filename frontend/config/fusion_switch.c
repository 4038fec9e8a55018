/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the switch file and decides in which of its two formats it is written. */
#include "frontend/config/fusion_switch.h"

#include "frontend/config/config_file.h"
#include "frontend/config/fusion_draft.h"

/* Returns true if the first character could start JSON. Then a failure names the error of JSON,
 * too. */
static bool looks_like_json(tl_sv text) {
  text = tl_sv_trim(tl_config_without_mark(text));
  return text.n && strchr("{[\"", *text.p) && *text.p;
}

tl_status tl_read_fusion_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_fusion_config *out) {
  tl_json json;
  tl_json_error error;
  if (text.n > TL_CONFIG_MAX_BYTES)
    return tl_fail_code(d, TL_LIMIT, "E21002", TL_AT_FILE(path), "more than %d bytes",
                        TL_CONFIG_MAX_BYTES);
  if (tl_sv_trim(text).n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E21001", TL_AT_FILE(path),
                        "the switch file is empty");
  tl_status status = tl_json_parse(text, &json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(d, TL_AT_FILE(path));
  /* Text that is not JSON is read as lines: the line format is older and has no mark of its own. */
  if (status != TL_OK)
    return tl_read_fusion_lines(d, a, path, text, looks_like_json(text) ? &error : NULL, out);
  status = tl_read_fusion_json(d, a, path, &json, out);
  tl_json_release(&json);
  return status;
}

tl_status tl_read_fusion_file(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                              tl_fusion_config *out) {
  static const tl_config_kind kind = {"switch file", "E21001", "E21002", true, 0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, where, path, &kind, &text));
  return tl_read_fusion_text(d, a, path, text, out);
}
