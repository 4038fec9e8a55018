/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the way by which a walk reached a value, and the declarations that a user can copy. */
#include "passes/train/step/path.h"

#include "ir/graph.h"
#include "support/json_writer.h"

/* MOST_STEPS guards against a circle in `from`. */
enum { MOST_SHOWN = 8, SHOWN_FIRST = 3, MOST_STEPS = 100000 };

/* Returns the number of values on the way to v, with v. */
static uint32_t length(const tl_value_id *from, tl_value_id v) {
  uint32_t n = 0;
  for (; v && n < MOST_STEPS; v = from[v])
    n++;
  return n;
}

/* Returns the value that many steps before v. */
static tl_value_id at(const tl_value_id *from, tl_value_id v, uint32_t steps_back) {
  while (steps_back--)
    v = from[v];
  return v;
}

static void add_name(const tl_module *m, tl_value_id v, tl_buf *out) {
  tl_sv name = tl_value_name(m, v);
  tl_node_id n = tl_value_producer(m, v);
  if (name.n)
    tl_buf_add_sv(out, tl_sv_shown(name));
  else if (n)
    tl_buf_add_sv(out, tl_op_name(m, tl_node_get(m, n)->op));
}

void tl_train_add_path(const tl_module *m, const tl_value_id *from, tl_value_id v, tl_buf *out) {
  uint32_t n = length(from, v);
  bool cut = n > MOST_SHOWN;
  for (uint32_t i = 0; i < n; i++) {
    if (cut && i == SHOWN_FIRST) {
      tl_buf_add_z(out, " -> ...");
      i = n - (MOST_SHOWN - SHOWN_FIRST);
    }
    tl_buf_add_z(out, i ? " -> " : "");
    add_name(m, at(from, v, n - 1 - i), out);
  }
}

tl_value_id tl_train_nearest(const tl_module *m, const tl_value_id *from, tl_value_id v,
                             tl_value_id param, bool (*is)(const void *user, tl_value_id v),
                             const void *user) {
  uint64_t wanted, n;
  uint32_t steps = 0;
  if (!tl_type_elements(m, tl_value_type(m, param), &wanted))
    return TL_NO_VALUE;
  for (v = from[v]; v && steps < MOST_STEPS; v = from[v], steps++)
    if (tl_value_graph(m, v) == tl_module_main(m)->id && is(user, v) &&
        tl_type_elements(m, tl_value_type(m, v), &n) && n == wanted)
      return v;
  return TL_NO_VALUE;
}

/* Begins {"state": [[param, next]]. */
static void add_pair(const tl_module *m, tl_value_id param, tl_value_id next, tl_json_writer *w) {
  tl_put_object(w);
  tl_put_key(w, "state");
  tl_put_array(w);
  tl_put_array(w);
  tl_put_sv(w, tl_value_name(m, param));
  tl_put_sv(w, tl_value_name(m, next));
  tl_put_end(w);
  tl_put_end(w);
}

void tl_train_add_state(const tl_module *m, tl_value_id state, tl_value_id next, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  add_pair(m, state, next, &w);
  tl_put_end(&w);
}

void tl_train_add_spec(const tl_module *m, tl_value_id param, tl_value_id next, tl_value_id grad,
                       tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  add_pair(m, param, next, &w);
  tl_put_key(&w, "grads");
  tl_put_object(&w);
  tl_put_key_sv(&w, tl_value_name(m, param));
  tl_put_sv(&w, grad ? tl_value_name(m, grad) : TL_SV("GRADIENT"));
  tl_put_end(&w);
  tl_put_end(&w);
}
