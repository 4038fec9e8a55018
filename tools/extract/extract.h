/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a part out of a model: names become values (names.c), a walk finds what the part needs
 * (walk.c), the rest goes (cut.c), and a run of the whole gives the tensors at the border
 * (data.c). */
#ifndef TL_TOOLS_EXTRACT_EXTRACT_H
#define TL_TOOLS_EXTRACT_EXTRACT_H

#include "tools/cli/cli.h"

/* A part of the main graph of a module. Zero-initialise but for cli and m. Lists and tables are
 * owned. */
typedef struct tl_part {
  tl_cli *cli;
  tl_module *m;
  bool closed;      /* --from was given */
  tl_u32_vec from;  /* values that become inputs, in the order of --from */
  tl_u32_vec heads; /* nodes that --from names */
  tl_u32_vec to;    /* values that become outputs */
  uint8_t *value;   /* by value: set of TL_PART_ */
  uint8_t *node;    /* by node: likewise */
  uint8_t joined;   /* of a walk: marks of what one node uses */
  tl_u32_vec work;  /* of a walk: values that are still to be looked at */
  uint32_t *input;  /* of the cut, by value: the input that stands for it, 0: none */
  tl_buf notes;     /* what to tell, whole lines; initialised */
} tl_part;

enum {
  TL_PART_BORDER = 1 << 0,  /* --from names it */
  TL_PART_OUTPUT = 1 << 1,  /* the part gives it */
  TL_PART_NEEDED = 1 << 2,  /* the part has it */
  TL_PART_REACHED = 1 << 3, /* computed from a border */
  TL_PART_LIVE = 1 << 4,    /* computed from an input of the model */
  TL_PART_ROUND = 1 << 5    /* comes round the border */
};

/* Frees lists and tables. */
void tl_part_release(tl_part *p);

/* Fills from, heads and to as --from and --to say; `to` stays empty without --to. Reports names
 * that the main graph does not have, and values that cannot stand there: TL_INVALID_ARGUMENT.
 * TL_NO_MEMORY. */
tl_status tl_part_names(tl_part *p) TL_NODISCARD;

/* Marks what the part has. Without --to the outputs of the model that depend on --from become those
 * of the part. Reports a border that no output needs, and outputs that nothing computes:
 * TL_INVALID_ARGUMENT. TL_NO_MEMORY. */
tl_status tl_part_walk(tl_part *p) TL_NODISCARD;

/* Marks what the outputs `to` need, back to the values that are marked as border. TL_NO_MEMORY,
 * reported. */
tl_status tl_part_mark_needed(tl_part *p) TL_NODISCARD;

/* Reduces the module to the part. Of training states, gradients and control edges stay those that
 * lie within it; a warning counts the others. After a failure, TL_NO_MEMORY, the module is only
 * good for destruction. */
tl_status tl_part_cut(tl_part *p) TL_NODISCARD;

/* Runs the whole model, which is read again, and writes the tensors at the border of the part that
 * was cut to the folder of --data. text: NULL, or gets a line about random inputs. Errors are those
 * of a run. */
tl_status tl_part_record(tl_cli *cli, const tl_module *part, tl_buf *text) TL_NODISCARD;

/* Calls fn for each value of the main graph that a node uses, in its bodies, too. A value that is
 * used twice is given twice. */
typedef tl_status (*tl_used_fn)(tl_part *p, tl_value_id v);
tl_status tl_part_each_used(tl_part *p, tl_node_id n, tl_used_fn fn) TL_NODISCARD;

#endif
