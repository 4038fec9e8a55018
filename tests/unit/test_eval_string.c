/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of strings, sequences and optionals. */
#include <stdio.h>

#include "ir/eval/text/regex.h"
#include "tests/unit/eval_check.h"

static void expect_match(const char *pattern, const char *text, bool expected) {
  tl_arena a;
  const char *why;
  bool matched = !expected;
  tl_arena_init(&a, 0);
  const tl_regex *r = tl_regex_compile(&a, tl_sv_from(pattern), &why);
  CU_ASSERT_PTR_NOT_NULL(r);
  if (r)
    CU_ASSERT_EQUAL(tl_regex_match(r, &a, tl_sv_from(text), &matched), TL_OK);
  if (matched != expected)
    printf("  /%s/ against '%s': %s\n", pattern, text, matched ? "matches" : "does not match");
  CU_ASSERT_EQUAL(matched, expected);
  tl_arena_release(&a);
}

static void expect_refused(const char *pattern, const char *part) {
  tl_arena a;
  const char *why;
  tl_arena_init(&a, 0);
  CU_ASSERT_PTR_NULL(tl_regex_compile(&a, tl_sv_from(pattern), &why));
  CU_ASSERT_PTR_NOT_NULL_FATAL(why);
  if (!strstr(why, part))
    printf("  /%s/: %s\n", pattern, why);
  CU_ASSERT_PTR_NOT_NULL(strstr(why, part));
  tl_arena_release(&a);
}

static void patterns_match_whole_strings(void) {
  expect_match("", "", true);
  expect_match("", "a", false);
  expect_match("a*", "aaa", true);
  expect_match("a*", "aab", false);
  expect_match("a+?b", "aab", true);
  expect_match("(ab|cd)+", "abcdab", true);
  expect_match("(?:ab|cd){2,3}", "ab", false);
  expect_match("(?:ab|cd){2,3}", "abcdcd", true);
  expect_match("a{2,}", "a", false);
  expect_match("a{0}b", "b", true);
  expect_match("a{,2}", "a{,2}", true); /* not a count: literal */
  expect_match("|x", "", true);
  expect_match("[a-c\\d_]+", "b7_", true);
  expect_match("[^a-c]", "b", false);
  expect_match("[]a]+", "]a", true);
  expect_match("[a-]+", "-a", true);
  expect_match("[[:alpha:]]\\w\\W", "x_.", true);
  expect_match(".", "\n", false);
  expect_match(".", "\xc3\xa9", true); /* one letter of two bytes */
  expect_match("[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true);
  expect_match("..", "\xc3\xa9", false);
  expect_match("^a$", "a", true);
  expect_match("a^b", "ab", false);
  expect_match("\\ba\\b.\\bb\\b", "a b", true);
  expect_match("\\x41\\x{1F600}\\.", "A\xf0\x9f\x98\x80.", true);
  expect_match("(a*)*", "aaaa", true);
  expect_match("(?P<name>a)(?<other>b)", "ab", true);
  expect_match("(a?){50}a{50}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true);
}

static void unknown_patterns_are_refused(void) {
  expect_refused("(", "without )");
  expect_refused(")", "without (");
  expect_refused("[a", "without ]");
  expect_refused("*a", "repetition of nothing");
  expect_refused("a**", "repetition of a repetition");
  expect_refused("a{2,1}", "repetition count");
  expect_refused("a{1001}", "repetition count");
  expect_refused("((a{1000}){1000})", "too large");
  expect_refused("[b-a]", "ends before");
  expect_refused("\\pL", "unknown escape");
  expect_refused("\\1", "unknown escape");
  expect_refused("(?i)a", "flags");
  expect_refused("(?=a)", "flags");
  expect_refused("a\\", "backslash at the end");
  char deep[1000];
  memset(deep, '(', sizeof deep - 1);
  deep[sizeof deep - 1] = 0;
  expect_refused(deep, "too deep");
}

static void strings_are_split_like_python_does(void) {
  eval_same_pairs("const %x = str[3] [\" a  b \", \"\", \"c\"]  %z0, %z1 = StringSplit(%x)\n"
                  "const %want0 = str[3,2] [\"a\", \"b\", \"\", \"\", \"c\", \"\"]\n"
                  "const %want1 = i64[3] [2, 0, 1]",
                  2);
  eval_same_pairs("const %x = str[2] [\"a,b,c\", \",\"]\n"
                  "%z0, %z1 = StringSplit(%x) {delimiter=\",\", maxsplit=1}\n"
                  "const %want0 = str[2,2] [\"a\", \"b,c\", \"\", \"\"]\n"
                  "const %want1 = i64[2] [2, 2]",
                  2);
  eval_same_pairs("const %x = str[0] []  %z0, %z1 = StringSplit(%x)\n"
                  "const %want0 = str[0,0] []  const %want1 = i64[0] []",
                  2);
}

static void strings_are_joined_and_normalized(void) {
  eval_same("const %x = str[2,1] [\"a\", \"b\"]  const %y = str[2] [\"\", \"c\"]\n"
            "%z = StringConcat(%x, %y)  const %want = str[2,2] [\"a\", \"ac\", \"b\", \"bc\"]");
  eval_same("const %x = str[3] [\"Mon\", \"The\", \"\xc3\x89t\xc3\xa9\"]\n"
            "%z = StringNormalizer(%x) {case_change_action=\"UPPER\", stopwords=[\"the\"]}\n"
            "const %want = str[2] [\"MON\", \"\xc3\x89T\xc3\x89\"]");
  eval_same("const %x = str[1,1] [\"a\"]\n"
            "%z = StringNormalizer(%x) {is_case_sensitive=1, stopwords=[\"a\"]}\n"
            "const %want = str[1,1] [\"\"]");
  eval_same("const %x = str[2] [\"ab\", \"b\"]  %z = RegexFullMatch(%x) {pattern=\"a.*\"}\n"
            "const %want = bool[2] [true, false]");
  eval_refused("const %x = str[1] [\"a\"]  %z = RegexFullMatch(%x) {pattern=\"(?i)a\"}", "flags");
}

static void sequences_are_lists(void) {
  eval_same("const %a = i32[1] [1]  const %b = i32[2] [2, 3]  const %p = i64[] -1\n"
            "%s = SequenceConstruct(%a, %b)  %t = SequenceInsert(%s, %a, %p)\n"
            "%z = ConcatFromSequence(%t) {axis=0}  const %want = i32[4] [1, 1, 2, 3]");
  eval_same("const %a = i32[1] [1]  const %b = i32[2] [2, 3]  const %p = i64[] 0\n"
            "%s = SequenceConstruct(%a, %b)  %t = SequenceErase(%s, %p)\n"
            "%z = SequenceAt(%t, %p)  const %want = i32[2] [2, 3]");
  eval_same("const %x = i32[3] [1, 2, 3]  const %n = i64[] 2  %s = SplitToSequence(%x, %n)\n"
            "%z = SequenceLength(%s)  const %want = i64[] 2");
  eval_same("const %x = i32[2,2] [1, 2, 3, 4]\n"
            "%s = SplitToSequence(%x) {axis=1, keepdims=0}\n"
            "%z = ConcatFromSequence(%s) {axis=0, new_axis=1}\n"
            "const %want = i32[2,2] [1, 3, 2, 4]");
  eval_refused("const %a = i32[1] [1]  const %p = i64[] 1  %s = SequenceConstruct(%a)\n"
               "%z = SequenceAt(%s, %p)",
               "position 1 is outside [-1, 0]");
  eval_refused("%s = SequenceEmpty()  %z = ConcatFromSequence(%s) {axis=0}",
               "no operand has an axis");
  eval_refused("%s = SequenceEmpty()  %z = SequenceErase(%s)", "outside");
}

static void grams_are_counted_with_skips(void) {
  eval_same("const %x = i64[4] [1, 2, 1, 2]\n"
            "%z = TfIdfVectorizer(%x) {mode=\"TF\", min_gram_length=1, max_gram_length=2,\n"
            "  max_skip_count=1, ngram_counts=[0, 1], ngram_indexes=[1, 0],\n"
            "  pool_int64s=[2, 1, 2]}\n"
            "const %want = f32[2] [2.0, 2.0]");
  eval_refused("const %x = i64[1] [1]\n"
               "%z = TfIdfVectorizer(%x) {mode=\"TF\", min_gram_length=1, max_gram_length=2,\n"
               "  max_skip_count=0, ngram_counts=[0, 9], ngram_indexes=[0],\n"
               "  pool_int64s=[2, 1, 2]}",
               "do not divide");
}

static const unit_test tests[] = {
    {"patterns match whole strings", patterns_match_whole_strings},
    {"unknown patterns are refused", unknown_patterns_are_refused},
    {"strings are split like Python does", strings_are_split_like_python_does},
    {"strings are joined and normalized", strings_are_joined_and_normalized},
    {"sequences are lists", sequences_are_lists},
    {"grams are counted with skips", grams_are_counted_with_skips},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_string = {"eval_string", tests};
