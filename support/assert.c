/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a run whose program is wrong. Whoever debugs it reads standard error: a sink for
 * messages may be what is broken. */
#include "support/assert.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef NDEBUG
void tl_assert_failed(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  abort();
}
#endif
