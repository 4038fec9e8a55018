/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where backward starts and multiplies it by the scale.
 * A seed is a value of its own, such as a constant 1. Without one, backward was derived by hand and
 * begins with arithmetic on forward values, such as softmax - labels; then it starts at the value
 * nearest to the loss in which all gradients are linear, since multiplying that value multiplies
 * each gradient once. */
#include <math.h>

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/values.h"
#include "passes/train/scale/scaling.h"
#include "passes/train/scale/power.h"

enum { MOST_CANDIDATES = 64, MOST_ELEMENTS = 4096 };

typedef struct search {
  tl_loss_scaling *x;
  tl_powers powers; /* when the candidate is multiplied */
  uint8_t *cone;    /* by node id: the first gradient depends on it */
  uint64_t *late;   /* by node id, of the cone: as candidates have it */
} search;

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_backward(const search *s, tl_node_id n) {
  return tl_train_region_of(&s->x->info, n) == TL_REGION_BACKWARD;
}

/* Marks the backward nodes that the first gradient depends on. Returns false if memory is out. */
static bool find_cone(search *s) {
  tl_module *m = s->x->m;
  tl_u32_vec todo = {0};
  tl_node_id from = s->x->info.grads[0].producer;
  bool ok = !from || tl_u32_vec_push(&todo, from);
  while (ok && todo.n) {
    tl_node_id n = todo.at[--todo.n];
    if (s->cone[n] || !is_backward(s, n))
      continue;
    s->cone[n] = 1;
    for (uint32_t i = 0; ok && i < tl_node_get(m, n)->n_operands; i++) {
      tl_value_id v = tl_operand(m, n, i);
      tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
      ok = !p || s->cone[p] || tl_u32_vec_push(&todo, p);
    }
  }
  tl_u32_vec_release(&todo);
  return ok;
}

/* Computes powers of everything behind v, which is multiplied, up to node `last`; in the cone, or
 * everywhere. */
static void sweep(search *s, tl_value_id v, tl_node_id from, tl_node_id last, bool cone) {
  tl_module *m = s->x->m;
  memset(s->powers.of, TL_POWER_NONE, tl_module_value_end(m));
  s->powers.of[v] = TL_POWER_ONCE;
  for (tl_node_id n = from; n; n = tl_node_get(m, n)->next) {
    if (is_backward(s, n) && (!cone || s->cone[n]) && tl_value_producer(m, v) != n) {
      tl_power p = tl_power_of_node(&s->powers, n);
      for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
        s->powers.of[tl_result(m, n, i)] = (uint8_t)p;
    }
    if (n == last)
      return;
  }
}

/* Returns true if every gradient is multiplied exactly once when v is. The first gradient's cone is
 * tried first, since most candidates fail there. */
static bool scales_all(search *s, tl_value_id v) {
  const tl_train_info *t = &s->x->info;
  tl_node_id p = tl_value_producer(s->x->m, v), from = p ? p : tl_module_main(s->x->m)->first;
  sweep(s, v, from, t->grads[0].producer, true);
  if (s->powers.of[t->grads[0].raw] != TL_POWER_ONCE)
    return false;
  sweep(s, v, from, TL_NO_NODE, false);
  for (uint32_t i = 0; i < t->n; i++)
    if (s->powers.of[t->grads[i].raw] != TL_POWER_ONCE)
      return false;
  return true;
}

/* Returns true if v is a float of the loss's rank that only backward uses. */
static bool could_be_seed(const search *s, tl_value_id v) {
  const tl_loss_scaling *scaling = s->x;
  tl_type_id type = tl_value_type(scaling->m, v);
  if (!tl_value_get(scaling->m, v)->n_uses || !tl_dtype_is_float(tl_type_dtype(scaling->m, type)) ||
      !tl_type_is_static(scaling->m, type) ||
      (scaling->info.loss &&
       tl_type_get(scaling->m, type)->rank !=
           tl_type_get(scaling->m, tl_value_type(scaling->m, scaling->info.loss))->rank))
    return false;
  TL_FOR_USES(scaling->m, v, u)
    if (tl_ls_region_of_use(scaling, u) != TL_REGION_BACKWARD)
      return false;
  return true;
}

/* Returns a constant 1 or an input that scales all gradients; TL_NO_VALUE if there is none. */
static tl_value_id outer_seed(search *s) {
  const tl_graph *g = tl_module_main(s->x->m);
  unsigned tried = 0;
  for (uint32_t i = 0; i < g->constants.n + g->inputs.n && tried < MOST_CANDIDATES; i++) {
    bool constant = i < g->constants.n;
    tl_value_id v = constant ? g->constants.at[i] : g->inputs.at[i - g->constants.n];
    if (!v || !could_be_seed(s, v) || (constant && !tl_is_all(s->x->m, v, 1)))
      continue;
    tried++;
    if (scales_all(s, v))
      return v;
  }
  return TL_NO_VALUE;
}

/* A value that backward might start from. */
typedef struct candidate {
  uint64_t late; /* place of the last forward node that it depends on; 0: of none */
  uint64_t order;
  tl_value_id value;
} candidate;

/* Sorts candidates that depend on later forward values first: these are nearer to the loss. The
 * transposed input of a layer scales that layer's gradient as well, but not what lies between it
 * and the loss. */
static int by_nearness(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->late != y->late)
    return x->late < y->late ? 1 : -1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* Returns the order of the last forward node that a node depends on. */
static uint64_t lateness(const search *s, tl_node_id n) {
  const tl_module *m = s->x->m;
  uint64_t late = 0;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
    bool forward = p && tl_train_region_of(&s->x->info, p) == TL_REGION_FORWARD;
    uint64_t of = !p ? 0 : forward ? tl_node_get(m, p)->order : s->late[p];
    late = of > late ? of : late;
  }
  return late;
}

static bool feeds_cone(const search *s, tl_value_id v) {
  TL_FOR_USES(s->x->m, v, u)
    if (s->cone[tl_use_get(s->x->m, u)->user])
      return true;
  return false;
}

/* Collects values of forward that backward reads and the first gradient is computed from. */
static uint32_t collect_forward(search *s, candidate *out) {
  tl_module *m = s->x->m;
  uint32_t count = 0;
  TL_FOR_NODES(m, tl_module_main(m), n) {
    tl_value_id v = tl_result(m, n, 0);
    if (tl_train_region_of(&s->x->info, n) == TL_REGION_FORWARD && v &&
        tl_dtype_is_float(tl_type_dtype(m, tl_value_type(m, v))) && feeds_cone(s, v))
      out[count++] = (candidate){tl_node_get(m, n)->order, 0, v};
  }
  return count;
}

static uint32_t collect(search *s, candidate *out) {
  tl_module *m = s->x->m;
  uint32_t count = 0;
  TL_FOR_NODES(m, tl_module_main(m), n) {
    if (!s->cone[n])
      continue;
    tl_value_id v = tl_result(m, n, 0);
    s->late[n] = lateness(s, n);
    if (s->late[n] && v && tl_dtype_is_float(tl_type_dtype(m, tl_value_type(m, v))))
      out[count++] = (candidate){s->late[n], tl_node_get(m, n)->order, v};
  }
  return count;
}

static tl_value_id first_of(search *s, candidate *all, uint32_t n) {
  if (n)
    qsort(all, n, sizeof *all, by_nearness);
  for (uint32_t i = 0; i < n && i < MOST_CANDIDATES; i++)
    if (scales_all(s, all[i].value))
      return all[i].value;
  return TL_NO_VALUE;
}

static bool is_gradient(const tl_loss_scaling *scaling, tl_value_id v) {
  for (uint32_t i = 0; i < scaling->info.n; i++)
    if (scaling->info.grads[i].raw == v)
      return true;
  return false;
}

/* Tries values of the cone, then values of forward. Scaling a value that is a gradient already
 * would come too late to save anything from underflow. */
static tl_value_id first_that_scales(search *s) {
  tl_loss_scaling *scaling = s->x;
  uint32_t nodes = tl_module_node_end(scaling->m);
  candidate *all = tl_arena_calloc(scaling->p->scratch, nodes, sizeof *all);
  s->late = tl_arena_calloc(scaling->p->scratch, nodes, sizeof *s->late);
  scaling->k.no_memory = scaling->k.no_memory || !all || !s->late;
  if (tl_maker_failed(&scaling->k))
    return TL_NO_VALUE;
  tl_value_id found = first_of(s, all, collect(s, all));
  if (found && !is_gradient(scaling, found))
    return found;
  /* To scale a gradient that is there already saves nothing of it. */
  tl_value_id before = first_of(s, all, collect_forward(s, all));
  return before ? before : found;
}

/* ---- the start ------------------------------------------------------------------------------- */

static tl_node_id gradient_node(const tl_loss_scaling *scaling) {
  tl_node_id p = scaling->info.grads[0].producer;
  return p && tl_node_get(scaling->m, p)->op == TL_OP_ai_onnx_preview_training_Gradient
             ? p
             : TL_NO_NODE;
}

/* Returns the value that a Gradient node differentiates. */
static tl_value_id named_loss(const tl_loss_scaling *scaling, tl_node_id n) {
  const tl_graph *g = tl_module_main(scaling->m);
  return tl_graph_find_value(scaling->m, g, tl_node_attr_string(scaling->m, n, TL_SYM_y));
}

/* Returns true if all gradients are results of the node and it differentiates an existing value. */
static bool makes_all(const tl_loss_scaling *scaling, tl_node_id n) {
  for (uint32_t i = 0; i < scaling->info.n; i++)
    if (scaling->info.grads[i].producer != n)
      return false;
  return named_loss(scaling, n) != TL_NO_VALUE;
}

static tl_status report_no_seed(const tl_loss_scaling *scaling) {
  tl_node_id n = scaling->info.grads[0].producer;
  return tl_fail_code(scaling->m->diag, TL_UNSUPPORTED, "E-LS-SEED",
                      n ? tl_node_where(scaling->m, n) : TL_AT_FILE(scaling->m->path),
                      "no single value before this gradient is proportional to all gradients, so "
                      "the loss cannot be scaled\vdeclare the seed of backward: tailor.train.seed");
}

static bool feeds_backward(const tl_loss_scaling *scaling, tl_value_id v) {
  TL_FOR_USES(scaling->m, v, u)
    if (tl_ls_region_of_use(scaling, u) == TL_REGION_BACKWARD)
      return true;
  return false;
}

static tl_status look(tl_loss_scaling *scaling, tl_ls_start *out) {
  search s = {.x = scaling, .powers = {.m = scaling->m}};
  s.powers.of = tl_arena_calloc(scaling->p->scratch, tl_module_value_end(scaling->m), 1);
  s.cone = tl_arena_calloc(scaling->p->scratch, tl_module_node_end(scaling->m), 1);
  if (!s.powers.of || !s.cone || !find_cone(&s))
    scaling->k.no_memory = true;
  else
    out->value = outer_seed(&s);
  if (!out->value && !tl_maker_failed(&scaling->k))
    out->value = first_that_scales(&s);
  scaling->k.no_memory = scaling->k.no_memory || s.powers.no_memory;
  tl_u32_vec_release(&s.powers.captures);
  TL_TRY(tl_maker_status(&scaling->k));
  return out->value ? TL_OK : report_no_seed(scaling);
}

tl_status tl_ls_find_start(tl_loss_scaling *scaling, tl_ls_start *out) {
  *out = (tl_ls_start){.gradient = gradient_node(scaling)};
  if (out->gradient)
    return makes_all(scaling, out->gradient) ? TL_OK : report_no_seed(scaling);
  if (scaling->info.seed && feeds_backward(scaling, scaling->info.seed)) {
    out->value = scaling->info.seed;
    return TL_OK;
  }
  return look(scaling, out);
}

/* ---- multiplying ----------------------------------------------------------------------------- */

/* Returns the largest magnitude of a constant's elements; 1 if it is unknown or large. */
static double magnitude(const tl_module *m, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(m, v);
  uint64_t n = t && t->kind != TL_SOURCE_STRINGS ? tl_tensor_elements(m, t) : 0;
  double most = 0, e;
  if (!n || n > MOST_ELEMENTS)
    return 1;
  for (uint64_t i = 0; i < n && tl_tensor_float_at(m, t, i, &e); i++)
    most = fabs(e) > most ? fabs(e) : most;
  return most;
}

/* Warns of a fixed scale beyond the range of f16: it never shrinks, so every step would
 * overflow. */
static void warn_of_range(const tl_loss_scaling *scaling, tl_value_id v) {
  const tl_loss_scale_config *c = &scaling->c->loss_scale;
  bool fixed = c->kind == TL_LOSS_SCALE_FIXED || c->kind == TL_LOSS_SCALE_FIXED_BLIND;
  double most = magnitude(scaling->m, v);
  if (tl_type_dtype(scaling->m, tl_value_type(scaling->m, v)) != TL_DTYPE_F16 || !fixed ||
      !((double)c->init * most > 65504))
    return;
  if (tl_value_constant(scaling->m, v))
    tl_warn_code(scaling->m->diag, "W-LS-F16", TL_AT_FILE(scaling->m->path),
                 "backward starts in f16, which ends at 65504: a fixed scale of %g makes every "
                 "step overflow",
                 (double)c->init);
  else
    tl_warn_code(scaling->m->diag, "W-LS-F16", TL_AT_FILE(scaling->m->path),
                 "backward starts from '%.*s' in f16, which ends at 65504: with a fixed scale of "
                 "%g steps overflow in which an element of it is above %g",
                 TL_SV_ARG(tl_value_name(scaling->m, v)), (double)c->init, 65504 / (double)c->init);
}

/* Returns the start in f32; the operand of the model's own cast if it is f32. */
static tl_value_id in_f32(tl_loss_scaling *scaling, tl_maker *k, tl_value_id v) {
  tl_node_id p = tl_value_producer(scaling->m, v);
  tl_value_id from =
      p && tl_node_get(scaling->m, p)->op == TL_OP_Cast ? tl_operand(scaling->m, p, 0) : v;
  bool wide = tl_type_dtype(scaling->m, tl_value_type(scaling->m, from)) == TL_DTYPE_F32;
  return tl_ls_cast(k, wide ? from : v, TL_DTYPE_F32);
}

/* Multiplies a start of f16 or bf16 in f32: the product may fit although the scale alone does
 * not. */
static tl_value_id multiplied(tl_loss_scaling *scaling, tl_maker *k, tl_value_id v) {
  tl_dtype d = tl_type_dtype(scaling->m, tl_value_type(scaling->m, v));
  warn_of_range(scaling, v);
  tl_value_id wide = tl_ls_is_narrow(scaling->m, v) ? in_f32(scaling, k, v) : v;
  tl_value_id by = tl_ls_cast(k, scaling->scale, wide == v ? d : TL_DTYPE_F32);
  tl_value_id scaled = tl_ls_cast(k, tl_ls_make(k, TL_OP_Mul, wide, by, TL_NO_VALUE), d);
  tl_ls_name(scaling, scaled, TL_LS_SEED);
  return scaled;
}

/* Lets a Gradient node differentiate the scaled loss, which it names by an attribute. As it has no
 * operand for it, a control edge keeps the order. */
static void scale_named_loss(tl_loss_scaling *scaling, tl_node_id n) {
  tl_module *m = scaling->m;
  tl_value_id loss = named_loss(scaling, n);
  tl_maker k = tl_ls_before(scaling, n);
  tl_value_id scaled = multiplied(scaling, &k, loss);
  tl_ls_adopt(scaling, &k);
  if (tl_maker_failed(&scaling->k) || !scaled)
    return;
  tl_symbol name = tl_value_get(m, scaled)->name;
  if (!tl_control_add(m, tl_value_producer(m, scaled), n, TL_CONTROL_GATE) ||
      tl_node_set_attr(m, n, tl_attr_string(TL_SYM_y, name)) != TL_OK)
    scaling->k.no_memory = true;
}

/* Marks backward nodes before the scale, so that no precision mode narrows them: they have no
 * protection from underflow. O(nodes + edges). */
static void keep_before(tl_loss_scaling *scaling, tl_node_id from) {
  tl_module *m = scaling->m;
  tl_u32_vec todo = {0};
  bool *seen = tl_arena_calloc(scaling->p->scratch, tl_module_node_end(m), sizeof *seen);
  bool ok = seen && (!from || tl_u32_vec_push(&todo, from));
  while (ok && todo.n) {
    tl_node_id n = todo.at[--todo.n];
    if (seen[n] || tl_train_region_of(&scaling->info, n) != TL_REGION_BACKWARD)
      continue;
    seen[n] = true;
    ok = tl_node_put_mark(m, n, TL_MARK_KEEP_DTYPE);
    for (uint32_t i = 0; ok && i < tl_node_get(m, n)->n_operands; i++) {
      tl_value_id v = tl_operand(m, n, i);
      tl_node_id p = v ? tl_value_producer(m, v) : TL_NO_NODE;
      ok = !p || tl_u32_vec_push(&todo, p);
    }
  }
  tl_u32_vec_release(&todo);
  scaling->k.no_memory = scaling->k.no_memory || !ok;
}

void tl_ls_scale_start(tl_loss_scaling *scaling, const tl_ls_start *start) {
  tl_value_id v = start->value;
  if (start->gradient) {
    scale_named_loss(scaling, start->gradient);
    return;
  }
  tl_node_id p = tl_value_producer(scaling->m, v);
  keep_before(scaling, p);
  tl_maker k = tl_ls_before(scaling, p ? tl_node_get(scaling->m, p)->next
                                       : tl_module_main(scaling->m)->first);
  tl_value_id scaled = multiplied(scaling, &k, v);
  tl_ls_adopt(scaling, &k);
  if (tl_maker_failed(&scaling->k))
    return;
  TL_FOR_USES(scaling->m, v, u)
    if (tl_ls_region_of_use(scaling, u) == TL_REGION_BACKWARD)
      tl_ls_set_use(scaling->m, u, scaled);
  scaling->start = v;
  scaling->started = scaled;
}
