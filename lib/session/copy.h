/* SPDX-License-Identifier: Apache-2.0 */
/* Copies models that were loaded. */
#ifndef TL_LIB_SESSION_COPY_H
#define TL_LIB_SESSION_COPY_H

#include "lib/session/session.h"

/* Makes a second module with the same graphs, ids and weights, which reports to s->diag; `m` must
 * outlive it. If the settings are not those that loaded `m`, keys of a run configuration in the
 * model count for them, too. *out is NULL after a failure: TL_NO_MEMORY, errors of such keys. */
tl_status tl_session_copy(const tl_session *s, const tl_module *m, bool same_settings,
                          tl_module **out) TL_NODISCARD;

#endif
