/* SPDX-License-Identifier: Apache-2.0 */
/* select: chooses the NPU candidate of every node; nothing is rewritten.
 *
 * Requires:  types inferred, captures of If bodies explicit.   Keeps: everything.
 * After:     node->selected is set; node->candidate is the first row whose guard holds, or -1.
 * Cost:      one sweep; a guard looks at the node and its operands only.
 * Tests:     tests/golden/select/ */
#include "passes/npu/select.h"
#include "ir/ops_gen.h"
#include "passes/edit/passes.h"
#include "passes/npu/eval.h"

static tl_status select_node(tl_npu_forms *forms, tl_site *site) {
  tl_node *node = tl_node_get(site->m, site->node);
  const tl_op *row = tl_op_row(node->op);
  const tl_npu_form *form;
  int16_t candidate;
  if (row && row->domain_symbol == TL_SYM_npu && row->n_npu == 0)
    return TL_OK; /* an NPU op is its own form */
  TL_TRY(tl_npu_choose(forms, site, &candidate, &form));
  node->candidate = candidate;
  node->selected = true;
  return TL_OK;
}

static tl_status select_graph(tl_pass *p, tl_npu_forms *forms, tl_graph *g, tl_arena *scratch,
                              bool made) {
  tl_site site = {.m = forms->m, .scratch = scratch, .options = p->options};
  TL_FOR_NODES(forms->m, g, n) {
    if (made && tl_node_get(forms->m, n)->selected)
      continue;
    tl_arena_mark mark = tl_arena_save(scratch);
    site.node = n;
    TL_TRY(select_node(forms, &site));
    tl_arena_rewind(scratch, mark);
    if (site.failed)
      return tl_no_memory(forms->m);
  }
  return TL_OK;
}

/* made: only nodes that select has not visited */
static tl_status select_all(tl_pass *p, tl_module *m, bool made) {
  tl_npu_forms forms;
  tl_arena lists; /* lists of one node at a time */
  tl_status status = tl_npu_forms_init(&forms, m);
  tl_arena_init(&lists, 0);
  for (uint32_t i = 0; i < m->graphs.n && status == TL_OK; i++)
    if (!m->graphs.at[i]->erased)
      status = select_graph(p, &forms, m->graphs.at[i], &lists, made);
  tl_arena_release(&lists);
  return status;
}

tl_status tl_pass_select(tl_pass *p, tl_module *m) {
  TL_TRY(select_all(p, m, false));
  if (m->form < TL_FORM_SELECTED)
    m->form = TL_FORM_SELECTED;
  return TL_OK;
}

tl_status tl_select_made(tl_pass *p, tl_module *m) {
  return m->form == TL_FORM_SELECTED ? select_all(p, m, true) : TL_OK;
}
