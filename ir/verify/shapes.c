/* SPDX-License-Identifier: Apache-2.0 */
/* The shape level of the verifier: the types that values carry agree with what inference derives
 * from the operands now. Inference runs over the module, whose types are put back afterwards. */
#include <stdlib.h>

#include "ir/graph.h"
#include "ir/infer/infer.h"
#include "ir/verify/internal.h"

/* Keeps the first error of the inner run; its warnings are the outer run's business. */
typedef struct first_error {
  tl_buf message;
  tl_buf node;
} first_error;

static void keep_first(void *user, const tl_diagnostic *d) {
  first_error *e = user;
  if (d->severity != TL_ERROR || e->message.n)
    return;
  tl_buf_add_z(&e->message, d->message);
  tl_buf_add_sv(&e->node, d->where.node);
}

static void report_clash(tl_verifier *v, const tl_value *value, tl_type_id had) {
  tl_buf text;
  tl_buf_init(&text);
  tl_type_print(v->m, had, &text);
  tl_buf_add_z(&text, ", its operands make it ");
  tl_type_print(v->m, value->type, &text);
  tl_verify_report(v, value->kind == TL_VALUE_RESULT ? value->def : TL_NO_NODE,
                   "result '%.*s' says %s", TL_SV_ARG(tl_sym(v->m, value->name)),
                   text.failed ? "another type" : text.p);
  tl_buf_release(&text);
}

static void infer_quietly(tl_verifier *v) {
  first_error e;
  tl_buf_init(&e.message);
  tl_buf_init(&e.node);
  tl_muted muted;
  tl_mute(&muted, v->m, keep_first, &e);
  tl_status status = tl_infer_module(v->m);
  tl_unmute(&muted);
  if (status == TL_NO_MEMORY)
    v->out_of_memory = true;
  else if (status != TL_OK)
    tl_verify_report(v, TL_NO_NODE, "%.*s: %s", TL_SV_ARG(tl_buf_view(&e.node)),
                     e.message.n ? e.message.p : "types cannot be inferred");
  tl_buf_release(&e.message);
  tl_buf_release(&e.node);
}

static void check_shapes(tl_verifier *v) {
  uint32_t end = tl_module_value_end(v->m);
  tl_type_id *had = malloc((size_t)end * sizeof *had);
  if (!had) {
    v->out_of_memory = true;
    return;
  }
  for (tl_value_id i = 1; i < end; i++)
    had[i] = tl_value_type(v->m, i);
  infer_quietly(v);
  for (tl_value_id i = 1; i < end; i++) {
    const tl_value *value = tl_value_get(v->m, i);
    if (value->kind != TL_VALUE_NONE && tl_types_clash(v->m, had[i], value->type))
      report_clash(v, value, had[i]);
    tl_value_set_type(v->m, i, had[i]);
  }
  free(had);
}

const tl_check tl_shape_checks[] = {{"shapes", check_shapes}, {NULL, NULL}};
