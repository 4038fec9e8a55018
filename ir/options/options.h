/* SPDX-License-Identifier: Apache-2.0 */
/* Typed options of a conversion: filled and checked once by frontend/config, read by passes and
 * backends. Every pointer is borrowed from whoever filled the struct. */
#ifndef TL_IR_OPTIONS_OPTIONS_H
#define TL_IR_OPTIONS_OPTIONS_H

#include "ir/chip/op_info.h"
#include "ir/options/fusion_config.h"
#include "ir/options/impl_modes.h"
#include "ir/options/precision_config.h"
#include "ir/options/train_config.h"
#include "ir/type.h"

/* --input-shape: one entry per named input. */
typedef struct tl_input_shape {
  tl_sv name;
  const tl_dim *dims; /* [rank]; TL_DIM_UNKNOWN keeps a dim dynamic */
  int rank;
  const tl_dim *bounds; /* [2 * rank]: lowest and highest size of each dim, TL_DIM_UNKNOWN where
                           there is none; NULL: no dim has bounds */
} tl_input_shape;

/* Sizes that a model with open dims is to work with: a profile of --dynamic-batch-size and the
 * like, or one end of the bounds in --input-shape. */
typedef struct tl_profile {
  tl_sv text;                   /* as the option has it, "736,960"; or "lowest sizes" */
  const tl_input_shape *shapes; /* as many as the options have, in their order */
  bool bound;                   /* of bounds: nobody said that the model works there */
} tl_profile;

/* --freeze: the value of one input, as text or as the array of a file. */
typedef struct tl_frozen_input {
  tl_sv name;
  const char *path;    /* NULL: not from a file */
  const tl_sv *items;  /* [n] elements as text, row-major; NULL: `data` has them */
  const void *data;    /* as in memory: row-major, packed */
  uint64_t bytes;      /* of data */
  tl_dtype dtype;      /* of data */
  uint64_t n;          /* elements */
  const int64_t *dims; /* [rank] */
  int rank;
} tl_frozen_input;

/* --out-nodes: either "node:index" (by_node) or a value name. */
typedef struct tl_out_node {
  tl_sv name;
  uint32_t index;
  bool by_node;
} tl_out_node;

/* --op-name-map: custom op type -> op type to use instead. */
typedef struct tl_op_rename {
  tl_sv from;
  tl_sv to;
} tl_op_rename;

typedef enum tl_external_weight {
  TL_WEIGHTS_INSIDE = 0,   /* in the model file (split form above 2 GiB) */
  TL_WEIGHTS_SEPARATE = 1, /* one file per weight */
  TL_WEIGHTS_COMBINED = 2  /* one file for all */
} tl_external_weight;

/* An option for the device compiler that this compiler records in the model's attributes. */
typedef struct tl_carried_option {
  tl_sv key; /* GE's name, e.g. "ge.deterministic" */
  tl_sv value;
} tl_carried_option;

/* --rules: a file of rewrite rules, as it was read. */
typedef struct tl_rule_file {
  const char *path;
  tl_sv text;
} tl_rule_file;

/* What fusions are for (--target). */
typedef enum tl_target {
  TL_TARGET_NPU,  /* those that the chip has ops for */
  TL_TARGET_ONNX, /* those whose ops every ONNX runtime has */
  TL_TARGET_ORT,  /* those and what ONNX Runtime has beside, in com.microsoft */
  TL_TARGET_NONE, /* none */
  TL_N_TARGETS
} tl_target;

/* How far results of a rewritten model may be from those of the original. */
typedef enum tl_numerics {
  TL_NUMERICS_EXACT,         /* the same bits */
  TL_NUMERICS_REASSOCIATING, /* the same function, rounded elsewhere */
  TL_NUMERICS_APPROXIMATE    /* another function within a stated tolerance */
} tl_numerics;

/* Types of the members that rows of plain.tbl make, by the kind of option. */
typedef bool tl_plain_FLAG;
typedef bool tl_plain_BOOL;
typedef int64_t tl_plain_INT;

typedef struct tl_options {
  const char *soc_version;       /* as the device compiler spells it; NULL: Ascend910B1 */
  const tl_soc *chip;            /* its family; ask tl_options_chip */
  const tl_op_info_set *op_info; /* NULL: what is built in for the family */
  const char *input_format;      /* "NCHW" (default), "ND", "NCDHW" */
  const tl_input_shape *input_shapes;
  uint32_t n_input_shapes;
  const tl_profile *profiles;
  uint32_t n_profiles;
  const tl_input_shape *listed_shapes; /* dynamic_inputs_shape_range: for data inputs in their
                                          order; a name that is an input's is for that one */
  uint32_t n_listed_shapes;
  const tl_frozen_input *frozen; /* inputs that become constants */
  uint32_t n_frozen;
  const tl_out_node *out_nodes;
  uint32_t n_out_nodes;
  const tl_op_rename *op_renames;
  uint32_t n_op_renames;
  const tl_sv *custom_ops; /* --allow-custom-ops; ask tl_options_custom_op */
  uint32_t n_custom_ops;
  tl_external_weight external_weight;
  const tl_carried_option *carried;
  uint32_t n_carried;
  uint64_t device_memory;         /* bytes; 0: not known */
  uint64_t max_tensor;            /* bytes of one tensor that is computed; 0: no bound */
  bool tell_unmapped;             /* warn about nodes that allow_unmapped lets pass */
  bool memory_order;              /* order nodes for less memory, see --order */
  bool deterministic;             /* kernels that add up in one order, where there are such */
  const tl_fusion_config *fusion; /* which fusion passes are on; NULL: the defaults */
  const tl_rule_file *rule_files; /* in the order given: later ones override */
  uint32_t n_rule_files;
  tl_target target;                     /* what fusions are for */
  tl_numerics numerics;                 /* rules of a looser class are off */
  const struct tl_aipp_config *aipp;    /* preprocessing of images (aipp.h); NULL: none */
  const tl_precision_config *precision; /* NULL: the model's own dtypes */
  const tl_impl_config *impl_modes;     /* NULL: kernels as the device compiler chooses */
  const char *optim_model;              /* file of the second model of two to be linked, or NULL */
  const tl_train_config *train;         /* NULL: no training graph; else see its member `train` */
/* What a row of plain.tbl says in its column `help`. */
#define PLAIN(id, name, aliases, kind, values, fallback, commands, group, member, help)            \
  tl_plain_##kind member;
#include "ir/options/plain.tbl"
} tl_options;

/* Returns the options of a run that asks for nothing: all zero but the documented defaults. A flag
 * has no default in its row, which "+ 0" makes false. */
static inline tl_options tl_options_default(void) {
  return (tl_options){
#define PLAIN(id, name, aliases, kind, values, fallback, commands, group, member, help)            \
  .member = fallback + 0,
#include "ir/options/plain.tbl"
      .input_format = "NCHW", .numerics = TL_NUMERICS_REASSOCIATING};
}

/* Do the passes of training graphs run? */
static inline bool tl_train_is_on(const tl_options *o) { return o->train && o->train->train; }

/* The chip family, and the op information, that options ask for. Never NULL. */
static inline const tl_soc *tl_options_chip(const tl_options *o) {
  return o->chip ? o->chip : tl_soc_default();
}
static inline const tl_op_info_set *tl_options_op_info(const tl_options *o) {
  return o->op_info ? o->op_info : tl_op_info_builtin(tl_options_chip(o)->table);
}

#endif
