/* SPDX-License-Identifier: Apache-2.0 */
/* Tells AddressSanitizer which bytes of a larger block are in use, so that a read behind the last
 * element is seen although there is room. Without the sanitizer nothing of this costs anything. */
#ifndef TL_SUPPORT_WATCHED_H
#define TL_SUPPORT_WATCHED_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TL_WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(TL_WATCHED)
#define TL_WATCHED 1
#endif

#ifdef TL_WATCHED
#include <sanitizer/asan_interface.h>
static inline void tl_open_bytes(const void *p, size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(p, bytes);
}
static inline void tl_close_bytes(const void *p, size_t bytes) {
  ASAN_POISON_MEMORY_REGION(p, bytes);
}
#else
/* Lets bytes be touched. */
static inline void tl_open_bytes(const void *p, size_t bytes) {
  (void)p;
  (void)bytes;
}
/* Whoever touches these bytes from now on makes a mistake. */
static inline void tl_close_bytes(const void *p, size_t bytes) {
  (void)p;
  (void)bytes;
}
#endif

#endif
