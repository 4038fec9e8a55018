/* SPDX-License-Identifier: Apache-2.0 */
/* Matches globs with two kinds of star by backtracking to the last star (glob.h). */
#include "passes/edit/glob.h"

/* Where matching resumes if the rest does not fit: positions behind a star and in the name. */
typedef struct retreat {
  size_t glob;
  size_t name;
  bool set;
} retreat;

static bool is_end(tl_sv name, size_t i) { return i == name.n || (i > 0 && name.p[i] == '/'); }

/* Lets a star take one more byte and returns false if none can. A single star must not cross '/';
 * when it is exhausted, the double star before it takes one more byte. */
static bool retry(retreat *single, retreat *deep, tl_sv name, size_t *g, size_t *i) {
  if (single->set && single->name < name.n && name.p[single->name] != '/') {
    *g = single->glob;
    *i = ++single->name;
    return true;
  }
  single->set = false;
  if (!deep->set || deep->name >= name.n)
    return false;
  *g = deep->glob;
  *i = ++deep->name;
  return true;
}

/* Only the last star of each kind is remembered: an earlier one matched as little as it could, and
 * a longer match of it cannot help what a later star could not fit. */
bool tl_glob_fits(tl_sv glob, tl_sv name) {
  retreat single = {0};
  retreat deep = {0};
  size_t g = 0;
  size_t i = 0;
  if (glob.n == 0 || name.n == 0)
    return false;
  for (;;) {
    if (g == glob.n && is_end(name, i))
      return true;
    if (g + 1 < glob.n && glob.p[g] == '*' && glob.p[g + 1] == '*') {
      g += 2;
      deep = (retreat){g, i, true};
      single.set = false;
    } else if (g < glob.n && glob.p[g] == '*') {
      single = (retreat){++g, i, true};
    } else if (g < glob.n && i < name.n &&
               (glob.p[g] == name.p[i] || (glob.p[g] == '?' && name.p[i] != '/'))) {
      g++;
      i++;
    } else if (!retry(&single, &deep, name, &g, &i)) {
      return false;
    }
  }
}
