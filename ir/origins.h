/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes that passes made come from, as references: a chain of rewrites adds one reference a
 * step, and a list of names is written only when somebody reads it (trace.h). */
#ifndef TL_IR_ORIGINS_H
#define TL_IR_ORIGINS_H

#include "ir/module.h"

/* A tl_origin (module.h) is a number and, in its lowest two bits, what it is. */
typedef enum tl_origin_kind {
  TL_ORIGIN_NAME, /* symbol: the name of a node of the model */
  TL_ORIGIN_LIST, /* symbol: a list of such names, as trace.h writes them */
  TL_ORIGIN_MANY  /* index into module->origins: a count, and so many references */
} tl_origin_kind;

/* Makes a reference; TL_NO_ORIGIN for what is too large for one, which is treated as a lack of
 * memory. */
#define TL_NO_ORIGIN UINT32_MAX
tl_origin tl_origin_of(tl_origin_kind kind, uint32_t number);
/* Makes a reference to n others, among which may be 0 for none and some that are equal; 0 if
 * nothing is left, TL_NO_ORIGIN when memory is out. */
tl_origin tl_origin_join(tl_module *m, const tl_origin *from, uint32_t n);

/* A walk over the names and lists behind a reference, in their order. What several paths lead to is
 * met once. */
typedef struct tl_origin_walk {
  const tl_module *m;
  tl_origin one;    /* the only one, if it leads to no others */
  tl_u32_vec stack; /* places in module->origins, and behind each where its references end */
  tl_map seen;      /* references to others */
  bool failed;      /* memory is out: the walk has ended early */
} tl_origin_walk;

/* Starts a walk, which tl_origin_end releases. */
void tl_origin_start(tl_origin_walk *w, const tl_module *m, tl_origin from);
/* Gives the next name or list; false behind the last one. */
bool tl_origin_next(tl_origin_walk *w, tl_origin_kind *kind, tl_symbol *symbol);
void tl_origin_end(tl_origin_walk *w);

#endif
