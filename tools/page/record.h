/* SPDX-License-Identifier: Apache-2.0 */
/* Records what a run of passes does to a module: the graph before them, and for each pass what it
 * removed, added and changed, and its single rewrites. Each becomes a chunk as soon as it is known,
 * so that memory holds one state. Work is in proportion to the nodes for each pass. */
#ifndef TL_TOOLS_PAGE_RECORD_H
#define TL_TOOLS_PAGE_RECORD_H

#include "ir/edit_log.h"
#include "passes/manager.h"
#include "tools/page/chunks.h"
#include "tools/page/strings.h"

/* A pass that ran. */
typedef struct tl_view_pass {
  const tl_pass_row *row;
  uint64_t nanoseconds;
  uint64_t rewrites;
  uint32_t nodes_before;
  uint32_t nodes_after;
  bool changed; /* it has a chunk */
} tl_view_pass;

TL_VEC(tl_view_pass_vec, tl_view_pass);

/* What was said of a rewrite. */
typedef struct tl_view_said {
  uint32_t mark; /* index of the log */
  uint32_t rule; /* texts */
  uint32_t fusion;
  uint32_t why;
  uint32_t node;
} tl_view_said;

TL_VEC(tl_view_said_vec, tl_view_said);

/* A near miss or a fusion. */
typedef struct tl_view_decision {
  uint32_t pass;                             /* index of a pass */
  uint32_t fusion, rule, code, reason, made; /* texts */
  tl_node_id node;                           /* the root, or what was made; 0: not known */
  uint64_t rewrite; /* number of the rewrite that did it; 0: it was not done */
  uint32_t first;   /* of the nodes, in the list of nodes */
  uint32_t n_nodes;
  uint32_t wanted;
  uint64_t saved;
  uint32_t scope;
  uint32_t n_made;
  bool expand; /* by a rule that spells an op out */
} tl_view_decision;

TL_VEC(tl_view_decision_vec, tl_view_decision);

/* What the state before the running pass knows of a value. */
typedef struct tl_view_value {
  uint32_t id; /* number on the page + 1; 0: none */
  tl_type_id type;
  tl_symbol name;
  tl_tensor_id tensor;
  uint8_t kind;
} tl_view_value;

TL_VEC(tl_view_value_vec, tl_view_value);
TL_VEC(tl_view_print_vec, uint64_t);

/* A tensor that a constant or the default of an input has. */
typedef struct tl_view_weight {
  tl_tensor_id tensor;
  uint32_t value; /* number on the page */
  uint32_t name;  /* text */
} tl_view_weight;

TL_VEC(tl_view_weight_vec, tl_view_weight);

/* The record; tl_view_record_init prepares it. */
typedef struct tl_view_record {
  tl_chunks *chunks;        /* borrowed */
  tl_view_strings *strings; /* borrowed */
  tl_module *m;             /* borrowed; once a state was seen */
  tl_edit_log log;          /* of the running pass */
  tl_view_print_vec prints; /* by node: what it is, 0: it is not there */
  tl_u32_vec places;        /* by node: its place in the state */
  tl_u32_vec seen;          /* by node: the last state that had it */
  tl_view_value_vec values; /* by value */
  uint32_t n_values;        /* numbers given */
  tl_u32_vec weight_of;     /* by tensor: index + 1 of a weight */
  tl_view_weight_vec weights;
  tl_view_pass_vec passes;
  tl_view_said_vec said; /* of the running pass */
  tl_view_decision_vec decisions;
  tl_u32_vec decision_nodes; /* ids, 0: not known */
  tl_u32_vec by_name;        /* by text: the node of that name */
  tl_u32_vec scope_of_name;  /* by text: the scope that metadata states for a node of that name */
  tl_u32_vec by_result;      /* by text: the node without a name whose first result is called so */
  tl_node_id named_to;       /* nodes below are in these lists */
  tl_u32_vec motions;        /* casts that moved or went: node or 0, its label, why (texts) */
  tl_u32_vec why;            /* by node: text of the rewrite that made it */
  tl_map rules;              /* text of a rule's name -> 1 + its place in the list */
  tl_u32_vec rule_list;      /* texts, in the order of their first */
  uint64_t borders;          /* hash of the inputs and outputs of all graphs */
  uint64_t edges;            /* hash of all control edges */
  tl_node_id first_new;      /* of the running pass: ids from here on are new */
  uint32_t state;            /* number of the last state */
  tl_buf json;               /* of the chunk that is being made */
  bool begun;
  bool no_memory;
} tl_view_record;

/* Makes an empty record. Release it in any case. */
void tl_view_record_init(tl_view_record *r, tl_chunks *chunks, tl_view_strings *strings);
/* Frees everything; the module loses its log. */
void tl_view_record_release(tl_view_record *r);
/* Records the module as it is before the first pass; later calls do nothing. */
tl_status tl_view_record_begin(tl_view_record *r, tl_module *m) TL_NODISCARD;
/* Hook of passes and receiver of remarks; user: the record. TL_NO_MEMORY. */
tl_status tl_view_record_pass(void *user, tl_module *m, const tl_pass_event *e) TL_NODISCARD;
void tl_view_record_remark(void *user, const tl_remark *remark);

/* Returns the node that passes call by a label: its name, or "Op->result"; 0: none. */
tl_node_id tl_view_find_node(tl_view_record *r, tl_sv label);
/* Puts a node into the lists by name; taken: also if a node that is not erased has the name. */
void tl_view_note_name(tl_view_record *r, tl_node_id n, bool taken);
/* Sets item i of a list that grows with zeros; sets r->no_memory. */
void tl_view_set(tl_view_record *r, tl_u32_vec *list, uint32_t i, uint32_t value);
/* Returns item i of such a list, 0 beyond its end. */
static inline uint32_t tl_view_get(const tl_u32_vec *list, uint32_t i) {
  return i < list->n ? list->at[i] : 0;
}

/* Returns the number that a value has on the page, -1 for none. */
int64_t tl_view_value_number(const tl_view_record *r, tl_value_id v);
/* Returns true for a node that is in a graph. */
static inline bool tl_view_is_node(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  return node->graph && node->op != TL_OP_ERASED && node->op != TL_OP_RETURN;
}

/* columns.c: adds the members of node columns, of these nodes, to an open object. after: also the
 * column that says behind which node each stands. */
struct tl_json_writer;
void tl_view_put_nodes(tl_view_record *r, struct tl_json_writer *w, const tl_u32_vec *nodes,
                       bool after);
/* Adds the members of value columns, of these values. */
void tl_view_put_values(tl_view_record *r, struct tl_json_writer *w, const tl_u32_vec *values);
/* Adds members inputs and outputs of the main graph, and bodies. */
void tl_view_put_borders(tl_view_record *r, struct tl_json_writer *w);
/* rewrites.c: adds member rewrites of the running pass. */
void tl_view_put_rewrites(tl_view_record *r, struct tl_json_writer *w);
/* Adds member control. */
void tl_view_put_control(tl_view_record *r, struct tl_json_writer *w);

#endif
