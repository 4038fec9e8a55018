/* SPDX-License-Identifier: Apache-2.0 */
/* Makes reproducers. What is written is tried first: weights are left out, and only the failing
 * pass runs, if the failure stays the same. */
#include "tools/debug/reproduce.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/tensor_expr.h"
#include "ir/text/print.h"
#include "support/litter.h"
#include "tools/cli/folder.h"
#include "tools/convert/pipeline.h"
#include "tools/debug/child.h"

/* ---- running passes apart -------------------------------------------------------------------- */

/* The work of a process. */
typedef struct run {
  const char *path;
  const char *passes;
  tl_stage stage;
  const char *stop;  /* pass before which the IR is printed; NULL: none */
  bool as_read;      /* print the IR as it was read */
  bool strip;        /* of weights */
  tl_ending *ending; /* shared with the parent */
  tl_buf *ir;
} run;

static void keep_message(void *user, const tl_diagnostic *d) {
  run *r = user;
  if (d->severity == TL_ERROR && !*r->ending->message)
    snprintf(r->ending->message, sizeof r->ending->message, "%s", d->message);
}

/* Puts one number in the place of the elements of large constants, and bytes in the place of views
 * of files, which the reproducer does not have. */
static bool make_whole(tl_module *m, bool strip) {
  for (tl_value_id v = 1; v < tl_module_value_end(m); v++) {
    tl_tensor_id id = tl_value_get(m, v)->kind == TL_VALUE_RESULT ? TL_NO_TENSOR
                                                                  : tl_value_get(m, v)->tensor;
    const tl_tensor *t = id ? tl_tensor_get(m, id) : NULL;
    if (!t || t->kind == TL_SOURCE_STRINGS || t->bytes == 0)
      continue;
    uint64_t n = tl_tensor_elements(m, t);
    unsigned char *bytes = tl_arena_alloc(&m->arena, t->bytes);
    if (!bytes)
      return false;
    tl_tensor_read(t, 0, n, bytes);
    tl_tensor_id made = TL_NO_TENSOR;
    const tl_type *type = tl_type_get(m, t->type);
    uint64_t each = t->bytes / n;
    if (strip && n > 64 && each && type->rank <= TL_TENSOR_EXPR_MAX_RANK) {
      tl_type_id one = tl_type_tensor(m, (tl_dtype)t->dtype, 0, NULL);
      tl_tensor_id first = one ? tl_tensor_from_bytes(m, one, bytes, each) : TL_NO_TENSOR;
      const tl_tensor *source = first ? tl_tensor_get(m, first) : NULL;
      tl_tensor_expr e = {
          .kind = TL_TENSOR_EXPR_VIEW, .rank = type->rank, .n_sources = 1, .sources = &source};
      for (int i = 0; i < type->rank; i++)
        e.dims[i] = type->dims[i];
      made = source ? tl_tensor_express(m, t->type, &e) : TL_NO_TENSOR;
    } else {
      made = tl_tensor_from_bytes(m, t->type, bytes, t->bytes);
    }
    if (!made)
      return false;
    tl_value_get(m, v)->tensor = made;
  }
  return true;
}

static tl_status print(run *r, tl_module *m) {
  if (!make_whole(m, r->strip))
    return TL_NO_MEMORY;
  return tl_module_print(m, r->ir, NULL);
}

/* Notes the pass that runs; ends the run before the one that is asked for. */
static tl_status note_pass(void *user, tl_module *m, const tl_pass_event *e) {
  run *r = user;
  snprintf(r->ending->pass, sizeof r->ending->pass, "%s", e->after ? "" : e->row->name);
  if (e->after || !r->stop || strcmp(r->stop, e->row->name) != 0)
    return TL_OK;
  tl_status status = print(r, m);
  return status == TL_OK ? TL_IO : status; /* no further */
}

static void work(tl_cli *cli, void *user, tl_buf *reply) {
  run *r = user;
  tl_module *m;
  r->ir = reply;
  cli->diag.fn = keep_message;
  cli->diag.user = r;
  r->ending->status = tl_session_load(&cli->session, r->path, &m);
  if (r->ending->status != TL_OK)
    return;
  if (r->as_read) {
    r->ending->status = print(r, m);
    return;
  }
  tl_pipeline_options p = tl_session_pipeline(&cli->session, r->stage);
  p.passes = r->passes ? r->passes : p.passes;
  p.verify_each = true;
  p.hook = note_pass;
  p.hook_user = r;
  r->ending->status = tl_session_run(&cli->session, m, &p, NULL);
}

/* Does the work in a process of its own. *ir: what it printed; may be NULL. */
static tl_status run_work(tl_cli *cli, run *r, tl_ending *out, tl_buf *ir) {
  tl_child child;
  tl_buf reply;
  int signal = 0;
  void *shared = mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  r->ending = shared;
  tl_buf_init(&reply);
  tl_status status = tl_child_start(&child, cli, work, r);
  if (status == TL_OK)
    status = tl_child_wait(&child, cli, &reply, &signal);
  *out = *r->ending;
  out->signal = signal;
  munmap(shared, sizeof *out);
  if (status == TL_OK && ir)
    tl_buf_add_sv(ir, tl_buf_view(&reply));
  tl_buf_release(&reply);
  if (status == TL_OK && !signal && out->status == TL_IO && !*out->pass) /* no pass is at fault */
    status = tl_fail(&cli->diag, TL_IO, TL_AT_FILE(r->path), "%s", out->message);
  return *cli->signal ? TL_IO : status;
}

tl_status tl_run_apart(tl_cli *cli, const char *path, const char *passes, tl_stage stage,
                       tl_ending *out) {
  run r = {.path = path, .passes = passes, .stage = stage};
  return run_work(cli, &r, out, NULL);
}

bool tl_same_ending(const tl_ending *a, const tl_ending *b) {
  return a->status == b->status && a->signal == b->signal && strcmp(a->pass, b->pass) == 0 &&
         strcmp(a->message, b->message) == 0;
}

/* ---- writing the folder ---------------------------------------------------------------------- */

/* Writes a text at once, since it is tried before the command ends. */
static tl_status write_now(tl_cli *cli, const char *path, tl_sv text) {
  tl_session now = cli->session;
  now.changes = NULL;
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_add_sv(&b, text);
  tl_status status = tl_session_save_text(&now, path, &b);
  tl_buf_release(&b);
  return status;
}

/* Options that are about files that the conversion writes, or about this run of the tool. */
static bool is_left_out(tl_option_id id) {
  static const tl_option_id ids[] = {
      TL_OPTION_OUTPUT,       TL_OPTION_EMIT,         TL_OPTION_MODEL,
      TL_OPTION_REPRODUCER,   TL_OPTION_SUMMARY,      TL_OPTION_VERIFY,
      TL_OPTION_DRY_RUN,      TL_OPTION_DEPFILE,      TL_OPTION_QUIET,
      TL_OPTION_LOG,          TL_OPTION_COLOR,        TL_OPTION_READ,
      TL_OPTION_MODE,         TL_OPTION_PASSES,       TL_OPTION_VERIFY_EACH,
      TL_OPTION_DEPS_JSON,    TL_OPTION_PRINT_INPUTS, TL_OPTION_WRITE_IF_CHANGED,
      TL_OPTION_OPTIONS_JSON, TL_OPTION_CACHE_DIR,    TL_OPTION_CACHE_LINK,
      TL_OPTION_NO_CACHE,     TL_OPTION_BATCH,        TL_OPTION_KEEP_GOING,
      TL_OPTION_JOBS,         TL_OPTION_MEMORY_LIMIT, TL_OPTION_MAX_TIME,
      TL_OPTION_SANDBOX};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (ids[i] == id)
      return true;
  return false;
}

/* Copies a file that an option names into the folder. Returns its new value; NULL on failure. */
static const char *copy_file(tl_cli *cli, const char *folder, const char *path, uint32_t number) {
  tl_file *f;
  char name[160];
  const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  snprintf(name, sizeof name, "%u-%s", number, base);
  const char *to = tl_folder_path(cli, folder, name);
  if (!to || tl_file_open(&cli->diag, path, TL_FILE_READ, &f) != TL_OK)
    return NULL;
  tl_status status = write_now(cli, to, (tl_sv){(const char *)f->data, (size_t)f->size});
  tl_file_close(f);
  return status == TL_OK ? tl_arena_copy(&cli->settings.arena, name, strlen(name)) : NULL;
}

/* Adds one argument for a line of an option's value. */
static tl_status add_argument(tl_cli *cli, const char *folder, const tl_option_row *row,
                              tl_sv value, tl_path_vec *out) {
  const char *text = tl_arena_copy(&cli->settings.arena, value.n ? value.p : "", value.n);
  if (text && row->kind == TL_OPTION_PATH && access(text, R_OK) == 0)
    text = copy_file(cli, folder, text, out->n);
  tl_buf b;
  tl_buf_init(&b);
  tl_buf_printf(&b, "--%s", row->name);
  if (row->kind != TL_OPTION_FLAG)
    tl_buf_printf(&b, "=%s", text ? text : "");
  const char *made = b.failed || !text ? NULL : tl_arena_copy(&cli->settings.arena, b.p, b.n);
  tl_buf_release(&b);
  return made && tl_path_vec_push(out, made) ? TL_OK : TL_NO_MEMORY;
}

/* Lists the options that were given, with copies of the files that they name. */
static tl_status list_arguments(tl_cli *cli, const char *folder, tl_path_vec *out) {
  for (unsigned id = 0; id < TL_N_OPTION_ROWS; id++) {
    const tl_option_row *row = tl_option_row_get((tl_option_id)id);
    if (!tl_cli_has(cli, (tl_option_id)id) || is_left_out((tl_option_id)id))
      continue;
    bool repeats = tl_option_may_repeat((tl_option_id)id);
    tl_sv rest = tl_sv_from(tl_cli_get(cli, (tl_option_id)id));
    do {
      tl_sv one = repeats ? tl_sv_split(&rest, '\n') : rest;
      if (add_argument(cli, folder, row, one, out) != TL_OK)
        return cli->diag.errors ? TL_IO : tl_fail_memory(&cli->diag, TL_NOWHERE);
    } while (repeats && rest.p && rest.n);
  }
  return TL_OK;
}

/* ---- what is written ------------------------------------------------------------------------- */

/* Tries one form of the reproducer: writes its IR and runs it. */
static tl_status try_form(tl_cli *cli, run *of, const tl_ending *wanted, const char *passes,
                          const char *input, bool *same) {
  tl_ending ending;
  tl_buf ir;
  tl_buf_init(&ir);
  tl_status status = run_work(cli, of, &ending, &ir);
  *same = false;
  if (status == TL_OK && ir.n)
    status = write_now(cli, input, tl_buf_view(&ir));
  bool written = status == TL_OK && ir.n;
  tl_buf_release(&ir);
  if (written)
    status = tl_run_apart(cli, input, passes, of->stage, &ending);
  *same = written && status == TL_OK && tl_same_ending(&ending, wanted);
  return status;
}

/* Chooses the smallest form that fails in the same way: without weights before with them, the one
 * pass before all. */
static tl_status choose_form(tl_cli *cli, tl_reproducer *r, bool *stripped) {
  static const struct {
    bool strip, one;
  } forms[] = {{true, true}, {false, true}, {true, false}, {false, false}};
  bool failed = r->ending.status != TL_OK || r->ending.signal;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    bool same, one = forms[i].one;
    if (one && (!failed || !*r->ending.pass))
      continue;
    run of = {.path = cli->word,
              .stage = r->stage,
              .stop = one ? r->ending.pass : NULL,
              .as_read = !one,
              .strip = forms[i].strip};
    r->passes = one ? r->ending.pass : NULL;
    *stripped = forms[i].strip;
    TL_TRY(try_form(cli, &of, &r->ending, r->passes, r->input, &same));
    if (same)
      return TL_OK;
  }
  tl_warn(&cli->diag, TL_AT_FILE(r->input),
          "the reproducer does not fail as the conversion does; it holds the model as it was read");
  return TL_OK;
}

static void report(tl_cli *cli, const tl_reproducer *r, const char *folder, bool stripped) {
  tl_buf text;
  tl_buf_init(&text);
  if (r->ending.signal)
    tl_buf_printf(&text, "pass '%s' was ended by signal %d\n", r->ending.pass, r->ending.signal);
  else if (r->ending.status != TL_OK)
    tl_buf_printf(&text, "pass '%s' fails: %s\n", r->ending.pass, r->ending.message);
  else
    tl_buf_add_z(&text, "no pass fails\n");
  tl_buf_printf(&text, "wrote %s: %s, %s\nagain: tailor replay %s\n", folder,
                r->passes ? "the IR before that pass" : "the model as it was read",
                stripped ? "large weights as one number each" : "with its weights", folder);
  tl_cli_note(cli, &text);
}

/* Makes what is in the folder. */
static tl_status fill_folder(tl_cli *cli, const char *folder, tl_reproducer *r) {
  bool stripped = false;
  r->input = tl_folder_path(cli, folder, "input.tir");
  if (!r->input)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  TL_TRY(tl_run_apart(cli, cli->word, NULL, r->stage, &r->ending));
  TL_TRY(choose_form(cli, r, &stripped));
  TL_TRY(list_arguments(cli, folder, &r->arguments));
  TL_TRY(tl_reproducer_write(cli, folder, r, stripped));
  report(cli, r, folder, stripped);
  return TL_OK;
}

tl_status tl_reproduce(tl_cli *cli) {
  const char *folder = tl_cli_get(cli, TL_OPTION_REPRODUCER);
  tl_reproducer r = {.stage = TL_STAGE_AIR};
  struct stat st;
  if (!cli->word || strcmp(cli->word, "-") == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_REPRODUCER),
                   "needs a model that is a file, since it is read several times");
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  tl_format format;
  if (cli->outputs.n && tl_format_of_path(cli->outputs.at[0], &format) && !tl_format_is_npu(format))
    r.stage = tl_cli_canonical_stage(cli);
  bool is_new = lstat(folder, &st) != 0;
  TL_TRY(tl_make_folder(&cli->diag, folder));
  tl_status status = fill_folder(cli, folder, &r);
  if (status != TL_OK && is_new)
    (void)tl_folder_erase(folder);
  tl_path_vec_release(&r.arguments);
  return status;
}
