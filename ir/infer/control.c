/* SPDX-License-Identifier: Apache-2.0 */
/* Shape functions of nodes with bodies: If, Loop, While, Scan, SequenceMap.
 *
 * Values that a loop carries get the type they start with. When an iteration gives another one, the
 * two are joined and the body is inferred again; the last time with element types only. Deep inside
 * other loops only element types are tried, so that the number of visits stays bounded. */
#include "ir/infer/infer_gen.h"
#include "ir/infer/state.h"
#include "ir/ops_gen.h"

enum { MAX_EAGER_DEPTH = 2, MAX_IDENTITIES = 8 };

/* ---- bodies --------------------------------------------------------------------------------- */

static tl_status read_body(tl_infer *ctx, tl_symbol name, const tl_graph **out) {
  const tl_attr *a = tl_node_attr(ctx->m, ctx->node, name);
  if (!a || a->kind != TL_ATTR_GRAPH)
    return tl_infer_fail(ctx, "attribute %.*s is missing", TL_SV_ARG(tl_sym(ctx->m, name)));
  *out = tl_graph_get(ctx->m, a->u.g);
  return TL_OK;
}

/* Inputs beyond the expected ones are fine when they have a default. */
static tl_status check_signature(tl_infer *ctx, const tl_graph *g, uint32_t n_inputs,
                                 uint32_t n_outputs) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < g->inputs.n; i++)
    n += i < n_inputs || tl_value_get(ctx->m, g->inputs.at[i])->tensor == TL_NO_TENSOR;
  if (n != n_inputs)
    return tl_infer_fail(ctx, "the body has %u inputs, expected %u", n, n_inputs);
  if (tl_graph_n_outputs(ctx->m, g) != n_outputs)
    return tl_infer_fail(ctx, "the body has %u outputs, expected %u", tl_graph_n_outputs(ctx->m, g),
                         n_outputs);
  return TL_OK;
}

static tl_type_id output_type(tl_infer *ctx, const tl_graph *g, uint32_t i) {
  return tl_value_type(ctx->m, tl_graph_output(ctx->m, g, i));
}

/* Returns the type that the model declared for a body's input, whatever an earlier visit made of
 * it. */
static tl_type_id declared_input(tl_infer *ctx, tl_value_id v) {
  if (v >= ctx->n_partials)
    return tl_value_type(ctx->m, v);
  if (ctx->declared[v] == 0)
    ctx->declared[v] = tl_value_type(ctx->m, v) + 1;
  return ctx->declared[v] - 1;
}

/* Remembers the declared type before it is replaced. */
static void set_input(tl_infer *ctx, const tl_graph *g, uint32_t i, tl_type_id type) {
  tl_value_id v = g->inputs.at[i];
  declared_input(ctx, v);
  tl_value_get(ctx->m, v)->type = type;
}

/* What the fact leaves open, the declaration fills. */
static tl_status refine_tensor(tl_infer *ctx, const tl_type *fact, const tl_type *declared,
                               tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  tl_type t = *fact;
  if (t.dtype == TL_DTYPE_NONE)
    t.dtype = declared->dtype;
  if (t.rank == TL_RANK_UNKNOWN) {
    t.rank = declared->rank;
    t.dims = declared->dims;
  } else if (t.rank == declared->rank && t.rank > 0) {
    for (int i = 0; i < t.rank; i++)
      dims[i] = fact->dims[i] != TL_DIM_UNKNOWN ? fact->dims[i] : declared->dims[i];
    t.dims = dims;
  }
  *out = tl_type_intern(ctx->m, &t);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* Gives the type of what is handed to input i, completed by what the body declares for it. */
static tl_status refine(tl_infer *ctx, const tl_graph *g, uint32_t i, tl_type_id fact,
                        tl_type_id *out) {
  tl_type_id declared = declared_input(ctx, g->inputs.at[i]);
  tl_type f = *tl_type_get(ctx->m, fact);
  tl_type d = *tl_type_get(ctx->m, declared);
  *out = f.kind == TL_KIND_UNKNOWN ? declared : fact;
  if (f.kind == TL_KIND_UNKNOWN || d.kind == TL_KIND_UNKNOWN || fact == declared)
    return TL_OK;
  if (f.kind == TL_KIND_TENSOR && d.kind == TL_KIND_TENSOR &&
      (f.dtype == d.dtype || f.dtype == TL_DTYPE_NONE || d.dtype == TL_DTYPE_NONE))
    return refine_tensor(ctx, &f, &d, out);
  /* the join reports what does not fit */
  return tl_infer_join(ctx, "an input of the body", fact, declared, &declared);
}

/* ---- loop-carried values -------------------------------------------------------------------- */

/* The values that a loop carries: consecutive inputs and outputs of the body. */
typedef struct carried {
  const tl_graph *g;
  uint32_t first_input;
  uint32_t first_output;
  uint32_t n;
  tl_type_id *types; /* [n], scratch */
} carried;

/* Takes the shape off a type: of a tensor, or of the tensors in a sequence or optional. */
static tl_status weaken(tl_infer *ctx, tl_type_id *type) {
  tl_type t = *tl_type_get(ctx->m, *type);
  if (t.kind == TL_KIND_TENSOR) {
    *type = tl_type_tensor(ctx->m, (tl_dtype)t.dtype, TL_RANK_UNKNOWN, NULL);
    return *type == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
  }
  if (t.kind != TL_KIND_SEQUENCE && t.kind != TL_KIND_OPTIONAL)
    return TL_OK;
  tl_type e = *tl_type_get(ctx->m, t.element);
  if (e.kind != TL_KIND_TENSOR)
    return TL_OK;
  t.element = tl_type_tensor(ctx->m, (tl_dtype)e.dtype, TL_RANK_UNKNOWN, NULL);
  if (t.element == TL_NO_TYPE)
    return TL_NO_MEMORY;
  return tl_infer_container(ctx, (tl_type_kind)t.kind, t.element, type);
}

static tl_status weaken_all(tl_infer *ctx, carried *c) {
  for (uint32_t i = 0; i < c->n; i++)
    TL_TRY(weaken(ctx, &c->types[i]));
  return TL_OK;
}

/* Infers the body once; *changed tells that an iteration gives other types than it was given. */
static tl_status iterate(tl_infer *ctx, carried *c, bool *changed) {
  *changed = false;
  for (uint32_t i = 0; i < c->n; i++) {
    tl_type_id type = c->types[i];
    if (type == TL_NO_TYPE) /* nothing holds throughout: trust the body's declaration */
      type = declared_input(ctx, c->g->inputs.at[c->first_input + i]);
    set_input(ctx, c->g, c->first_input + i, type);
  }
  TL_TRY(tl_infer_graph(ctx, c->g->id));
  for (uint32_t i = 0; i < c->n; i++) {
    tl_type_id joined;
    TL_TRY(tl_infer_join(ctx, "a value carried by the loop", c->types[i],
                         output_type(ctx, c->g, c->first_output + i), &joined));
    *changed |= joined != c->types[i];
    c->types[i] = joined;
  }
  return TL_OK;
}

/* Finds types that hold before and after every iteration, starting with those of the operands from
 * first_operand on. */
static tl_status settle(tl_infer *ctx, carried *c, uint32_t first_operand) {
  bool changed = true;
  c->types = tl_arena_alloc(ctx->scratch, c->n * sizeof *c->types);
  if (!c->types)
    return TL_NO_MEMORY;
  for (uint32_t i = 0; i < c->n; i++)
    TL_TRY(refine(ctx, c->g, c->first_input + i,
                  tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, first_operand + i)),
                  &c->types[i]));
  bool eager = ctx->depth <= MAX_EAGER_DEPTH;
  for (int visit = eager ? 0 : 2; visit <= 2 && changed; visit++) {
    if (visit == 2)
      TL_TRY(weaken_all(ctx, c));
    TL_TRY(iterate(ctx, c, &changed));
  }
  return TL_OK;
}

/* ---- slices of scanned values --------------------------------------------------------------- */

/* Gives type t with dim d inserted at `axis`, counted in the result. */
static tl_status stacked(tl_infer *ctx, tl_type_id id, tl_dim d, int64_t axis, tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  tl_type t = *tl_type_get(ctx->m, id);
  uint32_t at;
  *out = TL_NO_TYPE;
  if (t.kind == TL_KIND_UNKNOWN)
    return TL_OK;
  if (t.kind != TL_KIND_TENSOR)
    return tl_infer_fail(ctx, "a stacked output of the body is not a tensor");
  if (t.rank == TL_RANK_UNKNOWN) {
    *out = id;
    return TL_OK;
  }
  if (t.rank == TL_MAX_RANK)
    return tl_infer_fail(ctx, "a stacked output would have more than %d dims", TL_MAX_RANK);
  TL_TRY(tl_infer_axis(ctx, axis, t.rank + 1, &at));
  for (uint32_t i = 0, from = 0; i <= (uint32_t)t.rank; i++)
    dims[i] = i == at ? d : t.dims[from++];
  *out = tl_type_tensor(ctx->m, (tl_dtype)t.dtype, t.rank + 1, dims);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* Gives the type of an operand without the dim at `axis`, which is merged into *length. */
static tl_status sliced(tl_infer *ctx, uint32_t operand, int64_t axis, tl_dim *length,
                        tl_type_id *out) {
  tl_dim dims[TL_MAX_RANK];
  uint32_t at;
  int rank = tl_infer_copy_dims(ctx, operand, dims);
  tl_dtype dtype = tl_infer_dtype(ctx, operand);
  *out = TL_NO_TYPE;
  if (rank != TL_RANK_UNKNOWN) {
    TL_TRY(tl_infer_axis(ctx, axis, rank, &at));
    tl_dim d = dims[at];
    TL_TRY(tl_infer_check_dim(ctx, "lengths of scanned operands", *length, d));
    (void)tl_dim_merge(*length, d, length);
    memmove(dims + at, dims + at + 1, ((size_t)rank - at - 1) * sizeof *dims);
    rank--;
  }
  if (rank == TL_RANK_UNKNOWN && dtype == TL_DTYPE_NONE)
    return TL_OK;
  *out = tl_type_tensor(ctx->m, dtype, rank, dims);
  return *out == TL_NO_TYPE ? TL_NO_MEMORY : TL_OK;
}

/* ---- If ------------------------------------------------------------------------------------- */

/* Operands behind the condition are captured values (pass isolate); they are the inputs of each
 * branch. */
static tl_status check_branch(tl_infer *ctx, const tl_graph *g) {
  uint32_t n_operands = tl_infer_n_operands(ctx);
  return check_signature(ctx, g, n_operands ? n_operands - 1 : 0, tl_infer_n_results(ctx));
}

static tl_status infer_branch(tl_infer *ctx, const tl_graph *g) {
  uint32_t n_operands = tl_infer_n_operands(ctx);
  uint32_t n_captured = n_operands ? n_operands - 1 : 0;
  TL_TRY(check_branch(ctx, g));
  for (uint32_t i = 0; i < n_captured; i++) {
    tl_type_id type;
    TL_TRY(refine(ctx, g, i, tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, i + 1)), &type));
    set_input(ctx, g, i, type);
  }
  return tl_infer_graph(ctx, g->id);
}

/* The two branches of an If; where the condition is known only one of them can run. */
typedef struct branches {
  const tl_graph *yes, *no;
  const tl_graph *live; /* NULL: either may run */
  bool broken;          /* the other one does not fit */
} branches;

static tl_status read_branches(tl_infer *ctx, branches *b) {
  int64_t condition;
  TL_TRY(read_body(ctx, TL_SYM_then_branch, &b->yes));
  TL_TRY(read_body(ctx, TL_SYM_else_branch, &b->no));
  bool once = tl_infer_exists_once(ctx->m, tl_node_get(ctx->m, ctx->node)->graph);
  if (once && tl_infer_has(ctx, 0) && tl_infer_int(ctx, 0, &condition))
    b->live = condition ? b->yes : b->no;
  return TL_OK;
}

/* Keeps the first error. */
static void keep_error(void *user, const tl_diagnostic *d) {
  tl_buf *text = user;
  if (d->severity != TL_ERROR || text->n)
    return;
  if (d->where.node.n) {
    tl_buf_add_quoted(text, d->where.node);
    tl_buf_add_z(text, ": ");
  }
  tl_buf_add_z(text, d->message);
}

/* Infers a branch that cannot run. Types and shapes that do not fit in there stop nothing, but are
 * told; a branch with another number of outputs is no valid graph, whether it runs or not. */
static tl_status infer_dead(tl_infer *ctx, branches *b, const tl_graph *dead) {
  tl_muted muted;
  tl_buf text;
  TL_TRY(check_branch(ctx, dead));
  tl_buf_init(&text);
  tl_mute(&muted, ctx->m, keep_error, &text);
  tl_status status = infer_branch(ctx, dead);
  tl_unmute(&muted);
  if (status == TL_INVALID_MODEL) {
    tl_warn(ctx->m->diag, tl_node_where(ctx->m, ctx->node),
            "the %s branch cannot run, since the condition is always %s; in it %.*s",
            dead == b->yes ? "then" : "else", dead == b->yes ? "false" : "true",
            TL_SV_ARG(text.failed ? TL_SV("types or shapes do not fit") : tl_buf_view(&text)));
    b->broken = true;
    status = TL_OK;
  }
  tl_buf_release(&text);
  return status;
}

/* Joins result i of both branches. If they do not agree, that of the only one that can run
 * counts. */
static tl_status join_branches(tl_infer *ctx, const branches *b, uint32_t i, tl_type_id *out) {
  tl_muted muted;
  tl_type_id yes = output_type(ctx, b->yes, i), no = output_type(ctx, b->no, i);
  if (!b->live)
    return tl_infer_join(ctx, "a result of the two branches", yes, no, out);
  tl_mute(&muted, ctx->m, NULL, NULL);
  tl_status status = b->broken ? TL_INVALID_MODEL : tl_infer_join(ctx, "", yes, no, out);
  tl_unmute(&muted);
  if (status == TL_INVALID_MODEL)
    *out = b->live == b->yes ? yes : no;
  return status == TL_INVALID_MODEL ? TL_OK : status;
}

tl_status tl_infer_if(tl_infer *ctx, uint32_t node) {
  branches b = {0};
  (void)node;
  TL_TRY(read_branches(ctx, &b));
  const tl_graph *both[] = {b.yes, b.no};
  for (int i = 0; i < 2; i++)
    TL_TRY(b.live && b.live != both[i] ? infer_dead(ctx, &b, both[i]) : infer_branch(ctx, both[i]));
  for (uint32_t i = 0; i < tl_infer_n_results(ctx); i++) {
    tl_type_id joined;
    TL_TRY(join_branches(ctx, &b, i, &joined));
    TL_TRY(tl_infer_set_type(ctx, i, joined));
  }
  return TL_OK;
}

/* ---- Loop ----------------------------------------------------------------------------------- */

/* Sets an input that the runtime provides: a scalar, or what else the body declares (runtimes also
 * take one element of rank 1). */
static tl_status set_provided(tl_infer *ctx, const tl_graph *g, uint32_t i, tl_dtype dtype) {
  tl_type_id declared = declared_input(ctx, g->inputs.at[i]);
  const tl_type *t = tl_type_get(ctx->m, declared);
  bool shaped = t->kind == TL_KIND_TENSOR && t->rank != TL_RANK_UNKNOWN;
  if (t->kind == TL_KIND_TENSOR && t->dtype != TL_DTYPE_NONE && t->dtype != dtype)
    return tl_infer_fail(ctx, "input %u of the body is %s, expected %s", i,
                         tl_dtype_get((tl_dtype)t->dtype)->name, tl_dtype_get(dtype)->name);
  tl_type_id type = shaped ? declared : tl_type_tensor(ctx->m, dtype, 0, NULL);
  if (type == TL_NO_TYPE)
    return TL_NO_MEMORY;
  set_input(ctx, g, i, type);
  return TL_OK;
}

/* True for a single element known to be true in every iteration. */
static bool is_true(tl_infer *ctx, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(ctx->m, v);
  int64_t value;
  if (t)
    return tl_tensor_int_at(ctx->m, t, 0, &value) && value != 0;
  const tl_partial *p = v < ctx->n_partials ? &ctx->partials[v] : NULL;
  return p && p->at && p->n == 1 && p->at[0].kind == TL_ELEM_INT && p->at[0].value != 0;
}

/* True when only the trip count ends the loop: the condition is true and passed on unchanged. */
static bool runs_to_count(tl_infer *ctx, const tl_graph *g) {
  tl_value_id cond = tl_operand(ctx->m, ctx->node, 1);
  tl_value_id v = tl_graph_output(ctx->m, g, 0);
  if (cond != TL_NO_VALUE && !is_true(ctx, cond))
    return false;
  for (int i = 0; i < MAX_IDENTITIES && v != TL_NO_VALUE; i++) {
    tl_node_id producer = tl_value_producer(ctx->m, v);
    if (producer == TL_NO_NODE || tl_node_get(ctx->m, producer)->op != TL_OP_Identity)
      break;
    v = tl_operand(ctx->m, producer, 0);
  }
  return v == g->inputs.at[1] || is_true(ctx, v);
}

/* Loop: M?, cond?, carried... -> carried..., scanned... The body: iteration, cond, carried... ->
 * cond, carried..., scanned... */
tl_status tl_infer_loop(tl_infer *ctx, uint32_t node) {
  const tl_graph *g;
  (void)node;
  TL_TRY(read_body(ctx, TL_SYM_body, &g));
  uint32_t n_operands = tl_infer_n_operands(ctx);
  uint32_t n_results = tl_infer_n_results(ctx);
  carried c = {.g = g, .first_input = 2, .first_output = 1};
  c.n = n_operands < 2 ? 0 : n_operands - 2;
  if (n_results < c.n)
    return tl_infer_fail(ctx, "%u results cannot take %u carried values", n_results, c.n);
  TL_TRY(check_signature(ctx, g, c.n + 2, n_results + 1));
  TL_TRY(set_provided(ctx, g, 0, TL_DTYPE_I64));
  TL_TRY(set_provided(ctx, g, 1, TL_DTYPE_BOOL));
  TL_TRY(settle(ctx, &c, 2));
  for (uint32_t i = 0; i < c.n; i++)
    TL_TRY(tl_infer_set_type(ctx, i, c.types[i]));
  tl_dim trips = runs_to_count(ctx, g) ? tl_infer_dim_value(ctx, 0) : TL_DIM_UNKNOWN;
  for (uint32_t i = c.n; i < n_results; i++) {
    tl_type_id type;
    TL_TRY(stacked(ctx, output_type(ctx, g, i + 1), trips, 0, &type));
    TL_TRY(tl_infer_set_type(ctx, i, type));
  }
  return TL_OK;
}

/* ---- While ---------------------------------------------------------------------------------- */

/* While: state... -> state... The bodies: cond, state -> go on; body, state -> state. */
tl_status tl_infer_while(tl_infer *ctx, uint32_t node) {
  const tl_graph *test;
  const tl_graph *g;
  (void)node;
  TL_TRY(read_body(ctx, TL_SYM_cond, &test));
  TL_TRY(read_body(ctx, TL_SYM_body, &g));
  carried c = {.g = g, .n = tl_infer_n_operands(ctx)};
  if (tl_infer_n_results(ctx) != c.n)
    return tl_infer_fail(ctx, "%u results, but a state of %u values", tl_infer_n_results(ctx), c.n);
  TL_TRY(check_signature(ctx, g, c.n, c.n));
  TL_TRY(check_signature(ctx, test, c.n, 1));
  TL_TRY(settle(ctx, &c, 0));
  for (uint32_t i = 0; i < c.n; i++) {
    TL_TRY(tl_infer_set_type(ctx, i, c.types[i]));
    set_input(ctx, test, i, c.types[i]);
  }
  return tl_infer_graph(ctx, test->id);
}

/* ---- Scan ----------------------------------------------------------------------------------- */

/* Reads element i of a list of axes; without the list they are 0. */
static tl_status scan_axis(tl_infer *ctx, tl_symbol name, uint32_t i, uint32_t n, int64_t *out) {
  tl_int_list axes = tl_node_attr_ints(ctx->m, ctx->node, name);
  if (axes.n > 0 && axes.n != n)
    return tl_infer_fail(ctx, "attribute %.*s has %u values, expected %u",
                         TL_SV_ARG(tl_sym(ctx->m, name)), axes.n, n);
  *out = axes.n > 0 ? axes.at[i] : 0;
  return TL_OK;
}

/* Gives the body's inputs the types of slices; all scanned operands have one length. */
static tl_status set_slices(tl_infer *ctx, const tl_graph *g, uint32_t first, uint32_t n,
                            tl_dim *length) {
  *length = TL_DIM_UNKNOWN;
  for (uint32_t i = 0; i < n; i++) {
    int64_t axis;
    tl_type_id type;
    TL_TRY(scan_axis(ctx, TL_SYM_scan_input_axes, i, n, &axis));
    TL_TRY(sliced(ctx, first + i, axis, length, &type));
    TL_TRY(refine(ctx, g, first + i, type, &type));
    set_input(ctx, g, first + i, type);
  }
  return TL_OK;
}

/* Scan: states..., scanned... -> states..., stacked... The body: states..., slices... -> the
 * same. */
tl_status tl_infer_scan(tl_infer *ctx, uint32_t node) {
  const tl_graph *g;
  tl_dim length;
  TL_TRY(read_body(ctx, TL_SYM_body, &g));
  int64_t n_scanned = tl_node_attr_int(ctx->m, node, TL_SYM_num_scan_inputs, 0);
  uint32_t n_operands = tl_infer_n_operands(ctx);
  uint32_t n_results = tl_infer_n_results(ctx);
  if (n_scanned < 1 || n_scanned > n_operands)
    return tl_infer_fail(ctx, "attribute num_scan_inputs is %lld for %u operands",
                         (long long)n_scanned, n_operands);
  carried c = {.g = g, .n = n_operands - (uint32_t)n_scanned};
  if (n_results < c.n)
    return tl_infer_fail(ctx, "%u results cannot take %u states", n_results, c.n);
  TL_TRY(check_signature(ctx, g, n_operands, n_results));
  TL_TRY(set_slices(ctx, g, c.n, (uint32_t)n_scanned, &length));
  TL_TRY(settle(ctx, &c, 0));
  for (uint32_t i = 0; i < c.n; i++)
    TL_TRY(tl_infer_set_type(ctx, i, c.types[i]));
  for (uint32_t i = c.n; i < n_results; i++) {
    tl_type_id type;
    int64_t axis;
    TL_TRY(scan_axis(ctx, TL_SYM_scan_output_axes, i - c.n, n_results - c.n, &axis));
    TL_TRY(stacked(ctx, output_type(ctx, g, i), length, axis, &type));
    TL_TRY(tl_infer_set_type(ctx, i, type));
  }
  return TL_OK;
}

/* ---- SequenceMap ---------------------------------------------------------------------------- */

/* SequenceMap: a sequence, and further sequences or tensors; the body sees elements of sequences
 * and whole tensors. */
tl_status tl_infer_sequence_map(tl_infer *ctx, uint32_t node) {
  const tl_graph *g;
  uint32_t n = tl_infer_n_operands(ctx);
  (void)node;
  TL_TRY(read_body(ctx, TL_SYM_body, &g));
  TL_TRY(check_signature(ctx, g, n, tl_infer_n_results(ctx)));
  for (uint32_t i = 0; i < n; i++) {
    const tl_type *t = tl_infer_operand(ctx, i);
    tl_type_id type = t->kind == TL_KIND_SEQUENCE
                          ? t->element
                          : tl_value_type(ctx->m, tl_operand(ctx->m, ctx->node, i));
    TL_TRY(refine(ctx, g, i, type, &type));
    set_input(ctx, g, i, type);
  }
  TL_TRY(tl_infer_graph(ctx, g->id));
  for (uint32_t i = 0; i < tl_infer_n_results(ctx); i++) {
    tl_type_id type;
    TL_TRY(tl_infer_container(ctx, TL_KIND_SEQUENCE, output_type(ctx, g, i), &type));
    TL_TRY(tl_infer_set_type(ctx, i, type));
  }
  return TL_OK;
}
