/* SPDX-License-Identifier: Apache-2.0 */
/* tailor info --memory. */
#ifndef TL_TOOLS_TABLES_INFO_MEMORY_H
#define TL_TOOLS_TABLES_INFO_MEMORY_H

#include "ir/module.h"
#include "tools/cli/cli.h"

/* Simplifies a model that was just read as for the NPU, and prints what it takes of a device's
 * memory. */
tl_status tl_info_memory(tl_cli *cli, tl_module *m) TL_NODISCARD;

#endif
