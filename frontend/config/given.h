/* SPDX-License-Identifier: Apache-2.0 */
/* The values of options as they were given, and the typed options made of them. How they are set,
 * checked and resolved: settings.h. */
#ifndef TL_FRONTEND_CONFIG_GIVEN_H
#define TL_FRONTEND_CONFIG_GIVEN_H

#include "frontend/config/options.h"
#include "ir/module.h"
#include "ir/options/accelerate.h"
#include "ir/options/options.h"
#include "support/arena.h"
#include "support/diag.h"

/* Values of options as given, and the typed options that are made from them. */
typedef struct tl_settings {
  tl_arena arena;                       /* owned; holds everything the members point to */
  const char *value[TL_N_OPTION_ROWS];  /* NULL: not given; "" for a flag that was given */
  tl_location origin[TL_N_OPTION_ROWS]; /* of values that are not of the command line; else zero */
  const char *file_value[TL_N_OPTION_ROWS]; /* of a run configuration, see run_config.h */
  tl_location file_at[TL_N_OPTION_ROWS];    /* where each of them stands */
  uint8_t file_sections;                    /* bits of tl_run_section that were read */
  bool has_run_config;                      /* one was read */
  bool has_model;                           /* a model was asked for one */
  tl_options options;                       /* valid after tl_settings_resolve */
  tl_fusion_config fusion;                  /* the same; options point to it */
  tl_precision_config precision;            /* the same */
  tl_impl_config impl_modes;                /* the same */
  tl_train_config train;                    /* the same */
  tl_accelerate accelerate;           /* its text is NULL when the mode is off. Otherwise precision
                                          is that of the low variant */
  tl_precision_config precision_high; /* that of the high variant */
  tl_fusion_known_fn known;           /* names of passes beyond the table; may be NULL */
  void *known_user;
} tl_settings;

/* Returns true if the option was given. */
static inline bool tl_settings_has(const tl_settings *s, tl_option_id id) {
  return s->value[id] != NULL;
}
/* Returns the given value, else the table's default, else "". */
const char *tl_settings_get(const tl_settings *s, tl_option_id id);
/* Returns the location for diagnostics about an option: "--name", or its place in a run
 * configuration. */
tl_location tl_at_option(tl_settings *s, tl_option_id id);

#endif
