/* SPDX-License-Identifier: Apache-2.0 */
/* Makes near misses: graphs of a rule that differ in what one condition is about, so that this
 * condition alone does not hold. The rule without the condition is applied there: if the result is
 * wrong, the condition is needed. */
#include "support/hash.h"
#include "tools/rules/findings.h"

enum { NEAR_WANTED = 4, TRIES = 80 };

/* Returns a copy of the rule without one condition, in scratch; NULL: memory is out. */
static tl_rule *without(const tl_bench *b, const tl_rule *r, uint32_t condition) {
  tl_rule *copy = tl_arena_calloc(b->scratch, 1, sizeof *copy);
  tl_expr **where = tl_arena_calloc(b->scratch, r->n_where, sizeof *where);
  if (!copy || !where)
    return NULL;
  *copy = *r;
  copy->where = where;
  copy->n_where = 0;
  for (uint8_t i = 0; i < r->n_where; i++)
    if (i != condition)
      where[copy->n_where++] = r->where[i];
  return copy;
}

/* Judges what the rule does to a near miss without the condition. */
static tl_status count(const tl_quest *q, const tl_rule *r, const tl_sample *s, tl_trial *t,
                       tl_condition *c) {
  tl_judgement j;
  tl_buf why;
  tl_buf_init(&why);
  c->near++;
  tl_twins twins = {.before = s->m, .after = t->after, .numerics = tl_judged_as(r)};
  tl_status status = tl_judge(q->bench, &twins, &j, &why);
  if (status == TL_OK) {
    c->needed += j == TL_JUDGED_WRONG;
    c->spared += j == TL_JUDGED_SAME;
  }
  tl_buf_release(&why);
  return status;
}

/* Tries changed genes: a near miss if the rule fails by the condition, and fits without it. */
static tl_status try_one(const tl_quest *q, const tl_soil *soil, const tl_rule *relaxed,
                         const tl_genes *genes, tl_condition *c) {
  tl_sample s;
  tl_trial strict, loose;
  if (tl_sample_make(soil, genes, &s) != TL_OK)
    return tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
  if (!s.m)
    return TL_OK;
  tl_status status = tl_trial_run(q->bench, soil->rule, s.m, s.root, &strict);
  if (status == TL_OK && !strict.after && strict.condition >= 0) {
    status = tl_trial_run(q->bench, relaxed, s.m, s.root, &loose);
    if (status == TL_OK && loose.after)
      status = count(q, soil->rule, &s, &loose, c);
    tl_trial_release(&loose);
  }
  tl_trial_release(&strict);
  tl_module_destroy(s.m);
  return status;
}

static tl_status find_one(const tl_quest *q, tl_findings *f, uint32_t condition) {
  const tl_positive *p = &f->kept[condition % f->n_kept];
  const tl_rule *r = p->rule;
  if (condition >= r->n_where)
    return TL_OK;
  tl_hints hints;
  tl_hints_find(r, &hints);
  tl_soil soil = {.set = q->bench->set,
                  .rule = r,
                  .hints = &hints,
                  .empty = q->empty,
                  .quiet = q->bench->quiet,
                  .heap = q->bench->heap,
                  .scratch = q->bench->scratch};
  tl_condition *c = &f->conditions[condition];
  c->text = r->where[condition]->text;
  tl_arena_mark mark = tl_arena_save(soil.scratch);
  tl_rule *relaxed = without(q->bench, r, condition);
  tl_status status = relaxed ? TL_OK : tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
  uint64_t seed = tl_hash_mix(q->bench->seed, 7000 + condition);
  for (uint32_t i = 0; i < TRIES && c->near < NEAR_WANTED && status == TL_OK; i++) {
    const tl_positive *from = &f->kept[tl_random_bits(seed, 2 * i) % f->n_kept];
    if (from->rule != r)
      from = p;
    tl_genes genes =
        tl_genes_change(r, &from->genes, r->where[condition], tl_random_bits(seed, 2 * i + 1));
    tl_arena_mark one = tl_arena_save(soil.scratch);
    status = *q->bench->cli->signal ? TL_IO : try_one(q, &soil, relaxed, &genes, c);
    tl_arena_rewind(soil.scratch, one);
  }
  tl_arena_rewind(soil.scratch, mark);
  return status;
}

tl_status tl_find_near_misses(const tl_quest *q, tl_findings *f) {
  tl_status status = TL_OK;
  for (uint32_t i = 0; f->n_kept && i < f->rule->n_where && status == TL_OK; i++)
    status = find_one(q, f, i);
  return status;
}
