/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one node of the model: where it was read, each pass that touched it or what became of
 * it, and where it is in the outputs (tailor explain --node). */
#ifndef TL_TOOLS_EXPLAIN_LIFE_H
#define TL_TOOLS_EXPLAIN_LIFE_H

#include "support/json_writer.h"
#include "tools/cli/cli.h"

/* Returns true for a node that is the node of this name in the model, or that was made of it and
 * maybe others; not for what was inserted beside it. */
bool tl_comes_from(const tl_module *m, tl_node_id n, tl_sv name);

/* Reads cli->word again, runs the passes of AIR output and those of ONNX output, and adds the life
 * of the node of --node; nothing for a name that the model lacks. Errors are those of loading. */
tl_status tl_life_text(tl_cli *cli, tl_buf *out) TL_NODISCARD;
/* The same as member "life", a list. */
tl_status tl_life_json(tl_cli *cli, tl_json_writer *w) TL_NODISCARD;

#endif
