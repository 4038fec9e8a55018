/* SPDX-License-Identifier: Apache-2.0 */
/* Which fusion passes are on and in what order they run: what the user said (filled by
 * frontend/config), and the questions that whoever runs passes asks. The answers follow the device
 * compiler, so that one switch file means the same here and there. */
#ifndef TL_IR_OPTIONS_FUSION_CONFIG_H
#define TL_IR_OPTIONS_FUSION_CONFIG_H

#include "ir/options/fusion_names.h"
#include "support/diag.h"

typedef enum tl_switch { TL_SWITCH_UNSET, TL_SWITCH_OFF, TL_SWITCH_ON } tl_switch;

/* One thing said about one pass. */
typedef struct tl_fusion_entry {
  tl_sv pass;      /* canonical name */
  tl_sv written;   /* name that was written: the same or an alias */
  tl_location at;  /* for messages */
  uint32_t number; /* order of entries in their source */
  int value;       /* of a switch: 0 off, 1 on; of a priority: the priority */
} tl_fusion_entry;

/* Sorted by pass, which are unique. */
typedef struct tl_fusion_list {
  const tl_fusion_entry *at; /* borrowed */
  uint32_t n;
} tl_fusion_list;

/* All zero: nothing was said. */
typedef struct tl_fusion_config {
  tl_fusion_list direct;                         /* --fusion */
  tl_fusion_list option;                         /* --optimization-switch */
  tl_fusion_list file[TL_N_FUSION_SECTIONS];     /* Switch of the switch file, by kind */
  tl_fusion_list priority[TL_N_FUSION_SECTIONS]; /* Priority of the switch file, by kind */
  tl_fusion_list exceptional;                    /* its ExceptionalPassOfO1Level */
  tl_fusion_list scope_on;                       /* --enable-scope-fusion-passes */
  tl_fusion_list scope_off; /* --disable-scope-fusion-passes; a pass of both is off */
  tl_switch direct_all;     /* --fusion=ALL:... */
  tl_switch file_all[TL_N_FUSION_SECTIONS]; /* ALL of the switch file */
  const char *preset;                       /* --fusion-preset; NULL: none */
  const char *toolkit;                      /* preset of --toolkit; NULL: none */
  tl_switch forbidden_close;                /* atc always appends forbidden_close_pass:on */
  bool functional_only;                     /* below -O2, atc's oo_level O1: only what is needed */
  bool nothing;    /* -O0: no pass that rewrites by rules runs, whatever is switched on */
  bool both_kinds; /* the switch file was in the line format */
  bool strict;     /* a scope fusion of an unknown name is an error */
} tl_fusion_config;

/* Is the pass on? config may be NULL. *why, unless why is NULL, becomes what decided: a static
 * string. A pass that the name table lacks (a user's rule) may be switched off and is on by
 * default. O(log n). */
bool tl_fusion_is_on(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind,
                     const char **why);

/* Does an option ask for the pass by its name? config may be NULL. */
bool tl_fusion_is_named(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind);

/* Priorities: the smaller runs earlier. Bands of the device compiler. */
enum {
  TL_PRIORITY_USER = 0,        /* Top, Main, Down of a switch file: 1000 each */
  TL_PRIORITY_BUILT_IN = 3000, /* the same of the built-in configuration */
  TL_PRIORITY_CUSTOM_PASS = 6000,
  TL_PRIORITY_CUSTOM_RULE = 7000,
  TL_PRIORITY_PASS = 8000,
  TL_PRIORITY_RULE = 9000,
  TL_PRIORITY_DOWN = 10000, /* added to a Down: it runs behind every unconfigured pass */
  TL_PRIORITY_LEVEL = 1000, /* width of a level */
  TL_NO_PRIORITY = -1
};

/* A pass to be put in order. */
typedef struct tl_fusion_order {
  tl_sv pass;
  bool custom;       /* of the user's rules, not built in */
  bool rule;         /* a rule rather than code */
  int configured;    /* of the built-in configuration (3000..5999), or TL_NO_PRIORITY */
  int priority;      /* result: what it is sorted by; TL_NO_PRIORITY of custom ones put first */
  uint32_t position; /* result: its index before sorting */
  uint64_t prefix;   /* of the sort: the first bytes of the name, which mostly decide */
} tl_fusion_order;

/* What the switch file says of a pass, Down raised behind the others; else `configured` likewise;
 * else TL_NO_PRIORITY. */
int tl_fusion_priority(const tl_fusion_config *config, tl_sv pass, tl_fusion_kind kind,
                       int configured);
/* Fills priorities and sorts in the order of running; stable, so that equal priorities keep their
 * order. Custom passes come first, in the given order, unless the user gave one of them a priority.
 * Unconfigured ones are numbered within their band in byte order of their names. O(n log n). */
void tl_fusion_sort(const tl_fusion_config *config, tl_fusion_kind kind, tl_fusion_order *passes,
                    uint32_t n);

/* Asks whether rules beyond the table answer to a name. TL_NO_MEMORY when nobody can tell. Asked
 * for every unknown name of a file: it takes no more than constant time. */
typedef tl_status (*tl_fusion_known_fn)(void *user, tl_sv pass, tl_fusion_kind kind, bool *out);

/* Warns of entries that have no effect: unknown names (with the nearest known one), passes that
 * cannot be switched off, passes in the section of another kind. known may be NULL. */
tl_status tl_fusion_check(tl_diag *d, const tl_fusion_config *config, tl_fusion_known_fn known,
                          void *user) TL_NODISCARD;

/* Entry of a pass in a sorted list, NULL without one. */
const tl_fusion_entry *tl_fusion_entry_find(const tl_fusion_list *list, tl_sv pass);

#endif
