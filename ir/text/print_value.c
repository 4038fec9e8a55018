/* SPDX-License-Identifier: Apache-2.0 */
/* Constants and attribute values as text. Few elements are shown, weights stand by reference to
 * their file, everything else is hex. */
#include "ir/tensor_expr.h"
#include "ir/text/literal.h"
#include "ir/text/print.h"

enum { MAX_SHOWN_ELEMENTS = 16 };

static void add_digits(tl_buf *out, const unsigned char *p, uint64_t n) {
  static const char digits[] = "0123456789abcdef";
  char chunk[512];
  for (uint64_t i = 0; i < n;) {
    size_t at = 0;
    for (; i < n && at < sizeof chunk; i++) {
      chunk[at++] = digits[p[i] >> 4];
      chunk[at++] = digits[p[i] & 15];
    }
    tl_buf_add(out, chunk, at);
  }
}

/* Adds the bytes of a tensor as a file would have them. */
static void add_hex(tl_buf *out, const tl_tensor *t) {
  tl_tensor_room room;
  size_t n;
  tl_buf_add_z(out, "hex(\"");
  for (uint64_t at = 0; at < t->bytes; at += n) {
    const void *p = tl_tensor_file_block(t, at, &room, &n);
    add_digits(out, p, n);
  }
  tl_buf_add_z(out, "\")");
}

static void add_view(const tl_module *m, const tl_tensor *t, tl_buf *out) {
  tl_buf_add_z(out, t->external ? "external(" : "file(");
  tl_buf_add_quoted(out, tl_sv_from(t->u.view.file->path));
  tl_buf_add_z(out, ", ");
  tl_buf_add_u64(out, t->u.view.offset);
  tl_buf_add_z(out, ", ");
  tl_buf_add_u64(out, t->bytes);
  if (t->external) {
    tl_buf_add_z(out, ", ");
    tl_buf_add_quoted(out, tl_sym(m, t->location));
  }
  tl_buf_add_char(out, ')');
}

static void add_element(const tl_module *m, const tl_tensor *t, uint64_t i, tl_buf *out) {
  if (t->kind == TL_SOURCE_STRINGS) {
    tl_buf_add_quoted(out, tl_sym(m, t->u.strings[i]));
    return;
  }
  const char *p = tl_tensor_data(t);
  tl_literal_add(out, (tl_dtype)t->dtype, p + i * (tl_dtype_get((tl_dtype)t->dtype)->bits / 8));
}

static void add_elements(const tl_module *m, const tl_tensor *t, uint64_t n, tl_buf *out) {
  bool scalar = tl_type_get(m, t->type)->rank == 0;
  if (!scalar)
    tl_buf_add_char(out, '[');
  for (uint64_t i = 0; i < n && !out->failed; i++) {
    if (i)
      tl_buf_add_z(out, ", ");
    add_element(m, t, i, out);
  }
  if (!scalar)
    tl_buf_add_char(out, ']');
}

static void add_typed_tensor(const tl_module *m, const tl_tensor *t, bool elide, tl_buf *out);

static void add_int_list(tl_int_list list, tl_buf *out) {
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < list.n; i++) {
    if (i)
      tl_buf_add_z(out, ", ");
    tl_buf_add_i64(out, list.at[i]);
  }
  tl_buf_add_char(out, ']');
}

/* Expressions nest TL_TENSOR_EXPR_MAX_DEPTH deep at most. */
static void add_expr(const tl_module *m, const tl_tensor_expr *e, bool elide, tl_buf *out) {
  tl_buf_add_z(out, tl_tensor_expr_kind_name((tl_tensor_expr_kind)e->kind));
  tl_buf_add_char(out, '(');
  if (e->kind == TL_TENSOR_EXPR_CONCAT)
    tl_buf_add_u64(out, e->outer);
  for (uint32_t i = 0; i < e->n_sources && !out->failed; i++) {
    if (i || e->kind == TL_TENSOR_EXPR_CONCAT)
      tl_buf_add_z(out, ", ");
    add_typed_tensor(m, e->sources[i], elide, out);
  }
  if (e->kind == TL_TENSOR_EXPR_VIEW) {
    tl_buf_add_z(out, ", ");
    tl_buf_add_u64(out, e->start);
    tl_buf_add_z(out, ", ");
    add_int_list((tl_int_list){e->dims, (uint32_t)e->rank}, out);
    tl_buf_add_z(out, ", ");
    add_int_list((tl_int_list){e->strides, (uint32_t)e->rank}, out);
  }
  tl_buf_add_char(out, ')');
}

void tl_tensor_print(const tl_module *m, const tl_tensor *t, bool elide, tl_buf *out) {
  uint64_t n = tl_tensor_elements(m, t);
  bool few = n <= MAX_SHOWN_ELEMENTS;
  if (elide && !few)
    tl_buf_add_z(out, "...");
  else if (t->kind == TL_SOURCE_EXPR)
    add_expr(m, t->u.expr, elide, out);
  else if (t->kind == TL_SOURCE_STRINGS ||
           (few && tl_literal_is_plain((tl_dtype)t->dtype, tl_tensor_data(t), n)))
    add_elements(m, t, n, out);
  else if (t->kind == TL_SOURCE_FILE)
    add_view(m, t, out);
  else
    add_hex(out, t);
}

static void add_typed_tensor(const tl_module *m, const tl_tensor *t, bool elide, tl_buf *out) {
  tl_type_print(m, t->type, out);
  tl_buf_add_char(out, ' ');
  tl_tensor_print(m, t, elide, out);
  if (t->name) {
    tl_buf_add_z(out, " name ");
    tl_buf_add_quoted(out, tl_sym(m, t->name));
  }
}

static void add_item(const tl_module *m, const tl_attr *a, uint32_t i, bool elide, tl_buf *out) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INTS: tl_buf_add_i64(out, a->u.is[i]); break;
  case TL_ATTR_FLOATS: tl_literal_add_float(out, a->u.fs[i]); break;
  case TL_ATTR_STRINGS:
  case TL_ATTR_SPARSES: tl_buf_add_quoted(out, tl_sym(m, a->u.ids[i])); break;
  case TL_ATTR_TENSORS: add_typed_tensor(m, tl_tensor_get(m, a->u.ids[i]), elide, out); break;
  case TL_ATTR_TYPES: tl_type_print(m, a->u.ids[i], out); break;
  case TL_ATTR_BOOLS: tl_buf_add_z(out, a->u.is[i] ? "true" : "false"); break;
  case TL_ATTR_DTYPES: tl_buf_add_z(out, tl_dtype_get((tl_dtype)a->u.is[i])->name); break;
  case TL_ATTR_INT_LISTS: add_int_list(a->u.lists[i], out); break;
  default: break; /* GRAPHS: the graph printer's */
  }
}

/* Numbers and strings speak for themselves; other lists, and empty ones, name their kind. */
static const char *list_keyword(const tl_attr *a) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INTS: return a->count ? "" : "ints";
  case TL_ATTR_FLOATS: return a->count ? "" : "floats";
  case TL_ATTR_STRINGS: return a->count ? "" : "strings";
  case TL_ATTR_INT_LISTS: return "lists";
  default: return tl_attr_kind_name((tl_attr_kind)a->kind);
  }
}

static void add_list(const tl_module *m, const tl_attr *a, bool elide, tl_buf *out) {
  tl_buf_add_z(out, list_keyword(a));
  tl_buf_add_char(out, '[');
  for (uint32_t i = 0; i < a->count; i++) {
    if (i)
      tl_buf_add_z(out, ", ");
    add_item(m, a, i, elide, out);
  }
  tl_buf_add_char(out, ']');
}

void tl_attr_print(const tl_module *m, const tl_attr *a, bool elide, tl_buf *out) {
  switch ((tl_attr_kind)a->kind) {
  case TL_ATTR_INT: tl_buf_add_i64(out, a->u.i); return;
  case TL_ATTR_FLOAT: tl_literal_add_float(out, a->u.f); return;
  case TL_ATTR_STRING: tl_buf_add_quoted(out, tl_sym(m, a->u.s)); return;
  case TL_ATTR_TENSOR: add_typed_tensor(m, tl_tensor_get(m, a->u.t), elide, out); return;
  case TL_ATTR_BOOL: tl_buf_add_z(out, a->u.i ? "true" : "false"); return;
  case TL_ATTR_TYPE:
    tl_buf_add_z(out, "type(");
    tl_type_print(m, a->u.type, out);
    break;
  case TL_ATTR_DTYPE:
    tl_buf_add_z(out, "dtype(");
    tl_buf_add_z(out, tl_dtype_get((tl_dtype)a->u.i)->name);
    break;
  case TL_ATTR_SPARSE:
    tl_buf_add_z(out, "sparse(");
    tl_buf_add_quoted(out, tl_sym(m, a->u.s));
    break;
  case TL_ATTR_CARRIED:
    tl_buf_add_z(out, "carried(");
    tl_buf_add_quoted(out, tl_sym(m, a->u.s));
    break;
  default: add_list(m, a, elide, out); return;
  }
  tl_buf_add_char(out, ')');
}
