/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rules for commands: names for messages, lists, and their document. */
#ifndef TL_TOOLS_CLI_RULES_H
#define TL_TOOLS_CLI_RULES_H

#include "passes/engine/rule.h"
#include "tools/cli/cli.h"

/* Rules under certain options, in a module of their own. */
typedef struct tl_known_rules {
  tl_diag quiet;
  tl_module *m;
  tl_ruleset set;
} tl_known_rules;

/* Reads the rules under these options. Errors go to d, or nowhere if d is NULL; TL_NO_MEMORY is not
 * reported. The caller releases *out, which is unchanged after an error. */
tl_status tl_read_known_rules(const tl_options *options, tl_diag *d,
                              tl_known_rules **out) TL_NODISCARD;
/* Loads cli->rules under the resolved options, and replaces earlier ones. Reports errors of rule
 * files. */
tl_status tl_cli_load_rules(tl_cli *cli) TL_NODISCARD;

/* Returns the kind of a rule: "cleanup", "graph", "late", "scope", "capture", "expand",
 * "define". */
const char *tl_rule_kind_name(const tl_rule *rule);
/* Returns the numerics class of a rule, "exact" and so on; "" for a definition. */
const char *tl_rule_numerics_name(const tl_rule *rule);
/* Returns true if the rule is part of a fusion or clean-up pass. An expansion is if it has a public
 * name. */
bool tl_rule_is_pass(const tl_rule *rule);
/* Counts the rules of a public pass, and ops of the op table whose NPU form does what the pass
 * does; for kind ub, its chains. */
uint32_t tl_count_rules(const tl_cli *cli, tl_sv pass, tl_fusion_kind kind);

#endif
