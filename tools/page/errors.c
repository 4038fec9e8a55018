/* SPDX-License-Identifier: Apache-2.0 */
/* Lays the error of each tensor over the graph: what 'tailor verify --layers --json' found, whose
 * tensors have the names that values have in the last state. */
#include <cjson/cJSON.h>

#include "tools/page/facts.h"

/* Fills, by symbol of the module, the node that makes the value of that name. */
static bool list_makers(const tl_module *m, tl_u32_vec *maker) {
  for (tl_symbol s = 0; s < m->symbols.n; s++)
    if (!tl_u32_vec_push(maker, TL_NO_NODE))
      return false;
  for (uint32_t i = 0; i < m->graphs.n; i++) {
    if (m->graphs.at[i]->erased)
      continue;
    TL_FOR_NODES(m, m->graphs.at[i], n) {
      for (uint32_t k = 0; k < tl_node_get(m, n)->n_results; k++)
        maker->at[tl_value_get(m, tl_result(m, n, k))->name] = n;
    }
  }
  return true;
}

static tl_node_id maker_of(const tl_view_model *v, const tl_u32_vec *maker, const char *name) {
  tl_symbol s = name && *name ? tl_symbol_find(&v->m->symbols, tl_sv_from(name)) : TL_NO_SYMBOL;
  return s == TL_NO_SYMBOL ? TL_NO_NODE : tl_view_get(maker, s);
}

/* Finds the node of a tensor by its name, else by that of its value: files that were written call
 * values after nodes. */
static tl_node_id node_of(tl_view_model *v, const tl_u32_vec *maker, const cJSON *tensor) {
  const char *node = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tensor, "node"));
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tensor, "name"));
  tl_node_id n = node ? tl_view_find_node(&v->record, tl_sv_from(node)) : TL_NO_NODE;
  return n && tl_view_is_node(v->m, n) ? n : maker_of(v, maker, name);
}

/* The table of tensors, column by column, and the overlay. */
typedef struct table {
  tl_view_model *v;
  tl_u32_vec maker;
  tl_view_overlay overlay;
  const cJSON *tensors;
} table;

static const cJSON *member(const cJSON *o, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* Adds one tensor to the overlay: the error that its node adds where that is known, else the whole
 * one. */
static void add_tensor(table *x, tl_node_id n, const cJSON *tensor) {
  tl_view_model *v = x->v;
  const cJSON *own = member(tensor, "own"), *rank = member(tensor, "rank");
  const cJSON *error = member(own ? own : member(tensor, "total"), "rel");
  tl_buf note;
  if (!n || !cJSON_IsNumber(error))
    return;
  tl_buf_init(&note);
  tl_buf_add_z(&note, own ? "added by the node" : "so far");
  if (cJSON_IsNumber(rank))
    tl_buf_printf(&note, ", rank %d", rank->valueint);
  tl_view_overlay_number(&x->overlay, n, error->valuedouble,
                         tl_view_text(&v->strings, tl_buf_view(&note)));
  v->record.no_memory = v->record.no_memory || note.failed;
  tl_buf_release(&note);
}

static void begin(tl_json_writer *w, const char *key) {
  tl_json_line(w, 0);
  tl_put_key(w, key);
  tl_put_array(w);
}

/* Adds the nodes of all tensors, 0 for one that the graph does not have. */
static void put_nodes(table *x, tl_json_writer *w) {
  begin(w, "node");
  for (const cJSON *t = x->tensors->child; t; t = t->next) { /* an index would be quadratic */
    tl_node_id n = node_of(x->v, &x->maker, t);
    tl_put_u64(w, n);
    add_tensor(x, n, t);
  }
  tl_put_end(w);
}

static void put_texts(table *x, tl_json_writer *w, const char *key) {
  begin(w, key);
  for (const cJSON *t = x->tensors->child; t; t = t->next) {
    const char *text = cJSON_GetStringValue(member(t, key));
    tl_put_u64(w, text ? tl_view_text(&x->v->strings, tl_sv_from(text)) : 0);
  }
  tl_put_end(w);
}

static void put_number(tl_json_writer *w, const cJSON *number) {
  if (cJSON_IsNumber(number))
    tl_put_f64(w, number->valuedouble);
  else
    tl_put_null(w); /* no rank, or an infinity or NaN against a number */
}

/* Adds a column of numbers, of a part of each tensor; part: NULL: of the tensor itself. */
static void put_numbers(table *x, tl_json_writer *w, const char *column, const char *part,
                        const char *key) {
  begin(w, column);
  for (const cJSON *t = x->tensors->child; t; t = t->next) {
    const cJSON *of = part ? member(t, part) : t;
    if (of)
      put_number(w, member(of, key));
    else
      tl_put_u64(w, 0); /* a tensor whose node did not run alone adds nothing */
  }
  tl_put_end(w);
}

/* Adds which nodes add more than is allowed, and which tensors differ. */
static void put_verdicts(table *x, tl_json_writer *w, const char *column, const char *part) {
  begin(w, column);
  for (const cJSON *t = x->tensors->child; t; t = t->next) {
    const cJSON *of = member(t, part);
    tl_put_u64(w, of && !cJSON_IsTrue(member(of, "equal")));
  }
  tl_put_end(w);
}

static void put_outputs(table *x, tl_json_writer *w, const cJSON *root) {
  const cJSON *outputs = member(root, "outputs"), *o;
  begin(w, "outputs");
  for (o = outputs ? outputs->child : NULL; o; o = o->next) {
    const char *name = cJSON_GetStringValue(member(o, "name"));
    tl_put_object(w);
    tl_member_u64(w, "name", name ? tl_view_text(&x->v->strings, tl_sv_from(name)) : 0);
    tl_member_bool(w, "equal", cJSON_IsTrue(member(o, "equal")));
    tl_put_key(w, "cosine");
    put_number(w, member(o, "cosine"));
    tl_put_end(w);
  }
  tl_put_end(w);
}

static void put_counts(tl_json_writer *w, const cJSON *layers) {
  static const char *const keys[] = {"compared", "differ", "adding", "skipped", "other_shape"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    tl_put_key(w, keys[i]);
    put_number(w, member(layers, keys[i]));
  }
}

static void put_table(table *x, tl_json_writer *w, const cJSON *root) {
  const char *note = cJSON_GetStringValue(member(root, "note"));
  tl_put_object(w);
  tl_member_u64(w, "note", note ? tl_view_text(&x->v->strings, tl_sv_from(note)) : 0);
  put_counts(w, member(root, "layers"));
  put_outputs(x, w, root);
  put_nodes(x, w);
  put_texts(x, w, "name");
  put_texts(x, w, "reference");
  put_texts(x, w, "op");
  put_numbers(x, w, "rank", NULL, "rank");
  put_numbers(x, w, "adds", "own", "rel");
  put_verdicts(x, w, "too_much", "own");
  put_numbers(x, w, "rel", "total", "rel");
  put_numbers(x, w, "max_abs", "total", "max_abs");
  put_numbers(x, w, "cosine", "total", "cosine");
  put_numbers(x, w, "ulp", "total", "ulp");
  put_verdicts(x, w, "differs", "total");
  tl_put_end(w);
}

static bool add_errors(tl_view_model *v, const cJSON *root) {
  static const tl_view_title title = {"error", "Error of tensors, by verify --layers", "",
                                      "number"};
  table x = {.v = v, .tensors = member(member(root, "layers"), "tensors")};
  tl_buf json;
  if (!cJSON_IsArray(x.tensors))
    return false;
  v->record.no_memory = v->record.no_memory || !list_makers(v->m, &x.maker);
  tl_buf_init(&json);
  tl_view_overlay_begin(&x.overlay);
  tl_json_writer w = tl_json_compact(&json);
  put_table(&x, &w, root);
  tl_chunks_add(v->chunks, "errors", &json);
  tl_view_overlay_end(v, &x.overlay, &title);
  tl_buf_release(&json);
  tl_u32_vec_release(&x.maker);
  v->has_errors = true;
  return true;
}

/* Reads the text of a report. False if it is none. */
static bool read_errors(tl_view_model *v, tl_sv text) {
  cJSON *root = cJSON_ParseWithLength(text.p, text.n);
  bool good = add_errors(v, root);
  cJSON_Delete(root);
  return good;
}

tl_status tl_view_errors(tl_view_model *v) {
  tl_cli *cli = v->cli;
  const char *path = tl_cli_get(cli, TL_OPTION_ERRORS);
  tl_file *f;
  if (v->request->errors.n)
    return read_errors(v, v->request->errors) ? TL_OK : TL_NO_MEMORY; /* it was just written */
  if (!tl_cli_has(cli, TL_OPTION_ERRORS))
    return TL_OK;
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_READ, &f));
  bool good = read_errors(v, (tl_sv){(const char *)f->data, (size_t)f->size});
  tl_file_close(f);
  return good ? TL_OK
              : tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                        "this is not what 'tailor verify --layers --json' prints");
}
