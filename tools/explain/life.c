/* SPDX-License-Identifier: Apache-2.0 */
/* Implements lives. What a pass says of a node (remarks) comes first, then what the node is behind
 * the pass, if that is something else than before. */
#include "tools/explain/life.h"

#include "ir/trace.h"
#include "tools/cli/rules.h"

/* One event. */
typedef struct step {
  tl_sv pass; /* or "read", "air", "onnx" */
  tl_sv text;
} step;

TL_VEC(step_vec, step);
TL_VEC(name_vec, tl_sv);

/* State of one run. */
typedef struct life {
  tl_cli *cli;
  tl_module *m;
  tl_sv target; /* name of the node in the model */
  tl_arena arena;
  step_vec steps;
  tl_u32_vec now; /* nodes that it is now, before the pass that runs */
  name_vec names; /* theirs, in the arena: the pass may erase the nodes */
  tl_buf state;   /* what they are, as text */
  bool silent;    /* only the end is wanted */
  bool no_memory;
} life;

/* ---- which nodes it is ----------------------------------------------------------------------- */

static bool list_has(tl_sv list, tl_sv name, tl_buf *room) {
  tl_sv item;
  tl_trace_items at = tl_trace_start(list);
  while (list.n && tl_trace_next(&at, room, &item))
    if (tl_sv_eq(item, name))
      return true;
  return false;
}

bool tl_comes_from(const tl_module *m, tl_node_id n, tl_sv name) {
  tl_buf room, written;
  bool inserted;
  tl_op_id op = tl_node_get(m, n)->op;
  if (op == TL_OP_ERASED || op == TL_OP_RETURN)
    return false;
  tl_buf_init(&room);
  tl_buf_init(&written);
  tl_sv list = tl_trace_origins(m, n, &written, &inserted);
  if (!list.n)
    tl_trace_own(m, n, &room);
  bool is = list.n ? list_has(list, name, &room) : tl_sv_eq(tl_buf_view(&room), name);
  tl_buf_release(&room);
  tl_buf_release(&written);
  return is && !inserted;
}

static void find_nodes(life *l) {
  l->now.n = l->names.n = 0;
  for (tl_node_id n = 1; n < tl_module_node_end(l->m); n++) {
    if (!tl_comes_from(l->m, n, l->target))
      continue;
    tl_sv name = tl_node_where(l->m, n).node;
    const char *copy = tl_arena_copy(&l->arena, name.p, name.n);
    if (!copy || !name_vec_push(&l->names, (tl_sv){copy, name.n}) || !tl_u32_vec_push(&l->now, n))
      l->no_memory = true;
  }
}

/* ---- what they are --------------------------------------------------------------------------- */

/* Collectives run on streams of their own; all else on that of computation. */
static const char *stream_reason(const tl_module *m, const tl_node *node) {
  tl_sv op = tl_op_name(m, node->op);
  return op.n > 4 && memcmp(op.p, "Hcom", 4) == 0 ? "collectives" : "computation";
}

/* Adds "Op `name`: f16[2,3], stream 0 (computation)". */
static void add_state(life *l, tl_node_id n, tl_buf *out) {
  const tl_node *node = tl_node_get(l->m, n);
  tl_buf_printf(out, "%.*s `%.*s`: ", TL_SV_ARG(tl_op_name(l->m, node->op)),
                TL_SV_ARG(tl_node_where(l->m, n).node));
  tl_type_print(l->m, tl_value_type(l->m, tl_result(l->m, n, 0)), out);
  if (node->stream >= 0)
    tl_buf_printf(out, ", stream %d (%s)", node->stream, stream_reason(l->m, node));
}

static void describe(life *l, tl_buf *out) {
  enum { MOST = 4 };
  tl_buf_clear(out);
  for (uint32_t i = 0; i < l->now.n && i < MOST; i++) {
    tl_buf_add_z(out, i ? "; " : "");
    add_state(l, l->now.at[i], out);
  }
  if (l->now.n > MOST)
    tl_buf_printf(out, "; and %u more", l->now.n - MOST);
  if (!l->now.n)
    tl_buf_add_z(out, "gone: computed beforehand, merged with another node, or not used");
}

/* ---- events ---------------------------------------------------------------------------------- */

static void add_step(life *l, const char *pass, const tl_buf *text) {
  const char *name = tl_arena_copy(&l->arena, pass, strlen(pass));
  const char *copy = tl_arena_copy(&l->arena, text->p ? text->p : "", text->n);
  if (!name || !copy || text->failed ||
      !step_vec_push(&l->steps, (step){tl_sv_from(name), {copy, text->n}}))
    l->no_memory = true;
}

/* A pass may go on with a node that it has just made, which has the old name in front. */
static bool is_ours(life *l, tl_sv name) {
  bool ours = tl_sv_eq(name, l->target);
  for (uint32_t i = 0; i < l->names.n && !ours; i++) {
    tl_sv own = l->names.at[i];
    ours = tl_sv_eq(own, name) ||
           (name.n > own.n && memcmp(name.p, own.p, own.n) == 0 && name.p[own.n] == '/');
  }
  return ours;
}

/* Adds " (file:line)" of a rule. */
static void add_place(life *l, tl_sv rule, tl_buf *out) {
  const tl_known_rules *known = l->cli->rules;
  for (uint32_t i = 0; known && i < known->set.rules.n; i++) {
    const tl_rule *r = known->set.rules.at[i];
    if (tl_sv_eq(tl_sym(known->m, r->name), rule)) {
      tl_buf_printf(out, " (%s:%u)", r->file, r->line);
      return;
    }
  }
}

static void note(void *user, const tl_remark *r) {
  life *l = user;
  if (!r->applied || l->silent) /* of a silent run nobody knows the nodes */
    return;
  bool ours = is_ours(l, r->node);
  for (uint32_t i = 0; r->fusion && i < r->fusion->n_nodes; i++)
    ours = ours || is_ours(l, r->fusion->nodes[i]);
  if (!ours)
    return;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, r->message);
  if (r->fusion)
    add_place(l, r->fusion->rule, &text);
  add_step(l, r->pass, &text);
  tl_buf_release(&text);
}

/* Behind a pass that changed something: what the node is now. */
static tl_status watch(void *user, tl_module *m, const tl_pass_event *e) {
  life *l = user;
  tl_buf text;
  if (*l->cli->signal)
    return TL_IO;
  if (!e->after || !e->changed || l->silent)
    return TL_OK;
  l->m = m;
  find_nodes(l);
  tl_buf_init(&text);
  describe(l, &text);
  if (!tl_sv_eq(tl_buf_view(&text), tl_buf_view(&l->state))) {
    tl_buf_clear(&l->state);
    tl_buf_add_sv(&l->state, tl_buf_view(&text));
    tl_buf full;
    tl_buf_init(&full);
    tl_buf_printf(&full, "now %.*s", TL_SV_ARG(tl_buf_view(&text)));
    add_step(l, e->row->name, &full);
    tl_buf_release(&full);
  }
  tl_buf_release(&text);
  return l->no_memory ? TL_NO_MEMORY : TL_OK;
}

/* ---- the ends -------------------------------------------------------------------------------- */

static uint32_t place_of(const tl_module *m, tl_node_id n) {
  uint32_t place = 0;
  TL_FOR_NODES(m, tl_graph_get(m, tl_node_get(m, n)->graph), k) {
    place++;
    if (k == n)
      break;
  }
  return place;
}

static void add_where(life *l, tl_node_id n, tl_buf *out) {
  const tl_graph *g = tl_graph_get(l->m, tl_node_get(l->m, n)->graph);
  tl_buf_printf(out, ", node %u of %u of graph `%.*s`", place_of(l->m, n), g->n_nodes,
                TL_SV_ARG(tl_sym(l->m, g->name)));
}

static void add_read(life *l) {
  tl_buf text;
  tl_buf_init(&text);
  tl_node_id n = l->now.at[0];
  tl_symbol scope = tl_node_get(l->m, n)->scope;
  add_state(l, n, &text);
  add_where(l, n, &text);
  tl_buf_printf(&text, " of %s", l->m->path);
  if (scope)
    tl_buf_printf(&text, ", inlined from call `%.*s`", TL_SV_ARG(tl_sym(l->m, scope)));
  add_step(l, "read", &text);
  tl_buf_release(&text);
}

/* Adds the Casts whose result a node reads, and those that read its result. */
static void add_casts(life *l, tl_node_id n, tl_buf *out) {
  const tl_node *node = tl_node_get(l->m, n);
  const char *between = "; casts beside it: ";
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(l->m, n, i);
    tl_node_id p = v ? tl_value_producer(l->m, v) : TL_NO_NODE;
    if (p && tl_sv_is(tl_op_name(l->m, tl_node_get(l->m, p)->op), "Cast")) {
      tl_buf_printf(out, "%s`%.*s`", between, TL_SV_ARG(tl_node_where(l->m, p).node));
      between = ", ";
    }
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    TL_FOR_USES(l->m, tl_result(l->m, n, i), u) {
      tl_node_id user = tl_use_get(l->m, u)->user;
      tl_op_id op = tl_node_get(l->m, user)->op;
      if (op == TL_OP_RETURN || !tl_sv_is(tl_op_name(l->m, op), "Cast"))
        continue;
      tl_buf_printf(out, "%s`%.*s`", between, TL_SV_ARG(tl_node_where(l->m, user).node));
      between = ", ";
    }
}

/* Adds where it is in an output: "air", "onnx". */
static void add_end(life *l, const char *form) {
  tl_buf text;
  tl_buf_init(&text);
  find_nodes(l);
  for (uint32_t i = 0; i < l->now.n; i++) {
    tl_buf_clear(&text);
    add_state(l, l->now.at[i], &text);
    add_where(l, l->now.at[i], &text);
    add_casts(l, l->now.at[i], &text);
    add_step(l, form, &text);
  }
  if (!l->now.n) {
    tl_buf_add_z(&text, "not there");
    add_step(l, form, &text);
  }
  tl_buf_release(&text);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Finds the node that is meant: of this name, else the one that computes the value of this name. */
static void find_target(life *l, tl_sv wanted) {
  l->target = wanted;
  find_nodes(l);
  for (tl_node_id n = 1; n < tl_module_node_end(l->m) && !l->now.n; n++) {
    const tl_node *node = tl_node_get(l->m, n);
    for (uint32_t i = 0;
         node->op != TL_OP_RETURN && node->op != TL_OP_ERASED && i < node->n_results && !l->now.n;
         i++) {
      if (!tl_sv_eq(tl_value_name(l->m, tl_result(l->m, n, i)), wanted))
        continue;
      tl_buf own;
      tl_buf_init(&own);
      tl_trace_own(l->m, n, &own);
      const char *copy = own.failed ? NULL : tl_arena_copy(&l->arena, own.p, own.n);
      l->target = copy ? (tl_sv){copy, own.n} : wanted;
      l->no_memory = l->no_memory || !copy;
      tl_buf_release(&own);
      find_nodes(l);
    }
  }
}

/* Runs the passes up to one form; a model that has no such form ends where it can. */
static tl_status run(life *l, tl_module *m, bool air) {
  tl_options options = l->cli->settings.options;
  tl_session lenient = l->cli->session;
  tl_pipeline_options p =
      tl_session_pipeline(&lenient, air ? TL_STAGE_AIR : tl_pipeline_canonical(&options));
  tl_muted muted;
  options.allow_unmapped = true;
  lenient.options = &options;
  p.hook = watch;
  p.hook_user = l;
  p.remark = note;
  p.remark_user = l;
  p.fusions = NULL;
  l->silent = !air;
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = tl_session_run(&lenient, m, &p, NULL);
  tl_unmute(&muted);
  l->m = m;
  if (status == TL_OK)
    add_end(l, air ? "air" : "onnx");
  return status == TL_NO_MEMORY || *l->cli->signal ? status : TL_OK;
}

/* Loads the model once for each form. */
static tl_status follow_to(life *l, bool air) {
  tl_module *m = NULL;
  TL_TRY(tl_session_load(&l->cli->session, l->cli->word, &m));
  l->m = m;
  if (air)
    find_target(l, tl_sv_from(tl_cli_get(l->cli, TL_OPTION_EXPLAIN_NODE)));
  if (air && l->now.n) {
    add_read(l);
    describe(l, &l->state);
  }
  bool there = l->steps.n && m->form != TL_FORM_NPU; /* AIR files are at their end already */
  tl_status status = there ? run(l, m, air) : TL_OK;
  tl_module_destroy(m);
  return status;
}

static tl_status follow(life *l) {
  TL_TRY(follow_to(l, true));
  if (l->steps.n)
    TL_TRY(follow_to(l, false));
  return l->no_memory ? tl_fail_memory(&l->cli->diag, TL_NOWHERE) : TL_OK;
}

static tl_status find(tl_cli *cli, life *l) {
  *l = (life){.cli = cli};
  tl_arena_init(&l->arena, 0);
  tl_buf_init(&l->state);
  if (!cli->rules)
    TL_TRY(tl_cli_load_rules(cli)); /* for the places of rules */
  return follow(l);
}

static void release(life *l) {
  step_vec_release(&l->steps);
  tl_u32_vec_release(&l->now);
  name_vec_release(&l->names);
  tl_buf_release(&l->state);
  tl_arena_release(&l->arena);
}

tl_status tl_life_text(tl_cli *cli, tl_buf *out) {
  life l;
  tl_status status = find(cli, &l);
  if (status == TL_OK && l.steps.n)
    tl_buf_printf(out, "life of `%.*s`\n", TL_SV_ARG(l.target));
  for (uint32_t i = 0; status == TL_OK && i < l.steps.n; i++)
    tl_buf_printf(out, "  %-22.*s %.*s\n", TL_SV_ARG(l.steps.at[i].pass),
                  TL_SV_ARG(l.steps.at[i].text));
  release(&l);
  return status;
}

tl_status tl_life_json(tl_cli *cli, tl_json_writer *w) {
  life l;
  tl_status status = find(cli, &l);
  tl_json_line(w, 1);
  tl_put_key(w, "life");
  tl_put_array(w);
  for (uint32_t i = 0; status == TL_OK && i < l.steps.n; i++) {
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_sv(w, "pass", l.steps.at[i].pass);
    tl_member_sv(w, "what", l.steps.at[i].text);
    tl_put_end(w);
  }
  tl_put_end(w);
  release(&l);
  return status;
}
