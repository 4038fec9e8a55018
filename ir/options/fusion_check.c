/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about switches that switch nothing. A file of nonsense gets a few and a sum. */
#include <stdlib.h>

#include "ir/options/fusion_config.h"

enum { MOST_WARNINGS = 20 };

typedef struct checker {
  tl_diag *diag;
  const tl_fusion_config *config;
  tl_fusion_known_fn known;
  void *user;
  uint32_t warned;
  tl_status status; /* TL_NO_MEMORY: nobody can tell what names mean */
} checker;

/* False when there were enough warnings. */
static bool may_warn(checker *c) { return ++c->warned <= MOST_WARNINGS; }

/* Do rules answer to the name? Without memory it is not called unknown. */
static bool has_rules(checker *c, tl_sv pass, tl_fusion_kind kind) {
  bool known = false;
  if (c->known && c->status == TL_OK)
    c->status = c->known(c->user, pass, kind, &known);
  return known || c->status != TL_OK;
}

static bool is_known(checker *c, tl_sv pass) {
  if (tl_fusion_name_find(pass))
    return true;
  for (int kind = 0; c->known && kind < TL_N_FUSION_KINDS; kind++) {
    if (has_rules(c, pass, (tl_fusion_kind)kind))
      return true;
  }
  return false;
}

static bool warns_unknown(checker *c, const tl_fusion_entry *e) {
  if (is_known(c, e->pass))
    return false;
  if (!may_warn(c))
    return true;
  const char *nearest = tl_fusion_name_nearest(e->written);
  tl_warn_code(c->diag, "W_FUSION_UNKNOWN_PASS", e->at, "no fusion pass is named '%.*s'\v%s%s%s",
               TL_SV_ARG(e->written), nearest ? "did you mean " : "",
               nearest ? nearest : "'tailor passes --fusion' lists them", nearest ? "?" : "");
  return true;
}

/* True, with a warning, if the pass is not of the kind that the section is about. */
static bool warns_section(checker *c, const tl_fusion_entry *e, tl_fusion_kind section) {
  const tl_fusion_name *row = tl_fusion_name_find(e->pass);
  if (!row || row->kind == section || (c->config->both_kinds && row->kind < TL_N_FUSION_SECTIONS))
    return false;
  const char *right = tl_fusion_section_name((tl_fusion_kind)row->kind);
  if (!may_warn(c))
    return true;
  if (right)
    tl_warn_code(c->diag, "W_FUSION_WRONG_SECTION", e->at,
                 "'%.*s' has no effect in section %s\vit belongs in section %s",
                 TL_SV_ARG(e->written), tl_fusion_section_name(section), right);
  else
    tl_warn_code(
        c->diag, "W_FUSION_WRONG_SECTION", e->at,
        "'%.*s' is a %s pass, which a switch file cannot switch\v--fusion=%.*s:off switches it off",
        TL_SV_ARG(e->written), tl_fusion_kind_name((tl_fusion_kind)row->kind), TL_SV_ARG(e->pass));
  return true;
}

static void warn_closed(checker *c, const tl_fusion_entry *e) {
  const tl_fusion_name *row = tl_fusion_name_find(e->pass);
  bool fixed = (row && row->close != TL_CLOSE_MAY) ||
               tl_fusion_entry_find(&c->config->exceptional, e->pass);
  if (e->value || !fixed || !may_warn(c))
    return;
  tl_warn_code(c->diag, "W_FUSION_CANNOT_CLOSE", e->at,
               "'%.*s' cannot be switched off by a switch file; it stays on",
               TL_SV_ARG(e->written));
}

static int by_number(const void *a, const void *b) {
  const tl_fusion_entry *x = *(const tl_fusion_entry *const *)a;
  const tl_fusion_entry *y = *(const tl_fusion_entry *const *)b;
  if (x->number != y->number)
    return x->number < y->number ? -1 : 1;
  return tl_sv_compare(x->pass, y->pass);
}

/* A scope fusion that there is not, or that is of another kind: asking for it is a slip. Sets
 * *failed where --strict makes it an error. */
static void check_scope_pass(checker *c, const tl_fusion_entry *e, bool *failed) {
  const tl_fusion_name *row = tl_fusion_name_find(e->pass);
  bool known = row ? row->kind == TL_FUSION_SCOPE : has_rules(c, e->pass, TL_FUSION_SCOPE);
  tl_buf text;
  if (known || (!c->config->strict && !may_warn(c)))
    return;
  const char *nearest = row ? NULL : tl_fusion_name_nearest(e->written);
  tl_buf_init(&text);
  tl_buf_printf(&text, "no scope fusion is named '%.*s'\v", TL_SV_ARG(tl_sv_shown(e->written)));
  if (row)
    tl_buf_printf(&text, "it is a %s pass: use --fusion",
                  tl_fusion_kind_name((tl_fusion_kind)row->kind));
  else
    tl_buf_printf(&text, "%s%s%s", nearest ? "did you mean " : "",
                  nearest ? nearest : "'tailor passes --fusion' lists them", nearest ? "?" : "");
  const char *shown = text.failed ? "out of memory" : text.p;
  if (c->config->strict)
    (void)tl_fail_code(c->diag, TL_INVALID_ARGUMENT, "E10001", e->at, "%s", shown);
  else
    tl_warn_code(c->diag, "W_FUSION_UNKNOWN_PASS", e->at, "%s", shown);
  *failed = *failed || c->config->strict;
  tl_buf_release(&text);
}

/* A pass of the device compiler that nothing here does: asking for it changes nothing. */
static void check_scope_rules(checker *c, const tl_fusion_entry *e) {
  const tl_fusion_name *row = tl_fusion_name_find(e->pass);
  const char *why = tl_fusion_name_lacks(e->pass);
  if (row && row->kind == TL_FUSION_SCOPE && c->known && !has_rules(c, e->pass, TL_FUSION_SCOPE) &&
      may_warn(c))
    tl_warn_code(c->diag, "W_FUSION_NO_RULES", e->at,
                 "this version has no rule for '%.*s'%s%s\va rule file can capture a scope as an "
                 "op of your own: docs/rules.md",
                 TL_SV_ARG(e->written), why ? ": " : "", why ? why : "");
}

static tl_status check_scope_passes(checker *c) {
  const tl_fusion_list *lists[] = {&c->config->scope_on, &c->config->scope_off};
  bool failed = false;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (uint32_t k = 0; k < lists[i]->n; k++)
      check_scope_pass(c, &lists[i]->at[k], &failed);
  for (uint32_t k = 0; k < c->config->scope_on.n; k++)
    check_scope_rules(c, &c->config->scope_on.at[k]);
  return failed ? TL_INVALID_ARGUMENT : TL_OK;
}

typedef enum subject { SWITCHES, PRIORITIES, NAMES } subject;

/* Looks at the entries in the order in which they were written. An alias of two passes counts
 * once. */
static tl_status check_list(checker *c, const tl_fusion_list *list, subject what,
                            tl_fusion_kind section) {
  if (list->n == 0)
    return TL_OK;
  const tl_fusion_entry **order = calloc(list->n, sizeof *order);
  if (!order)
    return tl_fail_memory(c->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < list->n; i++)
    order[i] = &list->at[i];
  qsort(order, list->n, sizeof *order, by_number);
  for (uint32_t i = 0; i < list->n; i++) {
    const tl_fusion_entry *e = order[i];
    bool again = i > 0 && e->number == order[i - 1]->number;
    if (again || warns_unknown(c, e) || what == NAMES)
      continue;
    if (!warns_section(c, e, section) && what == SWITCHES)
      warn_closed(c, e);
  }
  free(order);
  return TL_OK;
}

tl_status tl_fusion_check(tl_diag *d, const tl_fusion_config *config, tl_fusion_known_fn known,
                          void *user) {
  checker c = {.diag = d, .config = config, .known = known, .user = user};
  TL_TRY(check_list(&c, &config->direct, NAMES, TL_FUSION_GRAPH));
  TL_TRY(check_list(&c, &config->option, NAMES, TL_FUSION_GRAPH));
  for (int kind = 0; kind < TL_N_FUSION_SECTIONS; kind++) {
    /* A line says the same of both kinds: once is enough. */
    if (kind > 0 && config->both_kinds)
      break;
    TL_TRY(check_list(&c, &config->file[kind], SWITCHES, (tl_fusion_kind)kind));
    TL_TRY(check_list(&c, &config->priority[kind], PRIORITIES, (tl_fusion_kind)kind));
  }
  TL_TRY(check_list(&c, &config->exceptional, NAMES, TL_FUSION_GRAPH));
  TL_TRY(check_scope_passes(&c));
  if (c.status != TL_OK)
    return tl_fail_memory(d, TL_NOWHERE);
  if (c.warned > MOST_WARNINGS)
    tl_warn(d, TL_NOWHERE, "%u more entries about fusion passes have no effect",
            c.warned - MOST_WARNINGS);
  return TL_OK;
}
