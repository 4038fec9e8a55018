/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the saving of an ONNX model: count, decide where weights go, write, make files visible. */
#include "backend/onnx/export.h"

#include "backend/onnx/emit.h"
#include "support/pages.h"

/* Protobuf readers refuse messages of 2^31 bytes. */
static const uint64_t largest_model = UINT64_C(0x7fffffff);

/* State of saving one model. */
typedef struct saving {
  tl_module *m;
  const char *path;
  tl_onnx_save_options options;
  tl_onnx_layout layout;
  tl_buf data_path; /* of the file beside the model */
  tl_wire wire;
  tl_onnx_types types;
  uint8_t *outputs; /* owned; see tl_onnx_emit */
} saving;

/* Returns the part of a path behind its last '/'. */
static tl_sv base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return tl_sv_from(slash ? slash + 1 : path);
}

/* Sets the path of the file of weights: in the folder of the model, with the caller's name if there
 * is one. A name with a folder is refused, since readers refuse locations outside the folder. */
static tl_status name_data_file(saving *s) {
  if (tl_sv_is(tl_sv_from(s->path), "-"))
    return tl_fail(s->m->diag, TL_UNSUPPORTED, TL_AT_FILE(s->path),
                   "a model with external weights cannot go to standard output"
                   "\vgive an output file");
  const char *given = s->options.external_name;
  if (given && (!*given || strchr(given, '/') || strcmp(given, "..") == 0 ||
                tl_sv_is(base_name(s->path), given)))
    return tl_fail(s->m->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(s->path),
                   "'%s' is not a name for the weights file: expected a file name without a "
                   "folder, other than that of the model",
                   given);
  tl_sv base = base_name(s->path);
  size_t folder = strlen(s->path) - base.n;
  tl_buf_add(&s->data_path, s->path, folder);
  if (given) {
    tl_buf_add_z(&s->data_path, given);
  } else {
    tl_buf_add_sv(&s->data_path, base);
    tl_buf_add_z(&s->data_path, ".data");
  }
  if (s->data_path.failed)
    return tl_fail_memory(s->m->diag, TL_AT_FILE(s->path));
  s->layout.location = (tl_sv){s->data_path.p + folder, s->data_path.n - folder};
  return TL_OK;
}

/* Fills the side tables of the emission: which values are outputs, and room for encoded types. */
static tl_status make_tables(saving *s) {
  tl_module *m = s->m;
  s->outputs = calloc(tl_module_value_end(m) / 8 + 1u, 1);
  s->types.n = m->types.n;
  s->types.at = tl_pages_alloc(s->types.n, sizeof *s->types.at);
  if (!s->outputs || !s->types.at)
    return tl_fail_memory(s->m->diag, TL_AT_FILE(s->path));
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    const tl_graph *g = m->graphs.at[i];
    for (uint32_t k = 0; !g->erased && k < tl_graph_n_outputs(m, g); k++) {
      tl_value_id v = tl_graph_output(m, g, k);
      s->outputs[v >> 3] |= (uint8_t)(1u << (v & 7));
    }
  }
  return TL_OK;
}

/* Makes one sweep over the model, to count or to write. */
static void describe(saving *s) {
  tl_onnx_emit e = {
      .m = s->m, .w = &s->wire, .layout = &s->layout, .types = &s->types, .outputs = s->outputs};
  tl_onnx_emit_model(&e);
}

/* Runs the counting sweep from the start; kept types of an earlier one are dropped. */
static void count(saving *s) {
  tl_wire_release(&s->wire);
  tl_wire_init(&s->wire);
  memset(s->types.at, 0, s->types.n * sizeof *s->types.at);
  s->types.bytes = 0;
  describe(s);
}

/* Counts the model with all weights inside. If it is too large, or external data was asked for,
 * counts it with large weights beside it. */
static tl_status lay_out(saving *s) {
  bool beside = s->options.external_data;
  if (!beside) {
    count(s);
    beside = tl_wire_position(&s->wire) > largest_model;
  }
  if (!beside)
    return TL_OK;
  tl_weight_files *shared = s->options.shared;
  if (shared)
    s->layout.location = shared->combined;
  else
    TL_TRY(name_data_file(s));
  if (tl_onnx_place_weights(s->m, &s->layout, shared) != TL_OK)
    return tl_fail_memory(s->m->diag, TL_AT_FILE(s->path));
  count(s);
  if (tl_wire_position(&s->wire) <= largest_model)
    return TL_OK;
  return tl_fail(s->m->diag, TL_LIMIT, TL_AT_FILE(s->path),
                 "the model takes %llu bytes even without its weights, ONNX allows %llu",
                 (unsigned long long)tl_wire_position(&s->wire), (unsigned long long)largest_model);
}

/* Writes the model after it has been counted. */
static tl_status write_model(saving *s, tl_writer *out) {
  if (tl_wire_start(&s->wire, out) != TL_OK)
    return tl_fail_memory(s->m->diag, TL_AT_FILE(s->path));
  describe(s);
  tl_status status = tl_wire_finish(&s->wire);
  if (status == TL_INTERNAL)
    tl_fail(s->m->diag, status, TL_AT_FILE(s->path), "counted and written sizes differ");
  return status;
}

/* Writes the file of weights into the journal. */
static tl_status write_weights(saving *s, tl_changes *changes) {
  tl_writer *data;
  TL_TRY(tl_changes_aside(changes, s->m->diag, s->path, s->data_path.p));
  TL_TRY(tl_writer_open(s->m->diag, s->data_path.p, s->options.cancel, &data));
  tl_status status = tl_onnx_write_weights(s->m, &s->layout, data);
  if (status == TL_OK)
    return tl_changes_commit(changes, s->m->diag, data);
  tl_writer_abort(data);
  return status;
}

/* Writes both files. Both are complete before either gets its final name, and the weights get
 * theirs first, so that a model that is visible can be loaded. */
static tl_status write_files(saving *s, tl_changes *changes) {
  tl_writer *model;
  TL_TRY(tl_writer_open(s->m->diag, s->path, s->options.cancel, &model));
  tl_status status = write_model(s, model);
  if (status == TL_OK && s->layout.values.n && !s->options.shared)
    status = write_weights(s, changes);
  if (status == TL_OK)
    return tl_changes_commit(changes, s->m->diag, model);
  tl_writer_abort(model);
  return status;
}

tl_status tl_onnx_save(tl_module *m, const char *path, const tl_onnx_save_options *o) {
  saving s = {.m = m, .path = path, .options = o ? *o : (tl_onnx_save_options){0}};
  tl_changes own = {0};
  tl_changes *changes = s.options.changes ? s.options.changes : &own;
  tl_buf_init(&s.data_path);
  tl_wire_init(&s.wire);
  tl_arena_init(&s.types.arena, 0);
  tl_onnx_notes before;
  tl_status status = tl_onnx_prepare(m);
  /* The notes are removed again after any failure, so that the module stays as it was. */
  bool noted = status == TL_OK;
  if (noted)
    status = tl_onnx_put_notes(m, &before);
  if (status == TL_OK)
    status = make_tables(&s);
  if (status == TL_OK)
    status = lay_out(&s);
  if (status == TL_OK)
    status = write_files(&s, changes);
  if (noted && !tl_onnx_drop_notes(m, &before) && status == TL_OK)
    status = tl_no_memory(m); /* before files get their names */
  if (status == TL_OK && !s.options.changes)
    status = tl_changes_apply(&own, m->diag);
  tl_changes_undo(&own);
  tl_wire_release(&s.wire);
  tl_onnx_layout_release(&s.layout);
  tl_pages_free(s.types.at, s.types.n, sizeof *s.types.at);
  tl_arena_release(&s.types.arena);
  free(s.outputs);
  tl_buf_release(&s.data_path);
  return status;
}
