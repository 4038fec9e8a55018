/* SPDX-License-Identifier: Apache-2.0 */
/* Says where a difference is born (verify --layers): what each node adds to it, the nodes that add
 * most, and all tensors in order of execution with their heat. */
#ifndef TL_TOOLS_VERIFY_LAYERS_H
#define TL_TOOLS_VERIFY_LAYERS_H

#include "support/json_writer.h"
#include "tools/verify/twins.h"

/* Adds the `most` tensors whose nodes add most, and the heat table. */
void tl_layers_text(tl_buf *out, const tl_twins *t, uint32_t most);
/* Adds the same as one value; all tensors are in it. */
void tl_layers_json(tl_json_writer *w, const tl_twins *t, uint32_t most);

#endif
