/* SPDX-License-Identifier: Apache-2.0 */
/* Writes help and the version from the tables. */
#include "frontend/onnx/load.h"
#include "ir/op.h"
#include "source_key.h"
#include "tools/cli/cli.h"

/* Columns of the text: its width, where help starts, and where names start. */
enum { WIDTH = 80, COLUMN = 28, NAME_COLUMN = 6 };

/* Adds words, broken at WIDTH; further lines are indented. at: column in which the first word
 * starts. */
static void add_wrapped(tl_buf *out, const char *text, size_t at, size_t indent) {
  for (tl_sv rest = tl_sv_from(text); rest.p;) {
    tl_sv word = tl_sv_split(&rest, ' ');
    if (at > indent && at + 1 + word.n > WIDTH) {
      tl_buf_printf(out, "\n%*s", (int)indent, "");
      at = indent;
    } else if (at > indent) {
      tl_buf_add_char(out, ' ');
      at++;
    }
    tl_buf_add_sv(out, word);
    at += word.n;
  }
  tl_buf_add_char(out, '\n');
}

/* Adds what stands behind the name of an option. */
static void add_placeholder(tl_buf *out, const tl_option_row *row) {
  switch ((tl_option_kind)row->kind) {
  case TL_OPTION_FLAG: break;
  case TL_OPTION_MAYBE: tl_buf_printf(out, "[=%s]", row->values); break;
  case TL_OPTION_BIT: tl_buf_add_z(out, "=0|1"); break;
  case TL_OPTION_BOOL: tl_buf_add_z(out, "=true|false"); break;
  case TL_OPTION_INT: tl_buf_add_z(out, "=N"); break;
  case TL_OPTION_CHOICE:
  case TL_OPTION_TEXT:
  case TL_OPTION_REAL:
  case TL_OPTION_SIZE:
  case TL_OPTION_LIST:
  case TL_OPTION_OBJECT:
  case TL_OPTION_PATH: tl_buf_printf(out, "=%s", row->values); break;
  }
}

/* Adds an option and its placeholder, starting in NAME_COLUMN. A long list of choices is broken
 * behind a bar. */
static void add_choices(tl_buf *out, tl_sv text) {
  size_t column = NAME_COLUMN;
  for (tl_sv rest = text; rest.p;) {
    tl_sv choice = tl_sv_split(&rest, '|');
    size_t n = choice.n + (rest.p != NULL); /* a bar follows, but behind the last one */
    if (column + n > WIDTH && column > NAME_COLUMN + 2) {
      column = NAME_COLUMN + 2;
      tl_buf_printf(out, "\n%*s", (int)column, "");
    }
    tl_buf_add_sv(out, choice);
    if (rest.p)
      tl_buf_add_char(out, '|');
    column += n;
  }
}

static bool is_shown(const tl_option_row *row, unsigned command) {
  return (row->commands & command) && row->commands != TL_COMMAND_NONE;
}

/* Adds an option with its help, below each other if the name is long. */
static void add_option(tl_buf *out, const tl_option_row *row) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_printf(&text, "--%s", row->name);
  add_placeholder(&text, row);
  if (row->letter)
    tl_buf_printf(out, "  -%c, ", row->letter);
  else
    tl_buf_add_z(out, "      ");
  add_choices(out, tl_buf_view(&text));
  size_t used = NAME_COLUMN + text.n;
  if (used + 2 > COLUMN)
    tl_buf_printf(out, "\n%*s", COLUMN, "");
  else
    tl_buf_printf(out, "%*s", (int)(COLUMN - used), "");
  tl_buf_clear(&text);
  tl_buf_add_z(&text, row->help);
  if (row->fate == TL_FATE_OWN && *row->fallback && row->kind != TL_OPTION_MAYBE)
    tl_buf_printf(&text, " (default: %s)", row->fallback);
  add_wrapped(out, text.p ? text.p : "", COLUMN, COLUMN);
  tl_buf_release(&text);
}

/* Adds the options that help shows first, and how to see the others. */
static void add_common(tl_buf *out, const tl_command *command) {
  unsigned n_all = 0;
  tl_option_id id;
  tl_buf_add_z(out, "\nThe options used most:\n");
  for (unsigned i = 0; (id = tl_option_common(command->bit, i)) != TL_N_OPTION_ROWS; i++)
    add_option(out, tl_option_row_get(id));
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++)
    n_all += is_shown(tl_option_row_get((tl_option_id)i), command->bit);
  tl_buf_printf(out, "\n'tailor help %s --help-all' lists all %u options by group.\n",
                command->name, n_all);
}

/* Adds the options of a group that the command takes, under the group's title. */
static void add_group(tl_buf *out, unsigned command, tl_option_group group) {
  bool titled = false;
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const tl_option_row *row = tl_option_row_get((tl_option_id)i);
    if (row->group != group || !is_shown(row, command))
      continue;
    if (!titled)
      tl_buf_printf(out, "\n%s:\n", tl_option_group_title(group));
    titled = true;
    add_option(out, row);
  }
}

void tl_help_command(tl_buf *out, const tl_command *command, bool all) {
  tl_buf_printf(out, "usage: tailor %s %s\n\n", command->name, command->synopsis);
  add_wrapped(out, command->about, 0, 0);
  if (!all && tl_option_common(command->bit, 0) != TL_N_OPTION_ROWS) {
    add_common(out, command);
    return;
  }
  for (unsigned g = 0; g < TL_N_OPTION_GROUPS; g++)
    add_group(out, command->bit, (tl_option_group)g);
}

void tl_help_overview(tl_buf *out) {
  size_t n;
  const tl_command *commands = tl_commands(&n);
  tl_buf_add_z(out, "usage: tailor COMMAND [ARGUMENT...]\n\n"
                    "Compiles ONNX models for Ascend NPUs: reads a model, optimizes its graph, and "
                    "writes AIR\nor ONNX.\n\ncommands:\n");
  for (size_t i = 0; i < n; i++)
    tl_buf_printf(out, "  %-18s%s\n", commands[i].name, commands[i].summary);
  tl_buf_add_z(
      out, "\nexit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot "
           "read or\nwrite, 5 a comparison differs, 70 internal error or out of memory, 128 + "
           "N stopped\nby signal "
           "N.\n\n'tailor help COMMAND' explains a command, with --help-all every option of it; "
           "\n'tailor --version' says what this build supports.\n");
}

void tl_print_version(tl_buf *out) {
  uint32_t n_npu = 0;
  for (uint32_t i = 0; i < tl_n_op_rows; i++)
    n_npu += strcmp(tl_op_rows[i].domain, "npu") == 0;
  tl_buf_printf(out, "tailor %s\n", TL_VERSION);
  tl_buf_printf(out, "ONNX opsets: 1 to %d, canonical %d\n", TL_ONNX_NEWEST_OPSET,
                TL_ONNX_CANONICAL_OPSET);
  tl_buf_printf(out, "ops: %u, NPU prototypes: %u\n", tl_n_op_rows - n_npu, n_npu);
  tl_buf_add_z(out, "outputs: air, onnx, tir, pbtxt\n");
#ifdef TL_BLAS
  tl_buf_add_z(out, "matrix products of run and verify: BLAS\n");
#else
  tl_buf_add_z(out, "matrix products of run and verify: own\n");
#endif
  tl_buf_printf(out, "compiler: %s\n", TL_COMPILER);
  tl_buf_add_z(out, "licence: Apache-2.0\n");
}

void tl_print_version_key(tl_buf *out) {
  tl_buf_printf(out, "tailor-%s-%s\n", TL_VERSION, TL_SOURCE_KEY);
}

tl_status tl_command_help(tl_cli *cli) {
  tl_buf out;
  tl_buf_init(&out);
  const tl_command *command = cli->word ? tl_command_find(cli->word) : NULL;
  if (cli->word && !command)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "unknown command '%s'\v'tailor help' lists the commands", cli->word);
  if (command)
    tl_help_command(&out, command, tl_cli_has(cli, TL_OPTION_HELP_ALL));
  else
    tl_help_overview(&out);
  return tl_cli_print(cli, &out);
}
