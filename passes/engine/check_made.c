/* SPDX-License-Identifier: Apache-2.0 */
/* Checks what rules of files make, once all files are read: a rule may make an op that a later file
 * defines. An op that nothing knows, or a definition that uses itself, would otherwise be found
 * only in the model where the rule fires. */
#include <stdlib.h>

#include "ir/ops_gen.h"
#include "passes/engine/lazy.h"
#include "passes/engine/rule.h"

bool tl_rules_define(const tl_ruleset *s, tl_op_id op) {
  return tl_map_find(&s->names, tl_map_pair(1, op), NULL) || tl_lazy_define(s, op);
}

static bool is_ours(const tl_ruleset *s, tl_op_id op) {
  tl_symbol domain = tl_op_domain_symbol(s->m, op);
  return domain == TL_SYM_tl || domain == TL_SYM_npu;
}

/* An op with a meaning of its own keeps it; ours may be defined anew. */
static tl_status check_defined_op(tl_ruleset *s, const tl_rule *r) {
  tl_op_id op = r->match->ops[0];
  if (!tl_op_row(op) || is_ours(s, op))
    return TL_OK;
  return tl_rule_error(s, r, NULL,
                       "the op has a meaning already\vdefine an op of a domain of yours, for "
                       "example my::%.*s",
                       TL_SV_ARG(tl_op_name(s->m, op)));
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool takes_literal(tl_attr_kind kind, const tl_expr *e) {
  while (e->kind == TL_EXPR_MINUS)
    e = e->args[0];
  switch ((tl_expr_kind)e->kind) {
  case TL_EXPR_INT: return kind == TL_ATTR_INT || kind == TL_ATTR_FLOAT || kind == TL_ATTR_BOOL;
  case TL_EXPR_BOOL: return kind == TL_ATTR_INT || kind == TL_ATTR_BOOL;
  case TL_EXPR_FLOAT: return kind == TL_ATTR_FLOAT;
  case TL_EXPR_STRING: return kind == TL_ATTR_STRING;
  case TL_EXPR_DTYPE: return kind == TL_ATTR_INT || kind == TL_ATTR_DTYPE;
  case TL_EXPR_LIST: return tl_attr_kind_is_list(kind);
  default: return true; /* known when it is evaluated */
  }
}

static tl_status check_attrs(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n) {
  const tl_op *row = tl_op_row(n->ops[0]);
  for (uint8_t i = 0; row && n->like == TL_RULE_NODES && i < n->n_attrs; i++) {
    const tl_op_attr *known = tl_op_attr_find(row, n->attrs[i].name);
    const tl_expr *e = n->attrs[i].expr;
    if (!known || !e || takes_literal((tl_attr_kind)known->value.kind, e))
      continue;
    tl_sv name = tl_sym(s->m, n->attrs[i].name);
    return tl_rule_error(s, r, n, "attribute '%.*s' of '%s' is of kind %s, which %.*s is not",
                         TL_SV_ARG(name), row->name,
                         tl_attr_kind_name((tl_attr_kind)known->value.kind), TL_SV_ARG(e->text));
  }
  return TL_OK;
}

/* ---- ops without a row ----------------------------------------------------------------------- */

/* Returns true if the definition's signature takes this many operands and results. */
static bool takes_count(const tl_pattern_node *signature, const tl_pattern_node *n) {
  uint32_t least = 0, most = signature->n_operands;
  for (uint8_t i = 0; i < signature->n_operands; i++) {
    uint8_t kind = signature->operands[i].kind;
    if (kind == TL_PATTERN_REST)
      most = UINT32_MAX;
    else if (kind != TL_PATTERN_MAYBE && kind != TL_PATTERN_ABSENT)
      least = i + 1u;
  }
  for (uint8_t i = 0; i < n->n_operands; i++)
    if (n->operands[i].kind == TL_PATTERN_REST) /* any number */
      return n->n_results <= signature->n_results;
  return n->n_operands >= least && n->n_operands <= most && n->n_results <= signature->n_results;
}

static bool names_attr(const tl_pattern_node *signature, tl_symbol name) {
  for (uint8_t i = 0; i < signature->n_attrs; i++)
    if (signature->attrs[i].name == name)
      return true;
  return false;
}

/* Checks a node that the rule makes against the definitions of its op, one of which must fit. */
static tl_status check_use(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n) {
  const tl_rule *first = NULL;
  tl_symbol lacks = 0;
  for (uint32_t k = 0; k < s->rules.n; k++) {
    const tl_rule *d = s->rules.at[k];
    uint8_t i = 0;
    if (d->kind != TL_RULE_DEFINE || d->match->ops[0] != n->ops[0])
      continue;
    first = first ? first : d;
    if (!takes_count(d->match, n))
      continue;
    while (i < n->n_attrs && names_attr(d->match, n->attrs[i].name))
      i++;
    if (i == n->n_attrs)
      return TL_OK;
    lacks = n->attrs[i].name;
  }
  tl_sv name = tl_op_name(s->m, n->ops[0]), attr = tl_sym(s->m, lacks);
  if (lacks)
    return tl_rule_error(s, r, n, "the definition of '%.*s' does not name the attribute '%.*s'",
                         TL_SV_ARG(name), TL_SV_ARG(attr));
  return tl_rule_error(
      s, r, n, "'%.*s' has %u operand%s and %u result%s here, %u and %u in its definition, %s:%u",
      TL_SV_ARG(name), n->n_operands, n->n_operands == 1 ? "" : "s", n->n_results,
      n->n_results == 1 ? "" : "s", first->match->n_operands, first->match->n_results, first->file,
      first->line);
}

static tl_status check_built(tl_ruleset *s, const tl_rule *r, const tl_pattern_node *n) {
  tl_op_id op = n->ops[0];
  if (n->forward || n->like != TL_RULE_NODES)
    return TL_OK;
  if (tl_op_row(op))
    return check_attrs(s, r, n);
  if (tl_rules_define(s, op))
    return check_use(s, r, n);
  if (tl_op_domain_symbol(s->m, op) != TL_SYM_tl)
    return TL_OK; /* an op of the user's, with a kernel of its own */
  return tl_rule_error(s, r, n,
                       "the op 'tl::%.*s' does not exist\vgive it a meaning: define tl::%.*s(...) "
                       "{ ... return ... }; 'tailor ops' lists those that exist",
                       TL_SV_ARG(tl_op_name(s->m, op)), TL_SV_ARG(tl_op_name(s->m, op)));
}

/* ---- definitions that use themselves --------------------------------------------------------- */

/* A definition on the way from one that is looked at. */
typedef struct frame {
  uint32_t rule; /* index in the set */
  uint32_t made; /* which of the ops that it makes is next */
  uint32_t next; /* which definition of that op is next */
} frame;

typedef struct search {
  tl_ruleset *s;
  uint8_t *state; /* by rule: 0 not seen, 1 on the way, 2 done */
  frame *stack;
  uint32_t depth;
} search;

/* Returns the i-th op that a definition makes; UINT32_MAX behind the last. */
static tl_op_id made_op(const tl_rule *r, uint32_t i) {
  if (r->text) { /* its body may not be parsed */
    tl_op_id op = tl_rule_needs[r->text->makes + i];
    return op == TL_OP_RETURN ? UINT32_MAX : op;
  }
  if (i >= r->n_build)
    return UINT32_MAX;
  return r->build[i].forward ? TL_OP_RETURN : r->build[i].ops[0];
}

/* Finds the next definition that the one on top uses; false if there is none left. */
static bool next_used(const search *w, frame *top, uint32_t *used) {
  const tl_rule *r = w->s->rules.at[top->rule];
  for (tl_op_id op; (op = made_op(r, top->made)) != UINT32_MAX; top->made++, top->next = 0)
    while (tl_rules_define(w->s, op) && top->next < w->s->rules.n) {
      const tl_rule *d = w->s->rules.at[top->next++];
      if (d->kind == TL_RULE_DEFINE && d->match->ops[0] == op) {
        *used = top->next - 1;
        return true;
      }
    }
  return false;
}

static void push(search *w, uint32_t rule) {
  w->state[rule] = 1;
  w->stack[w->depth++] = (frame){.rule = rule};
}

static tl_status fail_cycle(search *w, uint32_t used) {
  const tl_rule *r = w->s->rules.at[w->stack[w->depth - 1].rule], *d = w->s->rules.at[used];
  const tl_rule *where = d->custom ? d : r;
  if (r == d)
    return tl_rule_error(w->s, where, NULL, "it uses itself");
  return tl_rule_error(w->s, where, NULL, "it uses itself, through '%.*s'",
                       TL_SV_ARG(tl_op_name(w->s->m, r->match->ops[0])));
}

static tl_status follow(search *w, uint32_t start) {
  uint32_t used;
  push(w, start);
  while (w->depth) {
    frame *top = &w->stack[w->depth - 1];
    if (!next_used(w, top, &used)) {
      w->state[top->rule] = 2;
      w->depth--;
    } else if (w->state[used] == 1) {
      return fail_cycle(w, used);
    } else if (w->state[used] == 0) {
      push(w, used);
    }
  }
  return TL_OK;
}

static tl_status check_cycles(tl_ruleset *s) {
  search w = {.s = s,
              .state = calloc(s->rules.n + 1u, 1),
              .stack = calloc(s->rules.n + 1u, sizeof *w.stack)};
  tl_status status = w.state && w.stack ? TL_OK : tl_no_memory(s->m);
  for (uint32_t i = 0; status == TL_OK && i < s->rules.n; i++)
    if (s->rules.at[i]->custom && s->rules.at[i]->kind == TL_RULE_DEFINE && !w.state[i])
      status = follow(&w, i);
  free(w.state);
  free(w.stack);
  return status;
}

tl_status tl_rules_check_made(tl_ruleset *s) {
  for (uint32_t i = 0; i < s->rules.n; i++) {
    const tl_rule *r = s->rules.at[i];
    if (!r->custom)
      continue;
    if (r->kind == TL_RULE_DEFINE)
      TL_TRY(check_defined_op(s, r));
    for (uint8_t k = 0; k < r->n_build; k++)
      TL_TRY(check_built(s, r, &r->build[k]));
  }
  return check_cycles(s);
}
