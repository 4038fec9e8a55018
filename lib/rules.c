/* SPDX-License-Identifier: Apache-2.0 */
/* Implements rules of the caller (include/tailor/extend.h). */
#include "lib/handle.h"

int tl_rules_register(tl_context *c, const char *name, const char *text, size_t n) {
  int code;
  if (tl_lib_lacks(c, name, "name", &code) || (n && tl_lib_lacks(c, text, "text", &code)) ||
      tl_lib_is_inside(c, "register rules", &code))
    return code;
  uint32_t errors = tl_lib_begin(c);
  const char *copy = tl_arena_copy(&c->arena, n ? text : "", n);
  tl_rule_file file = {.path = tl_arena_copy(&c->arena, name, strlen(name)), .text = {copy, n}};
  bool kept = copy && file.path && tl_lib_rule_vec_push(&c->rules, file);
  c->unsettled = true;
  return tl_lib_end(c, kept ? TL_OK : TL_NO_MEMORY, errors);
}

tl_status tl_lib_add_rules(tl_context *c) {
  tl_options *o = &c->settings.options;
  if (!c->rules.n)
    return TL_OK;
  tl_rule_file *all =
      tl_arena_calloc(&c->settings.arena, o->n_rule_files + c->rules.n, sizeof *all);
  if (!all)
    return tl_fail_memory(&c->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < o->n_rule_files; i++)
    all[i] = o->rule_files[i];
  for (uint32_t i = 0; i < c->rules.n; i++)
    all[o->n_rule_files + i] = c->rules.at[i];
  o->rule_files = all;
  o->n_rule_files += c->rules.n;
  return TL_OK;
}
