/* SPDX-License-Identifier: Apache-2.0 */
/* Host values: what the evaluator computes with. A tensor is dtype, shape and a view of bytes,
 * row-major and packed as tl_tensor stores them; views share their bytes. A sequence is a list of
 * host values. An empty optional is a value of kind NONE, a non-empty one is the value inside.
 *
 * Values are reference-counted. The counts are not atomic: only the thread that runs the graph
 * makes, retains and releases values; workers of a pool read and write bytes. */
#ifndef TL_IR_HOST_H
#define TL_IR_HOST_H

#include "ir/module.h"

typedef struct tl_host_bytes tl_host_bytes; /* counted payload, 64-byte aligned */

enum { TL_HOST_SPARES = 12 };

/* Accounts for the bytes of all values, so that a limit holds before the system's, and keeps the
 * bytes of strings. It outlives its values. Large payloads of values that died are used again: the
 * system gives new memory page by page, which costs more than most kernels. */
typedef struct tl_host_heap {
  uint64_t used; /* bytes of payload now alive */
  uint64_t peak;
  uint64_t limit;      /* 0: none */
  uint64_t most;       /* bytes of one value; 0: no bound */
  uint64_t text_bytes; /* of `used`, in text */
  tl_arena text;       /* of strings that kernels made; grows until the heap is released */
  tl_host_bytes *spares[TL_HOST_SPARES]; /* payloads without a value; NULL: none */
  uint64_t spare_bytes;                  /* of them; with `used` at most `peak`, or 64 MiB */
} tl_host_heap;

/* Prepares a heap. limit: bytes of live payload, 0 for none. */
void tl_host_heap_init(tl_host_heap *h, uint64_t limit);
/* Hands spare payloads to a heap of later values, which frees its own first. Payloads beyond what
 * that heap may keep are freed, all of them if it has a limit. */
void tl_host_heap_hand_over(tl_host_heap *from, tl_host_heap *to);
/* Frees the bytes of strings and the spare payloads; every value must have been released. */
void tl_host_heap_release(tl_host_heap *h);

typedef enum tl_host_kind { TL_HOST_TENSOR, TL_HOST_SEQUENCE, TL_HOST_NONE } tl_host_kind;

/* A value; only its maker writes to it. */
typedef struct tl_host {
  uint8_t kind;  /* tl_host_kind */
  uint8_t dtype; /* tensors; sequences: of their elements, NONE when unknown */
  int16_t rank;  /* tensors: 0..TL_MAX_RANK */
  uint32_t refs;
  uint64_t n;           /* elements of the tensor or of the sequence */
  uint64_t bytes;       /* of data: packed length; strings: n * sizeof(tl_sv) */
  void *data;           /* tensor: elements, aligned to their size; string tensor: tl_sv[n];
                            sequence: tl_host *[n] */
  tl_host_bytes *owner; /* NULL: borrowed, outlives the value */
  tl_host_heap *heap;
  int64_t dims[]; /* [rank] */
} tl_host;

/* Makes a tensor with uninitialised elements (of strings: empty ones). The caller owns a reference.
 * NULL when memory is out, when the heap's limit would be exceeded, when the size overflows, or for
 * a negative dim. */
tl_host *tl_host_new(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims);
/* Makes a tensor over bytes that outlive it and are aligned for the dtype. NULL as tl_host_new. */
tl_host *tl_host_borrow(tl_host_heap *h, tl_dtype dtype, int rank, const int64_t *dims,
                        const void *data);
/* Makes a tensor that shares the bytes of another one: another shape, or another dtype of the same
 * total size. NULL when the numbers of bytes differ. */
tl_host *tl_host_view(const tl_host *of, tl_dtype dtype, int rank, const int64_t *dims);
/* Makes a tensor of the contents of a constant. It copies only what the file has not aligned, and
 * what is computed. Strings view the module's symbols. */
tl_host *tl_host_from_tensor(tl_host_heap *h, const tl_module *m, const tl_tensor *t);
/* The same without a copy of what the file has not aligned: data then is no multiple of the
 * element's size, and only a reader that expects it may have the value. */
tl_host *tl_host_from_tensor_unaligned(tl_host_heap *h, const tl_module *m, const tl_tensor *t);
/* Returns true when data suits the dtype. */
bool tl_host_is_aligned(const tl_host *t);
/* Makes a sequence of n values, which it retains. */
tl_host *tl_host_sequence(tl_host_heap *h, tl_host *const *items, uint64_t n);
/* Makes an empty optional. */
tl_host *tl_host_none(tl_host_heap *h);

/* Adds a reference and returns t. NULL is allowed. */
static inline tl_host *tl_host_retain(tl_host *t) {
  if (t)
    t->refs++;
  return t;
}
/* Drops a reference; the last one frees the value. NULL is allowed. */
void tl_host_release(tl_host *t); /* NULL is allowed */

/* Returns room for the bytes of a string, which lives as long as the heap; NULL when memory is out
 * or the limit is reached. */
char *tl_host_text(tl_host_heap *h, size_t bytes);

/* Returns item i of a sequence, borrowed. */
static inline tl_host *tl_host_item(const tl_host *sequence, uint64_t i) {
  return ((tl_host *const *)sequence->data)[i];
}

/* Returns true when rank and dims are equal. */
static inline bool tl_host_same_shape(const tl_host *a, const tl_host *b) {
  return a->rank == b->rank &&
         (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

/* Returns the bytes of one element in data, 0 for the sub-byte types. */
static inline size_t tl_host_element_size(tl_dtype d) {
  return d == TL_DTYPE_STRING ? sizeof(tl_sv) : tl_dtype_get(d)->bits / 8u;
}

/* Returns element i as a number, whatever the dtype (integers, bool, every float; sub-byte ones
 * unpacked). For summaries and single elements, not for loops over tensors. */
double tl_host_at(const tl_host *t, uint64_t i);
int64_t tl_host_int_at(const tl_host *t, uint64_t i); /* floats are truncated, saturating */

/* Convert n elements, rounded to nearest even. from: a number or bool; to: a float (asserted: a
 * cast to integers needs a rule for what does not fit). saturate: ONNX's attribute for fp8 types.
 * Sub-byte ones are packed from bit 0. The bits do not depend on the processor. */
void tl_host_to_f32(tl_dtype from, const void *src, float *dst, uint64_t first, uint64_t n);
void tl_host_from_f32(tl_dtype to, const float *src, void *dst, uint64_t first, uint64_t n,
                      bool saturate);
/* How F8E8M0, which holds powers of two only, rounds: away from zero, towards zero, or to nearest
 * with ties up. */
typedef enum tl_e8m0_rounding { TL_E8M0_UP, TL_E8M0_DOWN, TL_E8M0_NEAREST } tl_e8m0_rounding;
typedef struct tl_narrowing {
  bool saturate; /* what is too large becomes the largest number, not infinity; 8 bits and less */
  tl_e8m0_rounding rounding;
} tl_narrowing;

/* Converts n doubles to any float, rounded once. */
void tl_host_from_f64(tl_dtype to, const double *src, void *dst, uint64_t first, uint64_t n,
                      tl_narrowing how);
/* Return or set element i of a packed dtype of 2 or 4 bits: integers with their sign, F4E2M1 as its
 * bits. Setting keeps the neighbours in the byte; excess bits of v are dropped. */
int tl_packed_get(tl_dtype d, const void *src, uint64_t i);
void tl_packed_set(tl_dtype d, void *dst, uint64_t i, int v);
/* Convert single numbers of the 16-bit types, rounded once. */
float tl_f16_to_f32(uint16_t h);
uint16_t tl_f16_from_f32(float v);
uint16_t tl_f16_from_f64(double v); /* rounded once */
static inline float tl_bf16_to_f32(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
uint16_t tl_bf16_from_f32(float v);

#endif
