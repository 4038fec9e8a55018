/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --out-nodes ("node:0;node:1" or "name;name") and the lines of --op-name-map. */
#include "frontend/config/values.h"

#include "support/file.h"

/* Splits NODE:INDEX at the last colon. False if the entry is not of this form: it then is a
 * name. */
static bool split_index(tl_sv entry, tl_out_node *out) {
  size_t colon = entry.n;
  uint64_t index;
  while (colon > 0 && entry.p[colon - 1] != ':')
    colon--;
  if (colon < 2 || !tl_parse_u64((tl_sv){entry.p + colon, entry.n - colon}, &index) ||
      index >= UINT32_MAX)
    return false;
  *out = (tl_out_node){{entry.p, colon - 1}, (uint32_t)index, true};
  return true;
}

tl_status tl_read_out_nodes(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                            tl_options *out) {
  size_t most = 1;
  for (size_t i = 0; i < text.n; i++)
    most += text.p[i] == ';';
  /* The number of separators bounds the number of entries. */
  tl_out_node *nodes = tl_arena_calloc(a, most, sizeof *nodes);
  if (!nodes)
    return tl_fail_memory(d, where);
  uint32_t n = 0;
  for (tl_sv rest = text; rest.p;) {
    tl_sv entry = tl_sv_trim(tl_sv_split(&rest, ';'));
    if (entry.n == 0)
      continue;
    if (!split_index(entry, &nodes[n]))
      nodes[n].name = entry;
    if (nodes[n].by_node != nodes[0].by_node)
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                          "'%.*s' mixes the forms NODE:INDEX and NAME\vuse one form for all",
                          TL_SV_ARG(entry));
    n++;
  }
  out->out_nodes = nodes;
  out->n_out_nodes = n;
  return TL_OK;
}

/* Reads one FROM:TO. Both sides must be there. */
static tl_status read_rename(tl_diag *d, tl_location where, tl_sv line, tl_op_rename *out) {
  tl_sv to = line;
  tl_sv from = tl_sv_trim(tl_sv_split(&to, ':'));
  if (to.p)
    to = tl_sv_trim(to);
  if (from.n == 0 || !to.p || to.n == 0)
    return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10003", where,
                        "'%.*s' is not of the form FROM:TO", TL_SV_ARG(line));
  *out = (tl_op_rename){from, to};
  return TL_OK;
}

/* Reads all lines of a name map; '#' starts a comment. */
static tl_status read_lines(tl_diag *d, tl_arena *a, const char *path, tl_sv text,
                            tl_options *out) {
  size_t most = 1;
  for (size_t i = 0; i < text.n; i++)
    most += text.p[i] == '\n';
  tl_op_rename *renames = tl_arena_calloc(a, most, sizeof *renames);
  tl_location where = TL_AT_FILE(path);
  if (!renames)
    return tl_fail_memory(d, where);
  uint32_t n = 0;
  for (tl_sv rest = text; rest.p;) {
    tl_sv line = tl_sv_split(&rest, '\n');
    where.line++;
    where.column = 1;
    line = tl_sv_trim(tl_sv_split(&line, '#'));
    if (line.n)
      TL_TRY(read_rename(d, where, line, &renames[n++]));
  }
  out->op_renames = renames;
  out->n_op_renames = n;
  return TL_OK;
}

tl_status tl_read_name_map(tl_diag *d, tl_arena *a, const char *path, tl_options *out) {
  tl_file *f;
  TL_TRY(tl_file_open(d, path, TL_FILE_READ, &f));
  enum { MOST = 16 << 20 };
  tl_status status = TL_OK;
  char *copy = f->size > MOST ? NULL : tl_arena_copy(a, f->data, (size_t)f->size);
  if (f->size > MOST)
    status = tl_fail(d, TL_LIMIT, TL_AT_FILE(path), "the list of names is too long: %llu bytes",
                     (unsigned long long)f->size);
  else if (!copy)
    status = tl_fail_memory(d, TL_AT_FILE(path));
  else
    status = read_lines(d, a, path, (tl_sv){copy, (size_t)f->size}, out);
  tl_file_close(f);
  return status;
}

/* Returns true for a name as ONNX and the device compiler have them, with or without a domain. */
static bool is_op_name(tl_sv s) {
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && !(c == '_' || c == '.' || c == ':' || c == '-'))
      return false;
  }
  return s.n > 0;
}

tl_status tl_read_custom_ops(tl_diag *d, tl_arena *a, tl_location where, tl_sv text,
                             tl_options *out) {
  size_t most = 1;
  for (size_t i = 0; i < text.n; i++)
    most += text.p[i] == ',' || text.p[i] == '\n';
  tl_sv *names = tl_arena_calloc(a, most, sizeof *names);
  uint32_t n = 0;
  if (!names)
    return tl_fail_memory(d, where);
  for (tl_sv lines = text; lines.p;) {
    tl_sv line = tl_sv_split(&lines, '\n');
    while (line.p) {
      tl_sv name = tl_sv_trim(tl_sv_split(&line, ','));
      if (name.n && !is_op_name(name))
        return tl_fail_code(d, TL_INVALID_ARGUMENT, "E10001", where,
                            "'%.*s' is not the name of an op\v%s", TL_SV_ARG(tl_sv_shown(name)),
                            tl_value_hint(name, "names are joined by ','"));
      if (name.n)
        names[n++] = name;
    }
  }
  out->custom_ops = names;
  out->n_custom_ops = n;
  return TL_OK;
}
