/* SPDX-License-Identifier: Apache-2.0 */
/* Knows what buffer fusion needs of the nodes of one graph: kernel class, why a node can be in no
 * group, and the groups.
 * Nodes are addressed by their position in the graph, counted from 1. */
#ifndef TL_PASSES_UB_NODES_H
#define TL_PASSES_UB_NODES_H

#include "passes/edit/pass.h"

typedef enum tl_ub_class {
  TL_UB_NONE,  /* in no group */
  TL_UB_OTHER, /* of no class; a chain may name its type */
#define CLASS(id, name, core) TL_UB_##id,
#include "passes/ub/classes.tbl"
  TL_UB_N_CLASSES
} tl_ub_class;

typedef enum tl_ub_core { TL_UB_CORE_ANY, TL_UB_CORE_VECTOR, TL_UB_CORE_CUBE } tl_ub_core;

/* Why a node, whatever its class, is in no group. */
typedef enum tl_ub_refusal {
  TL_UB_FREE,
  TL_UB_DUMPED, /* its results are asked for */
  TL_UB_HOST,   /* not on the device */
  TL_UB_ALONE,  /* its fusion_scope is below 0: a compile unit of its own */
  TL_UB_EVENT   /* others wait for it alone, or it for them */
} tl_ub_refusal;

/* A node, and the group it is in; groups are linked lists of positions. */
typedef struct tl_ub_node {
  tl_node_id id;
  uint8_t class;   /* tl_ub_class */
  uint8_t core;    /* tl_ub_core */
  uint8_t refusal; /* tl_ub_refusal */
  bool dynamic;    /* something about it has no fixed size */
  uint32_t epoch;  /* differs between nodes that an event of the schedule separates */
  uint32_t leader; /* position of the first node of its group; its own: none */
  uint32_t next;   /* position of the next one of the group, 0: none */
  uint32_t size;   /* of a leader: nodes of the group */
  uint32_t rank;   /* of a leader: a topological order of the graph with groups as nodes */
  uint32_t stamp;  /* of a leader: of the search that saw it last */
  uint32_t chain; /* of a leader: 1 + row of chains.tbl that made the group, 0: the automatic one */
  uint32_t shape; /* of a leader: position of a node whose result has the shape of the group */
} tl_ub_node;

/* One graph. Everything lives in the scratch arena of the pass. */
typedef struct tl_ub_graph {
  const tl_module *m;
  tl_ub_node *at; /* [n + 1] */
  uint32_t n;
  uint32_t *position;      /* by node id; right for nodes of this graph only */
  const uint8_t *op_class; /* by op id */
  tl_graph_id graph;
  uint32_t stamp;  /* of the last search */
  tl_u32_vec seen; /* work of a search */
  tl_u32_vec before;
  bool no_memory;
} tl_ub_graph;

/* What is common to the graphs of a module. */
typedef struct tl_ub_facts {
  const uint8_t *op_class; /* by op id: tl_ub_class, Broadcast not told from ElemWise */
  uint32_t *position;      /* by node id */
  tl_symbol scope;         /* name of the attribute, 0: the module does not have it */
} tl_ub_facts;

/* Fills *f in the scratch arena. Returns false if memory is out. O(nodes). */
bool tl_ub_facts_init(tl_ub_facts *f, const tl_module *m, const tl_op_info_set *info,
                      tl_arena *scratch);
/* Fills *g for the nodes of a graph. Returns false if memory is out; release it in either case.
 * O(nodes + edges). */
bool tl_ub_graph_init(tl_ub_graph *g, const tl_ub_facts *f, const tl_module *m,
                      const tl_graph *graph, tl_arena *scratch);
/* Frees the work lists of searches. */
void tl_ub_graph_release(tl_ub_graph *g);

/* Return the name of a class, NULL if it has none; the class of a name, TL_UB_NONE if there is
 * none. */
const char *tl_ub_class_name(tl_ub_class class);
tl_ub_class tl_ub_class_find(tl_sv name);
/* Returns the class of an NPU type, TL_UB_NONE if it has none. Of elementwise ops it is ELEMWISE,
 * whether or not a node broadcasts. O(rows): ask once a type. */
tl_ub_class tl_ub_class_of(const tl_op_info_set *set, tl_sv type);

/* Returns the position of the producer of v, 0 if it is not in this graph. O(1). */
static inline uint32_t tl_ub_producer(const tl_ub_graph *g, tl_value_id v) {
  const tl_value *value = v ? tl_value_get(g->m, v) : NULL;
  if (!value || value->kind != TL_VALUE_RESULT || tl_node_get(g->m, value->def)->graph != g->graph)
    return 0;
  return g->position[value->def];
}
/* Returns the position of a user, 0 if it is the end of the graph or inside a body. O(1). */
static inline uint32_t tl_ub_user(const tl_ub_graph *g, tl_use_id u) {
  tl_node_id user = tl_use_get(g->m, u)->user;
  return tl_node_get(g->m, user)->graph == g->graph && !tl_node_is_return(g->m, user)
             ? g->position[user]
             : 0;
}
/* Returns true if the node is in a group of several nodes. O(1). */
static inline bool tl_ub_is_grouped(const tl_ub_graph *g, uint32_t at) {
  return g->at[g->at[at].leader].size > 1;
}

#endif
