/* SPDX-License-Identifier: Apache-2.0 */
/* Links the training model of ONNX Runtime's artifacts and their optimizer model to one step.
 * The first gives a gradient for each parameter, the second takes lists of parameters, gradients
 * and moments. Used by the pass link-models alone. */
#ifndef TL_PASSES_TRAIN_STEP_LINK_H
#define TL_PASSES_TRAIN_STEP_LINK_H

#include "passes/edit/pass.h"
#include "support/map.h"

/* A parameter that has a gradient in the training model. */
typedef struct tl_link_param {
  tl_value_id param;  /* input of the main graph */
  tl_value_id buffer; /* input of its accumulator; TL_NO_VALUE: there is none */
  tl_value_id grad;   /* what the optimizer reads: accumulated where it is */
  tl_symbol name;
  bool listed; /* in what a user says of the list */
  bool updated;
} tl_link_param;

/* State of linking the two models. */
typedef struct tl_linking {
  tl_pass *p;
  tl_module *m;
  const char *path;  /* of the optimizer model, for messages */
  tl_graph *train;   /* the main graph */
  tl_graph *optim;   /* the other root graph */
  tl_link_param *at; /* [n] in the order of their buffers among the inputs */
  uint32_t n;
  tl_map given;    /* owned; symbol -> input or constant of the training model */
  tl_map named;    /* owned; symbol of a parameter's name -> index + 1 */
  tl_map of_param; /* owned; value -> index + 1 of the parameter that it is */
  tl_map of_grad;  /* owned; value -> index + 1 of the parameter that it is the gradient of */
  uint32_t *order; /* [n_order] indices: the list of the optimizer, where it has no names */
  uint32_t n_order;
  tl_node_id first;   /* of the optimizer: lists go before it */
  tl_u32_vec updates; /* owned; update nodes of the optimizer */
  tl_u32_vec outputs; /* owned; values that leave the step besides the next values of states */
} tl_linking;

/* Returns a fresh name "BASEsuffix", changed if it is taken; TL_NO_SYMBOL if memory is out. */
tl_symbol tl_link_name(tl_linking *linking, tl_sv base, const char *suffix);
/* Returns true if name is that of some parameter's gradient, by one of the names that ONNX
 * Runtime's tools give it. *out: index into x->at. */
bool tl_link_find_grad(const tl_linking *linking, tl_sv name, uint32_t *out);
/* Returns true if a parameter has that name. *out: index into x->at. */
bool tl_link_find(const tl_linking *linking, tl_sv name, uint32_t *out);
/* Gives an input without an initial value zeros, if its sizes are known. Moments and buffers start
 * so. TL_NO_MEMORY, reported. */
tl_status tl_link_start_from_zeros(tl_linking *linking, tl_value_id input) TL_NODISCARD;
/* Returns node n with at least n_results results: n itself, or a node that replaces it. New results
 * are named after the first one and have no type. TL_NO_NODE if memory is out. */
tl_node_id tl_link_widen(tl_linking *linking, tl_node_id n, uint32_t n_results);

/* Fills at, named, of_param, of_grad and order, gives accumulators a result for their sum, and
 * declares buffers as states of the module. Errors: E-TRN-LINK, E-TRN-SHAPE, E-TRN-DTYPE,
 * E-TRN-NOTENSOR, E-TRN-DUP, TL_NO_MEMORY; all reported. */
tl_status tl_link_find_params(tl_linking *linking) TL_NODISCARD;
/* Replaces every input of the optimizer by values of the main graph; lists become SequenceConstruct
 * nodes. Errors: E-TRN-LINK, E-TRN-LENGTH, E-TRN-NOTENSOR, E-TRN-SHAPE, E-TRN-DTYPE, TL_NO_MEMORY;
 * all reported. */
tl_status tl_link_inputs(tl_linking *linking) TL_NODISCARD;
/* Gives each parameter and moment a next value and declares them as states; the graphs are one by
 * then. Errors: E-TRN-LINK, E-TRN-LENGTH, E-TRN-NOTENSOR, E-TRN-DUP, TL_NO_MEMORY; all reported. */
tl_status tl_link_updates(tl_linking *linking) TL_NODISCARD;
/* Checks that a tensor of the optimizer fits one of the training model. E-TRN-DTYPE,
 * E-TRN-SHAPE. */
tl_status tl_link_check_type(const tl_linking *linking, tl_type_id wanted, tl_value_id given,
                             tl_sv name) TL_NODISCARD;

#endif
