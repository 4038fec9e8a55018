/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the nodes of two models for a page. */
#include "tools/view/compare.h"

#include "support/json_writer.h"
#include "tools/diff/diff.h"

typedef tl_json_writer writer;

/* ---- one match ------------------------------------------------------------------------------- */

/* Adds the nodes of one side that have no partner. */
static void put_lonely(const tl_pairs *p, int side, const char *key, writer *w) {
  const tl_module *m = p->m[side];
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < m->graphs.n; i++)
    if (!m->graphs.at[i]->erased)
      TL_FOR_NODES(m, m->graphs.at[i], n)
        if (!p->node[side][n])
          tl_put_u64(w, n);
  tl_put_end(w);
}

/* Adds pairs of which nothing differs; `what`: by node of the first model, what does. */
static void put_same(const tl_pairs *p, const uint32_t *what, writer *w) {
  const tl_module *m = p->m[0];
  tl_put_key(w, "same");
  tl_put_array(w);
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      if (!p->node[0][n] || what[n])
        continue;
      tl_put_array(w);
      tl_put_u64(w, n);
      tl_put_u64(w, p->node[0][n]);
      tl_put_end(w);
    }
  }
  tl_put_end(w);
}

static void put_changed(const tl_pairs *p, const uint32_t *what, writer *w) {
  tl_buf text;
  tl_buf_init(&text);
  tl_put_key(w, "changed");
  tl_put_array(w);
  for (tl_node_id n = 1; n < tl_module_node_end(p->m[0]); n++) {
    if (!what[n])
      continue;
    tl_buf_clear(&text);
    tl_diff_add_what(&text, (uint16_t)what[n]);
    tl_put_array(w);
    tl_put_u64(w, n);
    tl_put_u64(w, p->node[0][n]);
    tl_put_sv(w, tl_buf_view(&text));
    tl_put_end(w);
  }
  tl_put_end(w);
  w->out->failed = w->out->failed || text.failed;
  tl_buf_release(&text);
}

static tl_status put_match(const tl_pairs *p, tl_buf *json) {
  tl_difference_vec list = {0};
  uint32_t *what = calloc(tl_module_node_end(p->m[0]), sizeof *what);
  tl_status status = what ? tl_differences(p, &list) : TL_NO_MEMORY;
  writer w = tl_json_compact(json);
  for (uint32_t i = 0; status == TL_OK && i < list.n; i++) {
    const tl_difference *d = &list.at[i];
    if (d->kind == TL_DIFF_NODE && d->id[0] && d->id[1])
      what[d->id[0]] = d->what;
  }
  if (status == TL_OK) {
    tl_put_object(&w);
    put_same(p, what, &w);
    put_changed(p, what, &w);
    put_lonely(p, 1, "added", &w);
    put_lonely(p, 0, "removed", &w);
    tl_put_end(&w);
  }
  tl_difference_vec_release(&list);
  free(what);
  return status;
}

static tl_status add_match(tl_chunks *chunks, const char *name, tl_module *a, tl_module *b) {
  tl_pairs p;
  tl_buf json;
  tl_buf_init(&json);
  tl_status status = tl_pairs_make(&p, a, b);
  if (status == TL_OK)
    status = put_match(&p, &json);
  tl_pairs_release(&p);
  if (status == TL_OK)
    tl_chunks_add(chunks, name, &json);
  tl_buf_release(&json);
  return chunks->failed ? TL_NO_MEMORY : status;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Reads both models again: ids are those that the first states have. */
static tl_status match_first(const tl_view_model models[2], tl_chunks *chunks) {
  tl_module *m[2] = {NULL, NULL};
  tl_status status = TL_OK;
  for (int i = 0; i < 2 && status == TL_OK; i++)
    status = tl_session_load(&models[i].cli->session, models[i].path, &m[i]);
  if (status == TL_OK)
    status = add_match(chunks, "match", m[0], m[1]);
  tl_module_destroy(m[0]);
  tl_module_destroy(m[1]);
  return status;
}

tl_status tl_view_compare(tl_cli *cli, const tl_view_model models[2], tl_chunks *chunks) {
  chunks->prefix = NULL;
  tl_status status = match_first(models, chunks);
  if (status == TL_OK)
    status = add_match(chunks, "match-final", models[0].m, models[1].m);
  return status == TL_NO_MEMORY ? tl_fail_memory(&cli->diag, TL_NOWHERE) : status;
}
