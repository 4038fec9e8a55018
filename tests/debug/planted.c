/* SPDX-License-Identifier: Apache-2.0 */
/* Plants wrong rewrites into passes of a program that is otherwise the command (planted.py). The
 * linker puts these functions in the place of the passes (--wrap). TAILOR_PLANT names what is
 * planted; each makes one rewrite behind those of its pass. The command knows nothing of it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/graph.h"
#include "passes/edit/maker.h"
#include "passes/edit/pass.h"

typedef bool (*plant_fn)(tl_pass *p, tl_module *m, tl_node_id n);

static bool is_op(const tl_module *m, tl_node_id n, const char *type) {
  return tl_sv_is(tl_op_name(m, tl_node_get(m, n)->op), type);
}

static tl_symbol symbol(tl_module *m, const char *name) {
  return tl_module_intern(m, tl_sv_from(name));
}

static int64_t size_of(const tl_module *m, tl_value_id v, int axis) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return t->kind == TL_KIND_TENSOR && axis < t->rank && axis >= -t->rank
             ? t->dims[axis < 0 ? axis + t->rank : axis]
             : -1;
}

static int rank_of(const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  return t->kind == TL_KIND_TENSOR ? t->rank : -1;
}

static bool set_ints(tl_module *m, tl_node_id n, const char *name, const int64_t *v, uint32_t k) {
  return tl_node_set_attr(m, n, tl_attr_ints(m, symbol(m, name), v, k)) == TL_OK;
}

/* Two dims of a transposition change places; both have one size, so no shape tells. */
static bool wrong_perm(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_int_list perm = tl_node_attr_ints(m, n, symbol(m, "perm"));
  int64_t v[TL_MAX_RANK];
  if (!is_op(m, n, "Transpose"))
    return false;
  for (uint32_t i = 0; i < perm.n; i++)
    v[i] = perm.at[i];
  for (int i = 0; i + 1 < (int)perm.n; i++) {
    int64_t size = size_of(m, tl_result(m, n, 0), i);
    if (size < 2 || size != size_of(m, tl_result(m, n, 0), i + 1) || !tl_pass_may_rewrite(p))
      continue;
    v[i] = perm.at[i + 1];
    v[i + 1] = perm.at[i];
    return set_ints(m, n, "perm", v, perm.n);
  }
  return false;
}

/* All padding goes to one side. */
static bool pad_side(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_int_list pads = tl_node_attr_ints(m, n, symbol(m, "pads"));
  if (!is_op(m, n, "Conv") || pads.n != 4 || pads.at[2] == 0 || !tl_pass_may_rewrite(p))
    return false;
  const int64_t v[4] = {pads.at[0] + pads.at[2], pads.at[1], 0, pads.at[3]};
  return set_ints(m, n, "pads", v, 4);
}

/* Softmax over another dim. */
static bool wrong_axis(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_value_id y = tl_result(m, n, 0);
  if (!is_op(m, n, "Softmax") || rank_of(m, y) < 2 || !tl_pass_may_rewrite(p))
    return false;
  return tl_node_set_attr(m, n, tl_attr_int(symbol(m, "axis"), rank_of(m, y) - 2)) == TL_OK;
}

/* Makes a node of one operand before n, and lets operand i of n be its result. */
static bool put_before(tl_module *m, tl_node_id n, uint32_t i, const char *op, const tl_attr *a) {
  tl_value_id v = tl_operand(m, n, i);
  tl_symbol name = tl_module_fresh_name(m, TL_SV("planted"));
  tl_node_spec spec = {.op = tl_op_find(0, symbol(m, op)),
                       .operands = &v,
                       .n_operands = 1,
                       .results = &name,
                       .n_results = 1,
                       .attrs = a,
                       .n_attrs = 1};
  tl_node_id made = tl_graph_insert(m, n, &spec);
  if (!made)
    return false;
  if (tl_node_get(m, n)->selected) { /* NPU types are chosen already */
    tl_node_get(m, made)->candidate = 0;
    tl_node_get(m, made)->selected = true;
  }
  tl_value_set_type(m, tl_result(m, made, 0), tl_value_type(m, v));
  tl_node_set_operand(m, n, i, tl_result(m, made, 0));
  return true;
}

/* A square matrix is transposed. */
static bool square_weight(tl_pass *p, tl_module *m, tl_node_id n) {
  static const int64_t turned[2] = {1, 0};
  if (!is_op(m, n, "MatMul"))
    return false;
  tl_value_id w = tl_operand(m, n, 1);
  if (tl_value_get(m, w)->kind != TL_VALUE_CONSTANT || rank_of(m, w) != 2 ||
      size_of(m, w, 0) != size_of(m, w, 1) || size_of(m, w, 0) < 2 || !tl_pass_may_rewrite(p))
    return false;
  tl_attr perm = tl_attr_ints(m, symbol(m, "perm"), turned, 2);
  return put_before(m, n, 1, "Transpose", &perm);
}

/* A float goes through an integer, and comes back. */
static bool cast_dtype(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_value_id x = tl_node_get(m, n)->n_operands ? tl_operand(m, n, 0) : TL_NO_VALUE;
  tl_dim dims[TL_MAX_RANK];
  const tl_type *t = tl_type_get(m, tl_value_type(m, x));
  if (!is_op(m, n, "Relu") || t->kind != TL_KIND_TENSOR || t->dtype != TL_DTYPE_F32 ||
      t->rank < 0 || !tl_pass_may_rewrite(p))
    return false;
  for (int i = 0; i < t->rank; i++)
    dims[i] = t->dims[i];
  tl_type_id whole = tl_type_tensor(m, TL_DTYPE_I32, t->rank, dims);
  tl_attr back = tl_attr_int(symbol(m, "to"), 1), there = tl_attr_int(symbol(m, "to"), 6);
  if (!put_before(m, n, 0, "Cast", &back))
    return false;
  tl_node_id cast = tl_value_producer(m, tl_operand(m, n, 0));
  if (!put_before(m, cast, 0, "Cast", &there))
    return false;
  tl_value_set_type(m, tl_operand(m, cast, 0), whole);
  return true;
}

/* A constant is taken for another one of its type. */
static bool stale_constant(tl_pass *p, tl_module *m, tl_node_id n) {
  const tl_graph *g = tl_module_main(m);
  if (!is_op(m, n, "Add") && !is_op(m, n, "Mul"))
    return false;
  for (uint32_t i = 0; i < 2; i++) {
    tl_value_id v = tl_operand(m, n, i);
    if (tl_value_get(m, v)->kind != TL_VALUE_CONSTANT || rank_of(m, v) < 1 ||
        tl_type_dtype(m, tl_value_type(m, v)) != TL_DTYPE_F32)
      continue;
    for (uint32_t k = 0; k < g->constants.n; k++) {
      tl_value_id other = g->constants.at[k];
      bool differs = other && other != v && tl_value_type(m, other) == tl_value_type(m, v) &&
                     !tl_tensor_equal(m, tl_tensor_get(m, tl_value_get(m, other)->tensor),
                                      tl_tensor_get(m, tl_value_get(m, v)->tensor), UINT64_MAX);
      if (differs && tl_pass_may_rewrite(p)) {
        tl_node_set_operand(m, n, i, other);
        return true;
      }
    }
  }
  return false;
}

/* A slice begins one element too far, and ends so. */
static bool off_by_one(tl_pass *p, tl_module *m, tl_node_id n) {
  if (!is_op(m, n, "Slice"))
    return false;
  for (uint32_t i = 1; i <= 2; i++) {
    tl_value_id v = tl_operand(m, n, i);
    const tl_tensor *t = v && tl_value_get(m, v)->kind == TL_VALUE_CONSTANT
                             ? tl_tensor_get(m, tl_value_get(m, v)->tensor)
                             : NULL;
    int64_t at;
    if (!t || tl_tensor_elements(m, t) != 1 || !tl_tensor_int_at(m, t, 0, &at) || at < 0)
      return false;
    tl_value_id axes = tl_operand(m, n, 3);
    int64_t axis = 0;
    if (axes && !tl_tensor_int_at(m, tl_tensor_get(m, tl_value_get(m, axes)->tensor), 0, &axis))
      return false;
    if (at + 1 > size_of(m, tl_operand(m, n, 0), (int)axis))
      return false;
  }
  if (!tl_pass_may_rewrite(p))
    return false;
  for (uint32_t i = 1; i <= 2; i++) {
    int64_t at = 0;
    tl_value_id v = tl_operand(m, n, i);
    tl_tensor_int_at(m, tl_tensor_get(m, tl_value_get(m, v)->tensor), 0, &at);
    at++;
    tl_tensor_id moved = tl_tensor_i64s(m, &at, 1, 1);
    tl_symbol name = tl_module_fresh_name(m, TL_SV("planted"));
    tl_node_set_operand(m, n, i, tl_graph_add_constant(m, tl_module_main(m)->id, name, moved));
  }
  return true;
}

/* An order between two nodes is lost. */
static bool control_edge(tl_pass *p, tl_module *m, tl_node_id n) {
  tl_control_id c = tl_node_get(m, n)->control_in;
  if (!c || !tl_pass_may_rewrite(p))
    return false;
  tl_control_erase(m, c);
  return true;
}

/* Two collectives change places: ranks would wait for each other. */
static bool collectives(tl_pass *p, tl_module *m, tl_node_id n) {
  static tl_node_id first;
  if (!is_op(m, n, "HcomAllReduce"))
    return false;
  if (!first) {
    first = n;
    return false;
  }
  if (!tl_pass_may_rewrite(p))
    return false;
  tl_node_move_before(m, n, first);
  return true;
}

/* A gradient stays scaled. */
static bool unscale(tl_pass *p, tl_module *m, tl_node_id n) {
  static const char scale[] = "tlr.ls/const";
  tl_sv name = is_op(m, n, "Mul") ? tl_value_name(m, tl_operand(m, n, 1)) : TL_SV("");
  if (name.n < sizeof scale || memcmp(name.p, scale, sizeof scale - 1) != 0 ||
      !tl_pass_may_rewrite(p))
    return false;
  tl_value_replace_uses(m, tl_result(m, n, 0), tl_operand(m, n, 0));
  return true;
}

static const struct plant {
  const char *name, *pass;
  plant_fn fn;
} plants[] = {
    {"wrong-perm", "identity-elimination", wrong_perm},
    {"pad-side", "clean-up", pad_side},
    {"wrong-axis", "clean-up", wrong_axis},
    {"square-weight", "fold-constants", square_weight},
    {"cast-dtype", "cast-motion", cast_dtype},
    {"stale-constant", "common-subexpressions", stale_constant},
    {"off-by-one", "fold-constants", off_by_one},
    {"control-edge", "identity-elimination", control_edge},
    {"collectives", "common-subexpressions", collectives},
    {"unscale", "loss-scale", unscale},
};

/* Fails as KIND@PASS asks for: crash, assert, broken (a node that uses its own result), limit. */
static tl_status fail(tl_pass *p, tl_module *m, const char *wanted) {
  const char *at = strchr(wanted, '@');
  if (!at || strcmp(at + 1, p->name) != 0)
    return TL_OK;
  if (strncmp(wanted, "crash", 5) == 0)
    raise(SIGSEGV);
  if (strncmp(wanted, "assert", 6) == 0)
    abort();
  if (strncmp(wanted, "limit", 5) == 0)
    return tl_fail(m->diag, TL_LIMIT, TL_AT_FILE(m->path), "planted: a limit");
  tl_node_id n = tl_module_main(m)->last;
  tl_node_set_operand(m, n, 0, tl_result(m, n, 0));
  return TL_OK;
}

/* Plants behind a pass that has ended, at the first node that fits. */
static tl_status plant(tl_pass *p, tl_module *m, tl_status status) {
  const char *wanted = getenv("TAILOR_PLANT");
  if (status != TL_OK || !wanted)
    return status;
  if (strchr(wanted, '@'))
    return fail(p, m, wanted);
  for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
    if (strcmp(plants[i].name, wanted) != 0 || strcmp(plants[i].pass, p->name) != 0)
      continue;
    TL_FOR_NODES(m, tl_module_main(m), n)
      if (plants[i].fn(p, m, n)) {
        tl_pass_remark(p, m, n, true, "planted: %s", wanted);
        return TL_OK;
      }
  }
  return TL_OK;
}

#define PLANTED(pass)                                                                              \
  tl_status __real_tl_pass_##pass(tl_pass *p, tl_module *m);                                       \
  tl_status __wrap_tl_pass_##pass(tl_pass *p, tl_module *m);                                       \
  tl_status __wrap_tl_pass_##pass(tl_pass *p, tl_module *m) {                                      \
    return plant(p, m, __real_tl_pass_##pass(p, m));                                               \
  }

PLANTED(identity_elimination)
PLANTED(clean_up)
PLANTED(fold_constants)
PLANTED(cast_motion)
PLANTED(common_subexpressions)
PLANTED(loss_scale)
