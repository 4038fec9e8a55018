/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes the model-local functions and bounds the number of nodes that inlining them makes. */
#ifndef TL_FRONTEND_ONNX_FUNCTIONS_H
#define TL_FRONTEND_ONNX_FUNCTIONS_H

#include "frontend/onnx/reader.h"

enum {
  TL_FUNCTION_INPUT = 4,
  TL_FUNCTION_OUTPUT = 5,
  TL_FUNCTION_NODE = 7,
  TL_FUNCTION_VALUE_INFO = 12
}; /* fields of a FunctionProto that calls read */

/* A model-local function. */
typedef struct tl_function {
  tl_symbol domain;
  tl_symbol name;
  tl_symbol overload;
  tl_proto body;              /* FunctionProto */
  const unsigned char *start; /* of the field in the file */
  int64_t opset;              /* of the default domain, 0: not imported */
  uint64_t cost;              /* nodes after inlining, saturating */
  uint32_t next;              /* index + 1 of the next one with this name */
  tl_op_id raised;            /* tl:: op that it defines, UINT32_MAX: none */
  uint8_t state;              /* 0 not counted, 1 being counted, 2 counted */
  bool called;
} tl_function;

TL_VEC(tl_function_vec, tl_function);

typedef struct tl_onnx_functions {
  tl_onnx_reader *r;    /* borrowed */
  tl_function_vec list; /* in file order */
  tl_u32_vec named;     /* function name -> index + 1 of the first */
} tl_onnx_functions;

/* Releases what *x owns. */
void tl_onnx_functions_release(tl_onnx_functions *functions);

/* Fills the list from the model. TL_INVALID_MODEL, TL_NO_MEMORY. */
tl_status tl_onnx_index_functions(tl_onnx_functions *functions) TL_NODISCARD;
/* Returns the function that a node calls, NULL if it is an op. */
tl_function *tl_onnx_called(const tl_onnx_functions *functions, tl_symbol domain, tl_symbol name,
                            tl_sv overload);
/* Refuses a graph that would have more than `most` nodes after inlining (TL_LIMIT), or in which a
 * function calls itself (TL_INVALID_MODEL). TL_NO_MEMORY. Inlines nothing: each function is counted
 * once. */
tl_status tl_onnx_check_growth(tl_onnx_functions *functions, tl_proto graph,
                               uint64_t most) TL_NODISCARD;

#endif
