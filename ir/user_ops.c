/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ops that the user of the library describes. */
#include "ir/user_ops.h"

const tl_user_op *tl_user_op_of(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  if (!m->user_ops || tl_op_row(op) || op == TL_OP_RETURN || op == TL_OP_ERASED)
    return NULL;
  tl_sv domain = tl_op_domain(m, op);
  tl_sv name = tl_op_name(m, op);
  for (uint32_t i = 0; i < m->user_ops->n; i++)
    if (tl_sv_is(name, m->user_ops->at[i].name) && tl_sv_is(domain, m->user_ops->at[i].domain))
      return &m->user_ops->at[i];
  return NULL;
}
