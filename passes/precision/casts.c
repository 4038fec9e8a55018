/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a precision decision: types of values first, then casts where an operand wants another
 * dtype. */
#include "passes/precision/casts.h"

#include "ir/ops_gen.h"
#include "passes/precision/loss.h"

/* Upper bound on warnings about constants. */
enum { MAX_WARNED = 10 };

/* State of applying one decision. */
typedef struct applying {
  tl_pass *p;
  tl_module *m;
  const tl_precision *d;
  tl_cast_set casts;
  tl_cast_loss_vec losses; /* of the constants that were cast, in order */
} applying;

/* Reports that memory is out; always false. */
static bool failed_to(const applying *a) {
  (void)tl_no_memory(a->m);
  return false;
}

/* Notes that tensor t of v is cast; NULL: v is computed. */
static bool note_loss(applying *a, const tl_tensor *t, tl_value_id v, tl_dtype to) {
  tl_cast_loss loss = {.tensor = t, .value = v, .to = to};
  return !t || tl_cast_loss_vec_push(&a->losses, loss) || failed_to(a);
}

/* Warns about elements of a constant that the dtype cannot hold. */
static void warn_constant(applying *a, const tl_cast_loss *l) {
  const tl_float_counts *c = &l->counts;
  const char *out = a->casts.clamp ? "become its limit" : "become infinite";
  tl_warn(a->m->diag, (tl_location){.file = a->m->path},
          "constant '%.*s' as %s: %llu elements beyond the range %s, %llu become 0",
          TL_SV_ARG(tl_value_name(a->m, l->value)), tl_dtype_get(l->to)->name,
          (unsigned long long)(c->over + c->infinite), out, (unsigned long long)c->flushed);
}

static void warn_constants(applying *a) {
  uint32_t warned = 0;
  tl_cast_loss_count(&a->losses);
  for (uint32_t i = 0; i < a->losses.n && warned < MAX_WARNED; i++) {
    const tl_cast_loss *l = &a->losses.at[i];
    if (l->known && l->counts.over + l->counts.infinite + l->counts.flushed) {
      warn_constant(a, l);
      warned++;
    }
  }
}

/* Returns true for the ratio of a Dropout, which may have any float dtype in ONNX. A computed ratio
 * is taken as it is; a constant gets its own dtype back. */
static bool suits_ratio(const applying *a, tl_node_id n, tl_use_id u, tl_value_id v) {
  return tl_node_get(a->m, n)->op == TL_OP_Dropout && u == tl_node_get(a->m, n)->operands + 1 &&
         a->d->uses[u].rule == TL_BY_NO_ROW && a->d->config->infeasible == TL_INFEASIBLE_KEEP &&
         !tl_value_constant(a->m, v);
}

/* Casts one operand if its dtype differs from that of the value. A graph output keeps its name. */
static bool apply_operand(applying *a, tl_node_id n, uint32_t i) {
  tl_use_id u = tl_node_get(a->m, n)->operands + i;
  tl_value_id v = tl_use_get(a->m, u)->value;
  if (!v)
    return true;
  uint8_t want = a->d->uses[u].chosen;
  uint8_t have = a->d->values[v].chosen;
  if (want == have || want == TL_DTYPE_NONE || have == TL_DTYPE_NONE || suits_ratio(a, n, u, v))
    return true;
  uint32_t before = a->casts.n_nodes;
  uint32_t made = a->casts.n;
  tl_value_id cast = tl_cast_set_get(&a->casts, v, (tl_dtype)want, n);
  if (!cast)
    return failed_to(a);
  if (a->casts.n != made && !note_loss(a, tl_value_constant(a->m, v), v, (tl_dtype)want))
    return false;
  if (a->casts.n_nodes != before)
    tl_pass_remark(a->p, a->m, n, true, "takes '%.*s' as %s", TL_SV_ARG(tl_value_name(a->m, v)),
                   tl_dtype_get((tl_dtype)want)->name);
  tl_node_set_operand(a->m, n, i, cast);
  return !tl_node_is_return(a->m, n) || tl_cast_keep_name(a->m, v, cast) || failed_to(a);
}

/* Returns true if float operands had one dtype in the model and now have two. The slots may have
 * different type variables today, but one in older opsets or in the definition of the op. */
static bool splits(const applying *a, tl_node_id n) {
  const tl_node *node = tl_node_get(a->m, n);
  const tl_precision_slot *first = NULL;
  for (uint32_t i = 0; i < node->n_operands; i++) {
    const tl_precision_slot *s = &a->d->uses[node->operands + i];
    if (!tl_dtype_is_ranked((tl_dtype)s->original))
      continue;
    first = first ? first : s;
    if (s->original == first->original && s->chosen != first->chosen)
      return true;
  }
  return false;
}

/* Turns a CastLike into a Cast: its second operand only names the dtype, and would need a cast
 * itself once it is narrower. */
static bool name_dtype(applying *a, tl_node_id n) {
  tl_value_id x = tl_operand(a->m, n, 0);
  tl_dtype from = (tl_dtype)a->d->uses[tl_node_get(a->m, n)->operands].original;
  tl_dtype to = tl_type_dtype(a->m, tl_value_type(a->m, tl_result(a->m, n, 0)));
  int onnx = tl_dtype_get(to)->onnx;
  if ((!tl_dtype_is_ranked(from) && !tl_dtype_is_ranked(to)) || onnx < 0)
    return true;
  if (tl_node_set_operands(a->m, n, &x, 1) != TL_OK ||
      tl_node_set_attr(a->m, n, tl_attr_int(TL_SYM_to, onnx)) != TL_OK)
    return failed_to(a);
  tl_node_set_op(a->m, n, TL_OP_Cast);
  return true;
}

/* Casts the operands of a node, and marks the node if its dtypes changed. */
static bool apply_node(applying *a, tl_node_id n) {
  if (tl_node_get(a->m, n)->op == TL_OP_CastLike && !name_dtype(a, n))
    return false;
  uint32_t count = tl_node_get(a->m, n)->n_operands;
  for (uint32_t i = 0; i < count; i++)
    if (!apply_operand(a, n, i))
      return false;
  if (!tl_node_is_return(a->m, n) && (a->d->nodes[n].flags & TL_CHOICE_CHANGED)) {
    tl_cast_mark_mixed(a->m, n);
    if (splits(a, n) && !a->d->nodes[n].form->splits)
      tl_node_get(a->m, n)->mixed = true;
  }
  return true;
}

/* Applies the decision to all nodes of a graph, its return included. */
static bool apply_graph(applying *a, const tl_graph *g) {
  TL_FOR_NODES(a->m, g, n)
    if (!apply_node(a, n))
      return false;
  return apply_node(a, g->ret);
}

/* Casts the default of an input, whose dims are known where those of the input may be open. */
static bool apply_default(applying *a, tl_value_id v, tl_dtype to) {
  const tl_tensor *t = tl_tensor_get(a->m, tl_value_get(a->m, v)->tensor);
  const tl_type of = *tl_type_get(a->m, t->type);
  tl_type_id type = tl_type_tensor(a->m, to, of.rank, of.dims);
  tl_tensor_id cast = type == TL_NO_TYPE ? TL_NO_TENSOR
                                         : tl_cast_tensor(a->m, t, type, a->casts.clamp);
  if (!cast)
    return failed_to(a);
  tl_value_get(a->m, v)->tensor = cast;
  return note_loss(a, t, v, to);
}

/* Sets the new types of all values, before any cast is made from them. */
static bool apply_types(applying *a) {
  for (tl_value_id v = 1; v < a->d->n_values; v++) {
    const tl_precision_slot *s = &a->d->values[v];
    if (s->chosen == s->original || s->chosen == TL_DTYPE_NONE)
      continue;
    tl_type_id type = tl_cast_type(a->m, v, (tl_dtype)s->chosen);
    if (type == TL_NO_TYPE)
      return failed_to(a);
    tl_value_set_type(a->m, v, type);
    if (tl_value_get(a->m, v)->kind == TL_VALUE_INPUT && tl_value_get(a->m, v)->tensor &&
        !apply_default(a, v, (tl_dtype)s->chosen))
      return false;
  }
  return true;
}

tl_status tl_precision_apply(tl_pass *p, tl_module *m, const tl_precision *d, uint32_t *n_casts) {
  applying a = {.p = p, .m = m, .d = d};
  bool clamp = d->config->constants == TL_CONST_CLAMP;
  bool ok = tl_cast_set_init(&a.casts, m, p->scratch, clamp) ? apply_types(&a) : failed_to(&a);
  uint32_t n_graphs = m->graphs.n;
  for (uint32_t i = 0; ok && i < n_graphs; i++)
    if (!m->graphs.at[i]->erased)
      ok = apply_graph(&a, m->graphs.at[i]);
  if (ok) {
    warn_constants(&a);
    tl_cast_set_drop_constants(&a.casts);
  }
  if (ok)
    tl_cast_follow_outputs(m);
  *n_casts = a.casts.n_nodes;
  tl_cast_set_release(&a.casts);
  tl_cast_loss_vec_release(&a.losses);
  return ok ? TL_OK : TL_NO_MEMORY;
}
