/* SPDX-License-Identifier: Apache-2.0 */
/* Saves modules in the format asked for, and the report of fusions. */
#include "backend/air/emit.h"
#include "backend/onnx/export.h"
#include "backend/text/pbtxt.h"
#include "ir/text/print.h"
#include "lib/session/growth.h"
#include "lib/session/session.h"
#include "passes/train/step/state.h"

static const char *const format_names[] = {[TL_FORMAT_AIR] = "air",
                                           [TL_FORMAT_ONNX] = "onnx",
                                           [TL_FORMAT_TIR] = "tir",
                                           [TL_FORMAT_PBTXT] = "pbtxt"};
_Static_assert(sizeof format_names / sizeof *format_names == TL_N_FORMATS, "a name each");

const char *tl_format_name(tl_format format) { return format_names[format]; }

bool tl_format_of_path(const char *path, tl_format *out) {
  const char *dot = strrchr(path, '.');
  for (int i = 0; dot && i < TL_N_FORMATS; i++) {
    if (strcmp(dot + 1, format_names[i]) == 0) {
      *out = (tl_format)i;
      return true;
    }
  }
  return false;
}

tl_status tl_session_save_text(const tl_session *s, const char *path, const tl_buf *text) {
  tl_writer *w;
  if (text->failed)
    return tl_fail_memory(s->diag, TL_AT_FILE(path));
  TL_TRY(tl_writer_open(s->diag, path, s->cancel, &w));
  tl_status status = tl_writer_write(w, text->p, text->n);
  if (status == TL_OK)
    return tl_changes_commit(s->changes, s->diag, w);
  tl_writer_abort(w);
  return status;
}

/* Saves textual IR; the text is held in memory as a whole. */
static tl_status save_tir(const tl_session *s, const tl_module *m, const char *path) {
  tl_buf text;
  tl_buf_init(&text);
  tl_status status = tl_module_print(m, &text, NULL);
  if (status == TL_OK)
    status = tl_session_save_text(s, path, &text);
  tl_buf_release(&text);
  return status;
}

static tl_status save(const tl_session *s, tl_module *m, const tl_destination *to) {
  const tl_options *options = s->options ? s->options : &s->settings->options;
  TL_TRY(tl_growth_check(s, m, to));
  switch (to->format) {
  case TL_FORMAT_AIR: {
    tl_options written;
    TL_TRY(tl_step_written_options(m, options, &written));
    tl_air_options save = {
        .options = &written, .cancel = s->cancel, .changes = s->changes, .shared = to->shared};
    return tl_air_save(m, to->path, &save);
  }
  case TL_FORMAT_ONNX: {
    tl_onnx_save_options save = {.external_data = options->external_weight != TL_WEIGHTS_INSIDE,
                                 .cancel = s->cancel,
                                 .changes = s->changes,
                                 .shared = to->shared};
    return tl_onnx_save(m, to->path, &save);
  }
  case TL_FORMAT_TIR: return save_tir(s, m, to->path);
  case TL_FORMAT_PBTXT: return tl_pbtxt_save(m, to->path, s->cancel, s->changes);
  }
  return TL_INTERNAL;
}

tl_status tl_session_save(const tl_session *s, tl_module *m, const tl_destination *to) {
  tl_activity around = tl_activity_begin(s->diag, "while writing", to->path);
  return tl_activity_end(s->diag, around, save(s, m, to));
}

const char *tl_session_fusion_report(const tl_session *s) {
  if (tl_settings_has(s->settings, TL_OPTION_FUSION_RESULT))
    return tl_settings_get(s->settings, TL_OPTION_FUSION_RESULT);
  bool wanted = tl_settings_get(s->settings, TL_OPTION_EXPORT_COMPILE_STAT)[0] != '0';
  return wanted ? "fusion_result.json" : NULL;
}

tl_status tl_session_save_fusions(const tl_session *s) {
  const char *path = tl_session_fusion_report(s);
  const tl_fusion_report to = {path, s->changes, s->cancel};
  return path ? tl_fusion_stats_save(s->fusions, s->diag, &to) : TL_OK;
}
