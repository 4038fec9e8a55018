/* SPDX-License-Identifier: Apache-2.0 */
/* The pass manager: runs rows of passes.tbl over a module, and is the one place that times, counts,
 * verifies and shows what passes do. It prints nothing; hooks do. */
#ifndef TL_PASSES_MANAGER_H
#define TL_PASSES_MANAGER_H

#include "passes/edit/pass.h"

/* Kinds of pipelines, and of rows: some are for one of them alone. */
typedef enum tl_stage {
  TL_STAGE_ALL,    /* canonical form; rows: in every pipeline */
  TL_STAGE_ONNX,   /* canonical form with the dtypes of a precision mode; rows: only there */
  TL_STAGE_SELECT, /* NPU types are chosen, nothing is lowered */
  TL_STAGE_AIR,
  TL_STAGE_PRECISION, /* rows: in all pipelines but the canonical ones */
  TL_STAGE_FIRST,     /* pipelines: canonical form, from which NPU forms will be made */
  TL_STAGE_LAST,      /* rows: in all pipelines but FIRST; what has to see the final nodes */
  TL_STAGE_CANONICAL, /* rows: in pipelines to canonical outputs */
  TL_N_STAGES
} tl_stage;

typedef struct tl_pass_row {
  const char *name; /* kebab-case, as on the command line */
  const char *summary;
  tl_pass_fn fn;
  uint8_t level; /* runs from this -O level on */
  uint8_t stage; /* tl_stage: which pipelines contain it */
} tl_pass_row;

typedef struct tl_pass_order {
  const tl_pass_row *before; /* rows of the table */
  const tl_pass_row *after;
  const char *reason;
} tl_pass_order;

/* The table, in pipeline order, and the order pairs. */
const tl_pass_row *tl_pass_rows(uint32_t *n);
const tl_pass_order *tl_pass_orders(uint32_t *n);
/* Kind of the pipeline to outputs in canonical form under these options. */
tl_stage tl_pipeline_canonical(const tl_options *options);
/* Is the row in the pipeline of this kind? */
bool tl_pass_runs_in(const tl_pass_row *row, tl_stage pipeline);
/* Row by name, NULL when there is none. */
const tl_pass_row *tl_pass_find(tl_sv name);

/* Observes one pass. `after` is false right before it runs; changed and nanoseconds are those of
 * this pass, known after it. A status other than TL_OK stops the pipeline. */
typedef struct tl_pass_event {
  const tl_pass_row *row;
  bool after;
  uint64_t changed;
  uint64_t nanoseconds;
} tl_pass_event;
typedef tl_status (*tl_pass_hook)(void *user, tl_module *m, const tl_pass_event *e);

typedef struct tl_pipeline_options {
  const char *passes;     /* comma-separated names, run in that order; NULL: the table's pipeline */
  int level;              /* 0, 1, 2 */
  tl_stage stage;         /* kind of the table's pipeline */
  bool verify_each;       /* verifier before the first and after every pass */
  uint64_t rewrite_limit; /* 0: none; else passes may make that many rewrites in all */
  tl_pass_hook hook;
  void *hook_user;
  tl_remark_fn remark;
  void *remark_user;
  bool explain;                 /* remarks tell near misses of rules too */
  bool explain_elsewhere;       /* those of rules for ONNX Runtime too, whatever the target */
  tl_fusion_stats *fusions;     /* receives the counts of fusion passes; NULL: not wanted */
  struct tl_step_record *steps; /* receives timelines of training steps; NULL: not wanted */
} tl_pipeline_options;

typedef struct tl_pass_result {
  const tl_pass_row *row;
  uint64_t changed;
  uint64_t nanoseconds;
  uint32_t nodes_before; /* all graphs */
  uint32_t nodes_after;
} tl_pass_result;

enum { TL_MAX_PIPELINE = 64 };

typedef struct tl_pipeline_report {
  tl_pass_result at[TL_MAX_PIPELINE];
  uint32_t n;
  uint64_t rewrites;
} tl_pipeline_report;

/* Runs the pipeline. Errors are reported to the module's sink (an unknown pass name: as a usage
 * error, TL_INVALID_ARGUMENT, with the nearest name); the module is then to be discarded. report
 * may be NULL. */
tl_status tl_pipeline_run(tl_module *m, const tl_options *options, const tl_pipeline_options *p,
                          tl_pipeline_report *report) TL_NODISCARD;

#endif
