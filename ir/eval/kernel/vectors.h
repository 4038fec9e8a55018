/* SPDX-License-Identifier: Apache-2.0 */
/* How wide the vectors of the processor are, for loops that are built once for each width. Such a
 * loop gives the same bits at every width unless its file allows fused operations. */
#ifndef TL_IR_EVAL_KERNEL_VECTORS_H
#define TL_IR_EVAL_KERNEL_VECTORS_H

enum { TL_VECTOR_LEVELS = 3 }; /* the baseline of the build, 256-bit and 512-bit vectors */

/* Returns the widest level that this processor can run: 0, 1 or 2. */
unsigned tl_vector_level(void);

/* Attributes of a function that is built for a level. */
#if defined(__x86_64__)
#define TL_VECTORS_256 __attribute__((target("avx2,fma")))
#define TL_VECTORS_512 __attribute__((target("avx512f,avx512dq,avx2,fma")))
#else /* wider vectors are split by the compiler */
#define TL_VECTORS_256
#define TL_VECTORS_512
#endif

#endif
