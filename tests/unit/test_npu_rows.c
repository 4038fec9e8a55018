/* SPDX-License-Identifier: Apache-2.0 */
/* NPU candidates of the op table: every text compiles against its prototype; a few forms end to
 * end, through the self-checked AIR file. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/air/emit.h"
#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "passes/edit/passes.h"
#include "passes/npu/eval.h"
#include "passes/npu/tensor.h"
#include "tests/unit/unit.h"

static void keep_message(void *user, const tl_diagnostic *d) { tl_diag_format(user, d); }

static void rows_compile(void) {
  tl_buf messages;
  tl_buf_init(&messages);
  tl_diag diag = {.fn = keep_message, .user = &messages};
  tl_module *m = tl_module_create(&diag, "rows", 0);
  tl_npu_forms forms;
  CU_ASSERT_PTR_NOT_NULL_FATAL(m);
  CU_ASSERT_EQUAL_FATAL(tl_npu_forms_init(&forms, m), TL_OK);
  for (tl_op_id op = 0; op < tl_n_op_rows; op++) {
    const tl_npu_form *form;
    CU_ASSERT_EQUAL(tl_npu_forms_get(&forms, op, &form), TL_OK);
  }
  CU_ASSERT_EQUAL(diag.errors, 0);
  if (diag.errors)
    fprintf(stderr, "%s", messages.p);
  tl_module_destroy(m);
  tl_buf_release(&messages);
}

static void mistakes_are_refused(void) {
  static const char *const bad[] = {
      "",
      "rank(in0",
      "rank()",
      "foo(in0)",
      "dtype(in0) in [f99]",
      "1..2",
      "a b",
      "dtype(in0) == axis",
      "rank(in0) == dtype(in0)",
      "dtype(in0) == 1",
      "\"x",
      "size-1 == 2",
      "rank(%x) == 2",
      "$axis == 1",
      "i32s(axes)",
      "uses(in0) == 1",
      "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((in0"};
  tl_diag diag = {0};
  tl_module *m = tl_module_create(&diag, "rows", 0);
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char *why = NULL;
    CU_ASSERT_PTR_NULL(tl_npu_expr_parse(m, &scratch, tl_sv_from(bad[i]), TL_IN_GUARDS, &why));
    CU_ASSERT_PTR_NOT_NULL(why);
  }
  tl_arena_release(&scratch);
  tl_module_destroy(m);
}

static void halves_round_to_even(void) {
  static const struct {
    double v;
    uint16_t bits;
  } rows[] = {{1, 0x3c00},
              {-2, 0xc000},
              {65504, 0x7bff},
              {65520, 0x7c00},
              {65519, 0x7bff},
              {5.9604644775390625e-8, 0x0001},
              {2.98e-8, 0x0000},
              {6.103515625e-5, 0x0400},
              {1.00048828125, 0x3c00},
              {1.00146484375, 0x3c02}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint16_t bits = 0;
    CU_ASSERT_TRUE(tl_npu_store(TL_DTYPE_F16, rows[i].v, &bits));
    CU_ASSERT_EQUAL(bits, rows[i].bits);
  }
}

typedef struct run {
  tl_buf messages;
  tl_diag diag;
  tl_module *m;
  char folder[64];
  char path[96];
} run;

static void begin(run *r, const char *text) {
  tl_buf_init(&r->messages);
  r->diag = (tl_diag){.fn = keep_message, .user = &r->messages};
  snprintf(r->folder, sizeof r->folder, "/tmp/tailor-unit-XXXXXX");
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(r->folder));
  snprintf(r->path, sizeof r->path, "%s/m.air", r->folder);
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&r->diag, "-", tl_sv_from(text), &r->m), TL_OK);
}

static tl_status convert(run *r, const tl_options *o, uint64_t limit) {
  uint64_t rewrites = 0;
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  tl_pass p = {.name = "test",
               .options = o,
               .scratch = &scratch,
               .rewrites = &rewrites,
               .limit = UINT64_MAX};
  tl_status status = tl_infer_module(r->m);
  if (status == TL_OK)
    status = tl_pass_select(&p, r->m);
  if (status == TL_OK)
    status = tl_pass_lower(&p, r->m);
  tl_air_options save = {.options = o, .limit = limit};
  if (status == TL_OK)
    status = tl_air_save(r->m, r->path, &save);
  tl_arena_release(&scratch);
  return status;
}

static void end(run *r) {
  remove(r->path);
  CU_ASSERT_EQUAL(rmdir(r->folder), 0); /* nothing else was left behind */
  tl_module_destroy(r->m);
  tl_buf_release(&r->messages);
}

static void lowers_and_writes(void) {
  run r;
  tl_options o = tl_options_default();
  struct stat st;
  begin(&r, "graph @g(%x: f32[2,3]) -> (%y) {\n  %t = Transpose(%x)\n  %y = Relu(%t)\n}\n");
  CU_ASSERT_EQUAL(convert(&r, &o, 0), TL_OK);
  CU_ASSERT_EQUAL(stat(r.path, &st), 0);
  tl_node_id n = tl_module_main(r.m)->first;
  CU_ASSERT_TRUE(tl_sv_is(tl_op_domain(r.m, tl_node_get(r.m, n)->op), "npu"));
  int64_t element;
  const tl_tensor *t = tl_value_constant(r.m, tl_operand(r.m, n, 1));
  CU_ASSERT_PTR_NOT_NULL_FATAL(t);
  CU_ASSERT_EQUAL(tl_tensor_elements(r.m, t), 2);
  CU_ASSERT_TRUE(tl_tensor_int_at(r.m, t, 0, &element) && element == 1);
  end(&r);
}

static void lists_what_has_no_form(void) {
  run r;
  tl_options o = tl_options_default();
  begin(&r, "graph @g(%x: f32[2,3]) -> (%y) {\n  %t = LpNormalization(%x)\n  %y = Relu(%t)\n}\n");
  CU_ASSERT_EQUAL(convert(&r, &o, 0), TL_UNSUPPORTED);
  CU_ASSERT_EQUAL(r.diag.errors, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(r.messages.p);
  CU_ASSERT_PTR_NOT_NULL(strstr(r.messages.p, "LpNormalization x1"));
  CU_ASSERT_NOT_EQUAL(access(r.path, F_OK), 0);
  end(&r);
}

/* A weight of 4 KiB with a limit of 1 KiB: it moves to a file of its own. */
static void splits_large_weights(void) {
  run r;
  tl_options o = tl_options_default();
  char file[192];
  struct stat st;
  static const float zeros[1024];
  begin(&r, "graph @g(%x: f32[1024]) -> (%y) {\n  %y = Add(%x, %x)\n}\n");
  tl_module *m = r.m;
  tl_type_id type = tl_type_tensor(m, TL_DTYPE_F32, 1, (const tl_dim[]){1024});
  tl_tensor_id t = tl_tensor_from_bytes(m, type, zeros, sizeof zeros);
  tl_symbol name = tl_module_intern(m, TL_SV("w.1"));
  tl_value_id w = tl_graph_add_constant(m, tl_module_main(m)->id, name, t);
  tl_node_set_operand(m, tl_module_main(m)->first, 1, w);
  CU_ASSERT_EQUAL(convert(&r, &o, 1024), TL_OK);
  snprintf(file, sizeof file, "%s/air_weight/m/Const_g_w_1_file", r.folder);
  CU_ASSERT_EQUAL_FATAL(stat(file, &st), 0);
  CU_ASSERT_EQUAL(st.st_size, 4096);
  remove(file);
  snprintf(file, sizeof file, "%s/air_weight/m", r.folder);
  rmdir(file);
  snprintf(file, sizeof file, "%s/air_weight", r.folder);
  rmdir(file);
  end(&r);
}

static const unit_test tests[] = {{"rows compile", rows_compile},
                                  {"mistakes are refused", mistakes_are_refused},
                                  {"halves round to even", halves_round_to_even},
                                  {"lowers and writes", lowers_and_writes},
                                  {"lists what has no form", lists_what_has_no_form},
                                  {"splits large weights", splits_large_weights},
                                  {NULL, NULL}};
const unit_suite unit_suite_npu_rows = {"npu rows", tests};
