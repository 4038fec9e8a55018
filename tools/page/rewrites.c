/* SPDX-License-Identifier: Apache-2.0 */
/* Single rewrites of a pass: which nodes each made, erased and changed, by the log of edits, and
 * what the pass said of it. Numbers are those of bisect and --stop-after. */
#include "support/json_writer.h"
#include "tools/page/record.h"

typedef tl_json_writer writer;

/* ---- what passes say ------------------------------------------------------------------------- */

void tl_view_set(tl_view_record *r, tl_u32_vec *list, uint32_t i, uint32_t value) {
  while (list->n <= i && !r->no_memory)
    r->no_memory = !tl_u32_vec_push(list, 0);
  if (!r->no_memory)
    list->at[i] = value;
}

void tl_view_note_name(tl_view_record *r, tl_node_id n, bool taken) {
  const tl_node *node = tl_node_get(r->m, n);
  tl_symbol name = node->name;
  for (uint32_t i = 0; i < node->n_results && !name; i++)
    name = tl_value_get(r->m, node->results + i)->name;
  tl_u32_vec *list = node->name ? &r->by_name : &r->by_result;
  uint32_t text = tl_view_symbol(r->strings, r->m, name);
  tl_node_id old = tl_view_get(list, text);
  if (text && (taken || !old || tl_node_get(r->m, old)->op == TL_OP_ERASED))
    tl_view_set(r, list, text, n);
}

static tl_node_id look_up(tl_view_record *r, tl_sv label) {
  const char *arrow = memmem(label.p, label.n, "->", 2);
  tl_symbol text = tl_symbol_find(&r->strings->table, label);
  tl_node_id found = text == TL_NO_SYMBOL ? 0 : tl_view_get(&r->by_name, text);
  if (found || !arrow)
    return found;
  tl_sv result = {arrow + 2, (size_t)(label.p + label.n - arrow) - 2};
  text = tl_symbol_find(&r->strings->table, result);
  return text == TL_NO_SYMBOL ? 0 : tl_view_get(&r->by_result, text);
}

/* Nodes of the state before the pass go first: a rewrite may give the name of one to another. */
tl_node_id tl_view_find_node(tl_view_record *r, tl_sv label) {
  tl_node_id found = label.n ? look_up(r, label) : 0;
  if (found || !label.n)
    return found;
  for (; r->named_to < tl_module_node_end(r->m); r->named_to++)
    if (tl_view_is_node(r->m, r->named_to))
      tl_view_note_name(r, r->named_to, false);
  return look_up(r, label);
}

/* Returns the place of a rule in the list of rules, which grows; -1 for none. */
static int64_t rule_place(tl_view_record *r, uint32_t rule) {
  uint32_t place;
  if (!rule)
    return -1;
  if (tl_map_find(&r->rules, rule, &place))
    return place;
  place = r->rule_list.n;
  if (!tl_u32_vec_push(&r->rule_list, rule) || !tl_map_set(&r->rules, rule, place))
    r->no_memory = true;
  return place;
}

/* Keeps what a fusion remark says, done or missed. */
static void keep_decision(tl_view_record *r, const tl_remark *remark) {
  const tl_fusion_remark *f = remark->fusion;
  tl_view_strings *s = r->strings;
  tl_view_decision d = {
      .pass = r->passes.n - 1,
      .fusion = tl_view_text(s, f->fusion),
      .rule = tl_view_text(s, f->rule),
      .code = tl_view_text(s, tl_sv_from(f->code)),
      .reason = tl_view_text(s, tl_sv_from(f->reason)),
      .made = tl_view_text(s, f->made),
      .node = tl_view_find_node(r, remark->node),
      .rewrite = f->code || !r->log.marks.n ? 0 : r->log.marks.at[r->log.marks.n - 1].number,
      .first = r->decision_nodes.n,
      .n_nodes = f->n_nodes,
      .wanted = f->wanted,
      .saved = f->saved,
      .scope = (uint32_t)f->scope,
      .n_made = f->n_made,
      .expand = f->expand};
  for (uint32_t i = 0; i < f->n_nodes; i++)
    if (!tl_u32_vec_push(&r->decision_nodes, tl_view_find_node(r, f->nodes[i])))
      r->no_memory = true;
  (void)rule_place(r, d.rule);
  if (!tl_view_decision_vec_push(&r->decisions, d))
    r->no_memory = true;
}

/* The first remark behind a rewrite is about it. */
static void keep_said(tl_view_record *r, const tl_remark *remark) {
  const tl_fusion_remark *f = remark->fusion;
  uint32_t mark = r->log.marks.n - 1;
  while (r->said.n && r->said.at[r->said.n - 1].mark > mark)
    r->said.n--;
  if (r->said.n && r->said.at[r->said.n - 1].mark == mark)
    return;
  tl_view_said said = {.mark = mark,
                       .rule = f ? tl_view_text(r->strings, f->rule) : 0,
                       .fusion = f ? tl_view_text(r->strings, f->fusion) : 0,
                       .why = tl_view_text(r->strings, tl_sv_from(remark->message)),
                       .node = tl_view_text(r->strings, remark->node)};
  if (!tl_view_said_vec_push(&r->said, said))
    r->no_memory = true;
}

/* Clean-up rules, what another pass repeats, and ops that need not be spelled out are noise. */
static bool is_noise(const tl_fusion_remark *f) {
  return f->expand ? f->code != NULL : f->cleanup || f->repeats;
}

/* Keeps a cast that moved or went. */
static void keep_motion(tl_view_record *r, const tl_remark *remark) {
  const uint32_t row[] = {tl_view_find_node(r, remark->node),
                          tl_view_text(r->strings, remark->node),
                          tl_view_text(r->strings, tl_sv_from(remark->message))};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    r->no_memory = r->no_memory || !tl_u32_vec_push(&r->motions, row[i]);
}

void tl_view_record_remark(void *user, const tl_remark *remark) {
  tl_view_record *r = user;
  if (!r->passes.n)
    return;
  if (remark->fusion && !is_noise(remark->fusion))
    keep_decision(r, remark);
  if (remark->applied && r->log.marks.n)
    keep_said(r, remark);
  if (remark->applied && strcmp(remark->pass, "cast-motion") == 0)
    keep_motion(r, remark);
}

/* ---- rewrites -------------------------------------------------------------------------------- */

/* Node ids and edits of one rewrite. */
typedef struct span {
  tl_node_id from, to;
  uint32_t first, last;
} span;

static span span_of(const tl_view_record *r, uint32_t i) {
  const tl_edit_mark *mark = &r->log.marks.at[i], *next = mark + 1;
  bool is_last = i + 1 == r->log.marks.n;
  return (span){mark->nodes, is_last ? tl_module_node_end(r->m) : next->nodes, mark->edits,
                is_last ? r->log.edits.n : next->edits};
}

/* Ids with gaps, and nodes that hold the outputs of bodies, are no nodes that were made. A node
 * that was made and erased within the pass was one; its operands are gone. */
static bool was_node(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  return node->graph && node->op != TL_OP_RETURN;
}

static void put_made(tl_view_record *r, writer *w, const span *s, uint32_t why) {
  tl_put_key(w, "added");
  tl_put_array(w);
  for (tl_node_id n = s->from; n < s->to; n++) {
    if (!was_node(r->m, n))
      continue;
    tl_put_u64(w, n);
    if (why)
      tl_view_set(r, &r->why, n, why);
  }
  tl_put_end(w);
}

static void put_erased(tl_view_record *r, writer *w, const span *s) {
  tl_put_key(w, "removed");
  tl_put_array(w);
  for (uint32_t i = s->first; i < s->last; i++)
    if (r->log.edits.at[i].was != TL_OP_ERASED && r->log.edits.at[i].was != TL_OP_RETURN)
      tl_put_u64(w, r->log.edits.at[i].node);
  tl_put_end(w);
}

/* Nodes that stayed; each once. r->seen says which were listed: states are numbered from 1, so the
 * numbers from the top down are free. */
static void put_changed(tl_view_record *r, writer *w, const span *s, uint32_t number) {
  tl_put_key(w, "changed");
  tl_put_array(w);
  for (uint32_t i = s->first; i < s->last; i++) {
    const tl_edit *e = &r->log.edits.at[i];
    bool old = e->node < s->from && e->node < r->seen.n;
    if (e->was != TL_OP_ERASED || !old || r->seen.at[e->node] == UINT32_MAX - number ||
        !was_node(r->m, e->node))
      continue;
    r->seen.at[e->node] = UINT32_MAX - number;
    tl_put_u64(w, e->node);
  }
  tl_put_end(w);
}

static void put_rewrite(tl_view_record *r, writer *w, uint32_t i, const tl_view_said *said) {
  span s = span_of(r, i);
  tl_json_line(w, 0);
  tl_put_object(w);
  tl_member_u64(w, "number", r->log.marks.at[i].number);
  tl_member_u64(w, "rule", said ? said->rule : 0);
  tl_put_key(w, "text");
  tl_put_i64(w, said ? rule_place(r, said->rule) : -1);
  put_erased(r, w, &s);
  put_made(r, w, &s, said ? said->why : 0);
  put_changed(r, w, &s, i);
  tl_member_u64(w, "why", said ? said->why : 0);
  tl_member_u64(w, "node", said ? said->node : 0);
  tl_put_end(w);
}

/* Nodes that were made and erased within the pass are in no state: what is left of them. */
static void put_passing(tl_view_record *r, writer *w) {
  tl_json_line(w, 0);
  tl_put_key(w, "passing");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->log.edits.n; i++) {
    const tl_edit *e = &r->log.edits.at[i];
    if (e->was == TL_OP_ERASED || e->was == TL_OP_RETURN || !r->log.marks.n ||
        e->node < r->first_new)
      continue;
    tl_put_array(w);
    tl_put_u64(w, e->node);
    tl_put_u64(w, tl_view_text(r->strings, tl_op_name(r->m, e->was)));
    tl_put_u64(w, tl_view_symbol(r->strings, r->m, tl_node_get(r->m, e->node)->name));
    tl_put_end(w);
  }
  tl_put_end(w);
}

void tl_view_put_rewrites(tl_view_record *r, tl_json_writer *w) {
  uint32_t k = 0;
  tl_json_line(w, 0);
  tl_put_key(w, "rewrites");
  tl_put_array(w);
  for (uint32_t i = 0; i < r->log.marks.n; i++) {
    bool has = k < r->said.n && r->said.at[k].mark == i;
    put_rewrite(r, w, i, has ? &r->said.at[k] : NULL);
    k += has;
  }
  tl_put_end(w);
  put_passing(r, w);
  for (uint32_t i = 0; i < r->log.edits.n; i++) /* marks of put_changed */
    if (r->log.edits.at[i].node < r->seen.n)
      r->seen.at[r->log.edits.at[i].node] = r->state;
}
