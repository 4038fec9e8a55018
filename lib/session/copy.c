/* SPDX-License-Identifier: Apache-2.0 */
/* Copies models that were loaded (copy.h). */
#include "lib/session/copy.h"

#include "ir/fork.h"

tl_status tl_session_copy(const tl_session *s, const tl_module *m, bool same_settings,
                          tl_module **out) {
  *out = tl_module_fork(m, s->diag);
  if (!*out)
    return tl_fail_memory(s->diag, TL_NOWHERE);
  (*out)->user_ops = s->user_ops;
  if (same_settings || s->ignores_own_config)
    return TL_OK;
  tl_status status = tl_settings_take_model(s->settings, s->diag, *out);
  if (status != TL_OK) {
    tl_module_destroy(*out);
    *out = NULL;
  }
  return status;
}
