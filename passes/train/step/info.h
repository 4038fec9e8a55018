/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the training step of the main graph: parameters, their gradients, updates, and node
 * regions.
 * Passes call tl_train_detect (find_step.h) anew after every change of the graph. Nothing is kept
 * between passes except what the module itself declares (its states and gradients). */
#ifndef TL_PASSES_TRAIN_STEP_INFO_H
#define TL_PASSES_TRAIN_STEP_INFO_H

#include "passes/train/step/state.h"
#include "support/arena.h"
#include "support/assert.h"

typedef enum tl_train_form {
  TL_TRAIN_NONE,      /* nothing was recognised */
  TL_TRAIN_ARTIFACTS, /* gradients go into accumulators of ONNX Runtime */
  TL_TRAIN_SINGLE,    /* optimizers of ONNX Runtime in the same graph */
  TL_TRAIN_PREVIEW,   /* optimizers of ai.onnx.preview.training, or its Gradient */
  TL_TRAIN_PLAIN      /* arithmetic, other known ops, or declarations */
} tl_train_form;

typedef enum tl_train_region {
  TL_REGION_NONE,     /* feeds updates or outputs only: rates, counters, metrics */
  TL_REGION_FORWARD,  /* the loss depends on it */
  TL_REGION_BACKWARD, /* a raw gradient depends on it, and the loss does not */
  TL_REGION_UPDATE,   /* depends on a raw gradient */
  TL_N_REGIONS
} tl_train_region;

typedef enum tl_grad_class {
  TL_GRAD_DENSE,
  TL_GRAD_SPARSE, /* rows: values and the indices that they belong to */
  TL_GRAD_DONE    /* a collective stands between it and its update already */
} tl_grad_class;

enum { TL_TRAIN_MAX_STATES = 4 }; /* of one parameter, beside itself */

/* A parameter and its gradient. Ids stay valid until the graph changes. */
typedef struct tl_train_grad {
  tl_value_id param;     /* input of the graph */
  tl_value_id param_out; /* its next value; TL_NO_VALUE: the model does not update it */
  tl_value_id raw;       /* the gradient as backward gives it; SPARSE: its values */
  tl_value_id indices;   /* SPARSE: the rows; else TL_NO_VALUE */
  tl_node_id producer;   /* of raw; TL_NO_NODE: raw is an input */
  tl_node_id update;     /* makes param_out; TL_NO_NODE: nobody does */
  tl_node_id comm;       /* DONE: the collective on raw; else TL_NO_NODE */
  tl_value_id state_in[TL_TRAIN_MAX_STATES]; /* moments and the like; */
  tl_value_id
      state_out[TL_TRAIN_MAX_STATES]; /* counters that parameters share are not among them */
  uint32_t n_states;
  uint32_t rank;  /* place in the order in which gradients become ready: its index in grads */
  uint64_t bytes; /* of raw; 0: its shape is not static */
  uint8_t dtype;  /* tl_dtype of raw */
  uint8_t cls;    /* tl_grad_class */
} tl_train_grad;

/* An input, and an output that may be its next value, or is, of which too little is known. */
typedef struct tl_train_untold {
  tl_value_id input;
  tl_value_id output;
  bool gradient; /* a parameter whose gradient is not known; false: it may be a state */
  bool said;     /* a warning has said so */
} tl_train_untold;

#define TL_TRAIN_NO_OWNER UINT32_MAX     /* node depends on no raw gradient */
#define TL_TRAIN_SHARED (UINT32_MAX - 1) /* on several: norms, counters, multi-tensor updates */

/* The result of tl_train_detect; all arrays live in the arena given to it. */
typedef struct tl_train_info {
  tl_train_grad *grads; /* [n] in the order in which they become ready */
  uint32_t n;
  tl_value_id *frozen; /* [n_frozen] parameters that no gradient reaches */
  uint32_t n_frozen;
  tl_train_untold *untold; /* [n_untold] */
  uint32_t n_untold;
  tl_value_id *other_in;  /* [n_others] inputs whose next value is an output, of no parameter: */
  tl_value_id *other_out; /* counters, statistics */
  uint32_t n_others;
  tl_value_id loss; /* TL_NO_VALUE: not known */
  tl_value_id seed; /* where backward starts; TL_NO_VALUE: no value of its own */
  tl_train_form form;
  bool opaque;      /* all gradients come from one node, so that nothing can overlap */
  uint32_t n_nodes; /* entries of the tables below, indexed by node id; nodes of bodies: 0 */
  uint8_t *region;  /* tl_train_region */
  uint32_t *owner;  /* UPDATE: index of the only gradient it depends on, or TL_TRAIN_SHARED */
} tl_train_info;

/* Returns the region of a node; TL_REGION_NONE for a node made after the detection. O(1). */
static inline tl_train_region tl_train_region_of(const tl_train_info *t, tl_node_id n) {
  TL_ASSERT(n >= t->n_nodes || t->region[n] < TL_N_REGIONS);
  return n < t->n_nodes ? (tl_train_region)t->region[n] : TL_REGION_NONE;
}

/* Warns about parameters and states that could not be told, each with the line of --train-spec that
 * would declare it. */
void tl_train_warn_untold(const tl_module *m, const tl_train_info *t);

/* Returns an input with the value of constant v, which the input replaces; returns v itself if v is
 * no constant, TL_NO_VALUE if memory is out (unreported). */
tl_value_id tl_train_as_input(tl_module *m, tl_value_id v);

/* Drops the declarations of the module's training step and their metadata (tailor.train.*, except
 * update_ops): from now on only states and gradients of the module describe the step. */
void tl_train_settle(tl_module *m);

/* Writes what was recognised into the module, where later passes find it whatever they do to the
 * graph: states, gradients in their order, loss and seed. Parameters and states that are constants
 * become inputs with that value, and *t then names the inputs. Sets *changed if something was new.
 * TL_NO_MEMORY, reported. */
tl_status tl_train_record(tl_module *m, tl_train_info *t, bool *changed) TL_NODISCARD;

#endif
