/* SPDX-License-Identifier: Apache-2.0 */
/* Half of the choices are near what is meaningful, so that kernels get far before they have to
 * refuse: operands share a shape or a few sizes, lists are as long as the rank. */
#include "tests/unit/hostile_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/eval/eval.h"
#include "ir/graph.h"

enum { MAX_ELEMENTS = 600, MAX_LIST = 16, N_SIZES = 3, DEEP_RANK = 8, MAX_TEXT = 24 };

/* What the choices for one node have in common. */
typedef struct maker {
  hostile_case *c;
  const tl_op *row;
  uint64_t state;
  int rank;
  int64_t dims[TL_MAX_RANK];
  int64_t sizes[N_SIZES]; /* dims are mostly these */
  bool calm;              /* no hostile values or attributes: only shapes vary */
  const hostile_hint *hint;
  const char *next;             /* operand of the hint */
  tl_dtype vars[UINT8_MAX + 1]; /* dtype of a type variable; NONE: not yet drawn */
} maker;

/* ---- numbers -------------------------------------------------------------------------------- */

static uint64_t draw(maker *k) {
  uint64_t z = k->state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static uint32_t below(maker *k, uint32_t n) { return (uint32_t)(draw(k) % n); }
static bool chance(maker *k, uint32_t percent) { return below(k, 100) < percent; }

static int64_t any_int(maker *k) {
  static const int64_t odd[] = {
      INT64_MIN, INT64_MAX,        INT32_MIN, INT32_MAX, INT64_C(1) << 31, INT64_MIN + 1,
      -1,        INT64_C(1) << 40, 255,       65536,     INT64_C(1) << 62, UINT32_MAX,
      -128,      1000000};
  if (!k->calm && chance(k, 8))
    return odd[below(k, sizeof odd / sizeof *odd)];
  if (chance(k, 25))
    return k->sizes[below(k, N_SIZES)];
  return (int64_t)below(k, 7) - (chance(k, 30) ? 3 : 0);
}

static double any_float(maker *k) {
  static const double odd[] = {NAN,    INFINITY, -INFINITY, 1e30,          -1e30,  -0.0,    1e-42,
                               3.4e38, 1e300,    1e-310,    -2147483648.0, 9.3e18, 65519.0, 0.0};
  if (!k->calm && chance(k, 8))
    return odd[below(k, sizeof odd / sizeof *odd)];
  if (chance(k, 20))
    return (double)below(k, 5);
  return (double)(int64_t)below(k, 4001) / 1000.0 - 2.0;
}

static tl_sv any_text(maker *k, char *room) {
  /* clang-format off */
  static const char *const words[] = {
      "",      "linear", "nearest", "cubic",  "bilinear", "SAME_UPPER", "SAME_LOWER", "VALID",
      "NOTSET", "DCR",   "CRD",     "sum",    "mean",     "max",        "min",        "add",
      "mul",   "none",   "constant", "reflect", "edge",   "wrap",       "half_pixel", "asymmetric",
      "zeros", "border", "tanh",    "Relu",   "forward",  "reverse",    "bidirectional", "BNSH",
      "ij,jk->ik", "...i,...j->...", "ii->i", "i,i", "->", "a b", "[a-z]+", "(a|b)*c{2,3}", "UPPER",
      "LOWER", "TFIDF",  "TF",      "IDF",    "SOFTMAX",  "LOGISTIC",   "AVERAGE",    "BRANCH_LEQ",
      "LEAF",  "xyxy",   "not_smaller", "align_corners", "default", "utf-8", "gelu", "Tanh",
      "Sigmoid", "L1",   "output_half_pixel", "MAX", "L2", "NONE", "RBF", "\xc3\xa4\xe2\x82\xac"};
  /* clang-format on */
  if (chance(k, 85))
    return tl_sv_from(words[below(k, sizeof words / sizeof *words)]);
  uint32_t n = below(k, MAX_TEXT);
  for (uint32_t i = 0; i < n; i++)
    room[i] = chance(k, 60) ? "ijk,->.()[]*+?{}|\\^$ab-12"[below(k, 25)] : (char)below(k, 256);
  return (tl_sv){room, n};
}

static tl_symbol any_symbol(maker *k) {
  char room[MAX_TEXT];
  return tl_module_intern(k->c->m, any_text(k, room));
}

/* ---- shapes --------------------------------------------------------------------------------- */

static int64_t any_dim(maker *k) {
  if (chance(k, 90))
    return k->sizes[below(k, N_SIZES)];
  return chance(k, 40) ? 0 : 1 + below(k, 9);
}

static int any_rank(maker *k) {
  if (chance(k, 80))
    return 1 + (int)below(k, 4);
  if (chance(k, 30))
    return 0;
  return chance(k, 70) ? 5 + (int)below(k, 2) : DEEP_RANK + (chance(k, 20) ? 4 : 0);
}

/* Lowers dims until the tensor is small; a shape that has a 0 may be huge elsewhere. */
static void bound(int rank, int64_t *dims) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++)
    if (dims[i] == 0)
      return;
  for (int i = 0; i < rank; i++) {
    if (dims[i] > MAX_ELEMENTS / n)
      dims[i] = 1;
    n *= dims[i];
  }
}

static void huge_but_empty(maker *k, int *rank, int64_t *dims) {
  *rank = 2 + (int)below(k, 4);
  for (int i = 0; i < *rank; i++)
    dims[i] = chance(k, 50) ? INT64_C(1) << (30 + below(k, 33)) : k->sizes[below(k, N_SIZES)];
  dims[below(k, (uint32_t)*rank)] = 0;
}

static void fresh_shape(maker *k, int *rank, int64_t *dims) {
  *rank = any_rank(k);
  for (int i = 0; i < *rank; i++)
    dims[i] = any_dim(k);
  bound(*rank, dims);
}

/* The next operand of the hint; mostly as it says. */
static void hinted_shape(maker *k, const char *s, int *rank, int64_t *dims) {
  const char *other = strchr(s, '|'), *end = strchr(s, ' ');
  if (other && (!end || other < end) && chance(k, 50))
    s = other + 1;
  *rank = 0;
  while (*s >= '0' && *s <= '9') {
    char *after;
    dims[(*rank)++] = strtoll(s, &after, 10);
    s = *after == ',' ? after + 1 : after;
  }
  if (*rank && chance(k, 8))
    dims[below(k, (uint32_t)*rank)] = any_dim(k);
  if (chance(k, 2))
    dims[(*rank)++] = 1;
  if (*rank && chance(k, 2))
    --*rank;
  bound(*rank, dims);
}

static void any_shape(maker *k, int *rank, int64_t *dims) {
  if (k->next) {
    hinted_shape(k, k->next, rank, dims);
    return;
  }
  uint32_t how = below(k, 100);
  if (how < 55) {
    *rank = k->rank;
    memcpy(dims, k->dims, sizeof k->dims);
    if (*rank && chance(k, 15))
      dims[below(k, (uint32_t)*rank)] = chance(k, 50) ? 1 : any_dim(k);
    bound(*rank, dims);
  } else if (how < 75) {
    const int64_t lengths[] = {k->rank, 2 * (int64_t)k->rank, 1, 2, k->rank > 2 ? k->rank - 2 : 1};
    *rank = 1;
    dims[0] = chance(k, 60) ? any_dim(k) : lengths[below(k, 5)];
  } else if (how < 84) {
    *rank = 0;
  } else if (how < 97 || k->calm) {
    fresh_shape(k, rank, dims);
  } else {
    huge_but_empty(k, rank, dims);
  }
}

/* ---- operands ------------------------------------------------------------------------------- */

static tl_dtype any_dtype(maker *k, uint64_t set) {
  uint32_t n = (uint32_t)__builtin_popcountll(set);
  if (n == 0 || (!k->calm && chance(k, 1)))
    return (tl_dtype)(1 + below(k, TL_DTYPE_U2));
  if (set >> TL_DTYPE_F32 & 1 && chance(k, 50))
    return TL_DTYPE_F32;
  for (uint32_t skip = below(k, n); skip; skip--)
    set &= set - 1;
  return (tl_dtype)__builtin_ctzll(set);
}

static tl_dtype dtype_of_port(maker *k, const tl_op_port *port) {
  if (port->var == TL_ANY_TYPE)
    return any_dtype(k, UINT64_MAX >> (63 - TL_DTYPE_U2) & ~UINT64_C(1));
  const tl_type_var *var = &k->row->vars[port->var];
  if (!var->shared || port->heterogeneous)
    return any_dtype(k, var->dtypes);
  if (k->vars[port->var] == TL_DTYPE_NONE)
    k->vars[port->var] = any_dtype(k, var->dtypes);
  return k->vars[port->var];
}

static void fill_wide(maker *k, tl_host *t) {
  for (uint64_t i = 0; i < t->n; i++) {
    double d = any_float(k);
    float f = (float)d;
    int64_t v = any_int(k);
    switch ((tl_dtype)t->dtype) {
    case TL_DTYPE_F32: ((float *)t->data)[i] = f; break;
    case TL_DTYPE_F64: ((double *)t->data)[i] = d; break;
    case TL_DTYPE_F16: ((uint16_t *)t->data)[i] = tl_f16_from_f32(f); break;
    case TL_DTYPE_BF16: ((uint16_t *)t->data)[i] = tl_bf16_from_f32(f); break;
    case TL_DTYPE_I64:
    case TL_DTYPE_U64: ((int64_t *)t->data)[i] = v; break;
    case TL_DTYPE_I32:
    case TL_DTYPE_U32: ((uint32_t *)t->data)[i] = (uint32_t)v; break;
    case TL_DTYPE_I16:
    case TL_DTYPE_U16: ((uint16_t *)t->data)[i] = (uint16_t)v; break;
    case TL_DTYPE_BOOL: ((uint8_t *)t->data)[i] = v & 1; break;
    case TL_DTYPE_STRING: ((tl_sv *)t->data)[i] = tl_sym(k->c->m, any_symbol(k)); break;
    default: break;
    }
  }
}

/* The value that the hint gives to all elements. */
static bool hinted_value(maker *k, int64_t *v) {
  const char *equal = k->next ? strchr(k->next, '=') : NULL, *end = k->next;
  while (end && *end && *end != ' ')
    end++;
  if (!equal || equal > end || chance(k, 8))
    return false;
  *v = strtoll(equal + 1, NULL, 10);
  return true;
}

static void fill_with(tl_host *t, int64_t v) {
  for (uint64_t i = 0; i < t->n; i++)
    switch ((tl_dtype)t->dtype) {
    case TL_DTYPE_I64: ((int64_t *)t->data)[i] = v; break;
    case TL_DTYPE_I32: ((int32_t *)t->data)[i] = (int32_t)v; break;
    case TL_DTYPE_BOOL: ((uint8_t *)t->data)[i] = v & 1; break;
    default: break;
    }
}

static void fill(maker *k, tl_host *t) {
  int64_t v;
  tl_dtype d = (tl_dtype)t->dtype;
  bool bytes = d != TL_DTYPE_STRING && tl_dtype_get(d)->bits <= 8 && d != TL_DTYPE_BOOL;
  for (uint64_t i = 0; bytes && i < t->bytes; i++)
    ((uint8_t *)t->data)[i] = (uint8_t)(chance(k, 50) ? any_int(k) : (int64_t)draw(k));
  for (uint64_t i = 0; (d == TL_DTYPE_C64 || d == TL_DTYPE_C128) && i < t->bytes / 4; i++)
    ((float *)t->data)[i] = (float)any_float(k);
  if (!bytes)
    fill_wide(k, t);
  if (hinted_value(k, &v))
    fill_with(t, v);
}

static tl_host *any_tensor(maker *k, tl_dtype dtype) {
  int64_t dims[TL_MAX_RANK];
  int rank;
  any_shape(k, &rank, dims);
  tl_host *t = tl_host_new(&k->c->heap, dtype, rank, dims);
  if (!t)
    t = tl_host_new(&k->c->heap, dtype, 0, NULL);
  if (t)
    fill(k, t);
  return t;
}

static tl_host *any_sequence(maker *k) {
  tl_host *items[4] = {NULL};
  uint32_t n = below(k, 5);
  tl_dtype dtype = any_dtype(k, TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_I64) |
                                    TL_DTYPE_BIT(TL_DTYPE_STRING));
  for (uint32_t i = 0; i < n; i++)
    items[i] = any_tensor(k, chance(k, 90) ? dtype : TL_DTYPE_F64);
  tl_host *s = tl_host_sequence(&k->c->heap, items, n);
  for (uint32_t i = 0; i < n; i++)
    tl_host_release(items[i]);
  return s;
}

static tl_host *hinted_sequence(maker *k) {
  k->next++;
  tl_host *items[2] = {any_tensor(k, TL_DTYPE_F32), any_tensor(k, TL_DTYPE_F32)};
  tl_host *s = tl_host_sequence(&k->c->heap, items, 2);
  tl_host_release(items[0]);
  tl_host_release(items[1]);
  return s;
}

/* A value that the port takes, mostly. */
static tl_host *any_operand(maker *k, const tl_op_port *port) {
  uint32_t kinds = port->var == TL_ANY_TYPE ? TL_KIND_BIT(TL_KIND_TENSOR)
                                            : k->row->vars[port->var].kinds;
  bool tensor = kinds & TL_KIND_BIT(TL_KIND_TENSOR);
  if (k->next && *k->next == 's')
    return hinted_sequence(k);
  if (kinds & TL_KIND_BIT(TL_KIND_OPTIONAL) && chance(k, 20))
    return tl_host_none(&k->c->heap);
  if (kinds & TL_KIND_BIT(TL_KIND_SEQUENCE) && (!tensor || chance(k, 40)))
    return any_sequence(k);
  if (!k->calm && chance(k, 1))
    return chance(k, 50) ? any_sequence(k) : tl_host_none(&k->c->heap);
  return any_tensor(k, dtype_of_port(k, port));
}

static tl_type_id type_of(maker *k, const tl_host *t) {
  tl_type type = {.kind = TL_KIND_SEQUENCE};
  if (t->kind == TL_HOST_TENSOR)
    return tl_type_tensor(k->c->m, (tl_dtype)t->dtype, t->rank, t->dims);
  if (t->kind == TL_HOST_NONE)
    return TL_NO_TYPE;
  for (uint64_t i = 0; i < t->n; i++)
    if (tl_host_item(t, i)->dtype != t->dtype)
      return TL_NO_TYPE;
  type.element = tl_type_tensor(k->c->m, (tl_dtype)t->dtype, TL_RANK_UNKNOWN, NULL);
  return t->n ? tl_type_intern(k->c->m, &type) : TL_NO_TYPE;
}

/* Constants where the textual form and shape functions can read them, else inputs. */
static tl_value_id value_of(maker *k, tl_graph_id g, const tl_host *t) {
  tl_type_id type = type_of(k, t);
  tl_symbol name = tl_module_fresh_name(k->c->m, TL_SV("v"));
  if (t->kind != TL_HOST_TENSOR || t->dtype == TL_DTYPE_STRING || chance(k, 30))
    return tl_graph_add_input(k->c->m, g, name, type, TL_NO_TENSOR);
  return tl_graph_add_constant(k->c->m, g, name,
                               tl_tensor_from_bytes(k->c->m, type, t->data, t->bytes));
}

/* The next operand of the hint, "" after the last one. */
static const char *skip_operand(const char *s) {
  while (*s && *s != ' ')
    s++;
  return *s ? s + 1 : s;
}

static void make_hinted_operands(maker *k, tl_graph_id g, tl_value_id *values) {
  hostile_case *c = k->c;
  for (k->next = k->hint->operands; *k->next; k->next = skip_operand(k->next)) {
    uint32_t i = c->n_operands;
    const tl_op_port *port = tl_op_operand_port(k->row, i);
    bool drop = port && port->kind == TL_PORT_OPTIONAL && chance(k, 15);
    if (!port || i == HOSTILE_MAX_OPERANDS)
      break;
    c->n_operands++;
    if (*k->next == '-' || drop)
      continue;
    c->operands[i] = any_operand(k, port);
    values[i] = c->operands[i] ? value_of(k, g, c->operands[i]) : TL_NO_VALUE;
  }
  k->next = NULL;
}

static void make_operands(maker *k, tl_graph_id g, tl_value_id *values) {
  hostile_case *c = k->c;
  for (uint32_t i = 0; i < HOSTILE_MAX_OPERANDS; i++) {
    const tl_op_port *port = tl_op_operand_port(k->row, i);
    if (!port || (port->kind == TL_PORT_VARIADIC && i >= k->row->min_operands && chance(k, 35)))
      break;
    c->n_operands = i + 1;
    bool optional = port->kind == TL_PORT_OPTIONAL;
    if (optional ? chance(k, 40) : !k->calm && chance(k, 1))
      continue;
    c->operands[i] = any_operand(k, port);
    values[i] = c->operands[i] ? value_of(k, g, c->operands[i]) : TL_NO_VALUE;
  }
}

/* ---- attributes ----------------------------------------------------------------------------- */

static uint32_t any_length(maker *k) {
  const uint32_t lengths[] = {(uint32_t)k->rank,
                              k->rank > 2 ? (uint32_t)k->rank - 2 : 1,
                              2 * (uint32_t)k->rank,
                              k->rank > 2 ? 2 * (uint32_t)k->rank - 4 : 2,
                              1,
                              2,
                              3};
  uint32_t n = chance(k, 90) ? lengths[below(k, 7)] : below(k, MAX_LIST);
  return n < MAX_LIST ? n : MAX_LIST;
}

static tl_attr any_list(maker *k, const tl_attr *like) {
  int64_t ints[MAX_LIST];
  float floats[MAX_LIST];
  uint32_t ids[MAX_LIST], n = any_length(k);
  bool same = chance(k, 40);
  for (uint32_t i = 0; i < n; i++) {
    ints[i] = same && i ? ints[0] : any_int(k);
    floats[i] = (float)any_float(k);
    ids[i] = any_symbol(k);
  }
  if (like->kind == TL_ATTR_INTS)
    return tl_attr_ints(k->c->m, like->name, ints, n);
  if (like->kind == TL_ATTR_FLOATS)
    return tl_attr_floats(k->c->m, like->name, floats, n);
  if (like->kind == TL_ATTR_STRINGS)
    return tl_attr_ids(k->c->m, like->name, TL_ATTR_STRINGS, ids, n);
  return (tl_attr){0};
}

static tl_attr any_tensor_attr(maker *k, tl_symbol name) {
  tl_host *t = any_tensor(k, any_dtype(k, TL_DTYPE_BIT(TL_DTYPE_F32) | TL_DTYPE_BIT(TL_DTYPE_I64) |
                                              TL_DTYPE_BIT(TL_DTYPE_F64)));
  tl_attr a = {0};
  if (t && t->dtype != TL_DTYPE_STRING)
    a = tl_attr_tensor(name, tl_tensor_from_bytes(k->c->m, type_of(k, t), t->data, t->bytes));
  tl_host_release(t);
  return a;
}

static tl_attr any_attr(maker *k, const tl_attr *like) {
  switch ((tl_attr_kind)like->kind) {
  case TL_ATTR_INT: return tl_attr_int(like->name, any_int(k));
  case TL_ATTR_FLOAT: return tl_attr_float(like->name, (float)any_float(k));
  case TL_ATTR_STRING: return tl_attr_string(like->name, any_symbol(k));
  case TL_ATTR_TENSOR: return any_tensor_attr(k, like->name);
  case TL_ATTR_TYPE:
    return (tl_attr){.name = like->name,
                     .kind = TL_ATTR_TYPE,
                     .u.type = tl_type_tensor(k->c->m, any_dtype(k, UINT64_C(0xfffe)), 0, NULL)};
  default: return any_list(k, like);
  }
}

/* What the hint says of an attribute: the text after "name=", NULL when it is not named. */
static const char *hinted_attr(const maker *k, tl_symbol name) {
  tl_sv wanted = tl_sym(k->c->m, name);
  for (const char *s = k->hint ? k->hint->attrs : ""; *s; s = skip_operand(s))
    if (strncmp(s, wanted.p, wanted.n) == 0 && s[wanted.n] == '=')
      return s + wanted.n + 1;
  return NULL;
}

static tl_attr read_attr(maker *k, const tl_attr *like, const char *s) {
  int64_t ints[MAX_LIST];
  uint32_t n = 0;
  if (*s == '#')
    return tl_attr_string(like->name,
                          tl_module_intern(k->c->m, (tl_sv){s + 1, strcspn(s + 1, " ")}));
  while (n < MAX_LIST && *s && *s != ' ') {
    char *after;
    ints[n++] = strtoll(s, &after, 10);
    s = *after == ',' ? after + 1 : after;
  }
  return like->kind == TL_ATTR_INTS ? tl_attr_ints(k->c->m, like->name, ints, n)
                                    : tl_attr_int(like->name, ints[0]);
}

static uint32_t make_attrs(maker *k, tl_attr *attrs) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->row->n_attrs; i++) {
    const tl_op_attr *a = &k->row->attrs[i];
    const char *hinted = hinted_attr(k, a->value.name);
    if (hinted && chance(k, 95)) {
      attrs[n++] = read_attr(k, &a->value, hinted);
      continue;
    }
    if (k->hint && !a->required && chance(k, 80))
      continue;
    if (a->required ? !k->calm && chance(k, 2) : chance(k, k->calm ? 75 : 50))
      continue;
    attrs[n] = any_attr(k, &a->value);
    n += attrs[n].kind != TL_ATTR_NONE;
  }
  return n;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void remember(void *user, const tl_diagnostic *d) {
  if (d->severity == TL_ERROR)
    snprintf(user, sizeof((hostile_case *)0)->message, "%s", d->message);
}

bool hostile_can(const tl_op *row) {
  return tl_eval_has_kernel((tl_op_id)(row - tl_op_rows)) && !(row->traits & TL_TRAIT_BODY);
}

static void make_node(maker *k, uint32_t row) {
  tl_module *m = k->c->m;
  tl_graph_id g = tl_graph_create(m, TL_GRAPH_ROOT, 0, TL_NO_NODE);
  tl_value_id values[HOSTILE_MAX_OPERANDS] = {0}, results[UINT8_MAX];
  tl_symbol names[UINT8_MAX];
  tl_attr attrs[UINT8_MAX];
  if (k->hint)
    make_hinted_operands(k, g, values);
  else
    make_operands(k, g, values);
  tl_node_spec spec = {.op = row,
                       .operands = values,
                       .n_operands = k->c->n_operands,
                       .attrs = attrs,
                       .n_attrs = make_attrs(k, attrs),
                       .results = names};
  spec.n_results = k->row->n_result_ports;
  if (k->row->max_results > k->row->n_result_ports)
    spec.n_results += below(k, 4); /* variadic */
  while (spec.n_results > 1 && spec.n_results > k->row->min_results && chance(k, 20))
    spec.n_results--;
  for (uint32_t i = 0; i < spec.n_results; i++)
    names[i] = tl_module_fresh_name(m, TL_SV("r"));
  k->c->node = tl_graph_append(m, g, &spec);
  for (uint32_t i = 0; k->c->node && i < spec.n_results; i++)
    results[i] = tl_result(m, k->c->node, i);
  if (tl_graph_set_outputs(m, g, results, spec.n_results) != TL_OK)
    abort();
}

void hostile_open(hostile_case *c, uint32_t row, uint64_t seed, uint64_t memory_limit) {
  *c = (hostile_case){.diag = {.fn = remember, .user = c->message}};
  tl_host_heap_init(&c->heap, memory_limit);
  c->m = tl_module_create(&c->diag, "hostile", 0);
  maker *k = calloc(1, sizeof *k);
  if (!c->m || !k)
    abort();
  *k = (maker){.c = c, .row = &tl_op_rows[row], .state = seed};
  k->calm = chance(k, 40);
  for (int i = 0; i < N_SIZES; i++)
    k->sizes[i] = 1 + below(k, i ? 6 : 3);
  if (chance(k, 40)) /* one size for all: products and windows fit */
    k->sizes[0] = k->sizes[1] = k->sizes[2];
  fresh_shape(k, &k->rank, k->dims);
  if (chance(k, 65))
    k->hint = hostile_hint_for(k->row->name, below(k, 1000));
  make_node(k, row);
  free(k);
}

bool hostile_close(hostile_case *c) {
  for (uint32_t i = 0; i < c->n_operands; i++)
    tl_host_release(c->operands[i]);
  bool clean = c->heap.used == c->heap.text_bytes;
  tl_host_heap_release(&c->heap);
  tl_module_destroy(c->m);
  return clean;
}
