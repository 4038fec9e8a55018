/* SPDX-License-Identifier: Apache-2.0 */
/* fold-constants: nodes whose operands are all constant become constants, and so do results that
 * shape inference knows. An If with a constant condition is replaced by the branch taken.
 *
 * Requires:  infer-shapes, for contents known from shapes.
 * Keeps:     names; nodes of outputs of bodies.
 * After:     a remaining node with constant operands only is random, has a side effect, would grow
 *            the model beyond --fold-limit, has no kernel, or is an output of a body.
 * Cost:      a sweep down and a sweep up, O(nodes + edges + work of the folded nodes).
 * Tests:     tests/golden/fold-constants/
 *
 * The pass makes two sweeps. The forward sweep evaluates nodes whose operands are known and keeps
 * the results beside the graph, which does not change yet. The backward sweep makes a constant of
 * each known value that a remaining node uses, and erases nodes that thereby lost their last user.
 * Intermediate values therefore never become constants of the module: they are released as soon as
 * their last user has been evaluated. */
#include "ir/infer/infer.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/fold/fold.h"

enum {
  MAX_ROUNDS = 4,
  SMALL_BYTES = 16384 /* vectors with one element for each channel fit, images do not */
};

static bool operands_known(const tl_fold *f, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(f->m, node->operands + i)->value;
    if (v && !tl_fold_is_known(f, v))
      return false;
  }
  return true;
}

static bool is_pure(const tl_node *node) {
  return tl_op_row(node->op) && !node->control_in && !node->control_out &&
         !tl_op_has_trait(node->op,
                          TL_TRAIT_RANDOM | TL_TRAIT_EFFECT | TL_TRAIT_STATEFUL | TL_TRAIT_BODY);
}

/* Device compilers look for some pairs of ops, such as DequantizeLinear before a product, so these
 * ops stay until fold-dequantized runs. */
static bool stays_unfolded(const tl_fold *f, const tl_node *node) {
  return !f->dequantizes && tl_op_has_trait(node->op, TL_TRAIT_UNFOLDED);
}

static bool used_results_known(const tl_fold *f, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(f->m, node->results + i)->n_uses && !tl_fold_is_known(f, node->results + i))
      return false;
  return true;
}

/* Returns true if all elements are equal: each element then equals the one before it, so the data
 * equals itself shifted by one element. */
static bool is_fill(const tl_host *host) {
  size_t size = tl_host_element_size((tl_dtype)host->dtype);
  return host->bytes > SMALL_BYTES && size && host->dtype != TL_DTYPE_STRING &&
         memcmp(host->data, (const char *)host->data + size, (size_t)host->bytes - size) == 0;
}

/* Returns true if the node is the better form: a large tensor of one repeated number takes more
 * room than the node that fills it. Weights are an exception (evaluate.c, may_fill). */
static bool is_better_made(const tl_fold *f, tl_node_id n, tl_value_id v) {
  const tl_host *host = v ? tl_fold_contents_of(f, v).host : NULL;
  return host && is_fill(host) && tl_fold_operand_bytes(f, n) < SMALL_BYTES &&
         !tl_fold_is_weight(f, v);
}

/* An output of a body keeps its node: not every runtime accepts a constant as output of a body. */
static bool leaves_body(const tl_fold *f, tl_value_id v) {
  return tl_graph_get(f->m, tl_value_graph(f->m, v))->kind == TL_GRAPH_BODY &&
         tl_value_leaves_graph(f->m, v);
}

static bool stays(const tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_is_pinned(&f->pinned, node->results + i) || leaves_body(f, node->results + i))
      return true;
  return node->n_results == 1 && is_better_made(f, n, node->results);
}

/* The node no longer needs its operands; releases those that no other node needs. */
static void settle_operands(tl_fold *f, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_value_id v = tl_use_get(f->m, node->operands + i)->value;
    tl_fold_value *evaluated = v ? tl_fold_evaluated(f, v) : NULL;
    if (evaluated && evaluated->pending && --evaluated->pending == 0) {
      tl_host_release(evaluated->host);
      evaluated->host = NULL;
    }
  }
}

/* Evaluates one node of the forward sweep. Returns the node where the sweep continues if an If was
 * replaced by its branch, else TL_NO_NODE. */
static tl_node_id visit(tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  if (!operands_known(f, node))
    return TL_NO_NODE;
  if (node->op == TL_OP_If)
    return f->known_only ? TL_NO_NODE : tl_fold_take_branch(f, n);
  if (!is_pure(node) || tl_node_has_mark(f->m, n, TL_MARK_NOFOLD) || stays_unfolded(f, node) ||
      node->n_results == 0)
    return TL_NO_NODE;
  bool known = used_results_known(f, node) || (!f->known_only && tl_fold_is_settled(f, n) &&
                                               (tl_fold_express(f, n) || tl_fold_evaluate(f, n)));
  if (known && !stays(f, n))
    settle_operands(f, node);
  return TL_NO_NODE;
}

static void sweep_down(tl_fold *f, const tl_graph *g) {
  for (tl_node_id n = g->first, next; n && n != g->ret && !f->stopped && !f->failed; n = next) {
    tl_node_id following = tl_node_get(f->m, n)->next;
    next = visit(f, n);
    next = next ? next : following;
  }
}

/* ---- backward sweep -------------------------------------------------------------------------- */

static bool is_orphan(const tl_fold *f, tl_node_id n) {
  return f->orphans && n < f->n_orphans && (f->orphans[n / 8] >> n % 8 & 1);
}

static bool is_unused(const tl_fold *f, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_results; i++)
    if (tl_value_get(f->m, node->results + i)->n_uses ||
        tl_is_pinned(&f->pinned, node->results + i))
      return false;
  return true;
}

/* Infers a node again with its new operand; returns false if inference reports an error. A model
 * may contain a node that would fail at run time, in a branch that is never taken; a constant
 * operand must not turn it into an error of the conversion. */
static bool accepts(tl_fold *f, tl_node_id n) {
  tl_muted muted;
  tl_value_id result = tl_result(f->m, n, 0);
  tl_type_id type = tl_value_type(f->m, result);
  if (!tl_op_row(tl_node_get(f->m, n)->op) ||
      tl_op_has_trait(tl_node_get(f->m, n)->op, TL_TRAIT_BODY))
    return true;
  tl_mute(&muted, f->m, NULL, NULL);
  tl_status status = tl_infer_node(f->m, n);
  tl_unmute(&muted);
  f->again = f->again || (status == TL_OK && tl_value_type(f->m, result) != type);
  return status == TL_OK;
}

/* Shape functions of elementwise ops read only the types of operands, so they need not run again
 * when the constant has the type that the operand had. */
static bool users_accept(tl_fold *f, tl_value_id v, bool same_type) {
  TL_FOR_USES(f->m, v, u) {
    tl_node_id n = tl_use_get(f->m, u)->user;
    bool looks = !same_type || !tl_op_has_trait(tl_node_get(f->m, n)->op, TL_TRAIT_ELEMENTWISE);
    if (looks && !accepts(f, n))
      return false;
  }
  return true;
}

static void remark_root(tl_fold *f, tl_node_id n, tl_type_id type) {
  tl_buf text;
  if (!f->p->remark)
    return;
  tl_buf_init(&text);
  tl_type_print(f->m, type, &text);
  tl_pass_remark(f->p, f->m, n, true, "folded into a constant %s", text.failed ? "" : text.p);
  tl_buf_release(&text);
}

/* Replaces a known result by a constant of the same name, and takes that back if a user would be
 * invalid with it. */
static void make_constant(tl_fold *f, tl_node_id n, tl_value_id v) {
  tl_fold_contents c = tl_fold_contents_of(f, v);
  f->stopped = f->stopped || !tl_pass_may_rewrite(f->p);
  if (f->stopped)
    return;
  tl_tensor_id tensor = c.host ? tl_fold_store(f, c.host) : tl_value_get(f->m, v)->tensor;
  tl_value_id made = tensor ? tl_graph_add_constant(f->m, tl_value_graph(f->m, v),
                                                    tl_value_get(f->m, v)->name, tensor)
                            : TL_NO_VALUE;
  f->failed = made == TL_NO_VALUE;
  if (f->failed)
    return;
  bool same_type = tl_value_type(f->m, v) == tl_value_type(f->m, made);
  tl_value_set_name(f->m, v, 0);
  tl_value_replace_uses(f->m, v, made);
  if (users_accept(f, made, same_type)) {
    f->made = true;
    remark_root(f, n, tl_value_type(f->m, made));
    return;
  }
  tl_pass_remark(f->p, f->m, n, false,
                 "not folded: the value would make a node that uses it invalid");
  tl_value_set_name(f->m, v, tl_value_get(f->m, made)->name);
  tl_value_replace_uses(f->m, made, v);
  tl_graph_erase_constant(f->m, made);
}

/* Visits one node of the backward sweep: makes its known results constants, and erases it if no
 * user is left. */
static void settle(tl_fold *f, tl_node_id n) {
  const tl_node *node = tl_node_get(f->m, n);
  bool folded = false;
  for (uint32_t i = 0; i < node->n_results && !f->stopped && !f->failed; i++) {
    tl_value_id v = node->results + i;
    if (!tl_value_get(f->m, v)->n_uses || !tl_fold_is_known(f, v) || stays_unfolded(f, node) ||
        tl_is_pinned(&f->pinned, v) || leaves_body(f, v) ||
        (node->n_results == 1 && is_better_made(f, n, v)))
      continue;
    make_constant(f, n, v);
    folded = true;
  }
  if ((folded || is_orphan(f, n)) && is_pure(node) && node->n_results && is_unused(f, node))
    tl_fold_erase(f, n);
}

static void sweep_up(tl_fold *f, const tl_graph *g) {
  for (tl_node_id n = g->last, previous; n && !f->stopped && !f->failed; n = previous) {
    previous = tl_node_get(f->m, n)->previous;
    settle(f, n);
  }
}

/* ---- operands that inference knows ------------------------------------------------------- */

static bool is_wanted(const tl_fold *f, const tl_substitute *s) {
  const tl_node *node = tl_node_get(f->m, s->node);
  if (node->op == TL_OP_ERASED || s->operand >= node->n_operands)
    return false;
  tl_value_id v = tl_operand(f->m, s->node, s->operand);
  return v && tl_value_get(f->m, v)->kind == TL_VALUE_RESULT && !tl_fold_is_known(f, v);
}

static void apply(tl_fold *f, const tl_substitute *s) {
  tl_value_id v = tl_operand(f->m, s->node, s->operand);
  tl_symbol name = tl_module_fresh_name(f->m, tl_value_name(f->m, v));
  tl_graph_id g = tl_node_get(f->m, s->node)->graph;
  tl_value_id made = name == TL_NO_SYMBOL ? TL_NO_VALUE
                                          : tl_graph_add_constant(f->m, g, name, s->tensor);
  f->failed = made == TL_NO_VALUE;
  if (f->failed)
    return;
  tl_fold_orphan_operands(f, s->node);
  tl_node_set_operand(f->m, s->node, s->operand, made);
  if (accepts(f, s->node)) {
    f->made = true;
    tl_pass_remark(f->p, f->m, s->node, true, "operand %u is known to be a constant", s->operand);
    return;
  }
  tl_node_set_operand(f->m, s->node, s->operand, v);
  tl_graph_erase_constant(f->m, made);
}

/* Replaces operands that inference found to be equivalent to a constant, such as the shape of a
 * Reshape that only copies open dims: with 0 and -1 it needs no computed shape. */
static void substitute(tl_fold *f) {
  tl_substitute_vec *all = &f->m->substitutes;
  for (uint32_t i = 0; i < all->n && !f->failed && !f->stopped; i++) {
    if (!is_wanted(f, &all->at[i]))
      continue;
    f->stopped = !tl_pass_may_rewrite(f->p);
    if (!f->stopped)
      apply(f, &all->at[i]);
  }
  all->n = 0;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Graphs are numbered from outer to inner. The forward sweep thus knows outer values before bodies
 * use them, and the backward sweep handles users in bodies before the producers of their
 * operands. */
static void run_round(tl_fold *f) {
  f->again = false;
  for (uint32_t id = 1; id <= f->m->graphs.n; id++)
    if (!tl_graph_get(f->m, id)->erased)
      sweep_down(f, tl_graph_get(f->m, id));
  substitute(f);
  for (uint32_t id = f->m->graphs.n; id > 0; id--)
    if (!tl_graph_get(f->m, id)->erased)
      sweep_up(f, tl_graph_get(f->m, id));
  tl_fold_release_values(f);
  f->orphans = NULL;
}

/* Runs shape inference again, silently; returns false if it fails: such an error is one that the
 * model may or may not meet at run time. */
static bool infer_again(tl_fold *f) {
  tl_muted muted;
  tl_mute(&muted, f->m, NULL, NULL);
  tl_status status = tl_infer_module(f->m);
  tl_unmute(&muted);
  return status == TL_OK;
}

static tl_status finish(tl_fold *f) {
  tl_host_heap_release(&f->heap);
  tl_map_release(&f->names);
  return f->failed ? tl_no_memory(f->m) : TL_OK;
}

static tl_status fold_module(tl_fold *f) {
  if (!f->p->options->fold_constants)
    return TL_OK;
  TL_TRY(tl_pinned_find(f->p, f->m, &f->pinned));
  tl_host_heap_init(&f->heap, 0);
  bool more = true;
  for (int round = 0; round < MAX_ROUNDS && more; round++) {
    run_round(f);
    more = f->again && !f->stopped && !f->failed && infer_again(f);
  }
  return finish(f);
}

tl_status tl_fold_module(tl_pass *p, tl_module *m, bool dequantizes) {
  tl_fold f = {.p = p, .m = m, .dequantizes = dequantizes};
  return fold_module(&f);
}

tl_status tl_fold_known(tl_pass *p, tl_module *m, bool *made) {
  tl_fold f = {.p = p, .m = m, .known_only = true};
  tl_status status = fold_module(&f);
  *made = f.made;
  return status;
}

tl_status tl_pass_fold_constants(tl_pass *p, tl_module *m) { return tl_fold_module(p, m, false); }

/* ---- folding from given nodes on
 * ---------------------------------------------------------------------- */

/* Marks a node; returns false if it was marked before or is erased. */
static bool note(tl_fold *f, uint8_t *noted, tl_node_id n) {
  if (tl_node_get(f->m, n)->op == TL_OP_ERASED || (noted[n / 8] >> n % 8 & 1))
    return false;
  noted[n / 8] |= (uint8_t)(1u << n % 8);
  return true;
}

/* Evaluates the nodes of the worklist, and then users all of whose operands have become known.
 * Leaves the evaluated nodes in `nodes`, producers before users. If nodes are left to the pass. */
static void spread(tl_fold *f, tl_u32_vec *nodes) {
  uint32_t done = 0;
  uint8_t *noted = tl_arena_calloc(f->p->scratch, tl_module_node_end(f->m) / 8 + 1u, 1);
  f->failed = !noted;
  for (uint32_t i = 0; i < nodes->n && !f->failed; i++) {
    tl_node_id n = nodes->at[i];
    const tl_node *node = tl_node_get(f->m, n);
    if (node->op == TL_OP_If || !operands_known(f, node) || !note(f, noted, n))
      continue;
    (void)visit(f, n);
    if (!used_results_known(f, node))
      continue;
    nodes->at[done++] = n;
    for (uint32_t r = 0; r < node->n_results; r++)
      TL_FOR_USES(f->m, node->results + r, u)
        f->failed = f->failed || !tl_u32_vec_push(nodes, tl_use_get(f->m, u)->user);
  }
  nodes->n = done;
}

typedef struct place {
  tl_node_id node;
  tl_graph_id graph;
  uint64_t order;
} place;

static int last_first(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->graph != y->graph)
    return x->graph < y->graph ? 1 : -1;
  return (x->order < y->order) - (x->order > y->order);
}

/* Settles nodes in the order of the backward sweep: inner graphs first, each from its end. */
static void settle_all(tl_fold *f, const tl_u32_vec *nodes) {
  place *places = tl_arena_calloc(f->p->scratch, nodes->n + 1u, sizeof *places);
  f->failed = f->failed || !places;
  for (uint32_t i = 0; i < nodes->n && !f->failed; i++) {
    const tl_node *node = tl_node_get(f->m, nodes->at[i]);
    places[i] = (place){nodes->at[i], node->graph, node->order};
  }
  if (!f->failed)
    qsort(places, nodes->n, sizeof *places, last_first);
  for (uint32_t i = 0; i < nodes->n && !f->stopped && !f->failed; i++)
    settle(f, places[i].node);
}

/* Erases nodes that lost their last user, then producers that only they used, to a fixpoint. */
static void erase_lost(tl_fold *f) {
  while (f->lost->n && !f->failed) {
    tl_node_id n = f->lost->at[--f->lost->n];
    const tl_node *node = tl_node_get(f->m, n);
    if (node->op != TL_OP_ERASED && is_pure(node) && node->n_results && is_unused(f, node))
      tl_fold_erase(f, n);
  }
}

tl_status tl_fold_from(tl_pass *p, tl_module *m, tl_u32_vec *nodes) {
  tl_u32_vec lost = {0};
  tl_fold f = {.p = p, .m = m, .lost = &lost};
  if (!p->options->fold_constants)
    return TL_OK;
  tl_arena_mark mark = tl_arena_save(p->scratch);
  TL_TRY(tl_pinned_find(p, m, &f.pinned));
  tl_host_heap_init(&f.heap, 0);
  spread(&f, nodes);
  substitute(&f);
  settle_all(&f, nodes);
  erase_lost(&f);
  tl_fold_release_values(&f);
  tl_u32_vec_release(&lost);
  bool more = f.again && !f.stopped && !f.failed && infer_again(&f);
  tl_status status = finish(&f);
  tl_arena_rewind(p->scratch, mark);
  return status == TL_OK && more ? tl_pass_fold_constants(p, m) : status;
}
