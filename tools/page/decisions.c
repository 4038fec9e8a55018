/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what rules did and nearly did, and what they say in their files. */
#include "support/json_writer.h"
#include "tools/cli/rules.h"
#include "tools/page/facts.h"

typedef tl_json_writer writer;

/* ---- rules ----------------------------------------------------------------------------------- */

/* Returns the first rule of a name; NULL for what is no rule: passes call their own steps so. */
static const tl_rule *rule_named(const tl_known_rules *known, tl_sv name) {
  for (uint32_t i = 0; known && i < known->set.rules.n; i++)
    if (tl_sv_eq(tl_sym(known->m, known->set.rules.at[i]->name), name))
      return known->set.rules.at[i];
  return NULL;
}

/* Returns the built-in text that begins "rule NAME "; NULL without one. To parse all rules for a
 * few texts would take longer than the passes over a small model. */
static const tl_rule_text *text_named(tl_sv name) {
  static const char word[] = "rule ";
  for (uint32_t i = 0; i < tl_n_rule_texts; i++) {
    const tl_rule_text *t = &tl_rule_texts[i];
    const char *at = tl_rule_characters + t->at;
    size_t n = sizeof word - 1;
    if (t->n > n + name.n && memcmp(at, word, n) == 0 && memcmp(at + n, name.p, name.n) == 0 &&
        at[n + name.n] == ' ')
      return t;
  }
  return NULL;
}

/* Adds the sentence about a rule, which stands in its first line. */
static void put_about(writer *w, tl_sv text) {
  tl_lexer at = tl_lex_start_rules(text);
  tl_buf about;
  tl_buf_init(&about);
  for (tl_token t = tl_lex_next(&at); t.kind != TL_TOKEN_END && !tl_token_is(&t, "{");
       t = tl_lex_next(&at)) {
    if (!tl_token_is(&t, "about"))
      continue;
    t = tl_lex_next(&at);
    tl_lex_unquote(t.text, &about);
    break;
  }
  tl_member_sv(w, "about", tl_buf_view(&about));
  w->out->failed = w->out->failed || about.failed;
  tl_buf_release(&about);
}

static void put_rule(tl_view_model *v, writer *w, tl_sv name) {
  const tl_rule *own = rule_named(v->cli->rules, name); /* of a file of the user */
  const tl_rule_text *text = own ? own->text : text_named(name);
  tl_json_line(w, 0);
  tl_put_object(w);
  tl_member_sv(w, "name", name);
  if (text) {
    tl_sv bytes = {tl_rule_characters + text->at, text->n};
    tl_member_z(w, "file", tl_rule_paths[text->path]);
    tl_member_u64(w, "line", text->line);
    put_about(w, bytes);
    tl_member_sv(w, "text", bytes);
  } else if (own) {
    tl_member_z(w, "file", own->file);
    tl_member_u64(w, "line", own->line);
    tl_member_sv(w, "about", own->about);
  }
  tl_put_end(w);
}

void tl_view_rules(tl_view_model *v) {
  tl_buf json;
  tl_buf_init(&json);
  writer w = tl_json_compact(&json);
  tl_put_array(&w);
  for (uint32_t i = 0; i < v->record.rule_list.n; i++)
    put_rule(v, &w, tl_symbol_sv(&v->strings.table, v->record.rule_list.at[i]));
  tl_put_end(&w);
  tl_chunks_add(v->chunks, "rules", &json);
  tl_buf_release(&json);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static void put_decision(const tl_view_record *r, writer *w, const tl_view_decision *d) {
  uint32_t place;
  tl_json_line(w, 0);
  tl_put_object(w);
  tl_member_u64(w, "pass", d->pass);
  tl_member_u64(w, "rule", d->rule);
  tl_member_u64(w, "fusion", d->fusion);
  tl_put_key(w, "text");
  tl_put_i64(w, tl_map_find(&r->rules, d->rule, &place) ? (int64_t)place : -1);
  tl_member_bool(w, "effect", !d->code);
  if (d->expand)
    tl_member_u64(w, "expanded", d->n_made);
  tl_member_u64(w, "node", d->node);
  tl_put_key(w, "nodes");
  tl_put_array(w);
  for (uint32_t i = 0; i < d->n_nodes; i++)
    tl_put_u64(w, r->decision_nodes.at[d->first + i]);
  tl_put_end(w);
  tl_member_u64(w, "pattern_nodes", d->wanted);
  if (d->code) {
    tl_member_u64(w, "code", d->code);
    tl_member_u64(w, "reason", d->reason);
  } else {
    tl_member_u64(w, "rewrite", d->rewrite);
    tl_member_u64(w, "made", d->made);
  }
  if (d->scope) {
    tl_member_u64(w, "kernel", d->scope);
    tl_member_u64(w, "saved_bytes", d->saved);
  }
  tl_put_end(w);
}

/* Lays the near misses over the graph, each at the node where its pattern begins. */
static void add_near_misses(tl_view_model *v) {
  tl_view_overlay o;
  tl_buf note;
  tl_buf_init(&note);
  tl_view_overlay_begin(&o);
  for (uint32_t i = 0; i < v->record.decisions.n; i++) {
    const tl_view_decision *d = &v->record.decisions.at[i];
    if (!d->code || !d->node)
      continue;
    tl_buf_clear(&note);
    tl_buf_add_sv(&note, tl_symbol_sv(&v->strings.table, d->code));
    tl_buf_add_z(&note, ": ");
    tl_buf_add_sv(&note, tl_symbol_sv(&v->strings.table, d->reason));
    tl_view_overlay_text(v, &o, d->node, d->rule, tl_view_text(&v->strings, tl_buf_view(&note)));
  }
  tl_buf_release(&note);
  tl_view_overlay_end(v, &o,
                      &(tl_view_title){"near-miss", "Near misses of fusions", "", "category"});
}

void tl_view_decisions(tl_view_model *v) {
  tl_buf json;
  tl_buf_init(&json);
  writer w = tl_json_compact(&json);
  tl_put_array(&w);
  for (uint32_t i = 0; i < v->record.decisions.n; i++)
    put_decision(&v->record, &w, &v->record.decisions.at[i]);
  tl_put_end(&w);
  tl_chunks_add(v->chunks, "decisions", &json);
  tl_buf_release(&json);
  add_near_misses(v);
}
