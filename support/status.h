/* SPDX-License-Identifier: Apache-2.0 */
/* The result codes of every fallible function. The code says what kind of failure it was. The
 * diagnostic, which was reported where the fact was known, says what, where and what to do. */
#ifndef TL_SUPPORT_STATUS_H
#define TL_SUPPORT_STATUS_H

/* The one table: status, exit code of the command and of the library's functions, and what is said
 * when nothing more is known.
 *   TL_INVALID_ARGUMENT  the caller's options contradict each other or are out of range
 *   TL_INVALID_MODEL     the input is not a well-formed model
 *   TL_UNSUPPORTED       well formed, but beyond what this version can do
 *   TL_IO                the operating system refused to read or write
 *   TL_LIMIT             the input exceeds a documented bound (depth, count, size)
 *   TL_INTERNAL          an invariant of ours does not hold */
#define TL_STATUSES(ROW)                                                                           \
  ROW(TL_OK, 0, "no error")                                                                        \
  ROW(TL_INVALID_ARGUMENT, 1, "an option is wrong")                                                \
  ROW(TL_INVALID_MODEL, 2, "the input is not well formed")                                         \
  ROW(TL_UNSUPPORTED, 3, "the input is beyond this version")                                       \
  ROW(TL_IO, 4, "reading or writing failed")                                                       \
  ROW(TL_NO_MEMORY, 70, "out of memory")                                                           \
  ROW(TL_LIMIT, 2, "the input is beyond a limit")                                                  \
  ROW(TL_INTERNAL, 70, "internal error")

typedef enum tl_status {
#define TL_STATUS_NAME(name, code, words) name,
  TL_STATUSES(TL_STATUS_NAME)
#undef TL_STATUS_NAME
} tl_status;

/* For a rare case, which would cost the common one registers. */
#define TL_NOINLINE __attribute__((noinline))
#define TL_NODISCARD __attribute__((warn_unused_result))
#define TL_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Returns the exit code of a status. */
int tl_status_exit_code(tl_status status);
/* Returns the name of a status ("TL_IO"); a static string. */
const char *tl_status_name(tl_status status);
/* Returns what a status says when nothing more is known; a static string. */
const char *tl_status_words(tl_status status);

/* Returns from the enclosing function when `expr` is not TL_OK. */
#define TL_TRY(expr)                                                                               \
  do {                                                                                             \
    tl_status tl_try_status_ = (expr);                                                             \
    if (tl_try_status_ != TL_OK)                                                                   \
      return tl_try_status_;                                                                       \
  } while (0)

#endif
