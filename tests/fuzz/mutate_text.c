/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations of textual IR that keep most inputs well-formed: lines are dropped, doubled and
 * exchanged; a word is replaced by a word of the same sort from elsewhere in the text (a value by a
 * value, an op by an op, a number by a number) or by an op of the table. */
#include <ctype.h>
#include <string.h>

#include "ir/op.h"
#include "ir/ops_gen.h"
#include "tests/fuzz/target.h"

enum { MOST_WORDS = 512 };

/* A word: a range of the text. */
typedef struct word {
  size_t at, n;
  char sort; /* '%', 'A': a name, '0': a number */
} word;

static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static int in_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static size_t split(const char *text, size_t size, word *words) {
  size_t n = 0;
  for (size_t i = 0; i < size && n < MOST_WORDS; i++) {
    if (!in_word(text[i]) && text[i] != '%')
      continue;
    size_t start = i++;
    while (i < size && in_word(text[i]))
      i++;
    char first = text[start];
    words[n++] = (word){start, i - start,
                        first == '%'                    ? '%'
                        : isdigit((unsigned char)first) ? '0'
                                                        : 'A'};
  }
  return n;
}

/* Puts n bytes in the place of a word. Returns the new size; 0 if there is no room. */
static size_t put(char *text, size_t size, size_t most, word w, const char *p, size_t n) {
  char room[64];
  if (n > sizeof room || size - w.n + n > most)
    return 0;
  memcpy(room, p, n); /* p may lie in the text */
  memmove(text + w.at + n, text + w.at + w.n, size - w.at - w.n);
  memcpy(text + w.at, room, n);
  return size - w.n + n;
}

/* Replaces a word by one of its sort, or a name by an op. */
static size_t change_word(char *text, size_t size, size_t most, uint32_t *state) {
  static const char *const numbers[] = {"0", "1", "2", "3", "4", "7", "-1", "0.5", "-0.0", "1e30"};
  word words[MOST_WORDS];
  size_t n = split(text, size, words);
  if (n == 0)
    return 0;
  word w = words[next(state) % n];
  if (w.sort == 'A' && next(state) % 2) {
    const tl_op *row = tl_op_row(next(state) % tl_n_op_rows);
    return row ? put(text, size, most, w, row->name, strlen(row->name)) : 0;
  }
  if (w.sort == '0' && next(state) % 2) {
    const char *number = numbers[next(state) % (sizeof numbers / sizeof *numbers)];
    return put(text, size, most, w, number, strlen(number));
  }
  for (size_t tries = 0; tries < 32; tries++) {
    word other = words[next(state) % n];
    if (other.sort == w.sort && other.at != w.at)
      return put(text, size, most, w, text + other.at, other.n);
  }
  return 0;
}

/* Returns the range of a line, its end included. */
static word line_at(const char *text, size_t size, size_t at) {
  size_t start = at, end = at;
  while (start > 0 && text[start - 1] != '\n')
    start--;
  while (end < size && text[end] != '\n')
    end++;
  return (word){start, (end < size) + end - start, 0};
}

static size_t change_line(char *text, size_t size, size_t most, uint32_t *state) {
  word w = line_at(text, size, next(state) % size), to = line_at(text, size, next(state) % size);
  if (next(state) % 2) { /* drop it */
    memmove(text + w.at, text + w.at + w.n, size - w.at - w.n);
    return size - w.n;
  }
  char line[256];
  if (w.n > sizeof line || size + w.n > most)
    return 0;
  memcpy(line, text + w.at, w.n);
  memmove(text + to.at + w.n, text + to.at, size - to.at);
  memcpy(text + to.at, line, w.n);
  return size + w.n;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  uint32_t state = seed;
  size_t made = 0;
  unsigned choice = next(&state) % 16;
  if (size && choice < 10)
    made = change_word((char *)data, size, most, &state);
  else if (size && choice < 14)
    made = change_line((char *)data, size, most, &state);
  return made ? made : LLVMFuzzerMutate(data, size, most);
}
