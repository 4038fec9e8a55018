/* SPDX-License-Identifier: Apache-2.0 */
/* Follows names between a model and its AIR form, by what nodes say of their origin. */
#include "tools/explain/origins.h"

#include "backend/air/emit.h"
#include "ir/trace.h"
#include "support/json_writer.h"
#include "tools/explain/life.h"

/* State of one question. */
typedef struct search {
  tl_cli *cli;
  tl_module *m;
  tl_sv wanted;  /* --node */
  tl_sv target;  /* node of the model that is meant: wanted, or the node of a value */
  bool in_model; /* the model has it; not known of AIR files */
  bool lowered;  /* the module is in NPU form */
  tl_arena arena;
  tl_sv *nodes; /* names in AIR, by id */
  tl_sv *values;
  tl_u32_vec became; /* nodes that come from the target */
  tl_u32_vec is;     /* nodes that have the name */
  tl_value_id value; /* input or constant that has it */
} search;

static tl_status no_memory(search *s) { return tl_fail_memory(&s->cli->diag, TL_NOWHERE); }

static bool is_live(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_RETURN && op != TL_OP_ERASED;
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool gives(const tl_module *m, tl_node_id n, tl_sv name) {
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_results; i++)
    if (tl_sv_eq(tl_value_name(m, tl_result(m, n, i)), name))
      return true;
  return false;
}

/* Finds the node of the model that is meant: of this name, else the one that computes the value of
 * this name. */
static tl_status find_target(search *s) {
  tl_node_id giver = TL_NO_NODE;
  tl_buf own;
  s->target = s->wanted;
  if (s->m->form == TL_FORM_NPU || s->wanted.n == 0) /* the model is not there, or not asked */
    return TL_OK;
  tl_buf_init(&own);
  for (tl_node_id n = 1; n < tl_module_node_end(s->m) && !s->in_model; n++) {
    if (!is_live(s->m, n))
      continue;
    tl_buf_clear(&own);
    tl_trace_own(s->m, n, &own);
    s->in_model = tl_sv_eq(tl_buf_view(&own), s->wanted);
    giver = !giver && gives(s->m, n, s->wanted) ? n : giver;
  }
  if (!s->in_model && giver) {
    tl_buf_clear(&own);
    tl_trace_own(s->m, giver, &own);
    const char *copy = own.failed ? NULL : tl_arena_copy(&s->arena, own.p, own.n);
    s->target = (tl_sv){copy, own.n};
    s->in_model = copy != NULL;
  }
  bool failed = own.failed || !s->target.p;
  tl_buf_release(&own);
  return failed ? no_memory(s) : TL_OK;
}

/* ---- its AIR form ---------------------------------------------------------------------------- */

/* Runs the passes of a conversion. What has no NPU form is carried; other failures say no more than
 * that there is none. */
static tl_status lower(search *s) {
  tl_options options = s->cli->settings.options;
  tl_session lenient = s->cli->session;
  tl_pipeline_options p = tl_session_pipeline(&lenient, TL_STAGE_FIRST);
  tl_muted muted;
  options.allow_unmapped = true;
  lenient.options = &options;
  if (s->m->form == TL_FORM_NPU) {
    s->lowered = true;
    return TL_OK;
  }
  tl_mute(&muted, s->m, NULL, NULL);
  tl_status status = tl_session_run(&lenient, s->m, &p, NULL);
  p = tl_session_pipeline(&lenient, TL_STAGE_AIR);
  if (status == TL_OK)
    status = tl_session_run_npu(&lenient, s->m, &p, NULL);
  tl_unmute(&muted);
  s->lowered = status == TL_OK;
  return status == TL_NO_MEMORY ? no_memory(s) : TL_OK;
}

static tl_status list_names(search *s) {
  s->nodes = tl_arena_calloc(&s->arena, tl_module_node_end(s->m), sizeof *s->nodes);
  s->values = tl_arena_calloc(&s->arena, tl_module_value_end(s->m), sizeof *s->values);
  if (!s->nodes || !s->values)
    return no_memory(s);
  tl_muted muted;
  tl_mute(&muted, s->m, NULL, NULL);
  tl_status status =
      tl_air_list_names(s->m, &s->cli->settings.options, &s->arena, s->nodes, s->values);
  tl_unmute(&muted);
  s->lowered = status == TL_OK;
  return status == TL_NO_MEMORY ? no_memory(s) : TL_OK;
}

static bool list_has(tl_sv list, tl_sv name, tl_buf *room) {
  tl_sv item;
  tl_trace_items at = tl_trace_start(list);
  while (list.n && tl_trace_next(&at, room, &item))
    if (tl_sv_eq(item, name))
      return true;
  return false;
}

/* True if the node comes from the target, or was inserted for it. */
static bool comes_from_target(const search *s, tl_node_id n, tl_buf *room) {
  bool inserted;
  tl_buf written;
  tl_buf_init(&written);
  tl_sv list = tl_trace_origins(s->m, n, &written, &inserted);
  bool is = list_has(list, s->target, room);
  room->failed = room->failed || written.failed;
  tl_buf_release(&written);
  if (list.n || inserted)
    return is;
  tl_buf_clear(room);
  tl_trace_own(s->m, n, room);
  return tl_sv_eq(tl_buf_view(room), s->target);
}

static bool has_name(const search *s, tl_node_id n) {
  return s->wanted.n == 0 || tl_sv_eq(s->nodes[n], s->wanted) ||
         tl_sv_eq(tl_sym(s->m, tl_node_get(s->m, n)->name), s->wanted);
}

static bool find_in_graph(search *s, const tl_graph *g, tl_buf *room) {
  TL_FOR_NODES(s->m, g, n) {
    if (s->nodes[n].n == 0)
      continue;
    if (s->wanted.n && comes_from_target(s, n, room) && !tl_u32_vec_push(&s->became, n))
      return false;
    if (has_name(s, n) && !tl_u32_vec_push(&s->is, n))
      return false;
  }
  return !room->failed;
}

static tl_status find_nodes(search *s) {
  bool good = true;
  tl_buf room;
  tl_buf_init(&room);
  for (uint32_t i = 0; i < s->m->graphs.n && good; i++)
    good = s->m->graphs.at[i]->erased || find_in_graph(s, s->m->graphs.at[i], &room);
  for (tl_value_id v = 1; v < tl_module_value_end(s->m) && s->wanted.n && !s->value; v++)
    if (s->values[v].n &&
        (tl_sv_eq(s->values[v], s->wanted) || tl_sv_eq(tl_value_name(s->m, v), s->wanted)))
      s->value = v;
  tl_buf_release(&room);
  return good ? TL_OK : no_memory(s);
}

static tl_status look(search *s) {
  tl_session session = s->cli->session;
  TL_TRY(tl_session_load(&session, s->cli->word, &s->m));
  TL_TRY(find_target(s));
  TL_TRY(lower(s));
  if (s->lowered)
    TL_TRY(list_names(s));
  if (s->lowered)
    return find_nodes(s);
  tl_warn(&s->cli->diag, TL_AT_FILE(s->m->path),
          "the model has no NPU form, so it is not known what nodes become\v"
          "'tailor convert' says why");
  return TL_OK;
}

static void release(search *s) {
  tl_u32_vec_release(&s->became);
  tl_u32_vec_release(&s->is);
  if (s->m)
    tl_module_destroy(s->m);
  tl_arena_release(&s->arena);
}

static search start(tl_cli *cli) {
  search s = {.cli = cli, .wanted = tl_sv_from(tl_cli_get(cli, TL_OPTION_EXPLAIN_NODE))};
  tl_arena_init(&s.arena, 0);
  return s;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void add_list(tl_buf *out, const char *before, tl_sv list) {
  tl_buf room;
  tl_sv item;
  tl_buf_init(&room);
  tl_trace_items at = tl_trace_start(list);
  const char *between = before;
  while (list.n && tl_trace_next(&at, &room, &item)) {
    tl_buf_printf(out, "%s`%.*s`", between, TL_SV_ARG(item));
    between = ", ";
  }
  out->failed = out->failed || room.failed;
  tl_buf_release(&room);
}

/* Tells of a node of the model what it is called there. */
static void add_own(const search *s, tl_node_id n, tl_buf *out) {
  tl_buf own;
  tl_buf_init(&own);
  tl_trace_own(s->m, n, &own);
  if (tl_sv_eq(tl_buf_view(&own), s->nodes[n]))
    tl_buf_add_z(out, ", a node of the model");
  else
    tl_buf_printf(out, ", from `%.*s`", TL_SV_ARG(tl_buf_view(&own)));
  out->failed = out->failed || own.failed;
  tl_buf_release(&own);
}

/* "  MatMulV2 `add/Gemm`, from `mm`, `add`, by MatMulBiasAddFusionPass" */
static void add_node(const search *s, tl_node_id n, tl_buf *out) {
  bool inserted;
  tl_buf written;
  tl_buf_init(&written);
  tl_sv list = tl_trace_origins(s->m, n, &written, &inserted);
  tl_sv passes = tl_trace_get(s->m, n, TL_TRACE_PASSES);
  tl_sv op = tl_op_name(s->m, tl_node_get(s->m, n)->op);
  tl_buf_printf(out, "  %.*s `%.*s`", TL_SV_ARG(op), TL_SV_ARG(s->nodes[n]));
  if (list.n == 0 && inserted)
    tl_buf_add_z(out, ", inserted");
  else if (list.n == 0)
    add_own(s, n, out);
  add_list(out, inserted ? ", inserted for " : ", from ", list);
  add_list(out, ", by ", passes);
  tl_buf_add_char(out, '\n');
  out->failed = out->failed || written.failed;
  tl_buf_release(&written);
}

static void add_nodes(const search *s, const tl_u32_vec *v, tl_buf *out) {
  for (uint32_t i = 0; i < v->n; i++)
    add_node(s, v->at[i], out);
}

/* An input or a constant has one name in the model and one in AIR. */
static void add_value(const search *s, tl_buf *out) {
  bool input = tl_value_get(s->m, s->value)->kind == TL_VALUE_INPUT;
  tl_sv name = tl_value_name(s->m, s->value);
  tl_buf_printf(out, "%s `%.*s` of the model is `%.*s` in AIR\n", input ? "input" : "constant",
                TL_SV_ARG(name), TL_SV_ARG(s->values[s->value]));
}

/* True if the name stands for one node, before and after. */
static bool is_same(const search *s) {
  return s->is.n == 1 && s->became.n == 1 && s->is.at[0] == s->became.at[0];
}

static void add_text(const search *s, tl_buf *out) {
  if (s->became.n || s->in_model)
    tl_buf_printf(out, "`%.*s` of the model became%s\n", TL_SV_ARG(s->target),
                  s->became.n ? ""
                              : " nothing: it was computed beforehand, merged with "
                                "another node, or not used");
  add_nodes(s, &s->became, out);
  if (s->is.n && s->wanted.n && !is_same(s))
    tl_buf_printf(out, "`%.*s` in AIR is\n", TL_SV_ARG(s->wanted));
  if (!is_same(s))
    add_nodes(s, &s->is, out);
  if (s->value)
    add_value(s, out);
  if (!s->became.n && !s->in_model && !s->is.n && !s->value)
    tl_buf_printf(out, "neither the model nor its AIR form has a node `%.*s`\n",
                  TL_SV_ARG(s->wanted));
}

tl_status tl_origins_text(tl_cli *cli, tl_buf *out) {
  search s = start(cli);
  tl_status status = look(&s);
  if (status == TL_OK && s.lowered)
    add_text(&s, out);
  release(&s);
  return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static bool put_list(tl_json_writer *w, const char *key, tl_sv list) {
  tl_buf room;
  tl_sv item;
  tl_buf_init(&room);
  tl_trace_items at = tl_trace_start(list);
  tl_put_key(w, key);
  tl_put_array(w);
  while (list.n && tl_trace_next(&at, &room, &item))
    tl_put_sv(w, item);
  tl_put_end(w);
  bool good = !room.failed;
  tl_buf_release(&room);
  return good;
}

/* A node of the model is its own origin. */
static bool put_origins(const search *s, tl_node_id n, tl_json_writer *w) {
  bool inserted;
  tl_buf own, text;
  tl_buf_init(&own);
  tl_buf_init(&text);
  tl_sv list = tl_trace_origins(s->m, n, &text, &inserted);
  if (list.n == 0 && !inserted) {
    tl_trace_own(s->m, n, &own);
    tl_buf_add_char(&text, '[');
    tl_buf_add_quoted(&text, tl_buf_view(&own));
    tl_buf_add_char(&text, ']');
    list = tl_buf_view(&text);
  }
  tl_member_bool(w, "inserted", inserted);
  bool good = put_list(w, "origins", list) && !own.failed && !text.failed;
  tl_buf_release(&own);
  tl_buf_release(&text);
  return good;
}

static bool put_nodes(const search *s, tl_json_writer *w, const char *key, const tl_u32_vec *v) {
  bool good = true;
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < v->n; i++) {
    tl_node_id n = v->at[i];
    tl_json_line(w, 2);
    tl_put_object(w);
    tl_member_sv(w, "name", s->nodes[n]);
    tl_member_sv(w, "type", tl_op_name(s->m, tl_node_get(s->m, n)->op));
    good = put_origins(s, n, w) && good;
    good = put_list(w, "passes", tl_trace_get(s->m, n, TL_TRACE_PASSES)) && good;
    tl_put_end(w);
  }
  tl_put_end(w);
  return good;
}

/* Adds an object; of a model without NPU form its lists are empty. */
static tl_status add_json(tl_cli *cli, tl_buf *out) {
  search s = start(cli);
  tl_json_writer w = tl_json_to(out);
  tl_status status = look(&s);
  tl_put_object(&w);
  tl_member_u64(&w, "schema", 1);
  if (s.wanted.n)
    tl_member_sv(&w, "node", s.wanted);
  if (s.wanted.n)
    tl_member_bool(&w, "in_model", s.in_model);
  bool good = status != TL_OK || !s.wanted.n || put_nodes(&s, &w, "became", &s.became);
  good = good && (status != TL_OK || put_nodes(&s, &w, s.wanted.n ? "is" : "nodes", &s.is));
  if (status == TL_OK && s.wanted.n)
    status = tl_life_json(cli, &w);
  tl_json_finish(&w);
  if (!good)
    status = no_memory(&s);
  release(&s);
  return status;
}

tl_status tl_explain_origins(tl_cli *cli) {
  static const tl_option_id others[] = {TL_OPTION_EXPLAIN_FUSION, TL_OPTION_EXPLAIN_EXPAND,
                                        TL_OPTION_EXPLAIN_PRECISION, TL_OPTION_EXPLAIN_CASTS,
                                        TL_OPTION_EXPLAIN_TYPE};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_cli_has(cli, others[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, others[i]),
                     "and --origins ask for different things\vgive one of them");
  tl_buf out;
  tl_buf_init(&out);
  tl_status status = tl_cli_has(cli, TL_OPTION_AS_JSON) ? add_json(cli, &out)
                                                        : tl_origins_text(cli, &out);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return status;
}
