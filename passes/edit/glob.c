/* SPDX-License-Identifier: Apache-2.0 */
#include "passes/edit/glob.h"

/* Where to go on after the last star when the rest does not fit. */
typedef struct retreat {
  size_t glob;
  size_t name;
  bool set;
} retreat;

static bool is_end(tl_sv name, size_t i) {
  return i == name.n || (i > 0 && name.p[i] == '/');
}

/* A star takes one more byte; false when it must not. A single star behind a double one that gave
 * all it could retreats to the double one. */
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
