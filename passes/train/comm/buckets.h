/* SPDX-License-Identifier: Apache-2.0 */
/* How gradients are put together into buckets, one AllReduce each: pure functions over sizes and
 * ready times. A partition is given by the indices of the last member
 * of each bucket, ascending, the last of them n - 1. */
#ifndef TL_PASSES_TRAIN_COMM_BUCKETS_H
#define TL_PASSES_TRAIN_COMM_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/diag.h"

enum {
  TL_BUCKETS_MOST = 8,         /* entries of a user's list, and buckets of GE */
  TL_BUCKET_PARTS_MOST = 16,   /* keys that are cut with regard to each other */
  TL_BUCKET_MEMORY_ALIGN = 32, /* tensors occupy multiples of it on the device, plus as much */
  TL_BUCKET_EXACT_LIMIT = 4096 /* beyond so many tensors `auto` joins small neighbours first */
};

/* Bytes that a tensor of `bytes` occupies on the device. */
int64_t tl_bucket_padded(int64_t bytes);

/* The two-part split of GE, made for ResNet-50: 96.54 % and the rest. Few tensors give one bucket.
 * ge_compat: the search for the boundary stops where GE's stops, even beside a nearer one. Returns
 * the number of buckets; ends holds n. */
uint32_t tl_buckets_default(const int64_t *bytes, uint32_t n, bool ge_compat, uint32_t *ends);

/* Shares of all bytes in per cent, at most TL_BUCKETS_MOST, none negative, 100 together. */
typedef struct tl_bucket_shares {
  const float *percent;
  uint32_t n;
  bool ge_compat; /* as of tl_buckets_default */
} tl_bucket_shares;

/* E-BKT-PCT for other lists of shares, E-BKT-LAST when the tensors run out before the shares. */
tl_status tl_buckets_by_size(tl_diag *d, const int64_t *bytes, uint32_t n, tl_bucket_shares shares,
                             uint32_t *ends, uint32_t *m) TL_NODISCARD;

/* A user's own ends: at most TL_BUCKETS_MOST, ascending, the last n - 1; else E-BKT-IDX. */
tl_status tl_buckets_by_index(tl_diag *d, const int64_t *index, uint32_t n_index, uint32_t n,
                              uint32_t *ends, uint32_t *m) TL_NODISCARD;

/* A bucket is closed by the tensor that takes it to its limit: `first` bytes, then `cap` bytes. As
 * PyTorch's DistributedDataParallel does it, by default with 1 MiB and 25 MiB. */
uint32_t tl_buckets_by_bytes(const int64_t *bytes, uint32_t n, int64_t first, int64_t cap,
                             uint32_t *ends);

/* A bucket is closed before the tensor that would take it beyond `cap` bytes or `members` members.
 * As XLA combines collectives, by default with 30 MiB and 256. */
uint32_t tl_buckets_combine(const int64_t *bytes, uint32_t n, int64_t cap, uint32_t members,
                            uint32_t *ends);

/* Joins broadcasts as GE does: closed before the tensor that would exceed the limit, and behind one
 * that reaches it. */
uint32_t tl_buckets_broadcast(const int64_t *bytes, uint32_t n, int64_t limit, uint32_t *ends);

/* Microseconds that one collective takes: every algorithm takes so much a byte. */
typedef struct tl_bucket_price {
  double none; /* of one without bytes */
  double byte;
  int64_t most; /* bytes: beyond it nothing is worth joining tensors */
} tl_bucket_price;

/* Of a collective of n tensors. */
static inline double tl_bucket_us(const tl_bucket_price *p, int64_t bytes, uint32_t n) {
  const double forbidden = 1e9;
  return p->none + p->byte * (double)bytes + (n > 1 && bytes > p->most ? forbidden : 0);
}

typedef struct tl_bucket_plan {
  const double *ready;  /* [n], not descending: when a gradient is there */
  const int64_t *bytes; /* [n] */
  uint32_t n;
  uint32_t most; /* buckets, at least 1; n: any number */
  tl_bucket_price price;
  double event; /* us between streams: from a gradient to its collective, from that to an update */
} tl_bucket_plan;

/* Buckets that GE has room for, and as many more as a bound of `cap` bytes a bucket asks for (0:
 * there is none). */
uint32_t tl_buckets_most_of_ge(const int64_t *bytes, uint32_t n, int64_t cap);

/* The partition into at most plan->most buckets whose last collective ends first, one after the
 * other on one link: exact, by dynamic programming in O(n * n) for each bucket that it has, or may
 * have at most. Of equal ones (within 1e-9) the one with fewest buckets, then with the latest ends,
 * first end first. *finish, which may be NULL, is when the last ends. TL_NO_MEMORY, unreported. */
tl_status tl_buckets_auto(const tl_bucket_plan *plan, uint32_t *ends, uint32_t *m,
                          double *finish) TL_NODISCARD;

/* When all updates have run: one compute engine does backward until `backward`, then what depends
 * on each tensor, `work` [n] us, in the order of the buckets and not before theirs has ended. */
double tl_buckets_step(const tl_bucket_plan *plan, const double *work, double backward,
                       const uint32_t *ends, uint32_t m);

/* Gradients of one key, cut. */
typedef struct tl_bucket_part {
  const tl_bucket_plan *plan;
  const double *work; /* [plan->n] us of what depends on each tensor */
  const uint32_t *ends;
  uint32_t m;
} tl_bucket_part;

/* The same for keys that share a link: their buckets go in the order in which they become ready, of
 * two at the same time that of the first key. n_parts: at most TL_BUCKET_PARTS_MOST. */
double tl_buckets_step_of(const tl_bucket_part *parts, uint32_t n_parts, double backward);

/* When the last collective of a partition ends. */
double tl_buckets_finish(const tl_bucket_plan *plan, const uint32_t *ends, uint32_t m);

#endif
