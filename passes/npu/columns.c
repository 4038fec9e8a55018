/* SPDX-License-Identifier: Apache-2.0 */
/* Checks nodes in NPU form against the dtype columns of the chip's table (columns.h). */
#include "passes/npu/columns.h"

#include "ir/op.h"
#include "ir/ops_gen.h"

/* Upper bound on errors reported one by one; the rest is counted. */
enum { MAX_REPORTS = 20 };

/* Lookup of one op in the tables, cached for all its nodes. */
typedef struct known_op {
  tl_op_info info; /* row is NULL if this chip's table lacks the op */
  bool asked;
  bool elsewhere; /* the table of A2 chips has it */
} known_op;

typedef struct checking {
  tl_module *m;
  const tl_options *options;
  known_op *ops; /* [tl_n_op_rows] */
  tl_buf text;
  uint32_t n_errors;
} checking;

/* One tensor of a node and the dtypes that the columns have for it. */
typedef struct column_tensor {
  const char *port;
  const uint8_t *columns;
  uint8_t dtype;
} column_tensor;

TL_VEC(tensor_vec, column_tensor);

/* Float dtypes that only AI cores compute. */
static const uint64_t computed = TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F16) |
                                 TL_DTYPE_BIT(TL_DTYPE_BF16) | TL_DTYPE_BIT(TL_DTYPE_HIF8);

/* Dtypes that AI CPUs cast from and to; bf16 too if the chip has it. */
static const uint64_t plain = TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_F16) |
                              TL_DTYPE_BIT(TL_DTYPE_F64) | TL_DTYPE_BIT(TL_DTYPE_BOOL) |
                              TL_DTYPE_BIT(TL_DTYPE_I8) | TL_DTYPE_BIT(TL_DTYPE_I16) |
                              TL_DTYPE_BIT(TL_DTYPE_I32) | TL_DTYPE_BIT(TL_DTYPE_I64) |
                              TL_DTYPE_BIT(TL_DTYPE_U8) | TL_DTYPE_BIT(TL_DTYPE_U16) |
                              TL_DTYPE_BIT(TL_DTYPE_U32) | TL_DTYPE_BIT(TL_DTYPE_U64);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns the cached lookup of an op. */
static const known_op *known(checking *c, tl_op_id id, const tl_op *op) {
  known_op *k = &c->ops[id];
  if (!k->asked) {
    tl_sv type = tl_sv_from(op->name);
    k->asked = true;
    k->info = tl_op_info_find(tl_options_op_info(c->options), type);
    k->elsewhere = !k->info.row && tl_op_info_find(tl_op_info_builtin(TL_SOC_A2), type).row;
  }
  return k;
}

/* Finds the slot of port k by name, else by position: tables and prototypes may spell a port
 * differently. */
static const tl_op_info_slot *slot_of(tl_op_info info, bool output, const char *name, uint32_t k) {
  const tl_op_info_slot *slot = tl_op_info_slot_named(info, output, tl_sv_from(name));
  uint32_t n = output ? info.row->n_outputs : info.row->n_inputs;
  return slot ? slot : k < n ? tl_op_info_slot_at(info, output, k) : NULL;
}

/* State while the tensors of one node are gathered. */
typedef struct gathering {
  checking *c;
  tensor_vec *v;
  tl_op_info info;
  tl_node_id node;
} gathering;

/* Adds the value at port k, if it is present and of a known dtype. Returns false if memory is
 * out. */
static bool add(gathering *g, const tl_op_port *ports, uint32_t k, tl_value_id value) {
  const tl_module *m = g->c->m;
  const tl_op *op = tl_op_row(tl_node_get(m, g->node)->op);
  tl_dtype d = value ? tl_type_dtype(m, tl_value_type(m, value)) : TL_DTYPE_NONE;
  if (d == TL_DTYPE_NONE)
    return true;
  const char *name = ports[k].name;
  const tl_op_info_slot *slot = slot_of(g->info, ports == op->results, name, k);
  return !slot || tensor_vec_push(
                      g->v, (column_tensor){name, tl_op_info_columns(g->info, slot), (uint8_t)d});
}

/* Returns the number of operands of a variadic port that is not the last, from the attribute
 * __dynamic_input_PORT_cnt that the pass lower writes. */
static uint32_t count_of(gathering *g, const char *port) {
  const tl_module *m = g->c->m;
  g->c->text.n = 0;
  tl_buf_printf(&g->c->text, "__dynamic_input_%s_cnt", port);
  tl_symbol s = tl_symbol_find(&m->symbols, tl_buf_view(&g->c->text));
  int64_t n = s == TL_NO_SYMBOL ? 0 : tl_node_attr_int(m, g->node, s, 0);
  return n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Walks ports and operands together: a variadic port takes the counted operands, the last port
 * takes the rest. */
static bool gather_operands(gathering *g) {
  const tl_node *node = tl_node_get(g->c->m, g->node);
  const tl_op *op = tl_op_row(node->op);
  uint32_t i = 0;
  for (uint32_t k = 0; k < op->n_operand_ports && i < node->n_operands; k++) {
    bool last = k + 1U == op->n_operand_ports;
    bool many = op->operands[k].kind == TL_PORT_VARIADIC;
    uint32_t left = node->n_operands - i;
    uint32_t n = !many ? 1 : last ? left : count_of(g, op->operands[k].name);
    for (n = n < left ? n : left; n; n--, i++)
      if (!add(g, op->operands, k, tl_operand(g->c->m, g->node, i)))
        return false;
  }
  return true;
}

static bool gather(gathering *g) {
  const tl_node *node = tl_node_get(g->c->m, g->node);
  const tl_op *op = tl_op_row(node->op);
  g->v->n = 0;
  if (!gather_operands(g))
    return false;
  for (uint32_t i = 0; i < node->n_results && op->n_result_ports; i++) {
    uint32_t k = i < op->n_result_ports ? i : op->n_result_ports - 1U;
    if (!add(g, op->results, k, node->results + i))
      return false;
  }
  return true;
}

/* Returns true if one column has the dtype of every tensor. */
static bool fits(const tensor_vec *v, uint32_t n_columns) {
  for (uint32_t k = 0; k < n_columns; k++) {
    uint32_t i = 0;
    while (i < v->n && v->at[i].columns[k] == v->at[i].dtype)
      i++;
    if (i == v->n)
      return true;
  }
  return n_columns == 0 || v->n == 0;
}

/* ---- what fits none -------------------------------------------------------------------------- */

static uint64_t dtypes_of(const tensor_vec *v) {
  uint64_t set = 0;
  for (uint32_t i = 0; i < v->n; i++)
    set |= TL_DTYPE_BIT(v->at[i].dtype);
  return set;
}

/* Returns true if an AI CPU kernel can run a node with these dtypes. */
static bool host_takes(const checking *c, const tl_op *op, uint64_t dtypes) {
  uint64_t bf16 = tl_options_chip(c->options)->bf16 ? TL_DTYPE_BIT(TL_DTYPE_BF16) : 0;
  if (strcmp(op->name, "Cast") == 0)
    return (dtypes & ~(plain | bf16)) == 0;
  return (dtypes & computed) == 0;
}

/* Returns the dtype that keeps a node off the AI cores: the first that no column of its slot has,
 * else that of the first tensor (only the combination is missing then). */
static uint8_t odd_dtype(const tensor_vec *v, uint32_t n_columns) {
  for (uint32_t i = 0; i < v->n; i++) {
    uint32_t k = 0;
    while (k < n_columns && v->at[i].columns[k] != v->at[i].dtype)
      k++;
    if (k == n_columns)
      return v->at[i].dtype;
  }
  return v->at[0].dtype;
}

/* Counts a node that runs on an AI CPU and keeps the first as an example for the message. */
static bool count_host(checking *c, tl_node_id n, const tl_op *op, uint8_t dtype) {
  tl_node_count *host = &c->m->chip_fit.host;
  if (host->n++)
    return true;
  host->type = tl_module_intern(c->m, tl_sv_from(op->name));
  host->name = tl_node_get(c->m, n)->name;
  host->dtype = dtype;
  return host->type != TL_NO_SYMBOL;
}

/* Writes a text such as "x f32, filter f32, y f32". */
static void describe(checking *c, const tensor_vec *v) {
  c->text.n = 0;
  for (uint32_t i = 0; i < v->n; i++)
    tl_buf_printf(&c->text, "%s%s %s", i ? ", " : "", v->at[i].port,
                  tl_dtype_get((tl_dtype)v->at[i].dtype)->name);
}

static void report(checking *c, tl_node_id n, const tl_op *op, const tensor_vec *v) {
  const tl_soc *chip = tl_options_chip(c->options);
  const char *soc = c->options->soc_version ? c->options->soc_version : chip->name;
  if (c->n_errors++ >= MAX_REPORTS)
    return;
  describe(c, v);
  if ((dtypes_of(v) & TL_DTYPE_BIT(TL_DTYPE_BF16)) && !chip->bf16)
    (void)tl_fail_code(c->m->diag, TL_UNSUPPORTED, "P0205", tl_node_where(c->m, n),
                       "%s has bfloat16 (%s), which %s does not have\vconvert a model in f16 or "
                       "f32, or name a chip that has it, such as Ascend910B1",
                       op->name, c->text.p ? c->text.p : "", soc);
  else
    (void)tl_fail_code(c->m->diag, TL_UNSUPPORTED, "P0205", tl_node_where(c->m, n),
                       "%s has no kernel for %s on %s\v'tailor ops %s --soc-version=%s' lists its "
                       "dtypes; use another precision mode, or a cast in the model",
                       op->name, c->text.p ? c->text.p : "these dtypes", soc, op->name, soc);
}

static void report_absent(checking *c, tl_node_id n, const tl_op *op) {
  const tl_soc *chip = tl_options_chip(c->options);
  const char *soc = c->options->soc_version ? c->options->soc_version : chip->name;
  if (c->n_errors++ < MAX_REPORTS)
    (void)tl_fail_code(c->m->diag, TL_UNSUPPORTED, "P0205", tl_node_where(c->m, n),
                       "%s has no op %s\vchange the model, or choose another chip", soc, op->name);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static bool check_node(checking *c, tl_node_id n, tensor_vec *v) {
  tl_op_id id = tl_node_get(c->m, n)->op;
  const tl_op *op = tl_op_row(id);
  if (!op || op->domain_symbol != TL_SYM_npu)
    return true;
  const known_op *k = known(c, id, op);
  if (k->elsewhere)
    report_absent(c, n, op);
  if (!k->info.row)
    return true;
  if (!gather(&(gathering){c, v, k->info, n}) || c->text.failed)
    return false;
  uint32_t n_columns = k->info.row->n_columns;
  if (fits(v, n_columns))
    return true;
  if (host_takes(c, op, dtypes_of(v)))
    return count_host(c, n, op, odd_dtype(v, n_columns));
  report(c, n, op, v);
  return true;
}

static bool check_nodes(checking *c, tensor_vec *v) {
  for (uint32_t g = 0; g < c->m->graphs.n; g++)
    if (!c->m->graphs.at[g]->erased)
      TL_FOR_NODES(c->m, c->m->graphs.at[g], n)
        if (!check_node(c, n, v))
          return false;
  return true;
}

tl_status tl_chip_columns_check(tl_module *m, const tl_options *options) {
  checking c = {.m = m, .options = options};
  tensor_vec v = {0};
  tl_arena arena;
  tl_arena_init(&arena, 0);
  tl_buf_init(&c.text);
  m->chip_fit.host = (tl_node_count){0};
  c.ops = tl_arena_calloc(&arena, tl_n_op_rows, sizeof *c.ops);
  bool ok = c.ops && check_nodes(&c, &v);
  if (ok && c.n_errors > MAX_REPORTS)
    (void)tl_fail(m->diag, TL_UNSUPPORTED, TL_AT_FILE(m->path),
                  "%u more nodes have no kernel on this chip", c.n_errors - MAX_REPORTS);
  tensor_vec_release(&v);
  tl_buf_release(&c.text);
  tl_arena_release(&arena);
  if (!ok)
    return tl_no_memory(m);
  return c.n_errors ? TL_UNSUPPORTED : TL_OK;
}

/* ---- casts ----------------------------------------------------------------------------------- */

bool tl_chip_casts(const tl_op_info_set *chip, tl_dtype from, tl_dtype to) {
  tl_op_info info = tl_op_info_find(chip, TL_SV("Cast"));
  if (!info.row || info.row->n_inputs == 0 || info.row->n_outputs == 0)
    return true;
  const uint8_t *x = tl_op_info_columns(info, tl_op_info_slot_at(info, false, 0));
  const uint8_t *y = tl_op_info_columns(info, tl_op_info_slot_at(info, true, 0));
  for (uint32_t k = 0; k < info.row->n_columns; k++)
    if (x[k] == from && y[k] == to)
      return true;
  return false;
}
