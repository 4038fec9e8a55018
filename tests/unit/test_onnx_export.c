/* SPDX-License-Identifier: Apache-2.0 */
/* Export to ONNX: what is written and read again prints as before; refusals; files of weights. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/onnx/export.h"
#include "frontend/onnx/load.h"
#include "ir/graph.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/unit/unit.h"

typedef struct fixture {
  tl_diag diag;
  tl_buf messages;
  char folder[64];
  char model[96];
  char data[112];
} fixture;

static void keep_message(void *user, const tl_diagnostic *d) { tl_diag_format(user, d); }

static void begin(fixture *f) {
  tl_buf_init(&f->messages);
  f->diag = (tl_diag){.fn = keep_message, .user = &f->messages};
  snprintf(f->folder, sizeof f->folder, "/tmp/tailor-unit-XXXXXX");
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
  snprintf(f->model, sizeof f->model, "%s/m.onnx", f->folder);
  snprintf(f->data, sizeof f->data, "%s/m.onnx.data", f->folder);
}

static void end(fixture *f) {
  remove(f->model);
  remove(f->data);
  CU_ASSERT_EQUAL(rmdir(f->folder), 0); /* nothing else was left behind */
  tl_buf_release(&f->messages);
}

static off_t size_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? st.st_size : -1;
}

static tl_module *parse(fixture *f, const char *text) {
  tl_module *m = NULL;
  CU_ASSERT_EQUAL_FATAL(tl_module_parse(&f->diag, "-", tl_sv_from(text), &m), TL_OK);
  return m;
}

static void text_survives(const char *text) {
  fixture f;
  begin(&f);
  tl_module *m = parse(&f, text);
  CU_ASSERT_EQUAL(tl_onnx_save(m, f.model, NULL), TL_OK);
  tl_module_destroy(m);
  m = NULL;
  CU_ASSERT_EQUAL(tl_onnx_load(&f.diag, f.model, NULL, &m), TL_OK);
  tl_buf again;
  tl_buf_init(&again);
  if (m) {
    CU_ASSERT_EQUAL(tl_module_print(m, &again, NULL), TL_OK);
    CU_ASSERT_STRING_EQUAL(again.p, text);
    if (strcmp(again.p, text) != 0)
      fprintf(stderr, "%s%s", again.p, tl_buf_view(&f.messages).p);
  } else {
    fprintf(stderr, "%s", tl_buf_view(&f.messages).p);
  }
  tl_buf_release(&again);
  tl_module_destroy(m);
  end(&f);
}

static void graphs_survive(void) {
  text_survives("module {\n  source_opset 21\n}\n\n"
                "graph @g(%x: f32[n,3], %u: i64[?], %k: f32[] = 1.5) -> (%y, %z) {\n"
                "  const %w: f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n"
                "  const %s: str[2] = [\"a\", \"b\\x00c\"]\n"
                "  %m = MatMul(%x, %w) @mm : f32[n,2]\n"
                "  %y = Add(%m, %k) : f32[n,2]\n"
                "  %z = Identity(%s) : str[2]\n"
                "}\n");
}

static void bodies_survive(void) {
  text_survives("module {\n  source_opset 21\n}\n\n"
                "graph @g(%c: bool[], %x: f32[2]) -> (%y) {\n"
                "  %r = Relu(%x) : f32[2]\n"
                "  %y = If(%c) @if {\n"
                "    then_branch=graph @t() -> (%a) {\n"
                "      %a = Neg(%r) : f32[2]\n"
                "    },\n"
                "    else_branch=graph @e() -> (%b) {\n"
                "      const %one: f32[2] = [1.0, -0.0]\n"
                "      %b = Add(%r, %one) : f32[2]\n"
                "    }\n"
                "  } : f32[2]\n"
                "}\n");
}

/* Runtimes know inputs and results of some bodies by name, whatever is around them. */
static void names_reused_in_bodies_survive(void) {
  text_survives("module {\n  source_opset 21\n}\n\n"
                "graph @g(%c: bool[], %x: f32[2]) -> (%y) {\n"
                "  %r = Relu(%x) : f32[2]\n"
                "  %y = If(%c) @if {\n"
                "    then_branch=graph @t() -> (%a) {\n"
                "      const %r: f32[2] = [1.0, -0.0]\n"
                "      %a = Neg(%r) : f32[2]\n"
                "    },\n"
                "    else_branch=graph @e() -> (%b) {\n"
                "      const %x: f32[2] = [1.0, -0.0]\n"
                "      %b = Add(%x, %x) : f32[2]\n"
                "    }\n"
                "  } : f32[2]\n"
                "}\n");
}

/* A result of a body must not be called like a value around it; a file may say so all the same. */
static void clashing_results_are_renamed(void) {
  fixture f;
  tl_buf text;
  begin(&f);
  tl_buf_init(&text);
  tl_module *m = parse(&f, "graph(%c: bool[], %x: f32[2]) -> (%y) { %r = Relu(%x) %y = If(%c) {"
                           "then_branch=graph() -> (%t) { %n = Neg(%r) %t = Exp(%n) },"
                           "else_branch=graph() -> (%n) { %n = Neg(%x) } } }");
  tl_node_id last = tl_graph_get(m, 2)->last;
  tl_value_set_name(m, tl_result(m, last, 0), tl_module_intern(m, TL_SV("r")));
  CU_ASSERT_EQUAL(tl_module_verify(m, TL_VERIFY_ALL), TL_INVALID_MODEL);
  CU_ASSERT_PTR_NOT_NULL(strstr(tl_buf_view(&f.messages).p, "result %r in a body has the name"));
  CU_ASSERT_PTR_NOT_NULL(strstr(tl_buf_view(&f.messages).p, "operand 0 (%r) is hidden"));
  CU_ASSERT_EQUAL(tl_onnx_save(m, f.model, NULL), TL_OK);
  tl_module_destroy(m);
  CU_ASSERT_EQUAL_FATAL(tl_onnx_load(&f.diag, f.model, NULL, &m), TL_OK);
  CU_ASSERT_EQUAL(tl_module_verify(m, TL_VERIFY_ALL), TL_OK);
  CU_ASSERT_EQUAL(tl_module_print(m, &text, NULL), TL_OK);
  CU_ASSERT_PTR_NOT_NULL(strstr(text.p, "graph() -> (%r_1) {\n      %n = Neg(%r)"));
  tl_buf_release(&text);
  tl_module_destroy(m);
  end(&f);
}

static void attributes_and_types_survive(void) {
  text_survives(
      "module {\n  opset \"\" 21\n  opset \"acme\" 3\n  source_opset 21\n}\n\n"
      "graph @g(%x: f32[2], %q: seq(f32[?,4]), %o: optional(f32[2])) -> (%y, %p) {\n"
      "  %y, _ = acme::All(%x, _, %o) {i=-7, f=0.1, s=\"text\", t=i64[2] [1, 2], is=[1, -2], "
      "fs=[0.5], ss=[\"a\", \"\"], none=ints[]}\n"
      "  %p = acme::Two(%q)\n"
      "}\n");
}

static void notes_survive(void) {
  text_survives("module {\n  source_opset 21\n  producer \"p\" \"1.0\"\n}\n\n"
                "graph @g(%x: f32[2]) -> (%y) {\n"
                "  about graph doc \"the graph\"\n"
                "  about %x doc \"the input\" meta \"k\" \"v\"\n"
                "  %y = Relu(%x) : f32[2] doc \"the node\" meta \"a\" \"b\" meta \"c\" \"d\"\n"
                "}\n");
}

static void weights_go_beside(void) {
  static const float ones[1024] = {1.0f};
  fixture f;
  begin(&f);
  tl_module *m = parse(&f, "graph @g(%x: f32[1024]) -> (%y) {\n"
                           "  const %small: f32[] = 1.0\n"
                           "  %y = Add(%x, %small)\n}\n");
  tl_dim dim = 1024;
  tl_type_id type = tl_type_tensor(m, TL_DTYPE_F32, 1, &dim);
  tl_tensor_id t = tl_tensor_from_bytes(m, type, ones, sizeof ones);
  tl_value_id w = tl_graph_add_constant(m, 1, tl_module_intern(m, TL_SV("w")), t);
  tl_graph_add_constant(m, 1, tl_module_intern(m, TL_SV("w2")), t);
  tl_node_set_operand(m, tl_module_main(m)->first, 1, w);
  tl_onnx_save_options o = {.external_data = true};
  CU_ASSERT_EQUAL(tl_onnx_save(m, f.model, &o), TL_OK);
  CU_ASSERT_EQUAL(size_of(f.data), 2 * 4096);
  CU_ASSERT_TRUE(size_of(f.model) < 1024);
  tl_module *again = NULL;
  CU_ASSERT_EQUAL(tl_onnx_load(&f.diag, f.model, NULL, &again), TL_OK);
  if (again) {
    const tl_graph *g = tl_module_main(again);
    const tl_tensor *got = tl_value_constant(again, g->constants.at[1]);
    CU_ASSERT_TRUE_FATAL(got && got->bytes == sizeof ones);
    CU_ASSERT_EQUAL(memcmp(tl_tensor_data(got), ones, sizeof ones), 0);
  }
  tl_module_destroy(again);
  tl_module_destroy(m);
  end(&f);
}

static void refuses(const char *text, const char *message) {
  fixture f;
  begin(&f);
  tl_module *m = parse(&f, text);
  CU_ASSERT_EQUAL(tl_onnx_save(m, f.model, NULL), TL_UNSUPPORTED);
  CU_ASSERT_PTR_NOT_NULL(strstr(tl_buf_view(&f.messages).p, message));
  CU_ASSERT_EQUAL(size_of(f.model), -1);
  tl_module_destroy(m);
  end(&f);
}

static void npu_things_are_refused(void) {
  refuses("graph @g(%x: f32[2]) -> (%y) {\n  %y = npu::Relu(%x) @r\n}\n", "npu::Relu");
  refuses("module {\n  opset \"\" 21\n  opset \"acme\" 1\n}\n"
          "graph @g(%x: f32[2]) -> (%y) {\n  %y = acme::A(%x) {flag=true}\n}\n",
          "flag");
}

static void a_cancelled_save_leaves_nothing(void) {
  const volatile int cancel = 1;
  fixture f;
  begin(&f);
  tl_module *m = parse(&f, "graph @g(%x: f32[2]) -> (%y) {\n  %y = Relu(%x)\n}\n");
  tl_onnx_save_options o = {.cancel = &cancel};
  CU_ASSERT_EQUAL(tl_onnx_save(m, f.model, &o), TL_IO);
  CU_ASSERT_EQUAL(size_of(f.model), -1);
  tl_module_destroy(m);
  end(&f);
}

static void bad_names_of_data_are_refused(void) {
  static const char *const names[] = {"", "..", "a/b", "m.onnx"};
  fixture f;
  begin(&f);
  tl_module *m = parse(&f, "graph @g(%x: f32[2]) -> (%y) {\n  %y = Relu(%x)\n}\n");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    tl_onnx_save_options o = {.external_data = true, .external_name = names[i]};
    CU_ASSERT_EQUAL(tl_onnx_save(m, f.model, &o), TL_INVALID_ARGUMENT);
  }
  tl_module_destroy(m);
  end(&f);
}

static const unit_test tests[] = {
    {"graphs survive", graphs_survive},
    {"bodies survive", bodies_survive},
    {"names reused in bodies survive", names_reused_in_bodies_survive},
    {"clashing results are renamed", clashing_results_are_renamed},
    {"attributes and types survive", attributes_and_types_survive},
    {"notes survive", notes_survive},
    {"weights go beside", weights_go_beside},
    {"npu things are refused", npu_things_are_refused},
    {"a cancelled save leaves nothing", a_cancelled_save_leaves_nothing},
    {"bad names of data are refused", bad_names_of_data_are_refused},
    {NULL, NULL}};
const unit_suite unit_suite_onnx_export = {"onnx export", tests};
