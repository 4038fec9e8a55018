/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor test-rules, for those who write rules. */
#include <stdio.h>

#include "frontend/onnx/load.h"
#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "tools/cli/folder.h"
#include "tools/rules/report.h"

enum { MEMORY_LIMIT = 1 << 30 };

/* State of the command. */
typedef struct state {
  tl_cli *cli;
  tl_module *m; /* owned; the rules are of this module */
  tl_ruleset set;
  tl_diag quiet; /* sink of the graphs that are made; its user is `said` */
  char said[512];
  tl_host_heap heap;
  tl_arena scratch;
  tl_bench bench;
  tl_quest quest;
  tl_findings *found; /* owned */
  const char **paths; /* of graphs that were written, by rule */
  uint32_t n;
  uint32_t others;
} state;

/* Keeps the last error about a graph. */
static void remember(void *user, const tl_diagnostic *d) {
  if (d->severity == TL_ERROR)
    snprintf(user, sizeof((state *)0)->said, "%s", d->message);
}

/* Makes the module: the model that was given, or one with an empty graph. */
static tl_status make_module(state *s) {
  tl_cli *cli = s->cli;
  if (cli->word2) {
    TL_TRY(tl_session_load(&cli->session, cli->word2, &s->m));
    return tl_infer_module(s->m);
  }
  s->m = tl_module_create(&cli->diag, cli->word, 0);
  if (s->m)
    s->m->ir_version = TL_TEXT_IR_VERSION;
  if (!s->m || tl_module_set_opset(s->m, 0, TL_ONNX_NEWEST_OPSET) != TL_OK ||
      !tl_graph_create(s->m, TL_GRAPH_ROOT, tl_module_intern(s->m, TL_SV("g")), TL_NO_NODE))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return TL_OK;
}

/* Returns true for a rule of the file that has a pattern, and is asked for. */
static bool is_tested(const state *s, const tl_rule *r) {
  tl_sv name = tl_sym(s->m, r->name);
  return r->custom && tl_rule_leads(r) && r->kind != TL_RULE_DEFINE && r->kind != TL_RULE_CAPTURE &&
         strcmp(r->file, s->cli->word) == 0 &&
         (!tl_cli_has(s->cli, TL_OPTION_RULE) ||
          tl_sv_is(name, tl_cli_get(s->cli, TL_OPTION_RULE)));
}

static uint32_t count_spellings(const tl_ruleset *set, const tl_rule *r) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < set->rules.n; i++)
    n += set->rules.at[i]->name == r->name;
  return n;
}

static tl_status test(state *s, tl_findings *f, const tl_rule *r) {
  const tl_quest *q = &s->quest;
  *f = (tl_findings){.rule = r, .spellings = count_spellings(&s->set, r)};
  tl_buf_init(&f->why);
  tl_buf_init(&f->why_not);
  tl_buf_init(&f->nearest);
  tl_buf_init(&f->loop);
  tl_buf_init(&f->culprit);
  tl_progress_say(&s->cli->progress, tl_cli_has(s->cli, TL_OPTION_QUIET), "testing rule %.*s",
                  TL_SV_ARG(tl_sym(s->m, r->name)));
  if (s->cli->word2)
    return tl_find_in_model(q, f);
  TL_TRY(tl_find_positives(q, f));
  TL_TRY(tl_find_near_misses(q, f));
  TL_TRY(tl_find_overlaps(q, f));
  TL_TRY(tl_find_takers(q, f));
  return tl_find_loops(q, f);
}

/* Writes the smallest wrong graph of a rule as DIR/RULE.tir. */
static tl_status write_culprit(state *s, uint32_t i) {
  const char *dir = tl_cli_get(s->cli, TL_OPTION_FAILURES);
  tl_findings *f = &s->found[i];
  char name[256];
  if (!f->culprit.n || !*dir || s->cli->word2)
    return TL_OK;
  TL_TRY(tl_changes_folder(&s->cli->changes, &s->cli->diag, dir));
  snprintf(name, sizeof name, "%.*s.tir", TL_SV_ARG(tl_sym(s->m, f->rule->name)));
  s->paths[i] = tl_folder_path(s->cli, dir, name);
  if (!s->paths[i])
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  return tl_session_save_text(&s->cli->session, s->paths[i], &f->culprit);
}

static tl_status test_all(state *s) {
  uint32_t most = s->set.rules.n;
  s->found = calloc(most + 1, sizeof *s->found);
  s->paths = tl_arena_calloc(&s->scratch, most + 1, sizeof *s->paths);
  if (!s->found || !s->paths)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < most; i++) {
    const tl_rule *r = s->set.rules.at[i];
    s->others += r->custom && strcmp(r->file, s->cli->word) == 0 &&
                 (r->kind == TL_RULE_DEFINE || r->kind == TL_RULE_CAPTURE);
    if (!is_tested(s, r))
      continue;
    s->n++;
    TL_TRY(test(s, &s->found[s->n - 1], r));
    s->cli->differs = s->cli->differs || tl_findings_bad(&s->found[s->n - 1]);
    TL_TRY(write_culprit(s, s->n - 1));
  }
  if (s->n == 0 && tl_cli_has(s->cli, TL_OPTION_RULE))
    return tl_fail(
        &s->cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&s->cli->settings, TL_OPTION_RULE),
        "'%s' has no rule '%s' with a pattern", s->cli->word, tl_cli_get(s->cli, TL_OPTION_RULE));
  return TL_OK;
}

static tl_status print(state *s) {
  tl_rules_report r = {.set = &s->set,
                       .file = s->cli->word,
                       .model = s->cli->word2,
                       .seed = s->bench.seed,
                       .count = s->quest.count,
                       .at = s->found,
                       .paths = s->paths,
                       .n = s->n,
                       .others = s->others};
  tl_buf out;
  tl_buf_init(&out);
  tl_progress_hide(&s->cli->progress);
  if (tl_cli_has(s->cli, TL_OPTION_AS_JSON))
    tl_rules_json(&r, &out);
  else
    tl_rules_text(&r, &out);
  return tl_cli_print(s->cli, &out);
}

static tl_status read_numbers(state *s) {
  uint64_t count;
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(s->cli, TL_OPTION_COUNT)), &count) ||
      !tl_parse_u64(tl_sv_from(tl_cli_get(s->cli, TL_OPTION_SEED)), &s->bench.seed))
    return TL_INTERNAL; /* the option table bounds both */
  s->quest.count = (uint32_t)count;
  return TL_OK;
}

/* Adds the file to those of --rules, before they are read. */
static tl_status add_file(tl_cli *cli) {
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no file of rules was given\vtailor test-rules FILE.tlr");
  return tl_settings_set(&cli->settings, &cli->diag, TL_OPTION_RULES, cli->word);
}

static tl_status work(state *s) {
  tl_cli *cli = s->cli;
  TL_TRY(add_file(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(read_numbers(s));
  TL_TRY(make_module(s));
  tl_ruleset_init(&s->set, s->m);
  tl_status status = tl_rules_load(&s->set, &cli->settings.options);
  s->bench.set = &s->set;
  s->quest.empty = s->m;
  if (status == TL_OK)
    status = test_all(s);
  if (status == TL_OK)
    status = print(s);
  for (uint32_t i = 0; i < s->n; i++)
    tl_findings_release(&s->found[i]);
  tl_ruleset_release(&s->set);
  return status;
}

tl_status tl_command_test_rules(tl_cli *cli) {
  state *s = calloc(1, sizeof *s);
  if (!s)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  s->cli = cli;
  s->quiet = (tl_diag){.fn = remember, .user = s->said};
  tl_host_heap_init(&s->heap, MEMORY_LIMIT);
  tl_arena_init(&s->scratch, 0);
  s->bench = (tl_bench){
      .cli = cli, .quiet = &s->quiet, .said = s->said, .heap = &s->heap, .scratch = &s->scratch};
  s->quest = (tl_quest){.bench = &s->bench};
  tl_status status = work(s);
  free(s->found);
  tl_module_destroy(s->m);
  tl_arena_release(&s->scratch);
  tl_host_heap_release(&s->heap);
  free(s);
  return status;
}
