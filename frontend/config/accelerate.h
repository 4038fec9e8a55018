/* SPDX-License-Identifier: Apache-2.0 */
/* Reads accelerate_train_mode, its hook, and the precisions of its two variants. */
#ifndef TL_FRONTEND_CONFIG_ACCELERATE_H
#define TL_FRONTEND_CONFIG_ACCELERATE_H

#include "frontend/config/settings.h"

/* Reads "SPEED|TRIGGER[|RATIO]": fast or fast1; step or loss; a ratio of 0.2 to 0.9 (step, default
 * 0.9) or of 1.01 to 1.5 (loss, default 1.05). Sets speed, trigger, ratio and text (borrowed) of
 * *out. E-ACC-FORMAT, E-ACC-SPEED, E-ACC-TRIGGER, E-ACC-RATIO; then *out is unchanged. */
tl_status tl_read_accelerate(tl_diag *d, tl_location where, const char *text,
                             tl_accelerate *out) TL_NODISCARD;

/* Fills s->accelerate with the mode and its hook. The text is NULL if the mode is off; it is off
 * for a graph that does not train, too (W-TRN-INFER). The variants share files of weights unless an
 * option says otherwise. E-ACC-HOOK if the tensor or the end of training that the trigger needs is
 * missing, or if such an option is given without the mode. W-ACC-LOOP if the tensor can be read
 * between loops only. The run configuration must have been checked. */
tl_status tl_resolve_accelerate(tl_settings *s, tl_diag *d) TL_NODISCARD;

/* Changes the mode of s->precision to that of the low variant, and keeps the base mode for the high
 * variant in s->precision_high. by: the option that gave the base mode, if s->precision.mode_name
 * is set. E-ACC-PREC for a base mode that is low already; E-ACC-BF16 for fast1 on a chip without
 * bfloat16. */
tl_status tl_accelerate_modes(tl_settings *s, tl_diag *d, tl_option_id by) TL_NODISCARD;
/* Copies everything but mode and mix list to the high variant. All of s->precision must be read. */
void tl_accelerate_finish(tl_settings *s);

/* Sets the options to those of one variant: its precision, and its mode among the options that the
 * model records. To be called after tl_settings_resolve, any number of times. */
tl_status tl_accelerate_choose(tl_settings *s, tl_diag *d, bool low) TL_NODISCARD;

#endif
