/* SPDX-License-Identifier: Apache-2.0 */
/* Says which node of one model is which of the other, by what tailor diff knows. */
#ifndef TL_TOOLS_VIEW_COMPARE_H
#define TL_TOOLS_VIEW_COMPARE_H

#include "tools/page/model.h"

/* Adds chunks match, of the models as they were read, and match-final, of what became of them. The
 * models must be made. TL_NO_MEMORY, and errors of reading them again, reported. */
tl_status tl_view_compare(tl_cli *cli, const tl_view_model models[2],
                          tl_chunks *chunks) TL_NODISCARD;

#endif
