/* SPDX-License-Identifier: Apache-2.0 */
/* implementation-modes: marks nodes with the kernel variant that the user asked for.
 *
 * Requires:  NPU form: users name the ops that the device compiler sees.   Keeps: the graph.
 * After:     a node that op_precision_mode names, itself, by a node fused into it or by its type,
 *            has the attribute _op_impl_mode_enum. Entries that fit no node are warned about.
 * Cost:      one sweep, a binary search per node; nothing if no mode was asked for.
 * Tests:     tests/cli/test_run_config_effects.py */
#include <stdlib.h>

#include "ir/ops_gen.h"
#include "ir/options/impl_modes.h"
#include "ir/trace.h"
#include "passes/edit/passes.h"

/* Upper bound on names in one warning. */
enum { MOST_NAMES = 10 };

/* State of the pass: which entries have been used. */
typedef struct modes {
  tl_module *m;
  const tl_impl_config *c;
  bool *node_used; /* [n_nodes] */
  bool *type_used; /* [n_types] */
  tl_symbol attr;
} modes;

/* Compares a name with the name of an entry, for bsearch. */
static int by_name(const void *key, const void *entry) {
  return tl_sv_compare(*(const tl_sv *)key, ((const tl_impl_entry *)entry)->name);
}

/* Finds an entry by name (entries are sorted) and marks it as used. */
static const tl_impl_entry *find(const tl_impl_entry *entries, uint32_t n, tl_sv name, bool *used) {
  const tl_impl_entry *e = n ? bsearch(&name, entries, n, sizeof *entries, by_name) : NULL;
  if (e)
    used[e - entries] = true;
  return e;
}

/* Returns the entry of a node, or of the first node fused into it that has one; else NULL. */
static const tl_impl_entry *find_node(const modes *ctx, tl_node_id n) {
  const tl_node *node = tl_node_get(ctx->m, n);
  tl_sv own = node->name ? tl_sym(ctx->m, node->name) : TL_SV("");
  const tl_impl_entry *e = find(ctx->c->nodes, ctx->c->n_nodes, own, ctx->node_used);
  tl_sv names = ctx->c->n_nodes && !e ? tl_trace_get(ctx->m, n, TL_TRACE_NAMES) : TL_SV("");
  if (names.n == 0)
    return e;
  tl_buf room;
  tl_sv name;
  tl_buf_init(&room);
  for (tl_trace_items at = tl_trace_start(names); !e && tl_trace_next(&at, &room, &name);)
    e = find(ctx->c->nodes, ctx->c->n_nodes, name, ctx->node_used);
  tl_buf_release(&room);
  return e;
}

/* Returns true for NPU types that are matrix ops. */
static bool is_cube(tl_sv type) {
  static const char *const types[] = {
#define CUBE(type) type,
#include "passes/precision/ops.tbl"
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (tl_sv_is(type, types[i]))
      return true;
  return false;
}

/* Returns the number of the mode that --allow-hf32 sets for matrix ops with f32 operands; else
 * 0. */
static int64_t hf32_number(const modes *ctx, tl_node_id n, tl_sv type) {
  if (ctx->c->hf32 == TL_HF32_UNSAID || !is_cube(type) ||
      tl_type_dtype(ctx->m, tl_value_type(ctx->m, tl_operand(ctx->m, n, 0))) != TL_DTYPE_F32)
    return 0;
  const char *mode = ctx->c->hf32 == TL_HF32_ON ? "enable_hi_float_32_execution"
                                                : "enable_float_32_execution";
  return tl_impl_mode_find(tl_sv_from(mode))->number;
}

/* Returns the mode of a node, 0 for none. Precedence: an entry for the node, --allow-hf32, an entry
 * for its type. The type is looked up first, so that its entry counts as used. */
static int64_t number_of(const modes *ctx, tl_node_id n) {
  tl_sv type = tl_op_name(ctx->m, tl_node_get(ctx->m, n)->op);
  const tl_impl_entry *by_type = find(ctx->c->types, ctx->c->n_types, type, ctx->type_used);
  const tl_impl_entry *by_node = find_node(ctx, n);
  if (by_node)
    return by_node->mode->number;
  int64_t hf32 = hf32_number(ctx, n, type);
  return hf32 ? hf32 : by_type ? by_type->mode->number : 0;
}

/* Warns about entries that fit no node. */
static void warn_unused(const modes *ctx, const tl_impl_entry *entries, uint32_t n,
                        const bool *used, const char *what) {
  tl_buf names;
  uint32_t missed = 0;
  tl_buf_init(&names);
  for (uint32_t i = 0; i < n; i++)
    if (!used[i] && missed++ < MOST_NAMES)
      tl_buf_printf(&names, "%s'%.*s'", missed > 1 ? ", " : "", TL_SV_ARG(entries[i].name));
  if (missed && !names.failed)
    tl_warn(ctx->m->diag, TL_AT_FILE(ctx->c->path ? ctx->c->path : "--optypelist-for-implmode"),
            "%u %s for implementation modes matched no %s: %s%s", missed,
            missed == 1 ? "entry" : "entries", what, names.p, missed > MOST_NAMES ? " ..." : "");
  tl_buf_release(&names);
}

/* Sets the attribute of each node that has a mode. */
static tl_status mark_graph(tl_pass *p, const modes *ctx, const tl_graph *g) {
  TL_FOR_NODES(ctx->m, g, n) {
    int64_t number = number_of(ctx, n);
    if (number == 0 || !tl_pass_may_rewrite(p))
      continue;
    TL_TRY(tl_node_set_attr(ctx->m, n, tl_attr_int(ctx->attr, number)));
  }
  return TL_OK;
}

tl_status tl_pass_implementation_modes(tl_pass *p, tl_module *m) {
  modes ctx = {.m = m, .c = p->options->impl_modes};
  if (!ctx.c || tl_impl_config_says_nothing(ctx.c))
    return TL_OK;
  ctx.node_used = tl_arena_calloc(p->scratch, ctx.c->n_nodes + 1U, sizeof *ctx.node_used);
  ctx.type_used = tl_arena_calloc(p->scratch, ctx.c->n_types + 1U, sizeof *ctx.type_used);
  ctx.attr = tl_module_intern(m, TL_SV(TL_IMPL_MODE_ATTR));
  if (!ctx.node_used || !ctx.type_used || ctx.attr == TL_NO_SYMBOL)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_TRY(mark_graph(p, &ctx, m->graphs.at[i]));
  warn_unused(&ctx, ctx.c->nodes, ctx.c->n_nodes, ctx.node_used, "node");
  warn_unused(&ctx, ctx.c->types, ctx.c->n_types, ctx.type_used, "op type");
  return TL_OK;
}
