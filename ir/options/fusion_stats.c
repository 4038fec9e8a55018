/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of fusion passes and their report. */
#include "ir/options/fusion_stats.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "support/file.h"

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

static void add_name(tl_buf *out, tl_sv name) {
  tl_buf_add_char(out, '"');
  for (size_t i = 0; i < name.n; i++) {
    unsigned char c = (unsigned char)name.p[i];
    if (c == '"' || c == '\\')
      tl_buf_printf(out, "\\%c", c);
    else if (c < 0x20)
      tl_buf_printf(out, "\\u%04x", c);
    else
      tl_buf_add_char(out, (char)c);
  }
  tl_buf_add_char(out, '"');
}

/* Closes and opens the objects between two counts that follow each other; NULL: begin or end. */
static void add_frame(tl_buf *out, const tl_fusion_count *last, const tl_fusion_count *next) {
  bool same_graph = last && next && last->run == next->run && last->graph == next->graph;
  bool same_kind = same_graph && last->kind == next->kind;
  if (same_kind) {
    tl_buf_add_z(out, ",\n");
    return;
  }
  if (last)
    tl_buf_add_z(out, same_graph ? "\n        },\n" : "\n        }\n    }");
  if (last && !same_graph)
    tl_buf_add_z(out, next ? ",\n" : "\n}\n");
  if (!last)
    tl_buf_add_z(out, "{\n");
  if (next && !same_graph) {
    graph_key key = key_of(next);
    tl_buf_printf(out, "    \"%s\": {\n", key.text);
  }
  if (next)
    tl_buf_printf(out, "        \"%s_fusion\": {\n", tl_fusion_kind_name(next->kind));
}

void tl_fusion_stats_json(const tl_fusion_stats *s, tl_buf *out) {
  const tl_fusion_count *last = NULL;
  for (uint32_t i = 0; i < s->counts.n; i++) {
    const tl_fusion_count *c = &s->counts.at[i];
    if (c->kind == TL_FUSION_CLEANUP)
      continue;
    add_frame(out, last, c);
    tl_buf_add_z(out, "            ");
    add_name(out, c->pass);
    tl_buf_printf(out,
                  ": {\n                \"effect_times\": \"%d\",\n"
                  "                \"match_times\": \"%d\"",
                  c->effective, c->matched);
    if (c->kind == TL_FUSION_UB)
      tl_buf_add_z(out, ",\n                \"repository_hit_times\": \"0\"");
    tl_buf_add_z(out, "\n            }");
    last = c;
  }
  if (last)
    add_frame(out, last, NULL);
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
