/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a model while it is being debugged: it computes what it did (--verify), or a command of
 * the user is content with it (--check). */
#ifndef TL_TOOLS_DEBUG_CHECK_H
#define TL_TOOLS_DEBUG_CHECK_H

#include <regex.h>

#include "tools/run/inputs.h"
#include "tools/verify/outputs.h"

/* What a check says of a model. */
typedef enum tl_verdict {
  TL_VERDICT_GOOD,
  TL_VERDICT_BAD,
  TL_VERDICT_UNKNOWN /* it cannot be checked */
} tl_verdict;

/* Exit status of a command that cannot tell, as git bisect run has it. */
enum { TL_CANNOT_TELL = 125 };

/* One way of checking. */
typedef struct tl_check {
  tl_cli *cli;
  const char *command; /* --check; NULL: --verify */
  tl_format format;    /* of the file that the command gets */
  tl_tolerance tolerance;
  tl_evaluation e;      /* without threads: each process that checks has its own */
  tl_module *reference; /* owned; --verify: the model as it was read */
  tl_host_vec inputs;   /* owned; of it */
  tl_host_vec outputs;  /* owned; what it computes */
  tl_grains grains;     /* owned; of it */
  tl_buf note;          /* owned; which inputs are random */
  tl_buf why;           /* owned; of the last verdict */
  bool unable;          /* the last one is none: the command could not be asked */
  regex_t match;        /* --match: what a failure has to say */
  bool has_match;
} tl_check;

/* Reads --check, --verify and their options. evaluates: with --verify, evaluates the model, which
 * tl_check_module compares others with. Release it in any case. Errors are reported. */
tl_status tl_check_open(tl_check *c, tl_cli *cli, tl_format format, bool evaluates) TL_NODISCARD;
void tl_check_release(tl_check *c);
/* Sets the sizes that are assumed for open dims of random inputs, the i-th choice: dims of one
 * element would hide that a wrong axis is used. Returns false behind the last choice, which is
 * 1. */
bool tl_check_assume(tl_evaluation *e, unsigned i);
/* Checks a module that passes have left in any state, and may change it. For a process of its own
 * (child.h). settled: its types are inferred. c->why says why, in a clause. */
tl_verdict tl_check_module(tl_check *c, tl_module *m, bool settled);

/* How a model fails, so that two failures can be told apart. */
typedef struct tl_failure {
  tl_verdict verdict;
  tl_status pipeline; /* --verify: of the passes, which came to no end */
  int status;         /* --check: exit status of the command */
  int signal;         /* that ended the command, or the process that ran the passes */
  bool matches;       /* what was said fits --match, if there is one */
  bool unable;        /* --check: the command could not be asked, for a reason of the system */
} tl_failure;

/* Checks what a conversion makes of a module, which it changes: --verify compares the module as it
 * is with what the passes make of it, --check hands it to the command as ONNX. For a process of its
 * own. c->why says why, in a clause. */
tl_failure tl_check_conversion(tl_check *c, tl_module *m, const tl_pipeline_options *p);

#endif
