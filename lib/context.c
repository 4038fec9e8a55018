/* SPDX-License-Identifier: Apache-2.0 */
/* Implements contexts (include/tailor/context.h) but for their options: messages, limits, and what
 * each public function begins and ends with. */
#include "lib/handle.h"

#include <stdlib.h>

const char *tl_version(void) { return TL_VERSION; }
uint32_t tl_version_number(void) { return TL_VERSION_NUMBER; }

/* Status codes of the internal table. The public header cannot include that table, so this file,
 * which sees both, checks that they agree. */
enum {
#define CODE(name, code, words) CODE_OF_##name = (code),
  TL_STATUSES(CODE)
#undef CODE
};
_Static_assert((int)CODE_OF_TL_OK == TL_SUCCESS, "");
_Static_assert((int)CODE_OF_TL_INVALID_ARGUMENT == TL_ERROR_USAGE, "");
_Static_assert((int)CODE_OF_TL_INVALID_MODEL == TL_ERROR_INPUT, "");
_Static_assert((int)CODE_OF_TL_UNSUPPORTED == TL_ERROR_UNSUPPORTED, "");
_Static_assert((int)CODE_OF_TL_IO == TL_ERROR_IO, "");
_Static_assert((int)CODE_OF_TL_INTERNAL == TL_ERROR_INTERNAL, "");

tl_element tl_lib_element(tl_dtype d) {
  int number = tl_dtype_get(d)->onnx;
  return number > 0 && number <= TL_ELEMENT_F8E8M0 ? (tl_element)number : TL_ELEMENT_UNKNOWN;
}

tl_dtype tl_lib_dtype(tl_element e) {
  return e == TL_ELEMENT_UNKNOWN ? TL_DTYPE_NONE : tl_dtype_from_onnx((int64_t)e);
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Adds a text to the buffer with a NUL behind it. Returns where it begins, or SIZE_MAX for none. */
static size_t add_part(tl_buf *b, tl_sv text) {
  if (!text.n)
    return SIZE_MAX;
  size_t at = b->n;
  tl_buf_add_sv(b, text);
  tl_buf_add_char(b, '\0');
  return at;
}

static const char *part_at(const tl_buf *b, size_t at) {
  return at == SIZE_MAX || b->failed ? NULL : b->p + at;
}

/* Hands a diagnostic to the function of the user. Without memory the text is formatted into a
 * buffer on the stack, and names are left out. */
static void forward(void *user, const tl_diagnostic *d) {
  tl_context *c = user;
  if (!c->fn)
    return;
  tl_buf text;
  tl_buf names;
  char room[2048];
  tl_buf_init(&text);
  tl_buf_init(&names);
  tl_diag_format(&text, d);
  if (text.failed)
    tl_diag_format_short(room, sizeof room, d);
  size_t node = add_part(&names, d->where.node);
  size_t attribute = add_part(&names, d->where.attr);
  tl_message m = {.severity = (tl_message_severity)d->severity,
                  .text = text.failed ? room : text.p,
                  .code = d->code,
                  .file = d->where.file,
                  .node = part_at(&names, node),
                  .attribute = part_at(&names, attribute),
                  .what = d->message,
                  .hint = d->hint,
                  .offset = d->where.has_offset ? (int64_t)d->where.offset : -1,
                  .line = d->where.line,
                  .column = d->where.column};
  c->fn(c->user, &m);
  tl_buf_release(&names);
  tl_buf_release(&text);
}

void tl_context_on_message(tl_context *c, tl_message_fn fn, void *user) {
  c->fn = fn;
  c->user = user;
}

/* ---- public functions begin and end ---------------------------------------------------------- */

/* What a function of the caller calls is a part of the call around it, which knows whether it was
 * stopped and whether memory was lacking. */
uint32_t tl_lib_begin(tl_context *c) {
  if (c->inside)
    return c->diag.errors;
  c->stopped = false;
  return tl_diag_begin(&c->diag);
}

int tl_lib_end(tl_context *c, tl_status status, uint32_t errors_before) {
  bool cancelled = status == TL_IO && (c->cancel || c->stopped);
  if (cancelled && c->diag.errors == errors_before)
    (void)tl_fail(&c->diag, TL_IO, TL_NOWHERE, "cancelled");
  status = tl_diag_close(&c->diag, status, errors_before);
  return cancelled && status == TL_IO ? TL_ERROR_CANCELLED : tl_status_exit_code(status);
}

int tl_lib_misuse(tl_context *c, const char *fmt, ...) {
  tl_buf text;
  va_list ap;
  uint32_t errors = tl_lib_begin(c);
  tl_buf_init(&text);
  va_start(ap, fmt);
  tl_buf_vprintf(&text, fmt, ap);
  va_end(ap);
  tl_status status = tl_fail(&c->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "%s",
                             text.failed ? "an argument is wrong" : text.p);
  tl_buf_release(&text);
  return tl_lib_end(c, status, errors);
}

bool tl_lib_lacks(tl_context *c, const void *argument, const char *name, int *code) {
  if (!argument)
    *code = tl_lib_misuse(c, "argument '%s' is NULL", name);
  return !argument;
}

bool tl_lib_is_inside(tl_context *c, const char *what, int *code) {
  if (c->inside)
    *code = tl_lib_misuse(c, "a function that the library called must not %s in its context", what);
  return c->inside != 0;
}

/* ---- functions of the caller ----------------------------------------------------------------- */

static tl_status status_of(int code) {
  switch (code) {
  case TL_SUCCESS: return TL_OK;
  case TL_ERROR_USAGE: return TL_INVALID_ARGUMENT;
  case TL_ERROR_INPUT: return TL_INVALID_MODEL;
  case TL_ERROR_UNSUPPORTED: return TL_UNSUPPORTED;
  case TL_ERROR_CANCELLED:
  case TL_ERROR_IO: return TL_IO;
  default: return TL_INTERNAL;
  }
}

uint32_t tl_lib_enter(tl_context *c) {
  c->inside++;
  return c->diag.errors;
}

tl_status tl_lib_leave(tl_context *c, int code, uint32_t errors_before, const char *what) {
  tl_status status = status_of(code);
  c->inside--;
  if (code == TL_ERROR_CANCELLED)
    c->stopped = true;
  else if (status != TL_OK && c->diag.errors == errors_before)
    return tl_fail(&c->diag, status, TL_NOWHERE, "%s failed with code %d", what, code);
  return status;
}

/* ---- contexts -------------------------------------------------------------------------------- */

tl_context *tl_context_create(void) {
  tl_context *c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  tl_settings_init(&c->settings);
  tl_arena_init(&c->arena, 0);
  c->diag = (tl_diag){.fn = forward, .user = c};
  c->session = (tl_session){
      .settings = &c->settings, .diag = &c->diag, .cancel = &c->cancel, .user_ops = &c->user_ops};
  c->unsettled = true;
  tl_host_heap_init(&c->spare, 0);
  return c;
}

void tl_context_destroy(tl_context *c) {
  if (!c)
    return;
  tl_settings_release(&c->settings);
  tl_lib_pass_vec_release(&c->passes);
  tl_lib_op_vec_release(&c->ops);
  tl_lib_rule_vec_release(&c->rules);
  tl_arena_release(&c->arena);
  tl_host_heap_release(&c->spare);
  free(c);
}

void tl_context_on_progress(tl_context *c, tl_progress_fn fn, void *user) {
  c->progress = fn;
  c->progress_user = user;
}

void tl_context_cancel(tl_context *c) { c->cancel = 1; }
void tl_context_resume(tl_context *c) { c->cancel = 0; }
void tl_context_set_memory_limit(tl_context *c, uint64_t bytes) {
  c->memory_limit = bytes;
  if (bytes)
    tl_host_heap_release(&c->spare);
}
