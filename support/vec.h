/* SPDX-License-Identifier: Apache-2.0 */
/* A typed growable array on the heap. Elements move when it grows, so keep indices, not
 * pointers. */
#ifndef TL_SUPPORT_VEC_H
#define TL_SUPPORT_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/memory.h"
#include "support/watched.h"

/* Declares struct NAME {T *at; uint32_t n, cap;}. Zero-initialise it. NAME_reserve makes room for
 * cap elements; NAME_push appends a copy. Both return false when memory is out or 2^32-1 elements
 * are reached. NAME_release frees the elements. With AddressSanitizer an element that was never
 * pushed, in an array that grew by pushing, may not be read. */
#define TL_VEC(NAME, T)                                                                            \
  typedef struct NAME {                                                                            \
    T *at; /* owned */                                                                             \
    uint32_t n;                                                                                    \
    uint32_t cap;                                                                                  \
  } NAME;                                                                                          \
  static inline bool NAME##_reserve(NAME *v, uint32_t cap) {                                       \
    if (v->cap)                                                                                    \
      tl_open_bytes(v->at, v->cap * sizeof(T));                                                    \
    if (cap <= v->cap)                                                                             \
      return true;                                                                                 \
    size_t size = (size_t)cap * sizeof(T);                                                         \
    T *at = tl_memory_seen(realloc(v->at, size), size);                                            \
    if (!at)                                                                                       \
      return false;                                                                                \
    v->at = at;                                                                                    \
    v->cap = cap;                                                                                  \
    return true;                                                                                   \
  }                                                                                                \
  static inline bool NAME##_push(NAME *v, T item) {                                                \
    if (v->n == v->cap) {                                                                          \
      if (v->cap > UINT32_MAX / 2 || !NAME##_reserve(v, v->cap ? v->cap * 2 : 8))                  \
        return false;                                                                              \
      tl_close_bytes(v->at + v->n, (v->cap - v->n) * sizeof(T));                                   \
    }                                                                                              \
    tl_open_bytes(v->at + v->n, sizeof(T));                                                        \
    v->at[v->n++] = item;                                                                          \
    return true;                                                                                   \
  }                                                                                                \
  static inline void NAME##_release(NAME *v) {                                                     \
    free(v->at);                                                                                   \
    v->at = NULL;                                                                                  \
    v->n = 0;                                                                                      \
    v->cap = 0;                                                                                    \
  }                                                                                                \
  typedef NAME NAME##_vec_declared

TL_VEC(tl_u32_vec, uint32_t);
TL_VEC(tl_i64_vec, int64_t);

#endif
