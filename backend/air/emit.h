/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a module in NPU form as an AIR file (serialized GE IR, ModelDef). AIR is the input of `atc
 * --framework=1`. The file appears complete and self-checked, or not at all; weight files beside it
 * likewise. */
#ifndef TL_BACKEND_AIR_EMIT_H
#define TL_BACKEND_AIR_EMIT_H

#include "backend/air/save_options.h"
#include "ir/module.h"

/* Writes a module to `path` ("-": standard output). The module is not changed.
 * Errors: TL_UNSUPPORTED for a type without a number in GE or a captured outer value, TL_LIMIT for
 * a message beyond 2 GiB - 1 even without weights, TL_IO, TL_NO_MEMORY, TL_INTERNAL if the
 * self-check finds a fault. */
tl_status tl_air_save(tl_module *m, const char *path, const tl_air_options *o) TL_NODISCARD;

/* Fills in the names that nodes and values have in an AIR file, by id; `nodes` and `values` have
 * room for all ids and are zeroed. Results of nodes, and what is not written, stay empty. The texts
 * are in `arena`. Errors are those of tl_air_save that are known before it writes. */
tl_status tl_air_list_names(tl_module *m, const tl_options *options, tl_arena *arena, tl_sv *nodes,
                            tl_sv *values) TL_NODISCARD;

#endif
