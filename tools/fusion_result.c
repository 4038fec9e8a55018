/* SPDX-License-Identifier: Apache-2.0 */
/* The report of fusion passes as a file. */
#include "tools/fusion_result.h"

#include <sys/stat.h>

#include "tools/output.h"

const char *tl_fusion_result_path(const tl_cli *cli) {
  if (tl_cli_has(cli, TL_OPTION_FUSION_RESULT))
    return tl_cli_get(cli, TL_OPTION_FUSION_RESULT);
  return tl_cli_get(cli, TL_OPTION_EXPORT_COMPILE_STAT)[0] == '0' ? NULL : "fusion_result.json";
}

tl_status tl_fusion_result_begin(tl_cli *cli, const tl_module *m) {
  struct stat st;
  const char *path = tl_fusion_result_path(cli);
  if (!path || strcmp(path, "-") == 0 || stat(path, &st) != 0)
    return TL_OK;
  tl_location where = tl_at_option(&cli->settings, TL_OPTION_FUSION_RESULT);
  if (!S_ISREG(st.st_mode))
    return tl_fail(&cli->diag, TL_IO, where, "'%s' is not a regular file", path);
  if (tl_output_is_input(cli, m, &st))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where,
                   "'%s' is an input of this conversion and would be overwritten", path);
  return TL_OK;
}

tl_status tl_fusion_result_write(tl_cli *cli) {
  const char *path = tl_fusion_result_path(cli);
  const tl_fusion_report to = {path, &cli->changes, cli->signal};
  return path ? tl_fusion_stats_save(&cli->fusions, &cli->diag, &to) : TL_OK;
}
