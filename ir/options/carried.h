/* SPDX-License-Identifier: Apache-2.0 */
/* What a file records of an option, where a pass has chosen otherwise than was asked. */
#ifndef TL_IR_OPTIONS_CARRIED_H
#define TL_IR_OPTIONS_CARRIED_H

#include "ir/module.h"
#include "ir/options/options.h"

static inline tl_sv tl_carried_value(const tl_module *m, const tl_carried_option *o) {
  if (m->no_update_stream && tl_sv_is(o->key, "ge.hcomParallel"))
    return TL_SV("0");
  if (m->no_update_stream && tl_sv_is(o->key, "tailor.run.hcom_parallel"))
    return TL_SV("false");
  if (m->no_tail && tl_sv_is(o->key, "ge.exec.isTailingOptimization"))
    return TL_SV("0");
  if (m->no_tail && (tl_sv_is(o->key, "tailor.run.is_tailing_optimization") ||
                     tl_sv_is(o->key, "tailor.run.optimizer_is_tailing_optimization")))
    return TL_SV("false");
  return o->value;
}

#endif
