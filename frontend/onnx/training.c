/* SPDX-License-Identifier: Apache-2.0 */
/* Imports TrainingInfoProto: the nodes of each algorithm go behind the nodes of the model's graph.
 * A binding makes a state of an initializer: an input with a default value, whose next value is an
 * output of the graph. */
#include "frontend/onnx/training.h"

enum { INITIALIZATION = 1, ALGORITHM = 2, UPDATE_BINDING = 4, TRAINING_INFO = 20 };
enum { MOST = 64 };

void tl_onnx_training_release(tl_onnx_training *training) {
  tl_proto_vec_release(&training->algorithms);
  tl_proto_vec_release(&training->nodes);
  tl_u32_vec *const lists[] = {&training->first_nodes, &training->last_bindings,
                               &training->bindings, &training->is_output};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    tl_u32_vec_release(lists[i]);
}

/* Reads a binding (StringStringEntryProto) and pushes the keys of both names. */
static tl_status read_binding(tl_onnx_training *training, tl_proto entry) {
  tl_field f;
  tl_step step;
  tl_sv names[2] = {{"", 0}, {"", 0}};
  while ((step = tl_proto_next(&entry, &f)) == TL_STEP_FIELD)
    if (f.type == TL_WIRE_BYTES && (f.number == 1 || f.number == 2))
      names[f.number - 1] = tl_proto_sv(f.body);
  if (step == TL_STEP_BAD)
    return tl_onnx_malformed(training->r, entry.p, "StringStringEntryProto");
  if (!names[0].n || !names[1].n)
    return tl_fail(training->r->d, TL_INVALID_MODEL, TL_AT_FILE(training->r->path),
                   "a binding of training_info lacks a name");
  for (int i = 0; i < 2; i++) {
    tl_symbol key = tl_onnx_key(training->names, names[i]);
    if (key == TL_NO_SYMBOL || !tl_u32_vec_push(&training->bindings, key))
      return TL_NO_MEMORY;
  }
  return TL_OK;
}

static tl_status read_info(tl_onnx_training *training, tl_proto info) {
  tl_field f;
  tl_step step;
  bool resets = false;
  tl_proto algorithm = {0};
  while ((step = tl_proto_next(&info, &f)) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) == TL_TAG(UPDATE_BINDING, TL_WIRE_BYTES))
      TL_TRY(read_binding(training, f.body));
    else if (tl_field_tag(&f) == TL_TAG(ALGORITHM, TL_WIRE_BYTES))
      algorithm = f.body;
    resets |= f.number == INITIALIZATION;
  }
  if (step == TL_STEP_BAD)
    return tl_onnx_malformed(training->r, info.p, "TrainingInfoProto");
  if (!tl_proto_vec_push(&training->algorithms, algorithm) ||
      !tl_u32_vec_push(&training->last_bindings, training->bindings.n))
    return TL_NO_MEMORY;
  if (resets)
    tl_warn_code(
        training->r->d, "W-TRN-RESET", TL_AT_FILE(training->r->path),
        "the initialization of training_info is ignored: the step starts from the initializers");
  return TL_OK;
}

tl_status tl_onnx_read_training(tl_onnx_training *training) {
  tl_proto w = training->r->model;
  tl_field f;
  uint32_t n = 0;
  while (tl_proto_next(&w, &f) == TL_STEP_FIELD) {
    if (tl_field_tag(&f) != TL_TAG(TRAINING_INFO, TL_WIRE_BYTES))
      continue;
    if (n++ == MOST)
      return tl_fail(training->r->d, TL_LIMIT, TL_AT_FILE(training->r->path),
                     "the model has more than %d training_info", MOST);
    TL_TRY(read_info(training, f.body));
  }
  if (n && training->r->m->ir_version < 7)
    return tl_fail(training->r->d, TL_INVALID_MODEL, TL_AT_FILE(training->r->path),
                   "training_info needs ir_version 7, the model has %lld",
                   (long long)training->r->m->ir_version);
  return TL_OK;
}

static tl_sv shown(const tl_onnx_training *training, tl_symbol key) {
  return tl_sv_shown(tl_sym(training->r->m, tl_onnx_display(training->names, key)));
}

tl_status tl_onnx_states(tl_onnx_training *training) {
  for (uint32_t i = 0; i < training->bindings.n; i += 2) {
    tl_symbol key = training->bindings.at[i];
    tl_state s = {.input = tl_onnx_lookup(training->names, key),
                  .output = tl_onnx_lookup(training->names, training->bindings.at[i + 1])};
    if (tl_slot_get(&training->names->mark, key))
      return tl_fail(training->r->d, TL_INVALID_MODEL, TL_AT_FILE(training->r->path),
                     "training_info binds '%.*s' twice", TL_SV_ARG(shown(training, key)));
    TL_TRY(tl_slot_set(&training->names->mark, key, 1));
    if (!s.output)
      return tl_fail(training->r->d, TL_INVALID_MODEL, TL_AT_FILE(training->r->path),
                     "training_info binds '%.*s' to '%.*s', which nothing defines",
                     TL_SV_ARG(shown(training, key)),
                     TL_SV_ARG(shown(training, training->bindings.at[i + 1])));
    if (!tl_state_vec_push(&training->r->m->states, s))
      return TL_NO_MEMORY;
  }
  for (uint32_t i = 0; i < training->bindings.n; i += 2)
    TL_TRY(tl_slot_set(&training->names->mark, training->bindings.at[i], 0));
  return TL_OK;
}
