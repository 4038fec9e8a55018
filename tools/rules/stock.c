/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses what the nodes of a sample need: types and contents of operands, values of attributes.
 * Operands that tell a shape, axes or the like get what suits the operand before them. */
#include "support/hash.h"
#include "tools/rules/grower.h"
#include "lib/values/elements.h"

enum { MOST_RANK = 5, MOST_LIST = 16, MOST_ELEMENTS = 4096 };

void tl_roll_begin(tl_grower *k, uint32_t gene, uint32_t attempt) {
  k->key = tl_hash_mix(k->genes->at[gene], attempt);
  k->at = 0;
}

uint64_t tl_roll(tl_grower *k, uint64_t n) { return n ? tl_random_bits(k->key, k->at++) % n : 0; }

bool tl_chance(tl_grower *k, unsigned percent) { return tl_roll(k, 100) < percent; }

/* ---- hints ----------------------------------------------------------------------------------- */

const tl_hint *tl_pick_hint(tl_grower *k, tl_hint_kind kind, uint8_t value, uint32_t names) {
  const tl_hint *found[TL_MOST_HINTS];
  const tl_hints *h = k->soil->hints;
  uint32_t n = 0;
  for (uint32_t i = 0; i < h->n; i++) {
    bool about = (value < TL_RULE_VALUES && h->at[i].about.values >> value & 1) ||
                 (h->at[i].about.names & names);
    if (h->at[i].kind == kind && about)
      found[n++] = &h->at[i];
  }
  return n ? found[tl_roll(k, n)] : NULL;
}

/* Copies a list of integers that is written in a condition; the number of its elements. */
static uint32_t read_list(const tl_expr *list, int64_t *out) {
  uint32_t n = 0;
  for (uint16_t i = 0; i < list->n && n < MOST_LIST; i++) {
    const tl_expr *e = list->args[i];
    bool minus = e->kind == TL_EXPR_MINUS && e->n == 1;
    e = minus ? e->args[0] : e;
    if (e->kind == TL_EXPR_INT)
      out[n++] = minus ? -e->u.i : e->u.i;
  }
  return n;
}

/* ---- the world ------------------------------------------------------------------------------- */

void tl_choose_world(tl_grower *k) {
  static const uint8_t dtypes[] = {TL_DTYPE_F32, TL_DTYPE_F32, TL_DTYPE_F32, TL_DTYPE_F32,
                                   TL_DTYPE_F32, TL_DTYPE_F16, TL_DTYPE_F16, TL_DTYPE_BF16,
                                   TL_DTYPE_F64, TL_DTYPE_I32, TL_DTYPE_I64};
  static const tl_dim sizes[] = {2, 3, 4, 1, 5, 6, 8, 7, 12, 16};
  static const int ranks[] = {2, 2, 3, 3, 4, 4, 1, 5, 0};
  tl_roll_begin(k, TL_GENE_WORLD, 0);
  k->dtype = (tl_dtype)dtypes[tl_roll(k, sizeof dtypes)];
  k->rank = ranks[tl_roll(k, sizeof ranks / sizeof *ranks)];
  k->n_pool = 1 + (uint32_t)tl_roll(k, TL_POOL);
  for (uint32_t i = 0; i < k->n_pool; i++)
    k->pool[i] = sizes[tl_roll(k, sizeof sizes / sizeof *sizes)];
}

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct shape {
  tl_dim dims[2 * MOST_RANK + 2];
  int rank;
} shape;

/* Returns the known shape of a value; false if it has none that fits. */
static bool shape_of(const tl_grower *k, tl_value_id v, shape *out) {
  if (!v || !tl_type_is_static(k->m, tl_value_type(k->m, v)))
    return false;
  const tl_type *t = tl_type_get(k->m, tl_value_type(k->m, v));
  if (t->rank < 0 || t->rank > MOST_RANK)
    return false;
  out->rank = t->rank;
  for (int i = 0; i < t->rank; i++)
    out->dims[i] = t->dims[i];
  return true;
}

/* Returns a shape that is there already: of another operand, or else of any value. */
static bool any_shape(tl_grower *k, const tl_slots *slots, shape *out) {
  for (unsigned i = 0; i < 4; i++) {
    tl_value_id v = slots->n ? slots->at[tl_roll(k, slots->n)] : TL_NO_VALUE;
    if (!v && k->rule->n_values)
      v = k->values[tl_roll(k, k->rule->n_values)];
    if (shape_of(k, v, out))
      return true;
  }
  return false;
}

static tl_dim any_size(tl_grower *k) {
  static const tl_dim others[] = {1, 2, 3, 4, 5, 6, 7, 8};
  return tl_chance(k, 75) ? k->pool[tl_roll(k, k->n_pool)] : others[tl_roll(k, 8)];
}

static shape fresh_shape(tl_grower *k, int rank) {
  shape s = {.rank = rank};
  for (int i = 0; i < rank; i++)
    s.dims[i] = any_size(k);
  return s;
}

static void drop_front(shape *s, int n) {
  memmove(s->dims, s->dims + n, (size_t)(s->rank - n) * sizeof *s->dims);
  s->rank -= n;
}

static void swap_dims(shape *s, int i, int j) {
  tl_dim d = s->dims[i];
  s->dims[i] = s->dims[j];
  s->dims[j] = d;
}

/* Changes a shape into one that often stands beside it. */
static shape relate(tl_grower *k, shape s) {
  int r = s.rank;
  switch (tl_roll(k, 18)) {
  case 0: s.rank = 0; return s;
  case 1: return (shape){.rank = 1, .dims = {1}};
  case 2: /* one for each element of some dim */
    return r ? (shape){.rank = 1, .dims = {s.dims[tl_roll(k, (uint64_t)r)]}} : s;
  case 3: /* one for each channel */
    return r > 1 ? (shape){.rank = r - 1, .dims = {s.dims[1], 1, 1, 1}} : s;
  case 4: drop_front(&s, (int)tl_roll(k, (uint64_t)r + 1)); return s;
  case 5:
    if (r)
      s.dims[tl_roll(k, (uint64_t)r)] = 1;
    return s;
  case 6: /* a matrix on the right */
    return r ? (shape){.rank = 2, .dims = {s.dims[r - 1], any_size(k)}} : s;
  case 7: /* a filter, with the dims of a kernel behind */
    if (r < 3)
      return s;
    s.dims[0] = any_size(k);
    for (int i = 2; i < r; i++)
      s.dims[i] = 1 + (tl_dim)tl_roll(k, 3);
    return s;
  case 8:
    if (r > 1)
      swap_dims(&s, r - 1, r - 2);
    return s;
  case 9:
    if (r)
      s.dims[tl_roll(k, (uint64_t)r)] = any_size(k);
    return s;
  case 10: /* a dim more */
    if (r == MOST_RANK)
      return s;
    memmove(s.dims + 1, s.dims, (size_t)r * sizeof *s.dims);
    s.dims[0] = tl_chance(k, 50) ? 1 : any_size(k);
    s.rank++;
    return s;
  case 11: /* stacked matrices on the right */
    if (r > 1) {
      s.dims[r - 2] = s.dims[r - 1];
      s.dims[r - 1] = any_size(k);
    }
    return s;
  default: return s;
  }
}

/* Makes great dims small until the tensor is. */
static shape bounded(shape s) {
  for (int i = 0; i < s.rank; i++) {
    int64_t n = 1;
    for (int j = 0; j < s.rank; j++)
      n *= s.dims[j];
    if (n > MOST_ELEMENTS)
      s.dims[i] = s.dims[i] < 2 ? s.dims[i] : 2;
  }
  return s;
}

static shape choose_shape(tl_grower *k, const tl_slots *slots, const tl_want *want) {
  shape s;
  const tl_hint *rank = tl_pick_hint(k, TL_HINT_RANK, want->value, 0);
  const tl_hint *dim = tl_pick_hint(k, TL_HINT_DIM, want->value, 0);
  bool related = any_shape(k, slots, &s);
  bool one = want->constant && tl_pick_hint(k, TL_HINT_NUMBER, want->value, 0);
  if ((want->splat && tl_chance(k, 75)) || (one && tl_chance(k, 40)))
    return (shape){.rank = tl_chance(k, 80) ? 0 : 1, .dims = {1}};
  if (related && tl_chance(k, 85))
    s = relate(k, s);
  else
    s = fresh_shape(k, tl_chance(k, 70) ? k->rank : (int)tl_roll(k, MOST_RANK + 1));
  if (rank && rank->number >= 0 && rank->number <= MOST_RANK && s.rank != (int)rank->number &&
      tl_chance(k, 70))
    s = fresh_shape(k, (int)rank->number);
  if (dim && dim->number >= 0 && dim->number <= 64 && s.rank && tl_chance(k, 50))
    s.dims[tl_roll(k, (uint64_t)s.rank)] = (tl_dim)dim->number;
  return bounded(s);
}

/* Returns the dtype that the operands chosen so far leave to one of the same variable. */
static tl_dtype shared_dtype(const tl_grower *k, const tl_slots *slots, const tl_op_port *port) {
  if (!slots->row || !port || port->var == TL_ANY_TYPE || !slots->row->vars[port->var].shared)
    return TL_DTYPE_NONE;
  for (uint32_t i = 0; i < slots->n; i++) {
    const tl_op_port *other = tl_op_operand_port(slots->row, i);
    if (slots->at[i] && other && other->var == port->var)
      return tl_type_dtype(k->m, tl_value_type(k->m, slots->at[i]));
  }
  return TL_DTYPE_NONE;
}

static tl_dtype choose_dtype(tl_grower *k, const tl_slots *slots, const tl_want *want) {
  static const uint8_t common[] = {TL_DTYPE_F32,  TL_DTYPE_I64, TL_DTYPE_F16, TL_DTYPE_I32,
                                   TL_DTYPE_BOOL, TL_DTYPE_U8,  TL_DTYPE_I8,  TL_DTYPE_BF16,
                                   TL_DTYPE_F64,  TL_DTYPE_U16, TL_DTYPE_U32, TL_DTYPE_I16};
  const tl_op_port *port = slots->row ? tl_op_operand_port(slots->row, want->slot) : NULL;
  uint64_t mask = port && port->var != TL_ANY_TYPE ? slots->row->vars[port->var].dtypes
                                                   : UINT64_MAX;
  tl_dtype shared = shared_dtype(k, slots, port);
  const tl_hint *hint = tl_pick_hint(k, TL_HINT_DTYPE, want->value, 0);
  if (shared != TL_DTYPE_NONE)
    return shared;
  if (hint && mask & TL_DTYPE_BIT((unsigned)hint->number) && tl_chance(k, 60))
    return (tl_dtype)hint->number;
  if (mask & TL_DTYPE_BIT(k->dtype) && tl_chance(k, 85))
    return k->dtype;
  for (unsigned i = 0; i < 3 * sizeof common; i++) {
    /* The first ones are the likely ones. */
    tl_dtype d = (tl_dtype)common[tl_roll(k, 1 + tl_roll(k, sizeof common))];
    if (mask & TL_DTYPE_BIT(d))
      return d;
  }
  for (unsigned d = 1; d < TL_DTYPE_QI8; d++)
    if (mask & TL_DTYPE_BIT(d))
      return (tl_dtype)d;
  return TL_DTYPE_NONE;
}

/* ---- lists of integers ----------------------------------------------------------------------- */

/* A list; `scalar`: a number of rank 0. */
typedef struct list {
  int64_t at[MOST_LIST];
  uint32_t n;
  bool scalar;
} list;

static void put(list *l, int64_t v) {
  if (l->n < MOST_LIST)
    l->at[l->n++] = v;
}

static list repeat(int64_t v, uint32_t n) {
  list l = {.n = 0};
  for (uint32_t i = 0; i < n; i++)
    put(&l, v);
  return l;
}

static list some_axes(tl_grower *k, int rank) {
  list l = {.n = 0};
  uint64_t way = tl_roll(k, 5);
  bool negative = tl_chance(k, 40);
  for (int i = 0; i < rank; i++) {
    bool take = way == 0 ? i == rank - 1 : way == 1 ? i == 0 : way == 2 ? i > 1 : tl_chance(k, 50);
    if (take)
      put(&l, negative ? i - rank : i);
  }
  if (!l.n)
    put(&l, rank ? (int64_t)tl_roll(k, (uint64_t)rank) : 0);
  return l;
}

static list permutation(tl_grower *k, int rank) {
  list l = {.n = 0};
  for (int i = 0; i < rank; i++)
    put(&l, i);
  if (rank > 1 && tl_chance(k, 50)) { /* two neighbours change places */
    uint32_t i = (uint32_t)tl_roll(k, (uint64_t)rank - 1);
    l.at[i]++;
    l.at[i + 1]--;
    return l;
  }
  for (uint32_t i = l.n; i > 1; i--) {
    uint32_t j = (uint32_t)tl_roll(k, i);
    int64_t v = l.at[i - 1];
    l.at[i - 1] = l.at[j];
    l.at[j] = v;
  }
  return l;
}

static int64_t product(const tl_dim *d, int n) {
  int64_t p = 1;
  for (int i = 0; i < n; i++)
    p *= d[i];
  return p;
}

/* A shape with as many elements: dims are merged or divided, or it is that of another value. */
static list other_shape(tl_grower *k, const tl_slots *slots, shape of) {
  list l = {.n = 0};
  shape other;
  int r = of.rank, at = r > 1 ? (int)tl_roll(k, (uint64_t)r) : 0;
  switch (tl_roll(k, 7)) {
  case 0: put(&l, -1); return l;
  case 1: /* the first dims stay, the others become one */
    for (int i = 0; i < at; i++)
      put(&l, tl_chance(k, 50) ? 0 : of.dims[i]);
    put(&l, tl_chance(k, 50) ? -1 : product(of.dims + at, r - at));
    return l;
  case 2: /* one dim in front, the others stay */
    put(&l, -1);
    for (int i = at + 1; i < r; i++)
      put(&l, of.dims[i]);
    return l;
  case 3: /* one dim is divided */
    for (int i = 0; i < r; i++) {
      int64_t part = 1 + (int64_t)tl_roll(k, 4);
      bool divides = i == at && of.dims[i] % part == 0;
      put(&l, divides ? part : of.dims[i]);
      if (divides)
        put(&l, of.dims[i] / part);
    }
    return l;
  case 4: /* a dim of size 1 more */
    for (int i = 0; i < r; i++) {
      if (i == at)
        put(&l, 1);
      put(&l, of.dims[i]);
    }
    return l;
  default:
    if (!any_shape(k, slots, &other))
      other = of;
    for (int i = 0; i < other.rank; i++)
      put(&l, other.dims[i]);
    return l;
  }
}

/* Returns a list that suits an operand or attribute of this name beside a value of a shape. */
static list suited(tl_grower *k, const tl_slots *slots, tl_sv n, shape of) {
  uint32_t r = (uint32_t)of.rank, spatial = r > 2 ? r - 2 : 1;
  if (tl_sv_is(n, "shape") || tl_sv_is(n, "size") || tl_sv_is(n, "sizes") ||
      tl_sv_is(n, "output_shape"))
    return other_shape(k, slots, of);
  if (tl_sv_is(n, "axes"))
    return some_axes(k, of.rank + (tl_chance(k, 25) ? 1 : 0));
  if (tl_sv_is(n, "perm"))
    return permutation(k, of.rank);
  if (tl_sv_is(n, "pads"))
    return repeat((int64_t)tl_roll(k, 3), 2 * (tl_chance(k, 50) ? spatial : r));
  if (tl_sv_is(n, "kernel_shape"))
    return repeat(1 + (int64_t)tl_roll(k, 3), spatial);
  if (tl_sv_is(n, "strides") || tl_sv_is(n, "dilations"))
    return repeat(1 + (int64_t)tl_roll(k, 2), spatial);
  if (tl_sv_is(n, "output_padding"))
    return repeat(0, spatial);
  if (tl_sv_is(n, "repeats"))
    return repeat(1 + (int64_t)tl_roll(k, 2), r);
  if (tl_sv_is(n, "split")) {
    int64_t d = r ? of.dims[tl_roll(k, r)] : 2;
    return d % 2 ? (list){.n = 2, .at = {1, d - 1}} : repeat(d / 2, 2);
  }
  if (tl_sv_is(n, "starts"))
    return repeat((int64_t)tl_roll(k, 2), 1);
  if (tl_sv_is(n, "ends"))
    return repeat(tl_chance(k, 50) ? INT64_MAX : 1 + (int64_t)tl_roll(k, 3), 1);
  if (tl_sv_is(n, "steps"))
    return repeat(1 + (int64_t)tl_roll(k, 2), 1);
  list l = repeat((int64_t)tl_roll(k, 3), tl_chance(k, 70) ? 1 : (uint32_t)tl_roll(k, 4));
  l.scalar = l.n == 1 && tl_chance(k, 50);
  return l;
}

static bool is_structural(const char *name) {
  static const char *const names[] = {"shape",  "axes", "pads",  "repeats", "split",
                                      "starts", "ends", "steps", "sizes",   "size",
                                      "k",      "K",    "depth", "axis",    "output_shape"};
  for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

static list choose_list(tl_grower *k, const tl_slots *slots, tl_sv name, uint8_t value,
                        uint32_t names) {
  const tl_hint *hint = tl_pick_hint(k, TL_HINT_LIST, value, names);
  const tl_hint *number = tl_pick_hint(k, TL_HINT_NUMBER, value, names);
  shape of = {.rank = k->rank};
  list l = {.n = 0};
  if (!shape_of(k, slots->n ? slots->at[0] : TL_NO_VALUE, &of))
    of = fresh_shape(k, k->rank);
  if (hint && tl_chance(k, 50)) {
    l.n = read_list(hint->list, l.at);
    return l;
  }
  l = suited(k, slots, name, of);
  if (number && l.n && tl_chance(k, 40))
    l.at[tl_roll(k, l.n)] = (int64_t)number->number;
  return l;
}

/* ---- values ---------------------------------------------------------------------------------- */

static tl_value_id add_constant(tl_grower *k, const tl_want *want, const tl_host *t) {
  tl_dim dims[2 * MOST_RANK + 2];
  for (int i = 0; i < t->rank; i++)
    dims[i] = t->dims[i];
  tl_type_id type = tl_type_tensor(k->m, (tl_dtype)t->dtype, t->rank, dims);
  tl_tensor_id made = type ? tl_tensor_from_bytes(k->m, type, t->data, t->bytes) : TL_NO_TENSOR;
  tl_value_id v = made ? tl_graph_add_constant(k->m, tl_module_main(k->m)->id,
                                               tl_grower_name(k, tl_sv_from(want->name)), made)
                       : TL_NO_VALUE;
  k->no_memory = k->no_memory || !v;
  return v;
}

/* Makes a constant of a list; an operand that must be splat keeps its number. */
static tl_value_id list_constant(tl_grower *k, const tl_want *want, tl_dtype d, const list *l) {
  int64_t n = l->n;
  tl_host *t = tl_zeros(k->soil->heap, d, l->scalar ? 0 : 1, &n);
  tl_value_id v = TL_NO_VALUE;
  for (uint32_t i = 0; t && i < l->n; i++)
    tl_put_int(t, i, want->splat ? (int64_t)want->number : l->at[i]);
  if (t)
    v = add_constant(k, want, t);
  tl_host_release(t);
  return v;
}

/* Contents of a constant: a number of the conditions, the same everywhere, positive, or any. */
static void fill(tl_grower *k, tl_host *t, const tl_want *want) {
  const tl_hint *hint = tl_pick_hint(k, TL_HINT_NUMBER, want->value, 0);
  uint64_t way = tl_roll(k, 10);
  bool given = want->splat || (hint && tl_chance(k, 50));
  double number = want->splat ? want->number : hint ? hint->number : 0;
  bool whole = !tl_dtype_is_float((tl_dtype)t->dtype);
  for (uint64_t i = 0; i < t->n; i++) {
    double r = 0.25 + (double)tl_roll(k, 1 << 12) / (1 << 12) * 1.75;
    double v = given      ? number
               : way == 0 ? 1
               : way == 1 ? (i ? tl_host_at(t, 0) : r)
               : way < 5  ? r
                          : (tl_chance(k, 50) ? r : -r);
    if (whole)
      tl_put_int(t, i, given ? (int64_t)number : (int64_t)tl_roll(k, 4));
    else
      tl_put_float(t, i, v);
  }
}

static tl_value_id tensor_constant(tl_grower *k, const tl_want *want, tl_dtype d, const shape *s) {
  tl_host *t = tl_zeros(k->soil->heap, d, s->rank, s->dims);
  tl_value_id v = TL_NO_VALUE;
  if (t) {
    fill(k, t, want);
    v = add_constant(k, want, t);
  }
  tl_host_release(t);
  return v;
}

tl_value_id tl_choose_operand(tl_grower *k, const tl_slots *slots, const tl_want *want) {
  tl_dtype d = choose_dtype(k, slots, want);
  const tl_op_port *port = slots->row ? tl_op_operand_port(slots->row, want->slot) : NULL;
  const char *name = port ? port->name : NULL;
  bool whole = tl_dtype_is_integer(d);
  if (!tl_dtype_has_numbers(d))
    return TL_NO_VALUE;
  if (whole && (is_structural(name) || (want->constant && !want->splat && tl_chance(k, 50))) &&
      (want->constant || tl_chance(k, 85))) {
    list l = choose_list(k, slots, tl_sv_from(name ? name : ""), want->value, 0);
    return list_constant(k, want, d, &l);
  }
  shape s = choose_shape(k, slots, want);
  if (want->constant || tl_chance(k, 8))
    return tensor_constant(k, want, d, &s);
  tl_type_id type = tl_type_tensor(k->m, d, s.rank, s.dims);
  tl_value_id v = type ? tl_graph_add_input(k->m, tl_module_main(k->m)->id,
                                            tl_grower_name(k, tl_sv_from(want->name)), type,
                                            TL_NO_TENSOR)
                       : TL_NO_VALUE;
  k->no_memory = k->no_memory || !v;
  return v;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static tl_attr int_attr(tl_grower *k, const tl_slots *slots, const tl_op_attr *a, uint32_t names) {
  const tl_hint *hint = tl_pick_hint(k, TL_HINT_NUMBER, TL_RULE_VALUES, names);
  const tl_hint *dtype = tl_pick_hint(k, TL_HINT_DTYPE, TL_RULE_VALUES, names);
  static const int64_t onnx[] = {1, 10, 16, 11, 7, 6, 9, 2, 3};
  tl_sv name = tl_sym(k->m, a->value.name);
  shape of;
  int rank = shape_of(k, slots->n ? slots->at[0] : TL_NO_VALUE, &of) ? of.rank : 4;
  if (dtype && tl_chance(k, 60))
    return tl_attr_int(a->value.name, tl_dtype_get((tl_dtype)dtype->number)->onnx);
  if (hint && tl_chance(k, 50))
    return tl_attr_int(a->value.name, (int64_t)hint->number);
  if (tl_sv_is(name, "to") || tl_sv_is(name, "dtype") || tl_sv_is(name, "output_dtype"))
    return tl_attr_int(a->value.name, onnx[tl_roll(k, sizeof onnx / sizeof *onnx)]);
  if (a->flag)
    return tl_attr_int(a->value.name, (int64_t)tl_roll(k, 2));
  if (tl_sv_is(name, "axis") || tl_sv_is(name, "batch_dims"))
    return tl_attr_int(a->value.name, (int64_t)tl_roll(k, 2 * (uint64_t)rank + 1) - rank);
  return tl_attr_int(a->value.name, (int64_t)tl_roll(k, 4));
}

static tl_attr float_attr(tl_grower *k, const tl_op_attr *a, uint32_t names) {
  static const float some[] = {0.5F, 1, 2, 1e-5F, 1e-6F, 0.1F, 0.2F, 1e-12F};
  const tl_hint *hint = tl_pick_hint(k, TL_HINT_NUMBER, TL_RULE_VALUES, names);
  if (hint && tl_chance(k, 50))
    return tl_attr_float(a->value.name, (float)hint->number);
  return tl_attr_float(a->value.name, some[tl_roll(k, sizeof some / sizeof *some)]);
}

tl_attr tl_choose_attr(tl_grower *k, const tl_slots *slots, const tl_op_attr *a, uint32_t names) {
  tl_attr none = {.name = a->value.name, .kind = TL_ATTR_NONE};
  const tl_hint *word = tl_pick_hint(k, TL_HINT_WORD, TL_RULE_VALUES, names);
  if (!a->required && !word && tl_chance(k, 30))
    return none;
  switch ((tl_attr_kind)a->value.kind) {
  case TL_ATTR_INT: return int_attr(k, slots, a, names);
  case TL_ATTR_FLOAT: return float_attr(k, a, names);
  case TL_ATTR_STRING:
    return word && tl_chance(k, 70) ? tl_attr_string(a->value.name, word->word) : none;
  case TL_ATTR_INTS: {
    tl_sv name = tl_sym(k->m, a->value.name);
    list l = choose_list(k, slots, name, TL_RULE_VALUES, names);
    return tl_attr_ints(k->m, a->value.name, l.at, l.n);
  }
  default: return none;
  }
}
