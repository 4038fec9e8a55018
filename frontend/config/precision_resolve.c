/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves options of precision: which mode is in force, and which options exclude each other. */
#include <stdlib.h>

#include "frontend/config/accelerate.h"
#include "frontend/config/precision.h"
#include "frontend/config/run_config.h"

/* Names of the mixed modes, for messages, in the vocabulary of one of the two options. */
static const char *mixed_names(bool v2) {
  return v2 ? "mixed_float16, mixed_bfloat16, mixed_hif8"
            : "allow_mix_precision, allow_mix_precision_fp16, allow_mix_precision_bf16";
}

static tl_sv amp_level(const tl_settings *s) { return tl_sv_from(s->value[TL_OPTION_AMP_LEVEL]); }

/* Takes mode and name from --amp-level, which is a mode and colours of its own. */
static tl_status find_amp_mode(tl_settings *s, tl_diag *d) {
  tl_location where = tl_at_option(s, TL_OPTION_AMP_LEVEL);
  bool bfloat = strcmp(tl_settings_get(s, TL_OPTION_AMP_DTYPE), "bfloat16") == 0;
  bool lists_count = false;
  (void)tl_amp_level_mode(amp_level(s), bfloat, &s->precision.mode, &lists_count);
  s->precision.mode_name = s->value[TL_OPTION_AMP_LEVEL];
  if (s->value[TL_OPTION_MODIFY_MIXLIST] && !lists_count)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", tl_at_option(s, TL_OPTION_MODIFY_MIXLIST),
                        "lists have an effect in levels O1, O2 and auto only, not in %s",
                        s->precision.mode_name);
  if (s->value[TL_OPTION_ATC_COMPAT])
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10056", where,
                        "cannot be combined with --atc-compat, which selects force_fp16");
  return TL_OK;
}

/* Returns the mode of a run configuration that names none: the chip's mode for training, atc's for
 * inference. NULL without a run configuration. */
static const char *run_default(const tl_settings *s) {
  const char *training = tl_options_chip(&s->options)->training;
  if (!s->options.train)
    return NULL;
  if (!s->options.train->train)
    return s->has_run_config ? "force_fp16" : NULL;
  return *training ? training : NULL;
}

/* Finds the mode and *by, the option that gives it. precision_mode and precision_mode_v2 together
 * were refused before. */
static tl_status find_mode(tl_settings *s, tl_diag *d, tl_option_id *by) {
  tl_precision_config *c = &s->precision;
  *by = s->value[TL_OPTION_PRECISION_MODE] ? TL_OPTION_PRECISION_MODE : TL_OPTION_PRECISION_MODE_V2;
  c->mode_name = s->value[*by];
  if (s->value[TL_OPTION_AMP_LEVEL]) {
    *by = TL_OPTION_AMP_LEVEL;
    return find_amp_mode(s, d);
  }
  if (s->value[TL_OPTION_AMP_DTYPE])
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", tl_at_option(s, TL_OPTION_AMP_DTYPE),
                        "sets the low dtype of --amp-level, which is not given");
  if (!c->mode_name && s->value[TL_OPTION_ATC_COMPAT]) {
    *by = TL_OPTION_ATC_COMPAT;
    c->mode_name = "force_fp16";
    c->mode = TL_PRECISION_FORCE_FP16;
    return TL_OK;
  }
  if (!c->mode_name)
    c->mode_name = run_default(s);
  bool v2 = *by == TL_OPTION_PRECISION_MODE_V2 && s->value[*by];
  if (c->mode_name && !tl_precision_mode_find(tl_sv_from(c->mode_name), v2, &c->mode))
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", tl_at_option(s, *by),
                        "'%s' is not one of %s", c->mode_name, tl_option_row_get(*by)->values);
  return TL_OK;
}

/* Refuses a mode whose low dtype the chip does not have. */
static tl_status check_chip(tl_settings *s, tl_diag *d, tl_option_id by) {
  const tl_soc *chip = tl_options_chip(&s->options);
  tl_dtype low = tl_precision_mode_get(s->precision.mode)->low;
  if (low == TL_DTYPE_BF16 && !chip->bf16)
    return tl_fail_code(d, TL_UNSUPPORTED, "E20101", tl_at_option(s, by),
                        "%s needs bfloat16, which %s does not have\vf16 modes do, and "
                        "Ascend910B and later chips have bfloat16",
                        s->precision.mode_name, chip->name);
  if (low == TL_DTYPE_HIF8 && !chip->hif8)
    return tl_fail_code(d, TL_UNSUPPORTED, "E20101", tl_at_option(s, by),
                        "%s needs hifloat8, which %s does not have\vAscend950 has it",
                        s->precision.mode_name, chip->name);
  return TL_OK;
}

/* Refuses a mix list in a mode without lists. find_amp_mode checks the levels. */
static tl_status check_mixlist(tl_settings *s, tl_diag *d, tl_option_id by) {
  tl_location where = tl_at_option(s, TL_OPTION_MODIFY_MIXLIST);
  bool v2 = by == TL_OPTION_PRECISION_MODE_V2;
  if (!s->value[TL_OPTION_MODIFY_MIXLIST] || by == TL_OPTION_AMP_LEVEL ||
      tl_precision_mode_get(s->precision.mode)->mixed)
    return TL_OK;
  if (!s->precision.mode_name)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "lists have an effect in mixed modes only, and no mode is given\v"
                        "add --precision-mode-v2=mixed_float16, or another of %s",
                        mixed_names(true));
  const char *option = tl_option_row_get(v2 ? by : TL_OPTION_PRECISION_MODE)->name;
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                      "lists have an effect in mixed modes only, not in %s\v--%s may be %s",
                      s->precision.mode_name, option, mixed_names(v2));
}

/* Reads the files of lists. */
static tl_status read_files(tl_settings *s, tl_diag *d) {
  tl_precision_config *c = &s->precision;
  const char *mix = s->value[TL_OPTION_MODIFY_MIXLIST];
  const char *keep = s->value[TL_OPTION_KEEP_DTYPE];
  const char *custom = s->value[TL_OPTION_CUSTOMIZE_DTYPES];
  if (mix)
    TL_TRY(tl_read_mixlist(d, &s->arena, tl_at_option(s, TL_OPTION_MODIFY_MIXLIST), mix, c));
  if (keep)
    TL_TRY(tl_read_keep_dtype(d, &s->arena, tl_at_option(s, TL_OPTION_KEEP_DTYPE), keep, c));
  if (custom)
    TL_TRY(tl_read_custom_dtypes(d, &s->arena, tl_at_option(s, TL_OPTION_CUSTOMIZE_DTYPES), custom,
                                 c));
  return TL_OK;
}

/* Reads the options that hold lists. */
static tl_status read_texts(tl_settings *s, tl_diag *d) {
  tl_precision_config *c = &s->precision;
  const char *outputs = s->value[TL_OPTION_OUTPUT_TYPE];
  const char *inputs = s->value[TL_OPTION_INPUT_FP16_NODES];
  const char *nodes = s->value[TL_OPTION_TO_FLOAT];
  if (outputs)
    TL_TRY(tl_read_output_type(d, &s->arena, tl_at_option(s, TL_OPTION_OUTPUT_TYPE),
                               tl_sv_from(outputs), &s->options, c));
  if (inputs)
    TL_TRY(tl_read_fp16_inputs(d, &s->arena, tl_at_option(s, TL_OPTION_INPUT_FP16_NODES),
                               tl_sv_from(inputs), c));
  if (nodes)
    TL_TRY(
        tl_read_to_float(d, &s->arena, tl_at_option(s, TL_OPTION_TO_FLOAT), tl_sv_from(nodes), c));
  return TL_OK;
}

/* Reads lists of what to lower and what to keep. They are refused in a mode that lowers nothing.
 * Includes are read before blocks, and nodes before types. */
static tl_status read_lists(tl_settings *s, tl_diag *d) {
  static const struct {
    tl_option_id id;
    bool is_type;
    bool include;
  } lists[] = {{TL_OPTION_NODE_INCLUDE_LIST, false, true},
               {TL_OPTION_OP_INCLUDE_LIST, true, true},
               {TL_OPTION_NODE_BLOCK_LIST, false, false},
               {TL_OPTION_OP_BLOCK_LIST, true, false}};
  enum { N_LISTS = sizeof lists / sizeof *lists };
  uint32_t room = 0;
  tl_precision_config *c = &s->precision;
  for (size_t i = 0; i < N_LISTS; i++) {
    const char *text = s->value[lists[i].id];
    room += text ? tl_listed_room(tl_sv_from(text)) : 0;
    if (text && !tl_precision_mode_lowers(c->mode))
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", tl_at_option(s, lists[i].id),
                          "has no effect without a mode that lowers dtypes\v"
                          "add --precision-mode-v2=mixed_float16, for example");
  }
  tl_listed_entries listed = {tl_arena_calloc(&s->arena, room, sizeof *listed.at), 0};
  if (!listed.at)
    return tl_fail_memory(d, TL_NOWHERE);
  for (size_t i = 0; i < N_LISTS; i++) {
    const char *text = s->value[lists[i].id];
    tl_location at = text ? tl_at_option(s, lists[i].id) : TL_NOWHERE;
    if (text && lists[i].is_type)
      TL_TRY(tl_read_listed_types(d, &s->arena, at, tl_sv_from(text), lists[i].include, &listed));
    else if (text)
      TL_TRY(tl_read_listed_nodes(d, &s->arena, at, tl_sv_from(text), lists[i].include, &listed));
  }
  c->listed = listed.at;
  c->n_listed = listed.n;
  return TL_OK;
}

/* Reads --keep-io-types. Without it, inputs and outputs keep their dtypes, except where other
 * options change them. */
static tl_status read_signature(tl_settings *s, tl_diag *d) {
  const char *text = s->value[TL_OPTION_KEEP_IO_TYPES];
  tl_location where = tl_at_option(s, TL_OPTION_KEEP_IO_TYPES);
  tl_dtype low = tl_precision_mode_get(s->precision.mode)->low;
  if (!text)
    return TL_OK;
  TL_TRY(tl_read_kept_signature(d, &s->arena, where, tl_sv_from(text), &s->precision));
  const char *other = s->value[TL_OPTION_OUTPUT_TYPE]        ? "output-type"
                      : s->value[TL_OPTION_INPUT_FP16_NODES] ? "input-fp16-nodes"
                                                             : NULL;
  if (!s->precision.lower_signature && other)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10056", where,
                        "cannot be combined with --%s, which changes the signature", other);
  if (s->precision.lower_signature && low != TL_DTYPE_F16 && low != TL_DTYPE_BF16)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "'%s' lowers inputs and outputs, which needs a mode with f16 or bf16\v"
                        "add --precision-mode-v2=mixed_float16, for example",
                        text);
  return TL_OK;
}

/* Returns what happens to constants that the low dtype cannot hold. is_weight_clip is the option of
 * atc; it counts where --const-policy says clamp. */
static tl_const_policy const_policy(const tl_settings *s) {
  char policy = tl_settings_get(s, TL_OPTION_CONST_POLICY)[0];
  if (policy != 'c')
    return policy == 'k' ? TL_CONST_KEEP_FP32 : TL_CONST_ERROR;
  bool clip = tl_settings_get(s, TL_OPTION_IS_WEIGHT_CLIP)[0] != '0';
  return clip ? TL_CONST_CLAMP : TL_CONST_INFINITE;
}

static double number_of(const tl_settings *s, tl_option_id id) {
  return strtod(tl_settings_get(s, id), NULL); /* digits; "" is 0, the default */
}

/* Reads --precision-policy and the options that it needs. declined: the user has ruled it out. */
static tl_status read_policy(tl_settings *s, tl_diag *d) {
  static const tl_option_id needs[] = {TL_OPTION_RANGES, TL_OPTION_DATA_MAX, TL_OPTION_INIT_MAX,
                                       TL_OPTION_MAX_REDUCTION_DEPTH};
  tl_range_policy *p = &s->precision.ranges;
  p->on = tl_settings_get(s, TL_OPTION_PRECISION_POLICY)[0] == 'r';
  p->declined = s->value[TL_OPTION_PRECISION_POLICY] && !p->on;
  for (size_t i = 0; !p->on && i < sizeof needs / sizeof *needs; i++)
    if (s->value[needs[i]])
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", tl_at_option(s, needs[i]),
                          "has no effect without --precision-policy=range");
  p->data_max = number_of(s, TL_OPTION_DATA_MAX);
  p->init_max = number_of(s, TL_OPTION_INIT_MAX);
  p->max_depth = strtoull(tl_settings_get(s, TL_OPTION_MAX_REDUCTION_DEPTH), NULL, 10);
  const char *path = s->value[TL_OPTION_RANGES];
  return path ? tl_read_ranges(d, &s->arena, tl_at_option(s, TL_OPTION_RANGES), path, p) : TL_OK;
}

tl_status tl_resolve_precision(tl_settings *s, tl_diag *d) {
  tl_precision_config *c = &s->precision;
  tl_option_id by;
  *c = tl_precision_default();
  TL_TRY(find_mode(s, d, &by));
  if (s->accelerate.text)
    TL_TRY(tl_accelerate_modes(s, d, by));
  TL_TRY(check_chip(s, d, by));
  TL_TRY(check_mixlist(s, d, by));
  TL_TRY(read_files(s, d));
  if (by == TL_OPTION_AMP_LEVEL)
    TL_TRY(tl_apply_amp_level(d, &s->arena, tl_at_option(s, by), amp_level(s), c));
  TL_TRY(read_texts(s, d));
  TL_TRY(read_lists(s, d));
  TL_TRY(read_signature(s, d));
  TL_TRY(read_policy(s, d));
  const char *kernels = s->value[TL_OPTION_OP_SELECT_IMPLMODE];
  c->high_precision = kernels && strncmp(kernels, "high_precision", 14) == 0 ? kernels : NULL;
  c->constants = const_policy(s);
  c->ge_colours = tl_settings_has(s, TL_OPTION_GE_COLOURS);
  c->lossy_casts = tl_settings_get(s, TL_OPTION_LOSSY_CAST_REMOVAL)[0] == 'g';
  c->strict_mix_low = tl_settings_has(s, TL_OPTION_STRICT_MIX_LOW);
  s->options.precision = c;
  if (s->accelerate.text)
    tl_accelerate_finish(s);
  return TL_OK;
}
