/* SPDX-License-Identifier: Apache-2.0 */
/* Driver of the verifier, and the stage level: what may exist in a module of each form. */
#include "ir/verify.h"

#include "ir/ops_gen.h"
#include "ir/verify_internal.h"

void tl_verify_report(tl_verifier *v, tl_node_id n, const char *fmt, ...) {
  tl_location where = n ? tl_node_where(v->m, n) : TL_AT_FILE(v->m->path);
  tl_buf text;
  va_list ap;
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  v->findings++;
  tl_fail(v->m->diag, TL_INVALID_MODEL, where, "%s (%s check)",
          text.failed ? "out of memory while reporting" : text.p, v->check);
  tl_buf_release(&text);
}

void tl_verify_each_node(tl_verifier *v, void (*fn)(tl_verifier *v, tl_node_id n)) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++) {
    const tl_graph *g = v->m->graphs.at[i];
    if (g->erased)
      continue;
    TL_FOR_NODES(v->m, g, n)
      fn(v, n);
    fn(v, g->ret);
  }
}

/* ---- stage ----------------------------------------------------------------------------------- */

static bool is_npu(const tl_module *m, const tl_node *node) {
  return tl_op_domain_symbol(m, node->op) == TL_SYM_npu;
}

/* Select looked at the node and found nothing that lower could have made of it. */
static bool cannot_lower(const tl_node *node, const tl_op *row) {
  if (!node->selected || node->candidate < 0 || node->candidate >= row->n_npu)
    return node->selected;
  uint8_t kind = row->npu[node->candidate].kind;
  return kind == TL_LOWER_NONE || kind == TL_LOWER_EXPAND;
}

static bool is_foreign(const tl_module *m, const tl_node *node) {
  return is_npu(m, node) && tl_op_row(node->op);
}

static bool is_selected(const tl_module *m, const tl_node *node) {
  (void)m;
  return node->selected || node->candidate >= 0;
}

static bool is_left_over(const tl_module *m, const tl_node *node) {
  const tl_op *row = tl_op_row(node->op);
  return row && !is_npu(m, node) && !cannot_lower(node, row);
}

/* What must not exist in which form. Opaque ops pass everywhere: they are carried. */
static const struct {
  uint8_t form;
  bool (*forbidden)(const tl_module *m, const tl_node *node);
  const char *message;
} stage_rules[] = {
    {TL_FORM_CANONICAL, is_foreign, "an NPU op before lowering"},
    {TL_FORM_CANONICAL, is_selected, "an NPU type before select"},
    {TL_FORM_SELECTED, is_foreign, "an NPU op before lowering"},
    {TL_FORM_NPU, is_left_over, "an op that lowering should have replaced"},
};

static void check_stage(tl_verifier *v, tl_node_id n) {
  const tl_node *node = tl_node_get(v->m, n);
  if (tl_node_is_return(v->m, n))
    return;
  for (size_t i = 0; i < sizeof stage_rules / sizeof stage_rules[0]; i++)
    if (stage_rules[i].form == v->m->form && stage_rules[i].forbidden(v->m, node))
      tl_verify_report(v, n, "%.*s is %s, in a module of the form '%s'",
                       TL_SV_ARG(tl_op_name(v->m, node->op)), stage_rules[i].message,
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
