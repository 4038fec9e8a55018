/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: the rows of the chip's table under which nodes are judged, made on first use. */
#ifndef TL_PASSES_PRECISION_FORM_H
#define TL_PASSES_PRECISION_FORM_H

#include "passes/precision/decision.h"
#include "passes/precision/types.h"

typedef struct tl_precision_forms tl_precision_forms;

/* Creates an empty cache of forms in `arena`; forms are made on first use. Returns NULL if memory
 * is out. */
tl_precision_forms *tl_precision_forms_create(tl_module *m, const tl_options *options,
                                              tl_arena *arena);
/* Returns the form of a node in *out, never NULL on success. TL_NO_MEMORY or TL_INTERNAL, reported.
 * O(1) after the first node of its op. */
tl_status tl_precision_form_of(tl_precision_forms *f, tl_node_id n,
                               const tl_precision_form **out) TL_NODISCARD;
/* Returns the number of columns of the largest row met so far. */
uint32_t tl_precision_forms_widest(const tl_precision_forms *f);
/* Warns about types of the mix list that no table knows, or that fit no node because the nodes are
 * judged under another name. Counts the other types that fit no node in *n_unused and appends the
 * first names to *unused. */
void tl_precision_warn_mix(const tl_precision_forms *f, const tl_precision_types *t, tl_buf *unused,
                           uint32_t *n_unused);

#endif
