/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the plan of --accelerate-train-mode: which two models, what to observe, when to switch. */
#ifndef TL_TOOLS_CONVERT_SWITCH_PLAN_H
#define TL_TOOLS_CONVERT_SWITCH_PLAN_H

#include "frontend/config/settings.h"
#include "ir/module.h"

/* Adds the plan as JSON (docs/precision.md). low, high: paths of the models, of which the plan
 * names the files alone; m: one of them, whose states it lists. */
void tl_switch_plan_json(const tl_settings *s, const tl_module *m, const char *low,
                         const char *high, tl_buf *out);

#endif
