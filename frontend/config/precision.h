/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files and options of mixed precision; docs/precision.md describes their forms.
 * Each reader sets some members of *out and leaves the others. What they point to is in the arena,
 * or is `path`, which must live as long. All problems of a file are reported. */
#ifndef TL_FRONTEND_CONFIG_PRECISION_H
#define TL_FRONTEND_CONFIG_PRECISION_H

#include "frontend/config/settings.h"
#include "support/arena.h"
#include "support/diag.h"

/* Read --modify-mixlist: JSON with comments. E21001: no such file; E21002: wrong form; E20003: a
 * type is in lists that contradict each other. */
tl_status tl_read_mixlist(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                          tl_precision_config *out) TL_NODISCARD;
tl_status tl_read_mixlist_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                               tl_precision_config *out) TL_NODISCARD;

/* Read --keep-dtype: one node name or OpType::Type per line. E10410, E13001, E10003. */
tl_status tl_read_keep_dtype(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                             tl_precision_config *out) TL_NODISCARD;
tl_status tl_read_keep_dtype_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                  tl_precision_config *out) TL_NODISCARD;

/* Read --customize-dtypes: one [OpType::]NAME:InputDtype:LIST,OutputDtype:LIST per line. E20101,
 * E20003. */
tl_status tl_read_custom_dtypes(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                                tl_precision_config *out) TL_NODISCARD;
tl_status tl_read_custom_dtypes_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                                     tl_precision_config *out) TL_NODISCARD;

/* Reads --output-type: TYPE, or NODE:INDEX:TYPE;... where every NODE:INDEX must be in
 * options->out_nodes. E10001. */
tl_status tl_read_output_type(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              const tl_options *options, tl_precision_config *out) TL_NODISCARD;

/* Reads --input-fp16-nodes: names joined by ';'. The pass checks that such inputs exist. */
tl_status tl_read_fp16_inputs(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              tl_precision_config *out) TL_NODISCARD;

/* Reads --to-float: GLOB=float16|bfloat16|float32, several joined by line feeds. */
tl_status tl_read_to_float(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                           tl_precision_config *out) TL_NODISCARD;

/* Entries of block and include lists. */
typedef struct tl_listed_entries {
  tl_listed *at; /* owned by the caller, who allocates it */
  uint32_t n;
} tl_listed_entries;

/* Returns an upper bound on the entries of a text. */
uint32_t tl_listed_room(tl_sv text);
/* Read --op-block-list or --op-include-list (`include`): types joined by ',' or line feeds; and
 * --node-block-list or --node-include-list: POSIX extended expressions joined by line feeds. Both
 * add to *out, which must have room for tl_listed_room(text) more entries. E10001 for a text that
 * is no expression. */
tl_status tl_read_listed_types(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, bool include,
                               tl_listed_entries *out) TL_NODISCARD;
tl_status tl_read_listed_nodes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text, bool include,
                               tl_listed_entries *out) TL_NODISCARD;

/* Reads --keep-io-types: true, false, or names joined by ';'. */
tl_status tl_read_kept_signature(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                 tl_precision_config *out) TL_NODISCARD;

/* Read --ranges: {"tensors": [{"name": NAME, "min": N, "max": N, ...}, ...]}, as run
 * --record-ranges writes it, or {NAME: {"min": N, "max": N}, ...}. Other members are skipped, and
 * so is a tensor whose min or max is null, since it had no finite element. E21001: no such file;
 * E21002: wrong form. */
tl_status tl_read_ranges(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                         tl_range_policy *out) TL_NODISCARD;
tl_status tl_read_ranges_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_range_policy *out) TL_NODISCARD;

/* Finds the mode of an --amp-level and whether lists count in it; false if there is no such level.
 */
bool tl_amp_level_mode(tl_sv name, bool bfloat, tl_precision_mode *mode, bool *lists_count);
/* Sets the colours of an existing level; edits that *c has already win over them. */
tl_status tl_apply_amp_level(tl_diag *d, tl_arena *a, tl_location where, tl_sv name,
                             tl_precision_config *c) TL_NODISCARD;

/* Returns a dtype as users of the NPU stack write it, in any case: "float", "FP16", "bfloat16",
 * "DT_INT8" ...; TL_DTYPE_NONE if it is none. */
tl_dtype tl_user_dtype(tl_sv name);

/* Fills s->precision from mode, lists and switches. The chip and --out-nodes must be known. Refuses
 * invalid combinations with GE's codes: E10001, E10056, E20101. */
tl_status tl_resolve_precision(tl_settings *s, tl_diag *d) TL_NODISCARD;

#endif
