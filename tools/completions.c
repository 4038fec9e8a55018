/* SPDX-License-Identifier: Apache-2.0 */
/* Writes completion scripts for bash and zsh from the tables. */
#include "tools/cli/cli.h"

/* Returns true if completion offers the option. Options that would be refused are not offered. */
static bool is_offered(const tl_option_row *row, unsigned command) {
  return (row->commands & command) && row->commands != TL_COMMAND_NONE &&
         row->fate != TL_FATE_LATER && row->fate != TL_FATE_NEVER;
}

/* Adds the options of a command, with '=' where a value must follow. */
static void add_option_words(tl_buf *out, unsigned command) {
  bool first = true;
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const tl_option_row *row = tl_option_row_get((tl_option_id)i);
    if (!is_offered(row, command))
      continue;
    bool bare = row->kind == TL_OPTION_FLAG || row->kind == TL_OPTION_MAYBE;
    tl_buf_printf(out, "%s--%s%s", first ? "" : " ", row->name, bare ? "" : "=");
    first = false;
  }
}

/* Adds the options that are offered before a letter is typed; none if that would be all of them. */
static void add_common_words(tl_buf *out, unsigned command) {
  tl_option_id id;
  for (unsigned i = 0; (id = tl_option_common(command, i)) != TL_N_OPTION_ROWS; i++) {
    const tl_option_row *row = tl_option_row_get(id);
    bool bare = row->kind == TL_OPTION_FLAG || row->kind == TL_OPTION_MAYBE;
    tl_buf_printf(out, "--%s%s ", row->name, bare ? "" : "=");
  }
}

/* Adds the words that may follow "--name=", separated by blanks; nothing for free text. */
static void add_values(tl_buf *out, const tl_option_row *row) {
  const char *choices = row->kind == TL_OPTION_BIT      ? "0|1"
                        : row->kind == TL_OPTION_BOOL   ? "true|false"
                        : row->kind == TL_OPTION_CHOICE ? row->values
                                                        : "";
  for (const char *c = choices; *c; c++)
    tl_buf_add_char(out, *c == '|' ? ' ' : *c);
}

/* Adds one case for each option with a fixed list of values. */
static void add_bash_values(tl_buf *out) {
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const tl_option_row *row = tl_option_row_get((tl_option_id)i);
    bool has_values = row->kind == TL_OPTION_BIT || row->kind == TL_OPTION_BOOL ||
                      row->kind == TL_OPTION_CHOICE;
    if (!has_values || !is_offered(row, TL_COMMAND_ANY))
      continue;
    tl_buf_printf(out, "    --%s) COMPREPLY=($(compgen -W \"", row->name);
    add_values(out, row);
    tl_buf_add_z(out, "\" -- \"$cur\")); return;;\n");
  }
}

void tl_complete_bash(tl_buf *out) {
  size_t n;
  const tl_command *commands = tl_commands(&n);
  tl_buf_add_z(out, "# SPDX-License-Identifier: Apache-2.0\n"
                    "# bash completion for tailor; written by `tailor --generate=bash`\n"
                    "_tailor() {\n"
                    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words "
                    "common= option=\n  COMPREPLY=()\n"
                    "  # bash splits words at '='\n"
                    "  if [[ $cur == = ]]; then option=$prev; cur=; elif [[ $prev == = ]]; then\n"
                    "    option=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                    "  case $option in\n");
  add_bash_values(out);
  tl_buf_add_z(out, "    --*) COMPREPLY=($(compgen -f -- \"$cur\")); return;;\n  esac\n"
                    "  if ((COMP_CWORD == 1)); then\n    words=\"");
  for (size_t i = 0; i < n; i++)
    tl_buf_printf(out, "%s ", commands[i].name);
  tl_buf_add_z(out, "--help --version\"\n  else\n    case ${COMP_WORDS[1]} in\n");
  for (size_t i = 0; i < n; i++) {
    tl_buf_printf(out, "      %s) words=\"", commands[i].name);
    add_option_words(out, commands[i].bit);
    if (commands[i].bit == TL_COMMAND_HELP) {
      for (size_t k = 0; k < n; k++)
        tl_buf_printf(out, " %s", commands[k].name);
    }
    tl_buf_add_z(out, "\"; common=\"");
    add_common_words(out, commands[i].bit);
    tl_buf_add_z(out, "\";;\n");
  }
  tl_buf_add_z(out, "    esac\n  fi\n"
                    "  [[ -n $common && ( $cur == - || $cur == -- ) ]] && "
                    "words=\"$common--help-all\"\n"
                    "  if [[ $cur == -* || $COMP_CWORD == 1 || ${COMP_WORDS[1]} == help ]]; then\n"
                    "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                    "    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace\n"
                    "  else\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\n"
                    "complete -o filenames -F _tailor tailor\n");
}

/* Adds text of a zsh specification, which stands between brackets within single quotes. */
static void add_zsh_text(tl_buf *out, const char *text) {
  for (const char *c = text; *c; c++) {
    if (*c == '\'')
      tl_buf_add_z(out, "'\\''");
    else if (*c == '[' || *c == ']' || *c == ':' || *c == '\\')
      tl_buf_printf(out, "\\%c", *c);
    else
      tl_buf_add_char(out, *c);
  }
}

/* Adds the zsh specification of an option: name, help and values. */
static void add_zsh_option(tl_buf *out, const tl_option_row *row) {
  bool bare = row->kind == TL_OPTION_FLAG || row->kind == TL_OPTION_MAYBE;
  tl_buf_printf(out, "        '--%s%s[", row->name, bare ? "" : "=");
  add_zsh_text(out, row->help);
  tl_buf_add_char(out, ']');
  if (row->kind == TL_OPTION_PATH)
    tl_buf_add_z(out, ":file:_files");
  else if (row->kind == TL_OPTION_BIT || row->kind == TL_OPTION_BOOL ||
           row->kind == TL_OPTION_CHOICE) {
    tl_buf_add_z(out, ":value:(");
    add_values(out, row);
    tl_buf_add_char(out, ')');
  } else if (!bare) {
    tl_buf_add_z(out, ":value:");
  }
  tl_buf_add_z(out, "' \\\n");
}

/* Adds the options used most, which are offered while no letter is typed. */
static void add_zsh_common(tl_buf *out, unsigned command) {
  tl_option_id id;
  tl_buf_add_z(out, "      if [[ $words[CURRENT] == (-|--) ]]; then _arguments \\\n");
  for (unsigned i = 0; (id = tl_option_common(command, i)) != TL_N_OPTION_ROWS; i++)
    add_zsh_option(out, tl_option_row_get(id));
  add_zsh_option(out, tl_option_row_get(TL_OPTION_HELP_ALL));
  tl_buf_add_z(out, "        && return; fi\n");
}

void tl_complete_zsh(tl_buf *out) {
  size_t n;
  const tl_command *commands = tl_commands(&n);
  tl_buf_add_z(out, "#compdef tailor\n# SPDX-License-Identifier: Apache-2.0\n"
                    "# zsh completion for tailor; written by `tailor --generate=zsh`\n"
                    "_tailor() {\n  local -a commands\n  commands=(\n");
  for (size_t i = 0; i < n; i++)
    tl_buf_printf(out, "    '%s:%s'\n", commands[i].name, commands[i].summary);
  tl_buf_add_z(out, "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n"
                    "  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n"
                    "  case $command in\n");
  for (size_t i = 0; i < n; i++) {
    tl_buf_printf(out, "    %s)\n", commands[i].name);
    if (tl_option_common(commands[i].bit, 0) != TL_N_OPTION_ROWS)
      add_zsh_common(out, commands[i].bit);
    tl_buf_add_z(out, "      _arguments \\\n");
    for (unsigned k = 0; k < TL_N_OPTION_ROWS; k++) {
      const tl_option_row *row = tl_option_row_get((tl_option_id)k);
      if (is_offered(row, commands[i].bit))
        add_zsh_option(out, row);
    }
    tl_buf_add_z(out, "        '*:file:_files'\n      ;;\n");
  }
  tl_buf_add_z(out, "  esac\n}\n_tailor \"$@\"\n");
}
