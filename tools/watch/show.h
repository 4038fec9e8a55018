/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the module around passes, on standard error, since standard output may be an output of the
 * command: --print-before, --print-after, --print-changed, --print-only. */
#ifndef TL_TOOLS_WATCH_SHOW_H
#define TL_TOOLS_WATCH_SHOW_H

#include "tools/cli/cli.h"
#include "tools/watch/narrow.h"

enum { TL_SHOW_OPTIONS = 3 };

/* What is printed of one command. Release it. */
typedef struct tl_show {
  tl_cli *cli;
  tl_narrow narrow;          /* name.n == 0: the whole module */
  bool diff;                 /* changes are printed as differences */
  bool ran[TL_SHOW_OPTIONS]; /* the pass that each option names has run */
  bool held;                 /* `before` is the text of the module as it is */
  tl_buf before;             /* the module before a pass whose change is to be printed */
} tl_show;

/* Checks the options. TL_INVALID_ARGUMENT, reported, for unknown passes and for options that could
 * have no effect. */
tl_status tl_show_open(tl_show *s, tl_cli *cli) TL_NODISCARD;
/* A model was read, and passes will run over it. */
void tl_show_loaded(tl_show *s);
/* Notes the module as it is before the first pass of a pipeline. */
tl_status tl_show_begin(tl_show *s, const tl_module *m) TL_NODISCARD;
/* Prints what options ask for before or after a pass. */
tl_status tl_show_pass(tl_show *s, const tl_module *m, const tl_pass_event *e) TL_NODISCARD;
/* Ends what is printed: TL_INVALID_ARGUMENT, reported, if no module had the node or scope; a
 * warning about passes that did not run. */
tl_status tl_show_end(tl_show *s) TL_NODISCARD;
void tl_show_release(tl_show *s);

#endif
