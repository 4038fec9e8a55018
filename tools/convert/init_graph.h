/* SPDX-License-Identifier: Apache-2.0 */
/* Writes NAME.init.EXT, the graph that gives all ranks the initial values of rank 0, beside each
 * step NAME.EXT (--init-graph). */
#ifndef TL_TOOLS_CONVERT_INIT_GRAPH_H
#define TL_TOOLS_CONVERT_INIT_GRAPH_H

#include "tools/cli/output.h"

/* Adds one graph of initial values for each of `steps` that is a file, behind the other outputs, if
 * the options ask for it. steps and out may be the same list. TL_INVALID_ARGUMENT if a name is
 * taken. */
tl_status tl_init_graph_plan(tl_cli *cli, const tl_output_vec *steps,
                             tl_output_vec *out) TL_NODISCARD;

/* Turns the step into the graph of initial values and expands it for the evaluator. */
tl_status tl_init_graph_make(tl_cli *cli, tl_module *m) TL_NODISCARD;

/* Writes the graphs of initial values among v. m: the step in any form; it is used up. Without
 * parameters to broadcast, the graphs are removed from v. */
tl_status tl_init_graph_write(tl_cli *cli, tl_module *m, tl_output_vec *v) TL_NODISCARD;

#endif
