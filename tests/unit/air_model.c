/* SPDX-License-Identifier: Apache-2.0 */
/* AIR files for tests (air_model.h). */
#include "tests/unit/air_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/text/parse.h"
#include "passes/manager.h"
#include "tests/unit/unit.h"

static void keep_message(void *user, const tl_diagnostic *d) { tl_diag_format(user, d); }

static void *arena_alloc(void *user, size_t n) { return tl_arena_alloc(user, n ? n : 1); }
static void arena_free(void *user, void *p) {
  (void)user;
  (void)p;
}

void air_model_begin(air_model *a) {
  *a = (air_model){.diag = {.fn = keep_message, .user = &a->messages}};
  tl_buf_init(&a->messages);
  tl_arena_init(&a->arena, 0);
  a->allocator = (ProtobufCAllocator){arena_alloc, arena_free, &a->arena};
  snprintf(a->folder, sizeof a->folder, "/tmp/tailor-unit-XXXXXX");
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(a->folder));
  snprintf(a->path, sizeof a->path, "%s/m.air", a->folder);
}

tl_status air_model_write(air_model *a, const char *text, const tl_options *o, uint64_t limit) {
  tl_module *m = NULL;
  tl_pipeline_options pipeline = {.level = 0, .stage = TL_STAGE_AIR, .verify_each = true};
  tl_air_options save = {.options = o, .limit = limit};
  tl_status status = tl_module_parse(&a->diag, "-", tl_sv_from(text), &m);
  if (status == TL_OK)
    status = tl_pipeline_run(m, o, &pipeline, NULL);
  if (status == TL_OK)
    status = tl_air_save(m, a->path, &save);
  tl_module_destroy(m);
  return status;
}

static const unsigned char *read_file(air_model *a, const char *path, size_t *n) {
  struct stat st;
  FILE *f = fopen(path, "rb");
  unsigned char *p = NULL;
  if (f && stat(path, &st) == 0)
    p = tl_arena_alloc(&a->arena, (size_t)st.st_size + 1);
  *n = p ? fread(p, 1, (size_t)st.st_size, f) : 0;
  if (f)
    fclose(f);
  return p;
}

const unsigned char *air_model_file(air_model *a, const char *relative, size_t *n) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", a->folder, relative);
  return read_file(a, path, n);
}

bool air_model_read(air_model *a) {
  size_t n;
  const unsigned char *p = read_file(a, a->path, &n);
  a->model = p ? tl_ge__model_def__unpack(&a->allocator, n, p) : NULL;
  return a->model != NULL;
}

void air_model_make(air_model *a, const char *text, const tl_options *o, uint64_t limit) {
  air_model_begin(a);
  tl_status status = air_model_write(a, text, o, limit);
  if (status != TL_OK)
    fprintf(stderr, "%s", a->messages.p ? a->messages.p : "");
  CU_ASSERT_EQUAL_FATAL(status, TL_OK);
  CU_ASSERT_TRUE_FATAL(air_model_read(a));
}

void air_model_remove(const air_model *a, const char *relative) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", a->folder, relative);
  CU_ASSERT_EQUAL(remove(path), 0);
}

void air_model_end(air_model *a) {
  unlink(a->path);
  CU_ASSERT_EQUAL(rmdir(a->folder), 0);
  tl_arena_release(&a->arena);
  tl_buf_release(&a->messages);
}

TlGe__OpDef *air_node(const TlGe__GraphDef *g, const char *name) {
  TlGe__OpDef *found = NULL;
  for (size_t i = 0; i < g->n_op; i++)
    if (strcmp(g->op[i]->name, name) == 0)
      found = g->op[i];
  if (!found)
    fprintf(stderr, "no node '%s'\n", name);
  CU_ASSERT_PTR_NOT_NULL_FATAL(found);
  return found;
}

bool air_has_attr(TlGe__AttrEntry *const *attrs, size_t n, const char *key) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(attrs[i]->key, key) == 0)
      return true;
  return false;
}

TlGe__AttrDef *air_attr(TlGe__AttrEntry *const *attrs, size_t n, const char *key) {
  TlGe__AttrDef *found = NULL;
  for (size_t i = 0; i < n; i++)
    if (strcmp(attrs[i]->key, key) == 0)
      found = attrs[i]->value;
  if (!found)
    fprintf(stderr, "no attribute '%s'\n", key);
  CU_ASSERT_PTR_NOT_NULL_FATAL(found);
  return found;
}

bool air_is_sorted(TlGe__AttrEntry *const *attrs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const TlGe__AttrDef *v = attrs[i]->value;
    if (i && strcmp(attrs[i - 1]->key, attrs[i]->key) >= 0)
      return false;
    if (v->value_case == TL_GE__ATTR_DEF__VALUE_T &&
        !air_is_sorted(v->t->desc->attr, v->t->desc->n_attr))
      return false;
  }
  return true;
}

bool air_bytes_are(ProtobufCBinaryData b, const char *text) {
  return b.len == strlen(text) && memcmp(b.data, text, b.len) == 0;
}

/* Compares what was joined and releases it. */
static bool joined(tl_buf *b, const char *text) {
  bool same = tl_sv_eq(tl_buf_view(b), tl_sv_from(text));
  if (!same)
    fprintf(stderr, "got '%s', expected '%s'\n", b->p ? b->p : "", text);
  tl_buf_release(b);
  return same;
}

static bool ints_are(const int64_t *at, size_t n, const char *text) {
  tl_buf b;
  tl_buf_init(&b);
  for (size_t i = 0; i < n; i++) {
    tl_buf_add_z(&b, i ? "," : "");
    tl_buf_add_i64(&b, at[i]);
  }
  return joined(&b, text);
}

bool air_strings_are(const TlGe__AttrDef *a, const char *text) {
  tl_buf b;
  tl_buf_init(&b);
  for (size_t i = 0; a->value_case == TL_GE__ATTR_DEF__VALUE_LIST && i < a->list->n_s; i++) {
    tl_buf_add_z(&b, i ? "," : "");
    tl_buf_add(&b, (const char *)a->list->s[i].data, a->list->s[i].len);
  }
  return joined(&b, text);
}

bool air_ints_are(const TlGe__AttrDef *a, const char *text) {
  if (a->value_case != TL_GE__ATTR_DEF__VALUE_LIST)
    return false;
  return ints_are(a->list->i, a->list->n_i, text);
}

bool air_dims_are(const TlGe__TensorDescriptor *d, const char *text) {
  return ints_are(d->shape->dim, d->shape->n_dim, text);
}

bool air_inputs_are(const TlGe__OpDef *op, const char *text) {
  tl_buf b;
  tl_buf_init(&b);
  for (size_t i = 0; i < op->n_input; i++) {
    tl_buf_add_z(&b, i ? "," : "");
    tl_buf_add_z(&b, op->input[i]);
  }
  return joined(&b, text);
}
