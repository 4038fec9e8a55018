/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the black list that the policy of ranges comes to (tailor explain --suggest-mixlist). */
#ifndef TL_TOOLS_EXPLAIN_SUGGEST_MIXLIST_H
#define TL_TOOLS_EXPLAIN_SUGGEST_MIXLIST_H

#include "tools/cli/cli.h"

/* Turns the policy of ranges on, and mixed_float16 if no mode is given. To be called before the
 * settings are resolved. TL_INVALID_ARGUMENT, reported, if other options ask for something else. */
tl_status tl_suggest_prepare(tl_cli *cli) TL_NODISCARD;

/* Writes the JSON of --modify-mixlist to the file of the option and says which op types are in it
 * and why; without a file it prints the JSON. Entries of a given --modify-mixlist stay, except for
 * types that are black now. TL_INVALID_ARGUMENT, reported, outside of mixed modes. */
tl_status tl_suggest_mixlist(tl_cli *cli) TL_NODISCARD;

/* Adds the JSON of a mix list that makes op types black: types, sorted, without repetition. Entries
 * of the user's file in `c` stay, except for these types. */
void tl_mixlist_with_black(const tl_precision_config *c, const tl_sv *types, uint32_t n,
                           tl_buf *out);

#endif
