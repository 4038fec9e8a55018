/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor info --train: parameters, gradients, updates, states and regions of a step. */
#include "tools/tables/info_train.h"

#include "ir/infer/infer.h"
#include "passes/train/step/find_step.h"
#include "passes/train/step/info.h"
#include "support/json_writer.h"
#include "support/measure.h"

/* Names of enumerators, in their order. */
static const char *const form_names[] = {"none", "artifacts", "single", "preview", "plain"};
static const char *const class_names[] = {"dense", "sparse", "done"};
static const char *const region_names[TL_N_REGIONS] = {"other", "forward", "backward", "update"};

/* Counts the nodes of each region of the main graph. */
static void count_regions(const tl_module *m, const tl_train_info *t, uint32_t *counts) {
  TL_FOR_NODES(m, tl_module_main(m), n)
    counts[tl_train_region_of(t, n)]++;
}

static uint64_t gradient_bytes(const tl_train_info *t) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < t->n; i++)
    sum += t->grads[i].bytes;
  return sum;
}

/* Adds the name of a value, '-' if there is none. */
static void add_name_of(tl_buf *out, const tl_module *m, tl_value_id v) {
  if (v)
    tl_info_add_name(out, tl_value_name(m, v));
  else
    tl_buf_add_char(out, '-');
}

static tl_sv op_of(const tl_module *m, tl_node_id n) {
  return n ? tl_op_name(m, tl_node_get(m, n)->op) : TL_SV("-");
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Adds one parameter with its gradient, update and states. */
static void add_grad(tl_buf *out, const tl_module *m, const tl_train_grad *g) {
  tl_buf_printf(out, "  %4u  %-6s  ", g->rank, class_names[g->cls]);
  add_name_of(out, m, g->param);
  tl_buf_add_z(out, ": ");
  tl_type_print(m, tl_value_type(m, g->param), out);
  tl_buf_add_z(out, "  gradient ");
  add_name_of(out, m, g->raw);
  if (g->indices) {
    tl_buf_add_z(out, " rows ");
    add_name_of(out, m, g->indices);
  }
  tl_buf_printf(out, " (%.*s)  update ", TL_SV_ARG(op_of(m, g->producer)));
  add_name_of(out, m, g->param_out);
  tl_buf_printf(out, " (%.*s)", TL_SV_ARG(op_of(m, g->update)));
  for (uint32_t i = 0; i < g->n_states; i++) {
    tl_buf_add_z(out, i ? ", " : "  states ");
    add_name_of(out, m, g->state_in[i]);
  }
  tl_buf_add_char(out, '\n');
}

/* Adds the step for people. "untold" are values that look like a state or gradient but are not
 * declared. */
static void add_text(tl_buf *out, const tl_module *m, const tl_train_info *t) {
  uint32_t counts[TL_N_REGIONS] = {0};
  count_regions(m, t, counts);
  tl_buf_printf(out, "form     %s%s\nloss     ", form_names[t->form],
                t->opaque ? ", one node makes all gradients" : "");
  add_name_of(out, m, t->loss);
  tl_buf_add_z(out, "\nseed     ");
  add_name_of(out, m, t->seed);
  tl_buf_printf(out, "\nparams   %u with a gradient, %u frozen; gradients ", t->n, t->n_frozen);
  tl_add_bytes(out, gradient_bytes(t));
  tl_buf_add_char(out, '\n');
  for (uint32_t i = 0; i < t->n; i++)
    add_grad(out, m, &t->grads[i]);
  for (uint32_t i = 0; i < t->n_frozen; i++) {
    tl_buf_add_z(out, "  frozen  ");
    add_name_of(out, m, t->frozen[i]);
    tl_buf_add_char(out, '\n');
  }
  for (uint32_t i = 0; i < t->n_untold; i++) {
    tl_buf_add_z(out, t->untold[i].gradient ? "  untold  gradient of " : "  untold  ");
    add_name_of(out, m, t->untold[i].input);
    tl_buf_add_z(out, t->untold[i].gradient ? ", next value " : " -> ");
    add_name_of(out, m, t->untold[i].output);
    tl_buf_add_char(out, '\n');
  }
  for (uint32_t i = 0; i < t->n_others; i++) {
    tl_buf_add_z(out, "  state   ");
    add_name_of(out, m, t->other_in[i]);
    tl_buf_add_z(out, " -> ");
    add_name_of(out, m, t->other_out[i]);
    tl_buf_add_char(out, '\n');
  }
  tl_buf_printf(out, "nodes    %u forward, %u backward, %u update, %u other\n",
                counts[TL_REGION_FORWARD], counts[TL_REGION_BACKWARD], counts[TL_REGION_UPDATE],
                counts[TL_REGION_NONE]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_value(tl_json_writer *w, const tl_module *m, const char *key, tl_value_id v) {
  tl_put_key(w, key);
  if (v)
    tl_put_sv(w, tl_value_name(m, v));
  else
    tl_put_null(w);
}

static void json_text(tl_json_writer *w, const char *key, tl_sv text) {
  tl_member_sv(w, key, text);
}

/* Adds [name of input, name of its next value or null]. */
static void json_pair(tl_json_writer *w, const tl_module *m, tl_value_id in, tl_value_id next) {
  tl_put_array(w);
  tl_put_sv(w, tl_value_name(m, in));
  if (next)
    tl_put_sv(w, tl_value_name(m, next));
  else
    tl_put_null(w);
  tl_put_end(w);
}

/* Adds one parameter as JSON; members that it does not have are null. */
static void json_grad(tl_json_writer *w, const tl_module *m, const tl_train_grad *g) {
  tl_put_object(w);
  json_value(w, m, "param", g->param);
  json_value(w, m, "gradient", g->raw);
  json_value(w, m, "indices", g->indices);
  json_value(w, m, "param_out", g->param_out);
  json_text(w, "class", tl_sv_from(class_names[g->cls]));
  json_text(w, "dtype", tl_sv_from(tl_dtype_get((tl_dtype)g->dtype)->name));
  tl_member_u64(w, "bytes", g->bytes);
  tl_member_u64(w, "rank", g->rank);
  json_text(w, "producer", op_of(m, g->producer));
  json_text(w, "update", op_of(m, g->update));
  tl_put_key(w, "states");
  tl_put_array(w);
  for (uint32_t i = 0; i < g->n_states; i++) {
    json_pair(w, m, g->state_in[i], g->state_out[i]);
  }
  tl_put_end(w);
  tl_put_end(w);
}

/* Adds the lists of parameters, frozen parameters, undeclared pairs and other states. */
static void json_lists(tl_json_writer *w, const tl_module *m, const tl_train_info *t) {
  tl_put_key(w, "params");
  tl_put_array(w);
  for (uint32_t i = 0; i < t->n; i++) {
    json_grad(w, m, &t->grads[i]);
  }
  tl_put_end(w);
  tl_put_key(w, "frozen");
  tl_put_array(w);
  for (uint32_t i = 0; i < t->n_frozen; i++) {
    tl_put_sv(w, tl_value_name(m, t->frozen[i]));
  }
  tl_put_end(w);
  tl_put_key(w, "untold");
  tl_put_array(w);
  for (uint32_t i = 0; i < t->n_untold; i++) {
    json_pair(w, m, t->untold[i].input, t->untold[i].output);
  }
  tl_put_end(w);
  tl_put_key(w, "other_states");
  tl_put_array(w);
  for (uint32_t i = 0; i < t->n_others; i++) {
    json_pair(w, m, t->other_in[i], t->other_out[i]);
  }
  tl_put_end(w);
}

static void add_json(tl_buf *out, const tl_module *m, const tl_train_info *t) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  uint32_t counts[TL_N_REGIONS] = {0};
  count_regions(m, t, counts);
  tl_put_object(w);
  json_text(w, "form", tl_sv_from(form_names[t->form]));
  tl_member_bool(w, "opaque", t->opaque);
  json_value(w, m, "loss", t->loss);
  json_value(w, m, "seed", t->seed);
  json_lists(w, m, t);
  tl_put_key(w, "nodes");
  tl_put_object(w);
  for (int i = 0; i < TL_N_REGIONS; i++) {
    tl_member_u64(w, region_names[i], counts[i]);
  }
  tl_json_finish(w);
}

/* ---- driver ---------------------------------------------------------------------------------- */

/* Recognises the training step and prints it; types must be inferred first. */
static tl_status recognise(tl_cli *cli, tl_module *m, tl_arena *arena) {
  tl_train_info t;
  tl_buf out;
  TL_TRY(tl_infer_module(m));
  TL_TRY(tl_train_detect(m, arena, &t));
  tl_train_warn_untold(m, &t);
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    add_json(&out, m, &t);
  else
    add_text(&out, m, &t);
  return tl_cli_print(cli, &out);
}

tl_status tl_info_train(tl_cli *cli, tl_module *m) {
  tl_arena arena;
  tl_arena_init(&arena, 0);
  tl_status status = recognise(cli, m, &arena);
  tl_arena_release(&arena);
  return status;
}
