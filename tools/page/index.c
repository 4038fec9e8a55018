/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the index of a page. */
#include "tools/page/index.h"

#include "support/json_writer.h"
#include "tools/cli/output.h"
#include "tools/page/file.h"

enum { SCHEMA = 1 };

/* Options that say where the page goes or who shows it: what matters is what was asked of the
 * model, and the page is the same wherever it is written. */
static bool is_about_page(const char *arg) {
  return strncmp(arg, "-o", 2) == 0 || strncmp(arg, "--output=", 9) == 0 ||
         strcmp(arg, "--open") == 0 || strncmp(arg, "--serve", 7) == 0 ||
         strncmp(arg, "--page", 6) == 0;
}

/* Adds the arguments as they were given, but for those. */
static void put_options(tl_cli *cli, tl_json_writer *w) {
  tl_put_key(w, "options");
  tl_put_array(w);
  for (int i = 0; i < cli->n_arguments; i++) {
    const char *arg = cli->arguments[i];
    if (strcmp(arg, "-o") == 0 || strcmp(arg, "--output") == 0 || strcmp(arg, "--page") == 0)
      i++; /* its value follows */
    else if (arg[0] == '-' && !is_about_page(arg))
      tl_put_z(w, arg);
  }
  tl_put_end(w);
}

static void put_models(const tl_view_about *a, tl_json_writer *w) {
  tl_json_line(w, 0);
  tl_put_key(w, "models");
  tl_put_array(w);
  for (uint32_t i = 0; i < a->n; i++) {
    tl_put_object(w);
    tl_view_model_index(&a->models[i], w);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_index(const tl_view_about *a, const tl_chunks *chunks, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_buf key;
  tl_buf_init(&key);
  tl_print_version_key(&key);
  tl_put_object(w);
  tl_member_u64(w, "schema", SCHEMA);
  tl_member_z(w, "tool", "tailor");
  tl_member_sv(w, "key", tl_sv_trim(tl_buf_view(&key)));
  tl_member_z(w, "what", a->what);
  tl_member_z(w, "language", "en");
  if (a->overlay)
    tl_member_z(w, "overlay", a->overlay);
  if (a->against)
    tl_member_z(w, "against", a->against);
  tl_json_line(w, 0);
  put_options(a->cli, w);
  put_models(a, w);
  tl_json_line(w, 0);
  tl_put_key(w, "chunks");
  tl_put_array(w);
  for (uint32_t i = 0; i < chunks->at.n; i++)
    tl_put_z(w, chunks->at.at[i].name);
  tl_put_end(w);
  tl_put_end(w);
  out->failed = out->failed || key.failed;
  tl_buf_release(&key);
}

tl_status tl_view_add_index(const tl_view_about *a, tl_chunks *chunks) {
  tl_buf index;
  tl_buf_init(&index);
  put_index(a, chunks, &index);
  tl_chunks_add(chunks, "index", &index);
  tl_buf_release(&index);
  return chunks->failed ? tl_fail_memory(&a->cli->diag, TL_NOWHERE) : TL_OK;
}

tl_status tl_view_put_page(const tl_view_about *a, const char *path, const tl_chunks *chunks) {
  tl_option_id by = tl_cli_has(a->cli, TL_OPTION_PAGE) ? TL_OPTION_PAGE : TL_OPTION_OUTPUT;
  for (uint32_t i = 0; i < a->n; i++)
    TL_TRY(tl_output_spares_inputs(a->cli, a->models[i].m, path, by));
  return tl_view_write(a->cli, path, chunks);
}
