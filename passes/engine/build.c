/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the replacement of a match beside the old nodes, infers it, and commits only if it fits.
 * Undoing is erasing nodes that nothing uses. */
#include "passes/engine/build.h"

#include "ir/infer/infer.h"
#include "ir/ops_gen.h"
#include "passes/engine/rule_values.h"
#include "passes/engine/scope.h"
#include "passes/engine/why.h"

enum { LONGEST_LIST = 65536, MOST_MOVED = 4096, MOST_CONSTANTS = 64 };

typedef struct build {
  tl_match *x;
  tl_built *out;
  tl_graph_id graph;
  tl_node_id before;                /* new nodes are inserted before it */
  tl_value_id made[TL_RULE_VALUES]; /* by value of the rule: its replacement */
  tl_value_id constants[MOST_CONSTANTS];
  uint32_t n_constants;
} build;

static bool out_of_memory(build *b) {
  (void)tl_no_memory(b->x->m);
  return false;
}

static bool is_output(const tl_rule *r, uint8_t v) {
  return r->values[v].node != TL_RULE_NODES && r->values[v].built != TL_RULE_NODES;
}

static tl_sv root_name(const build *b) {
  return tl_value_name(b->x->m, tl_result(b->x->m, b->x->root, 0));
}

static tl_symbol fresh_name(build *b, tl_sv suffix) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_sv(&text, root_name(b));
  tl_buf_add_char(&text, '/');
  tl_buf_add_sv(&text, suffix);
  tl_symbol s = text.failed ? TL_NO_SYMBOL : tl_module_fresh_name(b->x->m, tl_buf_view(&text));
  tl_buf_release(&text);
  return s;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* Returns the dtype of a constant: stated, computed, or that of the node's first value operand. */
static tl_dtype constant_dtype(build *b, const tl_pattern_node *n, const tl_pattern_operand *o) {
  if (o->dtype)
    return (tl_dtype)o->dtype;
  if (o->dtype_of) {
    tl_rv v = tl_rule_eval(b->x, o->dtype_of);
    return v.kind == TL_RV_DTYPE ? (tl_dtype)v.i : TL_DTYPE_NONE;
  }
  for (uint8_t i = 0; i < n->n_operands; i++) {
    const tl_pattern_operand *other = &n->operands[i];
    if (other->kind != TL_PATTERN_VALUE && other->kind != TL_PATTERN_MAYBE)
      continue;
    tl_value_id v = b->made[other->value] ? b->made[other->value] : b->x->values[other->value];
    if (v)
      return tl_type_dtype(b->x->m, tl_value_type(b->x->m, v));
  }
  return TL_DTYPE_NONE;
}

static bool refuse(build *b, const char *code, const char *what) {
  tl_sv name = tl_sym(b->x->m, b->x->rule->name);
  tl_match_note(b->x, TL_MISS_BUILT, code, "the replacement of %.*s does not fit: %s",
                TL_SV_ARG(name), what);
  return false;
}

static bool add_constant(build *b, tl_tensor_id t, tl_value_id *out) {
  tl_symbol name = fresh_name(b, TL_SV("const"));
  *out = t && name != TL_NO_SYMBOL ? tl_graph_add_constant(b->x->m, b->graph, name, t)
                                   : TL_NO_VALUE;
  if (!*out)
    return out_of_memory(b);
  b->constants[b->n_constants++] = *out;
  return true;
}

/* A list of elements of that dtype already? Its bytes are not copied. */
static bool is_constant_list(const tl_module *m, tl_rv v, tl_dtype d) {
  const tl_tensor *t = v.kind == TL_RV_TENSOR ? tl_tensor_get(m, (tl_tensor_id)v.i) : NULL;
  return t && t->dtype == d && tl_type_get(m, t->type)->rank == 1;
}

static bool make_constant(build *b, const tl_pattern_node *n, const tl_pattern_operand *o,
                          tl_value_id *out) {
  tl_module *m = b->x->m;
  tl_rv v = tl_rule_eval(b->x, o->expr);
  tl_dtype d = constant_dtype(b, n, o);
  if (is_constant_list(m, v, d) && b->n_constants < MOST_CONSTANTS)
    return add_constant(b, (tl_tensor_id)v.i, out);
  tl_tensor_id t;
  if (d == TL_DTYPE_NONE || v.kind == TL_RV_NONE || tl_rv_count(m, v) > LONGEST_LIST ||
      b->n_constants == MOST_CONSTANTS)
    return refuse(b, "CONST_VALUE", "a constant is unknown");
  if (!tl_rv_tensor(m, b->x->scratch, v, d, &t))
    return refuse(b, "CONST_VALUE", "a constant does not fit its dtype");
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

static tl_op_id op_of(const build *b, const tl_pattern_node *p) {
  bool like = p->like != TL_RULE_NODES && tl_match_has_node(b->x, p->like);
  return like ? tl_node_get(b->x->m, b->x->nodes[p->like])->op : p->ops[0];
}

/* Returns true if an attribute of the kind that the prototype has may be given this one. Lists of
 * NPU prototypes and those without elements are not told apart here. */
static bool is_kind(tl_attr_kind wanted, const tl_attr *a) {
  bool plain = wanted == TL_ATTR_INT || wanted == TL_ATTR_FLOAT || wanted == TL_ATTR_STRING;
  bool list = wanted == TL_ATTR_INTS || wanted == TL_ATTR_FLOATS;
  bool empty = list && tl_attr_kind_is_list((tl_attr_kind)a->kind) && a->count == 0;
  return (!plain && !list) || a->kind == wanted || empty;
}

static bool build_attrs(build *b, const tl_pattern_node *p, tl_attr **out, uint32_t *n) {
  tl_match *match = b->x;
  tl_op_id op = op_of(b, p);
  bool copies = p->from != TL_RULE_NODES && tl_match_has_node(match, p->from);
  const tl_node *source = copies ? tl_node_get(match->m, match->nodes[p->from]) : NULL;
  uint32_t most = p->n_attrs + (source ? source->n_attrs : 0);
  tl_attr *attrs = tl_arena_calloc(match->scratch, most ? most : 1, sizeof *attrs);
  if (!attrs)
    return out_of_memory(b);
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
      return refuse(b, "ATTR", "an attribute is unknown");
    if (!is_kind(kind_of(op, a.name), &a))
      return refuse(b, "ATTR", "an attribute has a value of another kind than its op takes");
    put_attr(attrs, n, a);
    drop_default(match->m, op, attrs, n, a.name);
  }
  *out = attrs;
  return true;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static bool is_made(const build *b, uint8_t v) { return b->made[v] != TL_NO_VALUE; }

/* Returns a place in a list of n from an expression, at most n; `otherwise` without a valid one. */
static uint32_t place_in(build *b, const tl_expr *e, uint32_t n, uint32_t otherwise) {
  tl_rv v = e ? tl_rule_eval(b->x, e) : (tl_rv){0};
  if (v.kind != TL_RV_INT || v.i < 0)
    return otherwise;
  return v.i < n ? (uint32_t)v.i : n;
}

static uint32_t count_operands(const build *b, const tl_pattern_node *p) {
  uint32_t n = 0;
  for (uint8_t i = 0; i < p->n_operands; i++)
    n += p->operands[i].kind == TL_PATTERN_REST ? b->x->rest_n[p->operands[i].value] : 1;
  return n;
}

static bool build_operands(build *b, const tl_pattern_node *p, tl_value_id **out, uint32_t *n) {
  tl_match *match = b->x;
  tl_value_id *at = tl_arena_calloc(match->scratch, count_operands(b, p) + 1u, sizeof *at);
  if (!at)
    return out_of_memory(b);
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

static tl_symbol node_name(build *b, const tl_pattern_node *p, bool makes_root) {
  tl_module *m = b->x->m;
  tl_symbol root = tl_node_get(m, b->x->root)->name;
  if (!root || (makes_root && !tl_rule_fuses(b->x->rule)))
    return root;
  tl_buf text;
  tl_buf_init(&text);
  bool scoped = b->x->scopes && b->x->rule->scope; /* named after the scope, not a part of it */
  if (scoped)
    tl_scope_path(b->x->scopes, b->x->scope, &text);
  else
    tl_buf_add_sv(&text, tl_sym(m, root));
  tl_buf_add_char(&text, '/');
  tl_buf_add_sv(&text, tl_op_name(m, op_of(b, p)));
  /* runtimes refuse two nodes of one name */
  tl_sv whole = tl_buf_view(&text);
  tl_symbol s = text.failed ? 0
                            : tl_module_fresh_name(m, (tl_sv){whole.p + scoped, whole.n - scoped});
  tl_buf_release(&text);
  return s == TL_NO_SYMBOL ? 0 : s;
}

static bool makes_root_output(const build *b, const tl_pattern_node *p) {
  const tl_rule *r = b->x->rule;
  for (uint8_t i = 0; i < p->n_results; i++)
    if (p->results[i] != TL_RULE_VALUES && r->values[p->results[i]].node == r->n_match - 1)
      return true;
  return false;
}

/* Infers at once: later constants may take their dtype from this node's result. */
static bool infer(build *b, tl_node_id n) {
  tl_module *m = b->x->m;
  tl_muted muted; /* a failure refuses the rewrite and is no error of the model */
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = tl_infer_node(m, n);
  tl_unmute(&muted);
  return status == TL_OK || refuse(b, "SHAPE", "shapes or dtypes of its nodes clash");
}

static bool build_node(build *b, const tl_pattern_node *p) {
  tl_module *m = b->x->m;
  tl_node_spec spec = {.op = op_of(b, p), .n_results = p->n_results};
  tl_value_id *operands;
  tl_attr *attrs;
  tl_symbol names[sizeof p->results];
  if (!build_operands(b, p, &operands, &spec.n_operands) ||
      !build_attrs(b, p, &attrs, &spec.n_attrs))
    return false;
  for (uint8_t i = 0; i < p->n_results; i++) {
    uint8_t v = p->results[i];
    bool own = v != TL_RULE_VALUES && !(is_output(b->x->rule, v) && (b->x->bound >> v & 1));
    names[i] = own ? fresh_name(b, tl_op_name(m, spec.op)) : 0;
    if (names[i] == TL_NO_SYMBOL)
      return out_of_memory(b);
  }
  spec.name = node_name(b, p, makes_root_output(b, p));
  spec.operands = operands;
  spec.attrs = attrs;
  spec.results = names;
  tl_node_id n = tl_graph_insert(m, b->before, &spec);
  if (!n)
    return out_of_memory(b);
  b->out->nodes[b->out->n_nodes++] = n;
  tl_node_get(m, n)->scope = tl_node_get(m, b->x->root)->scope;
  tl_node_get(m, n)->stream = tl_node_get(m, b->x->root)->stream;
  for (uint8_t i = 0; i < p->n_results; i++)
    if (p->results[i] != TL_RULE_VALUES)
      b->made[p->results[i]] = tl_result(m, n, i);
  return infer(b, n);
}

static bool build_forward(build *b, const tl_pattern_node *p) {
  const tl_pattern_operand *o = &p->operands[0];
  tl_value_id v;
  if (o->kind == TL_PATTERN_NUMBER) {
    if (!make_constant(b, p, o, &v))
      return false;
  } else {
    v = is_made(b, o->value) ? b->made[o->value] : b->x->values[o->value];
  }
  b->made[p->results[0]] = v;
  return v != TL_NO_VALUE || refuse(b, "OPERANDS", "an operand is absent");
}

/* ---- fitting -------------------------------------------------------------------------------- */

/* Returns true if an existing value may replace an output without losing its name (values.h). */
static bool may_forward(build *b, tl_value_id old, tl_value_id value) {
  tl_module *m = b->x->m;
  bool loose = !tl_value_producer(m, value) &&
               (tl_graph_get(m, b->graph)->kind == TL_GRAPH_BODY || !tl_value_constant(m, value));
  if (!tl_value_can_merge(m, b->x->facts, old, value) || (loose && tl_value_leaves_graph(m, old)))
    return refuse(b, "GRAPH_OUTPUT", "a graph output needs the name");
  return true;
}

/* Gives v the type facts of the value that it replaces. */
static void refine(tl_module *m, tl_value_id v, tl_type_id old) {
  tl_type_id type;
  if (tl_type_refine(m, tl_value_type(m, v), old, &type))
    tl_value_set_type(m, v, type);
}

static bool fit_outputs(build *b) {
  tl_module *m = b->x->m;
  const tl_rule *r = b->x->rule;
  for (uint8_t v = 0; v < r->n_values; v++) {
    if (!is_output(r, v) || !(b->x->bound >> v & 1))
      continue;
    tl_value_id old = b->x->values[v], new = b->made[v];
    tl_type_id type;
    if (!new || new == old)
      return refuse(b, "OPERANDS", "it would return itself");
    bool own = tl_value_producer(m, new) && r->build[r->values[v].built].forward == false;
    if ((!own || r->kind == TL_RULE_CLEANUP) && tl_is_pinned(&b->x->facts->pinned, old))
      return refuse(b, "PINNED", "a training state keeps its identity"); /* except in fusions */
    if (!tl_type_refine(m, tl_value_type(m, old), tl_value_type(m, new), &type))
      return refuse(b, "SHAPE", "its result has another type");
    if (own)
      tl_value_set_type(m, new, type);
    else if (!may_forward(b, old, new))
      return false;
    else if (tl_value_producer(m, new))
      refine(m, new, tl_value_type(m, old));
  }
  return true;
}

static void undo(build *b) {
  for (uint32_t i = b->out->n_nodes; i-- > 0;)
    tl_node_erase(b->x->m, b->out->nodes[i]);
  for (uint32_t i = b->n_constants; i-- > 0;)
    if (tl_value_get(b->x->m, b->constants[i])->n_uses == 0)
      tl_graph_erase_constant(b->x->m, b->constants[i]);
  b->out->n_nodes = 0;
}

/* ---- order ---------------------------------------------------------------------------------- */

static tl_node_id last_node(const tl_match *match) {
  tl_node_id last = match->root;
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    if (tl_match_has_node(match, i) && tl_node_is_before(match->m, last, match->nodes[i]))
      last = match->nodes[i];
  return last;
}

/* Returns the node of graph g that is n or encloses it; TL_NO_NODE if there is none. */
static tl_node_id owner_in(const tl_module *m, tl_node_id n, tl_graph_id g) {
  while (n && tl_node_get(m, n)->graph != g)
    n = tl_graph_get(m, tl_node_get(m, n)->graph)->owner;
  return n;
}

typedef struct moving {
  tl_node_id *at;
  uint32_t n;
} moving;

static bool is_matched(const tl_match *match, tl_node_id n) {
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    if (match->nodes[i] == n)
      return true;
  return false;
}

/* Lists the users of v before `last`. Refuses if a matched node is among them: contracting the
 * match would close a cycle. */
static bool add_users(build *b, moving *s, tl_value_id v, tl_node_id last, bool of_match) {
  tl_module *m = b->x->m;
  TL_FOR_USES(m, v, u) {
    tl_node_id n = owner_in(m, tl_use_get(m, u)->user, b->graph);
    if (!n || tl_node_is_return(m, n) || !tl_node_is_before(m, n, last))
      continue;
    bool inside = is_matched(b->x, n);
    if (inside && of_match)
      continue;
    if (inside || s->n == MOST_MOVED)
      return refuse(b, "CYCLE", "a node between the matched ones depends on them");
    uint32_t i = 0;
    while (i < s->n && s->at[i] != n)
      i++;
    if (i == s->n)
      s->at[s->n++] = n;
  }
  return true;
}

static void sort_by_order(const tl_module *m, moving *s) {
  for (uint32_t i = 1; i < s->n; i++)
    for (uint32_t k = i; k > 0 && tl_node_is_before(m, s->at[k], s->at[k - 1]); k--) {
      tl_node_id n = s->at[k];
      s->at[k] = s->at[k - 1];
      s->at[k - 1] = n;
    }
}

/* Returns true for an output of the match that is produced before `last`. */
static bool is_early_output(const build *b, uint8_t v, tl_node_id last) {
  const tl_match *match = b->x;
  return is_output(match->rule, v) && (match->bound >> v & 1) &&
         tl_value_producer(match->m, match->values[v]) != last;
}

/* Returns true if node n, which must move, makes the replacement of an early output: a cycle. */
static bool makes_early_output(const build *b, tl_node_id n, tl_node_id last) {
  const tl_node *node = tl_node_get(b->x->m, n);
  for (uint8_t v = 0; v < b->x->rule->n_values; v++)
    if (is_early_output(b, v, last) && b->made[v] - node->results < node->n_results)
      return true;
  return false;
}

/* New nodes are at the last matched node; users of earlier outputs move behind them. */
static bool make_way(build *b, tl_node_id last) {
  tl_module *m = b->x->m;
  const tl_rule *r = b->x->rule;
  moving s = {NULL, 0};
  for (uint8_t v = 0; v < r->n_values; v++) {
    if (!is_early_output(b, v, last))
      continue;
    if (!s.at)
      s.at = tl_arena_alloc(b->x->scratch, MOST_MOVED * sizeof *s.at);
    if (!s.at)
      return out_of_memory(b);
    if (!add_users(b, &s, b->x->values[v], last, true))
      return false;
  }
  for (uint32_t i = 0; i < s.n; i++) {
    const tl_node *node = tl_node_get(m, s.at[i]);
    if (tl_node_leads_before(m, s.at[i], last))
      return refuse(b, "CTRL_INNER", "a node between the matched ones has a control edge");
    if (makes_early_output(b, s.at[i], last))
      return refuse(b, "CYCLE", "a result would depend on itself");
    for (uint32_t k = 0; k < node->n_results; k++)
      if (!add_users(b, &s, node->results + k, last, false))
        return false;
  }
  sort_by_order(m, &s);
  tl_node_id behind = last;
  for (uint32_t i = 0; i < s.n; i++) {
    tl_node_move_after(m, s.at[i], behind);
    behind = s.at[i];
  }
  return true;
}

/* ---- commit --------------------------------------------------------------------------------- */

/* Moves control edges to new nodes but those that compute weights: folding removes them. */
static bool move_control(build *b, tl_node_id old) {
  tl_module *m = b->x->m;
  uint32_t weights = tl_match_weights(b->x, b->out);
  tl_control_id next;
  for (uint32_t i = 0; i < b->out->n_nodes; i++) {
    if (weights >> i & 1)
      continue;
    for (tl_control_id c = tl_node_get(m, old)->control_in; c; c = next) {
      const tl_control e = *tl_control_get(m, c);
      next = e.next_in;
      if (!tl_control_add(m, e.from, b->out->nodes[i], (tl_control_origin)e.origin))
        return out_of_memory(b);
    }
    for (tl_control_id c = tl_node_get(m, old)->control_out; c; c = next) {
      const tl_control e = *tl_control_get(m, c);
      next = e.next_out;
      if (!tl_control_add(m, b->out->nodes[i], e.to, (tl_control_origin)e.origin))
        return out_of_memory(b);
    }
  }
  return true;
}

static bool move_controls(build *b) {
  const tl_match *match = b->x;
  for (uint8_t k = 0; k < match->rule->n_match; k++)
    if (tl_match_has_node(match, k) && !match->rule->match[k].shared &&
        !move_control(b, match->nodes[k]))
      return false;
  return true;
}

/* Returns true if nothing uses the results. Ops with effects go only if another node replaces
 * them. */
static bool is_dead(const tl_module *m, tl_node_id n, bool replaced) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(m, node->results + i)->n_uses)
      return false;
  return replaced || !tl_op_has_trait(node->op, TL_TRAIT_EFFECT);
}

/* Erases matched nodes, users before producers, since erasing a node drops its operands. */
static void erase_old(build *b) {
  tl_match *match = b->x;
  for (uint8_t round = 0; round < match->rule->n_match; round++) {
    tl_node_id last = TL_NO_NODE;
    uint8_t which = 0;
    for (uint8_t i = 0; i < match->rule->n_match; i++)
      if (tl_match_has_node(match, i) &&
          (!last || tl_node_is_before(match->m, last, match->nodes[i]))) {
        last = match->nodes[i];
        which = i;
      }
    if (!last)
      return;
    if (is_dead(match->m, last, !match->rule->match[which].shared && b->out->n_nodes > 0))
      tl_node_erase(match->m, last);
    match->nodes[which] = TL_NO_NODE;
  }
}

static bool is_npu_node(const tl_module *m, tl_node_id n) {
  const tl_op *row = tl_op_row(tl_node_get(m, n)->op);
  return row && row->domain_symbol == TL_SYM_npu;
}

static void commit(build *b) {
  tl_module *m = b->x->m;
  const tl_rule *r = b->x->rule;
  const tl_pinned *pinned = &b->x->facts->pinned; /* newer values may be pinned, too */
  b->out->n_outputs = 0;
  for (uint8_t v = 0; v < r->n_values; v++) {
    if (!is_output(r, v) || !(b->x->bound >> v & 1))
      continue;
    if (pinned->at && (b->x->values[v] >= pinned->n || pinned->at[b->x->values[v]]))
      tl_value_move_roles(m, b->x->values[v], b->made[v]);
    tl_value_merge(m, b->x->values[v], b->made[v]);
    b->out->outputs[b->out->n_outputs++] = b->made[v];
  }
  for (uint32_t i = 0; i < b->out->n_nodes; i++)
    if (m->form == TL_FORM_CANONICAL && is_npu_node(m, b->out->nodes[i]))
      m->form = TL_FORM_SPELLED;
  erase_old(b);
}

tl_status tl_match_apply(tl_match *match, tl_built *built, bool *done) {
  build b = {.x = match, .out = built, .graph = tl_node_get(match->m, match->root)->graph};
  uint32_t errors = match->m->diag->errors;
  *done = false;
  built->n_nodes = 0;
  tl_node_id last = last_node(match);
  b.before = last;
  bool ok = true;
  for (uint8_t i = 0; i < match->rule->n_build && ok; i++)
    ok = match->rule->build[i].forward ? build_forward(&b, &match->rule->build[i])
                                       : build_node(&b, &match->rule->build[i]);
  ok = ok && fit_outputs(&b) && make_way(&b, last) && move_controls(&b) &&
       (tl_match_trace(match, built) || out_of_memory(&b));
  if (ok) {
    commit(&b);
    *done = true;
    return TL_OK;
  }
  undo(&b);
  return match->m->diag->errors != errors ? TL_NO_MEMORY : TL_OK;
}
