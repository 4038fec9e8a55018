/* SPDX-License-Identifier: Apache-2.0 */
/* Shows what a chip makes of an op: candidates of the op table and rows of op information. */
#include "tools/tables/op_chip.h"

#include "passes/npu/expr.h"
#include "support/json_writer.h"

enum { COLUMNS_SHOWN = 12 }; /* of an op's signatures in text; JSON has all */

bool tl_op_chip_init(tl_op_chip *c, const tl_options *o, tl_diag *diag) {
  *c = (tl_op_chip){.name = o->soc_version ? o->soc_version : "Ascend910B1",
                    .soc = tl_options_chip(o),
                    .info = tl_options_op_info(o),
                    .words = tl_module_create(diag, "", 0)};
  return c->words != NULL;
}

void tl_op_chip_release(tl_op_chip *c) { tl_module_destroy(c->words); }

bool tl_op_chip_has(const tl_op_chip *c, const tl_npu_candidate *candidate) {
  const char *why = NULL;
  const tl_expr *guard = tl_npu_expr_parse(c->words, &c->words->arena, tl_sv_from(candidate->guard),
                                           TL_IN_GUARDS, &why);
  return tl_npu_may_hold_on(c->words, guard, c->soc->table);
}

/* Returns the name of a kind of lowering for people. */
static const char *lower_name(uint8_t kind) {
  static const char *const names[] = {[TL_LOWER_RENAME] = "rename",
                                      [TL_LOWER_ATTRS] = "attributes change",
                                      [TL_LOWER_CONST_OPERAND] = "operands are built",
                                      [TL_LOWER_EXPAND] = "several nodes",
                                      [TL_LOWER_NONE] = "none"};
  return names[kind];
}

static const char *text(tl_op_info i, uint32_t at) { return tl_op_info_text(i, at); }

/* ---- text ----------------------------------------------------------------------------------- */

/* Returns the dtype of a slot in a column; inputs come before outputs. */
static const char *dtype_at(tl_op_info i, uint32_t slot, uint32_t column) {
  const tl_op_info_slot *s = &i.table->slots[i.row->slots + slot];
  return tl_dtype_get((tl_dtype)tl_op_info_columns(i, s)[column])->name;
}

/* Adds a column such as "f16,f16>f32", without its optional inputs. */
static void add_column(tl_buf *out, tl_op_info i, uint32_t column) {
  uint32_t n = (uint32_t)i.row->n_inputs + i.row->n_outputs;
  bool first = true;
  for (uint32_t s = 0; s < n; s++) {
    bool output = s >= i.row->n_inputs;
    if (s == i.row->n_inputs)
      tl_buf_add_char(out, '>');
    if (!output && i.table->slots[i.row->slots + s].kind == TL_SLOT_OPTIONAL)
      continue;
    tl_buf_printf(out, "%s%s", first || s == i.row->n_inputs ? "" : ",", dtype_at(i, s, column));
    first = false;
  }
}

/* Adds the signatures of an op. Blanks around each one make strstr find whole signatures only. */
static void add_columns(tl_buf *out, tl_op_info i, const char *indent) {
  if (i.row->n_columns == 0) {
    tl_buf_printf(out, "%sdtypes: those it has\n", indent);
    return;
  }
  tl_buf_printf(out, "%sdtypes: ", indent);
  size_t start = out->n - 1; /* of " f16>f16 f32>f32 " */
  uint32_t shown = 0;
  for (uint32_t k = 0; k < i.row->n_columns && shown < COLUMNS_SHOWN; k++) {
    tl_buf column;
    tl_buf_init(&column);
    tl_buf_add_char(&column, ' ');
    add_column(&column, i, k);
    tl_buf_add_char(&column, ' ');
    /* Columns that differ in optional inputs only look alike. */
    if (!column.failed && !out->failed && !strstr(out->p + start, column.p)) {
      tl_buf_add(out, column.p + 1, column.n - 1);
      shown++;
    }
    tl_buf_release(&column);
  }
  if (i.row->n_columns > COLUMNS_SHOWN)
    tl_buf_printf(out, "... (%u in all)", i.row->n_columns);
  else if (!out->failed)
    out->n--; /* the blank behind the last */
  tl_buf_add_char(out, '\n');
}

/* Adds where a row comes from: a file of the user, or a built-in table. */
static void add_place(tl_buf *out, tl_op_info i) {
  if (i.row->source == TL_INFO_USER || strcmp(i.table->name, "--op-info") == 0)
    tl_buf_add_z(out, text(i, i.row->file));
  else
    tl_buf_printf(out, "%s, %s ops", i.table->name, text(i, i.row->file));
}

/* Adds colour, kernel, signatures and source of an op type. */
static void add_facts(tl_buf *out, tl_op_info i, const char *indent) {
  tl_buf_printf(out, "%s%s under mixed precision", indent,
                tl_op_colour_name((tl_op_colour)i.row->colour));
  if (text(i, i.row->kernel)[0])
    tl_buf_printf(out, "; kernel %s", text(i, i.row->kernel));
  if (text(i, i.row->pattern)[0])
    tl_buf_printf(out, "; pattern %s", text(i, i.row->pattern));
  tl_buf_add_z(out, i.row->flags & TL_INFO_DYNAMIC_SHAPE ? "; any shape" : "");
  tl_buf_add_z(out, i.row->flags & TL_INFO_HEAVY ? "; layout-heavy" : "");
  tl_buf_add_z(out, i.row->flags & TL_INFO_NO_KERNEL ? "; no kernel" : "");
  tl_buf_add_char(out, '\n');
  add_columns(out, i, indent);
  tl_buf_printf(out, "%sfrom: ", indent);
  add_place(out, i);
  if (i.row->source == TL_INFO_INFERRED)
    tl_buf_add_z(out, "; inferred from a newer chip");
  else if (i.row->source != TL_INFO_LIBRARY && i.row->source != TL_INFO_USER)
    tl_buf_printf(out, "; dtypes from %s",
                  tl_op_info_source_text((tl_op_info_source)i.row->source));
  tl_buf_add_char(out, '\n');
}

/* Adds a candidate of the op table and, if the chip has it, what is known of the judged type. */
static void add_candidate(tl_buf *out, const tl_op_chip *c, const tl_npu_candidate *n) {
  static const char indent[] = "           ";
  tl_buf_printf(out, "  npu      %s: %s, %s%s\n", *n->npu_type ? n->npu_type : "none", n->guard,
                lower_name(n->kind), tl_op_chip_has(c, n) ? "" : "; not on this chip");
  if (!*n->npu_type || !tl_op_chip_has(c, n))
    return;
  if (!*n->judged) {
    tl_buf_printf(out, "%snot judged: runs on the host or an AI CPU, keeps its dtypes\n", indent);
    return;
  }
  tl_op_info i = tl_op_info_find(c->info, tl_sv_from(n->judged));
  tl_buf_printf(out, "%sjudged as %s\n", indent, n->judged);
  if (i.row)
    add_facts(out, i, indent);
  else
    tl_buf_printf(out, "%snot in the op information of %s: keeps its dtypes\n", indent,
                  c->soc->name);
}

void tl_op_chip_candidates(tl_buf *out, const tl_op_chip *c, const tl_op *op) {
  if (op->n_npu == 0)
    return;
  tl_buf_printf(out, "  chip     %s, of the family %s\n", c->name, c->soc->name);
  for (uint8_t i = 0; i < op->n_npu; i++)
    add_candidate(out, c, &op->npu[i]);
  if (op->npu_from)
    tl_buf_printf(out, "  from     %s (candidates and guards)\n", op->npu_from);
}

/* Adds the slots of an op type with the dtypes of its first columns. */
static void add_slots(tl_buf *out, tl_op_info i) {
  static const char *const kinds[] = {[TL_SLOT_REQUIRED] = "",
                                      [TL_SLOT_OPTIONAL] = " (optional)",
                                      [TL_SLOT_DYNAMIC] = " (any number)"};
  uint32_t n = (uint32_t)i.row->n_inputs + i.row->n_outputs;
  for (uint32_t s = 0; s < n; s++) {
    const tl_op_info_slot *slot = &i.table->slots[i.row->slots + s];
    tl_buf_printf(out, "  %-9s%s:", s < i.row->n_inputs ? "input" : "output", text(i, slot->name));
    for (uint32_t k = 0; k < i.row->n_columns && k < COLUMNS_SHOWN; k++)
      tl_buf_printf(out, " %s", dtype_at(i, s, k));
    tl_buf_printf(out, "%s%s\n", i.row->n_columns > COLUMNS_SHOWN ? " ..." : "", kinds[slot->kind]);
  }
}

void tl_op_chip_type(tl_buf *out, const tl_op_chip *c, tl_op_info i) {
  tl_buf_printf(out, "%s on %s\n", text(i, i.row->op), c->name);
  add_slots(out, i);
  for (uint32_t k = 0; k < i.row->n_attrs; k++) {
    const tl_op_info_attr *a = &i.table->attrs[i.row->attrs + k];
    tl_buf_printf(out, "  attr     %s%s%s%s%s%s\n", text(i, a->name), *text(i, a->kind) ? ": " : "",
                  text(i, a->kind), a->required ? " (required)" : "",
                  *text(i, a->fallback) ? " = " : "", text(i, a->fallback));
  }
  add_facts(out, i, "  ");
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void add_text(tl_json_writer *w, const char *key, const char *value) {
  tl_member_z(w, key, value);
}

static void add_bool(tl_json_writer *w, const char *key, bool value) {
  tl_member_bool(w, key, value);
}

/* Adds the slots of one side with the dtypes of all columns. */
static void add_slots_json(tl_json_writer *w, tl_op_info i, bool output) {
  static const char *const kinds[] = {[TL_SLOT_REQUIRED] = "required",
                                      [TL_SLOT_OPTIONAL] = "optional",
                                      [TL_SLOT_DYNAMIC] = "dynamic"};
  uint32_t n = output ? i.row->n_outputs : i.row->n_inputs;
  tl_put_array(w);
  for (uint32_t s = 0; s < n; s++) {
    const tl_op_info_slot *slot = tl_op_info_slot_at(i, output, s);
    tl_put_object(w);
    add_text(w, "name", text(i, slot->name));
    add_text(w, "kind", kinds[slot->kind]);
    tl_put_key(w, "dtypes");
    tl_put_array(w);
    for (uint32_t k = 0; k < i.row->n_columns; k++) {
      tl_put_z(w, tl_dtype_get((tl_dtype)tl_op_info_columns(i, slot)[k])->name);
    }
    tl_put_end(w);
    tl_put_end(w);
  }
  tl_put_end(w);
}

/* Adds the attributes of an op type. */
static void add_attrs_json(tl_json_writer *w, tl_op_info i) {
  tl_put_array(w);
  for (uint32_t k = 0; k < i.row->n_attrs; k++) {
    const tl_op_info_attr *a = &i.table->attrs[i.row->attrs + k];
    tl_put_object(w);
    add_text(w, "name", text(i, a->name));
    add_text(w, "kind", text(i, a->kind));
    add_bool(w, "required", a->required);
    add_text(w, "default", text(i, a->fallback));
    tl_put_end(w);
  }
  tl_put_end(w);
}

void tl_op_chip_type_json(tl_json_writer *w, tl_op_info i) {
  tl_put_object(w);
  add_text(w, "type", text(i, i.row->op));
  add_text(w, "colour", tl_op_colour_name((tl_op_colour)i.row->colour));
  tl_put_key(w, "inputs");
  add_slots_json(w, i, false);
  tl_put_key(w, "outputs");
  add_slots_json(w, i, true);
  tl_put_key(w, "attributes");
  add_attrs_json(w, i);
  add_text(w, "pattern", text(i, i.row->pattern));
  add_text(w, "kernel", text(i, i.row->kernel));
  add_bool(w, "heavy", i.row->flags & TL_INFO_HEAVY);
  add_bool(w, "dynamic_shape", i.row->flags & TL_INFO_DYNAMIC_SHAPE);
  add_bool(w, "no_kernel", i.row->flags & TL_INFO_NO_KERNEL);
  add_text(w, "table", i.table->name);
  add_text(w, "file", text(i, i.row->file));
  add_text(w, "dtypes_from", tl_op_info_source_text((tl_op_info_source)i.row->source));
  tl_put_end(w);
}

void tl_op_chip_candidates_json(tl_json_writer *w, const tl_op_chip *c, const tl_op *op) {
  tl_put_array(w);
  for (uint8_t k = 0; k < op->n_npu; k++) {
    const tl_npu_candidate *n = &op->npu[k];
    tl_op_info i = tl_op_info_find(c->info, tl_sv_from(n->judged));
    tl_put_object(w);
    add_text(w, "type", n->npu_type);
    add_text(w, "guard", n->guard);
    add_text(w, "lowering", lower_name(n->kind));
    add_text(w, "judged", n->judged);
    add_bool(w, "on_chip", tl_op_chip_has(c, n));
    add_text(w, "from", op->npu_from ? op->npu_from : "");
    tl_put_key(w, "info");
    if (i.row)
      tl_op_chip_type_json(w, i);
    else
      tl_put_null(w);
    tl_put_end(w);
  }
  tl_put_end(w);
}
