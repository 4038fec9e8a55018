/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the outputs of two models, or of a model with files. */
#ifndef TL_TOOLS_VERIFY_OUTPUTS_H
#define TL_TOOLS_VERIFY_OUTPUTS_H

#include "tools/verify/report.h"

/* Reads what counts as equal. --cosine and --top-k without bounds on elements replace these;
 * without any option the bounds widen with the number of roundings (by_depth). */
tl_status tl_verify_tolerance(tl_cli *cli, tl_tolerance *t) TL_NODISCARD;
/* Returns the name of an output of the main graph. */
tl_sv tl_output_name(const tl_module *m, uint32_t i);
/* Compares one output and adds it to the report. cast: float types may differ. */
tl_status tl_verify_output(tl_cli *cli, tl_verify_report *r, tl_output_row row,
                           const tl_tolerance *t, bool cast) TL_NODISCARD;
/* Compares each output of b with its counterpart in a: the one of its name, else the one at its
 * position, if both have as many; a sequence may have become a tensor, or an output for each
 * element. values: results of a, to which stacked sequences are added, then of b; r->grains: of
 * both. */
tl_status tl_verify_outputs(tl_evaluation *e, const tl_module *a, const tl_module *b,
                            tl_host_vec values[2], const tl_tolerance *t,
                            tl_verify_report *r) TL_NODISCARD;

#endif
