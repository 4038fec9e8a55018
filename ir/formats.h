/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of an AIR file whose tensors have a format that the IR lacks: NHWC, HWCN, NC1HWC0 ... Their
 * dims stand as in the file, in another order than ops of the IR mean. */
#ifndef TL_IR_FORMATS_H
#define TL_IR_FORMATS_H

#include "ir/module.h"

/* Notes at a node which tensor has which format; false when memory is out. */
bool tl_node_note_format(tl_module *m, tl_node_id n, tl_sv text);
/* Reports the first node with such a note, and how many there are: what would be computed or
 * written would be wrong. doing: "run" or "written". TL_UNSUPPORTED. O(nodes). */
tl_status tl_module_check_formats(const tl_module *m, const char *doing) TL_NODISCARD;

#endif
