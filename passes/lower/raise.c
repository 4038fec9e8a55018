/* SPDX-License-Identifier: Apache-2.0 */
/* raise: NPU ops become canonical ops, so that a model in NPU form, which came from an AIR file,
 * can be written as ONNX. Most ops are replaced by their definitions, as for the evaluator; those
 * that no definition can say are in raise.tbl. A model that keeps NPU ops is refused with their
 * list.
 *
 * Requires:  nothing; does nothing in a module without NPU ops.   Keeps: names of inputs, outputs.
 * After:     the module is in canonical form; its opset has all ops that it uses.
 * Cost:      two sweeps, and the rule engine's work on definitions.
 * Tests:     tests/golden/raise/, tests/air/raised.py */
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/lower/raise_control.h"
#include "passes/lower/raise_ops.h"

typedef tl_status (*raise_fn)(tl_module *m, tl_node_id n);

typedef struct raise_row {
  tl_op_id op;
  raise_fn fn;
} raise_row;

static const raise_row rows[] = {
#define RAISE(op, by) {TL_OP_npu_##op, tl_raise_##by},
#include "passes/lower/raise.tbl"
};

static bool is_live(const tl_node *node) {
  return node->op != TL_OP_RETURN && node->op != TL_OP_ERASED;
}

static bool is_npu(const tl_module *m, const tl_node *node) {
  return is_live(node) && tl_op_domain_symbol(m, node->op) == TL_SYM_npu;
}

static tl_status raise_node(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return tl_pass_may_rewrite(p) ? rows[i].fn(m, n) : TL_OK;
  return TL_OK;
}

/* Loops get new bodies, which come later in the list and are visited then. */
static tl_status raise_nodes(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      TL_TRY(raise_node(p, m, n));
  }
  return TL_OK;
}

/* Ops that are left, with the number of their nodes. */
typedef struct leftovers {
  tl_u32_vec ops;
  tl_u32_vec counts;
} leftovers;

static bool count_op(leftovers *l, tl_op_id op) {
  for (uint32_t i = 0; i < l->ops.n; i++)
    if (l->ops.at[i] == op) {
      l->counts.at[i]++;
      return true;
    }
  return tl_u32_vec_push(&l->ops, op) && tl_u32_vec_push(&l->counts, 1);
}

static bool find_leftovers(const tl_module *m, leftovers *l) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n)
      if (is_npu(m, tl_node_get(m, n)) && !count_op(l, tl_node_get(m, n)->op))
        return false;
  }
  return true;
}

/* Writes "npu::A (2 nodes), npu::B (1 node)". */
static void list_ops(const tl_module *m, const leftovers *l, tl_buf *list) {
  for (uint32_t i = 0; i < l->ops.n; i++) {
    tl_sv name = tl_op_name(m, l->ops.at[i]);
    tl_buf_printf(list, "%snpu::%.*s (%u node%s)", i ? ", " : "", TL_SV_ARG(name), l->counts.at[i],
                  l->counts.at[i] == 1 ? "" : "s");
  }
}

static tl_status refuse(tl_module *m, const char *list, bool asked) {
  return tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                 "%s: no ONNX form is known for these operands and attributes\v"
                 "define what the op means in a file of --rules (docs/rules.md)%s",
                 list,
                 asked ? "; --allow-unmapped cannot carry ops with graphs or with an effect"
                       : "; --allow-unmapped writes it as an op of the domain ge");
}

/* ---- ops that are carried -------------------------------------------------------------------- */

/* ONNX has no attributes that are element types: they become GE's numbers. What GE notes for itself
 * under names with _ in front, such as the names of ports, is left out where ONNX has no such
 * kind. */
static tl_status settle_attrs(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  tl_attr *kept = tl_arena_calloc(&m->arena, node->n_attrs + 1u, sizeof *kept);
  uint32_t count = 0;
  if (!kept)
    return tl_no_memory(m);
  for (uint32_t i = 0; i < node->n_attrs; i++) {
    const tl_attr *a = &node->attrs[i];
    tl_sv name = tl_sym(m, a->name);
    if (a->kind == TL_ATTR_CARRIED && (name.p[0] == '_' || tl_sv_is(name, "is_input_const")))
      continue;
    kept[count++] = a->kind == TL_ATTR_DTYPE
                        ? tl_attr_int(a->name, tl_dtype_get((tl_dtype)a->u.i)->ge_internal)
                        : *a;
  }
  return tl_node_set_attrs(m, n, kept, count);
}

/* Gives a node the same name in the domain ge, which the op table does not know. */
static tl_status carry_node(tl_module *m, tl_node_id n) {
  tl_symbol domain = tl_module_intern(m, TL_SV("ge"));
  tl_symbol name = tl_module_intern(m, tl_op_name(m, tl_node_get(m, n)->op));
  if (domain == TL_NO_SYMBOL || name == TL_NO_SYMBOL)
    return tl_no_memory(m);
  tl_op_id op = tl_op_intern(m, domain, name);
  if (op == UINT32_MAX)
    return tl_no_memory(m);
  tl_node_set_op(m, n, op);
  TL_TRY(settle_attrs(m, n));
  return tl_module_set_opset(m, domain, 1);
}

/* Carries what has no ONNX form. Graphs of a node see nothing from outside, so that a node with
 * graphs cannot stand in ONNX; nor can one that is there for its effect, such as Assign, since ONNX
 * computes results alone. */
static tl_status carry(tl_module *m, const char *list) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      const tl_node *node = tl_node_get(m, n);
      if (!is_npu(m, node))
        continue;
      if (tl_op_has_trait(node->op, TL_TRAIT_BODY | TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL))
        return refuse(m, list, true);
      TL_TRY(carry_node(m, n));
    }
  }
  tl_warn_code(m->diag, "W_UNMAPPED", TL_AT_FILE(m->path),
               "%s: written as ops of the domain ge, of which a runtime needs kernels", list);
  return TL_OK;
}

static tl_status check_leftovers(const tl_pass *p, tl_module *m) {
  leftovers l = {0};
  tl_buf list;
  tl_buf_init(&list);
  bool ok = find_leftovers(m, &l);
  list_ops(m, &l, &list);
  tl_status status = ok && !list.failed ? TL_OK : tl_no_memory(m);
  if (status == TL_OK && l.ops.n)
    status = p->options->allow_unmapped ? carry(m, list.p) : refuse(m, list.p, false);
  tl_buf_release(&list);
  tl_u32_vec_release(&l.ops);
  tl_u32_vec_release(&l.counts);
  return status;
}

/* Imports the oldest opset of ai.onnx that has every op. */
static tl_status set_opset(tl_module *m) {
  int64_t opset = tl_module_needed_opset(m);
  return opset > tl_module_opset(m, 0) ? tl_module_set_opset(m, 0, opset) : TL_OK;
}

/* Returns the name of an operand that the op needs and the node lacks, NULL if it has all. */
static const char *lacking(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(node->op);
  for (uint32_t i = 0; row && (i < row->min_operands || i < node->n_operands); i++) {
    const tl_op_port *port = tl_op_operand_port(row, i);
    if (port && port->kind != TL_PORT_OPTIONAL && (i >= node->n_operands || !tl_operand(m, n, i)))
      return port->name;
  }
  return NULL;
}

/* NPU ops may have fewer operands than the ONNX ops that do the same: a ConcatD of nothing. */
static tl_status check_operands(tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      const char *name = lacking(m, n);
      if (name)
        return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                       "it becomes %.*s of ONNX, which needs an operand '%s' that the node lacks",
                       TL_SV_ARG(tl_op_name(m, tl_node_get(m, n)->op)), name);
    }
  }
  return TL_OK;
}

tl_status tl_pass_raise(tl_pass *p, tl_module *m) {
  if (m->form != TL_FORM_NPU)
    return TL_OK;
  TL_TRY(raise_nodes(p, m));
  TL_TRY(tl_pass_expand_definitions(p, m));
  TL_TRY(check_leftovers(p, m));
  TL_TRY(check_operands(m));
  m->form = TL_FORM_CANONICAL;
  return set_opset(m);
}
