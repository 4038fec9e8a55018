/* SPDX-License-Identifier: Apache-2.0 */
/* Where rules come from (ruleset.h). */
#include "passes/ruleset.h"

tl_status tl_rules_load(tl_ruleset *s, const tl_options *options) {
  TL_TRY(tl_rules_add_builtin(s));
  for (uint32_t i = 0; i < options->n_rule_files; i++)
    TL_TRY(tl_rules_parse(s, options->rule_files[i].path, options->rule_files[i].text, true));
  return tl_rules_configure(s, options);
}

tl_status tl_pass_rules(tl_pass *p, tl_module *m, const tl_ruleset **out) {
  *out = p->rules;
  if (p->rules)
    return TL_OK;
  tl_ruleset *s = malloc(sizeof *s);
  if (!s)
    return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory");
  tl_ruleset_init(s, m);
  tl_status status = tl_rules_load(s, p->options);
  p->rules = s;
  *out = s;
  return status;
}

void tl_pass_release_rules(tl_pass *p) {
  if (p->rules)
    tl_ruleset_release(p->rules);
  free(p->rules);
  p->rules = NULL;
}
