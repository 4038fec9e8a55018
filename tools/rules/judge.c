/* SPDX-License-Identifier: Apache-2.0 */
/* Implements trials: the comparison. Inputs come in sets, since each shows other mistakes: numbers
 * around 1, numbers on both sides of limits, positive ones for logarithms and roots, and tiny ones
 * beside which an epsilon counts. */
#include <math.h>

#include "ir/eval/eval.h"
#include "ir/fork.h"
#include "ir/verify/verify.h"
#include "support/hash.h"
#include "tools/rules/trial.h"
#include "lib/values/elements.h"

enum { SETS = 4, MOST_VALUES = 64 };

/* ---- inputs ---------------------------------------------------------------------------------- */

static double float_at(unsigned set, uint64_t r, bool wide) {
  double unit = (double)(r >> 40) / (1 << 24); /* 0 to 1 */
  double sign = r & 1 ? -1 : 1;
  switch (set) {
  case 0: return sign * (0.25 + unit * 1.75);
  case 1: return (r >> 8) % 8 ? sign * unit * 8 : 0;
  case 2: return 0.1 + unit * 4;
  default: return sign * unit * (wide ? 1e-3 : 0x1p-4);
  }
}

/* Integers are small, since many are indices; negative ones stand in one set only. */
static int64_t int_at(unsigned set, uint64_t r, bool is_signed) {
  int64_t v = (int64_t)(r >> 20 & 3);
  return set == 1 && is_signed && r & 4 ? -v : set == 2 ? v + 1 : v;
}

static void fill(tl_host *t, unsigned set, uint64_t key) {
  tl_dtype d = (tl_dtype)t->dtype;
  bool wide = d == TL_DTYPE_F32 || d == TL_DTYPE_F64;
  bool is_signed = d == TL_DTYPE_I8 || d == TL_DTYPE_I16 || d == TL_DTYPE_I32 || d == TL_DTYPE_I64;
  for (uint64_t i = 0; i < t->n; i++) {
    uint64_t r = tl_random_bits(key, i);
    if (tl_dtype_is_float(d))
      tl_put_float(t, i, float_at(set, r, wide));
    else
      tl_put_int(t, i, int_at(set, r, is_signed));
  }
}

/* Returns the size of a dim: of a symbol, the number that its name ends with, plus `grow`. */
static int64_t size_of(const tl_module *m, tl_dim d, unsigned grow) {
  if (tl_dim_is_static(d))
    return d;
  tl_sv name = tl_dim_is_symbol(d) ? tl_sym(m, tl_dim_symbol(d)) : TL_SV("");
  int64_t size = 0;
  for (size_t i = 0; i < name.n; i++)
    size = name.p[i] >= '0' && name.p[i] <= '9' ? size % 100 * 10 + (name.p[i] - '0') : 0;
  return (size ? size : 3) + grow;
}

/* Makes one input; NULL if its type is not one that can be random. */
static tl_host *random_input(const tl_bench *b, const tl_module *m, uint32_t i, unsigned set,
                             unsigned grow) {
  tl_value_id v = tl_module_main(m)->inputs.at[i];
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  int64_t dims[TL_MAX_RANK];
  if (t->kind != TL_KIND_TENSOR || t->rank < 0 || !tl_dtype_has_numbers((tl_dtype)t->dtype) ||
      t->dtype == TL_DTYPE_C64 || t->dtype == TL_DTYPE_C128)
    return NULL;
  for (int k = 0; k < t->rank; k++)
    dims[k] = size_of(m, t->dims[k], grow);
  tl_host *h = tl_zeros(b->heap, (tl_dtype)t->dtype, t->rank, dims);
  if (h)
    fill(h, set, tl_hash_mix(tl_hash_mix(b->seed, i), set));
  return h;
}

/* Returns a unit in the last place, relative. */
static double unit_of(tl_dtype d) {
  return d == TL_DTYPE_BF16  ? 0x1p-8
         : d == TL_DTYPE_F16 ? 0x1p-11
         : d == TL_DTYPE_F64 ? 0x1p-52
                             : 0x1p-23;
}

/* Moves each float by one unit in its last place, to one side or the other. */
static void move_input(tl_host *t) {
  double unit = unit_of((tl_dtype)t->dtype);
  for (uint64_t i = 0; tl_dtype_is_float((tl_dtype)t->dtype) && i < t->n; i++)
    tl_put_float(t, i, tl_host_at(t, i) * (1 + (i % 3 ? unit : -unit)));
}

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct values {
  tl_host *at[MOST_VALUES];
  uint32_t n;
} values;

static void move(const values *inputs) {
  for (uint32_t i = 0; i < inputs->n; i++)
    move_input(inputs->at[i]);
}

static void release(values *v) {
  for (uint32_t i = 0; i < v->n; i++)
    tl_host_release(v->at[i]);
  v->n = 0;
}

/* Makes a module that the evaluator runs: npu:: and tl:: ops are replaced by their meaning. NULL:
 * memory is out, or *status says why not. */
static tl_module *runnable(const tl_bench *b, const tl_module *m, tl_status *status) {
  tl_module *copy = tl_module_fork(m, b->quiet);
  *status = copy ? tl_session_run_passes(&b->cli->session, copy, "expand-definitions")
                 : TL_NO_MEMORY;
  if (*status == TL_OK)
    *status = tl_eval_check(copy, tl_module_main(copy)->id);
  if (*status == TL_OK)
    return copy;
  if (copy)
    tl_module_destroy(copy);
  return NULL;
}

static tl_status run(const tl_bench *b, tl_module *m, const values *inputs, values *out) {
  static const tl_eval_options exact = {.exact = true};
  const tl_graph *g = tl_module_main(m);
  uint32_t n = tl_graph_n_outputs(m, g);
  if (n > MOST_VALUES)
    return TL_LIMIT;
  TL_TRY(tl_eval_graph(m, g->id, &exact, b->heap, inputs->at, out->at));
  out->n = n;
  return TL_OK;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static double magnitude(const tl_host *t) {
  double most = 0;
  for (uint64_t i = 0; i < t->n; i++) {
    double v = fabs(tl_host_at(t, i));
    most = v > most && !isinf(v) ? v : most;
  }
  return most;
}

/* What decides how far outputs may be apart. */
typedef struct allowance {
  tl_numerics numerics;
  double noise;  /* how far the graph itself moves the output when inputs are rounded otherwise */
  double inputs; /* the greatest magnitude in them */
} allowance;

/* Returns how far elements may be apart. Rounding adds up in the largest number, so it is held
 * against that, and where terms cancel or grow, against the inputs and what their rounding does.
 * Numbers of 8 and 16 bits were quantized: what rounds elsewhere may end at the next one. */
static double bound_of(const tl_host *t, const allowance *allowed) {
  enum { ROUNDINGS = 16, UNITS = 4 };
  tl_dtype d = (tl_dtype)t->dtype;
  double unit = unit_of(d);
  bool coarse = unit > 0x1p-23, whole = tl_dtype_is_integer(d);
  double share = allowed->numerics == TL_NUMERICS_APPROXIMATE || coarse ? 1e-2 : 1e-4;
  double bound = fmax(share * magnitude(t), ROUNDINGS * allowed->noise);
  bound = fmax(bound, UNITS * unit * allowed->inputs);
  if (allowed->numerics == TL_NUMERICS_EXACT)
    return 0;
  return whole && tl_dtype_get(d)->bits <= 16 ? fmax(bound, 1) : bound;
}

/* Returns the largest difference of two tensors of one type. */
static double distance(const tl_host *a, const tl_host *b) {
  double most = 0;
  bool numbers = a->kind == TL_HOST_TENSOR && b->kind == TL_HOST_TENSOR && a->n == b->n &&
                 a->dtype == b->dtype && a->dtype != TL_DTYPE_STRING;
  for (uint64_t i = 0; numbers && i < a->n; i++) {
    double d = fabs(tl_host_at(a, i) - tl_host_at(b, i));
    most = isfinite(d) && d > most ? d : most;
  }
  return most;
}

static bool same_elements(const tl_host *want, const tl_host *got, const allowance *allowed,
                          tl_buf *why) {
  double bound = bound_of(want, allowed);
  for (uint64_t i = 0; i < want->n; i++) {
    double x = tl_host_at(want, i), y = tl_host_at(got, i);
    bool lost = allowed->numerics != TL_NUMERICS_EXACT &&
                !isfinite(x); /* an overflow that may go */
    if (x == y || (isnan(x) && isnan(y)) || lost || fabs(x - y) <= bound)
      continue;
    tl_buf_printf(why, "element %llu of %llu is %.9g and was %.9g", (unsigned long long)i,
                  (unsigned long long)want->n, y, x);
    return false;
  }
  return true;
}

static void add_type(tl_buf *out, const tl_host *t) {
  tl_buf_printf(out, "%s[", tl_dtype_get((tl_dtype)t->dtype)->name);
  for (int i = 0; i < t->rank; i++)
    tl_buf_printf(out, "%s%lld", i ? "," : "", (long long)t->dims[i]);
  tl_buf_add_z(out, "]");
}

static bool same(const tl_host *want, const tl_host *got, const allowance *allowed, tl_buf *why) {
  if (want->kind != TL_HOST_TENSOR || got->kind != TL_HOST_TENSOR)
    return want->kind == got->kind;
  if (want->dtype != got->dtype || !tl_host_same_shape(want, got)) {
    add_type(why, got);
    tl_buf_add_z(why, ", and was ");
    add_type(why, want);
    return false;
  }
  return want->dtype == TL_DTYPE_STRING || same_elements(want, got, allowed, why);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* What is compared. */
typedef struct pair {
  const tl_bench *b;
  tl_module *before, *after; /* runnable */
  tl_numerics numerics;
  unsigned grow;
} pair;

/* Values of one set of inputs. OTHERS: the inputs, rounded otherwise; MOVED: their outputs, or
 * nothing. */
enum { INPUTS, WANT, GOT, OTHERS, MOVED, N_VALUES };

static double inputs_size(const values *inputs) {
  double most = 0;
  for (uint32_t i = 0; i < inputs->n; i++)
    if (tl_dtype_is_float((tl_dtype)inputs->at[i]->dtype))
      most = fmax(most, magnitude(inputs->at[i]));
  return most;
}

static tl_judgement compare(const pair *p, const values *v, unsigned set, tl_buf *why) {
  const values *want = &v[WANT], *got = &v[GOT], *moved = &v[MOVED];
  static const char *const about[SETS] = {"around 1", "on both sides of 0", "above 0", "tiny"};
  for (uint32_t i = 0; i < want->n; i++) {
    tl_value_id output = tl_graph_output(p->before, tl_module_main(p->before), i);
    size_t start = why->n;
    allowance t = {.numerics = p->numerics,
                   .inputs = inputs_size(&v[INPUTS]),
                   .noise = i < moved->n ? distance(want->at[i], moved->at[i]) : 0};
    if (same(want->at[i], got->at[i], &t, why))
      continue;
    tl_buf rest;
    tl_buf_init(&rest);
    tl_buf_add(&rest, why->p + start, why->n - start);
    why->n = start;
    tl_buf_printf(why, "output '%.*s': %.*s (inputs %s)",
                  TL_SV_ARG(tl_value_name(p->before, output)), (int)rest.n, rest.p ? rest.p : "",
                  about[set]);
    tl_buf_release(&rest);
    return TL_JUDGED_WRONG;
  }
  return TL_JUDGED_SAME;
}

static bool make_inputs(const pair *p, unsigned set, values *out) {
  uint32_t n = tl_module_main(p->before)->inputs.n;
  for (uint32_t i = 0; n <= MOST_VALUES && i < n; i++) {
    out->at[i] = random_input(p->b, p->before, i, set, p->grow);
    if (!out->at[i])
      return false;
    out->n++;
  }
  return n <= MOST_VALUES;
}

/* Compares on one set of inputs. A set on which the graph itself does not run tells nothing. */
static tl_judgement judge_set(const pair *p, unsigned set, tl_buf *why) {
  values v[N_VALUES] = {{.n = 0}};
  tl_judgement j = TL_JUDGED_NOT;
  bool good = make_inputs(p, set, &v[INPUTS]) &&
              run(p->b, p->before, &v[INPUTS], &v[WANT]) == TL_OK;
  if (good && run(p->b, p->after, &v[INPUTS], &v[GOT]) != TL_OK) {
    tl_buf_printf(why, "it does not run: %s", p->b->said);
    j = TL_JUDGED_WRONG;
  } else if (good) {
    if (p->numerics != TL_NUMERICS_EXACT && make_inputs(p, set, &v[OTHERS])) {
      move(&v[OTHERS]);
      (void)run(p->b, p->before, &v[OTHERS], &v[MOVED]); /* without it nothing more is allowed */
    }
    j = compare(p, v, set, why);
  }
  for (uint32_t i = 0; i < N_VALUES; i++)
    release(&v[i]);
  return j;
}

static tl_judgement judge_sets(const pair *p, tl_buf *why) {
  tl_judgement best = TL_JUDGED_NOT;
  for (unsigned set = 0; set < SETS; set++) {
    tl_judgement j = judge_set(p, set, why);
    if (j == TL_JUDGED_WRONG)
      return j;
    best = j == TL_JUDGED_SAME ? j : best;
  }
  if (best == TL_JUDGED_NOT)
    tl_buf_printf(why, "the graph itself does not run: %s", p->b->said);
  return best;
}

static bool is_random(const tl_module *m) {
  TL_FOR_NODES(m, tl_module_main(m), n)
    if (tl_op_has_trait(tl_node_get(m, n)->op, TL_TRAIT_RANDOM))
      return true;
  return false;
}

tl_status tl_judge(const tl_bench *b, const tl_twins *t, tl_judgement *out, tl_buf *why) {
  tl_status left, right;
  pair p = {.b = b, .numerics = t->numerics, .grow = t->grow};
  *out = TL_JUDGED_NOT;
  if (is_random(t->before)) {
    tl_buf_add_z(why, "it has an op of random numbers");
    return TL_OK;
  }
  p.before = runnable(b, t->before, &left);
  p.after = p.before ? runnable(b, t->after, &right) : NULL;
  if (p.after && tl_module_verify(p.after, TL_VERIFY_ALL) != TL_OK) {
    *out = TL_JUDGED_WRONG;
    tl_buf_printf(why, "the graph is not valid: %s", b->said);
  } else if (p.after) {
    *out = judge_sets(&p, why);
  } else {
    tl_buf_add_z(why, b->said);
  }
  tl_module_destroy(p.before);
  tl_module_destroy(p.after);
  bool memory = left == TL_NO_MEMORY || (p.before && right == TL_NO_MEMORY);
  return memory || why->failed ? tl_fail_memory(&b->cli->diag, TL_NOWHERE) : TL_OK;
}
