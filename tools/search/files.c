/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the files that keep the nodes that were found: for --keep-dtype, --customize-dtypes and
 * --modify-mixlist. Each is read back and tried without the others. */
#include "frontend/config/precision.h"
#include "tools/explain/suggest_mixlist.h"
#include "tools/run/value_files.h"
#include "tools/search/search.h"

static const tl_search_file plan[TL_SEARCH_FILES] = {
    {.name = "keep_dtype.txt", .option = "--keep-dtype"},
    {.name = "customize_dtypes.txt", .option = "--customize-dtypes"},
    {.name = "mixlist.json", .option = "--modify-mixlist"}};
enum { KEEP, CUSTOM, MIX };

/* ---- texts ----------------------------------------------------------------------------------- */

/* Adds what a file of the user holds, whose entries stay. */
static void add_own_keep(const tl_search *s, tl_buf *out) {
  const tl_precision_config *c = &s->config;
  for (uint32_t i = 0; i < c->n_keep; i++)
    tl_buf_printf(out, "%s%.*s\n", c->keep[i].is_type ? "OpType::" : "",
                  TL_SV_ARG(c->keep[i].name));
}

static void write_keep(const tl_search *s, const bool *kept, tl_buf *out) {
  tl_buf_add_z(out, "# Nodes that keep their dtypes, found by tailor precision-search\n");
  add_own_keep(s, out);
  for (uint32_t i = 0; i < s->nodes.n; i++)
    if (kept[i])
      tl_buf_printf(out, "%.*s\n", TL_SV_ARG(s->nodes.at[i].name));
}

/* The name ends at the first colon there. */
static const char *write_custom(const tl_search *s, const bool *kept, tl_buf *out) {
  if (s->config.n_custom)
    return "a file of --customize-dtypes was given: add the lines of keep_dtype.txt to it by hand";
  tl_buf_add_z(out, "# Nodes that keep their dtypes, found by tailor precision-search\n");
  for (uint32_t i = 0; i < s->nodes.n; i++) {
    const tl_search_node *n = &s->nodes.at[i];
    if (!kept[i])
      continue;
    if (memchr(n->name.p, ':', n->name.n))
      return "the name of a node has a colon, which such a file cannot spell";
    tl_buf_printf(out, "%.*s:%.*s\n", TL_SV_ARG(n->name), TL_SV_ARG(n->custom));
  }
  return NULL;
}

static int by_text(const void *a, const void *b) {
  return tl_sv_compare(*(const tl_sv *)a, *(const tl_sv *)b);
}

/* Lists the judged types of the nodes, each once, sorted. NULL if memory is out. */
static tl_sv *types_of(tl_search *s, const bool *kept, uint32_t *n) {
  tl_sv *types = tl_arena_calloc(&s->arena, s->nodes.n + 1U, sizeof *types);
  uint32_t all = 0;
  *n = 0;
  for (uint32_t i = 0; types && i < s->nodes.n; i++)
    if (kept[i] && s->nodes.at[i].type.n)
      types[all++] = s->nodes.at[i].type;
  if (types)
    qsort(types, all, sizeof *types, by_text);
  for (uint32_t i = 0; i < all; i++)
    if (i == 0 || !tl_sv_eq(types[i], types[*n - 1]))
      types[(*n)++] = types[i];
  return types;
}

static const char *write_mix(tl_search *s, const bool *kept, tl_buf *out) {
  uint32_t n;
  if (!tl_precision_mode_get(s->config.mode)->mixed)
    return "mix lists have an effect in mixed modes only";
  tl_sv *types = types_of(s, kept, &n);
  if (types)
    tl_mixlist_with_black(&s->config, types, n, out);
  out->failed = out->failed || !types;
  return NULL;
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* Reads a text as its option does. */
static tl_status read_back(tl_search *s, uint32_t i, const tl_buf *text,
                           tl_precision_config *config) {
  tl_diag *d = &s->cli->diag;
  tl_sv all = tl_buf_view(text);
  return i == KEEP     ? tl_read_keep_dtype_text(d, &s->arena, plan[i].name, all, config)
         : i == CUSTOM ? tl_read_custom_dtypes_text(d, &s->arena, plan[i].name, all, config)
                       : tl_read_mixlist_text(d, &s->arena, plan[i].name, all, config);
}

/* Adds what a mix list keeps beside the nodes that were found: all nodes of their types. */
static bool add_types(tl_search *s, const bool *kept, bool *wide) {
  uint32_t n;
  tl_sv *types = types_of(s, kept, &n);
  for (uint32_t i = 0; types && i < s->nodes.n; i++)
    wide[i] = bsearch(&s->nodes.at[i].type, types, n, sizeof *types, by_text) != NULL;
  return types != NULL;
}

static tl_status try_file(tl_search *s, const tl_search_result *r, uint32_t i, tl_search_file *f) {
  tl_precision_config config = s->config;
  bool *wide = tl_arena_calloc(&s->arena, s->nodes.n + 1U, sizeof *wide);
  if (f->text.failed || !wide)
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  TL_TRY(read_back(s, i, &f->text, &config));
  TL_TRY(tl_search_attempt(s, &(tl_attempt){.config = &config, .what = plan[i].name}, &f->trial));
  memcpy(wide, r->kept, s->nodes.n);
  if (i == MIX && !add_types(s, r->kept, wide))
    return tl_fail_memory(&s->cli->diag, TL_NOWHERE);
  tl_search_cost(s, wide, &f->trial);
  s->trials.at[s->trials.n - 1] = f->trial;
  return TL_OK;
}

tl_status tl_search_make_files(tl_search *s, const tl_search_result *r,
                               tl_search_file files[TL_SEARCH_FILES]) {
  for (uint32_t i = 0; i < TL_SEARCH_FILES; i++) {
    files[i] = plan[i];
    tl_buf_init(&files[i].text);
  }
  write_keep(s, r->kept, &files[KEEP].text);
  files[CUSTOM].why = write_custom(s, r->kept, &files[CUSTOM].text);
  files[MIX].why = write_mix(s, r->kept, &files[MIX].text);
  files[KEEP].trial = r->trial; /* it was tried as the set */
  for (uint32_t i = CUSTOM; i < TL_SEARCH_FILES; i++) {
    if (!files[i].why)
      TL_TRY(try_file(s, r, i, &files[i]));
    if (!files[i].why && !files[i].trial.equal)
      files[i].why = "alone it does not meet the tolerance";
  }
  return files[KEEP].text.failed ? tl_fail_memory(&s->cli->diag, TL_NOWHERE) : TL_OK;
}

void tl_search_release_files(tl_search_file files[TL_SEARCH_FILES]) {
  for (uint32_t i = 0; i < TL_SEARCH_FILES; i++)
    tl_buf_release(&files[i].text);
}

/* ---- writing --------------------------------------------------------------------------------- */

static tl_status write_one(tl_value_files *to, const char *folder, tl_search_file *f) {
  tl_buf path;
  tl_buf_init(&path);
  tl_buf_printf(&path, "%s/%s", folder, f->name);
  tl_status status = path.failed ? tl_fail_memory(&to->cli->diag, TL_NOWHERE)
                                 : tl_value_files_text(to, path.p, &f->text);
  tl_buf_release(&path);
  return status;
}

tl_status tl_search_write_files(tl_search *s, tl_search_file files[TL_SEARCH_FILES]) {
  tl_value_files to;
  if (s->cli->outputs.n == 0)
    return TL_OK;
  const char *folder = s->cli->outputs.at[0];
  tl_value_files_init(&to, s->cli);
  tl_status status = tl_value_files_folder(&to, folder);
  for (uint32_t i = 0; i < TL_SEARCH_FILES && status == TL_OK; i++)
    if (!files[i].why)
      status = write_one(&to, folder, &files[i]);
  tl_value_files_release(&to);
  return status;
}
