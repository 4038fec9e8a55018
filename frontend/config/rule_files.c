/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of --rules into memory; passes/engine/parse.c reads the rules in them. */
#include "frontend/config/config_file.h"
#include "frontend/config/values.h"

static tl_status read_file(tl_diag *d, tl_arena *a, const char *path, tl_rule_file *out) {
  static const tl_config_kind kind = {"rules", NULL, NULL, false, 0};
  tl_location nowhere = {0};
  tl_sv text;
  TL_TRY(tl_config_text(d, a, nowhere, path, &kind, &text));
  *out = (tl_rule_file){path, text};
  return TL_OK;
}

tl_status tl_read_rule_files(tl_diag *d, tl_arena *a, tl_sv paths, tl_options *o) {
  uint32_t n = 1;
  for (size_t i = 0; i < paths.n; i++)
    n += paths.p[i] == '\n';
  tl_rule_file *files = tl_arena_calloc(a, n, sizeof *files);
  if (!files)
    return tl_fail_memory(d, TL_NOWHERE);
  o->rule_files = files;
  o->n_rule_files = 0;
  for (tl_sv rest = paths; rest.p;) {
    tl_sv path = tl_sv_split(&rest, '\n');
    const char *name = path.n ? tl_arena_copy(a, path.p, path.n) : NULL;
    if (path.n == 0)
      continue;
    if (!name)
      return tl_fail_memory(d, TL_NOWHERE);
    TL_TRY(read_file(d, a, name, &files[o->n_rule_files]));
    o->n_rule_files++;
  }
  return TL_OK;
}
