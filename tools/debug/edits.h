/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that make a model smaller. A step is tried on a copy of the model in a process of its own,
 * and then done on the model itself; it does the same to both. */
#ifndef TL_TOOLS_DEBUG_EDITS_H
#define TL_TOOLS_DEBUG_EDITS_H

#include "tools/run/evaluation.h"

typedef enum tl_edit_kind {
  TL_EDIT_CUT,    /* nodes go; what others need of them becomes inputs, or constants */
  TL_EDIT_PASS,   /* a pass runs: bodies of conditions that are known are inlined */
  TL_EDIT_FREEZE, /* an input becomes a constant of ones */
  TL_EDIT_FILL,   /* all elements of a constant become one number */
  TL_EDIT_ATTR,   /* an attribute gets its default */
  TL_EDIT_SIZE    /* a dim of an input becomes smaller */
} tl_edit_kind;

/* One step. Lists are borrowed. */
typedef struct tl_reduction {
  tl_edit_kind kind;
  const tl_node_id *nodes; /* CUT */
  uint32_t n_nodes;
  const tl_value_id *outputs; /* CUT: those that stay; NULL: all that still exist */
  uint32_t n_outputs;
  const char *pass;  /* PASS */
  tl_value_id value; /* FREEZE, FILL, SIZE */
  double fill;       /* FILL */
  int axis;          /* SIZE */
  int64_t size;
  tl_node_id node; /* ATTR */
  tl_symbol attr;
} tl_reduction;

/* What a run of the whole model showed of its values. */
typedef struct tl_recorded {
  tl_type_id *type;     /* owned; by value id, TL_NO_TYPE: it was not seen */
  tl_tensor_id *tensor; /* owned; contents of small tensors that hold no floats */
  uint32_t n;
} tl_recorded;

/* Runs the model (a copy of it) on the inputs that options ask for and records its values. The
 * types of its inputs become those of this run. A model that cannot be run leaves *out empty, and
 * reports nothing. TL_NO_MEMORY. */
tl_status tl_record(tl_evaluation *e, tl_module *m, tl_recorded *out) TL_NODISCARD;
void tl_recorded_release(tl_recorded *r);

/* Does a step. Returns false if it cannot be done, or does nothing; the module is then only good
 * for destruction. */
bool tl_edit_do(tl_cli *cli, tl_module *m, const tl_recorded *r, const tl_reduction *e);

#endif
