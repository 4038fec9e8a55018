/* SPDX-License-Identifier: Apache-2.0 */
/* Run configuration: the table of its keys, the reader of its files, and checks across keys.
 * docs/training.md describes the form of a file.
 *
 * A key may come from the command line, from the file of --run-config, or from the model's
 * metadata; the first of them that has it counts. Values are kept as text in normal form:
 * true|false, 0|1, plain bytes, lists with commas, objects as JSON. */
#ifndef TL_FRONTEND_CONFIG_RUN_CONFIG_H
#define TL_FRONTEND_CONFIG_RUN_CONFIG_H

#include "frontend/config/given.h"
#include "frontend/config/json.h"

/* Sections of a file; TL_RUN_OWN is "tailor". */
typedef enum tl_run_section {
  TL_RUN_RUN,        /* NPURunConfig */
  TL_RUN_EXPERIMENT, /* ExperimentalConfig */
  TL_RUN_OPTIMIZER,  /* NPUOptimizer */
  TL_RUN_OWN,
  TL_N_RUN_SECTIONS
} tl_run_section;

/* Who acts on a key: the compiler, the runtime (an attribute of the model), both, the host
 * framework, or nobody because the key was removed. */
typedef enum tl_run_consumer {
  TL_CONSUMER_COMPILE,
  TL_CONSUMER_ATTR,
  TL_CONSUMER_BOTH,
  TL_CONSUMER_HOST,
  TL_CONSUMER_GONE
} tl_run_consumer;

/* What a value may be. */
typedef struct tl_run_type {
  const char *name;   /* with dashes */
  const char *values; /* of CHOICE and INT as in options.tbl, else a placeholder */
  uint8_t kind;       /* tl_option_kind */
} tl_run_type;

/* One key of a run configuration. */
typedef struct tl_run_key {
  tl_run_type type;
  const char *fallback; /* default, "" when there is none */
  const char *key;      /* GE's, "" when there is none */
  const char *help;
  uint16_t option;  /* tl_option_id */
  uint8_t section;  /* tl_run_section */
  uint8_t consumer; /* tl_run_consumer */
  bool shared;      /* SAME: the option is one of options.tbl */
} tl_run_key;

/* One member of a key whose value is an object. */
typedef struct tl_run_member {
  tl_run_type type;
  const char *key; /* GE's, "" when there is none */
  const char *help;
  uint16_t option; /* of the key that holds the object */
} tl_run_member;

/* Returns the table of keys, and its length in *n. */
const tl_run_key *tl_run_keys(uint32_t *n);
/* Returns the table of members of objects, and its length in *n. */
const tl_run_member *tl_run_members(uint32_t *n);
/* Returns the key of an option, NULL if the option is no key. */
const tl_run_key *tl_run_key_of(tl_option_id id);
/* Returns a member of a key's object by name, NULL if there is none. */
const tl_run_member *tl_run_member_find(tl_option_id id, tl_sv name);
/* Spells a name of the table as files do, with underscores; returns out. */
enum { TL_RUN_NAME_BYTES = 64 };
const char *tl_run_spelled(const char *name, char out[TL_RUN_NAME_BYTES]);
/* Returns the name of a section as files spell it. */
const char *tl_run_section_name(tl_run_section section);
/* Finds a key by name; dashes and underscores are equal. A key of `section` wins over others. NULL
 * if there is none. */
const tl_run_key *tl_run_key_find(tl_sv name, tl_run_section section);
/* Returns the name that is nearest to a misspelled one, with dashes; NULL if none is near. */
const char *tl_run_key_nearest(tl_sv name);

/* Checks a value in text form and adds its normal form to *out. E-OPT-TYPE, E-OPT-RANGE. Objects
 * are taken as they are. */
tl_status tl_run_value(tl_diag *d, tl_location where, const tl_run_type *type, tl_sv text,
                       tl_buf *out) TL_NODISCARD;
/* Checks a value of a JSON file likewise. */
tl_status tl_run_json_value(tl_diag *d, tl_location where, const tl_run_type *type,
                            const cJSON *item, tl_buf *out) TL_NODISCARD;

/* Checks a value of the command line likewise; an object is parsed and its members are checked. */
tl_status tl_run_option_value(tl_diag *d, tl_location where, const tl_run_key *key, tl_sv text,
                              tl_buf *out) TL_NODISCARD;

/* Read a file of --run-config, or a text of that form, into the settings. A key that has a value
 * keeps it. All problems are reported. E-OPT-FILE, E-OPT-UNKNOWN, E-OPT-TYPE, E-OPT-RANGE. */
tl_status tl_read_run_config(tl_settings *s, tl_diag *d, tl_location where,
                             const char *path) TL_NODISCARD;
tl_status tl_read_run_config_text(tl_settings *s, tl_diag *d, const char *path,
                                  tl_sv text) TL_NODISCARD;

/* Checks values against each other and reports every contradiction (E-OPT-CONFLICT and codes of
 * single keys); warns about removed keys (W-OPT-UNSUPPORTED). The chip must be known. */
tl_status tl_check_run_config(tl_settings *s, tl_diag *d) TL_NODISCARD;

/* Checks that a distributed run has a number of ranks (E-AR-RANKS). To be called when all sources,
 * the model's own configuration included, are read. */
tl_status tl_check_run_ranks(tl_settings *s, tl_diag *d) TL_NODISCARD;

/* Fills s->train from the checked values; the options point to it if the configuration is in use.
 */
tl_status tl_resolve_run_config(tl_settings *s, tl_diag *d) TL_NODISCARD;

/* Returns true if the run configuration is in use: one was read, or a key of a pass was given. */
bool tl_run_config_used(const tl_settings *s);

/* Calls `add` for each key of the run configuration that the model records. */
typedef void (*tl_carry_fn)(void *user, const char *key, tl_sv value);
tl_status tl_carry_run_config(tl_settings *s, tl_diag *d, tl_carry_fn add, void *user) TL_NODISCARD;

#endif
