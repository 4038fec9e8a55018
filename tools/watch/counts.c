/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and times of passes and rules, printed. */
#include "tools/watch/counts.h"

#include "support/hash.h"
#include "support/json_writer.h"
#include "support/measure.h"

enum { SCHEMA = 1 };

/* ---- adding ---------------------------------------------------------------------------------- */

static bool copy_text(tl_arena *a, tl_sv *text) {
  const char *copy = tl_arena_copy(a, text->p, text->n);
  text->p = copy;
  return copy != NULL;
}

tl_status tl_counts_add(tl_counts *c, const char *pass, const tl_rule_count *count) {
  tl_counted mine = {pass, *count};
  tl_refusal *refused = NULL;
  if (count->n_refused) {
    refused = tl_arena_alloc(&c->arena, count->n_refused * sizeof *refused);
    if (!refused)
      return TL_NO_MEMORY;
    memcpy(refused, count->refused, count->n_refused * sizeof *refused);
  }
  mine.count.refused = refused;
  return copy_text(&c->arena, &mine.count.fusion) && copy_text(&c->arena, &mine.count.rule) &&
                 tl_counted_vec_push(&c->rules, mine)
             ? TL_OK
             : TL_NO_MEMORY;
}

void tl_counts_release(tl_counts *c) {
  tl_counted_vec_release(&c->rules);
  tl_pass_event_vec_release(&c->passes);
  tl_arena_release(&c->arena);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* One rule in all passes. */
typedef struct sum {
  tl_rule_count count;
  tl_refusal refused[TL_MOST_REFUSALS];
} sum;

TL_VEC(sum_vec, sum);

static void add_refusal(sum *s, const tl_refusal *r) {
  uint32_t i = 0;
  while (i < s->count.n_refused && strcmp(s->refused[i].code, r->code) != 0)
    i++;
  if (i == TL_MOST_REFUSALS)
    i--;
  if (i == s->count.n_refused)
    s->refused[s->count.n_refused++] = (tl_refusal){r->code, 0};
  s->refused[i].n += r->n;
}

static int by_number(const void *a, const void *b) {
  const tl_refusal *x = a, *y = b;
  return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->code, y->code);
}

/* Adds what a rule did in one pass to its sum, which `index` finds by name. */
static bool add_to_sums(sum_vec *sums, tl_map *index, const tl_rule_count *c) {
  uint64_t key = tl_hash_bytes(c->rule.p, c->rule.n, 0);
  uint32_t at;
  if (!tl_map_find(index, key, &at)) {
    at = sums->n;
    sum empty = {.count = {.fusion = c->fusion, .rule = c->rule}};
    if (!sum_vec_push(sums, empty) || !tl_map_set(index, key, at))
      return false;
  }
  sum *s = &sums->at[at];
  s->count.tried += c->tried;
  s->count.matched += c->matched;
  s->count.fired += c->fired;
  for (uint32_t i = 0; i < c->n_refused; i++)
    add_refusal(s, &c->refused[i]);
  return true;
}

/* Sums up the rules, in the order in which they were tried first. */
static tl_status sum_up(const tl_counts *c, sum_vec *sums) {
  tl_map index = {0};
  bool ok = true;
  for (uint32_t i = 0; i < c->rules.n && ok; i++)
    ok = add_to_sums(sums, &index, &c->rules.at[i].count);
  for (uint32_t i = 0; i < sums->n && ok; i++)
    qsort(sums->at[i].refused, sums->at[i].count.n_refused, sizeof(tl_refusal), by_number);
  tl_map_release(&index);
  return ok ? TL_OK : TL_NO_MEMORY;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Adds "tried 12, matched 3, fired 1; MULTI_CONSUMER 2, OP 9". */
static void add_rule(const sum *s, tl_buf *out) {
  const tl_rule_count *c = &s->count;
  bool same = tl_sv_eq(c->fusion, c->rule);
  tl_buf_printf(out, "%.*s%s%.*s  tried %llu, matched %llu, fired %llu", TL_SV_ARG(c->fusion),
                same ? "" : "/", same ? 0 : (int)c->rule.n, c->rule.p, (unsigned long long)c->tried,
                (unsigned long long)c->matched, (unsigned long long)c->fired);
  for (uint32_t i = 0; i < c->n_refused; i++)
    tl_buf_printf(out, "%s%s %llu", i ? ", " : "; refused: ", s->refused[i].code,
                  (unsigned long long)s->refused[i].n);
  tl_buf_add_char(out, '\n');
}

/* Adds the rules whose patterns matched somewhere: of the others there are hundreds. */
static void add_rules(const sum_vec *sums, tl_buf *out) {
  uint32_t others = 0;
  for (uint32_t i = 0; i < sums->n; i++) {
    if (sums->at[i].count.matched)
      add_rule(&sums->at[i], out);
    else
      others++;
  }
  if (others)
    tl_buf_printf(out, "%u more %s tried; --stats=json has them\n", others,
                  others == 1 ? "rule was" : "rules were");
}

static uint64_t all_rewrites(const tl_counts *c) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < c->passes.n; i++)
    all += c->passes.at[i].changed;
  return all;
}

static void add_passes(const tl_counts *c, tl_buf *out) {
  for (uint32_t i = 0; i < c->passes.n; i++) {
    const tl_pass_event *e = &c->passes.at[i];
    tl_buf_printf(out, "%-24s %llu rewrites, nodes %u -> %u\n", e->row->name,
                  (unsigned long long)e->changed, e->nodes_before, e->nodes_after);
  }
  tl_buf_printf(out, "%-24s %llu rewrites\n", "all", (unsigned long long)all_rewrites(c));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_passes(const tl_counts *c, tl_json_writer *w) {
  tl_put_key(w, "passes");
  tl_put_array(w);
  for (uint32_t i = 0; i < c->passes.n; i++) {
    const tl_pass_event *e = &c->passes.at[i];
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_z(w, "pass", e->row->name);
    tl_member_u64(w, "rewrites", e->changed);
    tl_member_u64(w, "nodes_before", e->nodes_before);
    tl_member_u64(w, "nodes_after", e->nodes_after);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_rules(const sum_vec *sums, tl_json_writer *w) {
  tl_put_key(w, "rules");
  tl_put_array(w);
  for (uint32_t i = 0; i < sums->n; i++) {
    const sum *s = &sums->at[i];
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_sv(w, "fusion", s->count.fusion);
    tl_member_sv(w, "rule", s->count.rule);
    tl_member_u64(w, "tried", s->count.tried);
    tl_member_u64(w, "matched", s->count.matched);
    tl_member_u64(w, "fired", s->count.fired);
    tl_put_key(w, "refused");
    tl_put_object(w);
    for (uint32_t k = 0; k < s->count.n_refused; k++)
      tl_member_u64(w, s->refused[k].code, s->refused[k].n);
    tl_put_end(w);
    tl_put_end(w);
  }
  tl_put_end(w);
}

tl_status tl_counts_print(const tl_counts *c, bool json, tl_buf *out) {
  sum_vec sums = {0};
  tl_status status = sum_up(c, &sums);
  if (status == TL_OK && json) {
    tl_json_writer w = tl_json_to(out);
    tl_put_object(&w);
    tl_member_u64(&w, "schema", SCHEMA);
    tl_member_u64(&w, "rewrites", all_rewrites(c));
    put_passes(c, &w);
    put_rules(&sums, &w);
    tl_json_finish(&w);
  } else if (status == TL_OK) {
    add_passes(c, out);
    add_rules(&sums, out);
  }
  sum_vec_release(&sums);
  return status == TL_OK && out->failed ? TL_NO_MEMORY : status;
}

/* ---- times ----------------------------------------------------------------------------------- */

static void put_times(const tl_counts *c, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  for (uint32_t i = 0; i < c->passes.n; i++)
    tl_member_u64(&w, c->passes.at[i].row->name, c->passes.at[i].nanoseconds);
  tl_json_finish(&w);
}

static void add_time(tl_buf *out, const char *name, uint64_t nanoseconds) {
  tl_buf_printf(out, "%-24s ", name);
  tl_add_duration(out, nanoseconds);
  tl_buf_add_char(out, '\n');
}

void tl_counts_print_times(const tl_counts *c, bool json, tl_buf *out) {
  uint64_t all = 0;
  if (json) {
    put_times(c, out);
    return;
  }
  for (uint32_t i = 0; i < c->passes.n; i++) {
    all += c->passes.at[i].nanoseconds;
    add_time(out, c->passes.at[i].row->name, c->passes.at[i].nanoseconds);
  }
  add_time(out, "all", all);
}
