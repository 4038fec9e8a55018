/* SPDX-License-Identifier: Apache-2.0 */
/* An AIR file made from a few lines of textual IR and read back by protobuf-c, whose code shares
 * nothing with the writer. Everything lives in an arena, so tests may hang literals into
 * messages. */
#ifndef TL_TESTS_AIR_MODEL_H
#define TL_TESTS_AIR_MODEL_H

#include <protobuf-c/protobuf-c.h>

#include "backend/air/emit.h"
#include "ge_ir.pb-c.h"

typedef struct air_model {
  tl_diag diag;
  tl_buf messages; /* everything reported */
  tl_arena arena;
  ProtobufCAllocator allocator;
  char folder[64];       /* a new one, removed by air_model_end with what air_model_remove left */
  char path[96];         /* <folder>/m.air */
  TlGe__ModelDef *model; /* NULL until read */
} air_model;

/* Makes the folder; every begin needs an end. */
void air_model_begin(air_model *a);
/* Runs the whole AIR pipeline over the text and writes the file. limit as in tl_air_options. */
tl_status air_model_write(air_model *a, const char *text, const tl_options *o, uint64_t limit);
/* Reads the file back; false when protobuf-c refuses it. */
bool air_model_read(air_model *a);
/* The three steps, asserting that they succeed. */
void air_model_make(air_model *a, const char *text, const tl_options *o, uint64_t limit);
/* Removes the AIR file and its folder; fails the test when other files are left in it. */
void air_model_end(air_model *a);
/* Removes a file or empty folder, relative to the folder. */
void air_model_remove(const air_model *a, const char *relative);
/* Bytes of a file relative to the folder, in the arena; NULL when it cannot be read. */
const unsigned char *air_model_file(air_model *a, const char *relative, size_t *n);

/* Lookups; a missing node or attribute ends the test. */
TlGe__OpDef *air_node(const TlGe__GraphDef *g, const char *name);
TlGe__AttrDef *air_attr(TlGe__AttrEntry *const *attrs, size_t n, const char *key);
bool air_has_attr(TlGe__AttrEntry *const *attrs, size_t n, const char *key);
#define AIR_ATTR(message, key) air_attr((message)->attr, (message)->n_attr, key)
#define AIR_HAS(message, key) air_has_attr((message)->attr, (message)->n_attr, key)
/* The map of a message, and of all below it, has ascending keys. */
bool air_is_sorted(TlGe__AttrEntry *const *attrs, size_t n);

/* Comparisons with text: lists are joined by ','. */
bool air_bytes_are(ProtobufCBinaryData b, const char *text);
bool air_strings_are(const TlGe__AttrDef *a, const char *text);
bool air_ints_are(const TlGe__AttrDef *a, const char *text);
bool air_dims_are(const TlGe__TensorDescriptor *d, const char *text);
bool air_inputs_are(const TlGe__OpDef *op, const char *text);

#endif
