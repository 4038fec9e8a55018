/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the opaque types of the public headers, and how each public function begins
 * and ends. */
#ifndef TL_LIB_HANDLE_H
#define TL_LIB_HANDLE_H

#include "include/tailor/tailor.h"

#include "lib/session/session.h"
#include "support/vec.h"

TL_VEC(tl_lib_rule_vec, tl_rule_file);

struct tl_context {
  tl_settings settings;
  tl_diag diag;
  tl_session session; /* what loads, runs and saves; borrows the members here */
  tl_message_fn fn;
  void *user;
  tl_progress_fn progress;
  void *progress_user;
  volatile int cancel;
  bool stopped;   /* the running call was asked to stop by a function of the caller */
  bool unsettled; /* options were given since they were resolved */
  uint64_t memory_limit;
  tl_arena arena; /* strings of what was registered */
  tl_lib_rule_vec rules;
};

/* Remarks and results of passes of one run. */
typedef struct tl_lib_record {
  tl_remark_info *remarks; /* owned; strings in the arena */
  uint32_t n_remarks;
  uint32_t cap;
  tl_arena arena;
  tl_pipeline_report report;
  bool failed; /* memory ran out for a remark */
} tl_lib_record;

struct tl_model {
  tl_context *context;
  tl_module *module;
  tl_lib_record record;
  bool keeps_remarks;
  bool near_misses;
};

/* Begins a public function: returns what tl_lib_end needs. */
uint32_t tl_lib_begin(tl_context *c);
/* Ends it: a failure that reported nothing gets a message, and the status becomes a public code. */
int tl_lib_end(tl_context *c, tl_status status, uint32_t errors_before);
/* Reports a wrong argument and returns TL_ERROR_USAGE, for a whole public function. */
int tl_lib_misuse(tl_context *c, const char *fmt, ...) TL_PRINTF(2, 3);
/* Resolves the options if any was given since the last time. */
tl_status tl_lib_settle(tl_context *c) TL_NODISCARD;
/* Puts rules that are in no file behind those of files; after options were resolved. */
tl_status tl_lib_add_rules(tl_context *c) TL_NODISCARD;

/* Converts element types. UNKNOWN and NONE stand for those that the other side lacks. */
tl_element tl_lib_element(tl_dtype d);
tl_dtype tl_lib_dtype(tl_element e);

#endif
