/* SPDX-License-Identifier: Apache-2.0 */
/* What the lists of blocked and included nodes and op types say (docs/precision.md). */
#include "passes/edit/listed.h"

#include "ir/trace.h"
#include "support/pattern.h"

struct tl_precision_listed {
  const tl_precision_config *config;
  tl_arena *arena;
  tl_pattern *patterns; /* [n]; entries that are op types have none */
  uint32_t n_compiled;  /* entries up to here are compiled */
  const char **reasons; /* [n], arena; NULL until asked for */
  bool *used;
  tl_buf name;
  bool no_memory;
};

static const char *option_of(const tl_listed *e) {
  static const char *const names[2][2] = {{"--node-block-list", "--node-include-list"},
                                          {"--op-block-list", "--op-include-list"}};
  return names[e->is_type][e->include];
}

/* Expressions are compiled in order; n_compiled tells the release function how far it came. */
tl_status tl_precision_listed_create(const tl_precision_config *c, tl_arena *arena,
                                     tl_precision_listed **out) {
  const char *problem;
  tl_precision_listed *l = tl_arena_calloc(arena, 1, sizeof *l);
  *out = NULL;
  if (!l || c->n_listed == 0)
    return l ? TL_OK : TL_NO_MEMORY;
  *l = (tl_precision_listed){.config = c, .arena = arena};
  tl_buf_init(&l->name);
  l->patterns = tl_arena_calloc(arena, c->n_listed, sizeof *l->patterns);
  l->reasons = tl_arena_calloc(arena, c->n_listed, sizeof *l->reasons);
  l->used = tl_arena_calloc(arena, c->n_listed, sizeof *l->used);
  if (!l->patterns || !l->reasons || !l->used)
    return TL_NO_MEMORY;
  *out = l;
  for (; l->n_compiled < c->n_listed; l->n_compiled++) {
    const tl_listed *e = &c->listed[l->n_compiled];
    if (!e->is_type)
      TL_TRY(tl_pattern_compile(&l->patterns[l->n_compiled], e->text, &problem));
  }
  return TL_OK;
}

void tl_precision_listed_release(tl_precision_listed *l) {
  if (!l)
    return;
  for (uint32_t i = 0; i < l->n_compiled; i++)
    if (!l->config->listed[i].is_type)
      tl_pattern_release(&l->patterns[i]);
  tl_buf_release(&l->name);
}

/* Returns true if the expression matches the name. The name is copied because the C library's
 * matcher needs a terminated string. */
static bool fits(tl_precision_listed *l, const tl_pattern *p, tl_sv name) {
  tl_buf_clear(&l->name);
  tl_buf_add_sv(&l->name, name);
  l->no_memory = l->no_memory || l->name.failed;
  return name.n && !l->name.failed && tl_pattern_fits(p, l->name.p, name.n);
}

/* Returns true if the expression matches the name of the node or of a node fused into it. */
static bool fits_node(tl_precision_listed *l, const tl_module *m, tl_node_id n,
                      const tl_pattern *p) {
  const tl_node *node = tl_node_get(m, n);
  if (node->name && fits(l, p, tl_sym(m, node->name)))
    return true;
  tl_sv names = node->extra ? tl_trace_get(m, n, TL_TRACE_NAMES) : TL_SV("");
  bool found = false;
  tl_buf room;
  tl_sv name;
  tl_buf_init(&room);
  if (names.n)
    for (tl_trace_items at = tl_trace_start(names); !found && tl_trace_next(&at, &room, &name);)
      found = fits(l, p, name);
  tl_buf_release(&room);
  return found;
}

/* All entries are tried even after a hit, to know which were used. */
int32_t tl_precision_listed_find(tl_precision_listed *l, const tl_module *m, tl_node_id n,
                                 tl_sv judged) {
  int32_t found = -1;
  for (uint32_t i = 0; l && i < l->config->n_listed; i++) {
    const tl_listed *e = &l->config->listed[i];
    bool hit = e->is_type ? tl_sv_eq(e->text, judged) ||
                                tl_sv_eq(e->text, tl_op_name(m, tl_node_get(m, n)->op))
                          : fits_node(l, m, n, &l->patterns[i]);
    l->used[i] = l->used[i] || hit;
    if (hit && found < 0) /* including entries stand first in the list */
      found = (int32_t)i;
  }
  return found;
}

const char *tl_precision_listed_reason(tl_precision_listed *l, int32_t entry) {
  const tl_listed *e = &l->config->listed[entry];
  tl_buf text;
  if (l->reasons[entry])
    return l->reasons[entry];
  tl_buf_init(&text);
  tl_buf_printf(&text, "%s has '%.*s'", option_of(e), TL_SV_ARG(e->text));
  tl_sv s = tl_buf_view(&text);
  l->reasons[entry] = text.failed ? NULL : tl_arena_copy(l->arena, s.p, s.n);
  l->no_memory = l->no_memory || !l->reasons[entry];
  tl_buf_release(&text);
  return l->reasons[entry];
}

bool tl_precision_listed_ran_out(const tl_precision_listed *l) { return l && l->no_memory; }

bool tl_precision_listed_was_used(const tl_precision_listed *l, uint32_t entry,
                                  const char **option) {
  *option = option_of(&l->config->listed[entry]);
  return l->used[entry];
}
