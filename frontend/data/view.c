/* SPDX-License-Identifier: Apache-2.0 */
/* Implements views of data (view.h). */
#include "frontend/data/view.h"

tl_status tl_data_inside(const tl_data_source *s, const unsigned char *p, tl_tensor *t) {
  if (s->file) {
    t->kind = TL_SOURCE_FILE;
    t->u.view.file = s->file;
    t->u.view.offset = (uint64_t)(p - s->start);
  } else {
    t->kind = TL_SOURCE_BYTES;
    t->u.data = p;
  }
  return tl_tensor_turn(s->m, t);
}

/* Models name the same file for many tensors, mostly the one they named last. */
static tl_status find_file(const tl_data_source *s, tl_sv name, tl_symbol location,
                           tl_location where, const tl_file **out) {
  tl_file *opened;
  for (uint32_t i = s->opened->n; i > 0; i--) {
    if (s->opened->at[i - 1].location == location) {
      *out = s->opened->at[i - 1].file;
      return TL_OK;
    }
  }
  TL_TRY(s->beside ? s->beside->open(s->beside->user, name, where, &opened)
                   : tl_file_open_beside(s->d, s->path, name, s->mode, where, &opened));
  TL_TRY(tl_module_add_file(s->m, opened));
  *out = opened;
  return tl_side_file_vec_push(s->opened, (tl_side_file){location, opened}) ? TL_OK : TL_NO_MEMORY;
}

tl_status tl_data_beside(const tl_data_source *s, tl_sv location, uint64_t offset,
                         tl_location where, tl_tensor *t) {
  const tl_file *file;
  if (!s->file && !s->beside)
    return tl_fail(s->d, TL_UNSUPPORTED, where,
                   "external data '%.*s' of a model in memory\vload the model from its file",
                   TL_SV_ARG(location));
  t->location = tl_intern_view(&s->m->symbols, location);
  if (t->location == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  TL_TRY(find_file(s, location, t->location, where, &file));
  if (offset > file->size || t->bytes > file->size - offset)
    return tl_fail(s->d, TL_INVALID_MODEL, where,
                   "bytes %llu + %llu are beyond the end of '%.*s' (%llu bytes)",
                   (unsigned long long)offset, (unsigned long long)t->bytes, TL_SV_ARG(location),
                   (unsigned long long)file->size);
  t->kind = TL_SOURCE_FILE;
  t->external = true;
  t->u.view.file = file;
  t->u.view.offset = offset;
  return tl_tensor_turn(s->m, t);
}
