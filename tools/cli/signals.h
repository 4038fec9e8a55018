/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: a request to stop becomes a flag that writers and the pass pipeline poll; a mapped file
 * that shrank becomes an orderly error. */
#ifndef TL_TOOLS_CLI_SIGNALS_H
#define TL_TOOLS_CLI_SIGNALS_H

#include "support/changes.h"

/* Installs the handlers and returns the flag: 0, or the number of the signal that arrived. A second
 * signal ends the process at once. Output that was begun has no name yet, so that nothing is left
 * behind either way (but on file systems without unnamed files). changes: what a process that must
 * end at once removes. */
const volatile int *tl_signals_install(const tl_changes *changes);
/* While held, no signal ends the process: names are being given. */
void tl_signals_hold(bool hold);

#endif
