/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the page of tailor view with all explanations of a model. */
#include "tools/explain/page.h"

#include "tools/page/index.h"

/* Refuses options that select a part: the page shows everything and has a search. */
static tl_status check_options(tl_cli *cli) {
  static const tl_option_id others[] = {TL_OPTION_EXPLAIN_FUSION, TL_OPTION_EXPLAIN_EXPAND,
                                        TL_OPTION_EXPLAIN_NODE,   TL_OPTION_EXPLAIN_TYPE,
                                        TL_OPTION_EXPLAIN_CASTS,  TL_OPTION_AS_JSON};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (tl_cli_has(cli, others[i]))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, others[i]),
                     "--page writes all explanations\vleave this option out");
  return TL_OK;
}

tl_status tl_explain_page(tl_cli *cli) {
  tl_view_model model;
  tl_chunks chunks = {0};
  TL_TRY(check_options(cli));
  const char *path = tl_cli_get(cli, TL_OPTION_PAGE);
  const tl_view_about about = {.cli = cli, .what = "view", .models = &model, .n = 1};
  tl_status status = tl_view_model_make(
      &model, &(tl_view_request){.cli = cli, .path = cli->word, .exact = true}, &chunks);
  if (status == TL_OK)
    status = tl_view_add_index(&about, &chunks);
  if (status == TL_OK)
    status = tl_view_put_page(&about, path, &chunks);
  tl_view_model_release(&model);
  tl_chunks_release(&chunks);
  return status;
}
