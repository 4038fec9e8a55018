/* SPDX-License-Identifier: Apache-2.0 */
/* Implementation modes of kernels: what op_precision_mode and its relatives ask for, by node and by
 * op type. They choose among kernels of an op on the device and change no dtype of the graph. */
#ifndef TL_IR_OPTIONS_IMPL_MODES_H
#define TL_IR_OPTIONS_IMPL_MODES_H

#include <stdbool.h>

#include "support/str.h"

/* Attribute of a node in AIR that holds the number of its mode. */
#define TL_IMPL_MODE_ATTR "_op_impl_mode_enum"

typedef struct tl_impl_mode {
  const char *name;
  int64_t number; /* as kernels get it; 0: known by name only, recorded with the option alone */
} tl_impl_mode;

/* The mode of a name, NULL when there is none. */
const tl_impl_mode *tl_impl_mode_find(tl_sv name);

typedef struct tl_impl_entry {
  tl_sv name; /* of a node, or an NPU op type */
  const tl_impl_mode *mode;
  uint32_t line; /* of the file; 0: from an option */
} tl_impl_entry;

typedef enum tl_hf32 { TL_HF32_UNSAID, TL_HF32_OFF, TL_HF32_ON } tl_hf32;

typedef struct tl_impl_config {
  const tl_impl_entry *nodes; /* by name, ascending, no name twice */
  uint32_t n_nodes;
  const tl_impl_entry *types; /* by type, ascending, no type twice */
  uint32_t n_types;
  const char *path; /* of the file; NULL: from options */
  tl_hf32 hf32;     /* --allow-hf32: goes before types, behind nodes, for f32 matrix ops */
} tl_impl_config;

static inline bool tl_impl_config_says_nothing(const tl_impl_config *c) {
  return c->n_nodes == 0 && c->n_types == 0 && c->hf32 == TL_HF32_UNSAID;
}

#endif
