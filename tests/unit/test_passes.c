/* SPDX-License-Identifier: Apache-2.0 */
/* The pass table: names, order pairs, lookup. */
#include <string.h>

#include "passes/manager.h"
#include "tests/unit/unit.h"

static void order_pairs_hold(void) {
  uint32_t n;
  const tl_pass_order *orders = tl_pass_orders(&n);
  CU_ASSERT_TRUE(n > 0);
  for (uint32_t i = 0; i < n; i++) {
    CU_ASSERT_TRUE(orders[i].before < orders[i].after); /* rows stand in pipeline order */
    CU_ASSERT_TRUE(strlen(orders[i].reason) > 0);
  }
}

static void names_are_unique_and_found(void) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  for (uint32_t i = 0; i < n; i++)
    CU_ASSERT_PTR_EQUAL(tl_pass_find(tl_sv_from(rows[i].name)), &rows[i]);
  CU_ASSERT_PTR_NULL(tl_pass_find(TL_SV("no-such-pass")));
}

static void keep_hint(void *user, const tl_diagnostic *d) {
  tl_buf_add_z(user, d->hint ? d->hint : "");
}

static void unknown_pass_names_the_nearest(void) {
  tl_buf hint;
  tl_buf_init(&hint);
  tl_diag diag = {.fn = keep_hint, .user = &hint};
  tl_module *m = tl_module_create(&diag, "test", 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  tl_options options = tl_options_default();
  tl_pipeline_options p = {.passes = "dead-node"};
  CU_ASSERT_EQUAL(tl_pipeline_run(m, &options, &p, NULL), TL_INVALID_ARGUMENT);
  CU_ASSERT_PTR_NOT_NULL(strstr(hint.p, "dead-nodes"));
  tl_module_destroy(m);
  tl_buf_release(&hint);
}

static const unit_test tests[] = {
    {"order pairs hold", order_pairs_hold},
    {"names are unique and found", names_are_unique_and_found},
    {"unknown pass names the nearest", unknown_pass_names_the_nearest},
    {NULL, NULL}};
const unit_suite unit_suite_passes = {"passes", tests};
