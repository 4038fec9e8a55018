/* SPDX-License-Identifier: Apache-2.0 */
/* Loads models: finds the format, reads the graph, then what belongs to the model beside it. */
#include "frontend/air/load.h"
#include "frontend/config/bucket_library.h"
#include "frontend/config/train_spec.h"
#include "frontend/onnx/foreign.h"
#include "frontend/onnx/load.h"
#include "ir/text/parse.h"
#include "ir/verify/verify.h"
#include "lib/session/growth.h"
#include "lib/session/session.h"
#include "passes/train/step/state.h"
#include "support/sha256.h"

static bool is_stream(const char *path) { return strcmp(path, "-") == 0; }

static tl_file_mode mode_of(const tl_session *s) {
  return tl_settings_has(s->settings, TL_OPTION_READ) ? TL_FILE_READ : TL_FILE_MAP;
}

/* Guesses by the first byte: a binary ONNX model starts with the tag of a small integer field, text
 * with a letter, a blank or a comment. */
static bool looks_like_text(const tl_session *s, const tl_file *f) {
  tl_sv path = tl_sv_from(f->path);
  if (tl_sv_ends_with(path, ".tir"))
    return true;
  if (!s->looks_inside || tl_sv_ends_with(path, ".onnx") || f->size == 0)
    return false;
  unsigned char c = f->data[0];
  return c == '\n' || c == '\r' || c == '\t' || (c >= 0x20 && c < 0x7f);
}

/* Refuses files of other frameworks and the like. What is called .tir is textual IR. */
static tl_status check_kind(const tl_session *s, const tl_file *f) {
  tl_sv path = tl_sv_from(f->path);
  if (tl_sv_ends_with(path, ".tir"))
    return TL_OK;
  if (!tl_sv_ends_with(path, ".air"))
    return tl_foreign_check(s->diag, f->path, f->data, f->size);
  bool air = tl_air_looks_like(f->data, (size_t)f->size) ||
             tl_air_is_text(f->data, (size_t)f->size);
  return air ? TL_OK : tl_foreign_check_air(s->diag, f->path, f->data, f->size);
}

/* Opens a file if it is text; else *f is NULL. The caller closes *f. */
static tl_status open_text(const tl_session *s, const char *path, tl_file **f) {
  TL_TRY(tl_file_open(s->diag, path, TL_FILE_MAP, f));
  tl_status status = check_kind(s, *f);
  if (status == TL_OK && looks_like_text(s, *f))
    return TL_OK;
  tl_file_close(*f);
  *f = NULL;
  return status;
}

static tl_sv text_of(const tl_file *f) { return (tl_sv){(const char *)f->data, (size_t)f->size}; }

/* Parses textual IR and verifies it: text is written by hand, and the grammar cannot refuse wrong
 * arity, attribute kinds or scopes. Types are left to inference. */
static tl_status parse(const tl_session *s, const char *path, tl_sv text, tl_module **out) {
  tl_module *m;
  TL_TRY(tl_module_parse(s->diag, path, text, &m));
  tl_status status = tl_module_verify(m, TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES);
  if (status == TL_OK)
    *out = m;
  else
    tl_module_destroy(m);
  return status;
}

/* Returns true if the settings ask for a training step. */
static bool trains(const tl_settings *settings) {
  const tl_train_config *in_force = settings->options.train;
  return settings->train.train || (in_force && in_force->train) ||
         tl_settings_has(settings, TL_OPTION_TRAIN);
}

/* Returns the options of the ONNX reader. */
static tl_onnx_load_options onnx_options(const tl_session *s) {
  return (tl_onnx_load_options){.mode = mode_of(s),
                                .options = &s->settings->options,
                                .max_nodes = (uint32_t)s->settings->options.max_nodes,
                                .training = trains(s->settings)};
}

/* Returns true if the file is AIR or a text dump of it: its suffix says so, or its first fields do
 * where the suffix is of no other format. Asked before looks_like_text, since AIR begins with the
 * byte of a line feed. */
static bool is_air(const tl_file *f) {
  tl_sv path = tl_sv_from(f->path);
  return tl_sv_ends_with(path, ".air") ||
         (!tl_sv_ends_with(path, ".onnx") && !tl_sv_ends_with(path, ".tir") &&
          (tl_air_looks_like(f->data, (size_t)f->size) ||
           tl_air_is_text(f->data, (size_t)f->size)));
}

/* Compares the file with what --framework says of it. */
static tl_status check_framework(const tl_session *s, const char *path, bool air) {
  bool said = strcmp(tl_settings_get(s->settings, TL_OPTION_FRAMEWORK), "1") == 0;
  if (!said || air)
    return TL_OK;
  return tl_fail(s->diag, TL_INVALID_ARGUMENT, tl_at_option(s->settings, TL_OPTION_FRAMEWORK),
                 "1 is AIR, and '%s' is none\vwrite --framework=5, or leave it out", path);
}

/* Loads a model from standard input, which is read as a whole. The module views the bytes, so
 * it owns the file. */
static tl_status load_stream(const tl_session *s, tl_module **out) {
  tl_file *f;
  tl_onnx_load_options o = onnx_options(s);
  TL_TRY(tl_file_open(s->diag, "-", TL_FILE_READ, &f));
  bool air = is_air(f);
  tl_status status = air ? TL_OK : check_kind(s, f);
  if (status == TL_OK)
    status = check_framework(s, "-", air);
  if (status == TL_OK && !air && looks_like_text(s, f)) {
    status = parse(s, "-", text_of(f), out);
    if (status == TL_OK)
      (*out)->source_bytes = f->size;
    tl_file_close(f);
    return status;
  }
  if (status == TL_OK)
    status = air ? tl_air_load_bytes(s->diag, "-", text_of(f), NULL, out)
                 : tl_onnx_load_bytes(s->diag, "-", f->data, (size_t)f->size, &o, out);
  if (status != TL_OK) {
    tl_file_close(f);
    return status;
  }
  status = tl_module_add_file(*out, f); /* the module views these bytes */
  if (status != TL_OK) {
    tl_module_destroy(*out);
    *out = NULL;
  }
  return status;
}

/* Loads a model from a file; the format is found by its suffix and first bytes. */
static tl_status load_file(const tl_session *s, const char *path, tl_module **out) {
  tl_file *f;
  tl_onnx_load_options o = onnx_options(s);
  TL_TRY(tl_file_open(s->diag, path, TL_FILE_MAP, &f));
  bool air = is_air(f);
  bool text = !air && looks_like_text(s, f);
  bool named = tl_sv_ends_with(tl_sv_from(path), ".air"); /* whatever its bytes are */
  tl_status status = air && !named ? TL_OK : check_kind(s, f);
  if (status == TL_OK)
    status = check_framework(s, path, air);
  uint64_t bytes = f->size;
  if (status == TL_OK && text)
    status = parse(s, path, text_of(f), out);
  if (status == TL_OK && text)
    (*out)->source_bytes = bytes;
  tl_file_close(f);
  if (status != TL_OK || text)
    return status;
  return air ? tl_air_load(s->diag, path, mode_of(s), out) : tl_onnx_load(s->diag, path, &o, out);
}

/* ---- what a training step is told ------------------------------------------------------------ */

/* Reads the measurements of a model, which a library keeps by the hash of the model's file. bytes:
 * contents of the model, if they are in memory. */
static tl_status read_measured(const tl_session *s, const char *path, tl_sv bytes) {
  char hash[65] = "";
  bool wanted = s->settings->train.buckets == TL_BUCKETS_LIBRARY;
  if (wanted && bytes.p)
    tl_sha256_hex((const unsigned char *)bytes.p, bytes.n, hash);
  else if (wanted && !is_stream(path)) {
    tl_file *f;
    TL_TRY(tl_file_open(s->diag, path, TL_FILE_MAP, &f));
    tl_sha256_hex(f->data, (size_t)f->size, hash);
    tl_file_close(f);
  }
  return tl_bucket_library_read(s->settings, s->diag, hash);
}

/* Reads what the user declares about a training step, and adds it to the module. */
static tl_status read_declarations(const tl_session *s, const char *path, tl_sv bytes,
                                   tl_module *m) {
  if (!trains(s->settings))
    return TL_OK;
  TL_TRY(read_measured(s, path, bytes));
  const tl_train_spec *spec;
  TL_TRY(tl_train_spec_read(s->settings, s->diag, m, &spec));
  return spec ? tl_step_declare(m, spec) : TL_OK;
}

/* Adds the graph of a second model to the module. */
static tl_status load_beside(const tl_session *s, const char *path, tl_module *m) {
  tl_file *text;
  if (is_stream(path))
    return tl_fail(s->diag, TL_INVALID_ARGUMENT, tl_at_option(s->settings, TL_OPTION_OPTIM_MODEL),
                   "is standard input, which is possible for --train-model only\vname a file");
  TL_TRY(open_text(s, path, &text));
  if (text) {
    tl_status status = tl_module_parse_beside(s->diag, path, text_of(text), m);
    tl_file_close(text);
    return status;
  }
  tl_onnx_load_options o = onnx_options(s);
  o.training = false;
  return tl_onnx_load_beside(s->diag, path, &o, m);
}

/* Loads the model of the optimizer beside the forward model, and links both to one step. */
static tl_status link_optimizer(const tl_session *s, tl_module *m) {
  if (!s->optimizer)
    return TL_OK;
  TL_TRY(load_beside(s, s->optimizer, m));
  return tl_session_run_passes(s, m, "link-models");
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Adds to a loaded graph what the model and the settings declare about it. Destroys the module
 * after a failure. */
static tl_status complete(const tl_session *s, const char *path, tl_sv bytes, tl_module **out) {
  (*out)->user_ops = s->user_ops;
  tl_status status = tl_growth_loaded(s, *out, bytes.n);
  if (status == TL_OK && !s->ignores_own_config)
    status = tl_settings_take_model(s->settings, s->diag, *out);
  if (status == TL_OK)
    status = read_declarations(s, path, bytes, *out);
  if (status == TL_OK)
    status = link_optimizer(s, *out);
  if (status == TL_OK)
    return TL_OK;
  tl_module_destroy(*out);
  *out = NULL;
  return status;
}

tl_status tl_session_load(const tl_session *s, const char *path, tl_module **out) {
  tl_activity around = tl_activity_begin(s->diag, "while reading", path);
  *out = NULL;
  TL_TRY(is_stream(path) ? load_stream(s, out) : load_file(s, path, out));
  return tl_activity_end(s->diag, around, complete(s, path, (tl_sv){0}, out));
}

tl_status tl_session_load_bytes(const tl_session *s, const char *name, tl_sv bytes,
                                const tl_beside *beside, tl_module **out) {
  tl_onnx_load_options o = onnx_options(s);
  o.beside = beside;
  tl_sv path = tl_sv_from(name);
  tl_activity around = tl_activity_begin(s->diag, "while reading", name);
  *out = NULL;
  if (tl_sv_ends_with(path, ".tir")) {
    TL_TRY(parse(s, name, bytes, out));
  } else if (tl_sv_ends_with(path, ".air")) {
    TL_TRY(tl_air_load_bytes(s->diag, name, bytes, beside, out));
  } else {
    TL_TRY(tl_foreign_check(s->diag, name, bytes.p, bytes.n));
    TL_TRY(tl_onnx_load_bytes(s->diag, name, bytes.p, bytes.n, &o, out));
  }
  return tl_activity_end(s->diag, around, complete(s, name, bytes, out));
}
