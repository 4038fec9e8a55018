/* SPDX-License-Identifier: Apache-2.0 */
/* loop-to-while: replaces Loop by While, the NPU's loop, whose graphs see nothing but their inputs.
 * Its state is: the iteration; the condition, unless only the count ends the loop; the carried
 * values; a buffer for each stacked result; the values that the body uses from outside, handed on
 * as they are. Constants from outside are copied into the body. A buffer has as many rows as the
 * trip count and takes the value of an iteration where its place equals the iteration (an operator
 * that writes in place would change a buffer that others may still read); without a trip count it
 * grows. Values whose shape is only known at run time are appended flat, with the shape beside
 * them.
 *
 * Requires:  types inferred, captures of If bodies explicit.   Keeps: names of results.
 * After:     no Loop is left but those that carry or use what is no tensor, or stack values of
 *            open rank; a remark tells why.
 * Cost:      O(nodes + nodes of the bodies).
 * Tests:     tests/golden/loop-to-while/ */
#include "ir/ops_gen.h"
#include "ir/trace.h"
#include "passes/edit/copy.h"
#include "passes/edit/passes.h"
#include "passes/loops/loops.h"

/* Buffers of longer loops grow: exporters write such a count to mean "until the condition says
 * so". */
enum { LONGEST = 1 << 24 };

/* One loop at work. */
typedef struct looping {
  tl_pass *p;
  tl_module *m;
  tl_loop_form f;
  tl_maker k;           /* around the node */
  tl_value_id room;     /* how many values a buffer takes, int64[]; TL_NO_VALUE: there is none */
  tl_value_id count;    /* trip count, int64[]; TL_NO_VALUE: none */
  int64_t known_count;  /* TL_DIM_UNKNOWN: not known */
  bool exact;           /* every iteration up to the count runs */
  bool grows;           /* buffers have no bound */
  tl_u32_vec captured;  /* values from outside that are no constants */
  tl_u32_vec constants; /* those that are */
  tl_u32_vec start;     /* operands of the While, one for each value of its state */
  tl_u32_vec types;     /* of the state */
  tl_graph_id test;     /* graphs of the While, TL_NO_GRAPH until they are there */
  tl_graph_id made;
  uint32_t first_carried; /* places in the state */
  uint32_t first_buffer;
  uint32_t first_captured;
  uint32_t place_of_count;
  uint32_t place_of_places;
} looping;

static bool no_memory(looping *l) {
  l->k.no_memory = true;
  return false;
}

static const tl_type *type_of(const looping *l, tl_value_id v) {
  return tl_type_get(l->m, tl_value_type(l->m, v));
}

static tl_value_id stacked(const looping *l, uint32_t i) {
  return tl_graph_output(l->m, l->f.body, 1 + l->f.n_carried + i);
}

static tl_value_id stacked_result(const looping *l, uint32_t i) {
  return tl_result(l->m, l->f.node, l->f.n_carried + i);
}

static bool is_wanted(const looping *l, uint32_t i) {
  return tl_value_get(l->m, stacked_result(l, i))->n_uses > 0;
}

/* Returns true if the shape of stacked value i is only known at run time. */
static bool is_open(const looping *l, uint32_t i) {
  return !tl_type_is_static(l->m, tl_value_type(l->m, stacked(l, i)));
}

/* ---- may it be said? ------------------------------------------------------------------------- */

static bool refuse(looping *l, const char *why) {
  tl_pass_remark(l->p, l->m, l->f.node, false, "no While: %s", why);
  return false;
}

static bool is_tensor(const looping *l, tl_value_id v) {
  const tl_type *t = type_of(l, v);
  return t->kind == TL_KIND_TENSOR && t->dtype != TL_DTYPE_NONE && t->dtype != TL_DTYPE_STRING;
}

static bool find_captures(looping *l) {
  tl_u32_vec all = {0};
  bool ok = tl_graph_captures(l->m, l->f.body, &all);
  for (uint32_t i = 0; i < all.n && ok; i++)
    ok = tl_u32_vec_push(tl_value_constant(l->m, all.at[i]) ? &l->constants : &l->captured,
                         all.at[i]);
  tl_u32_vec_release(&all);
  return ok || no_memory(l);
}

/* Remarks and returns false for a loop that While cannot express. */
static bool can_say(looping *l) {
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    if (!is_tensor(l, l->f.body->inputs.at[2 + i]))
      return refuse(l, "a carried value is not a numeric tensor");
  for (uint32_t i = 0; i < l->captured.n; i++)
    if (!is_tensor(l, l->captured.at[i]))
      return refuse(l, "the body captures a value that is not a numeric tensor");
  for (uint32_t i = 0; i < l->f.n_stacked; i++) {
    if (!is_wanted(l, i))
      continue;
    if (!is_tensor(l, stacked(l, i)) || type_of(l, stacked(l, i))->rank < 0)
      return refuse(l, "the rank of a stacked value is not known");
    if (type_of(l, stacked(l, i))->rank == TL_MAX_RANK)
      return refuse(l, "a stacked value has too many dims");
  }
  return true;
}

/* ---- before the loop ------------------------------------------------------------------------- */

static tl_value_id without_dim(tl_maker *k, tl_value_id v) {
  return tl_type_get(k->m, tl_value_type(k->m, v))->rank == 1 ? tl_make_squeeze(k, v, 0) : v;
}

/* Reads the trip count. INT64_MAX and an absent operand mean no bound. */
static void read_count(looping *l) {
  tl_value_id v = tl_operand(l->m, l->f.node, 0);
  const tl_tensor *t = v ? tl_value_constant(l->m, v) : NULL;
  int64_t count = INT64_MAX;
  l->known_count = TL_DIM_UNKNOWN;
  if (t && tl_tensor_int_at(l->m, t, 0, &count) && count < INT64_MAX) {
    l->known_count = count < 0 ? 0 : count;
    l->count = tl_make_int(&l->k, l->known_count);
  } else if (v && !t) {
    l->count = without_dim(&l->k, v);
  }
  l->grows = !l->count || l->known_count > LONGEST;
}

/* Returns true for a constant true. */
static bool is_true(const looping *l, tl_value_id v) {
  const tl_tensor *t = tl_value_constant(l->m, v);
  int64_t value;
  return t && tl_tensor_int_at(l->m, t, 0, &value) && value != 0;
}

/* Adds a value to the state of the While. */
static void add_state(looping *l, tl_value_id start, tl_type_id type) {
  if (!start || !type || !tl_u32_vec_push(&l->start, start) || !tl_u32_vec_push(&l->types, type))
    l->k.no_memory = l->k.no_memory || !tl_maker_failed(&l->k);
}

static tl_type_id with_axis(looping *l, tl_value_id v, tl_dim d) {
  const tl_type t = *type_of(l, v);
  tl_dim dims[TL_MAX_RANK];
  dims[0] = d;
  for (int i = 0; i < t.rank; i++)
    dims[i + 1] = t.dims[i];
  return tl_type_tensor(l->m, (tl_dtype)t.dtype, t.rank + 1, dims);
}

/* Adds a buffer of zeros, [trip count, dims of the value]; an empty one if the count is not
 * known. */
static void add_buffer(looping *l, uint32_t i) {
  tl_value_id v = stacked(l, i);
  const tl_type t = *type_of(l, v);
  if (l->grows) {
    tl_type_id none = with_axis(l, v, 0);
    tl_tensor_id nothing = none ? tl_tensor_from_bytes(l->m, none, "", 0) : TL_NO_TENSOR;
    add_state(l, tl_make_constant(&l->k, nothing, "const"), with_axis(l, v, TL_DIM_UNKNOWN));
    return;
  }
  tl_value_id shape = tl_make_unsqueeze(&l->k, l->room, 0);
  if (t.rank) {
    tl_value_id parts[] = {shape, tl_make_ints(&l->k, t.dims, (uint32_t)t.rank)};
    shape = tl_make_concat(&l->k, parts, 2, 0);
  }
  tl_value_id zero = tl_make_number(&l->k, (tl_dtype)t.dtype, 0);
  tl_value_id made = tl_make(&l->k, TL_OP_Expand, zero, shape, TL_NO_VALUE);
  tl_type_id type = with_axis(l, v, l->known_count);
  if (made)
    tl_value_set_type(l->m, made, type);
  add_state(l, made, type);
}

/* Adds the flat buffer of an open value, and the shape of the last one. Without iterations an open
 * dim is 0, as in runtimes. */
static void add_flat(looping *l, uint32_t i) {
  const tl_type t = *type_of(l, stacked(l, i));
  int64_t dims[TL_MAX_RANK];
  const tl_dim open = TL_DIM_UNKNOWN, rank = t.rank;
  for (int k = 0; k < t.rank; k++)
    dims[k] = t.dims[k] > 0 ? t.dims[k] : 0;
  tl_type_id none = tl_type_tensor(l->m, (tl_dtype)t.dtype, 1, (const tl_dim[]){0});
  tl_tensor_id nothing = none ? tl_tensor_from_bytes(l->m, none, "", 0) : TL_NO_TENSOR;
  add_state(l, tl_make_constant(&l->k, nothing, "const"),
            tl_type_tensor(l->m, (tl_dtype)t.dtype, 1, &open));
  add_state(l, tl_make_ints(&l->k, dims, (uint32_t)t.rank),
            tl_type_tensor(l->m, TL_DTYPE_I64, 1, &rank));
}

static void add_buffers(looping *l) {
  l->first_buffer = l->start.n;
  for (uint32_t i = 0; i < l->f.n_stacked; i++) {
    if (is_wanted(l, i) && is_open(l, i))
      add_flat(l, i);
    if (!is_wanted(l, i) || is_open(l, i))
      continue;
    if (!l->grows && !l->room)
      l->room = l->known_count != TL_DIM_UNKNOWN
                    ? l->count
                    : tl_make(&l->k, TL_OP_Max, l->count, tl_make_int(&l->k, 0), TL_NO_VALUE);
    add_buffer(l, i);
  }
}

/* Adds the places of a buffer, 0, 1, 2 and so on, which the body compares with the iteration. */
static void add_places(looping *l) {
  tl_dim n = l->known_count;
  if (!l->room)
    return;
  l->place_of_places = l->start.n;
  tl_value_id zero = tl_make_int(&l->k, 0), one = tl_make_int(&l->k, 1);
  tl_value_id made = tl_make(&l->k, TL_OP_Range, zero, l->room, one);
  add_state(l, made, tl_type_tensor(l->m, TL_DTYPE_I64, 1, &n));
}

/* Returns the first condition, with the rank that the body's input has. */
static tl_value_id start_of_condition(looping *l) {
  tl_value_id v = tl_operand(l->m, l->f.node, 1);
  const int64_t one = 1;
  int rank = type_of(l, l->f.body->inputs.at[1])->rank;
  if (!v)
    return tl_make_bool(&l->k, true, rank == 1);
  if (rank < 0 || rank == type_of(l, v)->rank)
    return v;
  return rank == 0 ? without_dim(&l->k, v) : tl_make_reshape(&l->k, v, &one, 1);
}

/* Lists the state in its fixed order; the places in it are kept for the graphs. */
static void start_state(looping *l) {
  const tl_graph *g = l->f.body;
  const int64_t zero = 0;
  bool along = type_of(l, g->inputs.at[0])->rank == 1;
  tl_value_id condition = tl_operand(l->m, l->f.node, 1);
  l->exact = tl_loop_counts_only(l->m, &l->f) && l->count && (!condition || is_true(l, condition));
  add_state(l, along ? tl_make_ints(&l->k, &zero, 1) : tl_make_int(&l->k, 0),
            tl_type_tensor(l->m, TL_DTYPE_I64, along, (const tl_dim[]){1}));
  if (!l->exact)
    add_state(l, start_of_condition(l), tl_value_type(l->m, g->inputs.at[1]));
  l->first_carried = l->start.n;
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    add_state(l, tl_operand(l->m, l->f.node, 2 + i), tl_value_type(l->m, g->inputs.at[2 + i]));
  add_buffers(l);
  l->first_captured = l->start.n;
  for (uint32_t i = 0; i < l->captured.n; i++)
    add_state(l, l->captured.at[i], tl_value_type(l->m, l->captured.at[i]));
  add_places(l);
  if (!l->count || l->known_count != TL_DIM_UNKNOWN)
    return;
  l->place_of_count = l->first_captured;
  while (l->place_of_count < l->start.n && l->start.at[l->place_of_count] != l->count)
    l->place_of_count++;
  if (l->place_of_count == l->start.n) /* the body does not use it */
    add_state(l, l->count, tl_value_type(l->m, l->count));
}

/* ---- the two graphs -------------------------------------------------------------------------- */

/* Creates a graph that has the state as inputs. Names are fresh. */
static tl_maker open_graph(looping *l, const char *word, tl_graph_id *made) {
  tl_maker k = l->k;
  tl_symbol name = tl_maker_name(&l->k, tl_sv_from(word));
  k.graph = name == TL_NO_SYMBOL ? TL_NO_GRAPH
                                 : tl_graph_create(l->m, TL_GRAPH_BODY, name, l->f.node);
  k.before = TL_NO_NODE;
  k.no_memory = k.no_memory || !k.graph;
  *made = k.graph;
  for (uint32_t i = 0; i < l->types.n && !k.no_memory; i++) {
    tl_symbol input = tl_maker_name(&k, TL_SV("state"));
    k.no_memory = input == TL_NO_SYMBOL ||
                  !tl_graph_add_input(l->m, k.graph, input, l->types.at[i], TL_NO_TENSOR);
  }
  return k;
}

static tl_value_id input_of(const tl_maker *k, uint32_t i) {
  return tl_graph_get(k->m, k->graph)->inputs.at[i];
}

static void close_graph(looping *l, const tl_maker *k, const tl_value_id *outputs, uint32_t n) {
  l->k.no_memory = l->k.no_memory || k->no_memory;
  l->k.clash = l->k.clash || k->clash;
  if (!tl_maker_failed(&l->k) && tl_graph_set_outputs(l->m, k->graph, outputs, n) != TL_OK)
    l->k.no_memory = true;
}

/* Makes the test: go on while the iteration is below the count and the condition holds. */
static void make_test(looping *l) {
  tl_maker k = open_graph(l, "cond", &l->test);
  tl_value_id go_on = TL_NO_VALUE;
  if (l->count && !k.no_memory) {
    tl_value_id count = l->known_count == TL_DIM_UNKNOWN ? input_of(&k, l->place_of_count)
                                                         : tl_make_int(&k, l->known_count);
    tl_value_id less = tl_make(&k, TL_OP_Less, input_of(&k, 0), count, TL_NO_VALUE);
    go_on = less ? without_dim(&k, less) : TL_NO_VALUE;
  }
  if (!l->exact && !tl_maker_failed(&k)) {
    tl_value_id condition = without_dim(&k, input_of(&k, 1));
    go_on = go_on ? tl_make(&k, TL_OP_And, go_on, condition, TL_NO_VALUE)
                  : tl_make_identity(&k, condition);
  }
  close_graph(l, &k, &go_on, 1);
}

/* Returns the buffer with the value of this iteration: Where(place == iteration, value, buffer), or
 * the buffer with one more row. */
static tl_value_id stack(looping *l, tl_maker *k, tl_value_id buffer, tl_value_id v) {
  int64_t along[TL_MAX_RANK];
  int rank = tl_type_get(l->m, tl_value_type(l->m, buffer))->rank;
  tl_value_id row = tl_make_unsqueeze(k, v, 0);
  if (l->grows) {
    tl_value_id parts[] = {buffer, row};
    return tl_make_concat(k, parts, 2, 0);
  }
  for (int i = 0; i < rank; i++)
    along[i] = i ? 1 : -1;
  tl_value_id here =
      tl_make(k, TL_OP_Equal, input_of(k, l->place_of_places), input_of(k, 0), TL_NO_VALUE);
  if (rank > 1)
    here = tl_make_reshape(k, here, along, (uint32_t)rank);
  return tl_make(k, TL_OP_Where, here, row, buffer);
}

/* Appends a value to a flat buffer. */
static tl_value_id line_up(tl_maker *k, tl_value_id flat, tl_value_id v) {
  const int64_t all = -1;
  tl_value_id parts[] = {flat, tl_make_ints(k, &all, 1)};
  parts[1] = tl_make(k, TL_OP_Reshape, v, parts[1], TL_NO_VALUE);
  return tl_make_concat(k, parts, 2, 0);
}

static void set_inputs(looping *l, tl_copier *c) {
  const tl_graph *g = l->f.body;
  tl_maker *k = c->k;
  bool along = type_of(l, g->inputs.at[1])->rank == 1;
  tl_copy_set(c, g->inputs.at[0], input_of(k, 0));
  if (!l->exact)
    tl_copy_set(c, g->inputs.at[1], input_of(k, 1));
  else if (tl_value_get(l->m, g->inputs.at[1])->n_uses)
    tl_copy_set(c, g->inputs.at[1], tl_make_bool(k, true, along));
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    tl_copy_set(c, g->inputs.at[2 + i], input_of(k, l->first_carried + i));
  for (uint32_t i = 0; i < l->captured.n; i++)
    tl_copy_set(c, l->captured.at[i], input_of(k, l->first_captured + i));
  for (uint32_t i = 0; i < l->constants.n; i++)
    tl_copy_constant(c, l->constants.at[i]);
  tl_copy_constants(c, g);
}

/* Makes the results of the body, in the order of the state; what the loop does not change is handed
 * on. */
static void set_results(looping *l, tl_copier *c, tl_value_id *out) {
  tl_maker *k = c->k;
  tl_value_id one = tl_make_int(k, 1);
  uint32_t n = 0;
  out[n++] = tl_make(k, TL_OP_Add, input_of(k, 0), one, TL_NO_VALUE);
  if (!l->exact)
    out[n++] = tl_copy_of(c, tl_graph_output(l->m, l->f.body, 0));
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    out[n++] = tl_copy_of(c, tl_graph_output(l->m, l->f.body, 1 + i));
  for (uint32_t i = 0; i < l->f.n_stacked; i++)
    if (is_wanted(l, i) && is_open(l, i)) {
      tl_value_id v = tl_copy_of(c, stacked(l, i));
      out[n] = line_up(k, input_of(k, n), v);
      out[n + 1] = tl_make(k, TL_OP_Shape, v, TL_NO_VALUE, TL_NO_VALUE);
      n += 2;
    } else if (is_wanted(l, i)) {
      out[n] = stack(l, k, input_of(k, n), tl_copy_of(c, stacked(l, i)));
      n++;
    }
  for (; n < l->start.n; n++)
    out[n] = input_of(k, n);
}

static void make_body(looping *l) {
  tl_maker k = open_graph(l, "body", &l->made);
  tl_copier c = {.k = &k, .whole = true};
  tl_value_id *outputs = tl_arena_calloc(l->p->scratch, l->start.n, sizeof *outputs);
  k.no_memory = k.no_memory || !outputs;
  if (!k.no_memory) {
    set_inputs(l, &c);
    tl_copy_nodes(&c, l->f.body);
    set_results(l, &c, outputs);
  }
  tl_value_id true_always = tl_copy_of(&c, l->f.body->inputs.at[1]);
  tl_copier_release(&c);
  close_graph(l, &k, outputs, l->start.n);
  if (l->exact && tl_value_constant(l->m, true_always) &&
      !tl_value_get(l->m, true_always)->n_uses) /* the body did nothing but hand it on */
    tl_graph_erase_constant(l->m, true_always);
}

/* ---- the node -------------------------------------------------------------------------------- */

static tl_node_id insert_while(looping *l) {
  tl_symbol *names = tl_arena_calloc(l->p->scratch, l->start.n, sizeof *names);
  l->k.no_memory = l->k.no_memory || !names;
  for (uint32_t i = 0; i < l->start.n && !l->k.no_memory; i++)
    l->k.no_memory = (names[i] = tl_maker_name(&l->k, TL_SV("While"))) == TL_NO_SYMBOL;
  if (tl_maker_failed(&l->k))
    return TL_NO_NODE;
  const tl_attr attrs[] = {tl_attr_graph(TL_SYM_cond, l->test),
                           tl_attr_graph(TL_SYM_body, l->made)};
  tl_node_spec spec = {.op = TL_OP_tl_While,
                       .name = tl_node_get(l->m, l->f.node)->name,
                       .operands = l->start.at,
                       .n_operands = l->start.n,
                       .results = names,
                       .n_results = l->start.n,
                       .attrs = attrs,
                       .n_attrs = 2};
  tl_node_id n = tl_graph_insert(l->m, l->f.node, &spec);
  l->k.no_memory = !n || !tl_trace_derive(l->m, n, &l->f.node, 1, false);
  if (!n)
    return TL_NO_NODE;
  tl_graph_get(l->m, l->test)->owner = n;
  tl_graph_get(l->m, l->made)->owner = n;
  tl_node_get(l->m, n)->scope = tl_node_get(l->m, l->f.node)->scope;
  tl_node_get(l->m, n)->stream = tl_node_get(l->m, l->f.node)->stream;
  for (uint32_t i = 0; i < l->types.n; i++)
    tl_value_set_type(l->m, tl_result(l->m, n, i), l->types.at[i]);
  return n;
}

/* Returns the rows of a buffer that iterations have filled. */
static tl_value_id used_part(looping *l, tl_value_id buffer, tl_value_id iterations) {
  const int64_t zero = 0, one = 1;
  if (l->exact || l->grows)
    return buffer;
  tl_value_id start = tl_make_ints(&l->k, &zero, 1);
  tl_value_id end = tl_make_reshape(&l->k, iterations, &one, 1);
  const tl_value_id operands[] = {buffer, start, end, start};
  return tl_make_list(&l->k, TL_OP_Slice, operands, 4, (tl_attr){.kind = TL_ATTR_NONE});
}

/* Gives a flat buffer the shape [iterations, shape of a value]. */
static tl_value_id in_shape(looping *l, tl_value_id flat, tl_value_id shape,
                            tl_value_id iterations) {
  const int64_t one = 1;
  tl_value_id parts[] = {tl_make_ints(&l->k, &one, 1), shape};
  parts[0] = tl_make(&l->k, TL_OP_Reshape, iterations, parts[0], TL_NO_VALUE);
  shape = tl_make_concat(&l->k, parts, 2, 0);
  return tl_make_with(&l->k, TL_OP_Reshape, flat, shape, tl_attr_int(TL_SYM_allowzero, 1));
}

/* Moves name, roles and uses of a result. */
static void move_result(looping *l, tl_value_id old, tl_value_id made) {
  if (!made)
    return;
  tl_value_get(l->m, made)->name = tl_value_get(l->m, old)->name;
  tl_value_set_name(l->m, old, 0);
  tl_value_move_roles(l->m, old, made);
  tl_value_replace_uses(l->m, old, made);
}

static void move_results(looping *l, tl_node_id made) {
  uint32_t place = l->first_buffer;
  tl_value_id iterations = tl_result(l->m, made, 0);
  for (uint32_t i = 0; i < l->f.n_carried; i++)
    move_result(l, tl_result(l->m, l->f.node, i), tl_result(l->m, made, l->first_carried + i));
  for (uint32_t i = 0; i < l->f.n_stacked; i++)
    if (is_wanted(l, i) && is_open(l, i)) {
      tl_value_id flat = tl_result(l->m, made, place), shape = tl_result(l->m, made, place + 1);
      move_result(l, stacked_result(l, i), in_shape(l, flat, shape, iterations));
      place += 2;
    } else if (is_wanted(l, i)) {
      move_result(l, stacked_result(l, i),
                  used_part(l, tl_result(l->m, made, place++), iterations));
    }
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Makes the While. If shapes in the body contradict each other, everything is taken back. */
static tl_status replace(looping *l) {
  tl_maker_mark mark = tl_maker_save(&l->k);
  read_count(l);
  start_state(l);
  if (!tl_maker_failed(&l->k))
    make_test(l);
  if (!tl_maker_failed(&l->k))
    make_body(l);
  tl_node_id made = tl_maker_failed(&l->k) ? TL_NO_NODE : insert_while(l);
  if (made)
    move_results(l, made);
  if (made && !tl_maker_failed(&l->k)) {
    tl_pass_remark(l->p, l->m, l->f.node, true, "a While with a state of %u values", l->start.n);
    tl_node_erase(l->m, l->f.node);
    return TL_OK;
  }
  if (l->k.no_memory || made)
    return tl_maker_status(&l->k);
  if (l->test)
    tl_graph_erase(l->m, l->test);
  if (l->made)
    tl_graph_erase(l->m, l->made);
  tl_maker_undo(&l->k, mark);
  (void)refuse(l, "shapes in its body contradict each other");
  return TL_OK;
}

/* Handles one Loop. A result that is a training state does not prevent it: the While produces the
 * state then. */
static tl_status visit(tl_pass *p, tl_module *m, tl_node_id n) {
  const tl_pinned none = {0};
  looping l = {.p = p, .m = m};
  tl_status status = TL_OK;
  l.k = tl_maker_before(m, n);
  tl_arena_mark mark = tl_arena_save(p->scratch);
  if (tl_loop_read(m, &none, n, &l.f) && find_captures(&l) && can_say(&l) && tl_pass_may_rewrite(p))
    status = replace(&l);
  else if (l.k.no_memory)
    status = tl_maker_status(&l.k);
  tl_u32_vec_release(&l.captured);
  tl_u32_vec_release(&l.constants);
  tl_u32_vec_release(&l.start);
  tl_u32_vec_release(&l.types);
  tl_arena_rewind(p->scratch, mark);
  return status;
}

/* Visits inner loops first (graphs are numbered outside in): what they capture from further out
 * becomes their operand, which the loops around them then capture. */
tl_status tl_pass_loop_to_while(tl_pass *p, tl_module *m) {
  if (m->graphs.n == 1)
    return TL_OK;
  for (uint32_t id = m->graphs.n; id > 0; id--) {
    const tl_graph *g = tl_graph_get(m, id);
    if (g->erased)
      continue;
    TL_FOR_NODES(m, g, n)
      if (tl_node_get(m, n)->op == TL_OP_Loop)
        TL_TRY(visit(p, m, n));
  }
  return TL_OK;
}
