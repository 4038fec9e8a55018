/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the partitions of buckets.h. */
#include "passes/train/comm/buckets.h"

#include <math.h>
#include <stdlib.h>

static const float close_enough = 1e-6f; /* of GE, for sums of sizes in f32 */
static const double tie = 1e-9;

/* GE rounds up to the alignment and adds one more unit of it. */
int64_t tl_bucket_padded(int64_t bytes) {
  int64_t align = TL_BUCKET_MEMORY_ALIGN;
  return (bytes + 2 * align - 1) / align * align;
}

/* ---- shares of all bytes, in f32 as GE computes them ----------------------------------------- */

/* Fills sums[i], the bytes of tensors 0 to i. */
static void running_sums(const int64_t *bytes, uint32_t n, float *sums) {
  float sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    sum += (float)bytes[i];
    sums[i] = sum;
  }
}

/* Returns the tensor whose running sum is nearest to `at`, the lower one of two equally near. */
static uint32_t nearest(const float *sums, uint32_t n, float at) {
  uint32_t low = 0;
  uint32_t high = n - 1;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (sums[mid] < at)
      low = mid + 1;
    else
      high = mid;
  }
  return low > 0 && at - sums[low - 1] <= sums[low] - at ? low - 1 : low;
}

/* Returns what GE's binary search finds: if it ends below `at`, it stays there. */
static uint32_t nearest_as_ge(const float *sums, uint32_t n, float at) {
  int64_t low = 0;
  int64_t high = (int64_t)n - 1;
  int64_t mid = 0;
  while (low <= high) {
    mid = (low + high) / 2;
    if (fabsf(sums[mid] - at) < close_enough)
      return (uint32_t)mid;
    if (sums[mid] > at)
      high = mid - 1;
    else
      low = mid + 1;
  }
  return mid > 0 && at - sums[mid - 1] <= sums[mid] - at ? (uint32_t)mid - 1 : (uint32_t)mid;
}

static uint32_t find_boundary(const float *sums, uint32_t n, float at, bool ge_compat) {
  return ge_compat ? nearest_as_ge(sums, n, at) : nearest(sums, n, at);
}

/* If memory is out, one bucket is returned, which is correct but does not overlap. */
uint32_t tl_buckets_default(const int64_t *bytes, uint32_t n, bool ge_compat, uint32_t *ends) {
  float *sums = n ? malloc(n * sizeof *sums) : NULL;
  if (n == 0)
    return 0;
  ends[0] = n - 1;
  if (!sums) /* one bucket is right in any case */
    return 1;
  running_sums(bytes, n, sums);
  uint32_t first = find_boundary(sums, n, 96.54f / 100 * sums[n - 1], ge_compat);
  free(sums);
  ends[0] = first;
  if (n < 2 || first > n - 2) {
    ends[0] = n - 1;
    return 1;
  }
  ends[1] = n - 1;
  return 2;
}

/* A NaN fails both comparisons, which are written so that it is refused. */
static tl_status check_shares(tl_diag *d, const float *percent, uint32_t n) {
  float sum = 0;
  bool negative = false;
  for (uint32_t i = 0; i < n; i++) {
    sum += percent[i];
    negative = negative || !(percent[i] >= 0);
  }
  if (n == 0 || n > TL_BUCKETS_MOST)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-BKT-PCT", TL_NOWHERE,
                        "%u shares of gradient bytes; there may be 1 to %d", n, TL_BUCKETS_MOST);
  if (negative || !(fabsf(sum - 100) <= 1e-3f))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-BKT-PCT", TL_NOWHERE,
                        "the shares of gradient bytes are %g per cent together%s; they must be 100",
                        (double)sum, negative ? ", one of them negative" : "");
  return TL_OK;
}

/* State of the split while the shares are taken one by one. */
typedef struct segments {
  const float *sums;
  uint32_t n;
  bool ge_compat;
  float taken; /* bytes in segments */
  float carry; /* bytes that earlier shares left */
  uint32_t *ends;
  uint32_t m;
} segments;

/* Adds buckets until the share is used up. Returns false if the tensors run out. */
static bool take_share(segments *s, float target) {
  float before = s->taken;
  float left = target;
  for (;;) {
    uint32_t i = find_boundary(s->sums, s->n, left + s->taken, s->ge_compat);
    if (s->m && i <= s->ends[s->m - 1])
      i = s->ends[s->m - 1] + 1;
    if (i == s->n)
      return false;
    s->ends[s->m++] = i;
    s->taken = s->sums[i];
    left = target + before - s->taken;
    if (i == s->n - 1 || s->sums[i + 1] - s->sums[i] - left > close_enough)
      break;
  }
  s->carry = left;
  return true;
}

tl_status tl_buckets_by_size(tl_diag *d, const int64_t *bytes, uint32_t n, tl_bucket_shares shares,
                             uint32_t *ends, uint32_t *m) {
  *m = 0;
  TL_TRY(check_shares(d, shares.percent, shares.n));
  float *sums = n ? malloc(n * sizeof *sums) : NULL;
  if (n == 0)
    return TL_OK;
  if (!sums)
    return tl_fail_memory(d, TL_NOWHERE);
  running_sums(bytes, n, sums);
  segments s = {.sums = sums, .n = n, .ge_compat = shares.ge_compat, .ends = ends};
  bool enough = true;
  for (uint32_t i = 0; i < shares.n && enough && (s.m == 0 || ends[s.m - 1] != n - 1); i++)
    enough = take_share(&s, shares.percent[i] / 100 * sums[n - 1] + s.carry);
  free(sums);
  *m = s.m;
  if (!enough || s.m == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-BKT-LAST", TL_NOWHERE,
                        "%u gradients are too few for these %u shares", n, shares.n);
  if (ends[s.m - 1] != n - 1) /* rounding of the shares left some over */
    ends[s.m - 1] = n - 1;
  return TL_OK;
}

/* ---- lists and limits ------------------------------------------------------------------------ */

tl_status tl_buckets_by_index(tl_diag *d, const int64_t *index, uint32_t n_index, uint32_t n,
                              uint32_t *ends, uint32_t *m) {
  bool fits = n > 0 && n_index > 0 && n_index <= TL_BUCKETS_MOST;
  for (uint32_t i = 0; i < n_index && fits; i++)
    fits = index[i] > (i ? index[i - 1] : -1);
  if (!fits || index[n_index - 1] != (int64_t)n - 1)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-BKT-IDX", TL_NOWHERE,
                        "the indices of the last gradients of buckets must ascend, from 0 on, and "
                        "end with %u, the last of %u gradients; at most %d",
                        n ? n - 1 : 0, n, TL_BUCKETS_MOST);
  for (uint32_t i = 0; i < n_index; i++)
    ends[i] = (uint32_t)index[i];
  *m = n_index;
  return TL_OK;
}

uint32_t tl_buckets_by_bytes(const int64_t *bytes, uint32_t n, int64_t first, int64_t cap,
                             uint32_t *ends) {
  uint32_t m = 0;
  int64_t held = 0;
  for (uint32_t i = 0; i < n; i++) {
    held += bytes[i];
    if (held >= (m ? cap : first) || i == n - 1) {
      ends[m++] = i;
      held = 0;
    }
  }
  return m;
}

uint32_t tl_buckets_combine(const int64_t *bytes, uint32_t n, int64_t cap, uint32_t members,
                            uint32_t *ends) {
  uint32_t m = 0;
  uint32_t held = 0;
  int64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (held && (sum + bytes[i] > cap || held == members)) {
      ends[m++] = i - 1;
      held = 0;
      sum = 0;
    }
    held++;
    sum += bytes[i];
  }
  if (held)
    ends[m++] = n - 1;
  return m;
}

uint32_t tl_buckets_broadcast(const int64_t *bytes, uint32_t n, int64_t limit, uint32_t *ends) {
  uint32_t m = 0;
  int64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (sum && sum + bytes[i] > limit) {
      ends[m++] = i - 1;
      sum = 0;
    }
    sum += bytes[i];
    if (sum >= limit || i == n - 1) {
      ends[m++] = i;
      sum = 0;
    }
  }
  return m;
}

/* ---- the optimum ----------------------------------------------------------------------------- */

double tl_buckets_finish(const tl_bucket_plan *p, const uint32_t *ends, uint32_t m) {
  double at = 0;
  uint32_t first = 0;
  for (uint32_t k = 0; k < m; k++) {
    int64_t sum = 0;
    for (uint32_t i = first; i <= ends[k]; i++)
      sum += p->bytes[i];
    at = fmax(at, p->ready[ends[k]]) + tl_bucket_us(&p->price, sum, ends[k] + 1 - first);
    first = ends[k] + 1;
  }
  return at;
}

/* Returns the part whose next bucket is ready first; n_parts if all have been sent. next: by
 * part. */
static uint32_t first_ready(const tl_bucket_part *parts, uint32_t n_parts, const uint32_t *next) {
  uint32_t first = n_parts;
  for (uint32_t i = 0; i < n_parts; i++) {
    if (next[i] == parts[i].m)
      continue;
    if (first == n_parts || parts[i].plan->ready[parts[i].ends[next[i]]] <
                                parts[first].plan->ready[parts[first].ends[next[first]]])
      first = i;
  }
  return first;
}

/* Simulates two resources: the link sends bucket by bucket, the compute engine runs the work behind
 * each bucket when it has arrived. An event separates the streams. */
double tl_buckets_step_of(const tl_bucket_part *parts, uint32_t n_parts, double backward) {
  uint32_t next[TL_BUCKET_PARTS_MOST] = {0};
  double link = 0;
  double compute = backward;
  for (uint32_t i; (i = first_ready(parts, n_parts, next)) < n_parts; next[i]++) {
    const tl_bucket_plan *p = parts[i].plan;
    uint32_t end = parts[i].ends[next[i]];
    int64_t sum = 0;
    double then = 0;
    uint32_t start = next[i] ? parts[i].ends[next[i] - 1] + 1 : 0;
    for (uint32_t k = start; k <= end; k++) {
      sum += p->bytes[k];
      then += parts[i].work[k];
    }
    link = fmax(link, p->ready[end] + p->event) + tl_bucket_us(&p->price, sum, end + 1 - start);
    compute = fmax(compute, link + p->event) + then;
  }
  return compute;
}

double tl_buckets_step(const tl_bucket_plan *p, const double *work, double backward,
                       const uint32_t *ends, uint32_t m) {
  tl_bucket_part part = {p, work, ends, m};
  return tl_buckets_step_of(&part, 1, backward);
}

/* Tables of the dynamic program over the first j of n tensors, j from 0 to n. */
typedef struct program {
  const tl_bucket_plan *plan;
  int64_t *sums;  /* [n + 1] bytes */
  double *done;   /* [2][n + 1] earliest end of their collectives */
  double *latest; /* [layers][n + 1] latest start of the rest, in as many buckets as the layer's
                       number, that keeps the optimum; -INFINITY: none does */
  uint32_t layers;
} program;

/* These replace fmax() and fmin(), which are calls on some targets because they care about NaN;
 * times are never NaN. */
static inline double later(double a, double b) { return a > b ? a : b; }
static inline double sooner(double a, double b) { return a < b ? a : b; }

/* Price of a bucket of tensors i to j - 1. */
static double cost_of(const program *g, uint32_t i, uint32_t j) {
  return tl_bucket_us(&g->plan->price, g->sums[j] - g->sums[i], j - i);
}

/* Fills prefix sums, so that the bytes of any bucket are one subtraction. */
static void add_sizes(program *g) {
  for (uint32_t j = 0; j < g->plan->n; j++)
    g->sums[j + 1] = g->sums[j] + g->plan->bytes[j];
}

/* Fills done[j], the earliest end of the collectives of the first j tensors. A collective starts
 * when the one before has ended and its last gradient is ready, so an earlier end of the first i
 * tensors is never worse and the earliest ends suffice. If `before` is `done`, any number of
 * buckets is allowed; else one more than for `before`. */
static void fill_done(const program *g, const double *before, double *done) {
  const tl_bucket_plan *p = g->plan;
  done[0] = before == done ? 0 : INFINITY;
  for (uint32_t j = 1; j <= p->n; j++) {
    double best = INFINITY;
    for (uint32_t i = j; i-- > 0;) {
      double cost = cost_of(g, i, j);
      if (p->ready[j - 1] + cost >= best)
        break; /* longer buckets cost more, and none starts earlier */
      best = sooner(best, later(before[i], p->ready[j - 1]) + cost);
    }
    done[j] = best;
  }
}

/* Returns the earliest end with at most plan->most buckets. With most >= n one table suffices;
 * otherwise one layer per bucket, of which two are kept. */
static double best_end(const program *g) {
  uint32_t n = g->plan->n;
  if (g->plan->most >= n) {
    fill_done(g, g->done, g->done);
    return g->done[n];
  }
  double best = INFINITY;
  double *before = g->done, *done = g->done + n + 1;
  for (uint32_t j = 0; j <= n; j++)
    before[j] = j ? INFINITY : 0;
  for (uint32_t k = 0; k < g->plan->most; k++) {
    fill_done(g, before, done);
    best = sooner(best, done[n]);
    double *free = before;
    before = done;
    done = free;
  }
  return best;
}

/* Fills the layer with one bucket more than the layer `after`; all buckets must end by `limit`. */
static void fill_layer(const program *g, double limit, const double *after, double *latest) {
  uint32_t n = g->plan->n;
  for (uint32_t i = 0; i <= n; i++) {
    double most = -INFINITY;
    for (uint32_t j = i + 1; j <= n; j++) {
      double cost = cost_of(g, i, j);
      double start = after[j] - cost;
      if (limit - cost < g->plan->ready[j - 1] || limit - cost <= most)
        break; /* so it is for longer buckets */
      if (start >= g->plan->ready[j - 1])
        most = later(most, start);
    }
    latest[i] = most;
  }
}

/* Fills layers from the end backwards until all tensors fit, which gives the fewest buckets that
 * `limit` allows. The table grows by doubling. Returns false if memory is out. */
static bool fill_latest(program *g, double limit) {
  uint32_t n = g->plan->n;
  size_t row = (size_t)n + 1;
  uint32_t room = 0;
  do {
    if (g->layers == room) {
      room = room ? room * 2 : 8;
      double *grown = realloc(g->latest, room * row * sizeof *grown);
      if (!grown)
        return false;
      g->latest = grown;
    }
    double *latest = g->latest + g->layers * row;
    if (g->layers)
      fill_layer(g, limit, latest - row, latest);
    else
      for (uint32_t j = 0; j <= n; j++)
        latest[j] = j == n ? limit : -INFINITY;
    g->layers++;
  } while (g->latest[(g->layers - 1) * row] < 0 && g->layers <= n);
  return true;
}

/* Chooses each end as late as the tables allow, the first end first. Returns the number of
 * buckets. */
static uint32_t choose_ends(const program *g, uint32_t *ends) {
  double free = 0;
  uint32_t i = 0, k = g->layers - 1;
  for (uint32_t b = 0; b < k; b++) {
    const double *latest = g->latest + (size_t)(k - 1 - b) * (g->plan->n + 1u);
    uint32_t j = g->plan->n;
    double end = 0;
    for (; j > i + 1; j--) {
      end = fmax(free, g->plan->ready[j - 1]) + cost_of(g, i, j);
      if (end <= latest[j])
        break;
    }
    ends[b] = j - 1;
    free = fmax(free, g->plan->ready[j - 1]) + cost_of(g, i, j);
    i = j;
  }
  return k;
}

/* Buckets of at most cap bytes, filled one by one, are never more than 2 * all / cap + 1: two
 * neighbours together exceed cap. */
uint32_t tl_buckets_most_of_ge(const int64_t *bytes, uint32_t n, int64_t cap) {
  int64_t all = 0;
  for (uint32_t i = 0; i < n; i++)
    all += bytes[i];
  uint32_t most = TL_BUCKETS_MOST;
  if (cap > 0 && all / cap >= TL_BUCKETS_MOST / 2)
    most = (uint32_t)(2 * (all / cap) + 1);
  return most > n ? n : most;
}

/* Two phases: the earliest end forwards, then the fewest and latest buckets that reach it
 * backwards. */
tl_status tl_buckets_auto(const tl_bucket_plan *plan, uint32_t *ends, uint32_t *m, double *finish) {
  uint32_t n = plan->n;
  *m = 0;
  if (finish)
    *finish = 0;
  if (n == 0)
    return TL_OK;
  program g = {.plan = plan,
               .sums = calloc((size_t)n + 1, sizeof *g.sums),
               .done = malloc(2 * ((size_t)n + 1) * sizeof *g.done)};
  tl_status status = TL_NO_MEMORY;
  if (g.sums && g.done) {
    add_sizes(&g);
    status = fill_latest(&g, best_end(&g) + tie) ? TL_OK : TL_NO_MEMORY;
  }
  if (status == TL_OK) {
    *m = choose_ends(&g, ends);
    if (finish)
      *finish = tl_buckets_finish(plan, ends, *m);
  }
  free(g.sums);
  free(g.done);
  free(g.latest);
  return status;
}
