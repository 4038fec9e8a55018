/* SPDX-License-Identifier: Apache-2.0 */
/* Types of values, interned: two values have the same type exactly when their ids are equal. A dim
 * is a non-negative size, TL_DIM_UNKNOWN, or a symbol: a name, or an expression over names in
 * canonical text such as "n*2 + 1". Equal symbols are equal sizes. */
#ifndef TL_IR_TYPE_H
#define TL_IR_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/dtype.h"
#include "support/symbol.h"

typedef struct tl_module tl_module;

typedef int64_t tl_dim;
typedef uint32_t tl_type_id;

#define TL_NO_TYPE ((tl_type_id)0) /* nothing is known */
#define TL_DIM_UNKNOWN ((tl_dim)-1)
enum { TL_RANK_UNKNOWN = -1, TL_MAX_RANK = 255 };

/* Dims of symbols are the numbers from -2 down. */
static inline tl_dim tl_dim_from_symbol(tl_symbol s) { return -2 - (tl_dim)s; }
static inline bool tl_dim_is_static(tl_dim d) { return d >= 0; }
static inline bool tl_dim_is_symbol(tl_dim d) { return d <= -2; }
static inline tl_symbol tl_dim_symbol(tl_dim d) { return (tl_symbol)(-2 - d); }

typedef enum tl_type_kind {
  TL_KIND_UNKNOWN = 0,
  TL_KIND_TENSOR,
  TL_KIND_SPARSE_TENSOR,
  TL_KIND_SEQUENCE,
  TL_KIND_OPTIONAL,
  TL_KIND_MAP,
  TL_KIND_OPAQUE
} tl_type_kind;

#define TL_KIND_BIT(k) (1u << (k))

/* A type; members that its kind does not use are 0. */
typedef struct tl_type {
  uint8_t kind;       /* tl_type_kind */
  uint8_t dtype;      /* tensors: element type; maps: key type */
  int16_t rank;       /* tensors: TL_RANK_UNKNOWN or 0..TL_MAX_RANK */
  tl_type_id element; /* sequence, optional: element; map: value */
  const tl_dim *dims; /* [rank]; in the module's arena */
  tl_symbol domain;   /* opaque types */
  tl_symbol name;
} tl_type;

/* Interns a tensor type; dims may be NULL when rank <= 0. TL_NO_TYPE when memory is out, or for a
 * rank beyond TL_MAX_RANK. */
tl_type_id tl_type_tensor(tl_module *m, tl_dtype dtype, int rank, const tl_dim *dims);
/* Interns any type; the dims of a new one are copied. Fails as above. */
tl_type_id tl_type_intern(tl_module *m, const tl_type *t);

/* Returns the dtype of a tensor's elements. */
tl_dtype tl_type_dtype(const tl_module *m, tl_type_id id); /* NONE unless a tensor */
/* Returns true for a tensor type whose dims are all sizes. */
bool tl_type_is_static(const tl_module *m, tl_type_id id); /* tensor with all dims known */
/* Returns true for two tensors of one rank with equal dims; what is not known equals nothing. */
bool tl_type_same_dims(const tl_module *m, tl_type_id a, tl_type_id b);
/* Returns true if two types cannot be those of one value: kinds, dtypes, ranks or sizes are known
 * and differ. What is not known agrees with anything. */
bool tl_types_clash(const tl_module *m, tl_type_id a, tl_type_id b);
/* Gives the product of the dims; false unless they are all sizes, or on overflow. */
bool tl_type_elements(const tl_module *m, tl_type_id id, uint64_t *n);

/* Returns the dim of a name; TL_DIM_UNKNOWN for the empty name. */
tl_dim tl_dim_named(tl_module *m, tl_sv name);
/* Arithmetic over dims: exact on sizes, by canonical text on symbols; TL_DIM_UNKNOWN when nothing
 * can be said, or the text would exceed 96 bytes. div rounds towards negative infinity, ceil_div
 * up; a division by zero is unknown. */
tl_dim tl_dim_add(tl_module *m, tl_dim a, tl_dim b);
tl_dim tl_dim_sub(tl_module *m, tl_dim a, tl_dim b);
tl_dim tl_dim_mul(tl_module *m, tl_dim a, tl_dim b);
tl_dim tl_dim_div(tl_module *m, tl_dim a, tl_dim b);
tl_dim tl_dim_ceil_div(tl_module *m, tl_dim a, tl_dim b);
/* Gives the numpy broadcast of two dims; false when both are sizes that clash. A symbol against 1
 * stays the symbol; two different dims that are not both sizes give TL_DIM_UNKNOWN; a size above 1
 * wins over a symbol. */
bool tl_dim_broadcast(tl_dim a, tl_dim b, tl_dim *out);
/* Gives the more specific of two statements about one dim: a size over a symbol over unknown; false
 * when two sizes differ. */
bool tl_dim_merge(tl_dim a, tl_dim b, tl_dim *out);

/* Adds the type as textual IR writes it: "f32[1,n,?]", "seq(f32[?])", "?" ... */
void tl_type_print(const tl_module *m, tl_type_id id, tl_buf *out);

#endif
