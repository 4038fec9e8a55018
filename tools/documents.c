/* SPDX-License-Identifier: Apache-2.0 */
/* Writes docs/options.md and the manual page from the tables. */
#include "tools/cli/cli.h"

/* Adds what a value may be, as documents show it. */
static void add_values(tl_buf *out, const tl_option_row *row) {
  switch ((tl_option_kind)row->kind) {
  case TL_OPTION_FLAG: break;
  case TL_OPTION_BIT: tl_buf_add_z(out, "0|1"); break;
  case TL_OPTION_BOOL: tl_buf_add_z(out, "true|false"); break;
  case TL_OPTION_INT: tl_buf_add_z(out, "N"); break;
  case TL_OPTION_MAYBE:
  case TL_OPTION_CHOICE:
  case TL_OPTION_TEXT:
  case TL_OPTION_REAL:
  case TL_OPTION_SIZE:
  case TL_OPTION_LIST:
  case TL_OPTION_OBJECT:
  case TL_OPTION_PATH: tl_buf_add_z(out, row->values); break;
  }
}

/* Adds the help of an option, and what happens to an option that is not acted on. */
static void add_help(tl_buf *out, const tl_option_row *row) {
  tl_buf_add_z(out, row->help);
  if (row->fate == TL_FATE_WARN || row->fate == TL_FATE_NEVER)
    tl_buf_printf(out, ". %s: %s", row->fate == TL_FATE_WARN ? "No effect here" : "Refused",
                  row->note);
  if (row->fate == TL_FATE_LATER)
    tl_buf_add_z(out, ". Not in this version");
  if (row->fate == TL_FATE_LATER && *row->note)
    tl_buf_printf(out, ". Accepted: %s, which is what happens anyway", row->note);
}

/* Adds text of a table cell; a bar would end the cell and is escaped. */
static void add_cell(tl_buf *out, tl_sv text) {
  for (size_t i = 0; i < text.n; i++) {
    if (text.p[i] == '|')
      tl_buf_add_char(out, '\\');
    tl_buf_add_char(out, text.p[i]);
  }
}

/* Adds the commands that take the option. */
static void add_commands(tl_buf *out, const tl_option_row *row) {
  size_t n;
  bool any = false;
  const tl_command *commands = tl_commands(&n);
  if (row->commands == TL_COMMAND_ANY) {
    tl_buf_add_z(out, "all");
    return;
  }
  for (size_t i = 0; i < n; i++) {
    bool implied = (commands[i].bit & TL_COMMAND_LIKE_CONVERT) &&
                   (row->commands & TL_COMMAND_CONVERT);
    if (!(row->commands & commands[i].bit) || implied)
      continue;
    tl_buf_printf(out, "%s%s", any ? ", " : "", commands[i].name);
    any = true;
  }
}

/* Adds the row of an option to its table. */
static void add_option_row(tl_buf *out, const tl_option_row *row) {
  tl_buf cell;
  tl_buf_init(&cell);
  tl_buf_add_z(out, "| ");
  if (row->letter)
    tl_buf_printf(out, "`-%c` ", row->letter);
  tl_buf_printf(out, "`--%s` | ", row->name);
  add_values(&cell, row);
  add_cell(out, tl_buf_view(&cell));
  tl_buf_printf(out, " | %s | ", row->fallback);
  add_commands(out, row);
  tl_buf_add_z(out, " | ");
  if (*row->key)
    tl_buf_printf(out, "`%s`", row->key);
  tl_buf_add_z(out, " | ");
  tl_buf_clear(&cell);
  add_help(&cell, row);
  add_cell(out, tl_buf_view(&cell));
  tl_buf_add_z(out, " |\n");
  tl_buf_release(&cell);
}

/* Adds the options that help shows first, one line for each command that has such options. */
static void add_common_lists(tl_buf *out) {
  size_t n;
  const tl_command *commands = tl_commands(&n);
  tl_buf_add_z(out, "\n## The options used most\n\n| command | options |\n|---|---|\n");
  for (size_t i = 0; i < n; i++) {
    tl_option_id id;
    if (tl_option_common(commands[i].bit, 0) == TL_N_OPTION_ROWS)
      continue;
    tl_buf_printf(out, "| `%s` |", commands[i].name);
    for (unsigned k = 0; (id = tl_option_common(commands[i].bit, k)) != TL_N_OPTION_ROWS; k++)
      tl_buf_printf(out, " `--%s`", tl_option_row_get(id)->name);
    tl_buf_add_z(out, " |\n");
  }
}

void tl_document_options(tl_buf *out) {
  tl_buf_add_z(
      out,
      "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
      "<!-- Written by `tailor --generate=markdown`; `make update` renews it. -->\n"
      "# What does an option mean?\n\n"
      "A name may be written with dashes or underscores, with one leading dash or two, and the "
      "value "
      "after `=` or as the\nnext argument. GE's key of an option is another spelling of its name. "
      "So "
      "an `atc` command line works with\n`tailor convert` in place of `atc`. If an option is given "
      "twice, the last value counts.\n\n"
      "`bisect`, `reduce`, `replay` and `view` run conversions: they take every option of "
      "`convert`, though the tables do not repeat them.\n\n"
      "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot read or write, "
      "5 a comparison\ndiffers, 70 internal error or out of memory, 128 + N stopped by signal N; "
      "with `--atc-exit` 255 "
      "for every failure.\n");
  add_common_lists(out);
  for (unsigned g = 0; g < TL_N_OPTION_GROUPS; g++) {
    tl_buf_printf(out,
                  "\n## %s\n\n| option | values | default | commands | GE key | |\n"
                  "|---|---|---|---|---|---|\n",
                  tl_option_group_title((tl_option_group)g));
    for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
      const tl_option_row *row = tl_option_row_get((tl_option_id)i);
      if (row->group == g && row->commands != TL_COMMAND_NONE)
        add_option_row(out, row);
    }
  }
}

/* Adds text for roff. Dashes stay dashes, no line looks like a request, and long lists of choices
 * may break behind a bar. */
static void add_roff(tl_buf *out, const char *text) {
  bool at_start = out->n == 0 || out->p[out->n - 1] == '\n';
  for (const char *c = text; *c; c++) {
    if (at_start && (*c == '.' || *c == '\''))
      tl_buf_add_z(out, "\\&");
    if (*c == '-')
      tl_buf_add_z(out, "\\-");
    else if (*c == '\\')
      tl_buf_add_z(out, "\\e");
    else if (*c == '|')
      tl_buf_add_z(out, "|\\:");
    else
      tl_buf_add_char(out, *c);
    at_start = *c == '\n';
  }
}

/* Adds an option to the manual page. Text goes through add_roff, names and values too. */
static void add_manual_option(tl_buf *out, const tl_option_row *row) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_z(out, ".TP\n.B ");
  if (row->letter)
    tl_buf_printf(out, "\\-%c, ", row->letter);
  tl_buf_add_z(out, "\\-\\-");
  add_roff(out, row->name);
  add_values(&text, row);
  if (text.n) {
    tl_buf_add_z(out, row->kind == TL_OPTION_MAYBE ? "[=" : "=");
    add_roff(out, text.p);
    tl_buf_add_z(out, row->kind == TL_OPTION_MAYBE ? "]" : "");
  }
  tl_buf_add_char(out, '\n');
  tl_buf_clear(&text);
  add_help(&text, row);
  if (*row->fallback && row->kind != TL_OPTION_MAYBE)
    tl_buf_printf(&text, " (default: %s)", row->fallback);
  add_roff(out, text.p ? text.p : "");
  tl_buf_add_char(out, '\n');
  tl_buf_release(&text);
}

static void add_manual_commands(tl_buf *out) {
  size_t n;
  const tl_command *commands = tl_commands(&n);
  tl_buf_add_z(out, ".SH COMMANDS\n");
  for (size_t i = 0; i < n; i++) {
    tl_buf_add_z(out, ".TP\n.B tailor ");
    tl_buf_printf(out, "%s ", commands[i].name);
    add_roff(out, commands[i].synopsis);
    tl_buf_add_char(out, '\n');
    add_roff(out, commands[i].about);
    tl_buf_add_char(out, '\n');
  }
}

void tl_document_manual(tl_buf *out) {
  tl_option_id id;
  tl_buf_printf(out,
                ".\\\" SPDX-License-Identifier: Apache-2.0\n"
                ".\\\" Written by tailor --generate=man\n"
                ".TH TAILOR 1 \"\" \"tailor %s\" \"User Commands\"\n.ad l\n"
                ".SH NAME\ntailor \\- graph compiler from ONNX to NPU and ONNX models\n"
                ".SH SYNOPSIS\n.B tailor\n.I COMMAND\n[\\fIARGUMENT\\fR...]\n",
                TL_VERSION);
  add_manual_commands(out);
  tl_buf_add_z(out, ".SH OPTIONS\nNames may be written with dashes or underscores, with one "
                    "leading dash or two, the value after = or as the next argument.\n");
  tl_buf_add_z(out, ".SS The options of convert used most\n");
  for (unsigned i = 0; (id = tl_option_common(TL_COMMAND_CONVERT, i)) != TL_N_OPTION_ROWS; i++)
    add_manual_option(out, tl_option_row_get(id));
  for (unsigned g = 0; g < TL_N_OPTION_GROUPS; g++) {
    tl_buf_printf(out, ".SS %s\n", tl_option_group_title((tl_option_group)g));
    for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
      const tl_option_row *row = tl_option_row_get((tl_option_id)i);
      if (row->group == g && row->commands != TL_COMMAND_NONE)
        add_manual_option(out, row);
    }
  }
  tl_buf_add_z(out,
               ".SH EXIT STATUS\n0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot "
               "read or write, 5 a comparison differs, 70 internal error or out of memory, 128 + N "
               "stopped by signal N. "
               "With \\-\\-atc\\-exit every failure gives 255.\n"
               ".SH EXAMPLES\n.nf\ntailor convert model.onnx \\-o model.air\n"
               "tailor convert model.onnx \\-o model.air \\-o small.onnx "
               "\\-\\-input\\-shape=\"image:1,3,224,224\"\n"
               "tailor opt \\-\\-passes=dead\\-nodes < in.tir\n"
               "tailor info model.onnx\n.fi\n");
}
