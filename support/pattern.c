/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles and matches regular expressions that users write, after checking that they are cheap.
 * The matching is the C library's: POSIX extended expressions are what users of command lines know,
 * and need no further dependency. */
#include "support/pattern.h"

#include <stdio.h>

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

/* Returns what C libraries read in different ways, NULL for nothing: POSIX leaves it undefined. To
 * glibc \d is the letter d, to musl a digit. */
static const char *ambiguous_escape(char c) {
  if (c >= '1' && c <= '9')
    return "refers back to a group, which POSIX extended expressions do not";
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (letter ? !strchr("wWsS", c) : c && strchr("0<>`'", c))
    return "has a backslash before what is no special character; a digit is [[:digit:]]";
  return NULL;
}

/* The same for what stands at i outside of brackets, behind `before`. */
static const char *ambiguous(tl_sv text, size_t i, char before) {
  char c = text.p[i];
  if ((before == '^' || before == '$') && strchr("*+?{", c))
    return "repeats ^ or $";
  if (c == '{' && i + 1 < text.n && text.p[i + 1] == ',')
    return "lacks the number before a comma: {0,n}";
  return NULL;
}

/* The same for what brackets hold, from `from` to `to`. */
static const char *ambiguous_brackets(tl_sv text, size_t from, size_t to) {
  for (size_t i = from + 1; i + 1 < to; i++)
    if (text.p[i] == '[' && (text.p[i + 1] == '.' || text.p[i + 1] == '='))
      return "has [. or [= in brackets";
  return NULL;
}

/* Returns what would make compiling or matching expensive, or differ between C libraries; NULL for
 * nothing. The C library compiles x+ as xx*, so each '+' around others doubles what is in it. */
static const char *refused(tl_sv text) {
  unsigned depth = 0;
  unsigned copies = 1;
  unsigned optional = 0; /* groups that may be empty */
  char before = '\0';    /* ')', '^', '$' or a repetition, if that is what stands before i */
  if (text.n > TL_PATTERN_MAX_BYTES)
    return "is longer than 512 bytes";
  if (memchr(text.p, 0, text.n))
    return "has a zero byte";
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    const char *problem = ambiguous(text, i, before);
    if (c == '\\' && ++i < text.n)
      problem = ambiguous_escape(text.p[i]);
    if (c == '[') {
      size_t end = behind_bracket(text, i);
      problem = ambiguous_brackets(text, i, end);
      i = end - 1;
    }
    if (problem)
      return problem;
    if (c == '(' && ++depth > TL_PATTERN_MAX_DEPTH)
      return "nests more than 16 groups";
    if (c == ')' && depth-- == 0) /* glibc would take it for itself */
      return tl_pattern_error(REG_EPAREN);
    if (repeats_again(c, before))
      return "repeats a repetition";
    if (c == '{' || (c == '+' && before == ')'))
      copies *= c == '{' ? copies_at(text, i) : 2;
    if (copies > TL_PATTERN_MAX_COPIES)
      return "repeats more than 256 times, all counts multiplied";
    optional += (c == '*' || c == '?') && before == ')';
    if (optional * copies > TL_PATTERN_MAX_OPTIONAL)
      return "has more than 16 groups with * or ?, each + and count of a group multiplied";
    before = c && strchr(")+*?}^$", c) ? c : '\0';
  }
  return NULL;
}

const char *tl_pattern_error(int code) {
  switch (code) {
  case REG_ECTYPE: return "names no class of characters";
  case REG_EESCAPE: return "ends in a backslash";
  case REG_EBRACK: return "has a '[' that is not closed";
  case REG_EPAREN: return "has a '(' without ')', or the other way round";
  case REG_EBRACE: return "has a '{' that is not closed";
  case REG_BADBR: return "has something else than numbers in { }";
  case REG_ERANGE: return "has a range that ends before it begins";
  case REG_BADRPT: return "repeats nothing";
  case REG_ESPACE: return "takes more memory than there is";
  default: return "is no POSIX extended expression";
  }
}

/* Anchored at both ends: else the C library looks for a match from each byte of a name, and takes
 * minutes for a name of a megabyte. */
tl_status tl_pattern_compile(tl_pattern *p, tl_sv text, const char **problem) {
  char anchored[TL_PATTERN_MAX_BYTES + sizeof "^()$"];
  *problem = text.n ? refused(text) : "is empty";
  if (*problem)
    return TL_INVALID_ARGUMENT;
  snprintf(anchored, sizeof anchored, "^(%.*s)$", TL_SV_ARG(text));
  int error = regcomp(&p->compiled, anchored, REG_EXTENDED | REG_NOSUB);
  if (error == 0)
    return TL_OK;
  *problem = tl_pattern_error(error);
  return error == REG_ESPACE ? TL_NO_MEMORY : TL_INVALID_ARGUMENT;
}

bool tl_pattern_fits(const tl_pattern *p, const char *name, size_t n) {
  return strlen(name) == n && regexec(&p->compiled, name, 0, NULL, 0) == 0;
}

void tl_pattern_release(tl_pattern *p) { regfree(&p->compiled); }
