/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the values of options, each checked against its row of the table. */
#include "frontend/config/settings.h"

#include "frontend/config/run_config.h"

void tl_settings_init(tl_settings *s) {
  memset(s, 0, sizeof *s);
  tl_arena_init(&s->arena, 0);
  s->options = tl_options_default();
}

void tl_settings_for_toolkit(tl_settings *s) {
  s->value[TL_OPTION_TOOLKIT] = tl_settings_get(s, TL_OPTION_TOOLKIT);
}

void tl_settings_release(tl_settings *s) { tl_arena_release(&s->arena); }

/* range: "low..high", both included. */
static bool is_in_range(const char *range, tl_sv value) {
  int64_t low;
  int64_t high;
  int64_t v;
  const char *dots = strstr(range, "..");
  return dots && tl_parse_i64((tl_sv){range, (size_t)(dots - range)}, &low) &&
         tl_parse_i64(tl_sv_from(dots + 2), &high) && tl_parse_i64(value, &v) && v >= low &&
         v <= high;
}

/* Checks a value against the kind of its row. The codes are those of atc. */
static tl_status check_value(tl_settings *s, tl_diag *d, tl_option_id id, tl_sv value) {
  const tl_option_row *row = tl_option_row_get(id);
  tl_location where = tl_at_option(s, id);
  if (row->kind == TL_OPTION_FLAG || row->fate == TL_FATE_NEVER) /* check_fate says why */
    return TL_OK;
  if (value.n == 0 && id == TL_OPTION_PASSES) /* an empty pipeline is a pipeline */
    return TL_OK;
  if (value.n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10054", where,
                        "the value is empty\vwrite --%s=VALUE without blanks around '=', and quote "
                        "values that contain ';' or blanks",
                        row->name);
  if (row->group >= TL_OPTIONS_TRAIN && id != TL_OPTION_RUN_CONFIG) /* run_config_value.c */
    return TL_OK;
  const char *choices = row->kind == TL_OPTION_BIT    ? "0|1"
                        : row->kind == TL_OPTION_BOOL ? "true|false"
                                                      : row->values;
  const char *code = row->kind == TL_OPTION_BIT    ? "E10006"
                     : row->kind == TL_OPTION_BOOL ? "E10005"
                     : id == TL_OPTION_LOG         ? "E10010"
                     : id == TL_OPTION_FRAMEWORK   ? "E10007"
                                                   : "E10001";
  if (row->kind == TL_OPTION_INT && !is_in_range(row->values, value))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, code, where, "'%.*s' is not an integer in %s",
                        TL_SV_ARG(value), row->values);
  bool is_choice = row->kind == TL_OPTION_BIT || row->kind == TL_OPTION_BOOL ||
                   row->kind == TL_OPTION_CHOICE || id == TL_OPTION_TIME_PASSES ||
                   id == TL_OPTION_STATS;
  if (is_choice && !tl_choice_has(choices, value))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, code, where, "'%.*s' is not one of %s",
                        TL_SV_ARG(value), choices);
  return TL_OK;
}

/* Refuses or warns about an option that this compiler does not act on. */
static tl_status check_fate(tl_settings *s, tl_diag *d, tl_option_id id, tl_sv value) {
  const tl_option_row *row = tl_option_row_get(id);
  tl_location where = tl_at_option(s, id);
  if (id == TL_OPTION_AUTO_TUNE_MODE && value.n == 0) /* atc takes it for absent */
    return TL_OK;
  if (row->fate == TL_FATE_NEVER)
    return tl_fail_code(d, TL_UNSUPPORTED, "E10055", where, "not supported here: %s", row->note);
  if (row->fate == TL_FATE_LATER && !tl_choice_has(row->note, value))
    return tl_fail(d, TL_UNSUPPORTED, where,
                   "not in this version (%s)\vleave it out here and give it to the atc call that "
                   "reads the .air file",
                   row->help);
  if (row->fate == TL_FATE_WARN && !tl_sv_is(value, row->fallback))
    tl_warn(d, where, "has no effect here: %s", row->note);
  return TL_OK;
}

/* Returns the new value of an option, with earlier values in front if they add up; NULL if memory
 * is out. */
static const char *join(tl_settings *s, tl_option_id id, tl_sv text) {
  const char *before = s->value[id];
  bool lines = tl_option_joins_lines(id);
  bool listed = id == TL_OPTION_FUSION || id == TL_OPTION_FREEZE;
  if ((!listed && !lines) || !before)
    return tl_arena_copy(&s->arena, text.n ? text.p : "", text.n);
  size_t n = strlen(before);
  char *joined = tl_arena_alloc(&s->arena, n + text.n + 2);
  if (!joined)
    return NULL;
  memcpy(joined, before, n);
  joined[n] = lines ? '\n' : ';';
  memcpy(joined + n + 1, text.p, text.n);
  joined[n + 1 + text.n] = '\0';
  return joined;
}

/* Checks a key of a run configuration and returns a copy of its normal form; NULL: *status says why
 * not. */
static const char *run_value(tl_settings *s, tl_diag *d, const tl_run_key *key, tl_sv text,
                             tl_status *status) {
  tl_buf normal;
  tl_buf_init(&normal);
  const char *copy = NULL;
  *status = check_value(s, d, (tl_option_id)key->option, text);
  if (*status == TL_OK)
    *status =
        tl_run_option_value(d, tl_at_option(s, (tl_option_id)key->option), key, text, &normal);
  if (*status == TL_OK)
    copy = tl_arena_copy(&s->arena, normal.n ? normal.p : "", normal.n);
  if (*status == TL_OK && (!copy || normal.failed))
    *status = tl_fail_memory(d, TL_NOWHERE);
  tl_buf_release(&normal);
  return copy;
}

tl_status tl_settings_set(tl_settings *s, tl_diag *d, tl_option_id id, const char *value) {
  tl_sv text = tl_sv_trim(tl_sv_from(value));
  const tl_run_key *key = tl_run_key_of(id);
  bool may_be_empty = id == TL_OPTION_FUSION_SWITCH_FILE || id == TL_OPTION_PRECISION_MODE ||
                      id == TL_OPTION_PRECISION_MODE_V2 || id == TL_OPTION_ACCELERATE_TRAIN_MODE ||
                      id == TL_OPTION_INPUT_SHAPE || id == TL_OPTION_INPUT_SHAPE_RANGE;
  if (may_be_empty && text.n == 0) /* as good as not given */
    return TL_OK;
  const char *copy;
  if (key && !key->shared) {
    tl_status status;
    copy = run_value(s, d, key, text, &status);
    TL_TRY(status);
  } else {
    TL_TRY(check_value(s, d, id, text));
    TL_TRY(check_fate(s, d, id, text));
    copy = join(s, id, text);
  }
  if (!copy)
    return tl_fail_memory(d, tl_at_option(s, id));
  bool is_flag = tl_option_row_get(id)->kind == TL_OPTION_FLAG;
  if (s->value[id] && !is_flag && !tl_option_may_repeat(id))
    tl_warn(d, tl_at_option(s, id), "given twice; '%s' counts, '%s' does not", copy, s->value[id]);
  s->value[id] = copy;
  return TL_OK;
}
