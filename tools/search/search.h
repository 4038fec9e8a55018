/* SPDX-License-Identifier: Apache-2.0 */
/* The search for nodes that have to keep their dtypes: what is searched, and one try. A set of
 * nodes is an array of bool, one for each node that the mode lowers. */
#ifndef TL_TOOLS_SEARCH_SEARCH_H
#define TL_TOOLS_SEARCH_SEARCH_H

#include "support/map.h"
#include "tools/run/inputs.h"
#include "tools/verify/outputs.h"

/* A node that the mode lowers. Texts are in the arena of the search. */
typedef struct tl_search_node {
  tl_sv name; /* as files of precision spell it */
  tl_sv op;   /* of the model */
  tl_sv type; /* NPU op by which its dtypes are judged */
  tl_sv scope;
  tl_sv custom;  /* its lists for --customize-dtypes: "InputDtype:float,OutputDtype:float" */
  bool by_range; /* the policy of ranges does not lower it */
  double bytes;  /* of the f32 tensors that it reads and writes if it is kept; unknown sizes: 0 */
  double macs;   /* multiplications of its products and convolutions */
  double adds;   /* error that it adds by itself, relative to its result; infinity: overflow */
} tl_search_node;

TL_VEC(tl_search_nodes, tl_search_node);

/* One evaluation of the model. */
typedef struct tl_trial {
  const char *what; /* of it: "lowered", "range" ...; static */
  bool equal;       /* outputs are within the tolerance */
  uint32_t n_kept;
  double bytes;   /* of the nodes that are kept */
  double macs;    /* of the nodes that are kept */
  double cosine;  /* the least of all outputs; NaN: an infinity or NaN stands against a number */
  double max_abs; /* the greatest of all outputs */
  double rel;     /* the greatest of all outputs, as vectors */
  double part;    /* of the nodes that had to be evaluated, the others were known */
} tl_trial;

TL_VEC(tl_trials, tl_trial);

/* A try that is being made: the configuration, and who looks at it. NULL members: nobody. */
typedef struct tl_attempt {
  const tl_precision_config *config;
  const char *what;
  tl_pass_hook hook; /* of the passes */
  tl_eval_watch watch;
  tl_eval_replace replace;
  void *user; /* of all three */
} tl_attempt;

/* State of one search. */
typedef struct tl_search {
  tl_cli *cli;
  tl_evaluation e;
  tl_tolerance tolerance;
  tl_stage stage;       /* TL_STAGE_AIR, or that of canonical outputs */
  tl_arena arena;       /* texts and sets */
  tl_module *base;      /* owned; as it was read: tries change copies of it */
  tl_module *reference; /* owned; as it was read, ready to be evaluated */
  tl_host_vec inputs;   /* owned; of the reference */
  tl_host_vec outputs;  /* owned; of the reference */
  tl_grains grains;     /* owned; of the reference */
  tl_buf note;          /* owned; which inputs are random */
  tl_map sizes;         /* elements of the reference's tensors by hash of name; saturated */
  tl_search_nodes nodes;
  tl_map results;             /* places in `nodes` by hash of the names of their results */
  tl_precision_config config; /* of tries: that of the user, without the policy of ranges */
  struct tl_known *known;     /* owned; results of earlier tries */
  tl_trials trials;
  uint32_t most; /* evaluations */
} tl_search;

/* ---- search.c -------------------------------------------------------------------------------- */

/* Reads options and model, evaluates the model, and finds the nodes that the mode lowers. Release
 * it in any case. Errors are reported. */
tl_status tl_search_open(tl_search *s, tl_cli *cli) TL_NODISCARD;
void tl_search_release(tl_search *s);

/* ---- trial.c --------------------------------------------------------------------------------- */

/* Converts a copy of the model with a configuration, evaluates it, and compares its outputs. Adds
 * the trial and gives it; *out may be NULL. A configuration that cannot be converted, or a model
 * that cannot be evaluated, is an error, reported. */
tl_status tl_search_attempt(tl_search *s, const tl_attempt *a, tl_trial *out) TL_NODISCARD;
/* The same with the nodes of a set kept in the dtypes of the model. kept: [nodes]. */
tl_status tl_search_try(tl_search *s, const bool *kept, const char *what,
                        tl_trial *out) TL_NODISCARD;
/* Sums what the nodes of a set take. */
void tl_search_cost(const tl_search *s, const bool *kept, tl_trial *out);
/* Returns the evaluations that are left. */
uint32_t tl_search_left(const tl_search *s);
/* Fills the members of a configuration that keep the nodes of a set. TL_NO_MEMORY. */
tl_status tl_search_keep(tl_search *s, const bool *kept, tl_precision_config *config) TL_NODISCARD;

/* ---- nodes.c --------------------------------------------------------------------------------- */

/* Finds the nodes that the mode lowers, and which of them the policy of ranges keeps. */
tl_status tl_search_find_nodes(tl_search *s) TL_NODISCARD;

/* ---- known.c --------------------------------------------------------------------------------- */

/* Makes room for results up to a number of bytes; NULL if memory is out. */
struct tl_known *tl_known_create(uint64_t most_bytes);
/* Releases the results; NULL is legal. */
void tl_known_destroy(struct tl_known *k);
/* Prepares the evaluation of m: nodes that compute what an earlier evaluation has computed need not
 * run. Does nothing for models in which equal nodes may differ (random ops, loops). false if memory
 * is out. */
bool tl_known_begin(struct tl_known *k, const tl_module *m);
/* Sees a result (tl_eval_watch); user: the tl_known. */
tl_status tl_known_keep(void *user, const tl_module *m, tl_value_id v, const tl_host *value);
/* Gives the results of a node (tl_eval_known); user: the tl_known. */
bool tl_known_give(void *user, const tl_module *m, tl_node_id n, tl_host **results);
/* Ends the evaluation; returns the part of its nodes that ran. */
double tl_known_end(struct tl_known *k);

/* ---- sensitivity.c --------------------------------------------------------------------------- */

/* Fills the error that each node adds by itself: two evaluations, one with all nodes kept, whose
 * trial it gives, and one in which each lowered node gets the operands of the first. */
tl_status tl_search_sensitivity(tl_search *s, tl_trial *wide) TL_NODISCARD;

/* ---- minimize.c ------------------------------------------------------------------------------ */

/* A set of nodes that goes or stays as one. */
typedef struct tl_search_group {
  const char *by; /* "node", "scope", "op", "part"; static */
  tl_sv name;
  uint32_t *nodes; /* in the arena */
  uint32_t n;
  double adds; /* the greatest of its nodes */
} tl_search_group;

TL_VEC(tl_search_groups, tl_search_group);

/* What a search found. */
typedef struct tl_search_result {
  bool *kept; /* in the arena */
  tl_trial trial;
  tl_search_groups groups; /* owned; of the nodes that are kept */
  bool minimal;            /* without any one of the groups the tolerance is not met */
} tl_search_result;

/* Trials of sets that are known before the search. */
typedef struct tl_search_start {
  tl_trial low;   /* no node is kept */
  tl_trial range; /* those are that the policy of ranges keeps */
  tl_trial wide;  /* all are */
} tl_search_start;

/* Finds a cheap set of nodes that meets the tolerance, starting with one that does: first as few of
 * the most sensitive ones as will do, then none that can go. The set never takes more bytes than
 * that of the policy, if that meets the tolerance. start->wide must meet it. Release
 * out->groups. */
tl_status tl_search_minimize(tl_search *s, const tl_search_start *start,
                             tl_search_result *out) TL_NODISCARD;

/* ---- files.c --------------------------------------------------------------------------------- */

enum { TL_SEARCH_FILES = 3 };

/* A file that tells atc, or Tailor, to keep the nodes. */
typedef struct tl_search_file {
  const char *name;   /* in the folder; static */
  const char *option; /* that reads it; static */
  const char *why;    /* it is not written; static; NULL: it is */
  tl_buf text;        /* owned */
  tl_trial trial;     /* with this file alone; valid where `why` is NULL */
} tl_search_file;

/* Makes the files and tries each by itself. Release them in any case. */
tl_status tl_search_make_files(tl_search *s, const tl_search_result *r,
                               tl_search_file files[TL_SEARCH_FILES]) TL_NODISCARD;
void tl_search_release_files(tl_search_file files[TL_SEARCH_FILES]);
/* Writes those that were made into the folder of -o; does nothing without -o. */
tl_status tl_search_write_files(tl_search *s, tl_search_file files[TL_SEARCH_FILES]) TL_NODISCARD;

/* ---- report.c -------------------------------------------------------------------------------- */

/* What there is to say. */
typedef struct tl_search_findings {
  tl_search_start start;
  uint32_t n_range;               /* nodes that the policy of ranges keeps */
  const tl_search_result *result; /* NULL: no set meets the tolerance */
  const tl_search_file *files;    /* [TL_SEARCH_FILES]; NULL without a result */
} tl_search_findings;

/* Prints them as text or JSON. */
tl_status tl_search_report(tl_search *s, const tl_search_findings *f) TL_NODISCARD;

#endif
