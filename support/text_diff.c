/* SPDX-License-Identifier: Apache-2.0 */
/* Implements differences between texts: Myers' algorithm over lines, and the printing of hunks. */
#include "support/text_diff.h"

#include <stdlib.h>
#include <string.h>

#include "support/hash.h"
#include "support/vec.h"

/* One line of a text. */
typedef struct line {
  tl_sv text; /* without the line feed */
  uint64_t hash;
  bool changed; /* has no counterpart in the other text */
} line;

TL_VEC(line_vec, line);

/* Steps from both ends after which a part is replaced as a whole. */
enum { MOST_STEPS = 2000 };

/* The two texts, and for each diagonal k = x - y how far a path got along it: `ahead` from the
 * start of a part, `back` from its end. */
typedef struct differ {
  line *a, *b;
  int64_t *ahead, *back; /* indexed from -(lines of b) - 1 */
} differ;

/* A part of both texts: lines [x0, x1) of a and [y0, y1) of b. */
typedef struct part {
  int64_t x0, x1, y0, y1;
} part;

static tl_status split(tl_sv text, line_vec *out) {
  while (text.n) {
    const char *end = memchr(text.p, '\n', text.n);
    size_t n = end ? (size_t)(end - text.p) : text.n;
    line l = {{text.p, n}, tl_hash_bytes(text.p, n, 0), false};
    if (!line_vec_push(out, l))
      return TL_NO_MEMORY;
    text.p += n + (end != NULL);
    text.n -= n + (end != NULL);
  }
  return TL_OK;
}

static bool same(const differ *d, int64_t x, int64_t y) {
  return d->a[x].hash == d->b[y].hash && tl_sv_eq(d->a[x].text, d->b[y].text);
}

/* Diagonals that paths have reached: every second one from low to high. */
typedef struct front {
  int64_t low, high;
} front;

/* Widens a front by one diagonal at each end, as far as the part has them. `edge` is worse than
 * every place: what lies outside is never chosen. */
static void widen(front *f, int64_t *at, int64_t least, int64_t most, int64_t edge) {
  if (f->low > least)
    at[--f->low - 1] = edge;
  else
    f->low++;
  if (f->high < most)
    at[++f->high + 1] = edge;
  else
    f->high--;
}

static bool holds(const front *f, int64_t k) { return k >= f->low && k <= f->high; }

/* Takes one step from the start. Returns true with *x, *k of a place where both fronts meet. */
static bool step_ahead(const differ *d, const part *p, front *f, const front *other, int64_t *x,
                       int64_t *k) {
  int64_t *at = d->ahead;
  bool odd = ((p->x0 - p->y0) - (p->x1 - p->y1)) & 1;
  widen(f, at, p->x0 - p->y1, p->x1 - p->y0, -1);
  for (*k = f->high; *k >= f->low; *k -= 2) {
    *x = at[*k - 1] < at[*k + 1] ? at[*k + 1] : at[*k - 1] + 1;
    while (*x < p->x1 && *x - *k < p->y1 && same(d, *x, *x - *k))
      ++*x;
    at[*k] = *x;
    if (odd && holds(other, *k) && d->back[*k] <= *x)
      return true;
  }
  return false;
}

/* The same from the end. */
static bool step_back(const differ *d, const part *p, front *f, const front *other, int64_t *x,
                      int64_t *k) {
  int64_t *at = d->back;
  bool odd = ((p->x0 - p->y0) - (p->x1 - p->y1)) & 1;
  widen(f, at, p->x0 - p->y1, p->x1 - p->y0, INT64_MAX);
  for (*k = f->high; *k >= f->low; *k -= 2) {
    *x = at[*k - 1] < at[*k + 1] ? at[*k - 1] : at[*k + 1] - 1;
    while (*x > p->x0 && *x - *k > p->y0 && same(d, *x - 1, *x - *k - 1))
      --*x;
    at[*k] = *x;
    if (!odd && holds(other, *k) && *x <= d->ahead[*k])
      return true;
  }
  return false;
}

/* Finds a place in the middle of a shortest edit script of a part whose ends differ. Returns false
 * if that takes too long. */
static bool middle(const differ *d, const part *p, int64_t *x, int64_t *y) {
  front ahead = {p->x0 - p->y0, p->x0 - p->y0}, back = {p->x1 - p->y1, p->x1 - p->y1};
  int64_t k;
  d->ahead[ahead.low] = p->x0;
  d->back[back.low] = p->x1;
  for (int step = 0; step < MOST_STEPS; step++) {
    if (step_ahead(d, p, &ahead, &back, x, &k) || step_back(d, p, &back, &ahead, x, &k)) {
      *y = *x - k;
      return *x >= p->x0 && *x <= p->x1 && *y >= p->y0 && *y <= p->y1;
    }
  }
  return false;
}

/* Marks the changed lines of a part. Recursion halves the number of changes, so it is shallow. */
static void mark(const differ *d, part p) {
  int64_t x, y;
  while (p.x0 < p.x1 && p.y0 < p.y1 && same(d, p.x0, p.y0))
    p.x0++, p.y0++;
  while (p.x0 < p.x1 && p.y0 < p.y1 && same(d, p.x1 - 1, p.y1 - 1))
    p.x1--, p.y1--;
  if (p.x0 < p.x1 && p.y0 < p.y1 && middle(d, &p, &x, &y)) {
    mark(d, (part){p.x0, x, p.y0, y});
    mark(d, (part){x, p.x1, y, p.y1});
    return;
  }
  for (x = p.x0; x < p.x1; x++)
    d->a[x].changed = true;
  for (y = p.y0; y < p.y1; y++)
    d->b[y].changed = true;
}

/* ---- printing -------------------------------------------------------------------------------- */

typedef struct printer {
  const line_vec *a, *b;
  const tl_text_diff_options *o;
  tl_buf *out;
} printer;

static void put(const printer *p, const char *colour, char sign, tl_sv text) {
  if (p->o->colour && *colour)
    tl_buf_printf(p->out, "\033[%sm%c%.*s\033[0m\n", colour, sign, TL_SV_ARG(text));
  else
    tl_buf_printf(p->out, "%c%.*s\n", sign, TL_SV_ARG(text));
}

/* Adds "start,count" as diff -u counts: from 1, and from 0 for no lines. */
static void put_range(const printer *p, char sign, uint32_t from, uint32_t to) {
  tl_buf_printf(p->out, "%c%u,%u", sign, from + (to > from), to - from);
}

/* Prints lines [x0, x1) of a against [y0, y1) of b. */
static void put_hunk(const printer *p, uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1) {
  tl_buf_add_z(p->out, p->o->colour ? "\033[36m@@ " : "@@ ");
  put_range(p, '-', x0, x1);
  tl_buf_add_char(p->out, ' ');
  put_range(p, '+', y0, y1);
  tl_buf_add_z(p->out, p->o->colour ? " @@\033[0m\n" : " @@\n");
  while (x0 < x1 || y0 < y1) {
    if (x0 < x1 && p->a->at[x0].changed)
      put(p, "31", '-', p->a->at[x0++].text);
    else if (y0 < y1 && p->b->at[y0].changed)
      put(p, "32", '+', p->b->at[y0++].text);
    else
      put(p, "", ' ', p->a->at[x0].text), x0++, y0++;
  }
}

/* Goes over a pair of places to the next change, or to the end. */
static void skip_equal(const printer *p, uint32_t *x, uint32_t *y) {
  while (*x < p->a->n && *y < p->b->n && !p->a->at[*x].changed && !p->b->at[*y].changed)
    ++*x, ++*y;
}

static void skip_changed(const printer *p, uint32_t *x, uint32_t *y) {
  while (*x < p->a->n && p->a->at[*x].changed)
    ++*x;
  while (*y < p->b->n && p->b->at[*y].changed)
    ++*y;
}

/* Joins changes that are at most twice the context apart, and prints each group. */
static void print(const printer *p) {
  uint32_t context = p->o->context, x = 0, y = 0;
  skip_equal(p, &x, &y);
  while (x < p->a->n || y < p->b->n) {
    uint32_t before = x < context ? x : context;
    uint32_t x0 = x - before, y0 = y - before, x1, y1;
    for (;;) {
      skip_changed(p, &x, &y);
      x1 = x;
      y1 = y;
      skip_equal(p, &x, &y);
      if ((x == p->a->n && y == p->b->n) || x - x1 > 2 * context)
        break;
    }
    uint32_t after = p->a->n - x1 < context ? p->a->n - x1 : context;
    put_hunk(p, x0, x1 + after, y0, y1 + after);
  }
}

tl_status tl_text_diff(tl_sv a, tl_sv b, const tl_text_diff_options *o, tl_buf *out) {
  line_vec of_a = {0}, of_b = {0};
  tl_status status = split(a, &of_a);
  if (status == TL_OK)
    status = split(b, &of_b);
  size_t n = (size_t)of_a.n + of_b.n + 3;
  int64_t *diagonals = status == TL_OK ? malloc(2 * n * sizeof *diagonals) : NULL;
  if (diagonals) {
    int64_t *middle_of = diagonals + of_b.n + 1;
    differ d = {of_a.at, of_b.at, middle_of, middle_of + n};
    mark(&d, (part){0, of_a.n, 0, of_b.n});
    printer p = {&of_a, &of_b, o, out};
    print(&p);
  } else {
    status = TL_NO_MEMORY;
  }
  free(diagonals);
  line_vec_release(&of_a);
  line_vec_release(&of_b);
  return status == TL_OK && out->failed ? TL_NO_MEMORY : status;
}
