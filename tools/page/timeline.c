/* SPDX-License-Identifier: Apache-2.0 */
/* Adds when the nodes of a training step run, by the estimate: at each stage, from the order of the
 * model to the one behind tail optimization. */
#include "tools/page/facts.h"
#include "tools/step/files.h"

typedef tl_json_writer writer;

static const char *const phases[TL_N_PHASES] = {"forward", "backward", "collective", "update",
                                                "check"};

static void put_streams(tl_view_model *v, writer *w, const tl_step_stage *s) {
  tl_put_key(w, "streams");
  tl_put_array(w);
  for (uint32_t k = 0; k < s->n_streams; k++) {
    tl_put_object(w);
    tl_member_sv(w, "name", s->streams[k]);
    tl_put_key(w, "events");
    tl_put_array(w);
    for (uint32_t i = 0; i < s->n; i++) {
      const tl_ran_task *t = &s->tasks[i];
      if (t->stream != k || t->end <= t->start)
        continue;
      tl_put_object(w);
      tl_member_u64(w, "uid", tl_view_find_node(&v->record, t->name));
      tl_member_u64(w, "name", tl_view_text(&v->strings, t->name));
      tl_member_fixed(w, "start", t->start, 3);
      tl_member_fixed(w, "end", t->end, 3);
      tl_member_z(w, "kind", phases[t->phase]);
      if (t->phase == TL_PHASE_COMM)
        tl_member_u64(w, "bytes", t->bytes);
      tl_put_end(w);
    }
    tl_put_end(w);
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_stage(tl_view_model *v, writer *w, const tl_step_stage *s) {
  tl_put_object(w);
  tl_member_z(w, "name", s->name);
  tl_member_fixed(w, "step", s->report.step, 3);
  tl_member_fixed(w, "compute_busy", s->report.compute_busy, 3);
  tl_member_fixed(w, "comm_busy", s->report.comm_busy, 3);
  tl_member_fixed(w, "exposed_comm", s->report.exposed_comm, 3);
  tl_member_fixed(w, "tail", s->report.tail, 3);
  tl_member_fixed(w, "bound", s->report.bound, 3);
  put_streams(v, w, s);
  tl_step_put_buckets(w, s);
  tl_put_end(w);
}

void tl_view_timeline(tl_view_model *v) {
  const tl_step_record *r = &v->steps;
  tl_buf json;
  if (!r->n)
    return;
  tl_buf_init(&json);
  writer w = tl_json_compact(&json);
  tl_put_object(&w);
  tl_member_z(&w, "machine", r->machine ? r->machine : "");
  tl_member_u64(&w, "ranks", r->ranks);
  tl_member_z(&w, "unit", "us");
  tl_put_key(&w, "stages");
  tl_put_array(&w);
  for (uint32_t i = 0; i < r->n; i++)
    put_stage(v, &w, &r->stages[i]);
  tl_put_end(&w);
  tl_put_end(&w);
  tl_chunks_add(v->chunks, "timeline", &json);
  tl_buf_release(&json);
}
