/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of nodes: a name, a kind, a payload. The kinds of ONNX come first, then those that
 * only NPU prototypes have. Lists live in the module's arena and are never changed in place. */
#ifndef TL_IR_ATTR_H
#define TL_IR_ATTR_H

#include "ir/tensor.h"
#include "ir/type.h"

typedef uint32_t tl_graph_id;

typedef enum tl_attr_kind {
  TL_ATTR_NONE = 0,
  TL_ATTR_INT,
  TL_ATTR_FLOAT,
  TL_ATTR_STRING, /* any bytes */
  TL_ATTR_TENSOR,
  TL_ATTR_GRAPH,
  TL_ATTR_TYPE,
  TL_ATTR_SPARSE, /* a SparseTensorProto as bytes, carried */
  TL_ATTR_INTS,
  TL_ATTR_FLOATS,
  TL_ATTR_STRINGS,
  TL_ATTR_TENSORS,
  TL_ATTR_GRAPHS,
  TL_ATTR_TYPES,
  TL_ATTR_SPARSES,
  /* NPU only */
  TL_ATTR_BOOL,
  TL_ATTR_DTYPE,     /* a tl_dtype in u.i */
  TL_ATTR_CARRIED,   /* a value of AIR that no other kind holds: its AttrDef, as bytes */
  TL_ATTR_BOOLS,     /* u.is, 0 or 1 */
  TL_ATTR_DTYPES,    /* u.is */
  TL_ATTR_INT_LISTS, /* u.lists */
  TL_N_ATTR_KINDS
} tl_attr_kind;

/* A borrowed list of integers. */
typedef struct tl_int_list {
  const int64_t *at;
  uint32_t n;
} tl_int_list;

/* An attribute; the member of `u` is the one of its kind. */
typedef struct tl_attr {
  tl_symbol name;
  uint8_t kind;   /* tl_attr_kind */
  uint32_t count; /* elements of a list kind, else 0 */
  union {
    int64_t i;
    float f;
    tl_symbol s; /* STRING, SPARSE, CARRIED */
    tl_tensor_id t;
    tl_graph_id g;
    tl_type_id type;
    const int64_t *is;
    const float *fs;
    const uint32_t *ids; /* STRINGS, SPARSES: symbols; TENSORS, GRAPHS, TYPES: ids */
    const tl_int_list *lists;
  } u;
} tl_attr;

/* Returns the name of a kind as messages write it ("int", "ints", "tensor" ...). */
const char *tl_attr_kind_name(tl_attr_kind kind);
/* Returns true for the kinds that have `count` elements. */
bool tl_attr_kind_is_list(tl_attr_kind kind);

/* Returns true for the same name, kind and value. Tensors compare by content up to 4096 bytes,
 * graphs by id. */
bool tl_attr_equal(const tl_module *m, const tl_attr *a, const tl_attr *b);

/* Builders. Those of lists copy into the module's arena, and return an attribute of kind
 * TL_ATTR_NONE when memory is out. */
static inline tl_attr tl_attr_int(tl_symbol name, int64_t v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_INT, .u.i = v};
}
static inline tl_attr tl_attr_float(tl_symbol name, float v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_FLOAT, .u.f = v};
}
static inline tl_attr tl_attr_string(tl_symbol name, tl_symbol v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_STRING, .u.s = v};
}
static inline tl_attr tl_attr_bool(tl_symbol name, bool v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_BOOL, .u.i = v};
}
static inline tl_attr tl_attr_dtype(tl_symbol name, tl_dtype v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_DTYPE, .u.i = v};
}
static inline tl_attr tl_attr_tensor(tl_symbol name, tl_tensor_id v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_TENSOR, .u.t = v};
}
static inline tl_attr tl_attr_graph(tl_symbol name, tl_graph_id v) {
  return (tl_attr){.name = name, .kind = TL_ATTR_GRAPH, .u.g = v};
}
/* Returns the graphs of an attribute, *n in number: none of one that holds no graph. */
static inline const uint32_t *tl_attr_graphs(const tl_attr *a, uint32_t *n) {
  *n = a->kind == TL_ATTR_GRAPH ? 1 : a->kind == TL_ATTR_GRAPHS ? a->count : 0;
  return a->kind == TL_ATTR_GRAPHS ? a->u.ids : &a->u.g;
}
tl_attr tl_attr_ints(tl_module *m, tl_symbol name, const int64_t *v, uint32_t n);
tl_attr tl_attr_floats(tl_module *m, tl_symbol name, const float *v, uint32_t n);
/* kind: STRINGS, TENSORS, GRAPHS, TYPES or SPARSES. */
tl_attr tl_attr_ids(tl_module *m, tl_symbol name, tl_attr_kind kind, const uint32_t *v, uint32_t n);

#endif
