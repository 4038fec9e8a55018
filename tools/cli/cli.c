/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line into settings and prints diagnostics to standard error. Command lines
 * written for atc arrive as scripts hold them: dashes or underscores, one leading dash or two,
 * carriage returns, stray blanks. */
#include "tools/cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "frontend/config/run_config.h"
#include "tools/cli/clash.h"
#include "tools/cli/deps.h"
#include "tools/cli/memory.h"
#include "tools/cli/signals.h"
#include "tools/cli/written.h"

/* Prints a diagnostic. After a signal nothing is printed, because everything that fails then fails
 * because of it. */
static void show_diagnostic(void *user, const tl_diagnostic *d) {
  tl_cli *cli = user;
  if (cli->listener && cli->listener->said)
    cli->listener->said(cli->listener->user, d);
  if (d->severity < cli->messages.threshold || *cli->signal)
    return; /* after a signal everything that failed failed because of it */
  tl_progress_hide(&cli->progress);
  tl_messages_add(&cli->messages, d);
}

/* Returns true for commands that take a run configuration; they take the model's own, too. */
static bool takes_run_config(const tl_command *command) {
  const unsigned takes = TL_COMMAND_CONVERT | TL_COMMAND_OPT | TL_COMMAND_EXPLAIN;
  return command && (command->bit & takes);
}

void tl_cli_init(tl_cli *cli, const tl_command *command, const volatile int *signal) {
  tl_settings_init(&cli->settings); /* most of the bytes, and zeroed there */
  memset(&cli->diag, 0, sizeof *cli - offsetof(tl_cli, diag));
  cli->command = command;
  cli->signal = signal;
  tl_messages_init(&cli->messages);
  cli->diag.user = cli;
  cli->diag.opened = tl_deps_note;
  cli->diag.opened_user = cli;
  tl_fusion_stats_init(&cli->fusions);
  tl_step_record_init(&cli->steps);
  cli->settings.known = tl_cli_knows_pass;
  cli->settings.known_user = cli;
  cli->session = (tl_session){.settings = &cli->settings,
                              .diag = &cli->diag,
                              .cancel = signal,
                              .changes = &cli->changes,
                              .fusions = &cli->fusions,
                              .looks_inside = true,
                              .ignores_own_config = !takes_run_config(command)};
}

void tl_cli_release(tl_cli *cli) {
  tl_progress_stop(&cli->progress);
  tl_known_rules_release(cli->rules);
  tl_fusion_stats_release(&cli->fusions);
  tl_step_record_release(&cli->steps);
  tl_path_vec_release(&cli->models);
  tl_path_vec_release(&cli->outputs);
  tl_path_vec_release(&cli->inputs);
  tl_path_vec_release(&cli->dims);
  tl_path_vec_release(&cli->read);
  tl_map_release(&cli->read_before);
  tl_read_state_vec_release(&cli->read_states);
  tl_settings_release(&cli->settings);
  tl_messages_release(&cli->messages);
  tl_changes_undo(&cli->changes);
}

/* Reports lack of memory that no caller has reported. */
static tl_status check_memory(tl_cli *cli) {
  return tl_memory_failed() ? tl_fail_memory(&cli->diag, TL_NOWHERE) : TL_OK;
}

/* Lets the files appear. A job of a batch tells first which they are, so that lack of room for that
 * leaves no file without its list; if none appears, it takes that back. */
static tl_status give_names(tl_cli *cli) {
  int fd = cli->given ? cli->given->written : 0;
  off_t told = fd ? lseek(fd, 0, SEEK_END) : 0;
  tl_status status = fd ? tl_written_tell(cli, fd) : TL_OK;
  cli->changes.keeps_same = tl_cli_has(cli, TL_OPTION_WRITE_IF_CHANGED);
  tl_signals_hold(true);
  if (status == TL_OK)
    status = tl_changes_apply(&cli->changes, &cli->diag);
  tl_signals_hold(false);
  cli->applied = cli->messages.is_done = status == TL_OK;
  if (status != TL_OK && fd)
    (void)!ftruncate(fd, told);
  return status;
}

tl_status tl_cli_apply(tl_cli *cli) {
  if (cli->applied && cli->changes.list.n == 0)
    return TL_OK;
  TL_TRY(check_memory(cli));
  TL_TRY(tl_deps_unchanged(cli));
  if (cli->changes.list.n == 0)
    return TL_OK; /* a signal that comes behind the last name is too late */
  if (*cli->signal)
    return TL_IO;
  TL_TRY(tl_clash_check(cli));
  if (cli->listener && cli->listener->applying) {
    cli->listener->applying(cli->listener->user);
    TL_TRY(check_memory(cli));
  }
  return give_names(cli);
}

tl_status tl_cli_print(tl_cli *cli, tl_buf *text) {
  tl_status status = TL_OK;
  if (cli->listener && cli->listener->printed)
    cli->listener->printed(cli->listener->user);
  tl_progress_hide(&cli->progress);
  if (text->failed || tl_memory_failed()) {
    cli->messages.is_done = false; /* what it prints is missing */
    status = tl_fail_memory(&cli->diag, TL_NOWHERE);
  } else if (*cli->signal && !cli->applied) {
    status = TL_IO;
  } else if ((text->n && fwrite(text->p, 1, text->n, stdout) != text->n) || fflush(stdout) != 0)
    status = tl_fail(&cli->diag, TL_IO, TL_NOWHERE, "cannot write to standard output: %s",
                     strerror(errno));
  tl_buf_release(text);
  return status;
}

void tl_cli_note(tl_cli *cli, tl_buf *text) {
  if (cli->listener && cli->listener->noted)
    cli->listener->noted(cli->listener->user, tl_buf_view(text));
  tl_progress_hide(&cli->progress);
  bool quiet = tl_cli_has(cli, TL_OPTION_QUIET) || tl_cli_has(cli, TL_OPTION_PRINT_INPUTS) ||
               (cli->messages.form != TL_MESSAGES_TEXT && !tl_cli_has(cli, TL_OPTION_SUMMARY));
  if (text->n && !text->failed && !quiet)
    fwrite(text->p, 1, text->n, stderr);
  tl_buf_release(text);
}

/* Returns the TL_COMMAND_ bit under which options are looked up. */
static unsigned command_bit(const tl_cli *cli) {
  return cli->command ? cli->command->bit : TL_COMMAND_NONE;
}

static const char *command_name(const tl_cli *cli) {
  return cli->command ? cli->command->name : "";
}

/* Reports an option that this command does not have: one of another command, a likely typo, or an
 * unknown name. */
static tl_status report_unknown(tl_cli *cli, const char *arg, tl_sv spelling) {
  static const tl_location nowhere = {0};
  const char *blank = cli->command ? " " : "";
  tl_option_id id = tl_option_find(spelling, TL_COMMAND_CONVERT);
  if (!cli->command && id != TL_N_OPTION_ROWS &&
      (tl_option_row_get(id)->commands & TL_COMMAND_CONVERT))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere,
                   "'%s' needs a command in front\v'tailor convert' takes the options of atc", arg);
  if (tl_option_find(spelling, command_bit(cli)) != TL_N_OPTION_ROWS)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere,
                   "'%s' is not an option of 'tailor%s%s'\v'tailor help%s%s' lists its options",
                   arg, blank, command_name(cli), blank, command_name(cli));
  const char *nearest = tl_option_nearest(spelling, command_bit(cli));
  if (nearest)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere,
                   "unknown option '%s'\vdid you mean --%s?", arg, nearest);
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere,
                 "unknown option '%s'\v'tailor help%s%s' lists the options", arg, blank,
                 command_name(cli));
}

/* Sets an option. Options whose values are kept one by one are added to their lists, too. */
static tl_status give(tl_cli *cli, tl_option_id id, const char *value) {
  TL_TRY(tl_settings_set(&cli->settings, &cli->diag, id, value));
  tl_path_vec *list = id == TL_OPTION_OUTPUT  ? &cli->outputs
                      : id == TL_OPTION_INPUT ? &cli->inputs
                      : id == TL_OPTION_DIM   ? &cli->dims
                                              : NULL;
  if (list && !tl_path_vec_push(list, cli->settings.value[id]))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  return TL_OK;
}

/* An argument, split into the option that it names and the attached value. */
typedef struct named_option {
  tl_option_id id;
  const char *value; /* NULL: none attached */
} named_option;

/* Splits an argument. A long name wins over a letter, because atc accepts long names with one dash:
 * -output is --output, and -ofile is -o file. */
static named_option split_argument(const tl_cli *cli, const char *arg) {
  const char *name = arg + (arg[1] == '-' ? 2 : 1);
  const char *equals = strchr(name, '=');
  tl_sv spelling = {name, equals ? (size_t)(equals - name) : strlen(name)};
  unsigned bit = command_bit(cli);
  named_option out = {tl_option_find(spelling, bit), equals ? equals + 1 : NULL};
  bool known = out.id != TL_N_OPTION_ROWS && (tl_option_row_get(out.id)->commands & bit);
  if (!known)
    out.id = TL_N_OPTION_ROWS;
  if (known || arg[1] == '-')
    return out;
  tl_option_id id = tl_option_find_letter(arg[1], bit);
  if (id == TL_N_OPTION_ROWS)
    return out;
  bool is_flag = tl_option_row_get(id)->kind == TL_OPTION_FLAG;
  if (is_flag && arg[2])
    return out;
  out.id = id;
  out.value = arg[2] ? arg + 2 + (arg[2] == '=') : NULL;
  return out;
}

/* Returns true if an argument names an option whose value is an object in JSON. */
static bool names_object(const tl_cli *cli, const char *arg, bool with_value) {
  if (arg[0] != '-' || !arg[1])
    return false;
  named_option named = split_argument(cli, arg);
  return named.id != TL_N_OPTION_ROWS && !named.value == !with_value &&
         tl_option_row_get(named.id)->kind == TL_OPTION_OBJECT;
}

bool tl_cli_is_json(const tl_cli *cli, int i) {
  return names_object(cli, cli->arguments[i], true) ||
         (i > 0 && names_object(cli, cli->arguments[i - 1], false));
}

/* Returns the value of a switch of a run configuration that is given as a flag, as in --strict.
 * NULL if the option is no such switch, or if the next argument is its value. */
static const char *switched_on(tl_option_id id, const char *next) {
  const tl_run_key *key = tl_run_key_of(id);
  unsigned kind = tl_option_row_get(id)->kind;
  if (!key || key->shared || (kind != TL_OPTION_BIT && kind != TL_OPTION_BOOL))
    return NULL;
  tl_sv text = tl_sv_from(next ? next : "");
  bool valued = tl_sv_is(text, "0") || tl_sv_is(text, "1") || strcasecmp(text.p, "true") == 0 ||
                strcasecmp(text.p, "false") == 0;
  return valued ? NULL : kind == TL_OPTION_BIT ? "1" : "true";
}

/* Takes the option at argv[*i], and the argument behind it if it is its value. */
static tl_status take_option(tl_cli *cli, int argc, char **argv, int *i) {
  const char *arg = argv[*i];
  named_option named = split_argument(cli, arg);
  if (named.id == TL_N_OPTION_ROWS) {
    const char *name = arg + (arg[1] == '-' ? 2 : 1);
    return report_unknown(cli, arg, (tl_sv){name, strcspn(name, "=")});
  }
  const tl_option_row *row = tl_option_row_get(named.id);
  tl_location where = tl_at_option(&cli->settings, named.id);
  if (row->kind == TL_OPTION_FLAG && named.value)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, where, "takes no value, '%s' was given",
                   named.value);
  if (row->kind == TL_OPTION_FLAG)
    return give(cli, named.id, "");
  if (row->kind == TL_OPTION_MAYBE && !named.value)
    return give(cli, named.id, row->fallback);
  if (named.value)
    return give(cli, named.id, named.value);
  const char *on = switched_on(named.id, *i + 1 < argc ? argv[*i + 1] : NULL);
  if (on)
    return give(cli, named.id, on);
  bool last = *i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0;
  if (last && row->fate == TL_FATE_NEVER) /* what is refused needs no value */
    return give(cli, named.id, "1");
  if (last)
    return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E10054", where,
                        "needs a value\vwrite --%s=%s", row->name,
                        row->kind == TL_OPTION_BIT    ? "0|1"
                        : row->kind == TL_OPTION_BOOL ? "true|false"
                                                      : row->values);
  return give(cli, named.id, argv[++*i]);
}

/* Reports a word that is one too many. */
static tl_status report_stray(tl_cli *cli, const char *arg) {
  tl_format format;
  if (cli->command->bit & (TL_COMMAND_CONVERT | TL_COMMAND_OPT) && tl_format_of_path(arg, &format))
    return tl_fail(
        &cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
        "stray argument '%s'\vone model is read at a time; outputs are named with -o: -o %s%s", arg,
        arg,
        cli->command->bit == TL_COMMAND_CONVERT ? ", and of several models with -o 'DIR/{}.air'"
                                                : "");
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                 "stray argument '%s'\vwrite --name=value without blanks around '=', and quote "
                 "values that contain ';' or blanks",
                 arg);
}

/* Takes an argument that is no option: the model, or the second operand of a command with two. */
static tl_status take_word(tl_cli *cli, const char *arg) {
  static const tl_location nowhere = {0};
  if (tl_sv_trim(tl_sv_from(arg)).n == 0) {
    tl_warn(&cli->diag, nowhere,
            "ignored an argument of blanks\va line of the script has a blank after '\\', or "
            "Windows line ends");
    return TL_OK;
  }
  if (!cli->command)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere, "stray argument '%s'", arg);
  if (cli->command->bit == TL_COMMAND_ATC) { /* what is behind -- is not ours */
    int i = 0;
    while (i < cli->n_arguments && cli->arguments[i] != arg && strcmp(cli->arguments[i], "--") != 0)
      i++;
    return cli->arguments[i] != arg
               ? TL_OK
               : tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere,
                         "stray argument '%s'\vwrite -- before the options of atc", arg);
  }
  bool takes_two = cli->command->bit == TL_COMMAND_VERIFY || cli->command->bit == TL_COMMAND_DIFF ||
                   cli->command->bit == TL_COMMAND_DIFF_PRECISION ||
                   cli->command->bit == TL_COMMAND_VIEW ||
                   cli->command->bit == TL_COMMAND_TEST_RULES;
  if (takes_two && cli->word && !cli->word2) {
    cli->word2 = arg;
    return TL_OK;
  }
  bool named = cli->word || tl_cli_has(cli, TL_OPTION_MODEL);
  if (named && cli->command->bit == TL_COMMAND_CONVERT && tl_sv_ends_with(tl_sv_from(arg), ".om"))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, nowhere,
                   "stray argument '%s'\voutputs are named with -o; an offline model takes two "
                   "steps: -o %.*s.air here, then atc",
                   arg, (int)strlen(arg) - 3, arg);
  bool convert = cli->command->bit == TL_COMMAND_CONVERT;
  if (convert && !tl_path_vec_push(&cli->models, arg))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (named && convert) /* check_models judges, when all outputs are known */
    return TL_OK;
  if (named || cli->command->bit == TL_COMMAND_PASSES)
    return report_stray(cli, arg);
  cli->word = arg;
  return TL_OK;
}

/* Several models need a place for their names in every output. */
static tl_status check_models(tl_cli *cli) {
  tl_status first = TL_OK;
  bool holes = false;
  for (uint32_t i = 0; i < cli->outputs.n; i++)
    holes |= strstr(cli->outputs.at[i], "{}") != NULL;
  bool by_option = tl_cli_has(cli, TL_OPTION_MODEL);
  for (uint32_t i = 0; i < cli->models.n && (!holes || by_option); i++) {
    if (cli->models.at[i] == cli->word)
      continue;
    tl_status status = report_stray(cli, cli->models.at[i]);
    first = first == TL_OK ? status : first;
  }
  return first;
}

/* Parses all arguments, and goes on after an error to report every mistake. Behind "--" no argument
 * is an option; "-" alone is standard input. */
static tl_status parse_all(tl_cli *cli, int argc, char **argv) {
  tl_status first = TL_OK;
  bool words_only = false;
  cli->arguments = argv;
  cli->n_arguments = argc;
  for (int i = 0; i < argc; i++) {
    const char *arg = argv[i];
    tl_status status = TL_OK;
    if (!words_only && strcmp(arg, "--") == 0)
      words_only = true;
    else if (!words_only && arg[0] == '-' && arg[1])
      status = take_option(cli, argc, argv, &i);
    else
      status = take_word(cli, arg);
    if (first == TL_OK)
      first = status;
  }
  tl_status strays = check_models(cli);
  return first == TL_OK ? strays : first;
}

/* Takes the two halves of a step, or one of them, as the input. */
static tl_status take_halves(tl_cli *cli) {
  static const tl_option_id halves[] = {TL_OPTION_TRAIN_MODEL, TL_OPTION_OPTIM_MODEL};
  for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
    const char *other = tl_cli_has(cli, TL_OPTION_MODEL) ? tl_cli_get(cli, TL_OPTION_MODEL)
                                                         : cli->word;
    if (!tl_cli_has(cli, halves[i]))
      continue;
    if (other)
      return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                          tl_at_option(&cli->settings, halves[i]),
                          "names the input, and so does '%s'"
                          "\v--train-model FILE --optim-model FILE are the whole step",
                          other);
  }
  for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
    if (!cli->word && tl_cli_has(cli, halves[i]))
      cli->word = tl_cli_get(cli, halves[i]);
  if (tl_cli_has(cli, TL_OPTION_TRAIN_MODEL) && tl_cli_has(cli, TL_OPTION_OPTIM_MODEL))
    cli->session.optimizer = tl_cli_get(cli, TL_OPTION_OPTIM_MODEL);
  return TL_OK;
}

/* Checks the arguments together: --model may stand behind a word, which take_word cannot see. */
static tl_status check_words(tl_cli *cli) {
  TL_TRY(take_halves(cli));
  if (cli->word && tl_cli_has(cli, TL_OPTION_MODEL))
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "stray argument '%s': --model names the input already\vwrite --name=value "
                   "without blanks around '='",
                   cli->word);
  if (!cli->word && tl_cli_has(cli, TL_OPTION_MODEL))
    cli->word = tl_cli_get(cli, TL_OPTION_MODEL);
  return TL_OK;
}

/* Sets which messages are printed, and how. */
static void choose_messages(tl_cli *cli) {
  const char *log = tl_cli_get(cli, TL_OPTION_LOG);
  const char *form = tl_cli_get(cli, TL_OPTION_DIAGNOSTICS);
  tl_messages *m = &cli->messages;
  m->form = strcmp(form, "json") == 0    ? TL_MESSAGES_JSON
            : strcmp(form, "sarif") == 0 ? TL_MESSAGES_SARIF
                                         : TL_MESSAGES_TEXT;
  m->threshold = TL_WARNING;
  if (strcmp(log, "info") == 0 || strcmp(log, "debug") == 0)
    m->threshold = TL_NOTE;
  if (strcmp(log, "error") == 0 || tl_cli_has(cli, TL_OPTION_QUIET))
    m->threshold = TL_ERROR;
  const char *colour = tl_cli_get(cli, TL_OPTION_COLOR);
  m->colour = strcmp(colour, "always") == 0 ||
              (strcmp(colour, "auto") == 0 && isatty(STDERR_FILENO));
}

bool tl_cli_colours_output(const tl_cli *cli) {
  const char *colour = tl_cli_get(cli, TL_OPTION_COLOR);
  return strcmp(colour, "always") == 0 || (strcmp(colour, "auto") == 0 && isatty(STDOUT_FILENO));
}

tl_status tl_cli_expand(tl_cli *cli, int argc, char **argv, tl_arguments *out) {
  choose_messages(cli);
  cli->diag.fn = show_diagnostic;
  return tl_arguments_read(&cli->diag, argc, argv, out);
}

tl_status tl_cli_take(tl_cli *cli, int argc, char **argv) {
  TL_TRY(parse_all(cli, argc, argv));
  choose_messages(cli);
  return check_words(cli);
}

tl_status tl_cli_parse(tl_cli *cli, int argc, char **argv) {
  /* --log may stand behind the option that is wrong, so a first round prints nothing. If it reports
   * anything, a second round does the same with the verbosity that the first has found. */
  if (parse_all(cli, argc, argv) == TL_OK && cli->diag.warnings == 0) {
    choose_messages(cli);
    cli->diag.fn = show_diagnostic;
    return check_words(cli);
  }
  choose_messages(cli);
  tl_messages messages = cli->messages;
  const volatile int *signal = cli->signal;
  const tl_command *command = cli->command;
  const tl_arguments *given = cli->given;
  tl_atc_call *atc = cli->atc;
  tl_cli_release(cli);
  tl_cli_init(cli, command, signal);
  cli->given = given;
  cli->atc = atc;
  cli->messages.form = messages.form;
  cli->messages.threshold = messages.threshold;
  cli->messages.colour = messages.colour;
  cli->diag.fn = show_diagnostic;
  TL_TRY(parse_all(cli, argc, argv));
  return check_words(cli);
}
