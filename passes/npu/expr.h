/* SPDX-License-Identifier: Apache-2.0 */
/* NPU candidates of the op table (guard, operands, attributes; notation in docs/op-table.md),
 * compiled once for each module into trees (passes/expr). Evaluation is in eval.h. */
#ifndef TL_PASSES_NPU_EXPR_H
#define TL_PASSES_NPU_EXPR_H

#include "ir/module.h"
#include "ir/options/options.h"
#include "passes/expr/expr.h"

/* One port=expr or attribute=expr. */
typedef struct tl_npu_binding {
  tl_symbol name;
  uint32_t index; /* of the port or attribute in the prototype; UINT32_MAX: "+attr" */
  const tl_expr *value;
} tl_npu_binding;

/* A compiled candidate: guard, and how operands and attributes of the NPU node are made. */
typedef struct tl_npu_form {
  const tl_npu_candidate *row;
  const tl_expr *guard; /* NULL: always */
  const tl_op *npu;     /* prototype; NULL for kind NONE */
  tl_op_id npu_id;
  const tl_npu_binding *operands;
  const tl_npu_binding *attrs;
  uint32_t n_operands;
  uint32_t n_attrs;
} tl_npu_form;

/* Compiled candidates of all ops, each compiled on first use. The module keeps them, so that a
 * later pass finds those of an earlier one. */
typedef struct tl_npu_forms {
  tl_module *m;
} tl_npu_forms;

/* Finds the forms of a module, or starts them. Returns TL_NO_MEMORY, reported. */
tl_status tl_npu_forms_init(tl_npu_forms *f, tl_module *m) TL_NODISCARD;
/* Returns in *out all candidates of op < tl_n_op_rows, in order of preference; NULL if it has none.
 * Reports TL_NO_MEMORY, or TL_INTERNAL for a mistake in the op table. */
tl_status tl_npu_forms_get(tl_npu_forms *f, tl_op_id op, const tl_npu_form **out) TL_NODISCARD;

/* Compiles one expression of a place (tl_expr_place); NULL with *why set (a text in the arena, or
 * NULL: memory) on a mistake. */
const tl_expr *tl_npu_expr_parse(tl_module *m, tl_arena *arena, tl_sv text, unsigned place,
                                 const char **why);

/* False when a guard (NULL: always) fails on every node of a model for such a chip. */
bool tl_npu_may_hold_on(const tl_module *m, const tl_expr *guard, tl_soc_family chip);

#endif
