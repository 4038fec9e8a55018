/* SPDX-License-Identifier: Apache-2.0 */
/* Constant data: dtype, shape and a source. A source is a view; weights are neither copied nor
 * loaded before a backend streams them out. */
#ifndef TL_IR_TENSOR_H
#define TL_IR_TENSOR_H

#include "ir/byte_order.h"
#include "ir/type.h"
#include "support/file.h"

typedef uint32_t tl_tensor_id;

#define TL_NO_TENSOR ((tl_tensor_id)0)

/* Where the data is. */
typedef enum tl_source_kind {
  TL_SOURCE_BYTES = 0, /* row-major, packed, in the machine's byte order; in the arena or static */
  TL_SOURCE_FILE,      /* inside a mapped file, with the low byte of a number first */
  TL_SOURCE_STRINGS,   /* one symbol per element */
  TL_SOURCE_EXPR       /* computed when it is read, see tensor_expr.h */
} tl_source_kind;

/* Constant data; the member of `u` is the one of its kind. */
typedef struct tl_tensor {
  uint8_t kind;  /* tl_source_kind */
  uint8_t dtype; /* tl_dtype */
  bool external; /* FILE: came from external data, not from the model file itself */
  tl_type_id type;
  tl_symbol name;     /* name inside the file (attribute tensors), else 0 */
  tl_symbol location; /* external: path as the model wrote it */
  uint64_t bytes;     /* length of the data (STRINGS: of all strings together) */
  union {
    const void *data;                  /* BYTES */
    const tl_symbol *strings;          /* STRINGS: [elements] */
    const struct tl_tensor_expr *expr; /* EXPR; arena */
    struct {
      const tl_file *file; /* borrowed; the module owns its files */
      uint64_t offset;
#if !TL_ORDER_OF_FILES
      const void *turned; /* a copy in the machine's byte order, arena; NULL: it is the same */
#endif
    } view;
  } u;
} tl_tensor;

/* Adds a tensor. The shape must be static, and `bytes` what dtype and shape need: callers validate
 * input. TL_NO_TENSOR when memory is out. */
tl_tensor_id tl_tensor_add(tl_module *m, const tl_tensor *t);
/* Adds a tensor of a copy of the bytes. TL_NO_TENSOR when memory is out. */
tl_tensor_id tl_tensor_from_bytes(tl_module *m, tl_type_id type, const void *data, uint64_t bytes);
/* Add a constant of rank 0 or 1; rank 0 needs n == 1. TL_NO_TENSOR when memory is out. */
tl_tensor_id tl_tensor_i64s(tl_module *m, const int64_t *v, uint32_t n, int rank);
tl_tensor_id tl_tensor_i32s(tl_module *m, const int32_t *v, uint32_t n, int rank);
tl_tensor_id tl_tensor_f32s(tl_module *m, const float *v, uint32_t n, int rank);

/* Gives a tensor that was just made of the bytes of a file its data in the byte order of this
 * machine: a copy in the arena, where the two orders differ. TL_NO_MEMORY. */
static inline tl_status tl_tensor_turn(tl_module *m, tl_tensor *t) TL_NODISCARD;
/* The same where the orders differ; nothing elsewhere. */
tl_status tl_tensor_turn_copy(tl_module *m, tl_tensor *t) TL_NODISCARD;

static inline tl_status tl_tensor_turn(tl_module *m, tl_tensor *t) {
  return TL_ORDER_OF_FILES ? TL_OK : tl_tensor_turn_copy(m, t);
}

/* Returns the tensor of an id other than 0. */
const tl_tensor *tl_tensor_get(const tl_module *m, tl_tensor_id id);
/* Returns the elements of a BYTES or FILE tensor; NULL for strings and for what is computed, which
 * only tl_tensor_read and tl_tensor_block (tensor_expr.h) read. */
const void *tl_tensor_data(const tl_tensor *t);
/* Returns the number of elements. */
uint64_t tl_tensor_elements(const tl_module *m, const tl_tensor *t);
/* Reads element i of an integer or bool tensor; false for other dtypes, or i out of range. */
bool tl_tensor_int_at(const tl_module *m, const tl_tensor *t, uint64_t i, int64_t *out);
/* Reads element i of a float (f16, bf16, f32, f64) or integer tensor; false as above. */
bool tl_tensor_float_at(const tl_module *m, const tl_tensor *t, uint64_t i, double *out);
/* Returns true for the same dtype, shape and contents. Views of files compare by place and computed
 * tensors by expression; when that does not show them equal, bytes are compared if there are at
 * most `limit`. */
bool tl_tensor_equal(const tl_module *m, const tl_tensor *a, const tl_tensor *b, uint64_t limit);

#endif
