/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as calls of libtailor: of models that are loaded, changed, looked into, copied,
 * optimized, saved, run and destroyed in any order, by numbers that may name nothing. A call ends
 * with success, or with an error that was reported; what a caller made of a model never makes the
 * library fail, and what tl_model_check passes can be written and read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/forms.h"
#include "tests/fuzz/target.h"

enum { MODELS = 3, CALLS = 60, LIST = 4, BYTES = 64 };

static const char *const texts[] = {
    "graph @g(%x: f32[2,3], %c: bool[], %d: f32[3] = [1.0, 2.0, 3.0]) -> (%y, %z) {\n"
    "  const %w = f32[3,3] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]\n"
    "  %m = MatMul(%x, %w) @mul\n"
    "  %a = Add(%m, %d) @add\n"
    "  %y = Relu(%a) @relu\n"
    "  %z = If(%c) @if {else_branch=graph @e() -> (%p) { %p = Neg(%a) },\n"
    "    then_branch=graph @t() -> (%q) { const %k = f32[] 2.0 %q = Mul(%a, %k) }}\n"
    "}\n",
    "graph @g(%x: f32[1,3,8,8], %w: f32[4,3,3,3]) -> (%y) {\n"
    "  const %s = i64[2] [1, -1]\n"
    "  %a = Conv(%x, %w) @conv {pads=[1, 1, 1, 1]}\n"
    "  %b = Sigmoid(%a)\n"
    "  %c = Mul(%a, %b)\n"
    "  %y = Reshape(%c, %s)\n"
    "}\n",
    "graph @g(%x: f32[n,4], %i: i64[2]) -> (%y) {\n"
    "  %a, %b = Split(%x) {axis=1, num_outputs=2}\n"
    "  %c = Concat(%b, %a) {axis=1}\n"
    "  %y = Gather(%c, %i) {axis=0}\n"
    "}\n",
    "graph @g(%x: f32[n,4], %z: i64[2]) -> (%y, %b) {\n"
    "  %a, %b = acme::Own(%x, %z) @own\n"
    "  %c = Relu(%a)\n"
    "  %y = acme::Own(%c) @again\n"
    "}\n"};

/* The calls at work. */
typedef struct session {
  const uint8_t *data;
  size_t n;
  forms_trial trial;
  tl_model *models[MODELS];
  int dead[MODELS]; /* a failure left it good for destruction only */
  int at;           /* the model that calls are about */
  tl_model *handed; /* what the pass of the caller works on while it runs */
  int own_ran;      /* it has run in this call: what it was refused is its own business */
} session;

/* ---- arguments ------------------------------------------------------------------------------- */

static uint32_t byte(session *s) {
  if (!s->n)
    return 0;
  s->n--;
  return *s->data++;
}

/* A number of a node, value or graph: mostly a small one, at times one that names nothing. */
static uint32_t number(session *s) {
  uint32_t b = byte(s);
  return b < 240 ? b % 24 : b < 248 ? UINT32_MAX - b : b << 8;
}

static const char *word(session *s) {
  static const char *const words[] = {
      "x",     "y",    "a",    "m",    "relu", "perm",  "axis", "to",        "keepdims", "",
      "value", "pads", "mode", "axes", "w",    "alpha", "beta", "odd name%", "\xff\xfe", NULL};
  return words[byte(s) % (sizeof words / sizeof *words)];
}

static const char *op(session *s) {
  static const char *const ops[] = {
      "Add",    "Relu",     "Cast",      "Transpose", "Concat",  "Reshape", "Dropout",
      "Gather", "If",       "Loop",      "Own",       "Softmax", "Shape",   "Slice",
      "Where",  "Identity", "LayerNorm", "Thing",     "TopK",    "Clip",    ""};
  return ops[byte(s) % (sizeof ops / sizeof *ops)];
}

static tl_model *model(const session *s) { return s->handed ? s->handed : s->models[s->at]; }

static void list_of(session *s, uint32_t *list, uint32_t *n) {
  *n = byte(s) % (LIST + 1);
  for (uint32_t i = 0; i < *n; i++)
    list[i] = number(s);
}

/* ---- what each call must keep ---------------------------------------------------------------- */

/* Ends where a call fails without a word, or says an error and succeeds. */
static int ended(session *s, int status) {
  if (status != TL_SUCCESS && !s->trial.said[0])
    forms_defect("an error without a message: ", "");
  if (status == TL_SUCCESS && s->trial.said[0] && !s->own_ran)
    forms_defect("success with an error: ", s->trial.said);
  return forms_went_well(&s->trial, status);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void load(session *s) {
  uint32_t which = byte(s) % (sizeof texts / sizeof *texts), slot = byte(s) % MODELS;
  tl_model *made = NULL;
  if (ended(s,
            tl_model_load_bytes(s->trial.c, "m.tir", texts[which], strlen(texts[which]), &made))) {
    tl_model_destroy(s->models[slot]);
    s->models[slot] = made;
    s->dead[slot] = 0;
  }
}

static void copy(session *s) {
  uint32_t slot = byte(s) % MODELS;
  tl_model *made = NULL;
  if (s->models[slot] || !ended(s, tl_model_copy(model(s), s->trial.c, &made)))
    return;
  /* The original must outlive its copy: what the copy is written as does not need it. */
  void *bytes = NULL;
  size_t n = 0;
  (void)ended(s, tl_model_save_bytes(made, "m.tir", &bytes, &n));
  tl_free(bytes);
  tl_model_destroy(made);
}

static void destroy(session *s) {
  tl_model_destroy(s->models[s->at]);
  s->models[s->at] = NULL;
}

static void choose(session *s) { s->at = (int)(byte(s) % MODELS); }

static void add_node(session *s) {
  uint32_t operands[LIST], made = 0;
  tl_new_node spec = {.op = op(s), .n_results = byte(s) % 3};
  list_of(s, operands, &spec.n_operands);
  spec.operands = operands;
  spec.name = byte(s) % 2 ? word(s) : NULL;
  spec.domain = byte(s) % 8 ? NULL : "acme";
  spec.before = byte(s) % 2 ? number(s) : 0;
  spec.graph = number(s) % 4;
  (void)ended(s, tl_model_add_node(model(s), &spec, &made));
}

static void erase_node(session *s) { (void)ended(s, tl_model_erase_node(model(s), number(s))); }

static void set_operand(session *s) {
  uint32_t node = number(s), i = byte(s) % 5, value = number(s);
  (void)ended(s, tl_model_set_operand(model(s), node, i, value));
}

static void replace_uses(session *s) {
  uint32_t from = number(s), to = number(s);
  (void)ended(s, tl_model_replace_uses(model(s), from, to));
}

static void rename_value(session *s) {
  uint32_t value = number(s);
  (void)ended(s, tl_model_rename(model(s), value, word(s)));
}

static void add_constant(session *s) {
  static const uint8_t zeros[BYTES];
  int64_t dims[LIST];
  uint32_t made = 0, graph = number(s) % 4;
  tl_tensor_view v = {.element = (tl_element)(byte(s) % 26), .rank = (int32_t)(byte(s) % 5) - 1};
  for (int i = 0; i < LIST; i++)
    dims[i] = (int64_t)(byte(s) % 5) - 1;
  v.dims = dims;
  v.data = zeros;
  v.bytes = byte(s) % (BYTES + 1);
  v.name = byte(s) % 2 ? word(s) : NULL;
  if (v.element != TL_ELEMENT_STRING)
    (void)ended(s, tl_model_add_constant(model(s), graph, &v, &made));
}

static void set_outputs(session *s) {
  uint32_t values[LIST], n, graph = number(s) % 4;
  list_of(s, values, &n);
  (void)ended(s, tl_model_set_outputs(model(s), graph, values, n));
}

static void set_attribute(session *s) {
  uint32_t node = number(s), kind = byte(s) % 5;
  const char *name = word(s);
  int64_t list[LIST] = {byte(s), -1, (int64_t)byte(s) << 40, 1};
  int64_t v = (int64_t)(byte(s) % 8) - 2;
  int status = kind == 0   ? tl_model_set_integer(model(s), node, name, v)
               : kind == 1 ? tl_model_set_number(model(s), node, name, (float)v / 3)
               : kind == 2 ? tl_model_set_text(model(s), node, name, word(s))
               : kind == 3 ? tl_model_set_integers(model(s), node, name, list, byte(s) % LIST)
                           : tl_model_remove_attribute(model(s), node, name);
  (void)ended(s, status);
}

/* Looks at everything, as programs that walk a model do. */
static void walk(session *s) {
  tl_model *m = model(s);
  tl_graph_view g;
  tl_node_view n;
  tl_value_view v;
  tl_attribute_view a;
  tl_tensor_view w;
  for (uint32_t i = 0; i < 6; i++)
    if (tl_model_graph(m, i, &g)) {
      for (uint32_t k = 0; k <= g.n_outputs; k++)
        (void)tl_model_output(m, i, k);
      uint32_t steps = 0;
      for (uint32_t node = g.first; node && tl_model_node(m, node, &n); node = n.next, steps++)
        for (uint32_t k = 0; tl_model_attribute(m, node, k, &a); k++)
          (void)tl_model_attribute_text(m, node, "axes", k);
      if (steps != g.n_nodes)
        forms_defect("the list of nodes has another length than the graph says", "");
    }
  for (uint32_t i = 0; i < 64; i++)
    if (tl_model_value(m, i, &v)) {
      uint32_t operand, users = 0;
      for (uint32_t k = 0; k < v.n_uses; k++)
        users += tl_model_user(m, i, k, &operand) != 0;
      if (users > v.n_uses || tl_model_user(m, i, v.n_uses, &operand))
        forms_defect("a value has more users than it says", "");
      (void)tl_model_weight(m, i, &w);
    }
}

static void set_option(session *s) {
  static const char *const options[][2] = {
      {"opt-level", "1"},        {"opt-level", "0"},      {"precision-mode", "force_fp16"},
      {"input-shape", "x:2,3"},  {"out-nodes", "relu:0"}, {"opt-level", "9"},
      {"batch-size", "2"},       {"no-such", "1"},        {"freeze", "x"},
      {"keep-io-types", "false"}};
  uint32_t i = byte(s) % (sizeof options / sizeof *options);
  (void)ended(s, byte(s) % 4 ? tl_context_unset(s->trial.c, options[i][0])
                             : tl_context_set(s->trial.c, options[i][0], options[i][1]));
}

static void optimize(session *s) {
  static const char *const passes[] = {"fold-constants", "dce", "graph-fusion", "infer-shapes",
                                       "no-such",        "own", "lower",        "own,graph-fusion"};
  uint32_t how = byte(s);
  int status = how % 4 == 0   ? tl_model_optimize(model(s), TL_FOR_ONNX)
               : how % 4 == 1 ? tl_model_optimize(model(s), TL_FOR_AIR)
               : how % 4 == 2 ? tl_model_infer(model(s))
                              : tl_model_run_passes(model(s), passes[byte(s) % 8]);
  if (!ended(s, status))
    s->dead[s->at] = 1;
}

static void save(session *s) {
  static const char *const names[] = {"m.onnx", "m.air", "m.tir", "m.txt"};
  const char *name = names[byte(s) % 4];
  void *bytes = NULL;
  size_t n = 0;
  (void)ended(s, tl_model_save_bytes(model(s), name, &bytes, &n));
  tl_free(bytes);
}

static void run(session *s) {
  tl_tensors *results = NULL;
  tl_run_settings how = forms_exact(1);
  (void)ended(s, tl_model_run(model(s), NULL, 0, &how, &results));
  tl_tensors_destroy(results);
}

static void compare(session *s) {
  uint32_t other = byte(s) % MODELS;
  tl_comparison *c = NULL;
  tl_verify_settings how = {.run = forms_exact(1), .rtol = -1, .atol = -1, .cosine = -2};
  if (s->models[other] && !s->dead[other])
    (void)ended(s, tl_model_verify(model(s), s->models[other], NULL, 0, &how, &c));
  tl_comparison_destroy(c);
}

static void show(session *s) {
  void *text = NULL;
  size_t n = 0;
  if (ended(s, tl_model_save_bytes(model(s), "m.tir", &text, &n)))
    fprintf(stderr, "%.*s", (int)n, (const char *)text);
  tl_free(text);
}

/* What is well formed can be written, and read as the same. */
static void check(session *s) {
  if (!ended(s, tl_model_check(model(s))))
    return;
  forms_trial reader = {0};
  if (forms_start(&reader, NULL, 0)) {
    s->trial.said[0] = '\0';
    forms_check_file(&s->trial, &reader, model(s), "m.tir", 1);
  }
  tl_context_destroy(reader.c);
}

/* ---- functions of the caller ----------------------------------------------------------------- */

/* Types of results as bytes choose them: those of an operand, or any. */
static int own_infer(void *user, tl_shape_call *call) {
  session *s = user;
  tl_element element = TL_ELEMENT_UNKNOWN;
  int32_t rank = 0;
  const int64_t *dims = NULL;
  int64_t any[LIST] = {byte(s) % 5, (int64_t)(byte(s) % 5) - 2, 3, (int64_t)byte(s) << 40};
  s->own_ran = 1;
  uint32_t node = 0, which = byte(s) % 3, result = byte(s) % 4;
  (void)tl_model_count_nodes(tl_shape_model(call, &node));
  if (byte(s) % 16 == 0)
    return tl_shape_fail(call, "it is not liked");
  if (!tl_shape_operand(call, which, &element, &rank, &dims) || byte(s) % 4 == 0)
    return tl_shape_set(call, result, (tl_element)(byte(s) % 26), (int32_t)(byte(s) % 6) - 1, any);
  return tl_shape_set(call, result, element, rank, dims);
}

/* Results as bytes choose them, filled where there is room. */
static int own_compute(void *user, tl_compute_call *call) {
  session *s = user;
  tl_tensor_view in = {0};
  int status = TL_SUCCESS;
  uint32_t node = 0;
  tl_node_view n = {0};
  s->own_ran = 1;
  if (!tl_model_node(tl_compute_model(call, &node), node, &n))
    forms_defect("a kernel's node is none", "");
  for (uint32_t i = 0; status == TL_SUCCESS && i < n.n_results; i++) {
    int64_t any[LIST] = {byte(s) % 4, 2, 1, (int64_t)byte(s) << 50};
    void *data = NULL;
    int like = tl_compute_input(call, byte(s) % 3, &in) && byte(s) % 8;
    status = like ? tl_compute_output(call, i, in.element, in.rank, in.dims, &data)
                  : tl_compute_output(call, byte(s) % 3, (tl_element)(byte(s) % 26),
                                      (int32_t)(byte(s) % 5), any, &data);
    if (status == TL_SUCCESS && like && in.bytes)
      memcpy(data, in.data, in.bytes);
  }
  return byte(s) % 16 ? status : tl_compute_fail(call, "it is not liked");
}

/* Is told of progress; stops at times. */
static int own_progress(void *user, const tl_progress_event *event) {
  session *s = user;
  s->own_ran = 1;
  return event->step > 3 && byte(s) % 64 == 1;
}

/* What a context is told besides options. */
static void tell_context(session *s) {
  static const char rule[] =
      "rules 1\nrule Own : fusion about \"x\" {\n"
      "  match { %a = Relu(%x) %y = Relu(%a) }\n  replace { %y = Relu(%x) }\n}\n";
  tl_context *c = s->trial.c;
  switch (byte(s) % 6) {
  case 0: tl_context_cancel(c); break;
  case 1: tl_context_resume(c); break;
  case 2: tl_context_on_progress(c, byte(s) % 2 ? own_progress : NULL, s); break;
  case 3: tl_context_set_memory_limit(c, (uint64_t)byte(s) << (byte(s) % 20)); break;
  case 4:
    (void)ended(s, tl_rules_register(c, "own.tlr", rule, sizeof rule - 1 - byte(s) % 40));
    break;
  default: tl_model_keep_remarks(model(s), byte(s) % 2, byte(s) % 2); break;
  }
}

/* A call, with its name for who looks at a find: with SHOW_CALLS in the environment. */
typedef struct call {
  const char *name;
  void (*make)(session *);
} call;

/* Changes come more often than the rest. */
static const call calls[] = {{"load", load},
                             {"choose", choose},
                             {"copy", copy},
                             {"destroy", destroy},
                             {"add_node", add_node},
                             {"erase_node", erase_node},
                             {"add_node", add_node},
                             {"set_operand", set_operand},
                             {"replace", replace_uses},
                             {"rename", rename_value},
                             {"constant", add_constant},
                             {"set_outputs", set_outputs},
                             {"attribute", set_attribute},
                             {"walk", walk},
                             {"option", set_option},
                             {"optimize", optimize},
                             {"save", save},
                             {"run", run},
                             {"compare", compare},
                             {"check", check},
                             {"tell", tell_context},
                             {"set_operand", set_operand},
                             {"optimize", optimize}};

enum { NEED_NO_MODEL = 2, FIRST_CHANGE = 4, CHANGES = 10 };

/* Makes the call that the next byte chooses; one that needs no model where there is none. */
static void make(session *s) {
  int usable = s->models[s->at] && !s->dead[s->at];
  const call *c = &calls[byte(s) % (usable ? sizeof calls / sizeof *calls : NEED_NO_MODEL)];
  s->trial.said[0] = '\0';
  s->own_ran = 0;
  if (usable && getenv("SHOW_MODELS"))
    show(s);
  c->make(s);
  if (getenv("SHOW_CALLS"))
    fprintf(stderr, "%s: %s\n", c->name, s->trial.said[0] ? s->trial.said : "good");
}

/* A pass of the caller: a few changes of the model that it is given. */
static int own_pass(void *user, tl_model *m) {
  session *s = user;
  tl_model *outer = s->handed;
  s->own_ran = 1;
  s->handed = m;
  for (uint32_t i = byte(s) % 4; i; i--) {
    calls[FIRST_CHANGE + byte(s) % CHANGES].make(s);
  }
  s->handed = outer;
  return byte(s) % 8 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  session s = {.data = data, .n = size};
  if (forms_start(&s.trial, NULL, 0)) {
    tl_pass_def pass = {.name = "own", .level = 1, .run = own_pass, .user = &s};
    tl_op_def op_def = {
        .domain = "acme", .name = "Own", .infer = own_infer, .compute = own_compute, .user = &s};
    (void)ended(&s, tl_pass_register(s.trial.c, &pass));
    (void)ended(&s, tl_op_register(s.trial.c, &op_def));
    load(&s);
    for (int i = 0; i < CALLS && s.n; i++)
      make(&s);
  }
  for (int i = 0; i < MODELS; i++)
    tl_model_destroy(s.models[i]);
  tl_context_destroy(s.trial.c);
  return 0;
}
