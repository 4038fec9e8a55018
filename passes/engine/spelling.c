/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerates the spellings of a rule: `either { ... } or { ... }` in a pattern lists alternatives.
 * A rule is parsed once for each combination, and each result is a rule of its own for the matcher.
 * Matching thus costs the same as with rules written out. */
#include "passes/engine/parser.h"

enum { DIGIT_BITS = 4, MAX_DIGIT = (1 << DIGIT_BITS) - 1, MAX_SPELLINGS = 64 };

_Static_assert(TL_RULE_EITHERS *DIGIT_BITS <= 32, "the choices of a rule fit 32 bits");

/* Returns the alternative of the i-th `either` in this spelling. */
static uint32_t chosen(const tl_rule_parser *p, uint32_t i) {
  return p->choices >> (i * DIGIT_BITS) & MAX_DIGIT;
}

static tl_status skip_alternative(tl_rule_parser *p) {
  if (!tl_rule_at(p, "{"))
    return tl_rule_expected(p, "'{'");
  return tl_rule_skip(p);
}

tl_status tl_rule_open_either(tl_rule_parser *p) {
  if (p->in_either)
    return tl_rule_fail(p, p->at,
                        "an alternative has no 'either' of its own: list the "
                        "combinations as alternatives");
  if (p->n_eithers == TL_RULE_EITHERS)
    return tl_rule_fail(p, p->at, "a pattern has at most %d 'either'", TL_RULE_EITHERS);
  tl_rule_advance(p);
  for (uint32_t i = 0; i < chosen(p, p->n_eithers); i++) {
    TL_TRY(skip_alternative(p));
    TL_TRY(tl_rule_expect(p, "or"));
  }
  TL_TRY(tl_rule_expect(p, "{"));
  if (tl_rule_at(p, "}"))
    return tl_rule_fail(p, p->at,
                        "an alternative has at least one statement; a node that may be "
                        "missing is written 'maybe'");
  p->in_either = true;
  return TL_OK;
}

tl_status tl_rule_close_either(tl_rule_parser *p) {
  uint32_t n = chosen(p, p->n_eithers) + 1;
  p->in_either = false;
  tl_rule_advance(p); /* skips the closing brace of the alternative */
  for (; tl_rule_accept(p, "or"); n++) {
    if (n > MAX_DIGIT)
      return tl_rule_fail(p, p->at, "'either' has at most %d alternatives", MAX_DIGIT + 1);
    TL_TRY(skip_alternative(p));
  }
  if (n == 1)
    return tl_rule_expected(p, "'or' and another alternative");
  p->alternatives[p->n_eithers++] = (uint8_t)n;
  return TL_OK;
}

void tl_rule_first_spelling(tl_rule_parser *p) {
  p->choices = p->builtin ? p->builtin->choices : 0;
  p->spelling = p->builtin ? p->builtin->spelling : 1;
}

/* Counts up like an odometer: the last `either` is the fastest digit. */
tl_status tl_rule_next_spelling(tl_rule_parser *p, tl_token rule, bool *more) {
  *more = false;
  for (uint32_t i = p->n_eithers; !p->builtin && i > 0 && !*more; i--) {
    uint32_t digit = chosen(p, i - 1), at = (i - 1) * DIGIT_BITS;
    p->choices &= ~((uint32_t)MAX_DIGIT << at);
    *more = digit + 1 < p->alternatives[i - 1];
    if (*more)
      p->choices |= (digit + 1) << at;
  }
  if (*more && ++p->spelling > MAX_SPELLINGS)
    return tl_rule_fail(p, rule, "the alternatives of the pattern make more than %d spellings",
                        MAX_SPELLINGS);
  return TL_OK;
}
