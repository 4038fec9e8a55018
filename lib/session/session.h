/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a model, runs passes, and saves it: the one way for both the command and libtailor.
 * Both use these functions alone, so an option means the same to both. Arguments, messages and
 * reports are not handled here. Settings must be resolved (tl_settings_resolve) before the first
 * model. */
#ifndef TL_LIB_SESSION_SESSION_H
#define TL_LIB_SESSION_SESSION_H

#include "backend/weight_files.h"
#include "frontend/config/settings.h"
#include "frontend/data/view.h"
#include "passes/manager.h"

/* What every step needs. All pointers are borrowed and outlive the session. */
typedef struct tl_session {
  tl_settings *settings;
  tl_diag *diag;
  const tl_options *options;     /* what passes and writers read; NULL: those of the settings */
  const volatile int *cancel;    /* nonzero: stop, as in tl_writer_open; NULL: nothing stops it */
  tl_changes *changes;           /* journal that receives files; NULL: each appears at once */
  tl_fusion_stats *fusions;      /* receives counts of fusions if a report is wanted; may be NULL */
  const char *optimizer;         /* model that is loaded beside each one, as the second half of a
                                 training step; NULL: none */
  const tl_own_pass *const *own; /* [n_own]; passes beside those of the table */
  uint32_t n_own;
  const struct tl_user_ops *user_ops; /* what models are told of ops that the table does not list;
                                         NULL: nothing */
  bool looks_inside;       /* a file that starts like text is textual IR, if its suffix says
                                 nothing */
  bool ignores_own_config; /* ignore run configurations in the metadata of models */
} tl_session;

/* ---- load.c ---------------------------------------------------------------------------------- */

/* Loads ONNX, AIR or textual IR (*.tir); "-" is standard input. If the settings ask for a
 * training step, also reads its declarations and measurements and links the optimizer. The
 * caller destroys *out, which is NULL after a failure. Errors are reported: TL_IO,
 * TL_INVALID_MODEL, TL_UNSUPPORTED, TL_LIMIT, TL_INVALID_ARGUMENT, TL_NO_MEMORY. */
tl_status tl_session_load(const tl_session *s, const char *path, tl_module **out) TL_NODISCARD;
/* Loads a model from memory likewise: AIR or textual IR if the suffix of `name` says so, else ONNX.
 * The bytes must outlive the module. `name` stands for the file in messages. beside: opens files of
 * weights; NULL: they are refused. */
tl_status tl_session_load_bytes(const tl_session *s, const char *name, tl_sv bytes,
                                const tl_beside *beside, tl_module **out) TL_NODISCARD;

/* ---- run.c ----------------------------------------------------------------------------------- */

/* Returns the pipeline of a stage as the settings ask for it: level, named passes, limit of
 * rewrites, verification, counts. The caller may add hooks. */
tl_pipeline_options tl_session_pipeline(const tl_session *s, tl_stage stage);
/* Runs a pipeline. Errors and report are those of tl_pipeline_run. */
tl_status tl_session_run(const tl_session *s, tl_module *m, const tl_pipeline_options *p,
                         tl_pipeline_report *report) TL_NODISCARD;
/* Runs the passes that TL_STAGE_AIR adds, after a pipeline of TL_STAGE_FIRST or of another
 * canonical stage. Hooks and level are those of p. Its limit of rewrites is not used: it counts for
 * the canonical passes only. */
tl_status tl_session_run_npu(const tl_session *s, tl_module *m, const tl_pipeline_options *p,
                             tl_pipeline_report *report) TL_NODISCARD;
/* Runs the passes of these comma-separated names, independent of the passes in the settings. */
tl_status tl_session_run_passes(const tl_session *s, tl_module *m, const char *passes) TL_NODISCARD;
/* Gives inputs the shapes and values of options, and infers the types of a model that no pipeline
 * runs over. */
tl_status tl_session_settle(const tl_session *s, tl_module *m) TL_NODISCARD;
/* Brings a model that was read from AIR to canonical form, as ONNX output needs it. Does nothing to
 * other models. TL_UNSUPPORTED, reported, for ops without an ONNX form. */
tl_status tl_session_raise(const tl_session *s, tl_module *m) TL_NODISCARD;

/* ---- profiles.c ------------------------------------------------------------------------------ */

/* Shows the model as it became with a profile; NULL where it has no such form, which is no error of
 * profiles that are bounds. The module lives during the call only. */
typedef tl_status (*tl_profile_fn)(void *user, const tl_profile *p, const tl_module *m);

/* How models are tried. */
typedef struct tl_profile_run {
  tl_stage stage;   /* kind of the pipeline */
  tl_profile_fn fn; /* NULL: only the errors are wanted */
  void *user;
} tl_profile_run;

/* Runs the pipeline for each profile of the options on a fork of a model that was just loaded: all
 * sizes are inferred, NPU forms chosen, the result verified. The first profile that fails ends it,
 * and errors say which one it was. Bounds at which the model cannot work are warnings. Does nothing
 * without profiles. Errors are those of tl_pipeline_run. */
tl_status tl_session_try_profiles(const tl_session *s, const tl_module *m,
                                  const tl_profile_run *run) TL_NODISCARD;

/* ---- save.c ---------------------------------------------------------------------------------- */

typedef enum tl_format { TL_FORMAT_AIR, TL_FORMAT_ONNX, TL_FORMAT_TIR, TL_FORMAT_PBTXT } tl_format;
enum { TL_N_FORMATS = TL_FORMAT_PBTXT + 1 };

/* Returns the name of a format, which is also its suffix without the dot; a static string. */
const char *tl_format_name(tl_format format);
/* Finds the format of a path by its suffix; false if the suffix is none of them. */
bool tl_format_of_path(const char *path, tl_format *out);
/* Returns true for formats of the NPU form (AIR and the dump); ONNX and textual IR are canonical.
 */
static inline bool tl_format_is_npu(tl_format f) {
  return f == TL_FORMAT_AIR || f == TL_FORMAT_PBTXT;
}

/* Where and how to save a module. */
typedef struct tl_destination {
  const char *path; /* "-": standard output */
  tl_format format;
  tl_weight_files *shared; /* takes weights outside the model; NULL: files of its own */
} tl_destination;

/* Writes the module; the file appears complete or not at all. Errors are those of the writer. */
tl_status tl_session_save(const tl_session *s, tl_module *m, const tl_destination *to) TL_NODISCARD;
/* Writes text to a file likewise. TL_NO_MEMORY if the buffer has failed; TL_IO. */
tl_status tl_session_save_text(const tl_session *s, const char *path,
                               const tl_buf *text) TL_NODISCARD;
/* Returns the path of fusion_result.json, NULL if it is not wanted. */
const char *tl_session_fusion_report(const tl_session *s);
/* Writes s->fusions to that path. Writes no file if it is not wanted or if nothing was counted. */
tl_status tl_session_save_fusions(const tl_session *s) TL_NODISCARD;

#endif
