/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move elements, on random shapes, against one loop that asks for each element of the
 * result which element of the operand it is. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/eval_check.h"

enum { RANK = 5, ROUNDS = 150, ATTRS = 1000 };

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static int64_t between(uint32_t *state, int64_t low, int64_t high) {
  return low + (int64_t)(next_random(state) % (uint32_t)(high - low + 1));
}

/* One node on an operand %x of random dims. map says where element `at` of the result comes from;
 * false: it is a zero. */
typedef struct trial {
  uint32_t seed;
  int rank;
  int64_t dims[RANK];
  int64_t out[RANK];
  tl_dtype dtype;
  char node[ATTRS]; /* "const ...  %z = Op(%x, ...)" */
  int64_t a[RANK];  /* what the map needs */
  int64_t b[RANK];
  int axis;
  int64_t list[8];
} trial;

typedef bool (*source_map)(const trial *t, const int64_t *at, int64_t *from);

static void print_list(const trial *t, const int64_t *v, char *to, size_t room) {
  size_t n = 0;
  to[0] = 0;
  for (int i = 0; i < t->rank; i++)
    n += (size_t)snprintf(to + n, room - n, "%s%lld", i ? ", " : "", (long long)v[i]);
}

static void random_operand(trial *t, int64_t least) {
  static const tl_dtype dtypes[] = {TL_DTYPE_U8, TL_DTYPE_U16, TL_DTYPE_U32, TL_DTYPE_U64,
                                    TL_DTYPE_C128};
  t->rank = (int)between(&t->seed, 1, RANK);
  t->dtype = dtypes[between(&t->seed, 0, 4)];
  for (int i = 0; i < t->rank; i++)
    t->dims[i] = between(&t->seed, least, between(&t->seed, 0, 9) ? 4 : 40);
}

static int64_t count(const int64_t *dims, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++)
    n *= dims[i];
  return n;
}

static int64_t place(const int64_t *dims, int rank, const int64_t *at) {
  int64_t p = 0;
  for (int i = 0; i < rank; i++)
    p = p * dims[i] + at[i];
  return p;
}

static bool same_elements(const trial *t, source_map map, const char *x, const tl_host *z) {
  int64_t at[RANK] = {0}, from[RANK];
  static const char zero[16] = {0};
  size_t size = tl_host_element_size(t->dtype);
  if (z->rank != t->rank || memcmp(z->dims, t->out, (size_t)t->rank * sizeof *t->out) != 0)
    return false;
  for (uint64_t k = 0; k < z->n; k++) {
    const char *want = map(t, at, from) ? x + (size_t)place(t->dims, t->rank, from) * size : zero;
    if (memcmp((const char *)z->data + k * size, want, size) != 0)
      return false;
    for (int i = t->rank - 1; i >= 0 && ++at[i] == t->out[i]; i--)
      at[i] = 0;
  }
  return true;
}

static void run_trial(const trial *t, source_map map) {
  char dims[200], text[ATTRS + 300];
  size_t size = tl_host_element_size(t->dtype);
  int64_t n = count(t->dims, t->rank);
  unsigned char *x = malloc((size_t)n * size + 1);
  tl_host_heap heap;
  eval_run r;
  CU_ASSERT_PTR_NOT_NULL_FATAL(x);
  for (size_t i = 0; i < (size_t)n * size; i++)
    x[i] = (unsigned char)(1 + (i * 2654435761u >> 13) % 255);
  print_list(t, t->dims, dims, sizeof dims);
  snprintf(text, sizeof text, "graph @g(%%x: %s[%s]) -> (%%z) {\n%s\n}\n",
           tl_dtype_get(t->dtype)->name, dims, t->node);
  tl_host_heap_init(&heap, 0);
  tl_host *input = tl_host_borrow(&heap, t->dtype, t->rank, t->dims, x);
  eval_run_open(&r, text, false, NULL, &input);
  bool ok = r.status == TL_OK && same_elements(t, map, (const char *)x, r.outputs[0]);
  if (!ok)
    printf("  %s  %s\n", text, r.message);
  CU_ASSERT_TRUE(ok);
  eval_run_close(&r);
  tl_host_release(input);
  tl_host_heap_release(&heap);
  free(x);
}

/* ---- Transpose ------------------------------------------------------------------------------ */

static bool transposed(const trial *t, const int64_t *at, int64_t *from) {
  for (int i = 0; i < t->rank; i++)
    from[t->a[i]] = at[i];
  return true;
}

static void transposes_agree(void) {
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    trial t = {.seed = round * 7919};
    char perm[100];
    random_operand(&t, 0);
    for (int i = 0; i < t.rank; i++)
      t.a[i] = i;
    for (int i = t.rank - 1; i > 0; i--) {
      int64_t k = between(&t.seed, 0, i), v = t.a[i];
      t.a[i] = t.a[k];
      t.a[k] = v;
    }
    for (int i = 0; i < t.rank; i++)
      t.out[i] = t.dims[t.a[i]];
    print_list(&t, t.a, perm, sizeof perm);
    snprintf(t.node, sizeof t.node, "%%z = Transpose(%%x) {perm=[%s]}", perm);
    run_trial(&t, transposed);
  }
}

/* ---- Slice ---------------------------------------------------------------------------------- */

static bool sliced(const trial *t, const int64_t *at, int64_t *from) {
  for (int i = 0; i < t->rank; i++)
    from[i] = t->a[i] + at[i] * t->b[i];
  return true;
}

static void slices_agree(void) {
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    trial t = {.seed = round * 104729};
    int64_t starts[RANK], ends[RANK];
    char s[100], e[100], a[100], p[100];
    int64_t axes[RANK];
    random_operand(&t, 0);
    for (int i = 0; i < t.rank; i++) {
      int64_t d = t.dims[i];
      starts[i] = between(&t.seed, -d - 2, d + 2);
      ends[i] = between(&t.seed, -d - 2, d + 2);
      t.b[i] = between(&t.seed, 1, 3) * (between(&t.seed, 0, 1) ? 1 : -1);
      axes[i] = between(&t.seed, 0, 1) ? i : i - t.rank;
      t.out[i] = 0;
      /* the elements that a walk from the wrapped start visits before the wrapped end */
      int64_t first = starts[i] < 0 ? starts[i] + d : starts[i];
      int64_t last = ends[i] < 0 ? ends[i] + d : ends[i];
      if (first < 0)
        first = 0;
      if (t.b[i] < 0 && first > d - 1)
        first = d - 1;
      for (int64_t k = first; k >= 0 && k < d && (t.b[i] > 0 ? k < last : k > last); k += t.b[i])
        t.out[i]++;
      t.a[i] = first;
    }
    print_list(&t, starts, s, sizeof s);
    print_list(&t, ends, e, sizeof e);
    print_list(&t, axes, a, sizeof a);
    print_list(&t, t.b, p, sizeof p);
    snprintf(t.node, sizeof t.node,
             "const %%s = i64[%d] [%s]  const %%e = i64[%d] [%s]  const %%a = i64[%d] [%s]\n"
             "const %%p = i64[%d] [%s]  %%z = Slice(%%x, %%s, %%e, %%a, %%p)",
             t.rank, s, t.rank, e, t.rank, a, t.rank, p);
    run_trial(&t, sliced);
  }
}

/* ---- Gather --------------------------------------------------------------------------------- */

static bool gathered(const trial *t, const int64_t *at, int64_t *from) {
  for (int i = 0; i < t->rank; i++)
    from[i] = i == t->axis ? t->list[at[i]] : at[i];
  return true;
}

static void gathers_agree(void) {
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    trial t = {.seed = round * 1299709};
    char text[100];
    size_t n = 0;
    random_operand(&t, 1);
    t.axis = (int)between(&t.seed, 0, t.rank - 1);
    memcpy(t.out, t.dims, sizeof t.out);
    int64_t d = t.dims[t.axis];
    t.out[t.axis] = between(&t.seed, 1, 8);
    for (int64_t i = 0; i < t.out[t.axis]; i++) {
      int64_t v = between(&t.seed, -d, d - 1);
      t.list[i] = v < 0 ? v + d : v;
      n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", i ? ", " : "", (long long)v);
    }
    snprintf(t.node, sizeof t.node, "const %%i = i32[%lld] [%s]  %%z = Gather(%%x, %%i) {axis=%d}",
             (long long)t.out[t.axis], text, t.axis - (round % 2 ? t.rank : 0));
    run_trial(&t, gathered);
  }
}

/* ---- Pad ------------------------------------------------------------------------------------ */

/* One step at a time: an index outside is reflected, wrapped or held until it is inside. */
static int64_t pad_source(int mode, int64_t i, int64_t n) {
  while (i < 0 || i >= n) {
    if (mode == 3)
      i += i < 0 ? n : -n;
    else if (mode == 2 || n == 1)
      i = i < 0 ? 0 : n - 1;
    else
      i = i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i;
}

static bool padded(const trial *t, const int64_t *at, int64_t *from) {
  for (int i = 0; i < t->rank; i++) {
    int64_t cut = t->a[i] < 0 ? -t->a[i] : 0, n = t->dims[i] - cut + (t->b[i] < 0 ? t->b[i] : 0);
    int64_t k = at[i] - (t->a[i] > 0 ? t->a[i] : 0);
    if (t->axis == 0 && (k < 0 || k >= n))
      return false;
    from[i] = cut + pad_source(t->axis, k, n);
  }
  return true;
}

static void pads_agree(void) {
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    trial t = {.seed = round * 15485863};
    char before[100], after[100];
    random_operand(&t, 3);
    t.axis = (int)(round % 4);
    for (int i = 0; i < t.rank; i++) {
      t.a[i] = between(&t.seed, 0, 1) ? between(&t.seed, -1, 5) : 0;
      t.b[i] = between(&t.seed, 0, 1) ? between(&t.seed, -1, 5) : 0;
      t.out[i] = t.dims[i] + t.a[i] + t.b[i];
    }
    print_list(&t, t.a, before, sizeof before);
    print_list(&t, t.b, after, sizeof after);
    snprintf(t.node, sizeof t.node,
             "const %%p = i64[%d] [%s, %s]  %%z = Pad(%%x, %%p) {mode=\"%s\"}", 2 * t.rank, before,
             after, modes[t.axis]);
    run_trial(&t, padded);
  }
}

/* ---- ScatterElements ------------------------------------------------------------------------ */

/* Scattering the operand into zeros by a permutation of an axis is a gather by its inverse. */
static void scatters_agree(void) {
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    trial t = {.seed = round * 32452843};
    char index[100], shape[100], dims[100];
    size_t n = 0;
    random_operand(&t, 1);
    t.axis = (int)between(&t.seed, 0, t.rank - 1);
    t.dims[t.axis] = between(&t.seed, 1, 8);
    memcpy(t.out, t.dims, sizeof t.out);
    int64_t d = t.dims[t.axis], shift = between(&t.seed, 0, d - 1), ones[RANK];
    for (int64_t i = 0; i < d; i++) { /* element i goes to place (i + shift) mod d */
      t.list[(i + shift) % d] = i;
      n += (size_t)snprintf(index + n, sizeof index - n, "%s%lld", i ? ", " : "",
                            (long long)((i + shift) % d));
    }
    for (int i = 0; i < t.rank; i++)
      ones[i] = i == t.axis ? d : 1;
    print_list(&t, ones, shape, sizeof shape);
    print_list(&t, t.dims, dims, sizeof dims);
    snprintf(t.node, sizeof t.node,
             "const %%d = i64[%d] [%s]  const %%i = i64[%s] [%s]  %%e = Expand(%%i, %%d)\n"
             "%%z = ScatterElements(%%x, %%e, %%x) {axis=%d}",
             t.rank, dims, shape, index, t.axis);
    run_trial(&t, gathered);
  }
}

static const unit_test tests[] = {
    {"transposes agree", transposes_agree}, {"slices agree", slices_agree},
    {"gathers agree", gathers_agree},       {"pads agree", pads_agree},
    {"scatters agree", scatters_agree},     {NULL, NULL},
};

const unit_suite unit_suite_eval_moves = {"eval_moves", tests};
