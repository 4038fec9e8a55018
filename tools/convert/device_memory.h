/* SPDX-License-Identifier: Apache-2.0 */
/* What a model takes of the device's memory, for people and as JSON. */
#ifndef TL_TOOLS_CONVERT_DEVICE_MEMORY_H
#define TL_TOOLS_CONVERT_DEVICE_MEMORY_H

#include "passes/memory/memory.h"
#include "support/json_writer.h"
#include "tools/cli/cli.h"

/* Measures the module as it is now. Errors are reported. */
tl_status tl_device_memory_measure(tl_cli *cli, const tl_module *m, tl_memory *out) TL_NODISCARD;
/* Warns if the device is known not to have as much memory. */
void tl_device_memory_warn(tl_cli *cli, const tl_memory *t);
/* Adds one line: the parts, without a line feed. */
void tl_device_memory_parts(const tl_memory *t, tl_buf *out);
/* Adds a clause: how much that is in all, and whether the device has it where that can be told. */
void tl_device_memory_total(const tl_cli *cli, const tl_memory *t, tl_buf *out);
/* Adds a clause: whether all of it fits, or what is not known. */
void tl_device_memory_fit(const tl_cli *cli, const tl_module *m, const tl_memory *t, tl_buf *out);
/* Adds all of it, a line each. */
void tl_device_memory_text(const tl_cli *cli, const tl_module *m, const tl_memory *t, tl_buf *out);
/* Adds an object. */
void tl_device_memory_json(const tl_cli *cli, const tl_memory *t, tl_json_writer *w);

#endif
