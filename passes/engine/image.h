/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in rules, compiled when the program is built: constant tables without pointers, so that
 * they lie in read-only memory that processes share and the loader does not touch. compile.c
 * writes them with the parser of this room; image.c makes rules of them without parsing. Parts of
 * a rule lie one behind the other in the table of their type, in the order of its statements. */
#ifndef TL_PASSES_ENGINE_IMAGE_H
#define TL_PASSES_ENGINE_IMAGE_H

#include "passes/engine/automaton.h"

/* A text: a range of tl_rule_characters. */
typedef struct tl_image_text {
  uint32_t at;
  uint32_t n;
} tl_image_text;

/* Strings with their hashes: the low half of tl_hash_bytes with seed 0. */
typedef struct tl_image_text_list {
  const char *text;       /* of all, one behind the other */
  const uint32_t *starts; /* n + 1 offsets in text */
  const uint32_t *hashes;
  uint32_t n;
} tl_image_text_list;

/* A symbol: a seeded one, or tl_n_seeds + 1 + its index in tl_image_strings. */
typedef uint32_t tl_image_symbol;

/* An expression: its index in the list of its rule plus 1; 0: none. */
typedef uint16_t tl_image_ref;

typedef struct tl_image_expr {
  uint64_t u;         /* bits of the number; STRING: tl_image_symbol */
  tl_image_text text; /* as written */
  uint16_t n;         /* arguments, one behind the other */
  uint16_t first;     /* index of the first one */
  uint8_t kind;
  uint8_t function;
} tl_image_expr;

typedef struct tl_image_operand {
  double number;
  tl_image_ref expr, end, dtype_of;
  uint8_t kind;
  uint8_t value;
  uint8_t dtype;
  bool tolerant;
} tl_image_operand;

typedef struct tl_image_attr {
  tl_image_symbol name;
  tl_image_ref expr;
  uint8_t index;
  bool captures;
} tl_image_attr;

enum {
  TL_IMAGE_OPEN = 1,
  TL_IMAGE_SHARED = 2,
  TL_IMAGE_MAYBE = 4,
  TL_IMAGE_FORWARD = 8,
  TL_IMAGE_CHOOSES = 16,
  TL_IMAGE_TWIN = 32
};

typedef struct tl_image_node {
  uint16_t line;
  uint16_t column;
  uint8_t results[8];
  uint8_t n_ops, n_operands, n_results, n_attrs;
  uint8_t like, from;
  uint8_t flags; /* set of TL_IMAGE_OPEN and its neighbours */
} tl_image_node;

enum { TL_IMAGE_REST = 1, TL_IMAGE_ABSENT = 2 };

typedef struct tl_image_value {
  uint32_t at; /* its name: a range of tl_rule_characters */
  uint8_t n;
  uint8_t node, result, built;
  uint8_t flags; /* set of TL_IMAGE_REST, TL_IMAGE_ABSENT */
} tl_image_value;

/* One rule: its numbers, and where its parts begin in the tables below. */
typedef struct tl_rule_image {
  tl_image_symbol name, pass;
  tl_image_text about;
  uint32_t line;
  int32_t written;
  uint32_t values, names, nodes, ops, operands, attrs, exprs, refs, lets, steps;
  uint32_t root_ops;                                    /* in the table of ops */
  uint16_t n_ops, n_operands, n_attrs, n_exprs, n_args; /* of the whole rule */
  uint16_t n_root_ops;
  uint16_t column;
  uint16_t pass_row, name_row; /* index in the table of public names plus 1; 0: not there */
  uint8_t kind, numerics, pass_kind;
  uint8_t spelling, depth;
  uint8_t n_values, n_names, n_match, n_build, n_where, n_lets, n_steps;
  bool general;
  bool whole; /* false: the rule has parts that no table holds, and is parsed as it is loaded */
} tl_rule_image;

/* By the index of the text (tl_rule_texts). A program without them has 0 and parses all. */
extern const uint32_t tl_n_rule_images;
extern const tl_rule_image tl_rule_images[];
extern const tl_image_value tl_image_values[];
extern const tl_image_text tl_image_names[];
extern const tl_image_node tl_image_nodes[]; /* of the pattern, then of the replacement */
extern const tl_op_id tl_image_ops[];
extern const tl_image_operand tl_image_operands[];
extern const tl_image_attr tl_image_attrs[];
extern const tl_image_expr tl_image_exprs[];
extern const tl_image_ref tl_image_refs[]; /* conditions, then numbers computed before them */
/* Names that are computed, then the order of conditions (cost.h). */
extern const uint8_t tl_image_lets[];
extern const tl_rule_step tl_image_steps[];
/* Of all rules whose images are whole; the number of a leaf is the index of the image + 1. */
extern const tl_automaton tl_image_automaton;
extern const tl_image_text_list tl_image_strings;

/* By index: what graph rules without a priority of their own are sorted by, as tl_fusion_sort
 * numbers all of them. */
extern const int32_t tl_image_priorities[];

/* Returns true if built-in text i has a compiled form. */
bool tl_rule_has_image(uint32_t i);
/* Makes the compiled rule i without its parts, in the arena of the set; NULL when memory is out. */
tl_rule *tl_rule_image_head(tl_ruleset *s, uint32_t i);
/* Adds the compiled rule of built-in text i to the set. *done is false if there is none, and the
 * text has to be parsed. TL_NO_MEMORY, reported. */
tl_status tl_rule_image_load(tl_ruleset *s, uint32_t i, bool *done) TL_NODISCARD;
/* Makes the parts of a bare rule of the set; nothing for others. False when memory is out. */
bool tl_rule_complete(tl_ruleset *s, tl_rule *r);

#endif
