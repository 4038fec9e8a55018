/* SPDX-License-Identifier: Apache-2.0 */
/* train-detect: finds parameters, gradients, states and the loss of a training step.
 *
 * Requires:  types inferred.     Keeps: nodes, edges, names.
 * After:     the module declares states, gradients in the order they become ready, and the loss;
 *            parameters are inputs. Later passes keep what is declared.
 * Cost:      O(nodes + edges), and a sort of the nodes.
 * Tests:     tests/golden/train-detect/ */
#include "passes/edit/passes.h"
#include "passes/loops/loops.h"
#include "passes/train/step/declare.h"
#include "passes/train/step/find_step.h"
#include "passes/train/step/info.h"
#include "passes/train/step/no_step.h"

/* Returns true for an optimizer model of ONNX Runtime. It updates sequences of tensors and does not
 * say which parameters they hold, so it needs the training model beside it. */
static bool updates_lists(const tl_module *m) {
  TL_FOR_NODES(m, tl_module_main(m), n) {
    tl_update_row room;
    const tl_update_row *row = tl_train_update_row(m, n, &room);
    if (row && row->layout == TL_UPDATE_SEQUENCE)
      return true;
  }
  return false;
}

static tl_status report_nothing(const tl_module *m) {
  if (updates_lists(m))
    return tl_fail_code(
        m->diag, TL_INVALID_MODEL, "E-TRN-NONE", TL_AT_FILE(m->path),
        "lists of parameters are updated, and it is not known which parameters they hold\vgive the "
        "training model, too: --train-model FILE --optim-model FILE");
  return tl_fail_code(m->diag, TL_INVALID_MODEL, "E-TRN-NONE", TL_AT_FILE(m->path),
                      "no parameter with a gradient and an update was recognised\vdeclare them: "
                      "metadata tailor.train.*, or --train-spec; a model for "
                      "inference is converted with --graph-run-mode=0");
}

/* Remarks on each gradient at its producer, or at its update if the gradient is an input. */
static void remark(tl_pass *p, tl_module *m, const tl_train_info *t) {
  for (uint32_t i = 0; i < t->n; i++) {
    tl_node_id n = t->grads[i].producer ? t->grads[i].producer : t->grads[i].update;
    if (n)
      tl_pass_remark(p, m, n, true, "gradient of '%.*s'",
                     TL_SV_ARG(tl_value_name(m, t->grads[i].param)));
  }
}

tl_status tl_pass_train_detect(tl_pass *p, tl_module *m) {
  tl_train_info t;
  bool changed;
  if (!tl_train_is_on(p->options))
    return TL_OK;
  TL_TRY(tl_train_declare(m)); /* the states of a loop tell that it is one */
  if (tl_is_loop_of_steps(m) || tl_comm_is_no_step(m)) {
    tl_train_settle(m);
    return TL_OK;
  }
  TL_TRY(tl_train_detect(m, p->scratch, &t));
  if (t.form == TL_TRAIN_NONE)
    return report_nothing(m);
  tl_train_warn_untold(m, &t);
  if (t.opaque)
    tl_warn_code(m->diag, "W-TRN-OPAQUE", tl_node_where(m, t.grads[0].producer),
                 "one node produces all gradients, so no communication can overlap with it");
  if (*p->rewrites >= p->limit)
    return TL_OK;
  TL_TRY(tl_train_record(m, &t, &changed));
  if (!changed)
    return TL_OK;
  remark(p, m, &t);
  return tl_pass_may_rewrite(p) ? TL_OK : TL_INTERNAL;
}
