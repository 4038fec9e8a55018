/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and writes output files: which format, which path, and never over an input. */
#include "tools/cli/output.h"

#include <sys/stat.h>
#include <unistd.h>

/* Appends ".air". atc appends the suffix itself, so its users give none. A name such as "net_v1.5"
 * has no known suffix either. */
static tl_status append_suffix(tl_cli *cli, tl_output *o) {
  tl_sv path = tl_sv_from(o->path);
  if (path.n == 0 || path.p[path.n - 1] == '/')
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10022",
                        tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                        "'%s' names a folder, a file name must follow", o->path);
  char *longer = tl_arena_alloc(&cli->settings.arena, path.n + sizeof ".air");
  if (!longer)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  memcpy(longer, path.p, path.n);
  memcpy(longer + path.n, ".air", sizeof ".air");
  o->path = longer;
  return TL_OK;
}

/* An offline model is what atc makes of an AIR file. */
static tl_status fail_offline(tl_cli *cli, tl_sv path) {
  const char *soc = cli->settings.options.soc_version;
  return tl_fail(
      &cli->diag, TL_UNSUPPORTED, tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
      "'%.*s' is an offline model, which takes two steps: Tailor writes AIR, and atc "
      "compiles it\vwrite -o %.*s.air here, then run: atc --framework=1 --model=%.*s.air "
      "--output=%.*s --soc_version=%s --precision_mode=must_keep_origin_dtype",
      TL_SV_ARG(path), (int)path.n - 3, path.p, (int)path.n - 3, path.p, (int)path.n - 3, path.p,
      soc ? soc : "Ascend910B1");
}

/* Settles name and format of one -o: --emit wins over the suffix, and the suffix over the
 * fallback. */
static tl_status plan_one(tl_cli *cli, const char *path, tl_format fallback, tl_output *o) {
  *o = (tl_output){.path = path, .format = fallback};
  const char *emit = tl_cli_get(cli, TL_OPTION_EMIT);
  for (int i = 0; i < TL_N_FORMATS; i++) {
    if (strcmp(emit, tl_format_name((tl_format)i)) == 0)
      o->format = (tl_format)i;
  }
  bool is_stream = strcmp(path, "-") == 0;
  if (*emit || tl_format_of_path(path, &o->format) || is_stream)
    return TL_OK;
  if (tl_sv_ends_with(tl_sv_from(path), ".om"))
    return fail_offline(cli, tl_sv_from(path));
  return fallback == TL_FORMAT_AIR ? append_suffix(cli, o) : TL_OK;
}

tl_status tl_output_add(tl_cli *cli, const tl_output *o, tl_output_vec *out) {
  for (uint32_t k = 0; o->path && k < out->n; k++) {
    if (strcmp(out->at[k].path, o->path) == 0)
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                     tl_at_option(&cli->settings, TL_OPTION_OUTPUT), "'%s' is named twice%s",
                     o->path, o->init ? ", once as the graph of initial values" : "");
  }
  if (!o->path || !tl_output_vec_push(out, *o))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return TL_OK;
}

tl_status tl_output_plan(tl_cli *cli, tl_format fallback, tl_output_vec *out) {
  for (uint32_t i = 0; i < cli->outputs.n; i++) {
    tl_output o;
    TL_TRY(plan_one(cli, cli->outputs.at[i], fallback, &o));
    TL_TRY(tl_output_add(cli, &o, out));
  }
  return TL_OK;
}

size_t tl_output_stem(const char *path) {
  tl_sv stem = tl_model_stem(path);
  return (size_t)(stem.p - path) + stem.n;
}

const char *tl_output_derive(tl_cli *cli, const char *path, const char *middle) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add(&text, path, tl_output_stem(path));
  tl_buf_printf(&text, ".%s%s", middle, path + tl_output_stem(path));
  const char *copy = text.failed ? NULL : tl_arena_copy(&cli->settings.arena, text.p, text.n);
  tl_buf_release(&text);
  return copy;
}

/* Files are compared by device and inode, so that links and other spellings of a path are found. */
bool tl_output_is_input(const tl_cli *cli, const tl_module *m, const struct stat *st) {
  struct stat in;
  if (!S_ISREG(st->st_mode))
    return false;
  if (stat(cli->word, &in) == 0 && in.st_dev == st->st_dev && in.st_ino == st->st_ino)
    return true;
  if (tl_cli_has(cli, TL_OPTION_OPTIM_MODEL) &&
      stat(tl_cli_get(cli, TL_OPTION_OPTIM_MODEL), &in) == 0 && in.st_dev == st->st_dev &&
      in.st_ino == st->st_ino)
    return true;
  for (uint32_t i = 0; i < m->files.n; i++) {
    const tl_file *f = m->files.at[i];
    if ((uint64_t)st->st_dev == f->device && (uint64_t)st->st_ino == f->inode)
      return true;
  }
  return false;
}

tl_status tl_output_spares_inputs(tl_cli *cli, const tl_module *m, const char *path,
                                  tl_option_id by) {
  struct stat st;
  if (stat(path, &st) != 0 || !tl_output_is_input(cli, m, &st))
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, by),
                 "'%s' is an input of this conversion and would be overwritten", path);
}

tl_status tl_output_check(tl_cli *cli, const tl_module *m, const tl_output_vec *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    struct stat st;
    const tl_output *o = &v->at[i];
    if (strcmp(o->path, "-") != 0 && stat(o->path, &st) == 0)
      TL_TRY(tl_output_spares_inputs(cli, m, o->path, TL_OPTION_OUTPUT));
  }
  return TL_OK;
}

tl_status tl_output_check_fusions(tl_cli *cli, const tl_module *m) {
  struct stat st;
  const char *path = tl_session_fusion_report(&cli->session);
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

tl_status tl_output_write(tl_cli *cli, tl_module *m, tl_output *o) {
  const tl_destination to = {o->path, o->format, o->shared};
  tl_progress_say(&cli->progress, tl_cli_has(cli, TL_OPTION_QUIET), "writing %s", o->path);
  tl_status status = tl_session_save(&cli->session, m, &to);
  if (status == TL_OK) /* weights beside a model come before it */
    o->bytes = tl_changes_last_size(&cli->changes);
  return status;
}
