/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the decision of mixed precision for a model, before the pass applies it. */
#include "tools/explain/decision.h"
#include "passes/precision/decide.h"

/* Who looks at the decision. */
typedef struct show {
  tl_cli *cli;
  tl_decision_fn look;
  void *user;
} show;

/* Decides as the pass that follows will. Messages are muted, because that pass gives them. */
static tl_status decide(show *s, tl_module *m) {
  tl_muted muted;
  tl_precision d;
  tl_precision_own own;
  tl_arena arena;
  if (!tl_precision_settle(&s->cli->settings.options, false, &own))
    return TL_OK;
  tl_arena_init(&arena, 0);
  tl_mute(&muted, m, NULL, NULL);
  tl_status status = tl_precision_decide(m, &own.options, &arena, &d);
  tl_unmute(&muted);
  if (status == TL_OK)
    s->look(s->user, m, &d);
  tl_arena_release(&arena);
  return status == TL_NO_MEMORY ? status : TL_OK; /* the pass reports what is wrong */
}

/* Decides when the pipeline reaches the pass of precision, whose input the decision is about. */
static tl_status watch(void *user, tl_module *m, const tl_pass_event *e) {
  show *s = user;
  if (*s->cli->signal)
    return TL_IO;
  return !e->after && strcmp(e->row->name, "precision") == 0 ? decide(s, m) : TL_OK;
}

tl_status tl_decision_show(tl_cli *cli, tl_decision_fn look, tl_remark_fn remark, void *user) {
  tl_module *m;
  show s = {cli, look, user};
  TL_TRY(tl_session_load(&cli->session, cli->word, &m));
  tl_pipeline_options p = tl_session_pipeline(&cli->session, TL_STAGE_SELECT);
  p.hook = watch;
  p.hook_user = &s;
  p.remark = remark;
  p.remark_user = user;
  tl_status status = tl_session_run(&cli->session, m, &p, NULL);
  tl_module_destroy(m);
  return status;
}
