/* SPDX-License-Identifier: Apache-2.0 */
/* ModelProto: versions, opsets, the graph, and everything that is only carried along. */
#include <stdlib.h>

#include "frontend/onnx/import.h"
#include "ir/ops_gen.h"

enum { GRAPH = 7, OPSET = 8, TRAINING_INFO = 20, FUNCTION = 25 };

typedef struct model_wire {
  tl_proto graph; /* p == NULL: none */
  bool two_graphs;
  bool has_opset;
} model_wire;

tl_status tl_onnx_malformed(tl_onnx *x, const unsigned char *at, const char *what) {
  tl_location where = {.file = x->path, .offset = (uint64_t)(at - x->model.p), .has_offset = true};
  return tl_fail(x->d, TL_INVALID_MODEL, where,
                 "malformed %s\vthe file is damaged, truncated, or not an ONNX model", what);
}

/* ---- what is carried along ------------------------------------------------------------------- */

static tl_status read_pair(tl_onnx *x, tl_proto entry, tl_pair *out) {
  tl_field f;
  tl_step step;
  *out = (tl_pair){0, 0};
  while ((step = tl_proto_next(&entry, &f)) == TL_STEP_FIELD) {
    tl_symbol *to = f.number == 1 ? &out->key : f.number == 2 ? &out->value : NULL;
    if (!to || f.type != TL_WIRE_BYTES)
      continue;
    *to = tl_onnx_symbol(x, tl_proto_sv(f.body));
    if (*to == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
  }
  return step == TL_STEP_BAD ? tl_onnx_malformed(x, entry.p, "StringStringEntryProto") : TL_OK;
}

typedef struct note_lists {
  tl_symbol doc;
  uint32_t n_metadata;
  tl_pair *metadata; /* NULL while counting */
  tl_buf raw;
} note_lists;

static tl_status walk_notes(tl_onnx *x, tl_proto w, const tl_note_fields *fields, note_lists *to) {
  tl_field f;
  bool fill = to->metadata != NULL;
  to->n_metadata = 0;
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD) {
    if (f.number < 64 && fields->known >> f.number & 1)
      continue;
    if (f.number == fields->doc && f.type == TL_WIRE_BYTES) {
      to->doc = tl_onnx_symbol(x, tl_proto_sv(f.body));
    } else if (f.number == fields->metadata && f.type == TL_WIRE_BYTES) {
      if (fill)
        TL_TRY(read_pair(x, f.body, &to->metadata[to->n_metadata]));
      to->n_metadata++;
    } else if (!fill && !(fields->drop && fields->drop(x, &f))) {
      tl_buf_add(&to->raw, f.start, (size_t)(w.p - f.start));
    }
  }
  return TL_OK;
}

tl_status tl_onnx_carry_notes(tl_onnx *x, tl_proto body, const tl_note_fields *fields,
                              uint32_t *slot) {
  note_lists lists = {0};
  tl_buf_init(&lists.raw);
  tl_status status = walk_notes(x, body, fields, &lists);
  tl_symbol raw = lists.raw.n ? tl_module_intern(x->m, tl_buf_view(&lists.raw)) : 0;
  bool failed = lists.raw.failed || raw == TL_NO_SYMBOL || lists.doc == TL_NO_SYMBOL;
  tl_buf_release(&lists.raw);
  if (status != TL_OK || failed)
    return status != TL_OK ? status : TL_NO_MEMORY;
  if (lists.n_metadata) {
    lists.metadata = tl_arena_calloc(&x->m->arena, lists.n_metadata, sizeof *lists.metadata);
    if (!lists.metadata)
      return TL_NO_MEMORY;
    TL_TRY(walk_notes(x, body, fields, &lists));
  }
  if (!lists.doc && !lists.n_metadata && !raw)
    return TL_OK;
  tl_extra *extra = tl_module_extra(x->m, slot);
  if (!extra)
    return TL_NO_MEMORY;
  extra->doc = lists.doc;
  extra->metadata = lists.metadata;
  extra->n_metadata = lists.n_metadata;
  extra->raw = raw;
  return TL_OK;
}

/* Functions that were inlined are gone, and so are bodies of ops that we have; the others stay as
 * they are. */
static bool was_inlined(const tl_onnx *x, const tl_field *f) {
  if (f->number != FUNCTION)
    return false;
  uint32_t low = 0;
  uint32_t high = x->functions.n; /* in file order */
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (x->functions.at[mid].start == f->start)
      return x->functions.at[mid].called || (x->functions.at[mid].domain == TL_SYM_npu_hcom &&
                                             x->functions.at[mid].raised != UINT32_MAX);
    if (x->functions.at[mid].start < f->start)
      low = mid + 1;
    else
      high = mid;
  }
  return false;
}

/* What became part of the graph is not carried along. */
static bool was_taken(const tl_onnx *x, const tl_field *f) {
  return was_inlined(x, f) || (f->number == TRAINING_INFO && x->o->training);
}

/* ---- header ---------------------------------------------------------------------------------- */

tl_status tl_onnx_read_opset(tl_onnx *x, tl_proto w, tl_symbol *domain, int64_t *version) {
  tl_field f;
  tl_step step;
  *domain = 0;
  *version = 0;
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      *domain = tl_onnx_domain(x, tl_proto_sv(f.body));
    else if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_VARINT))
      *version = (int64_t)f.value;
  }
  if (step == TL_STEP_BAD)
    return tl_onnx_malformed(x, w.p, "OperatorSetIdProto");
  return *domain == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

static tl_status read_opset(tl_onnx *x, tl_proto w) {
  tl_symbol domain;
  int64_t version;
  TL_TRY(tl_onnx_read_opset(x, w, &domain, &version));
  if (domain == 0 && (version < 1 || version > TL_ONNX_NEWEST_OPSET))
    return tl_fail(x->d, TL_INVALID_MODEL, TL_AT_FILE(x->path),
                   "opset %lld of ai.onnx is not between 1 and %d", (long long)version,
                   TL_ONNX_NEWEST_OPSET);
  return tl_module_set_opset(x->m, domain, version);
}

static tl_status take_string(tl_onnx *x, const tl_field *f, tl_symbol *out) {
  *out = tl_onnx_symbol(x, tl_proto_sv(f->body));
  return *out == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

static tl_status take_header(tl_onnx *x, model_wire *w, const tl_field *f) {
  switch (tl_field_tag(f)) {
  case TL_TAG(1, TL_WIRE_VARINT): x->m->ir_version = (int64_t)f->value; break;
  case TL_TAG(2, TL_WIRE_BYTES): return take_string(x, f, &x->m->producer_name);
  case TL_TAG(3, TL_WIRE_BYTES): return take_string(x, f, &x->m->producer_version);
  case TL_TAG(4, TL_WIRE_BYTES): return take_string(x, f, &x->m->domain);
  case TL_TAG(5, TL_WIRE_VARINT): x->m->model_version = (int64_t)f->value; break;
  case TL_TAG(GRAPH, TL_WIRE_BYTES):
    w->two_graphs = w->graph.p != NULL;
    w->graph = f->body;
    break;
  case TL_TAG(OPSET, TL_WIRE_BYTES): w->has_opset = true; return read_opset(x, f->body);
  default: break;
  }
  return TL_OK;
}

static tl_status read_header(tl_onnx *x, model_wire *out) {
  tl_proto w = x->model;
  tl_field f;
  tl_step step;
  *out = (model_wire){.two_graphs = false};
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD)
    TL_TRY(take_header(x, out, &f));
  return step == TL_STEP_BAD ? tl_onnx_malformed(x, w.p, "ModelProto") : TL_OK;
}

static tl_status check_header(tl_onnx *x, const model_wire *w) {
  tl_location where = TL_AT_FILE(x->path);
  if (x->model.p == x->model.end)
    return tl_fail(x->d, TL_INVALID_MODEL, where, "the file is empty");
  if (x->m->ir_version < 1)
    return tl_fail(x->d, TL_INVALID_MODEL, where, "ir_version is %lld, it must be positive",
                   (long long)x->m->ir_version);
  if (!w->graph.p)
    return tl_fail(x->d, TL_INVALID_MODEL, where, "the model has no graph");
  if (w->two_graphs)
    return tl_fail(x->d, TL_INVALID_MODEL, where, "the model has more than one graph");
  if (w->has_opset)
    return TL_OK;
  if (x->m->ir_version >= 3)
    return tl_fail(x->d, TL_INVALID_MODEL, where,
                   "no opset_import although ir_version is %lld\v"
                   "from IR version 3 on a model has to name its opsets",
                   (long long)x->m->ir_version);
  return tl_module_set_opset(x->m, 0, 1);
}

/* ---- driver ---------------------------------------------------------------------------------- */

/* Did the exporter invent the name, the node's with a number behind it? */
static bool is_invented(tl_sv name, tl_sv node) {
  if (!node.n || name.n <= node.n + 1 || memcmp(name.p, node.p, node.n) != 0 ||
      name.p[node.n] != '_')
    return false;
  for (size_t i = node.n + 1; i < name.n; i++)
    if (name.p[i] < '0' || name.p[i] > '9')
      return false;
  return true;
}

/* A call names all outputs of a function, wanted or not. What nobody uses of an op of ours has no
 * name, as before it was written. */
static void forget_unused(tl_module *m) {
  for (uint32_t id = 1; id <= m->graphs.n; id++) {
    const tl_graph *g = tl_graph_get(m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES (m, g, n) {
      const tl_node *node = tl_node_get(m, n);
      bool ours = node->n_results > 1 && tl_op_row(node->op) &&
                  tl_op_row(node->op)->domain_symbol == TL_SYM_tl;
      for (uint32_t i = 0; ours && i < node->n_results; i++)
        if (!tl_value_get(m, node->results + i)->n_uses &&
            is_invented(tl_value_name(m, node->results + i), tl_sym(m, node->name)))
          tl_value_set_name(m, node->results + i, 0);
    }
  }
}

static tl_status read_model(tl_onnx *x, const model_wire *w) {
  static const tl_note_fields notes = {.known = 0x1be, .doc = 6, .metadata = 14, .drop = was_taken};
  tl_frame root = {.opset = tl_module_opset(x->m, 0)};
  tl_graph_id g;
  x->m->source_opset = root.opset;
  x->frame = &root;
  TL_TRY(tl_onnx_index_functions(x));
  if (x->o->training)
    TL_TRY(tl_onnx_training(x));
  if (x->has_functions)
    TL_TRY(tl_onnx_check_growth(x, w->graph));
  for (uint32_t i = 0; x->has_functions && i < x->algorithms.n; i++)
    if (x->algorithms.at[i].p)
      TL_TRY(tl_onnx_check_growth(x, x->algorithms.at[i]));
  TL_TRY(tl_onnx_graph(x, w->graph, TL_NO_NODE, &g));
  TL_TRY(tl_onnx_unhide(x));
  if (x->has_functions)
    forget_unused(x->m);
  TL_TRY(tl_onnx_lift(x));
  if (x->algorithms.n > 1)
    TL_TRY(tl_onnx_training_order(x));
  TL_TRY(tl_onnx_control(x));
  if (root.opset && tl_module_opset(x->m, 0) < TL_ONNX_CANONICAL_OPSET)
    TL_TRY(tl_module_set_opset(x->m, 0, TL_ONNX_CANONICAL_OPSET));
  return tl_onnx_carry_notes(x, x->model, &notes, &x->m->extra);
}

/* Number of nodes of the graph, wherever it lies in the file: a hint that sizes the tables. */
static uint32_t count_nodes(tl_proto model) {
  tl_field f;
  uint32_t n = 0;
  while (tl_proto_next(&model, &f) == TL_STEP_FIELD) {
    tl_proto graph = f.body;
    tl_field g;
    if (tl_field_tag(&f) != TL_TAG(GRAPH, TL_WIRE_BYTES))
      continue;
    while (tl_proto_next(&graph, &g) == TL_STEP_FIELD)
      n += tl_field_tag(&g) == TL_TAG(1, TL_WIRE_BYTES) && n < UINT32_MAX;
  }
  return n;
}

static void release(tl_onnx *x) {
  tl_u32_vec *const lists[] = {
      &x->value_of, &x->claim,           &x->display, &x->mark,     &x->prefixes,
      &x->ops,      &x->functions_named, &x->inputs,  &x->outputs,  &x->values,
      &x->ids,      &x->lift_rows,       &x->numbers, &x->bindings, &x->is_output,
      &x->first_nodes, &x->last_bindings};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
    tl_u32_vec_release(lists[i]);
  tl_ahead_vec_release(&x->names);
  tl_proto_vec_release(&x->attr_ranges);
  tl_proto_vec_release(&x->algorithms);
  tl_proto_vec_release(&x->algorithm_nodes);
  tl_attr_vec_release(&x->attrs);
  tl_body_vec_release(&x->bodies);
  tl_part_vec_release(&x->parts);
  tl_formal_vec_release(&x->formals);
  tl_i64_vec_release(&x->ints);
  tl_f32_vec_release(&x->floats);
  tl_pending_vec_release(&x->pending);
  tl_undo_vec_release(&x->undo);
  tl_lift_vec_release(&x->lifts);
  tl_function_vec_release(&x->functions);
  tl_external_vec_release(&x->externals);
  tl_arena_release(&x->leaf);
}

/* Models that are made for the device may hold its own ops, such as steps of optimizers. */
static bool has_npu_ops(const tl_module *m) {
  for (tl_node_id n = 1; n < tl_module_node_end(m); n++) {
    const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
    if (row && row->domain_symbol == TL_SYM_npu && row->n_npu == 0)
      return true;
  }
  return false;
}

static tl_status import_model(tl_onnx *x) {
  model_wire w;
  TL_TRY(read_header(x, &w));
  TL_TRY(check_header(x, &w));
  TL_TRY(read_model(x, &w));
  if (has_npu_ops(x->m))
    x->m->form = TL_FORM_SPELLED;
  return TL_OK;
}

static tl_status load(tl_onnx *x, const tl_onnx_load_options *o, tl_file *file, tl_module **out) {
  static const tl_onnx_load_options defaults = {.mode = TL_FILE_MAP};
  x->o = o ? o : &defaults;
  x->max_nodes = x->o->max_nodes ? x->o->max_nodes : TL_ONNX_DEFAULT_MAX_NODES;
  tl_arena_init(&x->leaf, 0);
  x->m = tl_module_create(x->d, x->path, count_nodes(x->model));
  if (!x->m) {
    tl_file_close(file);
    return TL_NO_MEMORY;
  }
  tl_status status = file ? tl_module_add_file(x->m, file) : TL_OK;
  if (status == TL_OK)
    status = import_model(x);
  release(x);
  if (status == TL_OK)
    *out = x->m;
  else
    tl_module_destroy(x->m);
  return status;
}

tl_status tl_onnx_load(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                       tl_module **out) {
  tl_file *file;
  TL_TRY(tl_file_open(d, path, o ? o->mode : TL_FILE_MAP, &file));
  tl_onnx x = {.d = d, .path = path, .file = file};
  x.model = (tl_proto){file->data, file->data + file->size};
  return load(&x, o, file, out);
}

/* Nodes of the canonical opset mean the same in no newer one. */
static tl_status check_opsets(tl_onnx *x, int64_t first) {
  int64_t second = tl_module_opset(x->m, 0);
  if (first == second)
    return TL_OK;
  return tl_fail(x->d, TL_UNSUPPORTED, TL_AT_FILE(x->path),
                 "the two models have opset %lld and %lld after they were lifted"
                 "\vexport both with the same opset, at most %d",
                 (long long)second, (long long)first, (int)TL_ONNX_CANONICAL_OPSET);
}

static tl_status load_beside(tl_onnx *x, tl_file *file) {
  tl_about about = tl_module_about(x->m, x->path);
  int64_t opset = tl_module_opset(x->m, 0);
  tl_arena_init(&x->leaf, 0);
  tl_status status = tl_module_add_file(x->m, file);
  if (status == TL_OK)
    status = import_model(x);
  release(x);
  tl_module_set_about(x->m, &about);
  return status == TL_OK ? check_opsets(x, opset) : status;
}

tl_status tl_onnx_load_beside(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                              tl_module *m) {
  static const tl_onnx_load_options defaults = {.mode = TL_FILE_MAP};
  tl_file *file;
  tl_onnx x = {.d = d, .path = path, .o = o ? o : &defaults, .m = m};
  TL_TRY(tl_file_open(d, path, x.o->mode, &file));
  x.file = file;
  x.model = (tl_proto){file->data, file->data + file->size};
  x.max_nodes = x.o->max_nodes ? x.o->max_nodes : TL_ONNX_DEFAULT_MAX_NODES;
  return load_beside(&x, file);
}

tl_status tl_onnx_load_bytes(tl_diag *d, const char *name, const void *bytes, size_t n,
                             const tl_onnx_load_options *o, tl_module **out) {
  tl_onnx x = {.d = d, .path = name};
  x.model = (tl_proto){bytes, (const unsigned char *)bytes + n};
  return load(&x, o, NULL, out);
}
