/* SPDX-License-Identifier: Apache-2.0 */
/* plain-outputs: outputs of the model that are no tensors become tensors, since a graph of GE gives
 * nothing else. What changes for who reads the outputs is told by a warning, one for each.
 *
 * Requires:  types inferred, loops of few iterations unrolled, so that lengths are known.
 * Keeps:     order of outputs; the name, where one output stays one.
 * After:     a sequence of known length N is N outputs, NAME_0 and so on; another one its elements
 *            stacked along a new first dim; a list of maps (ZipMap) the tensor of their values; an
 *            optional that is always there what it holds. Other outputs are as they were.
 * Cost:      O(outputs and the nodes that make their sequences).
 * Tests:     tests/golden/plain-outputs/ */
#include "ir/ops_gen.h"
#include "passes/cleanup/map_keys.h"
#include "passes/edit/maker.h"
#include "passes/edit/passes.h"
#include "passes/edit/rows.h"
#include "passes/edit/values.h"

enum { MOST_OUTPUTS = 256, MOST_STEPS = 4096 };

TL_VEC(value_vec, tl_value_id);

typedef struct border {
  tl_pass *p;
  tl_module *m;
  tl_maker k;
  value_vec made; /* the outputs from now on */
} border;

static const tl_type *type_of(const border *b, tl_value_id v) {
  return tl_type_get(b->m, tl_value_type(b->m, v));
}

static tl_status add(border *b, tl_value_id v) {
  return value_vec_push(&b->made, v) ? TL_OK : tl_no_memory(b->m);
}

/* ---- how long a sequence is ------------------------------------------------------------------ */

/* Returns the number of parts, or -1. */
static int64_t parts_of(const border *b, tl_node_id n) {
  tl_value_id split = tl_operand(b->m, n, 1);
  const tl_type *x = type_of(b, tl_operand(b->m, n, 0));
  const tl_type *t = split ? type_of(b, split) : NULL;
  int64_t axis = tl_node_attr_int(b->m, n, TL_SYM_axis, 0), each = 1;
  const tl_tensor *size = split ? tl_value_constant(b->m, split) : NULL;
  if (t && t->kind == TL_KIND_TENSOR && t->rank == 1)
    return tl_dim_is_static(t->dims[0]) ? t->dims[0] : -1;
  if (t && (t->rank != 0 || !size || !tl_tensor_int_at(b->m, size, 0, &each) || each < 1))
    return -1;
  axis = axis < 0 ? axis + x->rank : axis;
  if (x->kind != TL_KIND_TENSOR || axis < 0 || axis >= x->rank || !tl_dim_is_static(x->dims[axis]))
    return -1;
  return x->dims[axis] / each + (x->dims[axis] % each != 0);
}

/* Returns the number of elements of a sequence, or -1. */
static int64_t length_of(const border *b, tl_value_id v) {
  int64_t more = 0;
  for (int i = 0; i < MOST_STEPS; i++) {
    tl_node_id n = v ? tl_value_producer(b->m, v) : TL_NO_NODE;
    int64_t parts = -1;
    switch (n ? tl_node_get(b->m, n)->op : TL_OP_ERASED) {
    case TL_OP_Identity: break;
    case TL_OP_SequenceInsert: more++; break;
    case TL_OP_SequenceErase: more--; break;
    case TL_OP_SequenceConstruct: return tl_node_get(b->m, n)->n_operands + more;
    case TL_OP_SequenceEmpty: return more;
    case TL_OP_SplitToSequence: parts = parts_of(b, n); return parts < 0 ? -1 : parts + more;
    default: return -1;
    }
    v = tl_operand(b->m, n, 0);
  }
  return -1;
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void tell(const border *b, tl_sv name, const char *what, const char *gives) {
  tl_warn_code(b->m->diag, "W_PLAIN_OUTPUT", TL_AT_FILE(b->m->path),
               "output '%.*s' is %s: the NPU gives %s", TL_SV_ARG(name), what, gives);
}

/* ---- the forms ------------------------------------------------------------------------------- */

/* Lets `made` take over the name and the roles of an output. */
static tl_status rename(border *b, tl_value_id from, tl_value_id made) {
  tl_symbol name = tl_value_get(b->m, from)->name;
  tl_symbol fresh = tl_maker_name(&b->k, TL_SV("value"));
  if (fresh == TL_NO_SYMBOL)
    return tl_no_memory(b->m);
  tl_value_set_name(b->m, from, fresh);
  tl_value_set_name(b->m, made, name);
  tl_value_move_roles(b->m, from, made);
  return add(b, made);
}

/* The maps have the labels of the columns as keys, so that the tensor says all. */
static tl_status unzip(border *b, tl_value_id v, tl_node_id zip) {
  tl_value_id x = tl_operand(b->m, zip, 0);
  const tl_attr *strings = tl_node_attr(b->m, zip, TL_SYM_classlabels_strings);
  const tl_attr *ints = tl_node_attr(b->m, zip, TL_SYM_classlabels_int64s);
  const tl_attr *keys = strings && strings->count ? strings : ints;
  tl_buf text;
  if (!keys || (keys->kind != TL_ATTR_STRINGS && keys->kind != TL_ATTR_INTS) ||
      type_of(b, x)->kind != TL_KIND_TENSOR || tl_value_get(b->m, v)->n_uses != 1)
    return add(b, v);
  tl_buf_init(&text);
  tl_buf_add_z(&text, "the tensor of their values, a row for each map, in the order of the keys");
  tl_map_keys_print(b->m, keys, &text);
  if (!text.failed)
    tell(b, tl_value_name(b->m, v), "a list of maps", text.p);
  tl_status status = text.failed ? tl_no_memory(b->m) : TL_OK;
  tl_buf_release(&text);
  tl_node_set_op(b->m, zip, TL_OP_Identity);
  if (status == TL_OK)
    status = tl_node_set_attrs(b->m, zip, NULL, 0);
  tl_value_set_type(b->m, v, tl_value_type(b->m, x));
  return status == TL_OK ? add(b, v) : status;
}

/* One output for each element; the names are new. */
static tl_status take_apart(border *b, tl_value_id v, int64_t length) {
  tl_sv name = tl_value_name(b->m, v);
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "%lld output%s, one for each element:", (long long)length,
                length == 1 ? "" : "s");
  for (int64_t i = 0; i < length; i++) {
    tl_buf one;
    tl_buf_init(&one);
    tl_buf_printf(&one, "%.*s_%lld", TL_SV_ARG(name), (long long)i);
    tl_symbol s = one.failed ? TL_NO_SYMBOL : tl_module_fresh_name(b->m, tl_buf_view(&one));
    tl_buf_release(&one);
    tl_value_id made = tl_make_element(&b->k, v, i);
    if (s == TL_NO_SYMBOL || !made) {
      tl_buf_release(&text);
      return s == TL_NO_SYMBOL ? tl_no_memory(b->m) : tl_maker_status(&b->k);
    }
    tl_value_set_name(b->m, made, s);
    if (i < 3 || i + 1 == length)
      tl_buf_printf(&text, "%s'%.*s'",
                    i == 0  ? " "
                    : i > 3 ? " ... "
                            : ", ",
                    TL_SV_ARG(tl_sym(b->m, s)));
    TL_TRY(add(b, made));
  }
  if (!text.failed)
    tell(b, name, "a sequence", text.p);
  tl_status status = text.failed ? tl_no_memory(b->m) : TL_OK;
  tl_buf_release(&text);
  return status;
}

/* Elements that are known to differ in shape cannot be stacked; the check at the end reports
 * them. */
static tl_status stack(border *b, tl_value_id v) {
  tl_type_id element = type_of(b, v)->element;
  const tl_attr attrs[] = {tl_attr_int(TL_SYM_axis, 0), tl_attr_int(TL_SYM_new_axis, 1)};
  tl_node_spec spec = {.op = TL_OP_ConcatFromSequence,
                       .operands = &v,
                       .n_operands = 1,
                       .n_results = 1,
                       .attrs = attrs,
                       .n_attrs = 2};
  tl_maker_mark mark = tl_maker_save(&b->k);
  tl_value_id rows = tl_rows_of(b->m, v);
  tl_value_id made = rows ? tl_make_identity(&b->k, rows) : tl_make_node(&b->k, &spec);
  if (b->k.no_memory)
    return tl_no_memory(b->m);
  if (!made) {
    b->k.clash = false;
    tl_maker_undo(&b->k, mark);
    return add(b, v);
  }
  tell(b, tl_value_name(b->m, v), "a sequence",
       tl_type_is_static(b->m, element)
           ? "one tensor, the elements stacked along a new first dim"
           : "one tensor, the elements, which must have one shape, stacked along a new first dim");
  return rename(b, v, made);
}

static tl_status plain_sequence(border *b, tl_value_id v) {
  tl_node_id n = tl_value_producer(b->m, v);
  const tl_type *element = tl_type_get(b->m, type_of(b, v)->element);
  int64_t length = length_of(b, v);
  if (n && tl_node_get(b->m, n)->op == TL_OP_ai_onnx_ml_ZipMap)
    return unzip(b, v, n);
  if (element->kind != TL_KIND_TENSOR || element->dtype == TL_DTYPE_STRING || length == 0)
    return add(b, v);
  return length > 0 && length <= MOST_OUTPUTS ? take_apart(b, v, length) : stack(b, v);
}

/* Returns what an optional value holds for sure, or TL_NO_VALUE. */
static tl_value_id held_by(const border *b, tl_value_id v) {
  for (int i = 0; i < MOST_STEPS; i++) {
    tl_node_id n = v ? tl_value_producer(b->m, v) : TL_NO_NODE;
    tl_op_id op = n ? tl_node_get(b->m, n)->op : TL_OP_ERASED;
    if (op == TL_OP_Optional)
      return tl_operand(b->m, n, 0);
    if (op != TL_OP_Identity)
      return TL_NO_VALUE;
    v = tl_operand(b->m, n, 0);
  }
  return TL_NO_VALUE;
}

static tl_status plain_output(border *b, tl_value_id v) {
  tl_type_kind kind = (tl_type_kind)type_of(b, v)->kind;
  tl_value_id held = kind == TL_KIND_OPTIONAL ? held_by(b, v) : TL_NO_VALUE;
  if (held && type_of(b, held)->kind == TL_KIND_SEQUENCE) { /* its name is that of the output */
    held = tl_make_identity(&b->k, held);
    if (!held)
      return tl_maker_status(&b->k);
    TL_TRY(rename(b, v, held));
    b->made.n--;
    return plain_sequence(b, held);
  }
  if (held) {
    tell(b, tl_value_name(b->m, v), "optional", "what it holds, which is always there");
    held = tl_make_identity(&b->k, held);
    return held ? rename(b, v, held) : tl_maker_status(&b->k);
  }
  return kind == TL_KIND_SEQUENCE ? plain_sequence(b, v) : add(b, v);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool is_wanted(const border *b, const tl_graph *g) {
  for (uint32_t i = 0; i < tl_graph_n_outputs(b->m, g); i++) {
    tl_value_id v = tl_graph_output(b->m, g, i);
    tl_type_kind kind = (tl_type_kind)type_of(b, v)->kind;
    if (tl_value_get(b->m, v)->kind == TL_VALUE_RESULT &&
        (kind == TL_KIND_SEQUENCE || kind == TL_KIND_OPTIONAL))
      return true;
  }
  return false;
}

tl_status tl_pass_plain_outputs(tl_pass *p, tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  border b = {.p = p, .m = m};
  tl_status status = TL_OK;
  if (!is_wanted(&b, g) || !tl_pass_may_rewrite(p))
    return TL_OK;
  for (uint32_t i = 0; i < tl_graph_n_outputs(m, g) && status == TL_OK; i++) {
    tl_value_id v = tl_graph_output(m, g, i);
    b.k = (tl_maker){.m = m,
                     .graph = g->id,
                     .like = v ? tl_value_producer(m, v) : TL_NO_NODE,
                     .base = v ? tl_value_get(m, v)->name : 0};
    status = tl_value_get(m, v)->kind == TL_VALUE_RESULT ? plain_output(&b, v) : add(&b, v);
  }
  if (status == TL_OK)
    status = tl_graph_set_outputs(m, g->id, b.made.at, b.made.n);
  value_vec_release(&b.made);
  if (status == TL_OK)
    tl_sequences_sweep(m);
  return status;
}
