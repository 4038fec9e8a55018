/* SPDX-License-Identifier: Apache-2.0 */
/* tailor explain --suggest-mixlist: the black list that the policy of ranges comes to. */
#ifndef TL_TOOLS_EXPLAIN_SUGGEST_MIXLIST_H
#define TL_TOOLS_EXPLAIN_SUGGEST_MIXLIST_H

#include "tools/cli/cli.h"

/* Turns the policy of ranges on, and mixed_float16 when no mode is given. Before the settings are
 * resolved. TL_INVALID_ARGUMENT when other options ask for something else, reported. */
tl_status tl_suggest_prepare(tl_cli *cli) TL_NODISCARD;

/* Writes the JSON of --modify-mixlist to the file of the option and says which op types are in it
 * and why, or without a file prints the JSON. Entries of a --modify-mixlist that was given stay,
 * but for types that are black now. TL_INVALID_ARGUMENT outside of mixed modes, reported. */
tl_status tl_suggest_mixlist(tl_cli *cli) TL_NODISCARD;

#endif
