/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the rules of modes and colours to one tensor (rules.h). */
#include "passes/precision/rules.h"

/* How a rule is named, for JSON and for people. */
typedef struct rule_text {
  const char *name;
  const char *sentence;
} rule_text;

static const rule_text texts[TL_N_PRECISION_RULES] = {
    [TL_BY_NO_ROW] = {"no-row", "no table knows the op, so it keeps its dtypes"},
    [TL_BY_UNKNOWN] = {"unknown", "a tensor of the op has no known dtype"},
    [TL_BY_FIXED] = {"fixed", "no mode changes this dtype"},
    [TL_BY_MODE] = {"mode", "the mode asks for it"},
    [TL_BY_CUBE] = {"cube", "the mode prefers low inputs for matrix ops"},
    [TL_BY_WHITE] = {"white", "the op is on the white list"},
    [TL_BY_BLACK] = {"black", "the op is on the black list"},
    [TL_BY_GRAY] = {"gray", "the op is gray and no node produces the tensor"},
    [TL_BY_FOLLOWS] = {"follows", "the op is gray and follows its producer"},
    [TL_BY_VIEW] = {"view", "the op only moves data and follows its producer"},
    [TL_BY_KEPT] = {"kept", "the list of nodes to keep names it"},
    [TL_BY_SENSITIVE] = {"sensitive", "the op determines the dtype"},
    [TL_BY_FORCED] = {"forced", "another tensor of the op had to be reduced"},
    [TL_BY_BLOCKED] = {"block-list", "a block list names it"},
    [TL_BY_INCLUDED] = {"include-list", "an include list names it"},
    [TL_BY_CUSTOM] = {"customized", "the file of dtypes says so"},
    [TL_BY_PROMOTED] = {"promoted", "operands of different dtypes meet at the widest"},
    [TL_BY_POLICY] = {"range", "its values may leave the range of the lower dtype"},
    [TL_BY_EPSILON] = {"epsilon", "it would lose its epsilon in the lower dtype"},
    [TL_BY_ANGLE] = {"angle", "it would lose the position on the circle"},
    [TL_BY_INHERITED] = {"inherits", "the node is marked to follow its producer"},
    [TL_BY_HOST] = {"host", "the AI cores have no kernel for these dtypes"},
    [TL_BY_BODY] = {"body", "it crosses the border of a loop"},
    [TL_BY_BRANCHES] = {"branches", "the results of the branches determine it"},
    [TL_BY_SIGNATURE] = {"signature", "it belongs to the signature of the model"},
    [TL_BY_INPUT_FP16] = {"input-fp16", "--input-fp16-nodes names it"},
    [TL_BY_OUTPUT_TYPE] = {"output-type", "--output-type says so"},
    [TL_BY_IO_TYPES] = {"io-types", "--keep-io-types leaves it to the mode"},
};

const char *tl_precision_rule_name(tl_precision_rule rule) { return texts[rule].name; }
const char *tl_precision_rule_sentence(tl_precision_rule rule) { return texts[rule].sentence; }

/* ---- ways of looking ------------------------------------------------------------------------- */

/* Looks for dtype e, then for a wider one. */
static tl_precision_match rise(tl_columns *s, const uint8_t *col, tl_dtype e, tl_dtype without) {
  if (tl_match_precise(s, col, e, without))
    return TL_MATCH_EXACT;
  return tl_match_rise(s, col, e, without) ? TL_MATCH_RAISED : TL_MATCH_NONE;
}

/* Looks for dtype e, then wider, then narrower ones. */
static tl_precision_match rise_or_reduce(tl_columns *s, const uint8_t *col, tl_dtype e,
                                         tl_dtype without) {
  tl_precision_match found = rise(s, col, e, without);
  if (found == TL_MATCH_NONE && tl_match_reduce(s, col, e, without))
    return TL_MATCH_REDUCED;
  return found;
}

/* ---- modes ----------------------------------------------------------------------------------- */

/* force_fp16: floats become f16, or wider if there is no f16 kernel. */
static tl_precision_match force_fp16(const tl_judged_tensor *t, tl_columns *s, tl_dtype without) {
  tl_dtype e = tl_dtype_is_ranked(t->original) ? TL_DTYPE_F16 : t->original;
  return rise(s, t->col, e, without);
}

/* allow_fp32_to_fp16: keeps the dtype if possible, else widens, else narrows. Matrix ops take f16
 * from f32 at once. Also used for gray, kept and sensitive tensors. Once f32 was reduced, the other
 * tensors of the op follow (forced16). */
static tl_precision_match allow_fp16(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                     tl_dtype without, bool cube, tl_precision_rule *rule) {
  bool eager = cube && t->original == TL_DTYPE_F32;
  tl_dtype e = eager ? TL_DTYPE_F16 : t->original;
  if (eager)
    *rule = TL_BY_CUBE;
  tl_precision_match found = rise(s, t->col, e, without);
  if (found == TL_MATCH_NONE && (e == TL_DTYPE_F32 || e == TL_DTYPE_BF16) &&
      tl_match_reduce(s, t->col, e, without)) {
    op->forced16 = op->forced16 || e == TL_DTYPE_F32;
    return TL_MATCH_REDUCED;
  }
  return found;
}

/* allow_fp32_to_bf16: keeps the dtype if possible, else widens, else narrows. */
static tl_precision_match allow_bf16(const tl_judged_tensor *t, tl_columns *s, tl_dtype without) {
  return rise_or_reduce(s, t->col, t->original, without);
}

/* force_fp32: floats become f32; the first input of a matrix op becomes f16 if the op then still
 * gives f32. */
static tl_precision_match force_fp32(const tl_judged_op *op, const tl_judged_tensor *t,
                                     tl_columns *s, tl_precision_rule *rule) {
  bool ranked = tl_dtype_is_ranked(t->original);
  bool low = t->first && op->cube && ranked && op->half_in_float_out;
  if (low)
    *rule = TL_BY_CUBE;
  tl_dtype e = low ? TL_DTYPE_F16 : ranked ? TL_DTYPE_F32 : t->original;
  return rise_or_reduce(s, t->col, e, TL_DTYPE_BF16);
}

/* ---- colours --------------------------------------------------------------------------------- */

/* White: a low dtype; with --strict-mix-low only the dtype of the mode. Without one, the nearest
 * dtype, reported as TL_MATCH_SECOND. */
static tl_precision_match white(const tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                tl_dtype without, tl_dtype low) {
  tl_dtype only = op->strict ? low : TL_DTYPE_NONE;
  if (!tl_dtype_is_ranked(t->original))
    return rise(s, t->col, t->original, TL_DTYPE_NONE);
  if (tl_match_mix(s, t->col, only == TL_DTYPE_NONE ? without : TL_DTYPE_NONE, only))
    return t->original == t->col[s->at[0]] ? TL_MATCH_EXACT : TL_MATCH_REDUCED;
  tl_precision_match second = rise_or_reduce(s, t->col, t->original, without);
  return second == TL_MATCH_NONE ? TL_MATCH_NONE : TL_MATCH_SECOND;
}

/* Returns the low dtype that a mixed mode never picks (the other of f16 and bf16), unless the
 * tensor already has it. */
static tl_dtype forbidden(tl_precision_mode mixed, tl_dtype have) {
  tl_dtype other = mixed == TL_PRECISION_MIX_BF16 ? TL_DTYPE_F16 : TL_DTYPE_BF16;
  return have == other ? TL_DTYPE_NONE : other;
}

/* Gray: the dtype of the producer; without a producer, by the allow rule of the mode. */
static tl_precision_match gray(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                               tl_precision_mode mixed, bool forbid, tl_precision_rule *rule) {
  tl_dtype e = t->producer;
  if (e != TL_DTYPE_NONE) {
    *rule = TL_BY_FOLLOWS;
    return rise_or_reduce(s, t->col, e, forbid ? forbidden(mixed, e) : TL_DTYPE_NONE);
  }
  *rule = TL_BY_GRAY;
  tl_dtype without = forbid ? forbidden(mixed, t->original) : TL_DTYPE_NONE;
  if (mixed == TL_PRECISION_MIX_BF16)
    return allow_bf16(t, s, without);
  return allow_fp16(op, t, s, without, op->cube && !op->kept, rule);
}

/* Mixed modes: black keeps the dtype, gray follows its producer, white takes a low dtype. forbid:
 * the other low dtype must not be chosen. */
static tl_precision_match by_colour(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                    tl_precision_mode mixed, bool forbid, tl_precision_rule *rule) {
  tl_dtype without = forbid ? forbidden(mixed, t->original) : TL_DTYPE_NONE;
  if (op->colour == TL_COLOUR_BLACK) {
    *rule = TL_BY_BLACK;
    return rise(s, t->col, t->original, without);
  }
  if (op->colour == TL_COLOUR_GRAY)
    return gray(op, t, s, mixed, forbid, rule);
  *rule = TL_BY_WHITE;
  tl_dtype low = mixed == TL_PRECISION_MIX_BF16 ? TL_DTYPE_BF16 : TL_DTYPE_F16;
  return white(op, t, s, without, low);
}

/* ---- hif8 ------------------------------------------------------------------------------------ */

/* Takes the first dtype of the list that exists; the list starts with the preferred dtype. */
static tl_precision_match first_of(const tl_judged_tensor *t, tl_columns *s, tl_dtype key,
                                   const tl_dtype *list, uint32_t n) {
  if (!tl_match_first(s, t->col, list, n))
    return TL_MATCH_NONE;
  tl_dtype found = (tl_dtype)t->col[s->at[0]];
  return found == key                  ? TL_MATCH_EXACT
         : tl_dtype_widens(key, found) ? TL_MATCH_RAISED
                                       : TL_MATCH_REDUCED;
}

/* White in hif8 modes: hif8, then bf16 for a bf16 tensor or else f16, then f32. */
static tl_precision_match hif8_white(const tl_judged_tensor *t, tl_columns *s) {
  tl_dtype o = t->original;
  if (o != TL_DTYPE_HIF8 && !tl_dtype_is_ranked(o))
    return first_of(t, s, o, &o, 1);
  tl_dtype second = o == TL_DTYPE_BF16 ? TL_DTYPE_BF16 : TL_DTYPE_F16;
  return first_of(t, s, o, (const tl_dtype[]){TL_DTYPE_HIF8, second, TL_DTYPE_F32}, 3);
}

/* Black in hif8 modes: the dtype of the model, else f32. */
static tl_precision_match hif8_black(const tl_judged_tensor *t, tl_columns *s, tl_dtype key) {
  return first_of(t, s, key, (const tl_dtype[]){key, TL_DTYPE_F32},
                  tl_dtype_is_ranked(key) ? 2 : 1);
}

/* Gray in hif8 modes: hif8 if the producer has it, else as black with the dtype of the producer. */
static tl_precision_match hif8_gray(const tl_judged_tensor *t, tl_columns *s) {
  if (t->producer != TL_DTYPE_HIF8)
    return hif8_black(t, s, t->producer);
  tl_dtype second = t->original == TL_DTYPE_BF16 ? TL_DTYPE_BF16 : TL_DTYPE_F16;
  return first_of(t, s, TL_DTYPE_HIF8, (const tl_dtype[]){TL_DTYPE_HIF8, second, TL_DTYPE_F32}, 3);
}

/* The mixed mode of hif8. Outputs of gray ops have no producer and are judged like black ones. */
static tl_precision_match mix_hif8(const tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                   tl_precision_rule *rule) {
  if (op->colour == TL_COLOUR_WHITE) {
    *rule = TL_BY_WHITE;
    return hif8_white(t, s);
  }
  if (op->colour == TL_COLOUR_GRAY && t->producer != TL_DTYPE_NONE) {
    *rule = TL_BY_FOLLOWS;
    return hif8_gray(t, s);
  }
  *rule = op->colour == TL_COLOUR_GRAY ? TL_BY_GRAY : TL_BY_BLACK;
  return hif8_black(t, s, t->original);
}

/* ---- one tensor ------------------------------------------------------------------------------ */

/* Applies the rule of the mode alone. */
static tl_precision_match by_mode(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                  tl_precision_rule *rule) {
  tl_dtype o = t->original;
  switch (op->mode) {
  case TL_PRECISION_FORCE_FP16: return force_fp16(t, s, TL_DTYPE_BF16);
  case TL_PRECISION_ALLOW_FP16:
    return allow_fp16(op, t, s, forbidden(TL_PRECISION_MIX_FP16, o), op->cube, rule);
  case TL_PRECISION_ALLOW_BF16: return allow_bf16(t, s, forbidden(TL_PRECISION_MIX_BF16, o));
  case TL_PRECISION_FORCE_FP32: return force_fp32(op, t, s, rule);
  case TL_PRECISION_MIX_FP16:
  case TL_PRECISION_MIX_BF16: return by_colour(op, t, s, op->mode, true, rule);
  case TL_PRECISION_CUBE_HIF8:
    if (op->cube)
      *rule = TL_BY_CUBE;
    return op->cube ? hif8_white(t, s) : hif8_black(t, s, o);
  case TL_PRECISION_MIX_HIF8: return mix_hif8(op, t, s, rule);
  default: return rise(s, t->col, o, TL_DTYPE_NONE);
  }
}

/* Order of precedence: kept and sensitive, marks, views, an op forced to f16, then the mode. */
tl_precision_match tl_precision_judge(tl_judged_op *op, const tl_judged_tensor *t, tl_columns *s,
                                      tl_precision_rule *rule) {
  tl_precision_match found;
  tl_precision_rule by = TL_BY_MODE;
  if (op->kept || op->sensitive) {
    *rule = op->held ? (tl_precision_rule)op->held : op->kept ? TL_BY_KEPT : TL_BY_SENSITIVE;
    return allow_fp16(op, t, s, TL_DTYPE_NONE, false, &by);
  }
  if (op->inherits) {
    found = gray(op, t, s, TL_PRECISION_MIX_FP16, false, &by);
    by = TL_BY_INHERITED;
  } else if (op->view && op->mode != TL_PRECISION_FORCE_FP16) {
    found = by_colour(op, t, s, TL_PRECISION_MIX_FP16, false, &by);
    by = by == TL_BY_FOLLOWS || by == TL_BY_GRAY ? TL_BY_VIEW : by;
  } else if (op->forced16 && op->mode == TL_PRECISION_ALLOW_FP16) {
    by = TL_BY_FORCED;
    found = force_fp16(t, s, TL_DTYPE_NONE);
  } else {
    found = by_mode(op, t, s, &by);
  }
  bool fixed = !tl_dtype_is_ranked(t->original) && t->original != TL_DTYPE_HIF8;
  *rule = fixed ? TL_BY_FIXED : by;
  return found;
}

/* ---- feasibility ----------------------------------------------------------------------------- */

/* Returns true if the mode allows to reduce `original` to s. Black ops are not reduced by
 * force_fp32 and by the mixed mode of that dtype. */
static bool may_reduce(const tl_judged_op *op, tl_dtype original, tl_dtype s) {
  bool black = op->colour == TL_COLOUR_BLACK;
  tl_precision_mode mode = op->mode;
  if (op->kept || mode == TL_PRECISION_ORIGIN)
    return false;
  if (s == TL_DTYPE_F16 && (original == TL_DTYPE_F32 || original == TL_DTYPE_BF16))
    return mode != TL_PRECISION_ALLOW_BF16 && mode != TL_PRECISION_MIX_BF16 &&
           !(black && (mode == TL_PRECISION_FORCE_FP32 || mode == TL_PRECISION_MIX_FP16));
  if (s == TL_DTYPE_BF16 && original == TL_DTYPE_F32)
    return mode != TL_PRECISION_ALLOW_FP16 && mode != TL_PRECISION_MIX_FP16 &&
           !(black && (mode == TL_PRECISION_FORCE_FP32 || mode == TL_PRECISION_MIX_BF16));
  return false;
}

uint64_t tl_precision_reachable(const tl_judged_op *op, tl_dtype original) {
  uint64_t set = TL_DTYPE_BIT(original);
  if (!tl_dtype_is_ranked(original))
    return set;
  set |= TL_DTYPE_BIT(TL_DTYPE_F32); /* widening is always allowed */
  if (may_reduce(op, original, TL_DTYPE_F16))
    set |= TL_DTYPE_BIT(TL_DTYPE_F16);
  if (may_reduce(op, original, TL_DTYPE_BF16))
    set |= TL_DTYPE_BIT(TL_DTYPE_BF16);
  return set;
}
