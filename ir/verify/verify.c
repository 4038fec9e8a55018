/* SPDX-License-Identifier: Apache-2.0 */
/* Driver of the verifier, and the stage level (stages.tbl). */
#include "ir/verify/verify.h"

#include "ir/verify/internal.h"
#include "ir/verify/stage.h"

/* ---- stage ----------------------------------------------------------------------------------- */

static void check_stage(tl_verifier *v, tl_node_id n) {
  const tl_npu_stage_rule *rule =
      tl_npu_stage_forbids(v->m, tl_npu_stage_of_form((tl_form)v->m->form), n);
  if (rule)
    tl_verify_report(v, n, "%.*s %s, in a module of the form '%s'",
                     TL_SV_ARG(tl_op_name(v->m, tl_node_get(v->m, n)->op)), rule->message,
                     tl_form_name((tl_form)v->m->form));
}

static void check_all_stages(tl_verifier *v) { tl_verify_each_node(v, check_stage); }

const tl_check tl_stage_checks[] = {{"form", check_all_stages}, {NULL, NULL}};

/* ---- driver ---------------------------------------------------------------------------------- */

/* False when the checks of the table found something. careful: a check relies on those before it.
 */
static bool run_checks(tl_verifier *v, const tl_check *checks, bool careful) {
  uint32_t before = v->findings;
  for (; checks->name && !(careful && v->findings != before); checks++) {
    v->check = checks->name;
    checks->fn(v);
  }
  return v->findings == before && !v->out_of_memory;
}

tl_status tl_module_verify(tl_module *m, unsigned levels) {
  tl_verifier v = {.m = m};
  bool sound = true;
  if (levels & TL_VERIFY_STRUCTURAL)
    sound = run_checks(&v, tl_link_checks, true) && run_checks(&v, tl_structure_checks, false);
  if (sound && (levels & TL_VERIFY_TYPED))
    run_checks(&v, tl_type_checks, false);
  if (sound && (levels & TL_VERIFY_STAGE))
    run_checks(&v, tl_stage_checks, false);
  if (sound && v.findings == 0 && (levels & TL_VERIFY_SHAPES))
    run_checks(&v, tl_shape_checks, false);
  if (v.out_of_memory)
    return tl_fail(m->diag, TL_NO_MEMORY, TL_AT_FILE(m->path), "out of memory while verifying");
  return v.findings ? TL_INVALID_MODEL : TL_OK;
}
