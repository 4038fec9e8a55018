/* SPDX-License-Identifier: Apache-2.0 */
/* A log of edits, for tools that show what each single rewrite of a pass did. graph.h writes into
 * it which nodes were changed or erased; passes mark where rewrites begin. A module has none unless
 * a tool gives it one, and what passes do never depends on it. */
#ifndef TL_IR_EDIT_LOG_H
#define TL_IR_EDIT_LOG_H

#include "ir/module.h"

/* One edit. A node that was made is no edit: ids tell which nodes are new. */
typedef struct tl_edit {
  tl_node_id node;
  tl_op_id was; /* op of a node that was erased; TL_OP_ERASED: the node was changed */
} tl_edit;

TL_VEC(tl_edit_vec, tl_edit);

/* Where a rewrite begins: what is made or edited from here on belongs to it. */
typedef struct tl_edit_mark {
  uint64_t number; /* of the rewrite in its run of passes, from 1 */
  uint32_t nodes;  /* tl_module_node_end before it */
  uint32_t edits;  /* edits before it */
} tl_edit_mark;

TL_VEC(tl_edit_mark_vec, tl_edit_mark);

/* The log; zero-initialise it but for m. */
typedef struct tl_edit_log {
  const tl_module *m; /* borrowed; that the log is about */
  tl_edit_vec edits;
  tl_edit_mark_vec marks;
  tl_edit_mark begun; /* a rewrite that may have begun and is not counted yet */
  bool has_begun;
  bool lost; /* memory ran out: the log is not complete */
} tl_edit_log;

/* Notes that a node was changed (was: TL_OP_ERASED) or erased. log: NULL is fine. */
void tl_edit_log_add(tl_edit_log *log, tl_node_id n, tl_op_id was);
/* Notes that a rewrite may begin here, for passes that count a rewrite when it is done. */
void tl_edit_log_begin(tl_edit_log *log);
/* Marks a rewrite, which begins here or where tl_edit_log_begin was called since the last one.
 * Marks of the same or a later number go: passes take back a rewrite that came to nothing. */
void tl_edit_log_mark(tl_edit_log *log, uint64_t number);
/* Empties the log and keeps its memory. */
void tl_edit_log_clear(tl_edit_log *log);
/* Frees the lists. */
void tl_edit_log_release(tl_edit_log *log);

#endif
