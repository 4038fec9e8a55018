/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the shapes that a run makes with those that the model says (declared.h). */
#include "ir/eval/kernel/declared.h"

bool tl_eval_is_as_declared(const tl_module *m, tl_value_id v, const tl_host *value) {
  const tl_type *type = tl_type_get(m, tl_value_type(m, v));
  if (value->kind != TL_HOST_TENSOR || type->kind != TL_KIND_TENSOR ||
      type->rank == TL_RANK_UNKNOWN)
    return true;
  bool same = value->rank == type->rank;
  for (int i = 0; same && i < type->rank; i++)
    same = !tl_dim_is_static(type->dims[i]) || type->dims[i] == value->dims[i];
  return same;
}

static void add_dims(tl_buf *out, const tl_host *value) {
  for (int i = 0; i < value->rank; i++)
    tl_buf_printf(out, "%s%lld", i ? "," : "", (long long)value->dims[i]);
}

void tl_eval_warn_of_shape(tl_module *m, tl_node_id n, tl_value_id v, const tl_host *value) {
  tl_buf dims, declared;
  tl_buf_init(&dims);
  tl_buf_init(&declared);
  add_dims(&dims, value);
  tl_type_print(m, tl_value_type(m, v), &declared);
  if (!dims.failed && !declared.failed)
    tl_warn(m->diag, tl_node_where(m, n),
            "result '%.*s' has the shape [%.*s] in this run, but the model says %.*s; conversions "
            "rely on what the model says\vcorrect the declared shape, or give other inputs",
            TL_SV_ARG(tl_value_name(m, v)), TL_SV_ARG(tl_buf_view(&dims)),
            TL_SV_ARG(tl_buf_view(&declared)));
  tl_buf_release(&dims);
  tl_buf_release(&declared);
}
