/* SPDX-License-Identifier: Apache-2.0 */
/* Computes attention: softmax(scale * Q K' + masks) V over heads, the core that all attention ops
 * share. Operands and shapes of an op are read by the op's own file.
 *
 * Operands are f32 or f64 tensors in any layout of batch, head and row whose last step is 1.
 * Everything is computed in f64, every sum in index order, and rounded once, when it is stored. A
 * query row that may see no key gives zeros. Letters: B batch, N heads, S query rows, T keys, D
 * size of a row of Q and K, Dv of V. */
#ifndef TL_IR_EVAL_LINEAR_ATTENTION_H
#define TL_IR_EVAL_LINEAR_ATTENTION_H

#include "ir/eval/kernel/kernel.h"

/* Where the rows of Q, K or V are. All steps count elements. */
typedef struct tl_heads {
  const tl_host *t; /* NULL: no rows */
  int64_t start;
  int64_t batch;
  int64_t head;
  int64_t row;
  int64_t rows;
  const tl_host *bias; /* added to every row of a head; NULL: none */
  int64_t bias_start;
  int64_t bias_head;
} tl_heads;

/* A mask tensor that is broadcast to [B,N,S,T]. */
typedef struct tl_attention_mask {
  const tl_host *t; /* NULL: none */
  int64_t step[4];
  int64_t width; /* keys from here on are masked, even where a step is 0 */
} tl_attention_mask;

/* Which stage the optional result with scores shows. */
typedef enum tl_attention_stage {
  TL_STAGE_SCORES, /* scaled products */
  TL_STAGE_CAPPED, /* after softcap */
  TL_STAGE_MASKED, /* after masks and bias */
  TL_STAGE_SOFTMAX
} tl_attention_stage;

/* What tl_attention_run computes; all pointers are borrowed. */
typedef struct tl_attention {
  int64_t batch;
  int64_t heads; /* of Q, a multiple of kv_heads */
  int64_t kv_heads;
  int64_t size; /* of a row of Q and K */
  int64_t v_size;
  tl_heads q;
  tl_heads k;
  tl_heads v;
  tl_heads past_k; /* keys that come before those of k */
  tl_heads past_v;
  double scale;
  double softcap;         /* 0: none */
  const int64_t *valid;   /* [B] keys from here on are not seen; NULL: all are */
  const int64_t *offset;  /* [B] with causal or window: key that query row 0 stands at */
  bool causal;            /* no key after the query's own place */
  int64_t window;         /* keys of this many places up to the own one; 0: no limit */
  tl_attention_mask bias; /* added; bool: -inf where false */
  tl_attention_mask mask; /* of integers: masked_value is added where 0 */
  double masked_value;
  const double *sinks; /* [N] a further score of each row, without a value; NULL: none */
  tl_host *y;          /* f32 or f64; NULL: only the scores are wanted */
  int64_t y_batch;
  int64_t y_head;
  int64_t y_row;
  tl_host *scores; /* [B,N,S,T], NULL: not wanted */
  tl_attention_stage stage;
} tl_attention;

/* Computes y and scores. The caller has checked operands and shapes. TL_NO_MEMORY; TL_INVALID_MODEL
 * when the sizes overflow. */
tl_status tl_attention_run(tl_eval *ctx, const tl_attention *a) TL_NODISCARD;

/* Returns where the rows of a tensor are: [B,N,S,D], or [B,S,N*D] from column `first` on (rank
 * 3). */
tl_heads tl_heads_of(const tl_host *t, int64_t heads, int64_t first, int64_t size);

/* Prepares operand `operand` as a mask and checks that it can be broadcast to [B,N,S,T]. A shorter
 * last dim masks the keys beyond it. *out has no tensor when the operand is absent. */
tl_status tl_attention_set_mask(tl_eval *ctx, const tl_attention *a, uint32_t operand,
                                tl_attention_mask *out) TL_NODISCARD;

/* Writes the rows of `past` and then those of `now` as [B,kv_heads,T,size], from element `at`
 * on. */
void tl_attention_join(const tl_attention *a, const tl_heads *past, const tl_heads *now,
                       int64_t size, tl_host *to, int64_t at);

/* Makes result i, if it is wanted: [B,kv_heads,T,size], the rows of `past` and then those of
 * `now`. */
tl_status tl_attention_present(tl_eval *ctx, uint32_t i, const tl_attention *a,
                               const tl_heads *past, const tl_heads *now,
                               int64_t size) TL_NODISCARD;

/* Returns element i of an f32 or f64 tensor. */
static inline double tl_real_at(const tl_host *t, int64_t i) {
  return t->dtype == TL_DTYPE_F64 ? ((const double *)t->data)[i]
                                  : (double)((const float *)t->data)[i];
}
/* Stores element i of an f32 or f64 tensor. */
static inline void tl_real_set(tl_host *t, int64_t i, double v) {
  if (t->dtype == TL_DTYPE_F64)
    ((double *)t->data)[i] = v;
  else
    ((float *)t->data)[i] = (float)v;
}

#endif
