/* SPDX-License-Identifier: Apache-2.0 */
/* Modes of precision and the algebra of colours. */
#include "ir/options/precision_config.h"

static const tl_precision_mode_info modes[TL_N_PRECISION_MODES] = {
    [TL_PRECISION_ORIGIN] = {{"must_keep_origin_dtype", NULL},
                             "origin",
                             false,
                             TL_DTYPE_NONE,
                             "dtypes stay as in the model or become wider"},
    [TL_PRECISION_FORCE_FP16] =
        {{"force_fp16", NULL}, "fp16", false, TL_DTYPE_F16, "f16 wherever an op has it"},
    [TL_PRECISION_ALLOW_FP16] = {{"allow_fp32_to_fp16", NULL},
                                 NULL,
                                 false,
                                 TL_DTYPE_F16,
                                 "f16 where an op has no other dtype, and in matrix ops"},
    [TL_PRECISION_MIX_FP16] = {{"allow_mix_precision", "allow_mix_precision_fp16"},
                               "mixed_float16",
                               true,
                               TL_DTYPE_F16,
                               "f16 in white ops and in gray ops that follow them"},
    [TL_PRECISION_FORCE_FP32] = {{"force_fp32", "cube_fp16in_fp32out"},
                                 "cube_fp16in_fp32out",
                                 false,
                                 TL_DTYPE_NONE,
                                 "f32; matrix ops take f16 and give f32 where they can"},
    [TL_PRECISION_ALLOW_BF16] = {{"allow_fp32_to_bf16", NULL},
                                 NULL,
                                 false,
                                 TL_DTYPE_BF16,
                                 "bf16 where an op has no other dtype"},
    [TL_PRECISION_MIX_BF16] = {{"allow_mix_precision_bf16", NULL},
                               "mixed_bfloat16",
                               true,
                               TL_DTYPE_BF16,
                               "bf16 in white ops and in gray ops that follow them"},
    [TL_PRECISION_CUBE_HIF8] =
        {{NULL, NULL}, "cube_hif8", false, TL_DTYPE_HIF8, "hif8 in matrix ops"},
    [TL_PRECISION_MIX_HIF8] = {{NULL, NULL},
                               "mixed_hif8",
                               true,
                               TL_DTYPE_HIF8,
                               "hif8 in white ops and in gray ops that follow them"},
};

const tl_precision_mode_info *tl_precision_mode_get(tl_precision_mode mode) { return &modes[mode]; }

bool tl_precision_mode_lowers(tl_precision_mode mode) {
  return modes[mode].low != TL_DTYPE_NONE || mode == TL_PRECISION_FORCE_FP32;
}

static bool is_name(const char *name, tl_sv text) { return name && tl_sv_is(text, name); }

bool tl_precision_mode_find(tl_sv name, bool v2, tl_precision_mode *out) {
  for (unsigned i = 0; i < TL_N_PRECISION_MODES; i++) {
    const tl_precision_mode_info *m = &modes[i];
    if (v2 ? is_name(m->v2, name) : is_name(m->v1[0], name) || is_name(m->v1[1], name)) {
      *out = (tl_precision_mode)i;
      return true;
    }
  }
  return false;
}

bool tl_precision_is_inert(const tl_precision_config *c) {
  return c->mode == TL_PRECISION_ORIGIN && !c->mode_name && c->n_to_float == 0 &&
         c->n_fp16_inputs == 0 && c->n_outputs == 0;
}

bool tl_mix_edits_legal(uint8_t edits) {
  static const uint8_t legal[] = {
      TL_MIX_REMOVE_BLACK,
      TL_MIX_REMOVE_WHITE,
      TL_MIX_ADD_GRAY,
      TL_MIX_ADD_GRAY | TL_MIX_REMOVE_BLACK,
      TL_MIX_ADD_GRAY | TL_MIX_REMOVE_WHITE,
      TL_MIX_ADD_WHITE,
      TL_MIX_ADD_WHITE | TL_MIX_REMOVE_GRAY,
      TL_MIX_ADD_WHITE | TL_MIX_REMOVE_BLACK,
      TL_MIX_ADD_BLACK,
      TL_MIX_ADD_BLACK | TL_MIX_REMOVE_GRAY,
      TL_MIX_ADD_BLACK | TL_MIX_REMOVE_WHITE,
  };
  for (unsigned i = 0; i < sizeof legal; i++)
    if (legal[i] == edits)
      return true;
  return false;
}

tl_op_colour tl_mix_colour(uint8_t edits, tl_op_colour before, bool ge_colours, bool *missed) {
  static const uint8_t removal[TL_N_COLOURS] = {
      [TL_COLOUR_GRAY] = TL_MIX_REMOVE_GRAY,
      [TL_COLOUR_WHITE] = TL_MIX_REMOVE_WHITE,
      [TL_COLOUR_BLACK] = TL_MIX_REMOVE_BLACK,
  };
  const uint8_t all = TL_MIX_REMOVE_GRAY | TL_MIX_REMOVE_WHITE | TL_MIX_REMOVE_BLACK;
  bool removed = (edits & removal[before]) != 0;
  *missed = (edits & all) != 0 && !removed;
  if (edits & TL_MIX_ADD_BLACK)
    return TL_COLOUR_BLACK;
  if (edits & TL_MIX_ADD_WHITE)
    return TL_COLOUR_WHITE;
  if (removed || ((edits & TL_MIX_ADD_GRAY) && !ge_colours))
    return TL_COLOUR_GRAY;
  return before;
}

const char *tl_op_colour_name(tl_op_colour c) {
  static const char *const names[] = {"gray", "white", "black"};
  return names[c];
}
