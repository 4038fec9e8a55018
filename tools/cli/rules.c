/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rules for commands: names for messages, lists, and their document. */
#include "tools/cli/rules.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ops_gen.h"
#include "passes/engine/match.h"
#include "passes/ub/chain.h"
#include "support/json_writer.h"

void tl_known_rules_release(tl_known_rules *rules) {
  if (!rules)
    return;
  tl_ruleset_release(&rules->set);
  tl_module_destroy(rules->m);
  free(rules);
}

tl_status tl_read_known_rules(const tl_options *options, tl_diag *d, tl_known_rules **out) {
  tl_known_rules *rules = calloc(1, sizeof *rules);
  if (!rules)
    return TL_NO_MEMORY;
  rules->m = tl_module_create(d ? d : &rules->quiet, "rules", 0);
  if (!rules->m) {
    free(rules);
    return TL_NO_MEMORY;
  }
  tl_ruleset_init(&rules->set, rules->m);
  tl_status status = tl_rules_load(&rules->set, options);
  if (status == TL_OK)
    *out = rules;
  else
    tl_known_rules_release(rules);
  return status;
}

tl_status tl_cli_load_rules(tl_cli *cli) {
  tl_known_rules_release(cli->rules);
  cli->rules = NULL;
  uint32_t errors = cli->diag.errors;
  tl_status status = tl_read_known_rules(&cli->settings.options, &cli->diag, &cli->rules);
  if (status != TL_OK && cli->diag.errors == errors)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return status;
}

bool tl_rule_is_pass(const tl_rule *rule) {
  return rule->kind < TL_RULE_EXPAND || (rule->kind == TL_RULE_EXPAND && rule->pass != rule->name);
}

/* Returns true if a list "file.cpp, PassName, inferred" has the name. */
static bool lists(const char *from, tl_sv name) {
  for (const char *p = from; p && *p;) {
    size_t n = strcspn(p, ",");
    if (tl_sv_eq((tl_sv){p, n}, name))
      return true;
    p += n;
    p += strspn(p, ", ");
  }
  return false;
}

/* Counts ops of the table whose NPU form is what the pass makes. */
static uint32_t count_forms(tl_sv pass) {
  uint32_t n = 0;
  for (tl_op_id op = 0; op < tl_n_op_rows; op++)
    n += lists(tl_op_row(op)->npu_from, pass);
  return n;
}

uint32_t tl_count_rules(const tl_cli *cli, tl_sv pass, tl_fusion_kind kind) {
  uint32_t n = kind == TL_FUSION_GRAPH ? count_forms(pass)
               : kind == TL_FUSION_UB  ? tl_ub_count_chains(pass)
                                       : 0;
  for (uint32_t i = 0; cli->rules && i < cli->rules->set.rules.n; i++) {
    const tl_rule *rule = cli->rules->set.rules.at[i];
    n += tl_rule_leads(rule) && tl_rule_is_pass(rule) && rule->pass_kind == kind &&
         tl_sv_eq(tl_sym(cli->rules->m, rule->pass), pass);
  }
  return n;
}

/* Reads all rules once, whatever their state: switches are not resolved yet when this is asked. The
 * pipeline reports errors of rule files; only lack of memory is an error here. */
static tl_status read_quietly(tl_cli *cli) {
  if (cli->rules_read)
    return TL_OK;
  tl_options options = cli->settings.options;
  options.fusion = NULL;
  tl_status status = tl_read_known_rules(&options, NULL, &cli->rules);
  cli->rules_read = status != TL_NO_MEMORY;
  return cli->rules_read ? TL_OK : status;
}

tl_status tl_cli_knows_expansion(tl_cli *cli, tl_sv name, bool *out) {
  TL_TRY(read_quietly(cli));
  *out = false;
  for (uint32_t i = 0; cli->rules && i < cli->rules->set.rules.n; i++) {
    const tl_rule *rule = cli->rules->set.rules.at[i];
    if (rule->kind == TL_RULE_EXPAND && (tl_sv_eq(tl_sym(cli->rules->m, rule->name), name) ||
                                         tl_sv_eq(tl_sym(cli->rules->m, rule->pass), name)))
      *out = true;
  }
  return TL_OK;
}

tl_status tl_cli_knows_pass(void *user, tl_sv pass, tl_fusion_kind kind, bool *out) {
  tl_cli *cli = user;
  *out = kind == TL_FUSION_UB && tl_ub_count_chains(pass) > 0;
  if (kind == TL_FUSION_UB)
    return TL_OK;
  TL_TRY(read_quietly(cli));
  tl_symbol name = cli->rules ? tl_symbol_find(&cli->rules->m->symbols, pass) : TL_NO_SYMBOL;
  for (uint32_t i = 0; name != TL_NO_SYMBOL && i < cli->rules->set.rules.n; i++) {
    const tl_rule *rule = cli->rules->set.rules.at[i];
    if (tl_rule_is_pass(rule) && rule->pass_kind == kind &&
        (rule->pass == name || (rule->kind != TL_RULE_EXPAND && rule->name == name)))
      *out = true;
  }
  return TL_OK;
}

/* ---- the list ------------------------------------------------------------------------------- */

const char *tl_rule_kind_name(const tl_rule *rule) {
  static const char *const names[] = {"cleanup", "graph",  "late",  "scope",
                                      "capture", "expand", "define"};
  return names[rule->kind];
}

const char *tl_rule_numerics_name(const tl_rule *rule) {
  static const char *const names[] = {"exact", "reassociating", "approximate"};
  return rule->kind == TL_RULE_DEFINE ? "" : names[rule->numerics];
}

/* Adds the rules as JSON, with the reason for a rule that is off. */
static void add_json(const tl_known_rules *rules, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_array(w);
  for (uint32_t i = 0; i < rules->set.rules.n; i++) {
    const tl_rule *r = rules->set.rules.at[i];
    if (!tl_rule_leads(r))
      continue;
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_sv(w, "name", tl_sym(rules->m, r->name));
    tl_member_z(w, "kind", tl_rule_kind_name(r));
    tl_member_sv(w, "pass", tl_sym(rules->m, r->pass));
    tl_member_z(w, "numerics", tl_rule_numerics_name(r));
    tl_put_key(w, "priority");
    tl_put_i64(w, r->priority);
    tl_member_z(w, "file", r->file);
    tl_member_u64(w, "line", r->line);
    tl_member_bool(w, "on", !r->off);
    tl_member_z(w, "why", r->off ? r->off : "");
    tl_member_sv(w, "about", r->about);
    tl_put_end(w);
  }
  tl_json_line(w, 0);
  tl_json_finish(w);
}

/* Adds one line for each rule. A rule whose pass has its own name shows no pass. */
static void add_text(const tl_known_rules *rules, tl_buf *out) {
  tl_buf_printf(out, "%-34s %-8s %-32s %-14s %-5s %s\n", "rule", "kind", "pass", "numerics",
                "state", "defined at");
  for (uint32_t i = 0; i < rules->set.rules.n; i++) {
    const tl_rule *r = rules->set.rules.at[i];
    if (!tl_rule_leads(r))
      continue;
    tl_sv name = tl_sym(rules->m, r->name);
    tl_sv pass = r->pass == r->name ? TL_SV("") : tl_sym(rules->m, r->pass);
    tl_buf_printf(out, "%-34.*s %-8s %-32.*s %-14s %-5s %s:%u%s%s\n", TL_SV_ARG(name),
                  tl_rule_kind_name(r), TL_SV_ARG(pass), tl_rule_numerics_name(r),
                  r->off ? "off" : "on", r->file, r->line, r->off ? "; " : "",
                  r->off ? r->off : "");
  }
}

tl_status tl_list_rules(tl_cli *cli) {
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  TL_TRY(tl_cli_load_rules(cli));
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    add_json(cli->rules, &out);
  else
    add_text(cli->rules, &out);
  return tl_cli_print(cli, &out);
}

/* Returns where a function may be used, as the document says it. */
static const char *places_of(unsigned places) {
  bool rules = places & TL_IN_RULES, guards = places & TL_IN_GUARDS;
  return rules && guards                            ? "rules, op table"
         : rules                                    ? "rules"
         : guards                                   ? "op table"
         : places == (TL_IN_ATTRS | TL_IN_OPERANDS) ? "attributes and operands of the op table"
         : places == TL_IN_ATTRS                    ? "attributes of the op table"
                                                    : "operands of the op table";
}

void tl_document_rule_functions(tl_buf *out) {
  tl_buf_add_z(
      out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
           "<!-- Written by `tailor --generate=rule-functions`; `make update` renews it. "
           "-->\n# Which functions can rules and the op table use?\n\nIn conditions and computed "
           "attributes of rules ([rules.md](rules.md#conditions)), and in guards, operands and\n"
           "attributes of the op table ([op-table.md](op-table.md#npu-candidates)), where a value "
           "is written `in0` or `out0`\ninstead of `%x`, and an attribute `axis` instead of "
           "`$axis`. A fact that is not known at compile time (a symbolic\ndim, an attribute that "
           "is not set) is unknown; an expression with an unknown part is unknown, and a condition "
           "on it fails.\n\n| function | gives | in |\n|---|---|---|\n");
  for (unsigned i = 0; i < TL_N_FUNCTIONS; i++) {
    const tl_function_row *f = &tl_functions[i];
    tl_buf_printf(out, "| `%s` | %s | %s |\n", f->signature, f->summary, places_of(f->places));
  }
}
