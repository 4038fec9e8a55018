/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nodes that a mode lowers, what they cost if they are kept, and which of them the policy
 * of ranges keeps. Decisions are looked at right before the pass that applies them. */
#include "passes/precision/decide.h"
#include "passes/precision/precision.h"
#include "passes/train/time/cost.h"
#include "support/hash.h"
#include "tools/search/search.h"

enum { WIDE_BYTES = 4 };

/* A look at two decisions about one model. */
typedef struct look {
  tl_search *s;
  tl_module *m;
  const tl_precision *d;     /* of the mode */
  const tl_precision *range; /* of the mode with the policy */
  tl_map names;              /* places in the list of nodes by hash of name */
  bool seen;
  bool no_memory;
} look;

static tl_sv keep(look *k, tl_sv text) {
  const char *copy = tl_arena_copy(&k->s->arena, text.n ? text.p : "", text.n);
  k->no_memory = k->no_memory || !copy;
  return copy ? (tl_sv){copy, text.n} : TL_SV("");
}

/* ---- what is lowered ------------------------------------------------------------------------- */

static bool is_lowered_slot(const tl_precision_slot *s) {
  return s->original == TL_DTYPE_F32 && s->chosen != s->original && s->chosen != TL_DTYPE_NONE;
}

static bool is_lowered(const tl_precision *d, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++)
    if (is_lowered_slot(&d->uses[node->operands + i]))
      return true;
  for (uint32_t i = 0; i < node->n_results; i++)
    if (is_lowered_slot(&d->values[node->results + i]))
      return true;
  return false;
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* Returns the elements of a value: those that the reference had, else those of its type; 0:
 * unknown. */
static double elements_of(const look *k, tl_value_id v) {
  uint64_t n;
  uint32_t known;
  tl_sv name = tl_value_name(k->m, v);
  if (name.n && tl_map_find(&k->s->sizes, tl_hash_bytes(name.p, name.n, 0), &known))
    return known;
  return tl_type_elements(k->m, tl_value_type(k->m, v), &n) ? (double)n : 0;
}

static double bytes_of(const look *k, const tl_node *node) {
  double n = 0;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(k->m, node->operands + i)->value;
    if (v && k->d->uses[node->operands + i].original == TL_DTYPE_F32)
      n += elements_of(k, v);
  }
  for (uint32_t i = 0; i < node->n_results; i++)
    if (k->d->values[node->results + i].original == TL_DTYPE_F32)
      n += elements_of(k, node->results + i);
  return n * WIDE_BYTES;
}

/* ---- one node -------------------------------------------------------------------------------- */

static void add_slot(tl_buf *out, uint32_t i, uint8_t dtype) {
  tl_buf_add_z(out, i ? "," : "");
  tl_buf_add_z(out, dtype == TL_DTYPE_F32 ? "float" : "");
}

/* Writes the lists of --customize-dtypes that give a node the dtypes that it has in the model. */
static tl_sv custom_of(look *k, const tl_node *node) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(&text, "InputDtype:");
  for (uint32_t i = 0; i < node->n_operands; i++)
    add_slot(&text, i, k->d->uses[node->operands + i].original);
  tl_buf_add_z(&text, ",OutputDtype:");
  for (uint32_t i = 0; i < node->n_results; i++)
    add_slot(&text, i, k->d->values[node->results + i].original);
  tl_sv kept = keep(k, tl_buf_view(&text));
  k->no_memory = k->no_memory || text.failed;
  tl_buf_release(&text);
  return kept;
}

/* Returns the scope of a node; of a node without one, its name up to the last '/'. */
static tl_sv scope_of(const look *k, const tl_node *node, tl_sv name) {
  if (node->scope)
    return tl_sym(k->m, node->scope);
  while (name.n && name.p[name.n - 1] != '/')
    name.n--;
  return (tl_sv){name.p, name.n ? name.n - 1 : 0};
}

/* Notes whose results the values are. */
static void note_results(look *k, const tl_node *node, uint32_t place) {
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_sv name = tl_value_name(k->m, node->results + i);
    bool noted = tl_map_set(&k->s->results, tl_hash_bytes(name.p, name.n, 0), place);
    k->no_memory = k->no_memory || !noted;
  }
}

/* Adds a node to one that has its name: an entry of a file means both, so they stay one. */
static void join(look *k, tl_search_node *to, const tl_node *node, tl_node_id n) {
  to->bytes += bytes_of(k, node);
  to->macs += tl_cost_macs(k->m, n);
  to->by_range = to->by_range || !is_lowered(k->range, node);
}

static void add_node(look *k, tl_node_id n) {
  tl_sv name = tl_node_where(k->m, n).node;
  const tl_node *node = tl_node_get(k->m, n);
  const tl_precision_choice *c = &k->d->nodes[n];
  uint64_t key = tl_hash_bytes(name.p, name.n, 0);
  uint32_t place = k->s->nodes.n;
  if (tl_map_find(&k->names, key, &place)) {
    join(k, &k->s->nodes.at[place], node, n);
    note_results(k, node, place);
    return;
  }
  tl_search_node found = {.name = keep(k, name),
                          .op = keep(k, tl_op_name(k->m, node->op)),
                          .type = keep(k, c->form->type),
                          .scope = keep(k, scope_of(k, node, name)),
                          .custom = custom_of(k, node),
                          .by_range = !is_lowered(k->range, node),
                          .bytes = bytes_of(k, node),
                          .macs = tl_cost_macs(k->m, n)};
  bool added = tl_search_nodes_push(&k->s->nodes, found) && tl_map_set(&k->names, key, place);
  k->no_memory = k->no_memory || !added;
  note_results(k, node, place);
}

static void add_nodes(look *k) {
  for (uint32_t i = 0; i < k->m->graphs.n; i++) {
    const tl_graph *g = k->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(k->m, g, n)
      if (k->d->nodes[n].form && is_lowered(k->d, tl_node_get(k->m, n)))
        add_node(k, n);
  }
}

/* ---- the decisions --------------------------------------------------------------------------- */

/* Decides with a configuration. Messages are muted, because the pass that follows gives them. */
static tl_status decide(tl_module *m, const tl_search *s, const tl_precision_config *config,
                        tl_arena *arena, tl_precision *out) {
  tl_muted muted;
  tl_options options = s->cli->settings.options;
  options.precision = config;
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = tl_precision_decide(m, &options, arena, out);
  tl_unmute(&muted);
  return status;
}

static tl_status look_at(look *k, tl_module *m) {
  tl_arena arena;
  tl_precision d, range;
  tl_precision_config with = k->s->config;
  with.ranges.on = true;
  with.ranges.declined = false;
  tl_arena_init(&arena, 0);
  tl_status status = decide(m, k->s, &k->s->config, &arena, &d);
  if (status == TL_OK)
    status = decide(m, k->s, &with, &arena, &range);
  if (status == TL_OK) {
    k->m = m;
    k->d = &d;
    k->range = &range;
    add_nodes(k);
    k->d = k->range = NULL;
  }
  tl_arena_release(&arena);
  return status == TL_NO_MEMORY || k->no_memory ? TL_NO_MEMORY : TL_OK;
}

static tl_status on_pass(void *user, tl_module *m, const tl_pass_event *e) {
  look *k = user;
  if (k->seen || e->after || strcmp(e->row->name, "precision") != 0)
    return TL_OK;
  k->seen = true;
  return look_at(k, m);
}

tl_status tl_search_find_nodes(tl_search *s) {
  look k = {.s = s};
  tl_status status = tl_search_attempt(
      s, &(tl_attempt){.config = &s->config, .what = "lowered", .hook = on_pass, .user = &k}, NULL);
  tl_map_release(&k.names);
  if (status == TL_OK && k.no_memory)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  return status;
}
