/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as textual IR: parsing must end with a module or an error, and what was parsed prints
 * as a text that parses to the same text. */
#include <stdlib.h>
#include <string.h>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"
#include "tests/fuzz/target.h"

static tl_module *parse(tl_diag *diag, tl_sv text) {
  tl_module *m = NULL;
  tl_status status = tl_module_parse(diag, "-", text, &m);
  if ((status == TL_OK) != (m != NULL) || (status != TL_OK && diag->errors == 0))
    abort();
  return m;
}

/* The text of a module that passed the verifier is a fixed point of parsing and printing. */
static void check_text(tl_diag *diag, const tl_module *m) {
  tl_buf first;
  tl_buf second;
  tl_buf_init(&first);
  tl_buf_init(&second);
  if (tl_module_print(m, &first, NULL) == TL_OK) {
    tl_module *again = parse(diag, (tl_sv){first.p, first.n});
    if (!again || tl_module_print(again, &second, NULL) != TL_OK)
      abort();
    if (first.n != second.n || memcmp(first.p, second.p, first.n) != 0)
      abort();
    tl_module_destroy(again);
  }
  tl_buf_release(&first);
  tl_buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tl_diag diag = {0};
  tl_module *m = parse(&diag, (tl_sv){(const char *)data, size});
  if (!m)
    return 0;
  if (tl_module_verify(m, TL_VERIFY_ALL) == TL_OK) {
    check_text(&diag, m);
    if (tl_infer_module(m) == TL_OK && tl_module_verify(m, TL_VERIFY_STRUCTURAL) != TL_OK)
      abort();
  }
  tl_module_destroy(m);
  return 0;
}
