/* SPDX-License-Identifier: Apache-2.0 */
/* The textual IR, out of a module (docs/textual-ir.md). Printing changes nothing and depends on
 * nothing but the module: parsing the text and printing it again gives the same bytes. */
#ifndef TL_IR_TEXT_PRINT_H
#define TL_IR_TEXT_PRINT_H

#include "ir/module.h"

typedef struct tl_print_options {
  bool skip_types;      /* leave the types of node results out */
  bool elide_constants; /* "..." for constants of more than 16 elements; does not parse */
  bool elide_bodies;    /* "graph {...}" for bodies; does not parse */
  bool skip_extra;      /* leave documentation and metadata out */
  bool keep_numbers;    /* numbers of unnamed values do not depend on other lines: the same before
                         * and after a change of the module */
} tl_print_options;

/* Adds the whole module: header (unless it says nothing), graphs, bodies inside their nodes.
 * o: NULL for the form that round-trips. TL_NO_MEMORY; TL_LIMIT when bodies nest too deep. */
tl_status tl_module_print(const tl_module *m, tl_buf *out, const tl_print_options *o) TL_NODISCARD;
/* Adds one root graph or body. */
tl_status tl_graph_print(const tl_module *m, tl_graph_id g, tl_buf *out,
                         const tl_print_options *o) TL_NODISCARD;

/* Prints single statements of a module as they stand in its text: unnamed values have the numbers
 * that they have there. */
typedef struct tl_lines tl_lines;
/* Numbers the unnamed values of the module, which must not change until tl_lines_close. out: gets
 * the lines. NULL when memory is out, or when bodies nest too deep. */
tl_lines *tl_lines_open(const tl_module *m, tl_buf *out, const tl_print_options *o);
/* Add the line of a node; that of an input or constant, without the word before it; a reference
 * to a value. None ends in a line feed. */
void tl_lines_node(tl_lines *l, tl_node_id n);
void tl_lines_declaration(tl_lines *l, tl_value_id v);
void tl_lines_value(tl_lines *l, tl_value_id v);
/* Frees the printer; NULL is fine. */
void tl_lines_close(tl_lines *l);

/* Adds the value of a constant as it stands behind "=": 1.5, [1, 2], file("a.onnx", 64, 4096) ...
 */
void tl_tensor_print(const tl_module *m, const tl_tensor *t, bool elide, tl_buf *out);
/* Adds an attribute value of any kind but GRAPH and GRAPHS. */
void tl_attr_print(const tl_module *m, const tl_attr *a, bool elide, tl_buf *out);

#endif
