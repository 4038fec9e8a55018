/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor precision-search, which finds few nodes that have to keep their dtypes so that
 * a model in low precision computes what it did. */
#include "tools/cli/unused.h"
#include "tools/search/search.h"

#include "ir/infer/infer.h"
#include "support/hash.h"

/* Results of earlier tries are kept up to this size, half of --memory-limit if there is one. */
static const uint64_t most_known = UINT64_C(2) << 30;
static const char default_cosine[] = "0.999";
static const char default_mode[] = "mixed_float16";

/* ---- options --------------------------------------------------------------------------------- */

/* Refuses names of files: the search writes several files into one folder. */
static tl_status check_folder(tl_cli *cli) {
  const char *folder = cli->outputs.n ? cli->outputs.at[0] : "";
  tl_format format;
  bool is_file = strcmp(folder, "-") == 0 || tl_format_of_path(folder, &format);
  if (cli->outputs.n > 1 || is_file)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                   "names one folder, for the files that convert and atc take\v"
                   "convert the model with one of these files to get '%s'",
                   is_file ? folder : "a model");
  return TL_OK;
}

/* Refuses what the search decides itself. */
static tl_status check_policy(tl_cli *cli) {
  if (!tl_cli_has(cli, TL_OPTION_PRECISION_POLICY))
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                 tl_at_option(&cli->settings, TL_OPTION_PRECISION_POLICY),
                 "the search decides what a policy would decide\vleave this option out");
}

static tl_status check_model(tl_cli *cli) {
  if (!cli->word)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "no model was given");
  if (strcmp(cli->word, "-") == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "the model is read several times: it must be a file");
  TL_TRY(check_folder(cli));
  return check_policy(cli);
}

/* Sets an option that was not given. */
static tl_status set_default(tl_cli *cli, tl_option_id id, const char *value) {
  return tl_settings_set(&cli->settings, &cli->diag, id, value);
}

/* Without a mode it is mixed_float16; without a tolerance, a cosine. */
static tl_status set_defaults(tl_cli *cli) {
  static const tl_option_id modes[] = {TL_OPTION_PRECISION_MODE, TL_OPTION_PRECISION_MODE_V2,
                                       TL_OPTION_AMP_LEVEL, TL_OPTION_ATC_COMPAT};
  static const tl_option_id bounds[] = {TL_OPTION_COSINE, TL_OPTION_RTOL, TL_OPTION_ATOL,
                                        TL_OPTION_TOP_K};
  bool mode = false, bound = false;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    mode = mode || tl_cli_has(cli, modes[i]);
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    bound = bound || tl_cli_has(cli, bounds[i]);
  if (!mode)
    TL_TRY(set_default(cli, TL_OPTION_PRECISION_MODE_V2, default_mode));
  return bound ? TL_OK : set_default(cli, TL_OPTION_COSINE, default_cosine);
}

/* The search decides what policies would decide. */
static tl_status take_config(tl_search *s) {
  const tl_precision_config *c = &s->cli->settings.precision;
  const tl_precision_mode_info *mode = tl_precision_mode_get(c->mode);
  s->config = *c;
  s->config.ranges.on = false;
  s->config.ranges.declined = true;
  if (c->mode == TL_PRECISION_ORIGIN || !tl_precision_mode_lowers(c->mode))
    return tl_fail_code(&s->cli->diag, TL_INVALID_ARGUMENT, "E10001", TL_NOWHERE,
                        "%s lowers no node, so there is nothing to search\v"
                        "give --precision-mode-v2=mixed_float16, mixed_bfloat16 or fp16",
                        c->mode_name ? c->mode_name : mode->v2);
  return TL_OK;
}

/* ---- the reference --------------------------------------------------------------------------- */

/* Notes how many elements each tensor has. */
static tl_status note_size(void *user, const tl_module *m, tl_value_id v, const tl_host *value) {
  tl_search *s = user;
  tl_sv name = tl_value_name(m, v);
  uint32_t n = value->n < UINT32_MAX ? (uint32_t)value->n : UINT32_MAX;
  if (value->kind != TL_HOST_TENSOR)
    return TL_OK;
  return tl_map_set(&s->sizes, tl_hash_bytes(name.p, name.n, 0), n)
             ? TL_OK
             : tl_fail_memory(&s->cli->diag, TL_NOWHERE);
}

static tl_status run_reference(tl_search *s) {
  TL_TRY(tl_evaluation_load(&s->e, s->cli->word, &s->reference));
  TL_TRY(tl_inputs_settle(&s->e, s->reference, &s->inputs, &s->note));
  s->e.options.watch = note_size;
  s->e.options.watch_user = s;
  tl_status status = tl_evaluation_run(&s->e, s->reference, &s->inputs, &s->outputs);
  s->e.options.watch = NULL;
  TL_TRY(status);
  return tl_grains_find(s->reference, TL_DTYPE_NONE, &s->grains)
             ? TL_OK
             : tl_fail_memory(&s->cli->diag, TL_NOWHERE);
}

/* ---- state ----------------------------------------------------------------------------------- */

tl_status tl_search_open(tl_search *s, tl_cli *cli) {
  uint64_t most;
  *s = (tl_search){.cli = cli};
  tl_arena_init(&s->arena, 0);
  tl_buf_init(&s->note);
  TL_TRY(tl_verify_tolerance(cli, &s->tolerance));
  TL_TRY(tl_evaluation_init(&s->e, cli));
  TL_TRY(take_config(s));
  if (!tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_EVALUATIONS)), &most))
    return TL_INTERNAL; /* the option table bounds it */
  s->most = (uint32_t)most;
  s->e.part = true;
  s->e.assumed_first = 2; /* dims of one element would hide much */
  s->e.assumed_other = 8;
  s->stage = tl_cli_has(cli, TL_OPTION_CANONICAL) ? TL_STAGE_ONNX : TL_STAGE_AIR;
  s->known = tl_known_create(s->e.heap.limit ? s->e.heap.limit / 2 : most_known);
  if (!s->known)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  TL_TRY(tl_session_load(&cli->session, cli->word, &s->base));
  TL_TRY(run_reference(s));
  return tl_search_find_nodes(s);
}

void tl_search_release(tl_search *s) {
  tl_values_release(&s->inputs);
  tl_values_release(&s->outputs);
  tl_known_destroy(s->known);
  tl_grains_release(&s->grains);
  tl_buf_release(&s->note);
  tl_map_release(&s->sizes);
  tl_map_release(&s->results);
  tl_search_nodes_release(&s->nodes);
  tl_trials_release(&s->trials);
  if (s->base)
    tl_module_destroy(s->base);
  if (s->reference)
    tl_module_destroy(s->reference);
  tl_evaluation_release(&s->e);
  tl_arena_release(&s->arena);
}

/* ---- the search ------------------------------------------------------------------------------ */

static tl_status try_range(tl_search *s, tl_trial *out, uint32_t *n) {
  bool *kept = tl_arena_calloc(&s->arena, s->nodes.n + 1U, sizeof *kept);
  if (!kept)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  *n = 0;
  for (uint32_t i = 0; i < s->nodes.n; i++) {
    kept[i] = s->nodes.at[i].by_range;
    *n += kept[i];
  }
  return tl_search_try(s, kept, "range", out);
}

/* Makes the set of no node, if that meets the tolerance. */
static tl_status keep_none(tl_search *s, const tl_search_start *start, tl_search_result *r) {
  *r = (tl_search_result){
      .kept = tl_arena_calloc(&s->arena, s->nodes.n + 1U, 1), .trial = start->low, .minimal = true};
  return r->kept ? TL_OK : tl_fail_memory(&s->cli->diag, TL_NOWHERE);
}

/* Finds the set, which exists, and makes the files. */
static tl_status take(tl_search *s, tl_search_findings *f, tl_search_result *r,
                      tl_search_file *files) {
  TL_TRY(f->start.low.equal ? keep_none(s, &f->start, r) : tl_search_minimize(s, &f->start, r));
  f->result = r;
  f->files = files;
  TL_TRY(tl_search_make_files(s, r, files));
  return tl_search_write_files(s, files);
}

/* Tries what is known before a search, then searches. */
static tl_status find(tl_search *s, tl_search_findings *f, tl_search_result *r,
                      tl_search_file *files) {
  f->start = (tl_search_start){s->trials.at[0], s->trials.at[0], s->trials.at[0]};
  if (s->nodes.n == 0)
    return f->start.low.equal ? take(s, f, r, files) : TL_OK;
  TL_TRY(try_range(s, &f->start.range, &f->n_range));
  TL_TRY(tl_search_sensitivity(s, &f->start.wide));
  if (!f->start.low.equal && !f->start.wide.equal)
    return TL_OK;
  return take(s, f, r, files);
}

static tl_status search(tl_search *s) {
  tl_search_findings f = {0};
  tl_search_result r = {0};
  tl_search_file files[TL_SEARCH_FILES];
  for (uint32_t i = 0; i < TL_SEARCH_FILES; i++)
    tl_buf_init(&files[i].text);
  tl_status status = find(s, &f, &r, files);
  if (status == TL_OK)
    status = tl_search_report(s, &f);
  if (status == TL_OK)
    s->cli->differs = f.result == NULL;
  tl_search_release_files(files);
  tl_search_groups_release(&r.groups);
  return status;
}

static bool is_unused(tl_option_id id) { return tl_option_is_report(id) || id == TL_OPTION_EMIT; }

tl_status tl_command_precision_search(tl_cli *cli) {
  tl_search s;
  tl_cli_warn_unused(cli, is_unused);
  TL_TRY(check_model(cli));
  TL_TRY(set_defaults(cli));
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_status status = tl_search_open(&s, cli);
  if (status == TL_OK)
    status = search(&s);
  tl_search_release(&s);
  return status;
}
