/* SPDX-License-Identifier: Apache-2.0 */
/* The pass manager: one loop over rows; everything observable about passes happens here. */
#include "passes/manager.h"

#include "ir/verify/verify.h"
#include "passes/edit/passes.h"
#include "passes/engine/ruleset.h"
#include "passes/train/step/state.h"
#include "support/measure.h"

enum {
#define PASS(c_name, name, file, level, stage, summary) ROW_##c_name,
#include "passes/passes.tbl"
  N_ROWS
};

static const tl_pass_row rows_of_table[N_ROWS] = {
#define PASS(c_name, name, file, level, stage, summary)                                            \
  {name, summary, tl_pass_##c_name, level, TL_STAGE_##stage},
#include "passes/passes.tbl"
};

/* Order pairs of the table. A pair that names no pass does not compile. */
static const tl_pass_order orders_of_table[] = {
#define BEFORE(a, b, reason) {&rows_of_table[ROW_##a], &rows_of_table[ROW_##b], reason},
#include "passes/passes.tbl"
};

static const tl_pass_need needs_of_table[] = {
#define NEEDED(a, reason) {&rows_of_table[ROW_##a], reason},
#include "passes/passes.tbl"
};

const tl_pass_need *tl_pass_needs(uint32_t *n) {
  *n = sizeof needs_of_table / sizeof *needs_of_table;
  return needs_of_table;
}

const tl_pass_row *tl_pass_rows(uint32_t *n) {
  *n = N_ROWS;
  return rows_of_table;
}

const tl_pass_order *tl_pass_orders(uint32_t *n) {
  *n = sizeof orders_of_table / sizeof *orders_of_table;
  return orders_of_table;
}

tl_stage tl_pipeline_canonical(const tl_options *options) {
  const tl_precision_config *c = options->precision;
  return c && !tl_precision_is_inert(c) ? TL_STAGE_ONNX : TL_STAGE_ALL;
}

/* Stages form no order: each row says for which kinds of pipelines it is. */
bool tl_pass_runs_in(const tl_pass_row *row, tl_stage pipeline) {
  switch ((tl_stage)row->stage) {
  case TL_STAGE_ALL: return true;
  case TL_STAGE_ONNX: return pipeline == TL_STAGE_ONNX;
  case TL_STAGE_PRECISION: return pipeline != TL_STAGE_ALL && pipeline != TL_STAGE_FIRST;
  case TL_STAGE_LAST: return pipeline != TL_STAGE_FIRST;
  case TL_STAGE_CANONICAL: return pipeline == TL_STAGE_ALL || pipeline == TL_STAGE_ONNX;
  case TL_STAGE_SELECT: return pipeline == TL_STAGE_SELECT || pipeline == TL_STAGE_AIR;
  default: return pipeline == TL_STAGE_AIR;
  }
}

const char *tl_pass_stage_name(const tl_pass_row *row) {
  static const char *const names[] = {[TL_STAGE_ALL] = "always",         [TL_STAGE_ONNX] = "onnx",
                                      [TL_STAGE_SELECT] = "select",      [TL_STAGE_AIR] = "air",
                                      [TL_STAGE_PRECISION] = "dtypes",   [TL_STAGE_LAST] = "last",
                                      [TL_STAGE_CANONICAL] = "canonical"};
  TL_ASSERT_ROWS(names, TL_N_STAGES);
  return names[row->stage];
}

const tl_pass_row *tl_pass_find(tl_sv name) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  for (uint32_t i = 0; i < n; i++)
    if (tl_sv_is(name, rows[i].name))
      return &rows[i];
  return NULL;
}

/* Reports an unknown pass, with the nearest name within an edit distance of 3. */
static tl_status fail_unknown(tl_module *m, tl_sv name) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  const char *nearest = NULL;
  size_t best = 4;
  for (uint32_t i = 0; i < n; i++) {
    size_t d = tl_edit_distance(name, tl_sv_from(rows[i].name), best);
    if (d < best) {
      best = d;
      nearest = rows[i].name;
    }
  }
  tl_location nowhere = {0};
  if (nearest)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, nowhere,
                   "unknown pass '%.*s'\vdid you mean '%s'? 'tailor passes' lists them",
                   TL_SV_ARG(name), nearest);
  return tl_fail(m->diag, TL_INVALID_ARGUMENT, nowhere,
                 "unknown pass '%.*s'\v'tailor passes' lists them", TL_SV_ARG(name));
}

/* Adds a row to the passes to run. */
static tl_status add_row(tl_module *m, const tl_pass_row **rows, uint32_t *n,
                         const tl_pass_row *row) {
  if (*n == TL_MAX_PIPELINE)
    return tl_fail(m->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "more than %d passes in one pipeline",
                   TL_MAX_PIPELINE);
  rows[(*n)++] = row;
  return TL_OK;
}

/* Adds the rows of the table, each with the passes that run behind it. */
static tl_status plan_table(tl_module *m, const tl_pipeline_options *p, const tl_pass_row **rows,
                            uint32_t *n) {
  uint32_t n_table;
  const tl_pass_row *table = tl_pass_rows(&n_table);
  for (uint32_t i = 0; i < n_table; i++) {
    if (table[i].level > p->level || !tl_pass_runs_in(&table[i], p->stage))
      continue;
    TL_TRY(add_row(m, rows, n, &table[i]));
    for (uint32_t k = 0; k < p->n_own; k++)
      if (p->own[k]->after && strcmp(p->own[k]->after, table[i].name) == 0)
        TL_TRY(add_row(m, rows, n, &p->own[k]->row));
  }
  return TL_OK;
}

static const tl_pass_row *find_own(const tl_pipeline_options *p, tl_sv name) {
  for (uint32_t i = 0; i < p->n_own; i++)
    if (tl_sv_is(name, p->own[i]->row.name))
      return &p->own[i]->row;
  return NULL;
}

/* Fills rows with the passes to run and *n with their number. */
static tl_status plan(tl_module *m, const tl_pipeline_options *p, const tl_pass_row **rows,
                      uint32_t *n) {
  *n = 0;
  if (!p->passes)
    return plan_table(m, p, rows, n);
  tl_sv rest = tl_sv_from(p->passes);
  while (rest.p) {
    tl_sv name = tl_sv_trim(tl_sv_split(&rest, ','));
    const tl_pass_row *row = tl_pass_find(name);
    if (name.n == 0)
      continue;
    if (!row)
      row = find_own(p, name);
    if (!row)
      return fail_unknown(m, name);
    TL_TRY(add_row(m, rows, n, row));
  }
  return TL_OK;
}

/* A hook may stop the pipeline by its status. */
static tl_status call_hook(const tl_pipeline_options *p, tl_module *m, const tl_pass_result *r,
                           bool after) {
  if (!p->hook)
    return TL_OK;
  tl_pass_event e = {r->row, after, r->changed, r->nanoseconds, r->nodes_before, r->nodes_after};
  return p->hook(p->hook_user, m, &e);
}

/* Runs a pass. Two scratch arenas alternate: what a pass leaves for the next one (a training step
 * state) stays valid in the other arena while the next pass runs. */
static tl_status run_pass(tl_module *m, tl_pass *pass, const tl_pass_row *row, tl_arena *rooms) {
  static const tl_arena_mark nothing = {0};
  tl_arena *before = pass->scratch;
  pass->scratch = before == &rooms[0] ? &rooms[1] : &rooms[0];
  pass->name = row->name;
  pass->row = row;
  pass->changed = 0;
  bool found = tl_step_pipeline_next(m);
  tl_activity around = tl_activity_begin(m->diag, "in pass", row->name);
  tl_status status = tl_activity_end(m->diag, around, row->fn(pass, m));
  if (found)
    tl_arena_rewind(before, nothing);
  if (!tl_step_pipeline_left(m))
    tl_arena_rewind(pass->scratch, nothing);
  return status;
}

static bool is_needed(const tl_pass_row *row) {
  for (size_t i = 0; i < sizeof needs_of_table / sizeof *needs_of_table; i++)
    if (needs_of_table[i].row == row)
      return true;
  return false;
}

/* Runs a pass, outside the limit of rewrites if no output could do without it. */
static tl_status run_within_limit(tl_module *m, tl_pass *pass, const tl_pipeline_options *p,
                                  const tl_pass_row *row, tl_arena *rooms) {
  if (!p->spares_needed || !is_needed(row))
    return run_pass(m, pass, row, rooms);
  uint64_t *counted = pass->rewrites, limit = pass->limit, aside = 0;
  pass->rewrites = &aside;
  pass->limit = UINT64_MAX;
  tl_status status = run_pass(m, pass, row, rooms);
  pass->rewrites = counted;
  pass->limit = limit;
  pass->changed = 0;
  return status;
}

/* Refuses what a pass made of the model if it has too many nodes now. */
static tl_status check_growth(const tl_module *m, const tl_pass *pass, const tl_pass_result *r) {
  int64_t most = pass->options->max_nodes;
  if (r->nodes_after <= r->nodes_before || r->nodes_after <= most)
    return TL_OK;
  return tl_fail(m->diag, TL_LIMIT, TL_AT_FILE(m->path),
                 "pass '%s' makes %llu nodes of %llu, more than %lld\v--max-nodes allows up to "
                 "4000000, and --unroll-limit=0 unrolls no loops",
                 pass->name, (unsigned long long)r->nodes_after,
                 (unsigned long long)r->nodes_before, (long long)most);
}

/* Runs one pass with hooks, timing, counting and the verifier. */
static tl_status run_one(tl_module *m, tl_pass *pass, const tl_pipeline_options *p, tl_arena *rooms,
                         unsigned *levels, tl_pass_result *r) {
  r->nodes_before = tl_module_count_nodes(m);
  TL_TRY(call_hook(p, m, r, false));
  uint64_t start = tl_now_ns();
  tl_status status = run_within_limit(m, pass, p, r->row, rooms);
  r->nanoseconds = tl_elapsed_ns(start);
  r->changed = pass->changed;
  r->nodes_after = tl_module_count_nodes(m);
  if (status != TL_OK)
    return status;
  TL_TRY(check_growth(m, pass, r));
  /* Declared types may be wrong until inference has replaced them. */
  if (r->row->fn == tl_pass_infer_shapes)
    *levels |= TL_VERIFY_SHAPES;
  /* In NPU form a quantized op may give another float type than inference computes for ONNX. */
  if (r->row->fn == tl_pass_precision && p->stage == TL_STAGE_AIR)
    *levels &= ~(unsigned)TL_VERIFY_SHAPES;
  if (p->verify_each && tl_module_verify(m, *levels) != TL_OK)
    return tl_fail(m->diag, TL_INTERNAL, TL_AT_FILE(m->path),
                   "the module is broken after pass '%s'", r->row->name);
  return call_hook(p, m, r, true);
}

/* The passes of a run and the position in it. */
typedef struct pipeline {
  const tl_pipeline_options *p;
  const tl_pass_row *rows[TL_MAX_PIPELINE];
  uint32_t n;
  uint32_t at; /* index of the running row */
} pipeline;

static tl_status run_rows(tl_module *m, tl_pass *pass, pipeline *l, tl_arena *rooms,
                          tl_pipeline_report *report);

/* Runs all rows of a pipeline; owns the arenas and the engine state meanwhile. */
static tl_status run(tl_module *m, const tl_options *options, pipeline *l,
                     tl_pipeline_report *report) {
  const tl_pipeline_options *p = l->p;
  tl_arena rooms[2];
  report->n = 0;
  report->rewrites = 0;
  TL_TRY(tl_step_pipeline_begin(m, p->steps));
  tl_arena_init(&rooms[0], 0);
  tl_arena_init(&rooms[1], 0);
  tl_engine_state engine = {0};
  tl_pass pass = {.options = options,
                  .engine = &engine,
                  .scratch = &rooms[0],
                  .remark = p->remark,
                  .remark_user = p->remark_user,
                  .fusions = p->fusions,
                  .rules = p->rules,
                  .question = p->question,
                  .log = p->log,
                  .explain = p->explain && p->remark,
                  .explain_most = p->explain_most,
                  .elsewhere = p->explain_elsewhere,
                  .off_chip = p->stage == TL_STAGE_ONNX && !p->passes,
                  .rewrites = &report->rewrites,
                  .limit = p->rewrite_limit || p->spares_needed ? p->rewrite_limit : UINT64_MAX};
  tl_status status = run_rows(m, &pass, l, rooms, report);
  tl_engine_state_release(&engine);
  tl_step_pipeline_end(m);
  tl_arena_release(&rooms[0]);
  tl_arena_release(&rooms[1]);
  return status;
}

/* By address: asked for each pair of passes. */
static bool is_of_table(const tl_pass_row *row) {
  uint32_t n;
  uintptr_t table = (uintptr_t)tl_pass_rows(&n);
  return (uintptr_t)row - table < n * sizeof *row;
}

/* Fills `to` with the rows behind the running one up to the pass schedule. Returns false if that
 * pass does not follow. The rest is a forecast, of which passes of the library's user hear
 * nothing. */
static bool add_rest(pipeline *to, const pipeline *from) {
  uint32_t n;
  const tl_pass_row *table = tl_pass_rows(&n);
  to->n = 0;
  for (uint32_t i = from->at + 1; i < from->n; i++) {
    if (!is_of_table(from->rows[i]))
      continue;
    to->rows[to->n++] = from->rows[i];
    if (from->rows[i]->fn == tl_pass_schedule)
      return true;
  }
  /* A canonical pipeline of kind FIRST continues with the rows that make NPU forms. */
  for (uint32_t i = 0; i < n && !from->p->passes && from->p->stage == TL_STAGE_FIRST; i++) {
    if (table[i].level > from->p->level || table[i].stage == TL_STAGE_ALL ||
        !tl_pass_runs_in(&table[i], TL_STAGE_AIR))
      continue;
    if (to->n == TL_MAX_PIPELINE)
      return false;
    to->rows[to->n++] = &table[i];
    if (table[i].fn == tl_pass_schedule)
      return true;
  }
  return false;
}

/* Runs the rest of the pipeline on a fork (tl_pass.rest), without hooks and remarks. */
static tl_status run_rest(const tl_pass *p, tl_module *fork, struct tl_step_record *steps) {
  const pipeline *whole = p->pipeline;
  const tl_pipeline_options options = {
      .level = whole->p->level, .stage = whole->p->stage, .steps = steps};
  pipeline l = {.p = &options};
  tl_pipeline_report report;
  return add_rest(&l, whole) ? run(fork, p->options, &l, &report) : TL_OK;
}

static tl_status run_rows(tl_module *m, tl_pass *pass, pipeline *l, tl_arena *rooms,
                          tl_pipeline_report *report) {
  unsigned levels = TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES;
  pipeline after;
  pass->pipeline = l;
  if (l->p->verify_each)
    TL_TRY(tl_module_verify(m, levels));
  for (l->at = 0; l->at < l->n; l->at++) {
    tl_pass_result *r = &report->at[report->n++];
    *r = (tl_pass_result){.row = l->rows[l->at]};
    pass->rest = add_rest(&after, l) ? run_rest : NULL;
    TL_TRY(run_one(m, pass, l->p, rooms, &levels, r));
    if (l->p->ends_at_limit && report->rewrites >= pass->limit)
      break;
  }
  return TL_OK;
}

tl_status tl_pipeline_run(tl_module *m, const tl_options *options, const tl_pipeline_options *p,
                          tl_pipeline_report *report) {
  tl_pipeline_report unseen;
  pipeline l = {.p = p};
  if (!report)
    report = &unseen;
  report->n = 0;
  report->rewrites = 0;
  TL_TRY(plan(m, p, l.rows, &l.n));
  return run(m, options, &l, report);
}
