/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the clauses of a rule, between its name and its braces. A new clause is a row of the table
 * `clauses`. */
#include "passes/engine/parser.h"

enum { N_CLAUSES = 5 };

/* Returns the clause that starts here; N_CLAUSES if there is none. */
static unsigned clause_at(const tl_rule_parser *p);

/* Definitions and rules that capture are not here: they start in another way, see parse.c. */
tl_status tl_rule_kind_word(tl_rule_parser *p, tl_rule *r) {
  static const struct {
    const char *word;
    uint8_t kind;
  } kinds[] = {{"cleanup", TL_RULE_CLEANUP},
               {"graph", TL_RULE_GRAPH},
               {"late", TL_RULE_LATE},
               {"expand", TL_RULE_EXPAND},
               {"scope", TL_RULE_SCOPE}};
  for (uint8_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (tl_rule_accept(p, kinds[i].word)) {
      r->kind = kinds[i].kind;
      return TL_OK;
    }
  return tl_rule_expected(p, "cleanup, graph, late, expand or scope");
}

/* The order of the classes is that of tl_numerics. */
static tl_status parse_numerics(tl_rule_parser *p, tl_rule *r) {
  static const char *const classes[] = {"exact", "reassociating", "approximate"};
  for (uint8_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (tl_rule_accept(p, classes[i])) {
      r->numerics = i;
      return TL_OK;
    }
  return tl_rule_expected(p, "exact, reassociating or approximate");
}

static tl_status parse_priority(tl_rule_parser *p, tl_rule *r) {
  double n;
  tl_token t = p->at;
  TL_TRY(tl_rule_number(p, &n));
  if (!(n >= 0 && n <= 1e6))
    return tl_rule_fail(p, t, "a priority is between 0 and 1000000");
  r->written = r->priority = (int32_t)n;
  return TL_OK;
}

/* Reads words until a clause or a brace; target words and clause words are disjoint. */
static tl_status parse_target(tl_rule_parser *p, tl_rule *r) {
  static const char *const words[] = {"npu", "npu910", "npu910b", "onnxruntime"}; /* by bit */
  enum { N_WORDS = sizeof words / sizeof *words };
  do {
    unsigned i = 0;
    while (i < N_WORDS && !tl_rule_at(p, words[i]))
      i++;
    if (i == N_WORDS)
      return tl_rule_expected(p, r->targets ? "npu, npu910, npu910b, onnxruntime, a clause or '{'"
                                            : "npu, npu910, npu910b or onnxruntime");
    if (r->targets & 1u << i)
      return tl_rule_fail(p, p->at, "'%s' is given twice", words[i]);
    r->targets |= (uint8_t)(1u << i);
    tl_rule_advance(p);
  } while (!tl_rule_at(p, "{") && clause_at(p) == N_CLAUSES);
  return TL_OK;
}

static tl_status parse_about(tl_rule_parser *p, tl_rule *r) {
  if (p->at.kind != TL_TOKEN_STRING)
    return tl_rule_expected(p, "a sentence in quotes");
  r->about = p->at.text;
  tl_rule_advance(p);
  return TL_OK;
}

static const struct {
  const char *word;
  tl_status (*parse)(tl_rule_parser *p, tl_rule *r);
} clauses[N_CLAUSES] = {{"priority", parse_priority},
                        {"numerics", parse_numerics},
                        {"target", parse_target},
                        {"about", parse_about},
                        {"general", tl_rule_general}};

static unsigned clause_at(const tl_rule_parser *p) {
  unsigned i = 0;
  while (i < N_CLAUSES && !tl_rule_at(p, clauses[i].word))
    i++;
  return i;
}

/* The public name comes first; clauses are in any order, each at most once. */
tl_status tl_rule_clauses(tl_rule_parser *p, tl_rule *r) {
  bool given[N_CLAUSES] = {false};
  if (p->at.kind == TL_TOKEN_STRING) {
    TL_TRY(tl_rule_symbol(p, p->at, &r->pass));
    tl_rule_advance(p);
  }
  for (;;) {
    unsigned i = clause_at(p);
    if (i == N_CLAUSES)
      return TL_OK;
    if (given[i])
      return tl_rule_fail(p, p->at, "'%s' is given twice", clauses[i].word);
    given[i] = true;
    tl_rule_advance(p);
    TL_TRY(clauses[i].parse(p, r));
  }
}
