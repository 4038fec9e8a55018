/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the words in names that tell the value before a step from the value behind it
 * (state_names.h). */
#include "passes/train/step/state_names.h"

#include <ctype.h>

static const char *const before[] = {"in",      "old",   "prev",   "previous", "cur",  "curr",
                                     "current", "input", "before", "last",     "init", "initial"};
static const char *const after[] = {"new",    "out",   "next", "updated", "update", "upd",
                                    "output", "after", "post", "prime",   "result", "assigned"};

enum { N_WORDS = sizeof before / sizeof *before };
_Static_assert(sizeof after == sizeof before, "as many words of either kind");

static bool is_separator(char c) {
  return c == '.' || c == '_' || c == '-' || c == '/' || c == ':' || c == ' ';
}

static bool same_letters(const char *p, const char *word, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (tolower((unsigned char)p[i]) != word[i])
      return false;
  return true;
}

/* Removes `word` from the front of a name. A word ends at a separator, or where a capital letter
 * begins the next word: newW. */
static bool cut_front(tl_sv *name, const char *word) {
  size_t n = strlen(word);
  if (name->n <= n || !same_letters(name->p, word, n))
    return false;
  bool apart = is_separator(name->p[n]);
  if (!apart && !(islower((unsigned char)name->p[n - 1]) && isupper((unsigned char)name->p[n])))
    return false;
  *name = (tl_sv){name->p + n + apart, name->n - n - apart};
  return name->n > 0;
}

/* The same at the back: wNew. */
static bool cut_back(tl_sv *name, const char *word) {
  size_t n = strlen(word);
  if (name->n <= n || !same_letters(name->p + name->n - n, word, n))
    return false;
  const char *at = name->p + name->n - n;
  bool apart = is_separator(at[-1]);
  if (!apart && !(isupper((unsigned char)at[0]) && !isupper((unsigned char)at[-1])))
    return false;
  name->n -= n + apart;
  return name->n > 0;
}

static bool cut(tl_sv *name, bool output, bool (*fn)(tl_sv *, const char *)) {
  const char *const *words = output ? after : before;
  for (size_t i = 0; i < N_WORDS; i++) {
    tl_sv rest = *name;
    if (fn(&rest, words[i])) {
      *name = rest;
      return true;
    }
  }
  return false;
}

/* Removes a prime from the end: w' is the next w. */
static bool cut_prime(tl_sv *name) {
  if (name->n < 2 || name->p[name->n - 1] != '\'')
    return false;
  name->n--;
  return true;
}

/* A name gives up to four keys: itself, without a word at the back, without one at the front,
 * without both. */
uint32_t tl_state_keys(tl_sv name, bool output, tl_sv keys[TL_STATE_KEYS]) {
  uint32_t n = 0;
  tl_sv back = name, front = name;
  bool at_back = (output && cut_prime(&back)) || cut(&back, output, cut_back);
  bool at_front = cut(&front, output, cut_front);
  keys[n++] = name;
  if (at_back)
    keys[n++] = back;
  if (at_front)
    keys[n++] = front;
  if (at_back && at_front && cut(&back, output, cut_front))
    keys[n++] = back;
  return n;
}
