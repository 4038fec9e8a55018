/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets and loss scales: the worked examples of the training specification (8.7 to 8.17, 8.27 to
 * 8.29), and that no partition is better than the planned one. */
#include <math.h>
#include <string.h>

#include "passes/train/comm/buckets.h"
#include "passes/train/scale/loss_scale.h"
#include "tests/unit/unit.h"

enum { MOST = 200, MIB = 1 << 20 };

static void ends_are(const uint32_t *ends, uint32_t m, const uint32_t *expected, uint32_t n) {
  CU_ASSERT_EQUAL(m, n);
  for (uint32_t i = 0; i < n && i < m; i++)
    CU_ASSERT_EQUAL(ends[i], expected[i]);
}
#define ENDS(...)                                                                                  \
  ends_are(ends, m, (const uint32_t[]){__VA_ARGS__},                                               \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void fill(int64_t *bytes, uint32_t n, int64_t value) {
  for (uint32_t i = 0; i < n; i++)
    bytes[i] = value;
}

static void default_split(void) {
  int64_t bytes[MOST];
  uint32_t ends[MOST];
  fill(bytes, 20, 1000);
  for (int ge = 0; ge < 2; ge++) { /* 8.7, 8.8 */
    uint32_t m = tl_buckets_default(bytes, 20, ge, ends);
    ENDS(18, 19);
    m = tl_buckets_default(bytes, 3, ge, ends);
    ENDS(2);
    m = tl_buckets_default((const int64_t[]){96, 4}, 2, ge, ends);
    ENDS(0, 1);
    m = tl_buckets_default((const int64_t[]){90, 6, 4}, 3, ge, ends);
    ENDS(1, 2);
    m = tl_buckets_default(bytes, 1, ge, ends);
    ENDS(0);
  }
  uint32_t m = tl_buckets_default((const int64_t[]){12, 16, 1}, 3, true, ends); /* 8.11 */
  ENDS(0, 2);
  m = tl_buckets_default((const int64_t[]){12, 16, 1}, 3, false, ends);
  ENDS(1, 2);
}

static tl_status split(const int64_t *bytes, uint32_t n, const float *percent, uint32_t n_percent,
                       uint32_t *ends, uint32_t *m) {
  tl_diag quiet = {0};
  return tl_buckets_by_size(&quiet, bytes, n, (tl_bucket_shares){percent, n_percent, false}, ends,
                            m);
}

static void shares(void) {
  int64_t bytes[MOST];
  uint32_t ends[MOST];
  uint32_t m;
  fill(bytes, 15, 10 * MIB);
  CU_ASSERT_EQUAL(split(bytes, 15, (const float[]){60, 20, 20}, 3, ends, &m), TL_OK); /* 8.9 */
  ENDS(8, 11, 14);
  CU_ASSERT_NOT_EQUAL(split(bytes, 15, (const float[]){60, 20}, 2, ends, &m), TL_OK);
  CU_ASSERT_NOT_EQUAL(split(bytes, 15, (const float[]){120, -20}, 2, ends, &m), TL_OK);
  CU_ASSERT_NOT_EQUAL(split(bytes, 15, (const float[]){NAN, 100}, 2, ends, &m), TL_OK);
  CU_ASSERT_NOT_EQUAL(
      split(bytes, 15, (const float[]){20, 10, 10, 10, 10, 10, 10, 10, 10}, 9, ends, &m), TL_OK);
  CU_ASSERT_EQUAL(
      split((const int64_t[]){100, 1, 1, 1}, 4, (const float[]){25, 25, 25, 25}, 4, ends, &m),
      TL_OK); /* 8.10 */
  ENDS(0, 1, 2, 3);
}

static uint32_t gradients(int64_t *bytes, uint32_t n, int64_t elements, int times) {
  for (int i = 0; i < times; i++)
    bytes[n++] = elements * 4;
  return n;
}

/* Gradients of ResNet-50 with 1001 classes in the order in which backward makes them (8.12). That
 * of a shortcut's projection comes last in its block, but in the first block of all; those of its
 * norm stand beside those of the last convolution's. Returns how many. */
static uint32_t resnet50_gradients(int64_t *bytes) {
  static const int blocks[] = {3, 4, 6, 3};
  uint32_t n = gradients(bytes, 0, 1001, 1);
  n = gradients(bytes, n, 2048 * 1001, 1);
  for (int s = 3; s >= 0; s--)
    for (int b = blocks[s] - 1; b >= 0; b--) {
      int64_t w = 64 << s;
      int64_t in = b ? 4 * w : s ? 2 * w : 64;
      n = gradients(bytes, n, 4 * w, b ? 2 : 4);
      n = gradients(bytes, n, w * 4 * w, 1);
      n = gradients(bytes, n, in * 4 * w, !b && !s);
      n = gradients(bytes, n, w, 2);
      n = gradients(bytes, n, w * w * 9, 1);
      n = gradients(bytes, n, w, 2);
      n = gradients(bytes, n, in * w, 1);
      n = gradients(bytes, n, in * 4 * w, !b && s);
    }
  n = gradients(bytes, n, 64, 2);
  return gradients(bytes, n, 64 * 3 * 49, 1);
}

static void resnet50(void) {
  int64_t bytes[MOST];
  uint32_t n = resnet50_gradients(bytes);
  CU_ASSERT_EQUAL_FATAL(n, 161);
  int64_t total = 0;
  for (uint32_t i = 0; i < n; i++)
    total += bytes[i];
  CU_ASSERT_EQUAL(total, 102236324);
  uint32_t ends[MOST];
  uint32_t m = tl_buckets_default(bytes, n, false, ends);
  ENDS(107, 160);
  m = tl_buckets_default(bytes, n, true, ends);
  ENDS(106, 160);
  m = tl_buckets_by_bytes(bytes, n, MIB, 25 * MIB, ends);
  ENDS(1, 16, 31, 87, 160);
  total = 0;
  for (uint32_t i = 0; i < n; i++) {
    bytes[i] = tl_bucket_padded(bytes[i]);
    total += bytes[i];
  }
  CU_ASSERT_EQUAL(total, 102241504);
  for (int ge = 0; ge < 2; ge++) {
    m = tl_buckets_default(bytes, n, ge, ends);
    ENDS(108, 160);
  }
  CU_ASSERT_EQUAL(split(bytes, n, (const float[]){60, 20, 20}, 3, ends, &m), TL_OK);
  ENDS(30, 60, 160);
}

static void lists_of_ends(void) {
  tl_diag quiet = {0};
  uint32_t ends[MOST];
  uint32_t m;
  CU_ASSERT_EQUAL(tl_buckets_by_index(&quiet, (const int64_t[]){20, 100, 159}, 3, 160, ends, &m),
                  TL_OK);
  ENDS(20, 100, 159); /* 8.13 */
  static const int64_t bad[][3] = {{20, 100, 158}, {20, 20, 159}, {-1, 5, 159}, {30, 20, 159}};
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
    CU_ASSERT_NOT_EQUAL(tl_buckets_by_index(&quiet, bad[i], 3, 160, ends, &m), TL_OK);
  CU_ASSERT_NOT_EQUAL(tl_buckets_by_index(&quiet, bad[0], 0, 160, ends, &m), TL_OK);
}

static void limits(void) {
  uint32_t ends[MOST];
  uint32_t m = tl_buckets_by_bytes((const int64_t[]){2 * MIB, 10 * MIB, 14 * MIB, 2 * MIB, 3 * MIB},
                                   5, MIB, 25 * MIB, ends);
  ENDS(0, 3, 4); /* 8.14 */
  m = tl_buckets_broadcast((const int64_t[]){300, 300, 500, 100, 100}, 5, 500, ends);
  ENDS(0, 1, 2, 4); /* 8.16 */
  m = tl_buckets_combine((const int64_t[]){10, 10, 10, 31, 1}, 5, 30, 256, ends);
  ENDS(2, 3, 4);
  m = tl_buckets_combine((const int64_t[]){1, 1, 1, 1, 1}, 5, 30, 2, ends);
  ENDS(1, 3, 4);
}

/* ---- the optimum ----------------------------------------------------------------------------- */

/* A microsecond a byte, and so much more for each collective. */
static tl_bucket_price affine(double latency) { return (tl_bucket_price){latency, 1, INT64_MAX}; }

static void planned_examples(void) {
  static const double ready[] = {60, 80, 100, 120};
  static const int64_t bytes[] = {10, 10, 10, 10};
  static const struct {
    double latency;
    double finish;
    uint32_t m;
    uint32_t ends[4];
  } rows[] = {{0, 130, 3, {1, 2, 3}},
              {5, 135, 3, {1, 2, 3}},
              {15, 155, 2, {1, 3}},
              {40, 190, 2, {0, 3}}}; /* 8.17 */
  uint32_t ends[4];
  uint32_t m;
  double finish;
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    double latency = rows[i].latency;
    tl_bucket_plan plan = {ready, bytes, 4, 8, affine(latency), 0};
    CU_ASSERT_EQUAL(tl_buckets_auto(&plan, ends, &m, &finish), TL_OK);
    CU_ASSERT_EQUAL(finish, rows[i].finish);
    ends_are(ends, m, rows[i].ends, rows[i].m);
  }
}

static uint64_t random_next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

/* Every partition of n tensors, as the bits of `cuts`. */
static double best_of_all(const tl_bucket_plan *p, uint32_t *fewest, uint32_t *latest) {
  double best = INFINITY;
  *fewest = UINT32_MAX;
  for (uint32_t cuts = 0; cuts < 1u << (p->n - 1); cuts++) {
    uint32_t ends[16];
    uint32_t m = 0;
    for (uint32_t i = 0; i < p->n; i++)
      if (i == p->n - 1 || (cuts >> i & 1))
        ends[m++] = i;
    double finish = tl_buckets_finish(p, ends, m);
    if (m > p->most || finish > best + 1e-9)
      continue;
    bool later = m == *fewest && finish >= best - 1e-9;
    for (uint32_t i = 0; i < m && later; i++)
      if (ends[i] != latest[i]) {
        later = ends[i] > latest[i];
        break;
      }
    if (finish < best - 1e-9 || m < *fewest || later) {
      *fewest = m;
      memcpy(latest, ends, m * sizeof *ends);
    }
    best = fmin(best, finish);
  }
  return best;
}

/* A random instance: ready times, sizes, and what a collective costs beside its bytes. */
static void draw_plan(uint64_t *seed, uint32_t n, double *ready, int64_t *bytes, double *latency) {
  double at = 0;
  *latency = (double)(random_next(seed) % 40);
  for (uint32_t i = 0; i < n; i++) {
    at += (double)(random_next(seed) % 20);
    ready[i] = at;
    bytes[i] = (int64_t)(random_next(seed) % 30) + 1;
  }
}

static void no_partition_is_better(void) {
  uint64_t seed = 7;
  for (int round = 0; round < 1000; round++) {
    double ready[10];
    int64_t bytes[10];
    double latency;
    uint32_t n = (uint32_t)(random_next(&seed) % 10) + 1;
    draw_plan(&seed, n, ready, bytes, &latency);
    uint32_t most = round % 3 ? n : (uint32_t)(round / 3 % 4) + 1; /* any number; 1 to 4 */
    tl_bucket_plan plan = {ready, bytes, n, most, affine(latency), 0};
    uint32_t ends[16];
    uint32_t latest[16];
    uint32_t m;
    uint32_t fewest;
    double finish;
    CU_ASSERT_EQUAL(tl_buckets_auto(&plan, ends, &m, &finish), TL_OK);
    CU_ASSERT_EQUAL(finish, best_of_all(&plan, &fewest, latest));
    ends_are(ends, m, latest, fewest);
  }
}

/* The search of GE's tuner (section 4.3): for every end of the first slice, each further one grows
 * as long as its gradients are there before the slice in front of it has been sent; the best of
 * these. At most 8 slices. */
static double ge_greedy(const tl_bucket_plan *p) {
  double best = INFINITY;
  for (uint32_t first = 0; first < p->n; first++) {
    uint32_t ends[8] = {first};
    uint32_t m = 1;
    while (ends[m - 1] < p->n - 1 && m < 8) {
      double sent = tl_buckets_finish(p, ends, m);
      uint32_t end = ends[m - 1] + 1;
      while (end + 1 < p->n && (m == 7 || p->ready[end + 1] <= sent))
        end++;
      ends[m++] = end;
    }
    if (ends[m - 1] == p->n - 1)
      best = fmin(best, tl_buckets_finish(p, ends, m));
  }
  return best;
}

static bool is_no_better(const tl_bucket_plan *p, const uint32_t *ends, uint32_t m, double finish) {
  return finish <= tl_buckets_finish(p, ends, m) + 1e-9;
}

static void no_strategy_is_better(void) {
  enum { LONGEST = 120 };
  uint64_t seed = 11;
  for (int round = 0; round < 1000; round++) {
    double ready[LONGEST];
    int64_t bytes[LONGEST];
    double latency;
    uint32_t n = (uint32_t)(random_next(&seed) % (round % 2 ? LONGEST : 12)) + 1;
    draw_plan(&seed, n, ready, bytes, &latency);
    tl_bucket_plan plan = {ready, bytes, n, n, affine(latency), 0};
    uint32_t ends[LONGEST];
    uint32_t other[LONGEST];
    uint32_t m;
    double finish;
    int64_t cap = (int64_t)(random_next(&seed) % 400) + 1;
    CU_ASSERT_EQUAL(tl_buckets_auto(&plan, ends, &m, &finish), TL_OK);
    CU_ASSERT_TRUE(finish <= ge_greedy(&plan) + 1e-9);
    for (int ge = 0; ge < 2; ge++) {
      uint32_t k = tl_buckets_default(bytes, n, ge, other);
      CU_ASSERT_TRUE(is_no_better(&plan, other, k, finish));
    }
    uint32_t k = tl_buckets_by_bytes(bytes, n, cap / 8 + 1, cap, other);
    CU_ASSERT_TRUE(is_no_better(&plan, other, k, finish));
    k = tl_buckets_combine(bytes, n, cap, 3 + (uint32_t)(cap % 30), other);
    CU_ASSERT_TRUE(is_no_better(&plan, other, k, finish));
    other[0] = n - 1;
    CU_ASSERT_TRUE(is_no_better(&plan, other, 1, finish));
  }
}

/* ---- loss scales ----------------------------------------------------------------------------- */

static void exponential_example(void) {
  tl_loss_scale_config c = {TL_LOSS_SCALE_EXPONENTIAL, 1024, 2, 0.8f, 3, 2, false};
  static const bool finite[] = {true, true, true, false, true, false, true, true, true};
  static const struct {
    float scale;
    int good, bad;
  } expected[] = {{1024, 1, 0},    {1024, 2, 0},    {2048, 0, 0},    {2048, 0, 1},   {2048, 1, 1},
                  {1638.4f, 0, 0}, {1638.4f, 1, 0}, {1638.4f, 2, 0}, {3276.8f, 0, 0}}; /* 8.27 */
  tl_loss_scale_state s = tl_loss_scale_start(&c);
  for (unsigned i = 0; i < sizeof finite; i++) {
    s = tl_loss_scale_next(&c, s, finite[i]);
    CU_ASSERT_TRUE(s.scale == expected[i].scale && s.good == expected[i].good &&
                   s.bad == expected[i].bad);
  }
  c = (tl_loss_scale_config){TL_LOSS_SCALE_EXPONENTIAL, 2e38f, 2, 0.8f, 1, 1, false}; /* 8.28 */
  s = tl_loss_scale_next(&c, tl_loss_scale_start(&c), true);
  CU_ASSERT_TRUE(s.scale == 2e38f && s.good == 0 && s.bad == 0);
  c.init = 1.1f;
  CU_ASSERT_EQUAL(tl_loss_scale_next(&c, tl_loss_scale_start(&c), false).scale, 1.0f);
}

static void dynamic_example(void) {
  tl_loss_scale_config c = {TL_LOSS_SCALE_DYNAMIC, 65536, 2, 0, 3, 0, false};
  static const bool finite[] = {true, true, true, true, false, true, true, true};
  static const float scale[] = {65536, 65536, 131072, 131072, 65536, 65536, 65536, 131072};
  static const int last[] = {0, 0, 3, 3, 5, 5, 5, 8}; /* 8.29 */
  tl_loss_scale_state s = tl_loss_scale_start(&c);
  for (unsigned i = 0; i < sizeof finite; i++) {
    s = tl_loss_scale_next(&c, s, finite[i]);
    CU_ASSERT_TRUE(s.scale == scale[i] && s.last == last[i]);
  }
  c.init = 1.5f;
  s = tl_loss_scale_next(&c, tl_loss_scale_start(&c), false);
  CU_ASSERT_EQUAL(s.scale, 1.0f);
  CU_ASSERT_EQUAL(tl_loss_scale_next(&c, s, false).scale, 1.0f);
}

static void managers_and_ranges(void) {
  tl_diag quiet = {0};
  tl_loss_scale_config c;
  CU_ASSERT_TRUE(tl_loss_scale_default(TL_SV("DynamicLossScaleManager"), &c));
  CU_ASSERT_TRUE(c.init == 16777216 && c.up == 2 && c.grow == 2000);
  CU_ASSERT_EQUAL(tl_loss_scale_check(&quiet, (tl_location){0}, &c), TL_OK);
  c.init = 4; /* the sample that gives its parameters in the wrong order */
  c.up = 3000;
  CU_ASSERT_EQUAL(tl_loss_scale_check(&quiet, (tl_location){0}, &c), TL_OK);
  CU_ASSERT_EQUAL(quiet.warnings, 1);
  CU_ASSERT_FALSE(tl_loss_scale_default(TL_SV("LossScaleManager"), &c));
  static const tl_loss_scale_config bad[] = {{TL_LOSS_SCALE_FIXED, 0.5f, 0, 0, 0, 0, false},
                                             {TL_LOSS_SCALE_FIXED, NAN, 0, 0, 0, 0, false},
                                             {TL_LOSS_SCALE_DYNAMIC, 8, 1, 0, 2, 0, false},
                                             {TL_LOSS_SCALE_DYNAMIC, 8, 2, 0, 0, 0, false},
                                             {TL_LOSS_SCALE_EXPONENTIAL, 8, 2, 1, 2, 1, false},
                                             {TL_LOSS_SCALE_EXPONENTIAL, 8, 2, 0.5f, 2, 0, false}};
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
    CU_ASSERT_NOT_EQUAL(tl_loss_scale_check(&quiet, (tl_location){0}, &bad[i]), TL_OK);
}

/* One bucket ends at 160, then all updates run; of four the last ends at 130, and updates of the
 * others have run by then. */
static void updates_behind_buckets(void) {
  static const double ready[] = {60, 80, 100, 120};
  static const int64_t bytes[] = {10, 10, 10, 10};
  static const double work[] = {5, 5, 5, 5};
  static const uint32_t one[] = {3};
  static const uint32_t each[] = {0, 1, 2, 3};
  tl_bucket_plan plan = {.ready = ready, .bytes = bytes, .n = 4, .most = 8, .price = affine(0)};
  CU_ASSERT_EQUAL(tl_buckets_step(&plan, work, 120, one, 1), 180);
  CU_ASSERT_EQUAL(tl_buckets_step(&plan, work, 120, each, 4), 140);
  CU_ASSERT_EQUAL(tl_buckets_step(&plan, work, 0, each, 4), 135);
}

/* Two keys on one link: that of the second is ready first, and ends at 20, its update at 23; the
 * other one then ends at 25. */
static void keys_that_share_a_link(void) {
  static const double ready[] = {10, 0};
  static const int64_t bytes[] = {5, 20};
  static const double work[] = {2, 3};
  static const uint32_t one[] = {0};
  tl_bucket_plan plans[2];
  tl_bucket_part parts[2];
  for (int i = 0; i < 2; i++) {
    plans[i] = (tl_bucket_plan){
        .ready = ready + i, .bytes = bytes + i, .n = 1, .most = 8, .price = affine(0)};
    parts[i] = (tl_bucket_part){&plans[i], work + i, one, 1};
  }
  CU_ASSERT_EQUAL(tl_buckets_step_of(parts, 2, 12), 27);
  CU_ASSERT_EQUAL(tl_buckets_step_of(parts, 1, 12), 17);
  plans[0].event = plans[1].event = 1; /* 1 to 21; 21 to 26, 2 at 27 */
  CU_ASSERT_EQUAL(tl_buckets_step_of(parts, 2, 12), 29);
}

static const unit_test tests[] = {
    {"updates behind buckets", updates_behind_buckets},
    {"keys that share a link", keys_that_share_a_link},
    {"default split", default_split},
    {"shares of bytes", shares},
    {"gradients of ResNet-50", resnet50},
    {"lists of ends", lists_of_ends},
    {"limits", limits},
    {"planned examples", planned_examples},
    {"no partition is better", no_partition_is_better},
    {"no strategy is better", no_strategy_is_better},
    {"exponential loss scale", exponential_example},
    {"dynamic loss scale", dynamic_example},
    {"managers and ranges", managers_and_ranges},
    {NULL, NULL},
};

const unit_suite unit_suite_train = {"train", tests};
