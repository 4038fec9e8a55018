/* SPDX-License-Identifier: Apache-2.0 */
/* op_precision_mode and its older relatives. */
#ifndef TL_FRONTEND_CONFIG_IMPL_MODES_H
#define TL_FRONTEND_CONFIG_IMPL_MODES_H

#include "ir/options/impl_modes.h"
#include "support/arena.h"
#include "support/diag.h"

/* An .ini file with the sections [ByOpType], which is also what comes before any section, and
 * [ByNodeName]; lines NAME=MODE. What does not fit is dropped with a warning, as the stack does it.
 * E10001 when the file cannot be read. Entries are in the arena; path must live as long. */
tl_status tl_read_impl_modes(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                             tl_impl_config *out) TL_NODISCARD;
tl_status tl_read_impl_modes_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                  tl_impl_config *out) TL_NODISCARD;

/* --op-select-implmode=mode for the op types of --optypelist-for-implmode, joined by ','. */
tl_status tl_read_impl_types(tl_diag *d, tl_arena *a, tl_location where, tl_sv types, tl_sv mode,
                             tl_impl_config *out) TL_NODISCARD;

#endif
