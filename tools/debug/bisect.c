/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor bisect, which finds the rewrite that breaks a model. First the states between
 * passes are searched, then those within the pass that was found. */
#include "tools/debug/bisect.h"

#include "tools/cli/output.h"
#include "tools/cli/rules.h"
#include "tools/convert/pipeline.h"

enum { MOST_JOBS = 64, MOST_EXTRA = 6 };

/* An ordered list of states: those between passes, or a range of numbers. */
typedef struct places {
  const uint64_t *at; /* NULL: first, first + 1 ... */
  uint64_t first;
  uint64_t n;
} places;

static uint64_t place(const places *p, uint64_t i) { return p->at ? p->at[i] : p->first + i; }

/* Returns the untested place nearest to i between lo and hi (both not included); hi: none. */
static uint64_t nearest_new(const tl_states *s, const places *p, uint64_t lo, uint64_t hi,
                            uint64_t i) {
  for (uint64_t d = 0; d < hi - lo; d++) {
    if (i + d < hi && i + d > lo && !tl_states_known(s, place(p, i + d)))
      return i + d;
    if (i > lo + d && i - d < hi && !tl_states_known(s, place(p, i - d)))
      return i - d;
  }
  return hi;
}

/* Chooses up to `most` places that cut the range into equal parts. */
static uint32_t choose(const tl_states *s, const places *p, uint64_t lo, uint64_t hi, unsigned most,
                       uint64_t *out) {
  uint32_t n = 0;
  for (unsigned k = 1; k <= most; k++) {
    uint64_t i = nearest_new(s, p, lo, hi, lo + (hi - lo) * k / (most + 1));
    bool taken = i == hi;
    for (uint32_t q = 0; q < n && !taken; q++)
      taken = out[q] == place(p, i);
    if (!taken)
      out[n++] = place(p, i);
  }
  return n;
}

/* Moves the ends of the range to what is known: the first bad place, and the last good one before
 * it. */
static void narrow(const tl_states *s, const places *p, uint64_t *lo, uint64_t *hi) {
  for (uint64_t i = *lo + 1; i < *hi; i++) {
    const tl_probe *known = tl_states_known(s, place(p, i));
    if (known && known->verdict == TL_VERDICT_BAD)
      *hi = i;
    else if (known && known->verdict == TL_VERDICT_GOOD)
      *lo = i;
  }
}

/* Searches places between a good one and a bad one until no untested place is left between them. */
static tl_status search(tl_states *s, const places *p, uint64_t *lo, uint64_t *hi) {
  uint64_t ask[MOST_JOBS];
  for (;;) {
    narrow(s, p, lo, hi);
    uint32_t n = *hi - *lo > 1 ? choose(s, p, *lo, *hi, s->jobs, ask) : 0;
    if (n == 0)
      return TL_OK;
    tl_progress_say(&s->cli->progress, tl_cli_has(s->cli, TL_OPTION_QUIET),
                    "bisecting rewrites %llu to %llu", (unsigned long long)place(p, *lo),
                    (unsigned long long)place(p, *hi));
    TL_TRY(tl_states_ask(s, ask, n));
  }
}

/* Lists state 0 and the states behind passes that rewrote something; of a pass that failed, the
 * last state that it reached. */
static uint64_t list_borders(const tl_states *s, bool failed, uint64_t *out) {
  uint64_t n = 1;
  out[0] = 0;
  for (uint32_t i = 0; i + failed < s->report.n; i++) {
    out[n] = out[n - 1] + s->report.at[i].changed;
    n += s->report.at[i].changed != 0;
  }
  if (failed && s->report.rewrites > out[n - 1])
    out[n++] = s->report.rewrites;
  return n;
}

/* Asks for some states between passes far from the rewrite that was found: one that is good behind
 * it, or bad before it, shows that the failure comes and goes. */
static tl_status look_around(tl_states *s, const places *p, uint64_t found, tl_bisection *b) {
  uint64_t ask[2 * MOST_EXTRA];
  uint32_t n = choose(s, p, found, p->n - 1, MOST_EXTRA, ask);
  uint32_t before = found > 1 ? choose(s, p, 0, found, MOST_EXTRA, ask + n) : 0;
  TL_TRY(tl_states_ask(s, ask, n + before));
  for (uint32_t i = 0; i < s->known.n; i++) {
    const tl_probe *k = &s->known.at[i];
    if (k->at != UINT64_MAX && k->at > b->bad && k->verdict == TL_VERDICT_GOOD)
      b->good_later = k->at;
    if (k->at < b->last_good && k->verdict == TL_VERDICT_BAD)
      b->bad_earlier = k->at;
  }
  return TL_OK;
}

/* Checks both states once more: a command may answer differently each time. */
static tl_status repeat(tl_states *s, tl_bisection *b) {
  uint64_t ask[2] = {b->last_good, b->bad};
  if (!s->check->command)
    return TL_OK;
  TL_TRY(tl_states_ask(s, ask, 2));
  bool good_again = tl_states_known(s, b->last_good)->verdict != TL_VERDICT_BAD;
  bool bad_again = tl_states_known(s, b->bad)->verdict != TL_VERDICT_GOOD;
  if (!good_again || !bad_again)
    b->finding = TL_FOUND_FLAKY;
  if (!good_again)
    b->bad = b->last_good; /* the one to name */
  return TL_OK;
}

/* Searches between passes, then within a pass. */
static tl_status find(tl_states *s, const uint64_t *borders, uint64_t n, tl_bisection *b) {
  places passes = {.at = borders, .n = n};
  uint64_t lo = 0, hi = n - 1;
  TL_TRY(search(s, &passes, &lo, &hi));
  uint64_t pass = hi;
  places within = {.first = borders[lo], .n = borders[hi] - borders[lo] + 1};
  lo = 0;
  hi = within.n - 1;
  TL_TRY(search(s, &within, &lo, &hi));
  b->finding = TL_FOUND_REWRITE;
  b->last_good = place(&within, lo);
  b->bad = place(&within, hi);
  TL_TRY(repeat(s, b));
  if (b->finding == TL_FOUND_FLAKY)
    return TL_OK;
  TL_TRY(look_around(s, &passes, pass, b));
  TL_TRY(tl_states_show(s, b->last_good, &b->before));
  return tl_states_show(s, b->bad, &b->after);
}

/* The end of the way cannot be checked: ends it at the last of some states that is bad. */
static tl_status shorten(tl_states *s, const uint64_t *borders, uint64_t *n) {
  places p = {.at = borders, .n = *n};
  uint64_t ask[MOST_EXTRA];
  uint32_t n_ask = *n > 2 ? choose(s, &p, 0, *n - 1, MOST_EXTRA, ask) : 0;
  TL_TRY(tl_states_ask(s, ask, n_ask));
  for (uint64_t i = *n; i > 1; i--) {
    const tl_probe *k = tl_states_known(s, borders[i - 1]);
    if (k && k->verdict == TL_VERDICT_BAD) {
      *n = i;
      return TL_OK;
    }
  }
  return TL_OK;
}

/* Checks both ends of the way before anything is searched. */
static tl_status bisect(tl_states *s, const tl_probe *whole, tl_bisection *b) {
  uint64_t borders[TL_MAX_PIPELINE + 1];
  uint64_t n = list_borders(s, whole->status != TL_OK, borders);
  uint64_t ends[2] = {0, borders[n - 1]};
  b->states = s;
  b->whole = *whole;
  b->rewrites = s->report.rewrites;
  if (whole->verdict == TL_VERDICT_GOOD) {
    b->finding = TL_FOUND_NOTHING;
    return TL_OK;
  }
  TL_TRY(tl_states_ask(s, ends, n > 1 ? 2 : 1));
  if (tl_states_known(s, 0)->verdict == TL_VERDICT_BAD) {
    b->finding = TL_FOUND_MODEL;
    return TL_OK;
  }
  tl_verdict end = tl_states_known(s, ends[1])->verdict;
  if (end == TL_VERDICT_GOOD && whole->verdict == TL_VERDICT_BAD) {
    b->finding = TL_FOUND_FLAKY;
    b->bad = ends[1];
    return TL_OK;
  }
  if (end == TL_VERDICT_UNKNOWN)
    TL_TRY(shorten(s, borders, &n));
  if (tl_states_known(s, borders[n - 1])->verdict != TL_VERDICT_BAD) {
    b->finding = TL_FOUND_PIPELINE;
    return TL_OK;
  }
  return find(s, borders, n, b);
}

/* --rewrite=N: shows one rewrite, without a search. */
static tl_status show_one(tl_states *s, const tl_probe *whole, uint64_t at, tl_bisection *b) {
  uint64_t ask[2] = {at - 1, at};
  b->states = s;
  b->whole = *whole;
  b->rewrites = s->report.rewrites;
  if (at > b->rewrites)
    return tl_fail(&s->cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&s->cli->settings, TL_OPTION_REWRITE),
                   "the passes make %llu rewrites, so there is no rewrite %llu",
                   (unsigned long long)b->rewrites, (unsigned long long)at);
  TL_TRY(tl_states_ask(s, ask, 2));
  b->finding = TL_FOUND_REWRITE;
  b->last_good = at - 1;
  b->bad = at;
  TL_TRY(tl_states_show(s, b->last_good, &b->before));
  return tl_states_show(s, b->bad, &b->after);
}

/* Returns true for a rewrite of --rewrite behind which the model is good. */
static bool is_good_rewrite(const tl_bisection *b) {
  const tl_probe *after = tl_states_known(b->states, b->bad);
  return b->finding == TL_FOUND_REWRITE && after && after->verdict == TL_VERDICT_GOOD;
}

static tl_status print(tl_cli *cli, tl_bisection *b) {
  tl_buf out;
  tl_buf_init(&out);
  tl_progress_hide(&cli->progress);
  cli->differs = b->finding != TL_FOUND_NOTHING && !is_good_rewrite(b);
  tl_status status = tl_cli_has(cli, TL_OPTION_AS_JSON) ? tl_bisection_json(cli, b, &out)
                                                        : tl_bisection_text(cli, b, &out);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return tl_fail_memory(&cli->diag, TL_NOWHERE);
}

/* Which form the passes make: that of -o, which is not written; NPU form without it. */
static tl_status settle_form(tl_cli *cli, tl_format *format, tl_stage *stage) {
  tl_output_vec outputs = {0};
  *format = TL_FORMAT_AIR;
  if (cli->outputs.n) {
    TL_TRY(tl_output_plan(cli, TL_FORMAT_AIR, &outputs));
    *format = outputs.at[0].format;
    tl_output_vec_release(&outputs);
  }
  *stage = tl_format_is_npu(*format) ? TL_STAGE_AIR : tl_cli_canonical_stage(cli);
  return TL_OK;
}

tl_status tl_command_bisect(tl_cli *cli) {
  tl_check check;
  tl_states states = {0};
  tl_bisection b = {.bad_earlier = UINT64_MAX};
  tl_probe whole;
  tl_format format;
  tl_stage stage;
  uint64_t one = 0;
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(tl_cli_load_rules(cli)); /* mistakes in them are no finding */
  TL_TRY(settle_form(cli, &format, &stage));
  if (tl_cli_has(cli, TL_OPTION_REWRITE) &&
      !tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_REWRITE)), &one))
    return TL_INTERNAL; /* the option table bounds it */
  tl_status status = tl_check_open(&check, cli, format, true);
  if (status == TL_OK)
    status = tl_states_open(&states, cli, &check, stage, &whole);
  if (status == TL_OK)
    status = one ? show_one(&states, &whole, one, &b) : bisect(&states, &whole, &b);
  if (status == TL_OK)
    status = print(cli, &b);
  tl_rewrite_release(&b.before);
  tl_rewrite_release(&b.after);
  tl_states_release(&states);
  tl_check_release(&check);
  return status;
}
