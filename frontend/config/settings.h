/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the values of options, checks them, and makes the typed options that passes and backends
 * read. Each value is checked when it is set, and all are checked together in tl_settings_resolve.
 */
#ifndef TL_FRONTEND_CONFIG_SETTINGS_H
#define TL_FRONTEND_CONFIG_SETTINGS_H

#include "frontend/config/given.h"

/* Makes empty settings; release them in any case. */
void tl_settings_init(tl_settings *s);
/* Releases all memory of the settings, the options included. */
void tl_settings_release(tl_settings *s);

/* Checks one value against its row and keeps a copy. Blanks and carriage returns at its end, which
 * come from scripts, are dropped. value: "" for flags. A repeated option keeps the last value, with
 * a warning; values of --fusion add up. An empty --fusion-switch-file counts as not given.
 * TL_INVALID_ARGUMENT for a bad value; TL_UNSUPPORTED for an option of a later version or another
 * tool. */
tl_status tl_settings_set(tl_settings *s, tl_diag *d, tl_option_id id,
                          const char *value) TL_NODISCARD;

/* Makes the default of --toolkit count, for what writes or explains AIR files. Call it before the
 * settings are resolved. */
void tl_settings_for_toolkit(tl_settings *s);

/* Checks the given values together, reads the files that they name, and fills s->options. All
 * errors are reported. */
tl_status tl_settings_resolve(tl_settings *s, tl_diag *d) TL_NODISCARD;

/* Takes the run configuration of a model, the JSON of its metadata "tailor.run_config": keys that
 * neither the command line nor --run-config gives count from now on. The settings must have been
 * resolved and are resolved again. Does nothing for a second model. */
tl_status tl_settings_take_model(tl_settings *s, tl_diag *d, const tl_module *m) TL_NODISCARD;

#endif
