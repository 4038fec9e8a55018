/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up ops of the user's own package (custom_ops.h). */
#include "ir/options/custom_ops.h"

tl_op_info tl_options_custom_info(const tl_options *o, tl_sv name) {
  tl_op_info found = {NULL, NULL};
  if (o->op_info)
    found = tl_op_info_find(o->op_info, name);
  bool own = found.row && found.row->source == TL_INFO_USER;
  return own ? found : (tl_op_info){NULL, NULL};
}

/* The name behind "domain::". */
static tl_sv bare(tl_sv type) {
  const char *colon = type.n ? memrchr(type.p, ':', type.n) : NULL;
  return colon ? (tl_sv){colon + 1, (size_t)(type.p + type.n - colon - 1)} : type;
}

bool tl_options_custom_op(const tl_options *o, tl_sv name) {
  for (uint32_t i = 0; i < o->n_custom_ops; i++)
    if (tl_sv_eq(bare(o->custom_ops[i]), name))
      return true;
  for (uint32_t i = 0; i < o->n_op_renames; i++)
    if (tl_sv_eq(bare(o->op_renames[i].to), name))
      return true;
  return tl_options_custom_info(o, name).row != NULL;
}
