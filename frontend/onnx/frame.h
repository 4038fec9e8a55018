/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: whose names and opset versions are valid, the model's own or those of a function call. */
#ifndef TL_FRONTEND_ONNX_FRAME_H
#define TL_FRONTEND_ONNX_FRAME_H

#include "frontend/onnx/reader.h"

enum { TL_ONNX_MAX_CALL_DEPTH = 128 }; /* most levels of functions that call functions */

/* A parameter or result of the function that is called. */
typedef struct tl_formal {
  tl_symbol name; /* inside the function */
  tl_symbol key;  /* of the caller's value, 0: absent */
} tl_formal;

TL_VEC(tl_formal_vec, tl_formal);

/* One open call, or the model itself at the bottom. */
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

/* The open calls. Both lists are stacks: a user remembers their length and cuts back to it. */
typedef struct tl_onnx_calls {
  const tl_frame *frame;   /* innermost; never NULL during an import */
  tl_formal_vec formals;   /* of all frames */
  tl_proto_vec attributes; /* AttributeProto of nodes being decoded */
} tl_onnx_calls;

/* Returns true while the body of a function is read. */
static inline bool tl_onnx_in_function(const tl_onnx_calls *c) {
  return c->frame->function.p != NULL;
}

#endif
