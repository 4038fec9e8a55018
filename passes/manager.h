/* SPDX-License-Identifier: Apache-2.0 */
/* The pass manager: runs rows of passes.tbl over a module. It is the only place that times, counts,
 * verifies and shows what passes do. It prints nothing; hooks do. */
#ifndef TL_PASSES_MANAGER_H
#define TL_PASSES_MANAGER_H

#include "passes/edit/pass.h"

/* Kinds of pipelines, and of rows of the table, which may be for some pipelines only. */
typedef enum tl_stage {
  TL_STAGE_ALL,    /* pipeline: canonical form; row: in every pipeline */
  TL_STAGE_ONNX,   /* pipeline: canonical form with the dtypes of a precision mode; row: only
                    * there */
  TL_STAGE_SELECT, /* NPU types are chosen, nothing is lowered */
  TL_STAGE_AIR,
  TL_STAGE_PRECISION, /* row: in all pipelines but ALL and FIRST */
  TL_STAGE_FIRST,     /* pipeline: canonical form from which NPU forms will be made */
  TL_STAGE_LAST,      /* row: in all pipelines but FIRST; for passes that must see the final
                       * nodes */
  TL_STAGE_CANONICAL, /* row: in pipelines to canonical outputs (ALL and ONNX) */
  TL_N_STAGES
} tl_stage;

/* One row of passes.tbl. */
typedef struct tl_pass_row {
  const char *name; /* kebab-case, as on the command line */
  const char *summary;
  tl_pass_fn fn;
  uint8_t level; /* runs from this -O level on */
  uint8_t stage; /* tl_stage: which pipelines contain it */
} tl_pass_row;

/* A pass that is not of the table: the library's user wrote it. Its function gets to it through the
 * row, which is its first member. */
typedef struct tl_own_pass {
  tl_pass_row row;
  const char
      *after; /* runs right behind the pass of this name, in pipelines that have it; NULL: only
                      * when it is asked for by name */
  void *user;
} tl_own_pass;

/* One pair of passes whose order matters, and why. */
typedef struct tl_pass_order {
  const tl_pass_row *before; /* rows of the table */
  const tl_pass_row *after;
  const char *reason;
} tl_pass_order;

/* A pass that some form cannot do without. */
typedef struct tl_pass_need {
  const tl_pass_row *row; /* of the table */
  const char *reason;
} tl_pass_need;

/* Returns the passes that outputs cannot do without; *n is their number. O(1). */
const tl_pass_need *tl_pass_needs(uint32_t *n);
/* Return the table in pipeline order, and the order pairs; *n is their number. O(1). */
const tl_pass_row *tl_pass_rows(uint32_t *n);
const tl_pass_order *tl_pass_orders(uint32_t *n);
/* Returns the kind of the pipeline to canonical outputs under these options: ONNX with a precision
 * mode, else ALL. */
tl_stage tl_pipeline_canonical(const tl_options *options);
/* Returns true if the row is in pipelines of this kind. */
bool tl_pass_runs_in(const tl_pass_row *row, tl_stage pipeline);
/* Returns the word for the pipelines that contain the row: "always", "air" and so on. */
const char *tl_pass_stage_name(const tl_pass_row *row);
/* Returns the row of a pass by name; NULL if there is none. O(rows). */
const tl_pass_row *tl_pass_find(tl_sv name);

/* What a hook sees of one pass. `after` is false just before it runs; `changed` (rewrites),
 * `nanoseconds` and `nodes_after` are known only after it. A status other than TL_OK from the hook
 * stops the pipeline. */
typedef struct tl_pass_event {
  const tl_pass_row *row;
  bool after;
  uint64_t changed;
  uint64_t nanoseconds;
  uint32_t nodes_before; /* of all graphs */
  uint32_t nodes_after;
} tl_pass_event;
typedef tl_status (*tl_pass_hook)(void *user, tl_module *m, const tl_pass_event *e);

/* Options of one run; pointers are borrowed. */
typedef struct tl_pipeline_options {
  const char *passes;     /* comma-separated names, run in this order; NULL: the pipeline of the
                           * table */
  int level;              /* 0, 1, 2 */
  tl_stage stage;         /* kind of the table's pipeline */
  bool verify_each;       /* runs the verifier before the first and after every pass */
  uint64_t rewrite_limit; /* upper bound on rewrites of all passes; 0: none, unless spares_needed */
  bool spares_needed; /* passes that the form cannot do without (NEEDED) rewrite without limit, and
                           * their rewrites do not count */
  bool ends_at_limit; /* no pass runs behind the one that reached the limit: the module is in the
                           * very state behind that rewrite, in whatever form */
  const tl_own_pass *const *own; /* [n_own]; passes beside those of the table */
  uint32_t n_own;
  tl_pass_hook hook;
  void *hook_user;
  tl_remark_fn remark;
  void *remark_user;
  bool explain;               /* remarks include near misses of rules */
  uint32_t explain_most;      /* nodes where each pass looks for near misses at most; 0: all */
  bool explain_elsewhere;     /* near misses of rules for ONNX Runtime too, whatever the target */
  const tl_rule_watch *rules; /* told what rules do; NULL: nobody */
  const struct tl_rule_question *question; /* answered by runs of rules; `explain` must be true;
                                            * NULL: nobody asks */
  tl_fusion_stats *fusions;     /* receives the counts of fusion passes; NULL: not wanted */
  tl_edit_log *log;             /* where rewrites are marked; also the log of the module; NULL: not
                                 * wanted */
  struct tl_step_record *steps; /* receives timelines of training steps; NULL: not wanted */
} tl_pipeline_options;

/* Result of one pass of a run. */
typedef struct tl_pass_result {
  const tl_pass_row *row;
  uint64_t changed;
  uint64_t nanoseconds;
  uint32_t nodes_before; /* of all graphs */
  uint32_t nodes_after;
} tl_pass_result;

enum { TL_MAX_PIPELINE = 64 };

/* Results of a run, in order. */
typedef struct tl_pipeline_report {
  tl_pass_result at[TL_MAX_PIPELINE];
  uint32_t n;
  uint64_t rewrites;
} tl_pipeline_report;

/* Runs the pipeline. Errors are reported to the module's sink; the module must then be
 * discarded. An unknown pass name is TL_INVALID_ARGUMENT, with the nearest name as a hint.
 * report may be NULL. */
tl_status tl_pipeline_run(tl_module *m, const tl_options *options, const tl_pipeline_options *p,
                          tl_pipeline_report *report) TL_NODISCARD;

#endif
