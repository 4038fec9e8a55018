/* SPDX-License-Identifier: Apache-2.0 */
/* Is a fusion pass on, for who knows its row in the table of public names. */
#ifndef TL_IR_OPTIONS_FUSION_ROW_H
#define TL_IR_OPTIONS_FUSION_ROW_H

#include "ir/options/fusion_names.h"

struct tl_fusion_config;
/* As tl_fusion_is_on, without looking the name up. row: of `pass`; NULL: the table lacks it. */
bool tl_fusion_row_is_on(const struct tl_fusion_config *config, const tl_fusion_name *row,
                         tl_sv pass, tl_fusion_kind kind, const char **why);

#endif
