/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor diff-precision, which compares two explanations of dtypes in JSON. */
#include <stdlib.h>

#include "frontend/config/json.h"
#include "support/file.h"
#include "tools/cli/cli.h"

/* Upper bound on the size of a file. */
enum { MAX_BYTES = 1 << 30 };

/* One tensor at one node. Texts are those of the JSON tree. */
typedef struct tensor {
  const char *node;
  const char *side; /* "input", "output" */
  int index;
  uint32_t number; /* in the file: names may repeat in bodies */
  const char *port;
  const char *chosen;
  const char *rule;
} tensor;

TL_VEC(tensor_vec, tensor);

/* One file; its tensors are sorted so that two files can be walked side by side. */
typedef struct explanation {
  const char *path;
  tl_file *file;
  tl_json json;
  tensor_vec tensors; /* by node, side, index */
} explanation;

/* Reports JSON that is not an explanation of dtypes. */
static tl_status malformed(tl_cli *cli, const explanation *e, const cJSON *item, const char *what) {
  tl_place place = item ? tl_json_place(&e->json, item) : (tl_place){0};
  tl_location at = {.file = e->path, .line = place.line, .column = place.column};
  return tl_fail(
      &cli->diag, TL_INVALID_MODEL, at,
      "is not an explanation of dtypes: %s\v'tailor explain MODEL --precision --json' writes one",
      what);
}

/* Returns the text of a member, or NULL if it is missing or no text. */
static const char *text_of(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Reads {"input": 0, ...} or {"output": 0, ...}; false if a member is missing. */
static bool read_tensor(const char *node, const cJSON *object, tensor *out) {
  const cJSON *in = cJSON_GetObjectItemCaseSensitive(object, "input");
  const cJSON *result = cJSON_GetObjectItemCaseSensitive(object, "output");
  const cJSON *index = in ? in : result;
  *out = (tensor){.node = node,
                  .side = in ? "input" : "output",
                  .port = text_of(object, "port"),
                  .chosen = text_of(object, "chosen"),
                  .rule = text_of(object, "rule")};
  if (!cJSON_IsNumber(index) || !(index->valuedouble >= 0 && index->valuedouble < 1e6) ||
      !out->port || !out->chosen || !out->rule)
    return false;
  out->index = (int)index->valuedouble;
  return true;
}

/* Adds the tensors of one node. */
static tl_status read_node(tl_cli *cli, explanation *e, const cJSON *node) {
  const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(node, "tensors");
  const char *name = text_of(node, "node");
  tensor t;
  if (!name || !cJSON_IsArray(tensors))
    return malformed(cli, e, node, "a node needs a name and a list of tensors");
  for (const cJSON *item = tensors->child; item; item = item->next) {
    if (!read_tensor(name, item, &t))
      return malformed(cli, e, item, "a tensor needs its index, port, chosen dtype and rule");
    t.number = e->tensors.n;
    if (!tensor_vec_push(&e->tensors, t))
      return tl_fail_memory(&cli->diag, TL_AT_FILE(e->path));
  }
  return TL_OK;
}

/* Orders by node, side and index; the number of the tensor does not count. */
static int compare_place(const tensor *x, const tensor *y) {
  int order = strcmp(x->node, y->node);
  if (order == 0)
    order = strcmp(x->side, y->side);
  return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static int by_place(const void *a, const void *b) {
  const tensor *x = a;
  const tensor *y = b;
  int order = compare_place(x, y);
  return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* Reads and sorts one explanation. The caller releases it, also after an error. */
static tl_status load(tl_cli *cli, const char *path, explanation *e) {
  tl_json_error error;
  e->path = path;
  TL_TRY(tl_file_open(&cli->diag, path, TL_FILE_READ, &e->file));
  if (e->file->size > MAX_BYTES)
    return tl_fail(&cli->diag, TL_LIMIT, TL_AT_FILE(path), "has more than %d bytes", MAX_BYTES);
  tl_sv text = {(const char *)e->file->data, (size_t)e->file->size};
  tl_status status = tl_json_parse(text, &e->json, &error);
  if (status == TL_NO_MEMORY)
    return tl_fail_memory(&cli->diag, TL_AT_FILE(path));
  if (status != TL_OK) {
    tl_location at = {.file = path, .line = error.place.line, .column = error.place.column};
    return tl_fail(&cli->diag, TL_INVALID_MODEL, at, "not JSON: %s", error.problem);
  }
  const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(e->json.root, "nodes");
  if (!cJSON_IsArray(nodes))
    return malformed(cli, e, e->json.root, "the top level needs a list of nodes");
  for (const cJSON *node = nodes->child; node; node = node->next)
    TL_TRY(read_node(cli, e, node));
  if (e->tensors.n)
    qsort(e->tensors.at, e->tensors.n, sizeof *e->tensors.at, by_place);
  return TL_OK;
}

static void release(explanation *e) {
  tensor_vec_release(&e->tensors);
  tl_json_release(&e->json);
  if (e->file)
    tl_file_close(e->file);
}

static void add_place(tl_buf *out, const tensor *t) {
  tl_buf_printf(out, "`%s` %s %d (%s): ", t->node, t->side, t->index, t->port);
}

/* Walks both sorted lists side by side and returns the number of differences. */
static uint32_t compare(const explanation *a, const explanation *b, tl_buf *out) {
  uint32_t i = 0;
  uint32_t k = 0;
  uint32_t n = 0;
  while (i < a->tensors.n || k < b->tensors.n) {
    const tensor *x = i < a->tensors.n ? &a->tensors.at[i] : NULL;
    const tensor *y = k < b->tensors.n ? &b->tensors.at[k] : NULL;
    int order = !x ? 1 : !y ? -1 : compare_place(x, y);
    i += order <= 0;
    k += order >= 0;
    if (order == 0 && strcmp(x->chosen, y->chosen) == 0 && strcmp(x->rule, y->rule) == 0)
      continue;
    n++;
    add_place(out, order <= 0 ? x : y);
    if (order)
      tl_buf_printf(out, "only in %s\n", order < 0 ? a->path : b->path);
    else
      tl_buf_printf(out, "%s (%s) | %s (%s)\n", x->chosen, x->rule, y->chosen, y->rule);
  }
  return n;
}

tl_status tl_command_diff_precision(tl_cli *cli) {
  explanation a = {0};
  explanation b = {0};
  tl_buf out;
  if (!cli->word || !cli->word2)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE,
                   "this command compares two files\vtailor diff-precision A.json B.json");
  tl_buf_init(&out);
  tl_status status = load(cli, cli->word, &a);
  if (status == TL_OK)
    status = load(cli, cli->word2, &b);
  if (status == TL_OK) {
    uint32_t n = compare(&a, &b, &out);
    cli->differs = n > 0;
    tl_buf_printf(&out, "%u of %u tensors differ\n", n,
                  a.tensors.n > b.tensors.n ? a.tensors.n : b.tensors.n);
  }
  release(&a);
  release(&b);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return status;
}
