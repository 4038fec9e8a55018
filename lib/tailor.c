/* SPDX-License-Identifier: Apache-2.0 */
/* The public library: thin functions over frontend, passes and backend. */
#include "include/tailor/tailor.h"

#include <stdlib.h>

#include "backend/air/emit.h"
#include "backend/onnx/export.h"
#include "frontend/config/settings.h"
#include "frontend/config/train_spec.h"
#include "frontend/onnx/load.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "passes/manager.h"

struct tl_context {
  tl_settings settings;
  tl_diag diag;
  tailor_message_fn fn;
  void *user;
};

struct tl_model {
  tl_context *context;
  tl_module *module;
  tl_file *text; /* source of textual IR, else NULL */
};

const char *tl_version(void) { return TL_VERSION; }

/* The header may not include the table; here both are seen. */
enum {
#define CODE(name, code, words) CODE_OF_##name = (code),
  TL_STATUSES(CODE)
#undef CODE
};
_Static_assert((int)CODE_OF_TL_OK == TAILOR_OK, "");
_Static_assert((int)CODE_OF_TL_INVALID_ARGUMENT == TAILOR_ERROR_USAGE, "");
_Static_assert((int)CODE_OF_TL_INVALID_MODEL == TAILOR_ERROR_INPUT, "");
_Static_assert((int)CODE_OF_TL_UNSUPPORTED == TAILOR_ERROR_UNSUPPORTED, "");
_Static_assert((int)CODE_OF_TL_IO == TAILOR_ERROR_IO, "");
_Static_assert((int)CODE_OF_TL_INTERNAL == TAILOR_ERROR_INTERNAL, "");

static void forward(void *user, const tl_diagnostic *d) {
  tl_context *c = user;
  if (!c->fn)
    return;
  tl_buf text;
  char room[2048];
  tl_buf_init(&text);
  tl_diag_format(&text, d);
  if (text.failed)
    tl_diag_format_short(room, sizeof room, d);
  c->fn(c->user, (tailor_severity)d->severity, text.failed ? room : text.p);
  tl_buf_release(&text);
}

static int finish(tl_context *c, tl_status status, uint32_t errors_before) {
  return tl_status_exit_code(tl_diag_close(&c->diag, status, errors_before));
}

tl_context *tl_context_create(void) {
  tl_context *c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  tl_settings_init(&c->settings);
  c->diag = (tl_diag){.fn = forward, .user = c};
  return c;
}

void tl_context_destroy(tl_context *c) {
  if (!c)
    return;
  tl_settings_release(&c->settings);
  free(c);
}

void tl_context_on_message(tl_context *c, tailor_message_fn fn, void *user) {
  c->fn = fn;
  c->user = user;
}

int tl_context_set(tl_context *c, const char *name, const char *value) {
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_option_id id = tl_option_find(tl_sv_from(name), TL_COMMAND_CONVERT);
  if (id == TL_N_OPTION_ROWS) {
    const char *near = tl_option_nearest(tl_sv_from(name), TL_COMMAND_CONVERT);
    tl_status status = tl_fail(&c->diag, TL_INVALID_ARGUMENT, (tl_location){0},
                               "unknown option '%s'%s%s", name, near ? "\vdid you mean " : "",
                               near ? near : "");
    return finish(c, status, errors);
  }
  return finish(c, tl_settings_set(&c->settings, &c->diag, id, value), errors);
}

/* One model is one module here; the two of accelerate_train_mode are made by the command. */
static tl_status resolve(tl_context *c) {
  TL_TRY(tl_settings_resolve(&c->settings, &c->diag));
  if (!c->settings.accelerate.text)
    return TL_OK;
  return tl_fail(&c->diag, TL_UNSUPPORTED,
                 tl_at_option(&c->settings, TL_OPTION_ACCELERATE_TRAIN_MODE),
                 "writes two models, which the library does not support\vuse 'tailor convert'");
}

static tl_status read_model(tl_model *m, const char *path) {
  tl_context *c = m->context;
  TL_TRY(resolve(c));
  if (tl_sv_ends_with(tl_sv_from(path), ".tir")) {
    TL_TRY(tl_file_open(&c->diag, path, TL_FILE_READ, &m->text));
    tl_sv text = {(const char *)m->text->data, m->text->size};
    TL_TRY(tl_module_parse(&c->diag, path, text, &m->module));
    return tl_settings_take_model(&c->settings, &c->diag, m->module);
  }
  tl_onnx_load_options o = {.mode = TL_FILE_MAP, .options = &c->settings.options};
  TL_TRY(tl_onnx_load(&c->diag, path, &o, &m->module));
  return tl_settings_take_model(&c->settings, &c->diag, m->module);
}

static tl_status load_beside(tl_context *c, const char *path, tl_module *m) {
  tl_file *f;
  tl_onnx_load_options o = {.mode = TL_FILE_MAP, .options = &c->settings.options};
  if (!tl_sv_ends_with(tl_sv_from(path), ".tir"))
    return tl_onnx_load_beside(&c->diag, path, &o, m);
  TL_TRY(tl_file_open(&c->diag, path, TL_FILE_READ, &f));
  tl_sv text = {(const char *)f->data, f->size};
  tl_status status = tl_module_parse_beside(&c->diag, path, text, m);
  tl_file_close(f);
  return status;
}

/* The training model is what is loaded; the option says no more than that it is one. */
static tl_status link_optimizer(tl_model *m) {
  tl_context *c = m->context;
  if (tl_settings_has(&c->settings, TL_OPTION_TRAIN_MODEL))
    return tl_fail_code(&c->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                        tl_at_option(&c->settings, TL_OPTION_TRAIN_MODEL),
                        "names the input, which the call that loads a model does, too\vload the "
                        "training model, with the option optim-model set");
  if (!tl_settings_has(&c->settings, TL_OPTION_OPTIM_MODEL))
    return TL_OK;
  TL_TRY(load_beside(c, tl_settings_get(&c->settings, TL_OPTION_OPTIM_MODEL), m->module));
  return tl_pipeline_run(m->module, &c->settings.options,
                         &(tl_pipeline_options){.passes = "link-models"}, NULL);
}

/* Declarations of a training step count where one is asked for. */
static tl_status declare(tl_model *m) {
  tl_context *c = m->context;
  if (c->settings.train.train)
    TL_TRY(tl_train_spec_read(&c->settings, &c->diag, m->module));
  return link_optimizer(m);
}

static tl_status load(tl_model *m, const char *path) {
  TL_TRY(read_model(m, path));
  return declare(m);
}

static int finish_load(tl_model *m, tl_status status, uint32_t errors, tl_model **out) {
  int code = finish(m->context, status, errors);
  if (code == TAILOR_OK)
    *out = m;
  else
    tl_model_destroy(m);
  return code;
}

int tl_model_load(tl_context *c, const char *path, tl_model **out) {
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_model *m = calloc(1, sizeof *m);
  if (!m)
    return finish(c, TL_NO_MEMORY, errors);
  m->context = c;
  return finish_load(m, load(m, path), errors, out);
}

int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                        tl_model **out) {
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_model *m = calloc(1, sizeof *m);
  if (!m)
    return finish(c, TL_NO_MEMORY, errors);
  m->context = c;
  tl_status status = resolve(c);
  tl_onnx_load_options o = {.mode = TL_FILE_MAP, .options = &c->settings.options};
  if (status == TL_OK)
    status = tl_onnx_load_bytes(&c->diag, name, bytes, n, &o, &m->module);
  if (status == TL_OK)
    status = tl_settings_take_model(&c->settings, &c->diag, m->module);
  if (status == TL_OK)
    status = declare(m);
  return finish_load(m, status, errors, out);
}

void tl_model_destroy(tl_model *m) {
  if (!m)
    return;
  tl_module_destroy(m->module);
  tl_file_close(m->text);
  free(m);
}

/* Where fusion_result.json goes; NULL when it is not wanted. */
static const char *fusion_report(const tl_context *c) {
  if (tl_settings_has(&c->settings, TL_OPTION_FUSION_RESULT))
    return tl_settings_get(&c->settings, TL_OPTION_FUSION_RESULT);
  bool wanted = tl_settings_get(&c->settings, TL_OPTION_EXPORT_COMPILE_STAT)[0] != '0';
  return wanted ? "fusion_result.json" : NULL;
}

int tl_model_optimize(tl_model *m, tailor_target target) {
  tl_context *c = m->context;
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_pipeline_options p = {.level = tl_settings_get(&c->settings, TL_OPTION_LEVEL)[0] - '0',
                           .stage = target == TAILOR_FOR_AIR
                                        ? TL_STAGE_AIR
                                        : tl_pipeline_canonical(&c->settings.options)};
  const char *report = fusion_report(c);
  tl_fusion_stats fusions;
  tl_fusion_stats_init(&fusions);
  p.fusions = report ? &fusions : NULL;
  tl_status status = tl_pipeline_run(m->module, &c->settings.options, &p, NULL);
  if (status == TL_OK && fusions.counts.n)
    status = tl_fusion_stats_save(&fusions, &c->diag, &(tl_fusion_report){.path = report});
  tl_fusion_stats_release(&fusions);
  return finish(c, status, errors);
}

uint32_t tl_model_count_nodes(const tl_model *m) { return tl_module_count_nodes(m->module); }

static tl_status save_text(tl_model *m, const char *path) {
  tl_buf text;
  tl_buf_init(&text);
  tl_writer *w = NULL;
  tl_status status = tl_module_print(m->module, &text, NULL);
  if (status == TL_OK)
    status = tl_writer_open(&m->context->diag, path, NULL, &w);
  if (status == TL_OK && (status = tl_writer_write(w, text.p, text.n)) == TL_OK)
    status = tl_writer_commit(w);
  else
    tl_writer_abort(w);
  tl_buf_release(&text);
  return status;
}

int tl_model_save(tl_model *m, const char *path) {
  tl_context *c = m->context;
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_sv name = tl_sv_from(path);
  tl_status status;
  if (tl_sv_ends_with(name, ".onnx"))
    status = tl_onnx_save(m->module, path, NULL);
  else if (tl_sv_ends_with(name, ".tir"))
    status = save_text(m, path);
  else if (tl_sv_ends_with(name, ".air"))
    status = tl_air_save(m->module, path, &(tl_air_options){.options = &c->settings.options});
  else
    status = tl_fail(&c->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                     "the suffix does not name a format\vuse .air, .onnx or .tir");
  return finish(c, status, errors);
}
