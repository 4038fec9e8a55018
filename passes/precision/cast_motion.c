/* SPDX-License-Identifier: Apache-2.0 */
/* cast-motion: removes casts that undo each other and moves narrowing casts before data movement.
 *
 * Requires:  precision.           Keeps: every value bit by bit; names of outputs.
 * After:     no cast follows one that loses nothing; no inserted cast is behind data movement whose
 *            operands all have its dtype before a widening; none that narrows is behind data
 *            movement whose results are all cast so. There are never more casts than before.
 * Cost:      one sweep, O(nodes + edges); a chain of moving ops is walked once for its last cast.
 * Tests:     tests/golden/cast-motion/
 *
 * C1 Cast(a->a) is its operand.
 * C2 Cast(a->m), Cast(m->c) becomes Cast(a->c) if m holds every a, and nothing if a is c. c is no
 *    string.
 * C3 Any other pair rounds or drops something and stays.
 * C4 A cast of moved data becomes moved data of a cast if C2 then removes the casts.
 * C5 Only C1 and C2 apply to casts of the model.
 * C6 Casts to f16 or bf16 of all that is moved become one cast of the source (cast_lift.c); if all
 *    branches of an If cast their result from that dtype, the If gives it; a ConstantOfShape takes
 *    the other dtype.
 * C7 Cast(int->f32), Cast(f32->f16) becomes Cast(int->f16). */
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/npu/columns.h"
#include "passes/npu/select.h"
#include "passes/precision/cast_lift.h"
#include "passes/precision/precision.h"

/* Upper bounds on data movement that is walked for one cast: nested nodes, and values. */
enum { MAX_DEPTH = 32, MAX_VISITS = 256 };

static tl_dtype dtype_of(const tl_module *m, tl_value_id v) {
  return v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
}

static bool is_cast(const tl_module *m, tl_node_id n) {
  return n && tl_node_get(m, n)->op == TL_OP_Cast;
}

/* Returns true if b represents every value of a exactly. */
static bool exact(tl_dtype a, tl_dtype b) {
  static const uint64_t f16 = TL_DTYPE_BIT(TL_DTYPE_F16);
  static const uint64_t bf16 = TL_DTYPE_BIT(TL_DTYPE_BF16);
  static const uint64_t wide = TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F64);
  uint64_t to = TL_DTYPE_BIT(b);
  switch (a) {
  case TL_DTYPE_F16:
  case TL_DTYPE_BF16:
  case TL_DTYPE_I16:
  case TL_DTYPE_U16: return (wide & to) != 0;
  case TL_DTYPE_F32:
  case TL_DTYPE_I32:
  case TL_DTYPE_U32: return b == TL_DTYPE_F64;
  case TL_DTYPE_I8:
  case TL_DTYPE_U8: return ((wide | f16 | bf16) & to) != 0;
  case TL_DTYPE_BOOL: return b != TL_DTYPE_NONE && b != TL_DTYPE_STRING;
  default: return false;
  }
}

/* Returns true if GE would drop the first of two casts: unless it makes a bool, or an integer from
 * a float. */
static bool ge_drops(tl_dtype a, tl_dtype b) {
  bool to_int = b == TL_DTYPE_I32 || b == TL_DTYPE_I64;
  return b != TL_DTYPE_BOOL && !(tl_dtype_is_float(a) && to_int);
}

/* An integer cast to f16 gives the same through f32 or f64: every integer that f16 keeps finite is
 * exact there. Through f32, bf16 is rounded twice; skipping an inserted cast is then closer to the
 * model. */
static bool is_int_to_half(const tl_motion *motion, tl_dtype a, tl_dtype b, tl_node_id c) {
  tl_dtype to = dtype_of(motion->m, tl_result(motion->m, c, 0));
  bool through = b == TL_DTYPE_F32 || b == TL_DTYPE_F64;
  bool half = to == TL_DTYPE_F16 || (to == TL_DTYPE_BF16 && tl_cast_is_inserted(motion->m, c));
  return through && half && tl_dtype_is_integer(a);
}

/* Returns true if the chip has one cast from dtype a to the result of c. */
static bool chip_casts(tl_motion *motion, tl_dtype a, tl_node_id c) {
  const tl_precision_form *form;
  tl_dtype to = dtype_of(motion->m, tl_result(motion->m, c, 0));
  if (!tl_node_get(motion->m, c)->selected)
    return true;
  if (!motion->forms || tl_precision_form_of(motion->forms, c, &form) != TL_OK)
    return false;
  for (uint32_t k = 0; k < form->n_columns; k++)
    if (form->inputs[0].columns[k] == a && form->outputs[0].columns[k] == to)
      return true;
  return false;
}

/* Returns true if the chip has the casts from a to b and from b to the result of c, but not both in
 * one. */
static bool needs_two(const tl_motion *motion, tl_dtype a, tl_dtype b, tl_node_id c) {
  tl_dtype to = dtype_of(motion->m, tl_result(motion->m, c, 0));
  return a != to && motion->chip && !tl_chip_casts(motion->chip, a, to) &&
         tl_chip_casts(motion->chip, a, b) && tl_chip_casts(motion->chip, b, to);
}

/* Returns true if cast c may read the operand of cast p directly. */
static bool may_skip(tl_motion *motion, tl_node_id p, tl_node_id c) {
  tl_dtype a = dtype_of(motion->m, tl_operand(motion->m, p, 0));
  tl_dtype b = dtype_of(motion->m, tl_result(motion->m, p, 0));
  bool spelled = dtype_of(motion->m, tl_result(motion->m, c, 0)) == TL_DTYPE_STRING;
  if (spelled || needs_two(motion, a, b, c)) /* digits of text tell the dtype of a number */
    return false;
  if (exact(a, b))
    return true;
  if (is_int_to_half(motion, a, b, c) && chip_casts(motion, a, c))
    return true;
  return motion->lossy && tl_cast_is_inserted(motion->m, p) && tl_cast_is_inserted(motion->m, c) &&
         ge_drops(a, b);
}

/* Erases a cast without users and then the casts that only it used. */
static void erase_unused(tl_motion *motion, tl_node_id n) {
  while (is_cast(motion->m, n)) {
    const tl_node *node = tl_node_get(motion->m, n);
    if (tl_value_get(motion->m, node->results)->n_uses || node->control_in || node->control_out ||
        tl_is_pinned(&motion->facts.pinned, node->results))
      return;
    tl_value_id v = tl_operand(motion->m, n, 0);
    tl_node_erase(motion->m, n);
    n = v ? tl_value_producer(motion->m, v) : TL_NO_NODE;
  }
}

/* Replaces the result of cast c by v. Returns false if names, roles or edges forbid it: an input of
 * the model cannot take over the name of an output. */
static bool replace_cast(tl_motion *motion, tl_node_id c, tl_value_id v) {
  tl_value_id out = tl_result(motion->m, c, 0);
  const tl_node *node = tl_node_get(motion->m, c);
  if (node->control_in || node->control_out ||
      !tl_value_can_merge(motion->m, &motion->facts, out, v))
    return false;
  bool from_model = tl_value_producer(motion->m, v) == TL_NO_NODE &&
                    tl_value_leaves_graph(motion->m, out);
  if (from_model || !tl_pass_may_rewrite(motion->p))
    return false;
  tl_pass_remark(motion->p, motion->m, c, true, "removed: its operand has the dtype already");
  tl_node_id before = tl_value_producer(motion->m, tl_operand(motion->m, c, 0));
  tl_value_merge(motion->m, out, v);
  tl_node_erase(motion->m, c);
  erase_unused(motion, before);
  return true;
}

/* Turns a cast from a dtype to itself, which stays for the name of an output, into an Identity:
 * chips have no such cast kernel. */
static tl_status become_identity(tl_motion *motion, tl_node_id c) {
  if (motion->p->off_chip || !tl_pass_may_rewrite(motion->p))
    return TL_OK;
  tl_pass_remark(motion->p, motion->m, c, true, "an identity: its operand has the dtype already");
  TL_TRY(tl_node_set_attrs(motion->m, c, NULL, 0));
  tl_node_set_op(motion->m, c, TL_OP_Identity);
  tl_node_get(motion->m, c)->selected = false;
  motion->made = true;
  return TL_OK;
}

/* Applies C1 and C2 to cast c until nothing changes. Returns false if the cast was removed. */
static bool shorten(tl_motion *motion, tl_node_id c) {
  for (;;) {
    tl_value_id v = tl_operand(motion->m, c, 0);
    tl_node_id p = tl_value_producer(motion->m, v);
    if (dtype_of(motion->m, v) == dtype_of(motion->m, tl_result(motion->m, c, 0)))
      return !replace_cast(motion, c, v);
    if (!is_cast(motion->m, p) || !may_skip(motion, p, c) || !tl_pass_may_rewrite(motion->p))
      return true;
    tl_node_set_operand(motion->m, c, 0, tl_operand(motion->m, p, 0));
    erase_unused(motion, p);
  }
}

/* ---- C4 -------------------------------------------------------------------------------------- */

/* Returns true if all users of v, node `but` aside, are casts to the dtype. */
static bool only_casts_use(const tl_module *m, tl_value_id v, tl_dtype to, tl_node_id but) {
  TL_FOR_USES(m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    if (n != but && !(is_cast(m, n) && dtype_of(m, tl_result(m, n, 0)) == to))
      return false;
  }
  return true;
}

static bool can_have(tl_motion *motion, tl_value_id v, tl_dtype to, tl_node_id user, int depth);

/* Returns true if node n, which moves data to v, can work in dtype `to` without a new cast. */
static bool can_move(tl_motion *motion, tl_node_id n, tl_value_id v, tl_dtype to, tl_node_id user,
                     int depth) {
  const tl_node *node = tl_node_get(motion->m, n);
  const tl_op *op = tl_op_row(node->op);
  if (node->graph != tl_node_get(motion->m, user)->graph || !tl_motion_can_carry(motion, n, to))
    return false;
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id r = node->results + i;
    if (dtype_of(motion->m, r) != dtype_of(motion->m, v) ||
        tl_is_pinned(&motion->facts.pinned, r) ||
        !only_casts_use(motion->m, r, to, r == v ? user : TL_NO_NODE))
      return false;
  }
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id operand = tl_operand(motion->m, n, i);
    if (operand && tl_motion_moves(op, i) && !can_have(motion, operand, to, n, depth + 1))
      return false;
  }
  return true;
}

/* Returns the element of a ConstantOfShape, which is an attribute. */
static const tl_tensor *fill_of(const tl_motion *motion, tl_node_id n) {
  const tl_attr *a = tl_node_attr(motion->m, n, TL_SYM_value);
  return a && a->kind == TL_ATTR_TENSOR ? tl_tensor_get(motion->m, a->u.t) : NULL;
}

/* Returns true if a ConstantOfShape, whose f32 element all users cast, can have the dtype. */
static bool can_fill(tl_motion *motion, tl_node_id n, tl_value_id v, tl_dtype to, tl_node_id user) {
  const tl_tensor *t = fill_of(motion, n);
  return t && t->dtype == TL_DTYPE_F32 && t->bytes == sizeof(float) &&
         !tl_is_pinned(&motion->facts.pinned, v) && only_casts_use(motion->m, v, to, user) &&
         tl_node_get(motion->m, n)->graph == tl_node_get(motion->m, user)->graph &&
         tl_motion_chip_has(motion, n, to);
}

/* Changes the element of a ConstantOfShape to the dtype. */
static bool fill(tl_motion *motion, tl_node_id n, tl_value_id v, tl_dtype to) {
  tl_type_id one = tl_type_tensor(motion->m, to, 1, (const tl_dim[]){1});
  tl_tensor_id id = one ? tl_cast_tensor(motion->m, fill_of(motion, n), one, motion->clamp)
                        : TL_NO_TENSOR;
  tl_type_id type = id ? tl_cast_type(motion->m, v, to) : TL_NO_TYPE;
  if (type == TL_NO_TYPE ||
      tl_node_set_attr(motion->m, n, tl_attr_tensor(TL_SYM_value, id)) != TL_OK)
    return false;
  tl_value_set_type(motion->m, v, type);
  return true;
}

/* Returns the value made inside a branch for result v of an If; TL_NO_VALUE if it comes from
 * outside or has other uses. */
static tl_value_id given_by(const tl_module *m, const tl_attr *branch, tl_node_id n,
                            tl_value_id v) {
  const tl_graph *g = branch->kind == TL_ATTR_GRAPH ? tl_graph_get(m, branch->u.g) : NULL;
  uint32_t i = v - tl_node_get(m, n)->results;
  tl_value_id given = g && i < tl_graph_n_outputs(m, g) ? tl_graph_output(m, g, i) : TL_NO_VALUE;
  bool inside = given && tl_value_graph(m, given) == g->id && tl_value_get(m, given)->n_uses == 1;
  return inside && tl_value_producer(m, given) ? given : TL_NO_VALUE;
}

/* Returns true if all branches of an If can give result v in the dtype, from values made inside. */
static bool can_branch(tl_motion *motion, tl_node_id n, tl_value_id v, tl_dtype to, tl_node_id user,
                       int depth) {
  const tl_node *node = tl_node_get(motion->m, n);
  uint32_t branches = 0;
  if (node->graph != tl_node_get(motion->m, user)->graph ||
      tl_is_pinned(&motion->facts.pinned, v) || !only_casts_use(motion->m, v, to, user))
    return false;
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    if (node->attrs[i].kind != TL_ATTR_GRAPH)
      continue;
    tl_value_id given = given_by(motion->m, &node->attrs[i], n, v);
    tl_node_id p = given ? tl_value_producer(motion->m, given) : TL_NO_NODE;
    tl_value_id from = is_cast(motion->m, p) ? tl_operand(motion->m, p, 0) : TL_NO_VALUE;
    bool outside = from && (tl_value_graph(motion->m, from) != tl_value_graph(motion->m, given) ||
                            !tl_value_producer(motion->m, from));
    tl_node_id ret = tl_graph_get(motion->m, node->attrs[i].u.g)->ret;
    if (!given || outside || !can_have(motion, given, to, ret, depth + 1))
      return false;
    branches++;
  }
  return branches > 0;
}

/* Returns true if v is available in the dtype without a new cast: a constant, the operand of a
 * widening cast, or data movement of such values. Bounded by MAX_DEPTH and MAX_VISITS per cast. */
static bool can_have(tl_motion *motion, tl_value_id v, tl_dtype to, tl_node_id user, int depth) {
  tl_node_id p = tl_value_producer(motion->m, v);
  if (depth > MAX_DEPTH || motion->visits == 0)
    return false;
  motion->visits--;
  if (tl_value_constant(motion->m, v))
    return depth > 0 && v < motion->constants.n_values;
  if (is_cast(motion->m, p)) {
    tl_dtype a = dtype_of(motion->m, tl_operand(motion->m, p, 0));
    return depth > 0 && a == to && exact(a, dtype_of(motion->m, v));
  }
  if (p && tl_node_get(motion->m, p)->op == TL_OP_If)
    return can_branch(motion, p, v, to, user, depth);
  if (p && tl_node_get(motion->m, p)->op == TL_OP_ConstantOfShape)
    return can_fill(motion, p, v, to, user);
  return p && can_move(motion, p, v, to, user, depth);
}

static tl_value_id have(tl_motion *motion, tl_value_id v, tl_dtype to, tl_node_id user);

/* Retypes a moving node after can_move: operands first, then results. */
static bool move(tl_motion *motion, tl_node_id n, tl_dtype to) {
  const tl_op *op = tl_op_row(tl_node_get(motion->m, n)->op);
  uint32_t n_operands = tl_node_get(motion->m, n)->n_operands;
  for (uint32_t i = 0; i < n_operands; i++) {
    tl_value_id v = tl_operand(motion->m, n, i);
    tl_value_id as = v && tl_motion_moves(op, i) ? have(motion, v, to, n) : v;
    if (v && !as)
      return false;
    tl_node_id before = v ? tl_value_producer(motion->m, v) : TL_NO_NODE;
    tl_node_set_operand(motion->m, n, i, as);
    erase_unused(motion, before);
  }
  const tl_node *node = tl_node_get(motion->m, n);
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_type_id type = tl_cast_type(motion->m, node->results + i, to);
    if (type == TL_NO_TYPE)
      return false;
    tl_value_set_type(motion->m, node->results + i, type);
  }
  return true;
}

/* Retypes result v of an If and the outputs of its branches after can_branch. */
static bool branch(tl_motion *motion, tl_node_id n, tl_value_id v, tl_dtype to) {
  tl_module *m = motion->m;
  uint32_t index = v - tl_node_get(m, n)->results;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_attrs; i++) {
    const tl_attr *a = &tl_node_get(m, n)->attrs[i];
    tl_value_id given = given_by(m, a, n, v);
    if (!given)
      continue;
    tl_node_id ret = tl_graph_get(m, a->u.g)->ret;
    tl_node_id before = tl_value_producer(m, given);
    tl_value_id as = have(motion, given, to, ret);
    if (!as)
      return false;
    if (as != given) {
      tl_node_set_operand(m, ret, index, as);
      erase_unused(motion, before);
    }
  }
  tl_type_id type = tl_cast_type(m, v, to);
  if (type != TL_NO_TYPE)
    tl_value_set_type(m, v, type);
  return type != TL_NO_TYPE;
}

/* Returns v in the dtype, after can_have said yes; TL_NO_VALUE if memory is out. */
static tl_value_id have(tl_motion *motion, tl_value_id v, tl_dtype to, tl_node_id user) {
  tl_node_id p = tl_value_producer(motion->m, v);
  if (dtype_of(motion->m, v) == to) /* reached on two paths; already done */
    return v;
  if (tl_value_constant(motion->m, v))
    return tl_cast_set_get(&motion->constants, v, to, user);
  if (is_cast(motion->m, p))
    return tl_operand(motion->m, p, 0);
  tl_op_id op = tl_node_get(motion->m, p)->op;
  bool ok = op == TL_OP_If                ? branch(motion, p, v, to)
            : op == TL_OP_ConstantOfShape ? fill(motion, p, v, to)
                                          : move(motion, p, to);
  return ok ? v : TL_NO_VALUE;
}

/* Applies C4 to one inserted cast. */
static tl_status raise(tl_motion *motion, tl_node_id c) {
  tl_value_id v = tl_operand(motion->m, c, 0);
  tl_dtype to = dtype_of(motion->m, tl_result(motion->m, c, 0));
  motion->visits = MAX_VISITS;
  if (!tl_cast_is_inserted(motion->m, c) || !can_have(motion, v, to, c, 0) ||
      !tl_pass_may_rewrite(motion->p))
    return TL_OK;
  tl_pass_remark(motion->p, motion->m, c, true, "moved before nodes that only move data");
  if (!have(motion, v, to, c))
    return tl_no_memory(motion->m);
  (void)shorten(motion, c);
  return TL_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Returns true for a cast whose dtypes are known: before inference two unknown ones look alike. */
static bool is_known_cast(const tl_module *m, tl_node_id n) {
  return is_cast(m, n) && dtype_of(m, tl_operand(m, n, 0)) != TL_DTYPE_NONE &&
         dtype_of(m, tl_result(m, n, 0)) != TL_DTYPE_NONE;
}

/* Shortens all casts of a graph, and moves those that stay. A node that moves is behind its
 * operands, so a forward sweep meets the casts of operands first. */
static tl_status sweep(tl_motion *motion, const tl_graph *g) {
  TL_FOR_NODES(motion->m, g, n) {
    if (!is_known_cast(motion->m, n) || !shorten(motion, n))
      continue;
    if (dtype_of(motion->m, tl_operand(motion->m, n, 0)) ==
        dtype_of(motion->m, tl_result(motion->m, n, 0)))
      TL_TRY(become_identity(motion, n));
    else
      TL_TRY(raise(motion, n));
  }
  return TL_OK;
}

tl_status tl_pass_cast_motion(tl_pass *p, tl_module *m) {
  tl_precision_own own;
  tl_motion motion = {.p = p, .m = m};
  if (!tl_precision_settle(p->options, p->off_chip, &own))
    return TL_OK;
  motion.lossy = own.config.lossy_casts;
  motion.chip = p->off_chip ? NULL : tl_options_op_info(p->options);
  motion.forms = tl_precision_forms_create(m, &own.options, p->scratch);
  TL_TRY(tl_merge_facts_find(p, m, &motion.facts));
  motion.clamp = own.config.constants == TL_CONST_CLAMP;
  bool ok = motion.forms && tl_cast_set_init(&motion.constants, m, p->scratch, motion.clamp);
  tl_status status = ok ? TL_OK : tl_no_memory(m);
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++)
    if (!m->graphs.at[i]->erased) {
      status = tl_motion_lift(&motion, m->graphs.at[i]);
      if (status == TL_OK)
        status = sweep(&motion, m->graphs.at[i]);
    }
  if (status == TL_OK)
    tl_cast_set_drop_constants(&motion.constants);
  tl_cast_set_release(&motion.constants);
  tl_merge_facts_release(&motion.facts);
  if (status == TL_OK && motion.made)
    status = tl_select_made(p, m);
  return status;
}
