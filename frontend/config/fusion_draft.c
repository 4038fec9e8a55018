/* SPDX-License-Identifier: Apache-2.0 */
/* Collects entries about fusion passes, resolves aliases and drops repeated entries. */
#include "frontend/config/fusion_draft.h"

#include <stdlib.h>

int tl_fusion_on_off(tl_sv value) {
  return tl_sv_is(value, "on") ? 1 : tl_sv_is(value, "off") ? 0 : -1;
}

tl_status tl_fusion_draft_add(tl_fusion_draft *draft, tl_arena *a, tl_sv name, int value,
                              tl_location at) {
  tl_fusion_entry e = {.at = at, .number = draft->number++, .value = value};
  if (tl_fusion_name_is_inert(name))
    return TL_OK;
  e.written = (tl_sv){tl_arena_copy(a, name.n ? name.p : "", name.n), name.n};
  if (!e.written.p)
    return TL_NO_MEMORY;
  e.pass = e.written;
  /* The first round adds the name itself if it is no alias; further rounds add one entry for each
   * pass that the alias stands for. All of them have the same number: they are one written
   * entry. */
  const char *canonical = tl_fusion_alias_get(name, 0);
  for (uint32_t i = 0; i == 0 || canonical; i++) {
    if (canonical)
      e.pass = tl_sv_from(canonical);
    if (!tl_fusion_entry_vec_push(&draft->entries, e))
      return TL_NO_MEMORY;
    canonical = tl_fusion_alias_get(name, i + 1);
  }
  return TL_OK;
}

void tl_fusion_draft_release(tl_fusion_draft *draft) {
  tl_fusion_entry_vec_release(&draft->entries);
}

/* Orders by pass, then by the order of writing, so that the last entry of a pass counts. */
static int by_pass(const void *a, const void *b) {
  const tl_fusion_entry *x = a;
  const tl_fusion_entry *y = b;
  int order = tl_sv_compare(x->pass, y->pass);
  if (order)
    return order;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* Reports two entries for one pass. The message differs because two names may stand for one
 * pass. */
static tl_status fail_repeated(tl_diag *d, const char *code, const tl_fusion_entry *first,
                               const tl_fusion_entry *second) {
  tl_sv name = tl_sv_shown(second->written);
  if (tl_sv_eq(first->written, second->written))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, code, second->at,
                        "'%.*s' is given twice, in lines %u and %u", TL_SV_ARG(name),
                        first->at.line, second->at.line);
  return tl_fail_code(d, TL_INVALID_ARGUMENT, code, second->at,
                      "'%.*s' and '%.*s' of line %u name the same pass and have different values\v"
                      "keep one of them",
                      TL_SV_ARG(name), TL_SV_ARG(first->written), first->at.line);
}

/* Returns true if two entries for one pass are an error in this format. */
static bool is_failure(tl_fusion_repeat repeat, const tl_fusion_entry *first,
                       const tl_fusion_entry *second) {
  switch (repeat) {
  case TL_REPEAT_LAST_COUNTS: return false;
  case TL_REPEAT_FAILS: return true;
  case TL_REPEAT_NAME_FAILS:
    return first->value != second->value || tl_sv_eq(first->written, second->written);
  case TL_REPEAT_IF_UNEQUAL_FAILS: return first->value != second->value;
  }
  return true;
}

/* Keeps the last entry of each pass; the entries are sorted. */
static tl_status drop_repeated(tl_fusion_entry_vec *v, tl_diag *d, tl_fusion_repeat repeat,
                               const char *code) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < v->n; i++) {
    bool again = kept && tl_sv_eq(v->at[kept - 1].pass, v->at[i].pass);
    if (again && is_failure(repeat, &v->at[kept - 1], &v->at[i]))
      return fail_repeated(d, code, &v->at[kept - 1], &v->at[i]);
    kept -= again;
    v->at[kept++] = v->at[i];
  }
  v->n = kept;
  return TL_OK;
}

tl_status tl_fusion_draft_finish(tl_fusion_draft *draft, tl_diag *d, tl_arena *a,
                                 tl_fusion_repeat repeat, const char *code, tl_fusion_list *out) {
  tl_fusion_entry_vec *v = &draft->entries;
  if (v->n)
    qsort(v->at, v->n, sizeof *v->at, by_pass);
  tl_status status = drop_repeated(v, d, repeat, code);
  tl_fusion_entry *copy = NULL;
  if (status == TL_OK && v->n) {
    copy = tl_arena_calloc(a, v->n, sizeof *copy);
    if (copy)
      memcpy(copy, v->at, v->n * sizeof *copy);
    else
      status = tl_fail_memory(d, TL_NOWHERE);
  }
  if (status == TL_OK)
    *out = (tl_fusion_list){copy, v->n};
  tl_fusion_draft_release(draft);
  return status;
}
