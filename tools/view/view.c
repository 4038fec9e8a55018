/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor view: a model through its passes, as a page for the browser. */
#include "tools/cli/output.h"
#include "tools/cli/unused.h"
#include "tools/page/file.h"
#include "tools/page/index.h"
#include "tools/view/compare.h"
#include "tools/view/serve.h"

/* One or two models, and the command line of the second. */
typedef struct view {
  tl_cli *cli;
  tl_cli second;
  tl_view_model models[2];
  uint32_t n;
  tl_chunks chunks;
} view;

/* ---- the command ----------------------------------------------------------------------------- */

static tl_status refuse(tl_cli *cli, tl_option_id id, const char *why) {
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, id), "%s", why);
}

/* The page has the times of passes if --time-passes asks for them. */
static bool is_unused(tl_option_id id) {
  return tl_option_is_report(id) && id != TL_OPTION_TIME_PASSES;
}

/* Reads the port of --serve. */
static tl_status read_port(tl_cli *cli, unsigned *out) {
  uint64_t port;
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_SERVE)), &port) || port > 65535)
    return refuse(cli, TL_OPTION_SERVE, "is no port\vgive a number up to 65535");
  *out = (unsigned)port;
  return TL_OK;
}

static bool is_stream(const char *path) { return path && strcmp(path, "-") == 0; }

static tl_status check_arguments(tl_cli *cli) {
  const char *page = cli->outputs.n ? cli->outputs.at[0] : NULL;
  bool two = cli->word2 || tl_cli_has(cli, TL_OPTION_AGAINST);
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no model is named\vtailor view MODEL -o page.html");
  if (cli->outputs.n > 1)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "a page is one file\vgive -o once");
  if (!page && !tl_cli_has(cli, TL_OPTION_SERVE))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "no page is named\vadd -o page.html, or --serve");
  tl_format format;
  if (page && tl_format_of_path(page, &format))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                   "'%s' is the name of a model\vname a page: -o page.html", page);
  if (is_stream(page) && tl_cli_has(cli, TL_OPTION_OPEN))
    return refuse(cli, TL_OPTION_OPEN, "needs a page in a file, or --serve");
  if (two && (is_stream(cli->word) || is_stream(cli->word2)))
    return tl_fail(&cli->diag, TL_UNSUPPORTED, TL_NOWHERE,
                   "models that are compared are read twice, so none can be standard input");
  return tl_cli_refuse_unused(cli, is_unused);
}

/* ---- models ---------------------------------------------------------------------------------- */

static bool add_word(view *v, tl_argument_vec *words, tl_sv word) {
  char *copy = tl_arena_copy(&v->cli->settings.arena, word.p, word.n);
  return copy && tl_argument_vec_push(words, copy);
}

/* Lists the arguments of the first model, then those of --against, which win. */
static bool list_words(view *v, tl_argument_vec *words) {
  tl_cli *cli = v->cli;
  bool ok = true;
  for (int i = 0; i < cli->n_arguments && ok; i++) {
    const char *arg = cli->arguments[i];
    i += strcmp(arg, "--against") == 0; /* its value follows */
    if (strncmp(arg, "--against", 9) != 0)
      ok = add_word(v, words, tl_sv_from(arg));
  }
  tl_sv rest = tl_sv_from(tl_cli_get(cli, TL_OPTION_AGAINST));
  while (rest.p && ok) {
    tl_sv word = tl_sv_split(&rest, ' ');
    ok = !word.n || add_word(v, words, word);
  }
  return ok;
}

/* Makes the command line of the second model. */
static tl_status open_second(view *v) {
  tl_argument_vec words = {0};
  tl_cli_init(&v->second, v->cli->command, v->cli->signal);
  tl_status status = list_words(v, &words) ? tl_cli_parse(&v->second, (int)words.n, words.at)
                                           : tl_fail_memory(&v->cli->diag, TL_NOWHERE);
  v->second.n_arguments = 0; /* the words go */
  tl_argument_vec_release(&words);
  TL_TRY(status);
  tl_settings_for_toolkit(&v->second.settings);
  return tl_settings_resolve(&v->second.settings, &v->second.diag);
}

static tl_status make_model(view *v, int i, tl_cli *cli, const char *path) {
  return tl_view_model_make(&v->models[i], &(tl_view_request){.cli = cli, .path = path},
                            &v->chunks);
}

static tl_status make_models(view *v) {
  tl_cli *cli = v->cli;
  tl_settings_for_toolkit(&cli->settings);
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  v->n = 1;
  TL_TRY(make_model(v, 0, cli, cli->word));
  if (!cli->word2 && !tl_cli_has(cli, TL_OPTION_AGAINST))
    return TL_OK;
  TL_TRY(open_second(v));
  v->chunks.prefix = "b-";
  v->n = 2;
  TL_TRY(make_model(v, 1, &v->second, cli->word2 ? cli->word2 : cli->word));
  return tl_view_compare(cli, v->models, &v->chunks);
}

/* ---- the page -------------------------------------------------------------------------------- */

static tl_status write_page(const tl_view_about *about, const tl_chunks *chunks) {
  tl_cli *cli = about->cli;
  const char *path = cli->outputs.at[0];
  TL_TRY(tl_view_put_page(about, path, chunks));
  TL_TRY(tl_cli_apply(cli));
  if (tl_cli_has(cli, TL_OPTION_OPEN) && !tl_cli_has(cli, TL_OPTION_SERVE))
    tl_view_open(cli, path);
  return TL_OK;
}

static tl_status serve(view *v, const tl_server *s) {
  tl_buf text;
  tl_buf_init(&text);
  tl_progress_hide(&v->cli->progress);
  tl_buf_printf(&text, "serving %s until it is interrupted\n", s->url);
  tl_cli_note(v->cli, &text);
  if (tl_cli_has(v->cli, TL_OPTION_OPEN))
    tl_view_open(v->cli, s->url);
  return tl_server_run(s, v->cli, &v->chunks);
}

static tl_status show(view *v, const tl_server *s) {
  const tl_view_about about = {.cli = v->cli,
                               .what = v->n > 1 ? "compare" : "view",
                               .overlay = v->models[0].has_errors ? "error" : NULL,
                               .models = v->models,
                               .n = v->n};
  TL_TRY(tl_view_add_index(&about, &v->chunks));
  if (v->cli->outputs.n)
    TL_TRY(write_page(&about, &v->chunks));
  return s ? serve(v, s) : TL_OK;
}

static void release(view *v) {
  for (uint32_t i = 0; i < v->n; i++)
    tl_view_model_release(&v->models[i]);
  if (v->second.command)
    tl_cli_release(&v->second);
  tl_chunks_release(&v->chunks);
}

tl_status tl_command_view(tl_cli *cli) {
  view v = {.cli = cli};
  tl_server server = {.socket = -1};
  unsigned port = 0;
  bool serves = tl_cli_has(cli, TL_OPTION_SERVE);
  TL_TRY(check_arguments(cli));
  if (serves)
    TL_TRY(read_port(cli, &port));
  tl_status status = serves ? tl_server_open(&server, cli, port) : TL_OK;
  if (status == TL_OK)
    status = make_models(&v);
  if (status == TL_OK)
    status = show(&v, serves ? &server : NULL);
  cli->diag.errors += v.second.diag.errors; /* what the second one said was said */
  tl_server_close(&server);
  release(&v);
  return status;
}
