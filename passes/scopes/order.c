/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the dims of NPU ops into the order that their definitions know (order.h). The order of data
 * is what the attribute data_format says, that of a filter what its desc says. */
#include "passes/scopes/order.h"

#include "ir/ge_format.h"
#include "ir/graph.h"
#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/edit/casts.h"
#include "passes/edit/maker.h"

enum { N_LISTS = 3 };

typedef struct ordered_op {
  tl_op_id op;
  uint32_t filter;            /* operand; 0: none */
  const char *lists[N_LISTS]; /* "0": none */
} ordered_op;

static const ordered_op ordered[] = {
#define ORDERED(op, filter, a, b, c) {TL_OP_npu_##op, filter, {#a, #b, #c}},
#include "passes/scopes/ordered_ops.tbl"
};

static const tl_op_id plain[] = {
#define PLAIN(op) TL_OP_npu_##op,
#include "passes/scopes/ordered_ops.tbl"
};

static const tl_op_id moves[] = {
#define MOVES(op) TL_OP_npu_##op,
#include "passes/scopes/ordered_ops.tbl"
};

static const tl_op_id widens[] = {
#define WIDENS(op) TL_OP_npu_##op,
#include "passes/scopes/ordered_ops.tbl"
};

static const ordered_op *find_ordered(tl_op_id op) {
  for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++)
    if (ordered[i].op == op)
      return &ordered[i];
  return NULL;
}

static bool is_among(const tl_op_id *ops, size_t n, tl_op_id op) {
  for (size_t i = 0; i < n; i++)
    if (ops[i] == op)
      return true;
  return false;
}

/* ---- what may be computed -------------------------------------------------------------------- */

/* Returns the name of the format that data_format of the node says; empty for an op without. */
static tl_sv data_format(const tl_module *m, tl_node_id n) {
  const tl_op *op = tl_op_row(tl_node_get(m, n)->op);
  const tl_attr *given = op ? tl_node_attr_or_default(m, n, TL_SYM_data_format) : NULL;
  return given && given->kind == TL_ATTR_STRING ? tl_sym(m, given->u.s) : TL_SV("");
}

/* Returns true for formats that the dims of the IR fit, or that say nothing of their order. */
static bool is_usual(tl_sv format) {
  static const char *const usual[] = {"ND", "NCHW", "NCDHW", "NCL", "NC"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (tl_sv_is(format, usual[i]))
      return true;
  return false;
}

/* Returns why a port with this format cannot be computed with, NULL if it can. */
static const char *problem_of(const tl_module *m, tl_node_id n, const tl_port_note *note,
                              bool is_filter) {
  tl_op_id op = tl_node_get(m, n)->op;
  tl_sv format = tl_sv_from(tl_ge_format_name(note->storage));
  tl_sv declared = data_format(m, n);
  if (note->whole.p)
    return "with an element type that the IR lacks";
  if (!tl_ge_is_plain(note->storage) || !tl_ge_is_plain(note->origin))
    return "a layout of the device";
  if (note->storage != note->origin && !is_among(moves, sizeof moves / sizeof *moves, op))
    return "but another original format";
  if (is_filter || is_among(plain, sizeof plain / sizeof *plain, op) || tl_sv_is(format, "ND"))
    return NULL;
  if (declared.n)
    return tl_sv_eq(format, declared) || (is_usual(format) && is_usual(declared))
               ? NULL
               : "but data_format says another";
  return is_usual(format) ? NULL : "an order of dims in which this op is not known";
}

static tl_status check_port(tl_module *m, tl_node_id n, bool result, uint32_t port) {
  const ordered_op *o = find_ordered(tl_node_get(m, n)->op);
  tl_port_note note;
  tl_sv text = tl_port_note_get(m, tl_node_get(m, n)->extra, result, port);
  if (!text.p || !tl_port_note_read(text, &note))
    return TL_OK;
  const char *why = problem_of(m, n, &note, !result && o && o->filter && port == o->filter);
  /* Scales and biases have one dim, whatever their format is called. */
  tl_value_id v = result ? tl_result(m, n, port) : tl_operand(m, n, port);
  bool one_dim = v && tl_type_get(m, tl_value_type(m, v))->rank <= 1 &&
                 tl_ge_is_plain(note.storage) && !note.whole.p;
  if (!why || one_dim)
    return TL_OK;
  return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                 "%s %u of %.*s has the format %s, %s: the node cannot be run\v"
                 "read files from before the device compiler has chosen formats; info, diff, "
                 "textual IR and AIR work with this one",
                 result ? "output" : "input", port, TL_SV_ARG(tl_op_name(m, tl_node_get(m, n)->op)),
                 tl_ge_format_name(note.storage), why);
}

static tl_status check_node(tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  for (uint32_t i = 0; i < node->n_operands; i++)
    TL_TRY(check_port(m, n, false, i));
  for (uint32_t i = 0; i < node->n_results; i++)
    TL_TRY(check_port(m, n, true, i));
  return TL_OK;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Where the dims N, C, D, H, W of a tensor lie in a format; -1: it has no such dim. */
static bool places(tl_sv format, int rank, int64_t at[TL_MAX_RANK]) {
  const char *wanted = rank == 4 ? "NCHW" : rank == 5 ? "NCDHW" : "";
  if (!*wanted || format.n != (size_t)rank)
    return false;
  for (int i = 0; i < rank; i++) {
    const char *place = memchr(format.p, wanted[i], format.n);
    if (!place)
      return false;
    at[i] = place - format.p;
  }
  return true;
}

/* Transposes operand `port` of n from a format. */
static tl_status turn_operand(tl_module *m, tl_node_id n, uint32_t port, tl_sv format) {
  tl_value_id v = tl_operand(m, n, port);
  int rank = v ? tl_type_get(m, tl_value_type(m, v))->rank : 0;
  int64_t perm[TL_MAX_RANK];
  if (!v || is_usual(format) || !places(format, rank, perm))
    return TL_OK;
  tl_maker k = tl_maker_before(m, n);
  tl_value_id turned = tl_make_transpose(&k, v, perm, (uint32_t)rank);
  TL_TRY(tl_maker_status(&k));
  tl_node_set_operand(m, n, port, turned);
  return TL_OK;
}

static tl_type_id turned_type(tl_module *m, tl_type_id type, const int64_t *perm) {
  tl_type t = *tl_type_get(m, type);
  tl_dim dims[TL_MAX_RANK];
  for (int i = 0; i < t.rank; i++)
    dims[i] = t.dims[perm[i]];
  return tl_type_tensor(m, (tl_dtype)t.dtype, t.rank, dims);
}

/* Puts a Transpose behind n that gives its first result the order of a format again. */
static tl_status turn_result(tl_module *m, tl_node_id n, tl_sv format) {
  tl_value_id y = tl_result(m, n, 0);
  int64_t perm[TL_MAX_RANK], back[TL_MAX_RANK];
  int rank = tl_type_get(m, tl_value_type(m, y))->rank;
  if (!places(format, rank, perm))
    return TL_OK;
  for (int i = 0; i < rank; i++)
    back[perm[i]] = i;
  tl_type_id type = turned_type(m, tl_value_type(m, y), perm);
  if (type == TL_NO_TYPE)
    return TL_NO_MEMORY;
  tl_value_set_type(m, y, type);
  tl_maker k = tl_maker_before(m, n);
  k.before = tl_node_get(m, n)->next;
  tl_value_id turned = tl_make_transpose(&k, y, back, (uint32_t)rank);
  TL_TRY(tl_maker_status(&k));
  tl_value_replace_uses(m, y, turned);
  tl_node_set_operand(m, tl_value_get(m, turned)->def, 0, y);
  return tl_cast_keep_name(m, y, turned) ? TL_OK : TL_NO_MEMORY;
}

/* Puts an attribute with an element for each dim into the order N, C, ... */
static tl_status turn_list(tl_module *m, tl_node_id n, const char *name, tl_sv format) {
  tl_symbol key = tl_symbol_find(&m->symbols, tl_sv_from(name));
  tl_int_list list = key == TL_NO_SYMBOL ? (tl_int_list){0} : tl_node_attr_ints(m, n, key);
  int64_t perm[TL_MAX_RANK], turned[TL_MAX_RANK];
  if (list.n > TL_MAX_RANK || !places(format, (int)list.n, perm))
    return TL_OK; /* one number for each size of a window, say */
  for (uint32_t i = 0; i < list.n; i++)
    turned[i] = list.at[perm[i]];
  tl_attr attr = tl_attr_ints(m, key, turned, list.n);
  return attr.kind == TL_ATTR_NONE ? TL_NO_MEMORY : tl_node_set_attr(m, n, attr);
}

/* Returns true if everything that has the order of the format can be turned. */
static bool can_turn(const tl_module *m, tl_node_id n, const ordered_op *o, tl_sv format) {
  int64_t perm[TL_MAX_RANK];
  tl_value_id x = tl_operand(m, n, 0), y = tl_result(m, n, 0);
  int rank = x ? tl_type_get(m, tl_value_type(m, x))->rank : -1;
  bool good = tl_node_get(m, n)->n_results > 0 && places(format, rank, perm) &&
              tl_type_get(m, tl_value_type(m, y))->rank == rank;
  for (int i = 0; i < N_LISTS && good && *o->lists[i] != '0'; i++) {
    tl_symbol key = tl_symbol_find(&m->symbols, tl_sv_from(o->lists[i]));
    uint32_t count = key == TL_NO_SYMBOL ? 0 : tl_node_attr_ints(m, n, key).n;
    good = count == 0 || count == (uint32_t)rank;
  }
  return good;
}

/* Returns the format of a filter: that of its desc, which without a note is usual. */
static tl_sv filter_format(const tl_module *m, tl_node_id n, uint32_t port) {
  tl_port_note note;
  tl_sv text = tl_port_note_get(m, tl_node_get(m, n)->extra, false, port);
  return text.p && tl_port_note_read(text, &note) ? tl_sv_from(tl_ge_format_name(note.storage))
                                                  : TL_SV("");
}

static tl_status order_node(tl_pass *p, tl_module *m, tl_node_id n) {
  const ordered_op *o = find_ordered(tl_node_get(m, n)->op);
  tl_sv format = o ? data_format(m, n) : TL_SV("");
  bool behind = tl_sv_is(format, "NHWC") || tl_sv_is(format, "NDHWC"); /* channels */
  tl_sv filter = o && o->filter ? filter_format(m, n, o->filter) : TL_SV("");
  if (!o || (!behind && (filter.n == 0 || is_usual(filter))))
    return TL_OK;
  bool unsaid = filter.n == 0 || tl_sv_is(filter, "ND");
  if (behind && o->filter && unsaid && tl_node_get(m, n)->extra)
    return tl_fail(m->diag, TL_UNSUPPORTED, tl_node_where(m, n),
                   "the desc of the filter does not say its format, which with data_format %.*s "
                   "may be any\vset layout of input_desc[%u] to NCHW, HWCN or NHWC",
                   TL_SV_ARG(format), o->filter);
  if ((behind && ((o->filter && unsaid) || !can_turn(m, n, o, format))) || !tl_pass_may_rewrite(p))
    return TL_OK; /* no definition fits */
  if (o->filter)
    TL_TRY(turn_operand(m, n, o->filter, filter));
  if (!behind)
    return TL_OK;
  TL_TRY(turn_operand(m, n, 0, format));
  for (int i = 0; i < N_LISTS && *o->lists[i] != '0'; i++)
    TL_TRY(turn_list(m, n, o->lists[i], format));
  tl_symbol usual = tl_sv_is(format, "NHWC") ? TL_SYM_NCHW : TL_SYM_NCDHW;
  TL_TRY(tl_node_set_attr(m, n, tl_attr_string(TL_SYM_data_format, usual)));
  return turn_result(m, n, format);
}

/* Casts halves that an op multiplies into f32, which its definition gives operands and result. */
static tl_status widen_node(tl_pass *p, tl_module *m, tl_node_id n) {
  const tl_node *node = tl_node_get(m, n);
  bool f32 = node->n_results && tl_type_dtype(m, tl_value_type(m, node->results)) == TL_DTYPE_F32;
  if (!f32 || !is_among(widens, sizeof widens / sizeof *widens, node->op))
    return TL_OK;
  for (uint32_t i = 0; i < tl_node_get(m, n)->n_operands; i++) {
    tl_value_id v = tl_operand(m, n, i);
    tl_dtype d = v ? tl_type_dtype(m, tl_value_type(m, v)) : TL_DTYPE_NONE;
    if ((d != TL_DTYPE_F16 && d != TL_DTYPE_BF16) || !tl_pass_may_rewrite(p))
      continue;
    tl_maker k = tl_maker_before(m, n);
    tl_value_id wide = tl_make_as(&k, v, TL_DTYPE_F32);
    TL_TRY(tl_maker_status(&k));
    tl_node_set_operand(m, n, i, wide);
  }
  return TL_OK;
}

/* ---- driver ---------------------------------------------------------------------------------- */

static bool is_of_file(tl_sv key) {
  static const char *const prefixes[] = {TL_PORT_IN, TL_PORT_OUT, TL_AIR_METADATA,
                                         TL_OUTPUT_METADATA};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (tl_sv_starts_with(key, prefixes[i]))
      return true;
  static const char *const keys[] = {TL_NOTE_TYPE, TL_NOTE_NAME, TL_NOTE_OUTPUT, TL_NOTE_ABSENT};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (tl_sv_is(key, keys[i]))
      return true;
  return false;
}

/* Forgets what only AIR has, so that no other format gets it. Forks share lists, so a new one is
 * made. */
static tl_status forget(tl_module *m, uint32_t slot) {
  const tl_extra *e = &m->extras.at[slot];
  uint32_t n = 0;
  for (uint32_t i = 0; i < e->n_metadata; i++)
    n += !is_of_file(tl_sym(m, e->metadata[i].key));
  if (n == e->n_metadata)
    return TL_OK;
  tl_pair *pairs = tl_arena_calloc(&m->arena, n + 1U, sizeof *pairs);
  if (!pairs)
    return TL_NO_MEMORY;
  n = 0;
  for (uint32_t i = 0; i < e->n_metadata; i++)
    if (!is_of_file(tl_sym(m, e->metadata[i].key)))
      pairs[n++] = e->metadata[i];
  m->extras.at[slot].metadata = pairs;
  m->extras.at[slot].n_metadata = n;
  return TL_OK;
}

tl_status tl_order_dims(tl_pass *p, tl_module *m) {
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      if (tl_node_get(m, n)->extra)
        TL_TRY(check_node(m, n));
      TL_TRY(order_node(p, m, n));
      if (m->form == TL_FORM_NPU)
        TL_TRY(widen_node(p, m, n));
    }
  }
  if (m->form != TL_FORM_NPU)
    return TL_OK;
  for (uint32_t i = 1; i < m->extras.n; i++)
    if (i != m->extra)
      TL_TRY(forget(m, i));
  return TL_OK;
}
