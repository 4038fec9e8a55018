/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ONNX model, through the whole pipeline by the public API: what is made of it is
 * the same each time, its files can be read, and compute what it computes. */
#include "tests/fuzz/forms.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const forms_option options[] = {{"numerics", "exact"},
                                         {"precision-mode", "must_keep_origin_dtype"}};
  return forms_try(data, size, "m.onnx", options, sizeof options / sizeof *options, 0);
}
