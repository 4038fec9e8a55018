/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of the verifier share: findings, and a walk over all nodes. */
#include "ir/verify/internal.h"

void tl_verify_report(tl_verifier *v, tl_node_id n, const char *fmt, ...) {
  tl_location where = n ? tl_node_where(v->m, n) : TL_AT_FILE(v->m->path);
  tl_buf text;
  va_list ap;
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  v->findings++;
  tl_fail(v->m->diag, TL_INVALID_MODEL, where, "%s (%s check)",
          text.failed ? "out of memory while reporting" : text.p, v->check);
  tl_buf_release(&text);
}

void tl_verify_each_node(tl_verifier *v, void (*fn)(tl_verifier *v, tl_node_id n)) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(v->m, g, n)
      fn(v, n);
    fn(v, g->ret);
  }
}
