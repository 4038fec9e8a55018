/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: the modules of the program that a model was exported from, as far as names tell them. The
 * scope of a node comes from the first of these sources that tells one:
 *   1. metadata `pkg.torch.onnx.name_scopes`, with `pkg.torch.onnx.class_hierarchy` for classes
 *   2. metadata `namespace`
 *   3. the calls of model-local functions that it was inlined from; the function is the class
 *   4. its name: all parts between '/' but the last
 * A node without any source is in the scope of its only producer if all its users are there too.
 * Names prove nothing: a rule on scopes checks the nodes of each scope that it takes. */
#ifndef TL_PASSES_EDIT_SCOPES_H
#define TL_PASSES_EDIT_SCOPES_H

#include "ir/module.h"

enum {
  TL_NO_SCOPE = 0 /* outside all scopes */
};

/* One scope; scopes are identified by their numbers. */
typedef struct tl_scope {
  uint32_t parent; /* less than the own number; TL_NO_SCOPE: outermost */
  uint32_t depth;  /* 1 for an outermost scope */
  uint32_t last;   /* greatest number of the scopes inside; the own number if there are none */
  uint32_t first;  /* index in tl_scopes.nodes of its nodes, inner scopes included */
  uint32_t n_nodes;
  tl_graph_id graph; /* the same path in another graph is another scope */
  tl_symbol name;    /* name of this level only */
  tl_symbol klass;   /* class of the module, or domain::function; 0: unknown */
} tl_scope;

TL_VEC(tl_scope_vec, tl_scope);

/* All scopes of a module, as they were when found. */
typedef struct tl_scopes {
  tl_module *m;
  bool found;       /* the fields below are filled */
  bool no_memory;   /* finding the scopes ran out of memory */
  tl_scope_vec at;  /* owned; by number, in preorder; entry 0 stands for no scope */
  uint32_t *of;     /* owned; node id -> innermost scope */
  uint32_t n_of;    /* length of `of`; nodes made later are in no scope */
  tl_u32_vec nodes; /* owned; sorted by scope; in graph order within one scope */
  tl_u32_vec ops;   /* owned; ops of these nodes when the scopes were found */
  tl_map verdicts;  /* owned; results of rules on scopes, see passes/engine/scope.h */
} tl_scopes;

/* Finds the scopes of all graphs. Returns false if memory is out; release in both cases. O(nodes *
 * depth). */
bool tl_scopes_find(tl_scopes *s, tl_module *m) TL_NODISCARD;
/* Releases all memory of the scopes. */
void tl_scopes_release(tl_scopes *s);
/* Finds the scopes on the first call for a structure {.m = m}; later calls return the same result.
 * Lazy, because in most models no pattern of a scope rule matches. */
bool tl_scopes_ask(tl_scopes *s) TL_NODISCARD;

/* Returns the innermost scope of a node. O(1). */
static inline uint32_t tl_scope_of(const tl_scopes *s, tl_node_id n) {
  return n < s->n_of ? s->of[n] : TL_NO_SCOPE;
}
/* Returns true if `inner` is the scope or inside it. O(1), since numbers are in preorder. */
static inline bool tl_scope_has(const tl_scopes *s, uint32_t scope, uint32_t inner) {
  return inner >= scope && inner <= s->at.at[scope].last;
}
/* Appends the path of a scope, such as "/encoder/layer.0", outermost name first. */
void tl_scope_path(const tl_scopes *s, uint32_t scope, tl_buf *out);

/* Returns true if the glob matches the whole name. `*` stands for any text, '/' included; `?` for
 * one byte. O(n * m). */
bool tl_scope_glob_fits(tl_sv glob, tl_sv name);

#endif
