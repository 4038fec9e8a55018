/* SPDX-License-Identifier: Apache-2.0 */
/* Control edges that nodes name in their metadata. */
#ifndef TL_FRONTEND_ONNX_CONTROL_H
#define TL_FRONTEND_ONNX_CONTROL_H

#include "frontend/onnx/names.h"

/* Adds the edges, once all graphs are complete, and sorts. TL_NO_MEMORY. */
tl_status tl_onnx_control(tl_onnx_names *x) TL_NODISCARD;

#endif
