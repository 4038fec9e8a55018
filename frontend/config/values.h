/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of structured option values, for settings_resolve.c.
 * Each reports errors at `where` and fills arena memory. Blanks around items and an empty item at
 * the end (a trailing separator) are ignored. */
#ifndef TL_FRONTEND_CONFIG_VALUES_H
#define TL_FRONTEND_CONFIG_VALUES_H

#include "ir/options/options.h"
#include "support/arena.h"
#include "support/diag.h"

/* Reads "name:1,3,224,224;mask:" and the older "name:[1~8,3]". *ranged: true if an A~B occurred. */
tl_status tl_read_input_shapes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                               tl_options *out, bool *ranged) TL_NODISCARD;

/* Reads "getnext:[128,3~5,-1],[128];data:[]": shapes for the inputs in their order. E-OPT-TYPE,
 * E10002, E10011. */
tl_status tl_read_shape_lists(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                              tl_options *out) TL_NODISCARD;
/* Reads "name=3;other=[1,2];third=file.npy" into out->frozen. E10002; errors of the .npy reader. */
tl_status tl_read_frozen(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                         tl_options *out) TL_NODISCARD;
/* Reads names joined by ',' or line feeds into out->custom_ops. E10001. */
tl_status tl_read_custom_ops(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                             tl_options *out) TL_NODISCARD;
/* Reads "node:0;node:1" or "name;name". */
tl_status tl_read_out_nodes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                            tl_options *out) TL_NODISCARD;

/* Reads a file of "from:to" lines; '#' starts a comment. */
tl_status tl_read_name_map(tl_diag *d, tl_arena *a, const char *path, tl_options *out) TL_NODISCARD;

/* Reads rule files; paths are joined by line feeds. */
tl_status tl_read_rule_files(tl_diag *d, tl_arena *a, tl_sv paths, tl_options *out) TL_NODISCARD;

/* Reads an AIPP configuration (ir/options/aipp.h) into out->aipp, with the defaults of the device
 * compiler. Errors name line and field. */
tl_status tl_read_aipp(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                       tl_options *out) TL_NODISCARD;

/* Finds the chip of a name. An unknown name is refused, and the message names the nearest one. */
tl_status tl_read_soc(tl_diag *d, tl_arena *a, tl_location where, const char *text,
                      tl_options *out) TL_NODISCARD;

/* Reads files and folders of op information, joined by line feeds, into out->op_info. The chip must
 * be known. */
tl_status tl_read_op_info(tl_diag *d, tl_arena *a, tl_location where, tl_sv paths,
                          tl_options *out) TL_NODISCARD;

/* The option that gives profiles of dynamic shapes. */
typedef enum tl_dynamic_kind {
  TL_DYNAMIC_BATCH,
  TL_DYNAMIC_IMAGE,
  TL_DYNAMIC_DIMS
} tl_dynamic_kind;

/* Reads a value of --dynamic-batch-size, -image-size or -dims into out->profiles: each fills the
 * open dims of the input shapes, which must have been read. Errors have the codes of atc. */
tl_status tl_read_profiles(tl_diag *d, tl_arena *a, tl_location where, tl_dynamic_kind kind,
                           tl_sv text, tl_options *out) TL_NODISCARD;

/* Makes profiles of the bounds of input shapes: one with all lowest sizes and one with all highest.
 * A bound of 0 counts as 1; dims without an upper bound stay open. */
tl_status tl_read_corners(tl_diag *d, tl_arena *a, tl_options *out) TL_NODISCARD;

/* Returns a hint for a malformed value: about an unexpanded placeholder, about a full-width
 * character, else `otherwise`. */
const char *tl_value_hint(tl_sv text, const char *otherwise);

#endif
