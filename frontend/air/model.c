/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a ModelDef: its graphs and attributes, and what training states its main graph has. */
#include "frontend/air/load.h"
#include "frontend/air/reader.h"

#include "ir/marks.h"
#include "ir/verify/verify.h"
#include "support/map.h"

static tl_status add_graph(tl_air_reader *r, tl_proto body) {
  tl_air_graph graph = {.body = body};
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&body, &f)) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(TL_GRAPH_NAME, TL_WIRE_BYTES))
      graph.name = tl_air_symbol(r, tl_proto_sv(f.body));
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, body.p, "GraphDef");
  if (graph.name == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (graph.name && tl_slot_get(&r->graph_of, graph.name))
    return tl_fail(r->d, TL_INVALID_MODEL, TL_AT_FILE(r->path), "two graphs are named '%.*s'",
                   TL_SV_ARG(tl_sym(r->m, graph.name)));
  if (!tl_air_graph_vec_push(&r->graphs, graph))
    return TL_NO_MEMORY;
  return graph.name ? tl_slot_set(&r->graph_of, graph.name, r->graphs.n) : TL_OK;
}

static tl_status list_graphs(tl_air_reader *r) {
  tl_proto w = r->model;
  tl_field f;
  tl_step step;
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD)
    if (tl_field_tag(&f) == TL_TAG(TL_MODEL_GRAPH, TL_WIRE_BYTES))
      TL_TRY(add_graph(r, f.body));
  if (step == TL_STEP_BAD)
    return tl_air_malformed(r, w.p, "ModelDef");
  return r->graphs.n
             ? TL_OK
             : tl_fail(r->d, TL_INVALID_MODEL, TL_AT_FILE(r->path), "the model has no graph");
}

/* ---- training states ------------------------------------------------------------------------- */

/* Returns the value that a state gets: an output of the graph of that name; else what was named
 * after its node. TL_NO_VALUE if there is none. */
static tl_value_id next_value(const tl_air_reader *r, const tl_graph *g, const tl_map *outputs,
                              tl_symbol name) {
  uint32_t output;
  if (tl_map_find(outputs, name, &output))
    return output;
  tl_value_id v = tl_slot_get(&r->named, name);
  return v && tl_value_graph(r->m, v) == g->id ? v : TL_NO_VALUE;
}

static tl_status add_state(tl_air_reader *r, const tl_graph *g, const tl_map *outputs,
                           uint32_t input, tl_symbol name) {
  tl_state state = {.input = g->inputs.at[input], .output = next_value(r, g, outputs, name)};
  if (state.output)
    return tl_state_vec_push(&r->m->states, state) ? TL_OK : TL_NO_MEMORY;
  return tl_fail(r->d, TL_INVALID_MODEL,
                 TL_AT_NODE(r->path, tl_value_name(r->m, g->inputs.at[input])),
                 "the state '%.*s' is no output of the graph and no result of its nodes",
                 TL_SV_ARG(tl_sv_shown(tl_sym(r->m, name))));
}

static tl_status read_states(tl_air_reader *r) {
  const tl_graph *g = tl_module_main(r->m);
  tl_map outputs = {0}; /* by name; of two of one name the first */
  tl_status status = TL_OK;
  for (uint32_t i = r->states.n ? tl_graph_n_outputs(r->m, g) : 0; i-- > 0 && status == TL_OK;) {
    tl_value_id v = tl_operand(r->m, g->ret, i);
    status = tl_map_set(&outputs, tl_value_get(r->m, v)->name, v) ? TL_OK : TL_NO_MEMORY;
  }
  for (uint32_t i = 0; i < g->inputs.n && status == TL_OK; i++) {
    tl_symbol output = tl_slot_get(&r->states, i);
    if (output)
      status = add_state(r, g, &outputs, i, output);
  }
  tl_map_release(&outputs);
  return status;
}

/* ---- attributes of the model ----------------------------------------------------------------- */

/* Keeps what was recorded for the device compiler as metadata, which the writer puts back. */
static tl_status read_metadata(tl_air_reader *r) {
  tl_proto w = r->model;
  tl_field f;
  tl_extra *extra = NULL;
  uint32_t n = 0;
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD)
    n += tl_field_tag(&f) == TL_TAG(TL_MODEL_ATTR, TL_WIRE_BYTES);
  tl_pair *pairs = n ? tl_arena_calloc(&r->m->arena, n, sizeof *pairs) : NULL;
  if (n == 0)
    return TL_OK;
  extra = tl_module_extra(r->m, &r->m->extra);
  if (!pairs || !extra)
    return TL_NO_MEMORY;
  n = 0;
  for (w = r->model; tl_proto_next(&w, &f) == TL_STEP_FIELD;) {
    tl_air_entry e;
    if (tl_field_tag(&f) != TL_TAG(TL_MODEL_ATTR, TL_WIRE_BYTES))
      continue;
    if (!tl_air_entry_read(f.body, &e))
      return tl_air_malformed(r, f.start, "an attribute of the model");
    if (!tl_air_has_value(e.value)) {
      r->n_lost++;
      continue;
    }
    tl_buf key;
    tl_buf_init(&key);
    tl_buf_add_z(&key, TL_AIR_METADATA);
    tl_buf_add_sv(&key, e.key);
    pairs[n].key = key.failed ? TL_NO_SYMBOL : tl_module_intern(r->m, tl_buf_view(&key));
    tl_buf_release(&key);
    pairs[n].value = tl_air_symbol(r, tl_proto_sv(e.value));
    if (pairs[n].key == TL_NO_SYMBOL || pairs[n].value == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    n++;
  }
  extra->metadata = pairs;
  extra->n_metadata = n;
  return TL_OK;
}

tl_sv tl_air_recorded(const tl_module *m, const char *key) {
  static const char prefix[] = TL_AIR_METADATA;
  const size_t n = sizeof prefix - 1;
  const tl_extra *x = &m->extras.at[m->extra];
  for (uint32_t i = 0; i < x->n_metadata; i++) {
    tl_sv name = tl_sym(m, x->metadata[i].key), value = tl_sym(m, x->metadata[i].value);
    const unsigned char *bytes = (const unsigned char *)value.p;
    tl_sv text;
    if (name.n > n && memcmp(name.p, prefix, n) == 0 &&
        tl_sv_is((tl_sv){name.p + n, name.n - n}, key) &&
        tl_air_string((tl_proto){bytes, bytes + value.n}, &text))
      return text;
  }
  return (tl_sv){"", 0};
}

/* ---- driver ---------------------------------------------------------------------------------- */

/* Such a file can be written by others, read and repaired here, but GE does not open it. */
static void warn_of_size(const tl_air_reader *r) {
  if (r->form == TL_AIR_BINARY && tl_proto_left(&r->model) > INT32_MAX)
    tl_warn(
        r->d, TL_AT_FILE(r->path),
        "the file has %llu bytes, and GE reads at most %d\vconvert it to AIR again: large weights "
        "then lie in files beside it",
        (unsigned long long)tl_proto_left(&r->model), INT32_MAX);
}

/* Says what a dump leaves out. */
static void warn_of_dump(const tl_air_reader *r) {
  if (r->n_empty)
    tl_warn(r->d, TL_AT_FILE(r->path),
            "%u constants have no data in the dump; the model can be looked at, not run",
            r->n_empty);
  if (r->n_unnamed)
    tl_warn(
        r->d, TL_AT_FILE(r->path),
        "%u nodes lack attributes that are strings, which a dump has with DUMP_GE_GRAPH=1 only; "
        "their defaults stand, which may be others than the model had",
        r->n_unnamed);
}

static tl_status import_model(tl_air_reader *r) {
  if (r->form != TL_AIR_BINARY)
    TL_TRY(tl_air_from_text(r));
  warn_of_size(r);
  TL_TRY(list_graphs(r));
  TL_TRY(tl_air_graphs(r));
  TL_TRY(read_states(r));
  TL_TRY(read_metadata(r));
  r->m->form = TL_FORM_NPU;
  if (r->n_lost)
    tl_warn(r->d, TL_AT_FILE(r->path),
            "%u attributes have no value or are lists without val_type; they are dropped, as GE "
            "does",
            r->n_lost);
  warn_of_dump(r);
  return tl_module_verify(r->m, TL_VERIFY_ALL & ~(unsigned)TL_VERIFY_SHAPES);
}

static tl_status load(tl_air_reader *r, tl_file *file, tl_module **out) {
  *out = NULL;
  r->m = tl_module_create(r->d, r->path, 0);
  if (!r->m) {
    tl_file_close(file);
    return tl_fail_memory(r->d, TL_AT_FILE(r->path));
  }
  bool text = r->form != TL_AIR_BINARY;
  tl_status status = file && !text ? tl_module_add_file(r->m, file) : TL_OK;
  if (status == TL_OK)
    status = import_model(r);
  if (text)
    tl_file_close(file); /* the module has what was made of it */
  if (status == TL_NO_MEMORY)
    status = tl_no_memory(r->m);
  tl_air_reader_release(r);
  if (status == TL_OK)
    *out = r->m;
  else
    tl_module_destroy(r->m);
  return status;
}

tl_status tl_air_load(tl_diag *d, const char *path, tl_file_mode mode, tl_module **out) {
  tl_file *file;
  *out = NULL;
  TL_TRY(tl_file_open(d, path, mode, &file));
  tl_air_reader r = {.d = d,
                     .path = path,
                     .file = file,
                     .mode = mode,
                     .model = {file->data, file->data + file->size}};
  r.form = tl_air_text_form((tl_sv){(const char *)file->data, (size_t)file->size});
  return load(&r, file, out);
}

tl_status tl_air_load_bytes(tl_diag *d, const char *name, tl_sv bytes, const tl_beside *beside,
                            tl_module **out) {
  const unsigned char *p = (const unsigned char *)bytes.p;
  tl_air_reader r = {.d = d, .path = name, .model = {p, p + bytes.n}, .beside = beside};
  r.form = tl_air_text_form(bytes);
  return load(&r, NULL, out);
}
