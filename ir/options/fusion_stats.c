/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of fusion passes and their report. */
#include "ir/options/fusion_stats.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "support/file.h"
#include "support/json_writer.h"

void tl_fusion_stats_init(tl_fusion_stats *s) {
  memset(s, 0, sizeof *s);
  tl_arena_init(&s->arena, 0);
}

void tl_fusion_stats_release(tl_fusion_stats *s) {
  tl_fusion_count_vec_release(&s->counts);
  tl_arena_release(&s->arena);
}

/* Name of the object that holds a graph's counts. */
typedef struct graph_key {
  char text[48];
} graph_key;

static graph_key key_of(const tl_fusion_count *c) {
  graph_key key;
  snprintf(key.text, sizeof key.text, "session_and_graph_id_%u_%u", c->run, c->graph);
  return key;
}

/* Order of the keys in the report: bytes, so that graph 10 comes before graph 2. */
static int compare(const tl_fusion_count *a, const tl_fusion_count *b) {
  if (a->run != b->run || a->graph != b->graph) {
    graph_key x = key_of(a);
    graph_key y = key_of(b);
    return strcmp(x.text, y.text);
  }
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  return tl_sv_compare(a->pass, b->pass);
}

static int32_t saturate(int32_t count, uint32_t more) {
  uint64_t sum = (uint64_t)count + more;
  return sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
}

/* Index of the first count that is not before `key`. */
static uint32_t lower_bound(const tl_fusion_stats *s, const tl_fusion_count *key) {
  uint32_t low = 0;
  uint32_t high = s->counts.n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (compare(&s->counts.at[middle], key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

tl_status tl_fusion_stats_add(tl_fusion_stats *s, const tl_fusion_event *event) {
  tl_fusion_count key = {
      .pass = event->pass, .run = event->run, .graph = event->graph, .kind = event->kind};
  if (event->matched == 0 && event->effective == 0)
    return TL_OK;
  uint32_t at = lower_bound(s, &key);
  if (at == s->counts.n || compare(&s->counts.at[at], &key) != 0) {
    key.pass.p = tl_arena_copy(&s->arena, key.pass.n ? key.pass.p : "", key.pass.n);
    if (!key.pass.p || !tl_fusion_count_vec_push(&s->counts, key))
      return TL_NO_MEMORY;
    memmove(&s->counts.at[at + 1], &s->counts.at[at],
            (s->counts.n - 1 - at) * sizeof *s->counts.at);
    s->counts.at[at] = key;
  }
  tl_fusion_count *c = &s->counts.at[at];
  c->matched = saturate(c->matched, event->matched);
  c->effective = saturate(c->effective, event->effective);
  if (c->effective > c->matched)
    c->effective = c->matched;
  return TL_OK;
}

static void begin_object(tl_json_writer *w, uint8_t indent, const char *key) {
  tl_json_line(w, indent);
  tl_put_key(w, key);
  tl_put_object(w);
}

static void end_object(tl_json_writer *w, uint8_t indent) {
  tl_json_line(w, indent);
  tl_put_end(w);
}

/* Counts are strings, as GE writes them. */
static void add_times(tl_json_writer *w, const char *key, int32_t n) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add_i64(&text, n);
  tl_json_line(w, 16);
  tl_member_sv(w, key, tl_buf_view(&text));
  w->out->failed = w->out->failed || text.failed;
  tl_buf_release(&text);
}

static void add_pass(tl_json_writer *w, const tl_fusion_count *c) {
  tl_json_line(w, 12);
  tl_put_key_sv(w, c->pass);
  tl_put_object(w);
  add_times(w, "effect_times", c->effective);
  add_times(w, "match_times", c->matched);
  if (c->kind == TL_FUSION_UB)
    add_times(w, "repository_hit_times", 0);
  end_object(w, 12);
}

/* Closes and opens the objects between two counts that follow each other; NULL: begin or end. */
static void add_frame(tl_json_writer *w, const tl_fusion_count *last, const tl_fusion_count *next) {
  bool same_graph = last && next && last->run == next->run && last->graph == next->graph;
  if (same_graph && last->kind == next->kind)
    return;
  if (last)
    end_object(w, 8);
  if (last && !same_graph)
    end_object(w, 4);
  if (!next)
    return;
  if (!same_graph)
    begin_object(w, 4, key_of(next).text);
  char kind[32];
  snprintf(kind, sizeof kind, "%s_fusion", tl_fusion_kind_name(next->kind));
  begin_object(w, 8, kind);
}

void tl_fusion_stats_json(const tl_fusion_stats *s, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  const tl_fusion_count *last = NULL;
  for (uint32_t i = 0; i < s->counts.n; i++) {
    const tl_fusion_count *c = &s->counts.at[i];
    if (c->kind == TL_FUSION_CLEANUP)
      continue;
    if (!last)
      tl_put_object(&w);
    add_frame(&w, last, c);
    add_pass(&w, c);
    last = c;
  }
  if (!last)
    return;
  add_frame(&w, last, NULL);
  tl_json_line(&w, 0);
  tl_json_finish(&w);
}

tl_status tl_fusion_stats_save(const tl_fusion_stats *s, tl_diag *d, const tl_fusion_report *to) {
  tl_buf text;
  tl_writer *w = NULL;
  tl_buf_init(&text);
  tl_fusion_stats_json(s, &text);
  tl_status status = TL_OK;
  if (text.failed)
    status = tl_fail_memory(d, TL_AT_FILE(to->path));
  else if (text.n == 0)
    status = tl_changes_remove(to->changes, d, to->path);
  else
    status = tl_writer_open(d, to->path, to->cancel, &w);
  if (status == TL_OK && w) {
    status = tl_writer_write(w, text.p, text.n);
    if (status == TL_OK)
      status = tl_changes_commit(to->changes, d, w);
    else
      tl_writer_abort(w);
  }
  tl_buf_release(&text);
  return status;
}
