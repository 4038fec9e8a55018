/* SPDX-License-Identifier: Apache-2.0 */
/* Files and options of mixed precision; docs/precision.md has
 * the forms. Each reader fills the members of *out that it is about; everything they point to is in
 * the arena, or is `path`, which must live as long. All problems of a file are reported. */
#ifndef TL_FRONTEND_CONFIG_PRECISION_H
#define TL_FRONTEND_CONFIG_PRECISION_H

#include "frontend/config/settings.h"
#include "support/arena.h"
#include "support/diag.h"

/* --modify-mixlist: JSON, comments allowed. E21001 not there, E21002 no such file in form, E20003 a
 * type in lists that contradict each other. */
tl_status tl_read_mixlist(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                          tl_precision_config *out) TL_NODISCARD;
tl_status tl_read_mixlist_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                               tl_precision_config *out) TL_NODISCARD;

/* --keep-dtype: a node name or OpType::Type a line. E10410, E13001, E10003. */
tl_status tl_read_keep_dtype(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                             tl_precision_config *out) TL_NODISCARD;
tl_status tl_read_keep_dtype_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                  tl_precision_config *out) TL_NODISCARD;

/* --customize-dtypes: [OpType::]NAME:InputDtype:LIST,OutputDtype:LIST a line. E20101, E20003. */
tl_status tl_read_custom_dtypes(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                                tl_precision_config *out) TL_NODISCARD;
tl_status tl_read_custom_dtypes_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                     tl_precision_config *out) TL_NODISCARD;

/* --output-type: TYPE, or NODE:INDEX:TYPE;... where every node:index is one of options->out_nodes
 * (filled before). E10001. */
tl_status tl_read_output_type(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              const tl_options *options, tl_precision_config *out) TL_NODISCARD;

/* --input-fp16-nodes: names joined by ';'. Whether there are such inputs, the pass says. */
tl_status tl_read_fp16_inputs(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              tl_precision_config *out) TL_NODISCARD;

/* --to-float: GLOB=float16|bfloat16|float32, several joined by line feeds. */
tl_status tl_read_to_float(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                           tl_precision_config *out) TL_NODISCARD;

/* --op-block-list, --op-include-list: types joined by ',' or line feeds; --node-block-list,
 * --node-include-list: POSIX extended expressions joined by line feeds. Adds to *out, which has
 * room for tl_listed_room(text) more entries. E10001 for what is no expression. */
typedef struct tl_listed_entries {
  tl_listed *at; /* of the caller */
  uint32_t n;
} tl_listed_entries;

uint32_t tl_listed_room(tl_sv text);
tl_status tl_read_listed_types(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, bool include,
                               tl_listed_entries *out) TL_NODISCARD;
tl_status tl_read_listed_nodes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, bool include,
                               tl_listed_entries *out) TL_NODISCARD;

/* --keep-io-types: true, false, or names joined by ';'. */
tl_status tl_read_kept_signature(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                 tl_precision_config *out) TL_NODISCARD;

/* --ranges: {"tensors": [{"name": NAME, "min": N, "max": N, ...}, ...]}, as run --record-ranges
 * writes it, or {NAME: {"min": N, "max": N}, ...}; other members are skipped, and so is a tensor
 * whose min or max is null: it had no finite number. E21001 not there, E21002 no such
 * file in form. */
tl_status tl_read_ranges(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                         tl_range_policy *out) TL_NODISCARD;
tl_status tl_read_ranges_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_range_policy *out) TL_NODISCARD;

/* --amp-level: mode of a level and whether lists count in it; false for a name that is none. */
bool tl_amp_level_mode(tl_sv name, bool bfloat, tl_precision_mode *mode, bool *lists_count);
/* Colours of a level that exists, under the edits that *c has already. */
tl_status tl_apply_amp_level(tl_diag *d, tl_arena *a, tl_location where, tl_sv name,
                             tl_precision_config *c) TL_NODISCARD;

/* A dtype as users of the NPU stack write it, in any case: "float", "FP16", "bfloat16", "DT_INT8"
 * ...; TL_DTYPE_NONE when it is none. */
tl_dtype tl_user_dtype(tl_sv name);

/* Mode, lists and switches together, once the chip and --out-nodes are known: fills s->precision.
 * Refuses combinations with GE's codes: E10001, E10056, E20101. */
tl_status tl_resolve_precision(tl_settings *s, tl_diag *d) TL_NODISCARD;

#endif
