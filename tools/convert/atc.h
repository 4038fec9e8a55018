/* SPDX-License-Identifier: Apache-2.0 */
/* tailor atc: stands where a script has atc. Converts the model to AIR first, then lets atc compile
 * that. */
#ifndef TL_TOOLS_CONVERT_ATC_H
#define TL_TOOLS_CONVERT_ATC_H

#include "tools/cli/cli.h"

/* Converts one command line in this process and returns its exit code. *call: what is to be known
 * of atc. */
typedef int (*tl_atc_convert_fn)(const tl_arguments *line, tl_atc_call *call);

/* Runs the command. *code: exit code of the conversion if it failed, else of atc. Reports what has
 * to do with the call itself. */
tl_status tl_atc_run(tl_cli *cli, tl_atc_convert_fn convert, int *code) TL_NODISCARD;

#endif
