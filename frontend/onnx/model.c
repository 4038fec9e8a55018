/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a ModelProto: versions, opsets, the graph, and all that is only carried along. */
#include "frontend/onnx/control.h"
#include "frontend/onnx/graph.h"
#include "frontend/onnx/notes.h"
#include "frontend/onnx/ops.h"
#include "ir/ops_gen.h"

enum { GRAPH = 7, OPSET = 8, TRAINING_INFO = 20, FUNCTION = 25 };

typedef struct model_wire {
  tl_proto graph; /* p == NULL: none */
  bool two_graphs;
  bool has_opset;
} model_wire;

/* Returns true for a function that is not carried along: it was inlined, or it defines a
 * collective that the op table has. */
static bool was_inlined(const tl_onnx *reader, const tl_field *f) {
  if (f->number != FUNCTION)
    return false;
  uint32_t low = 0;
  uint32_t high = reader->functions.list.n; /* in file order */
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (reader->functions.list.at[mid].start == f->start)
      return reader->functions.list.at[mid].called ||
             (reader->functions.list.at[mid].domain == TL_SYM_npu_hcom &&
              reader->functions.list.at[mid].raised != UINT32_MAX);
    if (reader->functions.list.at[mid].start < f->start)
      low = mid + 1;
    else
      high = mid;
  }
  return false;
}

/* Returns true for a field that became part of the graph, which is therefore not carried along. */
static bool was_taken(const void *user, const tl_field *f) {
  const tl_onnx *reader = user;
  return was_inlined(reader, f) || (f->number == TRAINING_INFO && reader->o->training);
}

/* ---- header ---------------------------------------------------------------------------------- */

static tl_sv shown_domain(const tl_onnx *reader, tl_symbol domain) {
  return domain ? tl_sv_shown(tl_sym(reader->r.m, domain)) : TL_SV("ai.onnx");
}

/* Takes an import. The last of several counts, as in ONNX Runtime, whose optimizer models have
 * two of ai.onnx. */
static tl_status read_opset(tl_onnx *reader, tl_proto w) {
  tl_symbol domain;
  int64_t version;
  TL_TRY(tl_onnx_read_opset(&reader->r, w, &domain, &version));
  if (domain == 0 && (version < 1 || version > TL_ONNX_NEWEST_OPSET))
    return tl_fail(reader->r.d, TL_INVALID_MODEL, TL_AT_FILE(reader->r.path),
                   "opset %lld of ai.onnx is not between 1 and %d", (long long)version,
                   TL_ONNX_NEWEST_OPSET);
  if (version < 1) { /* of another domain: a node that uses it says what is assumed */
    tl_warn(reader->r.d, TL_AT_FILE(reader->r.path),
            "opset %lld of domain '%.*s' is no version; the import is ignored", (long long)version,
            TL_SV_ARG(shown_domain(reader, domain)));
    return TL_OK;
  }
  if (domain == TL_SYM_ai_onnx_ml && version > TL_ONNX_ML_NEWEST_OPSET)
    tl_warn(reader->r.d, TL_AT_FILE(reader->r.path),
            "opset %lld of ai.onnx.ml is newer than %d, the last that is known: its ops are taken "
            "for those of %d",
            (long long)version, TL_ONNX_ML_NEWEST_OPSET, TL_ONNX_ML_NEWEST_OPSET);
  int64_t before = tl_module_opset(reader->r.m, domain);
  if (before && before != version)
    tl_note(reader->r.d, TL_AT_FILE(reader->r.path),
            "domain '%.*s' is imported in versions %lld and %lld; the last one counts",
            TL_SV_ARG(shown_domain(reader, domain)), (long long)before, (long long)version);
  return tl_module_set_opset(reader->r.m, domain, version);
}

static tl_status take_string(tl_onnx *reader, const tl_field *f, tl_symbol *out) {
  *out = tl_onnx_symbol(&reader->r, tl_proto_sv(f->body));
  return *out == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

static tl_status take_header(tl_onnx *reader, model_wire *w, const tl_field *f) {
  switch (tl_field_tag(f)) {
  case TL_TAG(1, TL_WIRE_VARINT): reader->r.m->ir_version = (int64_t)f->value; break;
  case TL_TAG(2, TL_WIRE_BYTES): return take_string(reader, f, &reader->r.m->producer_name);
  case TL_TAG(3, TL_WIRE_BYTES): return take_string(reader, f, &reader->r.m->producer_version);
  case TL_TAG(4, TL_WIRE_BYTES): return take_string(reader, f, &reader->r.m->domain);
  case TL_TAG(5, TL_WIRE_VARINT): reader->r.m->model_version = (int64_t)f->value; break;
  case TL_TAG(GRAPH, TL_WIRE_BYTES):
    w->two_graphs = w->graph.p != NULL;
    w->graph = f->body;
    break;
  case TL_TAG(OPSET, TL_WIRE_BYTES): w->has_opset = true; return read_opset(reader, f->body);
  default: break;
  }
  return TL_OK;
}

static tl_status read_header(tl_onnx *reader, model_wire *out) {
  tl_proto w = reader->r.model;
  tl_field f;
  tl_step step;
  *out = (model_wire){.two_graphs = false};
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD)
    TL_TRY(take_header(reader, out, &f));
  return step == TL_STEP_BAD ? tl_onnx_malformed(&reader->r, w.p, "ModelProto") : TL_OK;
}

static tl_status check_header(tl_onnx *reader, const model_wire *w) {
  tl_location where = TL_AT_FILE(reader->r.path);
  if (reader->r.model.p == reader->r.model.end)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "the file is empty");
  if (reader->r.m->ir_version < 1)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "ir_version is %lld, it must be positive",
                   (long long)reader->r.m->ir_version);
  if (!w->graph.p)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "the model has no graph");
  if (w->two_graphs)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where, "the model has more than one graph");
  if (w->has_opset)
    return TL_OK;
  if (reader->r.m->ir_version >= 3)
    return tl_fail(reader->r.d, TL_INVALID_MODEL, where,
                   "no opset_import although ir_version is %lld\v"
                   "from IR version 3 on a model has to name its opsets",
                   (long long)reader->r.m->ir_version);
  return tl_module_set_opset(reader->r.m, 0, 1);
}

/* ---- driver ---------------------------------------------------------------------------------- */

/* Returns true if our ONNX writer made up the name: the node's name and a number. */
static bool is_invented(tl_sv name, tl_sv node) {
  if (!node.n || name.n <= node.n + 1 || memcmp(name.p, node.p, node.n) != 0 ||
      name.p[node.n] != '_')
    return false;
  for (size_t i = node.n + 1; i < name.n; i++)
    if (name.p[i] < '0' || name.p[i] > '9')
      return false;
  return true;
}

/* Removes made-up names of unused results. A call in ONNX must name all outputs of a function; such
 * a result had no name before it was written. */
static void forget_unused(tl_module *m) {
  for (uint32_t id = 1; id <= m->graphs.n; id++) {
    const tl_graph *g = tl_graph_get(m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n) {
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

static tl_status read_model(tl_onnx *reader, const model_wire *w) {
  const tl_note_fields notes = {
      .known = 0x1be, .doc = 6, .metadata = 14, .drop = was_taken, .user = reader};
  tl_frame root = {.opset = tl_module_opset(reader->r.m, 0)};
  tl_graph_id g;
  reader->r.m->source_opset = root.opset;
  reader->calls.frame = &root;
  TL_TRY(tl_onnx_index_functions(&reader->functions));
  if (reader->o->training)
    TL_TRY(tl_onnx_read_training(&reader->training));
  bool has_functions = reader->functions.list.n != 0;
  if (has_functions)
    TL_TRY(tl_onnx_check_growth(&reader->functions, w->graph, reader->max_nodes));
  for (uint32_t i = 0; has_functions && i < reader->training.algorithms.n; i++)
    if (reader->training.algorithms.at[i].p)
      TL_TRY(tl_onnx_check_growth(&reader->functions, reader->training.algorithms.at[i],
                                  reader->max_nodes));
  TL_TRY(tl_onnx_graph(reader, w->graph, TL_NO_NODE, &g));
  TL_TRY(tl_onnx_unhide(&reader->names));
  if (has_functions)
    forget_unused(reader->r.m);
  TL_TRY(tl_onnx_lift(&reader->lifts));
  if (reader->training.algorithms.n > 1)
    TL_TRY(tl_onnx_training_order(&reader->training));
  TL_TRY(tl_onnx_control(&reader->names));
  if (tl_module_opset(reader->r.m, 0) < TL_ONNX_CANONICAL_OPSET)
    TL_TRY(tl_module_set_opset(reader->r.m, 0, TL_ONNX_CANONICAL_OPSET));
  return tl_onnx_carry_notes(&reader->r, reader->r.model, &notes, &reader->r.m->extra);
}

/* Returns the number of nodes of the main graph, to size the tables before the import. */
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

/* Initializes everything but the module, which the caller sets. */
static void begin(tl_onnx *reader, tl_diag *d, const char *path, const tl_onnx_load_options *o) {
  static const tl_onnx_load_options defaults = {.mode = TL_FILE_MAP};
  *reader = (tl_onnx){.o = o ? o : &defaults};
  reader->r.d = d;
  reader->r.path = path;
  reader->r.mode = reader->o->mode;
  reader->r.beside = reader->o->beside;
  tl_onnx_reader_init(&reader->r);
  reader->max_nodes = reader->o->max_nodes ? reader->o->max_nodes : TL_ONNX_DEFAULT_MAX_NODES;
  reader->names.r = reader->attributes.r = reader->functions.r = reader->training.r =
      reader->lifts.r = &reader->r;
  reader->names.calls = reader->attributes.calls = &reader->calls;
  reader->training.names = &reader->names;
}

static void release(tl_onnx *reader) {
  tl_proto_vec_release(&reader->calls.attributes);
  tl_formal_vec_release(&reader->calls.formals);
  tl_onnx_names_release(&reader->names);
  tl_onnx_ports_release(&reader->ports);
  tl_onnx_attributes_release(&reader->attributes);
  tl_onnx_functions_release(&reader->functions);
  tl_onnx_training_release(&reader->training);
  tl_onnx_lifts_release(&reader->lifts);
  tl_u32_vec_release(&reader->call_paths);
  tl_u32_vec_release(&reader->values);
  tl_part_vec_release(&reader->parts);
  tl_onnx_reader_release(&reader->r);
}

/* Returns true if the model has NPU ops: models made for the device may, such as steps of
 * optimizers. */
static bool has_npu_ops(const tl_module *m) {
  for (tl_node_id n = 1; n < tl_module_node_end(m); n++) {
    const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
    if (row && row->domain_symbol == TL_SYM_npu && row->n_npu == 0)
      return true;
  }
  return false;
}

static tl_status import_model(tl_onnx *reader) {
  model_wire w;
  TL_TRY(read_header(reader, &w));
  TL_TRY(check_header(reader, &w));
  TL_TRY(read_model(reader, &w));
  if (has_npu_ops(reader->r.m))
    reader->r.m->form = TL_FORM_SPELLED;
  return TL_OK;
}

static tl_status open_model(tl_onnx *reader, tl_file **file) {
  TL_TRY(tl_file_open(reader->r.d, reader->r.path, reader->o->mode, file));
  reader->r.file = *file;
  reader->r.model = (tl_proto){(*file)->data, (*file)->data + (*file)->size};
  return TL_OK;
}

static tl_status load(tl_onnx *reader, tl_file *file, tl_module **out) {
  reader->r.m = tl_module_create(reader->r.d, reader->r.path, count_nodes(reader->r.model));
  if (!reader->r.m) {
    tl_file_close(file);
    return TL_NO_MEMORY;
  }
  tl_status status = file ? tl_module_add_file(reader->r.m, file) : TL_OK;
  if (status == TL_OK)
    status = import_model(reader);
  release(reader);
  if (status == TL_OK)
    *out = reader->r.m;
  else
    tl_module_destroy(reader->r.m);
  return status;
}

tl_status tl_onnx_load(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                       tl_module **out) {
  tl_file *file;
  tl_onnx reader;
  begin(&reader, d, path, o);
  TL_TRY(open_model(&reader, &file));
  return load(&reader, file, out);
}

/* Checks that both models have the same opset after lifting. Models newer than the canonical opset
 * are not lifted, and an op may differ between such versions. */
static tl_status check_opsets(tl_onnx *reader, int64_t first) {
  int64_t second = tl_module_opset(reader->r.m, 0);
  if (first == second)
    return TL_OK;
  return tl_fail(reader->r.d, TL_UNSUPPORTED, TL_AT_FILE(reader->r.path),
                 "the two models have opset %lld and %lld after they were lifted"
                 "\vexport both with the same opset, at most %d",
                 (long long)second, (long long)first, (int)TL_ONNX_CANONICAL_OPSET);
}

static tl_status load_beside(tl_onnx *reader, tl_file *file) {
  tl_about about = tl_module_about(reader->r.m, reader->r.path);
  int64_t opset = tl_module_opset(reader->r.m, 0);
  tl_status status = tl_module_add_file(reader->r.m, file);
  if (status == TL_OK)
    status = import_model(reader);
  release(reader);
  tl_module_set_about(reader->r.m, &about);
  return status == TL_OK ? check_opsets(reader, opset) : status;
}

tl_status tl_onnx_load_beside(tl_diag *d, const char *path, const tl_onnx_load_options *o,
                              tl_module *m) {
  tl_file *file;
  tl_onnx reader;
  begin(&reader, d, path, o);
  reader.r.m = m;
  TL_TRY(open_model(&reader, &file));
  return load_beside(&reader, file);
}

tl_status tl_onnx_load_bytes(tl_diag *d, const char *name, const void *bytes, size_t n,
                             const tl_onnx_load_options *o, tl_module **out) {
  tl_onnx reader;
  begin(&reader, d, name, o);
  reader.r.model = (tl_proto){bytes, (const unsigned char *)bytes + n};
  return load(&reader, NULL, out);
}
