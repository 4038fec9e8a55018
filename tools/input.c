/* SPDX-License-Identifier: Apache-2.0 */
/* Input models: ONNX and textual IR. */
#include "tools/input.h"

#include "frontend/config/bucket_library.h"
#include "frontend/config/train_spec.h"
#include "frontend/onnx/load.h"
#include "ir/text/parse.h"
#include "ir/verify/verify.h"
#include "passes/manager.h"
#include "support/hash.h"

/* A binary ONNX model starts with the tag of a small integer field, text with a letter, a blank or
 * a comment. */
static bool looks_like_text(const tl_file *f) {
  tl_sv path = tl_sv_from(f->path);
  if (tl_sv_ends_with(path, ".tir"))
    return true;
  if (tl_sv_ends_with(path, ".onnx") || f->size == 0)
    return false;
  unsigned char c = f->data[0];
  return c == '\n' || c == '\r' || c == '\t' || (c >= 0x20 && c < 0x7f);
}

/* People write text: what a grammar cannot refuse (arity, attribute kinds, scopes) is refused by
 * the verifier. Types are left to inference. */
static tl_status parse_text(tl_cli *cli, const char *path, tl_sv text, tl_module **out) {
  tl_module *m;
  TL_TRY(tl_module_parse(&cli->diag, path, text, &m));
  tl_status status = tl_module_verify(m, TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES);
  if (status == TL_OK)
    *out = m;
  else
    tl_module_destroy(m);
  return status;
}

static tl_status load_opened(tl_cli *cli, const char *path, tl_file *f, bool *parsed,
                             tl_module **out) {
  *parsed = looks_like_text(f);
  if (*parsed)
    return parse_text(cli, path, (tl_sv){(const char *)f->data, (size_t)f->size}, out);
  return TL_OK;
}

/* Is a training step asked for? */
static bool trains(const tl_cli *cli) {
  const tl_train_config *in_force = cli->settings.options.train;
  return cli->settings.train.train || (in_force && in_force->train) ||
         tl_cli_has(cli, TL_OPTION_TRAIN);
}

static tl_status load_stdin(tl_cli *cli, const tl_onnx_load_options *o, tl_module **out) {
  tl_file *f;
  bool parsed;
  TL_TRY(tl_file_open(&cli->diag, "-", TL_FILE_READ, &f));
  tl_status status = load_opened(cli, "-", f, &parsed, out);
  if (parsed || status != TL_OK) {
    tl_file_close(f);
    return status;
  }
  status = tl_onnx_load_bytes(&cli->diag, "-", f->data, (size_t)f->size, o, out);
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

static tl_status load(tl_cli *cli, const char *path, tl_module **out) {
  tl_onnx_load_options o = {
      .mode = tl_cli_has(cli, TL_OPTION_READ) ? TL_FILE_READ : TL_FILE_MAP,
      .options = &cli->settings.options,
      .training = trains(cli),
  };
  if (strcmp(path, "-") == 0)
    return load_stdin(cli, &o, out);
  tl_file *f;
  bool parsed;
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_MAP, &f));
  tl_status status = load_opened(cli, path, f, &parsed, out);
  tl_file_close(f);
  if (parsed || status != TL_OK)
    return status;
  return tl_onnx_load(&cli->diag, path, &o, out);
}

/* What was measured of a model is found by the hash of its file. */
static tl_status read_measured(tl_cli *cli, const char *path) {
  char hash[65] = "";
  if (cli->settings.train.buckets == TL_BUCKETS_LIBRARY && strcmp(path, "-") != 0) {
    tl_file *f;
    TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_MAP, &f));
    tl_sha256_hex(f->data, (size_t)f->size, hash);
    tl_file_close(f);
  }
  return tl_bucket_library_read(&cli->settings, &cli->diag, hash);
}

/* Declarations of a training step count where one is asked for. */
static tl_status read_declarations(tl_cli *cli, const char *path, tl_module *m) {
  if (!trains(cli))
    return TL_OK;
  TL_TRY(read_measured(cli, path));
  return tl_train_spec_read(&cli->settings, &cli->diag, m);
}

/* Commands that take a run configuration take the model's own as well. */
static tl_status take_model(tl_cli *cli, const tl_module *m) {
  unsigned takes = TL_COMMAND_CONVERT | TL_COMMAND_OPT | TL_COMMAND_EXPLAIN;
  bool does = cli->command && (cli->command->bit & takes);
  return does ? tl_settings_take_model(&cli->settings, &cli->diag, m) : TL_OK;
}

/* ---- a training model and its optimizer ------------------------------------------------------ */

static tl_status load_beside(tl_cli *cli, const char *path, tl_module *m) {
  tl_file *f;
  if (strcmp(path, "-") == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_OPTIM_MODEL),
                   "is standard input, which is possible for --train-model only\vname a file");
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_MAP, &f));
  bool text = looks_like_text(f);
  tl_status status = TL_OK;
  if (text)
    status = tl_module_parse_beside(&cli->diag, path,
                                    (tl_sv){(const char *)f->data, (size_t)f->size}, m);
  tl_file_close(f);
  if (text)
    return status;
  tl_onnx_load_options o = {.mode = tl_cli_has(cli, TL_OPTION_READ) ? TL_FILE_READ : TL_FILE_MAP,
                            .options = &cli->settings.options};
  return tl_onnx_load_beside(&cli->diag, path, &o, m);
}

/* With both halves named the model is the first. */
static tl_status link_halves(tl_cli *cli, tl_module *m) {
  if (!tl_cli_has(cli, TL_OPTION_TRAIN_MODEL) || !tl_cli_has(cli, TL_OPTION_OPTIM_MODEL))
    return TL_OK;
  TL_TRY(load_beside(cli, tl_cli_get(cli, TL_OPTION_OPTIM_MODEL), m));
  return tl_pipeline_run(m, &cli->settings.options,
                         &(tl_pipeline_options){.passes = "link-models"}, NULL);
}

tl_status tl_input_load(tl_cli *cli, const char *path, tl_module **out) {
  *out = NULL;
  TL_TRY(load(cli, path, out));
  tl_status status = take_model(cli, *out);
  if (status == TL_OK)
    status = read_declarations(cli, path, *out);
  if (status == TL_OK)
    status = link_halves(cli, *out);
  if (status == TL_OK)
    return TL_OK;
  tl_module_destroy(*out);
  *out = NULL;
  return status;
}
