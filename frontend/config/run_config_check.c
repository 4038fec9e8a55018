/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the keys of a run configuration against each other and reports every contradiction. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontend/config/debug_config.h"
#include "frontend/config/run_config.h"
#include "frontend/config/run_config_read.h"

/* A check reports what is wrong and returns the number of errors. */
typedef unsigned (*check_fn)(tl_settings *s, tl_diag *d);

/* Reports one contradiction; returns 1 for the sum. */
static unsigned conflict(tl_settings *s, tl_diag *d, tl_option_id id, const char *what) {
  (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", tl_at_option(s, id), "%s", what);
  return 1;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Checks the number of steps in one run: it must divide the total, and more than one step needs
 * constant shapes and no return to the host in between. */
static unsigned check_loop(tl_settings *s, tl_diag *d) {
  unsigned errors = 0;
  int64_t loop = tl_run_int(s, TL_OPTION_ITERATIONS_PER_LOOP);
  int64_t total = tl_run_int(s, TL_OPTION_TOTAL_STEP);
  tl_location where = tl_at_option(s, TL_OPTION_ITERATIONS_PER_LOOP);
  if (total && total % loop) {
    (void)tl_fail_code(
        d, TL_INVALID_ARGUMENT, "E-LOOP-DIV", where,
        "the number of all steps, %lld, is not a multiple of the %lld steps of a run",
        (long long)total, (long long)loop);
    errors++;
  }
  if (loop > 1 && tl_run_true(s, TL_OPTION_MIX_COMPILE_MODE))
    errors += conflict(s, d, TL_OPTION_ITERATIONS_PER_LOOP,
                       "must be 1 with mix_compile_mode, because each step returns to the host");
  if (loop > 1 && tl_run_true(s, TL_OPTION_DYNAMIC_INPUT))
    errors += conflict(s, d, TL_OPTION_ITERATIONS_PER_LOOP,
                       "must be 1 with dynamic_input, because shapes change from step to step");
  return errors;
}

static unsigned check_placement(tl_settings *s, tl_diag *d) {
  bool host = tl_settings_get(s, TL_OPTION_VARIABLE_PLACEMENT)[0] == 'H';
  if (host && !tl_run_true(s, TL_OPTION_MIX_COMPILE_MODE))
    return conflict(s, d, TL_OPTION_VARIABLE_PLACEMENT,
                    "Host needs mix_compile_mode=true, which runs nodes on the host");
  return 0;
}

/* Dynamic inputs: options that need dynamic_input, and shapes that --dynamic-dims overrules. */
static unsigned check_dynamic(tl_settings *s, tl_diag *d) {
  static const tl_option_id needs[] = {TL_OPTION_DYNAMIC_GRAPH_EXECUTE_MODE,
                                       TL_OPTION_DYNAMIC_INPUTS_SHAPE_RANGE};
  unsigned errors = 0;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (s->value[needs[i]] && !tl_run_true(s, TL_OPTION_DYNAMIC_INPUT))
      errors += conflict(s, d, needs[i], "has no effect without dynamic_input=true");
  if (s->value[TL_OPTION_DYNAMIC_INPUTS_SHAPE_RANGE] && s->value[TL_OPTION_DYNAMIC_DIMS])
    tl_warn(d, tl_at_option(s, TL_OPTION_DYNAMIC_INPUTS_SHAPE_RANGE),
            "has no effect beside --dynamic-dims");
  return errors;
}

/* ---- dump, debug, profiling, tuning ---------------------------------------------------------- */

/* Returns true for steps joined by '|', each N or A-B with A not above B. */
static bool steps_are_good(tl_sv text) {
  for (tl_sv rest = text; rest.p;) {
    tl_sv range = tl_sv_trim(tl_sv_split(&rest, '|'));
    tl_sv high = range;
    uint64_t a;
    uint64_t b;
    tl_sv low = tl_sv_split(&high, '-');
    if (!tl_parse_u64(low, &a) || (high.p && (!tl_parse_u64(high, &b) || b < a)))
      return false;
  }
  return true;
}

/* Checks dumps of tensors: one kind at a time, into a folder that is given. */
static unsigned check_dump(tl_settings *s, tl_diag *d) {
  tl_option_id id = TL_OPTION_DUMP_CONFIG;
  unsigned errors = 0;
  tl_run_object o;
  if (!tl_run_object_open(s, id, &o))
    return 0;
  bool dump = tl_run_member_true(&o, "enable-dump");
  bool debug = tl_run_member_true(&o, "enable-dump-debug");
  if (dump && debug)
    errors += conflict(s, d, id, "enable_dump and enable_dump_debug exclude each other");
  if ((dump || debug) && !tl_run_member_text(&o, "dump-path"))
    errors += conflict(s, d, id, "enable_dump and enable_dump_debug need dump_path");
  const char *steps = tl_run_member_text(&o, "dump-step");
  if (steps && !steps_are_good(tl_sv_from(steps))) {
    (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", tl_at_option(s, id),
                       "'%s' is not a list of steps\vwrite for example 0|5|10-20", steps);
    errors++;
  }
  tl_run_object_close(&o);
  return errors;
}

/* Checks profiling_config: enable_profiling and profiling_mode are two names of one switch. */
static unsigned check_profiling(tl_settings *s, tl_diag *d) {
  tl_option_id id = TL_OPTION_PROFILING_CONFIG;
  unsigned errors = 0;
  tl_run_object o;
  if (!tl_run_object_open(s, id, &o))
    return 0;
  if (tl_run_member_true(&o, "enable-profiling") &&
      !tl_run_member_find_json(&o, "profiling-options"))
    errors = conflict(s, d, id, "enable_profiling needs profiling_options");
  if (tl_run_member_text(&o, "enable-profiling") && tl_run_member_text(&o, "profiling-mode"))
    errors += conflict(s, d, id, "enable_profiling and profiling_mode are the same: give one");
  tl_run_object_close(&o);
  return errors;
}

/* Tuning. aoe_mode works in the current folder by default; the older mstune_mode has no default. */
static unsigned check_tuning(tl_settings *s, tl_diag *d) {
  unsigned errors = 0;
  if (s->value[TL_OPTION_MSTUNE_MODE] && !s->value[TL_OPTION_WORK_PATH])
    errors += conflict(s, d, TL_OPTION_MSTUNE_MODE, "needs work_path");
  const char *mode = s->value[TL_OPTION_AOE_MODE];
  const char *strategy = tl_settings_get(s, TL_OPTION_BUCKET_STRATEGY);
  bool modelled = strcmp(tl_settings_get(s, TL_OPTION_HW_PRESET), "none") != 0;
  if (mode && mode[0] == '4' && (!modelled || strcmp(strategy, "auto") != 0))
    errors += conflict(s, d, TL_OPTION_AOE_MODE,
                       "4, the split of gradients, needs hw_preset, from which the split is "
                       "computed, and bucket_strategy=auto");
  return errors;
}

/* Checks that a folder which a key names exists, and can be read and written. */
static unsigned check_folder(tl_settings *s, tl_diag *d, tl_option_id id) {
  const char *path = s->value[id];
  struct stat st;
  if (!path || (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, R_OK | W_OK) == 0))
    return 0;
  (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", tl_at_option(s, id),
                     "'%s' is not a folder that can be read and written", path);
  return 1;
}

/* Checks folders. The cache folder may not exist yet; only its characters are checked. */
static unsigned check_folders(tl_settings *s, tl_diag *d) {
  unsigned errors = check_folder(s, d, TL_OPTION_WORK_PATH);
  const char *cache = s->value[TL_OPTION_OP_COMPILER_CACHE_DIR];
  if (tl_run_config_used(s))
    errors += check_folder(s, d, TL_OPTION_DEBUG_DIR);
  for (const char *c = cache ? cache : ""; *c; c++) {
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                 strchr("_-./", *c);
    if (plain || !tl_run_config_used(s))
      continue;
    (void)tl_fail_code(
        d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", tl_at_option(s, TL_OPTION_OP_COMPILER_CACHE_DIR),
        "'%s' has characters other than letters, digits, '_', '-', '.' and '/'", cache);
    return errors + 1;
  }
  return errors;
}

/* Checks op_debug_config: words that exclude each other, and levels that exclude words. */
static unsigned check_debug(tl_settings *s, tl_diag *d) {
  tl_option_id id = TL_OPTION_OP_DEBUG_CONFIG;
  const char *path = s->value[id];
  const char *level = s->value[TL_OPTION_OP_DEBUG_LEVEL];
  const char *cache = s->value[TL_OPTION_OP_COMPILER_CACHE_MODE];
  tl_debug_config c = {0};
  unsigned errors = 0;
  if (!tl_run_config_used(s)) /* the device compiler checks it */
    return 0;
  tl_status status = TL_OK;
  if (path && tl_is_debug_words(tl_sv_from(path)))
    status = tl_read_debug_words(d, tl_at_option(s, id), tl_sv_from(path), &c);
  else if (path)
    status = tl_read_debug_config(d, tl_at_option(s, id), path, &c);
  if (status != TL_OK)
    return 1;
  if (c.oom && c.o0)
    errors += conflict(s, d, id, "oom and ccec_O0 exclude each other");
  if (c.oom && level && level[0] == '2')
    errors += conflict(s, d, TL_OPTION_OP_DEBUG_LEVEL,
                       "2 and oom of op_debug_config exclude each "
                       "other");
  if (path && cache && cache[0] != 'd')
    tl_warn(d, tl_at_option(s, TL_OPTION_OP_COMPILER_CACHE_MODE),
            "has no effect beside op_debug_config, which switches the kernel cache off");
  return errors;
}

/* ---- host framework -------------------------------------------------------------------------- */

/* Keys of the host framework. They have no effect here, but a contradiction would stop the host. */
static unsigned check_host(tl_settings *s, tl_diag *d) {
  unsigned errors = 0;
  bool rank = s->value[TL_OPTION_LOCAL_RANK_ID] &&
              strcmp(s->value[TL_OPTION_LOCAL_RANK_ID], "-1") != 0;
  bool list = s->value[TL_OPTION_LOCAL_DEVICE_LIST] != NULL;
  const char *steps = s->value[TL_OPTION_SAVE_CHECKPOINTS_STEPS];
  const char *secs = s->value[TL_OPTION_SAVE_CHECKPOINTS_SECS];
  if (rank && !list)
    errors += conflict(s, d, TL_OPTION_LOCAL_RANK_ID, "needs local_device_list");
  if (list && !rank)
    errors += conflict(s, d, TL_OPTION_LOCAL_DEVICE_LIST, "needs local_rank_id");
  for (tl_sv rest = tl_sv_from(list ? s->value[TL_OPTION_LOCAL_DEVICE_LIST] : NULL); rest.p;) {
    uint64_t device;
    tl_sv item = tl_sv_split(&rest, ',');
    if (tl_parse_u64(item, &device))
      continue;
    (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-TYPE",
                       tl_at_option(s, TL_OPTION_LOCAL_DEVICE_LIST),
                       "'%.*s' is not a device number", TL_SV_ARG(tl_sv_shown(item)));
    errors++;
  }
  if (steps && secs)
    errors += conflict(s, d, TL_OPTION_SAVE_CHECKPOINTS_STEPS,
                       "cannot be combined with save_checkpoints_secs");
  return errors;
}

/* Parameter servers: a strategy and a cluster need each other, and both need mix_compile_mode. */
static unsigned check_distribute(tl_settings *s, tl_diag *d) {
  tl_option_id id = TL_OPTION_DISTRIBUTE;
  unsigned errors = 0;
  tl_run_object o;
  if (!s->value[id])
    return 0;
  bool cluster = false;
  bool strategy = s->value[id][0] != '{';
  if (!strategy && tl_run_object_open(s, id, &o)) {
    strategy = tl_run_member_find_json(&o, "strategy");
    cluster = tl_run_member_find_json(&o, "cluster");
    tl_run_object_close(&o);
  }
  if (strategy != cluster)
    errors += conflict(s, d, id,
                       cluster ? "a cluster needs a strategy: {\"strategy\": "
                                 "\"ParameterServerStrategy\", \"cluster\": {...}}"
                               : "a strategy needs a cluster: {\"strategy\": "
                                 "\"ParameterServerStrategy\", \"cluster\": {...}}");
  else if (cluster && !tl_run_true(s, TL_OPTION_MIX_COMPILE_MODE))
    errors += conflict(s, d, id, "needs mix_compile_mode=true");
  return errors;
}

/* ---- time limits ----------------------------------------------------------------------------- */

/* Compares time limits. hccl_timeout is in seconds (0: no limit), stream_sync_timeout in
 * milliseconds (-1: no limit). The stream must wait longer, or it fails before a slow collective
 * does. Chips without bfloat16 are those that count in units. */
static unsigned check_timeouts(tl_settings *s, tl_diag *d) {
  tl_option_id stream = TL_OPTION_STREAM_SYNC_TIMEOUT;
  int64_t limit = tl_run_hccl_timeout(s);
  int64_t given = tl_run_int(s, TL_OPTION_HCCL_TIMEOUT);
  int64_t wait = tl_run_int(s, stream);
  unsigned errors = 0;
  if (!tl_options_chip(&s->options)->bf16 && given > TL_HCCL_MOST) {
    (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE",
                       tl_at_option(s, TL_OPTION_HCCL_TIMEOUT),
                       "%lld seconds exceed %d, the maximum on %s", (long long)given, TL_HCCL_MOST,
                       tl_options_chip(&s->options)->name);
    errors++;
  }
  if (s->value[TL_OPTION_HCCL_TIMEOUT] && limit != given && !errors)
    tl_note(d, tl_at_option(s, TL_OPTION_HCCL_TIMEOUT),
            "%lld seconds become %lld: this chip counts in units of %d", (long long)given,
            (long long)limit, TL_HCCL_UNIT);
  bool distributed = tl_run_true(s, TL_OPTION_IS_DISTRIBUTED);
  if (!distributed || wait == -1 || (limit != 0 && wait > limit * 1000))
    return errors;
  (void)tl_fail_code(
      d, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", tl_at_option(s, stream),
      "%lld milliseconds do not exceed hccl_timeout, %s\vgive more, or -1 for no limit",
      (long long)wait, limit ? "which is in seconds" : "which is no limit");
  return errors + 1;
}

/* ---- removed keys ---------------------------------------------------------------------------- */

/* Reports removed keys with a value other than their default: a warning, or an error with
 * --strict. */
static unsigned check_removed(tl_settings *s, tl_diag *d) {
  uint32_t n;
  unsigned errors = 0;
  const tl_run_key *keys = tl_run_keys(&n);
  bool strict = tl_settings_get(s, TL_OPTION_STRICT)[0] == '1';
  for (uint32_t i = 0; i < n; i++) {
    tl_option_id id = (tl_option_id)keys[i].option;
    const char *value = keys[i].shared ? s->file_value[id] : s->value[id];
    if (keys[i].consumer != TL_CONSUMER_GONE || !value || strcmp(value, keys[i].fallback) == 0)
      continue;
    tl_location where = keys[i].shared ? s->file_at[id] : tl_at_option(s, id);
    char name[TL_RUN_NAME_BYTES];
    if (keys[i].shared)
      where.attr = tl_sv_from(tl_run_spelled(keys[i].type.name, name));
    if (!strict) {
      tl_warn_code(d, "W-OPT-UNSUPPORTED", where, "is ignored: %s", keys[i].help);
      continue;
    }
    (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-UNSUPPORTED", where, "%s", keys[i].help);
    errors++;
  }
  if (s->file_value[TL_OPTION_AUTO_TUNE_MODE])
    tl_note(d, s->file_at[TL_OPTION_AUTO_TUNE_MODE],
            "auto_tune_mode is recorded and has no effect; use aoe_mode");
  return errors;
}

/* Warns about dtypes that have no effect; there is no error here. */
static unsigned check_dtypes(tl_settings *s, tl_diag *d) {
  const char *v1 = s->value[TL_OPTION_PRECISION_MODE];
  const char *v2 = s->value[TL_OPTION_PRECISION_MODE_V2];
  bool keeps = (v1 && strcmp(v1, "must_keep_origin_dtype") == 0) ||
               (v2 && strcmp(v2, "origin") == 0);
  if (tl_run_config_used(s) && s->value[TL_OPTION_CUSTOMIZE_DTYPES] && keeps)
    tl_warn(d, tl_at_option(s, TL_OPTION_CUSTOMIZE_DTYPES),
            "has no effect on the device, because the graph keeps its own dtypes");
  return 0;
}

/* ---- training -------------------------------------------------------------------------------- */

static const char *shown(bool value) { return value ? "true" : "false"; }

/* Requires the same value of is_tailing_optimization in both sections that have one. A section that
 * was read and leaves the key out says false. A value of the command line goes before both
 * sections. */
static unsigned check_tailing(tl_settings *s, tl_diag *d) {
  tl_option_id run = TL_OPTION_IS_TAILING_OPTIMIZATION;
  tl_option_id opt = TL_OPTION_OPTIMIZER_IS_TAILING_OPTIMIZATION;
  bool has_run = s->value[run] || (s->file_sections & 1u << TL_RUN_RUN);
  bool has_opt = s->value[opt] || (s->file_sections & 1u << TL_RUN_OPTIMIZER);
  bool by_hand = s->value[run] && !s->origin[run].file; /* the command line goes before both */
  if (!has_run || !has_opt || (by_hand && !s->value[opt]) || (by_hand && s->origin[opt].file))
    return 0;
  if (tl_run_true(s, run) == tl_run_true(s, opt))
    return 0;
  (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-TAIL-MISMATCH",
                     tl_at_option(s, s->value[opt] ? opt : run),
                     "is %s in NPUOptimizer and %s in NPURunConfig\v"
                     "write the same in both",
                     shown(tl_run_true(s, opt)), shown(tl_run_true(s, run)));
  return 1;
}

static unsigned check_group(tl_settings *s, tl_diag *d) {
  const char *group = tl_settings_get(s, TL_OPTION_GROUP);
  if (strlen(group) < 128)
    return 0;
  (void)tl_fail_code(d, TL_INVALID_ARGUMENT, "E-OPT-RANGE", tl_at_option(s, TL_OPTION_GROUP),
                     "the name has %zu bytes, more than 127", strlen(group));
  return 1;
}

tl_status tl_check_run_config(tl_settings *s, tl_diag *d) {
  static const check_fn checks[] = {
      check_removed,    check_loop,     check_placement, check_dynamic, check_dump,
      check_profiling,  check_tuning,   check_folders,   check_debug,   check_host,
      check_distribute, check_timeouts, check_dtypes,    check_tailing, check_group};
  unsigned errors = 0;
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    errors += checks[i](s, d);
  return errors ? TL_INVALID_ARGUMENT : TL_OK;
}

/* Gradients are divided by the number of ranks, so a distributed training step needs it. */
tl_status tl_check_run_ranks(tl_settings *s, tl_diag *d) {
  tl_option_id id = TL_OPTION_IS_DISTRIBUTED;
  bool train = tl_run_int(s, TL_OPTION_GRAPH_RUN_MODE) == 1;
  if (!train || !tl_run_true(s, id) || s->value[TL_OPTION_RANK_SIZE])
    return TL_OK;
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-AR-RANKS", tl_at_option(s, id),
                      "the number of ranks is not given\v"
                      "give --rank-size=N, or in a run configuration {\"tailor\": {\"rank_size\": "
                      "N}}; 0 if it is known at run time only");
}
