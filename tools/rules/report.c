/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what tailor test-rules found out, for people and as JSON. */
#include "support/json_writer.h"
#include "tools/debug/command.h"
#include "tools/rules/report.h"

static tl_sv name_of(const tl_rules_report *r, const tl_rule *rule) {
  return tl_sym(r->set->m, rule->name);
}

/* Returns true if other rules took the nodes of every graph that went through the pipeline. */
static bool is_dead(const tl_findings *f) {
  return !f->rule->off && f->piped >= 3 && f->fired == 0 && f->n_takers;
}

static const char *verdict(const tl_findings *f) {
  return tl_findings_bad(f) ? "wrong" : f->same ? "right" : "untested";
}

/* Adds the graph that shows the mistake, indented. */
static void add_graph(const tl_buf *text, tl_buf *out) {
  enum { LONGEST = 400 };
  size_t start = 0;
  for (size_t i = 0; i < text->n; i++) {
    if (text->p[i] != '\n')
      continue;
    size_t n = i - start;
    if (n)
      tl_buf_printf(out, "    %.*s%s\n", (int)(n < LONGEST ? n : LONGEST), text->p + start,
                    n > LONGEST ? "..." : "");
    start = i + 1;
  }
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_counts(const tl_findings *f, tl_buf *out) {
  tl_buf_printf(out, "%u graph%s", f->graphs, f->graphs == 1 ? "" : "s");
  if (f->open)
    tl_buf_printf(out, ", %u with open dims too", f->open);
  if (f->wrong)
    tl_buf_printf(out, ", WRONG in %u", f->wrong);
  else if (f->same == f->graphs && f->graphs)
    tl_buf_add_z(out, f->graphs == 1 ? ": right" : ": right in all");
  else if (f->same)
    tl_buf_printf(out, ": right in %u", f->same);
  if (f->unjudged)
    tl_buf_printf(out, ", not evaluated in %u", f->unjudged);
  if (f->loops)
    tl_buf_add_z(out, ", ENDLESS");
}

static void add_head(const tl_rules_report *r, const tl_findings *f, tl_buf *out) {
  static const char *const classes[] = {"exact", "reassociating", "approximate"};
  tl_buf_printf(out, "%.*s (%s): ", TL_SV_ARG(name_of(r, f->rule)), classes[f->rule->numerics]);
  if (!f->graphs) {
    tl_buf_printf(out, "no graph was found that it takes\n  nearest    %.*s\n", (int)f->nearest.n,
                  f->nearest.p ? f->nearest.p : "");
    return;
  }
  add_counts(f, out);
  if (f->reached < f->spellings)
    tl_buf_printf(out, "; none for %u of %u spellings", f->spellings - f->reached, f->spellings);
  tl_buf_add_z(out, "\n");
  if (f->unjudged)
    tl_buf_printf(out, "  not run    %.*s\n", (int)f->why_not.n, f->why_not.p);
}

static void add_culprit(const tl_rules_report *r, const tl_findings *f, const char *path,
                        tl_buf *out) {
  if (!f->wrong)
    return;
  tl_buf_printf(out, "  wrong      %.*s\n", (int)f->why.n, f->why.p ? f->why.p : "");
  if (r->model)
    tl_buf_printf(out, "  at node    %.*s\n", (int)f->culprit.n, f->culprit.p);
  else
    add_graph(&f->culprit, out);
  tl_buf_add_z(out, "  again      tailor test-rules ");
  tl_shell_quote(out, tl_sv_from(r->file));
  tl_buf_add_char(out, ' ');
  if (!path)
    path = r->model;
  if (path)
    tl_shell_quote(out, tl_sv_from(path));
  tl_buf_printf(out, "%s--rule=%.*s --seed=%llu", path ? " " : "", TL_SV_ARG(name_of(r, f->rule)),
                (unsigned long long)r->seed);
  if (!path)
    tl_buf_printf(out, " --count=%u", r->count);
  tl_buf_add_z(out, "\n");
}

static void add_condition(const tl_condition *c, tl_buf *out) {
  tl_buf_printf(out, "  condition  `%.*s`: ", TL_SV_ARG(c->text));
  if (!c->near)
    tl_buf_add_z(out, "no near miss was found");
  else
    tl_buf_printf(out, "%u near miss%s", c->near, c->near == 1 ? "" : "es");
  if (c->needed)
    tl_buf_printf(out, ", without it %u would be wrong", c->needed);
  else if (c->spared)
    tl_buf_printf(out, ", without it %u would be right as well", c->spared);
  tl_buf_add_z(out, "\n");
}

static void add_others(const tl_rules_report *r, const tl_findings *f, tl_buf *out) {
  for (uint32_t i = 0; i < f->n_overlaps; i++) {
    const tl_rule *other = f->overlaps[i].rule;
    bool first = other->priority != f->rule->priority ? other->priority < f->rule->priority
                                                      : other->index < f->rule->index;
    tl_buf_printf(out, "  overlap    %.*s fits %u of %u graphs, and is tried %s\n",
                  TL_SV_ARG(name_of(r, other)), f->overlaps[i].n, f->n_kept,
                  first ? "first" : "later");
  }
  if (f->rule->off)
    tl_buf_printf(out, "  off        %s\n", f->rule->off);
  if (is_dead(f))
    tl_buf_printf(out, "  dead       it fires in none of %u graphs when all passes run\n",
                  f->piped);
  for (uint32_t i = 0; is_dead(f) && i < f->n_takers; i++) {
    const tl_other *t = &f->takers[i];
    tl_buf_printf(out, "  taken by   %s%s%.*s: %u\n", t->pass, t->rule ? ", rule " : "",
                  t->rule ? (int)name_of(r, t->rule).n : 0, t->rule ? name_of(r, t->rule).p : "",
                  t->n);
  }
}

static void add_end(const tl_rules_report *r, tl_buf *out) {
  uint32_t right = 0, wrong = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    wrong += tl_findings_bad(&r->at[i]);
    right += !tl_findings_bad(&r->at[i]) && r->at[i].same;
  }
  tl_buf_printf(out, "%u rule%s: %u right, %u wrong, %u untested\n", r->n, r->n == 1 ? "" : "s",
                right, wrong, r->n - right - wrong);
  if (r->others)
    tl_buf_printf(out, "%u definitions and rules that capture scopes have no pattern to test\n",
                  r->others);
}

void tl_rules_text(const tl_rules_report *r, tl_buf *out) {
  for (uint32_t i = 0; i < r->n; i++) {
    const tl_findings *f = &r->at[i];
    add_head(r, f, out);
    add_culprit(r, f, r->paths[i], out);
    if (f->loops)
      tl_buf_printf(out, "  endless    %.*s\n", (int)f->loop.n, f->loop.p ? f->loop.p : "");
    for (uint8_t k = 0; f->n_kept && k < f->rule->n_where && f->conditions[k].text.n; k++)
      add_condition(&f->conditions[k], out);
    add_others(r, f, out);
  }
  add_end(r, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_conditions(tl_json_writer *w, const tl_findings *f) {
  tl_put_key(w, "conditions");
  tl_put_array(w);
  for (uint8_t i = 0; f->n_kept && i < f->rule->n_where && f->conditions[i].text.n; i++) {
    const tl_condition *c = &f->conditions[i];
    tl_put_object(w);
    tl_member_sv(w, "condition", c->text);
    tl_member_u64(w, "near_misses", c->near);
    tl_member_u64(w, "wrong_without", c->needed);
    tl_member_u64(w, "right_without", c->spared);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_others(const tl_rules_report *r, tl_json_writer *w, const char *key,
                       const tl_other *list, uint32_t n) {
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    tl_put_object(w);
    if (list[i].pass)
      tl_member_z(w, "pass", list[i].pass);
    if (list[i].rule)
      tl_member_sv(w, "rule", name_of(r, list[i].rule));
    tl_member_u64(w, "graphs", list[i].n);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_text(tl_json_writer *w, const char *key, const tl_buf *b) {
  if (b->n)
    tl_member_sv(w, key, tl_buf_view(b));
}

static void put_rule(const tl_rules_report *r, uint32_t i, tl_json_writer *w) {
  const tl_findings *f = &r->at[i];
  tl_json_line(w, 1);
  tl_put_object(w);
  tl_member_sv(w, "rule", name_of(r, f->rule));
  tl_member_z(w, "verdict", verdict(f));
  tl_count_member counts[] = {{"spellings", f->spellings},
                              {"spellings_reached", f->reached},
                              {"graphs", f->graphs},
                              {"open", f->open},
                              {"same", f->same},
                              {"wrong", f->wrong},
                              {"not_evaluated", f->unjudged},
                              {"endless", f->loops},
                              {"piped", f->piped},
                              {"fired", f->fired}};
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  put_text(w, "why", &f->why);
  put_text(w, "why_not_evaluated", &f->why_not);
  put_text(w, "loop", &f->loop);
  if (!f->graphs)
    put_text(w, "nearest", &f->nearest);
  put_text(w, r->model ? "node" : "graph", &f->culprit);
  if (r->paths[i])
    tl_member_z(w, "graph_file", r->paths[i]);
  put_conditions(w, f);
  put_others(r, w, "overlaps", f->overlaps, f->n_overlaps);
  if (f->rule->off)
    tl_member_z(w, "off", f->rule->off);
  tl_member_bool(w, "dead", is_dead(f));
  put_others(r, w, "taken_by", f->takers, f->n_takers);
  tl_put_end(w);
}

void tl_rules_json(const tl_rules_report *r, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_u64(w, "schema", 1);
  tl_member_z(w, "file", r->file);
  if (r->model)
    tl_member_z(w, "model", r->model);
  tl_member_u64(w, "seed", r->seed);
  tl_member_u64(w, "count", r->count);
  tl_member_u64(w, "without_pattern", r->others);
  tl_put_key(w, "rules");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->n; i++)
    put_rule(r, i, w);
  tl_json_line(w, 0);
  tl_json_finish(w);
}
