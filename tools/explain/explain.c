/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor explain for rules: what fusions or expansions did to a model, and near
 * misses. */
#include <stdlib.h>

#include "passes/ub/chain.h"
#include "support/json_writer.h"
#include "support/measure.h"
#include "tools/cli/rules.h"
#include "tools/convert/pipeline.h"
#include "tools/explain/life.h"
#include "tools/explain/origins.h"
#include "tools/explain/page.h"
#include "tools/explain/precision.h"
#include "tools/explain/suggest_mixlist.h"
#include "tools/explain/why_not.h"

/* One remark of a rule: it was applied, or it nearly was (f.code says why not). */
typedef struct event {
  tl_fusion_remark f; /* strings in the arena */
  tl_sv node;         /* the root, or what was made */
  uint32_t order;     /* of arrival */
} event;

TL_VEC(event_vec, event);

/* What is asked for, and the remarks that were collected. */
typedef struct explanation {
  tl_cli *cli;
  tl_arena arena;
  event_vec events; /* sorted by pass when printed */
  bool expand;      /* expansions are asked for, not fusions */
  const char *pass; /* the one asked for, NULL: every graph fusion, every expansion */
  const char *node; /* NULL: every node */
  bool no_memory;
} explanation;

/* ---- gathering ------------------------------------------------------------------------------ */

/* Returns true for a remark about the pass that is asked for. Without one, clean-up rules and
 * repeated near misses of fusions are left out. */
static bool is_pass_wanted(const explanation *x, const tl_fusion_remark *f) {
  if (x->pass)
    return tl_sv_is(f->fusion, x->pass) || tl_sv_is(f->rule, x->pass);
  if (!x->expand)
    return !f->cleanup && !f->repeats;
  /* "The node needs no expansion" is a fact of nearly every node, so it is told only about a node
   * that is asked for. */
  return f->expand && (x->node || !f->code || strcmp(f->code, "NPU_FORM") != 0);
}

/* Returns true if the remark is about the wanted pass and node. */
static bool is_wanted(const explanation *x, const tl_remark *r) {
  const tl_fusion_remark *f = r->fusion;
  bool pass = is_pass_wanted(x, f);
  if (!pass || !x->node)
    return pass;
  if (tl_sv_is(r->node, x->node))
    return true;
  for (uint32_t i = 0; i < f->n_nodes; i++)
    if (tl_sv_is(f->nodes[i], x->node))
      return true;
  return false;
}

/* Copies a text into the arena: texts of a remark live only as long as the call. */
static tl_sv keep(explanation *x, tl_sv s) {
  const char *p = tl_arena_copy(&x->arena, s.n ? s.p : "", s.n);
  x->no_memory = x->no_memory || !p;
  return p ? (tl_sv){p, s.n} : TL_SV("");
}

/* Keeps a wanted remark. All its texts are copied, because they live only as long as this call. */
static void gather(void *user, const tl_remark *r) {
  explanation *x = user;
  if (!r->fusion || !is_wanted(x, r))
    return;
  event e = {.f = *r->fusion, .node = keep(x, r->node), .order = x->events.n};
  tl_sv *nodes = tl_arena_calloc(&x->arena, e.f.n_nodes + 1u, sizeof *nodes);
  for (uint32_t i = 0; nodes && i < e.f.n_nodes; i++)
    nodes[i] = keep(x, e.f.nodes[i]);
  e.f.fusion = keep(x, e.f.fusion);
  e.f.rule = keep(x, e.f.rule);
  e.f.made = keep(x, e.f.made);
  e.f.reason = e.f.reason ? keep(x, tl_sv_from(e.f.reason)).p : NULL;
  e.f.nodes = nodes;
  if (!nodes || !event_vec_push(&x->events, e))
    x->no_memory = true;
}

/* Orders by pass, then applied before not applied, then by arrival. */
static int by_pass(const void *a, const void *b) {
  const event *x = a, *y = b;
  int order = tl_sv_compare(x->f.fusion, y->f.fusion);
  if (order)
    return order;
  if (!x->f.code != !y->f.code)
    return x->f.code ? 1 : -1;
  return x->order < y->order ? -1 : 1;
}

/* Returns one past the last event of the pass that starts at `from`. *fused: how many were
 * applied. */
static uint32_t pass_end(const explanation *x, uint32_t from, uint32_t *fused) {
  uint32_t i = from;
  *fused = 0;
  for (; i < x->events.n && tl_sv_eq(x->events.at[i].f.fusion, x->events.at[from].f.fusion); i++)
    *fused += !x->events.at[i].f.code;
  return i;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Node names that a line shows before it shortens the list. */
enum { MOST_SHOWN = 4 };

/* Adds names of nodes: the first ones and the last, if there are many. */
static void add_nodes(tl_buf *out, const tl_fusion_remark *f) {
  bool all = f->n_nodes <= MOST_SHOWN;
  for (uint32_t i = 0; i < f->n_nodes; i++)
    if (all || i < MOST_SHOWN - 2 || i == f->n_nodes - 1)
      tl_buf_printf(out, "%s`%.*s`", i ? ", " : "", TL_SV_ARG(f->nodes[i]));
    else if (i == MOST_SHOWN - 2)
      tl_buf_add_z(out, " ...");
  if (!all)
    tl_buf_printf(out, " (%u nodes)", f->n_nodes);
}

static const char *done_word(const explanation *x) { return x->expand ? "expanded" : "fused"; }

/* Adds what the nodes became: a kernel, several nodes, or one. */
static void add_made(tl_buf *out, const tl_fusion_remark *f) {
  if (f->scope) {
    tl_buf_printf(out, " are kernel %lld, which saves ", (long long)f->scope);
    tl_add_bytes(out, f->saved);
  } else if (f->expand && f->n_made > 1)
    tl_buf_printf(out, " became %u nodes, %.*s the last", f->n_made, TL_SV_ARG(f->made));
  else
    tl_buf_printf(out, " became %.*s", TL_SV_ARG(f->made));
}

/* Adds one line about an event. */
static void add_event(const explanation *x, tl_buf *out, const event *e) {
  const tl_fusion_remark *f = &e->f;
  tl_buf_printf(out, "  %-*s  ", (int)strlen(done_word(x)), f->code ? "not" : done_word(x));
  if (!tl_sv_eq(f->rule, f->fusion))
    tl_buf_printf(out, "%.*s: ", TL_SV_ARG(f->rule));
  if (f->code) {
    tl_buf_printf(out, "`%.*s`: %s: %s", TL_SV_ARG(e->node), f->code, f->reason);
    if (f->n_nodes < f->wanted && strcmp(f->code, "OVERLAP") != 0)
      tl_buf_printf(out, " (%u of %u nodes fit)", f->n_nodes, f->wanted);
  } else {
    add_nodes(out, f);
    add_made(out, f);
  }
  tl_buf_add_char(out, '\n');
}

/* Adds the events by pass, with the numbers of applied and missed ones. */
static void add_text(const explanation *x, tl_buf *out) {
  for (uint32_t i = 0; i < x->events.n;) {
    uint32_t fused;
    uint32_t end = pass_end(x, i, &fused);
    tl_buf_printf(out, "%.*s: %u %s, %u not\n", TL_SV_ARG(x->events.at[i].f.fusion), fused,
                  done_word(x), end - i - fused);
    for (; i < end; i++)
      add_event(x, out, &x->events.at[i]);
  }
  if (x->events.n == 0)
    tl_buf_printf(out, "nothing was %s, and there was no near miss\n", done_word(x));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Adds one event; a kernel has the bytes it saves, another fusion what it made. */
static void add_json_event(tl_json_writer *w, const event *e) {
  const tl_fusion_remark *f = &e->f;
  tl_json_line(w, 2);
  tl_put_object(w);
  tl_member_sv(w, "rule", f->rule);
  tl_member_bool(w, "effect", !f->code);
  tl_member_sv(w, "node", e->node);
  if (f->code) {
    tl_member_z(w, "why_not", f->code);
    tl_member_z(w, "reason", f->reason);
  } else {
    tl_put_key(w, f->scope ? "fusion_scope" : "made");
    if (f->scope)
      tl_put_i64(w, f->scope);
    else
      tl_put_sv(w, f->made);
    if (f->scope)
      tl_member_u64(w, "saved_bytes", f->saved);
  }
  tl_member_u64(w, "pattern_nodes", f->wanted);
  tl_put_key(w, "nodes");
  tl_put_array(w);
  for (uint32_t i = 0; i < f->n_nodes; i++)
    tl_put_sv(w, f->nodes[i]);
  tl_put_end(w);
  tl_put_end(w);
}

/* Adds the events by pass as JSON. */
static void add_json(const explanation *x, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_array(w);
  for (uint32_t i = 0; i < x->events.n;) {
    uint32_t fused;
    uint32_t end = pass_end(x, i, &fused);
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_sv(w, "pass", x->events.at[i].f.fusion);
    tl_member_u64(w, done_word(x), fused);
    tl_member_u64(w, "not", end - i - fused);
    tl_put_key(w, "events");
    tl_put_array(w);
    for (; i < end; i++)
      add_json_event(w, &x->events.at[i]);
    tl_put_end(w);
    tl_put_end(w);
  }
  tl_buf_add_z(out, x->events.n ? "\n]\n" : "]\n");
}

/* ---- command -------------------------------------------------------------------------------- */

/* Returns true if only one fusion of kernels is asked for. */
static bool is_ub_pass(const explanation *x) {
  return x->pass && tl_ub_count_chains(tl_sv_from(x->pass)) > 0;
}

static tl_status knows_pass(tl_cli *cli, tl_sv name, bool *out) {
  *out = false;
  for (int kind = 0; kind < TL_N_FUSION_KINDS && !*out; kind++)
    TL_TRY(tl_cli_knows_pass(cli, name, (tl_fusion_kind)kind, out));
  return TL_OK;
}

/* Refuses a name that neither a pass nor a rule has: it would explain nothing, without a word. An
 * expansion's name under --fusion switches to expansions. */
static tl_status check_pass(explanation *x) {
  tl_cli *cli = x->cli;
  bool known = false;
  if (!x->pass)
    return TL_OK;
  tl_sv name = tl_sv_from(x->pass);
  TL_TRY(tl_cli_knows_expansion(cli, name, &known));
  if (known) {
    x->expand = true;
    return TL_OK;
  }
  if (x->expand)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_EXPLAIN_EXPAND),
                   "no rule of kind expand is named '%s'\v"
                   "'tailor passes --rules' lists them",
                   x->pass);
  TL_TRY(knows_pass(cli, name, &known));
  if (known)
    return TL_OK;
  if (!cli->rules) /* a file of rules is wrong: it may have the name */
    TL_TRY(tl_cli_load_rules(cli));
  tl_location where = tl_at_option(&cli->settings, TL_OPTION_EXPLAIN_FUSION);
  if (tl_fusion_name_find(name))
    return tl_fail(&cli->diag, TL_UNSUPPORTED, where, "this version has no rules for '%s'",
                   x->pass);
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where,
                 "no fusion pass or rule is named '%s'\v"
                 "'tailor passes --rules' lists them",
                 x->pass);
}

static tl_status stop_on_signal(void *user, tl_module *m, const tl_pass_event *e) {
  const explanation *x = user;
  (void)m;
  (void)e;
  return *x->cli->signal ? TL_IO : TL_OK;
}

/* Runs the passes to NPU form, where kernels of several nodes are decided. A model without NPU form
 * is an error only if kernels are all that is asked for; otherwise unmapped ops are allowed,
 * messages are muted, and a warning says that kernels are unknown. */
static tl_status run_npu(explanation *x, tl_module *m, const tl_pipeline_options *p) {
  tl_options options = x->cli->settings.options;
  tl_session lenient = x->cli->session;
  tl_muted muted;
  options.allow_unmapped = true;
  lenient.options = &options;
  tl_mute(&muted, m, NULL, NULL);
  if (is_ub_pass(x))
    tl_unmute(&muted);
  tl_status status = tl_session_run_npu(&lenient, m, p, NULL);
  tl_unmute(&muted);
  if (status == TL_OK || is_ub_pass(x) || status == TL_NO_MEMORY || *x->cli->signal)
    return status;
  tl_warn(&x->cli->diag, TL_AT_FILE(m->path),
          "the model has no NPU form, so its kernels are unknown\v"
          "'tailor convert' says why");
  return TL_OK;
}

/* Runs the pipeline with a remark for every event, and sorts the events. Expansions happen up to
 * SELECT, canonical fusions in all stages; kernels need the NPU form after canonical form. */
static tl_status run(explanation *x) {
  tl_cli *cli = x->cli;
  tl_module *m;
  TL_TRY(tl_session_load(&cli->session, cli->word, &m));
  bool npu = !x->expand && (!x->pass || is_ub_pass(x));
  tl_stage stage = x->expand ? TL_STAGE_SELECT : npu ? TL_STAGE_FIRST : TL_STAGE_ALL;
  tl_pipeline_options p = tl_session_pipeline(&cli->session, stage);
  p.hook = stop_on_signal;
  p.hook_user = x;
  p.remark = gather;
  p.remark_user = x;
  p.explain = true;
  p.explain_elsewhere = x->pass != NULL;
  tl_status status = tl_session_run(&cli->session, m, &p, NULL);
  if (status == TL_OK && npu)
    status = run_npu(x, m, &p);
  tl_module_destroy(m);
  if (x->events.n)
    qsort(x->events.at, x->events.n, sizeof *x->events.at, by_pass);
  if (status == TL_OK && x->no_memory)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return status;
}

static void release(explanation *x) {
  event_vec_release(&x->events);
  tl_arena_release(&x->arena);
}

/* True if nothing but a node is asked for: what became of it comes first. The JSON form has it only
 * with --origins, since it is a list of passes. */
static bool adds_origins(const tl_cli *cli) {
  return tl_cli_has(cli, TL_OPTION_EXPLAIN_NODE) && !tl_cli_has(cli, TL_OPTION_EXPLAIN_FUSION) &&
         !tl_cli_has(cli, TL_OPTION_EXPLAIN_EXPAND) && !tl_cli_has(cli, TL_OPTION_AS_JSON);
}

static tl_status print(explanation *x) {
  tl_status status = TL_OK;
  tl_buf out;
  tl_buf_init(&out);
  if (adds_origins(x->cli))
    status = tl_origins_text(x->cli, &out);
  if (status == TL_OK && adds_origins(x->cli))
    status = tl_life_text(x->cli, &out);
  if (status == TL_OK && tl_cli_has(x->cli, TL_OPTION_AS_JSON))
    add_json(x, &out);
  else if (status == TL_OK)
    add_text(x, &out);
  if (status == TL_OK)
    return tl_cli_print(x->cli, &out);
  tl_buf_release(&out);
  return status;
}

tl_status tl_command_explain(tl_cli *cli) {
  explanation x = {.cli = cli};
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no model is named\vtailor explain MODEL --fusion");
  bool suggest = tl_cli_has(cli, TL_OPTION_SUGGEST_MIXLIST);
  if (suggest)
    TL_TRY(tl_suggest_prepare(cli));
  tl_settings_for_toolkit(&cli->settings);
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  if (tl_cli_has(cli, TL_OPTION_WHY_NOT))
    return tl_explain_why_not(cli);
  if (suggest)
    return tl_suggest_mixlist(cli);
  if (tl_cli_has(cli, TL_OPTION_PAGE))
    return tl_explain_page(cli);
  if (tl_cli_has(cli, TL_OPTION_EXPLAIN_ORIGINS))
    return tl_explain_origins(cli);
  if (tl_cli_asks_precision(cli))
    return tl_explain_precision(cli);
  x.expand = tl_cli_has(cli, TL_OPTION_EXPLAIN_EXPAND);
  if (x.expand && tl_cli_has(cli, TL_OPTION_EXPLAIN_FUSION))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "--fusion and --expand ask for different things\vgive one of them");
  tl_option_id asked = x.expand ? TL_OPTION_EXPLAIN_EXPAND : TL_OPTION_EXPLAIN_FUSION;
  const char *pass = tl_cli_get(cli, asked);
  x.pass = strcmp(pass, "all") == 0 ? NULL : pass;
  x.node = tl_cli_has(cli, TL_OPTION_EXPLAIN_NODE) ? tl_cli_get(cli, TL_OPTION_EXPLAIN_NODE) : NULL;
  TL_TRY(check_pass(&x));
  tl_arena_init(&x.arena, 0);
  tl_status status = run(&x);
  if (status == TL_OK)
    status = print(&x);
  release(&x);
  return status;
}
