/* SPDX-License-Identifier: Apache-2.0 */
/* Restores the control edges that nodes name in their metadata. */
#ifndef TL_FRONTEND_ONNX_CONTROL_H
#define TL_FRONTEND_ONNX_CONTROL_H

#include "frontend/onnx/names.h"

/* Adds the edges and sorts the nodes. All graphs must be complete. TL_NO_MEMORY. */
tl_status tl_onnx_control(tl_onnx_names *names) TL_NODISCARD;

#endif
