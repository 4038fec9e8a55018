/* SPDX-License-Identifier: Apache-2.0 */
/* The rules as the command line knows them: names for messages, and lists of them. */
#ifndef TL_TOOLS_CLI_RULES_H
#define TL_TOOLS_CLI_RULES_H

#include "passes/engine/rule.h"
#include "tools/cli/cli.h"

/* The rules under the options, in a module of their own. */
typedef struct tl_known_rules {
  tl_diag quiet;
  tl_module *m;
  tl_ruleset set;
} tl_known_rules;

/* Reads the rules under these options. Errors go to d, or nowhere when d is NULL; out of memory is
 * not reported. The caller releases *out, which stays as it is on failure. */
tl_status tl_read_known_rules(const tl_options *options, tl_diag *d,
                              tl_known_rules **out) TL_NODISCARD;
/* Loads cli->rules under the resolved options; reports errors of rule files. */
tl_status tl_cli_load_rules(tl_cli *cli) TL_NODISCARD;

/* "cleanup", "graph", "late", "scope", "capture", "expand", "define". */
const char *tl_rule_kind_name(const tl_rule *rule);
/* "exact" and so on; "" for a definition. */
const char *tl_rule_numerics_name(const tl_rule *rule);
/* Is the rule part of a fusion or clean-up pass? Expansions are if they have a public name. */
bool tl_rule_is_pass(const tl_rule *rule);
/* Rules of a public pass, and ops of the op table whose NPU form does what the pass does; of kind
 * ub, its chains. */
uint32_t tl_count_rules(const tl_cli *cli, tl_sv pass, tl_fusion_kind kind);

#endif
