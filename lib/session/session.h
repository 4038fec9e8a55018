/* SPDX-License-Identifier: Apache-2.0 */
/* One way through: load a model, run passes, save it. The command and libtailor do all three by
 * these functions alone, so an option means the same to both; what each adds (arguments, messages,
 * reports) stays with it. Settings are resolved (tl_settings_resolve) before the first model. */
#ifndef TL_LIB_SESSION_SESSION_H
#define TL_LIB_SESSION_SESSION_H

#include "backend/weight_files.h"
#include "frontend/config/settings.h"
#include "passes/manager.h"

/* What every step needs. All pointers are borrowed and outlive the session. */
typedef struct tl_session {
  tl_settings *settings;
  tl_diag *diag;
  const tl_options *options;  /* what passes and writers read; NULL: those of the settings */
  const volatile int *cancel; /* nonzero: stop, as in tl_writer_open; NULL: nothing stops it */
  tl_changes *changes;        /* journal that receives files; NULL: each appears at once */
  tl_fusion_stats *fusions;   /* receives counts of fusions if a report is wanted; may be NULL */
  const char *optimizer;      /* model that is loaded beside each one, as the second half of a
                                 training step; NULL: none */
  bool looks_inside;          /* a file without a known suffix is text if it starts like one */
  bool ignores_own_config;    /* run configurations that models bring along do not count */
} tl_session;

/* ---- load.c ---------------------------------------------------------------------------------- */

/* Loads ONNX or textual IR (*.tir); "-" is standard input. Declarations of a training step and what
 * was measured of it are read if the settings ask for one, and the optimizer is linked. The caller
 * destroys *out, which is NULL after a failure. */
tl_status tl_session_load(const tl_session *s, const char *path, tl_module **out) TL_NODISCARD;
/* The same of an ONNX model in memory, which must outlive the module. `name` stands for the file in
 * messages. */
tl_status tl_session_load_bytes(const tl_session *s, const char *name, tl_sv bytes,
                                tl_module **out) TL_NODISCARD;

/* ---- run.c ----------------------------------------------------------------------------------- */

/* The pipeline of a stage as the settings ask for it: level, named passes, limit of rewrites,
 * verification, counts. The caller adds hooks. */
tl_pipeline_options tl_session_pipeline(const tl_session *s, tl_stage stage);
/* Runs a pipeline; errors and report as of tl_pipeline_run. */
tl_status tl_session_run(const tl_session *s, tl_module *m, const tl_pipeline_options *p,
                         tl_pipeline_report *report) TL_NODISCARD;
/* The rest of the way to NPU form, behind a pipeline of TL_STAGE_FIRST or of another canonical
 * stage: the passes that TL_STAGE_AIR adds. Hooks and level are those of p; the limit of rewrites
 * was for the canonical passes. */
tl_status tl_session_run_npu(const tl_session *s, tl_module *m, const tl_pipeline_options *p,
                             tl_pipeline_report *report) TL_NODISCARD;
/* Runs the passes of these comma-separated names, whatever the settings ask for. */
tl_status tl_session_run_passes(const tl_session *s, tl_module *m, const char *passes) TL_NODISCARD;

/* ---- save.c ---------------------------------------------------------------------------------- */

typedef enum tl_format { TL_FORMAT_AIR, TL_FORMAT_ONNX, TL_FORMAT_TIR, TL_FORMAT_PBTXT } tl_format;
enum { TL_N_FORMATS = TL_FORMAT_PBTXT + 1 };

/* Name of a format, which is also its suffix without the dot; a static string. */
const char *tl_format_name(tl_format format);
/* Format that the suffix of a path says; false when it says none. */
bool tl_format_of_path(const char *path, tl_format *out);
/* AIR and the dump show the module in NPU form; ONNX and textual IR in canonical form. */
static inline bool tl_format_is_npu(tl_format f) {
  return f == TL_FORMAT_AIR || f == TL_FORMAT_PBTXT;
}

typedef struct tl_destination {
  const char *path; /* "-": standard output */
  tl_format format;
  tl_weight_files *shared; /* takes weights outside the model; NULL: files of its own */
} tl_destination;

/* Writes the module, whole or not at all. Errors of the format's writer. */
tl_status tl_session_save(const tl_session *s, tl_module *m, const tl_destination *to) TL_NODISCARD;
/* Writes text to a file, likewise; TL_NO_MEMORY when the buffer has failed. */
tl_status tl_session_save_text(const tl_session *s, const char *path,
                               const tl_buf *text) TL_NODISCARD;
/* Where fusion_result.json goes, NULL when it is not wanted. */
const char *tl_session_fusion_report(const tl_session *s);
/* Writes s->fusions there, if it is wanted; there is no file when nothing was counted. */
tl_status tl_session_save_fusions(const tl_session *s) TL_NODISCARD;

#endif
