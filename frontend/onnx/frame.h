/* SPDX-License-Identifier: Apache-2.0 */
/* Whose names and versions are being read: the model's own graphs, or one call of a function. */
#ifndef TL_FRONTEND_ONNX_FRAME_H
#define TL_FRONTEND_ONNX_FRAME_H

#include "frontend/onnx/reader.h"

enum { TL_ONNX_MAX_CALL_DEPTH = 128 }; /* functions calling functions */

/* A parameter or result of the function that is called. */
typedef struct tl_formal {
  tl_symbol name; /* inside the function */
  tl_symbol key;  /* of the caller's value, 0: absent */
} tl_formal;

TL_VEC(tl_formal_vec, tl_formal);

typedef struct tl_frame {
  const struct tl_frame *up;
  tl_proto function;     /* FunctionProto; p == NULL: the model's own graphs */
  int64_t opset;         /* default domain, 0: not imported */
  tl_symbol prefix;      /* path of the call, unique */
  uint32_t first_formal; /* into formals, sorted by name */
  uint32_t n_formals;
  uint32_t first_attr; /* of the call, into attributes; decoded in `up` */
  uint32_t n_attrs;
  uint32_t depth;
} tl_frame;

/* The calls that are open. Both lists are stacks: a user remembers where it began and cuts back. */
typedef struct tl_onnx_calls {
  const tl_frame *frame;   /* innermost; never NULL during an import */
  tl_formal_vec formals;   /* of all frames */
  tl_proto_vec attributes; /* AttributeProto of nodes being decoded */
} tl_onnx_calls;

static inline bool tl_onnx_in_function(const tl_onnx_calls *c) {
  return c->frame->function.p != NULL;
}

#endif
