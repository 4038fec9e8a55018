/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations of JSON that stay JSON, and of files that hold some: a value takes the place of
 * another, or becomes one that readers seldom see; a member or an element is dropped or doubled,
 * where it was or in another list or object. */
#include <stdbool.h>
#include <string.h>

#include "tests/fuzz/target.h"

enum { MOST_PARTS = 1024, DEEPEST = 64, LONGEST = 4096 };

/* An element of a list, or a member of an object: [at, end); its value starts at `value`. */
typedef struct part {
  size_t at, value, end;
} part;

typedef struct parts {
  part at[MOST_PARTS];
  size_t n;
  part open[DEEPEST]; /* of the objects and lists around */
  size_t depth;
} parts;

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Returns the end of the string that starts at `at`. */
static size_t string_end(const char *text, size_t size, size_t at) {
  for (at++; at < size && text[at] != '"'; at++)
    at += text[at] == '\\';
  return at < size ? at : size;
}

static void close_part(parts *p, size_t end) {
  part *top = &p->open[p->depth - 1];
  top->end = end;
  if (top->value < end && p->n < MOST_PARTS)
    p->at[p->n++] = *top;
  top->at = top->value = end + 1;
}

static void split(parts *p, const char *text, size_t size) {
  p->n = p->depth = 0;
  for (size_t i = 0; i < size; i++) {
    char c = text[i];
    if (c == '"')
      i = string_end(text, size, i);
    else if ((c == '{' || c == '[') && p->depth < DEEPEST)
      p->open[p->depth++] = (part){i + 1, i + 1, 0};
    else if (c == ':' && p->depth)
      p->open[p->depth - 1].value = i + 1;
    else if ((c == ',' || c == '}' || c == ']') && p->depth)
      close_part(p, i);
    if ((c == '}' || c == ']') && p->depth)
      p->depth--;
  }
}

/* What is changed, in its room. */
typedef struct text {
  char *p;
  size_t n, most;
} text;

/* Puts n bytes in the place of [at, end). Returns false if there is no room. */
static bool put(text *t, size_t at, size_t end, const char *p, size_t n) {
  char room[LONGEST];
  if (n > sizeof room || t->n - (end - at) + n > t->most)
    return false;
  memcpy(room, p, n); /* p may lie in the text */
  memmove(t->p + at + n, t->p + end, t->n - end);
  memcpy(t->p + at, room, n);
  t->n += n - (end - at);
  return true;
}

static bool put_word(text *t, const part *to, uint32_t *state) {
  static const char *const words[] = {
      "null",        "true",  "false", "0",      "-1",       "1",   "4294967296",
      "-2147483649", "1e40",  "0.1",   "1e999",  "\"\"",     "[]",  "{}",
      "\"0\"",       "\"%\"", "[[]]",  "\"on\"", "\"true\"", "[0]", "\"\\u0000\""};
  const char *word = words[next(state) % (sizeof words / sizeof *words)];
  return put(t, to->value, to->end, word, strlen(word));
}

static bool drop(text *t, const part *p) {
  size_t at = p->at, end = p->end;
  if (end < t->n && t->p[end] == ',')
    end++;
  else if (at > 0 && t->p[at - 1] == ',')
    at--;
  return put(t, at, end, "", 0);
}

/* Puts a copy of a part behind another. */
static bool copy(text *t, const part *p, const part *to) {
  char room[LONGEST];
  size_t n = p->end - p->at;
  if (n + 1 > sizeof room)
    return false;
  room[0] = ',';
  memcpy(room + 1, t->p + p->at, n);
  return put(t, to->end, to->end, room, n + 1);
}

/* Changes a part by chance. */
static bool change(text *t, const parts *p, unsigned choice, uint32_t *state) {
  const part *one = &p->at[next(state) % p->n], *other = &p->at[next(state) % p->n];
  if (choice < 4)
    return put(t, one->value, one->end, t->p + other->value, other->end - other->value);
  if (choice < 7)
    return put_word(t, one, state);
  return choice < 9 ? drop(t, one) : copy(t, one, other);
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  text t = {(char *)data, size, most};
  parts p;
  uint32_t state = seed;
  unsigned choice = next(&state) % 16;
  split(&p, t.p, size);
  if (p.n && choice < 12 && change(&t, &p, choice, &state))
    return t.n;
  return LLVMFuzzerMutate(data, size, most);
}
