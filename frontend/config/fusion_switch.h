/* SPDX-License-Identifier: Apache-2.0 */
/* Reads fusion switches: the switch file of atc in both its formats, and command-line options.
 * docs/fusion-switch.md describes the formats. */
#ifndef TL_FRONTEND_CONFIG_FUSION_SWITCH_H
#define TL_FRONTEND_CONFIG_FUSION_SWITCH_H

#include "ir/options/fusion_config.h"
#include "support/arena.h"

/* Each function sets some members of *out and leaves the others. What *out points to is in the
 * arena, or is `path`, which must live as long. */

/* Reads the file of --fusion-switch-file. where: the option. E10001 for characters that atc does
 * not allow in paths; E21001, E21002, E20003 as in atc. */
tl_status tl_read_fusion_file(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                              tl_fusion_config *out) TL_NODISCARD;
/* Reads a switch file from memory; `path` names it in messages. */
tl_status tl_read_fusion_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_fusion_config *out) TL_NODISCARD;

/* Reads --optimization-switch="PASS:on;PASS:off". Malformed entries are skipped with a warning, as
 * in atc. */
tl_status tl_read_optimization_switch(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                      tl_fusion_config *out) TL_NODISCARD;
/* Reads --enable-scope-fusion-passes or its opposite: comma-separated names. Blanks around names
 * and empty names are ignored. text: NULL for none. */
tl_status tl_read_fusion_names(tl_diag *d, tl_arena *a, tl_location where, const char *text,
                               tl_fusion_list *out) TL_NODISCARD;
/* Reads --fusion=PASS:off, several joined by ';'. Malformed entries are refused. */
tl_status tl_read_fusion_option(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                tl_fusion_config *out) TL_NODISCARD;

#endif
