/* SPDX-License-Identifier: Apache-2.0 */
/* Tries rules on many small graphs, each rule on its own and in the whole pipeline.
 *
 *   probe [--pipeline [--all [CHIP] | --onnxruntime]] < cases
 *
 * Cases are modules in the textual IR between lines "// -----"; a comment "# rule NAME" in each
 * names the rule. Per case one line of tab-separated words comes out:
 *
 *   number  rule  times  code  why  alone  pipeline  spelling
 *
 * spelling: the one of the rule's spellings that fired, or came nearest; 0: it has one. times: how
 * often the rule fired; code and why: the nearest miss where it did not; alone: whether
 * the verifier accepts the result and the evaluator computes the same from random inputs ("same",
 * or what is wrong); pipeline: the same of -O2, and of all expansions after it if the rule is one;
 * "-" without --pipeline. --all: fusions that are off by default, scope fusions and approximate
 * rules too, for that chip. --onnxruntime: all of that with --target=onnxruntime. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/eval/eval.h"
#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "ir/verify/verify.h"
#include "passes/engine/build.h"
#include "passes/engine/match.h"
#include "passes/engine/scope.h"
#include "passes/manager.h"

enum { MOST_TIMES = 100, MEMORY_LIMIT = 1 << 30, MOST_OUTPUTS = 64 };

typedef struct probe {
  tl_diag diag;
  char message[512];
  tl_host_heap heap;
  tl_arena scratch;
  tl_options options;
  uint64_t rewrites;
  tl_pass pass;
  uint64_t random;
  bool pipeline;
  tl_fusion_config fusions; /* of --all */
} probe;

static void remember(void *user, const tl_diagnostic *d) {
  if (d->severity == TL_ERROR)
    snprintf(user, sizeof((probe *)0)->message, "%s", d->message);
}

/* ---- values --------------------------------------------------------------------------------- */

static uint64_t next_random(probe *p) {
  p->random ^= p->random << 13;
  p->random ^= p->random >> 7;
  p->random ^= p->random << 17;
  return p->random;
}

/* Floats within 2 of 0 and never near enough to 0 to divide badly; small integers. */
static void fill(probe *p, tl_host *t) {
  for (uint64_t i = 0; i < t->n; i++) {
    uint64_t r = next_random(p);
    double f = 0.25 + (double)(r >> 40) / (1 << 24) * 1.75;
    double v = r & 1 ? -f : f;
    tl_dtype d = (tl_dtype)t->dtype;
    size_t size = tl_host_element_size(d);
    int64_t whole = (int64_t)(r >> 20 & 3);
    if (d == TL_DTYPE_STRING)
      ((tl_sv *)t->data)[i] = r & 2 ? TL_SV("a") : TL_SV("1.5");
    else if (tl_dtype_is_float(d))
      tl_host_from_f64(d, &v, t->data, i, 1, (tl_narrowing){true, TL_E8M0_NEAREST});
    else if (d == TL_DTYPE_BOOL)
      ((uint8_t *)t->data)[i] = whole & 1;
    else if (size)
      tl_uint_store((char *)t->data + i * size, (uint64_t)whole, size);
  }
}

/* Named dims get a size by their name, so that both modules agree. */
static int64_t size_of(const tl_module *m, tl_dim d) {
  if (tl_dim_is_static(d))
    return d;
  tl_sv name = tl_dim_is_symbol(d) ? tl_sym(m, tl_dim_symbol(d)) : TL_SV("?");
  return 2 + (name.n ? name.p[0] : 0) % 4;
}

static tl_host *random_value(probe *p, const tl_module *m, tl_value_id v) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  int64_t dims[TL_MAX_RANK];
  if (t->kind != TL_KIND_TENSOR || t->rank < 0)
    return NULL;
  for (int i = 0; i < t->rank; i++)
    dims[i] = size_of(m, t->dims[i]);
  tl_host *h = tl_host_new(&p->heap, (tl_dtype)t->dtype, t->rank, dims);
  if (h)
    fill(p, h);
  return h;
}

/* ---- comparison ----------------------------------------------------------------------------- */

static bool same_type(const tl_host *a, const tl_host *b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank && a->n == b->n &&
         (a->rank <= 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0);
}

static double magnitude(const tl_host *t) {
  double most = 0;
  for (uint64_t i = 0; i < t->n; i++) {
    double v = fabs(tl_host_at(t, i));
    most = v > most && !isinf(v) ? v : most;
  }
  return most;
}

/* Numbers of 8 and 16 bits were quantized: what rounds elsewhere may end at the next one. */
static double tolerance(const tl_host *a, tl_numerics class) {
  bool narrow = a->dtype == TL_DTYPE_F16 || a->dtype == TL_DTYPE_BF16;
  bool quantized = a->dtype == TL_DTYPE_U8 || a->dtype == TL_DTYPE_I8 || a->dtype == TL_DTYPE_U16 ||
                   a->dtype == TL_DTYPE_I16;
  double bound = (class == TL_NUMERICS_APPROXIMATE || narrow ? 1e-2 : 1e-4) * magnitude(a);
  return class == TL_NUMERICS_EXACT ? 0 : quantized ? fmax(bound, 1) : bound;
}

/* NULL: as near as the class of the rule asks for. */
static const char *compare(const tl_host *a, const tl_host *b, tl_numerics class) {
  if (!same_type(a, b))
    return "another type";
  if (a->kind != TL_HOST_TENSOR)
    return NULL;
  if (a->dtype == TL_DTYPE_STRING) {
    for (uint64_t i = 0; i < a->n; i++)
      if (!tl_sv_eq(((const tl_sv *)a->data)[i], ((const tl_sv *)b->data)[i]))
        return "another text";
    return NULL;
  }
  double bound = tolerance(a, class);
  for (uint64_t i = 0; i < a->n; i++) {
    double x = tl_host_at(a, i), y = tl_host_at(b, i);
    if (x == y || (isnan(x) && isnan(y)))
      continue;
    if (!(fabs(x - y) <= bound))
      return "another number";
  }
  return NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

static tl_module *load(probe *p, tl_sv text) {
  tl_module *m;
  p->message[0] = '\0';
  if (tl_module_parse(&p->diag, "case", text, &m) != TL_OK)
    return NULL;
  if (tl_infer_module(m) == TL_OK && tl_module_verify(m, TL_VERIFY_ALL) == TL_OK)
    return m;
  tl_module_destroy(m);
  return NULL;
}

static bool evaluate(probe *p, tl_module *m, tl_host **inputs, tl_host **outputs) {
  static const tl_eval_options exact = {.exact = true};
  const tl_graph *g = tl_module_main(m);
  tl_pipeline_options expand = {.passes = "expand-definitions"};
  return tl_pipeline_run(m, &p->options, &expand, NULL) == TL_OK &&
         tl_eval_check(m, g->id) == TL_OK &&
         tl_eval_graph(m, g->id, &exact, &p->heap, inputs, outputs) == TL_OK;
}

static bool make_inputs(probe *p, const tl_module *m, tl_host **inputs, uint32_t *n) {
  const tl_graph *g = tl_module_main(m);
  *n = 0;
  for (uint32_t i = 0; i < g->inputs.n && i < MOST_OUTPUTS; i++)
    if (!(inputs[(*n)++] = random_value(p, m, g->inputs.at[i])))
      return false;
  return true;
}

static void release(tl_host **values, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    tl_host_release(values[i]);
}

/* What is wrong with b, or NULL; *skip when the reference itself does not run. */
static const char *judge(probe *p, tl_module *a, tl_module *b, tl_numerics class, bool *skip) {
  tl_host *inputs[MOST_OUTPUTS] = {0}, *want[MOST_OUTPUTS] = {0}, *got[MOST_OUTPUTS] = {0};
  uint32_t n, n_out = tl_graph_n_outputs(a, tl_module_main(a));
  const char *wrong = NULL;
  if (n_out > MOST_OUTPUTS || !make_inputs(p, a, inputs, &n) || !evaluate(p, a, inputs, want)) {
    *skip = true;
    wrong = p->message[0] ? p->message : "no inputs for it";
  } else if (tl_module_verify(b, TL_VERIFY_ALL) != TL_OK || !evaluate(p, b, inputs, got)) {
    wrong = p->message;
  }
  for (uint32_t i = 0; i < n_out && !wrong; i++)
    wrong = compare(want[i], got[i], class);
  release(inputs, MOST_OUTPUTS);
  release(want, MOST_OUTPUTS);
  release(got, MOST_OUTPUTS);
  return wrong;
}

static void print_judgement(probe *p, tl_module *a, tl_module *b, tl_numerics class) {
  bool skip = false;
  const char *wrong = judge(p, a, b, class, &skip);
  printf("\t%s%s", skip ? "not run: " : wrong ? "WRONG: " : "same", wrong ? wrong : "");
}

/* ---- one rule ------------------------------------------------------------------------------- */

static bool fire(tl_match *x, bool *fired) {
  for (uint32_t i = 0; i < x->m->graphs.n; i++) {
    if (x->m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(x->m, x->m->graphs.at[i], n) {
      tl_built built;
      if (!tl_rule_match(x, n) || !tl_match_is_closed(x))
        continue;
      if (tl_match_apply(x, &built, fired) != TL_OK)
        return false;
      if (*fired)
        return true;
    }
  }
  return true;
}

/* Applies the rule until it fits nowhere. */
static bool apply(probe *p, tl_module *m, const tl_ruleset *set, const tl_rule *r, tl_miss *miss,
                  uint32_t *times) {
  tl_merge_facts facts;
  tl_scopes scopes;
  if (tl_merge_facts_find(&p->pass, m, &facts) != TL_OK)
    return false;
  if (!tl_scopes_find(&scopes, m))
    return false;
  tl_match *x = calloc(1, sizeof *x);
  bool fired = x != NULL, good = fired;
  for (*times = 0; good && fired && *times < MOST_TIMES; *times += fired) {
    *x = (tl_match){.set = set,
                    .rule = r,
                    .m = m,
                    .scratch = &p->scratch,
                    .facts = &facts,
                    .scopes = &scopes,
                    .miss = *times ? NULL : miss};
    fired = false;
    good = fire(x, &fired);
  }
  free(x);
  tl_scopes_release(&scopes);
  tl_merge_facts_release(&facts);
  return good;
}

static void print_word(tl_sv text) {
  putchar('\t');
  for (size_t i = 0; i < text.n; i++)
    putchar(text.p[i] == '\t' || text.p[i] == '\n' ? ' ' : text.p[i]);
}

/* The built-in rule of that name in all its spellings; no other is read. False: there is none. */
static bool read_rule(tl_ruleset *set, tl_sv name) {
  char head[128];
  size_t n = (size_t)snprintf(head, sizeof head, "rule %.*s :", TL_SV_ARG(name));
  for (uint32_t i = 0; i < tl_n_rule_texts && n < sizeof head; i++) {
    const tl_rule_text *t = &tl_rule_texts[i];
    if (t->n >= n && memcmp(tl_rule_characters + t->at, head, n) == 0 &&
        tl_rules_parse_text(set, t) != TL_OK)
      return false;
  }
  return set->rules.n > 0;
}

typedef struct attempt {
  const tl_rule *rule; /* the spelling that fired, or came nearest */
  uint32_t times;      /* of all spellings */
  tl_miss miss;        /* of `rule`, when none fired */
  tl_buf why;
} attempt;

static bool is_nearer(const tl_rule *r, const tl_miss *miss, const attempt *best) {
  bool whole = miss->depth >= TL_MISS_CLOSED;
  if (!best->rule || whole != (best->miss.depth >= TL_MISS_CLOSED))
    return !best->rule || whole;
  return miss->depth * best->rule->n_match > best->miss.depth * r->n_match;
}

/* Applies each spelling until it fits nowhere. */
static bool apply_all(probe *p, tl_module *m, const tl_ruleset *set, attempt *out) {
  for (uint32_t i = 0; i < set->rules.n; i++) {
    const tl_rule *r = set->rules.at[i];
    uint32_t times = 0;
    tl_buf why;
    tl_buf_init(&why);
    tl_miss miss = {.text = &why};
    bool good = apply(p, m, set, r, &miss, &times);
    if (good && !out->times && (times || is_nearer(r, &miss, out))) {
      tl_buf_release(&out->why);
      out->rule = r;
      out->miss = miss;
      out->why = why;
    } else {
      tl_buf_release(&why);
    }
    out->times += times;
    if (!good)
      return false;
  }
  return true;
}

/* *expands: whether it is an expansion. Returns the number of the spelling. */
static unsigned probe_rule(probe *p, tl_sv text, tl_module *a, tl_sv name, bool *expands) {
  tl_module *b = load(p, text);
  tl_ruleset set;
  tl_ruleset_init(&set, b);
  bool known = read_rule(&set, name);
  attempt best = {0};
  tl_buf_init(&best.why);
  *expands = known && set.rules.at[0]->kind == TL_RULE_EXPAND;
  if (!known)
    printf("\t0\tNO_RULE\t\tnot run");
  else if (!apply_all(p, b, &set, &best))
    printf("\t0\tERROR\t%s\tnot run", p->message);
  else {
    bool fired = best.times > 0;
    printf("\t%u\t%s", best.times, fired || !best.miss.code ? "-" : best.miss.code);
    print_word(fired || best.why.failed || !best.why.p ? TL_SV("-") : tl_buf_view(&best.why));
    print_judgement(p, a, b, (tl_numerics)best.rule->numerics);
  }
  unsigned spelling = best.rule ? best.rule->spelling : 0;
  tl_buf_release(&best.why);
  tl_ruleset_release(&set);
  tl_module_destroy(b);
  return spelling;
}

/* All rules, expansions where one was planted: without, other rules get what is fused as it is. */
static void probe_pipeline(probe *p, tl_sv text, bool expands) {
  tl_pipeline_options o = {.level = 2, .verify_each = true};
  if (expands)
    o.passes = "infer-shapes,fold-constants,identity-elimination,clean-up,graph-fusion,"
               "common-subexpressions,dead-nodes,expand";
  tl_module *a = load(p, text), *b = load(p, text);
  if (tl_pipeline_run(b, &p->options, &o, NULL) == TL_OK)
    print_judgement(p, a, b, p->options.numerics);
  else
    printf("\tWRONG: %s", p->message);
  tl_module_destroy(a);
  tl_module_destroy(b);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static tl_sv rule_name(tl_sv text) {
  static const char mark[] = "# rule ";
  const char *at = memmem(text.p, text.n, mark, sizeof mark - 1);
  if (!at)
    return TL_SV("");
  at += sizeof mark - 1;
  const char *end = at;
  while (end < text.p + text.n && *end != '\n' && *end != ' ')
    end++;
  return (tl_sv){at, (size_t)(end - at)};
}

static void probe_case(probe *p, uint32_t number, tl_sv text) {
  tl_arena_mark mark = tl_arena_save(&p->scratch);
  tl_sv name = rule_name(text);
  printf("%u\t%.*s", number, TL_SV_ARG(name));
  p->random = UINT64_C(88172645463325252) + number;
  bool expands = false;
  unsigned spelling = 0;
  tl_module *m = load(p, text);
  if (m)
    spelling = probe_rule(p, text, m, name, &expands);
  else
    printf("\t0\tINVALID\t%s\tnot run", p->message);
  if (m && p->pipeline)
    probe_pipeline(p, text, expands);
  else
    printf("\t-");
  printf("\t%u\n", spelling);
  if (m)
    tl_module_destroy(m);
  tl_arena_rewind(&p->scratch, mark);
}

static void probe_all(probe *p, tl_sv all) {
  static const char line[] = "// -----\n";
  uint32_t number = 0;
  while (all.p && all.n) {
    const char *end = memmem(all.p, all.n, line, sizeof line - 1);
    size_t n = end ? (size_t)(end - all.p) : all.n;
    probe_case(p, number++, (tl_sv){all.p, n});
    n += end ? sizeof line - 1 : 0;
    all = (tl_sv){all.p + n, all.n - n};
  }
}

static bool read_all(tl_buf *out) {
  char part[1 << 16];
  size_t n;
  while ((n = fread(part, 1, sizeof part, stdin)) > 0)
    tl_buf_add(out, part, n);
  return !out->failed;
}

/* Switches on what is off by default. */
static bool switch_all(probe *p, const char *chip) {
  uint32_t n, on = 0;
  const tl_fusion_name *names = tl_fusion_names(&n);
  tl_fusion_entry *entries = tl_arena_calloc(&p->scratch, n, sizeof *entries);
  tl_sv canonical;
  for (uint32_t i = 0; entries && i < n; i++)
    if (!names[i].on)
      entries[on++] = (tl_fusion_entry){.pass = tl_sv_from(names[i].name), .value = 1};
  p->fusions.direct = (tl_fusion_list){entries, on};
  p->options.fusion = &p->fusions;
  p->options.numerics = TL_NUMERICS_APPROXIMATE;
  p->options.soc_version = chip;
  p->options.chip = chip ? tl_soc_find(tl_sv_from(chip), &canonical) : NULL;
  return entries && (!chip || p->options.chip);
}

int main(int argc, char **argv) {
  bool pipeline = argc > 1 && strcmp(argv[1], "--pipeline") == 0;
  probe p = {.options = tl_options_default(), .pipeline = pipeline};
  p.diag = (tl_diag){.fn = remember, .user = p.message};
  p.pass = (tl_pass){.name = "probe",
                     .options = &p.options,
                     .scratch = &p.scratch,
                     .rewrites = &p.rewrites,
                     .limit = UINT64_MAX};
  tl_host_heap_init(&p.heap, MEMORY_LIMIT);
  tl_arena_init(&p.scratch, 0);
  tl_buf all;
  tl_buf_init(&all);
  bool every = argc > 2 && strcmp(argv[2], "--all") == 0;
  if (argc > 2 && strcmp(argv[2], "--onnxruntime") == 0) {
    p.options.target = TL_TARGET_ORT;
    every = true;
  }
  bool ready = !every || switch_all(&p, argc > 3 ? argv[3] : NULL);
  if (ready && read_all(&all) && all.p)
    probe_all(&p, tl_buf_view(&all));
  tl_buf_release(&all);
  tl_arena_release(&p.scratch);
  tl_host_heap_release(&p.heap);
  return 0;
}
