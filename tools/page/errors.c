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

/* Adds one tensor: the error that its node adds where that is known, else the whole one. */
static void add_tensor(tl_view_model *v, const tl_u32_vec *maker, const cJSON *tensor,
                       tl_view_overlay *o) {
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(tensor, "own");
  const cJSON *total = cJSON_GetObjectItemCaseSensitive(tensor, "total");
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(own ? own : total, "rel");
  const cJSON *rank = cJSON_GetObjectItemCaseSensitive(tensor, "rank");
  tl_node_id n = node_of(v, maker, tensor);
  tl_buf note;
  if (!n || !cJSON_IsNumber(error))
    return;
  tl_buf_init(&note);
  tl_buf_add_z(&note, own ? "added by the node" : "so far");
  if (cJSON_IsNumber(rank))
    tl_buf_printf(&note, ", rank %d", rank->valueint);
  tl_view_overlay_number(o, n, error->valuedouble, tl_view_text(&v->strings, tl_buf_view(&note)));
  v->record.no_memory = v->record.no_memory || note.failed;
  tl_buf_release(&note);
}

static bool add_errors(tl_view_model *v, const cJSON *root) {
  const cJSON *layers = cJSON_GetObjectItemCaseSensitive(root, "layers"), *tensor;
  const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(layers, "tensors");
  tl_u32_vec maker = {0};
  tl_view_overlay o;
  if (!cJSON_IsArray(tensors))
    return false;
  v->record.no_memory = v->record.no_memory || !list_makers(v->m, &maker);
  tl_view_overlay_begin(&o);
  for (tensor = tensors->child; tensor; tensor = tensor->next) /* an index would be quadratic */
    add_tensor(v, &maker, tensor, &o);
  tl_view_overlay_end(
      v, &o, &(tl_view_title){"error", "Error of tensors, by verify --layers", "", "number"});
  tl_u32_vec_release(&maker);
  return true;
}

tl_status tl_view_errors(tl_view_model *v) {
  tl_cli *cli = v->cli;
  const char *path = tl_cli_get(cli, TL_OPTION_ERRORS);
  tl_file *f;
  if (!tl_cli_has(cli, TL_OPTION_ERRORS))
    return TL_OK;
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_READ, &f));
  cJSON *root = cJSON_ParseWithLength((const char *)f->data, (size_t)f->size);
  bool good = add_errors(v, root);
  cJSON_Delete(root);
  tl_file_close(f);
  return good ? TL_OK
              : tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_AT_FILE(path),
                        "this is not what 'tailor verify --layers --json' prints");
}
