/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of values: the first byte chooses the reader, the rest is the file. A reader
 * ends with a value or an error, and what was read is written again without complaint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/value/value.h"
#include "frontend/npy/npz.h"
#include "frontend/onnx/data.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/target.h"

/* Keeps the last array of an archive. */
static tl_status keep_last(void *user, tl_sv name, tl_host *value) {
  tl_host **out = user;
  (void)name;
  tl_host_release(*out);
  *out = value;
  return TL_OK;
}

static tl_status read_value(tl_module *store, const char *path, unsigned kind, tl_host_heap *heap,
                            tl_host **out) {
  static const tl_type_kind kinds[] = {TL_KIND_TENSOR, TL_KIND_SEQUENCE, TL_KIND_OPTIONAL};
  if (kind % 8 == 7) {
    tl_status status = tl_npz_load(store, path, heap, keep_last, out);
    if (status != TL_OK) { /* arrays before the mistake */
      tl_host_release(*out);
      *out = NULL;
    }
    return status;
  }
  if (kind % 4 == 3)
    return tl_npy_load(store, path, heap, out);
  return tl_onnx_load_value(store, path, kinds[kind % 4], heap, out, NULL);
}

static void write_value(tl_diag *diag, const tl_host *v) {
  tl_writer *w;
  if (tl_writer_open(diag, "/dev/null", NULL, &w) != TL_OK)
    return;
  tl_status status = tl_value_emit_pb(v, false, TL_SV("v"), w);
  if (status == TL_OK && !tl_npy_obstacle(v))
    status = tl_value_emit_npy(v, w);
  if (status != TL_OK)
    abort();
  tl_writer_abort(w);
}

static void try_reader(const char *path, unsigned kind) {
  tl_diag diag = {0};
  tl_host_heap heap;
  tl_host *v = NULL;
  tl_host_heap_init(&heap, 1 << 20);
  tl_module *store = tl_module_create(&diag, "-", 0);
  tl_status status = store ? read_value(store, path, kind, &heap, &v) : TL_NO_MEMORY;
  if ((status == TL_OK) != (v != NULL) || (status != TL_OK && diag.errors == 0))
    abort();
  if (v)
    write_value(&diag, v);
  tl_host_release(v);
  if (store)
    tl_module_destroy(store);
  tl_host_heap_release(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH];
  int fd = size ? fuzz_file(data + 1, size - 1, path) : -1;
  if (fd < 0)
    return 0;
  try_reader(path, data[0]);
  close(fd);
  return 0;
}
