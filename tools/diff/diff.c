/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor diff, which shows where two models differ. */
#include "tools/diff/diff.h"

/* Prints in the form that options ask for. */
static tl_status print(tl_cli *cli, const tl_pairs *p, const tl_difference_vec *v) {
  tl_buf out;
  tl_buf_init(&out);
  tl_status status = tl_cli_has(cli, TL_OPTION_AS_JSON)     ? tl_diff_json(p, v, &out)
                     : tl_cli_has(cli, TL_OPTION_DIFF_STAT) ? tl_diff_stat(p, v, &out)
                                                            : tl_diff_text(p, v, &out);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return tl_fail_memory(&cli->diag, TL_NOWHERE);
}

static tl_status compare(tl_cli *cli, tl_module *a, tl_module *b) {
  tl_pairs pairs;
  tl_difference_vec v = {0};
  tl_status status = tl_pairs_make(&pairs, a, b);
  pairs.names = tl_cli_has(cli, TL_OPTION_DIFF_NAMES);
  if (status == TL_OK)
    status = tl_differences(&pairs, &v);
  if (status == TL_OK) {
    cli->differs = v.n != 0;
    status = print(cli, &pairs, &v);
  } else {
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  }
  tl_difference_vec_release(&v);
  tl_pairs_release(&pairs);
  return status;
}

static tl_status check(tl_cli *cli) {
  if (!cli->word2)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "two models are needed\vtailor diff MODEL MODEL");
  if (strcmp(cli->word, "-") == 0 && strcmp(cli->word2, "-") == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "both models are standard input\vname a file for one of them");
  if (tl_cli_has(cli, TL_OPTION_AS_JSON) && tl_cli_has(cli, TL_OPTION_DIFF_STAT))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_DIFF_STAT),
                   "cannot be combined with --json, which has the counts");
  return TL_OK;
}

tl_status tl_command_diff(tl_cli *cli) {
  tl_module *a = NULL, *b = NULL;
  TL_TRY(check(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_status status = tl_session_load(&cli->session, cli->word, &a);
  if (status == TL_OK)
    status = tl_session_load(&cli->session, cli->word2, &b);
  if (status == TL_OK)
    status = compare(cli, a, b);
  if (a)
    tl_module_destroy(a);
  if (b)
    tl_module_destroy(b);
  return status;
}
