/* SPDX-License-Identifier: Apache-2.0 */
/* Rules (docs/rules.md): rewrites as data. A rule has a pattern over nodes, conditions and a
 * replacement. This header is the form in which the parser hands a rule to the matcher (match.h)
 * and the builder (build.h), and the sets that keep rules. Rules belong to one module, whose
 * symbols and ops they name. */
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
  TL_RULE_BUILT = 48,   /* nodes of one replacement */
  TL_RULE_EITHERS = 8   /* number of `either` in one pattern */
};

/* Kinds of rules; each is applied by another pass. */
typedef enum tl_rule_kind {
  TL_RULE_CLEANUP, /* canonical form to canonical form, to a fixpoint */
  TL_RULE_GRAPH,   /* graph fusion under a public pass name */
  TL_RULE_LATE,    /* graph fusion in the second round, of nodes that the first left */
  TL_RULE_SCOPE,   /* graph fusion of nodes within one scope */
  TL_RULE_CAPTURE, /* one whole scope becomes one node */
  TL_RULE_EXPAND,  /* one canonical node becomes several with NPU forms */
  TL_RULE_DEFINE,  /* the meaning of a tl:: or npu:: op */
  TL_N_RULE_KINDS
} tl_rule_kind;

/* Targets for which a rule is useful, whatever it makes (target.c); a set of bits. */
typedef enum tl_rule_target {
  TL_RULE_ANYWHERE = 0,
  TL_RULE_NPU = 1 << 0,     /* models for the NPU */
  TL_RULE_NPU910 = 1 << 1,  /* models for chips of the Ascend910 line */
  TL_RULE_NPU910B = 1 << 2, /* models for other chips */
  TL_RULE_ORT = 1 << 3      /* models for ONNX Runtime */
} tl_rule_target;

/* ---- patterns -------------------------------------------------------------------------------- */

/* Kinds of operands in patterns and replacements. */
typedef enum tl_pattern_operand_kind {
  TL_PATTERN_VALUE,    /* %x */
  TL_PATTERN_MAYBE,    /* %x?: may be absent */
  TL_PATTERN_CONSTANT, /* const %x: must be a constant */
  TL_PATTERN_NUMBER,   /* const 0.5, const ~0.5: a constant with this number in every element */
  TL_PATTERN_ABSENT,   /* _ */
  TL_PATTERN_REST      /* %x...: all remaining operands */
} tl_pattern_operand_kind;

/* One operand of a statement. */
typedef struct tl_pattern_operand {
  uint8_t kind;  /* tl_pattern_operand_kind */
  uint8_t value; /* index into the rule's values */
  bool tolerant; /* NUMBER: relative tolerance TL_RULE_TOLERANCE, or ..._F16 */
  double number;
  tl_expr *expr;     /* replacement: expression of the constant; REST: first operand taken, or
                      * NULL */
  tl_expr *end;      /* replacement: REST: end of the operands taken, or NULL */
  uint8_t dtype;     /* replacement: dtype of the constant; NONE: that of the first other operand of
                      * the node */
  tl_expr *dtype_of; /* replacement: dtype as an expression */
} tl_pattern_operand;

#define TL_RULE_TOLERANCE 1e-4
#define TL_RULE_TOLERANCE_F16 0x1p-11 /* below the margins of passes/engine/index.c */

/* One attribute of a statement. */
typedef struct tl_pattern_attr {
  tl_symbol name;
  bool captures; /* pattern: binds name `index`; otherwise it compares with `expr`, which a
                  * replacement takes */
  uint8_t index;
  tl_expr *expr;
} tl_pattern_attr;

/* One statement of a pattern or a replacement. */
typedef struct tl_pattern_node {
  tl_op_id *ops; /* alternatives; a replacement has one */
  tl_pattern_operand *operands;
  tl_pattern_attr *attrs;
  uint8_t results[8]; /* indices of values, TL_RULE_VALUES: not named */
  uint8_t n_ops;
  uint8_t n_operands;
  uint8_t n_results;
  uint8_t n_attrs;
  uint8_t like; /* replacement: takes the op of this pattern node; TL_RULE_NODES: no */
  uint8_t from; /* replacement: copies the attributes of this pattern node; TL_RULE_NODES: no */
  bool open;    /* pattern: attributes not mentioned may have any value */
  bool shared;  /* pattern: results may have users outside; the node then stays */
  bool maybe;   /* pattern: the node may be absent; its result is then its first operand */
  bool forward; /* replacement: no node; the result is an existing value (operand 0) */
  bool chooses; /* pattern: an optional node may lie above one of its operands */
  bool twin;    /* pattern: another node of the pattern may have the same op */
  uint32_t line;
  uint32_t column;
} tl_pattern_node;

/* A value that a rule names, %name. */
typedef struct tl_rule_value {
  tl_sv name;
  uint8_t node; /* pattern node that produces it; TL_RULE_NODES: an operand from outside */
  uint8_t result;
  uint8_t built; /* replacement node that produces it; TL_RULE_NODES: none */
  bool rest;     /* a list of operands */
  bool maybe;    /* may be absent */
} tl_rule_value;

/* One step of the matcher's walk from the root: a node is reached as the producer of a bound value
 * or as a user of one. */
typedef struct tl_rule_step {
  uint8_t node;
  uint8_t seek; /* value whose users are searched; TL_RULE_VALUES: the node is already known */
} tl_rule_step;

/* One rule. The arrays are in the arena of the set. */
typedef struct tl_rule {
  tl_symbol name;
  tl_symbol pass;   /* public name of its pass; the own name if none is given */
  tl_sv about;      /* one sentence for users; may be empty */
  const char *file; /* for messages */
  uint32_t line;
  uint32_t column;
  uint32_t index;    /* order of definition; breaks ties of priority */
  uint8_t spelling;  /* number of this reading of its pattern, from 1; 0: only one. Rules with one
                      * name are spellings of one rule */
  int32_t written;   /* priority as written in the rule */
  int32_t priority;  /* priority after the switches; smaller runs earlier */
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
  uint8_t depth;                  /* longest path from the root to a pattern node */
  const tl_fusion_name *pass_row; /* `pass` in the table of public names, or NULL */
  const tl_fusion_name *name_row; /* `name` there, or NULL */
  const char *off;                /* reason why it is off, a static string; NULL: it is on */
  bool unsupported;               /* off because the target lacks an op that it makes */
  bool custom;                    /* from a --rules file */
  bool bare;                      /* its parts, which the pointers below lead to, are not made yet:
                                    * tl_rule_complete */
  uint32_t leaf;                  /* its number in the automata of index.h; 0: in none yet */
  uint64_t visit;                 /* number of the last visit of an index that came to it */
  const struct tl_rule_image *image; /* its compiled form (image.h); NULL: it was parsed */
  const struct tl_rule_text *text;   /* its built-in text; NULL: from a file */
  bool general;                      /* of kind scope: on without being requested */
  struct tl_scope_pattern *scope;    /* for SCOPE and CAPTURE (scope.h); else NULL */
  tl_rule_value *values;
  tl_sv *names;
  tl_pattern_node *match;
  tl_pattern_node *build;
  tl_expr **where;
  uint8_t *let_index; /* names computed before the conditions, in order */
  tl_expr **lets;
  const uint8_t *order; /* of conditions and computed names (cost.h); NULL: as they are written */
  tl_rule_step *steps;
} tl_rule;

TL_VEC(tl_rule_vec, tl_rule *);

/* Returns true for the rule itself, false for a further spelling. */
static inline bool tl_rule_leads(const tl_rule *r) { return r->spelling <= 1; }

/* Returns true for a fusion, false for a clean-up rule, an expansion or a definition. */
static inline bool tl_rule_fuses(const tl_rule *r) {
  return r->kind >= TL_RULE_GRAPH && r->kind <= TL_RULE_CAPTURE;
}

/* A set of rules for one module. */
typedef struct tl_ruleset {
  tl_module *m;
  const tl_options *options; /* options of tl_rules_load; NULL: not loaded */
  tl_arena arena;            /* owned; holds rules and their parts */
  tl_rule_vec rules;         /* owned; in order of definition, without overridden ones */
  uint32_t next;             /* index of the next rule */
  tl_map names;              /* owned; names of `rules`, see keep.c */
  uint32_t n_named;          /* rules whose names are in `names`: the first ones */
  tl_symbol *strings;    /* arena, by index of tl_image_strings: their symbols; 0: not yet known */
  bool only_definitions; /* adds definitions only, for outlining */
  unsigned kinds;        /* set of TL_RULE_BIT: other built-in rules are not parsed; 0: all are */
  uint8_t *ops;      /* arena, by op id: the module or a parsed rule makes this op; NULL: parse all
                   * built-in rules, whether they can match or not */
  uint32_t *waiting; /* arena; texts that may be added once the ops that they need are there, by
                      * index; only with `ops` */
  uint32_t n_waiting;
  struct tl_automaton_builder *automaton; /* owned; of the parsed rules that an index had; NULL: of
                                           * none */
  uint32_t n_leaves;                      /* rules in it */
  bool lazy;        /* makes compiled rules when a node first reaches them (lazy.h): they are not in
              * `rules`, and most are never made */
  uint16_t *state;  /* arena, by index of the image, see lazy.h; NULL: no lazy rules */
  tl_rule_vec made; /* owned; lazy rules that are made */
  uint64_t n_visits; /* nodes that an index was asked for */
  uint8_t *chip_has; /* arena, by op: answers of target.c; NULL: nobody has asked */
  bool lost;         /* memory was out when a lazy rule was made */
} tl_ruleset;

#define TL_RULE_BIT(kind) (1u << (kind))
/* Definitions of NPU ops: parsed only for modules that have such ops. */
#define TL_RULE_NPU_BIT TL_RULE_BIT(TL_N_RULE_KINDS)
/* Formulas: definitions that passes make nodes of (formula.h); parsed only where they are asked
 * for. */
#define TL_RULE_FORMULA_BIT TL_RULE_BIT(TL_N_RULE_KINDS + 1)

/* Initializes an empty set for module m. */
void tl_ruleset_init(tl_ruleset *s, tl_module *m);
/* Releases all rules of the set. */
void tl_ruleset_release(tl_ruleset *s);
/* Parses a text and adds its rules. A rule with the name of an existing one replaces it (override)
 * or is an error. Reports the first mistake with line and column: TL_INVALID_ARGUMENT,
 * TL_NO_MEMORY. The text must outlive the set. */
tl_status tl_rules_parse(tl_ruleset *s, const char *path, tl_sv text, bool override) TL_NODISCARD;
struct tl_rule_text;
/* Parses one built-in text. The index of the rule is that of its text, so that the order of rules
 * does not depend on which are added first. */
tl_status tl_rules_parse_text(tl_ruleset *s, const struct tl_rule_text *text) TL_NODISCARD;
/* Adds the rule of one built-in text as tl_rules_parse_text does, from its compiled form where the
 * program has it (image.h). */
tl_status tl_rules_add_text(tl_ruleset *s, const struct tl_rule_text *text) TL_NODISCARD;
/* Adds all built-in rules of the set's kinds. Errors are reported. */
tl_status tl_rules_add_builtin(tl_ruleset *s) TL_NODISCARD;
/* Checks a parsed rule and fills its derived fields (steps, depth, pass_kind). Mistakes are
 * reported as TL_INVALID_ARGUMENT. */
tl_status tl_rule_finish(tl_ruleset *s, tl_rule *r) TL_NODISCARD;
/* Reports a mistake in a rule, at statement n of it or (NULL) in the whole: TL_INVALID_ARGUMENT. */
tl_status tl_rule_error(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n, const char *fmt,
                        ...) TL_PRINTF(4, 5);
/* Checks what the rules and definitions of --rules files say of ops and attributes, once all files
 * are read: a tl:: op that nothing defines, operands that no definition takes, definitions that use
 * themselves, an attribute of the wrong kind (check_made.c). TL_INVALID_ARGUMENT, reported. */
tl_status tl_rules_check_made(tl_ruleset *s) TL_NODISCARD;
/* Returns true if the set has a definition of the op. */
bool tl_rules_define(const tl_ruleset *s, tl_op_id op);
/* Adds the built-in rules and those of --rules files, then configures the set. Errors are
 * reported. */
tl_status tl_rules_load(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* Like tl_rules_load, but leaves out built-in rules for other targets and rules whose patterns have
 * ops that neither the module nor other rules make: they cannot match, and most models need
 * few. With --rules files, which may override built-in rules, none
 * is left out. */
tl_status tl_rules_load_needed(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* Adds the rules for ops that the module got since the last call, under the same options. */
tl_status tl_rules_load_more(tl_ruleset *s) TL_NODISCARD;
/* Switches rules off as fusion switches, the numerics class and the target require, and sets the
 * priorities of graph rules (switch.c). TL_NO_MEMORY or TL_INTERNAL, reported. */
tl_status tl_rules_configure(tl_ruleset *s, const tl_options *options) TL_NODISCARD;
/* Returns the reason why a rule for these targets is useless here, a static string; NULL if it is
 * useful (target.c). */
const char *tl_rule_misplaced(const tl_options *options, unsigned targets);
/* The parts of tl_rules_configure that concern one rule. Switches it off as switches and the
 * numerics class require (switch.c). */
void tl_rule_switch(const tl_ruleset *s, const tl_options *options, tl_rule *r);
/* Switches a graph rule off that makes an op which options->target lacks (target.c). TL_NO_MEMORY
 * or TL_INTERNAL, reported. */
tl_status tl_rule_fit_target(tl_ruleset *s, const tl_options *options, tl_rule *r) TL_NODISCARD;
/* Returns the priority that a switch file or the rule itself gives; TL_NO_PRIORITY: its place among
 * the names decides. */
int tl_rule_priority(const tl_ruleset *s, const tl_rule *r);
/* Returns true if a rule of one of the kinds (set of TL_RULE_BIT) is on, or with `any` if one
 * exists. */
bool tl_rules_have(tl_ruleset *s, unsigned kinds, bool any);
/* Finds a rule by name, the first of its spellings; NULL if there is none. O(rules). */
tl_rule *tl_ruleset_find(const tl_ruleset *s, tl_symbol name);

/* One built-in rule or definition; the table is generated by scripts/embed_rules.py. */
typedef struct tl_rule_text {
  uint32_t path; /* path of the file: index into tl_rule_paths */
  uint32_t line; /* line in that file where it starts, from 1 */
  uint32_t at;   /* offset of the text in tl_rule_characters */
  uint32_t n;
  uint32_t needs; /* index into tl_rule_needs: lists of ops, each ended by RETURN, an empty list at
                   * the end. A match needs an op of every list; 0: no lists */
  uint32_t makes; /* index of one such list: ops that the replacement makes */
  unsigned targets; /* set of tl_rule_target */
  unsigned kind;    /* TL_RULE_BIT */
  uint32_t choices; /* alternatives of its pattern that this row takes, see parse.h */
  uint8_t spelling; /* number of this spelling, from 1; 0: only one */
} tl_rule_text;
extern const tl_rule_text tl_rule_texts[];
extern const uint32_t tl_n_rule_texts;
extern const char *const tl_rule_characters;
extern const char *const tl_rule_paths[];
extern const tl_op_id tl_rule_needs[];

#endif
