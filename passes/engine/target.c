/* SPDX-License-Identifier: Apache-2.0 */
/* Switches off fusions that the target of the model (--target) cannot use. An op that the chip
 * lacks would only be taken apart again, and an NPU op means nothing to an ONNX runtime. */
#include "ir/chip/op_info.h"
#include "ir/ops_gen.h"
#include "passes/engine/rule.h"
#include "passes/npu/expr.h"

/* Answers whether the chip has an op. */
enum { UNASKED, HAS, LACKS };

/* State of comparing rules with the target. */
typedef struct fitting {
  tl_ruleset *s;
  const tl_options *options;
  uint8_t *answers; /* by op; many rules make the same ops */
} fitting;

/* Returns in *may if the candidate exists on the chip and its guard can hold there. */
static tl_status may_apply(fitting *f, const tl_npu_candidate *row, bool *may) {
  const char *why = NULL;
  const tl_expr *guard = NULL;
  *may = row->npu_type[0] && row->kind != TL_LOWER_EXPAND &&
         tl_op_info_find(tl_options_op_info(f->options), tl_sv_from(row->npu_type)).row;
  if (!*may || strcmp(row->guard, "always") == 0)
    return TL_OK;
  guard = tl_npu_expr_parse(f->s->m, &f->s->arena, tl_sv_from(row->guard), TL_IN_GUARDS, &why);
  if (!guard)
    return tl_fail(f->s->m->diag, why ? TL_INTERNAL : TL_NO_MEMORY, TL_AT_FILE(f->s->m->path),
                   "guard '%s': %s", row->guard, why ? why : "out of memory");
  *may = tl_npu_may_hold_on(f->s->m, guard, tl_options_chip(f->options)->table);
  return TL_OK;
}

/* Returns in *has if the chip has an op for a tl:: op. ONNX ops are present before any fusion and
 * count as available. */
static tl_status chip_has(fitting *f, tl_op_id op, bool *has) {
  const tl_op *row = tl_op_row(op);
  *has = row->domain_symbol != TL_SYM_tl || f->answers[op] == HAS;
  if (*has || f->answers[op] == LACKS)
    return TL_OK;
  for (uint32_t i = 0; !*has && i < row->n_npu; i++)
    TL_TRY(may_apply(f, &row->npu[i], has));
  f->answers[op] = *has ? HAS : LACKS;
  return TL_OK;
}

/* Returns true if ONNX Runtime has the op: those of its own domain, and tl:: ops that late rules
 * spell for it (ort_ops.tbl). */
static bool ort_has(tl_symbol domain, tl_op_id op) {
  static const tl_op_id spelled[] = {
#define ORT_OP(op) TL_OP_##op,
#include "passes/engine/ort_ops.tbl"
  };
  bool has = domain == TL_SYM_com_microsoft;
  for (size_t i = 0; i < sizeof spelled / sizeof *spelled; i++)
    has = has || op == spelled[i];
  return has;
}

/* Returns true if an ONNX target has the op. A tl:: op would be written as a function and run as
 * the nodes it was made of, so only those count that rules spell for ONNX Runtime. */
static bool onnx_has(const fitting *f, tl_op_id op) {
  tl_symbol domain = tl_op_domain_symbol(f->s->m, op);
  if (domain != TL_SYM_npu && domain != TL_SYM_com_microsoft && domain != TL_SYM_tl)
    return true;
  return f->options->target == TL_TARGET_ORT && ort_has(domain, op);
}

/* Reasons per target against ops and rules; NULL: no reason. */
static const struct {
  const char *no_op, *npu_alone, *ort_alone, *both;
} reasons[TL_N_TARGETS] = {[TL_TARGET_NPU] = {"the chip of --soc-version has no op for it", NULL,
                                              "--target=npu: it is for ONNX Runtime", NULL},
                           [TL_TARGET_ONNX] = {"--target=onnx: ONNX has no op for it",
                                               "--target=onnx: it is for the NPU alone",
                                               "--target=onnx: it is for ONNX Runtime",
                                               "--target=onnx: it is for the NPU and ONNX Runtime"},
                           [TL_TARGET_ORT] = {"--target=onnxruntime: ONNX Runtime has no op for it",
                                              "--target=onnxruntime: it is for the NPU alone", NULL,
                                              NULL},
                           [TL_TARGET_NONE] = {NULL, NULL, "--target=none", NULL}};

/* Switches a built-in rule off if the target lacks an op of its replacement. The generated table
 * lists these ops, so that the rule need not be parsed. */
static tl_status fit(fitting *f, tl_rule *r) {
  const tl_op_id *made = &tl_rule_needs[r->text->makes];
  for (; *made != TL_OP_RETURN && !r->off; made++) {
    bool has = true;
    if (f->options->target == TL_TARGET_NPU)
      TL_TRY(chip_has(f, *made, &has));
    else
      has = onnx_has(f, *made);
    r->unsupported = !has;
    if (!has)
      r->off = reasons[f->options->target].no_op;
  }
  return TL_OK;
}

/* Returns the reason against a rule for one target only, or NULL. */
static const char *in_the_way(const tl_options *options, unsigned target) {
  if (target == TL_RULE_ORT)
    return reasons[options->target].ort_alone;
  if (reasons[options->target].npu_alone)
    return reasons[options->target].npu_alone;
  if (target == TL_RULE_NPU910 && tl_options_chip(options)->table != TL_SOC_910)
    return "the chip of --soc-version is not of the Ascend910 line";
  if (target == TL_RULE_NPU910B && tl_options_chip(options)->table == TL_SOC_910)
    return "the chip of --soc-version is of the Ascend910 line";
  return NULL;
}

const char *tl_rule_misplaced(const tl_options *options, unsigned targets) {
  const char *first = NULL; /* the first reason is about the NPU, if any */
  for (unsigned target = TL_RULE_NPU; target <= targets; target <<= 1) {
    const char *why = targets & target ? in_the_way(options, target) : NULL;
    if ((targets & target) && !why)
      return NULL;
    first = first ? first : why;
  }
  bool both = (targets & TL_RULE_ORT) && targets != TL_RULE_ORT;
  return both && reasons[options->target].both ? reasons[options->target].both : first;
}

tl_status tl_rule_fit_target(tl_ruleset *s, const tl_options *options, tl_rule *r) {
  if (!s->chip_has)
    s->chip_has = tl_arena_calloc(&s->arena, tl_n_op_rows, sizeof *s->chip_has);
  if (!s->chip_has)
    return tl_no_memory(s->m);
  fitting f = {.s = s, .options = options, .answers = s->chip_has};
  const char *why = r->off ? NULL : tl_rule_misplaced(options, r->targets);
  if (r->kind == TL_RULE_EXPAND && why)
    r->off = why;
  if (!tl_rule_fuses(r) || r->off)
    return TL_OK;
  if (options->target == TL_TARGET_NONE)
    r->off = "--target=none";
  else if ((r->off = why))
    r->unsupported = true;
  else if (r->text) /* rules of users may make any op, so only built-in ones are checked */
    return fit(&f, r);
  return TL_OK;
}
