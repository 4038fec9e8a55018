/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds what a command may take of the machine. */
#include "tools/cli/limits.h"

#include <sys/resource.h>

#include "tools/cli/signals.h"

enum {
  EXIT_ATC = 255,
  /* Their evaluator counts the bytes of live values, and a run may rightly take days. */
  EVALUATING = TL_COMMAND_RUN | TL_COMMAND_VERIFY | TL_COMMAND_SIMULATE | TL_COMMAND_SEARCH,
  /* They convert or evaluate over and over. */
  PATIENT = EVALUATING | TL_COMMAND_DEBUG | TL_COMMAND_EXTRACT | TL_COMMAND_TEST_RULES |
            TL_COMMAND_ATC | TL_COMMAND_CACHE,
  DEFAULT_SECONDS = 3600
};

tl_status tl_limit_memory_option(tl_cli *cli, uint64_t *bytes) {
  const char *text = tl_cli_get(cli, TL_OPTION_MEMORY_LIMIT);
  *bytes = 0;
  if (!tl_cli_has(cli, TL_OPTION_MEMORY_LIMIT))
    return TL_OK;
  if (tl_parse_size(tl_sv_from(text), bytes) && *bytes)
    return TL_OK;
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                 tl_at_option(&cli->settings, TL_OPTION_MEMORY_LIMIT),
                 "'%s' is not a size\vwrite a number of bytes, or for example 512M or 2G", text);
}

void tl_limit_memory(uint64_t bytes) {
  struct rlimit r;
  if (bytes == 0 || getrlimit(RLIMIT_DATA, &r) != 0)
    return;
  if (r.rlim_max == RLIM_INFINITY || bytes < r.rlim_max)
    r.rlim_cur = bytes;
  (void)setrlimit(RLIMIT_DATA, &r);
}

/* Returns true if --memory-limit is about the values of a run, not about the process. */
static bool counts_values(const tl_cli *cli) {
  return (cli->command->bit & EVALUATING) ||
         (cli->command->bit == TL_COMMAND_EXTRACT && tl_cli_has(cli, TL_OPTION_EXTRACT_DATA));
}

/* Reads --max-time, which the option table bounds; 0: no bound. */
static uint64_t seconds_of(const tl_cli *cli) {
  uint64_t seconds = cli->command->bit & PATIENT ? 0 : DEFAULT_SECONDS;
  if (tl_cli_has(cli, TL_OPTION_MAX_TIME))
    (void)tl_parse_u64(tl_sv_from(tl_cli_get(cli, TL_OPTION_MAX_TIME)), &seconds);
  return seconds;
}

tl_status tl_limit_command(tl_cli *cli) {
  uint64_t bytes;
  TL_TRY(tl_limit_memory_option(cli, &bytes));
  if (!counts_values(cli) && !(cli->given && cli->given->is_job))
    tl_limit_memory(bytes);
  tl_signals_say_as(cli->messages.form);
  int code = tl_cli_has(cli, TL_OPTION_ATC_EXIT) ? EXIT_ATC : tl_status_exit_code(TL_LIMIT);
  tl_signals_limit_time(seconds_of(cli), code);
  return TL_OK;
}
