/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles and matches regular expressions that users write, after checking that they are cheap.
 * The matching is the C library's: POSIX extended expressions are what users of command lines know,
 * and need no further dependency. */
#include "support/pattern.h"

/* Returns where the bracket expression that opens at i ends: behind its ']', or at the end of the
 * text. In it a ']' that comes first, classes such as [:alpha:] and backslashes are ordinary. */
static size_t behind_bracket(tl_sv text, size_t i) {
  i++;
  if (i < text.n && text.p[i] == '^')
    i++;
  if (i < text.n && text.p[i] == ']')
    i++;
  while (i < text.n && text.p[i] != ']') {
    char kind = i + 1 < text.n && text.p[i] == '[' ? text.p[i + 1] : '\0';
    if (kind == ':' || kind == '.' || kind == '=') {
      for (i += 2; i + 1 < text.n && !(text.p[i] == kind && text.p[i + 1] == ']');)
        i++;
      i++;
    }
    i++;
  }
  return i < text.n ? i + 1 : text.n;
}

/* Returns the larger number of {m,n}, at least 1; more than the limit counts as one above it. */
static unsigned copies_at(tl_sv text, size_t i) {
  unsigned most = 1;
  unsigned number = 0;
  for (i++; i < text.n && text.p[i] != '}'; i++) {
    bool digit = text.p[i] >= '0' && text.p[i] <= '9';
    number = digit ? number * 10 + (unsigned)(text.p[i] - '0') : 0;
    if (number > TL_PATTERN_MAX_COPIES)
      return TL_PATTERN_MAX_COPIES + 1;
    most = number > most ? number : most;
  }
  return most;
}

/* Returns true when a repetition follows another one. POSIX leaves its meaning undefined, and the C
 * library takes exponential time for long rows of them; x*? and x+? are what other languages
 * have. */
static bool repeats_again(char c, char before) {
  if (c == '?')
    return before == '?' || before == '}';
  return (c == '*' || c == '+' || c == '{') && before && before != ')';
}

/* Returns what would make compiling or matching expensive, NULL for nothing. The C library compiles
 * x+ as xx*, so each '+' around others doubles what is in it. */
static const char *expensive(tl_sv text) {
  unsigned depth = 0;
  unsigned copies = 1;
  unsigned optional = 0; /* groups that may be empty */
  char before = '\0';    /* ')' or a repetition, if that is what stands before i */
  if (text.n > TL_PATTERN_MAX_BYTES)
    return "is longer than 512 bytes";
  if (memchr(text.p, 0, text.n))
    return "has a zero byte";
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c == '\\' && ++i < text.n && text.p[i] >= '1' && text.p[i] <= '9')
      return "refers back to a group, which POSIX extended expressions do not";
    if (c == '[')
      i = behind_bracket(text, i) - 1;
    if (c == '(' && ++depth > TL_PATTERN_MAX_DEPTH)
      return "nests more than 16 groups";
    if (c == ')' && depth)
      depth--;
    if (repeats_again(c, before))
      return "repeats a repetition";
    if (c == '{' || (c == '+' && before == ')'))
      copies *= c == '{' ? copies_at(text, i) : 2;
    if (copies > TL_PATTERN_MAX_COPIES)
      return "repeats more than 256 times, all counts multiplied";
    optional += (c == '*' || c == '?') && before == ')';
    if (optional * copies > TL_PATTERN_MAX_OPTIONAL)
      return "has more than 16 groups with * or ?, each + and count of a group multiplied";
    before = c == ')' || c == '+' || c == '*' || c == '?' || c == '}' ? c : '\0';
  }
  return NULL;
}

tl_status tl_pattern_compile(tl_pattern *p, tl_sv text, char *room, size_t bytes,
                             const char **problem) {
  char copy[TL_PATTERN_MAX_BYTES + 1];
  *problem = text.n ? expensive(text) : "is empty";
  if (*problem)
    return TL_INVALID_ARGUMENT;
  memcpy(copy, text.p, text.n);
  copy[text.n] = '\0';
  int error = regcomp(&p->compiled, copy, REG_EXTENDED);
  if (error == 0)
    return TL_OK;
  (void)regerror(error, &p->compiled, room, bytes);
  *problem = room;
  return error == REG_ESPACE ? TL_NO_MEMORY : TL_INVALID_ARGUMENT;
}

/* The match is the leftmost and of those the longest one: if the whole name fits, the match is all
 * of it. */
bool tl_pattern_fits(const tl_pattern *p, const char *name, size_t n) {
  regmatch_t all;
  return strlen(name) == n && regexec(&p->compiled, name, 1, &all, 0) == 0 && all.rm_so == 0 &&
         (size_t)all.rm_eo == n;
}

void tl_pattern_release(tl_pattern *p) { regfree(&p->compiled); }
