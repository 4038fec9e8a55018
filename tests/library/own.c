/* SPDX-License-Identifier: Apache-2.0 */
/* Passes, ops and files of the caller (include/tailor/extend.h, tl_model_load_from), with good and
 * with bad ones: own FOLDER. */
#include "tests/library/said.h"

/* ---- passes ---------------------------------------------------------------------------------- */

static const char chain[] = "graph @g(%x: f32[2]) -> (%y) {\n"
                            "  %a = Sin(%x)\n  %b = Relu(%a)\n  %y = Tanh(%b)\n}\n";

typedef struct pass_state {
  tl_context *c;
  int calls;
  int code; /* that the pass returns */
} pass_state;

static int count(void *user, tl_model *m) {
  pass_state *s = user;
  s->calls++;
  NEED(tl_model_count_nodes(m) > 0);
  return s->code;
}

/* Puts the operand of each Relu in place of it: two changes each. */
static int drop_relu(void *user, tl_model *m) {
  tl_graph_view g;
  tl_node_view n;
  ((pass_state *)user)->calls++;
  NEED(tl_model_graph(m, tl_model_main_graph(m), &g));
  for (uint32_t i = g.first, next; i; i = next) {
    NEED(tl_model_node(m, i, &n));
    next = n.next;
    if (n.op.n != 4 || memcmp(n.op.at, "Relu", 4) != 0)
      continue;
    if (tl_model_replace_uses(m, tl_model_result(m, i, 0), tl_model_operand(m, i, 0)) ||
        tl_model_erase_node(m, i))
      return TL_ERROR_INTERNAL;
  }
  return TL_SUCCESS;
}

/* What a pass must not do is refused, and does no harm. */
static int misbehave(void *user, tl_model *m) {
  pass_state *s = user;
  tl_model *other = NULL;
  tl_pass_def def = {.name = "inner", .run = count, .user = s};
  tl_tensors *t = NULL;
  REFUSED(tl_context_set(s->c, "opt-level", "0"), TL_ERROR_USAGE, "must not give options");
  REFUSED(tl_context_unset(s->c, "opt-level"), TL_ERROR_USAGE, "must not");
  REFUSED(tl_pass_register(s->c, &def), TL_ERROR_USAGE, "must not register a pass");
  REFUSED(tl_op_register(s->c, &(tl_op_def){.name = "X"}), TL_ERROR_USAGE, "must not");
  REFUSED(tl_rules_register(s->c, "r", "rules 1\n", 8), TL_ERROR_USAGE, "must not");
  REFUSED(tl_model_load(s->c, "x.onnx", &other), TL_ERROR_USAGE, "must not load a model");
  REFUSED(tl_model_copy(m, s->c, &other), TL_ERROR_USAGE, "must not copy a model");
  REFUSED(tl_model_optimize(m, TL_FOR_ONNX), TL_ERROR_USAGE, "must not optimize");
  REFUSED(tl_model_run_passes(m, "dead-nodes"), TL_ERROR_USAGE, "must not run passes");
  REFUSED(tl_model_infer(m), TL_ERROR_USAGE, "must not infer");
  REFUSED(tl_model_run(m, NULL, 0, NULL, &t), TL_ERROR_USAGE, "must not run a model");
  NEED(tl_model_check(m) == TL_SUCCESS && !other && !t);
  return TL_SUCCESS;
}

/* Leaves a node behind the one that uses it. */
static int break_order(void *user, tl_model *m) {
  tl_graph_view g;
  uint32_t x = tl_model_input(m, tl_model_main_graph(m), 0), made;
  tl_new_node late = {.op = "Neg",
                      .operands = &x,
                      .n_operands = 1,
                      .n_results = 1,
                      .graph = tl_model_main_graph(m)};
  (void)user;
  NEED(tl_model_graph(m, tl_model_main_graph(m), &g));
  NEED(tl_model_add_node(m, &late, &made) == TL_SUCCESS);
  return tl_model_set_operand(m, g.first, 0, tl_model_result(m, made, 0));
}

static void refuse_passes(tl_context *c, pass_state *s) {
  tl_pass_def good = {.name = "count", .run = count, .user = s}, bad = good;
  NEED(tl_pass_register(c, &good) == TL_SUCCESS);
  REFUSED(tl_pass_register(c, &good), TL_ERROR_USAGE, "there is a pass 'count' already");
  bad.name = "dead-nodes"; /* of the table */
  REFUSED(tl_pass_register(c, &bad), TL_ERROR_USAGE, "there is a pass 'dead-nodes' already");
  static const char *const names[] = {NULL, "", "Count", "a,b", "a b", "a_b"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bad.name = names[i];
    REFUSED(tl_pass_register(c, &bad), TL_ERROR_USAGE, "lower case");
  }
  bad = (tl_pass_def){.name = "other"};
  REFUSED(tl_pass_register(c, &bad), TL_ERROR_USAGE, "needs a function");
  bad = (tl_pass_def){.name = "other", .run = count, .level = 3};
  REFUSED(tl_pass_register(c, &bad), TL_ERROR_USAGE, "level");
  bad = (tl_pass_def){.name = "other", .run = count, .after = "nothing"};
  REFUSED(tl_pass_register(c, &bad), TL_ERROR_USAGE, "no pass 'nothing' to run behind");
  bad.after = "count"; /* order among passes of the caller is that of registration */
  REFUSED(tl_pass_register(c, &bad), TL_ERROR_USAGE, "no pass 'count' to run behind");
}

static void run_named_passes(tl_context *c, pass_state *s) {
  tl_model *m = load(c, chain);
  tl_pass_info ran;
  NEED(tl_model_run_passes(m, "count,drop-relu,count") == TL_SUCCESS && s->calls == 3);
  NEED(tl_model_count_nodes(m) == 2 && tl_model_ran_count(m) == 3);
  NEED(tl_model_ran(m, 1, &ran) && strcmp(ran.pass, "drop-relu") == 0 && ran.rewrites == 2);
  REFUSED(tl_model_run_passes(m, "cuont"), TL_ERROR_USAGE, "unknown pass 'cuont'");
  NEED(tl_model_run_passes(m, "misbehave") == TL_SUCCESS);
  s->code = TL_ERROR_UNSUPPORTED;
  REFUSED(tl_model_run_passes(m, "count"), TL_ERROR_UNSUPPORTED, "count failed with code 3");
  s->code = 99;
  REFUSED(tl_model_run_passes(m, "count"), TL_ERROR_INTERNAL, "count failed with code 99");
  s->code = TL_ERROR_CANCELLED;
  REFUSED(tl_model_run_passes(m, "count"), TL_ERROR_CANCELLED, "cancelled");
  s->code = TL_SUCCESS;
  REFUSED(tl_model_run_passes(m, "break-order"), TL_ERROR_INPUT, "'break-order' left a model");
  tl_model_destroy(m);
}

/* Passes that follow one of the table run in its pipelines, from their level on. */
static void run_pipelines(tl_context *c, pass_state *s) {
  for (int level = 0; level <= 2; level++) {
    tl_model *m = load(c, chain);
    s->calls = 0;
    NEED(tl_context_set_integer(c, "opt-level", level) == TL_SUCCESS);
    NEED(tl_model_optimize(m, TL_FOR_ONNX) == TL_SUCCESS);
    NEED(s->calls == (level >= 1) && tl_model_count_nodes(m) == (level >= 1 ? 2 : 3));
    tl_model_destroy(m);
  }
  NEED(tl_context_set(c, "rewrite-limit", "0") == TL_SUCCESS);
  tl_model *m = load(c, chain);
  s->calls = 0;
  NEED(tl_model_run_passes(m, "drop-relu") == TL_SUCCESS && s->calls == 1); /* 0: no limit */
  tl_model_destroy(m);
  NEED(tl_context_set(c, "rewrite-limit", "1") == TL_SUCCESS);
  m = load(c, chain);
  NEED(tl_model_run_passes(m, "drop-relu,count") == TL_SUCCESS && s->calls == 2);
  tl_model_destroy(m);
  NEED(tl_context_unset(c, "rewrite-limit") == TL_SUCCESS);
}

static void passes(void) {
  tl_context *c = make_context();
  pass_state s = {.c = c};
  tl_pass_def others[] = {
      {.name = "drop-relu", .run = drop_relu, .after = "dead-nodes", .level = 1, .user = &s},
      {.name = "misbehave", .run = misbehave, .user = &s},
      {.name = "break-order", .run = break_order}};
  refuse_passes(c, &s);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    NEED(tl_pass_register(c, &others[i]) == TL_SUCCESS);
  run_named_passes(c, &s);
  run_pipelines(c, &s);
  tl_context_destroy(c);
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* One op of ours beside one of the table, once more in a body. */
static const char scales[] = "graph @g(%x: f32[n,2], %p: bool[]) -> (%y) {\n"
                             "  %a = com.acme::Scale(%x) {factor=3.0}\n"
                             "  %b = Relu(%a)\n"
                             "  %y = If(%p) {\n"
                             "    then_branch=graph @t() -> (%t) {\n"
                             "      %t = com.acme::Scale(%b) {factor=10.0}\n"
                             "    },\n"
                             "    else_branch=graph @e() -> (%e) {\n"
                             "      %e = Identity(%b)\n"
                             "    }\n"
                             "  }\n"
                             "}\n";

/* What goes wrong in a shape function or a kernel. */
typedef enum fault {
  GOOD,
  FAILS,          /* reports why */
  FAILS_SILENTLY, /* does not */
  NO_RESULT,      /* makes or states a result that the node has not */
  BAD_DIMS,
  BAD_RANK,
  OTHER_TYPE,
  TWICE,
  NOTHING, /* does nothing, and says that all is well */
  HUGE_RESULT,
  REGISTERS
} fault;

typedef struct op_state {
  tl_context *c;
  fault shape, kernel;
  int inferred;
} op_state;

static float factor_of(const tl_model *m, uint32_t node) {
  tl_attribute_view a;
  return tl_model_find_attribute(m, node, "factor", &a) ? a.number : 1;
}

static int infer_scale(void *user, tl_shape_call *call) {
  static const int64_t wrong[] = {-3000000, 2};
  op_state *s = user;
  tl_element e;
  int32_t rank;
  const int64_t *dims;
  uint32_t node;
  s->inferred++;
  const tl_model *m = tl_shape_model(call, &node);
  NEED(factor_of(m, node) >= 3);
  if (!tl_shape_operand(call, 0, &e, &rank, &dims) || tl_shape_operand(call, 1, &e, &rank, &dims))
    return tl_shape_fail(call, "Scale has one operand");
  switch (s->shape) {
  case FAILS: return tl_shape_fail(call, "no such scale");
  case FAILS_SILENTLY: return TL_ERROR_INPUT;
  case NO_RESULT: return tl_shape_set(call, 1, e, rank, dims);
  case BAD_DIMS: return tl_shape_set(call, 0, e, 2, wrong);
  case BAD_RANK: return tl_shape_set(call, 0, e, 1000, dims);
  case REGISTERS: return tl_op_register(s->c, &(tl_op_def){.domain = "com.acme", .name = "Other"});
  case NOTHING: return TL_SUCCESS;
  default: return tl_shape_set(call, 0, e, rank, dims);
  }
}

static int compute_scale(void *user, tl_compute_call *call) {
  static const int64_t minus[] = {-1, 2}, huge[] = {1 << 20, 1 << 20};
  op_state *s = user;
  tl_tensor_view x, none;
  uint32_t node;
  void *to;
  const tl_model *m = tl_compute_model(call, &node);
  float factor = factor_of(m, node);
  NEED(tl_compute_input(call, 0, &x) && !tl_compute_input(call, 1, &none));
  switch (s->kernel) {
  case FAILS: return tl_compute_fail(call, "cannot be computed today");
  case FAILS_SILENTLY: return TL_ERROR_UNSUPPORTED;
  case NO_RESULT: return tl_compute_output(call, 1, x.element, x.rank, x.dims, &to);
  case BAD_DIMS: return tl_compute_output(call, 0, x.element, x.rank, minus, &to);
  case BAD_RANK: return tl_compute_output(call, 0, x.element, -1, x.dims, &to);
  case OTHER_TYPE: return tl_compute_output(call, 0, TL_ELEMENT_I8, x.rank, x.dims, &to);
  case HUGE_RESULT: return tl_compute_output(call, 0, x.element, 2, huge, &to);
  case NOTHING: return TL_SUCCESS;
  case REGISTERS: return tl_context_set(s->c, "opt-level", "1");
  default: break;
  }
  int code = tl_compute_output(call, 0, x.element, x.rank, x.dims, &to);
  if (code == TL_SUCCESS && s->kernel == TWICE)
    code = tl_compute_output(call, 0, x.element, x.rank, x.dims, &to);
  for (uint64_t i = 0; code == TL_SUCCESS && i < x.bytes / sizeof(float); i++)
    ((float *)to)[i] = factor * ((const float *)x.data)[i];
  return code;
}

static int run_once(tl_model *m, float *first) {
  static const int64_t dims[] = {1, 2};
  static const float x[] = {1, -2};
  static const unsigned char yes = 1;
  tl_tensor_view in[] = {{"x", TL_ELEMENT_F32, 2, dims, x, sizeof x},
                         {"p", TL_ELEMENT_BOOL, 0, NULL, &yes, 1}};
  tl_tensor_view y;
  tl_tensors *out = NULL;
  int code = tl_model_run(m, in, 2, NULL, &out);
  if (code == TL_SUCCESS && tl_tensors_get(out, 0, &y))
    *first = ((const float *)y.data)[0];
  tl_tensors_destroy(out);
  return code;
}

static void refuse_ops(tl_context *c, const tl_op_def *scale) {
  tl_op_def bad = *scale;
  REFUSED(tl_op_register(c, scale), TL_ERROR_USAGE, "there is an op 'com.acme::Scale' already");
  bad.domain = NULL;
  bad.name = "Relu";
  REFUSED(tl_op_register(c, &bad), TL_ERROR_USAGE, "there is an op 'Relu' already");
  bad.domain = "ai.onnx"; /* another spelling of it */
  REFUSED(tl_op_register(c, &bad), TL_ERROR_USAGE, "there is an op 'Relu' already");
  bad.name = "";
  REFUSED(tl_op_register(c, &bad), TL_ERROR_USAGE, "needs a name");
}

static void wrong_shapes(tl_context *c, op_state *s) {
  static const struct {
    fault fault;
    int code;
    const char *words;
  } rows[] = {{FAILS, TL_ERROR_INPUT, "no such scale"},
              {FAILS_SILENTLY, TL_ERROR_INPUT, "Scale failed with code 2"},
              {NO_RESULT, TL_ERROR_INPUT, "a result that the node has not"},
              {BAD_DIMS, TL_ERROR_INPUT, "dims that are none"},
              {BAD_RANK, TL_ERROR_INPUT, "dims that are none"},
              {REGISTERS, TL_ERROR_USAGE, "must not register an op"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tl_model *m = load(c, scales);
    s->shape = rows[i].fault;
    REFUSED(tl_model_infer(m), rows[i].code, rows[i].words);
    tl_model_destroy(m);
  }
  s->shape = NOTHING; /* which leaves the type open */
  tl_value_view v;
  tl_model *m = load(c, scales);
  NEED(tl_model_infer(m) == TL_SUCCESS);
  NEED(tl_model_value(m, tl_model_find_value(m, "a"), &v) && v.rank == TL_RANK_OPEN);
  tl_model_destroy(m);
  s->shape = GOOD;
}

static void wrong_kernels(tl_context *c, op_state *s) {
  static const struct {
    fault fault;
    int code;
    const char *words;
  } rows[] = {{FAILS, TL_ERROR_INPUT, "cannot be computed today"},
              {FAILS_SILENTLY, TL_ERROR_UNSUPPORTED, "Scale failed with code 3"},
              {NO_RESULT, TL_ERROR_INPUT, "a result that the node has not"},
              {BAD_DIMS, TL_ERROR_INPUT, "Scale"},
              {BAD_RANK, TL_ERROR_INPUT, "no tensor of numbers"},
              {OTHER_TYPE, TL_ERROR_INPUT, "another type than the model states"},
              {TWICE, TL_ERROR_INPUT, "makes a result twice"},
              {NOTHING, TL_ERROR_INPUT, "has no result 0"},
              {REGISTERS, TL_ERROR_USAGE, "must not give options"}};
  tl_model *m = load(c, scales);
  float y;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    s->kernel = rows[i].fault;
    REFUSED(run_once(m, &y), rows[i].code, rows[i].words);
  }
  s->kernel = HUGE_RESULT;
  REFUSED(run_once(m, &y), TL_ERROR_INPUT, "--max-tensor");
  NEED(tl_context_set(c, "max-tensor", "1000000000G") == TL_SUCCESS);
  tl_context_set_memory_limit(c, 1 << 20);
  REFUSED(run_once(m, &y), TL_ERROR_INPUT, "memory");
  tl_context_set_memory_limit(c, 0);
  NEED(tl_context_unset(c, "max-tensor") == TL_SUCCESS);
  s->kernel = GOOD;
  NEED(run_once(m, &y) == TL_SUCCESS && y == 30);
  tl_model_destroy(m);
}

static void ops(void) {
  tl_context *c = make_context();
  op_state s = {.c = c};
  tl_op_def scale = {"com.acme", "Scale", infer_scale, compute_scale, &s};
  tl_comparison *found = NULL;
  tl_value_view v;
  tl_model *copy = NULL, *m = load(c, scales);
  float y = 0;
  NEED(tl_model_infer(m) == TL_SUCCESS); /* nobody knows the op yet */
  NEED(tl_model_value(m, tl_model_find_value(m, "a"), &v) && v.rank == TL_RANK_OPEN);
  REFUSED(run_once(m, &y), TL_ERROR_UNSUPPORTED, "com.acme::Scale");
  NEED(tl_op_register(c, &scale) == TL_SUCCESS); /* counts for the model, too */
  refuse_ops(c, &scale);
  NEED(tl_model_infer(m) == TL_SUCCESS && s.inferred == 2);
  NEED(tl_model_value(m, tl_model_find_value(m, "a"), &v) && v.rank == 2 && v.dims[1] == 2);
  NEED(v.dims[0] < TL_DIM_OPEN && tl_model_symbol(m, v.dims[0]).n == 1);
  NEED(run_once(m, &y) == TL_SUCCESS && y == 30);
  NEED(tl_model_copy(m, c, &copy) == TL_SUCCESS);
  NEED(tl_model_optimize(copy, TL_FOR_ONNX) == TL_SUCCESS);
  NEED(tl_model_verify(m, copy, NULL, 0, NULL, &found) == TL_SUCCESS);
  NEED(tl_comparison_equal(found));
  tl_comparison_destroy(found);
  tl_model_destroy(copy);
  tl_model_destroy(m);
  wrong_shapes(c, &s);
  wrong_kernels(c, &s);
  tl_context_destroy(c);
}

/* A context that only knows the shape: the op cannot be run there. */
static void shape_alone(void) {
  tl_context *c = make_context();
  op_state s = {.c = c};
  tl_op_def scale = {"com.acme", "Scale", infer_scale, NULL, &s};
  NEED(tl_op_register(c, &scale) == TL_SUCCESS);
  tl_model *m = load(c, scales);
  float y;
  NEED(tl_model_infer(m) == TL_SUCCESS);
  REFUSED(run_once(m, &y), TL_ERROR_UNSUPPORTED, "no kernel");
  tl_model_destroy(m);
  tl_context_destroy(c);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char adds[] = "graph @g(%x: f32[4096]) -> (%y) {\n  %y = Add(%x, %x)\n}\n";

/* A model with a weight that is large enough for a file of its own. */
static tl_model *load_weighty(tl_context *c) {
  static const int64_t dims[] = {4096};
  static float data[4096];
  tl_tensor_view w = {"w", TL_ELEMENT_F32, 1, dims, data, sizeof data};
  tl_model *m = load(c, adds);
  uint32_t made, node = tl_model_user(m, tl_model_find_value(m, "x"), 0, NULL);
  for (size_t i = 0; i < 4096; i++)
    data[i] = (float)i + 0.5f;
  NEED(tl_model_add_constant(m, tl_model_main_graph(m), &w, &made) == TL_SUCCESS);
  NEED(tl_model_set_operand(m, node, 1, made) == TL_SUCCESS);
  return m;
}

enum { MAX_FILES = 4 };

/* Files in memory, which are taken and given. */
typedef struct shelf {
  char *names[MAX_FILES];
  unsigned char *bytes[MAX_FILES];
  uint64_t sizes[MAX_FILES];
  int n, lent;
  const char *lacks; /* a part of the name of a file that is not there */
  uint64_t cut;      /* bytes that files of weights lack */
  int gives_null;
} shelf;

static int take(void *user, const char *name, const void *bytes, uint64_t n) {
  shelf *s = user;
  if (s->n == MAX_FILES)
    return 1;
  s->names[s->n] = strdup(name);
  s->bytes[s->n] = malloc(n ? (size_t)n : 1);
  NEED(s->names[s->n] && s->bytes[s->n]);
  memcpy(s->bytes[s->n], bytes, (size_t)n);
  s->sizes[s->n++] = n;
  return 0;
}

/* The model is the last file, and its weights are the one before. AIR also has a list of the files
 * of weights, which nobody reads. */
static int lend(void *user, const char *name, const void **bytes, uint64_t *n) {
  shelf *s = user;
  for (int i = 0; i < s->n; i++) {
    if (strcmp(name, s->names[i]) != 0 || (s->lacks && strstr(name, s->lacks)))
      continue;
    int model = i == s->n - 1;
    *bytes = s->gives_null && !model ? NULL : s->bytes[i];
    *n = s->sizes[i] - (model ? 0 : s->cut);
    s->lent += *bytes != NULL;
    return 0;
  }
  return 1;
}

static void give_back(void *user, const void *bytes, uint64_t n) {
  NEED(bytes || !n);
  ((shelf *)user)->lent--;
}

static void empty(shelf *s) {
  for (int i = 0; i < s->n; i++) {
    free(s->names[i]);
    free(s->bytes[i]);
  }
  *s = (shelf){0};
}

/* Replaces a text in the model by one of the same length. */
static void patch(shelf *s, const char *from, const char *to) {
  unsigned char *p = s->bytes[s->n - 1];
  for (uint64_t i = 0; i + strlen(from) <= s->sizes[s->n - 1]; i++)
    if (memcmp(p + i, from, strlen(from)) == 0)
      memcpy(p + i, to, strlen(to));
}

static void wrong_files(tl_context *c, const char *name, shelf *s) {
  tl_source from = {lend, give_back, s};
  tl_model *m = NULL;
  REFUSED(tl_model_load_from(c, name, &(tl_source){0}, &m), TL_ERROR_USAGE, "needs a function");
  s->lacks = name;
  REFUSED(tl_model_load_from(c, name, &from, &m), TL_ERROR_IO, "is not there");
  s->lacks = s->names[s->n - 2];
  REFUSED(tl_model_load_from(c, name, &from, &m), TL_ERROR_IO, s->names[s->n - 2]);
  s->lacks = NULL;
  s->cut = s->sizes[s->n - 2] - 4;
  REFUSED(tl_model_load_from(c, name, &from, &m), TL_ERROR_INPUT, "beyond the end");
  s->cut = 0;
  s->gives_null = 1;
  REFUSED(tl_model_load_from(c, name, &from, &m), TL_ERROR_IO, "at NULL");
  s->gives_null = 0;
  NEED(s->lent == 0 && !m);
  char hostile[256];
  snprintf(hostile, sizeof hostile, "../%s", s->names[s->n - 2] + 3);
  patch(s, s->names[s->n - 2], hostile);
  REFUSED(tl_model_load_from(c, name, &from, &m), TL_ERROR_INPUT, "external data location");
  NEED(s->lent == 0 && !m);
}

static void files(tl_purpose purpose, const char *name) {
  tl_context *c = make_context();
  shelf s = {0}, again = {0};
  tl_source from = {lend, give_back, &s};
  tl_model *copy = NULL, *m = load_weighty(c);
  NEED(tl_context_set(c, "external-weight", "1") == TL_SUCCESS);
  NEED(tl_model_optimize(m, purpose) == TL_SUCCESS);
  NEED(tl_model_save_to(m, name, take, &s) == TL_SUCCESS && s.n >= 2);
  tl_model_destroy(m);
  m = NULL;
  REFUSED(tl_model_load_bytes(c, name, s.bytes[s.n - 1], s.sizes[s.n - 1], &m),
          TL_ERROR_UNSUPPORTED, "in memory");
  NEED(tl_model_load_from(c, name, &from, &m) == TL_SUCCESS && s.lent == 2);
  tl_tensor_view w;
  uint32_t value = tl_model_constant(m, tl_model_main_graph(m), 0);
  NEED(tl_model_weight(m, value, &w) && w.data == s.bytes[s.n - 2]); /* no copy was made */
  NEED(tl_model_copy(m, c, &copy) == TL_SUCCESS);
  NEED(tl_model_save_to(copy, name, take, &again) == TL_SUCCESS && again.n == s.n);
  for (int i = 0; i < s.n; i++)
    NEED(again.sizes[i] == s.sizes[i] && !memcmp(again.bytes[i], s.bytes[i], (size_t)s.sizes[i]));
  tl_model_destroy(copy);
  NEED(s.lent == 2);
  tl_model_destroy(m);
  NEED(s.lent == 0);
  wrong_files(c, name, &s);
  tl_context_destroy(c);
  empty(&again);
  empty(&s);
}

int main(void) {
  passes();
  ops();
  shape_alone();
  files(TL_FOR_ONNX, "own.onnx");
  files(TL_FOR_AIR, "own.air");
  puts("all of it works");
  return 0;
}
