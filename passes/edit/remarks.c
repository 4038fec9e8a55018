/* SPDX-License-Identifier: Apache-2.0 */
/* Formats remarks of passes and sends them to the listener (pass.h). */
#include <stdarg.h>

#include "passes/edit/pass.h"

void tl_pass_remark(tl_pass *p, tl_module *m, tl_node_id n, bool applied, const char *fmt, ...) {
  if (!p->remark)
    return;
  tl_buf text;
  tl_buf_init(&text);
  va_list ap;
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_remark r = {.pass = p->name,
                 .applied = applied,
                 .node = n ? tl_node_where(m, n).node : TL_SV(""),
                 .message = text.failed ? "out of memory" : text.p};
  p->remark(p->remark_user, &r);
  tl_buf_release(&text);
}

/* Writes the message of a fusion remark: rule, then the reason of a refusal, or the nodes and what
 * they became. */
static void add_message(tl_buf *out, const tl_fusion_remark *f) {
  tl_buf_add_sv(out, f->fusion);
  if (!tl_sv_eq(f->fusion, f->rule))
    tl_buf_printf(out, "/%.*s", TL_SV_ARG(f->rule));
  if (f->code) {
    tl_buf_printf(out, ": %s: %s", f->code, f->reason);
    return;
  }
  for (uint32_t i = 0; i < f->n_nodes; i++)
    tl_buf_printf(out, "%s`%.*s`", i ? ", " : ": ", TL_SV_ARG(f->nodes[i]));
  if (f->scope)
    tl_buf_printf(out, " are kernel %lld, which saves %llu bytes of traffic", (long long)f->scope,
                  (unsigned long long)f->saved);
  else
    tl_buf_printf(out, " became %.*s", TL_SV_ARG(f->made));
}

void tl_pass_fusion_remark(tl_pass *p, tl_module *m, tl_node_id n, const tl_fusion_remark *f) {
  if (!p->remark)
    return;
  tl_buf text;
  tl_buf_init(&text);
  add_message(&text, f);
  tl_remark r = {.pass = p->name,
                 .applied = !f->code,
                 .node = n ? tl_node_where(m, n).node : TL_SV(""),
                 .message = text.failed ? "out of memory" : text.p,
                 .fusion = f};
  p->remark(p->remark_user, &r);
  tl_buf_release(&text);
}
