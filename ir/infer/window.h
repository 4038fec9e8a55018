/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of sliding windows, shared by convolution and pooling: attributes kernel_shape,
 * strides, dilations, pads, auto_pad and ceil_mode, and the size of the output along an axis. */
#ifndef TL_IR_INFER_WINDOW_H
#define TL_IR_INFER_WINDOW_H

#include "ir/infer/state.h"

typedef enum tl_auto_pad { TL_PAD_EXPLICIT, TL_PAD_SAME, TL_PAD_VALID } tl_auto_pad;

/* The attributes of a window; lists are borrowed. */
typedef struct tl_window {
  uint32_t n;         /* spatial axes */
  tl_int_list kernel; /* .at NULL when the attribute is absent; the same for the rest */
  tl_int_list strides;
  tl_int_list dilations;
  tl_int_list pads;  /* [2 * n]: begins, then ends */
  tl_int_list extra; /* output padding of a transposed window */
  uint8_t auto_pad;  /* tl_auto_pad */
  bool ceil;
} tl_window;

/* Reads and checks the attributes of the current node for n spatial axes. */
tl_status tl_window_read(tl_infer *ctx, uint32_t n, tl_window *w) TL_NODISCARD;
/* Gives the size of the output along `axis`. input, kernel: dims, which may be unknown. Reports a
 * window that does not fit. */
tl_status tl_window_output(tl_infer *ctx, const tl_window *w, uint32_t axis, tl_dim input,
                           tl_dim kernel, tl_dim *out) TL_NODISCARD;
/* The same for a transposed window. */
tl_status tl_window_transposed(tl_infer *ctx, const tl_window *w, uint32_t axis, tl_dim input,
                               tl_dim kernel, tl_dim *out) TL_NODISCARD;

#endif
