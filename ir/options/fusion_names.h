/* SPDX-License-Identifier: Apache-2.0 */
/* The table of public fusion pass names (fusion_names.tbl) and its lookups. */
#ifndef TL_IR_OPTIONS_FUSION_NAMES_H
#define TL_IR_OPTIONS_FUSION_NAMES_H

#include "support/str.h"

typedef enum tl_fusion_kind {
  TL_FUSION_GRAPH,      /* rewrites the graph; section GraphFusion of a switch file */
  TL_FUSION_UB,         /* groups nodes into one kernel; section UBFusion */
  TL_N_FUSION_SECTIONS, /* the kinds below have no section */
  TL_FUSION_SCOPE = TL_N_FUSION_SECTIONS, /* replaces a named scope */
  TL_FUSION_CLEANUP,                      /* simplifies */
  TL_N_FUSION_KINDS
} tl_fusion_kind;

typedef enum tl_fusion_close {
  TL_CLOSE_MAY,
  TL_CLOSE_NEVER,      /* no switch file switches it off */
  TL_CLOSE_EXCEPTIONAL /* nor does level O1 */
} tl_fusion_close;

typedef struct tl_fusion_name {
  const char *name;
  uint8_t kind;  /* tl_fusion_kind */
  uint8_t close; /* tl_fusion_close */
  bool on;       /* by the built-in configuration */
} tl_fusion_name;

/* The passes, in byte order of their names. */
const tl_fusion_name *tl_fusion_names(uint32_t *n);
/* Row of a pass, NULL when the table has none. Aliases are no passes. O(log n). */
const tl_fusion_name *tl_fusion_name_find(tl_sv name);
/* The i-th pass that an alias stands for; NULL beyond the last, or if the name is no alias. */
const char *tl_fusion_alias_get(tl_sv name, uint32_t i);
/* The i-th name that is an alias, in byte order; NULL beyond the last. */
const char *tl_fusion_alias_at(uint32_t i);
/* True when the preset of --fusion-preset switches the pass off. */
bool tl_fusion_preset_has(const char *preset, tl_sv pass);
/* True for a name that samples list among the passes and that switches none. */
bool tl_fusion_name_is_inert(tl_sv name);
/* Why no rule answers to the name of a pass; NULL: some do, or it is a group of kernels. */
const char *tl_fusion_name_lacks(tl_sv pass);
/* The pass or alias that was most likely meant: at most 3 edits away, or but for letter case, the
 * letters that put passes in order and words that most names have. NULL when none is close. */
const char *tl_fusion_name_nearest(tl_sv name);

/* "graph", "ub", "scope", "cleanup". */
const char *tl_fusion_kind_name(tl_fusion_kind kind);
/* "GraphFusion", "UBFusion"; NULL for kinds that no section of a switch file covers. */
const char *tl_fusion_section_name(tl_fusion_kind kind);

#endif
