/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the judged names of the nodes of a module (types.h). One of several candidates of an op
 * decides, so that a list entry may have to give a name that is neither that of the op nor that of
 * an NPU op that the user expects. */
#include "passes/precision/types.h"

#include "ir/ops_gen.h"
#include "support/map.h"

/* An op and the type as which one of its candidates is judged. */
typedef struct node_kind {
  const tl_op *op;
  const char *type; /* "": not judged */
} node_kind;

TL_VEC(node_kind_vec, node_kind);

struct tl_precision_types {
  node_kind *at; /* [n] */
  uint32_t n;
};

/* Adds the kind of a node once. The key is (op, candidate); candidates fit into 8 bits. */
static bool add(node_kind_vec *v, tl_map *seen, const tl_node *node) {
  const tl_op *op = tl_op_row(node->op);
  bool own = op && op->n_npu == 0 && op->domain_symbol == TL_SYM_npu;
  if (!op || (!own && node->candidate < 0))
    return true;
  uint32_t key = node->op * (UINT8_MAX + 1U) + (uint32_t)(own ? 0 : node->candidate & UINT8_MAX);
  if (tl_map_find(seen, key, NULL))
    return true;
  const char *type = own ? op->name : op->npu[node->candidate].judged;
  return tl_map_set(seen, key, 1) && node_kind_vec_push(v, (node_kind){op, type});
}

tl_status tl_precision_types_find(const tl_module *m, tl_arena *arena, tl_precision_types **out) {
  node_kind_vec v = {0};
  tl_map seen = {0};
  bool ok = true;
  tl_precision_types *t = tl_arena_calloc(arena, 1, sizeof *t);
  for (uint32_t i = 0; i < m->graphs.n && ok; i++) {
    const tl_graph *g = m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n)
      ok = ok && add(&v, &seen, tl_node_get(m, n));
  }
  if (t) {
    t->at = tl_arena_calloc(arena, v.n, sizeof *t->at);
    t->n = v.n;
  }
  ok = ok && t && t->at;
  if (ok && v.n)
    memcpy(t->at, v.at, v.n * sizeof *v.at);
  node_kind_vec_release(&v);
  tl_map_release(&seen);
  *out = t;
  return ok ? TL_OK : TL_NO_MEMORY;
}

bool tl_precision_types_fit(const tl_precision_types *t, tl_sv entry) {
  for (uint32_t i = 0; i < t->n; i++)
    if (tl_precision_names_type(entry, tl_sv_from(t->at[i].type), t->at[i].op))
      return true;
  return false;
}

/* Returns the name without prefixes and suffixes of NPU variants: BatchMatMulV2 -> MatMul,
 * ReduceMeanD -> ReduceMean. */
static tl_sv stem(tl_sv name) {
  static const char batched[] = "BatchMatMul";
  if (tl_sv_starts_with(name, batched))
    name = (tl_sv){name.p + strlen("Batch"), name.n - strlen("Batch")};
  if (name.n > 1 && name.p[name.n - 1] == 'D')
    name.n--;
  if (name.n > 2 && name.p[name.n - 2] == 'V' && name.p[name.n - 1] >= '2' &&
      name.p[name.n - 1] <= '9')
    name.n -= 2;
  return name;
}

/* Returns true if a user who writes the name may mean nodes of this kind. */
static bool means(tl_sv entry, const node_kind *kind) {
  const tl_op *op = kind->op;
  if (tl_sv_is(entry, op->name) || tl_sv_eq(stem(entry), stem(tl_sv_from(kind->type))))
    return entry.n != 0;
  for (uint32_t i = 0; i < op->n_npu; i++)
    if (tl_sv_is(entry, op->npu[i].npu_type) || tl_sv_is(entry, op->npu[i].judged))
      return true;
  return false;
}

bool tl_precision_types_meant(const tl_precision_types *t, tl_sv entry, uint32_t *at,
                              tl_sv *judged) {
  while (*at < t->n && !means(entry, &t->at[*at]))
    ++*at;
  if (*at == t->n)
    return false;
  *judged = tl_sv_from(t->at[*at].type);
  return true;
}

/* Returns true if an earlier kind gives the same explanation. */
static bool was_named(const tl_precision_types *t, uint32_t i, tl_sv entry) {
  for (uint32_t k = 0; k < i; k++)
    if (t->at[k].op == t->at[i].op && strcmp(t->at[k].type, t->at[i].type) == 0 &&
        means(entry, &t->at[k]))
      return true;
  return false;
}

bool tl_precision_types_explain(const tl_precision_types *t, tl_sv entry, tl_buf *out) {
  const tl_op *last = NULL;
  for (uint32_t i = 0; i < t->n; i++) {
    const node_kind *j = &t->at[i];
    if (!means(entry, j) || was_named(t, i, entry))
      continue;
    if (j->op == last)
      tl_buf_add_z(out, " or ");
    else
      tl_buf_printf(out, "%s%s here is judged as ", last ? "; " : "", j->op->name);
    if (*j->type)
      tl_buf_printf(out, "'%s'", j->type);
    else
      tl_buf_add_z(out, "nothing and keeps its dtypes");
    last = j->op;
  }
  return last != NULL;
}

bool tl_precision_names_type(tl_sv entry, tl_sv type, const tl_op *op) {
  static const char prefix[] = "onnx::";
  if (tl_sv_eq(entry, type))
    return type.n != 0;
  if (op->domain[0] || !tl_sv_starts_with(entry, prefix))
    return false;
  size_t n = sizeof prefix - 1;
  return tl_sv_is((tl_sv){entry.p + n, entry.n - n}, op->name);
}
