/* SPDX-License-Identifier: Apache-2.0 */
/* Whether memory has run out. Where memory is short nothing that is said afterwards can be trusted,
 * so the command line stops believing in results once an allocation has failed. */
#ifndef TL_TOOLS_CLI_MEMORY_H
#define TL_TOOLS_CLI_MEMORY_H

#include <stdbool.h>

/* Begins to look at the allocations of the JSON library too. */
void tl_memory_watch(void);
/* True once an allocation of ordinary size has failed, in this thread or in one that worked for it.
 * One of an enormous size, which a model may ask for, is judged where it is made. */
bool tl_memory_failed(void);

#endif
