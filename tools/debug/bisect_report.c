/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what tailor bisect found, for people and as JSON. */
#include "support/json_writer.h"
#include "support/text_diff.h"
#include "tools/debug/bisect.h"
#include "tools/debug/command.h"

/* Adds the command line again, with the rewrite that was found in place of a search. */
static void add_command(const tl_cli *cli, uint64_t rewrite, tl_buf *out) {
  tl_buf_add_z(out, "tailor bisect");
  for (int i = 0; i < cli->n_arguments; i++) {
    tl_sv word = tl_sv_from(cli->arguments[i]);
    if (tl_sv_is(word, "--json"))
      continue;
    tl_buf_add_char(out, ' ');
    tl_shell_quote(out, word);
  }
  if (!tl_cli_has(cli, TL_OPTION_REWRITE))
    tl_buf_printf(out, " --rewrite=%llu", (unsigned long long)rewrite);
}

/* Names a state by the pass behind which it is. */
static void add_place(const tl_states *s, uint64_t at, tl_buf *out) {
  uint64_t sum = 0;
  if (at == 0) {
    tl_buf_add_z(out, "the model before any rewrite");
    return;
  }
  tl_buf_printf(out, "rewrite %llu", (unsigned long long)at);
  for (uint32_t i = 0; i < s->report.n; i++) {
    sum += s->report.at[i].changed;
    if (sum >= at) {
      tl_buf_printf(out, " (pass %s)", s->report.at[i].row->name);
      return;
    }
  }
}

static const char *why_of(const tl_states *s, uint64_t at) {
  const tl_probe *k = tl_states_known(s, at);
  return k ? k->why : "";
}

/* Tells apart a rewrite and a range of rewrites in which no state can be checked. */
static void add_title(const tl_bisection *b, tl_buf *out) {
  const tl_probe *good = tl_states_known(b->states, b->last_good);
  const tl_probe *bad = tl_states_known(b->states, b->bad);
  if (bad->verdict == TL_VERDICT_BAD && good->verdict == TL_VERDICT_GOOD &&
      b->bad - b->last_good == 1)
    tl_buf_printf(out, "rewrite %llu of %llu breaks the model: %s\n", (unsigned long long)b->bad,
                  (unsigned long long)b->rewrites, bad->why);
  else if (b->bad - b->last_good > 1)
    tl_buf_printf(out,
                  "one of rewrites %llu to %llu of %llu breaks the model: %s\n"
                  "  the states between them cannot be checked: %s\n",
                  (unsigned long long)b->last_good + 1, (unsigned long long)b->bad,
                  (unsigned long long)b->rewrites, bad->why, why_of(b->states, b->last_good + 1));
  else
    tl_buf_printf(
        out, "rewrite %llu of %llu: %s before, %s after%s%s\n", (unsigned long long)b->bad,
        (unsigned long long)b->rewrites, good->verdict == TL_VERDICT_GOOD ? "good" : "not good",
        bad->verdict == TL_VERDICT_GOOD ? "good" : "not good", *bad->why ? ": " : "", bad->why);
}

static void add_nodes(tl_sv nodes, tl_buf *out) {
  for (bool first = true; nodes.n; first = false) {
    tl_sv one = tl_sv_split(&nodes, '\n');
    tl_buf_add_z(out, first ? "  nodes  " : ", ");
    tl_buf_add_sv(out, one);
    if (!nodes.p || !nodes.n)
      break;
  }
  tl_buf_add_char(out, '\n');
}

/* Says what other states show: the failure may come and go. */
static void add_around(const tl_bisection *b, tl_buf *out) {
  if (b->good_later) {
    tl_buf_add_z(out, "note: the failure is not monotone: behind ");
    add_place(b->states, b->good_later, out);
    tl_buf_add_z(out, " the model is good again; this is one rewrite that breaks it\n");
  }
  if (b->bad_earlier != UINT64_MAX) {
    tl_buf_add_z(out, "note: the failure is not monotone: behind ");
    add_place(b->states, b->bad_earlier, out);
    tl_buf_add_z(out, " the model is bad already; another rewrite breaks it too\n");
  }
}

enum { MOST_LINES = 40 }; /* of a difference, for people */

/* Adds the difference of the IR before and after; of a long one its beginning. */
static tl_status add_difference(tl_cli *cli, const tl_bisection *b, tl_buf *out) {
  tl_text_diff_options o = {.context = 2, .colour = tl_cli_colours_output(cli)};
  tl_buf all;
  uint32_t n = 0;
  tl_buf_init(&all);
  tl_status status = tl_text_diff(b->before.ir, b->after.ir, &o, &all);
  tl_buf_add_z(out, "\n--- before\n+++ after\n");
  for (tl_sv rest = tl_buf_view(&all); rest.p && rest.n; n++) {
    tl_sv line = tl_sv_split(&rest, '\n');
    if (n < MOST_LINES)
      tl_buf_printf(out, "%.*s\n", TL_SV_ARG(line));
  }
  if (n > MOST_LINES)
    tl_buf_printf(out, "... %u more lines; --json has all\n", n - MOST_LINES);
  tl_buf_release(&all);
  return status;
}

static tl_status add_rewrite(tl_cli *cli, const tl_bisection *b, tl_buf *out) {
  const tl_rewrite *r = &b->after;
  add_title(b, out);
  tl_buf_printf(out, "  pass   %.*s\n", TL_SV_ARG(r->pass));
  if (r->rule.n)
    tl_buf_printf(out, "  rule   %.*s\n", TL_SV_ARG(r->rule));
  if (r->fusion.n && !tl_sv_eq(r->fusion, r->rule))
    tl_buf_printf(out, "  fusion %.*s\n", TL_SV_ARG(r->fusion));
  if (r->nodes.n)
    add_nodes(r->nodes, out);
  if (r->message.n)
    tl_buf_printf(out, "  what   %.*s\n", TL_SV_ARG(r->message));
  TL_TRY(add_difference(cli, b, out));
  add_around(b, out);
  tl_buf_add_z(out, "again: ");
  add_command(cli, b->bad, out);
  tl_buf_add_char(out, '\n');
  if (r->rule.n)
    tl_buf_printf(out, "without it: --fusion=%.*s:off\n", TL_SV_ARG(r->rule));
  return TL_OK;
}

/* Says why there is no rewrite to name. */
static void add_other(const tl_bisection *b, tl_buf *out) {
  const tl_pipeline_report *r = &b->states->report;
  switch (b->finding) {
  case TL_FOUND_NOTHING:
    tl_buf_printf(out, "the check passes behind all %llu rewrites: there is nothing to find\n",
                  (unsigned long long)b->rewrites);
    break;
  case TL_FOUND_MODEL:
    tl_buf_printf(out, "%s fails the check, so no rewrite is to blame: %s\n",
                  b->states->check->command
                      ? "the model with no rewrite but those that its form cannot do without"
                      : "the model as it was read",
                  why_of(b->states, 0));
    break;
  case TL_FOUND_FLAKY:
    tl_buf_add_z(out, "the check is flaky: asked twice, it gave two answers about ");
    add_place(b->states, b->bad, out);
    tl_buf_add_z(out, "\n  make the command give the same answer each time\n");
    break;
  default:
    tl_buf_printf(out, "no rewrite breaks the model, but %s%s cannot be checked: %s\n",
                  b->whole.status == TL_OK ? "its last form" : "the way behind pass ",
                  b->whole.status == TL_OK || !r->n ? "" : r->at[r->n - 1].row->name, b->whole.why);
  }
}

tl_status tl_bisection_text(tl_cli *cli, const tl_bisection *b, tl_buf *out) {
  if (b->finding == TL_FOUND_REWRITE)
    TL_TRY(add_rewrite(cli, b, out));
  else
    add_other(b, out);
  if (!b->states->check->command && b->states->check->note.n)
    tl_buf_printf(out, "inputs: %s\n", b->states->check->note.p);
  return out->failed ? TL_NO_MEMORY : TL_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_rewrite(tl_cli *cli, const tl_bisection *b, tl_json_writer *w, const tl_buf *diff) {
  const tl_rewrite *r = &b->after;
  tl_buf command;
  tl_buf_init(&command);
  add_command(cli, b->bad, &command);
  tl_member_u64(w, "last_good", b->last_good);
  tl_member_u64(w, "bad", b->bad);
  tl_member_sv(w, "pass", r->pass);
  tl_member_sv(w, "rule", r->rule);
  tl_member_sv(w, "fusion", r->fusion);
  tl_put_key(w, "nodes");
  tl_put_array(w);
  for (tl_sv rest = r->nodes; rest.p && rest.n;)
    tl_put_sv(w, tl_sv_split(&rest, '\n'));
  tl_put_end(w);
  tl_member_sv(w, "what", r->message);
  tl_member_z(w, "why", why_of(b->states, b->bad));
  tl_member_sv(w, "before", b->before.ir);
  tl_member_sv(w, "after", r->ir);
  tl_member_sv(w, "diff", tl_buf_view(diff));
  tl_member_bool(w, "monotone", !b->good_later && b->bad_earlier == UINT64_MAX);
  tl_member_sv(w, "command", tl_buf_view(&command));
  tl_buf_release(&command);
}

tl_status tl_bisection_json(tl_cli *cli, const tl_bisection *b, tl_buf *out) {
  static const char *const names[] = {"rewrite", "nothing", "model", "pipeline", "flaky"};
  tl_json_writer w = tl_json_to(out);
  tl_buf diff;
  tl_status status = TL_OK;
  tl_buf_init(&diff);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  tl_member_z(&w, "model", cli->word);
  tl_member_z(&w, "found", names[b->finding]);
  tl_member_u64(&w, "rewrites", b->rewrites);
  tl_member_u64(&w, "checks", b->states->known.n);
  if (b->finding == TL_FOUND_REWRITE) {
    status = tl_text_diff(b->before.ir, b->after.ir, &(tl_text_diff_options){.context = 2}, &diff);
    put_rewrite(cli, b, &w, &diff);
  } else {
    tl_member_z(&w, "why", b->finding == TL_FOUND_MODEL ? why_of(b->states, 0) : b->whole.why);
  }
  tl_json_finish(&w);
  tl_buf_release(&diff);
  return status == TL_OK && out->failed ? TL_NO_MEMORY : status;
}
