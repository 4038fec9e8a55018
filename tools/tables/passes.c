/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor passes and docs/passes.md: the table of the pipeline. */
#include "passes/manager.h"
#include "tools/cli/cli.h"
#include "support/json_writer.h"

/* Adds the rows of the pipeline as JSON. */
static void add_json(tl_buf *out, const tl_pass_row *rows, uint32_t n) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_z(w, "name", rows[i].name);
    tl_member_u64(w, "level", rows[i].level);
    tl_member_z(w, "stage", tl_pass_stage_name(&rows[i]));
    tl_member_z(w, "after", rows[i].summary);
    tl_put_end(w);
  }
  tl_json_line(w, 0);
  tl_json_finish(w);
}

static void add_text(tl_buf *out, const tl_pass_row *rows, uint32_t n) {
  tl_buf_add_z(out, "pass                     from  output  afterwards\n");
  for (uint32_t i = 0; i < n; i++)
    tl_buf_printf(out, "%-24s -O%u   %-7s %s\n", rows[i].name, rows[i].level,
                  rows[i].stage == TL_STAGE_ALL ? "any" : tl_pass_stage_name(&rows[i]),
                  rows[i].summary);
}

/* Refuses options about fusion, which have no effect on this list. */
static tl_status check_options(tl_cli *cli) {
  static const tl_option_id ids[] = {
      TL_OPTION_FUSION_SWITCH_FILE, TL_OPTION_FUSION_PRESET, TL_OPTION_OPTIMIZATION_SWITCH,
      TL_OPTION_OO_LEVEL,           TL_OPTION_LEVEL,         TL_OPTION_NUMERICS};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    if (tl_cli_has(cli, ids[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, ids[i]),
                     "has no effect on the list of passes\vadd --fusion for the list of fusion "
                     "passes, --rules for that of rules");
  }
  return TL_OK;
}

tl_status tl_command_passes(tl_cli *cli) {
  if (tl_cli_has(cli, TL_OPTION_FUSION_LIST))
    return tl_list_fusions(cli);
  if (tl_cli_has(cli, TL_OPTION_RULE_LIST))
    return tl_list_rules(cli);
  TL_TRY(check_options(cli));
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    add_json(&out, rows, n);
  else
    add_text(&out, rows, n);
  return tl_cli_print(cli, &out);
}

void tl_document_passes(tl_buf *out) {
  uint32_t n;
  const tl_pass_row *rows = tl_pass_rows(&n);
  tl_buf_add_z(out, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
                    "<!-- Written by `tailor --generate=passes`; `make update` renews it. -->\n"
                    "# Which passes run, in which order, and why?\n\nThe passes in pipeline order. "
                    "*Level*: the lowest `-O` level at which the pass runs. *Output*: the outputs "
                    "for\nwhich it runs. *Afterwards*: what holds when it is done.\n\n"
                    "| pass | level | output | afterwards |\n|---|---|---|---|\n");
  for (uint32_t i = 0; i < n; i++)
    tl_buf_printf(out, "| `%s` | %u | %s | %s |\n", rows[i].name, rows[i].level,
                  rows[i].stage == TL_STAGE_ALL ? "any" : tl_pass_stage_name(&rows[i]),
                  rows[i].summary);
  const tl_pass_order *orders = tl_pass_orders(&n);
  tl_buf_add_z(out, "\n## Order\n\n| before | after | because |\n|---|---|---|\n");
  for (uint32_t i = 0; i < n; i++)
    tl_buf_printf(out, "| `%s` | `%s` | %s |\n", orders[i].before->name, orders[i].after->name,
                  orders[i].reason);
}
