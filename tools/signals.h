/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: a request to stop becomes a flag that writers and the pass pipeline poll; a mapped file
 * that shrank becomes an orderly error. */
#ifndef TL_TOOLS_SIGNALS_H
#define TL_TOOLS_SIGNALS_H

/* Installs the handlers and returns the flag: 0, or the number of the signal that arrived. A second
 * signal of the kind ends the process at once. Output that was begun has no name yet, so that
 * nothing is left behind either way (but on file systems without unnamed files). */
const volatile int *tl_signals_install(void);

#endif
