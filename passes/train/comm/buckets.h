/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions gradients into buckets, one AllReduce each: pure functions over sizes and ready times.
 * A partition is given by `ends`, the indices of the last member of each bucket, ascending; the
 * last one is n - 1. Callers provide ends with room for n. Unless stated otherwise, functions are
 * O(n) and return the number of buckets. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKETS_H
#define TL_PASSES_TRAIN_COMM_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/diag.h"

/* Limits; buckets of GE and of users' lists are few by GE's own rule. */
enum {
  TL_BUCKETS_MOST = 8,        /* entries of a user's list, and buckets of GE */
  TL_BUCKET_PARTS_MOST = 16,  /* keys that are cut with regard to each other */
  TL_BUCKET_MEMORY_ALIGN = 32 /* tensors occupy multiples of it on the device, plus as much */
};

/* Returns the number of bytes that a tensor of `bytes` occupies on the device. */
int64_t tl_bucket_padded(int64_t bytes);

/* Splits in two as GE does by default: 96.54 % of the bytes, found for ResNet-50, and the rest. Few
 * tensors give one bucket. ge_compat: stops where GE's binary search for the boundary stops, even
 * beside a nearer boundary. O(n). */
uint32_t tl_buckets_default(const int64_t *bytes, uint32_t n, bool ge_compat, uint32_t *ends);

/* Shares of all bytes in per cent, at most TL_BUCKETS_MOST, none negative, 100 together. */
typedef struct tl_bucket_shares {
  const float *percent;
  uint32_t n;
  bool ge_compat; /* as of tl_buckets_default */
} tl_bucket_shares;

/* Splits by a user's shares of all bytes. *m: number of buckets. E-BKT-PCT for shares that break
 * the rules above, E-BKT-LAST if the tensors run out before the shares, TL_NO_MEMORY; all reported
 * to d. */
tl_status tl_buckets_by_size(tl_diag *d, const int64_t *bytes, uint32_t n, tl_bucket_shares shares,
                             uint32_t *ends, uint32_t *m) TL_NODISCARD;

/* Splits at a user's own ends: at most TL_BUCKETS_MOST, ascending, the last one n - 1; else
 * E-BKT-IDX, reported to d. *m: number of buckets. */
tl_status tl_buckets_by_index(tl_diag *d, const int64_t *index, uint32_t n_index, uint32_t n,
                              uint32_t *ends, uint32_t *m) TL_NODISCARD;

/* Closes a bucket behind the tensor that takes it to its limit: `first` bytes for the first bucket,
 * then `cap` bytes. PyTorch's DistributedDataParallel does so, by default with 1 MiB and 25 MiB. */
uint32_t tl_buckets_by_bytes(const int64_t *bytes, uint32_t n, int64_t first, int64_t cap,
                             uint32_t *ends);

/* Closes a bucket before the tensor that would take it beyond `cap` bytes or `members` members. XLA
 * combines collectives so, by default with 30 MiB and 256. */
uint32_t tl_buckets_combine(const int64_t *bytes, uint32_t n, int64_t cap, uint32_t members,
                            uint32_t *ends);

/* Joins broadcasts as GE does: a bucket is closed before the tensor that would exceed `limit`
 * bytes, and behind one that reaches it. */
uint32_t tl_buckets_broadcast(const int64_t *bytes, uint32_t n, int64_t limit, uint32_t *ends);

/* Cost model of one collective in microseconds: a constant part and a part per byte. */
typedef struct tl_bucket_price {
  double none; /* of one without bytes */
  double byte;
  int64_t most; /* bytes: beyond it nothing is worth joining tensors */
} tl_bucket_price;

/* Returns the microseconds of a collective of n tensors. A bucket beyond the byte limit gets a
 * prohibitive price instead of a special case in the search. */
static inline double tl_bucket_us(const tl_bucket_price *p, int64_t bytes, uint32_t n) {
  const double forbidden = 1e9;
  return p->none + p->byte * (double)bytes + (n > 1 && bytes > p->most ? forbidden : 0);
}

/* Input of tl_buckets_auto; arrays are borrowed. */
typedef struct tl_bucket_plan {
  const double *ready;  /* [n], not descending: when a gradient is there */
  const int64_t *bytes; /* [n] */
  uint32_t n;
  uint32_t most; /* buckets, at least 1; n: any number */
  tl_bucket_price price;
  double event; /* us between streams: from a gradient to its collective, from that to an update */
} tl_bucket_plan;

/* Returns the number of buckets that GE has room for; more if a limit of `cap` bytes a bucket needs
 * more (0: no limit). */
uint32_t tl_buckets_most_of_ge(const int64_t *bytes, uint32_t n, int64_t cap);

/* Finds the partition into at most plan->most buckets whose last collective ends first, when
 * collectives run one after the other on one link. Exact, by dynamic programming: O(n * n) per
 * layer, with one layer for each bucket it has or may have. Among partitions that are equal within
 * 1e-9 it takes the one with fewest buckets, then the one with the latest ends, the first end
 * first. *finish (may be NULL) is when the last collective ends, in microseconds. TL_NO_MEMORY,
 * unreported. */
tl_status tl_buckets_auto(const tl_bucket_plan *plan, uint32_t *ends, uint32_t *m,
                          double *finish) TL_NODISCARD;

/* Returns the microsecond at which all updates have run. One compute engine does backward until
 * `backward`, then the work that depends on each tensor (`work`: [n] us), in the order of the
 * buckets and not before the tensor's bucket has ended. */
double tl_buckets_step(const tl_bucket_plan *plan, const double *work, double backward,
                       const uint32_t *ends, uint32_t m);

/* The gradients of one key with their partition; borrowed. */
typedef struct tl_bucket_part {
  const tl_bucket_plan *plan;
  const double *work; /* [plan->n] us of what depends on each tensor */
  const uint32_t *ends;
  uint32_t m;
} tl_bucket_part;

/* Returns the same for several keys that share one link. Buckets are sent in the order in which
 * they become ready; of two that are ready at the same time the one of the first key. n_parts: at
 * most TL_BUCKET_PARTS_MOST. */
double tl_buckets_step_of(const tl_bucket_part *parts, uint32_t n_parts, double backward);

/* Returns the microsecond at which the last collective of a partition ends. */
double tl_buckets_finish(const tl_bucket_plan *plan, const uint32_t *ends, uint32_t m);

#endif
