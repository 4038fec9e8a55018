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

static const char *const lists[] = {"chips", "passes", "fusions", "scopes", "ops", "types"};

/* Returns true if an option before row i, of another command, has its name and list. */
static bool is_repeated(unsigned i) {
  const char *name = tl_option_row_get((tl_option_id)i)->name;
  for (unsigned k = 0; k < i; k++)
    if (tl_completion_list((tl_option_id)k) &&
        strcmp(tl_option_row_get((tl_option_id)k)->name, name) == 0)
      return true;
  return false;
}

/* Adds the functions that know the lists of names, and complete one of several names. */
static void add_bash_lists(tl_buf *out) {
  tl_buf_add_z(out, "_tailor_words() {\n  case $1 in\n");
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tl_buf_printf(out, "    %s) echo \"", lists[i]);
    tl_completion_words(out, lists[i]);
    tl_buf_add_z(out, "\";;\n");
  }
  tl_buf_add_z(out, "  esac\n}\n"
                    "# the last of names that ',' or ';' separates\n"
                    "_tailor_names() {\n"
                    "  local last=${cur##*[,;]}\n"
                    "  COMPREPLY=($(compgen -P \"${cur:0:${#cur}-${#last}}\" "
                    "-W \"$(for list; do _tailor_words $list; done)\" -- \"$last\"))\n}\n");
}

/* Adds one case for each option whose values are known names. */
static void add_bash_names(tl_buf *out) {
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const char *list = tl_completion_list((tl_option_id)i);
    if (list && !is_repeated(i))
      tl_buf_printf(out, "    --%s) _tailor_names %s; return;;\n",
                    tl_option_row_get((tl_option_id)i)->name, list);
  }
}

/* Adds the options whose value, if any, follows '=' and never a blank. */
static void add_optional(tl_buf *out) {
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const tl_option_row *row = tl_option_row_get((tl_option_id)i);
    if (row->kind == TL_OPTION_MAYBE && is_offered(row, TL_COMMAND_ANY))
      tl_buf_printf(out, " --%s", row->name);
  }
  tl_buf_add_char(out, ' ');
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
                    "# bash completion for tailor; written by `tailor --generate=bash`\n");
  add_bash_lists(out);
  tl_buf_add_z(out, "_tailor() {\n"
                    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words "
                    "common= option=\n  COMPREPLY=()\n"
                    "  # bash splits words at '='\n"
                    "  if [[ $cur == = ]]; then option=$prev; cur=; elif [[ $prev == = ]]; then\n"
                    "    option=${COMP_WORDS[COMP_CWORD-2]}\n"
                    "  elif [[ $prev == --* && $cur != -* && \"");
  add_optional(out);
  tl_buf_add_z(out, "\" != *\" ${prev//_/-} \"* ]]; then option=$prev; fi\n"
                    "  case ${option//_/-} in\n");
  add_bash_names(out);
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
  tl_buf_add_z(out,
               "    esac\n  fi\n"
               "  [[ -n $common && ( $cur == - || $cur == -- ) ]] && "
               "words=\"$common--help-all\"\n"
               "  # names as atc spells them\n"
               "  [[ $cur == --*_* ]] && words=${words//-/_} && words=${words//__/--}\n"
               "  if [[ ${COMP_WORDS[1]} == ops && $cur != -* ]]; then\n"
               "    _tailor_names ops types\n"
               "  elif [[ $cur == -* || $COMP_CWORD == 1 || ${COMP_WORDS[1]} == help ]]; then\n"
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
static void add_zsh_option(tl_buf *out, tl_option_id id) {
  const tl_option_row *row = tl_option_row_get(id);
  bool bare = row->kind == TL_OPTION_FLAG, maybe = row->kind == TL_OPTION_MAYBE;
  tl_buf_printf(out, "        '--%s%s[", row->name, bare ? "" : maybe ? "=-" : "=");
  add_zsh_text(out, row->help);
  tl_buf_add_char(out, ']');
  const char *list = tl_completion_list(id);
  if (list && !bare)
    tl_buf_printf(out, ":%svalue:_tailor_%s", maybe ? ":" : "", list);
  else if (row->kind == TL_OPTION_PATH)
    tl_buf_add_z(out, ":file:_files");
  else if (row->kind == TL_OPTION_BIT || row->kind == TL_OPTION_BOOL ||
           row->kind == TL_OPTION_CHOICE) {
    tl_buf_add_z(out, ":value:(");
    add_values(out, row);
    tl_buf_add_char(out, ')');
  } else if (!bare) {
    tl_buf_add_z(out, maybe ? "::value:" : ":value:");
  }
  tl_buf_add_z(out, "' \\\n");
}

/* Adds the options used most, which are offered while no letter is typed. */
static void add_zsh_common(tl_buf *out, unsigned command) {
  tl_option_id id;
  tl_buf_add_z(out, "      if [[ $words[CURRENT] == (-|--) ]]; then _arguments \\\n");
  for (unsigned i = 0; (id = tl_option_common(command, i)) != TL_N_OPTION_ROWS; i++)
    add_zsh_option(out, id);
  add_zsh_option(out, TL_OPTION_HELP_ALL);
  tl_buf_add_z(out, "        && return; fi\n");
}

/* Adds the functions that complete the last of several names. */
static void add_zsh_lists(tl_buf *out) {
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tl_buf_printf(out, "_tailor_%s() {\n  local -a names\n  names=(", lists[i]);
    tl_completion_words(out, lists[i]);
    tl_buf_add_z(out, ")\n  compset -P '*[,;]'\n  compadd -a names\n}\n");
  }
  tl_buf_add_z(out, "_tailor_all_ops() { _tailor_ops; _tailor_types }\n");
}

/* Adds the options and words of a command. */
static void add_zsh_command(tl_buf *out, const tl_command *command) {
  tl_buf_printf(out, "    %s)\n", command->name);
  if (tl_option_common(command->bit, 0) != TL_N_OPTION_ROWS)
    add_zsh_common(out, command->bit);
  tl_buf_add_z(out, "      specs=( \\\n");
  for (unsigned k = 0; k < TL_N_OPTION_ROWS; k++)
    if (is_offered(tl_option_row_get((tl_option_id)k), command->bit))
      add_zsh_option(out, (tl_option_id)k);
  tl_buf_printf(out, "        '*:%s')\n      ;;\n",
                command->bit == TL_COMMAND_OPS ? "op:_tailor_all_ops" : "file:_files");
}

void tl_complete_zsh(tl_buf *out) {
  size_t n;
  const tl_command *commands = tl_commands(&n);
  tl_buf_add_z(out, "#compdef tailor\n# SPDX-License-Identifier: Apache-2.0\n"
                    "# zsh completion for tailor; written by `tailor --generate=zsh`\n");
  add_zsh_lists(out);
  tl_buf_add_z(out, "_tailor() {\n  local -a commands specs\n  local i name\n  commands=(\n");
  for (size_t i = 0; i < n; i++)
    tl_buf_printf(out, "    '%s:%s'\n", commands[i].name, commands[i].summary);
  tl_buf_add_z(out, "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n"
                    "  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n"
                    "  case $command in\n");
  for (size_t i = 0; i < n; i++)
    add_zsh_command(out, &commands[i]);
  tl_buf_add_z(out, "  esac\n"
                    "  # names as atc spells them\n"
                    "  if [[ $words[CURRENT] == --*_* ]]; then\n"
                    "    for i in {1..$#specs}; do\n"
                    "      [[ $specs[i] == --* ]] || continue\n"
                    "      name=${${specs[i]%%[=\\[]*}#--}\n"
                    "      specs[i]=--${name//-/_}${specs[i]#--$name}\n"
                    "    done\n"
                    "  fi\n"
                    "  _arguments $specs\n}\n_tailor \"$@\"\n");
}
