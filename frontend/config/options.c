/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the option table and its lookups. */
#include "frontend/config/options.h"

/* Short names for the columns of options.tbl. */
#define ANY TL_COMMAND_ANY
#define CONVERT (TL_COMMAND_CONVERT | TL_COMMAND_LIKE_CONVERT)
#define OPT TL_COMMAND_OPT
#define PASSES TL_COMMAND_PASSES
#define OPS TL_COMMAND_OPS
#define INFO TL_COMMAND_INFO
#define NONE TL_COMMAND_NONE
#define RUN TL_COMMAND_RUN
#define VERIFY TL_COMMAND_VERIFY
#define EXPLAIN TL_COMMAND_EXPLAIN
#define OPTIONS TL_COMMAND_OPTIONS
#define SIMULATE TL_COMMAND_SIMULATE
#define DIFF TL_COMMAND_DIFF
#define EXTRACT TL_COMMAND_EXTRACT
#define BISECT TL_COMMAND_BISECT
#define REDUCE TL_COMMAND_REDUCE
#define SEARCH TL_COMMAND_SEARCH
#define VIEW TL_COMMAND_VIEW
#define DEBUG TL_COMMAND_DEBUG
#define PLAIN_CONVERT TL_COMMAND_CONVERT
#define CACHE TL_COMMAND_CACHE
#define ATC TL_COMMAND_ATC
#define TEST_RULES TL_COMMAND_TEST_RULES
/* They read models. */
#define READING (CONVERT | OPT | INFO | EXPLAIN | RUN | VERIFY | SIMULATE | DIFF | EXTRACT)
#define TRAINING (CONVERT | OPT | EXPLAIN | SIMULATE)

/* Where keys of a run configuration stand, and what happens to them, by their consumer. */
#define FATE_COMPILE TL_FATE_OWN
#define FATE_BOTH TL_FATE_OWN
#define FATE_ATTR TL_FATE_CARRY
#define FATE_HOST TL_FATE_HOST
#define FATE_GONE TL_FATE_GONE
#define GROUP_COMPILE TL_OPTIONS_TRAIN
#define GROUP_BOTH TL_OPTIONS_TRAIN
#define GROUP_ATTR TL_OPTIONS_RUNTIME
#define GROUP_HOST TL_OPTIONS_HOST
#define GROUP_GONE TL_OPTIONS_GONE

static const tl_option_row rows[TL_N_OPTION_ROWS] = {
#define OWNED(name, aliases, letter, kind, values, fallback, commands, group, help)                \
  {name,  aliases, values, fallback, "", help, "", kind, TL_FATE_OWN, group, (uint32_t)(commands), \
   letter},
#define OWN(id, name, aliases, letter, kind, values, fallback, commands, group, help)              \
  OWNED(name, aliases, letter, TL_OPTION_##kind, values, fallback, commands, TL_OPTIONS_##group,   \
        help)
#define PLAIN(id, name, aliases, kind, values, fallback, commands, group, member, help)            \
  OWNED(name, aliases, 0, TL_OPTION_##kind, values, #fallback, commands, TL_OPTIONS_##group, help)
#define CARRY(id, name, kind, values, fallback, key, group, help)                                  \
  {name,    "", values,           fallback,      key,                                              \
   help,    "", TL_OPTION_##kind, TL_FATE_CARRY, TL_OPTIONS_##group,                               \
   CONVERT, 0},
#define WARN(id, name, kind, values, fallback, help, fate)                                         \
  {name,    "",   values,           fallback,     "",                                              \
   help,    fate, TL_OPTION_##kind, TL_FATE_WARN, TL_OPTIONS_IGNORED,                              \
   CONVERT, 0},
#define LATER(id, name, kind, values, inert, key, group, help)                                     \
  {name,    "", values, "", key, help, inert, TL_OPTION_##kind, TL_FATE_LATER, TL_OPTIONS_##group, \
   CONVERT, 0},
#define NEVER(id, name, help, reason)                                                              \
  {name,    "", "VALUE", "", "", help, reason, TL_OPTION_TEXT, TL_FATE_NEVER, TL_OPTIONS_FOREIGN,  \
   CONVERT, 0},
#define RUNCFG(id, name, kind, values, fallback, consumer, key, help)                              \
  {name,     "", values,           fallback,        key,                                           \
   help,     "", TL_OPTION_##kind, FATE_##consumer, GROUP_##consumer,                              \
   TRAINING, 0},
#include "frontend/config/options.tbl"
};

static const char *const group_titles[TL_N_OPTION_GROUPS] = {
    [TL_OPTIONS_IO] = "Input and output",
    [TL_OPTIONS_MODEL] = "Model",
    [TL_OPTIONS_PASSES] = "Passes",
    [TL_OPTIONS_EVALUATION] = "Evaluation",
    [TL_OPTIONS_GENERAL] = "General",
    [TL_OPTIONS_DEVICE] = "Device compiler (checked, recorded in the model, not acted on here)",
    [TL_OPTIONS_IGNORED] = "Accepted with a warning, without effect",
    [TL_OPTIONS_PRECISION] = "Precision",
    [TL_OPTIONS_FUSION] = "Fusion",
    [TL_OPTIONS_FOREIGN] = "Refused: options of atc for device models or other tools",
    [TL_OPTIONS_TRAIN] = "Training graphs",
    [TL_OPTIONS_RUNTIME] = "Training graphs: for the runtime (checked, recorded in the model)",
    [TL_OPTIONS_HOST] = "Training graphs: for the host framework (checked, recorded, no effect)",
    [TL_OPTIONS_GONE] = "Training graphs: removed (a warning for any value but the default)",
};

const tl_option_row *tl_option_row_get(tl_option_id id) { return &rows[id]; }

/* Values of these options may contain commas and semicolons, so line feeds join them. */
bool tl_option_joins_lines(tl_option_id id) {
  static const tl_option_id joined[] = {
      TL_OPTION_ALLOW_CUSTOM_OPS, TL_OPTION_RULES,           TL_OPTION_RULE_LIST,
      TL_OPTION_TO_FLOAT,         TL_OPTION_OP_INFO,         TL_OPTION_OP_BLOCK_LIST,
      TL_OPTION_NODE_BLOCK_LIST,  TL_OPTION_OP_INCLUDE_LIST, TL_OPTION_NODE_INCLUDE_LIST,
      TL_OPTION_EXTRACT_FROM,     TL_OPTION_EXTRACT_TO};
  for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
    if (joined[i] == id)
      return true;
  return false;
}

bool tl_option_may_repeat(tl_option_id id) {
  return id == TL_OPTION_OUTPUT || id == TL_OPTION_INPUT || id == TL_OPTION_DIM ||
         id == TL_OPTION_FUSION || id == TL_OPTION_FREEZE || tl_option_joins_lines(id);
}

const char *tl_option_shared_key(tl_option_id id) {
  static const struct {
    int id;
    const char *key;
  } shared[] = {
#define SHARED(id, key) {TL_OPTION_##id, key},
#include "frontend/config/options.tbl"
  };
  for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
    if (shared[k].id == (int)id)
      return shared[k].key;
  return NULL;
}

bool tl_option_is_report(tl_option_id id) {
  static const int reports[] = {
#define REPORT(id) TL_OPTION_##id,
#include "frontend/config/options.tbl"
  };
  for (size_t k = 0; k < sizeof reports / sizeof *reports; k++)
    if (reports[k] == (int)id)
      return true;
  return false;
}

tl_option_id tl_option_common(unsigned command, unsigned i) {
  static const struct {
    uint32_t command;
    uint32_t id;
  } common[] = {
#define COMMON(command, id) {TL_COMMAND_##command, TL_OPTION_##id},
#include "frontend/config/options.tbl"
  };
  for (size_t k = 0; k < sizeof common / sizeof *common; k++) {
    if (common[k].command == command && i-- == 0)
      return (tl_option_id)common[k].id;
  }
  return TL_N_OPTION_ROWS;
}

const char *tl_option_group_title(tl_option_group group) { return group_titles[group]; }

/* Returns true if two spellings differ in dashes and underscores only. */
static bool same_spelling(tl_sv a, tl_sv b) {
  if (a.n != b.n)
    return false;
  for (size_t i = 0; i < a.n; i++) {
    char x = a.p[i] == '_' ? '-' : a.p[i];
    char y = b.p[i] == '_' ? '-' : b.p[i];
    if (x != y)
      return false;
  }
  return true;
}

/* Returns true if the row has this name, GE key or alias. */
static bool answers_to(const tl_option_row *row, tl_sv spelling) {
  if (same_spelling(tl_sv_from(row->name), spelling))
    return true;
  if (*row->key && same_spelling(tl_sv_from(row->key), spelling))
    return true;
  for (tl_sv rest = tl_sv_from(row->aliases); rest.p;) {
    tl_sv alias = tl_sv_split(&rest, ' ');
    if (alias.n && same_spelling(alias, spelling))
      return true;
  }
  return false;
}

tl_option_id tl_option_find(tl_sv spelling, unsigned command) {
  /* One name may have a row for each of several commands; a row of another command is the second
   * choice, so that the message can say that the option belongs elsewhere. */
  unsigned found = TL_N_OPTION_ROWS;
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    if (!answers_to(&rows[i], spelling))
      continue;
    if (rows[i].commands & command)
      return (tl_option_id)i;
    found = i;
  }
  return (tl_option_id)found;
}

tl_option_id tl_option_find_letter(char letter, unsigned command) {
  for (unsigned i = 0; letter && i < TL_N_OPTION_ROWS; i++) {
    if (rows[i].letter == letter && (rows[i].commands & command))
      return (tl_option_id)i;
  }
  return TL_N_OPTION_ROWS;
}

const char *tl_option_nearest(tl_sv spelling, unsigned command) {
  char plain[64];
  size_t n = spelling.n < sizeof plain ? spelling.n : sizeof plain;
  for (size_t i = 0; i < n; i++)
    plain[i] = spelling.p[i] == '_' ? '-' : spelling.p[i];
  const char *best = NULL;
  size_t best_distance = n / 4 + 2; /* beyond this it is another word, not a typo */
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    tl_sv name = tl_sv_from(rows[i].name);
    if (!(rows[i].commands & command))
      continue;
    size_t distance = tl_edit_distance((tl_sv){plain, n}, name, best_distance);
    /* A shortened name ("op-precision" for "op-precision-mode") is close whatever its length. */
    if (n >= 4 && name.n > n && memcmp(name.p, plain, n) == 0 && distance > 1)
      distance = 1;
    if (distance < best_distance) {
      best_distance = distance;
      best = rows[i].name;
    }
  }
  return best;
}

bool tl_choice_has(const char *choices, tl_sv value) {
  for (tl_sv rest = tl_sv_from(choices); rest.p;) {
    tl_sv choice = tl_sv_split(&rest, '|');
    if (choice.n && tl_sv_eq(choice, value))
      return true;
  }
  return false;
}
