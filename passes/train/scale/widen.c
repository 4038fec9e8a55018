/* SPDX-License-Identifier: Apache-2.0 */
/* Makes updates of unscaled gradients compute in f32.
 * The model's own cast to f32 gives way to the unscaled gradient, and f16 arithmetic between a
 * gradient and its update is done in f32, so that nothing which the scale has saved underflows
 * again. States and outputs keep their dtypes: they are rounded last. */
#include <stdlib.h>
#include <string.h>

#include "ir/infer/infer.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/casts.h"
#include "passes/edit/values.h"
#include "passes/train/scale/scaling.h"

typedef struct widening {
  tl_loss_scaling *x;
  tl_module *m;
  tl_cast_set casts;   /* of what meets a gradient: rates, bounds, moments */
  tl_value_id *wide;   /* [n_values] what f32 there is of it; itself: its node gives f32 now */
  tl_value_id *narrow; /* [n_values] it in its own dtype, for those who want that */
  uint8_t *dtype;      /* [n_values] the own dtype of what is wide */
  bool *settled;       /* [n_values] a new parameter, or computed from one: no gradient any more */
  bool *from_gradient; /* [n_values] a gradient without the scale, or computed from one */
  uint32_t n_values;
  tl_node_id n_nodes; /* of the model; newer ones are ours */
  tl_value_id lost;   /* the first output or state of f16 that takes part of a gradient */
  uint32_t n_lost;
  tl_node_id refusing; /* the first node that takes gradients in f16 alone */
  uint32_t n_refusing;
  tl_u32_vec casts_of_model; /* owned: to f16 or bf16, which nobody may want any more */
  tl_value_id list; /* a sequence that is f32 now and is wanted as it was, which no cast gives */
} widening;

static bool is_narrow(tl_dtype d) { return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16; }

bool tl_ls_is_narrow(const tl_module *m, tl_value_id v) {
  return is_narrow(tl_type_dtype(m, tl_value_type(m, v)));
}

static tl_dtype dtype_of(const widening *w, tl_value_id v) {
  return v ? tl_type_dtype(w->m, tl_value_type(w->m, v)) : TL_DTYPE_NONE;
}

static void out_of_memory(widening *w) { w->x->k.no_memory = true; }

/* Returns v in f32 for users that continue a gradient; TL_NO_VALUE if v is as it was. */
static tl_value_id wide_of(const widening *w, tl_value_id v) {
  return v && v < w->n_values && !w->settled[v] ? w->wide[v] : TL_NO_VALUE;
}

/* Returns v in its own dtype; makes the cast behind the f32 value when first needed. A sequence
 * cannot be cast; it is noted in w->list and reported at the end. */
static tl_value_id narrow_of(widening *w, tl_value_id v) {
  if (!v || v >= w->n_values || !w->wide[v])
    return v;
  if (!w->narrow[v] && tl_type_get(w->m, tl_value_type(w->m, v))->kind != TL_KIND_TENSOR) {
    w->list = v;
    return v;
  }
  if (!w->narrow[v]) {
    tl_value_id from = w->wide[v];
    tl_node_id n = tl_value_producer(w->m, from);
    tl_maker k = tl_maker_before(w->m, n);
    k.before = tl_node_get(w->m, n)->next;
    w->narrow[v] = tl_ls_cast(&k, from, (tl_dtype)w->dtype[v]);
    tl_ls_adopt(w->x, &k);
  }
  return w->narrow[v];
}

/* Returns v in f32: the f32 value that exists, or a cast in front of node n. */
static tl_value_id widened(widening *w, tl_value_id v, tl_node_id n) {
  tl_value_id from = wide_of(w, v);
  if (from || !is_narrow(dtype_of(w, narrow_of(w, v))))
    return from ? from : v;
  v = narrow_of(w, v);
  tl_value_id made = v < w->n_values ? tl_cast_set_get(&w->casts, v, TL_DTYPE_F32, n)
                                     : tl_cast_insert(w->m, v, TL_DTYPE_F32, n, false);
  if (!made)
    out_of_memory(w);
  return made;
}

static void set_wide(widening *w, tl_value_id v, tl_value_id to, tl_value_id narrow,
                     tl_dtype dtype) {
  w->wide[v] = to;
  w->narrow[v] = narrow;
  w->dtype[v] = (uint8_t)dtype;
}

/* ---- one node in f32 ------------------------------------------------------------------------- */

/* Finds the type variables of the node's op that become f32. Returns false if the op has no such
 * form. */
static bool find_variables(const widening *w, tl_node_id n, bool *wider) {
  const tl_op *row = tl_op_row(tl_node_get(w->m, n)->op);
  if (!row || tl_op_has_trait(tl_node_get(w->m, n)->op, TL_TRAIT_BODY))
    return false;
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    const tl_op_port *port = wide_of(w, v) ? tl_op_operand_port(row, i) : NULL;
    if (!wide_of(w, v))
      continue;
    if (!port)
      return false;
    if (port->var < 0)
      continue;
    const tl_type_var *var = &row->vars[port->var];
    bool tensor = tl_type_get(w->m, tl_value_type(w->m, wide_of(w, v)))->kind == TL_KIND_TENSOR;
    if (tensor && !(var->dtypes & TL_DTYPE_BIT(TL_DTYPE_F32)))
      return false;
    wider[port->var] |= tensor && var->shared && !port->heterogeneous;
  }
  return true;
}

static bool is_of_variable(const tl_op_port *port, const bool *wider) {
  return port && port->var >= 0 && wider[port->var];
}

/* Sets the operands: f32 where the variable of their port became f32, else their own dtype. */
static bool set_operands(widening *w, tl_node_id n, const bool *wider) {
  const tl_op *row = tl_op_row(tl_node_get(w->m, n)->op);
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i), to;
    if (!v)
      continue;
    if (wide_of(w, v) || is_of_variable(tl_op_operand_port(row, i), wider))
      to = widened(w, v, n);
    else
      to = narrow_of(w, v);
    if (!to)
      return false;
    tl_node_set_operand(w->m, n, i, to);
  }
  return true;
}

/* Returns the type of a result whose operands are f32 now: the inferred dtype with the dims known
 * before; if no rule infers it, the dtype of the port's variable. TL_NO_TYPE if none fits. */
static tl_type_id new_type(const widening *w, tl_node_id n, uint32_t i, tl_type_id old,
                           const bool *wider) {
  tl_module *m = w->m;
  tl_type_id made = tl_value_type(m, tl_result(m, n, i));
  const tl_type t = *tl_type_get(m, old), t_made = *tl_type_get(m, made);
  tl_dtype d = (tl_dtype)t.dtype;
  if (t.kind != TL_KIND_TENSOR)
    return made ? made : old;
  if (made && t_made.kind == TL_KIND_TENSOR && t_made.dtype)
    d = (tl_dtype)t_made.dtype;
  else if (is_narrow(d) &&
           is_of_variable(tl_op_result_port(tl_op_row(tl_node_get(m, n)->op), i), wider))
    d = TL_DTYPE_F32;
  bool fits = d == t.dtype || (is_narrow((tl_dtype)t.dtype) && d == TL_DTYPE_F32);
  return fits ? tl_type_tensor(m, d, t.rank, t.dims) : TL_NO_TYPE;
}

/* Infers results from the new operands. On failure the types are as before and false is
 * returned. */
static bool infer(widening *w, tl_node_id n, const bool *wider) {
  tl_module *m = w->m;
  uint32_t count = tl_node_get(m, n)->n_results;
  tl_type_id *old = tl_arena_calloc(w->x->p->scratch, count, sizeof *old);
  tl_muted muted;
  if (!old) {
    out_of_memory(w);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    old[i] = tl_value_type(m, tl_result(m, n, i));
    tl_value_set_type(m, tl_result(m, n, i), TL_NO_TYPE);
  }
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = tl_infer_node(m, n);
  tl_unmute(&muted);
  if (status == TL_NO_MEMORY)
    out_of_memory(w);
  bool ok = status == TL_OK;
  for (uint32_t i = 0; i < count; i++) {
    tl_type_id type = ok ? new_type(w, n, i, old[i], wider) : TL_NO_TYPE;
    ok = ok && (type || !old[i]);
    tl_value_set_type(m, tl_result(m, n, i), type ? type : old[i]);
  }
  for (uint32_t i = 0; i < count; i++) {
    tl_value_id r = tl_result(m, n, i);
    if (!ok)
      tl_value_set_type(m, r, old[i]);
    else if (tl_value_type(m, r) != old[i])
      set_wide(w, r, r, TL_NO_VALUE, (tl_dtype)tl_type_get(m, old[i])->dtype);
  }
  return ok;
}

/* Restores the operands' own dtypes, for a node that has no f32 form. */
static void refuse(widening *w, tl_node_id n, const tl_value_id *old) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = old ? old[i] : tl_operand(w->m, n, i);
    if (wide_of(w, v) && !w->n_refusing++)
      w->refusing = n;
    tl_node_set_operand(w->m, n, i, narrow_of(w, v));
  }
}

static void widen_node(widening *w, tl_node_id n) {
  bool wider[UINT8_MAX + 1] = {false};
  uint32_t count = tl_node_get(w->m, n)->n_operands;
  tl_value_id *old = tl_arena_calloc(w->x->p->scratch, count, sizeof *old);
  if (!old) {
    out_of_memory(w);
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    old[i] = tl_operand(w->m, n, i);
  bool ok = find_variables(w, n, wider) && set_operands(w, n, wider) && infer(w, n, wider);
  if (!ok)
    refuse(w, n, old);
  else if (!tl_node_put_mark(w->m, n, TL_MARK_KEEP_DTYPE))
    out_of_memory(w);
}

/* ---- casts of the model ---------------------------------------------------------------------- */

/* Removes a cast to f32 whose operand is f32 already; it becomes an Identity if something refers to
 * it. */
static void drop_cast(widening *w, tl_node_id n, tl_value_id to) {
  tl_value_id r = tl_result(w->m, n, 0);
  const tl_node *node = tl_node_get(w->m, n);
  if (!node->control_in && !node->control_out && !tl_value_leaves_graph(w->m, r)) {
    tl_value_replace_uses(w->m, r, to);
    tl_node_erase(w->m, n);
    return;
  }
  tl_node_set_op(w->m, n, TL_OP_Identity);
  if (tl_node_set_operands(w->m, n, &to, 1) != TL_OK ||
      tl_node_set_attrs(w->m, n, NULL, 0) != TL_OK)
    out_of_memory(w);
}

/* Handles a cast of the model. A cast that narrows a gradient remains only for users that need the
 * narrow dtype. */
static void widen_cast(widening *w, tl_node_id n) {
  tl_value_id v = tl_operand(w->m, n, 0), r = tl_result(w->m, n, 0), from = wide_of(w, v);
  tl_dtype to = dtype_of(w, r);
  if (from && to == TL_DTYPE_F32) {
    drop_cast(w, n, from);
    return;
  }
  tl_node_set_operand(w->m, n, 0, from ? from : narrow_of(w, v));
  if (!from && dtype_of(w, v) == TL_DTYPE_F32 && v < w->n_values && w->from_gradient[v] &&
      !w->settled[v])
    from = v;
  if (!from || !is_narrow(to))
    return;
  set_wide(w, r, from, r, to);
  if (!tl_u32_vec_push(&w->casts_of_model, n))
    out_of_memory(w);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void widen_graph(widening *w, const tl_graph *g, int depth);

static void widen_bodies(widening *w, tl_node_id n, int depth) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    if (a->kind == TL_ATTR_GRAPH)
      widen_graph(w, tl_graph_get(w->m, a->u.g), depth + 1);
    for (uint32_t k = 0; a->kind == TL_ATTR_GRAPHS && k < a->count; k++)
      widen_graph(w, tl_graph_get(w->m, a->u.ids[k]), depth + 1);
  }
}

/* Sets the results of bodies, which keep their dtypes. wider: [results] those of an If that become
 * f32; NULL: none. */
static void end_bodies(widening *w, tl_node_id n, const bool *wider) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    if (node->attrs[i].kind != TL_ATTR_GRAPH)
      continue;
    tl_node_id ret = tl_graph_get(w->m, node->attrs[i].u.g)->ret;
    for (uint32_t k = 0; k < tl_node_get(w->m, ret)->n_operands; k++) {
      tl_value_id v = tl_operand(w->m, ret, k);
      tl_value_id to = wider && wider[k] ? widened(w, v, ret) : narrow_of(w, v);
      if (to)
        tl_node_set_operand(w->m, ret, k, to);
    }
  }
}

/* Returns true if a branch gives result k in f32. */
static bool gives_wide(const widening *w, tl_node_id n, uint32_t k) {
  const tl_node *node = tl_node_get(w->m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    tl_node_id ret = a->kind == TL_ATTR_GRAPH ? tl_graph_get(w->m, a->u.g)->ret : TL_NO_NODE;
    if (ret && k < tl_node_get(w->m, ret)->n_operands && wide_of(w, tl_operand(w->m, ret, k)))
      return true;
  }
  return false;
}

/* Makes an If between gradients give f32. */
static void widen_if(widening *w, tl_node_id n) {
  uint32_t count = tl_node_get(w->m, n)->n_results;
  bool *wider = tl_arena_calloc(w->x->p->scratch, count, sizeof *wider);
  if (!wider) {
    out_of_memory(w);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    tl_dtype d = dtype_of(w, tl_result(w->m, n, i));
    wider[i] = is_narrow(d) && gives_wide(w, n, i);
  }
  end_bodies(w, n, wider);
  for (uint32_t i = 0; i < count; i++) {
    tl_value_id r = tl_result(w->m, n, i);
    tl_dtype d = dtype_of(w, r);
    tl_type_id type = wider[i] ? tl_cast_type(w->m, r, TL_DTYPE_F32) : tl_value_type(w->m, r);
    if (wider[i] && type) {
      tl_value_set_type(w->m, r, type);
      set_wide(w, r, r, TL_NO_VALUE, d);
    }
  }
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static bool reads_wide(const widening *w, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(w->m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    if (v && v < w->n_values && w->wide[v])
      return true;
  }
  return false;
}

/* Passes marks from operands to results. A body may read anything around it, so its results count
 * as computed from gradients. What leads to a collective of the model is still scaled, and no such
 * gradient. */
static void pass_on(widening *w, tl_node_id n) {
  const tl_node *node = tl_node_get(w->m, n);
  bool settled = false, from_gradient = tl_op_has_trait(node->op, TL_TRAIT_BODY);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(w->m, n, i);
    settled = settled || (v && v < w->n_values && w->settled[v]);
    from_gradient = from_gradient || (v && v < w->n_values && w->from_gradient[v]);
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    w->settled[node->results + i] = w->settled[node->results + i] || settled;
    w->from_gradient[node->results + i] = w->from_gradient[node->results + i] || from_gradient;
  }
}

static void visit(widening *w, tl_node_id n, int depth) {
  tl_op_id op = tl_node_get(w->m, n)->op;
  bool body = tl_op_has_trait(op, TL_TRAIT_BODY);
  pass_on(w, n);
  if (body)
    widen_bodies(w, n, depth);
  if (op == TL_OP_Cast || op == TL_OP_CastLike)
    widen_cast(w, n);
  else if (reads_wide(w, n))
    widen_node(w, n);
  if (op == TL_OP_If)
    widen_if(w, n);
  else if (body)
    end_bodies(w, n, NULL);
}

static void widen_graph(widening *w, const tl_graph *g, int depth) {
  if (depth > TL_MAX_BODY_DEPTH)
    return;
  TL_FOR_NODES(w->m, g, n) {
    tl_train_region r = depth ? TL_REGION_UPDATE : tl_train_region_of(&w->x->info, n);
    if (n < w->n_nodes && r == TL_REGION_UPDATE && !tl_maker_failed(&w->x->k))
      visit(w, n, depth);
  }
}

/* ---- what leaves the graph ------------------------------------------------------------------- */

/* Gives `to` the name of an output, which gets another one: "gw/scaled", "w/wide". */
static void take_name(widening *w, tl_value_id from, tl_value_id to) {
  tl_maker k = w->x->k;
  tl_symbol name = k.base = tl_value_get(w->m, from)->name;
  tl_symbol other = tl_maker_name(&k, w->wide[from] == from ? TL_SV("wide") : TL_SV("scaled"));
  if (other == TL_NO_SYMBOL) {
    out_of_memory(w);
    return;
  }
  tl_value_set_name(w->m, from, other);
  tl_value_set_name(w->m, to, name);
}

/* Lets an output leave in its own dtype, under its name. A new parameter in f16 is expected and not
 * counted as a loss. */
static void leave(widening *w, tl_value_id v, bool parameter) {
  tl_node_id ret = tl_module_main(w->m)->ret;
  tl_value_id to = narrow_of(w, v);
  if (!to || to == v)
    return;
  if (!parameter && w->dtype[v] == TL_DTYPE_F16 && !w->n_lost++)
    w->lost = to;
  take_name(w, v, to);
  for (uint32_t i = 0; i < tl_node_get(w->m, ret)->n_operands; i++)
    if (tl_operand(w->m, ret, i) == v)
      tl_node_set_operand(w->m, ret, i, to);
}

static void erase_unused(widening *w) {
  for (uint32_t i = w->casts_of_model.n; i-- > 0;) {
    tl_node_id n = w->casts_of_model.at[i];
    const tl_node *node = tl_node_get(w->m, n);
    if (!node->control_in && !node->control_out &&
        !tl_value_get(w->m, tl_result(w->m, n, 0))->n_uses)
      tl_node_erase(w->m, n);
  }
}

/* Returns the cast that replaced v as an output, or v. */
static tl_value_id successor(const widening *w, tl_value_id v) {
  bool moved = v && v < w->n_values && w->wide[v] == v && w->narrow[v];
  return moved && tl_value_is_output(w->m, w->narrow[v]) ? w->narrow[v] : v;
}

/* Updates next values of states that are casts now, in the module and, for what is guarded, in
 * x->info. */
static void follow(widening *w) {
  tl_train_info *t = &w->x->info;
  for (uint32_t i = 0; i < w->m->states.n; i++)
    w->m->states.at[i].output = successor(w, w->m->states.at[i].output);
  for (uint32_t i = 0; i < t->n; i++) {
    t->grads[i].param_out = successor(w, t->grads[i].param_out);
    for (uint32_t k = 0; k < t->grads[i].n_states; k++)
      t->grads[i].state_out[k] = successor(w, t->grads[i].state_out[k]);
  }
}

static void leave_all(widening *w, const bool *parameter) {
  const tl_graph *g = tl_module_main(w->m);
  for (uint32_t i = 0; i < tl_graph_n_outputs(w->m, g) && !tl_maker_failed(&w->x->k); i++) {
    tl_value_id v = tl_graph_output(w->m, g, i);
    if (v < w->n_values && w->wide[v])
      leave(w, v, parameter[v]);
  }
  follow(w);
}

/* Extends the table of regions: casts and arithmetic made here are part of updates. Nobody asks
 * for owners any more. */
static void extend_regions(widening *w, tl_node_id first) {
  tl_train_info *t = &w->x->info;
  uint32_t n = tl_module_node_end(w->m);
  uint8_t *region = tl_arena_calloc(w->x->p->scratch, n, sizeof *region);
  if (!region) {
    out_of_memory(w);
    return;
  }
  memcpy(region, t->region, t->n_nodes * sizeof *region);
  memset(region + first, TL_REGION_UPDATE, (n - first) * sizeof *region);
  t->region = region;
  t->owner = NULL;
  t->n_nodes = n;
}

static tl_status warn(const widening *w) {
  if (w->list)
    return tl_fail_code(w->m->diag, TL_UNSUPPORTED, "E-LS-F16",
                        TL_AT_NODE(w->m->path, tl_value_name(w->m, w->list)),
                        "this sequence of f16 gradients is an output or is used in a body, so its "
                        "elements cannot be unscaled in f32\vmake them f32 in the model");
  if (w->n_lost)
    tl_warn_code(w->m->diag, "W-LS-F16", TL_AT_FILE(w->m->path),
                 "'%.*s' is f16%s: unscaled gradients are rounded to f16 there, and become 0 below "
                 "3e-8\vmake %s f32 in the model",
                 TL_SV_ARG(tl_value_name(w->m, w->lost)),
                 w->n_lost == 1 ? "" : ", and so are other states or outputs",
                 w->n_lost == 1 ? "it" : "them");
  if (w->n_refusing)
    tl_warn_code(w->m->diag, "W-LS-F16", tl_node_where(w->m, w->refusing),
                 "takes an unscaled gradient in f16 or bf16 only, which loses small "
                 "elements\vcompute it in f32 in the model");
  return TL_OK;
}

/* ---- entry ----------------------------------------------------------------------------------- */

static bool start(widening *w, bool **parameter) {
  tl_arena *a = w->x->p->scratch;
  const tl_train_info *t = &w->x->info;
  w->wide = tl_arena_calloc(a, w->n_values, sizeof *w->wide);
  w->narrow = tl_arena_calloc(a, w->n_values, sizeof *w->narrow);
  w->dtype = tl_arena_calloc(a, w->n_values, sizeof *w->dtype);
  w->settled = tl_arena_calloc(a, w->n_values, sizeof *w->settled);
  w->from_gradient = tl_arena_calloc(a, w->n_values, sizeof *w->from_gradient);
  *parameter = tl_arena_calloc(a, w->n_values, sizeof **parameter);
  if (!w->wide || !w->narrow || !w->dtype || !w->settled || !w->from_gradient || !*parameter ||
      !tl_cast_set_init(&w->casts, w->m, a, false))
    return false;
  for (uint32_t i = 0; i < t->n; i++) {
    tl_value_id v = w->x->given[i], out = t->grads[i].param_out;
    if (v && tl_ls_is_narrow(w->m, v))
      set_wide(w, v, w->x->unscaled[i], TL_NO_VALUE, dtype_of(w, v));
    w->from_gradient[v] = w->from_gradient[w->x->unscaled[i]] = true;
    w->settled[out] = (*parameter)[out] = out != TL_NO_VALUE;
  }
  return true;
}

tl_status tl_ls_widen(tl_loss_scaling *scaling) {
  widening w = {.x = scaling,
                .m = scaling->m,
                .n_values = tl_module_value_end(scaling->m),
                .n_nodes = scaling->info.n_nodes};
  tl_node_id first = tl_module_node_end(scaling->m);
  bool *parameter;
  if (!start(&w, &parameter)) {
    out_of_memory(&w);
  } else {
    widen_graph(&w, tl_module_main(scaling->m), 0);
    leave_all(&w, parameter);
    erase_unused(&w);
    extend_regions(&w, first);
  }
  tl_cast_set_release(&w.casts);
  tl_u32_vec_release(&w.casts_of_model);
  TL_TRY(tl_maker_status(&scaling->k));
  return warn(&w);
}
