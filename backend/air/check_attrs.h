/* SPDX-License-Identifier: Apache-2.0 */
/* Checks attributes, tensors and tensor descs of a finished AIR file, for check.c.
 * It also holds the state of the check, which check.c makes and moves from node to node. */
#ifndef TL_BACKEND_AIR_CHECK_ATTRS_H
#define TL_BACKEND_AIR_CHECK_ATTRS_H

#include "backend/air/air.h"
#include "backend/air/check_fields.h"
#include "backend/air/check_names.h"

/* MAX_DTYPE: greatest serialized element type that is checked. PAIRS: pairs of lists by which
 * loaders restore ports (tl_air_bookkeeping). */
enum { TL_AIR_MAX_DTYPE = 41, TL_AIR_GOOD_DESCS = 256, TL_AIR_PAIRS = 4 };

TL_VEC(tl_air_span_vec, tl_air_bytes);

/* A desc that was checked before. Values share few types, so a small cache saves most checks. */
typedef struct tl_air_good_desc {
  tl_air_bytes desc; /* p NULL: free */
  uint64_t bits;
} tl_air_good_desc;

/* State of the check of one file. */
typedef struct tl_air_checker {
  tl_diag *diag;
  const char *path;
  tl_air_seen_table seen; /* nodes so far */
  uint32_t graph;         /* number of the graph being read */
  int64_t position;       /* of the node in its graph */
  int64_t n_data;         /* Data nodes so far in the graph */
  uint32_t n_outputs;     /* NetOutput nodes so far in the graph */
  int64_t output_node;    /* position of the last of them */
  tl_air_span_vec graph_names;
  tl_air_span_vec subgraphs;           /* names that nodes refer to */
  tl_air_span_vec inputs;              /* edges of one node */
  tl_air_bytes node;                   /* name of the node being read, for messages */
  tl_air_good_desc *good;              /* [TL_AIR_GOOD_DESCS], by their first bytes */
  uint16_t bits[TL_AIR_MAX_DTYPE + 1]; /* per element, by serialized number; 0: no fixed size */
  bool known[TL_AIR_MAX_DTYPE + 1];
} tl_air_checker;

/* The node being read. */
typedef struct tl_air_op_def {
  tl_air_bytes name;
  uint32_t hash; /* of the name */
  tl_air_bytes type;
  tl_air_bytes input_desc; /* the first */
  tl_air_bytes output_desc;
  uint64_t output_bits;
  tl_air_bytes last_key;
  tl_air_bytes value; /* AttrDef of "value" */
  int64_t id;
  int64_t index;                  /* "index", -1 if absent */
  int64_t length;                 /* "length", -1 if absent */
  int64_t unpaired[TL_AIR_PAIRS]; /* entries of a list of keys minus those of its list of values */
  uint32_t n_inputs;              /* descs */
  uint32_t n_outputs;
  bool outside; /* has "location" */
  bool has_gap; /* an unconnected slot */
} tl_air_op_def;

/* Reports a fault and returns TL_INTERNAL, since only an error of this program can cause it. */
tl_status tl_air_fault(const tl_air_checker *c, const char *what);

/* Returns what is wrong with the value of an attribute, an AttrDef: it has exactly one, of a kind
 * that loaders read; static text, NULL if nothing is. Tensors are not looked at. n: the node it
 * belongs to, which counts the entries of its lists of ports; NULL in other maps. */
const char *tl_air_value_problem(tl_air_bytes key, tl_air_bytes value, tl_air_op_def *n);

/* Returns the first list of names (tl_air_bookkeeping) that is not as long as the list that belongs
 * to it; -1 if there is none. */
int tl_air_unpaired(const tl_air_op_def *n);

/* Checks one map entry and keeps what later checks of node n need. *last: key of the entry before;
 * keys must ascend, which also makes them unique. n: NULL for maps of descs and models. */
tl_status tl_air_check_entry(const tl_air_checker *c, tl_air_bytes entry, tl_air_bytes *last,
                             tl_air_op_def *n) TL_NODISCARD;

/* Checks a tensor desc. *needed_bits: size of the data; UINT64_MAX if it is not known. */
tl_status tl_air_check_desc(const tl_air_checker *c, tl_air_bytes desc,
                            uint64_t *needed_bits) TL_NODISCARD;

#endif
