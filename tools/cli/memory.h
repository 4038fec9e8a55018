/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether memory has run out. After a failed allocation no later message or result can be
 * trusted, so the command ends with this error. */
#ifndef TL_TOOLS_CLI_MEMORY_H
#define TL_TOOLS_CLI_MEMORY_H

#include <stdbool.h>

/* Starts to count failed allocations of the JSON library, too. */
void tl_memory_watch(void);
/* Returns true once an allocation of ordinary size has failed, in this thread or in one that worked
 * for it. An enormous allocation, which a model may ask for, is judged where it is made. */
bool tl_memory_failed(void);

#endif
