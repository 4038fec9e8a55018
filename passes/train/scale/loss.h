/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pass loss-scale: where backward starts, how overflow is found, how the scale goes
 * on, which updates wait. */
#ifndef TL_PASSES_TRAIN_SCALE_LOSS_H
#define TL_PASSES_TRAIN_SCALE_LOSS_H

#include "passes/edit/maker.h"
#include "passes/edit/pass.h"
#include "passes/train/step/info.h"

/* Names that a scaled graph shows to its user; outputs of states are NAME.out. */
#define TL_LS_SCALE "tlr.ls.scale"
#define TL_LS_SEED "tlr.ls.seed"
#define TL_LS_FINITE "tlr.ls.finite"
#define TL_LS_BAD_RUN "tlr.ls.bad_run"

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
  tl_value_id finite;     /* bool[]: all ranks agree that no gradient overflowed */
} tl_loss_scaling;

/* Nodes as tl_make and its kin make them, whose dtypes no precision mode changes. */
tl_value_id tl_ls_make(tl_maker *k, tl_op_id op, tl_value_id a, tl_value_id b, tl_value_id c);
tl_value_id tl_ls_make_list(tl_maker *k, tl_op_id op, const tl_value_id *at, uint32_t n,
                            tl_attr attr);
/* v itself when it has the dtype. */
tl_value_id tl_ls_cast(tl_maker *k, tl_value_id v, tl_dtype to);
/* A maker in front of a node, or at the end of the graph; adopt takes its failures over. */
tl_maker tl_ls_before(const tl_loss_scaling *x, tl_node_id n);
void tl_ls_adopt(tl_loss_scaling *x, const tl_maker *k);
/* Gives a value, made by a node of ours, a name that a user is to find. */
void tl_ls_name(tl_loss_scaling *x, tl_value_id v, const char *name);
/* Region of the node of the main graph that a use belongs to, whatever body it is in. */
tl_train_region tl_ls_region_of_use(const tl_loss_scaling *x, tl_use_id u);

/* Lets one use be of another value. */
void tl_ls_set_use(tl_module *m, tl_use_id u, tl_value_id v);

/* What backward is multiplied at. */
typedef struct tl_ls_start {
  tl_value_id value;   /* TL_NO_VALUE: the loss of a Gradient node, which names it */
  tl_node_id gradient; /* such a node */
} tl_ls_start;

/* Finds where backward starts: a declared or constant seed, else the value nearest to the loss in
 * which every gradient is linear; E-LS-SEED. Changes nothing. O(nodes), and again for each of at
 * most 64 candidates that fit the first gradient. */
tl_status tl_ls_find_start(tl_loss_scaling *x, tl_ls_start *out) TL_NODISCARD;
/* Multiplies it by the scale. */
void tl_ls_scale_start(tl_loss_scaling *x, const tl_ls_start *start);

/* After unscaling: refuses states and outputs that the scale still reaches, whatever was recognised
 * (E-TRN-SCALED), and gradients that it never reached (E-LS-SEED); divides outputs that grow in
 * proportion. Fills x->touched. O(nodes + edges). */
tl_status tl_ls_check(tl_loss_scaling *x, const tl_ls_start *start) TL_NODISCARD;

/* Makes x->finite as the configuration asks. TL_UNSUPPORTED and E-LS codes are reported. */
tl_status tl_ls_make_status(tl_loss_scaling *x) TL_NODISCARD;

/* f16 or bf16? */
bool tl_ls_is_narrow(const tl_module *m, tl_value_id v);
/* Gradients of f16 and bf16 go to their updates as x->unscaled, in f32, with all that is computed
 * of them; see widen.c. W-LS-F16 where they cannot. Regions of x->info then have
 * the nodes made here. O(nodes + edges). */
tl_status tl_ls_widen(tl_loss_scaling *x) TL_NODISCARD;

/* Inputs of the manager's state with initial values (FIXED: a constant); sets x->scale. */
void tl_ls_make_inputs(tl_loss_scaling *x);
/* The manager's rule as nodes, and the outputs of its state. Needs x->finite. */
void tl_ls_make_rule(tl_loss_scaling *x);

/* Updates of states happen only when x->finite. */
tl_status tl_ls_guard_updates(tl_loss_scaling *x) TL_NODISCARD;

/* Appends an output to the graph; pairs a state with its successor. */
void tl_ls_add_output(tl_loss_scaling *x, tl_value_id v);
void tl_ls_add_state(tl_loss_scaling *x, tl_value_id input, tl_value_id output);

#endif
