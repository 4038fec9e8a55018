/* SPDX-License-Identifier: Apache-2.0 */
/* Reads op_precision_mode and the two older options for implementation modes. */
#ifndef TL_FRONTEND_CONFIG_IMPL_MODES_H
#define TL_FRONTEND_CONFIG_IMPL_MODES_H

#include "ir/options/impl_modes.h"
#include "support/arena.h"
#include "support/diag.h"

/* Read an .ini file with lines NAME=MODE in the sections [ByOpType] and [ByNodeName]; lines before
 * any section count as [ByOpType]. Malformed lines are dropped with a warning, as in the NPU stack.
 * E10001 if the file cannot be read. Entries are in the arena; `path` must live as long. */
tl_status tl_read_impl_modes(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                             tl_impl_config *out) TL_NODISCARD;
tl_status tl_read_impl_modes_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                  tl_impl_config *out) TL_NODISCARD;

/* Reads --op-select-implmode=mode for the op types of --optypelist-for-implmode, joined by ','. */
tl_status tl_read_impl_types(tl_diag *d, tl_arena *a, tl_location where, tl_sv types, tl_sv mode,
                             tl_impl_config *out) TL_NODISCARD;

#endif
