/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the weights of a model: size, place, and what its numbers are like. A large weight is
 * sampled, so that its pages are not all read. */
#include <math.h>
#include <stdio.h>

#include "support/hash.h"
#include "support/json_writer.h"
#include "tools/page/facts.h"

enum { BARS = 32, MOST_READ = 16384, BLOCK = 256, FIRST = 8 };

/* What is known of the numbers of a weight. */
typedef struct numbers {
  double room[MOST_READ]; /* finite ones that were read */
  uint32_t n;
  uint32_t read; /* with those that are not finite */
  double least, greatest, sum;
  double first[FIRST];
  uint32_t n_first;
} numbers;

static void take(numbers *x, double v) {
  if (x->n_first < FIRST && x->read == x->n_first)
    x->first[x->n_first++] = v;
  x->read++;
  if (!isfinite(v))
    return;
  x->least = x->n && x->least < v ? x->least : v;
  x->greatest = x->n && x->greatest > v ? x->greatest : v;
  x->sum += v;
  x->room[x->n++] = v;
}

/* Reads all elements, or blocks of them at equal distances, the first one among them. */
static bool read_numbers(const tl_module *m, const tl_tensor *t, numbers *x) {
  uint64_t n = tl_tensor_elements(m, t), step = BLOCK;
  x->n = x->read = x->n_first = 0;
  x->least = x->greatest = x->sum = 0;
  if (n > MOST_READ)
    step = n / (MOST_READ / BLOCK);
  for (uint64_t from = 0; from < n && x->read < MOST_READ; from += step)
    for (uint64_t i = from; i < n && i < from + BLOCK; i++) {
      double v;
      if (!tl_tensor_float_at(m, t, i, &v))
        return false;
      take(x, v);
    }
  return true;
}

static void put_histogram(const numbers *x, tl_json_writer *w) {
  uint32_t counts[BARS] = {0};
  double width = (x->greatest - x->least) / BARS;
  for (uint32_t i = 0; i < x->n; i++) {
    double at = width > 0 ? (x->room[i] - x->least) / width : 0;
    counts[at >= BARS ? BARS - 1 : (uint32_t)at]++;
  }
  tl_put_key(w, "histogram");
  tl_put_array(w);
  for (int i = 0; i < BARS; i++)
    tl_put_u64(w, counts[i]);
  tl_put_end(w);
}

/* Six digits say what a number is like, and are found at once; the shortest text that reads back is
 * found by trying. */
static void put_short(tl_json_writer *w, double v) {
  char text[32];
  /* The tool never calls setlocale, so the decimal point is '.'. */
  int n = isfinite(v) ? snprintf(text, sizeof text, "%.6g", v == 0 ? 0.0 : v) : 0;
  if (n > 0)
    tl_put_made(w, (tl_sv){text, (size_t)n});
  else
    tl_put_null(w);
}

static void put_member(tl_json_writer *w, const char *key, double v) {
  tl_put_key(w, key);
  put_short(w, v);
}

static void put_numbers(const numbers *x, uint64_t elements, tl_json_writer *w) {
  tl_put_key(w, "first");
  tl_put_array(w);
  for (uint32_t i = 0; i < x->n_first; i++)
    put_short(w, x->first[i]);
  tl_put_end(w);
  if (x->read < elements)
    tl_member_u64(w, "sampled", x->read);
  if (!x->n)
    return;
  put_member(w, "min", x->least);
  put_member(w, "max", x->greatest);
  put_member(w, "mean", x->sum / x->n);
  if (x->read > FIRST) /* else they are all there */
    put_histogram(x, w);
}

/* Equal small weights have equal hashes; "" for one that would have to be read as a whole. */
static void put_hash(const tl_tensor *t, tl_json_writer *w) {
  enum { MOST = 1 << 16 };
  char text[20] = "";
  unsigned char turned[MOST];
  const void *data = tl_tensor_data(t);
  if (data && t->bytes <= MOST && tl_order_differs((tl_dtype)t->dtype)) {
    memcpy(turned, data, (size_t)t->bytes);
    tl_order_turn((tl_dtype)t->dtype, turned, t->bytes);
    data = turned;
  }
  if (data && t->bytes <= MOST)
    snprintf(text, sizeof text, "%016llx",
             (unsigned long long)tl_hash_bytes(data, (size_t)t->bytes, t->dtype));
  tl_member_z(w, "hash", text);
}

static void put_shape(const tl_module *m, tl_type_id id, tl_json_writer *w) {
  const tl_type *type = tl_type_get(m, id);
  tl_put_key(w, "shape");
  tl_put_array(w);
  for (int i = 0; i < type->rank; i++)
    tl_put_i64(w, type->dims[i]);
  tl_put_end(w);
}

static void put_weight(tl_view_model *v, const tl_view_weight *weight, numbers *room,
                       tl_json_writer *w) {
  const tl_tensor *t = tl_tensor_get(v->m, weight->tensor);
  bool outside = t->kind == TL_SOURCE_FILE && t->external;
  tl_json_line(w, 0);
  tl_put_object(w);
  tl_member_u64(w, "value", weight->value);
  tl_member_u64(w, "name", weight->name);
  tl_member_z(w, "dtype", tl_dtype_get((tl_dtype)t->dtype)->name);
  put_shape(v->m, t->type, w);
  tl_member_u64(w, "bytes", t->bytes);
  tl_member_u64(w, "file", outside ? tl_view_symbol(&v->strings, v->m, t->location) : (uint64_t)0);
  tl_member_bool(w, "computed", t->kind == TL_SOURCE_EXPR);
  put_hash(t, w);
  if (t->kind != TL_SOURCE_STRINGS && read_numbers(v->m, t, room))
    put_numbers(room, tl_tensor_elements(v->m, t), w);
  tl_put_end(w);
}

void tl_view_weights(tl_view_model *v) {
  numbers *room = malloc(sizeof *room);
  tl_buf json;
  tl_buf_init(&json);
  tl_json_writer w = tl_json_compact(&json);
  v->record.no_memory = v->record.no_memory || !room;
  tl_put_array(&w);
  for (uint32_t i = 0; room && i < v->record.weights.n; i++)
    put_weight(v, &v->record.weights.at[i], room, &w);
  tl_put_end(&w);
  tl_chunks_add(v->chunks, "weights", &json);
  tl_buf_release(&json);
  free(room);
}
