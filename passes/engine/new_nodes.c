/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the nodes, constants and attributes of a replacement, beside the matched nodes. */
#include "passes/engine/building.h"

#include "ir/infer/infer.h"
#include "passes/engine/rule_values.h"
#include "passes/engine/scope.h"
#include "passes/engine/why.h"

enum { LONGEST_LIST = 65536 }; /* upper bound on elements of a computed constant */

bool tl_build_no_memory(tl_building *b) {
  (void)tl_no_memory(b->match->m);
  return false;
}

bool tl_build_refuse(tl_building *b, const char *code, const char *what) {
  tl_sv name = tl_sym(b->match->m, b->match->rule->name);
  tl_match_note(b->match, TL_MISS_BUILT, code, "the replacement of %.*s does not fit: %s",
                TL_SV_ARG(name), what);
  return false;
}

static tl_sv root_name(const tl_building *b) {
  return tl_value_name(b->match->m, tl_result(b->match->m, b->match->root, 0));
}

static tl_symbol fresh_name(tl_building *b, tl_sv suffix) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, root_name(b));
  tl_buf_add_char(&text, '/');
  tl_buf_add_sv(&text, suffix);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(b->match->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* Returns the dtype of a constant: stated, computed, or that of the node's first value operand. */
static tl_dtype constant_dtype(tl_building *b, const tl_pattern_node *n,
                               const tl_pattern_operand *o) {
  if (o->dtype)
    return (tl_dtype)o->dtype;
  if (o->dtype_of) {
    tl_rv v = tl_rule_eval(b->match, o->dtype_of);
    return v.kind == TL_RV_DTYPE ? (tl_dtype)v.i : TL_DTYPE_NONE;
  }
  for (uint8_t i = 0; i < n->n_operands; i++) {
    const tl_pattern_operand *other = &n->operands[i];
    if (other->kind != TL_PATTERN_VALUE && other->kind != TL_PATTERN_MAYBE)
      continue;
    tl_value_id v = b->made[other->value] ? b->made[other->value] : b->match->values[other->value];
    if (v)
      return tl_type_dtype(b->match->m, tl_value_type(b->match->m, v));
  }
  return TL_DTYPE_NONE;
}

static bool add_constant(tl_building *b, tl_tensor_id t, tl_value_id *out) {
  tl_symbol name = fresh_name(b, TL_SV("const"));
  *out = t && name != TL_NO_SYMBOL ? tl_graph_add_constant(b->match->m, b->graph, name, t)
                                   : TL_NO_VALUE;
  if (!*out)
    return tl_build_no_memory(b);
  b->constants[b->n_constants++] = *out;
  return true;
}

/* Returns true if v is a list of elements of that dtype already: its tensor is used as it is. */
static bool is_constant_list(const tl_module *m, tl_rv v, tl_dtype d) {
  const tl_tensor *t = v.kind == TL_RV_TENSOR ? tl_tensor_get(m, (tl_tensor_id)v.i) : NULL;
  return t && t->dtype == d && tl_type_get(m, t->type)->rank == 1;
}

/* Makes the constant of operand o of node n. A list becomes a tensor of rank 1, a number one of
 * rank 0. */
static bool make_constant(tl_building *b, const tl_pattern_node *n, const tl_pattern_operand *o,
                          tl_value_id *out) {
  tl_module *m = b->match->m;
  tl_rv v = tl_rule_eval(b->match, o->expr);
  tl_dtype d = constant_dtype(b, n, o);
  if (is_constant_list(m, v, d) && b->n_constants < TL_BUILD_CONSTANTS)
    return add_constant(b, (tl_tensor_id)v.i, out);
  tl_tensor_id t;
  if (d == TL_DTYPE_NONE || v.kind == TL_RV_NONE || tl_rv_count(m, v) > LONGEST_LIST ||
      b->n_constants == TL_BUILD_CONSTANTS)
    return tl_build_refuse(b, "CONST_VALUE", "a constant is unknown");
  if (!tl_rv_tensor(m, b->match->scratch, v, d, &t))
    return tl_build_refuse(b, "CONST_VALUE", "a constant does not fit its dtype");
  return add_constant(b, t, out);
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Returns the kind of an op's attribute; NONE if the op has no such attribute: "from" skips it. */
static tl_attr_kind kind_of(tl_op_id op, tl_symbol name) {
  const tl_op *row = tl_op_row(op);
  const tl_op_attr *a = row ? tl_op_attr_find(row, name) : NULL;
  return a ? (tl_attr_kind)a->value.kind : TL_ATTR_NONE;
}

static void put_attr(tl_attr *attrs, uint32_t *n, tl_attr a) {
  for (uint32_t i = 0; i < *n; i++)
    if (attrs[i].name == a.name) {
      attrs[i] = a;
      return;
    }
  attrs[(*n)++] = a;
}

/* Drops an attribute with its default value: it may not exist in the opset of the module. */
static void drop_default(tl_module *m, tl_op_id op, tl_attr *attrs, uint32_t *n, tl_symbol name) {
  const tl_op *row = tl_op_row(op);
  const tl_op_attr *known = row ? tl_op_attr_find(row, name) : NULL;
  for (uint32_t i = 0; known && known->has_default && i < *n; i++)
    if (attrs[i].name == name && tl_attr_equal(m, &attrs[i], &known->value)) {
      memmove(&attrs[i], &attrs[i + 1], (--*n - i) * sizeof *attrs);
      return;
    }
}

static tl_op_id op_of(const tl_building *b, const tl_pattern_node *p) {
  bool like = p->like != TL_RULE_NODES && tl_match_has_node(b->match, p->like);
  return like ? tl_node_get(b->match->m, b->match->nodes[p->like])->op : p->ops[0];
}

/* Returns true if an attribute of the kind that the prototype has may be given this one. Lists of
 * NPU prototypes and those without elements are not told apart here. */
static bool is_kind(tl_attr_kind wanted, const tl_attr *a) {
  bool plain = wanted == TL_ATTR_INT || wanted == TL_ATTR_FLOAT || wanted == TL_ATTR_STRING;
  bool list = wanted == TL_ATTR_INTS || wanted == TL_ATTR_FLOATS;
  bool empty = list && tl_attr_kind_is_list((tl_attr_kind)a->kind) && a->count == 0;
  return (!plain && !list) || a->kind == wanted || empty;
}

/* Collects the attributes of a new node: those copied by "from" first, then those that the rule
 * states, which replace copied ones of the same name. */
static bool build_attrs(tl_building *b, const tl_pattern_node *p, tl_attr **out, uint32_t *n) {
  tl_match *match = b->match;
  tl_op_id op = op_of(b, p);
  bool copies = p->from != TL_RULE_NODES && tl_match_has_node(match, p->from);
  const tl_node *source = copies ? tl_node_get(match->m, match->nodes[p->from]) : NULL;
  uint32_t most = p->n_attrs + (source ? source->n_attrs : 0);
  tl_attr *attrs = tl_arena_calloc(match->scratch, most ? most : 1, sizeof *attrs);
  if (!attrs)
    return tl_build_no_memory(b);
  *n = 0;
  for (uint32_t i = 0; source && i < source->n_attrs; i++)
    if (!tl_op_row(op) || kind_of(op, source->attrs[i].name) != TL_ATTR_NONE)
      put_attr(attrs, n, source->attrs[i]);
  for (uint8_t i = 0; i < p->n_attrs; i++) {
    tl_rv v = tl_rule_eval(match, p->attrs[i].expr);
    if (v.kind == TL_RV_NONE && p->attrs[i].expr->kind == TL_EXPR_NAME)
      continue; /* captured from a node that does not set it */
    tl_attr a = tl_rule_attr(match->m, p->attrs[i].name, kind_of(op, p->attrs[i].name), v);
    if (a.kind == TL_ATTR_NONE)
      return tl_build_refuse(b, "ATTR", "an attribute is unknown");
    if (!is_kind(kind_of(op, a.name), &a))
      return tl_build_refuse(b, "ATTR",
                             "an attribute has a value of another kind than its op takes");
    put_attr(attrs, n, a);
    drop_default(match->m, op, attrs, n, a.name);
  }
  *out = attrs;
  return true;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool is_made(const tl_building *b, uint8_t v) { return b->made[v] != TL_NO_VALUE; }

/* Returns a place in a list of n from an expression, at most n; `otherwise` without a valid one. */
static uint32_t place_in(tl_building *b, const tl_expr *e, uint32_t n, uint32_t otherwise) {
  tl_rv v = e ? tl_rule_eval(b->match, e) : (tl_rv){0};
  if (v.kind != TL_RV_INT || v.i < 0)
    return otherwise;
  return v.i < n ? (uint32_t)v.i : n;
}

static uint32_t count_operands(const tl_building *b, const tl_pattern_node *p) {
  uint32_t n = 0;
  for (uint8_t i = 0; i < p->n_operands; i++)
    n += p->operands[i].kind == TL_PATTERN_REST ? b->match->rest_n[p->operands[i].value] : 1;
  return n;
}

/* Collects the operands of a new node and makes its constants. Absent operands at the end are
 * dropped, as ONNX writes them. */
static bool build_operands(tl_building *b, const tl_pattern_node *p, tl_value_id **out,
                           uint32_t *n) {
  tl_match *match = b->match;
  tl_value_id *at = tl_arena_calloc(match->scratch, count_operands(b, p) + 1u, sizeof *at);
  if (!at)
    return tl_build_no_memory(b);
  *n = 0;
  for (uint8_t i = 0; i < p->n_operands; i++) {
    const tl_pattern_operand *o = &p->operands[i];
    if (o->kind == TL_PATTERN_REST) {
      uint32_t all = match->rest_n[o->value], end = place_in(b, o->end, all, all);
      for (uint32_t k = place_in(b, o->expr, all, 0); k < end; k++)
        at[(*n)++] =
            tl_operand(match->m, match->rest_node[o->value], match->rest_from[o->value] + k);
    } else if (o->kind == TL_PATTERN_NUMBER) {
      if (!make_constant(b, p, o, &at[(*n)++]))
        return false;
    } else {
      at[(*n)++] = o->kind == TL_PATTERN_ABSENT ? TL_NO_VALUE
                   : is_made(b, o->value)       ? b->made[o->value]
                                                : match->values[o->value];
    }
  }
  while (*n && !at[*n - 1])
    --*n;
  *out = at;
  return true;
}

/* Returns the name of a new node; 0 if the root has none. What takes the place of the root keeps
 * its name, except in fusions, whose node stands for several. */
static tl_symbol node_name(tl_building *b, const tl_pattern_node *p, bool makes_root) {
  tl_module *m = b->match->m;
  tl_symbol root = tl_node_get(m, b->match->root)->name;
  if (!root || (makes_root && !tl_rule_fuses(b->match->rule)))
    return root;
  tl_buf text;
  tl_buf_init(&text);
  bool scoped = b->match->scopes &&
                b->match->rule->scope; /* named after the scope, not a part of it */
  if (scoped)
    tl_scope_path(b->match->scopes, b->match->scope, &text);
  else
    tl_buf_add_sv(&text, tl_sym(m, root));
  tl_buf_add_char(&text, '/');
  tl_buf_add_sv(&text, tl_op_name(m, op_of(b, p)));
  /* Runtimes refuse two nodes of one name. */
  tl_sv whole = tl_buf_view(&text);
  tl_symbol s = text.failed ? 0
                            : tl_module_fresh_name(m, (tl_sv){whole.p + scoped, whole.n - scoped});
  tl_buf_release(&text);
  return s == TL_NO_SYMBOL ? 0 : s;
}

static bool makes_root_output(const tl_building *b, const tl_pattern_node *p) {
  const tl_rule *r = b->match->rule;
  for (uint8_t i = 0; i < p->n_results; i++)
    if (p->results[i] != TL_RULE_VALUES && r->values[p->results[i]].node == r->n_match - 1)
      return true;
  return false;
}

/* Infers at once: later constants may take their dtype from this node's result. */
static bool infer(tl_building *b, tl_node_id n) {
  tl_module *m = b->match->m;
  tl_muted muted; /* a failure refuses the rewrite and is no error of the model */
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = tl_infer_node(m, n);
  tl_unmute(&muted);
  return status == TL_OK || tl_build_refuse(b, "SHAPE", "shapes or dtypes of its nodes clash");
}

bool tl_build_node(tl_building *b, const tl_pattern_node *p) {
  tl_module *m = b->match->m;
  tl_node_spec spec = {.op = op_of(b, p), .n_results = p->n_results};
  tl_value_id *operands;
  tl_attr *attrs;
  tl_symbol names[sizeof p->results];
  if (!build_operands(b, p, &operands, &spec.n_operands) ||
      !build_attrs(b, p, &attrs, &spec.n_attrs))
    return false;
  for (uint8_t i = 0; i < p->n_results; i++) {
    uint8_t v = p->results[i];
    bool own = v != TL_RULE_VALUES &&
               !(tl_build_is_output(b->match->rule, v) && (b->match->bound >> v & 1));
    names[i] = own ? fresh_name(b, tl_op_name(m, spec.op)) : 0;
    if (names[i] == TL_NO_SYMBOL)
      return tl_build_no_memory(b);
  }
  spec.name = node_name(b, p, makes_root_output(b, p));
  spec.operands = operands;
  spec.attrs = attrs;
  spec.results = names;
  tl_node_id n = tl_graph_insert(m, b->before, &spec);
  if (!n)
    return tl_build_no_memory(b);
  b->out->nodes[b->out->n_nodes++] = n;
  tl_node_get(m, n)->scope = tl_node_get(m, b->match->root)->scope;
  tl_node_get(m, n)->stream = tl_node_get(m, b->match->root)->stream;
  for (uint8_t i = 0; i < p->n_results; i++)
    if (p->results[i] != TL_RULE_VALUES)
      b->made[p->results[i]] = tl_result(m, n, i);
  return infer(b, n);
}

bool tl_build_forward(tl_building *b, const tl_pattern_node *p) {
  const tl_pattern_operand *o = &p->operands[0];
  tl_value_id v;
  if (o->kind == TL_PATTERN_NUMBER) {
    if (!make_constant(b, p, o, &v))
      return false;
  } else {
    v = is_made(b, o->value) ? b->made[o->value] : b->match->values[o->value];
  }
  b->made[p->results[0]] = v;
  return v != TL_NO_VALUE || tl_build_refuse(b, "OPERANDS", "an operand is absent");
}
