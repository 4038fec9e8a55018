/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the options of contexts (include/tailor/context.h): the option table, but for what
 * only a command can do. */
#include "lib/handle.h"

#include <inttypes.h>
#include <stdio.h>

/* Options about input and output that mean something to a library; the other ones of that group
 * belong to the command, and so do general ones. */
static const tl_option_id of_files[] = {TL_OPTION_READ, TL_OPTION_FRAMEWORK,
                                        TL_OPTION_EXTERNAL_WEIGHT, TL_OPTION_ALLOW_UNMAPPED};

/* Options of other groups that functions take the place of. */
static const tl_option_id of_functions[] = {TL_OPTION_JOBS, TL_OPTION_MEMORY_LIMIT,
                                            TL_OPTION_MAX_TIME};

static bool has(const tl_option_id *list, size_t n, tl_option_id id) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == id)
      return true;
  return false;
}

/* Returns true if the library does what the option says. */
static bool means_something(tl_option_id id) {
  const tl_option_row *row = tl_option_row_get(id);
  if (!(row->commands & TL_COMMAND_CONVERT) && id != TL_OPTION_PASSES)
    return false;
  if (row->group == TL_OPTIONS_IO)
    return has(of_files, sizeof of_files / sizeof *of_files, id);
  return row->group != TL_OPTIONS_GENERAL && !tl_option_is_report(id) &&
         !has(of_functions, sizeof of_functions / sizeof *of_functions, id);
}

static bool is_listed(tl_option_id id) {
  uint8_t fate = tl_option_row_get(id)->fate;
  return (fate == TL_FATE_OWN || fate == TL_FATE_CARRY) && means_something(id);
}

uint32_t tl_option_count(void) {
  uint32_t n = 0;
  for (tl_option_id id = 0; id < TL_N_OPTION_ROWS; id++)
    n += is_listed(id);
  return n;
}

static tl_option_type type_of(const tl_option_row *row) {
  switch ((tl_option_kind)row->kind) {
  case TL_OPTION_FLAG: return TL_OPTION_TYPE_FLAG;
  case TL_OPTION_BIT:
  case TL_OPTION_BOOL: return TL_OPTION_TYPE_BOOL;
  case TL_OPTION_CHOICE: return TL_OPTION_TYPE_CHOICE;
  case TL_OPTION_INT: return TL_OPTION_TYPE_INTEGER;
  case TL_OPTION_REAL: return TL_OPTION_TYPE_NUMBER;
  case TL_OPTION_PATH: return TL_OPTION_TYPE_PATH;
  default: return TL_OPTION_TYPE_TEXT;
  }
}

int tl_option_describe(uint32_t i, tl_option_info *out) {
  for (tl_option_id id = 0; id < TL_N_OPTION_ROWS; id++) {
    if (!is_listed(id) || i-- > 0)
      continue;
    const tl_option_row *row = tl_option_row_get(id);
    *out = (tl_option_info){.name = row->name,
                            .type = type_of(row),
                            .values = row->values,
                            .initial = row->fallback,
                            .key = row->key,
                            .group = tl_option_group_title((tl_option_group)row->group),
                            .help = row->help,
                            .repeats = tl_option_may_repeat(id)};
    return 1;
  }
  return 0;
}

/* ---- giving options -------------------------------------------------------------------------- */

/* Finds an option; --passes, which is of another command, too. */
static tl_option_id find(const char *name) {
  tl_option_id id = tl_option_find(tl_sv_from(name), TL_COMMAND_CONVERT);
  return id != TL_N_OPTION_ROWS ? id : tl_option_find(tl_sv_from(name), TL_COMMAND_OPT);
}

/* Finds an option that the library takes; reports others. */
static tl_status take(tl_context *c, const char *name, tl_option_id *id) {
  *id = find(name);
  if (*id == TL_N_OPTION_ROWS) {
    const char *near = tl_option_nearest(tl_sv_from(name), TL_COMMAND_CONVERT);
    return tl_fail(&c->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "unknown option '%s'%s%s", name,
                   near ? "\vdid you mean " : "", near ? near : "");
  }
  const tl_option_row *row = tl_option_row_get(*id);
  bool known_fate = row->fate == TL_FATE_OWN || row->fate == TL_FATE_CARRY;
  if (known_fate && !means_something(*id) && *id != TL_OPTION_TRAIN_MODEL)
    return tl_fail(&c->diag, TL_INVALID_ARGUMENT, tl_at_option(&c->settings, *id),
                   "is an option of the command, which means nothing to the library\v"
                   "functions of the library do what it is for");
  return TL_OK;
}

int tl_context_set(tl_context *c, const char *name, const char *value) {
  tl_option_id id;
  int code;
  if (tl_lib_is_inside(c, "give options", &code))
    return code;
  uint32_t errors = tl_lib_begin(c);
  tl_status status = take(c, name, &id);
  if (status == TL_OK)
    status = tl_settings_set(&c->settings, &c->diag, id, value);
  c->unsettled = true;
  return tl_lib_end(c, status, errors);
}

int tl_context_unset(tl_context *c, const char *name) {
  tl_option_id id;
  int code;
  if (tl_lib_is_inside(c, "take options back", &code))
    return code;
  uint32_t errors = tl_lib_begin(c);
  tl_status status = take(c, name, &id);
  if (status == TL_OK)
    c->settings.value[id] = NULL;
  c->unsettled = true;
  return tl_lib_end(c, status, errors);
}

int tl_context_set_integer(tl_context *c, const char *name, int64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, value);
  return tl_context_set(c, name, text);
}

int tl_context_set_bool(tl_context *c, const char *name, int value) {
  tl_option_id id = find(name);
  const tl_option_row *row = id == TL_N_OPTION_ROWS ? NULL : tl_option_row_get(id);
  if (row && row->kind == TL_OPTION_FLAG)
    return value ? tl_context_set(c, name, "") : tl_context_unset(c, name);
  if (row && row->kind == TL_OPTION_BOOL)
    return tl_context_set(c, name, value ? "true" : "false");
  return tl_context_set(c, name, value ? "1" : "0");
}

const char *tl_context_get(const tl_context *c, const char *name) {
  tl_option_id id = find(name);
  return id == TL_N_OPTION_ROWS ? NULL : tl_settings_get(&c->settings, id);
}

/* A model is one module here; only the command makes the two variants of accelerate_train_mode. The
 * option train-model is refused, since the call that loads a model names it. */
tl_status tl_lib_settle(tl_context *c) {
  const tl_settings *s = &c->settings;
  if (!c->unsettled || c->inside)
    return TL_OK;
  tl_settings_for_toolkit(&c->settings);
  TL_TRY(tl_settings_resolve(&c->settings, &c->diag));
  if (s->accelerate.text)
    return tl_fail(&c->diag, TL_UNSUPPORTED,
                   tl_at_option(&c->settings, TL_OPTION_ACCELERATE_TRAIN_MODE),
                   "writes two models, which the library does not support\vuse 'tailor convert'");
  if (tl_settings_has(s, TL_OPTION_TRAIN_MODEL))
    return tl_fail_code(&c->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT",
                        tl_at_option(&c->settings, TL_OPTION_TRAIN_MODEL),
                        "names the input, which the call that loads a model does, too\vload the "
                        "training model, with the option optim-model set");
  c->session.optimizer =
      tl_settings_has(s, TL_OPTION_OPTIM_MODEL) ? tl_settings_get(s, TL_OPTION_OPTIM_MODEL) : NULL;
  c->unsettled = false;
  return tl_lib_add_rules(c);
}
