/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: the modules of the program that a model was exported from, as far as names tell of them.
 * Where a node is, the first of these says that tells anything:
 *   1. metadata `pkg.torch.onnx.name_scopes`, with `pkg.torch.onnx.class_hierarchy` for classes
 *   2. metadata `namespace`
 *   3. the calls of model-local functions that it came from; a scope's class is the function
 *   4. its name: all parts between '/' but the last
 * A node that none tells of is where the one node is that feeds it, if its users are there too.
 * Names prove nothing: what a rule takes it looks at. */
#ifndef TL_PASSES_EDIT_SCOPES_H
#define TL_PASSES_EDIT_SCOPES_H

#include "ir/module.h"

enum {
  TL_MOST_SCOPES_DEEP = 64, /* what is nested deeper counts for the 64th */
  TL_NO_SCOPE = 0           /* outside all scopes */
};

typedef struct tl_scope {
  uint32_t parent; /* smaller than its own number; TL_NO_SCOPE: outermost */
  uint32_t depth;  /* outermost: 1 */
  uint32_t last;   /* last number of the scopes inside; its own when there are none */
  uint32_t first;  /* its nodes, those of scopes inside too, are a range of tl_scopes.nodes */
  uint32_t n_nodes;
  tl_graph_id graph; /* the same path in a body is another scope */
  tl_symbol name;  /* of this level alone */
  tl_symbol klass; /* class of the module, or domain::function; 0: not known */
} tl_scope;

TL_VEC(tl_scope_vec, tl_scope);

typedef struct tl_scopes {
  tl_module *m;
  bool found;        /* the rest is filled */
  bool no_memory;    /* it could not be */
  tl_scope_vec at;   /* owned; by number, outer ones before inner ones; entry 0 is no scope */
  uint32_t *of;      /* owned; node id -> innermost scope */
  uint32_t n_of;     /* nodes made later are in none */
  tl_u32_vec nodes;  /* owned; by scope, within one in the order of the graph */
  tl_u32_vec ops;    /* owned; of these nodes, as they were when the scopes were found */
  tl_map verdicts;   /* owned; of rules on scopes, see passes/engine/scope.h */
} tl_scopes;

/* Finds the scopes of all graphs. O(nodes * depth). False without memory; release either way. */
bool tl_scopes_find(tl_scopes *s, tl_module *m) TL_NODISCARD;
void tl_scopes_release(tl_scopes *s);
/* The same for {.m = m}, once, when somebody asks: in most models no pattern of a rule fits. */
bool tl_scopes_ask(tl_scopes *s) TL_NODISCARD;

/* The innermost scope of a node. */
static inline uint32_t tl_scope_of(const tl_scopes *s, tl_node_id n) {
  return n < s->n_of ? s->of[n] : TL_NO_SCOPE;
}
/* Whether `inner` is the scope or inside it. */
static inline bool tl_scope_has(const tl_scopes *s, uint32_t scope, uint32_t inner) {
  return inner >= scope && inner <= s->at.at[scope].last;
}
/* Adds "/encoder/layer.0": the names from the outermost on, each behind a '/'. */
void tl_scope_path(const tl_scopes *s, uint32_t scope, tl_buf *out);

/* `*` stands for any text, '/' included; `?` for one byte. The whole name has to fit. O(n * m). */
bool tl_scope_glob_fits(tl_sv glob, tl_sv name);

/* One level of a scope while a name is taken apart; views into the text or the arena. */
typedef struct tl_scope_level {
  tl_sv name;
  tl_sv klass; /* empty: not told */
} tl_scope_level;

/* Read what the metadata of a node tells: levels [TL_MOST_SCOPES_DEEP], outermost first, without
 * the entry of the node itself. False when the text is not of that form (scope_names.c). */
bool tl_scope_levels_of_lists(tl_arena *a, tl_sv names, tl_sv classes, tl_scope_level *levels,
                              uint32_t *n);
bool tl_scope_levels_of_namespace(tl_sv text, tl_scope_level *levels, uint32_t *n);

#endif
