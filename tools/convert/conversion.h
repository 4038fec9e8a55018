/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of a conversion: read a model, bring it to canonical form, write it, go on to NPU
 * form, write that. */
#ifndef TL_TOOLS_CONVERT_CONVERSION_H
#define TL_TOOLS_CONVERT_CONVERSION_H

#include "tools/convert/profiles.h"
#include "tools/convert/summary.h"

/* A conversion in progress. Zero-initialise it; tl_conversion_release releases it. */
typedef struct tl_conversion {
  tl_module *m;          /* owned */
  tl_output_vec outputs; /* owned; what is to be written */
  tl_summary summary;
  bool raised; /* the model was read from AIR and is in canonical form for ONNX */
} tl_conversion;

/* Returns true if the outputs have NPU form (AIR, dumps) among them, or canonical form if npu is
 * false. */
bool tl_conversion_wants(const tl_output_vec *v, bool npu);
/* Returns true if AIR needs a second reading of the model. A precision mode is decided on canonical
 * nodes for ONNX and on expanded nodes for AIR, so what became ONNX is no start for AIR. */
bool tl_conversion_starts_over(const tl_cli *cli, const tl_output_vec *v);

/* Loads the model that the command line names into c->m; AIR is brought to canonical form if ONNX
 * is among the outputs. */
tl_status tl_conversion_load(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* Runs all passes up to canonical form, in place, and fills their part of the summary. */
/* Tries the model, which was just loaded, with every profile of the options, and writes their
 * report. */
tl_status tl_conversion_try_profiles(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
tl_status tl_conversion_run_canonical(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* Runs the passes from canonical form to NPU form, in place, and fills their part of the summary.
 * May load the model anew: pointers into c->m are invalid afterwards. */
tl_status tl_conversion_run_npu(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* Measures what the model in its form takes of a device's memory, for the summary. */
tl_status tl_conversion_measure(tl_cli *cli, tl_conversion *c) TL_NODISCARD;
/* Writes the outputs of the form that the module is in now; npu: NPU form. Graphs of initial values
 * are not among them. */
tl_status tl_conversion_write(tl_cli *cli, tl_conversion *c, bool npu) TL_NODISCARD;
/* Adds the summary in the form that --summary asks for. */
void tl_conversion_describe(tl_cli *cli, const tl_conversion *c, tl_buf *out);
/* Destroys the module and the list of outputs. */
void tl_conversion_release(tl_conversion *c);

#endif
