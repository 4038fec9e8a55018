/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every suite of suites.tbl, or the one whose title or id is the argument, and ends with the
 * line that the test runner adds up. */
#include <CUnit/Basic.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/unit.h"

static int add_suite(const unit_suite *suite, const char *id, const char *only) {
  if (only && strcmp(only, suite->name) != 0 && strcmp(only, id) != 0)
    return 1;
  CU_pSuite s = CU_add_suite(suite->name, NULL, NULL);
  for (const unit_test *t = suite->tests; s && t->name; t++)
    if (!CU_add_test(s, t->name, t->fn))
      return 0;
  return s != NULL;
}

int main(int argc, char **argv) {
  if (CU_initialize_registry() != CUE_SUCCESS)
    return 70;
#define UNIT_SUITE(id)                                                                             \
  if (!add_suite(&unit_suite_##id, #id, argc > 1 ? argv[1] : NULL))                                \
    return 70;
#include "tests/unit/suites.tbl"
#undef UNIT_SUITE
  if (!CU_get_registry()->uiNumberOfSuites) {
    fprintf(stderr, "no such suite: %s\n", argv[1]);
    return 64;
  }
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_basic_run_tests();
  unsigned failed = CU_get_number_of_tests_failed();
  printf("\n%u passed, %u failed, 0 skipped\n", CU_get_number_of_tests_run() - failed, failed);
  CU_cleanup_registry();
  return failed ? 1 : 0;
}
