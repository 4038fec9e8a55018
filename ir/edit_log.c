/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a log of edits (edit_log.h). */
#include "ir/edit_log.h"

void tl_edit_log_add(tl_edit_log *log, tl_node_id n, tl_op_id was) {
  if (log && !tl_edit_vec_push(&log->edits, (tl_edit){n, was}))
    log->lost = true;
}

static tl_edit_mark here(const tl_edit_log *log) {
  return (tl_edit_mark){.nodes = tl_module_node_end(log->m), .edits = log->edits.n};
}

void tl_edit_log_begin(tl_edit_log *log) {
  if (!log)
    return;
  log->begun = here(log);
  log->has_begun = true;
}

void tl_edit_log_mark(tl_edit_log *log, uint64_t number) {
  if (!log)
    return;
  tl_edit_mark mark = log->has_begun ? log->begun : here(log);
  mark.number = number;
  log->has_begun = false;
  while (log->marks.n && log->marks.at[log->marks.n - 1].number >= number)
    log->marks.n--;
  if (!tl_edit_mark_vec_push(&log->marks, mark))
    log->lost = true;
}

void tl_edit_log_clear(tl_edit_log *log) {
  log->edits.n = 0;
  log->marks.n = 0;
  log->has_begun = false;
}

void tl_edit_log_release(tl_edit_log *log) {
  tl_edit_vec_release(&log->edits);
  tl_edit_mark_vec_release(&log->marks);
}
