/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the public library (include/tailor/tailor.h): thin functions over lib/session. */
#include "include/tailor/tailor.h"

#include <stdlib.h>

#include "lib/session/session.h"

struct tl_context {
  tl_settings settings;
  tl_diag diag;
  tl_session session; /* what loads, runs and saves; borrows the members here */
  tl_message_fn fn;
  void *user;
};

struct tl_model {
  tl_context *context;
  tl_module *module;
};

const char *tl_version(void) { return TL_VERSION; }
uint32_t tl_version_number(void) { return TL_VERSION_NUMBER; }

/* Status codes of the internal table. The public header cannot include that table, so this file,
 * which sees both, checks that they agree. */
enum {
#define CODE(name, code, words) CODE_OF_##name = (code),
  TL_STATUSES(CODE)
#undef CODE
};
_Static_assert((int)CODE_OF_TL_OK == TL_SUCCESS, "");
_Static_assert((int)CODE_OF_TL_INVALID_ARGUMENT == TL_ERROR_USAGE, "");
_Static_assert((int)CODE_OF_TL_INVALID_MODEL == TL_ERROR_INPUT, "");
_Static_assert((int)CODE_OF_TL_UNSUPPORTED == TL_ERROR_UNSUPPORTED, "");
_Static_assert((int)CODE_OF_TL_IO == TL_ERROR_IO, "");
_Static_assert((int)CODE_OF_TL_INTERNAL == TL_ERROR_INTERNAL, "");

/* Adds a text to the buffer with a NUL behind it. Returns where it begins, or SIZE_MAX for none. */
static size_t add_part(tl_buf *b, tl_sv text) {
  if (!text.n)
    return SIZE_MAX;
  size_t at = b->n;
  tl_buf_add_sv(b, text);
  tl_buf_add_char(b, '\0');
  return at;
}

static const char *part_at(const tl_buf *b, size_t at) {
  return at == SIZE_MAX || b->failed ? NULL : b->p + at;
}

/* Hands a diagnostic to the function of the user. Without memory the text is formatted into a
 * buffer on the stack, and names are left out. */
static void forward(void *user, const tl_diagnostic *d) {
  tl_context *c = user;
  if (!c->fn)
    return;
  tl_buf text;
  tl_buf names;
  char room[2048];
  tl_buf_init(&text);
  tl_buf_init(&names);
  tl_diag_format(&text, d);
  if (text.failed)
    tl_diag_format_short(room, sizeof room, d);
  size_t node = add_part(&names, d->where.node);
  size_t attribute = add_part(&names, d->where.attr);
  tl_message m = {.severity = (tl_message_severity)d->severity,
                  .text = text.failed ? room : text.p,
                  .code = d->code,
                  .file = d->where.file,
                  .node = part_at(&names, node),
                  .attribute = part_at(&names, attribute),
                  .what = d->message,
                  .hint = d->hint,
                  .offset = d->where.has_offset ? (int64_t)d->where.offset : -1,
                  .line = d->where.line,
                  .column = d->where.column};
  c->fn(c->user, &m);
  tl_buf_release(&names);
  tl_buf_release(&text);
}

/* Ends a call: a failure that reported nothing gets a message, and the status becomes a public
 * code. */
static int finish(tl_context *c, tl_status status, uint32_t errors_before) {
  return tl_status_exit_code(tl_diag_close(&c->diag, status, errors_before));
}

tl_context *tl_context_create(void) {
  tl_context *c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  tl_settings_init(&c->settings);
  c->diag = (tl_diag){.fn = forward, .user = c};
  c->session = (tl_session){.settings = &c->settings, .diag = &c->diag};
  return c;
}

void tl_context_destroy(tl_context *c) {
  if (!c)
    return;
  tl_settings_release(&c->settings);
  free(c);
}

void tl_context_on_message(tl_context *c, tl_message_fn fn, void *user) {
  c->fn = fn;
  c->user = user;
}

int tl_context_set(tl_context *c, const char *name, const char *value) {
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_option_id id = tl_option_find(tl_sv_from(name), TL_COMMAND_CONVERT);
  if (id == TL_N_OPTION_ROWS) {
    const char *near = tl_option_nearest(tl_sv_from(name), TL_COMMAND_CONVERT);
    tl_status status = tl_fail(&c->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "unknown option '%s'%s%s",
                               name, near ? "\vdid you mean " : "", near ? near : "");
    return finish(c, status, errors);
  }
  return finish(c, tl_settings_set(&c->settings, &c->diag, id, value), errors);
}

/* Resolves the settings before the first model. A model is one module here; only the command makes
 * the two variants of accelerate_train_mode. The option train-model is refused, since the call that
 * loads a model names it. */
static tl_status resolve(tl_context *c) {
  const tl_settings *s = &c->settings;
  tl_settings_for_toolkit(&c->settings);
  TL_TRY(tl_settings_resolve(&c->settings, &c->diag));
  if (s->accelerate.text)
    return tl_fail(&c->diag, TL_UNSUPPORTED,
                   tl_at_option(&c->settings, TL_OPTION_ACCELERATE_TRAIN_MODE),
                   "writes two models, which the library does not support\vuse 'tailor convert'");
  if (tl_settings_has(s, TL_OPTION_TRAIN_MODEL))
    return tl_fail_code(&c->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                        tl_at_option(&c->settings, TL_OPTION_TRAIN_MODEL),
                        "names the input, which the call that loads a model does, too\vload the "
                        "training model, with the option optim-model set");
  c->session.optimizer =
      tl_settings_has(s, TL_OPTION_OPTIM_MODEL) ? tl_settings_get(s, TL_OPTION_OPTIM_MODEL) : NULL;
  return TL_OK;
}

/* Loads a model from `bytes`, or from the file `name` if there are none. */
static int load(tl_context *c, const char *name, tl_sv bytes, tl_model **out) {
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_model *m = calloc(1, sizeof *m);
  if (!m)
    return finish(c, TL_NO_MEMORY, errors);
  m->context = c;
  tl_status status = resolve(c);
  if (status == TL_OK)
    status = bytes.p ? tl_session_load_bytes(&c->session, name, bytes, &m->module)
                     : tl_session_load(&c->session, name, &m->module);
  int code = finish(c, status, errors);
  if (code == TL_SUCCESS)
    *out = m;
  else
    tl_model_destroy(m);
  return code;
}

int tl_model_load(tl_context *c, const char *path, tl_model **out) {
  return load(c, path, (tl_sv){0}, out);
}

int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                        tl_model **out) {
  return load(c, name, (tl_sv){n ? bytes : "", n}, out);
}

void tl_model_destroy(tl_model *m) {
  if (!m)
    return;
  tl_module_destroy(m->module);
  free(m);
}

int tl_model_optimize(tl_model *m, tl_purpose target) {
  tl_context *c = m->context;
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_session s = c->session;
  tl_fusion_stats fusions;
  tl_fusion_stats_init(&fusions);
  s.fusions = &fusions;
  /* One pipeline: unlike the command, nobody saves canonical form on the way to NPU form, so the
   * loops that are unrolled for the NPU are cleaned up. */
  tl_stage stage = target == TL_FOR_AIR ? TL_STAGE_AIR
                                        : tl_pipeline_canonical(&c->settings.options);
  tl_pipeline_options p = tl_session_pipeline(&s, stage);
  tl_status status = stage == TL_STAGE_AIR ? TL_OK : tl_session_raise(&s, m->module);
  if (status == TL_OK)
    status = tl_session_try_profiles(&s, m->module, &(tl_profile_run){.stage = stage});
  if (status == TL_OK)
    status = tl_session_run(&s, m->module, &p, NULL);
  if (status == TL_OK && fusions.counts.n)
    status = tl_session_save_fusions(&s);
  tl_fusion_stats_release(&fusions);
  return finish(c, status, errors);
}

uint32_t tl_model_count_nodes(const tl_model *m) { return tl_module_count_nodes(m->module); }

int tl_model_save(tl_model *m, const char *path) {
  tl_context *c = m->context;
  uint32_t errors = tl_diag_begin(&c->diag);
  tl_destination to = {.path = path};
  tl_status status;
  if (tl_format_of_path(path, &to.format) && to.format != TL_FORMAT_PBTXT)
    status = tl_session_save(&c->session, m->module, &to);
  else
    status = tl_fail(&c->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                     "the suffix does not name a format\vuse .air, .onnx or .tir");
  return finish(c, status, errors);
}
