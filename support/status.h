/* SPDX-License-Identifier: Apache-2.0 */
/* Result codes of every fallible function. The code says what kind of failure it was; the
 * diagnostic that was reported when the fact was known says what, where and what to do. */
#ifndef TL_SUPPORT_STATUS_H
#define TL_SUPPORT_STATUS_H

typedef enum tl_status {
  TL_OK = 0,
  TL_INVALID_ARGUMENT, /* the caller's options contradict each other or are out of range */
  TL_INVALID_MODEL,    /* the input is not a well-formed model */
  TL_UNSUPPORTED,      /* well formed, but beyond what this version can do */
  TL_IO,               /* the operating system refused to read or write */
  TL_NO_MEMORY,
  TL_LIMIT,            /* a documented bound (depth, count, size) was exceeded */
  TL_INTERNAL          /* an invariant of ours does not hold */
} tl_status;

#define TL_NODISCARD __attribute__((warn_unused_result))
#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Returns from the enclosing function when `expr` is not TL_OK. */
#define TL_TRY(expr)                            \
  do {                                          \
    tl_status tl_try_status_ = (expr);          \
    if (tl_try_status_ != TL_OK)                \
      return tl_try_status_;                    \
  } while (0)

#endif
