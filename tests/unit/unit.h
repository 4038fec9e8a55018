/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit test file registers one suite here; main.c runs them all. */
#ifndef TL_TESTS_UNIT_H
#define TL_TESTS_UNIT_H

#include <CUnit/CUnit.h>

typedef struct unit_test {
  const char *name;
  void (*fn)(void);
} unit_test;

/* Ends with a row of two NULLs. */
typedef struct unit_suite {
  const char *name;
  const unit_test *tests;
} unit_suite;

#define UNIT_SUITE(id) extern const unit_suite unit_suite_##id;
#include "tests/unit/suites.tbl"
#undef UNIT_SUITE

#endif
