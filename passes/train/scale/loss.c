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
#include "passes/train/scale/loss.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/train/comm/collective.h"
#include "passes/train/scale/linear.h"
#include "passes/train/scale/loss_scale.h"

/* ---- making ---------------------------------------------------------------------------------- */

/* Marks a node that was just made; see tl_ls_make. */
static tl_value_id marked(tl_maker *k, tl_value_id v) {
  if (v && !tl_node_put_mark(k->m, tl_value_producer(k->m, v), TL_MARK_KEEP_DTYPE))
    k->no_memory = true;
  return v;
}

tl_value_id tl_ls_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c) {
  return marked(k, tl_make(k, op, a, b, c));
}

tl_value_id tl_ls_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n,
                            tl_attr attr) {
  return marked(k, tl_make_list(k, op, at, n, attr));
}

tl_value_id tl_ls_cast(tl_maker *k, tl_value_id v, tl_dtype to) {
  if (!v || tl_type_dtype(k->m, tl_value_type(k->m, v)) == to)
    return v;
  return marked(k, tl_make_with(k, TL_OP_Cast, v, TL_NO_VALUE,
                                tl_attr_int(TL_SYM_to, tl_dtype_get(to)->onnx)));
}

tl_maker tl_ls_before(const tl_loss_scaling *x, tl_node_id n) {
  tl_maker k = x->k;
  k.before = n;
  k.like = n ? n : k.like;
  return k;
}

void tl_ls_adopt(tl_loss_scaling *x, const tl_maker *k) {
  x->k.no_memory = x->k.no_memory || k->no_memory;
  x->k.clash = x->k.clash || k->clash;
}

void tl_ls_name(tl_loss_scaling *x, tl_value_id v, const char *name) {
  tl_symbol s = tl_module_intern(x->m, tl_sv_from(name));
  x->k.no_memory = x->k.no_memory || s == TL_NO_SYMBOL;
  if (v && s != TL_NO_SYMBOL)
    tl_value_set_name(x->m, v, s);
}

tl_train_region tl_ls_region_of_use(const tl_loss_scaling *x, tl_use_id u) {
  tl_node_id n = tl_use_get(x->m, u)->user;
  const tl_graph *g = tl_graph_get(x->m, tl_node_get(x->m, n)->graph);
  while (g->kind == TL_GRAPH_BODY) {
    n = g->owner;
    g = tl_graph_get(x->m, tl_node_get(x->m, n)->graph);
  }
  return tl_train_region_of(&x->info, n);
}

void tl_ls_set_use(tl_module *m, tl_use_id u, tl_value_id v) {
  tl_node_id n = tl_use_get(m, u)->user;
  tl_node_set_operand(m, n, u - tl_node_get(m, n)->operands, v);
}

void tl_ls_add_output(tl_loss_scaling *x, tl_value_id v) {
  const tl_graph *g = tl_module_main(x->m);
  uint32_t n = tl_graph_n_outputs(x->m, g);
  tl_value_id *all = tl_arena_calloc(x->p->scratch, n + 1U, sizeof *all);
  x->k.no_memory = x->k.no_memory || !all;
  if (!v || tl_maker_failed(&x->k))
    return;
  for (uint32_t i = 0; i < n; i++)
    all[i] = tl_graph_output(x->m, g, i);
  all[n] = v;
  x->k.no_memory = tl_graph_set_outputs(x->m, g->id, all, n + 1) != TL_OK;
}

void tl_ls_add_state(tl_loss_scaling *x, tl_value_id input, tl_value_id output) {
  tl_state s = {.input = input, .output = output};
  if (!tl_maker_failed(&x->k) && !tl_state_vec_push(&x->m->states, s))
    x->k.no_memory = true;
}

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
       row->how != TL_LINEAR_QUOTIENT) ||
      tl_operand(m, n, 0) != v || tl_node_get(m, n)->n_results != 1)
    return TL_NO_VALUE;
  for (uint32_t i = 1; i < tl_node_get(m, n)->n_operands; i++)
    if (tl_operand(m, n, i) && (i > 1 || !tl_value_constant(m, tl_operand(m, n, i))))
      return TL_NO_VALUE;
  return tl_result(m, n, 0);
}

/* Returns where to unscale a gradient. One that the model reduces itself is unscaled behind the
 * collective, even if it is scaled or cast before: what travels keeps its dtype and the scale,
 * which protects it from underflow. */
static tl_value_id reduced(const tl_loss_scaling *x, const tl_train_grad *g) {
  enum { DEEPEST = 8 };
  tl_value_id v = g->cls == TL_GRAD_DONE && g->comm ? g->raw : TL_NO_VALUE;
  for (int i = 0; v && i < DEEPEST; i++) {
    tl_value_id sum = result_for(x->m, g->comm, v);
    if (sum)
      return sum;
    v = only_step(x->m, v);
  }
  return g->raw;
}

/* Returns true if a use must see the unscaled gradient. Nodes with ids from n_nodes on were made by
 * this pass. */
static bool wants_unscaled(const tl_loss_scaling *x, tl_use_id u) {
  tl_train_region r = tl_ls_region_of_use(x, u);
  return tl_use_get(x->m, u)->user < x->info.n_nodes && r != TL_REGION_BACKWARD &&
         r != TL_REGION_FORWARD;
}

/* Returns the first user, in the graph's order, that must see the unscaled gradient: TL_NO_NODE if
 * only outputs of the graph do. The multiplication goes right before it. */
static tl_node_id first_user(const tl_loss_scaling *x, tl_value_id v) {
  tl_node_id first = TL_NO_NODE;
  const tl_graph *main = tl_module_main(x->m);
  TL_FOR_USES(x->m, v, u) {
    tl_node_id n = tl_use_get(x->m, u)->user;
    if (!wants_unscaled(x, u) || n == main->ret)
      continue;
    while (tl_node_get(x->m, n)->graph != main->id)
      n = tl_graph_get(x->m, tl_node_get(x->m, n)->graph)->owner;
    if (!first || tl_node_is_before(x->m, n, first))
      first = n;
  }
  return first;
}

/* Lets users outside backward read `to`; an output keeps its name. */
static void give_unscaled(tl_loss_scaling *x, tl_value_id from, tl_value_id to) {
  tl_node_id ret = tl_module_main(x->m)->ret;
  bool leaves = false;
  TL_FOR_USES(x->m, from, u) {
    if (!wants_unscaled(x, u))
      continue;
    leaves = leaves || tl_use_get(x->m, u)->user == ret;
    tl_ls_set_use(x->m, u, to);
  }
  if (!leaves)
    return;
  tl_maker k = x->k;
  tl_symbol name = k.base = tl_value_get(x->m, from)->name;
  tl_symbol scaled = tl_maker_name(&k, TL_SV("scaled"));
  x->k.no_memory = x->k.no_memory || scaled == TL_NO_SYMBOL;
  if (scaled == TL_NO_SYMBOL)
    return;
  tl_value_set_name(x->m, from, scaled);
  tl_value_set_name(x->m, to, name);
}

/* Multiplies by the inverse in f32, and the product stays f32: in f16, 1/s is subnormal for scales
 * above 2^14, and small gradients without the scale are subnormal too. compat_unscale keeps the
 * dtype. */
static tl_value_id times_inverse(tl_loss_scaling *x, tl_maker *k, tl_value_id v,
                                 tl_value_id inverse) {
  tl_dtype d = tl_type_dtype(x->m, tl_value_type(x->m, v));
  tl_dtype by = d == TL_DTYPE_F64 || x->c->compat_unscale ? d : TL_DTYPE_F32;
  tl_value_id wide = tl_ls_cast(k, v, by);
  tl_value_id factor = tl_ls_cast(k, inverse, by);
  return tl_ls_make(k, TL_OP_Mul, wide, factor, TL_NO_VALUE);
}

/* Unscales gradient i. v: the gradient as its users know it; it may be the start of backward
 * itself. */
static void unscale_one(tl_loss_scaling *x, uint32_t i, tl_value_id v, tl_value_id inverse) {
  x->given[i] = v;
  x->source[i] = v == x->start ? x->started : v;
  for (uint32_t j = 0; j < i; j++) /* one gradient of several parameters */
    if (x->source[j] == x->source[i]) {
      x->unscaled[i] = x->unscaled[j];
      return;
    }
  tl_maker k = tl_ls_before(x, first_user(x, v));
  k.base = tl_value_get(x->m, v)->name;
  x->unscaled[i] = times_inverse(x, &k, x->source[i], inverse);
  tl_ls_adopt(x, &k);
  if (!tl_maker_failed(&x->k) &&
      tl_value_type(x->m, x->unscaled[i]) == tl_value_type(x->m, x->source[i]))
    give_unscaled(x, v, x->unscaled[i]);
}

/* Makes the factor that gradients are multiplied by: 1/s. With average=fold it contains 1/ranks as
 * well. */
static tl_value_id make_inverse(tl_loss_scaling *x) {
  tl_maker k = tl_ls_before(x, tl_module_main(x->m)->first);
  bool folds = x->ranks && x->c->average == TL_AVERAGE_FOLD && x->c->rank_size;
  double ranks = folds ? x->c->rank_size : 1;
  tl_value_id v;
  if (tl_value_constant(x->m, x->scale)) {
    v = tl_make_number(&k, TL_DTYPE_F32, (double)(1 / (x->c->loss_scale.init * (float)ranks)));
  } else {
    tl_value_id s = x->scale;
    if (folds)
      s = tl_ls_make(&k, TL_OP_Mul, s, tl_make_number(&k, TL_DTYPE_F32, ranks), TL_NO_VALUE);
    v = tl_ls_make(&k, TL_OP_Reciprocal, s, TL_NO_VALUE, TL_NO_VALUE);
  }
  tl_ls_adopt(x, &k);
  return v;
}

/* Checks an optimizer with a loss_scale attribute. If the manager leaves the division to the
 * optimizer, the attribute must equal the manager's scale; otherwise it must be 1, since the scale
 * would be divided out twice. *divides: the optimizer unscales. */
static tl_status check_optimizer(tl_loss_scaling *x, const tl_train_grad *g, bool *divides) {
  const tl_attr *a = NULL;
  tl_symbol name = tl_module_intern(x->m, TL_SV("loss_scale"));
  *divides = x->c->loss_scale.kind == TL_LOSS_SCALE_FIXED_BLIND && x->c->optimizer_loss_scale != 0;
  if (name == TL_NO_SYMBOL)
    x->k.no_memory = true;
  else if (g->update)
    a = tl_node_attr(x->m, g->update, name);
  if (!a || a->kind != TL_ATTR_FLOAT)
    return TL_OK;
  *divides = x->c->loss_scale.kind == TL_LOSS_SCALE_FIXED_BLIND;
  if (a->u.f == (*divides ? x->c->loss_scale.init : 1))
    return TL_OK;
  if (!*divides)
    return tl_fail_code(x->m->diag, TL_INVALID_ARGUMENT, "E-LS-OPT", tl_node_where(x->m, g->update),
                        "the optimizer divides by its own loss scale, %g, and the manager divides "
                        "too\vset loss_scale of the optimizer to 1",
                        (double)a->u.f);
  return tl_fail_code(x->m->diag, TL_INVALID_ARGUMENT, "E-LS-OPT", tl_node_where(x->m, g->update),
                      "the optimizer divides by a loss scale of %g, the manager multiplies by %g",
                      (double)a->u.f, (double)x->c->loss_scale.init);
}

/* In f16, 1/s is subnormal for s > 2^14 and 0 from 2^25 on. */
static void warn_of_f16(const tl_loss_scaling *x) {
  bool half = false;
  for (uint32_t i = 0; i < x->info.n; i++)
    half = half || x->info.grads[i].dtype == TL_DTYPE_F16;
  if (half && x->c->compat_unscale)
    tl_warn_code(x->m->diag, "W-LS-F16", TL_AT_FILE(x->m->path),
                 "compat_unscale: gradients of f16 are multiplied by the inverse of the scale in "
                 "f16, which is imprecise above 2^14 and 0 from 2^25 on");
}

/* Only force_fp16 makes updates narrower; all other modes respect TL_MARK_KEEP_DTYPE. */
static void warn_of_mode(const tl_loss_scaling *x) {
  const tl_precision_config *c = x->p->options->precision;
  if (c && c->mode == TL_PRECISION_FORCE_FP16)
    tl_warn_code(x->m->diag, "W-LS-F16", TL_AT_FILE(x->m->path),
                 "force_fp16 computes updates in f16, where gradients without the scale underflow "
                 "again\vset precision_mode=allow_mix_precision_fp16, which keeps updates f32");
}

static tl_status unscale(tl_loss_scaling *x) {
  warn_of_f16(x);
  warn_of_mode(x);
  tl_value_id inverse = x->inverse = make_inverse(x);
  for (uint32_t i = 0; i < x->info.n && !tl_maker_failed(&x->k); i++) {
    bool divides;
    TL_TRY(check_optimizer(x, &x->info.grads[i], &divides));
    if (divides && x->ranks && x->c->average == TL_AVERAGE_FOLD)
      return tl_fail_code(
          x->m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", TL_AT_FILE(x->m->path),
          "average=fold has no factor to fold into, because the optimizer unscales itself");
    if (!divides)
      unscale_one(x, i, reduced(x, &x->info.grads[i]), inverse);
  }
  TL_TRY(tl_maker_status(&x->k));
  return x->c->compat_unscale ? TL_OK : tl_ls_widen(x);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static tl_status scale(tl_loss_scaling *x) {
  tl_ls_start start;
  TL_TRY(tl_ls_find_start(x, &start));
  tl_ls_make_inputs(x);
  tl_ls_scale_start(x, &start);
  TL_TRY(tl_maker_status(&x->k));
  TL_TRY(unscale(x));
  TL_TRY(tl_ls_check(x, &start));
  if (x->c->loss_scale.kind != TL_LOSS_SCALE_FIXED_BLIND) {
    TL_TRY(tl_ls_make_status(x));
    TL_TRY(tl_ls_guard_updates(x));
    tl_ls_make_rule(x);
    tl_ls_add_output(x, x->finite);
  }
  TL_TRY(tl_maker_status(&x->k));
  tl_pass_remark(x->p, x->m, TL_NO_NODE, true, "%u gradients are scaled", x->info.n);
  return TL_OK;
}

tl_status tl_pass_loss_scale(tl_pass *p, tl_module *m) {
  const tl_train_config *c = p->options->train;
  const tl_graph *g = tl_module_main(m);
  if (!tl_train_is_on(p->options) || !c->is_loss_scale || !c->has_manager ||
      tl_comm_is_no_step(m) || tl_graph_find_value(m, g, TL_SV(TL_LS_SEED)))
    return TL_OK; /* nothing to do, or done before */
  tl_loss_scaling x = {.p = p, .m = m, .c = c};
  TL_TRY(tl_train_detect(m, p->scratch, &x.info));
  if (!x.info.n || !tl_pass_may_rewrite(p))
    return TL_OK;
  x.ranks = c->is_distributed && (c->rank_size != 1 || c->force_allreduce);
  x.k = (tl_maker){.m = m, .graph = g->id, .like = g->last};
  x.k.base = tl_module_intern(m, TL_SV("tlr.ls"));
  x.given = tl_arena_calloc(p->scratch, x.info.n, sizeof *x.given);
  x.source = tl_arena_calloc(p->scratch, x.info.n, sizeof *x.source);
  x.unscaled = tl_arena_calloc(p->scratch, x.info.n, sizeof *x.unscaled);
  x.k.no_memory = !x.given || !x.source || !x.unscaled || x.k.base == TL_NO_SYMBOL;
  TL_TRY(tl_maker_status(&x.k));
  return scale(&x);
}
