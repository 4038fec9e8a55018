/* SPDX-License-Identifier: Apache-2.0 */
/* Finds given options that have no effect in a command (unused.h). */
#include "tools/cli/unused.h"

/* What convert prints, and what it writes beside its output. */
static const tl_option_id reports[] = {
    TL_OPTION_SUMMARY,
    TL_OPTION_DEPFILE,
    TL_OPTION_DEPS_JSON,
    TL_OPTION_WRITE_IF_CHANGED,
    TL_OPTION_PRINT_INPUTS,
    TL_OPTION_DRY_RUN,
    TL_OPTION_PROFILE_REPORT,
    TL_OPTION_PRINT_BEFORE,
    TL_OPTION_PRINT_AFTER,
    TL_OPTION_PRINT_CHANGED,
    TL_OPTION_PRINT_CHANGED_FORM,
    TL_OPTION_PRINT_ONLY,
    TL_OPTION_DUMP_DIR,
    TL_OPTION_DUMP_FORM,
    TL_OPTION_STATS,
    TL_OPTION_TRACE_COMPILER,
    TL_OPTION_TIME_PASSES,
    TL_OPTION_REMARKS,
    TL_OPTION_SCHEDULE_REPORT,
    TL_OPTION_TRACE,
};

/* Adds the names of those of the n options that were given. */
static unsigned add_given(const tl_cli *cli, const tl_option_id *ids, size_t n, tl_buf *names) {
  unsigned given = 0;
  for (size_t i = 0; i < n; i++) {
    if (!tl_cli_has(cli, ids[i]))
      continue;
    tl_buf_printf(names, "%s--%s", names->n ? ", " : "", tl_option_row_get(ids[i])->name);
    given++;
  }
  return given;
}

void tl_cli_warn_unused(tl_cli *cli, const tl_option_id *more, size_t n) {
  tl_buf names;
  tl_buf_init(&names);
  unsigned given = add_given(cli, reports, sizeof reports / sizeof *reports, &names);
  given += add_given(cli, more, n, &names);
  if (given)
    tl_warn(&cli->diag, TL_NOWHERE, "%.*s: no effect in %s\vgive %s to 'tailor convert'",
            (int)names.n, names.p, cli->command->name, given > 1 ? "them" : "it");
  tl_buf_release(&names);
}
