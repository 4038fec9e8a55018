/* SPDX-License-Identifier: Apache-2.0 */
/* Implements models (include/tailor/model.h): loading, by the session that the command uses as
 * well. lib/optimize.c runs passes over them, lib/save.c saves them. */
#include <stdlib.h>

#include "lib/handle.h"
#include "lib/session/copy.h"

/* ---- files of the caller --------------------------------------------------------------------- */

static void give_back(void *user, const void *data, uint64_t size) {
  tl_model *m = user;
  if (!m->source.give_back)
    return;
  m->context->inside++;
  m->source.give_back(m->source.user, data, size);
  m->context->inside--;
}

/* Asks the source for a file. */
static tl_status open_named(tl_model *m, const char *name, tl_location where, tl_file **out) {
  tl_lent_bytes bytes = {.give_back = give_back, .user = m};
  tl_context *c = m->context;
  *out = NULL;
  c->inside++;
  int refused = m->source.open(m->source.user, name, &bytes.data, &bytes.size);
  c->inside--;
  if (refused)
    return tl_fail(&c->diag, TL_IO, where,
                   "'%s' is not there: whoever was asked for it has no such file", name);
  if (!bytes.data && bytes.size)
    return tl_fail(&c->diag, TL_IO, where, "whoever was asked for '%s' gave %llu bytes at NULL",
                   name, (unsigned long long)bytes.size);
  return tl_file_lend(&c->diag, name, &bytes, out);
}

/* External data. Its location is what the model says, and models may be hostile. */
static tl_status open_beside(void *user, tl_sv location, tl_location where, tl_file **out) {
  tl_model *m = user;
  *out = NULL;
  TL_TRY(tl_file_check_location(&m->context->diag, location, where));
  char *name = strndup(location.p, location.n);
  if (!name)
    return tl_fail_memory(&m->context->diag, where);
  tl_status status = open_named(m, name, where, out);
  free(name);
  return status;
}

/* Loads from the source. The module views the bytes, so it owns the file. */
static tl_status load_from(tl_model *m, const char *name) {
  tl_beside beside = {.open = open_beside, .user = m};
  tl_file *f;
  TL_TRY(open_named(m, name, TL_AT_FILE(name), &f));
  tl_sv bytes = {f->size ? (const char *)f->data : "", (size_t)f->size};
  tl_status status = tl_session_load_bytes(&m->context->session, name, bytes, &beside, &m->module);
  if (status == TL_OK)
    return tl_module_add_file(m->module, f);
  tl_file_close(f);
  return status;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Loads from the source of the handle, from bytes, or from the file `name`. A run configuration in
 * the model resolves options anew. */
static tl_status load(tl_model *m, const char *name, tl_sv bytes) {
  tl_context *c = m->context;
  TL_TRY(tl_lib_settle(c));
  if (m->source.open)
    TL_TRY(load_from(m, name));
  else
    TL_TRY(bytes.p ? tl_session_load_bytes(&c->session, name, bytes, NULL, &m->module)
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

/* Where a model comes from: a source, bytes, or neither. */
typedef struct origin {
  const tl_source *source;
  tl_sv bytes;
} origin;

static int load_model(tl_context *c, const char *name, origin from, tl_model **out) {
  int code;
  if (tl_lib_lacks(c, name, "name", &code) || tl_lib_lacks(c, out, "out", &code) ||
      tl_lib_is_inside(c, "load a model", &code))
    return code;
  uint32_t errors = tl_lib_begin(c);
  tl_model *m = make_handle(c);
  if (!m)
    return tl_lib_end(c, TL_NO_MEMORY, errors);
  if (from.source)
    m->source = *from.source;
  code = tl_lib_end(c, load(m, name, from.bytes), errors);
  if (code == TL_SUCCESS)
    *out = m;
  else
    tl_model_destroy(m);
  return code;
}

int tl_model_load(tl_context *c, const char *path, tl_model **out) {
  return load_model(c, path, (origin){0}, out);
}

int tl_model_load_bytes(tl_context *c, const char *name, const void *bytes, size_t n,
                        tl_model **out) {
  int code;
  if (n && tl_lib_lacks(c, bytes, "bytes", &code))
    return code;
  return load_model(c, name, (origin){.bytes = {n ? bytes : "", n}}, out);
}

int tl_model_load_from(tl_context *c, const char *name, const tl_source *source, tl_model **out) {
  int code;
  if (tl_lib_lacks(c, source, "source", &code))
    return code;
  if (!source->open)
    return tl_lib_misuse(c, "a source needs a function that opens files");
  return load_model(c, name, (origin){.source = source}, out);
}

static tl_status copy(const tl_model *of, tl_model *m) {
  tl_context *c = m->context;
  TL_TRY(tl_lib_settle(c));
  TL_TRY(tl_session_copy(&c->session, of->module, c == of->context, &m->module));
  c->unsettled = c->rules.n > 0;
  m->keeps_remarks = of->keeps_remarks;
  m->near_misses = of->near_misses;
  m->unchecked = of->unchecked;
  return TL_OK;
}

int tl_model_copy(const tl_model *of, tl_context *into, tl_model **out) {
  int code;
  if (tl_lib_lacks(into, out, "out", &code) ||
      tl_lib_is_inside(of->context, "copy a model", &code) ||
      tl_lib_is_inside(into, "copy a model", &code))
    return code;
  uint32_t errors = tl_lib_begin(into);
  tl_model *m = make_handle(into);
  code = tl_lib_end(into, m ? copy(of, m) : TL_NO_MEMORY, errors);
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
