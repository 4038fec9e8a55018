/* SPDX-License-Identifier: Apache-2.0 */
/* Turns signals into a flag that writers and the pass pipeline poll. A mapped file that shrinks
 * becomes an orderly error. */
#ifndef TL_TOOLS_CLI_SIGNALS_H
#define TL_TOOLS_CLI_SIGNALS_H

#include "support/changes.h"

/* Installs the handlers and returns the flag: 0, or the number of the signal that arrived. A second
 * signal ends the process at once. Unfinished outputs have no names yet, so nothing is left behind,
 * except on file systems without unnamed files. changes: borrowed; what a process removes that must
 * end at once. */
const volatile int *tl_signals_install(const tl_changes *changes);
/* While held, no signal ends the process: files are getting their names. */
void tl_signals_hold(bool hold);

#endif
