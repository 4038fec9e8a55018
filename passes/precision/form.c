/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the facts about judged types: table row, colour and list entries, per op and candidate.
 * Slots of the row are mapped back to operands of the model's node. */
#include "passes/precision/form.h"

#include "ir/ops_gen.h"
#include "passes/npu/expr.h"

struct tl_precision_forms {
  tl_module *m;
  const tl_options *options;
  const tl_precision_config *config;
  const tl_op_info_set *table;
  tl_arena *arena;
  tl_npu_forms npu;
  const tl_precision_form **by_op; /* [tl_n_op_rows]: forms of an op's candidates, or its only form
                                    * if it has none */
  tl_precision_form none;          /* form of ops that no table knows */
  uint32_t widest;
};

tl_precision_forms *tl_precision_forms_create(tl_module *m, const tl_options *options,
                                              tl_arena *arena) {
  tl_precision_forms *f = tl_arena_calloc(arena, 1, sizeof *f);
  const tl_precision_form **by_op = tl_arena_calloc(arena, tl_n_op_rows, sizeof *by_op);
  if (!f || !by_op || tl_npu_forms_init(&f->npu, m) != TL_OK)
    return NULL;
  f->m = m;
  f->options = options;
  f->config = options->precision;
  f->table = tl_options_op_info(options);
  f->arena = arena;
  f->by_op = by_op;
  f->none = (tl_precision_form){.keep = -1, .custom = -1};
  return f;
}

uint32_t tl_precision_forms_widest(const tl_precision_forms *f) { return f->widest; }

/* ---- lists ----------------------------------------------------------------------------------- */

/* Returns true if the type is one of n names. */
static bool is_among(tl_sv type, const char *const *types, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (tl_sv_is(type, types[i]))
      return true;
  return false;
}

/* Returns true for NPU types that are matrix ops. */
static bool is_cube(tl_sv type) {
  static const char *const types[] = {
#define CUBE(type) type,
#include "passes/precision/ops.tbl"
  };
  return is_among(type, types, sizeof types / sizeof *types);
}

/* Returns true for NPU types whose dtypes are part of their meaning. */
static bool is_sensitive(tl_sv type) {
  static const char *const types[] = {
#define SENSITIVE(type) type,
#include "passes/precision/ops.tbl"
  };
  return is_among(type, types, sizeof types / sizeof *types);
}

/* Returns true for ops whose parameters may have another float than their data. */
static bool may_split(tl_sv type, const tl_op *op) {
  static const char *const types[] = {
#define SPLITS(type) type,
#include "passes/precision/ops.tbl"
  };
  static const tl_op_id ops[] = {
#define OWN_FLOATS(op) TL_OP_##op,
#include "passes/precision/ops.tbl"
  };
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (tl_op_row(ops[i]) == op)
      return true;
  return is_among(type, types, sizeof types / sizeof *types);
}

/* Returns the input slots that are promoted to one dtype: all for types of the configuration, else
 * those of ops.tbl. */
static uint32_t promotes(const tl_precision_config *c, tl_sv type) {
  static const struct {
    const char *type;
    uint32_t slots;
  } rows[] = {
#define PROMOTES(type, slots) {type, slots},
#include "passes/precision/ops.tbl"
  };
  for (uint32_t i = 0; i < c->n_promote; i++)
    if (tl_sv_eq(c->promote[i], type))
      return UINT32_MAX;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (tl_sv_is(type, rows[i].type))
      return rows[i].slots;
  return 0;
}

/* Returns the union of the edits of all mix-list entries for the type. */
static uint8_t edits_of(const tl_precision_config *c, tl_sv type, const tl_op *op) {
  uint8_t edits = 0;
  for (uint32_t i = 0; i < c->n_mix; i++)
    if (tl_precision_names_type(c->mix[i].type, type, op))
      edits |= c->mix[i].edits;
  return edits;
}

/* Finds the first entry for the type in each of the lists keep and custom. */
static void find_entries(const tl_precision_config *c, const tl_op *op, tl_precision_form *form) {
  form->keep = form->custom = -1;
  for (uint32_t i = 0; i < c->n_keep && form->keep < 0; i++)
    if (c->keep[i].is_type && tl_precision_names_type(c->keep[i].name, form->type, op))
      form->keep = (int32_t)i;
  for (uint32_t i = 0; i < c->n_custom && form->custom < 0; i++)
    if (c->custom[i].is_type && tl_precision_names_type(c->custom[i].name, form->type, op))
      form->custom = (int32_t)i;
}

/* Sets the colour of the table and the colour after edits. */
static void colour(const tl_precision_config *c, const tl_op *op, tl_op_colour table,
                   tl_precision_form *form) {
  uint8_t edits = edits_of(c, form->type, op);
  bool missed;
  form->from_table = (uint8_t)table;
  tl_op_colour before = c->recoloured ? c->unlisted : table;
  form->colour = (uint8_t)tl_mix_colour(edits, before, c->ge_colours, &missed);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* Sets the operands that an expression of a candidate passes on, if they are present. Returns false
 * if the NPU operand is made from something else. */
static bool passes_on(const tl_expr *e, tl_precision_port *port) {
  if (e->kind == TL_EXPR_OPERANDS) {
    port->first = 0;
    port->many = true;
    return true;
  }
  if (e->kind == TL_EXPR_OPERAND) {
    port->first = (uint32_t)e->u.i;
    return true;
  }
  bool or_else = e->kind == TL_EXPR_CALL &&
                 (e->function == TL_FN_or_all_axes || e->function == TL_FN_or_empty_f32 ||
                  e->function == TL_FN_or_empty_half || e->function == TL_FN_or_zeros ||
                  e->function == TL_FN_or_ones);
  return or_else && passes_on(e->args[0], port);
}

/* Returns true if the port allows i32 and nothing else: an int64 index will be narrowed. */
static bool takes_only_i32(const tl_op *op, const tl_op_port *p) {
  return p && p->var >= 0 && op->vars[p->var].dtypes == TL_DTYPE_BIT(TL_DTYPE_I32);
}

/* Returns the operand port of a name, UINT32_MAX if there is none. */
static uint32_t port_named(const tl_op *npu, const char *name) {
  for (uint32_t i = 0; i < npu->n_operand_ports; i++)
    if (strcmp(npu->operands[i].name, name) == 0)
      return i;
  return UINT32_MAX;
}

/* Returns what the NPU op calls an input of the chip's table. */
static const char *port_name(tl_sv type, const char *name) {
  static const struct {
    const char *type, *from, *to;
  } rows[] = {
#define PORT(type, from, to) {type, from, to},
#include "passes/precision/ops.tbl"
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (tl_sv_is(type, rows[i].type) && strcmp(name, rows[i].from) == 0)
      return rows[i].to;
  return name;
}

/* Maps input slot k of the NPU op back to operands of the model's node. */
static void lead_back(tl_sv type, const tl_npu_form *npu, uint32_t k, tl_precision_port *port) {
  const char *name = port_name(type, port->name);
  uint32_t at = port_named(npu->npu, name);
  if (at == UINT32_MAX && *name) /* tables may spell a port differently: use the position */
    at = k;
  for (uint32_t i = 0; i < npu->n_operands; i++)
    if (npu->operands[i].index == at && passes_on(npu->operands[i].value, port))
      port->index = takes_only_i32(npu->npu, &npu->npu->operands[at]);
}

/* Maps input slot k of an NPU op that is itself in the model. */
static void lead_back_own(const tl_op *op, uint32_t k, tl_precision_port *port) {
  uint32_t at = port_named(op, port->name);
  port->first = at == UINT32_MAX ? k : at;
  port->many = port->first < op->n_operand_ports &&
               op->operands[port->first].kind == TL_PORT_VARIADIC;
}

/* Fills a port from slot k of the row. An output goes to result k; inputs are mapped later. */
static void fill_port(tl_op_info info, bool output, uint32_t k, tl_precision_port *port) {
  const tl_op_info_slot *slot = tl_op_info_slot_at(info, output, k);
  *port = (tl_precision_port){.name = tl_op_info_text(info, slot->name),
                              .columns = tl_op_info_columns(info, slot),
                              .first = output ? k : UINT32_MAX,
                              .many = output && slot->kind == TL_SLOT_DYNAMIC};
  for (uint32_t i = 0; i < info.row->n_columns; i++)
    port->dtypes |= TL_DTYPE_BIT(port->columns[i]);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns true if a port of the prototype takes a dtype. Only floats are asked about: they are what
 * a mode changes. p: NULL: the prototype has no such port. */
static bool port_takes(const tl_op *npu, const tl_op_port *p, uint8_t dtype) {
  return !p || p->var < 0 || !tl_dtype_is_ranked((tl_dtype)dtype) ||
         (npu->vars[p->var].dtypes & TL_DTYPE_BIT(dtype)) != 0;
}

/* Returns the operand port of the prototype for input slot k. */
static const tl_op_port *prototype_port(tl_sv type, const tl_op *npu, const char *slot,
                                        uint32_t k) {
  uint32_t at = port_named(npu, port_name(type, slot));
  at = at == UINT32_MAX ? k : at;
  return at < npu->n_operand_ports ? &npu->operands[at] : NULL;
}

/* Returns true if the prototype of the NPU op takes all floats of a column. The table of a chip may
 * have columns that the prototype lacks, such as bf16: files with them would be refused. inputs:
 * the prototype's port of each input. */
static bool takes_column(const tl_precision_form *form, const tl_op *npu,
                         const tl_op_port *const *inputs, uint32_t column) {
  for (uint32_t i = 0; i < form->n_inputs; i++)
    if (!port_takes(npu, inputs[i], form->inputs[i].columns[column]))
      return false;
  for (uint32_t i = 0; i < form->n_outputs; i++)
    if (!port_takes(npu, tl_op_result_port(npu, i), form->outputs[i].columns[column]))
      return false;
  return true;
}

/* Leaves the listed columns of a port. False if memory is out. */
static bool leave(tl_precision_forms *f, tl_precision_port *port, const uint32_t *columns,
                  uint32_t n) {
  uint8_t *left = tl_arena_calloc(f->arena, n, sizeof *left);
  port->dtypes = 0;
  for (uint32_t i = 0; left && i < n; i++) {
    left[i] = port->columns[columns[i]];
    port->dtypes |= TL_DTYPE_BIT(left[i]);
  }
  port->columns = left;
  return left != NULL;
}

/* Drops columns that the prototype does not take, unless it takes none. */
static bool drop_columns(tl_precision_forms *f, const tl_op *npu, tl_precision_port *ports,
                         tl_precision_form *form) {
  uint32_t n = 0, *taken = tl_arena_calloc(f->arena, form->n_columns + 1U, sizeof *taken);
  const tl_op_port **inputs = tl_arena_calloc(f->arena, form->n_inputs + 1U, sizeof *inputs);
  bool ok = taken && inputs;
  for (uint32_t i = 0; ok && i < form->n_inputs; i++)
    inputs[i] = prototype_port(form->type, npu, ports[i].name, i);
  for (uint32_t i = 0; ok && i < form->n_columns; i++)
    if (takes_column(form, npu, inputs, i))
      taken[n++] = i;
  if (!ok || n == 0 || n == form->n_columns)
    return ok;
  for (uint32_t i = 0; ok && i < form->n_inputs + form->n_outputs; i++)
    ok = leave(f, &ports[i], taken, n);
  form->n_columns = n;
  return ok;
}

/* ---- ports ----------------------------------------------------------------------------------- */

/* Fills all ports of a form from its row, and maps inputs back to operands. False if memory is
 * out. */
static bool fill_ports(tl_precision_forms *f, tl_op_info info, const tl_op *op,
                       const tl_npu_form *npu, tl_precision_form *form) {
  uint32_t n_in = info.row->n_inputs;
  uint32_t n_out = info.row->n_outputs;
  tl_precision_port *ports = tl_arena_calloc(f->arena, n_in + n_out, sizeof *ports);
  if (!ports && n_in + n_out)
    return false;
  for (uint32_t i = 0; i < n_in; i++) {
    fill_port(info, false, i, &ports[i]);
    if (npu && npu->n_operands)
      lead_back(form->type, npu, i, &ports[i]);
    else if (npu) /* an op that will be expanded: its first operands are those of the main op */
      ports[i].first = i;
    else if (!npu)
      lead_back_own(op, i, &ports[i]);
  }
  const tl_op *prototype = npu ? npu->npu : op;
  for (uint32_t i = 0; i < n_out; i++) {
    fill_port(info, true, i, &ports[n_in + i]);
    ports[n_in + i].index = prototype && takes_only_i32(prototype, tl_op_result_port(prototype, i));
  }
  form->inputs = ports;
  form->outputs = ports + n_in;
  form->n_inputs = n_in;
  form->n_outputs = n_out;
  form->n_columns = info.row->n_columns;
  bool built_in = !f->options->op_info; /* a package of the user's may take more than prototypes */
  if (built_in && prototype && prototype->domain_symbol == TL_SYM_npu &&
      !drop_columns(f, prototype, ports, form))
    return false;
  for (uint32_t i = 0; n_in && n_out && i < form->n_columns; i++)
    form->half_in_float_out = form->half_in_float_out || (ports[0].columns[i] == TL_DTYPE_F16 &&
                                                          ports[n_in].columns[i] == TL_DTYPE_F32);
  if (form->n_columns > f->widest)
    f->widest = form->n_columns;
  return true;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* Returns true if the NPU op takes the dtype of its results from the results themselves
 * (ge_of(out0)). They may then change, although an attribute of the model's op states a dtype. */
static bool follows_result(const tl_npu_form *npu) {
  for (uint32_t i = 0; npu && i < npu->n_attrs; i++) {
    const tl_expr *e = npu->attrs[i].value;
    if (e && e->kind == TL_EXPR_CALL && e->function == TL_FN_ge_of &&
        e->args[0]->kind == TL_EXPR_RESULT)
      return true;
  }
  return false;
}

/* Returns true if an attribute or operand of the op fixes the dtype of its results; no mode may
 * contradict it. */
static bool says_dtype(const tl_op *op) {
  static const tl_symbol names[] = {TL_SYM_to, TL_SYM_dtype, TL_SYM_output_dtype};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (tl_op_attr_find(op, names[i]))
      return true;
  return op->n_operand_ports == 0 || op == tl_op_row(TL_OP_ConstantOfShape) ||
         op == tl_op_row(TL_OP_CastLike);
}

/* Makes the form of one op and type; without a row of the table it stays empty. */
static bool make_form(tl_precision_forms *f, const tl_op *op, tl_sv type, const tl_npu_form *npu,
                      tl_precision_form *form) {
  form->type = type;
  form->keep = form->custom = -1;
  tl_op_info info = {0};
  if (type.n)
    info = tl_op_info_find(f->table, type);
  if (!info.row)
    return true;
  find_entries(f->config, op, form);
  colour(f->config, op, (tl_op_colour)info.row->colour, form);
  form->cube = is_cube(type);
  form->view = (info.row->flags & TL_INFO_NO_KERNEL) != 0;
  form->sensitive = is_sensitive(type);
  form->splits = may_split(type, op);
  bool on_chip = f->config->infeasible != TL_INFEASIBLE_KEEP;
  form->fixed_results = op->domain_symbol != TL_SYM_npu && says_dtype(op) &&
                        !(on_chip && follows_result(npu));
  form->part = npu && npu->row->kind == TL_LOWER_EXPAND;
  form->promotes = form->part ? 0 : promotes(f->config, type);
  return fill_ports(f, info, op, npu, form);
}

/* Makes the forms of all candidates of an op. */
static tl_status make_forms(tl_precision_forms *f, tl_op_id id, const tl_op *op) {
  const tl_npu_form *npu = NULL;
  uint32_t n = op->n_npu ? op->n_npu : 1;
  tl_precision_form *forms = tl_arena_calloc(f->arena, n, sizeof *forms);
  if (!forms)
    return tl_no_memory(f->m);
  if (op->n_npu)
    TL_TRY(tl_npu_forms_get(&f->npu, id, &npu));
  bool own = op->n_npu == 0 && op->domain_symbol == TL_SYM_npu;
  for (uint32_t i = 0; i < n; i++) {
    tl_sv type = op->n_npu ? tl_sv_from(op->npu[i].judged) : tl_sv_from(own ? op->name : "");
    if (!make_form(f, op, type, npu ? &npu[i] : NULL, &forms[i]))
      return tl_no_memory(f->m);
  }
  f->by_op[id] = forms;
  return TL_OK;
}

tl_status tl_precision_form_of(tl_precision_forms *f, tl_node_id n, const tl_precision_form **out) {
  const tl_node *node = tl_node_get(f->m, n);
  const tl_op *op = tl_op_row(node->op);
  *out = &f->none;
  if (!op || (op->n_npu && node->candidate < 0))
    return TL_OK;
  if (!f->by_op[node->op])
    TL_TRY(make_forms(f, node->op, op));
  *out = &f->by_op[node->op][op->n_npu ? node->candidate : 0];
  return TL_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Returns true for a name of the chip's tables, of an NPU prototype, or of the form onnx::TYPE. */
static bool is_known_type(const tl_precision_forms *f, tl_sv type) {
  return tl_sv_starts_with(type, "onnx::") || tl_op_info_find(f->table, type).row ||
         tl_op_find(TL_SYM_npu, tl_symbol_find(&f->m->symbols, type)) != UINT32_MAX;
}

/* Warns about an unknown type, with the nearest name of the chip's tables (edit distance below
 * 4). */
static void warn_type(const tl_precision_forms *f, const char *path, uint32_t line, tl_sv type) {
  tl_location where = {.file = path, .line = line, .column = 1};
  const char *nearest = NULL;
  size_t best = 4;
  tl_op_info info = {0};
  for (uint32_t i = 0; i < f->table->n_tables; i++) {
    info.table = f->table->tables[i];
    for (uint32_t k = 0; k < info.table->n_rows; k++) {
      const char *name = tl_op_info_text(info, info.table->rows[k].op);
      size_t d = tl_edit_distance(type, tl_sv_from(name), best);
      if (d < best) {
        best = d;
        nearest = name;
      }
    }
  }
  if (nearest)
    tl_warn(f->m->diag, where, "'%.*s' is not an op type of this chip\vdid you mean '%s'?",
            TL_SV_ARG(tl_sv_shown(type)), nearest);
  else
    tl_warn(f->m->diag, where, "'%.*s' is not an op type of this chip",
            TL_SV_ARG(tl_sv_shown(type)));
}

/* Warns if an edit removes a type from a list that it is not on. */
static void warn_removal(const tl_precision_forms *f, const tl_mix_edit *e) {
  const tl_precision_config *c = f->config;
  tl_op_info info = tl_op_info_find(f->table, e->type);
  bool missed = false;
  if (!info.row)
    return;
  tl_op_colour before = c->recoloured ? c->unlisted : (tl_op_colour)info.row->colour;
  (void)tl_mix_colour(e->edits, before, c->ge_colours, &missed);
  if (missed)
    tl_warn(f->m->diag, ((tl_location){.file = c->mix_path, .line = e->line, .column = 1}),
            "'%.*s' is %s; removing it from another list has no effect", TL_SV_ARG(e->type),
            tl_op_colour_name(before));
}

/* Upper bounds on warnings and on names in one of them: a warning may compare a name with all types
 * of the chip. */
enum { MOST_WARNINGS = 20, MOST_NAMES = 10 };

/* Returns true if other entries already name all judged types that the user may have meant. Lists
 * written for many models name several NPU ops of one op. */
static bool is_covered(const tl_precision_forms *f, const tl_precision_types *t, tl_sv type) {
  const tl_precision_config *c = f->config;
  tl_sv judged;
  for (uint32_t i = 0; tl_precision_types_meant(t, type, &i, &judged); i++) {
    bool named = false;
    for (uint32_t k = 0; k < c->n_mix && !named; k++)
      named = tl_sv_eq(c->mix[k].type, judged);
    if (!named)
      return false;
  }
  return true;
}

/* Warns if the type fits no node because its nodes are judged under another name. Returns true if
 * it did. */
static bool warn_misnamed(const tl_precision_forms *f, const tl_precision_types *t,
                          const tl_mix_edit *e) {
  tl_buf text;
  tl_buf_init(&text);
  bool told = !is_covered(f, t, e->type) && tl_precision_types_explain(t, e->type, &text) &&
              !text.failed;
  if (told)
    tl_warn(f->m->diag, ((tl_location){.file = f->config->mix_path, .line = e->line, .column = 1}),
            "'%.*s' matches no node: %.*s", TL_SV_ARG(tl_sv_shown(e->type)),
            TL_SV_ARG(tl_buf_view(&text)));
  tl_buf_release(&text);
  return told;
}

void tl_precision_warn_mix(const tl_precision_forms *f, const tl_precision_types *t, tl_buf *unused,
                           uint32_t *n_unused) {
  const tl_precision_config *c = f->config;
  uint32_t unknown = 0;
  uint32_t misnamed = 0;
  for (uint32_t i = 0; i < c->n_mix; i++) {
    tl_sv type = c->mix[i].type;
    if (c->mix[i].line == 0) /* a preset entry: presets know more types than one chip has */
      continue;
    bool fits = tl_precision_types_fit(t, type);
    if (fits || (misnamed < MOST_WARNINGS && warn_misnamed(f, t, &c->mix[i])))
      misnamed += !fits;
    else if (!is_known_type(f, type)) {
      if (++unknown <= MOST_WARNINGS)
        warn_type(f, c->mix_path, c->mix[i].line, type);
    } else if ((*n_unused)++ < MOST_NAMES) {
      tl_buf_printf(unused, "%s'%.*s'", *n_unused > 1 ? ", " : "", TL_SV_ARG(type));
    }
    warn_removal(f, &c->mix[i]);
  }
  if (unknown > MOST_WARNINGS)
    tl_warn(f->m->diag, TL_AT_FILE(c->mix_path), "%u more are not op types of this chip",
            unknown - MOST_WARNINGS);
}
