/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the notation of chains.tbl by recursive descent. */
#include "passes/ub/chain.h"

#include <ctype.h>

/* What a row of the table allows: see tl_ub_chain. */
enum { PLAIN = 0, MIXED = 1, DYNAMIC = 2, OPEN = 3 };

/* A row as it is written; `text` holds the steps. */
typedef struct chain_row {
  const char *pass;
  const char *text;
  int order;
  int allows;
} chain_row;

static const chain_row rows[] = {
#define CHAIN(pass, order, allows, steps) {#pass, steps, order, allows},
#include "passes/ub/chains.tbl"
};

/* Names of the steps so far, for arguments of later steps. */
typedef struct reader {
  tl_ub_chain *c;
  tl_sv names[TL_UB_MOST_STEPS];
} reader;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Cuts a word off the front; empty if there is none. */
static tl_sv take_word(tl_sv *s) {
  tl_sv word = {s->p, 0};
  while (word.n < s->n && is_word(s->p[word.n]))
    word.n++;
  *s = (tl_sv){s->p + word.n, s->n - word.n};
  return word;
}

/* Skips a character if it comes next. */
static bool take(tl_sv *s, char c) {
  if (s->n == 0 || *s->p != c)
    return false;
  s->p++;
  s->n--;
  return true;
}

/* Reads a digit; returns `otherwise` if there is none. */
static uint8_t take_digit(tl_sv *s, uint8_t otherwise) {
  if (s->n == 0 || !isdigit((unsigned char)*s->p))
    return otherwise;
  uint8_t d = (uint8_t)(*s->p - '0');
  s->p++;
  s->n--;
  return d;
}

/* Adds a class, or an op type if no class has that name. */
static bool add_kind(const tl_ub_chain *c, tl_ub_step *step, tl_sv word) {
  tl_ub_class class = tl_ub_class_find(word);
  if (word.n == 0 || (class == TL_UB_NONE && step->n_types == TL_UB_MOST_TYPES))
    return false;
  if (class)
    step->classes |= UINT64_C(1) << class;
  else
    step->types[step->n_types++] = (tl_ub_word){(uint16_t)(word.p - c->text), (uint16_t)word.n};
  return true;
}

/* Reads [name=]Kind|Kind... */
static bool read_kinds(reader *r, tl_sv *s, tl_ub_step *step) {
  tl_sv word = take_word(s);
  if (take(s, '=')) {
    r->names[r->c->n_steps] = word;
    word = take_word(s);
  }
  if (!add_kind(r->c, step, word))
    return false;
  while (take(s, '|'))
    if (!add_kind(r->c, step, take_word(s)))
      return false;
  return true;
}

/* Reads the marks :operands, *most, ? (may be missing), ! (needs users outside), +n (n users
 * outside). */
static void read_marks(tl_sv *s, tl_ub_step *step) {
  step->least = step->most = 1;
  if (take(s, ':'))
    step->operands = take_digit(s, 0);
  if (take(s, '*'))
    step->most = take_digit(s, 1);
  if (take(s, '?'))
    step->least = 0;
  if (take(s, '!'))
    step->outside = TL_UB_SOME;
  else if (take(s, '+'))
    step->outside = take_digit(s, TL_UB_AT_WILL);
}

/* Reads (name,name), the steps whose results the step takes; without them it takes the previous
 * one's. */
static bool read_args(reader *r, tl_sv *s, tl_ub_step *step) {
  if (!take(s, '(')) {
    step->args[step->n_args++] = TL_UB_PREVIOUS;
    return true;
  }
  do {
    tl_sv name = take_word(s);
    uint8_t i = 0;
    while (i < r->c->n_steps && !tl_sv_eq(r->names[i], name))
      i++;
    if (name.n == 0 || i == r->c->n_steps || step->n_args == 2)
      return false;
    r->c->shared[i] = true;
    step->args[step->n_args++] = i;
  } while (take(s, ','));
  return take(s, ')');
}

/* Counts the steps that may come first: leading steps that may be missing, and the one after
 * them. */
static void count_heads(tl_ub_chain *c) {
  c->n_heads = 1;
  while (c->n_heads < c->n_steps && c->steps[c->n_heads - 1].least == 0)
    c->n_heads++;
}

/* Steps are separated by ">". Within a step the parts have a fixed order: kinds, marks,
 * arguments. */
bool tl_ub_chain_parse(tl_ub_chain *c) {
  reader r = {.c = c};
  tl_sv rest = tl_sv_from(c->text);
  if (rest.n > UINT16_MAX)
    return false;
  while (rest.p) {
    tl_sv s = tl_sv_trim(tl_sv_split(&rest, '>'));
    if (c->n_steps == TL_UB_MOST_STEPS)
      return false;
    tl_ub_step *step = &c->steps[c->n_steps];
    if (!read_kinds(&r, &s, step))
      return false;
    read_marks(&s, step);
    if (!read_args(&r, &s, step) || s.n || step->most == 0)
      return false;
    c->n_steps++;
  }
  count_heads(c);
  return c->n_steps > 0;
}

uint32_t tl_ub_n_chains(void) { return sizeof rows / sizeof *rows; }

bool tl_ub_chain_get(uint32_t i, tl_ub_chain *c) {
  c->pass = rows[i].pass;
  c->text = rows[i].text;
  c->order = rows[i].order;
  c->mixed = rows[i].allows == MIXED;
  c->dynamic = rows[i].allows == DYNAMIC;
  c->open = rows[i].allows == OPEN;
  return tl_ub_chain_parse(c);
}

uint32_t tl_ub_count_chains(tl_sv pass) {
  uint32_t n = tl_sv_is(pass, TL_UB_AUTOMATIC);
  for (uint32_t i = 0; i < tl_ub_n_chains(); i++)
    n += tl_sv_is(pass, rows[i].pass);
  return n;
}
