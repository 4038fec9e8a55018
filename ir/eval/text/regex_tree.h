/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a regular expression, between its parser and its program. */
#ifndef TL_IR_EVAL_TEXT_REGEX_TREE_H
#define TL_IR_EVAL_TEXT_REGEX_TREE_H

#include "support/arena.h"
#include "support/str.h"

enum { TL_REGEX_INFINITE = -1 };

/* Code points from low to high, both included. */
typedef struct tl_regex_range {
  uint32_t low;
  uint32_t high;
} tl_regex_range;

/* What a node matches: one character of a set, a place, its children in order, one of its children,
 * or its child repeatedly. */
typedef enum tl_regex_kind {
  TL_REGEX_SET,
  TL_REGEX_ASSERT,
  TL_REGEX_SEQUENCE,
  TL_REGEX_CHOICE,
  TL_REGEX_REPEAT
} tl_regex_kind;

typedef struct tl_regex_node tl_regex_node;
/* A node; the fields that a kind does not name are 0. */
struct tl_regex_node {
  tl_regex_kind kind;
  char assertion;    /* ^ $ b B */
  bool negated;      /* SET */
  int least;         /* REPEAT */
  int most;          /* may be TL_REGEX_INFINITE */
  uint32_t n_ranges; /* SET */
  uint64_t size;     /* instructions */
  tl_regex_range *ranges;
  tl_regex_node *child; /* first of a list */
  tl_regex_node *next;
};

/* Returns the tree, in the arena; its nesting is limited, so that recursion over it is safe. NULL
 * and *why as tl_regex_compile. */
tl_regex_node *tl_regex_parse(tl_arena *a, tl_sv pattern, const char **why);
/* Returns the next code point and moves *at behind it, at least one byte. What is not UTF-8 gives
 * U+FFFD. */
uint32_t tl_regex_rune(const char **at, const char *end);

#endif
