/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the parts of the pass loss-scale: start of backward, unscaling, overflow check, rule of
 * the scale, guards. */
#ifndef TL_PASSES_TRAIN_SCALE_SCALING_H
#define TL_PASSES_TRAIN_SCALE_SCALING_H

#include "passes/edit/maker.h"
#include "passes/edit/pass.h"
#include "passes/train/step/info.h"

/* Names that a scaled graph shows to its user; outputs of states are NAME.out. */
#define TL_LS_SCALE "tlr.ls.scale"
#define TL_LS_SEED "tlr.ls.seed"
#define TL_LS_FINITE "tlr.ls.finite"
#define TL_LS_BAD_RUN "tlr.ls.bad_run"

/* State of one run of the pass. A failure of memory is kept in k and checked at the end of each
 * part. */
typedef struct tl_loss_scaling {
  tl_pass *p;
  tl_module *m;
  const tl_train_config *c;
  tl_train_info info;
  tl_maker k;             /* at the end of the graph; its failures are those of the whole pass */
  bool ranks;             /* there are others to agree with */
  tl_value_id scale;      /* f32[] */
  tl_value_id counter[2]; /* i32[]: the rest of the manager's state, if it has any */
  tl_value_id start;      /* what was multiplied by the scale */
  tl_value_id started;    /* the product */
  tl_value_id *given;     /* [info.n] gradient as the model has it, NO_VALUE: is not unscaled */
  tl_value_id *source;    /* [info.n] gradient as this rank has it, still scaled */
  tl_value_id *unscaled;  /* [info.n] the same after the scale is taken away */
  tl_value_id inverse;    /* f32[]: what gradients are multiplied by */
  uint8_t *touched;       /* [n_touched] by value: where backward starts has a part in it */
  uint32_t n_touched;
  tl_value_id finite; /* bool[]: all ranks agree that no gradient overflowed */
} tl_loss_scaling;

/* Make nodes like tl_make and tl_make_list, with a mark that keeps precision modes from changing
 * their dtypes. */
tl_value_id tl_ls_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c);
tl_value_id tl_ls_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n,
                            tl_attr attr);
/* Returns v cast to a dtype; v itself if it has the dtype. */
tl_value_id tl_ls_cast(tl_maker *k, tl_value_id v, tl_dtype to);
/* Returns a maker in front of node n, or at the end of the graph for TL_NO_NODE. tl_ls_adopt takes
 * over the failures of such a maker. */
tl_maker tl_ls_before(const tl_loss_scaling *scaling, tl_node_id n);
void tl_ls_adopt(tl_loss_scaling *scaling, const tl_maker *k);
/* Gives v, which a node of this pass makes, a name that users look for. */
void tl_ls_name(tl_loss_scaling *scaling, tl_value_id v, const char *name);
/* Returns the region of a use: that of the node of the main graph that contains the user. */
tl_train_region tl_ls_region_of_use(const tl_loss_scaling *scaling, tl_use_id u);

/* Replaces the value of one use by v. */
void tl_ls_set_use(tl_module *m, tl_use_id u, tl_value_id v);

/* The point at which backward is multiplied by the scale. */
typedef struct tl_ls_start {
  tl_value_id value;   /* TL_NO_VALUE: the loss of a Gradient node, which names it */
  tl_node_id gradient; /* such a node */
} tl_ls_start;

/* Finds where backward starts: a declared or constant seed, else the value nearest to the loss in
 * which every gradient is linear. Changes nothing. E-LS-SEED, TL_NO_MEMORY; both reported.
 * O(nodes), and again for each of at most 64 candidates that fit the first gradient. */
tl_status tl_ls_find_start(tl_loss_scaling *scaling, tl_ls_start *out) TL_NODISCARD;
/* Multiplies the start by the scale. */
void tl_ls_scale_start(tl_loss_scaling *scaling, const tl_ls_start *start);

/* Checks the graph after unscaling. Refuses states and outputs that the scale still reaches,
 * whatever was recognised (E-TRN-SCALED), and gradients that it never reached (E-LS-SEED); divides
 * outputs that grow in proportion to the scale. Fills x->touched. TL_NO_MEMORY. All reported.
 * O(nodes + edges). */
tl_status tl_ls_check(tl_loss_scaling *scaling, const tl_ls_start *start) TL_NODISCARD;

/* Makes x->finite according to the configuration. E-OPT-CONFLICT, TL_NO_MEMORY; both reported. */
tl_status tl_ls_make_status(tl_loss_scaling *scaling) TL_NODISCARD;

/* Returns true for f16 and bf16. */
bool tl_ls_is_narrow(const tl_module *m, tl_value_id v);
/* Hands gradients of f16 and bf16 to their updates as x->unscaled, in f32, and widens what is
 * computed from them; see widen.c. W-LS-F16 where this is impossible; E-LS-F16, TL_NO_MEMORY.
 * Extends the regions of x->info to the nodes made here. O(nodes + edges). */
tl_status tl_ls_widen(tl_loss_scaling *scaling) TL_NODISCARD;

/* Adds the inputs of the manager's state with initial values (FIXED: a constant) and sets
 * x->scale. */
void tl_ls_make_inputs(tl_loss_scaling *scaling);
/* Makes the manager's rule as nodes, and the outputs of its state. Needs x->finite. */
void tl_ls_make_rule(tl_loss_scaling *scaling);

/* Makes updates of states depend on x->finite. TL_UNSUPPORTED for an update that is only in place,
 * TL_NO_MEMORY; both reported. */
tl_status tl_ls_guard_updates(tl_loss_scaling *scaling) TL_NODISCARD;

/* Append an output to the graph; pair a state's input with its next value. */
void tl_ls_add_output(tl_loss_scaling *scaling, tl_value_id v);
void tl_ls_add_state(tl_loss_scaling *scaling, tl_value_id input, tl_value_id output);

#endif
