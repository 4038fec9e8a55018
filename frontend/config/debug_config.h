/* SPDX-License-Identifier: Apache-2.0 */
/* Reads op_debug_config: a list of words, or a file with such a list.
 * The file has `op_debug_config = WORD,WORD,...` and, for some words, `op_debug_list = OP,OP,...`;
 * '#' starts a comment. */
#ifndef TL_FRONTEND_CONFIG_DEBUG_CONFIG_H
#define TL_FRONTEND_CONFIG_DEBUG_CONFIG_H

#include "support/diag.h"

/* One member for each word of op_debug_config; true if the word was given. */
typedef struct tl_debug_config {
  bool oom;
  bool dump_cce;
  bool dump_loc;
  bool o0;
  bool g;
  bool check_flag;
} tl_debug_config;

/* Returns true if the text is a list of words and not the name of a file. */
bool tl_is_debug_words(tl_sv text);
/* Reads comma-separated words. E-OPT-UNKNOWN for an unknown word. */
tl_status tl_read_debug_words(tl_diag *d, tl_location where, tl_sv list,
                              tl_debug_config *out) TL_NODISCARD;
/* Read a file, or its text. All problems are reported: E-OPT-FILE if it cannot be read,
 * E-OPT-UNKNOWN for unknown names and words. */
tl_status tl_read_debug_config(tl_diag *d, tl_location where, const char *path,
                               tl_debug_config *out) TL_NODISCARD;
tl_status tl_read_debug_config_text(tl_diag *d, const char *path, tl_sv text,
                                    tl_debug_config *out) TL_NODISCARD;

#endif
