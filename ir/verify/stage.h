/* SPDX-License-Identifier: Apache-2.0 */
/* What may exist at a stage of the way to the NPU (stages.tbl): asked by the verifier, by lower,
 * and by the check at the end of the pipeline. */
#ifndef TL_IR_VERIFY_STAGE_H
#define TL_IR_VERIFY_STAGE_H

#include "ir/module.h"

typedef enum tl_npu_stage {
  TL_NPU_STAGE_CANONICAL,
  TL_NPU_STAGE_SPELLED, /* expansions have named NPU ops */
  TL_NPU_STAGE_SELECTED,
  TL_NPU_STAGE_EXPANDED, /* selected, and what needs several NPU ops is spelled out */
  TL_NPU_STAGE_NPU
} tl_npu_stage;

typedef struct tl_npu_stage_rule {
  const char *name;    /* static, as in stages.tbl */
  const char *message; /* static; follows the name of the op or value */
} tl_npu_stage_rule;

/* The stage that a module's form stands for; EXPANDED is not a form. */
tl_npu_stage tl_npu_stage_of_form(tl_form form);
/* The first rule that a node breaks; NULL when it may exist. RETURN always may. */
const tl_npu_stage_rule *tl_npu_stage_forbids(const tl_module *m, tl_npu_stage stage, tl_node_id n);
/* The same for an input or output of the main graph. */
const tl_npu_stage_rule *tl_npu_stage_forbids_edge(const tl_module *m, tl_npu_stage stage,
                                                   tl_value_id v);

#endif
