/* SPDX-License-Identifier: Apache-2.0 */
/* tailor info --train: parameters, gradients, updates, states and regions of a training step. */
#include "tools/tables/info_train.h"

#include "ir/infer/infer.h"
#include "passes/train/step/info.h"
#include "tools/cli/json.h"
#include "tools/convert/summary.h"

static const char *const form_names[] = {"none", "artifacts", "single", "preview", "plain"};
static const char *const class_names[] = {"dense", "sparse", "done"};
static const char *const region_names[TL_N_REGIONS] = {"other", "forward", "backward", "update"};

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

static void json_value(tl_buf *out, const tl_module *m, const char *key, tl_value_id v,
                       bool *first) {
  tl_json_key(out, key, first);
  if (v)
    tl_json_string(out, tl_value_name(m, v));
  else
    tl_buf_add_z(out, "null");
}

static void json_text(tl_buf *out, const char *key, tl_sv text, bool *first) {
  tl_json_key(out, key, first);
  tl_json_string(out, text);
}

static void json_pair(tl_buf *out, const tl_module *m, tl_value_id in, tl_value_id next) {
  tl_buf_add_char(out, '[');
  tl_json_string(out, tl_value_name(m, in));
  tl_buf_add_z(out, ", ");
  if (next)
    tl_json_string(out, tl_value_name(m, next));
  else
    tl_buf_add_z(out, "null");
  tl_buf_add_char(out, ']');
}

static void json_grad(tl_buf *out, const tl_module *m, const tl_train_grad *g) {
  bool first = true;
  tl_buf_add_char(out, '{');
  json_value(out, m, "param", g->param, &first);
  json_value(out, m, "gradient", g->raw, &first);
  json_value(out, m, "indices", g->indices, &first);
  json_value(out, m, "param_out", g->param_out, &first);
  json_text(out, "class", tl_sv_from(class_names[g->cls]), &first);
  json_text(out, "dtype", tl_sv_from(tl_dtype_get((tl_dtype)g->dtype)->name), &first);
  tl_json_key(out, "bytes", &first);
  tl_buf_add_u64(out, g->bytes);
  tl_json_key(out, "rank", &first);
  tl_buf_add_u64(out, g->rank);
  json_text(out, "producer", op_of(m, g->producer), &first);
  json_text(out, "update", op_of(m, g->update), &first);
  tl_json_key(out, "states", &first);
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < g->n_states; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    json_pair(out, m, g->state_in[i], g->state_out[i]);
  }
  tl_buf_add_z(out, "]}");
}

static void json_lists(tl_buf *out, const tl_module *m, const tl_train_info *t, bool *first) {
  tl_json_key(out, "params", first);
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < t->n; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    json_grad(out, m, &t->grads[i]);
  }
  tl_buf_add_char(out, ']');
  tl_json_key(out, "frozen", first);
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < t->n_frozen; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    tl_json_string(out, tl_value_name(m, t->frozen[i]));
  }
  tl_buf_add_char(out, ']');
  tl_json_key(out, "untold", first);
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < t->n_untold; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    json_pair(out, m, t->untold[i].input, t->untold[i].output);
  }
  tl_buf_add_char(out, ']');
  tl_json_key(out, "other_states", first);
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < t->n_others; i++) {
    tl_buf_add_z(out, i ? ", " : "");
    json_pair(out, m, t->other_in[i], t->other_out[i]);
  }
  tl_buf_add_char(out, ']');
}

static void add_json(tl_buf *out, const tl_module *m, const tl_train_info *t) {
  uint32_t counts[TL_N_REGIONS] = {0};
  bool first = true, inner = true;
  count_regions(m, t, counts);
  tl_buf_add_char(out, '{');
  json_text(out, "form", tl_sv_from(form_names[t->form]), &first);
  tl_json_key(out, "opaque", &first);
  tl_buf_add_z(out, t->opaque ? "true" : "false");
  json_value(out, m, "loss", t->loss, &first);
  json_value(out, m, "seed", t->seed, &first);
  json_lists(out, m, t, &first);
  tl_json_key(out, "nodes", &first);
  tl_buf_add_char(out, '{');
  for (int i = 0; i < TL_N_REGIONS; i++) {
    tl_json_key(out, region_names[i], &inner);
    tl_buf_add_u64(out, counts[i]);
  }
  tl_buf_add_z(out, "}}\n");
}

/* ---- driver ---------------------------------------------------------------------------------- */

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
