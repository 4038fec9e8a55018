/* SPDX-License-Identifier: Apache-2.0 */
/* State of capturing a scope, and its boundary: its nodes, the values that enter and leave it, and
 * the nodes that have to move out of its way. Nothing here changes the module. */
#ifndef TL_PASSES_SCOPES_BOUNDARY_H
#define TL_PASSES_SCOPES_BOUNDARY_H

#include "passes/edit/pass.h"
#include "passes/edit/values.h"
#include "passes/engine/scope.h"

/* Marks of nodes. */
enum { TL_CAPTURE_INSIDE = 1, TL_CAPTURE_BEHIND = 2 };

/* State of capturing scopes by rules; the lists are about the current scope. */
typedef struct tl_capture {
  tl_pass *p;
  tl_module *m;
  tl_scopes *scopes;
  const tl_rule *rule;
  uint32_t scope;
  tl_merge_facts facts;
  uint8_t *marks; /* owned, by node id: TL_CAPTURE_INSIDE the scope; TL_CAPTURE_BEHIND: outside,
                      * but depends on it */
  uint32_t n_marks;
  uint64_t steps;     /* steps left for walks behind scopes in this run */
  tl_u32_vec nodes;   /* nodes of the scope in graph order */
  tl_u32_vec behind;  /* nodes outside that depend on the scope and stand before its last node */
  tl_u32_vec values;  /* values from outside, in order of first use */
  tl_u32_vec weights; /* such constants, unless part of the definition */
  tl_u32_vec outputs;
  tl_u32_vec inputs;      /* inputs in the order of the rule's boundary ... */
  tl_u32_vec input_names; /* ... and their names there */
  tl_u32_vec output_names;
  tl_value_id *room; /* owned; by value id; scratch of each step, zero in between */
  uint32_t n_room;
  tl_node_id foreign;               /* a node of the rule's op in the model, without a definition */
  tl_attr attrs[TL_SCOPE_SETTINGS]; /* attributes of the new node */
  const char *code;                 /* reason code of a refusal; NULL: the scope fits */
  tl_buf why;
  bool no_memory;
} tl_capture;

/* Records why the scope is not captured, and returns false. code: reason code, a static string. */
bool tl_capture_refuse(tl_capture *c, const char *code, const char *fmt, ...) TL_PRINTF(3, 4);
/* The same about node n; `what` continues the sentence that begins with its name. */
bool tl_capture_refuse_node(tl_capture *c, const char *code, tl_node_id n, const char *what);
/* Records that memory is out, and returns false. */
bool tl_capture_out_of_memory(tl_capture *c);

/* Fills c->nodes, c->behind and the boundary of scope c->scope, whose lists are empty, and assigns
 * the boundary to the ports of c->rule. Tables by id must have room for the module. Returns false
 * if the scope cannot become one node, or memory is out. O(size of the scope), plus at most
 * c->steps steps behind it. */
bool tl_capture_find_boundary(tl_capture *c);

#endif
