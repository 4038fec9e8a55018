/* SPDX-License-Identifier: Apache-2.0 */
/* loss-scale: backward starts from a scaled seed, gradients are divided by the scale before anybody
 * updates with them, a step whose gradients overflowed changes no state, and the scale follows the
 * rule of its manager.
 *
 * Requires:  types inferred, the training step recognised.
 * Keeps:     the loss, forward states such as running statistics; names of inputs and outputs.
 * After:     raw gradients are scaled and stay where they were, so that sums over ranks, which
 *            later passes put on them, come before the unscaling.
 * Cost:      O(nodes); see tl_ls_find_start.
 * Tests:     tests/golden/loss-scale/, tests/train/ */
#include "passes/train/scale/scaling.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/train/comm/collective.h"
#include "passes/train/scale/linear.h"
#include "passes/train/scale/loss_scale.h"
#include "passes/train/step/find_step.h"

/* ---- unscaling ------------------------------------------------------------------------------- */

/* Returns the result of a collective for operand v; TL_NO_VALUE if it does not take v. */
static tl_value_id result_for(const tl_module *m, tl_node_id comm, tl_value_id v) {
  for (uint32_t i = 0; i < tl_node_get(m, comm)->n_operands; i++)
    if (tl_operand(m, comm, i) == v)
      return tl_result(m, comm, i);
  return TL_NO_VALUE;
}

/* Returns the result of the only user of v if that multiplies v by a constant, casts or views it;
 * TL_NO_VALUE otherwise. */
static tl_value_id only_step(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  tl_node_id n = value->n_uses == 1 ? tl_use_get(m, value->first_use)->user : TL_NO_NODE;
  const tl_linear *row = n ? tl_linear_find(tl_node_get(m, n)->op) : NULL;
  if (!row || tl_node_get(m, n)->graph != tl_module_main(m)->id ||
      (row->how != TL_LINEAR_MAP && row->how != TL_LINEAR_PRODUCT &&
       row->how != TL_LINEAR_FACTORS && row->how != TL_LINEAR_QUOTIENT) ||
      tl_operand(m, n, 0) != v || tl_node_get(m, n)->n_results != 1)
    return TL_NO_VALUE;
  for (uint32_t i = 1; i < tl_node_get(m, n)->n_operands; i++)
    if (tl_operand(m, n, i) && (i > 1 || !tl_value_constant(m, tl_operand(m, n, i))))
      return TL_NO_VALUE;
  return tl_result(m, n, 0);
}

/* Returns where to unscale a gradient. One that the model reduces itself is unscaled behind the
 * collective, even if it is scaled or cast before: what travels keeps its dtype and the scale,
 * which protects it from underflow. A collective in a branch is given the unscaled gradient:
 * nothing behind it is there for the whole step. */
static tl_value_id reduced(const tl_loss_scaling *scaling, const tl_train_grad *g) {
  enum { DEEPEST = 8 };
  tl_value_id v = g->cls == TL_GRAD_DONE && g->comm ? g->raw : TL_NO_VALUE;
  for (int i = 0; v && i < DEEPEST; i++) {
    tl_value_id sum = result_for(scaling->m, g->comm, v);
    if (sum)
      return tl_value_graph(scaling->m, sum) == tl_module_main(scaling->m)->id ? sum : g->raw;
    v = only_step(scaling->m, v);
  }
  return g->raw;
}

/* Returns true if a use must see the unscaled gradient. Nodes with ids from n_nodes on were made by
 * this pass. */
static bool wants_unscaled(const tl_loss_scaling *scaling, tl_use_id u) {
  tl_train_region r = tl_ls_region_of_use(scaling, u);
  return tl_use_get(scaling->m, u)->user < scaling->info.n_nodes && r != TL_REGION_BACKWARD &&
         r != TL_REGION_FORWARD;
}

/* Returns the first user, in the graph's order, that must see the unscaled gradient: TL_NO_NODE if
 * only outputs of the graph do. The multiplication goes right before it. */
static tl_node_id first_user(const tl_loss_scaling *scaling, tl_value_id v) {
  tl_node_id first = TL_NO_NODE;
  const tl_graph *main = tl_module_main(scaling->m);
  TL_FOR_USES(scaling->m, v, u) {
    tl_node_id n = tl_use_get(scaling->m, u)->user;
    if (!wants_unscaled(scaling, u) || n == main->ret)
      continue;
    while (tl_node_get(scaling->m, n)->graph != main->id)
      n = tl_graph_get(scaling->m, tl_node_get(scaling->m, n)->graph)->owner;
    if (!first || tl_node_is_before(scaling->m, n, first))
      first = n;
  }
  return first;
}

/* Lets users outside backward read `to`; an output keeps its name. */
static void give_unscaled(tl_loss_scaling *scaling, tl_value_id from, tl_value_id to) {
  tl_node_id ret = tl_module_main(scaling->m)->ret;
  bool leaves = false;
  TL_FOR_USES(scaling->m, from, u) {
    if (!wants_unscaled(scaling, u))
      continue;
    leaves = leaves || tl_use_get(scaling->m, u)->user == ret;
    tl_ls_set_use(scaling->m, u, to);
  }
  if (!leaves)
    return;
  tl_maker k = scaling->k;
  tl_symbol name = k.base = tl_value_get(scaling->m, from)->name;
  tl_symbol scaled = tl_maker_name(&k, TL_SV("scaled"));
  scaling->k.no_memory = scaling->k.no_memory || scaled == TL_NO_SYMBOL;
  if (scaled == TL_NO_SYMBOL)
    return;
  tl_value_set_name(scaling->m, from, scaled);
  tl_value_set_name(scaling->m, to, name);
}

/* Multiplies by the inverse in f32, and the product stays f32: in f16, 1/s is subnormal for scales
 * above 2^14, and small gradients without the scale are subnormal too. compat_unscale keeps the
 * dtype. */
static tl_value_id times_inverse(tl_loss_scaling *scaling, tl_maker *k, tl_value_id v,
                                 tl_value_id inverse) {
  tl_dtype d = tl_type_dtype(scaling->m, tl_value_type(scaling->m, v));
  tl_dtype by = d == TL_DTYPE_F64 || scaling->c->compat_unscale ? d : TL_DTYPE_F32;
  tl_value_id wide = tl_ls_cast(k, v, by);
  tl_value_id factor = tl_ls_cast(k, inverse, by);
  return tl_ls_make(k, TL_OP_Mul, wide, factor, TL_NO_VALUE);
}

/* Unscales gradient i. v: the gradient as its users know it; it may be the start of backward
 * itself. */
static void unscale_one(tl_loss_scaling *scaling, uint32_t i, tl_value_id v, tl_value_id inverse) {
  scaling->given[i] = v;
  scaling->source[i] = v == scaling->start ? scaling->started : v;
  for (uint32_t j = 0; j < i; j++) /* one gradient of several parameters */
    if (scaling->source[j] == scaling->source[i]) {
      scaling->unscaled[i] = scaling->unscaled[j];
      return;
    }
  tl_maker k = tl_ls_before(scaling, first_user(scaling, v));
  k.base = tl_value_get(scaling->m, v)->name;
  scaling->unscaled[i] = times_inverse(scaling, &k, scaling->source[i], inverse);
  tl_ls_adopt(scaling, &k);
  if (!tl_maker_failed(&scaling->k) && tl_value_type(scaling->m, scaling->unscaled[i]) ==
                                           tl_value_type(scaling->m, scaling->source[i]))
    give_unscaled(scaling, v, scaling->unscaled[i]);
}

/* Makes the factor that gradients are multiplied by: 1/s. With average=fold it contains 1/ranks as
 * well. */
static tl_value_id make_inverse(tl_loss_scaling *scaling) {
  tl_maker k = tl_ls_before(scaling, tl_module_main(scaling->m)->first);
  bool folds = scaling->ranks && scaling->c->average == TL_AVERAGE_FOLD && scaling->c->rank_size;
  double ranks = folds ? scaling->c->rank_size : 1;
  tl_value_id v;
  if (tl_value_constant(scaling->m, scaling->scale)) {
    v = tl_make_number(&k, TL_DTYPE_F32,
                       (double)(1 / (scaling->c->loss_scale.init * (float)ranks)));
  } else {
    tl_value_id s = scaling->scale;
    if (folds)
      s = tl_ls_make(&k, TL_OP_Mul, s, tl_make_number(&k, TL_DTYPE_F32, ranks), TL_NO_VALUE);
    v = tl_ls_make(&k, TL_OP_Reciprocal, s, TL_NO_VALUE, TL_NO_VALUE);
  }
  tl_ls_adopt(scaling, &k);
  return v;
}

/* Checks an optimizer with a loss_scale attribute. If the manager leaves the division to the
 * optimizer, the attribute must equal the manager's scale; otherwise it must be 1, since the scale
 * would be divided out twice. *divides: the optimizer unscales. */
static tl_status check_optimizer(tl_loss_scaling *scaling, const tl_train_grad *g, bool *divides) {
  const tl_attr *a = NULL;
  tl_symbol name = tl_module_intern(scaling->m, TL_SV("loss_scale"));
  *divides = scaling->c->loss_scale.kind == TL_LOSS_SCALE_FIXED_BLIND &&
             scaling->c->optimizer_loss_scale != 0;
  if (name == TL_NO_SYMBOL)
    scaling->k.no_memory = true;
  else if (g->update)
    a = tl_node_attr(scaling->m, g->update, name);
  if (!a || a->kind != TL_ATTR_FLOAT)
    return TL_OK;
  *divides = scaling->c->loss_scale.kind == TL_LOSS_SCALE_FIXED_BLIND;
  if (a->u.f == (*divides ? scaling->c->loss_scale.init : 1))
    return TL_OK;
  if (!*divides)
    return tl_fail_code(scaling->m->diag, TL_INVALID_ARGUMENT, "E-LS-OPT",
                        tl_node_where(scaling->m, g->update),
                        "the optimizer divides by its own loss scale, %g, and the manager divides "
                        "too\vset loss_scale of the optimizer to 1",
                        (double)a->u.f);
  return tl_fail_code(scaling->m->diag, TL_INVALID_ARGUMENT, "E-LS-OPT",
                      tl_node_where(scaling->m, g->update),
                      "the optimizer divides by a loss scale of %g, the manager multiplies by %g",
                      (double)a->u.f, (double)scaling->c->loss_scale.init);
}

/* In f16, 1/s is subnormal for s > 2^14 and 0 from 2^25 on. */
static void warn_of_f16(const tl_loss_scaling *scaling) {
  bool half = false;
  for (uint32_t i = 0; i < scaling->info.n; i++)
    half = half || scaling->info.grads[i].dtype == TL_DTYPE_F16;
  if (half && scaling->c->compat_unscale)
    tl_warn_code(scaling->m->diag, "W-LS-F16", TL_AT_FILE(scaling->m->path),
                 "compat_unscale: gradients of f16 are multiplied by the inverse of the scale in "
                 "f16, which is imprecise above 2^14 and 0 from 2^25 on");
}

/* Only force_fp16 makes updates narrower; all other modes respect TL_MARK_KEEP_DTYPE. */
static void warn_of_mode(const tl_loss_scaling *scaling) {
  const tl_precision_config *c = scaling->p->options->precision;
  if (c && c->mode == TL_PRECISION_FORCE_FP16)
    tl_warn_code(scaling->m->diag, "W-LS-F16", TL_AT_FILE(scaling->m->path),
                 "force_fp16 computes updates in f16, where gradients without the scale underflow "
                 "again\vset precision_mode=allow_mix_precision_fp16, which keeps updates f32");
}

/* Refuses a gradient that is no float: what an unknown op makes of it may have no type. */
static tl_status check_float(const tl_loss_scaling *scaling, const tl_train_grad *g,
                             tl_value_id v) {
  const tl_module *m = scaling->m;
  if (tl_dtype_is_float(tl_type_dtype(m, tl_value_type(m, v))))
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_NODE(m->path, tl_value_name(m, g->param)),
                 "its gradient '%.*s' has no floating-point type, so that it cannot be unscaled"
                 "\vdeclare its type in the model",
                 TL_SV_ARG(tl_value_name(m, v)));
}

static tl_status unscale(tl_loss_scaling *scaling) {
  warn_of_f16(scaling);
  warn_of_mode(scaling);
  tl_value_id inverse = scaling->inverse = make_inverse(scaling);
  for (uint32_t i = 0; i < scaling->info.n && !tl_maker_failed(&scaling->k); i++) {
    bool divides;
    TL_TRY(check_optimizer(scaling, &scaling->info.grads[i], &divides));
    if (divides && scaling->ranks && scaling->c->average == TL_AVERAGE_FOLD)
      return tl_fail_code(
          scaling->m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", TL_AT_FILE(scaling->m->path),
          "average=fold has no factor to fold into, because the optimizer unscales itself");
    tl_value_id v = reduced(scaling, &scaling->info.grads[i]);
    TL_TRY(check_float(scaling, &scaling->info.grads[i], v));
    if (!divides)
      unscale_one(scaling, i, v, inverse);
  }
  TL_TRY(tl_maker_status(&scaling->k));
  return scaling->c->compat_unscale ? TL_OK : tl_ls_widen(scaling);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static tl_status scale(tl_loss_scaling *scaling) {
  tl_ls_start start;
  TL_TRY(tl_ls_find_start(scaling, &start));
  tl_ls_make_inputs(scaling);
  tl_ls_scale_start(scaling, &start);
  TL_TRY(tl_maker_status(&scaling->k));
  TL_TRY(unscale(scaling));
  TL_TRY(tl_ls_check(scaling, &start));
  if (scaling->c->loss_scale.kind != TL_LOSS_SCALE_FIXED_BLIND) {
    TL_TRY(tl_ls_make_status(scaling));
    TL_TRY(tl_ls_guard_updates(scaling));
    tl_ls_make_rule(scaling);
    tl_ls_add_output(scaling, scaling->finite);
  }
  TL_TRY(tl_maker_status(&scaling->k));
  tl_pass_remark(scaling->p, scaling->m, TL_NO_NODE, true, "%u gradients are scaled",
                 scaling->info.n);
  return TL_OK;
}

tl_status tl_pass_loss_scale(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  const tl_graph *g = tl_module_main(m);
  if (!tl_train_is_on(p->options) || !c->is_loss_scale || !c->has_manager ||
      tl_comm_is_no_step(m) || tl_graph_find_value(m, g, TL_SV(TL_LS_SEED)))
    return TL_OK; /* nothing to do, or done before */
  tl_loss_scaling scaling = {.p = p, .m = m, .c = c};
  TL_TRY(tl_train_detect(m, p->scratch, &scaling.info));
  if (!scaling.info.n || !tl_pass_may_rewrite(p))
    return TL_OK;
  scaling.ranks = c->is_distributed && (c->rank_size != 1 || c->force_allreduce);
  scaling.k = (tl_maker){.m = m, .graph = g->id, .like = g->last};
  scaling.k.base = tl_module_intern(m, TL_SV("tlr.ls"));
  scaling.given = tl_arena_calloc(p->scratch, scaling.info.n, sizeof *scaling.given);
  scaling.source = tl_arena_calloc(p->scratch, scaling.info.n, sizeof *scaling.source);
  scaling.unscaled = tl_arena_calloc(p->scratch, scaling.info.n, sizeof *scaling.unscaled);
  scaling.k.no_memory = !scaling.given || !scaling.source || !scaling.unscaled ||
                        scaling.k.base == TL_NO_SYMBOL;
  TL_TRY(tl_maker_status(&scaling.k));
  return scale(&scaling);
}
