/* SPDX-License-Identifier: Apache-2.0 */
/* What a conversion said, as JSON values of an entry's index, and saying it again. Messages are
 * kept in their parts, also those that were not shown: each run shows them in its own form. */
#ifndef TL_TOOLS_CACHE_SAID_H
#define TL_TOOLS_CACHE_SAID_H

#include <cjson/cJSON.h>

#include "tools/cli/cli.h"

/* Returns true for what JSON keeps as it is: UTF-8 without NUL bytes. */
bool tl_said_can_keep(tl_sv s);
/* Add a message, or a text of tl_cli_note, with a comma before it unless *out is empty. False: it
 * cannot be kept as it is, because it is not UTF-8 or has a NUL byte. */
bool tl_said_add_message(tl_buf *out, const tl_diagnostic *d);
bool tl_said_add_note(tl_buf *out, tl_sv text);
/* Says everything again in its order. notes: texts instead of messages. */
void tl_said_again(tl_cli *cli, const cJSON *messages, bool notes);

#endif
