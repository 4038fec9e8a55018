/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the lookups of domains, opsets and ops by name (ops.h). */
#include "frontend/onnx/ops.h"

#include "ir/ops_gen.h"

tl_symbol tl_onnx_domain(tl_onnx_reader *r, tl_sv domain) {
  tl_symbol s = tl_onnx_symbol(r, domain);
  return s == TL_SYM_ai_onnx ? 0 : s;
}

tl_status tl_onnx_read_opset(tl_onnx_reader *r, tl_proto w, tl_symbol *domain, int64_t *version) {
  tl_field f;
  tl_step step;
  *domain = 0;
  *version = 0;
  while ((step = tl_proto_next(&w, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(1, TL_WIRE_BYTES))
      *domain = tl_onnx_domain(r, tl_proto_sv(f.body));
    else if (tl_field_tag(&f) == TL_TAG(2, TL_WIRE_VARINT))
      *version = (int64_t)f.value;
  }
  if (step == TL_STEP_BAD)
    return tl_onnx_malformed(r, w.p, "OperatorSetIdProto");
  return *domain == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

/* Returns an op of the default domain; the answer is cached by symbol. */
static tl_op_id standard_op(tl_onnx_reader *r, tl_symbol name) {
  if (name > tl_n_seeds)
    return UINT32_MAX;
  uint32_t known = tl_slot_get(&r->ops, name);
  if (known)
    return known - 1;
  tl_op_id op = tl_op_find(0, name);
  return tl_slot_set(&r->ops, name, op + 1) == TL_OK ? op : UINT32_MAX;
}

tl_op_id tl_onnx_table_op(tl_onnx_reader *r, tl_symbol domain, tl_symbol name) {
  if (domain == 0)
    return standard_op(r, name);
  return domain <= tl_n_seeds && name <= tl_n_seeds ? tl_op_find(domain, name) : UINT32_MAX;
}
