/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the overflow check: whether a gradient of any rank is infinite or NaN.
 * Early modes look at this rank's gradients before they are summed; the others look at what is left
 * after sum, mean and unscaling. */
#include <float.h>
#include <math.h>

#include "ir/marks.h"
#include "ir/ops_gen.h"
#include "passes/train/comm/collective.h"
#include "passes/train/scale/scaling.h"

static tl_value_id one(tl_loss_scaling *scaling, tl_op_id op, tl_value_id a) {
  return tl_ls_make(&scaling->k, op, a, TL_NO_VALUE, TL_NO_VALUE);
}

static tl_value_id two(tl_loss_scaling *scaling, tl_op_id op, tl_value_id a, tl_value_id b) {
  return tl_ls_make(&scaling->k, op, a, b, TL_NO_VALUE);
}

static tl_value_id f32(tl_loss_scaling *scaling, double v) {
  return tl_make_number(&scaling->k, TL_DTYPE_F32, v);
}

static bool is_early(const tl_train_config *c) {
  return c->tail_mode == TL_TAIL_EARLY_LOCAL || c->tail_mode == TL_TAIL_EARLY_BOUND ||
         c->flag_in_bucket;
}

static tl_dtype dtype_of(const tl_loss_scaling *scaling, tl_value_id v) {
  return tl_type_dtype(scaling->m, tl_value_type(scaling->m, v));
}

/* The gradients to look at, each once. */
typedef struct looked_at {
  tl_value_id *at;
  uint32_t n;
} looked_at;

static looked_at gradients(tl_loss_scaling *scaling) {
  looked_at l = {.at = tl_arena_calloc(scaling->p->scratch, scaling->info.n, sizeof(tl_value_id))};
  const tl_value_id *from = is_early(scaling->c) ? scaling->source : scaling->unscaled;
  bool *seen = tl_arena_calloc(scaling->p->scratch, tl_module_value_end(scaling->m), sizeof *seen);
  scaling->k.no_memory = scaling->k.no_memory || !l.at || !seen;
  for (uint32_t i = 0; i < scaling->info.n && !tl_maker_failed(&scaling->k); i++) {
    if (!seen[from[i]])
      l.at[l.n++] = from[i];
    seen[from[i]] = true;
  }
  return l;
}

/* Marks a node that reads what this rank alone has computed: the pass grad-allreduce leaves such
 * uses alone. */
static void mark_local(tl_loss_scaling *scaling, tl_value_id v) {
  if (v && is_early(scaling->c) &&
      !tl_node_put_mark(scaling->m, tl_value_producer(scaling->m, v), TL_MARK_LOCAL))
    scaling->k.no_memory = true;
}

/* ---- isfinite -------------------------------------------------------------------------------- */

/* Returns 0, or NaN if v contains an infinity or NaN: 0 * inf and 0 * NaN are NaN. TL_MARK_NOFOLD
 * keeps x * 0 from being folded to 0. */
static tl_value_id zero_or_nan(tl_loss_scaling *scaling, tl_value_id v) {
  tl_maker k = tl_comm_behind(scaling->m, v); /* a large gradient need not stay */
  tl_dtype d = dtype_of(scaling, v);
  tl_value_id z = tl_ls_make(&k, TL_OP_Mul, v, tl_make_number(&k, d, 0), TL_NO_VALUE);
  mark_local(scaling, z);
  if (z && !tl_node_put_mark(scaling->m, tl_value_producer(scaling->m, z), TL_MARK_NOFOLD))
    k.no_memory = true;
  tl_value_id sum = tl_ls_make_list(&k, TL_OP_ReduceSum, &z, 1, tl_attr_int(TL_SYM_keepdims, 0));
  if (sum && !tl_node_put_mark(scaling->m, tl_value_producer(scaling->m, sum), TL_MARK_NOFOLD))
    k.no_memory = true;
  sum = tl_ls_cast(&k, sum, TL_DTYPE_F32);
  tl_ls_adopt(scaling, &k);
  return sum;
}

/* Returns true if any gradient is not finite. Sums of zeros and NaN are exact in every order. */
static tl_value_id any_nan(tl_loss_scaling *scaling) {
  looked_at l = gradients(scaling);
  for (uint32_t i = 0; i < l.n && !tl_maker_failed(&scaling->k); i++)
    l.at[i] = zero_or_nan(scaling, l.at[i]);
  if (tl_maker_failed(&scaling->k))
    return TL_NO_VALUE;
  tl_value_id sum = l.n == 1 ? l.at[0]
                             : tl_ls_make_list(&scaling->k, TL_OP_Sum, l.at, l.n,
                                               (tl_attr){.kind = TL_ATTR_NONE});
  return one(scaling, TL_OP_IsNaN, sum);
}

/* ---- ort ------------------------------------------------------------------------------------- */

/* Uses IsAllFinite, which takes tensors of one dtype, once per dtype. */
static tl_value_id all_finite(tl_loss_scaling *scaling) {
  static const tl_dtype dtypes[] = {TL_DTYPE_F32, TL_DTYPE_F16, TL_DTYPE_BF16, TL_DTYPE_F64};
  looked_at l = gradients(scaling);
  tl_value_id finite = TL_NO_VALUE;
  tl_value_id *alike = tl_arena_calloc(scaling->p->scratch, scaling->info.n, sizeof *alike);
  scaling->k.no_memory = scaling->k.no_memory || !alike;
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes && !tl_maker_failed(&scaling->k); d++) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l.n; i++)
      if (dtype_of(scaling, l.at[i]) == dtypes[d])
        alike[n++] = l.at[i];
    if (!n)
      continue;
    tl_value_id all = tl_ls_make_list(&scaling->k, TL_OP_com_microsoft_IsAllFinite, alike, n,
                                      (tl_attr){.kind = TL_ATTR_NONE});
    mark_local(scaling, all);
    finite = finite ? two(scaling, TL_OP_And, finite, all) : all;
  }
  return finite;
}

/* ---- sums over ranks ------------------------------------------------------------------------- */

/* fuses: the AllReduce may share a bucket with gradients. */
static tl_value_id all_reduce(tl_loss_scaling *scaling, tl_value_id v, const char *how,
                              bool fuses) {
  tl_comm comm = {.pass = scaling->p, .m = scaling->m, .c = scaling->c};
  const tl_collective_spec spec = {
      .op = TL_OP_npu_hcom_HcomAllReduce, .fusion = fuses, .fusion_id = -1, .reduction = how};
  return v ? tl_comm_make(&comm, &scaling->k, &spec, v, TL_SV("overflow")) : TL_NO_VALUE;
}

static tl_value_id along_a_dim(tl_loss_scaling *scaling, tl_value_id v) {
  const int64_t shape = 1;
  return two(scaling, TL_OP_Reshape, v, tl_make_ints(&scaling->k, &shape, 1));
}

/* Returns true if a local flag is set on no rank. With flag_in_bucket the flag travels with the
 * last gradients. */
static tl_value_id on_no_rank(tl_loss_scaling *scaling, tl_value_id bad) {
  if (!scaling->ranks)
    return one(scaling, TL_OP_Not, bad);
  tl_value_id flag = along_a_dim(scaling, tl_ls_cast(&scaling->k, bad, TL_DTYPE_F32));
  tl_value_id sum = all_reduce(scaling, flag, "sum", scaling->c->flag_in_bucket);
  if (sum && scaling->c->flag_in_bucket &&
      !tl_node_put_mark(scaling->m, tl_value_producer(scaling->m, sum), TL_MARK_FLAG))
    scaling->k.no_memory = true;
  return two(scaling, TL_OP_Equal, one(scaling, TL_OP_Squeeze, sum), f32(scaling, 0));
}

/* Returns true if a local flag is set on every rank. */
static tl_value_id on_all_ranks(tl_loss_scaling *scaling, tl_value_id good) {
  return scaling->ranks ? on_no_rank(scaling, one(scaling, TL_OP_Not, good)) : good;
}

/* ---- early_bound ----------------------------------------------------------------------------- */

/* Largest finite number of a dtype. */
static double largest(tl_dtype d) {
  switch (d) {
  case TL_DTYPE_F16: return 65504;
  case TL_DTYPE_BF16: return 3.3895313892515355e38;
  case TL_DTYPE_F64: return DBL_MAX;
  default: return (double)FLT_MAX;
  }
}

/* Returns the dtype in which gradients like v are summed over ranks. */
static tl_dtype dtype_of_sum(const tl_loss_scaling *scaling, tl_value_id v) {
  return scaling->c->ar_f32 && tl_ls_is_narrow(scaling->m, v) ? TL_DTYPE_F32 : dtype_of(scaling, v);
}

/* Returns the largest magnitude of a gradient divided by the largest number of the dtype of
 * sums. */
static tl_value_id magnitude(tl_loss_scaling *scaling, tl_value_id v) {
  tl_maker k = tl_comm_behind(scaling->m, v); /* a large gradient need not stay */
  tl_dtype d = dtype_of(scaling, v);
  tl_dtype wide = d == TL_DTYPE_F64 ? d : TL_DTYPE_F32;
  tl_value_id a = tl_ls_make(&k, TL_OP_Abs, v, TL_NO_VALUE, TL_NO_VALUE);
  mark_local(scaling, a);
  tl_value_id most = tl_ls_make_list(&k, TL_OP_ReduceMax, &a, 1, tl_attr_int(TL_SYM_keepdims, 0));
  most = tl_ls_cast(&k, most, wide);
  tl_value_id part = tl_ls_make(&k, TL_OP_Div, most,
                                tl_make_number(&k, wide, largest(dtype_of_sum(scaling, v))),
                                TL_NO_VALUE);
  part = tl_ls_cast(&k, part, TL_DTYPE_F32);
  tl_ls_adopt(scaling, &k);
  return part;
}

/* Returns true if no sum over ranks can overflow: N times the largest magnitude is within range.
 * The largest magnitude is exchanged instead of a flag, so the check need not wait for the sums. */
static tl_value_id within_bound(tl_loss_scaling *scaling) {
  tl_value_id nan = any_nan(scaling);
  looked_at l = gradients(scaling);
  for (uint32_t i = 0; i < l.n && !tl_maker_failed(&scaling->k); i++)
    l.at[i] = magnitude(scaling, l.at[i]);
  if (tl_maker_failed(&scaling->k))
    return TL_NO_VALUE;
  tl_value_id most = l.at[0];
  if (l.n > 1)
    most = tl_ls_make_list(&scaling->k, TL_OP_Max, l.at, l.n, (tl_attr){.kind = TL_ATTR_NONE});
  tl_value_id infinite = f32(scaling, (double)INFINITY);
  most = along_a_dim(scaling, tl_ls_make(&scaling->k, TL_OP_Where, nan, infinite, most));
  if (scaling->ranks)
    most = all_reduce(scaling, most, "max", false);
  double ranks = scaling->ranks && scaling->c->rank_size ? scaling->c->rank_size : 1;
  most = one(scaling, TL_OP_Squeeze, most);
  return two(scaling, TL_OP_LessOrEqual, most, f32(scaling, 1 / ranks));
}

/* ---- npu ------------------------------------------------------------------------------------- */

/* Reads the chip's sticky overflow flags: memory is allocated at the start, flags are read when all
 * gradients are there, then cleared. The read fills the tensor that was allocated, which control
 * edges express. */
static tl_value_id no_flag_is_up(tl_loss_scaling *scaling) {
  looked_at l = gradients(scaling);
  tl_maker first = tl_ls_before(scaling, tl_module_main(scaling->m)->first);
  tl_node_spec spec = {.op = TL_OP_npu_status_NPUAllocFloatStatus, .n_results = 1};
  tl_value_id room = tl_make_node(&first, &spec);
  tl_ls_adopt(scaling, &first);
  tl_value_id got = one(scaling, TL_OP_npu_status_NPUGetFloatStatus, room);
  tl_node_id get = got ? tl_value_producer(scaling->m, got) : TL_NO_NODE;
  for (uint32_t i = 0; get && i < l.n; i++) {
    tl_node_id p = tl_value_producer(scaling->m, l.at[i]);
    if (p && !tl_control_add(scaling->m, p, get, TL_CONTROL_GATE))
      scaling->k.no_memory = true;
  }
  tl_value_id clear = one(scaling, TL_OP_npu_status_NPUClearFloatStatus, got);
  tl_value_id flags = scaling->ranks ? all_reduce(scaling, room, "sum", false) : room;
  tl_value_id same = two(scaling, TL_OP_Equal, flags, clear);
  tl_node_id reader = same && !tl_maker_failed(&scaling->k)
                          ? tl_value_producer(scaling->m, scaling->ranks ? flags : same)
                          : TL_NO_NODE;
  if (reader && !tl_control_add(scaling->m, get, reader, TL_CONTROL_GATE))
    scaling->k.no_memory = true;
  tl_value_id number = tl_ls_cast(&scaling->k, same, TL_DTYPE_F32);
  tl_value_id all =
      tl_ls_make_list(&scaling->k, TL_OP_ReduceMin, &number, 1, tl_attr_int(TL_SYM_keepdims, 0));
  return tl_ls_cast(&scaling->k, all, TL_DTYPE_BOOL);
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Refuses combinations that would need data that the chosen status does not give. */
static tl_status check(const tl_loss_scaling *scaling) {
  const tl_train_config *c = scaling->c;
  tl_location here = TL_AT_FILE(scaling->m->path);
  if (c->tail_mode == TL_TAIL_EARLY_BOUND && c->status != TL_OVERFLOW_ISFINITE)
    return tl_fail_code(scaling->m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", here,
                        "tail_mode=early_bound needs magnitudes, which a status flag does not "
                        "give\vuse status=isfinite");
  if (c->flag_in_bucket && c->tail_mode == TL_TAIL_EARLY_BOUND)
    return tl_fail_code(
        scaling->m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", here,
        "flag_in_bucket=1 sums flags, but tail_mode=early_bound needs their maximum");
  if (c->flag_in_bucket && c->status == TL_OVERFLOW_NPU)
    return tl_fail_code(scaling->m->diag, TL_INVALID_ARGUMENT, "E-OPT-CONFLICT", here,
                        "flag_in_bucket=1 needs a flag of one element\vuse status=isfinite");
  return TL_OK;
}

tl_status tl_ls_make_status(tl_loss_scaling *scaling) {
  TL_TRY(check(scaling));
  if (scaling->c->tail_mode == TL_TAIL_EARLY_BOUND)
    scaling->finite = within_bound(scaling);
  else if (scaling->c->status == TL_OVERFLOW_NPU && !scaling->c->verify_ranks)
    scaling->finite = no_flag_is_up(scaling);
  else if (scaling->c->status == TL_OVERFLOW_ORT)
    scaling->finite = on_all_ranks(scaling, all_finite(scaling));
  else
    scaling->finite = on_no_rank(scaling, any_nan(scaling));
  tl_ls_name(scaling, scaling->finite, TL_LS_FINITE);
  return tl_maker_status(&scaling->k);
}
