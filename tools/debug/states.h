/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a model on its way through the passes: state N is the model behind the N-th
 * rewrite, state 0 the model as it was read. For a check by a command only rewrites count that the
 * form can do without, and state 0 is the model with the others. Every state is made and checked in
 * a process of its own. */
#ifndef TL_TOOLS_DEBUG_STATES_H
#define TL_TOOLS_DEBUG_STATES_H

#include "tools/debug/check.h"

/* What is known of a state. */
typedef struct tl_probe {
  uint64_t at;
  tl_verdict verdict;
  int signal;       /* that ended the process, 0: none */
  tl_status status; /* of the pipeline */
  const char *why;  /* a clause; in the arena of the settings */
} tl_probe;

TL_VEC(tl_probe_vec, tl_probe);

/* The way of one model. */
typedef struct tl_states {
  tl_cli *cli;
  tl_check *check;
  tl_module *base;              /* owned; as it was read: processes change copies of it */
  tl_pipeline_options pipeline; /* of the whole way */
  tl_pipeline_report report;    /* of the whole way: rewrites of each pass */
  tl_probe_vec known;           /* states that were checked, in the order of their checks */
  unsigned jobs;                /* processes at a time */
  struct tl_answer *answers;    /* owned; shared with the processes */
} tl_states;

/* The rewrite that leads to a state. Texts are owned by `text`. */
typedef struct tl_rewrite {
  tl_sv pass, rule, fusion, message;
  tl_sv nodes; /* a line each */
  tl_sv made;  /* op of the last node that was made */
  tl_sv ir;    /* the state as text */
  tl_buf text; /* owned */
} tl_rewrite;

/* Reads the model and runs all passes once. A pipeline that fails is no error: *failed says so, and
 * s->report ends with the pass that failed. Release it in any case. */
tl_status tl_states_open(tl_states *s, tl_cli *cli, tl_check *check, tl_stage stage,
                         tl_probe *whole) TL_NODISCARD;
void tl_states_release(tl_states *s);
/* Checks states that were not checked before, several at a time. A signal to this process is
 * TL_IO. */
tl_status tl_states_ask(tl_states *s, const uint64_t *at, uint32_t n) TL_NODISCARD;
/* Returns what is known of a state, the latest if it was checked twice; NULL: nothing. */
const tl_probe *tl_states_known(const tl_states *s, uint64_t at);
/* Makes a state again and describes the rewrite that leads to it. Release it in any case. */
tl_status tl_states_show(tl_states *s, uint64_t at, tl_rewrite *out) TL_NODISCARD;
void tl_rewrite_release(tl_rewrite *r);

#endif
