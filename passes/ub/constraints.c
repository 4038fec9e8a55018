/* SPDX-License-Identifier: Apache-2.0 */
/* Checks constraints that hold for every pass on nodes of one kernel: streams, events, marks,
 * shapes. */
#include "ir/marks.h"
#include "passes/ub/group.h"

/* The tables are by tl_ub_refusal. */
const char *tl_ub_refused(const tl_ub_fuser *f, uint32_t at, const char **reason) {
  static const char *const codes[] = {NULL, "DUMPABLE", "PARTITION", "OVERLAP", "STREAM_LABEL"};
  static const char *const reasons[] = {NULL, "its results are to be dumped (_dump_able)",
                                        "it runs on the host",
                                        "its fusion_scope is below 0, which keeps it alone",
                                        "an event of the schedule belongs to it"};
  *reason = reasons[f->g->at[at].refusal];
  return codes[f->g->at[at].refusal];
}

/* Compares streams as the schedule and as the user of the model name them. */
static bool notes_differ(const tl_module *m, tl_node_id a, tl_node_id b) {
  static const char *const keys[] = {TL_NOTE_STREAM, "_stream_label"};
  if (!m->extras.at[tl_node_get(m, a)->extra].n_metadata &&
      !m->extras.at[tl_node_get(m, b)->extra].n_metadata) /* without notes, both are empty */
    return false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!tl_sv_eq(tl_node_note(m, a, keys[i]), tl_node_note(m, b, keys[i])))
      return true;
  return false;
}

const char *tl_ub_differ(const tl_ub_fuser *f, uint32_t a, uint32_t b, const char **reason) {
  const tl_ub_node *node = &f->g->at[a], *y = &f->g->at[b];
  const tl_node *n = tl_node_get(f->m, node->id), *o = tl_node_get(f->m, y->id);
  if (n->stream != o->stream || notes_differ(f->m, node->id, y->id)) {
    *reason = "it runs on another stream";
    return "STREAM_LABEL";
  }
  if (node->epoch != y->epoch) {
    *reason = "an event of the schedule lies between them";
    return "STREAM_LABEL";
  }
  uint32_t mark = tl_node_marks_differ(f->m, node->id, y->id);
  if (mark == TL_N_MARKS)
    return NULL;
  *reason = tl_mark_key(mark);
  return "ATTR_GROUP";
}

/* A kernel computes elementwise nodes in one loop over the elements, hence over one shape; other
 * classes have loops of their own. */
bool tl_ub_fits_shape(const tl_ub_graph *g, uint32_t b, tl_value_id given) {
  const tl_ub_node *node = &g->at[b];
  return (node->class != TL_UB_ELEMWISE && node->class != TL_UB_BROADCAST) ||
         tl_type_same_dims(g->m, tl_value_type(g->m, given),
                           tl_value_type(g->m, tl_node_get(g->m, node->id)->results));
}

/* A linear search is enough: callers ask for few users. */
static bool is_listed(const uint32_t *users, uint32_t n, uint32_t user) {
  for (uint32_t i = 0; i < n; i++)
    if (users[i] == user)
      return true;
  return false;
}

uint32_t tl_ub_users(const tl_ub_graph *g, uint32_t at, uint32_t *users, uint32_t most,
                     uint32_t *others) {
  const tl_node *node = tl_node_get(g->m, g->at[at].id);
  uint32_t n = 0;
  *others = 0;
  for (uint32_t r = 0; r < node->n_results; r++)
    TL_FOR_USES(g->m, node->results + r, u) {
      uint32_t user = tl_ub_user(g, u);
      if (user == 0)
        ++*others;
      else if (!is_listed(users, n, user)) {
        if (n == most)
          return most + 1;
        users[n++] = user;
      }
    }
  return n;
}

void tl_ub_note(tl_ub_fuser *f, const tl_ub_miss *miss) {
  const char *copy = tl_arena_copy(f->pass->scratch, miss->reason, strlen(miss->reason) + 1);
  tl_ub_miss kept = *miss;
  kept.reason = copy;
  kept.order = f->misses.n;
  if (!copy || !tl_ub_miss_vec_push(&f->misses, kept))
    f->g->no_memory = true;
}
