/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants, stated where they hold. TL_ASSERT is for what only a defect of this program breaks:
 * what a model or a user can get wrong is an error with a message. Builds for developers and the
 * sanitized test runs compile assertions in (meson: b_ndebug, which follows the build type; set
 * -Db_ndebug=false for a release with them); in a release the condition is not evaluated. */
#ifndef TL_SUPPORT_ASSERT_H
#define TL_SUPPORT_ASSERT_H

#ifdef NDEBUG
#define TL_ASSERT(condition) ((void)sizeof(condition))
#else
#define TL_ASSERT(condition)                                                                       \
  ((condition) ? (void)0 : tl_assert_failed(__FILE__, __LINE__, #condition))
/* Prints file, line and condition to standard error and aborts. */
_Noreturn void tl_assert_failed(const char *file, int line, const char *condition);
#endif

/* A table has one row for each value of an enum. */
#define TL_ASSERT_ROWS(table, n)                                                                   \
  _Static_assert(sizeof(table) / sizeof *(table) == (n), "one row of " #table " for each value")

#endif
