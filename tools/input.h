/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the input model of a command, whatever its form. */
#ifndef TL_TOOLS_INPUT_H
#define TL_TOOLS_INPUT_H

#include "ir/module.h"
#include "tools/cli.h"

/* Loads ONNX or textual IR. The form follows from the suffix, else from the first byte; "-" is
 * standard input. The caller destroys *out. */
tl_status tl_input_load(tl_cli *cli, const char *path, tl_module **out) TL_NODISCARD;

#endif
