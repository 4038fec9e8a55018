/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one AllReduce out of several, with an operand a tensor or with one joined tensor
 * (bucket_fuse.h). */
#include "passes/train/comm/bucket_fuse.h"

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/maker.h"
#include "passes/edit/values.h"

typedef struct fusing {
  tl_module *m;
  tl_maker k;
  const tl_node_id *nodes;
  uint32_t n;
  tl_u32_vec operands; /* each once */
  tl_u32_vec slot;     /* by member: which operand is its own */
  tl_u32_vec names;    /* of results, by operand */
  bool has_roles;      /* the model says something of a member's result */
} fusing;

/* Adds the operand of a member once: two members that read one value share one result. */
static bool add_operand(fusing *fuse, tl_node_id n) {
  tl_value_id v = tl_operand(fuse->m, n, 0), result = tl_result(fuse->m, n, 0);
  uint32_t i = 0;
  while (i < fuse->operands.n && fuse->operands.at[i] != v)
    i++;
  if (!tl_u32_vec_push(&fuse->slot, i))
    return false;
  if (i < fuse->operands.n)
    return true;
  return tl_u32_vec_push(&fuse->operands, v) &&
         tl_u32_vec_push(&fuse->names, tl_value_get(fuse->m, result)->name);
}

/* ---- control edges --------------------------------------------------------------------------- */

static bool is_member(const fusing *fuse, tl_node_id n) {
  for (uint32_t i = 0; i < fuse->n; i++)
    if (fuse->nodes[i] == n)
      return true;
  return false;
}

static bool has_edge(const tl_module *m, tl_node_id from, tl_node_id to) {
  for (tl_control_id c = tl_node_get(m, to)->control_in; c; c = tl_control_get(m, c)->next_in)
    if (tl_control_get(m, c)->from == from)
      return true;
  return false;
}

static bool add_edge(tl_module *m, tl_node_id from, tl_node_id to, uint8_t origin) {
  return has_edge(m, from, to) || tl_control_add(m, from, to, (tl_control_origin)origin);
}

/* Moves control edges of a member to the new nodes; edges between members vanish. */
static bool move_edges(fusing *fuse, tl_node_id n, tl_node_id before, tl_node_id behind) {
  tl_module *m = fuse->m;
  bool ok = true;
  for (tl_control_id c = tl_node_get(m, n)->control_in; c && ok; c = tl_control_get(m, c)->next_in)
    if (!is_member(fuse, tl_control_get(m, c)->from))
      ok = add_edge(m, tl_control_get(m, c)->from, before, tl_control_get(m, c)->origin);
  for (tl_control_id c = tl_node_get(m, n)->control_out; c && ok;
       c = tl_control_get(m, c)->next_out)
    if (!is_member(fuse, tl_control_get(m, c)->to))
      ok = add_edge(m, behind, tl_control_get(m, c)->to, tl_control_get(m, c)->origin);
  return ok;
}

/* ---- what the model says of results ---------------------------------------------------------- */

/* Returns true if v is the result of a member. */
static bool is_fused(const fusing *fuse, tl_value_id v) {
  tl_node_id n = v ? tl_value_producer(fuse->m, v) : TL_NO_NODE;
  return n && tl_node_get(fuse->m, n)->op == tl_node_get(fuse->m, fuse->nodes[0])->op &&
         is_member(fuse, n);
}

/* Returns true if a member's result is a gradient, loss or next state of the module, which happens
 * in models with collectives of their own. Otherwise looking for roles again for each member is
 * saved. */
static bool have_roles(const fusing *fuse) {
  const tl_module *m = fuse->m;
  bool found = is_fused(fuse, m->loss);
  for (uint32_t i = 0; i < m->gradients.n && !found; i++)
    found = is_fused(fuse, m->gradients.at[i].grad) || is_fused(fuse, m->gradients.at[i].indices);
  for (uint32_t i = 0; i < m->states.n && !found; i++)
    found = is_fused(fuse, m->states.at[i].output);
  return found;
}

static void replace(fusing *fuse, tl_value_id old, tl_value_id made) {
  if (fuse->has_roles)
    tl_value_move_roles(fuse->m, old, made);
  tl_value_replace_uses(fuse->m, old, made);
}

/* ---- one operand a tensor -------------------------------------------------------------------- */

/* Makes the AllReduce with name and attributes of the first member. */
static tl_node_id make_node(fusing *fuse, const tl_value_id *operands, const tl_symbol *names,
                            uint32_t n) {
  const tl_node *first = tl_node_get(fuse->m, fuse->nodes[0]);
  tl_node_spec spec = {.op = first->op,
                       .name = first->name,
                       .operands = operands,
                       .n_operands = n,
                       .results = names,
                       .n_results = n,
                       .attrs = first->attrs,
                       .n_attrs = first->n_attrs};
  tl_value_id v = tl_make_node(&fuse->k, &spec);
  return v ? tl_value_producer(fuse->m, v) : TL_NO_NODE;
}

/* Notes the byte offsets of the tensors in one piece of memory, each aligned. */
static bool put_offsets(fusing *fuse, tl_node_id n) {
  tl_buf text;
  uint64_t at = 0;
  tl_buf_init(&text);
  for (uint32_t i = 0; i < fuse->operands.n; i++) {
    uint64_t count = 0, bytes = 0;
    tl_type_id type = tl_value_type(fuse->m, fuse->operands.at[i]);
    if (i)
      tl_buf_add_char(&text, ',');
    tl_buf_add_u64(&text, at);
    if (tl_type_elements(fuse->m, type, &count))
      tl_dtype_bytes(tl_type_dtype(fuse->m, type), count, &bytes);
    at += (bytes + TL_BUCKET_OFFSET_ALIGN - 1) / TL_BUCKET_OFFSET_ALIGN * TL_BUCKET_OFFSET_ALIGN;
  }
  bool ok = !text.failed && tl_node_put_mark(fuse->m, n, TL_MARK_COALESCED) &&
            tl_node_set_note(fuse->m, n, TL_MARK_OFFSETS, tl_buf_view(&text));
  tl_buf_release(&text);
  return ok;
}

static tl_node_id make_multi(fusing *fuse) {
  tl_node_id made = make_node(fuse, fuse->operands.at, fuse->names.at, fuse->operands.n);
  if (!made)
    return TL_NO_NODE;
  for (uint32_t i = 0; i < fuse->n; i++)
    replace(fuse, tl_result(fuse->m, fuse->nodes[i], 0),
            tl_result(fuse->m, made, fuse->slot.at[i]));
  fuse->k.no_memory = !put_offsets(fuse, made);
  return made;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

/* Flattens a tensor. */
static tl_value_id flat(fusing *fuse, tl_value_id v) {
  static const int64_t all = -1;
  return tl_make_reshape(&fuse->k, v, &all, 1);
}

/* Gives a flat piece the shape of `like`. */
static tl_value_id shaped(fusing *fuse, tl_value_id v, tl_value_id like) {
  const tl_type *t = tl_type_get(fuse->m, tl_value_type(fuse->m, like));
  int64_t dims[TL_MAX_RANK];
  uint32_t rank = (uint32_t)t->rank;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = t->dims[i];
  return tl_make_reshape(&fuse->k, v, dims, rank);
}

/* Returns the sizes of the tensors in elements, as the second operand of Split. */
static tl_value_id sizes(fusing *fuse) {
  tl_i64_vec list = {0};
  for (uint32_t i = 0; i < fuse->operands.n; i++) {
    uint64_t count = 0;
    tl_type_elements(fuse->m, tl_value_type(fuse->m, fuse->operands.at[i]), &count);
    fuse->k.no_memory = fuse->k.no_memory || !tl_i64_vec_push(&list, (int64_t)count);
  }
  tl_value_id v = fuse->k.no_memory ? TL_NO_VALUE : tl_make_ints(&fuse->k, list.at, list.n);
  tl_i64_vec_release(&list);
  return v;
}

/* Splits the reduced tensor; returns the first piece, the others have the next ids. */
static tl_value_id take_apart(fusing *fuse, tl_value_id v) {
  tl_u32_vec names = {0};
  tl_value_id operands[] = {v, sizes(fuse)};
  for (uint32_t i = 0; i < fuse->operands.n && !fuse->k.no_memory; i++) {
    tl_symbol s = tl_maker_name(&fuse->k, TL_SV("Split"));
    fuse->k.no_memory = s == TL_NO_SYMBOL || !tl_u32_vec_push(&names, s);
  }
  tl_attr axis = tl_attr_int(TL_SYM_axis, 0);
  tl_node_spec spec = {.op = TL_OP_Split,
                       .operands = operands,
                       .n_operands = 2,
                       .results = names.at,
                       .n_results = names.n,
                       .attrs = &axis,
                       .n_attrs = 1};
  tl_value_id made = fuse->k.no_memory ? TL_NO_VALUE : tl_make_node(&fuse->k, &spec);
  tl_u32_vec_release(&names);
  return made;
}

static tl_node_id make_concat(fusing *fuse) {
  tl_u32_vec parts = {0};
  for (uint32_t i = 0; i < fuse->operands.n; i++)
    fuse->k.no_memory = fuse->k.no_memory ||
                        !tl_u32_vec_push(&parts, flat(fuse, fuse->operands.at[i]));
  tl_value_id joined = tl_make_concat(&fuse->k, parts.at, parts.n, 0);
  tl_u32_vec_release(&parts);
  tl_symbol name = joined ? tl_maker_name(&fuse->k, TL_SV("HcomAllReduce")) : TL_NO_SYMBOL;
  tl_node_id made = joined ? make_node(fuse, &joined, &name, 1) : TL_NO_NODE;
  tl_value_id pieces = made ? take_apart(fuse, tl_result(fuse->m, made, 0)) : TL_NO_VALUE;
  tl_u32_vec shapes = {0};
  for (uint32_t i = 0; i < fuse->operands.n && pieces; i++) {
    tl_value_id v = shaped(fuse, pieces + i, fuse->operands.at[i]);
    if (v)
      tl_value_set_name(fuse->m, v, fuse->names.at[i]);
    fuse->k.no_memory = fuse->k.no_memory || !tl_u32_vec_push(&shapes, v);
  }
  for (uint32_t i = 0; i < fuse->n && !tl_maker_failed(&fuse->k); i++)
    replace(fuse, tl_result(fuse->m, fuse->nodes[i], 0), shapes.at[fuse->slot.at[i]]);
  tl_u32_vec_release(&shapes);
  return pieces ? made : TL_NO_NODE;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tl_node_id fuse(fusing *x, bool concat) {
  for (uint32_t i = 0; i < x->n; i++)
    if (!add_operand(x, x->nodes[i])) {
      x->k.no_memory = true;
      return TL_NO_NODE;
    }
  for (uint32_t i = 0; i < x->n; i++) /* results of the new node take the names over */
    tl_value_set_name(x->m, tl_result(x->m, x->nodes[i], 0), 0);
  tl_node_id made = concat ? make_concat(x) : make_multi(x);
  for (uint32_t i = 0; made && i < x->n; i++)
    x->k.no_memory = x->k.no_memory || !move_edges(x, x->nodes[i], made, made);
  for (uint32_t i = 0; made && !tl_maker_failed(&x->k) && i < x->n; i++)
    tl_node_erase(x->m, x->nodes[i]);
  return made;
}

tl_node_id tl_bucket_fuse(tl_module *m, const tl_node_id *nodes, uint32_t n, bool concat) {
  fusing x = {.m = m, .nodes = nodes, .n = n, .k = tl_maker_before(m, nodes[n - 1])};
  x.k.like = nodes[0];
  x.has_roles = have_roles(&x);
  tl_node_id made = fuse(&x, concat);
  tl_u32_vec_release(&x.operands);
  tl_u32_vec_release(&x.slot);
  tl_u32_vec_release(&x.names);
  return tl_maker_status(&x.k) == TL_OK ? made : TL_NO_NODE;
}
