/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor info: what a model consists of, and which of its ops lack an NPU form. */
#include <stdlib.h>

#include "ir/options/custom_ops.h"
#include "ir/verify/stage.h"
#include "passes/edit/passes.h"
#include "support/json_writer.h"
#include "support/measure.h"
#include "tools/convert/pipeline.h"
#include "tools/convert/summary.h"
#include "tools/tables/info_memory.h"
#include "tools/tables/info_train.h"

/* Nodes of one op. */
typedef struct op_count {
  tl_sv domain;
  tl_sv name;
  uint64_t nodes;
} op_count;

TL_VEC(op_count_vec, op_count);

/* Nodes that became one NPU type. */
typedef struct type_count {
  const char *type;
  const char *judged; /* what precision judges it as, "" for nothing */
  uint64_t nodes;
} type_count;

TL_VEC(type_count_vec, type_count);

/* Constants of one dtype. */
typedef struct dtype_count {
  uint64_t constants;
  uint64_t bytes;
} dtype_count;

/* An input or output of the model. */
typedef struct border_value {
  tl_sv name; /* of the module */
  tl_type_id type;
} border_value;

TL_VEC(border_vec, border_value);

/* Facts about a model, collected before and after clean-up. */
typedef struct model_info {
  const tl_module *module;
  border_vec inputs; /* of the model: what is no tensor is none here */
  border_vec outputs;
  bool noted; /* these are filled */
  uint32_t nodes;
  uint32_t graphs; /* bodies among them */
  uint32_t bodies;
  op_count_vec ops;
  op_count_vec unmapped; /* ops without an NPU form, after clean-up */
  type_count_vec types;  /* of all others, by name */
  dtype_count weights[TL_N_DTYPES];
  tl_weights all_weights;
  uint32_t files; /* besides the model: external data */
} model_info;

/* Orders by number of nodes, most first, then by name. */
static int by_count(const void *a, const void *b) {
  const op_count *x = a;
  const op_count *y = b;
  if (x->nodes != y->nodes)
    return x->nodes > y->nodes ? -1 : 1;
  int order = tl_sv_compare(x->name, y->name);
  return order ? order : tl_sv_compare(x->domain, y->domain);
}

/* Returns true if this version cannot write the node for the NPU. */
static bool has_no_form(const tl_module *m, tl_node_id n) {
  return tl_npu_stage_forbids(m, TL_NPU_STAGE_EXPANDED, n) != NULL;
}

/* Returns true if the user vouches for an op that the table lacks. */
static bool is_custom(const tl_module *m, tl_node_id n, const tl_options *o) {
  tl_op_id op = tl_node_get(m, n)->op;
  return !tl_op_row(op) && tl_options_custom_op(o, tl_op_name(m, op));
}

/* Counts nodes by op, most frequent first; with options only those that have no NPU form under
 * them. The strings belong to the module. False if memory is out. */
static bool count_ops(const tl_module *m, const tl_options *unmapped, op_count_vec *out) {
  size_t n_ops = (size_t)tl_n_op_rows + m->opaque_ops.n;
  uint64_t *counts = calloc(n_ops ? n_ops : 1, sizeof *counts);
  bool ok = counts != NULL;
  for (uint32_t g = 0; ok && g < m->graphs.n; g++) {
    const tl_graph *graph = m->graphs.at[g];
    if (graph->erased)
      continue;
    TL_FOR_NODES(m, graph, n) {
      if (!unmapped || (has_no_form(m, n) && !is_custom(m, n, unmapped)))
        counts[tl_node_get(m, n)->op]++;
    }
  }
  for (size_t i = 0; ok && i < n_ops; i++) {
    tl_op_id op = (tl_op_id)i;
    if (counts[i])
      ok = op_count_vec_push(out, (op_count){tl_op_domain(m, op), tl_op_name(m, op), counts[i]});
  }
  free(counts);
  if (ok && out->n)
    qsort(out->at, out->n, sizeof *out->at, by_count);
  return ok;
}

static int by_type(const void *a, const void *b) {
  const type_count *x = a;
  const type_count *y = b;
  int order = strcmp(x->type, y->type);
  return order ? order : strcmp(x->judged, y->judged);
}

/* Returns the candidate that select chose for a node; NULL if the node has no form. */
static const tl_npu_candidate *choice(const tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  const tl_op *row = tl_op_row(node->op);
  bool any = row && node->candidate >= 0 && node->candidate < row->n_npu;
  return any && !has_no_form(m, n) ? &row->npu[node->candidate] : NULL;
}

/* Merges rows of the same type and judged type. */
static void merge_types(type_count_vec *v) {
  uint32_t n = 0;
  if (v->n)
    qsort(v->at, v->n, sizeof *v->at, by_type);
  for (uint32_t i = 0; i < v->n; i++) {
    if (n && by_type(&v->at[n - 1], &v->at[i]) == 0)
      v->at[n - 1].nodes += v->at[i].nodes;
    else
      v->at[n++] = v->at[i];
  }
  v->n = n;
}

/* Counts the NPU types of all nodes. False if memory is out. */
static bool count_types(const tl_module *m, type_count_vec *out) {
  for (uint32_t g = 0; g < m->graphs.n; g++) {
    const tl_graph *graph = m->graphs.at[g];
    if (graph->erased)
      continue;
    TL_FOR_NODES(m, graph, n) {
      const tl_npu_candidate *c = choice(m, n);
      if (c && !type_count_vec_push(out, (type_count){c->npu_type, c->judged, 1}))
        return false;
    }
  }
  merge_types(out);
  return true;
}

/* Counts constants and their bytes by dtype. */
static void count_dtypes(const tl_module *m, dtype_count *counts) {
  for (uint32_t g = 0; g < m->graphs.n; g++) {
    const tl_graph *graph = m->graphs.at[g];
    for (uint32_t i = 0; !graph->erased && i < graph->constants.n; i++) {
      tl_value_id v = graph->constants.at[i];
      if (!v)
        continue;
      const tl_tensor *t = tl_tensor_get(m, tl_value_get(m, v)->tensor);
      counts[t->dtype].constants++;
      counts[t->dtype].bytes += t->bytes;
    }
  }
}

static void add_op_name(tl_buf *out, const op_count *c) {
  if (c->domain.n)
    tl_buf_printf(out, "%.*s::", TL_SV_ARG(c->domain));
  tl_buf_add_sv(out, c->name);
}

/* Names come from the file and go to a terminal, so a name with blanks or control characters is
 * quoted. */
void tl_info_add_name(tl_buf *out, tl_sv name) {
  for (size_t i = 0; i < name.n; i++) {
    if ((unsigned char)name.p[i] <= 0x20 || name.p[i] == 0x7f) {
      tl_buf_add_quoted(out, name);
      return;
    }
  }
  tl_buf_add_sv(out, name);
}

static void add_value(tl_buf *out, const tl_module *m, const char *what, const border_value *v) {
  tl_buf_printf(out, "%-9s", what);
  tl_info_add_name(out, v->name);
  tl_buf_add_z(out, ": ");
  tl_type_print(m, v->type, out);
  tl_buf_add_char(out, '\n');
}

static void add_ops(tl_buf *out, const char *title, const op_count_vec *v) {
  tl_buf_printf(out, "%s\n", title);
  for (uint32_t i = 0; i < v->n; i++) {
    tl_buf_printf(out, "  %8llu  ", (unsigned long long)v->at[i].nodes);
    add_op_name(out, &v->at[i]);
    tl_buf_add_char(out, '\n');
  }
}

/* Adds the NPU types of nodes, with the type as which precision judges them if that is another. */
static void add_types(tl_buf *out, const type_count_vec *v) {
  if (v->n)
    tl_buf_add_z(out, "NPU types (after clean-up and expansion)\n");
  for (uint32_t i = 0; i < v->n; i++) {
    const type_count *t = &v->at[i];
    tl_buf_printf(out, "  %8llu  %s", (unsigned long long)t->nodes, t->type);
    if (!*t->judged)
      tl_buf_add_z(out, ", keeps its dtypes");
    else if (strcmp(t->type, t->judged) != 0)
      tl_buf_printf(out, ", judged as %s", t->judged);
    tl_buf_add_char(out, '\n');
  }
}

/* Adds the opset of the file and the versions to which the module was brought. */
static void add_opsets(tl_buf *out, const tl_module *m) {
  tl_buf_add_z(out, "opset    ");
  if (m->source_opset)
    tl_buf_printf(out, "%lld in the file; now", (long long)m->source_opset);
  for (uint32_t i = 0; i < m->opsets.n; i++) {
    tl_sv domain = tl_sym(m, m->opsets.at[i].domain);
    if (domain.n == 0)
      domain = TL_SV("ai.onnx");
    tl_buf_add_z(out, i || m->source_opset ? " " : "");
    tl_info_add_name(out, domain);
    tl_buf_printf(out, " %lld", (long long)m->opsets.at[i].version);
  }
  tl_buf_add_char(out, '\n');
}

/* Adds the versions of ONNX; a module in NPU form, as AIR gives one, has the form instead. */
static void add_versions(tl_buf *out, const tl_module *m) {
  if (m->form == TL_FORM_NPU && m->opsets.n == 0) {
    tl_buf_printf(out, "form     %s\n", tl_form_name((tl_form)m->form));
    return;
  }
  tl_buf_printf(out, "ir       %lld\n", (long long)m->ir_version);
  add_opsets(out, m);
}

/* Adds all facts for people: interface, weights, ops, and what the NPU lacks. */
static void add_text(tl_buf *out, const char *path, const model_info *info) {
  const tl_module *m = info->module;
  tl_buf_printf(out, "model    %s\n", path);
  if (m->producer_name) {
    tl_buf_add_z(out, "producer ");
    tl_info_add_name(out, tl_sym(m, m->producer_name));
    tl_buf_add_char(out, '\n');
  }
  add_versions(out, m);
  for (uint32_t i = 0; i < info->inputs.n; i++)
    add_value(out, m, "input", &info->inputs.at[i]);
  for (uint32_t i = 0; i < info->outputs.n; i++)
    add_value(out, m, "output", &info->outputs.at[i]);
  tl_buf_printf(out, "weights  %llu constants, ", (unsigned long long)info->all_weights.constants);
  tl_add_bytes(out, info->all_weights.bytes);
  if (info->files)
    tl_buf_printf(out, ", %u external file%s", info->files, info->files == 1 ? "" : "s");
  tl_buf_add_char(out, '\n');
  for (unsigned d = 0; d < TL_N_DTYPES; d++) {
    if (!info->weights[d].constants)
      continue;
    tl_buf_printf(out, "  %8llu  %s, ", (unsigned long long)info->weights[d].constants,
                  tl_dtype_get((tl_dtype)d)->name);
    tl_add_bytes(out, info->weights[d].bytes);
    tl_buf_add_char(out, '\n');
  }
  tl_buf_printf(out, "nodes    %u in %u graph%s\n", info->nodes, info->graphs,
                info->graphs == 1 ? "" : "s");
  add_ops(out, "ops", &info->ops);
  add_types(out, &info->types);
  if (info->unmapped.n)
    add_ops(out, "without an NPU form (after clean-up)", &info->unmapped);
  else
    tl_buf_add_z(out, "every op has an NPU form\n");
}

/* Adds {op: nodes}, in the order of the counts. */
static void json_ops(tl_json_writer *w, const char *key, const op_count_vec *v) {
  tl_put_key(w, key);
  tl_put_object(w);
  for (uint32_t i = 0; i < v->n; i++) {
    tl_buf name;
    tl_buf_init(&name);
    add_op_name(&name, &v->at[i]);
    tl_member_u64(w, name.p ? name.p : "", v->at[i].nodes);
    tl_buf_release(&name);
  }
  tl_put_end(w);
}

/* Adds the NPU types as a list of objects. */
static void json_types(tl_json_writer *w, const type_count_vec *v) {
  tl_put_key(w, "npu_types");
  tl_put_array(w);
  for (uint32_t i = 0; i < v->n; i++) {
    tl_put_object(w);
    tl_member_z(w, "type", v->at[i].type);
    tl_member_z(w, "judged", v->at[i].judged);
    tl_member_u64(w, "nodes", v->at[i].nodes);
    tl_put_end(w);
  }
  tl_put_end(w);
}

/* Adds a type in parts: "dtype", and "shape" as a list of sizes, names and null (unknown), or null
 * if the rank is unknown. */
static void json_tensor(tl_json_writer *w, const tl_module *m, const tl_type *t) {
  tl_put_key(w, "kind");
  tl_put_z(w, t->kind == TL_KIND_TENSOR ? "tensor" : "other");
  if (t->kind != TL_KIND_TENSOR)
    return;
  tl_member_z(w, "dtype", tl_dtype_get((tl_dtype)t->dtype)->name);
  tl_put_key(w, "shape");
  if (t->rank < 0) {
    tl_put_null(w);
    return;
  }
  tl_put_array(w);
  for (int i = 0; i < t->rank; i++) {
    if (tl_dim_is_symbol(t->dims[i]))
      tl_put_sv(w, tl_sym(m, tl_dim_symbol(t->dims[i])));
    else if (t->dims[i] == TL_DIM_UNKNOWN)
      tl_put_null(w);
    else
      tl_put_i64(w, t->dims[i]);
  }
  tl_put_end(w);
}

/* Adds one input or output. */
static void json_value(tl_json_writer *w, const tl_module *m, const border_value *v) {
  tl_buf type;
  tl_buf_init(&type);
  tl_type_print(m, v->type, &type);
  tl_put_object(w);
  tl_member_sv(w, "name", v->name);
  tl_member_sv(w, "type", tl_buf_view(&type));
  json_tensor(w, m, tl_type_get(m, v->type));
  tl_put_end(w);
  tl_buf_release(&type);
}

/* Adds the inputs and outputs of the main graph. */
static void json_interface(tl_json_writer *w, const model_info *info) {
  tl_put_key(w, "inputs");
  tl_put_array(w);
  for (uint32_t i = 0; i < info->inputs.n; i++)
    json_value(w, info->module, &info->inputs.at[i]);
  tl_put_end(w);
  tl_put_key(w, "outputs");
  tl_put_array(w);
  for (uint32_t i = 0; i < info->outputs.n; i++)
    json_value(w, info->module, &info->outputs.at[i]);
  tl_put_end(w);
}

/* Adds the totals of the weights, and their parts by dtype. */
static void json_weights(tl_json_writer *w, const model_info *info) {
  tl_put_key(w, "weights");
  tl_put_object(w);
  tl_member_u64(w, "constants", info->all_weights.constants);
  tl_member_u64(w, "bytes", info->all_weights.bytes);
  tl_member_u64(w, "files", info->files);
  tl_put_key(w, "dtypes");
  tl_put_object(w);
  for (unsigned d = 0; d < TL_N_DTYPES; d++) {
    if (!info->weights[d].constants)
      continue;
    tl_put_key(w, tl_dtype_get((tl_dtype)d)->name);
    tl_put_object(w);
    tl_member_u64(w, "constants", info->weights[d].constants);
    tl_member_u64(w, "bytes", info->weights[d].bytes);
    tl_put_end(w);
  }
  tl_put_end(w);
  tl_put_end(w);
}

static void add_json(tl_buf *out, const char *path, const model_info *info) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  const tl_module *m = info->module;
  tl_put_object(w);
  tl_member_u64(w, "schema", 1);
  tl_member_z(w, "model", path);
  tl_member_sv(w, "producer", tl_sym(m, m->producer_name));
  tl_member_sv(w, "form", tl_sv_from(tl_form_name((tl_form)m->form)));
  tl_put_key(w, "ir_version");
  tl_put_i64(w, m->ir_version);
  tl_put_key(w, "opset");
  tl_put_i64(w, m->source_opset);
  json_interface(w, info);
  json_weights(w, info);
  tl_member_u64(w, "nodes", info->nodes);
  tl_member_u64(w, "bodies", info->bodies);
  json_ops(w, "ops", &info->ops);
  json_types(w, &info->types);
  json_ops(w, "without_npu_form", &info->unmapped);
  tl_json_finish(w);
}

static void count_graphs(model_info *out, const tl_module *m) {
  for (uint32_t g = 0; g < m->graphs.n; g++) {
    out->graphs += !m->graphs.at[g]->erased;
    out->bodies += !m->graphs.at[g]->erased && m->graphs.at[g]->kind == TL_GRAPH_BODY;
  }
}

static bool add_border(border_vec *to, const tl_module *m, tl_value_id v) {
  return border_vec_push(to, (border_value){tl_value_name(m, v), tl_value_type(m, v)});
}

/* Notes the inputs and outputs. */
static tl_status note_interface(tl_module *m, model_info *info) {
  const tl_graph *g = tl_module_main(m);
  bool ok = true;
  info->noted = true;
  for (uint32_t i = 0; ok && i < g->inputs.n; i++)
    ok = add_border(&info->inputs, m, g->inputs.at[i]);
  for (uint32_t i = 0; ok && i < tl_graph_n_outputs(m, g); i++)
    ok = add_border(&info->outputs, m, tl_graph_output(m, g, i));
  return ok ? TL_OK : tl_no_memory(m);
}

/* Notes them before the first pass that turns what is no tensor into tensors. */
static tl_status before_pass(void *user, tl_module *m, const tl_pass_event *e) {
  model_info *info = user;
  bool first = !e->after && e->row->fn == tl_pass_plain_inputs && !info->noted;
  return first ? note_interface(m, info) : TL_OK;
}

/* Takes what later passes know about the shape of a value that stayed a tensor of its dtype. */
static void sharpen(border_vec *to, const tl_module *m, tl_value_id v) {
  const tl_type *now = tl_type_get(m, tl_value_type(m, v));
  for (uint32_t i = 0; i < to->n; i++) {
    const tl_type *then = tl_type_get(m, to->at[i].type);
    if (tl_sv_eq(to->at[i].name, tl_value_name(m, v)) && then->kind == TL_KIND_TENSOR &&
        now->kind == TL_KIND_TENSOR && then->dtype == now->dtype)
      to->at[i].type = tl_value_type(m, v);
  }
}

/* Runs clean-up and selection. The interface is that of the model, with the types that clean-up
 * infers: sequences and what else the NPU form does not have are named as the model has them. */
static tl_status run_passes(tl_cli *cli, tl_module *m, model_info *info) {
  const tl_graph *g = tl_module_main(m);
  TL_TRY(tl_cli_run_observed(cli, m, TL_STAGE_SELECT, before_pass, info));
  if (!info->noted)
    return note_interface(m, info);
  for (uint32_t i = 0; i < g->inputs.n; i++)
    sharpen(&info->inputs, m, g->inputs.at[i]);
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g); i++)
    sharpen(&info->outputs, m, tl_graph_output(m, g, i));
  return TL_OK;
}

/* Collects facts of the model as it is, then runs clean-up and selection for what the NPU lacks.
 * Ops are counted before the passes change them. */
static tl_status gather(tl_cli *cli, tl_module *m, model_info *info) {
  info->module = m;
  info->nodes = tl_module_count_nodes(m);
  count_graphs(info, m);
  info->all_weights = tl_count_weights(m);
  info->files = m->files.n > 1 ? m->files.n - 1 : 0;
  count_dtypes(m, info->weights);
  bool ok = count_ops(m, NULL, &info->ops);
  if (ok)
    TL_TRY(run_passes(cli, m, info));
  if (!ok || !count_ops(m, &cli->settings.options, &info->unmapped) ||
      !count_types(m, &info->types))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return TL_OK;
}

static tl_status show(tl_cli *cli, const model_info *info) {
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    add_json(&out, cli->word, info);
  else
    add_text(&out, cli->word, info);
  return tl_cli_print(cli, &out);
}

tl_status tl_command_info(tl_cli *cli) {
  tl_module *m;
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no model is named\vtailor info MODEL");
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(tl_session_load(&cli->session, cli->word, &m));
  bool memory = tl_cli_has(cli, TL_OPTION_INFO_MEMORY);
  if (memory || tl_cli_has(cli, TL_OPTION_TRAIN)) {
    tl_status told = memory ? tl_info_memory(cli, m) : tl_info_train(cli, m);
    tl_module_destroy(m);
    return told;
  }
  model_info *info = calloc(1, sizeof *info);
  tl_status status = info ? gather(cli, m, info) : tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (status == TL_OK)
    status = show(cli, info);
  if (info) {
    border_vec_release(&info->inputs);
    border_vec_release(&info->outputs);
    op_count_vec_release(&info->ops);
    op_count_vec_release(&info->unmapped);
    type_count_vec_release(&info->types);
  }
  free(info);
  tl_module_destroy(m);
  return status;
}
