/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what verify found: outputs first, then the inner tensors that differ most. */
#ifndef TL_TOOLS_VERIFY_REPORT_H
#define TL_TOOLS_VERIFY_REPORT_H

#include "tools/verify/twins.h"

/* One output of the two models. Values are borrowed. */
typedef struct tl_output_row {
  tl_sv name;
  const tl_host *got;
  const tl_host *want;
  tl_grain grain; /* how coarsely it was computed */
  tl_difference d;
} tl_output_row;

TL_VEC(tl_output_rows, tl_output_row);

/* All that verify found. */
typedef struct tl_verify_report {
  tl_output_rows outputs; /* owned */
  const tl_tolerance *tolerance;
  tl_grains grains[2]; /* owned; of the two models */
  tl_twins twins;      /* owned; only valid with inner */
  bool inner;          /* inner tensors were compared */
  bool skips_new;      /* outputs without a counterpart are not compared: passes add some */
  tl_buf note;
} tl_verify_report;

/* Releases what the report owns. */
void tl_verify_report_release(tl_verify_report *r);
/* Adds what counts as equal, without the end of the line. */
void tl_verify_add_tolerance(tl_buf *out, const tl_tolerance *t);
/* Prints the report as text or JSON, writes the page of --page, and sets cli->differs if an output
 * differs. */
tl_status tl_verify_print(tl_cli *cli, tl_verify_report *r) TL_NODISCARD;

#endif
