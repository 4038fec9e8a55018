/* SPDX-License-Identifier: Apache-2.0 */
/* Differences between texts: hunks as diff -u prints them, and scripts that are as short as
 * possible. */
#include <string.h>

#include "support/hash.h"
#include "support/text_diff.h"
#include "tests/unit/unit.h"

static void expect(const char *a, const char *b, uint32_t context, const char *want) {
  tl_buf out;
  tl_buf_init(&out);
  tl_text_diff_options o = {.context = context};
  CU_ASSERT_EQUAL(tl_text_diff(tl_sv_from(a), tl_sv_from(b), &o, &out), TL_OK);
  CU_ASSERT_STRING_EQUAL(out.n ? out.p : "", want);
  tl_buf_release(&out);
}

static void test_equal_texts(void) {
  expect("", "", 3, "");
  expect("a\nb\n", "a\nb\n", 3, "");
  expect("a\nb", "a\nb\n", 3, ""); /* texts are lists of lines */
}

/* The numbers of GNU diff -u: counts of zero start one line earlier. */
static void test_hunks(void) {
  expect("", "a\n", 3, "@@ -0,0 +1,1 @@\n+a\n");
  expect("a\n", "", 3, "@@ -1,1 +0,0 @@\n-a\n");
  expect("a\nb\nc\n", "a\nx\nc\n", 1, "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
  expect("a\nb\nc\n", "a\nx\nc\n", 0, "@@ -2,1 +2,1 @@\n-b\n+x\n");
  expect("a\nb\nc\n", "a\nc\n", 0, "@@ -2,1 +1,0 @@\n-b\n");
}

static void test_hunks_that_are_close_are_one(void) {
  const char *a = "1\n2\n3\n4\n5\n6\n", *b = "x\n2\n3\n4\n5\ny\n";
  expect(a, b, 1, "@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -5,2 +5,2 @@\n 5\n-6\n+y\n");
  expect(a, b, 2, "@@ -1,6 +1,6 @@\n-1\n+x\n 2\n 3\n 4\n 5\n-6\n+y\n");
}

static void test_colours(void) {
  tl_buf out;
  tl_buf_init(&out);
  tl_text_diff_options o = {.colour = true};
  CU_ASSERT_EQUAL(tl_text_diff(TL_SV("a\n"), TL_SV("b\n"), &o, &out), TL_OK);
  CU_ASSERT_STRING_EQUAL(out.p,
                         "\033[36m@@ -1,1 +1,1 @@\033[0m\n\033[31m-a\033[0m\n\033[32m+b\033[0m\n");
  tl_buf_release(&out);
}

enum { MOST = 40 };

/* Length of a longest common subsequence, by the table of all prefixes. */
static int common(const char *a, const char *b) {
  int table[MOST + 1][MOST + 1] = {{0}};
  int n = (int)strlen(a), m = (int)strlen(b);
  for (int i = 1; i <= n; i++)
    for (int k = 1; k <= m; k++) {
      int best = table[i - 1][k] > table[i][k - 1] ? table[i - 1][k] : table[i][k - 1];
      table[i][k] = a[i - 1] == b[k - 1] ? table[i - 1][k - 1] + 1 : best;
    }
  return table[n][m];
}

/* Each letter is a line. */
static void lines_of(const char *word, char *out) {
  while (*word) {
    *out++ = *word++;
    *out++ = '\n';
  }
  *out = '\0';
}

/* The hunks with all lines of context turn one random word into the other, and change as few lines
 * as the longest common subsequence allows. */
static void test_random_words(void) {
  for (uint64_t round = 0; round < 3000; round++) {
    char word[2][MOST + 1] = {""}, text[2][2 * MOST + 1], got[2][MOST + 1];
    int n[2] = {0, 0}, changed = 0;
    for (int side = 0; side < 2; side++) {
      uint64_t key = 2 * round + (uint64_t)side;
      int length = (int)(tl_random_bits(key, 0) % MOST);
      for (int i = 0; i < length; i++)
        word[side][i] = (char)('a' + tl_random_bits(key, (uint64_t)i + 1) % (2 + round % 5));
      word[side][length] = '\0';
      lines_of(word[side], text[side]);
    }
    tl_buf out;
    tl_buf_init(&out);
    tl_text_diff_options o = {.context = MOST};
    CU_ASSERT_EQUAL(tl_text_diff(tl_sv_from(text[0]), tl_sv_from(text[1]), &o, &out), TL_OK);
    for (const char *p = out.n ? strchr(out.p, '\n') + 1 : ""; *p; p = strchr(p, '\n') + 1) {
      changed += *p != ' ';
      if (*p != '+')
        got[0][n[0]++] = p[1];
      if (*p != '-')
        got[1][n[1]++] = p[1];
    }
    for (int side = 0; side < 2 && out.n; side++) {
      got[side][n[side]] = '\0';
      CU_ASSERT_STRING_EQUAL(got[side], word[side]);
    }
    int least = (int)strlen(word[0]) + (int)strlen(word[1]) - 2 * common(word[0], word[1]);
    CU_ASSERT_EQUAL(changed, least);
    tl_buf_release(&out);
  }
}

/* Two texts without a common line are replaced as a whole, in bounded time. */
static void test_texts_without_a_common_line(void) {
  tl_buf a, b, out;
  tl_buf_init(&a);
  tl_buf_init(&b);
  tl_buf_init(&out);
  for (int i = 0; i < 20000; i++) {
    tl_buf_printf(&a, "a%d\n", i);
    tl_buf_printf(&b, "b%d\n", i);
  }
  tl_text_diff_options o = {.context = 3};
  CU_ASSERT_EQUAL(tl_text_diff(tl_buf_view(&a), tl_buf_view(&b), &o, &out), TL_OK);
  CU_ASSERT_EQUAL(strncmp(out.p, "@@ -1,20000 +1,20000 @@\n-a0\n", 28), 0);
  tl_buf_release(&a);
  tl_buf_release(&b);
  tl_buf_release(&out);
}

static const unit_test tests[] = {
    {"equal texts have no difference", test_equal_texts},
    {"hunks have the numbers of diff -u", test_hunks},
    {"changes that are close are one hunk", test_hunks_that_are_close_are_one},
    {"colours", test_colours},
    {"random words: right, and as short as possible", test_random_words},
    {"texts without a common line", test_texts_without_a_common_line},
    {NULL, NULL}};

const unit_suite unit_suite_text_diff = {"text_diff", tests};
