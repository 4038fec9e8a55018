/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an f32 node will become a 16-bit node (half.h). */
#include "passes/edit/half.h"

#include "ir/chip/op_info.h"
#include "ir/marks.h"
#include "ir/trace.h"
#include "passes/edit/glob.h"
#include "passes/edit/listed.h"

/* The question: one node, its row of the op table and the precision configuration. */
typedef struct asked {
  const tl_module *m;
  const tl_options *options;
  const tl_precision_config *c;
  const tl_op *row;
  tl_node_id node;
} asked;

/* Returns true if `fits` accepts an item of a trace list of the node (names or types that were
 * fused into it). Out of memory counts as a hit: the node then stays f32. */
static bool any_traced(const asked *a, tl_trace what, bool (*fits)(const asked *, tl_sv)) {
  tl_sv list = tl_node_get(a->m, a->node)->extra ? tl_trace_get(a->m, a->node, what) : TL_SV("");
  bool found = false;
  tl_buf room;
  tl_sv item;
  tl_buf_init(&room);
  if (list.n)
    for (tl_trace_items at = tl_trace_start(list); !found && tl_trace_next(&at, &room, &item);)
      found = fits(a, item);
  found = found || room.failed; /* on out of memory the node stays f32 */
  tl_buf_release(&room);
  return found;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns true if any list of the configuration names this node or scope. */
static bool names_node(const asked *a, tl_sv name) {
  const tl_precision_config *c = a->c;
  for (uint32_t i = 0; i < c->n_keep; i++)
    if (!c->keep[i].is_type && tl_sv_eq(c->keep[i].name, name))
      return true;
  for (uint32_t i = 0; i < c->n_custom; i++)
    if (!c->custom[i].is_type && tl_sv_eq(c->custom[i].name, name))
      return true;
  for (uint32_t i = 0; i < c->n_to_float; i++)
    if (tl_glob_fits(c->to_float[i].glob, name))
      return true;
  return false;
}

static bool is_named(const asked *a) {
  const tl_node *node = tl_node_get(a->m, a->node);
  return (node->name && names_node(a, tl_sym(a->m, node->name))) ||
         (node->scope && names_node(a, tl_sym(a->m, node->scope))) ||
         any_traced(a, TL_TRACE_NAMES, names_node);
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool names_type(const asked *a, tl_sv type) {
  const tl_precision_config *c = a->c;
  for (uint32_t i = 0; i < c->n_keep; i++)
    if (c->keep[i].is_type && tl_sv_eq(c->keep[i].name, type))
      return true;
  for (uint32_t i = 0; i < c->n_custom; i++)
    if (c->custom[i].is_type && tl_sv_eq(c->custom[i].name, type))
      return true;
  for (uint32_t i = 0; i < c->n_listed; i++)
    if (c->listed[i].is_type && !c->listed[i].include && tl_sv_eq(c->listed[i].text, type))
      return true;
  return false;
}

/* Returns true if a list names the op type, a type fused into the node, or any NPU type the op may
 * become: selection has not chosen among the candidates yet. */
static bool is_typed(const asked *a) {
  for (int i = 0; i < a->row->n_npu; i++)
    if (names_type(a, tl_sv_from(a->row->npu[i].judged)))
      return true;
  return names_type(a, tl_sv_from(a->row->name)) || any_traced(a, TL_TRACE_TYPES, names_type);
}

/* Returns true if a block or include list blocks the node. Out of memory counts as blocked. */
static bool is_blocked(const asked *a) {
  tl_arena arena;
  tl_precision_listed *lists = NULL;
  if (a->c->n_listed == 0)
    return false;
  tl_arena_init(&arena, 0);
  bool blocked = tl_precision_listed_create(a->c, &arena, &lists) != TL_OK;
  int32_t entry = blocked ? -1 : tl_precision_listed_find(lists, a->m, a->node, TL_SV(""));
  blocked = blocked || (entry >= 0 && !a->c->listed[entry].include) ||
            tl_precision_listed_ran_out(lists);
  tl_precision_listed_release(lists);
  tl_arena_release(&arena);
  return blocked;
}

/* ---- colours --------------------------------------------------------------------------------- */

/* Returns true if the colour of the NPU type of the first candidate is white, after the edits of
 * the mix lists. */
static bool is_white(const asked *a) {
  bool missed;
  tl_sv type = tl_sv_from(a->row->npu[0].judged);
  tl_op_info info = tl_op_info_find(tl_options_op_info(a->options), type);
  uint8_t edits = 0;
  for (uint32_t i = 0; i < a->c->n_mix; i++)
    if (tl_sv_eq(a->c->mix[i].type, type))
      edits |= a->c->mix[i].edits;
  if (!info.row)
    return false;
  tl_op_colour before = a->c->recoloured ? a->c->unlisted : (tl_op_colour)info.row->colour;
  return tl_mix_colour(edits, before, a->c->ge_colours, &missed) == TL_COLOUR_WHITE;
}

static bool mode_lowers(const asked *a) {
  switch (a->c->mode) {
  case TL_PRECISION_FORCE_FP16: return true;
  case TL_PRECISION_MIX_FP16:
  case TL_PRECISION_MIX_BF16: return is_white(a);
  default: return false; /* other modes keep f32 where a kernel has it */
  }
}

/* Returns true if a list of the user may name a node, its type or what it was made of. Without
 * lists, as in most runs, nothing has to be looked up. */
static bool has_lists(const tl_precision_config *c) {
  return c->n_keep || c->n_custom || c->n_to_float || c->n_listed;
}

static bool is_listed(const asked *a) {
  return has_lists(a->c) && (is_named(a) || is_typed(a) || is_blocked(a));
}

/* Range rules (ranges.on) and f32 constants that are kept decide per node later, so no promise is
 * possible with them. */
bool tl_precision_halves(const tl_module *m, const tl_options *options, tl_node_id n) {
  asked a = {m, options, options ? options->precision : NULL, tl_op_row(tl_node_get(m, n)->op), n};
  if (!a.c || !a.row || a.row->n_npu == 0 || a.c->ranges.on ||
      a.c->constants == TL_CONST_KEEP_FP32 || !mode_lowers(&a))
    return false;
  return !tl_node_has_mark(m, n, TL_MARK_KEEP_DTYPE) &&
         !tl_node_has_mark(m, n, TL_MARK_INHERIT_DTYPE) && !is_listed(&a);
}

bool tl_precision_half_at(const tl_module *m, const tl_options *options, tl_node_id n,
                          tl_value_id v) {
  tl_dtype d = tl_type_dtype(m, tl_value_type(m, v));
  return d == TL_DTYPE_F16 || d == TL_DTYPE_BF16 ||
         (d == TL_DTYPE_F32 && tl_precision_halves(m, options, n));
}

bool tl_precision_may_halve(const tl_module *m, const tl_options *options, tl_value_id v) {
  const tl_precision_config *c = options ? options->precision : NULL;
  tl_dtype d = tl_type_dtype(m, tl_value_type(m, v));
  if (d != TL_DTYPE_F32 || !c)
    return d == TL_DTYPE_F16 || d == TL_DTYPE_F32;
  bool kept = c->mode == TL_PRECISION_ORIGIN && c->mode_name;
  return !kept && c->mode != TL_PRECISION_ALLOW_BF16 && c->mode != TL_PRECISION_MIX_BF16;
}

bool tl_precision_stays_wide(const tl_module *m, const tl_options *options, tl_value_id v) {
  static const bool wide[TL_N_PRECISION_MODES] = {[TL_PRECISION_ORIGIN] = true,
                                                  [TL_PRECISION_FORCE_FP32] = true,
                                                  [TL_PRECISION_ALLOW_BF16] = true,
                                                  [TL_PRECISION_MIX_BF16] = true};
  const tl_precision_config *c = options ? options->precision : NULL;
  tl_dtype d = tl_type_dtype(m, tl_value_type(m, v));
  if (d == TL_DTYPE_BF16)
    return !c || c->mode != TL_PRECISION_FORCE_FP16;
  return d == TL_DTYPE_F32 && (!c || wide[c->mode]);
}
