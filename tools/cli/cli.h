/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what every command gets: the parsed command line, a place for messages, the signal that
 * arrived. tools/ is the only layer that prints and exits. */
#ifndef TL_TOOLS_CLI_CLI_H
#define TL_TOOLS_CLI_CLI_H

#include <sys/types.h>
#include <time.h>

#include "lib/session/session.h"
#include "passes/train/time/record.h"
#include "support/changes.h"
#include "support/map.h"
#include "support/vec.h"
#include "tools/cli/response.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"

TL_VEC(tl_path_vec, const char *);

/* A file in the state in which it was read first. */
typedef struct tl_read_state {
  const char *path;
  dev_t device;
  ino_t inode;
  off_t size;
  struct timespec modified;
} tl_read_state;

TL_VEC(tl_read_state_vec, tl_read_state);

typedef struct tl_command tl_command;
struct tl_watch;

/* Who records what a command says and writes (tools/cache). Every member may be NULL. */
typedef struct tl_listener {
  void *user;
  void (*said)(void *user, const tl_diagnostic *d); /* a message, shown or not */
  void (*noted)(void *user, tl_sv text);            /* a text of tl_cli_note, shown or not */
  void (*printed)(void *user);                      /* something went to standard output */
  void (*applying)(void *user);                     /* all files are complete, none has its name */
} tl_listener;

/* The call of atc that is to follow a conversion (tools/convert/atc.h). */
typedef struct tl_atc_call {
  const char *program; /* borrowed; a path or a name */
  bool dry;            /* write nothing */
  tl_buf line;         /* the call as a line for a shell, once it is known */
} tl_atc_call;

/* State of one call of the tool. */
typedef struct tl_cli {
  tl_settings settings;
  tl_diag diag;
  tl_session session;        /* what loads, runs and saves; borrows the members here */
  const tl_command *command; /* NULL: none was named */
  const char *word;          /* the first argument that is not an option, NULL: none */
  const char *word2;         /* the second one, of commands that take two */
  char *const *arguments;    /* all behind the name of the command, as they were given */
  int n_arguments;
  tl_path_vec models;        /* of convert: every argument that is no option */
  tl_path_vec outputs;       /* every -o, in order; strings in the settings' arena */
  tl_path_vec inputs;        /* every --input */
  tl_path_vec dims;          /* every --dim */
  const tl_arguments *given; /* borrowed; the whole command line; NULL: not known */
  tl_path_vec read;          /* every file that was read, in order (deps.h) */
  tl_map read_before;        /* those, by hash; value: 1 + index of its state, 0: none */
  tl_read_state_vec read_states;
  const char *read_again;       /* a file that was another one when it was read again, or NULL */
  bool read_lost;               /* memory ran out for one of them */
  bool differs;                 /* a comparison was made, and failed */
  int batch_code;               /* exit code of a batch (tools/batch) */
  const volatile int *signal;   /* number of the signal that asks us to stop, 0: none */
  tl_messages messages;         /* how they are printed */
  tl_atc_call *atc;             /* borrowed; NULL: none follows */
  const tl_listener *listener;  /* borrowed; NULL: nobody */
  tl_changes changes;           /* files that are complete and appear when they are applied */
  bool applied;                 /* they have: the command is done, whatever fails behind it */
  tl_progress progress;         /* what a long command is doing, for terminals */
  tl_fusion_stats fusions;      /* what fusion passes did, if somebody wants to know */
  tl_step_record steps;         /* timelines of a training step, if somebody wants to know */
  struct tl_watch *watch;       /* of the command (tools/watch); NULL: passes are not shown */
  struct tl_known_rules *rules; /* owned; names of rules, once somebody asked for one */
  bool rules_read;              /* somebody did; rules is NULL when they cannot be read */
} tl_cli;

/* One command of the tool. */
struct tl_command {
  const char *name;
  unsigned bit;         /* TL_COMMAND_ */
  const char *synopsis; /* what follows the name */
  const char *summary;  /* one line */
  const char *about;    /* paragraph for help and the manual */
  tl_status (*run)(tl_cli *cli);
};

/* Returns the table of commands in the order in which help lists them, and its length in *n. */
const tl_command *tl_commands(size_t *n);
/* Returns the command of a name, NULL if there is none. */
const tl_command *tl_command_find(const char *name);

/* Puts response files into a command line. Reports what tl_arguments_read reports, and leaves *cli
 * as tl_cli_init does for no command. */
tl_status tl_cli_expand(tl_cli *cli, int argc, char **argv, tl_arguments *out) TL_NODISCARD;
/* Parses the arguments behind the command's name. Reports every mistake; the status is that of
 * the first. */
tl_status tl_cli_parse(tl_cli *cli, int argc, char **argv) TL_NODISCARD;
/* Takes further arguments into a command line that was parsed, as if they stood behind its own;
 * argv must live as long as *cli. Fails likewise. */
tl_status tl_cli_take(tl_cli *cli, int argc, char **argv) TL_NODISCARD;
/* Makes an empty command line. command: NULL if none is named. signal: the flag of
 * tl_signals_install. */
void tl_cli_init(tl_cli *cli, const tl_command *command, const volatile int *signal);
/* Releases everything and undoes changes to files that were not applied. */
void tl_cli_release(tl_cli *cli);

/* Lets all files that the command wrote appear, or none. A signal cannot stop it midway. A second
 * call without new files does nothing. */
tl_status tl_cli_apply(tl_cli *cli) TL_NODISCARD;

/* Writes text to standard output; TL_IO when that fails. Releases the buffer. */
tl_status tl_cli_print(tl_cli *cli, tl_buf *text) TL_NODISCARD;
/* Returns true if standard output should have colours. */
bool tl_cli_colours_output(const tl_cli *cli);
/* Writes text to standard error unless --quiet asks for errors only. Releases the buffer. */
void tl_cli_note(tl_cli *cli, tl_buf *text);

/* Returns true if the option was given. */
static inline bool tl_cli_has(const tl_cli *cli, tl_option_id id) {
  return tl_settings_has(&cli->settings, id);
}
/* Returns true if arguments[i] is, or holds, the value of an option that is an object in JSON. */
bool tl_cli_is_json(const tl_cli *cli, int i);
/* Returns the value of an option, else its default, else "". */
static inline const char *tl_cli_get(const tl_cli *cli, tl_option_id id) {
  return tl_settings_get(&cli->settings, id);
}

/* Sets *out to whether a rule, or a public pass of rules, has the name. For tl_settings; user: the
 * tl_cli. TL_NO_MEMORY is not reported. */
tl_status tl_cli_knows_pass(void *user, tl_sv pass, tl_fusion_kind kind, bool *out) TL_NODISCARD;
/* Sets *out to whether a rule of kind expand has the name. TL_NO_MEMORY. */
tl_status tl_cli_knows_expansion(tl_cli *cli, tl_sv name, bool *out) TL_NODISCARD;
/* Releases the rules; NULL is legal. */
void tl_known_rules_release(struct tl_known_rules *rules);

/* Commands, one file each. Each reports its errors and returns the status of the first. */
tl_status tl_command_convert(tl_cli *cli);
tl_status tl_command_opt(tl_cli *cli);
tl_status tl_command_passes(tl_cli *cli);
tl_status tl_list_fusions(tl_cli *cli);
tl_status tl_list_rules(tl_cli *cli);
tl_status tl_command_explain(tl_cli *cli);
tl_status tl_command_ops(tl_cli *cli);
tl_status tl_command_info(tl_cli *cli);
tl_status tl_command_run(tl_cli *cli);
tl_status tl_command_verify(tl_cli *cli);
/* convert --verify: refuses, before convert runs, what could not be read back. */
tl_status tl_verify_check_converted(tl_cli *cli) TL_NODISCARD;
/* Compares the files that convert has just written with their model. */
tl_status tl_verify_converted(tl_cli *cli) TL_NODISCARD;
tl_status tl_command_diff_precision(tl_cli *cli);
tl_status tl_command_diff(tl_cli *cli);
tl_status tl_command_extract(tl_cli *cli);
tl_status tl_command_bisect(tl_cli *cli);
tl_status tl_command_reduce(tl_cli *cli);
tl_status tl_command_replay(tl_cli *cli);
tl_status tl_command_precision_search(tl_cli *cli);
tl_status tl_command_test_rules(tl_cli *cli);
tl_status tl_command_view(tl_cli *cli);
tl_status tl_command_simulate_ranks(tl_cli *cli);
tl_status tl_command_cache(tl_cli *cli);
tl_status tl_command_options(tl_cli *cli);
tl_status tl_command_help(tl_cli *cli);

/* Documents (help.c, documents.c, completions.c). Each adds its text to out. */
void tl_help_overview(tl_buf *out);
/* Adds help on a command: the options used most, or with `all` every one, by group. */
void tl_help_command(tl_buf *out, const tl_command *command, bool all);
void tl_print_version(tl_buf *out);
/* Adds a short text that changes whenever the bytes of an output could. */
void tl_print_version_key(tl_buf *out);
void tl_document_options(tl_buf *out);
void tl_document_passes(tl_buf *out);
void tl_document_ops(tl_buf *out);
void tl_document_rule_functions(tl_buf *out);
/* Adds docs/fusions.md. */
void tl_document_fusions(tl_buf *out);
void tl_document_manual(tl_buf *out);
/* Names the list that values of an option are from: "chips", "passes", "fusions", "scopes", "ops";
 * NULL: none. */
const char *tl_completion_list(tl_option_id id);
/* Adds the words of a list, with blanks between. */
void tl_completion_words(tl_buf *out, const char *list);
void tl_complete_bash(tl_buf *out);
void tl_complete_zsh(tl_buf *out);

#endif
