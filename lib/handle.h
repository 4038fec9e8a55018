/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the opaque types of the public headers, and how each public function begins
 * and ends. */
#ifndef TL_LIB_HANDLE_H
#define TL_LIB_HANDLE_H

#include "include/tailor/tailor.h"

#include "ir/host.h"
#include "ir/user_ops.h"
#include "lib/session/session.h"
#include "support/vec.h"

/* A pass of the caller; the first member is what the pass manager knows. */
typedef struct tl_lib_pass {
  tl_own_pass own;
  tl_pass_def def; /* strings are in the arena of the context */
  tl_context *context;
} tl_lib_pass;

/* An op of the caller. */
typedef struct tl_lib_op {
  tl_op_def def; /* strings are in the arena of the context */
  tl_context *context;
} tl_lib_op;

TL_VEC(tl_lib_pass_vec, tl_own_pass *);
TL_VEC(tl_lib_op_vec, tl_user_op);
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
  tl_host_heap spare; /* without values: payloads of the last run, for the next one */
  tl_arena arena;     /* strings of what was registered */
  tl_lib_pass_vec passes;
  tl_lib_op_vec ops;
  tl_lib_rule_vec rules;
  struct tl_user_ops user_ops; /* view of ops, for models */
  uint32_t inside; /* functions of the caller that run at present: the context stays as it is */
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
  tl_source source; /* of tl_model_load_from */
  tl_pass *pass;    /* the pass of the caller that this handle was made for; NULL: none */
  tl_lib_record record;
  bool keeps_remarks;
  bool near_misses;
  bool unchecked; /* the caller changed it, and nothing has checked it since */
};

/* Begins a public function: returns what tl_lib_end needs. */
uint32_t tl_lib_begin(tl_context *c);
/* Ends it: a failure that reported nothing gets a message, and the status becomes a public code. */
int tl_lib_end(tl_context *c, tl_status status, uint32_t errors_before);
/* Reports a wrong argument and returns TL_ERROR_USAGE, for a whole public function. */
int tl_lib_misuse(tl_context *c, const char *fmt, ...) TL_PRINTF(2, 3);
/* Refuses, for a whole public function, an argument that is NULL. Returns true and the code. */
bool tl_lib_lacks(tl_context *c, const void *argument, const char *name, int *code);
/* Refuses, for a whole public function, what a function of the caller must not do while the library
 * waits for it. Returns true and the code if one runs. what: "load a model". */
bool tl_lib_is_inside(tl_context *c, const char *what, int *code);
/* Begins and ends a call of a function of the caller. The end turns its code into a status, and
 * reports a failure that reported nothing: "WHAT failed with code 2". */
uint32_t tl_lib_enter(tl_context *c);
tl_status tl_lib_leave(tl_context *c, int code, uint32_t errors_before, const char *what);
/* Resolves the options if any was given since the last time. */
tl_status tl_lib_settle(tl_context *c) TL_NODISCARD;
/* Puts rules that are in no file behind those of files; after options were resolved. */
tl_status tl_lib_add_rules(tl_context *c) TL_NODISCARD;

/* Checks a model that the caller changed, before anything relies on it. */
tl_status tl_lib_check(tl_model *m) TL_NODISCARD;

/* Converts element types. UNKNOWN and NONE stand for those that the other side lacks. */
tl_element tl_lib_element(tl_dtype d);
tl_dtype tl_lib_dtype(tl_element e);

#endif
