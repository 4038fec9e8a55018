/* SPDX-License-Identifier: Apache-2.0 */
/* What a user asked of mixed precision: filled and checked by frontend/config, read by the passes.
 * All pointers are borrowed from whoever filled the struct. Entries keep the order of their files;
 * those that match nothing are warned about by the pass, which alone knows. */
#ifndef TL_IR_OPTIONS_PRECISION_CONFIG_H
#define TL_IR_OPTIONS_PRECISION_CONFIG_H

#include "ir/chip/colour.h"
#include "ir/type.h"

/* The modes behind both precision_mode and precision_mode_v2 (tl_precision_mode_info). */
typedef enum tl_precision_mode {
  TL_PRECISION_ORIGIN, /* must_keep_origin_dtype: never reduce */
  TL_PRECISION_FORCE_FP16,
  TL_PRECISION_ALLOW_FP16, /* allow_fp32_to_fp16: reduce where nothing else is possible */
  TL_PRECISION_MIX_FP16,   /* by colour */
  TL_PRECISION_FORCE_FP32,
  TL_PRECISION_ALLOW_BF16,
  TL_PRECISION_MIX_BF16,
  TL_PRECISION_CUBE_HIF8,
  TL_PRECISION_MIX_HIF8,
  TL_N_PRECISION_MODES
} tl_precision_mode;

/* f32 takes what bf16 and f16 hold; these three alone change under a precision mode. */
static inline bool tl_dtype_is_ranked(tl_dtype d) {
  return d == TL_DTYPE_F32 || d == TL_DTYPE_F16 || d == TL_DTYPE_BF16;
}

/* Edits of modify_mixlist, a bit set for each op type. */
enum {
  TL_MIX_ADD_BLACK = 1 << 0,
  TL_MIX_REMOVE_BLACK = 1 << 1,
  TL_MIX_ADD_WHITE = 1 << 2,
  TL_MIX_REMOVE_WHITE = 1 << 3,
  TL_MIX_ADD_GRAY = 1 << 4,
  TL_MIX_REMOVE_GRAY = 1 << 5
};

typedef struct tl_mix_edit {
  tl_sv type;    /* NPU op type, or onnx::Type for the op of the model */
  uint8_t edits; /* TL_MIX_*, one of the 11 legal sets */
  uint32_t line; /* of the file, for messages; 0: unknown */
} tl_mix_edit;

/* A line of keep_dtype. */
typedef struct tl_keep_entry {
  tl_sv name;
  bool is_type; /* OpType:: stood before it */
  uint32_t line;
} tl_keep_entry;

/* A line of customize_dtypes; TL_DTYPE_NONE leaves a slot open. */
typedef struct tl_custom_entry {
  tl_sv name;
  bool is_type;
  const tl_dtype *in; /* [n_in] */
  uint32_t n_in;
  const tl_dtype *out; /* [n_out] */
  uint32_t n_out;
  uint32_t line;
} tl_custom_entry;

/* --to-float: nodes whose scope or name fits a glob run in this dtype: f16 and bf16 make them white
 * in the mode of that type, f32 makes them black. The first that fits wins. */
typedef struct tl_to_float {
  tl_sv glob; /* `*` any text without '/', `**` any text, `?` one character */
  tl_dtype dtype;
} tl_to_float;

/* --op-include-list, --node-include-list: in the low dtype of the mode, whatever a policy or a
 * colour says; --op-block-list, --node-block-list: not lowered. Including goes before blocking. */
typedef struct tl_listed {
  tl_sv text; /* an op type of the model or of the NPU, or a pattern (support/pattern.h) */
  bool is_type;
  bool include;
} tl_listed;

/* --output-type for one output, or (node empty) for all. */
typedef struct tl_output_dtype {
  tl_sv node;
  uint32_t index;
  tl_dtype dtype;
} tl_output_dtype;

typedef enum tl_const_policy {
  TL_CONST_CLAMP,     /* elements out of range become its limit (is_weight_clip=1) */
  TL_CONST_INFINITE,  /* they become infinite (is_weight_clip=0) */
  TL_CONST_KEEP_FP32, /* the op that wants the constant low stays as it is */
  TL_CONST_ERROR
} tl_const_policy;

/* What becomes of an op that no engine takes with its dtypes (P0201). */
typedef enum tl_infeasible { TL_INFEASIBLE_ERROR, TL_INFEASIBLE_KEEP } tl_infeasible;

/* Least and greatest number of a tensor over sample inputs. */
typedef struct tl_measured_range {
  tl_sv name;
  double least;
  double greatest;
} tl_measured_range;

/* --precision-policy=range: nodes whose numbers leave the range of the low dtype stay wide. */
typedef struct tl_range_policy {
  bool on;
  bool declined;      /* the user says that it is to be off */
  double data_max;    /* greatest magnitude of computed numbers, 0: that of the low dtype */
  double init_max;    /* likewise of constants */
  uint64_t max_depth; /* most elements that one reduction may add up */
  const tl_measured_range *measured;
  uint32_t n_measured;
} tl_range_policy;

typedef struct tl_precision_config {
  tl_precision_mode mode;
  const char *mode_name; /* as the user wrote it, for messages; NULL: by default */
  bool by_chip; /* nobody asked for a mode: dtypes stay where the chip has them and become f16 where
                   it has nothing wider; the mode is then ALLOW_FP16, whose matrix ops do not go
                   before the others */
  const char *high_precision; /* what asks for the precise kernels of all ops; NULL: nothing */
  /* Colours: those of the SoC's table, or for all types that no edit names (presets) this one. */
  bool recoloured;
  tl_op_colour unlisted;  /* when recoloured */
  const tl_mix_edit *mix; /* one entry a type */
  uint32_t n_mix;
  const char *mix_path;
  const tl_keep_entry *keep;
  uint32_t n_keep;
  const char *keep_path;
  const tl_custom_entry *custom;
  uint32_t n_custom;
  const char *custom_path;
  const tl_to_float *to_float;
  uint32_t n_to_float;
  const tl_listed *listed;
  uint32_t n_listed;
  bool lower_signature; /* --keep-io-types=false or names: f32 inputs and outputs become low */
  const tl_sv *kept_signature; /* inputs and outputs that stay all the same */
  uint32_t n_kept_signature;
  const tl_sv *promote; /* op types whose operands go to the widest of them (preset auto) */
  uint32_t n_promote;
  const tl_sv *fp16_inputs; /* input_fp16_nodes: graph inputs that become f16 */
  uint32_t n_fp16_inputs;
  const tl_output_dtype *outputs;
  uint32_t n_outputs;
  tl_const_policy constants;
  tl_infeasible infeasible;
  tl_range_policy ranges;
  bool strict_mix_low; /* white ops take the low type of the mode, not the first low column */
  bool ge_colours;     /* +G alone changes nothing, as in GE */
  bool lossy_casts;    /* inserted casts cancel as in GE, values in between are not rounded */
} tl_precision_config;

typedef struct tl_precision_mode_info {
  const char *v1[2];   /* names in precision_mode; NULL: none */
  const char *v2;      /* name in precision_mode_v2; NULL: none */
  bool mixed;          /* by colour: modify_mixlist makes sense */
  tl_dtype low;        /* the type it lowers to; NONE: it lowers nothing */
  const char *meaning; /* one clause */
} tl_precision_mode_info;

const tl_precision_mode_info *tl_precision_mode_get(tl_precision_mode mode);
/* True when the mode makes some f32 narrower, so that policies and lists have something to say. */
bool tl_precision_mode_lowers(tl_precision_mode mode);
/* Mode of a name in precision_mode (v2 false) or precision_mode_v2; false when there is none. */
bool tl_precision_mode_find(tl_sv name, bool v2, tl_precision_mode *out);

/* The default: the model's own dtypes. */
static inline tl_precision_config tl_precision_default(void) {
  return (tl_precision_config){.mode = TL_PRECISION_ORIGIN};
}
/* True when nothing was asked for, so that the model's dtypes stay without a look at any node. */
bool tl_precision_is_inert(const tl_precision_config *c);

/* Is the set one of the 11 that make sense together? */
bool tl_mix_edits_legal(uint8_t edits);
/* Colour of a type after its edits, and whether a removal named a colour that the type does not
 * have (*missed; a warning). */
tl_op_colour tl_mix_colour(uint8_t edits, tl_op_colour before, bool ge_colours, bool *missed);
#endif
