/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between two texts, line by line, in the unified form that diff -u and git diff
 * print. */
#ifndef TL_SUPPORT_TEXT_DIFF_H
#define TL_SUPPORT_TEXT_DIFF_H

#include "support/status.h"
#include "support/str.h"

typedef struct tl_text_diff_options {
  uint32_t context; /* unchanged lines around each change */
  bool colour;      /* removed lines red, added ones green, positions cyan, by ANSI sequences */
} tl_text_diff_options;

/* Adds the hunks that turn text a into text b; nothing if they are equal. The edit script is a
 * shortest one by Myers' algorithm (An O(ND) Difference Algorithm, 1986) in linear space, unless
 * the texts have so little in common that this would take too long: then whole parts are replaced.
 * O((lines of a + b) * min(differing lines, a fixed bound)). TL_NO_MEMORY, unreported. */
tl_status tl_text_diff(tl_sv a, tl_sv b, const tl_text_diff_options *o, tl_buf *out) TL_NODISCARD;

#endif
