/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the module around passes. */
#include "tools/watch/show.h"

#include <stdio.h>

#include "support/text_diff.h"

enum { BEFORE, AFTER, CHANGED, CONTEXT = 2 };

static const tl_option_id options[TL_SHOW_OPTIONS] = {
    [BEFORE] = TL_OPTION_PRINT_BEFORE,
    [AFTER] = TL_OPTION_PRINT_AFTER,
    [CHANGED] = TL_OPTION_PRINT_CHANGED,
};

/* Returns the pass that an option names; NULL: none in particular. */
static const char *pass_of(const tl_show *s, int i) {
  const char *value = tl_cli_get(s->cli, options[i]);
  return tl_cli_has(s->cli, options[i]) && strcmp(value, "all") != 0 ? value : NULL;
}

/* Returns true if the option names this pass or stands alone, which means every pass. */
static bool asks(const tl_show *s, int i, const char *pass) {
  const char *named = pass_of(s, i);
  return tl_cli_has(s->cli, options[i]) && (!named || strcmp(named, pass) == 0);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Adds the module, or the part asked for. A difference leaves metadata out, and numbers of unnamed
 * values do not move in it. */
static tl_status add_text(tl_show *s, const tl_module *m, bool diff, tl_buf *out) {
  tl_print_options o = {.elide_constants = true, .skip_extra = diff, .keep_numbers = diff};
  tl_status status = s->narrow.name.n ? tl_narrow_print(&s->narrow, m, &o, out)
                                      : tl_module_print(m, out, &o);
  return status == TL_NO_MEMORY ? tl_fail_memory(&s->cli->diag, TL_NOWHERE) : status;
}

static void print(tl_show *s, const tl_buf *text) {
  tl_progress_hide(&s->cli->progress);
  if (text->n)
    fwrite(text->p, 1, text->n, stderr);
}

static tl_status print_module(tl_show *s, const tl_module *m, const char *when, const char *pass) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "# ---- %s %s ----\n", when, pass);
  tl_status status = add_text(s, m, false, &text);
  print(s, &text);
  tl_buf_release(&text);
  return status;
}

/* Adds two lines that say which texts are compared. */
static void add_title(const tl_show *s, const char *pass, tl_buf *out) {
  const char *on = s->cli->messages.colour ? "\033[1m" : "",
             *off = s->cli->messages.colour ? "\033[0m" : "";
  tl_buf_printf(out, "%s--- before %s%s\n%s+++ after %s%s\n", on, pass, off, on, pass, off);
}

/* Prints what a pass changed, of which `now` is the text afterwards. Rewrites that the text does
 * not show, of metadata and of the contents of large constants, are said to have been. */
static tl_status print_change(tl_show *s, const tl_pass_event *e, const tl_buf *now) {
  const tl_text_diff_options o = {.context = CONTEXT, .colour = s->cli->messages.colour};
  const char *pass = e->row->name;
  tl_status status = TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  if (tl_sv_eq(tl_buf_view(&s->before), tl_buf_view(now))) {
    if (e->changed && !s->narrow.name.n)
      tl_buf_printf(&text, "# ---- after %s: %llu rewrites, none of which shows in the text ----\n",
                    pass, (unsigned long long)e->changed);
  } else if (s->diff) {
    add_title(s, pass, &text);
    status = tl_text_diff(tl_buf_view(&s->before), tl_buf_view(now), &o, &text);
  } else {
    tl_buf_printf(&text, "# ---- after %s ----\n", pass);
    tl_buf_add_sv(&text, tl_buf_view(now));
  }
  if (status == TL_OK && text.failed)
    status = TL_NO_MEMORY;
  print(s, &text);
  tl_buf_release(&text);
  return status == TL_NO_MEMORY ? tl_fail_memory(&s->cli->diag, TL_NOWHERE) : status;
}

/* ---- passes ---------------------------------------------------------------------------------- */

void tl_show_loaded(tl_show *s) { tl_narrow_forget(&s->narrow); }

tl_status tl_show_begin(tl_show *s, const tl_module *m) {
  tl_buf text;
  tl_buf_init(&text);
  s->held = false;
  /* The name is one of the model, or of something that passes make. */
  tl_status status = s->narrow.name.n ? add_text(s, m, true, &text) : TL_OK;
  tl_buf_release(&text);
  return status;
}

/* Takes the text of the module, unless the one after the pass before is still at hand. */
static tl_status hold(tl_show *s, const tl_module *m) {
  if (s->held)
    return TL_OK;
  tl_buf_clear(&s->before);
  s->held = true;
  return add_text(s, m, s->diff, &s->before);
}

static tl_status before_pass(tl_show *s, const tl_module *m, const char *pass) {
  for (int i = 0; i < TL_SHOW_OPTIONS; i++)
    s->ran[i] = s->ran[i] || asks(s, i, pass);
  if (asks(s, BEFORE, pass))
    TL_TRY(print_module(s, m, "before", pass));
  if (asks(s, CHANGED, pass))
    return hold(s, m);
  s->held = false;
  return TL_OK;
}

static tl_status after_pass(tl_show *s, const tl_module *m, const tl_pass_event *e) {
  if (asks(s, AFTER, e->row->name))
    TL_TRY(print_module(s, m, "after", e->row->name));
  if (!asks(s, CHANGED, e->row->name))
    return TL_OK;
  tl_buf now;
  tl_buf_init(&now);
  tl_status status = add_text(s, m, s->diff, &now);
  /* The whole module was just printed. */
  if (status == TL_OK && (s->diff || !asks(s, AFTER, e->row->name)))
    status = print_change(s, e, &now);
  tl_buf_release(&s->before);
  s->before = now;
  return status;
}

tl_status tl_show_pass(tl_show *s, const tl_module *m, const tl_pass_event *e) {
  return e->after ? after_pass(s, m, e) : before_pass(s, m, e->row->name);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static tl_status refuse(tl_cli *cli, tl_option_id id, const char *why) {
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, id), "%s", why);
}

/* An option that could have no effect, or an unknown pass, would print nothing without a word. */
static tl_status check(const tl_show *s) {
  tl_cli *cli = s->cli;
  bool any = false, narrows = tl_cli_has(cli, TL_OPTION_PRINT_ONLY);
  for (int i = 0; i < TL_SHOW_OPTIONS; i++) {
    const char *pass = pass_of(s, i);
    any = any || tl_cli_has(cli, options[i]);
    if (pass && !tl_pass_find(tl_sv_from(pass)))
      return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, tl_at_option(&cli->settings, options[i]),
                     "'%s' is not a pass\v'tailor passes' lists them", pass);
  }
  if (narrows && !any)
    return refuse(cli, TL_OPTION_PRINT_ONLY,
                  "has no effect without --print-before, --print-after or --print-changed");
  if (tl_cli_has(cli, TL_OPTION_PRINT_CHANGED_FORM) && !tl_cli_has(cli, TL_OPTION_PRINT_CHANGED))
    return refuse(cli, TL_OPTION_PRINT_CHANGED_FORM, "has no effect without --print-changed");
  return TL_OK;
}

tl_status tl_show_open(tl_show *s, tl_cli *cli) {
  *s = (tl_show){.cli = cli};
  tl_buf_init(&s->before);
  s->diff = strcmp(tl_cli_get(cli, TL_OPTION_PRINT_CHANGED_FORM), "diff") == 0;
  s->narrow.name = tl_sv_from(tl_cli_get(cli, TL_OPTION_PRINT_ONLY));
  return check(s);
}

tl_status tl_show_end(tl_show *s) {
  tl_cli *cli = s->cli;
  for (int i = 0; i < TL_SHOW_OPTIONS; i++)
    if (pass_of(s, i) && !s->ran[i])
      tl_warn(&cli->diag, tl_at_option(&cli->settings, options[i]),
              "pass '%s' did not run, so nothing was printed", pass_of(s, i));
  if (s->narrow.name.n && !s->narrow.found)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_PRINT_ONLY),
                   "'%.*s' is neither a node nor a scope of the model, before or after any pass",
                   TL_SV_ARG(tl_sv_shown(s->narrow.name)));
  return TL_OK;
}

void tl_show_release(tl_show *s) {
  tl_buf_release(&s->before);
  tl_narrow_forget(&s->narrow);
}
