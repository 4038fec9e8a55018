/* SPDX-License-Identifier: Apache-2.0 */
/* The pass behind --op-name-map, and the rewrite limit that every pass obeys. */
#include <stdlib.h>

#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "passes/edit/passes.h"
#include "tests/unit/unit.h"

static const char custom[] = "module {\n  opset \"\" 21\n  opset \"acme\" 1\n}\n\n"
                             "graph @g(%x: f32[2]) -> (%y) {\n"
                             "  %y = acme::MyRelu(%x)\n"
                             "}\n";

static void keep_message(void *user, const tl_diagnostic *d) { tl_diag_format(user, d); }

/* Runs one pass over a text; *out receives the module afterwards, or the messages. */
static tl_status run(tl_pass_fn pass, const char *text, const tl_options *options, uint64_t limit,
                     tl_buf *out) {
  uint64_t rewrites = 0;
  tl_diag diag = {.fn = keep_message, .user = out};
  tl_module *m = NULL;
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&diag, "-", tl_sv_from(text), &m), TL_OK);
  tl_pass p = {.name = "test",
               .options = options,
               .scratch = &scratch,
               .rewrites = &rewrites,
               .limit = limit};
  tl_status status = pass(&p, m);
  if (status == TL_OK)
    CU_ASSERT_EQUAL(tl_module_print(m, out, NULL), TL_OK);
  CU_ASSERT_TRUE(rewrites <= limit);
  tl_module_destroy(m);
  tl_arena_release(&scratch);
  return status;
}

static void renames_to(const char *from, const char *to, tl_status expected, const char *shown) {
  tl_op_rename rename = {tl_sv_from(from), tl_sv_from(to)};
  tl_options options = tl_options_default();
  tl_buf out;
  tl_buf_init(&out);
  options.op_renames = &rename;
  options.n_op_renames = 1;
  CU_ASSERT_EQUAL(run(tl_pass_op_names, custom, &options, UINT64_MAX, &out), expected);
  CU_ASSERT_PTR_NOT_NULL(strstr(out.p, shown));
  tl_buf_release(&out);
}

static void types_are_replaced(void) {
  renames_to("MyRelu", "Relu", TL_OK, "%y = Relu(%x)");
  renames_to("acme::MyRelu", "Relu", TL_OK, "%y = Relu(%x)");
  renames_to("MyRelu", "other::Thing", TL_OK, "%y = other::Thing(%x)");
  renames_to("MyRelu", "Thing", TL_OK, "%y = acme::Thing(%x)");
}

static void other_types_stay(void) {
  renames_to("other::MyRelu", "Relu", TL_OK, "%y = acme::MyRelu(%x)");
  renames_to("myrelu", "Relu", TL_OK, "%y = acme::MyRelu(%x)");
}

static void operands_must_fit(void) {
  renames_to("MyRelu", "Add", TL_INVALID_ARGUMENT, "type 'Add' needs 2 operands and 1 results");
  renames_to("MyRelu", "Where", TL_INVALID_ARGUMENT, "--op-name-map");
}

static void the_limit_stops_passes(void) {
  static const char text[] = "graph @g(%x: f32[2]) -> (%y) {\n"
                             "  %a = Identity(%x)\n  %b = Identity(%a)\n  %y = Relu(%b)\n}\n";
  tl_options options = tl_options_default();
  tl_buf out;
  tl_buf_init(&out);
  CU_ASSERT_EQUAL(run(tl_pass_identity_elimination, text, &options, 1, &out), TL_OK);
  CU_ASSERT_PTR_NULL(strstr(out.p, "%a = Identity"));
  CU_ASSERT_PTR_NOT_NULL(strstr(out.p, "%b = Identity(%x)"));
  tl_buf_release(&out);
}

static const unit_test tests[] = {{"types are replaced", types_are_replaced},
                                  {"other types stay", other_types_stay},
                                  {"operands must fit", operands_must_fit},
                                  {"the limit stops passes", the_limit_stops_passes},
                                  {NULL, NULL}};
const unit_suite unit_suite_op_names = {"op names", tests};
