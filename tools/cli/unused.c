/* SPDX-License-Identifier: Apache-2.0 */
/* Finds given options that have no effect in a command (unused.h). */
#include "tools/cli/unused.h"

/* Returns the first given option from `id` on that changes nothing; TL_N_OPTION_ROWS behind the
 * last. */
static tl_option_id next(const tl_cli *cli, tl_unused_fn is_unused, tl_option_id id) {
  while (id < TL_N_OPTION_ROWS && !(tl_cli_has(cli, id) && is_unused(id)))
    id++;
  return id;
}

void tl_cli_warn_unused(tl_cli *cli, tl_unused_fn is_unused) {
  tl_buf names;
  unsigned n = 0;
  tl_buf_init(&names);
  for (tl_option_id id = next(cli, is_unused, 0); id < TL_N_OPTION_ROWS;
       id = next(cli, is_unused, id + 1))
    tl_buf_printf(&names, "%s--%s", n++ ? ", " : "", tl_option_row_get(id)->name);
  if (n)
    tl_warn(&cli->diag, TL_NOWHERE, "%.*s: no effect in %s\vgive %s to 'tailor convert'",
            (int)names.n, names.p, cli->command->name, n > 1 ? "them" : "it");
  tl_buf_release(&names);
}

tl_status tl_cli_refuse_unused(tl_cli *cli, tl_unused_fn is_unused) {
  tl_option_id id = next(cli, is_unused, 0);
  if (id == TL_N_OPTION_ROWS)
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, id),
                 "has no effect in %s\vleave this option out", cli->command->name);
}
