/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a training step, and as what a user declares of one: text that begins with '{' is a
 * file of --train-spec for a step that is given, everything else textual IR. The passes of training
 * graphs end with a module that the verifier passes, or with an error. What is asked of them
 * depends on the bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/config/train_spec.h"
#include "ir/text/parse.h"
#include "passes/manager.h"
#include "passes/train/step/state.h"
#include "passes/train/time/record.h"
#include "tests/fuzz/target.h"

enum { LONGEST = 512 }; /* bytes of messages that are kept */

static const char step[] =
    "graph @g(%x: f32[2,3], %w: f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], %m: f32[3,2],\n"
    "         %v: f32[2], %lr: f32[] = 0.1, %t: i64[]) -> (%L, %w_out, %m_out, %v_out) {\n"
    "  const %axes = i64[1] [0]\n"
    "  const %two = f32[] 2.0\n"
    "  %h = MatMul(%x, %w)\n"
    "  %y = Add(%h, %v)\n"
    "  %sq = Mul(%y, %y)\n"
    "  %L = ReduceMean(%sq) {keepdims=0}\n"
    "  %dy = Mul(%y, %two)\n"
    "  %xt = Transpose(%x) {perm=[1, 0]}\n"
    "  %gw = MatMul(%xt, %dy)\n"
    "  %gv = ReduceSum(%dy, %axes) {keepdims=0}\n"
    "  %w_out, %m_out = ai.onnx.preview.training::Momentum(%lr, %t, %w, %gw, %m)\n"
    "    {alpha=0.9, beta=1.0, mode=\"standard\", norm_coefficient=0.0}\n"
    "  %dv = Mul(%gv, %lr)\n"
    "  %v_out = Sub(%v, %dv)\n"
    "}\n";

/* Settings by the bits of a hash of the input. */
static void choose(tl_train_config *c, tl_sv text) {
  static const uint32_t ranks[] = {0, 1, 2, 8, 1u << 20, 3};
  uint32_t bits = 2166136261u;
  for (size_t i = 0; i < text.n; i++)
    bits = (bits ^ (uint8_t)text.p[i]) * 16777619u;
  *c = tl_train_config_default();
  c->train = true;
  c->is_distributed = bits & 1;
  c->force_allreduce = bits >> 1 & 1;
  c->rank_size = ranks[(bits >> 2 & 7) % 6];
  c->buckets = (tl_bucket_strategy)((bits >> 5 & 3) + TL_BUCKETS_AUTO);
  c->hw_preset = bits >> 7 & 1 ? "ascend910b" : NULL;
  c->bucket_lowering = bits >> 8 & 1 ? TL_BUCKET_CONCAT : TL_BUCKET_MULTI;
  c->is_tailing_optimization = bits >> 9 & 1;
  c->tail_mode = (tl_tail_mode)(bits >> 10 & 3);
  c->decompose_updates = bits >> 12 & 1;
  c->inplace_state = bits >> 13 & 1;
  c->relax_user_ctrl = bits >> 14 & 1;
  c->update_form = bits >> 15 & 1 ? TL_UPDATE_IF : TL_UPDATE_WHERE;
  c->iterations_per_loop = bits >> 16 & 1 ? 3 : 1;
  c->sparse_dense_fallback = bits >> 17 & 1;
  c->replace_allreduce = bits >> 18 & 1;
  c->is_loss_scale = c->has_manager = bits >> 19 & 1;
  c->loss_scale = (tl_loss_scale_config){TL_LOSS_SCALE_EXPONENTIAL, 1024, 2, 0.5f, 3, 2, false};
  c->mem_limit = bits >> 20 & 1 ? 64 : 0;
  c->wus = bits >> 21 & 1;
  c->status = bits >> 22 & 1 ? TL_OVERFLOW_ORT : TL_OVERFLOW_ISFINITE;
}

/* Keeps errors one after the other, for who looks at a find. */
static void keep(void *user, const tl_diagnostic *d) {
  size_t n = strlen(user);
  if (d->severity == TL_ERROR)
    snprintf((char *)user + n, LONGEST - n, "%s; ", d->message);
}

/* Ends the process where a pass broke the module, or failed without a word. */
static void check(const tl_module *m, tl_status status, const tl_train_config *c,
                  const char *errors) {
  if ((status == TL_OK) == (m->diag->errors == 0) && status != TL_INTERNAL)
    return;
  fprintf(stderr,
          "status %d, %u errors: %s\n"
          "distributed %d, ranks %u, buckets %d as %d, tail %d %d, decompose %d, in place %d, "
          "form %d, iterations %lld, scale %d, wus %d, status %d\n",
          status, m->diag->errors, errors, c->is_distributed, c->rank_size, c->buckets,
          c->bucket_lowering, c->is_tailing_optimization, c->tail_mode, c->decompose_updates,
          c->inplace_state, c->update_form, (long long)c->iterations_per_loop, c->is_loss_scale,
          c->wus, c->status);
  abort();
}

static void run(tl_module *m, tl_train_config *c) {
  static const char passes[] =
      "link-models,infer-shapes,train-detect,loss-scale,grad-allreduce,ar-bucket,plain-updates,"
      "iterations-per-loop,loop-to-while,tail-opt,schedule";
  tl_options options = tl_options_default();
  tl_step_record record;
  tl_step_record_init(&record);
  options.train = c;
  tl_pipeline_options p = {.passes = passes, .level = 2, .verify_each = true, .steps = &record};
  tl_status status = tl_pipeline_run(m, &options, &p, NULL);
  check(m, status, c, m->diag->user);
  tl_step_record_release(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_sv text = {(const char *)data, size};
  bool spec = size && data[0] == '{';
  char errors[LONGEST] = "";
  tl_diag diag = {.fn = keep, .user = errors};
  tl_module *m = NULL;
  tl_settings s;
  tl_train_config c;
  tl_settings_init(&s);
  choose(&c, text);
  tl_status status = tl_module_parse(&diag, "-", spec ? (tl_sv){step, sizeof step - 1} : text, &m);
  if (spec && status != TL_OK)
    abort();
  if (spec) {
    const tl_train_spec *said;
    status = tl_train_spec_read_text(&s, &diag, "fuzz", text, &said);
    if (status == TL_OK && tl_step_declare(m, said) != TL_OK)
      abort();
    if ((status == TL_OK) != (diag.errors == 0))
      abort();
  }
  if (status == TL_OK)
    run(m, &c);
  tl_module_destroy(m);
  tl_settings_release(&s);
  return 0;
}
