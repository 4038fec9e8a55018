/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text about values for people. */
#include "tools/run/value_text.h"

#include <math.h>
#include <stdio.h>

void tl_add_type(tl_buf *out, const tl_host *v) {
  if (v->kind != TL_HOST_TENSOR) {
    if (v->kind == TL_HOST_SEQUENCE)
      tl_buf_printf(out, "sequence of %llu", (unsigned long long)v->n);
    else
      tl_buf_add_z(out, "nothing");
    return;
  }
  tl_buf_printf(out, "%s[", tl_dtype_get((tl_dtype)v->dtype)->name);
  for (int i = 0; i < v->rank; i++)
    tl_buf_printf(out, "%s%lld", i ? "," : "", (long long)v->dims[i]);
  tl_buf_add_char(out, ']');
}

void tl_add_short(tl_buf *out, double v) {
  char text[32];
  if (isnan(v) || isinf(v)) {
    tl_buf_add_z(out, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    return;
  }
  /* The tool never calls setlocale, so the decimal point is '.'. 0.0 replaces a negative zero. */
  int n = snprintf(text, sizeof text, "%.4g", v == 0 ? 0.0 : v);
  tl_buf_add(out, text, n > 0 ? (size_t)n : 0);
}

void tl_table_cell(tl_table *t) {
  if (t->text.n > UINT32_MAX || !tl_u32_vec_push(&t->ends, (uint32_t)t->text.n))
    t->text.failed = true;
}

void tl_table_add(tl_table *t, const char *text) {
  tl_buf_add_z(&t->text, text);
  tl_table_cell(t);
}

/* Returns cell i; cells lie one after the other in t->text. */
static tl_sv cell(const tl_table *t, uint32_t i) {
  uint32_t begin = i ? t->ends.at[i - 1] : 0;
  return (tl_sv){t->text.p + begin, t->ends.at[i] - begin};
}

/* Returns the width of a column in bytes. */
static size_t width_of(const tl_table *t, uint32_t column) {
  size_t width = 0;
  for (uint32_t i = column; i < t->ends.n; i += t->columns)
    width = cell(t, i).n > width ? cell(t, i).n : width;
  return width;
}

/* Makes the first columns, which hold names, narrower until a row fits into a line. */
static void narrow(size_t *widths, uint32_t columns) {
  enum { LEAST = 12 };
  size_t total = 2 * (size_t)columns - 2;
  for (uint32_t c = 0; c < columns; c++)
    total += widths[c];
  for (uint32_t c = 0; c < columns && total > TL_TEXT_WIDTH; c++) {
    size_t surplus = total - TL_TEXT_WIDTH, spare = widths[c] > LEAST ? widths[c] - LEAST : 0;
    size_t less = surplus < spare ? surplus : spare;
    widths[c] -= less;
    total -= less;
  }
}

static bool is_inside_character(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Adds text of at most `width` bytes: a longer one loses its middle, as names differ at both ends.
 * Returns the number of bytes added. */
static size_t add_cut(tl_buf *out, tl_sv text, size_t width) {
  static const char dots[] = "...";
  if (text.n <= width) {
    tl_buf_add_sv(out, text);
    return text.n;
  }
  size_t kept = width - (sizeof dots - 1), head = kept / 2, tail = kept - head;
  while (head && is_inside_character(text.p[head]))
    head--;
  while (tail && is_inside_character(text.p[text.n - tail]))
    tail--;
  tl_buf_add(out, text.p, head);
  tl_buf_add_z(out, dots);
  tl_buf_add(out, text.p + text.n - tail, tail);
  return head + tail + sizeof dots - 1;
}

void tl_table_print(tl_buf *out, tl_table *t) {
  enum { MOST_COLUMNS = 16 };
  size_t widths[MOST_COLUMNS];
  uint32_t columns = t->columns < MOST_COLUMNS ? t->columns : MOST_COLUMNS;
  out->failed = out->failed || t->text.failed;
  for (uint32_t c = 0; c < columns; c++)
    widths[c] = width_of(t, c);
  narrow(widths, columns);
  for (uint32_t i = 0; !t->text.failed && i < t->ends.n; i++) {
    bool last = (i + 1) % columns == 0;
    size_t k = add_cut(out, cell(t, i), widths[i % columns]);
    for (; !last && k < widths[i % columns] + 2; k++)
      tl_buf_add_char(out, ' ');
    if (last)
      tl_buf_add_char(out, '\n');
  }
  tl_buf_release(&t->text);
  tl_u32_vec_release(&t->ends);
}
