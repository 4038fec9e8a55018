/* SPDX-License-Identifier: Apache-2.0 */
/* plain-inputs: inputs of the model that are no tensors become tensors, since GE's Data holds
 * nothing else. A node behind the input gives the graph what it had; later passes remove it.
 * What changes for who feeds the model is told by a warning, one for each input.
 *
 * Requires:  types inferred.
 * Keeps:     names and order of inputs; every value inside of the graph.
 * After:     an optional input is given always; a sequence is its elements stacked along a new
 *            first dim; a sparse matrix that only products read is dense; a map that only
 *            DictVectorizer reads is the row that it makes. Other inputs are as they were.
 * Cost:      O(inputs and their uses).
 * Tests:     tests/golden/plain-inputs/ */
#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/cleanup/map_keys.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"

/* The input at work. */
typedef struct border {
  tl_pass *p;
  tl_module *m;
  tl_value_id v;
} border;

/* ---- what the input is ----------------------------------------------------------------------- */

static const tl_type *type_of(const border *b) {
  return tl_type_get(b->m, tl_value_type(b->m, b->v));
}

static bool is_state(const border *b) {
  for (uint32_t i = 0; i < b->m->states.n; i++)
    if (b->m->states.at[i].input == b->v)
      return true;
  return false;
}

/* Returns true if every user of the input is a node of one op, which reads it as operand 0. */
static bool is_read_by(const border *b, tl_op_id op) {
  TL_FOR_USES(b->m, b->v, u) {
    tl_node_id n = tl_use_get(b->m, u)->user;
    if (tl_node_get(b->m, n)->op != op || tl_operand(b->m, n, 0) != b->v ||
        tl_operand(b->m, n, 1) == b->v)
      return false;
  }
  return tl_value_get(b->m, b->v)->n_uses > 0;
}

/* Returns true if an op of ONNX Runtime reads the list: parameters of an optimizer, which differ in
 * shape and are told apart by what links models. */
static bool is_list_of_training(const border *b) {
  TL_FOR_USES(b->m, b->v, u) {
    tl_op_id op = tl_node_get(b->m, tl_use_get(b->m, u)->user)->op;
    if (tl_sv_is(tl_op_domain(b->m, op), "com.microsoft"))
      return true;
  }
  return false;
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Warns: input NAME is `what`: the NPU takes TYPE, `how`. */
static tl_status tell(const border *b, const char *what, const char *how) {
  tl_buf type;
  tl_buf_init(&type);
  tl_type_print(b->m, tl_value_type(b->m, b->v), &type);
  if (!type.failed)
    tl_warn_code(b->m->diag, "W_PLAIN_INPUT", TL_AT_FILE(b->m->path),
                 "input '%.*s' is %s: the NPU takes %s, %s", TL_SV_ARG(tl_value_name(b->m, b->v)),
                 what, type.p, how);
  tl_status status = type.failed ? tl_no_memory(b->m) : TL_OK;
  tl_buf_release(&type);
  return status;
}

/* ---- the forms ------------------------------------------------------------------------------- */

/* Gives the input a type; a node of `op` makes of it what the graph reads. */
static tl_status put_behind(border *b, tl_type_id type, tl_op_id op, const tl_attr *attrs,
                            uint32_t n_attrs) {
  const tl_graph *g = tl_module_main(b->m);
  tl_maker k = {
      .m = b->m, .graph = g->id, .before = g->first, .base = tl_value_get(b->m, b->v)->name};
  if (!type)
    return tl_no_memory(b->m);
  tl_node_spec spec = {.op = op,
                       .operands = &b->v,
                       .n_operands = 1,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = n_attrs};
  tl_value_set_type(b->m, b->v, type);
  tl_value_id made = tl_make_node(&k, &spec);
  if (!made)
    return k.clash ? tl_fail(b->m->diag, TL_INVALID_MODEL, TL_AT_FILE(b->m->path),
                             "input '%.*s' does not fit what reads it",
                             TL_SV_ARG(tl_value_name(b->m, b->v)))
                   : tl_no_memory(b->m);
  tl_value_replace_uses(b->m, b->v, made);
  tl_node_set_operand(b->m, tl_value_producer(b->m, made), 0, b->v);
  return TL_OK;
}

static tl_status require_optional(border *b) {
  TL_TRY(put_behind(b, type_of(b)->element, TL_OP_Optional, NULL, 0));
  return type_of(b)->kind == TL_KIND_TENSOR ? tell(b, "optional", "which must be given") : TL_OK;
}

/* Returns the number of elements that --input-shape says. */
static tl_dim stated_count(const border *b, int rank) {
  const tl_options *o = b->p->options;
  for (uint32_t i = 0; i < o->n_input_shapes; i++)
    if (tl_sv_eq(o->input_shapes[i].name, tl_value_name(b->m, b->v)) &&
        o->input_shapes[i].rank == rank)
      return o->input_shapes[i].dims[0];
  return TL_DIM_UNKNOWN;
}

/* Returns the type of the elements, stacked. */
static tl_type_id stacked_type(const border *b) {
  tl_dim dims[TL_MAX_RANK];
  const tl_type *t = tl_type_get(b->m, type_of(b)->element);
  dims[0] = stated_count(b, t->rank + 1);
  for (int i = 0; i < t->rank; i++)
    dims[i + 1] = t->dims[i];
  return tl_type_tensor(b->m, (tl_dtype)t->dtype, t->rank < 0 ? t->rank : t->rank + 1, dims);
}

static tl_status stack(border *b) {
  const tl_type *e = tl_type_get(b->m, type_of(b)->element);
  if (e->kind != TL_KIND_TENSOR || e->dtype == TL_DTYPE_STRING || e->rank >= TL_MAX_RANK ||
      is_list_of_training(b))
    return TL_OK;
  bool whole = tl_type_is_static(b->m, type_of(b)->element);
  const tl_attr attrs[] = {tl_attr_int(TL_SYM_axis, 0), tl_attr_int(TL_SYM_keepdims, 0)};
  TL_TRY(put_behind(b, stacked_type(b), TL_OP_SplitToSequence, attrs, 2));
  return tell(b, "a sequence",
              whole ? "its elements stacked along a new first dim"
                    : "its elements, which must have one shape, stacked along a new first dim");
}

/* Only ops that read the matrix as a whole need no form of its own for it. */
static tl_status make_dense(border *b) {
  tl_type t = *type_of(b);
  t.kind = TL_KIND_TENSOR;
  if (!is_read_by(b, TL_OP_com_microsoft_SparseToDenseMatMul) || !tl_dtype_is_float(t.dtype))
    return TL_OK;
  tl_type_id type = tl_type_intern(b->m, &t);
  if (!type)
    return tl_no_memory(b->m);
  tl_value_set_type(b->m, b->v, type);
  TL_FOR_USES(b->m, b->v, u)
    tl_node_set_op(b->m, tl_use_get(b->m, u)->user, TL_OP_com_microsoft_FusedMatMul);
  return tell(b, "sparse", "with the zeros");
}

/* Returns the keys that a DictVectorizer asks for, or NULL. */
static const tl_attr *keys_of(const tl_module *m, tl_node_id n) {
  const tl_attr *strings = tl_node_attr(m, n, TL_SYM_string_vocabulary);
  const tl_attr *ints = tl_node_attr(m, n, TL_SYM_int64_vocabulary);
  const tl_attr *a = strings && strings->count ? strings : ints;
  return a && a->count && (a->kind == TL_ATTR_STRINGS || a->kind == TL_ATTR_INTS) ? a : NULL;
}

/* Returns the keys that all users ask for in one order, or NULL. */
static const tl_attr *common_keys(const border *b) {
  const tl_attr *keys = NULL;
  TL_FOR_USES(b->m, b->v, u) {
    const tl_attr *a = keys_of(b->m, tl_use_get(b->m, u)->user);
    if (!a || (keys && !tl_attr_equal(b->m, keys, a)))
      return NULL;
    keys = a;
  }
  return keys;
}

/* A DictVectorizer makes the row; behind an input that is the row it copies. */
static tl_status make_row(border *b) {
  const tl_type *value = tl_type_get(b->m, type_of(b)->element);
  const tl_attr *keys = is_read_by(b, TL_OP_ai_onnx_ml_DictVectorizer) ? common_keys(b) : NULL;
  if (!keys || value->kind != TL_KIND_TENSOR || value->dtype == TL_DTYPE_STRING)
    return TL_OK;
  const tl_dim dims[] = {1, keys->count};
  tl_type_id type = tl_type_tensor(b->m, (tl_dtype)value->dtype, 2, dims);
  tl_buf how;
  tl_buf_init(&how);
  tl_buf_add_z(&how, "the values of the keys");
  tl_map_keys_print(b->m, keys, &how);
  tl_buf_add_z(&how, ", 0 where there is none");
  tl_status status = how.failed || !type ? tl_no_memory(b->m) : TL_OK;
  if (status == TL_OK)
    tl_value_set_type(b->m, b->v, type);
  TL_FOR_USES(b->m, b->v, u) {
    tl_node_id n = tl_use_get(b->m, u)->user;
    if (status != TL_OK)
      break;
    tl_node_set_op(b->m, n, TL_OP_Identity);
    status = tl_node_set_attrs(b->m, n, NULL, 0);
    tl_value_set_type(b->m, tl_result(b->m, n, 0), type);
  }
  status = status == TL_OK ? tell(b, "a map", how.p) : status;
  tl_buf_release(&how);
  return status;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static tl_status adapt(border *b) {
  tl_type_kind kind = (tl_type_kind)type_of(b)->kind;
  if (kind == TL_KIND_TENSOR || kind == TL_KIND_UNKNOWN || is_state(b) ||
      !tl_pass_may_rewrite(b->p))
    return TL_OK;
  if (kind == TL_KIND_OPTIONAL)
    TL_TRY(require_optional(b));
  kind = (tl_type_kind)type_of(b)->kind;
  return kind == TL_KIND_SEQUENCE        ? stack(b)
         : kind == TL_KIND_SPARSE_TENSOR ? make_dense(b)
         : kind == TL_KIND_MAP           ? make_row(b)
                                         : TL_OK;
}

tl_status tl_pass_plain_inputs(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < tl_module_main(m)->inputs.n; i++) {
    border b = {.p = p, .m = m, .v = tl_module_main(m)->inputs.at[i]};
    TL_TRY(adapt(&b));
  }
  return p->changed ? tl_infer_module(m) : TL_OK;
}
