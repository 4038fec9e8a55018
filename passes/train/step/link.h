/* SPDX-License-Identifier: Apache-2.0 */
/* Linking the training model of ONNX Runtime's artifacts with their optimizer model to one step.
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
  bool listed;  /* in what a user says of the list */
  bool updated;
} tl_link_param;

typedef struct tl_linking {
  tl_pass *p;
  tl_module *m;
  const char *path;    /* of the optimizer model, for messages */
  tl_graph *train;     /* the main graph */
  tl_graph *optim;     /* the other root graph */
  tl_link_param *at;   /* [n] in the order of their buffers among the inputs */
  uint32_t n;
  tl_map given;        /* owned; symbol -> input or constant of the training model */
  tl_map named;        /* owned; symbol of a parameter's name -> index + 1 */
  tl_map of_param;     /* owned; value -> index + 1 of the parameter that it is */
  tl_map of_grad;      /* owned; value -> index + 1 of the parameter that it is the gradient of */
  uint32_t *order;     /* [n_order] indices: the list of the optimizer, where it has no names */
  uint32_t n_order;
  tl_node_id first;    /* of the optimizer: lists go before it */
  tl_u32_vec updates;  /* owned; update nodes of the optimizer */
  tl_u32_vec outputs;  /* owned; values that leave the step besides the next values of states */
} tl_linking;

/* Named "BASEsuffix", or like that where the name is taken; TL_NO_SYMBOL when memory is out. */
tl_symbol tl_link_name(tl_linking *x, tl_sv base, const char *suffix);
/* Whether name is that of the gradient of some parameter, by one of the names ONNX Runtime's tools
 * give it; *out: its index. */
bool tl_link_find_grad(const tl_linking *x, tl_sv name, uint32_t *out);
/* An index into x->at of a parameter of that name; false: there is none. */
bool tl_link_find(const tl_linking *x, tl_sv name, uint32_t *out);
/* Lets an input without a default start from zeros, if its sizes are known: a moment, or a buffer.
 * TL_NO_MEMORY, reported. */
tl_status tl_link_start_from_zeros(tl_linking *x, tl_value_id input) TL_NODISCARD;
/* The node with at least n results: itself, or one in its place. New results are called after the
 * first one and have no type. TL_NO_NODE when memory is out. */
tl_node_id tl_link_widen(tl_linking *x, tl_node_id n, uint32_t n_results);

/* Fills at, named, of_param, of_grad, order, and lets accumulators give what they have. The module
 * says then that buffers are states. Errors: E-TRN-LINK, E-TRN-SHAPE, E-TRN-DTYPE, E-TRN-NOTENSOR,
 * E-TRN-DUP. */
tl_status tl_link_find_params(tl_linking *x) TL_NODISCARD;
/* Puts values of the main graph in the place of all inputs of the optimizer: lists are spelled out.
 * Errors: E-TRN-LINK, E-TRN-LENGTH, E-TRN-NOTENSOR, E-TRN-SHAPE, E-TRN-DTYPE. */
tl_status tl_link_inputs(tl_linking *x) TL_NODISCARD;
/* Once the graphs are one: each parameter and moment has a next value and is a state. Errors:
 * E-TRN-LINK, E-TRN-LENGTH, E-TRN-DUP. */
tl_status tl_link_updates(tl_linking *x) TL_NODISCARD;
/* Checks that a tensor of the optimizer can be one of the training model, by dtype and shape. */
tl_status tl_link_check_type(const tl_linking *x, tl_type_id wanted, tl_value_id given,
                             tl_sv name) TL_NODISCARD;

#endif
