/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of dims that files of other tools have: NHWC, HWCN ... */
#ifndef TL_PASSES_SCOPES_ORDER_H
#define TL_PASSES_SCOPES_ORDER_H

#include "passes/edit/pass.h"

/* Gives ops of the NPU the order of dims that their definitions know: those with data_format NHWC
 * (NDHWC) become ones with NCHW (NCDHW) between Transposes, filters are transposed as their descs
 * say. Nodes whose ports have formats that nothing computes with are refused by name
 * (TL_UNSUPPORTED). In a module in NPU form halves that an op multiplies into f32 are cast. Notes
 * of ports and attributes of GE's file are forgotten. One sweep. */
tl_status tl_order_dims(tl_pass *p, tl_module *m) TL_NODISCARD;

#endif
