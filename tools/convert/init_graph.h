/* SPDX-License-Identifier: Apache-2.0 */
/* NAME.init.EXT, the graph that gives all ranks the initial values of rank 0, beside each step
 * NAME.EXT for several ranks (--init-graph). */
#ifndef TL_TOOLS_CONVERT_INIT_GRAPH_H
#define TL_TOOLS_CONVERT_INIT_GRAPH_H

#include "tools/cli/output.h"

/* Adds one output of that kind for each of `steps` that is a file, behind the others, where the
 * options ask for it; steps and out may be the same list. Refuses a name that is taken. */
tl_status tl_init_graph_plan(tl_cli *cli, const tl_output_vec *steps,
                             tl_output_vec *out) TL_NODISCARD;

/* Turns the step into the graph of initial values and expands it for the evaluator. */
tl_status tl_init_graph_make(tl_cli *cli, tl_module *m) TL_NODISCARD;

/* Writes the outputs of that kind among v, out of the step in whatever form it is: m is used up.
 * Without parameters to broadcast they are taken from the list. */
tl_status tl_init_graph_write(tl_cli *cli, tl_module *m, tl_output_vec *v) TL_NODISCARD;

#endif
