/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: creation and release, tables, and the reading accessors that are too long for the
 * header. */
#include "ir/module.h"

#include "ir/ops_gen.h"

#include <stdlib.h>

/* Makes the tables of an empty module; on failure the caller releases what there is. */
static bool init_tables(tl_module *m, tl_diag *diag, const char *path, uint32_t expect_nodes) {
  tl_arena_init(&m->arena, 0);
  tl_slab_init(&m->nodes, sizeof(tl_node));
  tl_slab_init(&m->values, sizeof(tl_value));
  tl_slab_init(&m->uses, sizeof(tl_use));
  tl_slab_init(&m->controls, sizeof(tl_control));
  tl_slab_init(&m->tensors, sizeof(tl_tensor));
  m->diag = diag;
  m->path = tl_arena_copy(&m->arena, path, strlen(path));
  m->had_ops = tl_arena_calloc(&m->arena, tl_n_op_rows, sizeof *m->had_ops);
  /* A typical node names itself and one result. */
  uint32_t expect = expect_nodes > UINT32_MAX / 8 ? UINT32_MAX / 8 : expect_nodes * 2;
  return m->path && m->had_ops &&
         tl_symtab_init(&m->symbols, &m->arena, &tl_op_seeds, expect) == TL_OK &&
         tl_type_vec_push(&m->types, (tl_type){0}) && tl_extra_vec_push(&m->extras, (tl_extra){0});
}

/* A failure in the middle is undone by tl_module_destroy, which takes modules made in part. */
tl_module *tl_module_create(tl_diag *diag, const char *path, uint32_t expect_nodes) {
  tl_module *m = calloc(1, sizeof *m);
  if (!m)
    return NULL;
  if (init_tables(m, diag, path, expect_nodes))
    return m;
  tl_module_destroy(m);
  return NULL;
}

/* Releases the graphs and their lists; what else they have is in the arena. */
static void release_graphs(tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    tl_u32_vec_release(&m->graphs.at[i]->inputs);
    tl_u32_vec_release(&m->graphs.at[i]->constants);
    free(m->graphs.at[i]);
  }
  tl_graph_vec_release(&m->graphs);
}

/* The body of a definition is a module of its own, owned by this one. */
void tl_module_drop_definitions(tl_module *m) {
  for (uint32_t i = 0; i < m->definitions.n; i++)
    tl_module_destroy(m->definitions.at[i].body);
  m->definitions.n = 0;
}

/* Takes a module made in part as well: members that were not made are zeros, which release
 * nothing. */
void tl_module_destroy(tl_module *m) {
  if (!m)
    return;
  release_graphs(m);
  tl_module_drop_definitions(m);
  tl_definition_vec_release(&m->definitions);
  for (uint32_t i = 0; i < m->files.n; i++)
    tl_file_close(m->files.at[i]);
  tl_file_vec_release(&m->files);
  tl_slab_release(&m->nodes);
  tl_slab_release(&m->values);
  tl_slab_release(&m->uses);
  tl_slab_release(&m->controls);
  tl_slab_release(&m->tensors);
  tl_type_vec_release(&m->types);
  tl_extra_vec_release(&m->extras);
  tl_u32_vec_release(&m->origins);
  tl_opset_vec_release(&m->opsets);
  tl_call_vec_release(&m->calls);
  tl_state_vec_release(&m->states);
  tl_gradient_vec_release(&m->gradients);
  tl_substitute_vec_release(&m->substitutes);
  tl_size_vec_release(&m->sizes);
  tl_opaque_vec_release(&m->opaque_ops);
  tl_map_release(&m->opaque_index);
  tl_symtab_release(&m->symbols);
  tl_arena_release(&m->arena);
  free(m->type_slots);
  free(m);
}

/* Files that keep their descriptors; later files are only mapped. A process often has at most 1024
 * descriptors, a model can have thousands of weight files. */
enum { MAX_DESCRIPTORS = 64 };

void tl_mute(tl_muted *muted, tl_module *m, tl_diag_fn fn, void *user) {
  *muted = (tl_muted){.m = m, .loud = m->diag};
  muted->quiet = (tl_diag){.fn = fn, .user = user, .lacks = m->diag->lacks};
  m->diag = &muted->quiet;
}

void tl_unmute(tl_muted *muted) { muted->m->diag = muted->loud; }

tl_status tl_no_memory(const tl_module *m) { return tl_fail_memory(m->diag, TL_AT_FILE(m->path)); }

tl_status tl_module_add_file(tl_module *m, tl_file *f) {
  if (!tl_file_vec_push(&m->files, f)) {
    tl_file_close(f);
    return TL_NO_MEMORY;
  }
  if (m->files.n > MAX_DESCRIPTORS)
    tl_file_drop_descriptor(f);
  return TL_OK;
}

size_t tl_module_bytes(const tl_module *m) {
  size_t symbols = m->symbols.cap * sizeof *m->symbols.entries +
                   m->symbols.n_slots * sizeof *m->symbols.slots;
  return m->arena.total + symbols + tl_slab_bytes(&m->nodes) + tl_slab_bytes(&m->values) +
         tl_slab_bytes(&m->uses) + tl_slab_bytes(&m->controls) + tl_slab_bytes(&m->tensors);
}

/* Models import a few. With so many, a search for each is still short. */
enum { MAX_IMPORTS = 1024 };

/* Returns the entry of a domain, or NULL. */
static tl_opset *opset_of(const tl_module *m, tl_symbol domain) {
  for (uint32_t i = 0; i < m->opsets.n; i++)
    if (m->opsets.at[i].domain == domain)
      return &m->opsets.at[i];
  return NULL;
}

/* "ai.onnx" is the other name of the default domain: two imports of it would contradict. */
static tl_symbol import_of(tl_symbol domain) { return domain == TL_SYM_ai_onnx ? 0 : domain; }

int64_t tl_module_opset(const tl_module *m, tl_symbol domain) {
  const tl_opset *found = opset_of(m, import_of(domain));
  return found ? found->version : 0;
}

/* Raises *opset to the oldest one that has every op of the module. */
static void raise_opset(const tl_module *m, int64_t *opset) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
      if (row && row->domain_symbol == 0 && row->n_since && row->since[0] > *opset)
        *opset = row->since[0];
    }
  }
}

int64_t tl_module_needed_opset(const tl_module *m) {
  int64_t opset = TL_ONNX_CANONICAL_OPSET;
  raise_opset(m, &opset);
  for (uint32_t i = 0; i < m->definitions.n; i++)
    raise_opset(m->definitions.at[i].body, &opset);
  return opset;
}

tl_status tl_module_set_opset(tl_module *m, tl_symbol domain, int64_t version) {
  domain = import_of(domain);
  tl_opset *found = opset_of(m, domain);
  if (found) {
    found->version = version;
    return TL_OK;
  }
  if (m->opsets.n == MAX_IMPORTS)
    return tl_fail(m->diag, TL_LIMIT, TL_AT_FILE(m->path), "more than %d domains are imported",
                   MAX_IMPORTS);
  tl_opset row = {domain, version};
  return tl_opset_vec_push(&m->opsets, row) ? TL_OK : TL_NO_MEMORY;
}

const char *tl_form_name(tl_form form) {
  static const char *const names[] = {"canonical", "spelled", "selected", "npu"};
  return names[form];
}

/* Entry 0 is empty and shared by all nodes and values without an entry of their own; the first
 * request makes one. The pointer is valid until the next. */
tl_extra *tl_module_extra(tl_module *m, uint32_t *slot) {
  if (*slot == 0) {
    if (!tl_extra_vec_push(&m->extras, (tl_extra){0}))
      return NULL;
    *slot = m->extras.n - 1;
  }
  return &m->extras.at[*slot];
}

/* The graph of a result is that of its node, which may have moved. */
tl_graph_id tl_value_graph(const tl_module *m, tl_value_id v) {
  const tl_value *value = tl_value_get(m, v);
  return value->kind == TL_VALUE_RESULT ? tl_node_get(m, value->def)->graph : value->def;
}

/* Outputs are operands of the RETURN of a graph. */
bool tl_value_is_output(const tl_module *m, tl_value_id v) {
  TL_FOR_USES(m, v, u)
    if (tl_node_is_return(m, tl_use_get(m, u)->user))
      return true;
  return false;
}

/* A linear search is enough: nodes have few attributes. */
const tl_attr *tl_node_attr(const tl_module *m, tl_node_id n, tl_symbol name) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_attrs; i++)
    if (node->attrs[i].name == name)
      return &node->attrs[i];
  return NULL;
}

const tl_attr *tl_node_attr_or_default(const tl_module *m, tl_node_id n, tl_symbol name) {
  const tl_attr *given = tl_node_attr(m, n, name);
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  if (given || !row)
    return given;
  const tl_op_attr *proto = tl_op_attr_find(row, name);
  return proto && proto->has_default ? &proto->value : NULL;
}

/* Flags and dtypes of NPU prototypes are kinds of their own and count as integers. */
int64_t tl_node_attr_int(const tl_module *m, tl_node_id n, tl_symbol name, int64_t fallback) {
  const tl_attr *a = tl_node_attr_or_default(m, n, name);
  bool integral = a &&
                  (a->kind == TL_ATTR_INT || a->kind == TL_ATTR_BOOL || a->kind == TL_ATTR_DTYPE);
  return integral ? a->u.i : fallback;
}

float tl_node_attr_float(const tl_module *m, tl_node_id n, tl_symbol name, float fallback) {
  const tl_attr *a = tl_node_attr_or_default(m, n, name);
  return a && a->kind == TL_ATTR_FLOAT ? a->u.f : fallback;
}

tl_sv tl_node_attr_string(const tl_module *m, tl_node_id n, tl_symbol name) {
  const tl_attr *a = tl_node_attr_or_default(m, n, name);
  return a && a->kind == TL_ATTR_STRING ? tl_sym(m, a->u.s) : TL_SV("");
}

tl_int_list tl_node_attr_ints(const tl_module *m, tl_node_id n, tl_symbol name) {
  const tl_attr *a = tl_node_attr_or_default(m, n, name);
  tl_int_list none = {NULL, 0};
  return a && a->kind == TL_ATTR_INTS ? (tl_int_list){a->u.is, a->count} : none;
}

/* A node without a name is called by its op and its first named result, "Add->y". The text is in
 * the arena, so that the location outlives this call. */
tl_location tl_node_where(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  if (node->name)
    return TL_AT_NODE(m->path, tl_sym(m, node->name));
  tl_sv op = node->op == TL_OP_RETURN ? TL_SV("return") : tl_op_name(m, node->op);
  tl_sv value = TL_SV("");
  for (uint32_t i = 0; i < node->n_results && value.n == 0; i++)
    value = tl_value_name(m, node->results + i);
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, op);
  if (value.n) {
    tl_buf_add_z(&text, "->");
    tl_buf_add_sv(&text, value);
  }
  char *name = text.failed ? NULL : tl_arena_copy(&m->arena, text.p, text.n);
  tl_sv shown = {name ? name : "", name ? text.n : 0};
  tl_buf_release(&text);
  return TL_AT_NODE(m->path, shown);
}

/* ---- definitions ---------------------------------------------------------------------------- */

/* Returns true if operand i of both nodes is absent, or has the same dtype and rank. A function is
 * written for these; sizes may differ. */
static bool same_operand(const tl_module *m, tl_node_id a, tl_node_id b, uint32_t i) {
  tl_value_id v = tl_operand(m, a, i), w = tl_operand(m, b, i);
  const tl_type *s = tl_type_get(m, tl_value_type(m, v));
  const tl_type *t = tl_type_get(m, tl_value_type(m, w));
  return (v == TL_NO_VALUE) == (w == TL_NO_VALUE) && s->dtype == t->dtype && s->rank == t->rank;
}

/* Returns true for a collective whose function returns what it gets, whatever its type is: that of
 * one rank. Collectives that change shapes depend on the type and on the number of ranks. */
static bool passes_on(const tl_module *m, const tl_node *node) {
  const tl_op *row = tl_op_row(node->op);
  return tl_op_domain_symbol(m, node->op) == TL_SYM_npu_hcom && row &&
         !tl_op_attr_find(row, TL_SYM_rank_size);
}

/* Returns true if two nodes can call one function: op, operands, attributes and dtypes agree. */
static bool same_use(const tl_module *m, tl_node_id a, tl_node_id b) {
  const tl_node *x = tl_node_get(m, a), *y = tl_node_get(m, b);
  if (x->op != y->op || x->n_operands != y->n_operands || x->n_results != y->n_results ||
      x->n_attrs != y->n_attrs)
    return false;
  if (passes_on(m, x))
    return true;
  for (uint32_t i = 0; i < x->n_operands; i++)
    if (!same_operand(m, a, b, i))
      return false;
  for (uint32_t i = 0; i < x->n_attrs; i++) {
    const tl_attr *other = tl_node_attr(m, b, x->attrs[i].name);
    if (!other || !tl_attr_equal(m, &x->attrs[i], other))
      return false;
  }
  return true;
}

/* A definition without `like` serves every node of its op. */
const tl_definition *tl_module_definition(const tl_module *m, tl_node_id n) {
  for (uint32_t i = 0; i < m->definitions.n; i++)
    if (m->definitions.at[i].like ? same_use(m, m->definitions.at[i].like, n)
                                  : m->definitions.at[i].op == tl_node_get(m, n)->op)
      return &m->definitions.at[i];
  return NULL;
}

tl_about tl_module_about(tl_module *m, const char *path) {
  tl_about about = {.path = m->path,
                    .ir_version = m->ir_version,
                    .model_version = m->model_version,
                    .source_opset = m->source_opset,
                    .producer_name = m->producer_name,
                    .producer_version = m->producer_version,
                    .domain = m->domain,
                    .extra = m->extra};
  m->path = path;
  m->extra = 0;
  return about;
}

void tl_module_set_about(tl_module *m, const tl_about *about) {
  m->path = about->path;
  m->ir_version = about->ir_version;
  m->model_version = about->model_version;
  m->source_opset = about->source_opset;
  m->producer_name = about->producer_name;
  m->producer_version = about->producer_version;
  m->domain = about->domain;
  m->extra = about->extra;
}

tl_status tl_module_need_one_root(const tl_module *m, const char *what) {
  uint32_t roots = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++)
    roots += m->graphs.at[i]->kind == TL_GRAPH_ROOT && !m->graphs.at[i]->erased;
  if (roots == 1 && tl_module_main(m)->kind == TL_GRAPH_ROOT)
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                 "%s has one main graph, this module has %u\vleave one of them in the file", what,
                 roots);
}

uint32_t tl_module_count_nodes(const tl_module *m) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->graphs.n; i++)
    n += m->graphs.at[i]->erased ? 0 : m->graphs.at[i]->n_nodes;
  return n;
}
