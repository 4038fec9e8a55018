/* SPDX-License-Identifier: Apache-2.0 */
/* Makes casts of values and constants and keeps the set of those made (casts.h). */
#include "passes/edit/casts.h"

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "ir/tensor_expr.h"
#include "ir/trace.h"
#include "passes/edit/values.h"

/* Constants up to this size are cast at once, larger ones when a writer reads them. */
enum { SMALL_BYTES = 256 };

/* ---- one cast -------------------------------------------------------------------------------- */

tl_type_id tl_cast_type(tl_module *m, tl_value_id v, tl_dtype to) {
  const tl_type t = *tl_type_get(m, tl_value_type(m, v));
  return tl_type_tensor(m, to, t.rank, t.dims);
}

/* Returns the ONNX name of a dtype in lower case, or the name in the IR if ONNX has none. */
static const char *suffix_of(tl_dtype d) {
  const tl_dtype_info *info = tl_dtype_get(d);
  return info->onnx_name ? info->onnx_name : info->name;
}

/* Returns a fresh name such as "conv1_0_to_float16": name of the producer and index of the result.
 * A value without a named producer is called by its own name. */
static tl_symbol cast_name(tl_module *m, tl_value_id v, tl_dtype to) {
  tl_node_id p = tl_value_producer(m, v);
  tl_symbol node = p ? tl_node_get(m, p)->name : 0;
  tl_buf text;
  tl_buf_init(&text);
  if (node) {
    tl_buf_add_sv(&text, tl_sym(m, node));
    tl_buf_add_char(&text, '_');
    tl_buf_add_u64(&text, tl_value_get(m, v)->index);
  } else {
    tl_buf_add_sv(&text, tl_value_name(m, v));
  }
  tl_buf_add_z(&text, "_to_");
  tl_buf_add_z(&text, suffix_of(to));
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

/* Returns true for the conversions to 16 bits that the option clamp applies to. */
static bool clamps(tl_dtype from, tl_dtype to) {
  return (to == TL_DTYPE_F16 || to == TL_DTYPE_BF16) &&
         (from == TL_DTYPE_F32 || from == TL_DTYPE_F16 || from == TL_DTYPE_BF16);
}

/* Computes a small expression at once: printed IR then shows numbers, and equal constants are seen
 * to be equal. */
static tl_tensor_id compute(tl_module *m, const tl_tensor *t, tl_type_id type) {
  tl_tensor_room room;
  size_t n;
  const void *at = tl_tensor_block(t, 0, &room, &n);
  return tl_tensor_from_bytes(m, type, at, n);
}

tl_tensor_id tl_cast_tensor(tl_module *m, const tl_tensor *t, tl_type_id type, bool clamp) {
  bool bounded = clamp && clamps((tl_dtype)t->dtype, tl_type_dtype(m, type));
  tl_tensor_expr e = {
      .kind = bounded ? TL_TENSOR_EXPR_CLAMP : TL_TENSOR_EXPR_CAST, .n_sources = 1, .sources = &t};
  if (tl_tensor_expr_problem(m, type, &e))
    return TL_NO_TENSOR;
  tl_tensor_id id = tl_tensor_express(m, type, &e);
  bool small = id && tl_tensor_get(m, id)->bytes <= SMALL_BYTES;
  return small ? compute(m, tl_tensor_get(m, id), type) : id;
}

/* Casts constant v to a new constant of the same graph. Returns TL_NO_VALUE if a node has to do it:
 * no expression exists for these dtypes, or memory is out. */
static tl_value_id cast_constant(tl_module *m, tl_value_id v, tl_dtype to, bool clamp,
                                 tl_type_id type) {
  tl_tensor_id id = tl_cast_tensor(m, tl_value_constant(m, v), type, clamp);
  tl_symbol name = id ? cast_name(m, v, to) : TL_NO_SYMBOL;
  if (name == TL_NO_SYMBOL)
    return TL_NO_VALUE;
  return tl_graph_add_constant(m, tl_value_graph(m, v), name, id);
}

bool tl_cast_is_inserted(const tl_module *m, tl_node_id n) {
  return tl_node_has_mark(m, n, TL_CAST_INSERTED);
}

/* Chooses ONNX's Cast if both dtypes have an ONNX number and the module is not in NPU form; else
 * the NPU op Cast. Returns the attribute that names the target dtype. */
static tl_attr target(tl_module *m, tl_dtype from, tl_dtype to, tl_op_id *op) {
  const tl_dtype_info *info = tl_dtype_get(to);
  bool known = info->onnx >= 0 && tl_dtype_get(from)->onnx >= 0;
  *op = TL_OP_Cast;
  if (known && m->form != TL_FORM_NPU)
    return tl_attr_int(TL_SYM_to, info->onnx);
  *op = tl_op_find(TL_SYM_npu, TL_SYM_Cast);
  return tl_attr_int(TL_SYM_dst_type, info->ge_internal);
}

/* Inserts a Cast node in front of `before`. In front of a RETURN it is appended to the graph; it
 * then belongs to no stream. In a module after selection the node counts as selected, with its
 * first candidate. */
static tl_value_id cast_node(tl_module *m, tl_value_id v, tl_dtype to, tl_node_id before,
                             tl_type_id type) {
  tl_symbol name = cast_name(m, v, to);
  tl_op_id op;
  tl_attr attr = target(m, tl_type_dtype(m, tl_value_type(m, v)), to, &op);
  tl_node_spec spec = {.op = op,
                       .name = name,
                       .operands = &v,
                       .n_operands = 1,
                       .results = &name,
                       .n_results = 1,
                       .attrs = &attr,
                       .n_attrs = 1};
  const tl_node *user = tl_node_get(m, before);
  bool at_end = user->op == TL_OP_RETURN;
  tl_node_id n = TL_NO_NODE;
  if (name != TL_NO_SYMBOL)
    n = at_end ? tl_graph_append(m, user->graph, &spec) : tl_graph_insert(m, before, &spec);
  tl_node_id reason = at_end ? tl_value_producer(m, v) : before;
  if (!n || !tl_node_put_mark(m, n, TL_CAST_INSERTED) || !tl_trace_derive(m, n, &reason, 1, true))
    return TL_NO_VALUE;
  tl_node *node = tl_node_get(m, n);
  user = tl_node_get(m, before);
  node->scope = user->scope;
  node->stream = at_end ? -1 : user->stream;
  node->selected = m->form == TL_FORM_SELECTED && op == TL_OP_Cast;
  node->candidate = node->selected ? 0 : -1;
  tl_value_id out = tl_result(m, n, 0);
  tl_value_set_type(m, out, type);
  return out;
}

tl_value_id tl_cast_insert(tl_module *m, tl_value_id v, tl_dtype to, tl_node_id before,
                           bool clamp) {
  tl_type_id type = tl_cast_type(m, v, to);
  tl_value_id out = TL_NO_VALUE;
  if (type == TL_NO_TYPE)
    return TL_NO_VALUE;
  if (tl_value_constant(m, v))
    out = cast_constant(m, v, to, clamp, type);
  return out ? out : cast_node(m, v, to, before, type);
}

/* ---- does the op have this signature? -------------------------------------------------------- */

uint64_t tl_cast_dtypes(const tl_module *m, const tl_op *op, const tl_type_var *var) {
  enum {
    WIDENED_FROM = 28
  }; /* ONNX ops widened before opset 28 have the newest element types in
                               * the canonical opset already */
  const uint64_t narrow = TL_DTYPE_BIT(TL_DTYPE_F16) | TL_DTYPE_BIT(TL_DTYPE_BF16);
  int newest = op->n_since ? op->since[op->n_since - 1] : 0;
  bool widened = op->domain_symbol == 0 && newest >= WIDENED_FROM && tl_module_opset(m, 0) < newest;
  return widened && (var->dtypes & TL_DTYPE_BIT(TL_DTYPE_F32)) ? var->dtypes & ~narrow
                                                               : var->dtypes;
}

/* Returns true if dtype d may stand at the port. A shared type variable is bound to the first dtype
 * seen; all its ports must then agree. Dtypes that no precision pass changes (integers, strings)
 * are not judged. */
static bool var_allows(const tl_module *m, const tl_op_port *port, const tl_op *op, tl_dtype d,
                       uint8_t *bound) {
  if (!port || port->var < 0 || (!tl_dtype_is_ranked(d) && d != TL_DTYPE_HIF8))
    return true;
  const tl_type_var *var = &op->vars[port->var];
  if (!(tl_cast_dtypes(m, op, var) & TL_DTYPE_BIT(d)))
    return false;
  if (!var->shared || port->heterogeneous)
    return true;
  if (bound[port->var] == TL_DTYPE_NONE)
    bound[port->var] = (uint8_t)d;
  return bound[port->var] == d;
}

void tl_cast_mark_mixed(tl_module *m, tl_node_id n) {
  tl_node *node = tl_node_get(m, n);
  const tl_op *op = tl_op_row(node->op);
  uint8_t bound[UINT8_MAX + 1];
  bool fits = true;
  if (!op)
    return;
  memset(bound, TL_DTYPE_NONE, op->n_vars);
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_dtype d = tl_type_dtype(m, tl_value_type(m, v));
    fits = fits && (!v || var_allows(m, tl_op_operand_port(op, i), op, d, bound));
  }
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_dtype d = tl_type_dtype(m, tl_value_type(m, node->results + i));
    fits = fits && var_allows(m, tl_op_result_port(op, i), op, d, bound);
  }
  node->mixed = !fits;
}

/* ---- sets ------------------------------------------------------------------------------------ */

struct tl_made_cast {
  tl_value_id cast;
  tl_graph_id graph; /* TL_NO_GRAPH for a constant, which serves all graphs */
  uint32_t next;     /* next cast of the same value: 1 + index in `at`; 0: none */
  uint8_t dtype;
};

bool tl_cast_set_init(tl_cast_set *s, tl_module *m, tl_arena *arena, bool clamp) {
  *s = (tl_cast_set){.m = m, .clamp = clamp, .n_values = tl_module_value_end(m)};
  s->first = tl_arena_calloc(arena, s->n_values, sizeof *s->first);
  return s->first != NULL;
}

void tl_cast_set_release(tl_cast_set *s) {
  free(s->at);
  s->at = NULL;
}

static bool make_room(tl_cast_set *s) {
  if (s->n < s->cap)
    return true;
  uint32_t cap = s->cap ? s->cap * 2 : 64;
  struct tl_made_cast *at = realloc(s->at, cap * sizeof *at);
  if (!at)
    return false;
  s->at = at;
  s->cap = cap;
  return true;
}

tl_value_id tl_cast_set_get(tl_cast_set *s, tl_value_id v, tl_dtype to, tl_node_id n) {
  tl_graph_id g = tl_node_get(s->m, n)->graph;
  for (uint32_t i = s->first[v]; i; i = s->at[i - 1].next) {
    const struct tl_made_cast *c = &s->at[i - 1];
    if (c->dtype == to && (c->graph == g || c->graph == TL_NO_GRAPH))
      return c->cast;
  }
  tl_value_id out = make_room(s) ? tl_cast_insert(s->m, v, to, n, s->clamp) : TL_NO_VALUE;
  if (!out)
    return TL_NO_VALUE;
  bool is_node = tl_value_producer(s->m, out) != TL_NO_NODE;
  s->at[s->n++] = (struct tl_made_cast){out, is_node ? g : TL_NO_GRAPH, s->first[v], (uint8_t)to};
  s->first[v] = s->n;
  s->n_nodes += is_node;
  return out;
}

void tl_cast_set_drop_constants(tl_cast_set *s) {
  for (uint32_t i = 0; i < s->m->graphs.n; i++) {
    const tl_graph *g = s->m->graphs.at[i];
    for (uint32_t k = 0; !g->erased && k < g->constants.n; k++) {
      tl_value_id v = g->constants.at[k];
      if (!v || v >= s->n_values || !s->first[v] || tl_value_get(s->m, v)->n_uses)
        continue;
      tl_value_id heir = s->at[s->first[v] - 1].cast;
      tl_symbol name = tl_value_get(s->m, v)->name;
      tl_graph_erase_constant(s->m, v);
      if (tl_value_get(s->m, heir)->kind == TL_VALUE_CONSTANT)
        tl_value_set_name(s->m, heir, name);
    }
  }
}

bool tl_cast_keep_name(tl_module *m, tl_value_id from, tl_value_id to) {
  tl_value *value = tl_value_get(m, from);
  tl_symbol name = value->name;
  if (value->kind != TL_VALUE_RESULT || tl_value_get(m, to)->kind != TL_VALUE_RESULT)
    return true;
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%.*s_%s", TL_SV_ARG(tl_sym(m, name)),
                suffix_of(tl_type_dtype(m, value->type)));
  tl_symbol other = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(m, tl_buf_view(&text));
  tl_buf_release(&text);
  if (other == TL_NO_SYMBOL)
    return false;
  tl_value_set_name(m, to, name);
  tl_value_set_name(m, from, other);
  return true;
}

/* Returns v if it is a graph output, else a cast of v that is one, else v. */
static tl_value_id output_of(const tl_module *m, tl_value_id v) {
  if (!v || tl_value_leaves_graph(m, v))
    return v;
  TL_FOR_USES(m, v, u) {
    tl_node_id n = tl_use_get(m, u)->user;
    tl_value_id cast = tl_node_get(m, n)->op == TL_OP_Cast ? tl_result(m, n, 0) : TL_NO_VALUE;
    if (cast && tl_value_leaves_graph(m, cast))
      return cast;
  }
  return v;
}

void tl_cast_follow_outputs(tl_module *m) {
  for (uint32_t i = 0; i < m->states.n; i++)
    m->states.at[i].output = output_of(m, m->states.at[i].output);
  m->loss = output_of(m, m->loss);
}
