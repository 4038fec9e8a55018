/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that the scale is gone from everything that leaves the step, whatever was recognised.
 * Powers of the scale are followed through the graph as it is after unscaling, branches included. A
 * state that carries the scale is refused by name; any other output that grows in proportion is
 * divided. */
#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/edit/values.h"
#include "passes/train/scale/scaling.h"
#include "passes/train/scale/power.h"
#include "passes/train/step/path.h"
#include "passes/train/step/regions.h"

typedef struct checking {
  tl_loss_scaling *x;
  tl_powers powers;
  bool *fixed;
  bool *trusted;
  uint32_t n_values;
} checking;

static bool open_tables(checking *c) {
  tl_arena *scratch = c->x->p->scratch;
  c->n_values = tl_module_value_end(c->x->m);
  c->powers = (tl_powers){.m = c->x->m};
  c->powers.of = tl_arena_calloc(scratch, c->n_values, 1);
  c->powers.from = tl_arena_calloc(scratch, c->n_values, sizeof *c->powers.from);
  c->powers.fixed = c->fixed = tl_arena_calloc(scratch, c->n_values, sizeof *c->fixed);
  c->powers.trusted = c->trusted = tl_arena_calloc(scratch, c->n_values, sizeof *c->trusted);
  return c->powers.of && c->powers.from && c->fixed && c->trusted;
}

/* Sets the power of a value; the sweep leaves it as it is. */
static void fix(checking *c, tl_value_id v, tl_power p) {
  if (!v)
    return;
  c->powers.of[v] = (uint8_t)p;
  c->fixed[v] = true;
}

static void fix_results(checking *c, tl_node_id n, tl_power p) {
  for (uint32_t i = 0; n && i < tl_node_get(c->x->m, n)->n_results; i++)
    fix(c, tl_node_get(c->x->m, n)->results + i, p);
}

/* Fixes the values where the scale enters and leaves, and those that operands do not determine. */
static void set_sources(checking *c, const tl_ls_start *start) {
  tl_loss_scaling *scaling = c->x;
  fix(c, scaling->scale, TL_POWER_ONCE);
  fix(c, scaling->inverse, TL_POWER_INVERSE);
  fix_results(c, start->gradient, TL_POWER_ONCE);
  for (uint32_t i = 0; i < scaling->info.n; i++) {
    const tl_train_grad *g = &scaling->info.grads[i];
    c->trusted[g->raw] = scaling->info.seed !=
                         TL_NO_VALUE; /* the user says that it follows the seed */
    if (!scaling->unscaled[i])
      fix_results(c, g->update, TL_POWER_NONE); /* it divides itself */
  }
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* Returns true for a computed value that carries the scale once: a candidate for the gradient in
 * the hint. */
static bool grows(const void *user, tl_value_id v) {
  const checking *c = user;
  return c->powers.of[v] == TL_POWER_ONCE && tl_value_producer(c->x->m, v) && v != c->x->started;
}

/* Returns the input whose next value the output is, or may be; TL_NO_VALUE if none is known. */
static tl_value_id input_of(const checking *c, tl_value_id out) {
  const tl_loss_scaling *scaling = c->x;
  for (uint32_t i = 0; i < scaling->m->states.n; i++)
    if (scaling->m->states.at[i].output == out)
      return scaling->m->states.at[i].input;
  for (uint32_t i = 0; i < scaling->info.n_untold; i++)
    if (scaling->info.untold[i].output == out)
      return scaling->info.untold[i].input;
  return TL_NO_VALUE;
}

static const tl_train_grad *grad_of(const checking *c, tl_value_id param) {
  for (uint32_t i = 0; i < c->x->info.n; i++)
    if (c->x->info.grads[i].param == param)
      return &c->x->info.grads[i];
  return NULL;
}

/* Writes what the user can do. If the gradient of the parameter is known, something else on the way
 * is still scaled. */
static void add_hint(checking *c, tl_value_id in, tl_value_id out, tl_buf *hint) {
  const tl_module *m = c->x->m;
  const tl_train_grad *known = grad_of(c, in);
  if (known)
    tl_buf_printf(
        hint,
        "its gradient '%.*s' is divided by the scale; compute the rest from gradients of "
        "parameters, too, or name another gradient of it in --train-spec: {\"grads\": ...}",
        TL_SV_ARG(tl_value_name(m, known->raw)));
  else
    tl_buf_add_z(hint, "name its gradient in --train-spec: ");
  if (!known)
    tl_train_add_spec(m, in, out, tl_train_nearest(m, c->powers.from, out, in, grows, c), hint);
}

static tl_status report_state(checking *c, tl_value_id in, tl_value_id out) {
  const tl_module *m = c->x->m;
  tl_buf path, hint;
  tl_buf_init(&path);
  tl_buf_init(&hint);
  tl_train_add_path(m, c->powers.from, out, &path);
  add_hint(c, in, out, &hint);
  tl_status status = tl_fail_code(
      m->diag, TL_UNSUPPORTED, "E-TRN-SCALED", TL_AT_NODE(m->path, tl_value_name(m, in)),
      "the scaled loss reaches its next value '%.*s' without being unscaled: %.*s\v%.*s",
      TL_SV_ARG(tl_value_name(m, out)), TL_SV_ARG(tl_buf_view(&path)),
      TL_SV_ARG(tl_buf_view(&hint)));
  tl_buf_release(&path);
  tl_buf_release(&hint);
  return status;
}

static tl_status report_output(checking *c, tl_value_id out) {
  const tl_module *m = c->x->m;
  tl_buf path;
  tl_buf_init(&path);
  tl_train_add_path(m, c->powers.from, out, &path);
  tl_status status = tl_fail_code(
      m->diag, TL_UNSUPPORTED, "E-TRN-SCALED", TL_AT_NODE(m->path, tl_value_name(m, out)),
      "the scaled loss reaches this output, which does not grow in proportion to it: %.*s"
      "\vname the gradient that it is computed from in --train-spec: {\"grads\": ...}, or leave "
      "the output out: --out-nodes",
      TL_SV_ARG(tl_buf_view(&path)));
  tl_buf_release(&path);
  return status;
}

static tl_status report_unscaled(const checking *c, const tl_train_grad *g) {
  const tl_module *m = c->x->m;
  return tl_fail_code(
      m->diag, TL_UNSUPPORTED, "E-LS-SEED", TL_AT_NODE(m->path, tl_value_name(m, g->param)),
      "its gradient '%.*s' is not proportional to the seed of backward, so it would be divided by "
      "a scale that it never had\vname a value that all gradients depend on: tailor.train.seed",
      TL_SV_ARG(tl_value_name(m, g->raw)));
}

/* ---- outputs that grow in proportion --------------------------------------------------------- */

/* Replaces an output of the graph, also where it is the next value of a state. */
static void set_output(tl_loss_scaling *scaling, tl_value_id old, tl_value_id made) {
  tl_module *m = scaling->m;
  tl_node_id ret = tl_module_main(m)->ret;
  for (uint32_t i = 0; i < tl_node_get(m, ret)->n_operands; i++)
    if (tl_operand(m, ret, i) == old)
      tl_node_set_operand(m, ret, i, made);
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].output == old)
      m->states.at[i].output = made;
}

/* Divides an output in f32, then casts it to its own dtype. */
static void divide(tl_loss_scaling *scaling, tl_value_id v) {
  tl_dtype d = tl_type_dtype(scaling->m, tl_value_type(scaling->m, v));
  tl_dtype by = d == TL_DTYPE_F64 ? d : TL_DTYPE_F32;
  tl_maker k = scaling->k;
  tl_symbol name = k.base = tl_value_get(scaling->m, v)->name;
  tl_symbol scaled = tl_maker_name(&k, TL_SV("scaled"));
  tl_value_id wide = tl_ls_cast(&k, v, by);
  tl_value_id made =
      tl_ls_make(&k, TL_OP_Mul, wide, tl_ls_cast(&k, scaling->inverse, by), TL_NO_VALUE);
  made = tl_ls_cast(&k, made, d);
  k.no_memory = k.no_memory || scaled == TL_NO_SYMBOL;
  tl_ls_adopt(scaling, &k);
  if (!made || tl_maker_failed(&scaling->k))
    return;
  set_output(scaling, v, made);
  tl_value_set_name(scaling->m, v, scaled);
  tl_value_set_name(scaling->m, made, name);
}

/* Divides an output that is proportional to the scale, and refuses one that depends on it
 * otherwise. The scale itself may leave. */
static tl_status check_output(checking *c, tl_value_id out) {
  tl_loss_scaling *scaling = c->x;
  tl_power p = (tl_power)c->powers.of[out];
  if (p == TL_POWER_NONE || p == TL_POWER_ANY || out == scaling->scale)
    return TL_OK;
  tl_value_id in = input_of(c, out);
  if (p == TL_POWER_ONCE && tl_value_producer(scaling->m, out)) {
    divide(scaling, out);
    return tl_maker_status(&scaling->k);
  }
  return in ? report_state(c, in, out) : report_output(c, out);
}

static tl_status check(checking *c) {
  tl_loss_scaling *scaling = c->x;
  const tl_graph *g = tl_module_main(scaling->m);
  uint32_t n = tl_graph_n_outputs(scaling->m, g);
  for (uint32_t i = 0; i < scaling->info.n; i++)
    if (scaling->unscaled[i] && c->powers.of[scaling->source[i]] == TL_POWER_NONE)
      return report_unscaled(c, &scaling->info.grads[i]);
  for (uint32_t i = 0; i < n; i++) {
    tl_value_id out = tl_graph_output(scaling->m, g, i);
    if (out < c->n_values)
      TL_TRY(check_output(c, out));
  }
  return TL_OK;
}

/* Fills x->touched: everything computed from the start of backward. States among it wait for the
 * overflow check as well. */
static bool find_touched(checking *c) {
  tl_loss_scaling *scaling = c->x;
  uint8_t *touched = tl_arena_calloc(scaling->p->scratch, c->n_values, 1);
  if (touched && scaling->started)
    touched[scaling->started] = 1;
  for (uint32_t i = 0; touched && i < scaling->info.n; i++)
    touched[scaling->info.grads[i].raw] = 1;
  for (uint32_t i = 0; touched && i < scaling->info.n_untold;
       i++) /* it is to wait with the others */
    touched[scaling->info.untold[i].output] = scaling->info.untold[i].gradient;
  scaling->touched = touched;
  scaling->n_touched = c->n_values;
  return touched && tl_train_spread(scaling->m, touched) == TL_OK;
}

tl_status tl_ls_check(tl_loss_scaling *scaling, const tl_ls_start *start) {
  checking c = {.x = scaling};
  if (!open_tables(&c) || !find_touched(&c))
    return tl_no_memory(scaling->m);
  set_sources(&c, start);
  tl_power_sweep(&c.powers, tl_module_main(scaling->m));
  scaling->k.no_memory = scaling->k.no_memory || c.powers.no_memory;
  tl_status status = tl_maker_status(&scaling->k);
  tl_u32_vec_release(&c.powers.captures);
  return status == TL_OK ? check(&c) : status;
}
