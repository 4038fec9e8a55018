/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate_train_mode and what its switch looks at. */
#ifndef TL_FRONTEND_CONFIG_ACCELERATE_H
#define TL_FRONTEND_CONFIG_ACCELERATE_H

#include "frontend/config/settings.h"

/* "SPEED|TRIGGER[|RATIO]": fast or fast1; step or loss; a ratio of 0.2 to 0.9 (step, by default
 * 0.9) or 1.01 to 1.5 (loss, by default 1.05). Sets speed, trigger, ratio and text, which is
 * borrowed. E-ACC-FORMAT, E-ACC-SPEED, E-ACC-TRIGGER, E-ACC-RATIO; *out is then as before. */
tl_status tl_read_accelerate(tl_diag *d, tl_location where, const char *text,
                             tl_accelerate *out) TL_NODISCARD;

/* The mode with its hook: fills s->accelerate, text NULL when the mode is off, as it is for a graph
 * that does not train (W-TRN-INFER); the variants share files of weights unless an option says
 * otherwise. E-ACC-HOOK when the tensor or the end of training that the trigger needs is missing,
 * or when such an option stands without the mode. Warns (W-ACC-LOOP) when the tensor is seen
 * between loops only. The run configuration must have been checked. */
tl_status tl_resolve_accelerate(tl_settings *s, tl_diag *d) TL_NODISCARD;

/* Turns the mode of s->precision into that of the low variant, and keeps what it was for the high
 * one in s->precision_high. by: the option that says the base mode, if s->precision.mode_name is
 * set. E-ACC-PREC for a base mode that is low already, E-ACC-BF16 for fast1 on a chip without
 * bfloat16. */
tl_status tl_accelerate_modes(tl_settings *s, tl_diag *d, tl_option_id by) TL_NODISCARD;
/* Once all of s->precision is read: gives the high variant everything but mode and mix list. */
void tl_accelerate_finish(tl_settings *s);

/* Makes the options those of one variant: its precision, and its mode in what the model records.
 * After tl_settings_resolve; may be called again and again. */
tl_status tl_accelerate_choose(tl_settings *s, tl_diag *d, bool low) TL_NODISCARD;

#endif
