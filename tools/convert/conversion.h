/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a conversion: read a model, bring it to canonical form, write that, go on to NPU
 * form, write that. */
#ifndef TL_TOOLS_CONVERT_CONVERSION_H
#define TL_TOOLS_CONVERT_CONVERSION_H

#include "tools/convert/summary.h"

/* Zero-initialise; released by tl_conversion_release. */
typedef struct tl_conversion {
  tl_module *m;          /* owned */
  tl_output_vec outputs; /* owned; what is to be written */
  tl_summary summary;
} tl_conversion;

/* Whether NPU form (AIR, dumps), or canonical form, is among the outputs. */
bool tl_conversion_wants(const tl_output_vec *v, bool npu);
/* A precision mode is decided on canonical nodes for ONNX and on expanded ones for AIR: what became
 * ONNX is no start for AIR, and the model is read again. */
bool tl_conversion_starts_over(const tl_cli *cli, const tl_output_vec *v);

tl_status tl_conversion_load(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* Everything before NPU form. */
tl_status tl_conversion_run_canonical(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* From there to NPU form, in place. */
tl_status tl_conversion_run_npu(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* Writes the outputs that show the form the module is in. */
tl_status tl_conversion_write(tl_cli *cli, tl_conversion *c, bool npu) TL_NODISCARD;
/* Adds the summary in the form that --summary asks for. */
void tl_conversion_describe(tl_cli *cli, const tl_conversion *c, tl_buf *out);
void tl_conversion_release(tl_conversion *c);

#endif
