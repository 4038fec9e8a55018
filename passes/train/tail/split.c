/* SPDX-License-Identifier: Apache-2.0 */
/* Splits joins that make work on finished buckets wait for the last one, by bucket: updates of many
 * tensors and overflow checks.
 * Nodes that depend on one bucket form a group with it; what depends on several, or on none, goes
 * with the last group. */
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/values.h"
#include "passes/train/tail/groups.h"
#include "passes/train/update/math.h"

/* ---- groups ---------------------------------------------------------------------------------- */

uint32_t tl_tail_group(tl_tail *t, const uint32_t *bucket, uint32_t n, uint32_t *group) {
  uint32_t n_groups = 0;
  uint32_t *of = tl_arena_alloc(t->p->scratch, t->n_buckets * sizeof *of);
  t->no_memory = t->no_memory || !of;
  if (t->no_memory)
    return 0;
  memset(of, 0xff, t->n_buckets * sizeof *of);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t b = bucket[i] >= t->n_buckets ? t->n_buckets - 1 : bucket[i];
    if (of[b] == UINT32_MAX)
      of[b] = n_groups++;
    group[i] = of[b];
  }
  return n_groups;
}

tl_symbol tl_tail_fresh(tl_tail *t, tl_symbol base) {
  tl_symbol name = tl_module_fresh_name(t->m, base ? tl_sym(t->m, base) : TL_SV("tail"));
  t->no_memory = t->no_memory || name == TL_NO_SYMBOL;
  return name;
}

tl_value_id tl_tail_make_one(tl_tail *t, tl_node_id before, tl_node_id like, tl_op_id op,
                             const tl_value_id *operands, uint32_t n) {
  tl_symbol name = tl_tail_fresh(t, tl_value_get(t->m, tl_result(t->m, like, 0))->name);
  tl_node_spec spec = {.op = op,
                       .name = name,
                       .operands = operands,
                       .n_operands = n,
                       .results = &name,
                       .n_results = 1};
  tl_node_id made = t->no_memory ? TL_NO_NODE : tl_tail_make(t, before, like, &spec);
  return made ? tl_result(t->m, made, 0) : TL_NO_VALUE;
}

/* A division of tensors or operands by group. */
typedef struct division {
  uint32_t n;
  uint32_t n_groups;
  uint32_t *bucket; /* [n] */
  uint32_t *group;  /* [n] */
} division;

/* Allocates the arrays of a division. */
static division divide(tl_tail *t, uint32_t n) {
  division d = {.n = n};
  d.bucket = tl_arena_calloc(t->p->scratch, n, sizeof *d.bucket);
  d.group = tl_arena_calloc(t->p->scratch, n, sizeof *d.group);
  t->no_memory = t->no_memory || !d.bucket || !d.group;
  return d;
}

static tl_value_id *values(tl_tail *t, uint32_t n) {
  tl_value_id *made = tl_arena_calloc(t->p->scratch, n, sizeof *made);
  t->no_memory = t->no_memory || !made;
  return made;
}

/* ---- checks of overflow ---------------------------------------------------------------------- */

/* Returns true for values that are 0 or NaN: their sum does not depend on the order of addition. */
static bool is_zero_or_nan(const tl_module *m, tl_value_id v) {
  tl_node_id n = v ? tl_value_producer(m, v) : TL_NO_NODE;
  if (n && tl_node_get(m, n)->op == TL_OP_Cast)
    n = tl_value_producer(m, tl_operand(m, n, 0));
  return n && (tl_node_has_mark(m, n, TL_MARK_NOFOLD) || tl_node_get(m, n)->op == TL_OP_Sum);
}

/* Returns true if each operand has the type of the result: then a part of them has it, too. Where
 * one is broadcast, only a part with it has. */
static bool is_of_one_type(const tl_module *m, tl_node_id n) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++)
    if (tl_value_type(m, tl_operand(m, n, i)) != tl_value_type(m, tl_result(m, n, 0)))
      return false;
  return true;
}

/* Returns true for an overflow check that joins tensors by an associative op. */
static bool is_check_join(const tl_tail *t, tl_node_id n) {
  const tl_node *node = tl_node_get(t->m, n);
  bool all = node->op == TL_OP_com_microsoft_IsAllFinite;
  bool sum = node->op == TL_OP_Sum;
  bool extreme = node->op == TL_OP_Max || node->op == TL_OP_Min;
  if ((!all && !sum && !extreme) || !t->step.checks[n] || node->control_in || node->control_out)
    return false;
  if (!all && !is_of_one_type(t->m, n))
    return false;
  for (uint32_t i = 0; sum && i < node->n_operands; i++)
    if (!is_zero_or_nan(t->m, tl_operand(t->m, n, i)))
      return false;
  return true;
}

/* Makes part k of a check. A part of one operand is the operand itself, unless the op changes its
 * type. */
static tl_value_id part_of_check(tl_tail *t, tl_node_id n, const division *d, uint32_t k) {
  const tl_node *node = tl_node_get(t->m, n);
  tl_value_id *operands = values(t, d->n);
  uint32_t count = 0;
  for (uint32_t i = 0; operands && i < d->n; i++)
    if (d->group[i] == k)
      operands[count++] = tl_operand(t->m, n, i);
  if (count == 1 && node->op != TL_OP_com_microsoft_IsAllFinite)
    return operands[0];
  tl_symbol name = tl_tail_fresh(t, tl_value_get(t->m, node->results)->name);
  tl_node_spec spec = {.op = node->op,
                       .name = name,
                       .operands = operands,
                       .n_operands = count,
                       .results = &name,
                       .n_results = 1,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  tl_node_id made = tl_tail_make(t, n, n, &spec);
  return made ? tl_result(t->m, made, 0) : TL_NO_VALUE;
}

/* Splits a check into one part per bucket and joins the parts. */
static bool split_check(tl_tail *t, tl_node_id n) {
  tl_op_id op = tl_node_get(t->m, n)->op;
  division d = divide(t, tl_node_get(t->m, n)->n_operands);
  for (uint32_t i = 0; !t->no_memory && i < d.n; i++)
    d.bucket[i] = tl_tail_bucket_of(t, tl_operand(t->m, n, i));
  d.n_groups = t->no_memory ? 0 : tl_tail_group(t, d.bucket, d.n, d.group);
  if (d.n_groups < 2 || d.n_groups == d.n)
    return false;
  tl_value_id *parts = values(t, d.n_groups);
  for (uint32_t k = 0; !t->no_memory && k < d.n_groups; k++)
    parts[k] = part_of_check(t, n, &d, k);
  if (t->no_memory)
    return false;
  tl_value_id whole = parts[0];
  if (op == TL_OP_com_microsoft_IsAllFinite) {
    for (uint32_t k = 1; k < d.n_groups && whole; k++)
      whole = tl_tail_make_one(t, n, n, TL_OP_And, (tl_value_id[]){whole, parts[k]}, 2);
  } else {
    whole = tl_tail_make_one(t, n, n, op, parts, d.n_groups);
  }
  if (!whole)
    return false;
  tl_tail_replace(t, tl_result(t->m, n, 0), whole);
  tl_tail_retire(t, n);
  return true;
}

uint32_t tl_tail_split_checks(tl_tail *t) {
  uint32_t n = 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k)
    if (!t->no_memory && is_check_join(t, k))
      n += split_check(t, k);
  return n;
}

/* ---- optimizers of ai.onnx.preview.training -------------------------------------------------- */

enum { SHARED = 2, GRADIENTS = 1 }; /* rate and count; weights, gradients, states */

/* Writes the members of group k and returns their number. */
static uint32_t members(const division *d, uint32_t k, uint32_t *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < d->n; i++)
    if (d->group[i] == k)
      out[n++] = i;
  return n;
}

/* Makes the optimizer node of group k; operands are grouped by kind, not by tensor. */
static bool make_preview(tl_tail *t, tl_node_id n, const division *d, uint32_t kinds, uint32_t k) {
  const tl_node *node = tl_node_get(t->m, n);
  uint32_t *at = values(t, d->n);
  uint32_t count = at ? members(d, k, at) : 0;
  tl_value_id *operands = values(t, SHARED + kinds * count);
  tl_symbol *results = values(t, (kinds - 1) * count);
  if (t->no_memory)
    return false;
  for (uint32_t i = 0; i < SHARED; i++)
    operands[i] = tl_operand(t->m, n, i);
  for (uint32_t kind = 0; kind < kinds; kind++)
    for (uint32_t i = 0; i < count; i++)
      operands[SHARED + kind * count + i] = tl_operand(t->m, n, SHARED + kind * d->n + at[i]);
  for (uint32_t kind = 0; kind + 1 < kinds; kind++)
    for (uint32_t i = 0; i < count; i++)
      results[kind * count + i] =
          tl_tail_fresh(t, tl_value_get(t->m, tl_result(t->m, n, kind * d->n + at[i]))->name);
  tl_node_spec spec = {.op = node->op,
                       .name = tl_tail_fresh(t, node->name),
                       .operands = operands,
                       .n_operands = SHARED + kinds * count,
                       .results = results,
                       .n_results = (kinds - 1) * count,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  tl_node_id made = tl_tail_make(t, n, n, &spec);
  for (uint32_t kind = 0; made && kind + 1 < kinds; kind++)
    for (uint32_t i = 0; i < count; i++) {
      tl_value_id old = tl_result(t->m, n, kind * d->n + at[i]);
      tl_value_id value = tl_result(t->m, made, kind * count + i);
      tl_value_set_type(t->m, value, tl_value_type(t->m, old));
      tl_tail_replace(t, old, value);
    }
  return made != TL_NO_NODE;
}

/* Splits an optimizer node by bucket. */
static bool split_preview(tl_tail *t, tl_node_id n, uint32_t kinds) {
  const tl_node *node = tl_node_get(t->m, n);
  if (node->n_operands < SHARED + 2 * kinds || (node->n_operands - SHARED) % kinds ||
      node->control_in || node->control_out)
    return false;
  division d = divide(t, (node->n_operands - SHARED) / kinds);
  if (node->n_results != d.n * (kinds - 1) || t->no_memory)
    return false;
  for (uint32_t i = 0; i < d.n; i++)
    d.bucket[i] = tl_tail_bucket_of(t, tl_operand(t->m, n, SHARED + GRADIENTS * d.n + i));
  d.n_groups = tl_tail_group(t, d.bucket, d.n, d.group);
  if (d.n_groups < 2)
    return false;
  for (uint32_t k = 0; k < d.n_groups; k++)
    if (!make_preview(t, n, &d, kinds, k))
      return false;
  tl_tail_retire(t, n);
  return true;
}

/* ---- AdamWOptimizer over sequences ----------------------------------------------------------- */

enum { FIRST_SEQUENCE = 2, N_SEQUENCES = 4, GRADIENT_SEQUENCE = 3 };

tl_node_id tl_tail_construct_of(const tl_tail *t, tl_node_id n, uint32_t operand) {
  return tl_list_maker(t->m, tl_operand(t->m, n, operand));
}

/* Makes a SequenceConstruct of the elements `at`. */
static tl_value_id part_of_sequence(tl_tail *t, tl_node_id n, tl_node_id construct,
                                    const uint32_t *at, uint32_t count) {
  tl_value_id *operands = values(t, count);
  for (uint32_t i = 0; i < count; i++)
    operands[i] = tl_operand(t->m, construct, at[i]);
  return tl_tail_make_one(t, n, construct, TL_OP_SequenceConstruct, operands, count);
}

/* Makes the AdamWOptimizer of group k over parts of the sequences. */
static tl_node_id make_adamw(tl_tail *t, tl_node_id n, const division *d, uint32_t k) {
  const tl_node *node = tl_node_get(t->m, n);
  uint32_t *at = values(t, d->n);
  tl_value_id *operands = values(t, node->n_operands);
  tl_symbol *results = values(t, node->n_results);
  if (t->no_memory)
    return TL_NO_NODE;
  uint32_t count = members(d, k, at);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    bool sequence = i >= FIRST_SEQUENCE && i < FIRST_SEQUENCE + N_SEQUENCES;
    operands[i] = sequence ? part_of_sequence(t, n, tl_tail_construct_of(t, n, i), at, count)
                           : tl_operand(t->m, n, i);
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_symbol name = tl_value_get(t->m, node->results + i)->name;
    results[i] = name ? tl_tail_fresh(t, name) : 0;
  }
  tl_node_spec spec = {.op = node->op,
                       .name = tl_tail_fresh(t, node->name),
                       .operands = operands,
                       .n_operands = node->n_operands,
                       .results = results,
                       .n_results = node->n_results,
                       .attrs = node->attrs,
                       .n_attrs = node->n_attrs};
  return tl_tail_make(t, n, n, &spec);
}

/* Returns element i of a sequence, with the type of `tensor`. */
static tl_value_id element(tl_tail *t, tl_node_id n, tl_value_id sequence, uint32_t i,
                           tl_value_id tensor) {
  tl_symbol name = tl_tail_fresh(t, tl_value_get(t->m, sequence)->name);
  tl_value_id place = t->no_memory ? TL_NO_VALUE : tl_tail_constant(t, name, i);
  tl_node_spec spec = {.op = TL_OP_SequenceAt,
                       .name = name,
                       .operands = (tl_value_id[]){sequence, place},
                       .n_operands = 2,
                       .results = &name,
                       .n_results = 1};
  tl_node_id made = place ? tl_tail_make(t, n, n, &spec) : TL_NO_NODE;
  t->no_memory = t->no_memory || !made;
  if (!made)
    return TL_NO_VALUE;
  tl_value_set_type(t->m, tl_result(t->m, made, 0), tl_value_type(t->m, tensor));
  return tl_result(t->m, made, 0);
}

/* Rebuilds result r, a sequence, from the parts in the original order. */
static bool regroup(tl_tail *t, tl_node_id n, const division *d, const tl_node_id *parts,
                    uint32_t r) {
  tl_value_id old = tl_result(t->m, n, r);
  tl_node_id construct = tl_tail_construct_of(t, n, r == 1 ? FIRST_SEQUENCE : FIRST_SEQUENCE + r);
  tl_value_id *operands = values(t, d->n);
  uint32_t *next = values(t, d->n_groups);
  if (t->no_memory || !construct)
    return false;
  for (uint32_t i = 0; i < d->n; i++) {
    uint32_t k = d->group[i];
    operands[i] =
        element(t, n, tl_result(t->m, parts[k], r), next[k]++, tl_operand(t->m, construct, i));
    if (!operands[i])
      return false;
  }
  tl_symbol name = tl_tail_fresh(t, tl_value_get(t->m, old)->name);
  tl_node_spec spec = {.op = TL_OP_SequenceConstruct,
                       .name = name,
                       .operands = operands,
                       .n_operands = d->n,
                       .results = &name,
                       .n_results = 1};
  tl_node_id made = tl_tail_make(t, n, n, &spec);
  if (!made)
    return false;
  tl_value_set_type(t->m, tl_result(t->m, made, 0),
                    tl_value_type(t->m, tl_result(t->m, construct, 0)));
  tl_tail_replace(t, old, tl_result(t->m, made, 0));
  return true;
}

/* Returns true if gradients and moments have the types of their weights, which elements taken out
 * need. */
static bool have_types_of_weights(const tl_tail *t, tl_node_id n, uint32_t tensors) {
  for (uint32_t i = 0; i < N_SEQUENCES * tensors; i++) {
    tl_node_id c = tl_tail_construct_of(t, n, FIRST_SEQUENCE + i / tensors);
    tl_value_id w = tl_operand(t->m, tl_tail_construct_of(t, n, FIRST_SEQUENCE), i % tensors);
    if (tl_value_type(t->m, tl_operand(t->m, c, i % tensors)) != tl_value_type(t->m, w))
      return false;
  }
  return true;
}

/* Splits an AdamWOptimizer by bucket. Every operand list must be spelled out, so that it can be
 * cut. */
static bool split_adamw(tl_tail *t, tl_node_id n) {
  const tl_node *node = tl_node_get(t->m, n);
  if (node->n_operands < FIRST_SEQUENCE + N_SEQUENCES || node->control_in || node->control_out)
    return false;
  tl_node_id gradients = tl_tail_construct_of(t, n, GRADIENT_SEQUENCE);
  uint32_t tensors = gradients ? tl_node_get(t->m, gradients)->n_operands : 0;
  for (uint32_t i = 0; i < N_SEQUENCES; i++) {
    tl_node_id c = tl_tail_construct_of(t, n, FIRST_SEQUENCE + i);
    if (!c || tl_node_get(t->m, c)->n_operands != tensors)
      return false;
  }
  if (!have_types_of_weights(t, n, tensors))
    return false;
  division d = divide(t, tensors);
  for (uint32_t i = 0; !t->no_memory && i < d.n; i++)
    d.bucket[i] = tl_tail_bucket_of(t, tl_operand(t->m, gradients, i));
  d.n_groups = t->no_memory ? 0 : tl_tail_group(t, d.bucket, d.n, d.group);
  if (d.n_groups < 2)
    return false;
  tl_node_id *parts = values(t, d.n_groups);
  for (uint32_t k = 0; !t->no_memory && k < d.n_groups; k++)
    parts[k] = make_adamw(t, n, &d, k);
  if (t->no_memory)
    return false;
  tl_tail_replace(t, tl_result(t->m, n, 0), tl_result(t->m, parts[0], 0)); /* the flag: alike */
  for (uint32_t r = 1; r < tl_node_get(t->m, n)->n_results; r++)
    if (tl_value_get(t->m, tl_result(t->m, n, r))->name && !regroup(t, n, &d, parts, r))
      return false;
  for (uint32_t i = 0; i < N_SEQUENCES; i++)
    tl_tail_retire_unused(t, tl_tail_construct_of(t, n, FIRST_SEQUENCE + i));
  tl_tail_retire(t, n);
  return true;
}

static bool has_lists(const tl_module *m) {
  return tl_module_had_op(m, TL_OP_com_microsoft_AdamWOptimizer) || tl_update_had_kinds(m);
}

uint32_t tl_tail_split_updates(tl_tail *t) {
  uint32_t n = 0;
  if (!has_lists(t->m))
    return 0;
  TL_FOR_NODES(t->m, tl_step_graph(t->m), k) {
    tl_op_id op = tl_node_get(t->m, k)->op;
    if (tl_update_kinds(op) && !t->no_memory)
      n += split_preview(t, k, tl_update_kinds(op));
    else if (op == TL_OP_com_microsoft_AdamWOptimizer && !t->no_memory)
      n += split_adamw(t, k);
  }
  return n;
}
