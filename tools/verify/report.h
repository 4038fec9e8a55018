/* SPDX-License-Identifier: Apache-2.0 */
/* What verify says: outputs first, then the inner tensors that differ most. */
#ifndef TL_TOOLS_VERIFY_REPORT_H
#define TL_TOOLS_VERIFY_REPORT_H

#include "tools/verify/twins.h"

typedef struct tl_output_row {
  tl_sv name;
  const tl_host *got;
  const tl_host *want;
  tl_grain grain; /* how coarsely it was computed */
  tl_difference d;
} tl_output_row;

TL_VEC(tl_output_rows, tl_output_row);

typedef struct tl_verify_report {
  tl_output_rows outputs; /* owned */
  const tl_tolerance *tolerance;
  tl_grains grains[2]; /* owned; of the two models */
  tl_twins twins;      /* owned; only valid with inner */
  bool inner;          /* inner tensors were compared */
  tl_buf note;
} tl_verify_report;

void tl_verify_report_release(tl_verify_report *r);
/* Prints the report, sets cli->differs. */
tl_status tl_verify_print(tl_cli *cli, tl_verify_report *r) TL_NODISCARD;

#endif
