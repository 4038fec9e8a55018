/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions for names: all of a name has to fit, and what would be expensive is refused. */
#include <stdio.h>
#include <string.h>

#include "support/pattern.h"
#include "tests/unit/unit.h"

static bool fits(const char *pattern, const char *name) {
  tl_pattern p;
  const char *problem;
  if (tl_pattern_compile(&p, tl_sv_from(pattern), &problem) != TL_OK) {
    CU_FAIL(pattern);
    return false;
  }
  bool found = tl_pattern_fits(&p, name, strlen(name));
  tl_pattern_release(&p);
  return found;
}

static void refused(tl_sv pattern, const char *part) {
  tl_pattern p;
  const char *problem;
  CU_ASSERT_EQUAL_FATAL(tl_pattern_compile(&p, pattern, &problem), TL_INVALID_ARGUMENT);
  CU_ASSERT_PTR_NOT_NULL(strstr(problem, part));
}

static void whole_names(void) {
  CU_ASSERT_TRUE(fits("/layer1/conv", "/layer1/conv"));
  CU_ASSERT_FALSE(fits("/layer1/conv", "/layer1/conv_2"));
  CU_ASSERT_FALSE(fits("conv", "/layer1/conv"));
  CU_ASSERT_TRUE(fits("/layer[0-3]/.*", "/layer2/a/b"));
  CU_ASSERT_FALSE(fits("/layer[0-3]/.*", "/layer4/a"));
  CU_ASSERT_TRUE(fits("a|ab", "ab")); /* the longest alternative counts, not the first */
  CU_ASSERT_TRUE(fits("(a|b)+c?", "abba"));
  CU_ASSERT_TRUE(fits("[[:alpha:]]+_[[:digit:]]{1,3}", "conv_12"));
  CU_ASSERT_FALSE(fits("[[:alpha:]]+_[[:digit:]]{1,3}", "conv_1234"));
  CU_ASSERT_TRUE(fits("[](){}]{2}", "](")); /* what brackets hold is plain */
  CU_ASSERT_TRUE(fits("a\\(b\\)", "a(b)"));
}

static void zero_bytes(void) {
  tl_pattern p;
  const char *problem;
  CU_ASSERT_EQUAL_FATAL(tl_pattern_compile(&p, TL_SV("a.*"), &problem), TL_OK);
  CU_ASSERT_TRUE(tl_pattern_fits(&p, "abc", 3));
  CU_ASSERT_FALSE(tl_pattern_fits(&p, "a\0b", 3));
  tl_pattern_release(&p);
  refused((tl_sv){"a\0b", 3}, "zero byte");
}

static void expensive_ones(void) {
  char deep[64] = "";
  char longer[TL_PATTERN_MAX_BYTES + 2];
  refused(TL_SV(""), "empty");
  refused(TL_SV("(a"), "(");
  refused(TL_SV("a)(b"), "(");
  refused(TL_SV("[a"), "[");
  refused(TL_SV("(a)\\1"), "refers back");
  refused(TL_SV("a{300}"), "repeats");
  refused(TL_SV("a{99999999999999999999}"), "repeats");
  refused(TL_SV("((a{20}){20}){20}"), "repeats");
  for (int i = 0; i < 17; i++)
    strcat(deep, "(");
  refused(tl_sv_from(deep), "nests");
  memset(longer, 'a', sizeof longer);
  refused((tl_sv){longer, TL_PATTERN_MAX_BYTES + 1}, "longer");
  CU_ASSERT_TRUE(fits("(a{16}){16}", "a") == false); /* as much as may be */
}

/* What glibc and musl read in two ways, such as a digit of other languages. */
static void ambiguous_ones(void) {
  refused(TL_SV("layer\\d+"), "[[:digit:]]");
  refused(TL_SV("\\bconv"), "backslash before");
  refused(TL_SV("a\\>"), "backslash before");
  refused(TL_SV("a{,2}"), "{0,n}");
  refused(TL_SV("a|^*b"), "repeats ^");
  refused(TL_SV("[^[=a=]]"), "[=");
  CU_ASSERT_TRUE(fits("^[[a]+\\w\\W\\$$", "[[a/$"));
}

/* Matching takes time in proportion to the name, whatever the pattern. */
static void long_names(void) {
  static char name[1000001]; /* in proportion to its square it would take twenty minutes */
  memset(name, 'a', sizeof name - 1);
  CU_ASSERT_TRUE(fits("((a*)*)*", name));
  CU_ASSERT_FALSE(fits("((a|aa)+)+b", name));
}

static const unit_test tests[] = {
    {"all of a name fits", whole_names},
    {"zero bytes", zero_bytes},
    {"expensive expressions are refused", expensive_ones},
    {"what C libraries read in two ways is refused", ambiguous_ones},
    {"long names", long_names},
    {NULL, NULL},
};

const unit_suite unit_suite_pattern = {"pattern", tests};
