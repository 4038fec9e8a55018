/* SPDX-License-Identifier: Apache-2.0 */
/* Puts together why rules did not take a node: what the engine says before and behind each run of
 * these rules (passes/engine/question.h), and what other rules and passes did with the node. */
#include "tools/explain/why_not.h"

#include "passes/engine/question.h"
#include "passes/ub/chain.h"
#include "support/json_writer.h"
#include "tools/cli/rules.h"

enum { SCHEMA = 1 };

/* What became of the question. */
typedef enum verdict {
  TAKEN, /* the rules took the node */
  FIRST, /* they fitted, but another rule took it first */
  LATER, /* they did not fit, and another rule took it in the same pass or later */
  MISS,  /* they did not fit, and no other rule took it: a real miss */
  BEFORE /* it was gone before they were tried */
} verdict;

static const char *const verdict_names[] = {"taken", "first", "later", "miss", "before"};

/* One answer of the engine, or one rewrite that took the node. Texts are in the arena. */
typedef struct fact {
  tl_rule_answer answer;
  tl_sv what;  /* of a rewrite: its message */
  bool beside; /* of a rewrite: it took other nodes that the rule needs, not the node */
  uint32_t at;
} fact;

TL_VEC(fact_vec, fact);
TL_VEC(name_vec, tl_sv);

typedef struct inquiry {
  tl_cli *cli;
  tl_rule_question question;
  tl_arena arena;
  fact_vec answers;
  fact_vec takers; /* rewrites of other rules or passes that took the node */
  fact taken;      /* rewrite of a rule that was asked about; rule empty: none */
  name_vec names;  /* of the node, and of what it became */
  name_vec beside; /* of nodes that fit a rule together with it */
  uint32_t clock;  /* counts facts */
  bool no_memory;
} inquiry;

/* ---- gathering ------------------------------------------------------------------------------- */

static tl_sv keep(inquiry *q, tl_sv s) {
  const char *p = tl_arena_copy(&q->arena, s.n ? s.p : "", s.n);
  q->no_memory = q->no_memory || !p;
  return p ? (tl_sv){p, s.n} : TL_SV("");
}

static const tl_sv *keep_names(inquiry *q, const tl_sv *names, uint32_t n) {
  tl_sv *copy = tl_arena_calloc(&q->arena, n + 1u, sizeof *copy);
  q->no_memory = q->no_memory || !copy;
  for (uint32_t i = 0; copy && i < n; i++)
    copy[i] = keep(q, names[i]);
  return copy;
}

static tl_status on_answer(void *user, const tl_rule_answer *a) {
  inquiry *q = user;
  fact f = {.answer = *a, .at = q->clock++};
  f.answer.node = keep(q, a->node);
  f.answer.op = keep(q, a->op);
  f.answer.fusion = keep(q, a->fusion);
  f.answer.rule = keep(q, a->rule);
  f.answer.root = keep(q, a->root);
  f.answer.reason = keep(q, tl_sv_from(a->reason)).p;
  f.answer.condition = keep(q, a->condition);
  f.answer.nodes = keep_names(q, a->nodes, a->n_nodes);
  if (!f.answer.nodes)
    f.answer.n_nodes = 0;
  if (a->exists && !name_vec_push(&q->names, f.answer.node))
    q->no_memory = true;
  for (uint32_t i = 0; i < f.answer.n_nodes; i++)
    q->no_memory = !name_vec_push(&q->beside, f.answer.nodes[i]) || q->no_memory;
  if (!fact_vec_push(&q->answers, f))
    q->no_memory = true;
  return q->no_memory ? TL_NO_MEMORY : TL_OK;
}

static bool has_name(const name_vec *names, tl_sv name) {
  for (uint32_t i = 0; i < names->n; i++)
    if (tl_sv_eq(names->at[i], name))
      return true;
  return false;
}

/* Returns true if the rewrite took one of the nodes of these names. */
static bool took(const tl_remark *r, const name_vec *names) {
  if (!r->applied || (r->fusion && r->fusion->scope)) /* a kernel takes nothing away */
    return false;
  for (uint32_t i = 0; r->fusion && i < r->fusion->n_nodes; i++)
    if (has_name(names, r->fusion->nodes[i]))
      return true;
  return !r->fusion && has_name(names, r->node);
}

/* Keeps a rewrite that took the node, or another one that a rule needs. What was made of the node
 * is followed under its name. */
static void on_remark(void *user, const tl_remark *r) {
  inquiry *q = user;
  const tl_fusion_remark *f = r->fusion;
  bool node = took(r, &q->names);
  if (!node && !(f && took(r, &q->beside)))
    return;
  fact taken = {.answer.pass = r->pass, .what = keep(q, tl_sv_from(r->message)), .at = q->clock++};
  taken.answer.fusion = f ? keep(q, f->fusion) : TL_SV("");
  taken.answer.rule = f ? keep(q, f->rule) : TL_SV("");
  tl_sv asked = q->question.asked;
  taken.beside = !node;
  bool ours = node && f &&
              (tl_sv_eq(f->fusion, asked) || tl_sv_eq(f->rule, asked) || tl_sv_is(asked, r->pass));
  if (ours && !q->taken.what.n)
    q->taken = taken;
  else if (!ours && !fact_vec_push(&q->takers, taken))
    q->no_memory = true;
  if (node && f && r->node.n && !has_name(&q->names, r->node) &&
      !name_vec_push(&q->names, keep(q, r->node)))
    q->no_memory = true;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool is_named(const fact *f) { return f->answer.rule.n != 0; }

/* Returns true if answer a says more than b: a rule fits, or more of a pattern. */
static bool says_more(const tl_rule_answer *a, const tl_rule_answer *b) {
  if (!a->code != !b->code)
    return !a->code;
  if (!a->rule.n || !b->rule.n)
    return a->rule.n != 0 || b->rule.n == 0;
  return (uint64_t)a->n_nodes * b->wanted >= (uint64_t)b->n_nodes * a->wanted;
}

/* Returns the answer that came nearest, of equal ones the last; NULL: the node never existed. A
 * state of the module in which other rules have taken what is beside the node says less. */
static const fact *nearest_answer(const inquiry *q) {
  const fact *best = NULL;
  for (uint32_t i = 0; i < q->answers.n; i++) {
    const fact *f = &q->answers.at[i];
    if (f->answer.exists && (!best || says_more(&f->answer, &best->answer)))
      best = f;
  }
  return best;
}

/* What a rewrite must be to be asked for. */
typedef enum wish { BY_RULE, BY_RULE_BESIDE, BY_ANY } wish;

/* Returns the first rewrite behind a fact: of the node by a rule; by a rule, of the node or of
 * another that the rule in question needs; or any. NULL: none. A pass that merges equal nodes, or
 * erases unused ones, is no rule. */
static const fact *next_taker(const inquiry *q, uint32_t at, wish by) {
  for (uint32_t i = 0; i < q->takers.n; i++) {
    const fact *f = &q->takers.at[i];
    if (f->at > at && (is_named(f) || by == BY_ANY) && (!f->beside || by != BY_RULE))
      return f;
  }
  return NULL;
}

/* Finds what decides the question: the verdict, the answer that stands (NULL: none), and the
 * rewrite that took the node (NULL: none). */
static verdict judge(const inquiry *q, const fact **answer, const fact **taker) {
  *answer = nearest_answer(q);
  *taker = q->takers.n ? &q->takers.at[0] : NULL;
  if (q->taken.what.n) {
    *taker = &q->taken;
    return TAKEN;
  }
  if (!*answer)
    return BEFORE;
  bool fits = !(*answer)->answer.code;
  *taker = next_taker(q, (*answer)->at, fits ? BY_RULE_BESIDE : BY_RULE);
  if (*taker)
    return fits ? FIRST : LATER;
  *taker = next_taker(q, (*answer)->at, BY_ANY);
  return MISS;
}

/* A rule that fits, is on and was not applied: a bound ended the run. */
static const char *code_of(verdict v, const tl_rule_answer *a) {
  return v == FIRST ? "OVERLAP" : a->code ? a->code : "LIMIT";
}

static const char *remedy_of(const char *code) {
  static const struct {
    const char *code;
    const char *text;
  } remedies[] = {
#define REMEDY(code, text) {code, text},
#include "tools/explain/remedies.tbl"
#undef REMEDY
  };
  for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
    if (strcmp(remedies[i].code, code) == 0)
      return remedies[i].text;
  return "by a model for which it holds";
}

/* Adds "pass/rule", or the pass of the pipeline if no rule did it. */
static void add_rule(const tl_rule_answer *a, tl_buf *out) {
  if (!a->rule.n)
    tl_buf_add_z(out, a->pass);
  else if (tl_sv_eq(a->fusion, a->rule))
    tl_buf_add_sv(out, a->rule);
  else
    tl_buf_printf(out, "%.*s/%.*s", TL_SV_ARG(a->fusion), TL_SV_ARG(a->rule));
}

/* Adds what would satisfy what is in the way. */
static void add_remedy(verdict v, const tl_rule_answer *a, const fact *taker, tl_buf *out) {
  const char *code = code_of(v, a);
  /* Of one fusion with two rules only the other rule must go. */
  if (v == FIRST && taker && is_named(taker))
    tl_buf_printf(out, "by --fusion=%.*s:off",
                  TL_SV_ARG(tl_sv_eq(taker->answer.fusion, a->fusion) ? taker->answer.rule
                                                                      : taker->answer.fusion));
  else if (a->condition.n && strcmp(code, "DYNAMIC") != 0)
    tl_buf_printf(out, "if `%.*s` holds", TL_SV_ARG(a->condition));
  else
    tl_buf_add_z(out, remedy_of(code));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_taker(const fact *taker, tl_buf *out) {
  add_rule(&taker->answer, out);
  if (is_named(taker))
    tl_buf_printf(out, " in pass %s", taker->answer.pass);
}

static void add_title(const inquiry *q, verdict v, const fact *taker, tl_buf *out) {
  tl_sv asked = q->question.asked, node = q->question.node;
  switch (v) {
  case TAKEN:
    tl_buf_printf(out, "%.*s took `%.*s`: %.*s\n", TL_SV_ARG(asked), TL_SV_ARG(node),
                  TL_SV_ARG(taker->what));
    return;
  case FIRST:
    tl_buf_printf(out, "%.*s fits `%.*s`, but another rule took it first: ", TL_SV_ARG(asked),
                  TL_SV_ARG(node));
    break;
  case LATER:
    tl_buf_printf(out, "%.*s did not take `%.*s`, but another rule did: ", TL_SV_ARG(asked),
                  TL_SV_ARG(node));
    break;
  case MISS:
    tl_buf_printf(out, "%.*s did not take `%.*s`, and no other rule did\n", TL_SV_ARG(asked),
                  TL_SV_ARG(node));
    return;
  case BEFORE:
    tl_buf_printf(out, "%.*s never saw `%.*s`: it had gone to ", TL_SV_ARG(asked), TL_SV_ARG(node));
    break;
  }
  add_taker(taker, out);
  tl_buf_add_char(out, '\n');
}

static void add_nodes(const tl_rule_answer *a, tl_buf *out) {
  for (uint32_t i = 0; i < a->n_nodes; i++)
    tl_buf_printf(out, "%s`%.*s`", i ? ", " : ": ", TL_SV_ARG(a->nodes[i]));
}

static void add_answer(verdict v, const tl_rule_answer *a, const fact *taker, tl_buf *out) {
  if (a->rule.n) {
    tl_buf_add_z(out, "  nearest    ");
    add_rule(a, out);
    tl_buf_printf(out, " at `%.*s`, %u of %u nodes compared", TL_SV_ARG(a->root), a->n_nodes,
                  a->wanted);
    add_nodes(a, out);
    tl_buf_add_char(out, '\n');
  }
  tl_buf_printf(out, "  in the way %s: ", code_of(v, a));
  if (v == FIRST)
    tl_buf_add_sv(out, taker->what);
  else
    tl_buf_add_z(out, a->code ? a->reason : "the rule fits, but the rewrites were at their bound");
  tl_buf_add_z(out, "\n  satisfied  ");
  add_remedy(v, a, taker, out);
  tl_buf_add_char(out, '\n');
}

static void add_text(const inquiry *q, verdict v, const fact *answer, const fact *taker,
                     tl_buf *out) {
  add_title(q, v, taker, out);
  if (answer && v != TAKEN && v != BEFORE)
    add_answer(v, &answer->answer, taker, out);
  if (taker && v != TAKEN && v != FIRST)
    tl_buf_printf(out, "  %s %s: %.*s\n", v == BEFORE ? "before    " : "later     ",
                  taker->answer.pass, TL_SV_ARG(taker->what));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_taker(tl_json_writer *w, const fact *taker) {
  tl_put_key(w, "taken_by");
  if (!taker) {
    tl_put_null(w);
    return;
  }
  tl_put_object(w);
  tl_member_z(w, "pass", taker->answer.pass);
  tl_member_sv(w, "fusion", taker->answer.fusion);
  tl_member_sv(w, "rule", taker->answer.rule);
  tl_member_sv(w, "what", taker->what);
  tl_put_end(w);
}

static void put_answer(tl_json_writer *w, verdict v, const tl_rule_answer *a, const fact *taker) {
  tl_buf remedy;
  tl_buf_init(&remedy);
  add_remedy(v, a, taker, &remedy);
  tl_member_sv(w, "op", a->op);
  tl_member_sv(w, "fusion", a->fusion);
  tl_member_sv(w, "rule", a->rule);
  tl_member_sv(w, "root", a->root);
  tl_member_z(w, "code", code_of(v, a));
  tl_member_z(w, "reason", a->code ? a->reason : "");
  tl_member_sv(w, "satisfied", tl_buf_view(&remedy));
  tl_member_u64(w, "pattern_nodes", a->wanted);
  tl_put_key(w, "nodes");
  tl_put_array(w);
  for (uint32_t i = 0; i < a->n_nodes; i++)
    tl_put_sv(w, a->nodes[i]);
  tl_put_end(w);
  w->out->failed = w->out->failed || remedy.failed;
  tl_buf_release(&remedy);
}

static void add_json(const inquiry *q, verdict v, const fact *answer, const fact *taker,
                     tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", SCHEMA);
  tl_member_sv(&w, "asked", q->question.asked);
  tl_member_sv(&w, "node", q->question.node);
  tl_member_z(&w, "verdict", verdict_names[v]);
  put_taker(&w, taker);
  if (answer && v != TAKEN && v != BEFORE)
    put_answer(&w, v, &answer->answer, taker);
  tl_json_finish(&w);
}

/* ---- command --------------------------------------------------------------------------------- */

static tl_status refuse(const inquiry *q, tl_status status, tl_option_id id, const char *fmt,
                        tl_sv name) {
  tl_cli *cli = q->cli;
  return tl_fail(&cli->diag, status, tl_at_option(&cli->settings, id), fmt, TL_SV_ARG(name));
}

/* Checks the options, and finds out whether expansions are asked about. */
static tl_status check(inquiry *q, bool *expand) {
  static const tl_option_id others[] = {
      TL_OPTION_EXPLAIN_FUSION,  TL_OPTION_EXPLAIN_EXPAND,  TL_OPTION_PAGE,
      TL_OPTION_EXPLAIN_ORIGINS, TL_OPTION_SUGGEST_MIXLIST, TL_OPTION_EXPLAIN_PRECISION,
      TL_OPTION_EXPLAIN_TYPE,    TL_OPTION_EXPLAIN_CASTS};
  tl_cli *cli = q->cli;
  tl_sv asked = q->question.asked;
  bool known = tl_pass_find(asked) != NULL;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_cli_has(cli, others[i]))
      return refuse(q, TL_INVALID_ARGUMENT, others[i],
                    "and --why-not ask for different things\vgive one of them%.*s", TL_SV(""));
  if (!tl_cli_has(cli, TL_OPTION_EXPLAIN_NODE))
    return refuse(q, TL_INVALID_ARGUMENT, TL_OPTION_WHY_NOT,
                  "needs the node: --why-not=%.*s --node=NAME", asked);
  if (tl_ub_count_chains(asked))
    return refuse(q, TL_UNSUPPORTED, TL_OPTION_WHY_NOT,
                  "'%.*s' makes kernels of nodes, which is no rule\v--fusion=PASS --node=NAME "
                  "explains it",
                  asked);
  TL_TRY(tl_cli_knows_expansion(cli, asked, expand));
  *expand = *expand || tl_sv_is(asked, "expand");
  for (int kind = 0; kind < TL_N_FUSION_KINDS && !known && !*expand; kind++)
    TL_TRY(tl_cli_knows_pass(cli, asked, (tl_fusion_kind)kind, &known));
  if (known || *expand)
    return TL_OK;
  if (!cli->rules) /* a file of rules is wrong: it may have the name */
    TL_TRY(tl_cli_load_rules(cli));
  if (tl_fusion_name_find(asked))
    return refuse(q, TL_UNSUPPORTED, TL_OPTION_WHY_NOT, "this version has no rules for '%.*s'",
                  asked);
  return refuse(q, TL_INVALID_ARGUMENT, TL_OPTION_WHY_NOT,
                "no fusion pass, rule or pass is named '%.*s'\v'tailor passes --rules' lists rules",
                asked);
}

static tl_status stop_on_signal(void *user, tl_module *m, const tl_pass_event *e) {
  const inquiry *q = user;
  (void)m;
  (void)e;
  return *q->cli->signal ? TL_IO : TL_OK;
}

static tl_status run(inquiry *q, bool expand) {
  tl_cli *cli = q->cli;
  tl_module *m;
  TL_TRY(tl_session_load(&cli->session, cli->word, &m));
  tl_pipeline_options p =
      tl_session_pipeline(&cli->session, expand ? TL_STAGE_SELECT : TL_STAGE_ALL);
  p.hook = stop_on_signal;
  p.hook_user = q;
  p.remark = on_remark;
  p.remark_user = q;
  p.explain = true;
  p.explain_elsewhere = true;
  p.question = &q->question;
  tl_status status = tl_session_run(&cli->session, m, &p, NULL);
  tl_module_destroy(m);
  return status == TL_OK && q->no_memory ? tl_fail_memory(&cli->diag, TL_NOWHERE) : status;
}

/* Reports a question without an answer: the pass runs no rules, or there is no such node. */
static tl_status check_answered(const inquiry *q) {
  bool seen = q->taken.what.n || q->takers.n;
  for (uint32_t i = 0; i < q->answers.n; i++)
    seen = seen || q->answers.at[i].answer.exists;
  if (!q->answers.n && tl_pass_find(q->question.asked))
    return refuse(
        q, TL_UNSUPPORTED, TL_OPTION_WHY_NOT,
        "pass '%.*s' runs no rules, or did not run here\v'tailor opt --print-changed=PASS "
        "--print-only=NODE' shows what it did with the node",
        q->question.asked);
  if (!q->answers.n)
    return refuse(q, TL_UNSUPPORTED, TL_OPTION_WHY_NOT,
                  "no pass that ran tries the rules of '%.*s'\vrules that capture a scope are "
                  "explained by --fusion=NAME",
                  q->question.asked);
  return seen ? TL_OK
              : refuse(q, TL_INVALID_ARGUMENT, TL_OPTION_EXPLAIN_NODE,
                       "no node is named '%.*s'\v'tailor opt MODEL' shows the names",
                       q->question.node);
}

static tl_status answer(inquiry *q) {
  const fact *standing, *taker;
  bool expand = false;
  TL_TRY(check(q, &expand));
  if (!name_vec_push(&q->names, q->question.node))
    return tl_fail_memory(&q->cli->diag, TL_NOWHERE);
  TL_TRY(run(q, expand));
  TL_TRY(check_answered(q));
  verdict v = judge(q, &standing, &taker);
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(q->cli, TL_OPTION_AS_JSON))
    add_json(q, v, standing, taker, &out);
  else
    add_text(q, v, standing, taker, &out);
  return tl_cli_print(q->cli, &out);
}

tl_status tl_explain_why_not(tl_cli *cli) {
  inquiry q = {.cli = cli};
  q.question = (tl_rule_question){.asked = tl_sv_from(tl_cli_get(cli, TL_OPTION_WHY_NOT)),
                                  .node = tl_sv_from(tl_cli_get(cli, TL_OPTION_EXPLAIN_NODE)),
                                  .user = &q,
                                  .answer = on_answer};
  tl_arena_init(&q.arena, 0);
  tl_status status = answer(&q);
  fact_vec_release(&q.answers);
  fact_vec_release(&q.takers);
  name_vec_release(&q.names);
  name_vec_release(&q.beside);
  tl_arena_release(&q.arena);
  return status;
}
