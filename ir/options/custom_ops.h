/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of the user's own package: what the op table lacks and the user vouches for. */
#ifndef TL_IR_OPTIONS_CUSTOM_OPS_H
#define TL_IR_OPTIONS_CUSTOM_OPS_H

#include "ir/options/options.h"

/* Returns true if the user says that the NPU has a kernel of this name: in --allow-custom-ops, as a
 * target of --op-name-map, or in a file of --op-info. */
bool tl_options_custom_op(const tl_options *o, tl_sv name);
/* Returns what files of --op-info say of an op; row is NULL if they say nothing. */
tl_op_info tl_options_custom_info(const tl_options *o, tl_sv name);

#endif
