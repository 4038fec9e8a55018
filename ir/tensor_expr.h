/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that are computed when they are read: a cast, a strided view, a concatenation or
 * arithmetic over other tensors. Nothing is computed before a backend streams the bytes out, and
 * then a block at a time, so that folding large weights costs no memory.
 *
 * An expression works on the elements of its sources in row-major order; shapes belong to tensors.
 * Arithmetic is the evaluator's: IEEE, narrow floats through f32 with one rounding, bytes modulo
 * 256. Depth and size are bounded; elements have whole bytes, and there is at least one. */
#ifndef TL_IR_TENSOR_EXPR_H
#define TL_IR_TENSOR_EXPR_H

#include "ir/tensor.h"

typedef enum tl_tensor_expr_kind {
  TL_TENSOR_EXPR_CAST, /* elements of source 0 as another dtype */
  TL_TENSOR_EXPR_VIEW, /* element [i, j, ...] is element start + i * strides[0] + ... of source 0 */
  TL_TENSOR_EXPR_CONCAT, /* `outer` times: the next 1/outer of every source */
  TL_TENSOR_EXPR_ADD,    /* element by element, floats; sums and differences of bytes too */
  TL_TENSOR_EXPR_SUB,
  TL_TENSOR_EXPR_MUL,
  TL_TENSOR_EXPR_DIV,
  TL_TENSOR_EXPR_MIN, /* of bytes */
  TL_TENSOR_EXPR_MAX,
  TL_TENSOR_EXPR_CLAMP, /* a cast among f32, f16 and bf16 that keeps to the finite range: what is
                           outside becomes the nearest finite number, NaN stays NaN */
  TL_N_TENSOR_EXPR_KINDS
} tl_tensor_expr_kind;

enum { TL_TENSOR_EXPR_MAX_RANK = 8, TL_TENSOR_EXPR_MAX_DEPTH = 8, TL_TENSOR_EXPR_MAX_COST = 32 };

/* An expression; which members count depends on the kind. */
typedef struct tl_tensor_expr {
  uint8_t kind;  /* tl_tensor_expr_kind */
  uint8_t depth; /* 1 + the largest of a source; filled by tl_tensor_express */
  uint8_t cost;  /* expressions in the whole tree; filled by tl_tensor_express */
  int rank;      /* VIEW: 1 to TL_TENSOR_EXPR_MAX_RANK */
  uint32_t n_sources;
  const tl_tensor *const *sources;
  uint64_t outer; /* CONCAT */
  uint64_t start; /* VIEW, in elements */
  int64_t dims[TL_TENSOR_EXPR_MAX_RANK];
  int64_t
      strides[TL_TENSOR_EXPR_MAX_RANK]; /* in elements; 0 repeats, negative ones run backwards */
} tl_tensor_expr;

/* Returns the textual IR's word for a kind: "cast", "view" ... */
const char *tl_tensor_expr_kind_name(tl_tensor_expr_kind kind);
/* Returns what forbids such a tensor, a clause that starts with "the"; NULL when nothing does.
 * Checks everything: the numbers of the expression may be anything. */
const char *tl_tensor_expr_problem(const tl_module *m, tl_type_id type, const tl_tensor_expr *e);
/* Adds a tensor of that type, which has no problem. The expression is copied; its sources stay
 * where they are. TL_NO_TENSOR when memory is out. */
tl_tensor_id tl_tensor_express(tl_module *m, tl_type_id type, const tl_tensor_expr *e);

/* Computes elements [first, first + n) of a tensor of any source but strings into `out`, which is
 * aligned for them. */
void tl_tensor_read(const tl_tensor *t, uint64_t first, uint64_t n, void *out);

/* Lists memory that has the bytes of a tensor from `offset` on, in at most `most` runs, and returns
 * their number; *n: the bytes of all of them. 0 at the end, and for a tensor that has to be
 * computed or whose runs are short: copying them costs less then. */
uint32_t tl_tensor_runs(const tl_tensor *t, uint64_t offset, tl_sv *runs, uint32_t most,
                        uint64_t *n);

/* Returns true for a tensor that is computed and is one element again and again. */
bool tl_tensor_repeats_one(const tl_tensor *t);

/* Room for one block of a computed tensor. */
enum { TL_TENSOR_BLOCK = 16384 };
typedef union tl_tensor_room {
  unsigned char bytes[TL_TENSOR_BLOCK];
  double aligned;
} tl_tensor_room;
/* Returns the bytes from `offset` on, *n of them (0 at the end): all that are left of a tensor that
 * is not computed, or a block in `room` of one that is. Offsets are multiples of TL_TENSOR_BLOCK.
 * NULL for strings. */
const void *tl_tensor_block(const tl_tensor *t, uint64_t offset, tl_tensor_room *room, size_t *n);

/* As tl_tensor_block, in the byte order of files. */
const void *tl_tensor_file_block(const tl_tensor *t, uint64_t offset, tl_tensor_room *room,
                                 size_t *n);

/* Returns true for the same expression over the same bytes. */
bool tl_tensor_expr_equal(const tl_tensor *a, const tl_tensor *b);
/* Hashes an expression and where its bytes are; equal expressions have equal hashes. */
uint64_t tl_tensor_expr_hash(const tl_tensor *t, uint64_t seed);

#endif
