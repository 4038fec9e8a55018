/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a value that a pass made where an old one was (take_place.h). */
#include "passes/train/update/take_place.h"

#include "passes/edit/values.h"

void tl_plain_take_place(tl_maker *k, tl_value_id old, tl_value_id made, tl_value_id first) {
  tl_module *m = k->m;
  if (tl_maker_failed(k) || !made)
    return;
  tl_value *v = tl_value_get(m, made);
  bool own = v->kind == TL_VALUE_RESULT && made >= first && !tl_value_leaves_graph(m, made) &&
             tl_value_graph(m, made) == k->graph;
  if (!own) {
    tl_maker_replace(k, old, made);
    return;
  }
  v->name = tl_value_get(m, old)->name ? tl_value_get(m, old)->name : v->name;
  if (tl_type_get(m, v->type)->rank < 0)
    tl_value_set_type(m, made, tl_value_type(m, old));
  tl_value_get(m, old)->name = 0;
  tl_value_move_roles(m, old, made);
  tl_value_replace_uses(m, old, made);
}
