/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of compiled candidates at one node (tl_site.node; values and names of rules are not
 * there). What is not known is NONE (passes/expr/expr.h), so that a guard holds only on facts. */
#ifndef TL_PASSES_NPU_EVAL_H
#define TL_PASSES_NPU_EVAL_H

#include "passes/npu/expr.h"
#include "passes/npu/facts.h"

/* The first candidate of x->node whose guard holds, -1: none. *out is NULL then. */
tl_status tl_npu_choose(tl_npu_forms *forms, tl_site *site, int16_t *candidate,
                        const tl_npu_form **out) TL_NODISCARD;
/* Returns true if port p of the NPU op takes value v. The element type must be one of the
 * prototype's: although precision may change the type of v later, the device compiler is told
 * not to. Unknown types may be anything, and int64 indices are accepted by int32 ports
 * (lower_index.h). */
bool tl_npu_takes(const tl_module *m, const tl_op *npu, const tl_op_port *p, tl_value_id v);
/* True when operands and results that a candidate passes on unchanged have element types that the
 * NPU op's prototype takes, as far as they are known; f32 counts as what precision makes of it. */
bool tl_npu_takes_dtypes(const tl_site *site, const tl_npu_form *form);

/* True when the guard (NULL: always) holds on what is known. */
bool tl_npu_guard_holds(tl_site *site, const tl_expr *guard);
/* Value of an expression, with the functions of guards. */
tl_rv tl_npu_evaluate(tl_site *site, const tl_expr *e);
/* Value of an attribute conversion (attrs.c). */
tl_rv tl_npu_convert(tl_site *site, const tl_expr *e);
/* Turns a value into an attribute of the given kind (TL_ATTR_NONE: the value's own); kind NONE in
 * the result when that cannot be done. */
tl_attr tl_npu_attr_from(tl_site *site, tl_symbol name, uint8_t kind, tl_rv v);
/* Operands that an operand expression stands for (operands.c): *n of them, TL_NO_VALUE for an
 * absent one. New constants are added to the node's graph. False with x->why or x->failed set. */
bool tl_npu_operands(tl_site *site, const tl_expr *e, tl_value_id **out, uint32_t *n);

#endif
