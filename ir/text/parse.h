/* SPDX-License-Identifier: Apache-2.0 */
/* The textual IR (docs/textual-ir.md), into a module. Any bytes are safe to parse: nesting and
 * counts are bounded, files are only mapped when the text names them and they are regular. */
#ifndef TL_IR_TEXT_PARSE_H
#define TL_IR_TEXT_PARSE_H

#include "ir/module.h"

enum { TL_TEXT_IR_VERSION = 10 }; /* of a module without a header */

/* Parses a whole module. path names the text in messages ("-" or "" when it came from nowhere);
 * files of weights are looked up in its folder, then relative to the working directory. On failure
 * one error with line and column was reported and *out is NULL. TL_INVALID_MODEL, TL_IO, TL_LIMIT,
 * TL_NO_MEMORY. The caller destroys *out; `text` may go away. */
tl_status tl_module_parse(tl_diag *d, const char *path, tl_sv text, tl_module **out) TL_NODISCARD;

/* Parses a module into one that is there: its graphs become further root graphs of *m, which keeps
 * what it says of itself. All but shapes is verified. After a failure the module is only good for
 * destruction. */
tl_status tl_module_parse_beside(tl_diag *d, const char *path, tl_sv text,
                                 tl_module *m) TL_NODISCARD;

/* Word of the text for an origin: "user", "gate" ... */
const char *tl_control_origin_name(tl_control_origin origin);

#endif
