/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX extended regular expressions that users write, bounded so that none of them can take the
 * machine down. Back-references, which may take exponential time, are refused; length, nesting and
 * repetition are limited, since they decide how much memory a compiled expression takes. Refused is
 * as well what POSIX leaves to the C library and glibc and musl read in different ways. */
#ifndef TL_SUPPORT_PATTERN_H
#define TL_SUPPORT_PATTERN_H

#include <regex.h>
#include <stdbool.h>

#include "support/status.h"
#include "support/str.h"

enum {
  TL_PATTERN_MAX_BYTES = 512,
  TL_PATTERN_MAX_DEPTH = 16,   /* of parentheses */
  TL_PATTERN_MAX_COPIES = 256, /* what the counts of {m,n} multiply to, 2 for each )+ */
  TL_PATTERN_MAX_OPTIONAL = 16 /* groups with * or ? behind, times those copies: what may be empty
                                  in what is repeated takes exponential time to compile */
};

/* A compiled expression. */
typedef struct tl_pattern {
  regex_t compiled; /* owned */
} tl_pattern;

/* Returns what an error of regcomp means, as a clause: the words of C libraries differ. */
const char *tl_pattern_error(int code);

/* Compiles text, or says in *problem (a clause) why it is refused. After TL_OK the caller calls
 * tl_pattern_release. TL_INVALID_ARGUMENT, TL_NO_MEMORY. */
tl_status tl_pattern_compile(tl_pattern *p, tl_sv text, const char **problem) TL_NODISCARD;
/* Returns true when all of `name`, n bytes and a NUL, matches. A name with a zero byte in it
 * matches nothing. O(n) times the pattern. */
bool tl_pattern_fits(const tl_pattern *p, const char *name, size_t n);
/* Frees a compiled expression. */
void tl_pattern_release(tl_pattern *p);

#endif
