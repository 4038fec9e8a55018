/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two modules: which node of one is which of the other, and what differs between them.
 * match.c and structure.c pair, equal.c and compare.c find differences, report.c prints them. */
#ifndef TL_TOOLS_DIFF_DIFF_H
#define TL_TOOLS_DIFF_DIFF_H

#include "tools/cli/cli.h"

/* Which node, value and graph of one module stands for which of the other. Side 0 is the first
 * model. Tables are owned, by id, 0: no partner. */
typedef struct tl_pairs {
  tl_module *m[2];
  uint32_t *node[2];  /* [0][node of a] = node of b, [1][node of b] = node of a */
  uint32_t *value[2]; /* likewise */
  uint32_t *graph[2];
  uint32_t *into[2];   /* by node without partner: the node that was fused of it, in the other */
  uint64_t *hashes[2]; /* by value: of what computes it; NULL until structure is asked for */
  uint64_t *above[2];  /* by node: of what is made of it; with hashes */
  uint64_t *class[2];  /* by node: what partners have in common; with hashes */
  bool names;          /* names of nodes and of inner values are compared, too; set by the caller */
  bool failed;         /* memory ran out */
} tl_pairs;

/* Pairs everything. Modules are borrowed. TL_NO_MEMORY, not reported; release in any case. */
tl_status tl_pairs_make(tl_pairs *p, tl_module *a, tl_module *b) TL_NODISCARD;
/* Frees the tables. */
void tl_pairs_release(tl_pairs *p);

/* ---- between match.c and structure.c --------------------------------------------------------- */

/* Makes two nodes without partners partners, and their results in order. */
void tl_pairs_nodes(tl_pairs *p, tl_node_id a, tl_node_id b);
/* Makes two values without partners partners. */
void tl_pairs_values(tl_pairs *p, tl_value_id a, tl_value_id b);
/* Returns true if a node of a graph has no partner. */
bool tl_pairs_has_lonely(const tl_pairs *p, int side, const tl_graph *g);
/* Pairs nodes of two graphs that compute the same and are used for the same; of several, those of
 * one name first. Afterwards there are hashes. False, and p->failed, when memory is out. */
bool tl_pairs_alike(tl_pairs *p, const tl_graph *a, const tl_graph *b);
/* Pairs constants of the same contents. named: only those of one name. As tl_pairs_alike. */
bool tl_pairs_constants(tl_pairs *p, const tl_graph *a, const tl_graph *b, bool named);
/* Pairs nodes of two graphs that names did not pair: first those that compute the same and are used
 * for the same, then neighbours of pairs. Sets p->failed. */
void tl_pairs_structure(tl_pairs *p, const tl_graph *a, const tl_graph *b);

/* ---- equality across modules (equal.c) ------------------------------------------------------- */

/* Returns true for the same op of the same domain. */
bool tl_same_op(const tl_pairs *p, tl_node_id a, tl_node_id b);
/* Returns true for the same op, or for an op and an NPU op that it can become. */
bool tl_kin_op(const tl_pairs *p, tl_node_id a, tl_node_id b);
/* Returns true for attributes of one value. Names are not compared; bodies are equal where they are
 * partners. */
bool tl_same_attr(const tl_pairs *p, const tl_attr *a, const tl_attr *b);
/* Returns true for the same dtype, shape and contents. */
bool tl_same_tensor(const tl_pairs *p, tl_tensor_id a, tl_tensor_id b);
/* Returns true for types that read the same. */
bool tl_same_type(const tl_pairs *p, tl_type_id a, tl_type_id b);

/* Returns true for two tensor types with the same dims. */
bool tl_same_shape(const tl_pairs *p, tl_type_id a, tl_type_id b);

/* How far two tensors of one dtype and shape are apart. */
typedef struct tl_apart {
  uint64_t elements;
  uint64_t differ; /* elements whose bits differ */
  bool numbers;    /* largest is known */
  double largest;  /* difference between two finite elements */
} tl_apart;
/* Measures; false unless both have one dtype and as many elements, with whole bytes each. */
bool tl_tensors_apart(const tl_pairs *p, tl_tensor_id a, tl_tensor_id b, tl_apart *out);

/* ---- differences (compare.c) ----------------------------------------------------------------- */

typedef enum tl_differing {
  TL_DIFF_MODEL, /* what the file says of the whole model */
  TL_DIFF_GRAPH, /* a root graph that only one has */
  TL_DIFF_INPUT,
  TL_DIFF_OUTPUT,
  TL_DIFF_CONSTANT,
  TL_DIFF_NODE,
  TL_N_DIFFERING
} tl_differing;

typedef enum tl_diff_change {
  TL_ADDED,
  TL_REMOVED,
  TL_CHANGED,
  TL_RENAMED,
  TL_N_CHANGES
} tl_diff_change;

/* What of a partner differs; a set. */
enum {
  TL_WHAT_NAME = 1 << 0,
  TL_WHAT_OP = 1 << 1,
  TL_WHAT_OPERANDS = 1 << 2,
  TL_WHAT_RESULTS = 1 << 3, /* how many */
  TL_WHAT_ATTRIBUTES = 1 << 4,
  TL_WHAT_DTYPES = 1 << 5,
  TL_WHAT_SHAPES = 1 << 6,
  TL_WHAT_CONTROL = 1 << 7,
  TL_WHAT_STREAM = 1 << 8,
  TL_WHAT_CONTENTS = 1 << 9,
  TL_WHAT_POSITION = 1 << 10,
  TL_WHAT_VALUE = 1 << 11, /* an output that another value gives */
  TL_WHAT_OPSETS = 1 << 12,
  TL_WHAT_FORM = 1 << 13,
  TL_WHAT_STATES = 1 << 14,
  TL_WHAT_TYPES = 1 << 15, /* kinds of types, or only one of the two is stated */
  TL_N_WHAT = 16
};

/* One difference. Ids: of nodes (NODE), graphs (GRAPH), else values; 0 where a side has none. */
typedef struct tl_difference {
  uint8_t kind;   /* tl_differing */
  uint8_t change; /* tl_diff_change */
  uint16_t what;
  uint32_t id[2];
  tl_graph_id graph[2]; /* around it */
} tl_difference;

TL_VEC(tl_difference_vec, tl_difference);

/* Returns true for the same operands, in order. Constants of one content are the same operand. */
bool tl_same_operands(const tl_pairs *p, tl_node_id a, tl_node_id b);
/* Lists all differences, in the order of the nodes. TL_NO_MEMORY, not reported. */
tl_status tl_differences(const tl_pairs *p, tl_difference_vec *out) TL_NODISCARD;

/* Adds the words for what differs, with commas between: "operands, dtype". */
void tl_diff_add_what(tl_buf *out, uint16_t what);

/* ---- report (report.c) ----------------------------------------------------------------------- */

/* Adds the differences as text with lines of textual IR; counts by op type; JSON. TL_NO_MEMORY, not
 * reported. */
tl_status tl_diff_text(const tl_pairs *p, const tl_difference_vec *v, tl_buf *out) TL_NODISCARD;
tl_status tl_diff_stat(const tl_pairs *p, const tl_difference_vec *v, tl_buf *out) TL_NODISCARD;
tl_status tl_diff_json(const tl_pairs *p, const tl_difference_vec *v, tl_buf *out) TL_NODISCARD;

#endif
