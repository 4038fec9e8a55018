/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles candidates of the op table against the prototypes of NPU ops: names become indices
 * (expr.h). Each op is compiled on first use, since a model has few of all ops. */
#include <stddef.h>

#include "passes/npu/expr.h"

/* State of compiling the candidates of one op. */
typedef struct compiler {
  tl_npu_forms *forms;
  const tl_op *op; /* the op that has the candidates */
  const char *why;
  tl_sv at; /* text being compiled, for messages */
} compiler;

/* Cuts the first item off a comma-separated list; commas in brackets and quotes do not separate. */
static tl_sv cut_item(tl_sv *rest) {
  size_t i = 0;
  int depth = 0;
  bool quoted = false;
  for (; i < rest->n; i++) {
    char c = rest->p[i];
    quoted = quoted != (c == '"');
    depth += !quoted && (c == '(' || c == '[');
    depth -= !quoted && (c == ')' || c == ']');
    if (c == ',' && !quoted && depth == 0)
      break;
  }
  tl_sv item = {rest->p, i};
  size_t used = i < rest->n ? i + 1 : i;
  *rest = (tl_sv){rest->p + used, rest->n - used};
  return tl_sv_trim(item);
}

/* Returns the index of an operand port in the prototype; UINT32_MAX if there is none. */
static uint32_t find_port(const tl_op *npu, tl_sv name) {
  for (uint32_t i = 0; i < npu->n_operand_ports; i++)
    if (tl_sv_is(name, npu->operands[i].name))
      return i;
  return UINT32_MAX;
}

/* Returns the index of an attribute in the prototype; UINT32_MAX if there is none. */
static uint32_t find_attr(const tl_op *npu, tl_symbol name) {
  for (uint32_t i = 0; i < npu->n_attrs; i++)
    if (npu->attrs[i].value.name == name)
      return i;
  return UINT32_MAX;
}

/* Compiles name=expr. "+name" need not be an attribute of the prototype. Returns false
 * with c->why set, or without for out of memory. */
static bool compile_binding(compiler *c, const tl_op *npu, bool is_attr, tl_sv item,
                            tl_npu_binding *out) {
  const char *equals = memchr(item.p, '=', item.n);
  c->at = item;
  if (!equals) {
    c->why = "missing =";
    return false;
  }
  tl_sv name = tl_sv_trim((tl_sv){item.p, (size_t)(equals - item.p)});
  tl_sv value = {equals + 1, item.n - (size_t)(equals + 1 - item.p)};
  bool extra = is_attr && tl_sv_starts_with(name, "+");
  if (extra)
    name = (tl_sv){name.p + 1, name.n - 1};
  out->name = tl_module_intern(c->forms->m, name);
  out->index = is_attr ? find_attr(npu, out->name) : find_port(npu, name);
  if (!extra && out->index == UINT32_MAX) {
    c->why = "the prototype has no such port or attribute";
    return false;
  }
  out->value = tl_npu_expr_parse(c->forms->m, &c->forms->m->arena, value,
                                 is_attr ? TL_IN_ATTRS : TL_IN_OPERANDS, &c->why);
  return out->value && out->name != TL_NO_SYMBOL;
}

/* Compiles a comma-separated list of bindings into the arena. Returns false as compile_binding
 * does. */
static bool compile_bindings(compiler *c, const tl_op *npu, bool is_attr, const char *text,
                             const tl_npu_binding **out, uint32_t *n) {
  tl_sv all = tl_sv_from(text);
  uint32_t count = 0;
  for (tl_sv rest = all; rest.n; count++)
    cut_item(&rest);
  tl_npu_binding *at = tl_arena_calloc(&c->forms->m->arena, count, sizeof *at);
  if (!at)
    return false;
  for (uint32_t i = 0; i < count; i++)
    if (!compile_binding(c, npu, is_attr, cut_item(&all), &at[i]))
      return false;
  *out = at;
  *n = count;
  return true;
}

/* Compiles one row of the table. A row without an NPU type has no bindings. */
static bool compile(compiler *c, const tl_npu_candidate *row, tl_npu_form *form) {
  tl_npu_forms *f = c->forms;
  form->row = row;
  c->at = tl_sv_from(row->guard);
  if (strcmp(row->guard, "always") != 0) {
    form->guard = tl_npu_expr_parse(f->m, &f->m->arena, c->at, TL_IN_GUARDS, &c->why);
    if (!form->guard)
      return false;
  }
  if (!row->npu_type[0])
    return true;
  tl_symbol domain = tl_module_intern(f->m, TL_SV("npu"));
  form->npu_id = tl_op_find(domain, tl_module_intern(f->m, tl_sv_from(row->npu_type)));
  form->npu = tl_op_row(form->npu_id);
  c->at = tl_sv_from(row->npu_type);
  if (!form->npu) {
    c->why = "no prototype of that name";
    return false;
  }
  return compile_bindings(c, form->npu, false, row->operands, &form->operands, &form->n_operands) &&
         compile_bindings(c, form->npu, true, row->attrs, &form->attrs, &form->n_attrs);
}

tl_status tl_npu_forms_init(tl_npu_forms *f, tl_module *m) {
  if (!m->npu_forms)
    m->npu_forms = tl_arena_calloc(&m->arena, tl_n_op_rows, sizeof *m->npu_forms);
  f->m = m;
  return m->npu_forms ? TL_OK : tl_no_memory(m);
}

tl_status tl_npu_forms_get(tl_npu_forms *f, tl_op_id op, const tl_npu_form **out) {
  const tl_op *row = tl_op_row(op);
  *out = f->m->npu_forms[op];
  if (*out || row->n_npu == 0)
    return TL_OK;
  compiler c = {.forms = f, .op = row};
  tl_npu_form *forms = tl_arena_calloc(&f->m->arena, row->n_npu, sizeof *forms);
  bool ok = forms != NULL;
  for (uint32_t i = 0; ok && i < row->n_npu; i++)
    ok = compile(&c, &row->npu[i], &forms[i]);
  if (!ok && !c.why)
    return tl_no_memory(f->m);
  if (!ok)
    return tl_fail(f->m->diag, TL_INTERNAL, TL_AT_NODE(NULL, tl_sv_from(row->name)),
                   "op table: '%.*s': %s", TL_SV_ARG(c.at), c.why);
  f->m->npu_forms[op] = forms;
  *out = forms;
  return TL_OK;
}
