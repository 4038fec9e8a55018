/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the command line tailor: finds the command, parses its options, returns an exit
 * code. */

#include <stdio.h>

#include "tools/batch/batch.h"
#include "tools/cli/cli.h"
#include "tools/cli/limits.h"
#include "tools/cli/sandbox.h"
#include "tools/cli/memory.h"
#include "tools/cli/signals.h"
#include "tools/convert/atc.h"
#include "tools/debug/reproduce.h"
#include "tools/tables/meanings.h"

/* Exit codes in addition to those of a status; after a signal the code is 128 + its number. */
enum { EXIT_DIFFERS = 5, EXIT_ATC = 255 };

static const tl_command commands[] = {
    {"convert", TL_COMMAND_CONVERT, "MODEL -o OUTPUT... [OPTION...]",
     "convert an ONNX model for an NPU",
     "Reads an ONNX model (or textual IR), optimizes its graph, and writes it as AIR for the NPU's "
     "device compiler, as ONNX, as textual IR, or as a dump that model viewers open. The options "
     "of "
     "atc keep their spelling: replace 'atc' by 'tailor convert' in a command line.",
     tl_command_convert},
    {"opt", TL_COMMAND_OPT, "[MODEL|-] [-o OUTPUT] [OPTION...]", "run passes and print the result",
     "Runs the pipeline, or the passes that --passes names, over a model and prints textual IR. "
     "Without MODEL, or with '-', textual IR is read from standard input; without -o it goes to "
     "standard output.",
     tl_command_opt},
    {"passes", TL_COMMAND_PASSES, "[--fusion|--rules] [--json] [OPTION...]", "list the passes",
     "Lists the passes in pipeline order, and the lowest -O level at which each runs. With "
     "--fusion, lists the fusion passes that a switch file can name: whether each is on under the "
     "given options, and why. With --rules, lists the rewrite rules of clean-up and fusion.",
     tl_command_passes},
    {"explain", TL_COMMAND_EXPLAIN,
     "MODEL [--fusion[=PASS]|--expand[=RULE]|--precision|--origins] [--node=NAME] [--json]",
     "explain what fusion, expansion or precision did to a model",
     "Runs the pipeline over a model and prints for each fusion pass what it fused and what it "
     "nearly fused: a near miss has most nodes of a pattern, and the first condition that failed "
     "is named. --expand explains the rules that replace an op by several NPU ops. --precision, or "
     "any option that changes dtypes, explains for every tensor which dtype it had, which dtype it "
     "gets and why, and which casts were inserted. --origins explains which nodes of the model the "
     "nodes of AIR come from, and with --node what a node became. No file is written.",
     tl_command_explain},
    {"ops", TL_COMMAND_OPS, "[NAME] [--json]", "list the ops, or describe one",
     "Lists the op table: names, versions and NPU forms. With NAME ('Conv', "
     "'com.microsoft::FusedMatMul'), its operands, results, attributes and NPU forms.",
     tl_command_ops},
    {"info", TL_COMMAND_INFO, "MODEL [--json]", "describe a model",
     "Prints opset, inputs, outputs, ops by type, element types, weights, and the ops that have no "
     "NPU form.",
     tl_command_info},
    {"run", TL_COMMAND_RUN, "MODEL [OPTION...]", "evaluate a model",
     "Evaluates the model on given or random inputs and prints a summary of its outputs. Options "
     "write tensors to files, record the ranges of all tensors, and imitate the arithmetic of an "
     "NPU.",
     tl_command_run},
    {"verify", TL_COMMAND_VERIFY, "MODEL [MODEL|FOLDER] [OPTION...]",
     "compare what two models compute",
     "Evaluates both models on the same inputs and compares their outputs, and then all tensors "
     "that have the same name in both. With a FOLDER that holds input_0.pb ... and output_0.pb "
     "..., the "
     "model is evaluated on those inputs and compared with those outputs. With --npu the second "
     "model is the NPU form of the first, as convert makes it.",
     tl_command_verify},
    {"simulate-ranks", TL_COMMAND_SIMULATE, "MODEL [-n RANKS] [OPTION...]",
     "train on several ranks and compare with one",
     "Rewrites the training step in MODEL as convert does for -n ranks, and runs the graphs of all "
     "ranks in lock step in the evaluator. Each rank has its own batches; collectives are computed "
     "across ranks. After each step the states are compared between ranks, and with the states "
     "that the original model has after the batches of all ranks together. Parameters without "
     "initial values start from random numbers, other states from zeros, and the graph of initial "
     "values sends those of rank 0 to all ranks. An input without a default that holds one number "
     "is the step count (integers) or 0.01. Both sides skip a step that overflows. Exit status 5: "
     "a state or the mean of the losses differs by more than --rtol and --atol, or two ranks "
     "differ in any bit.",
     tl_command_simulate_ranks},
    {"diff-precision", TL_COMMAND_DIFF_PRECISION, "A.json B.json",
     "compare two explanations of dtypes",
     "Reads two files that 'explain --precision --json' wrote, for two sets of options or two "
     "models, and prints the tensors whose dtype or rule differs. Exit status 5: some do.",
     tl_command_diff_precision},
    {"diff", TL_COMMAND_DIFF, "MODEL MODEL [--stat|--json] [--names]",
     "show where two models differ",
     "Compares two models (ONNX, AIR or textual IR) as they are in their files and prints what was "
     "added, removed or changed: nodes with their ops, operands, attributes, types and control "
     "edges, weights by content, inputs and outputs. Nodes are matched by their names, then by the "
     "names of their results, then by structure; other names alone are a difference with --names. "
     "No pass is run. Exit status 5: there is a difference.",
     tl_command_diff},
    {"view", TL_COMMAND_VIEW, "MODEL [OPTION of convert...] -o page.html",
     "show a model on its way through the passes, in the browser",
     "Runs the passes that convert runs with these options once, and writes one page with the "
     "graph before them and what each pass, and each single rewrite of it, removed, added and "
     "changed, and why. The page needs nothing from elsewhere and sends nothing anywhere. --emit "
     "says which form the passes make: NPU form without it. Ops that have no NPU form stay what "
     "they are, and if a pass fails, the page shows the way up to it.",
     tl_command_view},
    {"extract", TL_COMMAND_EXTRACT, "MODEL [--from=NAMES] [--to=NAMES] -o OUTPUT... [--data=DIR]",
     "write a part of a model",
     "Writes the part of a model (ONNX, AIR or textual IR) between the values of --from, which "
     "become inputs, and those of --to, which become outputs, with its weights, as ONNX, AIR or "
     "textual IR. What the part needs besides --from is in it, up to the inputs of the model, and "
     "a note says so. --data runs the whole model and writes the tensors at the border of the "
     "part, for 'tailor verify PART DIR'. A part of an ONNX model becomes AIR as convert makes it "
     "without options; write ONNX and convert that for others.",
     tl_command_extract},
    {"bisect", TL_COMMAND_BISECT, "MODEL [OPTION of convert...] [--verify|--check='CMD {}']",
     "find the rewrite that breaks a model",
     "Runs the passes that convert runs with these options, and finds the pass, and in it the one "
     "rewrite, behind which the check fails: the model no longer computes what it did (--verify, "
     "the default), or a command is not content with it (--check). Prints the pass, the rule, the "
     "nodes and the IR before and after. States are checked as they are between two rewrites, in "
     "whatever form. -o FILE says which passes run and is not written; without it, those of AIR. "
     "Exit status 5: a rewrite was found, or another failure is described; 0: the check is content "
     "with the whole way.",
     tl_command_bisect},
    {"reduce", TL_COMMAND_REDUCE,
     "MODEL [OPTION of convert...] [--verify|--check='CMD {}'] -o small.onnx",
     "make a model that fails small",
     "Removes outputs, nodes, bodies, inputs, sizes, weights and attributes as long as the model "
     "fails in the same way: what convert makes of it with these options no longer computes what "
     "it did, or a pass reports an error or crashes (--verify, the default); or a command fails "
     "with the same exit status (--check). What nodes that are left need of others becomes inputs. "
     "Names stay. The result is minimal: without any one of its nodes the failure is gone. A "
     "signal or --time-limit ends the search with the smallest model so far.",
     tl_command_reduce},
    {"replay", TL_COMMAND_REPLAY, "DIR", "run what a reproducer holds",
     "Runs the pass of a folder that --reproducer, or an internal error, has made, over the IR in "
     "it, with the options that were given then, in a process of its own. Says how it ended. Exit "
     "status 5: it ended otherwise than when it was recorded.",
     tl_command_replay},
    {"precision-search", TL_COMMAND_SEARCH, "MODEL [OPTION of convert...] [-o DIR]",
     "find the nodes that low precision has to spare",
     "Finds few nodes that have to keep their dtypes, so that the model in a mode such as "
     "mixed_float16 (the default) computes what it did: outputs are compared on given or random "
     "inputs, within a tolerance (by default a cosine similarity of 0.999). Begins with the nodes "
     "that --precision-policy=range keeps and with those that add most error, and removes nodes "
     "as long as the tolerance is met. -o DIR writes a file for --keep-dtype, one for "
     "--customize-dtypes and a mix list, each of which does alone. Prints what the nodes cost "
     "beside what they gain. Exit status 5: no set of nodes meets the tolerance.",
     tl_command_precision_search},
    {"test-rules", TL_COMMAND_TEST_RULES, "FILE.tlr [MODEL] [--count=N] [--rule=NAME]",
     "test rewrite rules on graphs made for them",
     "Makes graphs that fit the patterns of the rules in a file, with random shapes, dtypes, "
     "attributes and constants, applies the rules, and compares what the evaluator computes before "
     "and behind them. For each condition, makes near misses, in which it alone does not hold, and "
     "tells whether the rule would be wrong without it. Names other rules that fit the same nodes, "
     "those that leave nothing for a rule, and rules that undo each other. With MODEL, the rules "
     "are tried wherever they fit in it. Exit status 5: a rule is wrong or comes to no end.",
     tl_command_test_rules},
    {"atc", TL_COMMAND_ATC, "[--dry-run] [--with=FILE] -- OPTION of atc...",
     "convert a model, then let atc compile it",
     "Stands where a script has 'atc': converts the model of the command line behind -- as "
     "convert does, with atc's default precision, to the AIR file OUTPUT.air, and then calls atc "
     "with that file and the options that it has to see again. The exit status is that of atc, or "
     "that of the conversion if it fails. --dry-run converts, writes nothing and prints the call "
     "of atc.",
     NULL},
    {"cache", TL_COMMAND_CACHE, "stats|clear|verify|trim [--cache-dir=DIR]",
     "look after a cache of conversions",
     "Works on the cache that convert --cache-dir or TAILOR_CACHE_DIR uses. stats prints what is "
     "in it and how often it was of use; clear removes everything; verify reads every entry and "
     "removes those that are not as they were written; trim removes what was not used for the "
     "longest time until the cache is as small as it may be, and with --cache-size sets that. "
     "Exit status 5: verify has found damage.",
     tl_command_cache},
    {"options", TL_COMMAND_OPTIONS, "[KEY] [--json]", "list the keys of run configurations",
     "Lists the keys that a file for --run-config may have, by section: type, values, default, "
     "consumer, and the name in GE. With KEY, only that key.",
     tl_command_options},
    {"help", TL_COMMAND_HELP, "[COMMAND] [--help-all]", "explain a command",
     "Prints the options of COMMAND that are used most, with --help-all every option by group. "
     "Without COMMAND, prints the list of commands.",
     tl_command_help},
};

const tl_command *tl_commands(size_t *n) {
  *n = sizeof commands / sizeof *commands;
  return commands;
}

const tl_command *tl_command_find(const char *name) {
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(commands[i].name, name) == 0)
      return &commands[i];
  }
  return NULL;
}

/* Returns the exit code. A signal goes before a status, because it is the cause; --atc-exit goes
 * before both. */
static int exit_code(const tl_cli *cli, tl_status status) {
  if (status == TL_OK && !cli->differs && !cli->batch_code)
    return 0;
  if (tl_cli_has(cli, TL_OPTION_ATC_EXIT))
    return EXIT_ATC;
  if (status == TL_OK)
    return cli->batch_code ? cli->batch_code : EXIT_DIFFERS;
  return *cli->signal ? 128 + *cli->signal : tl_status_exit_code(status);
}

/* Returns the command whose name is closest, for a hint; NULL if none is near. */
static const char *nearest_command(const char *name) {
  const char *best = NULL;
  size_t best_distance = 3;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    size_t distance = tl_edit_distance(tl_sv_from(name), tl_sv_from(commands[i].name), 3);
    if (distance < best_distance) {
      best_distance = distance;
      best = commands[i].name;
    }
  }
  return best;
}

static tl_status report_unknown_command(tl_cli *cli, const char *name) {
  const char *nearest = nearest_command(name);
  if (nearest)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "unknown command '%s'\vdid you mean '%s'?", name, nearest);
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                 "unknown command '%s'\v'tailor help' lists the commands", name);
}

/* Prints a generated document. The option table has checked that `what` is one of the names. */
static tl_status generate(tl_cli *cli, const char *what) {
  static const struct {
    const char *name;
    void (*write)(tl_buf *out);
  } documents[] = {{"man", tl_document_manual},
                   {"bash", tl_complete_bash},
                   {"zsh", tl_complete_zsh},
                   {"markdown", tl_document_options},
                   {"passes", tl_document_passes},
                   {"ops", tl_document_ops},
                   {"rule-functions", tl_document_rule_functions},
                   {"npu-ops", tl_document_npu_ops},
                   {"fusions", tl_document_fusions}};
  tl_buf out;
  tl_buf_init(&out);
  for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
    if (strcmp(documents[i].name, what) == 0)
      documents[i].write(&out);
  }
  return tl_cli_print(cli, &out);
}

/* Answers general options before any command runs; false if there is nothing to answer. */
static bool answer(tl_cli *cli, tl_status *status) {
  tl_buf out;
  tl_buf_init(&out);
  bool all = tl_cli_has(cli, TL_OPTION_HELP_ALL);
  if (all && cli->command && cli->command->bit == TL_COMMAND_HELP && cli->word)
    return false; /* 'tailor help COMMAND --help-all' is about COMMAND */
  if ((all || tl_cli_has(cli, TL_OPTION_HELP)) && cli->command)
    tl_help_command(&out, cli->command, all);
  else if (all || tl_cli_has(cli, TL_OPTION_HELP))
    tl_help_overview(&out);
  else if (tl_cli_has(cli, TL_OPTION_VERSION))
    tl_print_version(&out);
  else if (tl_cli_has(cli, TL_OPTION_VERSION_KEY))
    tl_print_version_key(&out);
  else
    return false;
  *status = tl_cli_print(cli, &out);
  return true;
}

static int run_job(const tl_arguments *job);
static int run_for_atc(const tl_arguments *line, tl_atc_call *call);

/* Runs the command, and what was asked for after it. */
static tl_status run_command(tl_cli *cli) {
  if (cli->command->bit == TL_COMMAND_ATC)
    return tl_atc_run(cli, run_for_atc, &cli->batch_code);
  if (cli->command->bit == TL_COMMAND_CONVERT && tl_jobs_wanted(cli))
    return tl_batch_run(cli, run_job, &cli->batch_code);
  TL_TRY(tl_limit_command(cli));
  TL_TRY(tl_sandbox_enter(cli));
  bool verifies = tl_cli_has(cli, TL_OPTION_VERIFY) && !tl_cli_has(cli, TL_OPTION_DRY_RUN);
  if (verifies)
    TL_TRY(tl_verify_check_converted(cli));
  if (tl_cli_has(cli, TL_OPTION_REPRODUCER))
    return tl_reproduce(cli);
  TL_TRY(cli->command->run(cli));
  cli->messages.is_done = cli->messages.is_done && !verifies;
  return verifies ? tl_verify_converted(cli) : TL_OK;
}

/* Parses and runs. Without a command, the arguments are parsed only if they are general options; an
 * unknown command is reported as such and not as a stray argument. */
static tl_status run(tl_cli *cli, int argc, char **argv) {
  tl_status status;
  const char *first = argc > 1 ? argv[1] : NULL;
  int used = cli->command ? 2 : 1;
  TL_TRY(
      tl_cli_parse(cli, first && !cli->command && first[0] != '-' ? 0 : argc - used, argv + used));
  if (answer(cli, &status))
    return status;
  if (cli->command)
    return run_command(cli);
  if (tl_cli_has(cli, TL_OPTION_GENERATE))
    return generate(cli, tl_cli_get(cli, TL_OPTION_GENERATE));
  if (first && first[0] != '-')
    return report_unknown_command(cli, first);
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                 "no command was given\v'tailor help' lists the commands");
}

/* Returns true for a command that a reproducer can stand for, unless it is making one. */
static bool makes_reproducers(const tl_cli *cli, int argc, char **argv) {
  if (!cli->command || !(cli->command->bit & (TL_COMMAND_CONVERT | TL_COMMAND_OPT)))
    return false;
  for (int i = 2; i < argc; i++)
    if (strncmp(argv[i], "--reproducer", 12) == 0)
      return false;
  return true;
}

/* Runs the command line `given`, whose first word is the program. */
static tl_status run_arguments(tl_cli *cli, const tl_arguments *given) {
  tl_atc_call *atc = cli->atc;
  int argc = (int)given->list.n;
  char **argv = given->list.at;
  const volatile int *signal = cli->signal;
  tl_cli_release(cli);
  tl_cli_init(cli, argc > 1 ? tl_command_find(argv[1]) : NULL, signal);
  cli->given = given;
  cli->messages.log = given->log;
  cli->atc = atc;
  if (makes_reproducers(cli, argc, argv))
    tl_signals_watch_crashes(argc, argv);
  return run(cli, argc, argv);
}

/* Ends the command: gives files their names, and says what was not said. Returns the exit code. */
static int end(tl_cli *cli, tl_status status) {
  if (status == TL_INTERNAL && !tl_memory_failed())
    tl_signals_rerun();
  if (status == TL_OK)
    status = tl_cli_apply(cli); /* of commands that had nothing to say about it */
  if (status != TL_OK && tl_memory_failed())
    status = TL_NO_MEMORY;
  if (status != TL_OK || !cli->applied) /* files that have their names are no failure */
    status = tl_diag_close(&cli->diag, status, 0);
  tl_messages_end(&cli->messages);
  int code = exit_code(cli, status);
  tl_cli_release(cli);
  return code;
}

/* Runs one conversion of a batch, in a process of its own. */
static int run_job(const tl_arguments *job) {
  tl_cli cli;
  tl_cli_init(&cli, NULL, tl_signals_install(&cli.changes));
  return end(&cli, run_arguments(&cli, job));
}

/* Runs the conversion in front of a call of atc. */
static int run_for_atc(const tl_arguments *line, tl_atc_call *call) {
  tl_cli cli;
  tl_cli_init(&cli, NULL, tl_signals_install(&cli.changes));
  cli.atc = call;
  return end(&cli, run_arguments(&cli, line));
}

/* Returns true if this processor has what the program is compiled for: on 32-bit x86 the oldest
 * lack SSE2, without which floats would be computed in another precision (meson.build). */
static bool can_run(void) {
#if defined(__i386__)
  return __builtin_cpu_supports("sse2");
#else
  return true;
#endif
}

int main(int argc, char **argv) {
  tl_cli cli;
  tl_arguments given = {0};
  if (!can_run()) {
    fputs("tailor: error: this processor lacks SSE2, by which results have the same bits as "
          "elsewhere\n",
          stderr);
    return tl_status_exit_code(TL_UNSUPPORTED);
  }
  tl_memory_watch();
  tl_cli_init(&cli, NULL, tl_signals_install(&cli.changes));
  tl_status status = tl_cli_expand(&cli, argc, argv, &given);
  if (status == TL_OK)
    status = run_arguments(&cli, &given);
  int code = end(&cli, status);
  tl_arguments_release(&given);
  return code;
}
