/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the black list that the policy of ranges comes to (tailor explain --suggest-mixlist). */
#include "tools/explain/suggest_mixlist.h"

#include <stdlib.h>

#include "support/json_writer.h"
#include "tools/explain/decision.h"
#include "tools/run/value_files.h"

/* An op type that the policy kept wide. */
typedef struct finding {
  tl_sv type;  /* judged type; strings in the arena */
  tl_sv first; /* a node of it, and what the policy says of it */
  const char *why;
  uint32_t n_nodes;
} finding;

TL_VEC(finding_vec, finding);

/* State of one suggestion. */
typedef struct suggestion {
  tl_cli *cli;
  tl_arena arena;
  finding_vec found;
  bool no_memory;
} suggestion;

/* ---- what the policy kept wide --------------------------------------------------------------- */

/* Returns true if a rule of the policy decided the slot. */
static bool is_held(const tl_precision_slot *s) {
  return s->rule == TL_BY_POLICY || s->rule == TL_BY_EPSILON || s->rule == TL_BY_ANGLE;
}

/* Returns true if the policy decided any slot of the node. */
static bool by_policy(const tl_precision *d, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (is_held(&d->uses[node->operands + i]))
      return true;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (is_held(&d->values[node->results + i]))
      return true;
  return false;
}

static tl_sv keep(suggestion *s, tl_sv text) {
  const char *copy = tl_arena_copy(&s->arena, text.n ? text.p : "", text.n);
  s->no_memory = s->no_memory || !copy;
  return copy ? (tl_sv){copy, text.n} : TL_SV("");
}

/* Counts a node under its judged type; the first one gives name and reason. */
static void add(suggestion *s, tl_module *m, tl_node_id n, const tl_precision_choice *c) {
  for (uint32_t i = 0; i < s->found.n; i++)
    if (tl_sv_eq(s->found.at[i].type, c->form->type)) {
      s->found.at[i].n_nodes++;
      return;
    }
  finding f = {.type = keep(s, c->form->type),
               .first = keep(s, tl_node_where(m, n).node),
               .why = keep(s, tl_sv_from(c->why)).p,
               .n_nodes = 1};
  s->no_memory = !finding_vec_push(&s->found, f) || s->no_memory;
}

/* Collects the nodes that the policy kept wide, by their judged type. */
static void look(void *user, tl_module *m, const tl_precision *d) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n) {
      const tl_precision_choice *c = &d->nodes[n];
      if (c->why && c->form && c->form->type.n && by_policy(d, tl_node_get(m, n)))
        add(user, m, n, c);
    }
  }
}

static int by_type(const void *a, const void *b) {
  return tl_sv_compare(((const finding *)a)->type, ((const finding *)b)->type);
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Types that become black, and the configuration that they are added to. */
typedef struct black {
  const tl_precision_config *config;
  const tl_sv *types;
  uint32_t n;
} black;

static bool is_black(const black *b, tl_sv type) {
  for (uint32_t i = 0; i < b->n; i++)
    if (tl_sv_eq(b->types[i], type))
      return true;
  return false;
}

/* Returns what an entry of the user's file becomes; 0: nothing. A type that becomes black stays off
 * the list that the user took it off, unless that was the black list. */
static uint8_t edits_now(const black *b, const tl_mix_edit *e) {
  const uint8_t taken_off = TL_MIX_REMOVE_WHITE | TL_MIX_REMOVE_GRAY;
  if (!is_black(b, e->type))
    return e->edits;
  return e->edits & TL_MIX_REMOVE_BLACK ? 0 : (uint8_t)((e->edits & taken_off) | TL_MIX_ADD_BLACK);
}

/* Returns true if the user's file has an entry for the type. */
static bool is_edited(const tl_precision_config *c, tl_sv type) {
  for (uint32_t i = 0; i < c->n_mix; i++)
    if (c->mix[i].line && tl_sv_eq(c->mix[i].type, type))
      return true;
  return false;
}

static void add_type(tl_json_writer *w, const char *key, tl_sv type, uint32_t *n) {
  if ((*n)++ == 0) {
    tl_put_key(w, key);
    tl_put_array(w);
  }
  tl_put_sv(w, type);
}

/* Adds one of the six arrays as "key": [...], or nothing if it is empty. */
static void add_array(const black *b, tl_json_writer *w, const char *key, uint8_t edit) {
  const tl_precision_config *c = b->config;
  uint32_t n = 0;
  for (uint32_t i = 0; i < c->n_mix; i++) /* line 0: an entry of --amp-level, not of the file */
    if (c->mix[i].line && (edits_now(b, &c->mix[i]) & edit))
      add_type(w, key, c->mix[i].type, &n);
  for (uint32_t i = 0; edit == TL_MIX_ADD_BLACK && i < b->n; i++)
    if (!is_edited(c, b->types[i]))
      add_type(w, key, b->types[i], &n);
  if (n)
    tl_put_end(w);
}

/* Lists without entries are left out. */
void tl_mixlist_with_black(const tl_precision_config *c, const tl_sv *types, uint32_t n,
                           tl_buf *out) {
  static const struct {
    const char *name;
    uint8_t add;
    uint8_t remove;
  } lists[] = {{"black-list", TL_MIX_ADD_BLACK, TL_MIX_REMOVE_BLACK},
               {"white-list", TL_MIX_ADD_WHITE, TL_MIX_REMOVE_WHITE},
               {"gray-list", TL_MIX_ADD_GRAY, TL_MIX_REMOVE_GRAY}};
  const black b = {c, types, n};
  tl_json_writer w = tl_json_to(out);
  bool any = false;
  tl_put_object(&w);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tl_buf list;
    tl_buf_init(&list);
    tl_json_writer inner = tl_json_to(&list);
    tl_put_object(&inner);
    add_array(&b, &inner, "to-add", lists[i].add);
    add_array(&b, &inner, "to-remove", lists[i].remove);
    tl_put_end(&inner);
    if (!tl_sv_is(tl_buf_view(&list), "{}")) {
      tl_json_line(&w, 2);
      tl_put_key(&w, lists[i].name);
      tl_put_made(&w, tl_buf_view(&list));
      any = true;
    }
    out->failed = out->failed || list.failed;
    tl_buf_release(&list);
  }
  if (any)
    tl_json_line(&w, 0);
  tl_json_finish(&w);
}

/* Adds the whole mix list of a suggestion. */
static void add_json(suggestion *s, tl_buf *out) {
  tl_sv *types = tl_arena_calloc(&s->arena, s->found.n + 1U, sizeof *types);
  for (uint32_t i = 0; types && i < s->found.n; i++)
    types[i] = s->found.at[i].type;
  if (types)
    tl_mixlist_with_black(&s->cli->settings.precision, types, s->found.n, out);
  out->failed = out->failed || !types;
}

static void add_text(const suggestion *s, tl_buf *out) {
  for (uint32_t i = 0; i < s->found.n; i++) {
    const finding *f = &s->found.at[i];
    tl_buf_printf(out, "%.*s: %u %s, `%.*s` the first: %s\n", TL_SV_ARG(f->type), f->n_nodes,
                  f->n_nodes == 1 ? "node" : "nodes", TL_SV_ARG(f->first), f->why);
  }
  if (s->found.n == 0)
    tl_buf_add_z(
        out, "nothing is known of the model by which an op would overflow or lose an epsilon\n");
}

/* ---- command --------------------------------------------------------------------------------- */

static tl_status write_file(tl_cli *cli, const char *path, tl_buf *text) {
  tl_value_files files;
  tl_value_files_init(&files, cli);
  tl_status status = tl_value_files_text(&files, path, text);
  tl_value_files_release(&files);
  return status;
}

/* Writes or prints the list. With a file, standard output explains the entries. */
static tl_status output(suggestion *s) {
  tl_cli *cli = s->cli;
  const char *path = tl_cli_get(cli, TL_OPTION_SUGGEST_MIXLIST);
  tl_buf json;
  tl_buf text;
  tl_buf_init(&json);
  tl_buf_init(&text);
  add_json(s, &json);
  if (strcmp(path, "-") == 0)
    return tl_cli_print(cli, &json);
  add_text(s, &text);
  tl_status status = write_file(cli, path, &json);
  tl_buf_release(&json);
  if (status == TL_OK)
    return tl_cli_print(cli, &text);
  tl_buf_release(&text);
  return status;
}

tl_status tl_suggest_prepare(tl_cli *cli) {
  static const tl_option_id others[] = {TL_OPTION_EXPLAIN_NODE,   TL_OPTION_EXPLAIN_TYPE,
                                        TL_OPTION_EXPLAIN_CASTS,  TL_OPTION_EXPLAIN_FUSION,
                                        TL_OPTION_EXPLAIN_EXPAND, TL_OPTION_EXPLAIN_PRECISION,
                                        TL_OPTION_AS_JSON};
  static const tl_option_id modes[] = {TL_OPTION_PRECISION_MODE, TL_OPTION_PRECISION_MODE_V2,
                                       TL_OPTION_AMP_LEVEL, TL_OPTION_ATC_COMPAT};
  tl_location where = tl_at_option(&cli->settings, TL_OPTION_SUGGEST_MIXLIST);
  bool mode = false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_cli_has(cli, others[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where,
                     "writes a list, --%s something else\vgive one of them",
                     tl_option_row_get(others[i])->name);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    mode = mode || tl_cli_has(cli, modes[i]);
  if (!mode)
    TL_TRY(
        tl_settings_set(&cli->settings, &cli->diag, TL_OPTION_PRECISION_MODE_V2, "mixed_float16"));
  if (strcmp(tl_cli_get(cli, TL_OPTION_PRECISION_POLICY), "range") == 0)
    return TL_OK;
  if (tl_cli_has(cli, TL_OPTION_PRECISION_POLICY))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where,
                   "uses the policy of ranges, which --precision-policy=none switches off");
  return tl_settings_set(&cli->settings, &cli->diag, TL_OPTION_PRECISION_POLICY, "range");
}

tl_status tl_suggest_mixlist(tl_cli *cli) {
  suggestion s = {.cli = cli};
  const tl_precision_config *c = &cli->settings.precision;
  if (!tl_precision_mode_get(c->mode)->mixed)
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10001",
                        tl_at_option(&cli->settings, TL_OPTION_SUGGEST_MIXLIST),
                        "lists have an effect in mixed modes only, not in %s\v"
                        "give --precision-mode-v2=mixed_float16, or none",
                        c->mode_name);
  tl_arena_init(&s.arena, 0);
  tl_status status = tl_decision_show(cli, look, NULL, &s);
  if (status == TL_OK && s.no_memory)
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (s.found.n)
    qsort(s.found.at, s.found.n, sizeof *s.found.at, by_type);
  if (status == TL_OK)
    status = output(&s);
  finding_vec_release(&s.found);
  tl_arena_release(&s.arena);
  return status;
}
