/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of shape and type inference: walks nodes in order, checks dtypes of operands against
 * the op table, calls the op's shape function, and completes what it left open from the type
 * variables. context.c has what shape functions call. */
#include "ir/infer/infer.h"

#include "ir/infer/infer_gen.h"
#include "ir/ops_gen.h"
#include "ir/user_ops.h"

/* MAX_BODY_DEPTH: a root graph with 64 bodies inside each other, as many as the readers accept. The
 * other limits bound time and memory for hostile models. */
enum { MAX_BODY_DEPTH = 65, FREE_VISITS = 1000000, VISITS_PER_NODE = 16, FREE_ELEMENTS = 1 << 20 };

/* What the operands of one node bound its type variables to. */
typedef struct bindings {
  uint8_t dtype[UINT8_MAX + 1]; /* by variable; only the row's n_vars are set */
  const tl_op *row;
} bindings;

static const char *dtype_name(unsigned dtype) { return tl_dtype_get((tl_dtype)dtype)->name; }

static const char *kind_name(unsigned kind) {
  static const char *const names[] = {"unknown",  "a tensor", "a sparse tensor", "a sequence",
                                      "optional", "a map",    "opaque"};
  return names[kind];
}

/* Returns the only dtype of a set, NONE when there are several. */
static tl_dtype single_dtype(uint64_t set) {
  bool single = set && (set & (set - 1)) == 0;
  return single ? (tl_dtype)__builtin_ctzll(set) : TL_DTYPE_NONE;
}

/* For messages: the operand that bound a type variable. */
static uint32_t first_operand_of(tl_infer *ctx, const bindings *b, int8_t var) {
  uint32_t i = 0;
  for (;; i++) {
    const tl_op_port *port = tl_op_operand_port(b->row, i);
    if (!port || (port->var == var && tl_infer_dtype(ctx, i) != TL_DTYPE_NONE))
      return i;
  }
}

/* Says how an operand of an integer dtype that the op lacks gets one that it has. */
static const char *lift_of(const tl_op *row, const tl_op_port *port, unsigned dtype) {
  bool bytes = dtype == TL_DTYPE_I8 || dtype == TL_DTYPE_U8;
  uint64_t allowed = row->vars[port->var].dtypes;
  if (bytes && row->domain_symbol == 0 && strcmp(row->name, "MatMul") == 0)
    return "\vuse MatMulInteger, which takes i8 and u8 and gives i32, or Cast the operands to f32 "
           "and the result back";
  if (tl_dtype_is_integer((tl_dtype)dtype) && (allowed & TL_DTYPE_BIT(TL_DTYPE_F32)))
    return "\vCast the operands to f32, and the result back: exact up to 16777216";
  return "";
}

/* Reports a dtype that the op does not allow, with those it does. */
static tl_status refuse_dtype(tl_infer *ctx, const tl_op *row, const tl_op_port *port, uint32_t i,
                              unsigned dtype) {
  tl_buf allowed;
  tl_buf_init(&allowed);
  tl_dtype_print_set(row->vars[port->var].dtypes, &allowed);
  tl_status status =
      tl_infer_fail(ctx, "operand %u has dtype %s, which %s does not allow for '%s', but %.*s%s", i,
                    dtype_name(dtype), row->name, port->name, TL_SV_ARG(tl_buf_view(&allowed)),
                    lift_of(row, port, dtype));
  tl_buf_release(&allowed);
  return status;
}

/* The first operand of a shared variable binds it; others must agree. */
static tl_status bind_dtype(tl_infer *ctx, bindings *b, const tl_op_port *port, uint32_t i,
                            unsigned dtype) {
  const tl_type_var *var = &b->row->vars[port->var];
  if (!(var->dtypes >> dtype & 1))
    return refuse_dtype(ctx, b->row, port, i, dtype);
  if (!var->shared || port->heterogeneous)
    return TL_OK;
  uint8_t *bound = &b->dtype[port->var];
  if (*bound == TL_DTYPE_NONE)
    *bound = (uint8_t)dtype;
  if (*bound != dtype)
    return tl_infer_fail(ctx, "operand %u is %s, expected %s like operand %u", i, dtype_name(dtype),
                         dtype_name(*bound), first_operand_of(ctx, b, port->var));
  return TL_OK;
}

/* Operands of unknown type may be anything. */
static tl_status check_operand(tl_infer *ctx, bindings *b, uint32_t i) {
  const tl_op_port *port = tl_op_operand_port(b->row, i);
  const tl_type *t = tl_infer_operand(ctx, i);
  if (!port || port->var < 0 || t->kind == TL_KIND_UNKNOWN)
    return TL_OK;
  if (!(b->row->vars[port->var].kinds & TL_KIND_BIT(t->kind)))
    return tl_infer_fail(ctx, "operand %u is %s, which %s does not allow for '%s'", i,
                         kind_name(t->kind), b->row->name, port->name);
  if (t->kind != TL_KIND_TENSOR || t->dtype == TL_DTYPE_NONE)
    return TL_OK;
  return bind_dtype(ctx, b, port, i, t->dtype);
}

static tl_status check_operands(tl_infer *ctx, bindings *b) {
  memset(b->dtype, TL_DTYPE_NONE, b->row->n_vars);
  uint32_t n = tl_infer_n_operands(ctx);
  for (uint32_t i = 0; i < n; i++)
    TL_TRY(check_operand(ctx, b, i));
  return TL_OK;
}

/* Gives a result of unknown dtype the one that its type variable stands for. */
static tl_status complete_dtype(tl_infer *ctx, tl_value_id v, tl_dtype dtype) {
  const tl_type *t = tl_type_get(ctx->m, tl_value_type(ctx->m, v));
  bool ranked = t->kind == TL_KIND_TENSOR;
  tl_type_id type = tl_type_tensor(ctx->m, dtype, ranked ? t->rank : TL_RANK_UNKNOWN, t->dims);
  if (type == TL_NO_TYPE)
    return TL_NO_MEMORY;
  tl_value_get(ctx->m, v)->type = type;
  return TL_OK;
}

/* A result must be what the op's signature says, whoever stated it: the shape function, or the
 * model where there is none. */
static tl_status check_result(tl_infer *ctx, const bindings *b, uint32_t i) {
  const tl_op_port *port = tl_op_result_port(b->row, i);
  if (!port || port->var < 0)
    return TL_OK;
  const tl_type_var *var = &b->row->vars[port->var];
  bool bindable = var->shared && !port->heterogeneous;
  tl_dtype expected = bindable ? (tl_dtype)b->dtype[port->var] : TL_DTYPE_NONE;
  if (expected == TL_DTYPE_NONE)
    expected = single_dtype(var->dtypes);
  tl_value_id v = tl_result(ctx->m, ctx->node, i);
  const tl_type *t = tl_type_get(ctx->m, tl_value_type(ctx->m, v));
  bool tensors_only = var->kinds == TL_KIND_BIT(TL_KIND_TENSOR);
  bool open = t->kind == TL_KIND_UNKNOWN || /* nothing stated its dtype */
              (t->kind == TL_KIND_TENSOR && t->dtype == TL_DTYPE_NONE);
  if (open)
    return tensors_only && expected != TL_DTYPE_NONE ? complete_dtype(ctx, v, expected) : TL_OK;
  if (!(var->kinds & TL_KIND_BIT(t->kind)))
    return tl_infer_fail(ctx, "result %u is declared as %s, which %s cannot produce", i,
                         kind_name(t->kind), b->row->name);
  if (t->kind != TL_KIND_TENSOR)
    return TL_OK;
  if (tensors_only && expected != TL_DTYPE_NONE && t->dtype != expected)
    return tl_infer_fail(ctx, "result %u is %s, but %s produces %s here", i, dtype_name(t->dtype),
                         b->row->name, dtype_name(expected));
  if (!(var->dtypes >> t->dtype & 1))
    return tl_infer_fail(ctx, "result %u is %s, which %s cannot produce", i, dtype_name(t->dtype),
                         b->row->name);
  return TL_OK;
}

/* A body is visited again with weaker input types; nothing of the earlier visit may stay. */
static void forget_results(tl_infer *ctx, const tl_node *node) {
  for (uint32_t i = 0; i < node->n_results; i++) {
    tl_value_id v = node->results + i;
    if (v >= ctx->n_partials)
      return;
    ctx->partials[v] = (tl_partial){NULL, 0};
    if (ctx->declared[v])
      tl_value_get(ctx->m, v)->type = ctx->declared[v] - 1;
  }
}

bool tl_infer_knows(tl_op_id op) { return op < TL_N_OPS && tl_infer_rows[op].fn; }

int64_t tl_infer_arg(const tl_infer *ctx, tl_node_id n) {
  return tl_infer_rows[tl_node_get(ctx->m, n)->op].arg;
}

static tl_status infer_known(tl_infer *ctx, const tl_op *row, const tl_node *node) {
  bindings b;
  b.row = row;
  TL_TRY(check_operands(ctx, &b));
  forget_results(ctx, node);
  if (tl_infer_knows(node->op))
    TL_TRY(tl_infer_rows[node->op].fn(ctx, ctx->node));
  for (uint32_t i = 0; i < node->n_results; i++)
    TL_TRY(check_result(ctx, &b, i));
  return TL_OK;
}

/* Asks the user of the library about an op that the table does not list. */
static tl_status infer_foreign(tl_infer *ctx, const tl_node *node) {
  const tl_user_op *op = tl_user_op_of(ctx->m, ctx->node);
  if (!op || !op->infer)
    return TL_OK;
  forget_results(ctx, node);
  return op->infer(ctx, op);
}

static tl_status infer_node(tl_infer *ctx, tl_node_id n) {
  const tl_node *node = tl_node_get(ctx->m, n);
  const tl_op *row = tl_op_row(node->op);
  ctx->node = n;
  if (ctx->visits_left == 0)
    return tl_fail(ctx->m->diag, TL_LIMIT, tl_node_where(ctx->m, n),
                   "shape inference of nested loops does not settle");
  ctx->visits_left--;
  if (!row)
    return infer_foreign(ctx, node);
  /* NPU nodes without a shape function keep the types of the canonical nodes they were made from;
   * mixed ones have dtypes that no shape function knows of. */
  if ((row->domain_symbol == TL_SYM_npu && !tl_infer_knows(node->op)) || node->mixed)
    return TL_OK;
  return infer_known(ctx, row, node);
}

tl_status tl_infer_graph(tl_infer *ctx, tl_graph_id g) {
  tl_node_id owner = ctx->node;
  if (ctx->depth >= MAX_BODY_DEPTH)
    return tl_fail(ctx->m->diag, TL_LIMIT, tl_node_where(ctx->m, owner),
                   "bodies are nested more than %d deep", MAX_BODY_DEPTH);
  ctx->depth++;
  tl_status status = TL_OK;
  for (tl_node_id n = tl_graph_get(ctx->m, g)->first; n && status == TL_OK;
       n = tl_node_get(ctx->m, n)->next)
    status = infer_node(ctx, n);
  ctx->depth--;
  ctx->node = owner;
  return status;
}

static tl_status infer_roots(tl_infer *ctx) {
  for (uint32_t i = 0; i < ctx->m->graphs.n; i++) {
    const tl_graph *g = ctx->m->graphs.at[i];
    if (g->kind == TL_GRAPH_ROOT && !g->erased)
      TL_TRY(tl_infer_graph(ctx, g->id));
  }
  return TL_OK;
}

/* ---- contents that stay ---------------------------------------------------------------------- */

/* True when every element is known and lies in [low, high]. */
static bool all_numbers(tl_partial p, int64_t low, int64_t high) {
  for (uint32_t i = 0; i < p.n; i++)
    if (p.at[i].kind != TL_ELEM_INT || p.at[i].value < low || p.at[i].value > high)
      return false;
  return p.at != NULL;
}

static tl_tensor_id contents_i64(tl_infer *ctx, tl_partial p, int rank) {
  int64_t *at = tl_arena_alloc(ctx->scratch, p.n * sizeof *at);
  for (uint32_t i = 0; at && i < p.n; i++)
    at[i] = p.at[i].value;
  return at ? tl_tensor_i64s(ctx->m, at, p.n, rank) : TL_NO_TENSOR;
}

static tl_tensor_id contents_i32(tl_infer *ctx, tl_partial p, int rank) {
  int32_t *at = tl_arena_alloc(ctx->scratch, p.n * sizeof *at);
  for (uint32_t i = 0; at && i < p.n; i++)
    at[i] = (int32_t)p.at[i].value;
  return at ? tl_tensor_i32s(ctx->m, at, p.n, rank) : TL_NO_TENSOR;
}

/* Returns the elements of v as a tensor, TL_NO_TENSOR when they are not all known. */
static tl_tensor_id contents_of(tl_infer *ctx, tl_value_id v) {
  const tl_type *t = tl_type_get(ctx->m, tl_value_type(ctx->m, v));
  tl_partial p = ctx->partials[v];
  bool fits = t->kind == TL_KIND_TENSOR && (t->rank == 1 || (t->rank == 0 && p.n == 1));
  if (!fits || !tl_infer_exists_once(ctx->m, tl_value_graph(ctx->m, v)))
    return TL_NO_TENSOR;
  if (t->dtype == TL_DTYPE_I64 && all_numbers(p, INT64_MIN, INT64_MAX))
    return contents_i64(ctx, p, t->rank);
  if (t->dtype == TL_DTYPE_I32 && all_numbers(p, INT32_MIN, INT32_MAX))
    return contents_i32(ctx, p, t->rank);
  return TL_NO_TENSOR;
}

/* Records a value whose one element is a dim with a name; false when memory is out. */
static bool keep_size(tl_infer *ctx, tl_value_id v) {
  tl_partial p = ctx->partials[v];
  if (!p.at || p.n != 1 || p.at[0].kind != TL_ELEM_DIM ||
      !tl_infer_exists_once(ctx->m, tl_value_graph(ctx->m, v)))
    return true;
  return tl_size_vec_push(&ctx->m->sizes, (tl_size){v, p.at[0].value});
}

/* What was tracked is in scratch and would go with the run. Contents of an earlier run that do not
 * hold any more are removed. */
static tl_status keep_contents(tl_infer *ctx) {
  for (tl_value_id v = 1; v < ctx->n_partials; v++) {
    tl_value *value = tl_value_get(ctx->m, v);
    if (value->kind != TL_VALUE_RESULT || !(value->tensor || ctx->partials[v].at))
      continue;
    value->tensor = ctx->partials[v].at ? contents_of(ctx, v) : TL_NO_TENSOR;
    if (!keep_size(ctx, v))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

tl_status tl_infer_module(tl_module *m) {
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  uint32_t n = tl_module_value_end(m);
  tl_infer ctx = {.m = m,
                  .scratch = &scratch,
                  .partials = tl_arena_calloc(&scratch, n, sizeof(tl_partial)),
                  .n_partials = n,
                  .declared = tl_arena_calloc(&scratch, n, sizeof(tl_type_id)),
                  .elems_left = FREE_ELEMENTS,
                  .visits_left = FREE_VISITS + (uint64_t)VISITS_PER_NODE * tl_module_node_end(m)};
  m->substitutes.n = m->sizes.n = 0;
  tl_status status = ctx.partials && ctx.declared ? infer_roots(&ctx) : TL_NO_MEMORY;
  if (status == TL_OK)
    status = keep_contents(&ctx);
  tl_arena_release(&scratch);
  return status;
}

tl_status tl_infer_node(tl_module *m, tl_node_id n) {
  tl_arena scratch;
  tl_arena_init(&scratch, 0);
  tl_infer ctx = {
      .m = m, .scratch = &scratch, .elems_left = FREE_ELEMENTS, .visits_left = FREE_VISITS};
  tl_status status = infer_node(&ctx, n);
  tl_arena_release(&scratch);
  return status;
}
