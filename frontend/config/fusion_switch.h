/* SPDX-License-Identifier: Apache-2.0 */
/* What users say about fusion passes: the switch file of atc in both its grammars, and options.
 * The texts are described in docs/fusion-switch.md. */
#ifndef TL_FRONTEND_CONFIG_FUSION_SWITCH_H
#define TL_FRONTEND_CONFIG_FUSION_SWITCH_H

#include "ir/options/fusion_config.h"
#include "support/arena.h"

/* Each fills the members of *out that it is about and leaves the others. Everything that *out then
 * points to is in the arena, or is `path`, which must live as long. */

/* --fusion-switch-file. where: the option. E10001 for characters that atc's paths do not have,
 * E21001, E21002, E20003 as atc. */
tl_status tl_read_fusion_file(tl_diag *d, tl_arena *a, tl_location where, const char *path,
                              tl_fusion_config *out) TL_NODISCARD;
/* The same from memory; path names it in messages. */
tl_status tl_read_fusion_text(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                              tl_fusion_config *out) TL_NODISCARD;

/* --optimization-switch="PASS:on;PASS:off": what does not fit is skipped with a warning, as atc
 * skips it. */
tl_status tl_read_optimization_switch(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                      tl_fusion_config *out) TL_NODISCARD;
/* --enable-scope-fusion-passes and its opposite: names between commas, blanks around them and empty
 * ones do not count. text: NULL for none. */
tl_status tl_read_fusion_names(tl_diag *d, tl_arena *a, tl_location where, const char *text,
                               tl_fusion_list *out) TL_NODISCARD;
/* --fusion=PASS:off, several joined by ';': what does not fit is refused. */
tl_status tl_read_fusion_option(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                                tl_fusion_config *out) TL_NODISCARD;

#endif
