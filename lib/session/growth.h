/* SPDX-License-Identifier: Apache-2.0 */
/* A small file may ask for an enormous output. What becomes of a model is compared with the files
 * that it was read from. */
#ifndef TL_LIB_SESSION_GROWTH_H
#define TL_LIB_SESSION_GROWTH_H

#include "lib/session/session.h"

/* Notes how large the files of a model are that was just loaded: `bytes` if it came from memory.
 * Refuses more nodes than --max-nodes (TL_LIMIT). */
tl_status tl_growth_loaded(const tl_session *s, tl_module *m, uint64_t bytes) TL_NODISCARD;
/* Before a module is saved: refuses a tensor that is computed, larger than --max-tensor and larger
 * than the files of the model (TL_LIMIT). Warns, naming the cause, of an output of more than 16 MiB
 * that is more than a hundred times as large as these files. Says so once for each
 * module. O(nodes). */
tl_status tl_growth_check(const tl_session *s, tl_module *m, const tl_destination *to) TL_NODISCARD;

#endif
