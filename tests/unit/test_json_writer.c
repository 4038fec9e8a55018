/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text: what stands between elements, what is escaped, what cannot be said. */
#include <math.h>

#include "support/json_writer.h"
#include "tests/unit/unit.h"

static void is_text(tl_buf *b, const char *wanted) {
  CU_ASSERT_FALSE(b->failed);
  CU_ASSERT_STRING_EQUAL(b->p, wanted);
  tl_buf_release(b);
}

static void add_sample(tl_json_writer *w) {
  tl_put_object(w);
  tl_member_u64(w, "a", UINT64_MAX);
  tl_put_key(w, "b");
  tl_put_array(w);
  tl_put_i64(w, -1);
  tl_put_null(w);
  tl_put_bool(w, true);
  tl_put_end(w);
  tl_put_key(w, "empty");
  tl_put_object(w);
  tl_put_end(w);
  tl_member_z(w, "z", "");
}

static void test_blanks(void) {
  tl_buf b;
  tl_buf_init(&b);
  tl_json_writer w = tl_json_to(&b);
  add_sample(&w);
  tl_json_finish(&w);
  is_text(&b,
          "{\"a\": 18446744073709551615, \"b\": [-1, null, true], \"empty\": {}, \"z\": \"\"}\n");
  w = tl_json_compact(&b);
  add_sample(&w);
  tl_put_end(&w);
  is_text(&b, "{\"a\":18446744073709551615,\"b\":[-1,null,true],\"empty\":{},\"z\":\"\"}");
}

static void test_lines(void) {
  tl_buf b;
  tl_buf_init(&b);
  tl_json_writer w = tl_json_to(&b);
  tl_put_array(&w);
  for (int i = 0; i < 2; i++) {
    tl_json_line(&w, 1);
    tl_put_object(&w);
    tl_member_bool(&w, "x", false);
    tl_put_end(&w);
  }
  tl_json_line(&w, 0);
  tl_json_finish(&w);
  is_text(&b, "[\n {\"x\": false},\n {\"x\": false}\n]\n");
}

static void test_strings(void) {
  tl_buf b;
  tl_buf_init(&b);
  tl_json_writer w = tl_json_to(&b);
  tl_put_object(&w);
  tl_put_key_sv(&w, TL_SV("k\"\\"));
  tl_put_sv(&w, TL_SV("\0\n\x1f\x7f\xc3\xa4\xff/"));
  tl_put_end(&w);
  is_text(&b, "{\"k\\\"\\\\\": \"\\u0000\\u000a\\u001f\\u007f\xc3\xa4\\ufffd/\"}");
}

/* JSON has no infinities: they, and what is no number, are null. */
static void test_numbers(void) {
  const double v[] = {0.1, INFINITY, -INFINITY, NAN};
  tl_buf b;
  tl_buf_init(&b);
  tl_json_writer w = tl_json_to(&b);
  tl_put_array(&w);
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
    tl_put_f32(&w, (float)v[i]);
    tl_put_f64(&w, v[i]);
    tl_put_fixed(&w, v[i], 3);
  }
  tl_put_fixed(&w, -2.5, 0);
  tl_put_fixed(&w, 1e12, 0);
  tl_put_end(&w);
  is_text(&b, "[0.1, 0.1, 0.100, null, null, null, null, null, null, null, null, null, -3, null]");
}

static void test_made(void) {
  tl_buf b;
  tl_buf_init(&b);
  tl_json_writer w = tl_json_to(&b);
  tl_put_array(&w);
  tl_put_made(&w, TL_SV("{}"));
  tl_put_made(&w, TL_SV("[]"));
  tl_put_end(&w);
  is_text(&b, "[{}, []]");
}

/* One bit for each level: what is deeper is refused, not written wrongly. */
static void test_depth(void) {
  for (int levels = 64; levels <= 65; levels++) {
    tl_buf b;
    tl_buf_init(&b);
    tl_json_writer w = tl_json_to(&b);
    for (int i = 0; i < levels; i++)
      tl_put_array(&w);
    tl_json_finish(&w);
    CU_ASSERT_EQUAL(b.failed, levels > 64);
    tl_buf_release(&b);
  }
}

static const unit_test tests[] = {
    {"blanks", test_blanks},
    {"lines", test_lines},
    {"strings", test_strings},
    {"numbers", test_numbers},
    {"made by others", test_made},
    {"depth", test_depth},
    {NULL, NULL},
};

const unit_suite unit_suite_json_writer = {"json writer", tests};
