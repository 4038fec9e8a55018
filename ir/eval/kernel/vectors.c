/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/eval/kernel/vectors.h"

unsigned tl_vector_level(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return 2;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 1 : 0;
#else
  return 0;
#endif
}
