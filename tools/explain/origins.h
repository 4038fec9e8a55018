/* SPDX-License-Identifier: Apache-2.0 */
/* Explains one name in both directions: what a node of the model became in AIR, and which nodes of
 * the model a node of AIR comes from (tailor explain --node). */
#ifndef TL_TOOLS_EXPLAIN_ORIGINS_H
#define TL_TOOLS_EXPLAIN_ORIGINS_H

#include "tools/cli/cli.h"

/* Answers --origins: of the node of --node, else of every node of AIR. */
tl_status tl_explain_origins(tl_cli *cli) TL_NODISCARD;
/* Reads cli->word, converts it as the options say unless it is AIR already, and adds what is known
 * of the name of --node. A model without NPU form has none of this, and a warning says so. Errors
 * are those of loading. */
tl_status tl_origins_text(tl_cli *cli, tl_buf *out) TL_NODISCARD;

#endif
