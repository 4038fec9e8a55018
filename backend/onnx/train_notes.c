/* SPDX-License-Identifier: Apache-2.0 */
/* Writes as metadata what ONNX cannot express: control edges and declarations of a training step.
 * The metadata is on the module only for the time of writing. */
#include "backend/onnx/emit.h"
#include "ir/graph.h"
#include "ir/marks.h"
#include "ir/text/parse.h"
#include "support/json_writer.h"

/* ---- control edges --------------------------------------------------------------------------- */

/* Gives each source of a control edge a unique name, since metadata refers to nodes by name. */
static tl_status name_sources(tl_module *m) {
  uint32_t n = m->symbols.n;
  uint8_t *seen = calloc((size_t)n + 1, sizeof *seen);
  bool ok = seen != NULL;
  for (tl_node_id i = 1; ok && i < tl_module_node_end(m); i++) {
    tl_node *node = tl_node_get(m, i);
    if (node->op == TL_OP_ERASED || node->op == TL_OP_RETURN)
      continue;
    bool taken = !node->name || (node->name < n && seen[node->name]);
    if (node->control_out && taken) {
      tl_sv base = node->name ? tl_sym(m, node->name) : tl_op_name(m, node->op);
      node->name = tl_module_fresh_name(m, base);
      ok = node->name != TL_NO_SYMBOL;
    }
    if (node->name < n)
      seen[node->name] = 1;
  }
  free(seen);
  return ok ? TL_OK : tl_no_memory(m);
}

/* Appends a name of a comma-separated list: ',' and '%' become %2C and %25. */
static void add_escaped(tl_buf *out, tl_sv name) {
  for (size_t i = 0; i < name.n; i++) {
    if (name.p[i] == ',' || name.p[i] == '%')
      tl_buf_printf(out, "%%%02X", (unsigned char)name.p[i]);
    else
      tl_buf_add_char(out, name.p[i]);
  }
}

/* Notes the sources of a node's control edges, and the origin of each, as two lists. */
static tl_status note_node(tl_module *m, tl_node_id n) {
  tl_buf from, origin;
  tl_buf_init(&from);
  tl_buf_init(&origin);
  for (tl_control_id c = tl_node_get(m, n)->control_in; c; c = tl_control_get(m, c)->next_in) {
    const tl_control *e = tl_control_get(m, c);
    if (from.n) {
      tl_buf_add_char(&from, ',');
      tl_buf_add_char(&origin, ',');
    }
    add_escaped(&from, tl_sym(m, tl_node_get(m, e->from)->name));
    tl_buf_add_z(&origin, tl_control_origin_name((tl_control_origin)e->origin));
  }
  bool ok = !from.failed && !origin.failed &&
            tl_node_set_note(m, n, TL_NOTE_CONTROL, tl_buf_view(&from)) &&
            tl_node_set_note(m, n, TL_NOTE_ORIGIN, tl_buf_view(&origin));
  tl_buf_release(&from);
  tl_buf_release(&origin);
  return ok ? TL_OK : tl_no_memory(m);
}

/* Notes all control edges. Entry 0 of the edges is unused, so a count of 1 means none. */
static tl_status note_edges(tl_module *m) {
  if (m->controls.next <= 1)
    return TL_OK;
  TL_TRY(name_sources(m));
  for (tl_node_id n = 1; n < tl_module_node_end(m); n++)
    if (tl_node_get(m, n)->op != TL_OP_ERASED && tl_node_get(m, n)->control_in)
      TL_TRY(note_node(m, n));
  return TL_OK;
}

/* Removes the notes of control edges. Returns false for lack of memory; what stays is true. */
static bool drop_edges(tl_module *m) {
  for (tl_node_id n = 1; m->controls.next > 1 && n < tl_module_node_end(m); n++) {
    if (tl_node_get(m, n)->op == TL_OP_ERASED || !tl_node_get(m, n)->control_in)
      continue;
    if (!tl_node_set_note(m, n, TL_NOTE_CONTROL, TL_SV("")) ||
        !tl_node_set_note(m, n, TL_NOTE_ORIGIN, TL_SV("")))
      return false;
  }
  return true;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Appends the name of a value, "" if there is none. */
static void add_name(tl_json_writer *w, const tl_module *m, tl_value_id v) {
  tl_put_sv(w, v ? tl_value_name(m, v) : TL_SV(""));
}

/* Appends [input, output] of each state. */
static void add_state(tl_json_writer *w, const tl_module *m) {
  tl_put_array(w);
  for (uint32_t i = 0; i < m->states.n; i++) {
    tl_put_array(w);
    add_name(w, m, m->states.at[i].input);
    add_name(w, m, m->states.at[i].output);
    tl_put_end(w);
  }
  tl_put_end(w);
}

/* Appends the parameters in the order of their gradients or, if there are no gradients, in the
 * order of the states. */
static void add_params(tl_json_writer *w, const tl_module *m) {
  tl_put_array(w);
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    add_name(w, m, m->gradients.at[i].param);
  }
  for (uint32_t i = 0; !m->gradients.n && i < m->states.n; i++) {
    if (!m->states.at[i].parameter)
      continue;
    add_name(w, m, m->states.at[i].input);
  }
  tl_put_end(w);
}

/* Appends {parameter: gradient}, with values and indices for a sparse gradient. */
static void add_grads(tl_json_writer *w, const tl_module *m) {
  tl_put_object(w);
  for (uint32_t i = 0; i < m->gradients.n; i++) {
    const tl_gradient *g = &m->gradients.at[i];
    tl_put_key_sv(w, g->param ? tl_value_name(m, g->param) : TL_SV(""));
    if (g->indices) {
      tl_put_object(w);
      tl_put_key(w, "values");
    }
    add_name(w, m, g->grad);
    if (g->indices) {
      tl_put_key(w, "indices");
      add_name(w, m, g->indices);
      tl_put_end(w);
    }
  }
  tl_put_end(w);
}

static void add_loss(tl_json_writer *w, const tl_module *m) { add_name(w, m, m->loss); }
static void add_seed(tl_json_writer *w, const tl_module *m) { add_name(w, m, m->seed); }

/* One row per metadata key; the enum names rows that is_said treats apart. */
static const struct {
  const char *key;
  void (*add)(tl_json_writer *w, const tl_module *m);
} notes[] = {{"tailor.train.params", add_params},     {"tailor.train.grads", add_grads},
             {"tailor.train.grad_order", add_params}, {"tailor.train.state", add_state},
             {"tailor.train.loss", add_loss},         {"tailor.train.seed", add_seed}};

enum { N_NOTES = sizeof notes / sizeof *notes, PARAMS = 0, STATE = 3, LOSS = 4, SEED = 5 };

/* Returns true if the module declares parameters, by gradients or states. */
static bool has_parameters(const tl_module *m) {
  bool found = m->gradients.n != 0;
  for (uint32_t i = 0; i < m->states.n && !found; i++)
    found = m->states.at[i].parameter;
  return found;
}

/* Returns true if the module declares what row i writes. */
static bool is_said(const tl_module *m, size_t i) {
  if (i == PARAMS)
    return has_parameters(m);
  return i == STATE ? m->states.n : i == LOSS ? m->loss : i == SEED ? m->seed : m->gradients.n;
}

/* Returns true for a metadata key that is written anew. */
static bool is_ours(const tl_module *m, tl_symbol key) {
  for (size_t i = 0; i < N_NOTES; i++)
    if (is_said(m, i) && tl_sv_is(tl_sym(m, key), notes[i].key))
      return true;
  return false;
}

/* Adds the declarations of the step to the model's metadata, in place of older entries of the same
 * keys. */
static tl_status note_step(tl_module *m) {
  bool any = false;
  for (size_t i = 0; i < N_NOTES; i++)
    any = any || is_said(m, i);
  if (!any)
    return TL_OK;
  tl_extra *e = tl_module_extra(m, &m->extra);
  tl_pair *pairs = e ? tl_arena_calloc(&m->arena, e->n_metadata + (size_t)N_NOTES, sizeof *pairs)
                     : NULL;
  uint32_t n = 0;
  bool ok = pairs != NULL;
  for (uint32_t i = 0; ok && i < e->n_metadata; i++)
    if (!is_ours(m, e->metadata[i].key))
      pairs[n++] = e->metadata[i];
  for (size_t i = 0; ok && i < N_NOTES; i++) {
    tl_buf text;
    tl_json_writer w = tl_json_to(&text);
    if (!is_said(m, i))
      continue;
    tl_buf_init(&text);
    notes[i].add(&w, m);
    pairs[n].key = tl_module_intern(m, tl_sv_from(notes[i].key));
    pairs[n].value = text.failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(&text));
    ok = pairs[n].key != TL_NO_SYMBOL && pairs[n].value != TL_NO_SYMBOL;
    tl_buf_release(&text);
    n++;
  }
  if (!ok)
    return tl_no_memory(m);
  e->metadata = pairs;
  e->n_metadata = n;
  return TL_OK;
}

tl_status tl_onnx_put_notes(tl_module *m, tl_onnx_notes *before) {
  *before = (tl_onnx_notes){m->extras.at[m->extra].metadata, m->extras.at[m->extra].n_metadata};
  TL_TRY(note_edges(m));
  return note_step(m);
}

bool tl_onnx_drop_notes(tl_module *m, const tl_onnx_notes *before) {
  bool ok = drop_edges(m);
  if (m->extra) {
    m->extras.at[m->extra].metadata = before->metadata;
    m->extras.at[m->extra].n_metadata = before->n_metadata;
  }
  return ok;
}
