/* SPDX-License-Identifier: Apache-2.0 */
/* Searches graphs that a rule takes: random genes, and where the rule nearly fits, changes of those
 * parts that the reason of the failure is about. */
#include <stdio.h>

#include "ir/fork.h"
#include "ir/infer/infer.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "support/hash.h"
#include "tools/rules/findings.h"

enum {
  TRIES_A_GRAPH = 40, /* samples for each graph that is wanted ... */
  TRIES_AT_LEAST = 1500,
  STALE = 60,  /* ... and without progress until the search begins anew */
  BUILT = 1000 /* score of a sample that came out, plus how near the rule fits */
};

/* ---- genes ----------------------------------------------------------------------------------- */

static tl_genes fresh_genes(uint64_t key) {
  tl_genes g;
  for (uint32_t i = 0; i < TL_N_GENES; i++)
    g.at[i] = tl_random_bits(key, i);
  return g;
}

/* Genes that decide what a value is: of the nodes before it, and of what they read. */
static void add_causes(const tl_rule *r, uint8_t v, uint8_t *parts, uint32_t depth) {
  uint8_t n = r->values[v].node;
  parts[TL_GENE_VALUE + v] = 1;
  if (n == TL_RULE_NODES || depth == 0)
    return;
  parts[TL_GENE_NODE + n] = parts[TL_GENE_ATTRS + n] = parts[TL_GENE_NUMBERS + n] = 1;
  for (uint8_t i = 0; i < r->match[n].n_operands; i++) {
    const tl_pattern_operand *o = &r->match[n].operands[i];
    if (o->kind != TL_PATTERN_NUMBER && o->kind != TL_PATTERN_ABSENT)
      add_causes(r, o->value, parts, depth - 1);
  }
}

/* Genes of what stands beside a value as an operand: often they share a dtype, and one shape has to
 * suit the other. */
static void add_company(const tl_rule *r, uint8_t v, uint8_t *parts) {
  for (uint8_t n = 0; n < r->n_match; n++) {
    bool reads = false;
    for (uint8_t i = 0; i < r->match[n].n_operands; i++)
      reads = reads || (r->match[n].operands[i].kind <= TL_PATTERN_CONSTANT &&
                        r->match[n].operands[i].value == v);
    for (uint8_t i = 0; reads && i < r->match[n].n_operands; i++)
      if (r->match[n].operands[i].kind <= TL_PATTERN_CONSTANT)
        add_causes(r, r->match[n].operands[i].value, parts, 1);
  }
}

/* Genes that decide an attribute which is captured. */
static void add_captures(const tl_rule *r, uint32_t names, uint8_t *parts) {
  for (uint8_t n = 0; n < r->n_match; n++)
    for (uint8_t i = 0; i < r->match[n].n_attrs; i++)
      if (r->match[n].attrs[i].captures && names >> r->match[n].attrs[i].index & 1)
        parts[TL_GENE_ATTRS + n] = 1;
}

static void add_all(const tl_rule *r, uint8_t *parts) {
  parts[TL_GENE_WORLD] = 1;
  for (uint8_t v = 0; v < r->n_values; v++)
    parts[TL_GENE_VALUE + v] = 1;
  for (uint8_t n = 0; n < r->n_match; n++)
    parts[TL_GENE_NODE + n] = parts[TL_GENE_ATTRS + n] = parts[TL_GENE_NUMBERS + n] = 1;
}

/* Draws a few of the marked parts anew. */
static tl_genes draw(const tl_genes *from, const uint8_t *parts, uint64_t key) {
  tl_genes g = *from;
  uint32_t list[TL_N_GENES], n = 0;
  for (uint32_t i = 0; i < TL_N_GENES; i++)
    if (parts[i])
      list[n++] = i;
  uint64_t times = 1 + tl_random_bits(key, 0) % 3;
  for (uint64_t i = 0; n && i < times; i++)
    g.at[list[tl_random_bits(key, 2 * i + 1) % n]] = tl_random_bits(key, 2 * i + 2);
  return g;
}

tl_genes tl_genes_change(const tl_rule *r, const tl_genes *from, const tl_expr *e, uint64_t key) {
  uint8_t parts[TL_N_GENES] = {0};
  tl_mentions about = e ? tl_hints_mentions(r, e) : (tl_mentions){0};
  bool anywhere = !e || tl_random_bits(key, 100) % 4 == 0;
  for (uint8_t v = 0; !anywhere && v < r->n_values; v++)
    if (about.values >> v & 1)
      add_causes(r, v, parts, 2);
  for (uint8_t v = 0; !anywhere && tl_random_bits(key, 101) % 3 == 0 && v < r->n_values; v++)
    if (about.values >> v & 1)
      add_company(r, v, parts);
  if (!anywhere)
    add_captures(r, about.names, parts);
  else
    add_all(r, parts);
  return draw(from, parts, key);
}

/* Changes what the operands of a node follow from. */
static tl_genes change_node(const tl_rule *r, const tl_genes *from, uint8_t n, uint64_t key) {
  uint8_t parts[TL_N_GENES] = {0};
  if (tl_random_bits(key, 100) % 4 == 0)
    add_all(r, parts);
  parts[TL_GENE_ATTRS + n] = parts[TL_GENE_NODE + n] = parts[TL_GENE_NUMBERS + n] = 1;
  for (uint8_t i = 0; i < r->match[n].n_operands; i++) {
    const tl_pattern_operand *o = &r->match[n].operands[i];
    if (o->kind != TL_PATTERN_NUMBER && o->kind != TL_PATTERN_ABSENT)
      add_causes(r, o->value, parts, 2);
  }
  return draw(from, parts, key);
}

/* ---- graphs that the rule takes -------------------------------------------------------------- */

static tl_status keep_culprit(const tl_quest *q, tl_findings *f, tl_module *m, tl_node_id root,
                              const tl_buf *why) {
  tl_buf text;
  tl_buf_init(&text);
  f->wrong++;
  tl_status status = TL_OK;
  if (q->bench->cli->word2)
    tl_buf_add_sv(&text, tl_node_where(m, root).node);
  else
    status = tl_module_print(m, &text, NULL);
  if (status == TL_OK && (!f->culprit.n || text.n < f->culprit.n)) {
    tl_buf_clear(&f->why);
    tl_buf_add(&f->why, why->p, why->n);
    tl_buf_clear(&f->culprit);
    tl_buf_add(&f->culprit, text.p, text.n);
  }
  tl_buf_release(&text);
  return status == TL_OK ? TL_OK : tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
}

static tl_status judge(const tl_quest *q, tl_findings *f, const tl_rule *r, const tl_sample *s,
                       const tl_module *after, unsigned grow) {
  tl_buf why;
  tl_judgement j;
  tl_buf_init(&why);
  tl_twins twins = {.before = s->m, .after = after, .numerics = tl_judged_as(r), .grow = grow};
  tl_status status = tl_judge(q->bench, &twins, &j, &why);
  f->same += status == TL_OK && j == TL_JUDGED_SAME;
  if (status == TL_OK && j == TL_JUDGED_WRONG)
    status = keep_culprit(q, f, s->m, s->root, &why);
  if (status == TL_OK && j == TL_JUDGED_NOT) {
    f->unjudged++;
    if (!f->why_not.n)
      tl_buf_add(&f->why_not, why.p, why.n);
  }
  tl_buf_release(&why);
  return status;
}

/* ---- open dims ------------------------------------------------------------------------------- */

/* Gives the sizes above 1 of all inputs names: equal sizes one name. */
static bool open_dims(tl_module *m) {
  const tl_graph *g = tl_module_main(m);
  bool any = false;
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    tl_dim dims[TL_MAX_RANK];
    tl_value_id v = g->inputs.at[i];
    const tl_type *t = tl_type_get(m, tl_value_type(m, v));
    if (t->kind != TL_KIND_TENSOR || t->rank < 0)
      return false;
    int rank = t->rank;
    tl_dtype dtype = (tl_dtype)t->dtype;
    if (rank)
      memcpy(dims, t->dims, (size_t)rank * sizeof *dims);
    for (int k = 0; k < rank; k++) {
      char name[24];
      snprintf(name, sizeof name, "n%lld", (long long)dims[k]);
      any = any || dims[k] > 1;
      dims[k] = dims[k] > 1 ? tl_dim_named(m, tl_sv_from(name)) : dims[k];
    }
    tl_value_set_type(m, v, tl_type_tensor(m, dtype, rank, dims));
  }
  TL_FOR_NODES(m, g, n)
    for (uint32_t r = 0; r < tl_node_get(m, n)->n_results; r++)
      tl_value_set_type(m, tl_result(m, n, r), TL_NO_TYPE);
  return any;
}

/* The same graph with open dims: if the rule takes it still, it must be right for other sizes. */
static tl_status try_open(const tl_quest *q, tl_findings *f, const tl_rule *r, const tl_sample *s) {
  tl_trial t;
  tl_module *m = tl_module_fork(s->m, q->bench->quiet);
  if (!m)
    return tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
  if (!open_dims(m) || tl_infer_module(m) != TL_OK || tl_module_verify(m, TL_VERIFY_ALL) != TL_OK) {
    tl_module_destroy(m);
    return TL_OK;
  }
  tl_status status = tl_trial_run(q->bench, r, m, s->root, &t);
  if (status == TL_OK && t.after) {
    f->open++;
    tl_sample open = {.m = m, .root = s->root};
    uint32_t unjudged = f->unjudged, same = f->same;
    for (unsigned grow = 0; grow < 2 && status == TL_OK && !f->wrong; grow++)
      status = judge(q, f, r, &open, t.after, grow);
    f->unjudged = unjudged; /* other sizes need not suit the constants */
    f->same = same;
  }
  tl_trial_release(&t);
  tl_module_destroy(m);
  return status;
}

/* ---- positives ------------------------------------------------------------------------------- */

static void keep(tl_findings *f, const tl_rule *r, const tl_genes *genes, tl_sample *s,
                 tl_trial *t) {
  tl_positive *p = &f->kept[f->n_kept++];
  *p = (tl_positive){.m = s->m, .after = t->after, .root = s->root, .rule = r, .genes = *genes};
  memcpy(p->nodes, t->nodes, sizeof p->nodes);
  s->m = NULL;
  t->after = NULL;
}

tl_status tl_add_positive(const tl_quest *q, tl_findings *f, const tl_rule *spelling,
                          const tl_genes *genes, tl_sample *s, tl_trial *t) {
  f->graphs++;
  tl_status status = judge(q, f, spelling, s, t->after, 0);
  if (status == TL_OK)
    status = try_open(q, f, spelling, s);
  if (status == TL_OK && f->n_kept < TL_KEPT)
    keep(f, spelling, genes, s, t);
  return status;
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Where a search stands. */
typedef struct climb {
  tl_genes genes; /* the best ones ... */
  uint32_t score; /* ... 0: none */
  uint32_t stale; /* samples since it became better */
  uint8_t unfit;  /* pattern node whose operands did not come out; TL_RULE_NODES: they did ... */
  int condition;  /* ... and this condition did not hold; -1: another reason */
  tl_map seen;    /* graphs by hash */
} climb;

static tl_genes next_genes(const tl_rule *r, const climb *c, uint64_t key) {
  if (!c->score)
    return fresh_genes(key);
  if (c->unfit < r->n_match)
    return change_node(r, &c->genes, c->unfit, key);
  return tl_genes_change(r, &c->genes, c->condition >= 0 ? r->where[c->condition] : NULL, key);
}

static void note(climb *c, const tl_genes *genes, uint32_t score, uint8_t unfit, int condition) {
  c->stale++;
  if (score < c->score)
    return;
  if (score > c->score)
    c->stale = 0;
  c->genes = *genes;
  c->score = score;
  c->unfit = unfit;
  c->condition = condition;
}

static void note_nearest(tl_findings *f, const tl_trial *t, uint32_t score, const climb *c) {
  if (f->graphs || (f->nearest.n && score <= c->score))
    return;
  tl_buf_clear(&f->nearest);
  tl_buf_printf(&f->nearest, "%s: ", t->code);
  tl_buf_add(&f->nearest, t->why.p, t->why.n);
}

/* Returns true the first time that a graph is met. */
static bool is_new(climb *c, const tl_module *m) {
  uint32_t before;
  uint64_t hash = tl_graph_hash(m, tl_module_main(m)->id) | 1;
  if (tl_map_find(&c->seen, hash, &before))
    return false;
  return tl_map_set(&c->seen, hash, 1);
}

/* Makes one sample and tries the rule on it. */
static tl_status step(const tl_quest *q, const tl_soil *soil, tl_findings *f, climb *c,
                      uint64_t key) {
  const tl_rule *r = soil->rule;
  tl_genes genes = next_genes(r, c, key);
  tl_sample s;
  tl_trial t;
  tl_arena_mark mark = tl_arena_save(soil->scratch);
  tl_status status = tl_sample_make(soil, &genes, &s);
  tl_arena_rewind(soil->scratch, mark);
  if (status != TL_OK)
    return tl_fail_memory(&q->bench->cli->diag, TL_NOWHERE);
  if (!s.m) {
    note(c, &genes, 1u + s.unfit, s.unfit, -1);
    return TL_OK;
  }
  status = tl_trial_run(q->bench, r, s.m, s.root, &t);
  if (status == TL_OK && t.after) {
    if (is_new(c, s.m))
      status = tl_add_positive(q, f, r, &genes, &s, &t);
    c->score = key & 1 ? BUILT * 4 : 0; /* look around here, or elsewhere */
    c->genes = genes;
    c->unfit = TL_RULE_NODES;
    c->condition = -1;
    c->stale = 0;
  } else if (status == TL_OK) {
    note_nearest(f, &t, BUILT + t.depth, c);
    note(c, &genes, BUILT + t.depth, TL_RULE_NODES, t.condition);
  }
  tl_trial_release(&t);
  tl_module_destroy(s.m);
  return status;
}

static tl_status search(const tl_quest *q, tl_findings *f, const tl_rule *r, uint32_t wanted) {
  tl_hints hints;
  tl_hints_find(r, &hints);
  tl_soil soil = {.set = q->bench->set,
                  .rule = r,
                  .hints = &hints,
                  .empty = q->empty,
                  .quiet = q->bench->quiet,
                  .heap = q->bench->heap,
                  .scratch = q->bench->scratch};
  climb c = {.unfit = TL_RULE_NODES, .condition = -1};
  tl_sv name = tl_sym(q->bench->set->m, r->name);
  uint64_t seed = tl_hash_mix(tl_hash_bytes(name.p, name.n, q->bench->seed), r->spelling);
  uint32_t most = wanted * TRIES_A_GRAPH < TRIES_AT_LEAST ? TRIES_AT_LEAST : wanted * TRIES_A_GRAPH;
  uint32_t before = f->graphs;
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < most && f->graphs - before < wanted && status == TL_OK; i++) {
    if (*q->bench->cli->signal)
      status = TL_IO;
    else
      status = step(q, &soil, f, &c, tl_random_bits(seed, i));
    if (c.stale > STALE)
      c.score = c.stale = 0;
  }
  f->reached += f->graphs > before;
  tl_map_release(&c.seen);
  return status;
}

tl_status tl_find_positives(const tl_quest *q, tl_findings *f) {
  const tl_ruleset *set = q->bench->set;
  uint32_t each = (q->count + f->spellings - 1) / f->spellings;
  tl_status status = TL_OK;
  for (uint32_t i = 0; i < set->rules.n && status == TL_OK; i++)
    if (set->rules.at[i]->name == f->rule->name)
      status = search(q, f, set->rules.at[i], each);
  return status;
}

void tl_findings_release(tl_findings *f) {
  for (uint32_t i = 0; i < f->n_kept; i++) {
    tl_module_destroy(f->kept[i].after); /* its contents are those of m */
    tl_module_destroy(f->kept[i].m);
  }
  tl_buf_release(&f->culprit);
  tl_buf_release(&f->why);
  tl_buf_release(&f->why_not);
  tl_buf_release(&f->nearest);
  tl_buf_release(&f->loop);
}
