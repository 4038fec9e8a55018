/* SPDX-License-Identifier: Apache-2.0 */
/* Checks option values against each other, reads the files they name and makes typed options. */
#include "frontend/config/settings.h"

#include "frontend/config/accelerate.h"
#include "frontend/config/fusion_switch.h"
#include "frontend/config/impl_modes.h"
#include "frontend/config/precision.h"
#include "frontend/config/run_config.h"
#include "frontend/config/values.h"

/* Refuses pairs of options that exclude each other, with the codes of atc. */
static tl_status check_exclusive(tl_settings *s, tl_diag *d) {
  static const struct {
    tl_option_id a;
    tl_option_id b;
    const char *code;
  } pairs[] = {
      {TL_OPTION_DYNAMIC_BATCH_SIZE, TL_OPTION_DYNAMIC_IMAGE_SIZE, "E10009"},
      {TL_OPTION_DYNAMIC_BATCH_SIZE, TL_OPTION_DYNAMIC_DIMS, "E10009"},
      {TL_OPTION_DYNAMIC_IMAGE_SIZE, TL_OPTION_DYNAMIC_DIMS, "E10009"},
      {TL_OPTION_DYNAMIC_BATCH_SIZE, TL_OPTION_INPUT_SHAPE_RANGE, "E10009"},
      {TL_OPTION_DYNAMIC_IMAGE_SIZE, TL_OPTION_INPUT_SHAPE_RANGE, "E10009"},
      {TL_OPTION_DYNAMIC_DIMS, TL_OPTION_INPUT_SHAPE_RANGE, "E10009"},
      {TL_OPTION_INPUT_SHAPE, TL_OPTION_INPUT_SHAPE_RANGE, "E10047"},
      {TL_OPTION_INPUT_HINT_SHAPE, TL_OPTION_DYNAMIC_BATCH_SIZE, "E10047"},
      {TL_OPTION_INPUT_HINT_SHAPE, TL_OPTION_DYNAMIC_IMAGE_SIZE, "E10047"},
      {TL_OPTION_INPUT_HINT_SHAPE, TL_OPTION_DYNAMIC_DIMS, "E10047"},
      {TL_OPTION_INSERT_OP_CONF, TL_OPTION_DYNAMIC_DIMS, "E10047"},
      {TL_OPTION_PRECISION_MODE, TL_OPTION_PRECISION_MODE_V2, "E10056"},
      {TL_OPTION_AMP_LEVEL, TL_OPTION_PRECISION_MODE, "E10056"},
      {TL_OPTION_AMP_LEVEL, TL_OPTION_PRECISION_MODE_V2, "E10056"},
      {TL_OPTION_OO_LEVEL, TL_OPTION_LEVEL, "E10047"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (s->value[pairs[i].a] && s->value[pairs[i].b])
      return tl_fail_code(d, TL_INVALID_ARGUMENT, pairs[i].code, tl_at_option(s, pairs[i].a),
                          "cannot be combined with --%s", tl_option_row_get(pairs[i].b)->name);
  }
  return TL_OK;
}

/* Refuses inputs other than ONNX and AIR, and modes of atc other than converting a model. */
static tl_status check_task(tl_settings *s, tl_diag *d) {
  const char *framework = tl_settings_get(s, TL_OPTION_FRAMEWORK);
  if (strcmp(framework, "5") != 0 && strcmp(framework, "1") != 0)
    return tl_fail_code(d, TL_UNSUPPORTED, "E10007", tl_at_option(s, TL_OPTION_FRAMEWORK),
                        "framework %s is not supported; this version reads ONNX (5) and AIR (1)\v"
                        "export the model to ONNX first",
                        framework);
  if (strcmp(tl_settings_get(s, TL_OPTION_MODE), "0") != 0)
    return tl_fail_code(d, TL_UNSUPPORTED, "E10055", tl_at_option(s, TL_OPTION_MODE),
                        "mode %s works on device models; only 0, converting a model, is supported",
                        tl_settings_get(s, TL_OPTION_MODE));
  return TL_OK;
}

/* Reads the input shapes from the newer or the older option, of which only one may be given. */
static tl_status resolve_shapes(tl_settings *s, tl_diag *d, bool *ranged) {
  tl_option_id id = s->value[TL_OPTION_INPUT_SHAPE] ? TL_OPTION_INPUT_SHAPE
                                                    : TL_OPTION_INPUT_SHAPE_RANGE;
  *ranged = false;
  if (!s->value[id])
    return TL_OK;
  return tl_read_input_shapes(d, &s->arena, tl_at_option(s, id), tl_sv_from(s->value[id]),
                              &s->options, ranged);
}

/* Reads the profiles of dynamic shapes; the input shapes must have been read. */
static tl_status resolve_profiles(tl_settings *s, tl_diag *d, bool ranged) {
  static const tl_option_id ids[] = {[TL_DYNAMIC_BATCH] = TL_OPTION_DYNAMIC_BATCH_SIZE,
                                     [TL_DYNAMIC_IMAGE] = TL_OPTION_DYNAMIC_IMAGE_SIZE,
                                     [TL_DYNAMIC_DIMS] = TL_OPTION_DYNAMIC_DIMS};
  s->options.profiles = NULL;
  s->options.n_profiles = 0;
  for (unsigned kind = 0; kind < sizeof ids / sizeof *ids; kind++) {
    const char *value = s->value[ids[kind]];
    if (value)
      TL_TRY(tl_read_profiles(d, &s->arena, tl_at_option(s, ids[kind]), (tl_dynamic_kind)kind,
                              tl_sv_from(value), &s->options));
  }
  if (s->value[TL_OPTION_DYNAMIC_DIMS] && strcmp(s->options.input_format, "ND") != 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10003", tl_at_option(s, TL_OPTION_DYNAMIC_DIMS),
                        "needs --input-format=ND, the format is %s", s->options.input_format);
  if (ranged && s->options.n_profiles == 0)
    return tl_read_corners(d, &s->arena, &s->options);
  return TL_OK;
}

/* GE's key of an option that this compiler acts on and the device compiler has to know as well. A
 * shape is in the model, unless it has bounds or profiles, which have no place in a type. */
static const char *shared_key(unsigned id, bool open) {
  const char *key = tl_option_shared_key((tl_option_id)id);
  bool shape = id == TL_OPTION_INPUT_SHAPE || id == TL_OPTION_INPUT_SHAPE_RANGE;
  return !key || !*key || (shape && !open) ? NULL : key;
}

TL_VEC(carried_vec, tl_carried_option);

/* Options to record, on the heap until their number is known. `failed`: memory is out. */
typedef struct collector {
  tl_arena *arena;
  carried_vec list;
  bool failed;
} collector;

static void add_carried(void *user, const char *key, tl_sv value) {
  collector *c = user;
  tl_carried_option o = {{tl_arena_copy(c->arena, key, strlen(key)), strlen(key)},
                         {tl_arena_copy(c->arena, value.n ? value.p : "", value.n), value.n}};
  c->failed |= !o.key.p || !o.value.p || !carried_vec_push(&c->list, o);
}

/* Collects the given options of the device compiler, and those of shared_key. Options of the run
 * configuration are collected by tl_carry_run_config. */
static void collect_options(tl_settings *s, collector *c, bool open) {
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const tl_option_row *row = tl_option_row_get((tl_option_id)i);
    const char *key = row->fate == TL_FATE_CARRY ? row->key : shared_key(i, open);
    if (!s->value[i] || !key || row->group >= TL_OPTIONS_TRAIN)
      continue;
    const char *value = s->value[i];
    if (i == TL_OPTION_OO_LEVEL) /* the device compiler knows two of them */
      value = s->fusion.functional_only ? "O1" : "O3";
    if (i == TL_OPTION_JIT_COMPILE) /* words are those of run configurations */
      value = value[0] == 'a' ? "2" : value[0] == 't' ? "1" : value[0] == 'f' ? "0" : value;
    add_carried(c, key, tl_sv_from(value));
  }
}

/* Collects what the device compiler and the runtime are to find in the model, in the order of the
 * tables. */
static tl_status collect_carried(tl_settings *s, tl_diag *d, bool ranged) {
  collector c = {.arena = &s->arena};
  collect_options(s, &c, ranged || s->options.n_profiles);
  tl_status status = tl_carry_run_config(s, d, add_carried, &c);
  tl_carried_option *carried = tl_arena_calloc(&s->arena, c.list.n, sizeof *carried);
  if (status == TL_OK && (c.failed || !carried))
    status = tl_fail_memory(d, TL_NOWHERE);
  if (status == TL_OK && c.list.n)
    memcpy(carried, c.list.at, c.list.n * sizeof *carried);
  s->options.carried = carried;
  s->options.n_carried = status == TL_OK ? c.list.n : 0;
  carried_vec_release(&c.list);
  return status;
}

/* Words of --target; those that are allowed are in its row of options.tbl. */
static const char *const target_names[TL_N_TARGETS] = {[TL_TARGET_NPU] = "npu",
                                                       [TL_TARGET_ONNX] = "onnx",
                                                       [TL_TARGET_ORT] = "onnxruntime",
                                                       [TL_TARGET_NONE] = "none"};

/* Reads files of rules and the target. "list" is the value of --rules without a file, in the
 * command that lists rules; files may follow it. */
static tl_status resolve_rules(tl_settings *s, tl_diag *d) {
  const char *paths = s->value[TL_OPTION_RULES];
  const char *list = s->value[TL_OPTION_RULE_LIST];
  const char *numerics = tl_settings_get(s, TL_OPTION_NUMERICS);
  s->options.numerics = numerics[0] == 'e'   ? TL_NUMERICS_EXACT
                        : numerics[0] == 'r' ? TL_NUMERICS_REASSOCIATING
                                             : TL_NUMERICS_APPROXIMATE;
  const char *target = tl_settings_get(s, TL_OPTION_TARGET);
  for (tl_target t = 0; t < TL_N_TARGETS; t++)
    if (strcmp(target, target_names[t]) == 0)
      s->options.target = t;
  if (list && strcmp(list, "list") != 0)
    paths = strncmp(list, "list\n", 5) == 0 ? list + 5 : list;
  return paths ? tl_read_rule_files(d, &s->arena, tl_sv_from(paths), &s->options) : TL_OK;
}

/* Reads all sources of fusion switches and checks their names. */
static tl_status resolve_fusion(tl_settings *s, tl_diag *d) {
  tl_fusion_config *c = &s->fusion;
  const char *file = s->value[TL_OPTION_FUSION_SWITCH_FILE];
  const char *option = s->value[TL_OPTION_OPTIMIZATION_SWITCH];
  const char *direct = s->value[TL_OPTION_FUSION];
  const char *list = s->value[TL_OPTION_FUSION_LIST];
  if (list && strcmp(list, "list") != 0)
    direct = list;
  char level = tl_settings_get(s, TL_OPTION_LEVEL)[0];
  const char *toolkit = s->value[TL_OPTION_TOOLKIT];
  *c = (tl_fusion_config){
      .forbidden_close = TL_SWITCH_ON, /* atc appends it to every --optimization-switch */
      .preset = s->value[TL_OPTION_FUSION_PRESET],
      .toolkit = toolkit && strcmp(toolkit, "2022") == 0 ? "toolkit_2022" : NULL,
      .functional_only = level < '2',
      .nothing = level == '0'};
  if (file)
    TL_TRY(
        tl_read_fusion_file(d, &s->arena, tl_at_option(s, TL_OPTION_FUSION_SWITCH_FILE), file, c));
  if (option)
    TL_TRY(tl_read_optimization_switch(d, &s->arena, tl_at_option(s, TL_OPTION_OPTIMIZATION_SWITCH),
                                       tl_sv_from(option), c));
  if (direct)
    TL_TRY(tl_read_fusion_option(d, &s->arena, tl_at_option(s, TL_OPTION_FUSION),
                                 tl_sv_from(direct), c));
  c->strict = tl_settings_get(s, TL_OPTION_STRICT)[0] == '1';
  TL_TRY(tl_read_fusion_names(d, &s->arena, tl_at_option(s, TL_OPTION_ENABLE_SCOPE_FUSION_PASSES),
                              s->value[TL_OPTION_ENABLE_SCOPE_FUSION_PASSES], &c->scope_on));
  TL_TRY(tl_read_fusion_names(d, &s->arena, tl_at_option(s, TL_OPTION_DISABLE_SCOPE_FUSION_PASSES),
                              s->value[TL_OPTION_DISABLE_SCOPE_FUSION_PASSES], &c->scope_off));
  s->options.fusion = c;
  return tl_fusion_check(d, c, s->known, s->known_user);
}

/* Reads implementation modes. op_precision_mode overrules the two older options. */
static tl_status resolve_impl_modes(tl_settings *s, tl_diag *d) {
  tl_impl_config *c = &s->impl_modes;
  const char *file = s->value[TL_OPTION_OP_PRECISION_MODE];
  const char *mode = s->value[TL_OPTION_OP_SELECT_IMPLMODE];
  const char *types = s->value[TL_OPTION_OPTYPELIST_FOR_IMPLMODE];
  const char *hf32 = s->value[TL_OPTION_ALLOW_HF32];
  tl_location where = tl_at_option(s, TL_OPTION_OPTYPELIST_FOR_IMPLMODE);
  *c = (tl_impl_config){.hf32 = !hf32 ? TL_HF32_UNSAID : hf32[0] == 't' ? TL_HF32_ON : TL_HF32_OFF};
  s->options.impl_modes = c;
  if (types && !mode)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "needs --op-select-implmode, which sets the mode of these op types");
  if (file && mode)
    tl_warn(d, tl_at_option(s, TL_OPTION_OP_SELECT_IMPLMODE),
            "has no effect beside --op-precision-mode");
  if (file)
    return tl_read_impl_modes(d, &s->arena, tl_at_option(s, TL_OPTION_OP_PRECISION_MODE), file, c);
  if (types && strstr(mode, "_for_all"))
    tl_warn(d, where, "has no effect with --op-select-implmode=%s", mode);
  else if (types)
    return tl_read_impl_types(d, &s->arena, where, tl_sv_from(types), tl_sv_from(mode), c);
  return TL_OK;
}

/* Takes the values of a run configuration that the command line does not give. Shared keys of the
 * host or of the past are other things than the option of the same name. */
static tl_status take_file_values(tl_settings *s, tl_diag *d) {
  uint32_t n;
  const tl_run_key *keys = tl_run_keys(&n);
  tl_status first = TL_OK;
  for (uint32_t i = 0; i < n; i++) {
    tl_option_id id = (tl_option_id)keys[i].option;
    bool another = keys[i].shared &&
                   (keys[i].consumer == TL_CONSUMER_GONE || keys[i].consumer == TL_CONSUMER_HOST);
    if (!s->file_value[id] || s->value[id] || another)
      continue;
    s->origin[id] = s->file_at[id];
    tl_status status = TL_OK;
    if (keys[i].shared)
      status = tl_settings_set(s, d, id, s->file_value[id]);
    else
      s->value[id] = s->file_value[id];
    if (first == TL_OK)
      first = status;
  }
  return first;
}

/* Reads the file of --run-config once, although settings may be resolved twice. */
static tl_status read_run_config(tl_settings *s, tl_diag *d) {
  const char *path = s->value[TL_OPTION_RUN_CONFIG];
  tl_status status = TL_OK;
  if (path && !s->has_run_config)
    status = tl_read_run_config(s, d, tl_at_option(s, TL_OPTION_RUN_CONFIG), path);
  tl_status taken = take_file_values(s, d);
  return status != TL_OK ? status : taken;
}

static tl_status resolve_run_config(tl_settings *s, tl_diag *d) {
  tl_status together = tl_check_run_config(s, d);
  tl_status alone = tl_resolve_run_config(s, d);
  return together != TL_OK ? together : alone;
}

/* Refuses a report about fusions when statistics are switched off. */
static tl_status check_result(tl_settings *s, tl_diag *d) {
  const char *stat = s->value[TL_OPTION_EXPORT_COMPILE_STAT];
  if (stat && stat[0] == '0' && s->value[TL_OPTION_FUSION_RESULT])
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10047",
                        tl_at_option(s, TL_OPTION_EXPORT_COMPILE_STAT),
                        "0 cannot be combined with --fusion-result");
  return TL_OK;
}

/* Returns the place of weights by the first character of 0|1|2|false|true. */
static tl_external_weight external_weight(char c) {
  return c == '2'               ? TL_WEIGHTS_COMBINED
         : c == '1' || c == 't' ? TL_WEIGHTS_SEPARATE
                                : TL_WEIGHTS_INSIDE;
}

/* ---- options that passes read as they are (ir/options/plain.tbl), by kind -------------------- */

static bool plain_FLAG(const tl_settings *s, tl_option_id id) { return tl_settings_has(s, id); }

static bool plain_BOOL(const tl_settings *s, tl_option_id id) {
  return strcmp(tl_settings_get(s, id), "false") != 0;
}

/* The value was checked when it was set, and a default is a number. */
static int64_t plain_INT(const tl_settings *s, tl_option_id id) {
  int64_t number = 0;
  (void)tl_parse_i64(tl_sv_from(tl_settings_get(s, id)), &number);
  return number;
}

static void read_plain(const tl_settings *s, tl_options *o) {
#define PLAIN(id, name, aliases, kind, values, fallback, commands, group, member, help)            \
  o->member = plain_##kind(s, TL_OPTION_##id);
#include "ir/options/plain.tbl"
}

/* Reads the description of preprocessing: --insert-op-conf for the device, --aipp for verify, which
 * may leave the file to the other, or to the AIR file. A file that a run configuration names is on
 * the host of the training, so it is recorded only. */
static tl_status resolve_aipp(tl_settings *s, tl_diag *d) {
  const char *own = s->value[TL_OPTION_AIPP];
  bool named = own && strcmp(own, "-") != 0;
  tl_option_id id = named ? TL_OPTION_AIPP : TL_OPTION_INSERT_OP_CONF;
  bool hosts = s->value[id] && s->file_value[id] && strcmp(s->value[id], s->file_value[id]) == 0;
  if (named && s->value[TL_OPTION_INSERT_OP_CONF])
    return tl_fail(d, TL_INVALID_ARGUMENT, tl_at_option(s, TL_OPTION_INSERT_OP_CONF),
                   "--aipp=FILE names a description as well\vgive one of them");
  if (!s->value[id] || hosts)
    return TL_OK;
  return tl_read_aipp(d, &s->arena, tl_at_option(s, id), s->value[id], &s->options);
}

static tl_status read_size(tl_settings *s, tl_diag *d, tl_option_id id, uint64_t *bytes) {
  const char *text = tl_settings_get(s, id);
  if (tl_parse_size(tl_sv_from(text), bytes) && *bytes)
    return TL_OK;
  return tl_fail(d, TL_INVALID_ARGUMENT, tl_at_option(s, id),
                 "'%s' is not a size\vwrite a number of bytes, or for example 512M or 32G", text);
}

/* How much memory the device has: as the option says, else as the table of chips does. */
static tl_status resolve_device_memory(tl_settings *s, tl_diag *d) {
  const char *chip = s->options.soc_version;
  s->options.device_memory = tl_soc_memory(tl_sv_from(chip ? chip : "Ascend910B1"));
  return s->value[TL_OPTION_DEVICE_MEMORY]
             ? read_size(s, d, TL_OPTION_DEVICE_MEMORY, &s->options.device_memory)
             : TL_OK;
}

tl_status tl_settings_resolve(tl_settings *s, tl_diag *d) {
  /* The order matters: the chip comes before op information and precision, shapes before profiles,
   * and the run configuration before precision. */
  tl_options *o = &s->options;
  bool ranged;
  TL_TRY(read_size(s, d, TL_OPTION_MAX_TENSOR, &o->max_tensor));
  TL_TRY(read_run_config(s, d));
  TL_TRY(check_task(s, d));
  TL_TRY(check_exclusive(s, d));
  TL_TRY(check_result(s, d));
  TL_TRY(resolve_rules(s, d));
  TL_TRY(resolve_fusion(s, d));
  TL_TRY(resolve_impl_modes(s, d));
  o->input_format = tl_settings_get(s, TL_OPTION_INPUT_FORMAT);
  o->external_weight = external_weight(tl_settings_get(s, TL_OPTION_EXTERNAL_WEIGHT)[0]);
  read_plain(s, o);
  o->tell_unmapped = o->allow_unmapped;
  o->memory_order = strcmp(tl_settings_get(s, TL_OPTION_ORDER), "memory") == 0;
  o->deterministic = tl_settings_get(s, TL_OPTION_DETERMINISTIC)[0] == '1';
  if (s->value[TL_OPTION_SOC_VERSION])
    TL_TRY(tl_read_soc(d, &s->arena, tl_at_option(s, TL_OPTION_SOC_VERSION),
                       s->value[TL_OPTION_SOC_VERSION], o));
  if (s->value[TL_OPTION_OP_INFO])
    TL_TRY(tl_read_op_info(d, &s->arena, tl_at_option(s, TL_OPTION_OP_INFO),
                           tl_sv_from(s->value[TL_OPTION_OP_INFO]), o));
  TL_TRY(resolve_device_memory(s, d));
  TL_TRY(resolve_shapes(s, d, &ranged));
  TL_TRY(resolve_aipp(s, d));
  if (s->value[TL_OPTION_ALLOW_CUSTOM_OPS])
    TL_TRY(tl_read_custom_ops(d, &s->arena, tl_at_option(s, TL_OPTION_ALLOW_CUSTOM_OPS),
                              tl_sv_from(s->value[TL_OPTION_ALLOW_CUSTOM_OPS]), o));
  if (s->value[TL_OPTION_FREEZE])
    TL_TRY(tl_read_frozen(d, &s->arena, tl_at_option(s, TL_OPTION_FREEZE),
                          tl_sv_from(s->value[TL_OPTION_FREEZE]), o));
  if (s->value[TL_OPTION_OUT_NODES])
    TL_TRY(tl_read_out_nodes(d, &s->arena, tl_at_option(s, TL_OPTION_OUT_NODES),
                             tl_sv_from(s->value[TL_OPTION_OUT_NODES]), o));
  if (s->value[TL_OPTION_OP_NAME_MAP])
    TL_TRY(tl_read_name_map(d, &s->arena, s->value[TL_OPTION_OP_NAME_MAP], o));
  TL_TRY(resolve_profiles(s, d, ranged));
  TL_TRY(resolve_run_config(s, d));
  const char *listed = s->value[TL_OPTION_DYNAMIC_INPUTS_SHAPE_RANGE];
  if (listed && !s->value[TL_OPTION_DYNAMIC_DIMS])
    TL_TRY(tl_read_shape_lists(d, &s->arena, tl_at_option(s, TL_OPTION_DYNAMIC_INPUTS_SHAPE_RANGE),
                               tl_sv_from(listed), o));
  if (s->train.mix_compile_mode) /* what has no NPU form is the host's */
    o->allow_unmapped = true;
  TL_TRY(tl_resolve_accelerate(s, d));
  TL_TRY(tl_resolve_precision(s, d));
  return collect_carried(s, d, ranged);
}

/* ---- what a model brings along --------------------------------------------------------------- */

static const char model_label[] = "metadata tailor.run_config";

/* Passes on messages of the second resolution. Warnings that are not about the model's own part
 * were given when the command line was resolved; errors are passed on in any case. */
static void tell_new(void *user, const tl_diagnostic *found) {
  tl_diag *outer = user;
  bool mine = found->where.file && strcmp(found->where.file, model_label) == 0;
  if (!mine && found->severity != TL_ERROR)
    return;
  outer->errors += found->severity == TL_ERROR;
  outer->warnings += found->severity == TL_WARNING;
  if (outer->fn)
    outer->fn(outer->user, found);
}

/* Returns the model's run configuration, or a view without bytes. */
static tl_sv metadata_of(const tl_module *m) {
  const tl_extra *e = &m->extras.at[m->extra];
  for (uint32_t i = 0; i < e->n_metadata; i++)
    if (tl_sv_is(tl_sym(m, e->metadata[i].key), "tailor.run_config"))
      return tl_sym(m, e->metadata[i].value);
  return (tl_sv){NULL, 0};
}

/* Reads the model's run configuration and resolves all options again from the start. */
static tl_status resolve_with(tl_settings *s, tl_diag *d, tl_sv text) {
  TL_TRY(tl_read_run_config_text(s, d, model_label, text));
  if (s->file_at[TL_OPTION_ACCELERATE_TRAIN_MODE].file == model_label)
    return tl_fail(d, TL_UNSUPPORTED, s->file_at[TL_OPTION_ACCELERATE_TRAIN_MODE],
                   "accelerate_train_mode writes two models, so metadata of a model cannot set "
                   "it\vgive it on the command line");
  s->options = tl_options_default();
  return tl_settings_resolve(s, d);
}

tl_status tl_settings_take_model(tl_settings *s, tl_diag *d, const tl_module *m) {
  tl_sv text = metadata_of(m);
  tl_diag fresh = {.fn = tell_new, .user = d, .lacks = d->lacks};
  if (!text.p || s->has_model)
    return tl_check_run_ranks(s, d);
  s->has_model = true;
  tl_status status = resolve_with(s, &fresh, text);
  d->no_memory = d->no_memory || fresh.no_memory;
  return status == TL_OK ? tl_check_run_ranks(s, d) : status;
}
