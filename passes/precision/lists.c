/* SPDX-License-Identifier: Apache-2.0 */
/* Applies options and lists about single nodes and about the signature of the model. */
#include "ir/marks.h"
#include "ir/trace.h"
#include "passes/edit/glob.h"
#include "passes/edit/values.h"
#include "passes/precision/ranges.h"
#include "passes/precision/walk.h"

/* ---- start ----------------------------------------------------------------------------------- */

/* Returns the dtype of a tensor; NONE for other values. */
static tl_dtype dtype_of(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return t->kind == TL_KIND_TENSOR ? (tl_dtype)t->dtype : TL_DTYPE_NONE;
}

/* Enters a name in the map unless it is there: the first entry of a name counts. */
static bool enter_name(tl_precision_walk *w, tl_map *map, tl_sv name, uint32_t entry) {
  tl_symbol s = tl_symbol_find(&w->m->symbols, name);
  if (s == TL_NO_SYMBOL || s == 0 || tl_map_find(map, s, NULL))
    return true; /* no node has this name */
  return tl_map_set(map, s, entry);
}

/* Enters TYPE->RESULT, as messages and reports call a node without a name, under its result. */
static bool enter_nameless(tl_precision_walk *w, tl_map *map, tl_sv name, uint32_t entry) {
  for (size_t i = 1; i + 2 < name.n; i++) {
    if (name.p[i] != '-' || name.p[i + 1] != '>')
      continue;
    tl_symbol s = tl_symbol_find(&w->m->symbols, (tl_sv){name.p + i + 2, name.n - i - 2});
    if (s != TL_NO_SYMBOL && s != 0 && !tl_map_find(map, tl_map_pair(1, s), NULL) &&
        !tl_map_set(map, tl_map_pair(1, s), entry))
      return false;
  }
  return true;
}

/* Enters node names of the files into maps, so that a node is found without a search. */
static bool enter_names(tl_precision_walk *w) {
  const tl_precision_config *c = w->d->config;
  bool ok = true;
  for (uint32_t i = 0; ok && i < c->n_keep; i++)
    if (!c->keep[i].is_type)
      ok = enter_name(w, &w->named_keep, c->keep[i].name, i) &&
           enter_nameless(w, &w->named_keep, c->keep[i].name, i);
  for (uint32_t i = 0; ok && i < c->n_custom; i++)
    if (!c->custom[i].is_type)
      ok = enter_name(w, &w->named_custom, c->custom[i].name, i) &&
           enter_nameless(w, &w->named_custom, c->custom[i].name, i);
  return ok;
}

/* Reports a name in --input-fp16-nodes that is no float input of the model. */
static void bad_input(tl_precision_walk *w, tl_sv name) {
  tl_location where = {.file = w->m->path, .attr = TL_SV("--input-fp16-nodes")};
  tl_symbol s = tl_symbol_find(&w->m->symbols, name);
  bool known = s != TL_NO_SYMBOL && tl_graph_find_value(w->m, tl_module_main(w->m), name);
  w->n_errors++;
  (void)tl_fail_code(w->m->diag, TL_INVALID_ARGUMENT, known ? "E10017" : "E10016", where,
                     known ? "'%.*s' is not a float input of the model"
                           : "the model has no input '%.*s'",
                     TL_SV_ARG(name));
}

/* Returns true if --keep-io-types names this input or output; marks the entry as used. */
static bool stays(tl_precision_walk *w, tl_value_id v) {
  const tl_precision_config *c = w->d->config;
  bool found = false;
  for (uint32_t i = 0; i < c->n_kept_signature; i++)
    if (tl_sv_eq(tl_value_name(w->m, v), c->kept_signature[i]))
      found = w->used_kept_signature[i] = true;
  return found;
}

/* Returns true if v is the next value of a training state; states keep their dtypes. */
static bool is_state_output(const tl_module *m, tl_value_id v) {
  for (uint32_t i = 0; i < m->states.n; i++)
    if (m->states.at[i].output == v)
      return true;
  return false;
}

/* Lowers the f32 inputs of the model if --keep-io-types does not keep them; states stay. */
static void lower_inputs(tl_precision_walk *w) {
  const tl_precision_config *c = w->d->config;
  tl_dtype low = tl_precision_mode_get(c->mode)->low;
  for (uint32_t g = 0; c->lower_signature && g < w->m->graphs.n; g++) {
    const tl_graph *graph = w->m->graphs.at[g];
    for (uint32_t i = 0; i < graph->inputs.n && graph->kind == TL_GRAPH_ROOT; i++) {
      tl_value_id v = graph->inputs.at[i];
      tl_precision_slot *s = &w->d->values[v];
      if (stays(w, v) || s->original != TL_DTYPE_F32 || w->variables[v])
        continue;
      s->chosen = (uint8_t)low;
      s->rule = TL_BY_IO_TYPES;
    }
  }
}

/* Sets the dtypes of the model's inputs: as in the model, unless options change them. */
static void start_signature(tl_precision_walk *w) {
  const tl_precision_config *c = w->d->config;
  const tl_graph *g = tl_module_main(w->m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    w->d->values[g->inputs.at[i]].rule = TL_BY_SIGNATURE;
  lower_inputs(w);
  for (uint32_t k = 0; k < c->n_fp16_inputs; k++) {
    tl_precision_slot *found = NULL;
    for (uint32_t i = 0; i < g->inputs.n; i++)
      if (tl_sv_eq(tl_value_name(w->m, g->inputs.at[i]), c->fp16_inputs[k]))
        found = &w->d->values[g->inputs.at[i]];
    if (!found || !tl_dtype_is_ranked((tl_dtype)found->original)) {
      bad_input(w, c->fp16_inputs[k]);
      continue;
    }
    found->chosen = TL_DTYPE_F16;
    found->rule = TL_BY_INPUT_FP16;
  }
}

/* Analyses ranges if the policy is on; in mixed modes always, for angles and for the warning. */
static tl_status find_ranges(tl_precision_walk *w) {
  const tl_precision_config *c = w->d->config;
  const tl_precision_mode_info *mode = tl_precision_mode_get(c->mode);
  bool halves = mode->low == TL_DTYPE_F16 || mode->low == TL_DTYPE_BF16;
  if (!c->ranges.on && !(mode->mixed && halves))
    return TL_OK;
  tl_range_findings found;
  TL_TRY(tl_precision_ranges_find(w->m, c, w->arena, &found));
  w->why = found.why;
  w->wants = found.wants;
  w->d->ranges = c->ranges.on ? found.values : NULL;
  return TL_OK;
}

tl_status tl_precision_start(tl_precision_walk *w, tl_arena *arena) {
  tl_module *m = w->m;
  tl_precision *d = w->d;
  *d = (tl_precision){.config = w->options->precision,
                      .n_nodes = tl_module_node_end(m),
                      .n_uses = m->uses.next,
                      .n_values = tl_module_value_end(m)};
  w->arena = arena;
  d->nodes = tl_arena_calloc(arena, d->n_nodes, sizeof *d->nodes);
  d->uses = tl_arena_calloc(arena, d->n_uses, sizeof *d->uses);
  d->values = tl_arena_calloc(arena, d->n_values, sizeof *d->values);
  bool *variables = tl_arena_calloc(arena, d->n_values, sizeof *variables);
  w->used_keep = tl_arena_calloc(arena, d->config->n_keep + 1U, 1);
  w->used_custom = tl_arena_calloc(arena, d->config->n_custom + 1U, 1);
  w->used_to_float = tl_arena_calloc(arena, d->config->n_to_float + 1U, 1);
  w->used_kept_signature = tl_arena_calloc(arena, d->config->n_kept_signature + 1U, 1);
  if (tl_precision_find_updates(w) != TL_OK)
    return tl_no_memory(w->m);
  if (tl_precision_listed_create(d->config, arena, &w->lists) != TL_OK)
    return tl_no_memory(w->m);
  TL_TRY(find_ranges(w));
  w->forms = tl_precision_forms_create(m, w->options, arena);
  if (!d->nodes || !d->uses || !d->values || !variables || !w->used_keep || !w->used_custom ||
      !w->used_to_float || !w->used_kept_signature || !w->forms || !enter_names(w))
    return tl_no_memory(w->m);
  for (tl_value_id v = 1; v < d->n_values; v++)
    d->values[v].original = d->values[v].chosen = (uint8_t)dtype_of(m, v);
  for (uint32_t i = 0; i < m->states.n; i++)
    variables[m->states.at[i].input] = true;
  w->variables = variables;
  start_signature(w);
  return TL_OK;
}

/* One entry more than needed, so that an empty row has room too. */
tl_status tl_precision_reserve(tl_precision_walk *w) {
  uint32_t widest = tl_precision_forms_widest(w->forms);
  if (w->columns.at && widest <= w->widest)
    return TL_OK;
  w->columns.at = tl_arena_alloc(w->arena, (widest + 1) * sizeof *w->columns.at);
  w->widest = widest;
  return w->columns.at ? TL_OK : tl_no_memory(w->m);
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Returns true if TYPE->RESULT has a type of a node without a name: its op, the op that it was in
 * the model, or an NPU type that it may get. */
static bool has_type(const tl_module *m, tl_node_id n, tl_sv entry) {
  tl_buf own;
  tl_buf_init(&own);
  tl_trace_own(m, n, &own);
  bool has = tl_sv_eq(tl_buf_view(&own), entry);
  tl_buf_release(&own);
  size_t result = tl_value_name(m, tl_node_get(m, n)->results).n + sizeof "->" - 1;
  tl_sv type = {entry.p, entry.n - result};
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  has = has || tl_sv_eq(type, tl_op_name(m, tl_node_get(m, n)->op));
  for (uint32_t i = 0; row && i < row->n_npu && !has; i++)
    has = tl_sv_is(type, row->npu[i].npu_type);
  return has;
}

/* The entries for single nodes, of one kind. */
typedef struct named {
  const tl_map *map;
  tl_sv (*name)(const tl_precision_config *c, uint32_t entry);
} named;

static tl_sv keep_name(const tl_precision_config *c, uint32_t i) { return c->keep[i].name; }
static tl_sv custom_name(const tl_precision_config *c, uint32_t i) { return c->custom[i].name; }

/* Returns the entry for a node by its name or the name of a node fused into it; -1 if there is
 * none. */
static int32_t entry_of(const tl_precision_walk *w, named of, tl_node_id n) {
  const tl_map *map = of.map;
  uint32_t entry;
  const tl_node *node = tl_node_get(w->m, n);
  if (tl_map_count(map) == 0)
    return -1;
  if (node->name && tl_map_find(map, node->name, &entry))
    return (int32_t)entry;
  tl_symbol result = node->n_results ? tl_value_get(w->m, node->results)->name : 0;
  if (!node->name && result && tl_map_find(map, tl_map_pair(1, result), &entry) &&
      has_type(w->m, n, of.name(w->d->config, entry)))
    return (int32_t)entry;
  tl_sv names = node->extra ? tl_trace_get(w->m, n, TL_TRACE_NAMES) : TL_SV("");
  if (names.n == 0)
    return -1;
  int32_t found = -1;
  tl_buf room;
  tl_sv name;
  tl_buf_init(&room);
  for (tl_trace_items at = tl_trace_start(names); found < 0 && tl_trace_next(&at, &room, &name);) {
    tl_symbol s = tl_symbol_find(&w->m->symbols, name);
    if (s != TL_NO_SYMBOL && tl_map_find(map, s, &entry))
      found = (int32_t)entry;
  }
  tl_buf_release(&room);
  return found;
}

/* Applies --to-float: the node gets the colour and the mode of the requested dtype. The first glob
 * that fits wins. */
static void to_float(tl_precision_walk *w, tl_node_id n, tl_precision_choice *choice) {
  const tl_precision_config *c = w->d->config;
  const tl_node *node = tl_node_get(w->m, n);
  tl_sv name = node->name ? tl_sym(w->m, node->name) : TL_SV("");
  tl_sv scope = node->scope ? tl_sym(w->m, node->scope) : TL_SV("");
  for (uint32_t i = 0; i < c->n_to_float; i++) {
    if (!tl_glob_fits(c->to_float[i].glob, name) && !tl_glob_fits(c->to_float[i].glob, scope))
      continue;
    tl_dtype d = c->to_float[i].dtype;
    bool mixed = tl_precision_mode_get((tl_precision_mode)choice->mode)->mixed;
    w->used_to_float[i] = true;
    choice->entry = (int32_t)i;
    choice->colour = d == TL_DTYPE_F32 ? TL_COLOUR_BLACK : TL_COLOUR_WHITE;
    if (d == TL_DTYPE_BF16)
      choice->mode = TL_PRECISION_MIX_BF16;
    else if (d == TL_DTYPE_F16 || !mixed)
      choice->mode = TL_PRECISION_MIX_FP16;
    return;
  }
}

/* Returns true if a mark says that the dtypes of the node must not change. */
static bool keeps_dtype(const tl_module *m, tl_node_id n) {
  return tl_node_has_mark(m, n, TL_MARK_KEEP_DTYPE) || tl_node_has_mark(m, n, TL_MARK_NOFOLD);
}

/* Makes an included node white. force_fp16 lowers all ops anyway; there the entry only undoes
 * keeping. */
static void include(tl_precision_choice *choice) {
  const tl_precision_mode_info *info = tl_precision_mode_get((tl_precision_mode)choice->mode);
  if (choice->mode == TL_PRECISION_FORCE_FP16)
    return;
  choice->colour = TL_COLOUR_WHITE;
  if (!info->mixed)
    choice->mode = info->low == TL_DTYPE_BF16   ? TL_PRECISION_MIX_BF16
                   : info->low == TL_DTYPE_HIF8 ? TL_PRECISION_MIX_HIF8
                                                : TL_PRECISION_MIX_FP16;
}

/* Looks the node up in block and include lists, unless a more specific entry (a file or --to-float)
 * already decided. */
static tl_status look_up_lists(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form,
                               bool decided) {
  tl_precision_choice *choice = &w->d->nodes[n];
  int32_t entry = tl_precision_listed_find(w->lists, w->m, n, form->type);
  w->listed = entry >= 0 && !decided ? &w->d->config->listed[entry] : NULL;
  if (w->listed) {
    choice->entry = entry;
    choice->why = tl_precision_listed_reason(w->lists, entry);
    if (w->listed->include)
      include(choice);
  }
  return tl_precision_listed_ran_out(w->lists) ? tl_no_memory(w->m) : TL_OK;
}

/* Precedence: customized dtypes, kept nodes, then --to-float in choice->entry; block and include
 * lists apply only if none of them does. */
tl_status tl_precision_enter(tl_precision_walk *w, tl_node_id n, const tl_precision_form *form) {
  const tl_precision_config *c = w->d->config;
  tl_precision_choice *choice = &w->d->nodes[n];
  bool marked = keeps_dtype(w->m, n);
  choice->mode = (uint8_t)c->mode;
  choice->colour = w->updates && w->updates[n] ? TL_COLOUR_BLACK : form->colour;
  choice->flags = form->cube ? TL_CHOICE_CUBE : 0;
  to_float(w, n, choice);
  int32_t custom = entry_of(w, (named){&w->named_custom, custom_name}, n);
  int32_t keep = entry_of(w, (named){&w->named_keep, keep_name}, n);
  custom = custom >= 0 ? custom : form->custom;
  keep = keep >= 0 ? keep : form->keep;
  if (custom >= 0)
    w->used_custom[custom] = true;
  if (keep >= 0)
    w->used_keep[keep] = true;
  if (c->mode == TL_PRECISION_ORIGIN) /* this mode reduces nothing: the files do not apply */
    keep = custom = -1;
  w->custom = custom >= 0 ? &c->custom[custom] : NULL;
  if (custom >= 0 || keep >= 0)
    choice->entry = custom >= 0 ? custom : keep;
  if (w->lists)
    TL_TRY(look_up_lists(w, n, form, marked || choice->entry >= 0));
  w->mixed = tl_precision_mode_get((tl_precision_mode)choice->mode)->mixed;
  w->op = (tl_judged_op){.mode = (tl_precision_mode)choice->mode,
                         .colour = (tl_op_colour)choice->colour,
                         .cube = form->cube && !c->by_chip,
                         .view = form->view,
                         .kept = marked || keep >= 0 || (w->listed && !w->listed->include),
                         .inherits = tl_node_has_mark(w->m, n, TL_MARK_INHERIT_DTYPE),
                         .sensitive = form->sensitive,
                         .strict = c->strict_mix_low,
                         .half_in_float_out = form->half_in_float_out};
  return TL_OK;
}

/* Only the columns with every requested dtype remain; dtypes that the user left open stay free. */
bool tl_precision_customize(tl_precision_walk *w, const tl_precision_form *form) {
  const tl_custom_entry *e = w->custom;
  (void)form;
  for (uint32_t i = 0; i < w->slots.n; i++) {
    tl_judged_slot *s = &w->slots.at[i];
    uint32_t n = s->output ? e->n_out : e->n_in;
    tl_dtype d = s->index >= n ? TL_DTYPE_NONE : s->output ? e->out[s->index] : e->in[s->index];
    if (d == TL_DTYPE_NONE)
      continue;
    if (!tl_match_precise(&w->columns, s->port->columns, d, TL_DTYPE_NONE))
      return false;
    s->customized = true;
  }
  return true;
}

/* ---- signature and end ----------------------------------------------------------------------- */

/* Returns true if an entry of --output-type is about v; an entry without a node is about all
 * outputs. */
static bool is_output_of(const tl_module *m, const tl_output_dtype *o, tl_value_id v) {
  tl_node_id p = tl_value_producer(m, v);
  if (o->node.n == 0)
    return true;
  return p && tl_value_get(m, v)->index == o->index &&
         tl_sv_eq(tl_sym(m, tl_node_get(m, p)->name), o->node);
}

/* --output-type comes last and so overrides --keep-io-types. */
void tl_precision_finish_signature(tl_precision_walk *w, const tl_graph *g) {
  const tl_precision_config *c = w->d->config;
  const tl_node *ret = tl_node_get(w->m, g->ret);
  for (uint32_t i = 0; i < ret->n_operands; i++) {
    tl_precision_slot *s = &w->d->uses[ret->operands + i];
    tl_value_id v = tl_use_get(w->m, ret->operands + i)->value;
    s->rule = TL_BY_SIGNATURE;
    if (c->lower_signature && !stays(w, v) && s->original == TL_DTYPE_F32 &&
        !is_state_output(w->m, v)) {
      s->chosen = (uint8_t)tl_precision_mode_get(c->mode)->low;
      s->rule = TL_BY_IO_TYPES;
    }
    for (uint32_t k = 0; k < c->n_outputs; k++)
      if (s->original != TL_DTYPE_NONE && is_output_of(w->m, &c->outputs[k], v)) {
        s->chosen = (uint8_t)c->outputs[k].dtype;
        s->rule = TL_BY_OUTPUT_TYPE;
      }
  }
}

tl_status tl_precision_end(tl_precision_walk *w) {
  TL_TRY(tl_precision_warn_unused(w));
  tl_precision_warn_ranges(w);
  return w->n_errors == 0 ? TL_OK : w->n_unsupported ? TL_UNSUPPORTED : TL_INVALID_ARGUMENT;
}
