/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the built-in rules: compile-rules OUT.c parses each of them and writes it as constant
 * tables (passes/engine/image.h). It runs while Tailor is built and is no part of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/module.h"
#include "ir/options/fusion_config.h"
#include "passes/engine/image.h"
#include "support/hash.h"

/* The tables, as the text of their rows. Equal runs of rows are written once: spellings of a rule
 * share most parts. */
enum { VALUES, NAMES, NODES, OPS, OPERANDS, ATTRS, EXPRS, REFS, LETS, STEPS, N_TABLES };

typedef struct run {
  struct run *next;
  uint64_t hash;
  uint32_t at;
  uint32_t n;
  char text[];
} run;

typedef struct table {
  const char *head; /* type and name in C */
  tl_buf rows;
  uint32_t n;   /* of rows */
  tl_buf fresh; /* rows of the rule at hand */
  uint32_t n_fresh;
  run *runs[1024];
} table;

typedef struct compiler {
  tl_module *m;
  const tl_rule_text *text;
  tl_rule *rule;
  table tables[N_TABLES];
  const tl_expr *queue[TL_EXPR_PARTS]; /* expressions of the rule, arguments as neighbours */
  uint32_t n_exprs;
  uint32_t n_args;
  tl_buf images;
  tl_automaton_builder *automaton;
  tl_fusion_order *order; /* by text: graph rules without a priority of their own */
  uint32_t n_order;
  int32_t *priorities; /* by text */
  bool open;           /* the rule has something that no table holds */
} compiler;

static const char *const heads[N_TABLES] = {
    [VALUES] = "const tl_image_value tl_image_values[]",
    [NAMES] = "const tl_image_text tl_image_names[]",
    [NODES] = "const tl_image_node tl_image_nodes[]",
    [OPS] = "const tl_op_id tl_image_ops[]",
    [OPERANDS] = "const tl_image_operand tl_image_operands[]",
    [ATTRS] = "const tl_image_attr tl_image_attrs[]",
    [EXPRS] = "const tl_image_expr tl_image_exprs[]",
    [REFS] = "const tl_image_ref tl_image_refs[]",
    [LETS] = "const uint8_t tl_image_lets[]",
    [STEPS] = "const tl_rule_step tl_image_steps[]"};

/* ---- tables ---------------------------------------------------------------------------------- */

/* Starts a row of the rule at hand. */
static tl_buf *row(compiler *c, int which) {
  c->tables[which].n_fresh++;
  return &c->tables[which].fresh;
}

/* Ends the rows of a rule: appends them to their table, unless it has the same run. Returns where
 * they are. */
static uint32_t place(table *t) {
  tl_sv text = tl_buf_view(&t->fresh);
  uint64_t hash = tl_hash_bytes(text.p, text.n, 0);
  run **head = &t->runs[hash % 1024];
  uint32_t at = t->n;
  for (run *r = *head; r; r = r->next)
    if (r->hash == hash && r->n == text.n && memcmp(r->text, text.p, text.n) == 0)
      at = r->at;
  if (at == t->n && t->n_fresh) {
    run *r = malloc(sizeof *r + text.n);
    if (!r) {
      t->rows.failed = true;
      return 0;
    }
    *r = (run){.next = *head, .hash = hash, .at = at, .n = (uint32_t)text.n};
    memcpy(r->text, text.p, text.n);
    *head = r;
    tl_buf_add_sv(&t->rows, text);
    t->n += t->n_fresh;
  }
  t->rows.failed = t->rows.failed || t->fresh.failed;
  tl_buf_clear(&t->fresh);
  t->n_fresh = 0;
  return at;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Returns the offset of a text in tl_rule_characters; a text elsewhere has no place in a table. */
static uint32_t offset_of(compiler *c, tl_sv text) {
  if (text.n == 0)
    return 0;
  uintptr_t at = (uintptr_t)text.p - (uintptr_t)tl_rule_characters;
  if (at < c->text->at || at + text.n > (size_t)c->text->at + c->text->n)
    c->open = true;
  return (uint32_t)at;
}

/* Returns the reference to an expression, which is queued. */
static unsigned add_expr(compiler *c, const tl_expr *e) {
  if (!e)
    return 0;
  if (c->n_exprs == TL_EXPR_PARTS) {
    c->open = true;
    return 0;
  }
  c->queue[c->n_exprs] = e;
  return ++c->n_exprs;
}

static void write_exprs(compiler *c) {
  for (uint32_t i = 0; i < c->n_exprs; i++) {
    const tl_expr *e = c->queue[i];
    uint32_t first = c->n_exprs;
    for (uint16_t a = 0; a < e->n; a++)
      (void)add_expr(c, e->args[a]);
    c->n_args += e->n;
    c->open = c->open || e->optional;
    uint64_t u = e->kind == TL_EXPR_STRING ? e->u.s : e->u.mask;
    tl_buf_printf(row(c, EXPRS), "  {UINT64_C(0x%llx), {%u, %u}, %u, %u, %u, %u},\n",
                  (unsigned long long)u, offset_of(c, e->text), (unsigned)e->text.n, e->n,
                  e->n ? first : 0, e->kind, e->function);
  }
}

static void write_number(tl_buf *out, double v) {
  if (isnan(v))
    tl_buf_add_z(out, "NAN");
  else if (isinf(v))
    tl_buf_add_z(out, v < 0 ? "-INFINITY" : "INFINITY");
  else
    tl_buf_printf(out, "%a", v);
}

static void write_operand(compiler *c, const tl_pattern_operand *o) {
  unsigned expr = add_expr(c, o->expr), end = add_expr(c, o->end);
  unsigned dtype_of = add_expr(c, o->dtype_of);
  tl_buf *out = row(c, OPERANDS);
  tl_buf_add_z(out, "  {");
  write_number(out, o->number);
  tl_buf_printf(out, ", %u, %u, %u, %u, %u, %u, %d},\n", expr, end, dtype_of, o->kind, o->value,
                o->dtype, o->tolerant);
}

static void write_node(compiler *c, const tl_pattern_node *n) {
  unsigned flags = (n->open ? TL_IMAGE_OPEN : 0) | (n->shared ? TL_IMAGE_SHARED : 0) |
                   (n->maybe ? TL_IMAGE_MAYBE : 0) | (n->forward ? TL_IMAGE_FORWARD : 0) |
                   (n->chooses ? TL_IMAGE_CHOOSES : 0) | (n->twin ? TL_IMAGE_TWIN : 0);
  c->open = c->open || n->line > UINT16_MAX || n->column > UINT16_MAX;
  for (uint8_t i = 0; i == 0 || i < n->n_ops; i++) {
    c->open = c->open || n->ops[i] >= tl_n_op_rows;
    tl_buf_printf(row(c, OPS), "  %u,\n", n->ops[i]);
  }
  for (uint8_t i = 0; i < n->n_operands; i++)
    write_operand(c, &n->operands[i]);
  for (uint8_t i = 0; i < n->n_attrs; i++) {
    const tl_pattern_attr *a = &n->attrs[i];
    unsigned expr = add_expr(c, a->expr);
    tl_buf_printf(row(c, ATTRS), "  {%u, %u, %u, %d},\n", a->name, expr, a->index, a->captures);
  }
  tl_buf *out = row(c, NODES);
  tl_buf_printf(out, "  {%u, %u, {", n->line, n->column);
  for (size_t i = 0; i < sizeof n->results; i++)
    tl_buf_printf(out, "%s%u", i ? ", " : "", n->results[i]);
  tl_buf_printf(out, "}, %u, %u, %u, %u, %u, %u, %u},\n", n->n_ops, n->n_operands, n->n_results,
                n->n_attrs, n->like, n->from, flags);
}

static void write_values(compiler *c) {
  const tl_rule *r = c->rule;
  for (uint8_t i = 0; i < r->n_values; i++) {
    const tl_rule_value *v = &r->values[i];
    unsigned flags = (v->rest ? TL_IMAGE_REST : 0) | (v->maybe ? TL_IMAGE_ABSENT : 0);
    c->open = c->open || v->name.n > UINT8_MAX;
    tl_buf_printf(row(c, VALUES), "  {%u, %u, %u, %u, %u, %u},\n", offset_of(c, v->name),
                  (unsigned)v->name.n, v->node, v->result, v->built, flags);
  }
  for (uint8_t i = 0; i < r->n_names; i++)
    tl_buf_printf(row(c, NAMES), "  {%u, %u},\n", offset_of(c, r->names[i]),
                  (unsigned)r->names[i].n);
}

static void write_lists(compiler *c) {
  const tl_rule *r = c->rule;
  for (uint8_t i = 0; i < r->n_where; i++)
    tl_buf_printf(row(c, REFS), "  %u,\n", add_expr(c, r->where[i]));
  for (uint8_t i = 0; i < r->n_lets; i++)
    tl_buf_printf(row(c, REFS), "  %u,\n", add_expr(c, r->lets[i]));
  for (uint8_t i = 0; i < r->n_lets; i++)
    tl_buf_printf(row(c, LETS), "  %u,\n", r->let_index[i]);
  c->open = c->open || !r->order;
  for (uint32_t i = 0; r->order && i < (uint32_t)r->n_where + r->n_lets; i++)
    tl_buf_printf(row(c, LETS), "  %u,\n", r->order[i]);
  for (uint8_t i = 0; i < r->n_steps; i++)
    tl_buf_printf(row(c, STEPS), "  {%u, %u},\n", r->steps[i].node, r->steps[i].seek);
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void write_parts(compiler *c) {
  const tl_rule *r = c->rule;
  for (uint8_t i = 0; i < r->n_match; i++)
    write_node(c, &r->match[i]);
  for (uint8_t i = 0; i < r->n_build; i++)
    write_node(c, &r->build[i]);
  write_values(c);
  write_lists(c);
  write_exprs(c);
}

/* Returns the index in the table of public names plus 1; 0 for NULL. */
static unsigned index_of(const tl_fusion_name *row) {
  uint32_t n;
  return row ? (unsigned)(row - tl_fusion_names(&n)) + 1 : 0;
}

/* Returns where the ops of the root are among those of the rule; a node without ops has a row. */
static uint32_t root_ops_at(const tl_rule *r) {
  uint32_t n = 0;
  for (uint8_t i = 0; i + 1u < r->n_match; i++)
    n += r->match[i].n_ops ? r->match[i].n_ops : 1u;
  return n;
}

/* A rule that captures a scope stays text: it has other parts. What further rules ask of scopes is
 * read when they are first tried at a node. */
static void write_rule(compiler *c) {
  const tl_rule *r = c->rule;
  uint32_t counts[N_TABLES], at[N_TABLES];
  c->n_exprs = c->n_args = 0;
  c->open = r->kind == TL_RULE_CAPTURE || r->column > UINT16_MAX;
  write_parts(c);
  unsigned about = offset_of(c, r->about);
  for (int i = 0; i < N_TABLES; i++)
    counts[i] = c->tables[i].n_fresh;
  for (int i = 0; i < N_TABLES; i++) {
    if (c->open) {
      tl_buf_clear(&c->tables[i].fresh);
      c->tables[i].n_fresh = 0;
    }
    at[i] = place(&c->tables[i]);
  }
  if (c->open) {
    tl_buf_add_z(&c->images, "  {.whole = false},\n");
    return;
  }
  uint32_t number = (uint32_t)(c->text - tl_rule_texts) + 1;
  c->images.failed = !tl_automaton_add(c->automaton, c->m, r, number) || c->images.failed;
  tl_buf_printf(&c->images, "  {%u, %u, {%u, %u}, %u, %d", r->name, r->pass, about,
                (unsigned)r->about.n, r->line, r->written);
  for (int i = 0; i < N_TABLES; i++)
    tl_buf_printf(&c->images, ", %u", at[i]);
  tl_buf_printf(&c->images, ", %u, %u, %u, %u, %u, %u, %u, %u, %u, %u", at[OPS] + root_ops_at(r),
                counts[OPS], counts[OPERANDS], counts[ATTRS], c->n_exprs, c->n_args,
                r->match[r->n_match - 1].n_ops, r->column, index_of(r->pass_row),
                index_of(r->name_row));
  tl_buf_printf(&c->images, ", %u, %u, %u, %u, %u", r->kind, r->numerics, r->pass_kind, r->spelling,
                r->depth);
  tl_buf_printf(&c->images, ", %u, %u, %u, %u, %u, %u, %u, %d, true},\n", r->n_values, r->n_names,
                r->n_match, r->n_build, r->n_where, r->n_lets, r->n_steps, r->general);
}

/* Lists a graph rule without a priority of its own, to be numbered by name. */
static void list_rule(compiler *c) {
  const tl_rule *r = c->rule;
  if (tl_rule_fuses(r) && r->written == TL_PRIORITY_RULE)
    c->order[c->n_order++] = (tl_fusion_order){.pass = tl_sym(c->m, r->pass),
                                               .position = (uint32_t)(c->text - tl_rule_texts)};
}

/* Parses each text into a set of its own and writes its rule. */
static tl_status compile_all(compiler *c) {
  for (uint32_t i = 0; i < tl_n_rule_texts; i++) {
    tl_ruleset set;
    c->text = &tl_rule_texts[i];
    tl_ruleset_init(&set, c->m);
    tl_status status = tl_rules_parse_text(&set, c->text);
    if (status == TL_OK && set.rules.n == 1) {
      c->rule = set.rules.at[0];
      write_rule(c);
      list_rule(c);
    } else if (status == TL_OK) {
      status = TL_INTERNAL;
    }
    tl_ruleset_release(&set);
    if (status != TL_OK)
      return status;
  }
  return TL_OK;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Writes the strings that the op table lacks with their hashes. */
static void write_strings(const compiler *c, FILE *out) {
  uint32_t first = tl_n_seeds + 1, n = c->m->symbols.n - first, at = 0;
  fputs("static const char text[] = {", out);
  for (uint32_t i = 0; i < n; i++) {
    tl_sv s = tl_sym(c->m, first + i);
    for (size_t k = 0; k < s.n; k++)
      fprintf(out, "%d,", s.p[k]);
  }
  fputs("0};\nstatic const uint32_t starts[] = {0", out);
  for (uint32_t i = 0; i < n; i++)
    fprintf(out, ",%u", at += (uint32_t)tl_sym(c->m, first + i).n);
  fputs("};\nstatic const uint32_t hashes[] = {", out);
  for (uint32_t i = 0; i < n; i++) {
    tl_sv s = tl_sym(c->m, first + i);
    fprintf(out, "0x%xu,", (uint32_t)tl_hash_bytes(s.p, s.n, 0));
  }
  fprintf(out, "0};\nconst tl_image_text_list tl_image_strings = {text, starts, hashes, %u};\n", n);
}

/* Writes the automaton of all rules. */
static bool write_automaton(const compiler *c, FILE *out) {
  uint32_t n_states, n_leaves;
  if (!tl_automaton_finish(c->automaton))
    return false;
  tl_automaton a = tl_automaton_tables(c->automaton);
  tl_automaton_sizes(c->automaton, &n_states, &n_leaves);
  fputs("static const tl_automaton_state states[] = {\n", out);
  for (uint32_t i = 0; i < n_states; i++)
    fprintf(out, "  {UINT64_C(0x%llx), %u, %u, %u},\n", (unsigned long long)a.states[i].places,
            a.states[i].first, a.states[i].n_plain, a.states[i].n_ranked);
  fputs("};\nstatic const tl_automaton_edge edges[] = {\n", out);
  for (uint32_t i = 0; i <= a.mask; i++)
    fprintf(out, "  {%u, %u, %u},\n", a.edges[i].from, a.edges[i].test, a.edges[i].to);
  fputs("};\nstatic const tl_automaton_leaf leaves[] = {\n", out);
  for (uint32_t i = 0; i < n_leaves; i++)
    fprintf(out, "  {%a, %u, %u},\n", a.leaves[i].number, a.leaves[i].rule, a.leaves[i].ways);
  fprintf(out,
          "  {0, 0, 0}};\nconst tl_automaton tl_image_automaton = {states, edges, leaves, %u};\n",
          a.mask);
  return true;
}

static int by_name(const void *a, const void *b) {
  const tl_fusion_order *x = a, *y = b;
  int order = tl_sv_compare(x->pass, y->pass);
  return order ? order : x->position < y->position ? -1 : x->position > y->position;
}

/* Writes the priorities that tl_fusion_sort would give. More rules than a band is wide are numbered
 * on: no band lies behind that of rules but the one of those that are put last. */
static void write_priorities(compiler *c, FILE *out) {
  qsort(c->order, c->n_order, sizeof *c->order, by_name);
  for (uint32_t i = 0; i < c->n_order; i++)
    c->priorities[c->order[i].position] = TL_PRIORITY_RULE + (int32_t)i;
  fputs("const int32_t tl_image_priorities[] = {\n", out);
  for (uint32_t i = 0; i < tl_n_rule_texts; i++)
    fprintf(out, "  %d,\n", c->priorities[i]);
  fputs("};\n", out);
}

static bool write_file(compiler *c, const char *path) {
  FILE *out = fopen(path, "w");
  bool ok = out && !c->images.failed;
  if (!out)
    return false;
  fputs("/* Written by passes/engine/compile.c. Do not edit. */\n#include <math.h>\n\n"
        "#include \"passes/engine/image.h\"\n\n",
        out);
  write_strings(c, out);
  for (int i = 0; i < N_TABLES; i++) {
    const table *t = &c->tables[i];
    ok = ok && !t->rows.failed;
    fprintf(out, "%s = {\n%s};\n", heads[i], t->rows.n ? t->rows.p : "  0\n");
  }
  fprintf(out, "const tl_rule_image tl_rule_images[] = {\n%s};\n", c->images.p);
  fprintf(out, "const uint32_t tl_n_rule_images = %u;\n", tl_n_rule_texts);
  write_priorities(c, out);
  ok = write_automaton(c, out) && !ferror(out) && ok;
  return fclose(out) == 0 && ok;
}

static void release(compiler *c) {
  for (int i = 0; i < N_TABLES; i++) {
    tl_buf_release(&c->tables[i].rows);
    tl_buf_release(&c->tables[i].fresh);
    for (int k = 0; k < 1024; k++)
      for (run *r = c->tables[i].runs[k], *next; r; r = next) {
        next = r->next;
        free(r);
      }
  }
  tl_buf_release(&c->images);
  free(c->order);
  free(c->priorities);
  tl_automaton_end(c->automaton);
  tl_module_destroy(c->m);
}

static void print(void *user, const tl_diagnostic *d) {
  (void)user;
  fprintf(stderr, "%s:%u: %s\n", d->where.file ? d->where.file : "", d->where.line, d->message);
}

int main(int argc, char **argv) {
  static compiler c;
  tl_diag diag = {.fn = print};
  if (argc != 2)
    return 1;
  for (int i = 0; i < N_TABLES; i++) {
    tl_buf_init(&c.tables[i].rows);
    tl_buf_init(&c.tables[i].fresh);
  }
  tl_buf_init(&c.images);
  c.m = tl_module_create(&diag, "rules", 0);
  c.automaton = tl_automaton_begin();
  c.order = calloc(tl_n_rule_texts, sizeof *c.order);
  c.priorities = calloc(tl_n_rule_texts, sizeof *c.priorities);
  bool ok = c.m && c.automaton && c.order && c.priorities && compile_all(&c) == TL_OK &&
            write_file(&c, argv[1]);
  release(&c);
  if (!ok)
    fprintf(stderr, "cannot compile the rules into '%s'\n", argv[1]);
  return ok ? 0 : 1;
}
