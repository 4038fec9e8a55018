/* SPDX-License-Identifier: Apache-2.0 */
/* The file of op_debug_config: `op_debug_config = WORD,WORD,...` and, for some of them,
 * `op_debug_list = OP,OP,...`, '#' starting a comment. */
#ifndef TL_FRONTEND_CONFIG_DEBUG_CONFIG_H
#define TL_FRONTEND_CONFIG_DEBUG_CONFIG_H

#include "support/diag.h"

typedef struct tl_debug_config {
  bool oom;
  bool dump_cce;
  bool dump_loc;
  bool o0;
  bool g;
  bool check_flag;
} tl_debug_config;

/* Is this the words themselves, separated by commas, and not the name of a file? */
bool tl_is_debug_words(tl_sv text);
/* Reads such words. E-OPT-UNKNOWN. */
tl_status tl_read_debug_words(tl_diag *d, tl_location where, tl_sv list,
                              tl_debug_config *out) TL_NODISCARD;
/* E-OPT-FILE when it cannot be read, E-OPT-UNKNOWN for other names and words; all of a file. */
tl_status tl_read_debug_config(tl_diag *d, tl_location where, const char *path,
                               tl_debug_config *out) TL_NODISCARD;
tl_status tl_read_debug_config_text(tl_diag *d, const char *path, tl_sv text,
                                    tl_debug_config *out) TL_NODISCARD;

#endif
