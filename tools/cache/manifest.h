/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: which files conversions with the same options have read. */
#ifndef TL_TOOLS_CACHE_MANIFEST_H
#define TL_TOOLS_CACHE_MANIFEST_H

#include <cjson/cJSON.h>

#include "tools/cache/store.h"

/* What one conversion has read, in order. */
typedef struct tl_manifest_set {
  const char *const *paths;
  uint32_t n;
} tl_manifest_set;

enum { TL_MANIFEST_SETS = 16 };

/* A manifest that was read; zero-initialise. */
typedef struct tl_manifest {
  tl_manifest_set sets[TL_MANIFEST_SETS]; /* the newest first */
  uint32_t n;
  cJSON *root; /* owned; has the paths */
} tl_manifest;

/* Reads the manifest of a key; it is empty if there is none that is right. */
void tl_manifest_read(tl_manifest *m, const tl_store *s, const char *base);
/* Adds a set unless it is there, and writes the manifest. When two processes do so at once, one of
 * the sets may be lost; it costs one more conversion. */
void tl_manifest_add(tl_manifest *m, const tl_store *s, const char *base,
                     const tl_manifest_set *set);
void tl_manifest_release(tl_manifest *m);

#endif
