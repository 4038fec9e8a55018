/* SPDX-License-Identifier: Apache-2.0 */
/* plain-updates: replaces optimizers, clipping and accumulators of ONNX Runtime by arithmetic.
 * Optimizers over lists and of one tensor (plain_single.c), clipping of lists to a norm, and
 * accumulators exist in ONNX Runtime's training build only; arithmetic, tensor by tensor, runs
 * everywhere, also on the NPU. With --status=ort the step is for such a build and keeps them.
 *
 * Requires:  types inferred; a training step is asked for.   Keeps: names of outputs, states.
 * After:     no AdamWOptimizer, SGDOptimizerV2 or InplaceClipGradNorm over f32 or f64 tensors that
 *            are listed is left, and no ReduceAllL2; nor InPlaceAccumulatorV2 whose sum somebody
 *            reads. Elements are taken out of no list that is spelled out.
 * Cost:      O(nodes), and a dozen nodes a tensor.
 * Tests:     tests/golden/plain-updates/, tests/train/artifacts.py */
#include "passes/train/update/plain_updates.h"
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/edit/values.h"
#include "passes/train/update/math.h"
#include "passes/train/update/plain_single.h"
#include "passes/train/update/take_place.h"

/* ---- results --------------------------------------------------------------------------------- */

/* Returns true if a node takes element *out from a list of this length, at a constant place. */
static bool place_of(const tl_module *m, tl_node_id n, uint32_t length, uint32_t *out) {
  int64_t at;
  if (tl_node_is_return(m, n) || tl_node_get(m, n)->op != TL_OP_SequenceAt)
    return false;
  const tl_tensor *t = tl_value_constant(m, tl_operand(m, n, 1));
  if (!t || !tl_tensor_int_at(m, t, 0, &at) || at < -(int64_t)length || at >= (int64_t)length)
    return false;
  *out = (uint32_t)(at < 0 ? at + length : at);
  return true;
}

/* Hands elements to nodes that take them out of the list; other users get a SequenceConstruct. */
static void give_list(tl_maker *k, tl_value_id list, const tl_value_id *at, uint32_t n,
                      tl_value_id first) {
  tl_module *m = k->m;
  uint32_t i;
  TL_FOR_USES(m, list, u) {
    tl_node_id user = tl_use_get(m, u)->user;
    if (tl_maker_failed(k) || !place_of(m, user, n, &i) ||
        tl_node_get(m, user)->graph != k->graph || tl_node_get(m, user)->control_in ||
        tl_node_get(m, user)->control_out)
      continue;
    tl_plain_take_place(k, tl_result(m, user, 0), at[i], first);
    if (!tl_maker_failed(k))
      tl_node_erase(m, user);
  }
  if (tl_value_get(m, list)->n_uses && !tl_maker_failed(k))
    tl_plain_take_place(k, list, tl_make_sequence(k, at, n), first);
}

static bool has_edges(const tl_module *m, tl_node_id n) {
  return tl_node_get(m, n)->control_in || tl_node_get(m, n)->control_out;
}

static void erase_unused_list(tl_module *m, tl_node_id n) {
  if (n && !tl_value_get(m, tl_result(m, n, 0))->n_uses && !has_edges(m, n) &&
      tl_list_maker(m, tl_result(m, n, 0)))
    tl_node_erase(m, n);
}

/* ---- optimizers ------------------------------------------------------------------------------ */

/* Replaces the flag that tells whether the op updated: the signal, or true. */
static void give_flag(tl_update_math *u, tl_value_id first) {
  tl_module *m = u->k.m;
  tl_value_id old = tl_result(m, u->n, 0), signal = tl_operand(m, u->n, u->f->shared + u->f->kinds);
  if (!tl_value_get(m, old)->n_uses)
    return;
  bool number = tl_type_dtype(m, tl_value_type(m, old)) == TL_DTYPE_I64;
  bool along = tl_type_get(m, tl_value_type(m, old))->rank != 0;
  const int64_t one = 1;
  tl_value_id v = signal;
  if (!signal)
    v = !number ? tl_make_bool(&u->k, true, along)
        : along ? tl_make_ints(&u->k, &one, 1)
                : tl_make_int(&u->k, 1);
  else if (number)
    v = tl_make_cast(&u->k, signal, TL_DTYPE_I64);
  tl_plain_take_place(&u->k, old, v, first);
}

/* Replaces an optimizer over lists. */
static tl_status spell_update(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_update_math u;
  tl_value_id first = tl_module_value_end(m);
  bool open = tl_update_math_open(&u, p, m, n) && u.f->sequences && !has_edges(m, n);
  if (!open && !u.k.no_memory)
    return TL_OK;
  if (open && !tl_pass_may_rewrite(p))
    return TL_OK;
  if (open)
    tl_update_math_make(&u);
  for (uint32_t r = 0; open && r + 1 < u.f->kinds && !tl_maker_failed(&u.k); r++)
    if (tl_result(m, n, r + 1))
      give_list(&u.k, tl_result(m, n, r + 1), u.out[r], u.count, first);
  if (open && !tl_maker_failed(&u.k))
    give_flag(&u, first);
  TL_TRY(tl_maker_status(&u.k));
  tl_pass_remark(p, m, n, true, "replaced by arithmetic, tensor by tensor");
  tl_node_erase(m, n);
  for (uint32_t i = 0; i < u.f->kinds; i++)
    if (i == 0 || u.constructs[i] != u.constructs[i - 1])
      erase_unused_list(m, u.constructs[i]);
  return TL_OK;
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* Returns the common dtype of the operands, f32 or f64; TL_DTYPE_NONE if there is none. */
static tl_dtype dtype_of_all(const tl_module *m, tl_node_id n) {
  uint32_t count = tl_node_get(m, n)->n_operands;
  tl_dtype dtype = TL_DTYPE_NONE;
  for (uint32_t i = 0; i < count; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_dtype d = v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
    if ((d != TL_DTYPE_F32 && d != TL_DTYPE_F64) || (i && d != dtype))
      return TL_DTYPE_NONE;
    dtype = d;
  }
  return dtype;
}

/* Returns the Euclidean norm of the operands of `list` as one vector, added up in their order. */
static tl_value_id norm_of(tl_maker *k, tl_node_id list) {
  tl_value_id sum = TL_NO_VALUE;
  for (uint32_t i = 0; i < tl_node_get(k->m, list)->n_operands && !tl_maker_failed(k); i++) {
    tl_value_id s = tl_make_with(k, TL_OP_ReduceSumSquare, tl_operand(k->m, list, i), TL_NO_VALUE,
                                 tl_attr_int(TL_SYM_keepdims, 0));
    sum = i ? tl_make(k, TL_OP_Add, sum, s, TL_NO_VALUE) : s;
  }
  return tl_make(k, TL_OP_Sqrt, sum, TL_NO_VALUE, TL_NO_VALUE);
}

static tl_status spell_norm(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_dtype dtype = dtype_of_all(m, n);
  tl_dtype out = tl_type_dtype(m, tl_value_type(m, tl_result(m, n, 0)));
  if (!dtype || (out && out != dtype) || has_edges(m, n) || !tl_pass_may_rewrite(p))
    return TL_OK;
  tl_value_id first = tl_module_value_end(m);
  tl_maker k = tl_maker_before(m, n);
  tl_plain_take_place(&k, tl_result(m, n, 0), norm_of(&k, n), first);
  TL_TRY(tl_maker_status(&k));
  tl_pass_remark(p, m, n, true, "replaced by arithmetic, tensor by tensor");
  tl_node_erase(m, n);
  return TL_OK;
}

/* Clips by norm: g * min(1, max_norm / (norm + 1e-6)). */
static tl_status spell_clip(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_value_id list = tl_operand(m, n, 0);
  tl_node_id from = list ? tl_value_producer(m, list) : TL_NO_NODE;
  tl_sv type = tl_node_attr_string(m, n, TL_SYM_norm_type);
  bool lists = list && tl_list_maker(m, list);
  tl_dtype dtype = lists ? dtype_of_all(m, from) : TL_DTYPE_NONE;
  if (!dtype || (type.n && !tl_sv_is(type, "fro")) || has_edges(m, n) || !tl_pass_may_rewrite(p))
    return TL_OK;
  uint32_t count = tl_node_get(m, from)->n_operands;
  tl_value_id first = tl_module_value_end(m);
  tl_value_id *at = tl_arena_calloc(p->scratch, count + 1u, sizeof *at);
  tl_maker k = tl_maker_before(m, n);
  k.no_memory = !at;
  tl_value_id norm = norm_of(&k, from);
  tl_formula clip = {.k = &k, .name = "ClipFactor", .in = {norm}};
  clip.numbers[0] =
      (tl_formula_number){"most", (double)tl_node_attr_float(m, n, TL_SYM_max_norm, 1)};
  TL_TRY(tl_pass_formulas(p, m, &clip.set));
  tl_formula_make(&clip);
  for (uint32_t i = 0; i < count && !tl_maker_failed(&k); i++)
    at[i] = tl_make(&k, TL_OP_Mul, tl_operand(m, from, i), clip.out[0], TL_NO_VALUE);
  if (!tl_maker_failed(&k))
    give_list(&k, tl_result(m, n, 0), at, count, first);
  TL_TRY(tl_maker_status(&k));
  tl_pass_remark(p, m, n, true, "replaced by arithmetic, tensor by tensor");
  tl_node_erase(m, n);
  erase_unused_list(m, from);
  return TL_OK;
}

/* ---- accumulators ---------------------------------------------------------------------------- */

static bool is_one_bool(const tl_module *m, tl_value_id v) {
  uint64_t n;
  return tl_type_elements(m, tl_value_type(m, v), &n) && n == 1 &&
         tl_type_get(m, tl_value_type(m, v))->rank <= 1;
}

/* Returns the value if the buffer starts anew, else buffer + value. */
static tl_value_id sum_of(tl_maker *k, tl_node_id n, tl_dtype dtype) {
  tl_module *m = k->m;
  tl_value_id v = tl_make_as(k, tl_operand(m, n, 1), dtype), anew = tl_operand(m, n, 2);
  tl_value_id sum = tl_make(k, TL_OP_Add, tl_operand(m, n, 0), v, TL_NO_VALUE);
  bool number = tl_type_get(m, tl_value_type(m, tl_operand(m, n, 0)))->rank == 0;
  if (anew && number && tl_type_get(m, tl_value_type(m, anew))->rank == 1)
    anew = tl_make_squeeze(k, anew, 0);
  return anew ? tl_make(k, TL_OP_Where, anew, v, sum) : sum;
}

static tl_status spell_accumulator(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_value_id buffer = tl_operand(m, n, 0), sum = tl_result(m, n, 1), anew = tl_operand(m, n, 2);
  tl_dtype dtype = buffer ? tl_type_dtype(m, tl_value_type(m, buffer)) : TL_DTYPE_NONE;
  if (!dtype || !sum || !tl_value_get(m, sum)->n_uses || !tl_operand(m, n, 1) ||
      (anew && !is_one_bool(m, anew)) || has_edges(m, n) || !tl_pass_may_rewrite(p))
    return TL_OK;
  tl_value_id first = tl_module_value_end(m);
  tl_maker k = tl_maker_before(m, n);
  tl_value_id made = sum_of(&k, n, dtype);
  tl_plain_take_place(&k, sum, made, first);
  if (tl_value_get(m, tl_result(m, n, 0))->n_uses && !tl_maker_failed(&k)) {
    bool along = tl_type_get(m, tl_value_type(m, tl_result(m, n, 0)))->rank != 0;
    tl_plain_take_place(&k, tl_result(m, n, 0), tl_make_bool(&k, true, along), first);
  }
  TL_TRY(tl_maker_status(&k));
  tl_pass_remark(p, m, n, true, "in arithmetic");
  tl_node_erase(m, n);
  return TL_OK;
}

/* ---- driver ---------------------------------------------------------------------------------- */

static const struct {
  tl_op_id op;
  tl_status (*spell)(tl_pass *p, tl_module *m, tl_node_id n);
  bool last; /* what the others made has its types by then */
} spellings[] = {{TL_OP_com_microsoft_InPlaceAccumulatorV2, spell_accumulator, false},
                 {TL_OP_com_microsoft_ReduceAllL2, spell_norm, false},
                 {TL_OP_com_microsoft_InplaceClipGradNorm, spell_clip, false},
                 {TL_OP_com_microsoft_AdamWOptimizer, spell_update, true},
                 {TL_OP_com_microsoft_SGDOptimizerV2, spell_update, true},
                 {TL_OP_com_microsoft_AdamOptimizer, tl_plain_adam, true},
                 {TL_OP_com_microsoft_SGDOptimizer, tl_plain_sgd, true}};

enum { N_SPELLINGS = sizeof spellings / sizeof *spellings };

/* Returns the index of a node's spelling, N_SPELLINGS if it has none. */
static size_t spelling_of(const tl_module *m, tl_node_id n) {
  size_t i = 0;
  while (i < N_SPELLINGS && spellings[i].op != tl_node_get(m, n)->op)
    i++;
  return i;
}

/* Replaces the nodes of one graph. They are collected first, since replacing one also erases its
 * neighbours. */
static tl_status sweep(tl_pass *p, tl_module *m, const tl_graph *g, bool last) {
  tl_u32_vec found = {0};
  tl_status status = TL_OK;
  TL_FOR_NODES(m, g, n) {
    size_t i = spelling_of(m, n);
    if (status == TL_OK && i < N_SPELLINGS && spellings[i].last == last &&
        !tl_u32_vec_push(&found, n))
      status = tl_no_memory(m);
  }
  for (uint32_t i = 0; status == TL_OK && i < found.n; i++)
    status = spellings[spelling_of(m, found.at[i])].spell(p, m, found.at[i]);
  tl_u32_vec_release(&found);
  return status;
}

static tl_status sweep_all(tl_pass *p, tl_module *m, bool last) {
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_TRY(sweep(p, m, m->graphs.at[i], last));
  return TL_OK;
}

/* Two sweeps: optimizers need the types of what the first sweep made. */
tl_status tl_plain_updates(tl_pass *p, tl_module *m) {
  uint64_t before = p->changed;
  if (!tl_train_is_on(p->options) || p->options->train->status == TL_OVERFLOW_ORT)
    return TL_OK;
  TL_TRY(sweep_all(p, m, false));
  if (p->changed != before)
    TL_TRY(tl_infer_module(m));
  return sweep_all(p, m, true);
}

tl_status tl_pass_plain_updates(tl_pass *p, tl_module *m) { return tl_plain_updates(p, m); }
