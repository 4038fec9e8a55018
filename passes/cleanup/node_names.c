/* SPDX-License-Identifier: Apache-2.0 */
/* node-names: renames nodes so that no two nodes of a graph have the same name.
 *
 * Requires:  nothing.            Keeps: everything but the names of the later ones of such nodes.
 * After:     a name means one node of its graph. A branch taken, a function in place of its
 *            call and the steps of an unrolled loop bring names with them.
 * Cost:      one sweep, O(nodes).
 * Tests:     tests/golden/node-names/ */
#include "ir/names.h"
#include "passes/edit/passes.h"

typedef struct renaming {
  tl_pass *p;
  tl_module *m;
} renaming;

static bool may_rename(void *user, tl_node_id n) {
  renaming *r = user;
  if (!tl_pass_may_rewrite(r->p))
    return false;
  tl_pass_remark(r->p, r->m, n, true, "renamed: an earlier node of the graph has its name");
  return true;
}

tl_status tl_pass_node_names(tl_pass *p, tl_module *m) {
  renaming r = {p, m};
  tl_status status = tl_names_part_nodes(m, may_rename, &r);
  if (status == TL_NO_MEMORY)
    return tl_no_memory(m);
  return status;
}
