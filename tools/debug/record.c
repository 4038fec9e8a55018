/* SPDX-License-Identifier: Apache-2.0 */
/* Records what the values of a model are in one run (edits.h). */
#include <stdlib.h>

#include "ir/fork.h"
#include "ir/infer/infer.h"
#include "tools/debug/check.h"
#include "tools/debug/edits.h"
#include "tools/run/inputs.h"

enum { MOST_RECORDED = 1 << 16 }; /* bytes of the contents of one value */

/* State of a run. */
typedef struct recorder {
  tl_module *m; /* whose types and tensors are made; not the copy that runs */
  tl_recorded *r;
} recorder;

static bool holds_floats(const tl_host *h) {
  return h->dtype == TL_DTYPE_F32 || h->dtype == TL_DTYPE_F16 || h->dtype == TL_DTYPE_BF16 ||
         h->dtype == TL_DTYPE_F64;
}

static tl_status record_value(recorder *rec, tl_value_id v, const tl_host *h) {
  tl_dim dims[TL_MAX_RANK];
  if (!h || h->kind != TL_HOST_TENSOR || h->dtype == TL_DTYPE_STRING)
    return TL_OK;
  for (int i = 0; i < h->rank; i++)
    dims[i] = h->dims[i];
  rec->r->type[v] = tl_type_tensor(rec->m, (tl_dtype)h->dtype, h->rank, dims);
  if (!rec->r->type[v])
    return TL_NO_MEMORY;
  if (holds_floats(h) || h->bytes > MOST_RECORDED || h->n == 0)
    return TL_OK;
  rec->r->tensor[v] = tl_tensor_from_bytes(rec->m, rec->r->type[v], h->data, h->bytes);
  return rec->r->tensor[v] ? TL_OK : TL_NO_MEMORY;
}

/* Watches the run of a copy, whose values have the ids of the model. */
static tl_status watch(void *user, const tl_module *copy, tl_value_id v, const tl_host *h) {
  recorder *rec = user;
  (void)copy;
  return v < rec->r->n ? record_value(rec, v, h) : TL_OK;
}

static tl_status run(tl_evaluation *e, tl_module *copy, recorder *rec, tl_host_vec *values) {
  tl_buf note;
  tl_buf_init(&note);
  tl_status status = tl_infer_module(copy);
  if (status == TL_OK)
    status = tl_session_run_passes(&e->cli->session, copy, "expand-definitions");
  if (status == TL_OK)
    status = tl_inputs_settle(e, copy, &values[0], &note);
  const tl_graph *g = tl_module_main(rec->m);
  for (uint32_t i = 0; status == TL_OK && i < g->inputs.n && i < values[0].n; i++)
    if (values[0].at[i])
      status = record_value(rec, g->inputs.at[i], values[0].at[i]);
  e->options.watch = watch;
  e->options.watch_user = rec;
  if (status == TL_OK)
    status = tl_evaluation_run(e, copy, &values[0], &values[1]);
  e->options.watch = NULL;
  tl_buf_release(&note);
  return status;
}

/* Gives the inputs the sizes that they had. */
static void fix_inputs(tl_module *m, const tl_recorded *r) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    if (r->type[g->inputs.at[i]])
      tl_value_set_type(m, g->inputs.at[i], r->type[g->inputs.at[i]]);
}

tl_status tl_record(tl_evaluation *e, tl_module *m, tl_recorded *out) {
  tl_diag_fn shown = e->cli->diag.fn;
  tl_host_vec values[2] = {{0}};
  recorder rec = {m, out};
  *out = (tl_recorded){.n = tl_module_value_end(m)};
  out->type = calloc(out->n, sizeof *out->type);
  out->tensor = calloc(out->n, sizeof *out->tensor);
  e->cli->diag.fn = NULL;
  tl_status status = out->type && out->tensor ? TL_INVALID_MODEL : TL_NO_MEMORY;
  for (unsigned i = 0; status != TL_OK && status != TL_NO_MEMORY && tl_check_assume(e, i); i++) {
    tl_module *copy = tl_module_fork(m, &e->cli->diag);
    status = copy ? run(e, copy, &rec, values) : TL_NO_MEMORY;
    tl_values_release(&values[0]);
    tl_values_release(&values[1]);
    if (copy)
      tl_module_destroy(copy);
  }
  e->cli->diag.fn = shown;
  e->cli->diag.errors = 0;
  if (status == TL_OK)
    fix_inputs(m, out);
  else if (status != TL_NO_MEMORY)
    out->n = 0;
  return status == TL_NO_MEMORY ? tl_fail_memory(&e->cli->diag, TL_NOWHERE) : TL_OK;
}

void tl_recorded_release(tl_recorded *r) {
  free(r->type);
  free(r->tensor);
}
