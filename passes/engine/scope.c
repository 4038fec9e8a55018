/* SPDX-License-Identifier: Apache-2.0 */
/* Checks scopes against rules (scope.h): names and classes by globs, numbers of nodes,
 * attributes. */
#include "passes/engine/scope.h"
#include "passes/engine/why.h"

#include <math.h>

/* Upper bound on bytes of a path that globs are matched with. */
enum { LONGEST_PATH = 65536 };

/* ---- names ----------------------------------------------------------------------------------- */

/* Matches a glob with a path. A glob that begins with '/' or '*' covers the path with its first
 * '/'; others omit that '/'. */
static bool path_fits(const tl_module *m, tl_symbol glob, tl_sv path) {
  tl_sv text = tl_sym(m, glob);
  bool whole = text.n && (text.p[0] == '/' || text.p[0] == '*');
  return tl_scope_glob_fits(text, whole ? path : (tl_sv){path.p + 1, path.n - 1});
}

/* Returns what is wrong with the name or class of the scope, or NULL; *verdict accordingly. */
static const char *misnamed(const tl_scopes *s, const tl_scope_pattern *p, uint32_t scope,
                            tl_sv path, tl_scope_verdict *verdict) {
  bool in = false;
  *verdict = TL_SCOPE_OTHER_NAME;
  for (uint32_t i = 0; i < p->n_in; i++)
    in = in || path_fits(s->m, p->in[i], path);
  if (!in)
    return "has another name";
  for (uint32_t i = 0; i < p->n_except; i++)
    if (path_fits(s->m, p->except[i], path)) {
      *verdict = TL_SCOPE_EXCEPTED;
      return "has a name that the rule excepts";
    }
  tl_symbol klass = s->at.at[scope].klass;
  if (p->klass && !(klass && tl_scope_glob_fits(tl_sym(s->m, p->klass), tl_sym(s->m, klass))))
    return "has another class";
  return NULL;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns true if the count is about this op, one of its alternatives. */
static bool has_op(const tl_scope_count *c, tl_op_id op) {
  for (uint32_t i = 0; i < c->n_ops; i++)
    if (c->ops[i] == op)
      return true;
  return false;
}

/* Returns true if n is a multiple of `times`, or without that in [low, high]. */
static bool count_fits(const tl_scope_count *c, uint32_t n) {
  return c->times ? n && n % c->times == 0 : n >= c->low && n <= c->high;
}

/* Returns the first count that does not fit, *found being the actual number; NULL if all fit. */
static const tl_scope_count *miscounted(const tl_scopes *s, const tl_scope_part *part,
                                        uint32_t scope, uint32_t *found) {
  uint32_t n[TL_SCOPE_COUNTS] = {0};
  const tl_scope *at = &s->at.at[scope];
  for (uint32_t i = at->first; part->n_counts && i < at->first + at->n_nodes; i++)
    for (uint32_t k = 0; k < part->n_counts; k++)
      n[k] += has_op(&part->counts[k], s->ops.at[i]);
  for (uint32_t k = 0; k < part->n_counts; k++)
    if (!count_fits(&part->counts[k], n[k])) {
      *found = n[k];
      return &part->counts[k];
    }
  return NULL;
}

/* Returns true if a direct inner scope fits. Otherwise *miss is what the last one of that name
 * lacks. */
static bool has_child(const tl_scopes *s, const tl_scope_part *part, uint32_t scope,
                      const tl_scope_count **miss, uint32_t *found) {
  tl_sv glob = tl_sym(s->m, part->name);
  uint32_t last = s->at.at[scope].last;
  for (uint32_t i = scope + 1; i <= last; i = s->at.at[i].last + 1) {
    if (!tl_scope_glob_fits(glob, tl_sym(s->m, s->at.at[i].name)))
      continue;
    *miss = miscounted(s, part, i, found);
    if (!*miss)
      return true;
  }
  return false;
}

/* Appends what a scope has and what the rule requires, in the words of the rule. */
static void tell_count(tl_buf *why, tl_sv path, const tl_scope_count *c, uint32_t found) {
  tl_buf_printf(why, "`%.*s` has %u where the rule requires `%.*s`", TL_SV_ARG(path), found,
                TL_SV_ARG(c->text));
}

/* Compares an attribute with the rule. A float may differ by its rounding to 32 bits. */
static bool says(const tl_scopes *s, const tl_scope_attr *a, tl_node_id n) {
  const tl_attr *attr = tl_node_attr_or_default(s->m, n, a->name);
  if (!attr || a->string)
    return attr && attr->kind == TL_ATTR_STRING && attr->u.s == a->string;
  if (attr->kind == TL_ATTR_FLOAT)
    return fabs((double)attr->u.f - a->number) <= 3e-7 * fabs(a->number);
  return (attr->kind == TL_ATTR_INT || attr->kind == TL_ATTR_BOOL) &&
         (double)attr->u.i == a->number;
}

/* Checks the first node of the op directly in the scope that has the attribute. */
static bool attr_fits(const tl_scopes *s, const tl_scope_attr *a, uint32_t scope) {
  const tl_scope *at = &s->at.at[scope];
  for (uint32_t i = at->first; i < at->first + at->n_nodes; i++) {
    tl_node_id n = s->nodes.at[i];
    if (s->ops.at[i] == a->op && tl_scope_of(s, n) == scope && tl_node_get(s->m, n)->op == a->op &&
        tl_node_attr_or_default(s->m, n, a->name))
      return says(s, a, n);
  }
  return false;
}

static bool attrs_fit(const tl_scopes *s, const tl_scope_pattern *p, uint32_t scope, tl_sv path,
                      tl_buf *why) {
  for (uint32_t i = 0; i < p->n_attrs; i++) {
    if (attr_fits(s, &p->attrs[i], scope))
      continue;
    if (why)
      tl_buf_printf(why, "`%.*s` has no node right inside that says `%.*s` first", TL_SV_ARG(path),
                    TL_SV_ARG(p->attrs[i].text));
    return false;
  }
  return true;
}

/* Checks counts, inner scopes and attributes, cheapest first, and appends the first reason to
 * `why`, if it is not NULL. */
static bool nodes_fit(const tl_scopes *s, const tl_scope_pattern *p, uint32_t scope, tl_sv path,
                      tl_buf *why) {
  uint32_t found = 0;
  const tl_scope_count *miss = miscounted(s, &p->parts[0], scope, &found);
  if (miss && why)
    tell_count(why, path, miss, found);
  for (uint32_t i = 1; i < p->n_parts && !miss; i++) {
    if (has_child(s, &p->parts[i], scope, &miss, &found)) {
      miss = NULL;
      continue;
    }
    tl_sv name = tl_sym(s->m, p->parts[i].name);
    if (why)
      tl_buf_printf(why, "`%.*s` has no scope `%.*s` with these nodes right inside",
                    TL_SV_ARG(path), TL_SV_ARG(name));
    if (why && miss)
      tl_buf_printf(why, ": %u where the rule requires `%.*s`", found, TL_SV_ARG(miss->text));
    return false;
  }
  return !miss && attrs_fit(s, p, scope, path, why);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Checks one scope: names first, since they exclude most scopes at no cost. */
static tl_scope_verdict judge(const tl_scopes *s, const tl_scope_pattern *p, uint32_t scope,
                              tl_buf *why) {
  tl_buf path;
  tl_buf_init(&path);
  tl_scope_path(s, scope, &path);
  tl_scope_verdict verdict = TL_SCOPE_OTHER_NAME;
  const char *name = path.failed || path.n > LONGEST_PATH
                         ? "has a name that is too long"
                         : misnamed(s, p, scope, tl_buf_view(&path), &verdict);
  tl_sv shown = tl_buf_view(&path);
  if (name && why)
    tl_buf_printf(why, "`%.*s` %s", TL_SV_ARG(shown), name);
  else if (!name)
    verdict = nodes_fit(s, p, scope, shown, why) ? TL_SCOPE_FITS : TL_SCOPE_OTHER_NODES;
  tl_buf_release(&path);
  return verdict;
}

tl_scope_verdict tl_scope_judge(tl_scopes *s, const tl_rule *r, uint32_t scope, tl_buf *why) {
  uint64_t key = tl_map_pair(r->index, scope);
  uint32_t verdict = TL_SCOPE_UNASKED;
  if (!why && tl_map_find(&s->verdicts, key, &verdict))
    return (tl_scope_verdict)verdict;
  verdict = judge(s, r->scope, scope, why);
  bool kept = tl_map_set(&s->verdicts, key, verdict);
  (void)kept; /* without memory it is computed again */
  return (tl_scope_verdict)verdict;
}

/* ---- matches --------------------------------------------------------------------------------- */

/* Returns the innermost scope that contains all nodes of the match. */
static uint32_t common_scope(const tl_match *match) {
  const tl_scopes *s = match->scopes;
  uint32_t scope = tl_scope_of(s, match->root);
  for (uint8_t i = 0; i < match->rule->n_match; i++)
    while (scope && tl_match_has_node(match, i) &&
           !tl_scope_has(s, scope, tl_scope_of(s, match->nodes[i])))
      scope = s->at.at[scope].parent;
  return scope;
}

/* Notes as the reason of the miss what the given scope lacks; 0: no scope has all nodes. */
static void note(tl_match *match, uint32_t innermost) {
  tl_buf why;
  if (!match->miss)
    return;
  tl_buf_init(&why);
  if (!innermost)
    tl_buf_add_z(&why, "no scope has all nodes of the pattern");
  else if (tl_match_tells(match, TL_MISS_CLOSED))
    (void)tl_scope_judge(match->scopes, match->rule, innermost, &why);
  tl_sv text = why.failed ? TL_SV("") : tl_buf_view(&why);
  tl_match_note(match, TL_MISS_CLOSED, "SCOPE", "%.*s", TL_SV_ARG(text));
  tl_buf_release(&why);
}

/* Any scope around the nodes may fit, so the walk goes from the innermost one outward. */
bool tl_match_is_in_scope(tl_match *match) {
  if (!match->scopes || !match->rule->scope)
    return true;
  if (!tl_scopes_ask(match->scopes))
    return false;
  uint32_t innermost = common_scope(match), told = TL_NO_SCOPE;
  for (uint32_t scope = innermost; scope; scope = match->scopes->at.at[scope].parent) {
    tl_scope_verdict v = tl_scope_judge(match->scopes, match->rule, scope, NULL);
    if (v == TL_SCOPE_FITS) {
      match->scope = scope;
      return true;
    }
    if (v != TL_SCOPE_OTHER_NAME && !told)
      told = scope; /* the scope to explain: its name fits */
  }
  note(match, told ? told : innermost);
  return false;
}
