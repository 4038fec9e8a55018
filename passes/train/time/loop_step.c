/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises steps in a loop (loop_step.h). */
#include "passes/train/time/loop_step.h"

#include "ir/graph.h"
#include "ir/ops_gen.h"
#include "passes/loops/loops.h"
#include "passes/train/step/regions.h"
#include "passes/train/time/step.h"

/* Returns the loop whose result is the first state; TL_NO_NODE if there is none. */
static tl_node_id loop_of(const tl_module *m) {
  return tl_is_loop_of_steps(m) ? tl_value_producer(m, m->states.at[0].output) : TL_NO_NODE;
}

/* Returns the offset of results: the body of an ONNX Loop returns the condition first. Its inputs
 * begin with iteration and condition, twice this offset. While has neither. */
static uint32_t before_outputs(const tl_module *m, tl_node_id loop) {
  return tl_node_get(m, loop)->op == TL_OP_Loop;
}

static tl_value_id in_body(const tl_module *m, tl_node_id loop, tl_value_id result) {
  const tl_graph *body = tl_step_graph(m);
  uint32_t i = tl_value_get(m, result)->index + before_outputs(m, loop);
  return i < tl_graph_n_outputs(m, body) ? tl_graph_output(m, body, i) : TL_NO_VALUE;
}

void tl_train_state_in_step(const tl_module *m, uint32_t i, tl_value_id *before,
                            tl_value_id *after) {
  const tl_state *s = &m->states.at[i];
  *before = s->input;
  *after = s->output;
  if (!tl_step_state_of(m)->graph)
    return;
  tl_node_id loop = tl_step_graph(m)->owner;
  const tl_graph *body = tl_step_graph(m);
  bool is_there = s->output && tl_value_producer(m, s->output) == loop;
  uint32_t place = is_there ? tl_value_get(m, s->output)->index + 2 * before_outputs(m, loop) : 0;
  is_there = is_there && place < body->inputs.n;
  *before = is_there ? body->inputs.at[place] : TL_NO_VALUE;
  *after = is_there ? in_body(m, loop, s->output) : TL_NO_VALUE;
}

/* Returns the loss as the body gives it: the value that the loss of the graph is picked from. In a
 * While this is a buffer with the loss of each step, which needs the same nodes. */
static tl_value_id loss_in_body(const tl_module *m, tl_node_id loop) {
  enum { FARTHEST = 8 };
  tl_value_id v = m->loss;
  for (int i = 0; i < FARTHEST && v; i++) {
    tl_node_id from = tl_value_producer(m, v);
    if (!from)
      break;
    if (from == loop)
      return in_body(m, loop, v);
    v = tl_operand(m, from, 0);
  }
  return TL_NO_VALUE;
}

static uint32_t count_gradients(const tl_module *m, const tl_graph *body) {
  uint32_t n = 0;
  TL_FOR_NODES(m, body, k)
    n += tl_node_is_bucket(m, k) ? tl_node_get(m, k)->n_operands : 0;
  return n;
}

static void list_gradients(const tl_module *m, const tl_graph *body, tl_train_info *out) {
  TL_FOR_NODES(m, body, k)
    for (uint32_t i = 0; tl_node_is_bucket(m, k) && i < tl_node_get(m, k)->n_operands; i++) {
      tl_value_id raw = tl_operand(m, k, i);
      out->grads[out->n++] = (tl_train_grad){
          .raw = raw, .producer = raw ? tl_value_producer(m, raw) : TL_NO_NODE, .comm = k};
    }
}

tl_status tl_train_detect_in_loop(tl_module *m, tl_arena *arena, tl_train_info *out) {
  tl_node_id loop = loop_of(m);
  const tl_attr *a = loop ? tl_node_attr(m, loop, TL_SYM_body) : NULL;
  *out = (tl_train_info){.form = TL_TRAIN_NONE};
  if (!a || a->kind != TL_ATTR_GRAPH || tl_node_get(m, loop)->graph != tl_module_main(m)->id)
    return TL_OK;
  const tl_graph *body = tl_graph_get(m, a->u.g);
  uint32_t n = count_gradients(m, body);
  if (!n)
    return TL_OK;
  tl_step_state_edit(m)->graph = body->id;
  out->grads = tl_arena_calloc(arena, n, sizeof *out->grads);
  if (out->grads)
    list_gradients(m, body, out);
  out->loss = loss_in_body(m, loop);
  out->form = TL_TRAIN_PLAIN;
  if (out->grads && tl_train_find_regions(m, arena, out, NULL, 0) == TL_OK)
    return TL_OK;
  tl_step_state_edit(m)->graph = TL_NO_GRAPH;
  return tl_no_memory(m);
}
