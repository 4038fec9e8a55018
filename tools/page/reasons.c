/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps why tensors have their dtypes: what mixed precision decides, just before it is applied. */
#include "passes/precision/decide.h"
#include "passes/precision/precision.h"
#include "passes/precision/reason.h"
#include "tools/page/facts.h"

static uint32_t text_of(tl_view_model *v, const tl_precision *d, tl_precision_place place) {
  tl_buf *room = &v->record.json;
  tl_buf_clear(room);
  tl_precision_add_reason(v->m, d, place, room);
  uint32_t text = tl_view_text(&v->strings, tl_buf_view(room));
  tl_buf_clear(room);
  return text;
}

/* Keeps the reason of the first result, and those of operands that want another dtype than their
 * value has. */
static void keep_node(tl_view_model *v, const tl_precision *d, tl_node_id n) {
  const tl_node *node = tl_node_get(v->m, n);
  const char *why = n < d->n_nodes ? d->nodes[n].why : NULL;
  const tl_precision_slot *s = node->n_results ? &d->values[node->results] : NULL;
  if (s && tl_dtype_is_float((tl_dtype)s->original))
    tl_view_set(&v->record, &v->dtype_why, n, text_of(v, d, (tl_precision_place){s, true, why}));
  for (uint32_t i = 0; i < node->n_operands; i++) {
    tl_use_id use = node->operands + i;
    tl_value_id value = tl_use_get(v->m, use)->value;
    s = &d->uses[use];
    if (value && s->chosen != TL_DTYPE_NONE && s->chosen != d->values[value].chosen)
      tl_view_set(&v->record, &v->use_why, use, text_of(v, d, (tl_precision_place){s, false, why}));
  }
}

static void keep_all(tl_view_model *v, const tl_precision *d) {
  for (uint32_t i = 0; i < v->m->graphs.n; i++)
    if (!v->m->graphs.at[i]->erased)
      TL_FOR_NODES(v->m, v->m->graphs.at[i], n)
        keep_node(v, d, n);
}

/* Decides as the pass that follows will. What is wrong, the pass reports. */
static tl_status decide(tl_view_model *v) {
  tl_muted muted;
  tl_precision d;
  tl_precision_own own;
  tl_arena arena;
  if (!tl_precision_settle(&v->cli->settings.options, v->stage == TL_STAGE_ONNX, &own))
    return TL_OK;
  tl_arena_init(&arena, 0);
  tl_mute(&muted, v->m, NULL, NULL);
  tl_status status = tl_precision_decide(v->m, &own.options, &arena, &d);
  tl_unmute(&muted);
  if (status == TL_OK) {
    keep_all(v, &d);
    tl_view_precision_keep(v, &d);
  }
  tl_arena_release(&arena);
  return status == TL_NO_MEMORY ? status : TL_OK;
}

/* A Cast that was made has the reason of the first operand that reads it. */
static void name_casts(tl_view_model *v) {
  for (tl_node_id n = v->record.first_new; n < tl_module_node_end(v->m); n++) {
    if (!tl_view_is_node(v->m, n) || !tl_node_get(v->m, n)->n_results)
      continue;
    tl_use_id use = tl_value_get(v->m, tl_node_get(v->m, n)->results)->first_use;
    uint32_t why = use ? tl_view_get(&v->use_why, use) : 0;
    if (why)
      tl_view_set(&v->record, &v->dtype_why, n, why);
  }
}

tl_status tl_view_reasons_pass(tl_view_model *v, const tl_pass_event *e) {
  if (strcmp(e->row->name, "precision") != 0)
    return TL_OK;
  if (!e->after)
    return decide(v);
  name_casts(v);
  return TL_OK;
}
