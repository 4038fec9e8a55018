/* SPDX-License-Identifier: Apache-2.0 */
/* Copies files into a cache and out of it, and checks them on the way. The check is XXH3 of 128
 * bits: it is there for accidents, and as fast as memory. */
#ifndef TL_TOOLS_CACHE_COPY_H
#define TL_TOOLS_CACHE_COPY_H

#include "support/changes.h"
#include "tools/cache/digest.h"

/* 128 bits as hex digits. */
typedef struct tl_checksum {
  char hex[33];
} tl_checksum;

/* How files leave a cache and come into it. */
typedef enum tl_copy_mode {
  TL_COPY_AUTO, /* shared blocks where the file system can, else copied bytes */
  TL_COPY_BYTES,
  TL_COPY_LINK /* the same file under two names, where it can be */
} tl_copy_mode;

/* A copy that is to be made. */
typedef struct tl_copy {
  int from;         /* descriptor, read from its start */
  const char *path; /* name of the copy */
  tl_copy_mode mode;
  const volatile int *cancel;
  const tl_checksum *known; /* of `size` bytes, which need not be hashed; NULL: not known */
  uint64_t size;
} tl_copy;

/* Computes the checksum of what a descriptor is open for. False with errno. */
bool tl_checksum_of(int fd, const volatile int *cancel, tl_checksum *out);
/* Copies into a new file. False with errno; the file may be there then, incomplete. */
bool tl_copy_in(const tl_copy *c, tl_checksum *sum);
/* Copies into the journal, and returns the checksum of the bytes that were written there: c->known
 * if there is one and the kernel copied. Reports what writers report. *sum is empty if the entry
 * could not be read. */
tl_status tl_copy_out(const tl_copy *c, tl_changes *changes, tl_diag *d,
                      tl_checksum *sum) TL_NODISCARD;

#endif
