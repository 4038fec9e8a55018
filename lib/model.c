/* SPDX-License-Identifier: Apache-2.0 */
/* Implements models (include/tailor/model.h): loading, by the session that the command uses as
 * well. lib/optimize.c runs passes over them, lib/save.c saves them. */
#include <stdlib.h>

#include "lib/handle.h"
#include "lib/session/copy.h"

/* ---- loading --------------------------------------------------------------------------------- */

/* Loads from bytes, or from the file `name` if there are none. A run configuration in the model
 * resolves options anew. */
static tl_status load(tl_model *m, const char *name, tl_sv bytes) {
  tl_context *c = m->context;
  TL_TRY(tl_lib_settle(c));
  TL_TRY(bytes.p ? tl_session_load_bytes(&c->session, name, bytes, &m->module)
                 : tl_session_load(&c->session, name, &m->module));
  c->unsettled = c->rules.n > 0;
  return TL_OK;
}

static tl_model *make_handle(tl_context *c) {
  tl_model *m = calloc(1, sizeof *m);
  if (!m)
    return NULL;
  m->context = c;
  tl_arena_init(&m->record.arena, 0);
  return m;
}

static int load_model(tl_context *c, const char *name, tl_sv bytes, tl_model **out) {
  uint32_t errors = tl_lib_begin(c);
  tl_model *m = make_handle(c);
  if (!m)
    return tl_lib_end(c, TL_NO_MEMORY, errors);
  int code = tl_lib_end(c, load(m, name, bytes), errors);
  if (code == TL_SUCCESS)
    *out = m;
  else
    tl_model_destroy(m);
  return code;
}

int tl_model_load(tl_context *c, const char *path, tl_model **out) {
  return load_model(c, path, (tl_sv){0}, out);
}

int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                        tl_model **out) {
  return load_model(c, name, (tl_sv){n ? bytes : "", n}, out);
}

static tl_status copy(const tl_model *of, tl_model *m) {
  tl_context *c = m->context;
  TL_TRY(tl_lib_settle(c));
  TL_TRY(tl_session_copy(&c->session, of->module, c == of->context, &m->module));
  c->unsettled = c->rules.n > 0;
  m->keeps_remarks = of->keeps_remarks;
  m->near_misses = of->near_misses;
  return TL_OK;
}

int tl_model_copy(const tl_model *of, tl_context *into, tl_model **out) {
  uint32_t errors = tl_lib_begin(into);
  tl_model *m = make_handle(into);
  int code = tl_lib_end(into, m ? copy(of, m) : TL_NO_MEMORY, errors);
  if (code == TL_SUCCESS)
    *out = m;
  else
    tl_model_destroy(m);
  return code;
}

void tl_model_destroy(tl_model *m) {
  if (!m)
    return;
  tl_module_destroy(m->module);
  free(m->record.remarks);
  tl_arena_release(&m->record.arena);
  free(m);
}
