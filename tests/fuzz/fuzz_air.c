/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an AIR model: reading them must end with a module or an error, and what was read
 * must survive inference, the verifier and the printer. */
#include <stdlib.h>

#include "frontend/air/load.h"
#include "ir/infer/infer.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/fuzz/target.h"

static void print(const tl_module *m) {
  tl_buf text;
  tl_buf_init(&text);
  if (tl_module_print(m, &text, NULL) == TL_OK && text.n == 0)
    abort();
  tl_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_diag diag = {0};
  tl_module *m = NULL;
  tl_status status = tl_air_load_bytes(&diag, "fuzz", (tl_sv){(const char *)data, size}, NULL, &m);
  if ((status == TL_OK) != (m != NULL) || (status != TL_OK && diag.errors == 0))
    abort();
  if (!m)
    return 0;
  if (tl_infer_module(m) == TL_OK && tl_module_verify(m, TL_VERIFY_STRUCTURAL) != TL_OK)
    abort();
  print(m);
  tl_module_destroy(m);
  return 0;
}
