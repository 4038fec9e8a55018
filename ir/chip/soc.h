/* SPDX-License-Identifier: Apache-2.0 */
/* Chips by the names users write, and the facts of their families (soc.tbl). */
#ifndef TL_IR_CHIP_SOC_H
#define TL_IR_CHIP_SOC_H

#include <stdint.h>

#include "support/str.h"

/* Chip families that guards of the op table and built-in op information distinguish. */
typedef enum tl_soc_family {
  TL_SOC_A2, /* Ascend910B and what came after it: the default */
  TL_SOC_910 /* Ascend910 (910A) and the older 310 line */
} tl_soc_family;

/* Whether a chip runs several nodes as one kernel (buffer fusion). */
typedef enum tl_soc_ub {
  TL_SOC_UB_NONE,
  TL_SOC_UB_ONE_CORE, /* of whatever nodes */
  TL_SOC_UB_SPLIT     /* cube and vector nodes have cores of their own */
} tl_soc_ub;

typedef struct tl_soc {
  const char *name; /* of the family: "Ascend910_93" */
  tl_soc_family table;
  bool bf16;     /* converts to bfloat16 */
  bool hif8;     /* converts to hifloat8 */
  bool cube_f32; /* products of f32 operands with f32 results */
  tl_soc_ub ub;
  uint64_t memory;      /* bytes of each chip; 0: they differ, or it is not known */
  const char *training; /* precision_mode of training runs by default, "" when it only infers */
} tl_soc;

/* The family of a chip, upper and lower case alike; NULL when the name is unknown. *canonical, when
 * asked for, gets the name as the device compiler spells it: static, or of `name` itself. */
const tl_soc *tl_soc_find(tl_sv name, tl_sv *canonical);
/* Bytes of memory of a chip; 0 if that is not known. O(chips). */
uint64_t tl_soc_memory(tl_sv name);
/* The i-th full name, in the order of the table; NULL beyond the last. */
const char *tl_soc_name(uint32_t i);
/* The family of the default chip, Ascend910B1. */
const tl_soc *tl_soc_default(void);
/* The known name that an unknown one most likely meant; NULL when none is close. */
const char *tl_soc_nearest(tl_sv name);

#endif
