/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions, for the parser and for documents. */
#include "passes/expr/expr.h"

const tl_function_row tl_functions[] = {
#define TL_FUNCTION(name, least, most, room, places, signature, summary)                           \
  {#name, signature, summary, least, most, places},
#include "passes/expr/functions.tbl"
};

_Static_assert(TL_N_FUNCTIONS < UINT8_MAX, "tl_expr.function is a byte");
