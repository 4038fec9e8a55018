/* SPDX-License-Identifier: Apache-2.0 */
/* Turns signals into a flag that writers and the pass pipeline poll. A mapped file that shrinks
 * becomes an orderly error. */
#ifndef TL_TOOLS_CLI_SIGNALS_H
#define TL_TOOLS_CLI_SIGNALS_H

#include "support/changes.h"
#include "tools/cli/messages.h"

/* Installs the handlers and returns the flag: 0, or the number of the signal that arrived. A second
 * signal ends the process at once. Unfinished outputs have no names yet, so nothing is left behind,
 * except on file systems without unnamed files. changes: borrowed; what a process removes that must
 * end at once. */
const volatile int *tl_signals_install(const tl_changes *changes);
/* In which form the messages are that end the process; text until then. */
void tl_signals_say_as(tl_message_form form);
/* After this a crash (SIGSEGV, SIGABRT, SIGFPE, SIGILL) makes the program run itself again with
 * --reproducer=DIR behind its arguments, before it ends by the signal. argv must stay. A sanitized
 * program keeps the handlers of the sanitizer. */
void tl_signals_watch_crashes(int argc, char **argv);
/* Runs the program again as after a crash, and waits; for internal errors that were noticed. Does
 * nothing unless crashes are watched. */
void tl_signals_rerun(void);
/* Gives crashes their default effect, for processes whose end somebody waits for. */
void tl_signals_forget_crashes(void);
/* Ends the process with this exit code and a message once it has taken so many seconds of processor
 * time, at whatever it is: no output gets its name any more. 0: no bound. Processes that it starts
 * have the same bound, each for itself. */
void tl_signals_limit_time(uint64_t seconds, int code);
/* While held, no signal ends the process: files are getting their names. */
void tl_signals_hold(bool hold);

#endif
