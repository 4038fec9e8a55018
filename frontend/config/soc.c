/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --soc-version; the names of chips are in ir/chip/soc.tbl. */
#include "frontend/config/values.h"

tl_status tl_read_soc(tl_diag *d, tl_arena *a, tl_location where, const char *text,
                      tl_options *out) {
  tl_sv name;
  const tl_soc *chip = tl_soc_find(tl_sv_from(text), &name);
  if (chip) {
    out->chip = chip;
    out->soc_version = tl_arena_copy(a, name.p, name.n);
    return out->soc_version ? TL_OK : tl_fail_memory(d, where);
  }
  const char *nearest = tl_soc_nearest(tl_sv_from(text));
  if (strpbrk(text, "${<"))
    return tl_fail_code(
        d, TL_INVALID_ARGUMENT, "E10001", where,
        "'%s' is not the name of a chip\vthis looks like a placeholder that was not replaced",
        text);
  if (nearest)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                        "'%s' is not the name of a chip\vdid you mean %s? 'npu-smi info' shows it",
                        text, nearest);
  return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                      "'%s' is not the name of a chip\v'npu-smi info' shows it; examples: "
                      "Ascend910B1, Ascend310P3",
                      text);
}
