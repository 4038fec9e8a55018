/* SPDX-License-Identifier: Apache-2.0 */
/* Makes rules of compiled tables (image.h): first what passes sort and switch rules by, and once a
 * rule is tried at a node its parts, in one block of memory. */
#include "passes/engine/image.h"

/* A rule being made: the block that its parts are cut from, and the parts that follow next. */
typedef struct making {
  tl_ruleset *set;
  const tl_rule_image *image;
  tl_rule *rule;
  unsigned char *block;
  tl_expr *exprs;
  tl_op_id *ops;
  tl_pattern_operand *operands;
  tl_pattern_attr *attrs;
  const tl_op_id *from_ops;
  const tl_image_operand *from_operands;
  const tl_image_attr *from_attrs;
  bool lost; /* memory ran out */
} making;

enum { ALIGNMENT = 8 };

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Returns the bytes of all parts of a rule, each aligned as `cut` takes it; at least one. */
static size_t bytes_of(const tl_rule_image *i) {
  size_t n = aligned(i->n_values * sizeof(tl_rule_value));
  n += aligned(i->n_names * sizeof(tl_sv)) + aligned(i->n_exprs * sizeof(tl_expr));
  n += aligned(i->n_match * sizeof(tl_pattern_node)) +
       aligned(i->n_build * sizeof(tl_pattern_node));
  n += aligned(i->n_operands * sizeof(tl_pattern_operand));
  n += aligned(i->n_attrs * sizeof(tl_pattern_attr)) + aligned(i->n_args * sizeof(tl_expr *));
  n += aligned(i->n_where * sizeof(tl_expr *)) + aligned(i->n_lets * sizeof(tl_expr *));
  n += aligned(i->n_ops * sizeof(tl_op_id)) + aligned(i->n_steps * sizeof(tl_rule_step));
  return n + aligned(i->n_lets) + 1;
}

/* Cuts the next n elements off the block. */
static void *cut(making *k, size_t n, size_t size) {
  void *p = k->block;
  k->block += aligned(n * size);
  return p;
}

/* Returns the symbol in the module of the set. Strings that the op table lacks are interned when a
 * rule has them first. */
static tl_symbol symbol_of(making *k, tl_image_symbol s) {
  if (s <= tl_n_seeds)
    return s;
  uint32_t i = s - tl_n_seeds - 1;
  tl_symbol *known = &k->set->strings[i];
  if (*known == 0) {
    const tl_image_text_list *all = &tl_image_strings;
    tl_sv text = {all->text + all->starts[i], all->starts[i + 1] - all->starts[i]};
    tl_symbol made = tl_intern_hashed(&k->set->m->symbols, text, all->hashes[i]);
    k->lost = k->lost || made == TL_NO_SYMBOL;
    *known = made == TL_NO_SYMBOL ? 0 : made;
  }
  return *known;
}

static tl_sv text_of(tl_image_text t) { return (tl_sv){tl_rule_characters + t.at, t.n}; }

static tl_expr *expr_of(const making *k, tl_image_ref r) { return r ? &k->exprs[r - 1] : NULL; }

/* Makes all expressions; arguments are neighbours. */
static void make_exprs(making *k) {
  const tl_image_expr *from = &tl_image_exprs[k->image->exprs];
  tl_expr **args = cut(k, k->image->n_args, sizeof *args);
  k->exprs = cut(k, k->image->n_exprs, sizeof *k->exprs);
  for (uint16_t i = 0; i < k->image->n_exprs; i++, from++) {
    tl_expr *e = &k->exprs[i];
    *e = (tl_expr){.kind = from->kind, .function = from->function, .n = from->n};
    e->text = text_of(from->text);
    if (from->kind == TL_EXPR_STRING)
      e->u.s = symbol_of(k, (tl_image_symbol)from->u);
    else
      e->u.mask = from->u;
    e->args = from->n ? args : NULL;
    for (uint16_t a = 0; a < from->n; a++)
      *args++ = &k->exprs[from->first + a];
  }
}

static void make_operands(making *k, tl_pattern_node *n) {
  n->operands = k->operands;
  for (uint8_t i = 0; i < n->n_operands; i++) {
    const tl_image_operand *o = k->from_operands++;
    *k->operands++ = (tl_pattern_operand){.kind = o->kind,
                                          .value = o->value,
                                          .tolerant = o->tolerant,
                                          .number = o->number,
                                          .expr = expr_of(k, o->expr),
                                          .end = expr_of(k, o->end),
                                          .dtype = o->dtype,
                                          .dtype_of = expr_of(k, o->dtype_of)};
  }
}

static void make_attrs(making *k, tl_pattern_node *n) {
  n->attrs = k->attrs;
  for (uint8_t i = 0; i < n->n_attrs; i++) {
    const tl_image_attr *a = k->from_attrs++;
    *k->attrs++ = (tl_pattern_attr){.name = symbol_of(k, a->name),
                                    .captures = a->captures,
                                    .index = a->index,
                                    .expr = expr_of(k, a->expr)};
  }
}

static void make_node(making *k, const tl_image_node *from, tl_pattern_node *n) {
  *n = (tl_pattern_node){.ops = k->ops,
                         .n_ops = from->n_ops,
                         .n_operands = from->n_operands,
                         .n_results = from->n_results,
                         .n_attrs = from->n_attrs,
                         .like = from->like,
                         .from = from->from,
                         .open = from->flags & TL_IMAGE_OPEN,
                         .shared = from->flags & TL_IMAGE_SHARED,
                         .maybe = from->flags & TL_IMAGE_MAYBE,
                         .forward = from->flags & TL_IMAGE_FORWARD,
                         .chooses = from->flags & TL_IMAGE_CHOOSES,
                         .twin = from->flags & TL_IMAGE_TWIN,
                         .line = from->line,
                         .column = from->column};
  memcpy(n->results, from->results, sizeof n->results);
  for (uint8_t i = 0; i == 0 || i < from->n_ops; i++) /* a node that is no node has one, too */
    *k->ops++ = *k->from_ops++;
  make_operands(k, n);
  make_attrs(k, n);
}

static void make_nodes(making *k) {
  const tl_image_node *from = &tl_image_nodes[k->image->nodes];
  tl_rule *r = k->rule;
  k->operands = cut(k, k->image->n_operands, sizeof *k->operands);
  k->attrs = cut(k, k->image->n_attrs, sizeof *k->attrs);
  k->ops = cut(k, k->image->n_ops, sizeof *k->ops);
  r->match = cut(k, r->n_match, sizeof *r->match);
  r->build = cut(k, r->n_build, sizeof *r->build);
  for (uint8_t i = 0; i < r->n_match; i++)
    make_node(k, from++, &r->match[i]);
  for (uint8_t i = 0; i < r->n_build; i++)
    make_node(k, from++, &r->build[i]);
}

static void make_values(making *k) {
  const tl_image_value *from = &tl_image_values[k->image->values];
  const tl_image_text *names = &tl_image_names[k->image->names];
  tl_rule *r = k->rule;
  r->values = cut(k, r->n_values, sizeof *r->values);
  r->names = cut(k, r->n_names, sizeof *r->names);
  for (uint8_t i = 0; i < r->n_values; i++)
    r->values[i] = (tl_rule_value){.name = text_of((tl_image_text){from[i].at, from[i].n}),
                                   .node = from[i].node,
                                   .result = from[i].result,
                                   .built = from[i].built,
                                   .rest = from[i].flags & TL_IMAGE_REST,
                                   .maybe = from[i].flags & TL_IMAGE_ABSENT};
  for (uint8_t i = 0; i < r->n_names; i++)
    r->names[i] = text_of(names[i]);
}

/* Makes the lists of conditions, of numbers computed before them, and of steps. */
static void make_lists(making *k) {
  const tl_image_ref *from = &tl_image_refs[k->image->refs];
  tl_rule *r = k->rule;
  r->where = cut(k, r->n_where, sizeof *r->where);
  r->lets = cut(k, r->n_lets, sizeof *r->lets);
  r->let_index = cut(k, r->n_lets, sizeof *r->let_index);
  r->steps = cut(k, r->n_steps, sizeof *r->steps);
  for (uint8_t i = 0; i < r->n_where; i++)
    r->where[i] = expr_of(k, *from++);
  for (uint8_t i = 0; i < r->n_lets; i++) {
    r->lets[i] = expr_of(k, *from++);
    r->let_index[i] = tl_image_lets[k->image->lets + i];
  }
  r->order = &tl_image_lets[k->image->lets + r->n_lets];
  memcpy(r->steps, &tl_image_steps[k->image->steps], r->n_steps * sizeof *r->steps);
}

static const tl_fusion_name *name_row(uint16_t i) {
  uint32_t n;
  return i ? &tl_fusion_names(&n)[i - 1] : NULL;
}

/* Makes a rule without its parts. */
static tl_rule *make_head(making *k, const tl_rule_text *text) {
  const tl_rule_image *i = k->image;
  tl_rule *r = tl_arena_alloc(&k->set->arena, sizeof *r);
  if (!r)
    return NULL;
  *r = (tl_rule){.name = symbol_of(k, i->name),
                 .pass = symbol_of(k, i->pass),
                 .about = text_of(i->about),
                 .file = tl_rule_paths[text->path],
                 .line = i->line,
                 .column = i->column,
                 .index = (uint32_t)(text - tl_rule_texts),
                 .spelling = i->spelling,
                 .written = i->written,
                 .priority = i->written,
                 .kind = i->kind,
                 .numerics = i->numerics,
                 .pass_kind = i->pass_kind,
                 .pass_row = name_row(i->pass_row),
                 .name_row = name_row(i->name_row),
                 .targets = (uint8_t)text->targets,
                 .n_values = i->n_values,
                 .n_names = i->n_names,
                 .n_match = i->n_match,
                 .n_build = i->n_build,
                 .n_where = i->n_where,
                 .n_lets = i->n_lets,
                 .n_steps = i->n_steps,
                 .depth = i->depth,
                 .text = text,
                 .general = i->general,
                 .bare = true,
                 .image = i};
  return k->lost ? NULL : r;
}

/* Reads what the text asks of scopes: few rules do, and few of these are ever tried at a node. */
static bool read_scope(tl_ruleset *s, tl_rule *r) {
  tl_ruleset one = {.m = s->m, .arena = s->arena};
  bool good = tl_rules_parse_text(&one, r->text) == TL_OK && one.rules.n == 1;
  if (good)
    r->scope = one.rules.at[0]->scope;
  s->arena = one.arena;
  tl_rule_vec_release(&one.rules);
  tl_map_release(&one.names);
  return good;
}

bool tl_rule_complete(tl_ruleset *s, tl_rule *r) {
  if (!r->bare)
    return true;
  making k = {.set = s, .image = r->image, .rule = r};
  k.block = tl_arena_alloc(&s->arena, bytes_of(k.image));
  if (!k.block)
    return false;
  k.from_ops = &tl_image_ops[k.image->ops];
  k.from_operands = &tl_image_operands[k.image->operands];
  k.from_attrs = &tl_image_attrs[k.image->attrs];
  make_exprs(&k);
  make_nodes(&k);
  make_values(&k);
  make_lists(&k);
  r->bare = k.lost || (r->kind == TL_RULE_SCOPE && !read_scope(s, r));
  return !r->bare;
}

bool tl_rule_has_image(uint32_t i) { return i < tl_n_rule_images && tl_rule_images[i].whole; }

tl_rule *tl_rule_image_head(tl_ruleset *s, uint32_t i) {
  making k = {.set = s, .image = &tl_rule_images[i]};
  if (!s->strings)
    s->strings = tl_arena_calloc(&s->arena, tl_image_strings.n + 1, sizeof *s->strings);
  return s->strings ? make_head(&k, &tl_rule_texts[i]) : NULL;
}

tl_status tl_rule_image_load(tl_ruleset *s, uint32_t i, bool *done) {
  *done = tl_rule_has_image(i);
  if (!*done)
    return TL_OK;
  tl_rule *r = tl_rule_image_head(s, i);
  bool ok = r && tl_rule_complete(s, r) && tl_rule_vec_push(&s->rules, r);
  if (ok && r->kind == TL_RULE_DEFINE) /* tl_rules_define asks; other names wait (keep.c) */
    ok = tl_map_set(&s->names, tl_map_pair(true, r->match->ops[0]), 1);
  return ok ? TL_OK : tl_no_memory(s->m);
}
