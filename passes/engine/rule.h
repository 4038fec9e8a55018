/* SPDX-License-Identifier: Apache-2.0 */
/* Rules (docs/rules.md): rewrites as data. A rule is a pattern over nodes, conditions
 * and a replacement; this header is the form in which the parser leaves it for the matcher
 * (match.h) and the builder (build.h), and the sets that rules are kept in. Rules belong to one
 * module, whose symbols and ops they name. */
#ifndef TL_PASSES_ENGINE_RULE_H
#define TL_PASSES_ENGINE_RULE_H

#include "ir/graph.h"
#include "ir/options/fusion_names.h"
#include "ir/options/options.h"
#include "passes/edit/values.h"
#include "passes/expr/expr.h"
#include "support/map.h"

enum {
  TL_RULE_LANGUAGE = 1, /* version of the language, first line of a file */
  TL_RULE_VALUES = 60,  /* values of one rule, captured or built */
  TL_RULE_NAMES = 24,   /* attributes captured and numbers computed by one rule */
  TL_RULE_NODES = 48,   /* nodes of one pattern */
  TL_RULE_BUILT = 32,   /* nodes of one replacement */
  TL_RULE_EITHERS = 8   /* `either` in one pattern */
};

typedef enum tl_rule_kind {
  TL_RULE_CLEANUP, /* canonical to canonical, to a fixed point */
  TL_RULE_GRAPH,   /* graph fusion under a public pass name */
  TL_RULE_LATE,    /* the same in the second round: of what the others have left */
  TL_RULE_SCOPE,   /* graph fusion of nodes that are in one scope */
  TL_RULE_CAPTURE, /* a scope as it stands becomes one node */
  TL_RULE_EXPAND,  /* select: one canonical node as several with NPU forms */
  TL_RULE_DEFINE,  /* what a tl:: or npu:: op means */
  TL_N_RULE_KINDS
} tl_rule_kind;

/* Where a rule makes sense at all, whatever it makes (target.c): a set of these. */
typedef enum tl_rule_target {
  TL_RULE_ANYWHERE = 0,
  TL_RULE_NPU = 1 << 0,     /* where the model goes to the NPU */
  TL_RULE_NPU910 = 1 << 1,  /* the same for chips of the Ascend910 line */
  TL_RULE_NPU910B = 1 << 2, /* the same for other chips */
  TL_RULE_ORT = 1 << 3      /* where it goes to ONNX Runtime */
} tl_rule_target;

/* ---- patterns -------------------------------------------------------------------------------- */

typedef enum tl_pattern_operand_kind {
  TL_PATTERN_VALUE,    /* %x */
  TL_PATTERN_MAYBE,    /* %x?: may be absent */
  TL_PATTERN_CONSTANT, /* const %x: must be a constant */
  TL_PATTERN_NUMBER,   /* const 0.5, const ~0.5: a constant with this in every element */
  TL_PATTERN_ABSENT,   /* _ */
  TL_PATTERN_REST      /* %x...: all that are left over, any number */
} tl_pattern_operand_kind;

typedef struct tl_pattern_operand {
  uint8_t kind;  /* tl_pattern_operand_kind */
  uint8_t value; /* index of the value */
  bool tolerant; /* NUMBER: relative tolerance TL_RULE_TOLERANCE, or ..._F16 */
  double number;
  tl_expr *expr;     /* builder: const of an expression; REST: the first that is taken, or NULL */
  tl_expr *end;      /* builder: of REST: where it ends, or NULL */
  uint8_t dtype;     /* builder: of the constant; NONE: that of the node's first other operand */
  tl_expr *dtype_of; /* builder: dtype as an expression */
} tl_pattern_operand;

#define TL_RULE_TOLERANCE 1e-4
#define TL_RULE_TOLERANCE_F16 0x1p-11 /* below the margins of passes/engine/index.c */

typedef struct tl_pattern_attr {
  tl_symbol name;
  bool captures; /* pattern: binds `index`; else compares with (builder: takes) expr */
  uint8_t index;
  tl_expr *expr;
} tl_pattern_attr;

/* One statement of a pattern or of a replacement. */
typedef struct tl_pattern_node {
  tl_op_id *ops; /* alternatives; a replacement has one */
  tl_pattern_operand *operands;
  tl_pattern_attr *attrs;
  uint8_t results[8]; /* indices of values, TL_RULE_VALUES: not named */
  uint8_t n_ops;
  uint8_t n_operands;
  uint8_t n_results;
  uint8_t n_attrs;
  uint8_t like; /* builder: the op is that of this pattern node; TL_RULE_NODES: no */
  uint8_t from; /* builder: attributes of this pattern node come first; TL_RULE_NODES: no */
  bool open;    /* pattern: attributes that are not mentioned may have any value */
  bool shared;  /* pattern: its results may have other users; the node then stays */
  bool maybe;   /* pattern: the node may be missing; its result is then its first operand */
  bool forward; /* builder: no node, the result is an existing value (operand 0) */
  uint32_t line;
  uint32_t column;
} tl_pattern_node;

typedef struct tl_rule_value {
  tl_sv name;
  uint8_t node; /* pattern node that makes it, TL_RULE_NODES: an operand from outside */
  uint8_t result;
  uint8_t built; /* replacement node that makes it, TL_RULE_NODES: none */
  bool rest;     /* a list of operands */
  bool maybe;    /* may be absent */
} tl_rule_value;

/* How the matcher walks the pattern: node by node from the root; a node is reached through a value
 * bound before it, or as a user of one. */
typedef struct tl_rule_step {
  uint8_t node;
  uint8_t seek; /* value whose users are searched, TL_RULE_VALUES: the node is already known */
} tl_rule_step;

/* Where reading a rule goes on: behind its pattern. */
typedef struct tl_rule_rest {
  uint32_t at; /* in its text */
  uint32_t line;
  uint32_t column; /* 0-based */
} tl_rule_rest;

typedef struct tl_rule {
  tl_symbol name;
  tl_symbol pass;   /* public name; the rule's own where none is given */
  tl_sv about;      /* one sentence for people, may be empty */
  const char *file; /* for messages */
  uint32_t line;
  uint32_t column;
  uint32_t index;    /* order of definition: ties of priority */
  uint8_t spelling;  /* which reading of its pattern, from 1 on; 0: it has one. Rules that share a
                       name are spellings of one rule */
  int32_t written;   /* priority as the rule says it */
  int32_t priority;  /* what the switches make of it; smaller runs earlier */
  uint8_t kind;      /* tl_rule_kind */
  uint8_t numerics;  /* tl_numerics */
  uint8_t pass_kind; /* tl_fusion_kind of `pass` */
  uint8_t targets;   /* set of tl_rule_target */
  uint8_t n_values;
  uint8_t n_names;
  uint8_t n_match;
  uint8_t n_build;
  uint8_t n_where;
  uint8_t n_lets;
  uint8_t n_steps;
  uint8_t depth;    /* longest path from the root to a pattern node */
  const char *off;  /* why it is switched off: a static string; NULL: it is on */
  bool unsupported; /* it is off since what it makes has no op where the model goes */
  bool custom;      /* of a --rules file */
  bool skimmed;     /* built in, and read up to the end of its pattern: see tl_rule_complete */
  tl_rule_rest rest;
  const struct tl_rule_text *text; /* where it is built in; NULL: it is not */
  bool general;                    /* of kind scope: on without being asked for */
  struct tl_scope_pattern *scope;  /* SCOPE, CAPTURE: scope.h; NULL: others */
  tl_rule_value *values;
  tl_sv *names;
  tl_pattern_node *match;
  tl_pattern_node *build;
  tl_expr **where;
  uint8_t *let_index; /* names computed before the conditions, in order */
  tl_expr **lets;
  tl_rule_step *steps;
} tl_rule;

TL_VEC(tl_rule_vec, tl_rule *);

/* Is it the rule itself, rather than a further spelling of one that was seen before? */
static inline bool tl_rule_leads(const tl_rule *r) { return r->spelling <= 1; }

/* Is it a fusion, rather than a clean-up, an expansion or a definition? */
static inline bool tl_rule_fuses(const tl_rule *r) {
  return r->kind >= TL_RULE_GRAPH && r->kind <= TL_RULE_CAPTURE;
}

typedef struct tl_ruleset {
  tl_module *m;
  const tl_options *options; /* those of tl_rules_load; NULL: not loaded */
  tl_arena arena;            /* rules and their parts */
  tl_rule_vec rules;         /* in the order of definition, overridden ones removed */
  uint32_t next;             /* index of the next rule */
  tl_map names;              /* owned; what is named in `rules`, see parse.c */
  bool only_definitions;     /* texts are read, rules are left out: what outlining needs */
  unsigned kinds; /* TL_RULE_BIT set: built-in rules of other kinds are not read; 0: all are */
  uint8_t *ops;   /* arena, by op id: the module or a rule that was read makes this op; NULL: every
                    built-in rule is read, whether it can match or not */
  uint8_t *read;  /* arena, by index of the text; with `ops` */
  bool skims;     /* built-in rules are read up to the end of their patterns */
} tl_ruleset;

#define TL_RULE_BIT(kind) (1u << (kind))
/* Texts that say what NPU ops mean: read only where a module has such ops. */
#define TL_RULE_NPU_BIT TL_RULE_BIT(TL_N_RULE_KINDS)

void tl_ruleset_init(tl_ruleset *s, tl_module *m);
void tl_ruleset_release(tl_ruleset *s);
/* Adds the rules of a text; a rule of a name that is there replaces it (override) or is an error.
 * Reports the first mistake with line and column. The text must outlive the set. */
tl_status tl_rules_parse(tl_ruleset *s, const char *path, tl_sv text, bool override) TL_NODISCARD;
struct tl_rule_text;
/* The same for one that is built in. Its index is that of its text, so that the order of rules does
 * not depend on which are read first. */
tl_status tl_rules_parse_text(tl_ruleset *s, const struct tl_rule_text *text) TL_NODISCARD;
/* Reads the rest of a rule that was skimmed: conditions and replacement. Its pattern is enough to
 * look for it, and most rules fit nowhere in a model. */
tl_status tl_rule_complete(tl_ruleset *s, tl_rule *r) TL_NODISCARD;
/* Adds the rules that are built in. */
tl_status tl_rules_add_builtin(tl_ruleset *s) TL_NODISCARD;
/* Fills the derived parts of a parsed rule (steps, depth) and checks it. */
tl_status tl_rule_finish(tl_ruleset *s, tl_rule *r) TL_NODISCARD;
/* Adds those, then the rules of --rules files, and configures them. */
tl_status tl_rules_load(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* The same without built-in rules that are for other targets, and without those whose patterns hold
 * ops that neither the module has nor the other rules make: they cannot match, and reading all
 * costs milliseconds. The others are skimmed. With --rules files, which may take the place of
 * built-in rules, none is left out. */
tl_status tl_rules_load_needed(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* Adds what the ops need that the module got since, under the same options. */
tl_status tl_rules_load_more(tl_ruleset *s) TL_NODISCARD;
/* Switches off what the switches of fusion passes and the numerics class exclude, and gives graph
 * rules the priorities that switches ask for (switch.c). */
tl_status tl_rules_configure(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* What a rule's own targets say against it; NULL: nothing. A static string (target.c). */
const char *tl_rule_misplaced(const tl_options *options, unsigned targets);
/* Switches off graph rules that make ops which options->target lacks. */
tl_status tl_rules_fit_target(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* Whether a rule of one of the kinds is on (or, with `any`, is there at all). */
bool tl_rules_have(const tl_ruleset *s, unsigned kinds, bool any);
/* Finds a rule by name, the first of its spellings; NULL when there is none. */
tl_rule *tl_ruleset_find(const tl_ruleset *s, tl_symbol name);

/* Built-in rules and definitions, one by one (generated by scripts/embed_rules.py). */
typedef struct tl_rule_text {
  uint32_t path; /* of the file: index into tl_rule_paths */
  uint32_t line; /* where it starts there, 1-based */
  uint32_t at;   /* in tl_rule_characters */
  uint32_t n;
  uint32_t needs; /* into tl_rule_needs: lists of ops that each end with RETURN; a pattern holds an
                     op of each. An empty list ends them; 0: it asks for none */
  uint32_t makes; /* the same for one list: the ops of the replacement */
  unsigned targets; /* set of tl_rule_target */
  unsigned kind;    /* TL_RULE_BIT */
  uint32_t choices; /* which alternatives of its pattern this row stands for, see parse.h */
  uint8_t spelling; /* number of this choice, from 1 on; 0: there is nothing to choose */
} tl_rule_text;
extern const tl_rule_text tl_rule_texts[];
extern const uint32_t tl_n_rule_texts;
extern const char *const tl_rule_characters;
extern const char *const tl_rule_paths[];
extern const tl_op_id tl_rule_needs[];

#endif
