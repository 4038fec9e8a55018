/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the guard ends_in_padding. ONNX does not count a window that begins behind the data; the
 * NPU's pools of images do. The last window begins at most one step before the end of the padding
 * less its own length, so that it begins in the padding for some size just if padding and step
 * together are longer than the window. */
#include "passes/npu/windows.h"

#include "ir/ops_gen.h"

/* Returns element i of a list, 1 where the list is not set. */
static int64_t at_or_one(tl_int_list list, uint32_t i) { return i < list.n ? list.at[i] : 1; }

bool tl_npu_ends_in_padding(tl_site *site) {
  const tl_module *m = site->m;
  tl_int_list kernel = tl_node_attr_ints(m, site->node, TL_SYM_kernel_shape);
  tl_int_list steps = tl_node_attr_ints(m, site->node, TL_SYM_strides);
  tl_int_list holes = tl_node_attr_ints(m, site->node, TL_SYM_dilations);
  tl_int_list pads = tl_node_attr_ints(m, site->node, TL_SYM_pads);
  tl_sv mode = tl_node_attr_string(m, site->node, TL_SYM_auto_pad);
  bool given = (mode.n == 0 || tl_sv_is(mode, "NOTSET")) && pads.n == 2 * kernel.n;
  for (uint32_t i = 0; i < kernel.n; i++) {
    int64_t window = (kernel.at[i] - 1) * at_or_one(holes, i) + 1;
    if ((given ? pads.at[kernel.n + i] : 0) + at_or_one(steps, i) > window)
      return true;
  }
  return false;
}
