/* SPDX-License-Identifier: Apache-2.0 */
/* The option table as data (options.tbl), and lookups by spelling.
 * It knows nothing about argv and prints nothing: tools/ parses and prints, settings.c checks
 * values. */
#ifndef TL_FRONTEND_CONFIG_OPTIONS_H
#define TL_FRONTEND_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "support/str.h"

/* One id for each row of options.tbl and run_config.tbl, in the order of the rows, and of
 * ir/options/plain.tbl, which the first includes. */
typedef enum tl_option_id {
#define OWN(id, ...) TL_OPTION_##id,
#define PLAIN(id, ...) TL_OPTION_##id,
#define CARRY(id, ...) TL_OPTION_##id,
#define WARN(id, ...) TL_OPTION_##id,
#define LATER(id, ...) TL_OPTION_##id,
#define NEVER(id, ...) TL_OPTION_##id,
#define RUNCFG(id, ...) TL_OPTION_##id,
#include "frontend/config/options.tbl"
  TL_N_OPTION_ROWS
} tl_option_id;

/* What a value of an option looks like. */
typedef enum tl_option_kind {
  TL_OPTION_FLAG,
  TL_OPTION_MAYBE,  /* text, optional and only after '=' */
  TL_OPTION_BIT,    /* 0|1 */
  TL_OPTION_BOOL,   /* true|false */
  TL_OPTION_CHOICE, /* one of values */
  TL_OPTION_INT,    /* within values, "low..high" */
  TL_OPTION_TEXT,
  TL_OPTION_PATH,
  TL_OPTION_REAL,  /* a finite number; this and the following are kinds of run configuration */
  TL_OPTION_SIZE,  /* bytes, "25MiB" */
  TL_OPTION_LIST,  /* items, commas between */
  TL_OPTION_OBJECT /* JSON */
} tl_option_kind;

/* What happens to an option. */
typedef enum tl_option_fate {
  TL_FATE_OWN,   /* acted on */
  TL_FATE_CARRY, /* recorded in the model */
  TL_FATE_WARN,  /* a warning says what becomes of it */
  TL_FATE_LATER, /* refused: not in this version */
  TL_FATE_NEVER, /* refused: E10055 */
  TL_FATE_HOST,  /* of the host framework: recorded, without effect */
  TL_FATE_GONE   /* removed: W-OPT-UNSUPPORTED */
} tl_option_fate;

/* Sets of commands that take an option. */
enum {
  TL_COMMAND_CONVERT = 1 << 0,
  TL_COMMAND_OPT = 1 << 1,
  TL_COMMAND_PASSES = 1 << 2,
  TL_COMMAND_OPS = 1 << 3,
  TL_COMMAND_INFO = 1 << 4,
  TL_COMMAND_HELP = 1 << 5,
  TL_COMMAND_NONE = 1 << 6, /* before any command */
  TL_COMMAND_RUN = 1 << 7,
  TL_COMMAND_VERIFY = 1 << 8,
  TL_COMMAND_EXPLAIN = 1 << 9,
  TL_COMMAND_DIFF_PRECISION = 1 << 10,
  TL_COMMAND_OPTIONS = 1 << 11,
  TL_COMMAND_SIMULATE = 1 << 12, /* simulate-ranks */
  TL_COMMAND_DIFF = 1 << 13,
  TL_COMMAND_EXTRACT = 1 << 14,
  TL_COMMAND_BISECT = 1 << 15,
  TL_COMMAND_REDUCE = 1 << 16,
  TL_COMMAND_REPLAY = 1 << 17,
  TL_COMMAND_TEST_RULES = 1 << 18,
  TL_COMMAND_SEARCH = 1 << 19, /* precision-search */
  TL_COMMAND_CACHE = 1 << 20,
  TL_COMMAND_ATC = 1 << 21,
  TL_COMMAND_VIEW = 1 << 22,
  TL_COMMAND_ANY = (1 << 23) - 1,
  /* They run conversions over and over, and take all options of convert. */
  TL_COMMAND_DEBUG = TL_COMMAND_BISECT | TL_COMMAND_REDUCE | TL_COMMAND_REPLAY | TL_COMMAND_SEARCH,
  /* They take all options of convert, without being named in each row. */
  TL_COMMAND_LIKE_CONVERT = TL_COMMAND_DEBUG | TL_COMMAND_VIEW
};

/* Groups of options in help and documents. From TL_OPTIONS_TRAIN on they are run configuration. */
typedef enum tl_option_group {
  TL_OPTIONS_IO,
  TL_OPTIONS_MODEL,
  TL_OPTIONS_PASSES,
  TL_OPTIONS_EVALUATION,
  TL_OPTIONS_GENERAL,
  TL_OPTIONS_DEVICE,
  TL_OPTIONS_IGNORED,
  TL_OPTIONS_PRECISION,
  TL_OPTIONS_FUSION,
  TL_OPTIONS_FOREIGN,
  TL_OPTIONS_TRAIN,
  TL_OPTIONS_RUNTIME,
  TL_OPTIONS_HOST,
  TL_OPTIONS_GONE,
  TL_N_OPTION_GROUPS
} tl_option_group;

/* One row of options.tbl. All strings are static. */
typedef struct tl_option_row {
  const char *name;     /* canonical, with dashes, without the leading two */
  const char *aliases;  /* further spellings, space-separated */
  const char *values;   /* see options.tbl */
  const char *fallback; /* default, "" when there is none */
  const char *key;      /* GE's key, "" when there is none */
  const char *help;     /* one clause or two */
  const char *note;     /* WARN: what becomes of it; NEVER: why; LATER: inert values */
  uint8_t kind;         /* tl_option_kind */
  uint8_t fate;         /* tl_option_fate */
  uint8_t group;        /* tl_option_group */
  uint32_t commands;    /* TL_COMMAND_ set */
  char letter;          /* 'o' for -o, 0: none */
} tl_option_row;

/* Returns the row of an id below TL_N_OPTION_ROWS. O(1). */
const tl_option_row *tl_option_row_get(tl_option_id id);
/* Returns true if a repeated option adds to the earlier values. */
bool tl_option_may_repeat(tl_option_id id);
/* Returns true if line feeds join the values of a repeated option. */
bool tl_option_joins_lines(tl_option_id id);
/* Returns GE's key of an option that atc has to see though this compiler acts on it: "" if it is on
 * the atc line only; NULL if atc need not see it, or if it is no option of ours. */
const char *tl_option_shared_key(tl_option_id id);
/* Returns true for options about what convert prints, or writes beside its output. */
bool tl_option_is_report(tl_option_id id);
/* Returns the i-th of the common options, which help shows first for `command` (one TL_COMMAND_
 * bit); TL_N_OPTION_ROWS behind the end of the list, which may be empty. */
tl_option_id tl_option_common(unsigned command, unsigned i);
/* Returns the heading of a group in help and documents. */
const char *tl_option_group_title(tl_option_group group);

/* Finds an option by name, alias or GE key; dashes and underscores are equal. A row of `command`
 * wins over another of the same name. TL_N_OPTION_ROWS if there is none. */
tl_option_id tl_option_find(tl_sv spelling, unsigned command);
/* Finds an option of `command` by its letter; TL_N_OPTION_ROWS if there is none. */
tl_option_id tl_option_find_letter(char letter, unsigned command);
/* Returns the option name of `command` that is nearest to a misspelled one, NULL if none is near.
 */
const char *tl_option_nearest(tl_sv spelling, unsigned command);

/* Returns true if `value` is one of the '|'-separated `choices`. */
bool tl_choice_has(const char *choices, tl_sv value);

#endif
