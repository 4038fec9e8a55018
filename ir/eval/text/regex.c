/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles trees to programs of an automaton that follows all its states at once, and runs them (K.
 * Thompson, CACM 11 (1968) 419). There is no backtracking, so no pattern takes exponential time.
 *
 * Own code, since no library in C fits: ONNX's RegexFullMatch wants the syntax of RE2, and RE2
 * is C++ without functions for C, which would bring libstdc++ into libtailor. PCRE2 and Oniguruma
 * backtrack, so a model could hold a pattern that takes exponential time or ends at a limit. TRE
 * and the C library do not read this syntax, and how the C library reads one depends on the locale.
 */
#include "ir/eval/text/regex.h"

#include "ir/eval/text/regex_tree.h"

/* A step costs time in proportion to the program, so its size is bounded. */
enum { MAX_PROGRAM = 100000 };

/* ---- program -------------------------------------------------------------------------------- */

/* SET reads a character; the others read nothing. */
typedef enum opcode { OP_SET, OP_ASSERT, OP_SPLIT, OP_JUMP, OP_MATCH } opcode;

typedef struct instruction {
  opcode op;
  uint32_t to; /* JUMP, and the second way of SPLIT; the first is the next instruction */
  const tl_regex_node *of; /* SET, ASSERT */
} instruction;

/* A program ends in MATCH. */
struct tl_regex {
  instruction *at;
  uint32_t n;
};

/* Keeps sizes from overflowing: nested repetitions multiply. */
static uint64_t bounded(uint64_t size) { return size > MAX_PROGRAM ? MAX_PROGRAM + 1 : size; }

/* Computes the number of instructions of each node. The parser limits the nesting, so recursion is
 * safe. */
static uint64_t measure(tl_regex_node *n) {
  uint64_t size = n->kind == TL_REGEX_SET || n->kind == TL_REGEX_ASSERT, children = 0;
  for (tl_regex_node *c = n->child; c; c = c->next, children++)
    size = bounded(size + measure(c));
  if (n->kind == TL_REGEX_CHOICE)
    size = bounded(size + 2 * (children - 1));
  if (n->kind == TL_REGEX_REPEAT && size) {
    uint64_t least = (uint64_t)n->least;
    size = n->most == TL_REGEX_INFINITE ? size * least + size + 2
                                        : size * least + ((uint64_t)n->most - least) * (size + 1);
  }
  n->size = bounded(size);
  return n->size;
}

/* Returns the place of the new instruction; measure has made sure of the room. */
static uint32_t emit(tl_regex *r, opcode op, const tl_regex_node *of) {
  r->at[r->n] = (instruction){op, 0, of};
  return r->n++;
}

static void build(tl_regex *r, const tl_regex_node *n);

/* Repetitions are unrolled: a{2,3} is a a a?. */
static void build_repeat(tl_regex *r, const tl_regex_node *n) {
  const tl_regex_node *body = n->child;
  if (!n->size)
    return;
  for (int i = 0; i < n->least; i++)
    build(r, body);
  if (n->most == TL_REGEX_INFINITE) {
    uint32_t split = emit(r, OP_SPLIT, NULL);
    build(r, body);
    r->at[emit(r, OP_JUMP, NULL)].to = split;
    r->at[split].to = r->n;
    return;
  }
  for (int i = n->least; i < n->most; i++) {
    uint32_t split = emit(r, OP_SPLIT, NULL);
    build(r, body);
    r->at[split].to = r->n;
  }
}

/* Each alternative but the last is a SPLIT to the next one and ends in a JUMP to the end, which is
 * set once the end is known. */
static void build_choice(tl_regex *r, const tl_regex_node *n) {
  uint32_t pending = UINT32_MAX; /* jumps to the end, chained through `to` */
  for (const tl_regex_node *c = n->child; c; c = c->next) {
    uint32_t split = c->next ? emit(r, OP_SPLIT, NULL) : 0;
    build(r, c);
    if (!c->next)
      break;
    uint32_t jump = emit(r, OP_JUMP, NULL);
    r->at[jump].to = pending;
    pending = jump;
    r->at[split].to = r->n;
  }
  while (pending != UINT32_MAX) {
    uint32_t before = r->at[pending].to;
    r->at[pending].to = r->n;
    pending = before;
  }
}

/* The parser bounds the nesting, and with it the recursion. */
static void build(tl_regex *r, const tl_regex_node *n) {
  switch (n->kind) {
  case TL_REGEX_SET: emit(r, OP_SET, n); break;
  case TL_REGEX_ASSERT: emit(r, OP_ASSERT, n); break;
  case TL_REGEX_REPEAT: build_repeat(r, n); break;
  case TL_REGEX_CHOICE: build_choice(r, n); break;
  case TL_REGEX_SEQUENCE:
    for (const tl_regex_node *c = n->child; c; c = c->next)
      build(r, c);
    break;
  }
}

const tl_regex *tl_regex_compile(tl_arena *a, tl_sv pattern, const char **why) {
  tl_regex_node *tree = tl_regex_parse(a, pattern, why);
  if (!tree)
    return NULL;
  *why = NULL;
  if (measure(tree) > MAX_PROGRAM) {
    *why = "repetitions that are too large";
    return NULL;
  }
  tl_regex *r = tl_arena_calloc(a, 1, sizeof *r);
  if (r)
    r->at = tl_arena_calloc(a, tree->size + 1, sizeof *r->at);
  if (!r || !r->at)
    return NULL;
  build(r, tree);
  emit(r, OP_MATCH, NULL);
  return r;
}

/* ---- run ------------------------------------------------------------------------------------ */

/* The states at one place of the text: a list without repetition. */
typedef struct states {
  uint32_t *at;
  uint32_t n;
} states;

/* The state of one match. */
typedef struct machine {
  const tl_regex *r;
  states now;
  states next;
  uint32_t *stack;
  uint32_t *mark; /* by state: the step that added it last */
  uint32_t step;
  uint32_t before; /* characters around the place; NO_RUNE at the ends */
  uint32_t after;
} machine;

enum { NO_RUNE = 0x7fffffff };

/* Words are ASCII. */
static bool is_word(uint32_t c) {
  return c < 0x80 &&
         ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'));
}

/* ^ and $ are the ends of the text, not of a line. */
static bool holds(const machine *v, char assertion) {
  bool boundary = is_word(v->before) != is_word(v->after);
  switch (assertion) {
  case '^': return v->before == NO_RUNE;
  case '$': return v->after == NO_RUNE;
  case 'b': return boundary;
  default: return !boundary;
  }
}

/* Adds a state and all that it leads to without reading a character. The stack has room: each state
 * is expanded once in a step and pushes at most two. */
static void add_state(machine *v, states *list, uint32_t first) {
  uint32_t n = 0;
  v->stack[n++] = first;
  while (n) {
    uint32_t s = v->stack[--n];
    if (v->mark[s] == v->step)
      continue;
    v->mark[s] = v->step;
    const instruction *i = &v->r->at[s];
    if (i->op == OP_JUMP)
      v->stack[n++] = i->to;
    else if (i->op == OP_SPLIT) {
      v->stack[n++] = i->to;
      v->stack[n++] = s + 1;
    } else if (i->op == OP_ASSERT) {
      if (holds(v, i->of->assertion))
        v->stack[n++] = s + 1;
    } else
      list->at[list->n++] = s;
  }
}

static bool in_set(const tl_regex_node *set, uint32_t c) {
  bool found = false;
  for (uint32_t i = 0; i < set->n_ranges && !found; i++)
    found = c >= set->ranges[i].low && c <= set->ranges[i].high;
  return found != set->negated;
}

static uint32_t rune_at(const char *p, const char *end) {
  return p < end ? tl_regex_rune(&p, end) : NO_RUNE;
}

/* Reads the text once. `now` holds the states before a character, `next` those behind it. */
static bool run(machine *v, const char *p, const char *end) {
  v->before = NO_RUNE;
  v->after = rune_at(p, end);
  v->step = 1;
  add_state(v, &v->now, 0);
  while (p < end) {
    v->before = tl_regex_rune(&p, end);
    v->after = rune_at(p, end);
    v->next.n = 0;
    v->step++;
    for (uint32_t i = 0; i < v->now.n; i++) {
      const instruction *s = &v->r->at[v->now.at[i]];
      if (s->op == OP_SET && in_set(s->of, v->before))
        add_state(v, &v->next, v->now.at[i] + 1);
    }
    states spare = v->now;
    v->now = v->next;
    v->next = spare;
  }
  for (uint32_t i = 0; i < v->now.n; i++)
    if (v->r->at[v->now.at[i]].op == OP_MATCH)
      return true;
  return false;
}

tl_status tl_regex_match(const tl_regex *r, tl_arena *a, tl_sv text, bool *matched) {
  tl_arena_mark mark = tl_arena_save(a);
  machine v = {.r = r,
               .now.at = tl_arena_calloc(a, r->n, sizeof(uint32_t)),
               .next.at = tl_arena_calloc(a, r->n, sizeof(uint32_t)),
               .stack = tl_arena_calloc(a, 2 * (size_t)r->n + 2, sizeof(uint32_t)),
               .mark = tl_arena_calloc(a, r->n, sizeof(uint32_t))};
  if (!v.now.at || !v.next.at || !v.stack || !v.mark || text.n >= UINT32_MAX)
    return TL_NO_MEMORY;
  const char *p = text.n ? text.p : "";
  *matched = run(&v, p, p + text.n);
  tl_arena_rewind(a, mark);
  return TL_OK;
}
