/* SPDX-License-Identifier: Apache-2.0 */
/* Knows machines, their collectives and measured times; costs of nodes are in cost_nodes.c. */
#include "passes/train/time/cost.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "ir/ops_gen.h"

/* ---- presets --------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  size_t at;
} fields[] = {
#define HW_FIELD(member, unit, summary) {#member, offsetof(tl_hw_preset, member)},
#include "passes/train/time/hw_presets.tbl"
};

static const tl_hw_preset presets[] = {
#define PRESET(name, alg0, alg1, ...) {name, TL_COMM_##alg0, TL_COMM_##alg1, __VA_ARGS__},
#include "passes/train/time/hw_presets.tbl"
};

enum { N_FIELDS = sizeof fields / sizeof *fields, N_PRESETS = sizeof presets / sizeof *presets };

const tl_hw_preset *tl_hw_preset_at(uint32_t i) { return i < N_PRESETS ? &presets[i] : NULL; }

/* Adds a name to a list of names. */
static void list(tl_buf *out, const char *name) {
  tl_buf_add_z(out, out->n ? ", " : "");
  tl_buf_add_z(out, name);
}

/* Sets one "field=value". Shares and rates must be above 0, latencies may be 0, and interference is
 * at least 1. */
static bool set_field(tl_hw_preset *hw, tl_sv text) {
  tl_sv value = text;
  tl_sv name = tl_sv_trim(tl_sv_split(&value, '='));
  double v;
  if (!value.p || !tl_parse_f64(tl_sv_trim(value), &v) || !isfinite(v) || v < 0 || v > 1e18)
    return false;
  for (int i = 0; i < N_FIELDS; i++) {
    double *field = (double *)(void *)((char *)hw + fields[i].at);
    if (!tl_sv_is(name, fields[i].name))
      continue;
    if (v == 0 && *field > 0 && field != &hw->launch && field != &hw->event &&
        field != &hw->latency0 && field != &hw->latency1 && field != &hw->bitwise)
      return false;
    if (field == &hw->interference && v < 1)
      return false;
    *field = v;
    return true;
  }
  return false;
}

tl_status tl_hw_preset_parse(tl_diag *d, tl_sv text, tl_hw_preset *out) {
  tl_location where = {.attr = TL_SV("hw_preset")};
  tl_sv rest = text;
  tl_sv name = tl_sv_trim(tl_sv_split(&rest, ':'));
  const tl_hw_preset *found = NULL;
  tl_buf known;
  tl_buf_init(&known);
  for (uint32_t i = 0; i < N_PRESETS; i++) {
    if (tl_sv_is(name, presets[i].name))
      found = &presets[i];
    list(&known, presets[i].name);
  }
  tl_status status = TL_OK;
  if (!found) {
    status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-HW-PRESET", where,
                          "no machine is named '%.*s'\vthe machines are %s",
                          TL_SV_ARG(tl_sv_shown(name)), known.p ? known.p : "");
  } else {
    *out = *found;
  }
  while (status == TL_OK && rest.p) {
    tl_sv field = tl_sv_split(&rest, ',');
    if (set_field(out, field))
      continue;
    tl_buf_clear(&known);
    for (int i = 0; i < N_FIELDS; i++)
      list(&known, fields[i].name);
    status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-HW-PRESET", where,
                          "'%.*s' is not field=value with a number from 0 to 1e18, 0 only for "
                          "times, interference from 1 on\vfields are %s",
                          TL_SV_ARG(tl_sv_shown(field)), known.p ? known.p : "");
  }
  tl_buf_release(&known);
  return status;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static double steps_of(uint32_t ranks) { return ceil(log2(ranks)); }

double tl_cost_all_reduce(const tl_links *l, uint32_t ranks, double bytes) {
  double n = ranks;
  double whole = bytes / l->rate;
  if (ranks <= 1)
    return 0;
  switch (l->algorithm) {
  case TL_COMM_RING: return 2 * (n - 1) * l->latency + 2 * (n - 1) / n * whole;
  case TL_COMM_HALVING: {
    double power = exp2(floor(log2(n))); /* ranks beyond it hand their data to one of them */
    double spare = power < n ? 2 * whole : 0;
    return 2 * steps_of(ranks) * l->latency + 2 * (power - 1) / power * whole + spare;
  }
  case TL_COMM_MESH: return 2 * l->latency + 2 * whole / n;
  case TL_COMM_DIRECT: break;
  }
  return l->latency + whole;
}

/* Returns the time from one rank to all, or from all to one. */
static double one_to_all(const tl_links *l, uint32_t ranks, double bytes) {
  if (ranks <= 1)
    return 0;
  switch (l->algorithm) {
  case TL_COMM_RING: return (ranks - 1.0) * l->latency + bytes / l->rate;
  case TL_COMM_HALVING: return steps_of(ranks) * l->latency + bytes / l->rate;
  case TL_COMM_MESH: /* scattered, then gathered by all */
  case TL_COMM_DIRECT: break;
  }
  return tl_cost_all_reduce(l, ranks, bytes);
}

/* Two levels: n0 ranks in each of n1 servers. ReduceScatter and AllGather are each half of an
 * AllReduce. */
double tl_cost_collective(const tl_costs *c, tl_collective kind, double bytes) {
  const tl_hw_preset *hw = &c->hw;
  tl_links inner = {(tl_comm_algorithm)hw->algorithm0, hw->rate0 * 1e-6, hw->latency0};
  tl_links outer = {(tl_comm_algorithm)hw->algorithm1, hw->rate1 * 1e-6, hw->latency1};
  uint32_t n0 = c->ranks < hw->server ? c->ranks : (uint32_t)hw->server;
  uint32_t n1 = (c->ranks + n0 - 1) / n0;
  if (kind == TL_BROADCAST || kind == TL_REDUCE)
    return one_to_all(&outer, n1, bytes) + one_to_all(&inner, n0, bytes);
  double all = tl_cost_all_reduce(&inner, n0, bytes) + tl_cost_all_reduce(&outer, n1, bytes / n0);
  return kind == TL_ALL_REDUCE ? all : all / 2;
}

/* ---- profile --------------------------------------------------------------------------------- */

void tl_costs_init(tl_costs *c, const tl_hw_preset *hw, uint32_t ranks) {
  double server = fmax(1, fmin(hw->server, 1 << 20));
  *c = (tl_costs){.hw = *hw, .ranks = ranks ? ranks : (uint32_t)server};
  c->hw.server = server;
  c->rows = calloc(TL_N_OPS, sizeof *c->rows); /* it goes without, only slower */
}

static void release_profile(tl_costs *c) {
  free(c->profile);
  c->profile = NULL;
  c->n_profile = 0;
}

void tl_costs_release(tl_costs *c) {
  release_profile(c);
  free(c->rows);
  c->rows = NULL;
}

TL_VEC(profile_rows, tl_profile_row);

static int by_name(const void *a, const void *b) {
  const tl_profile_row *x = a;
  const tl_profile_row *y = b;
  return tl_sv_compare(x->name, y->name);
}

/* Cuts a line at its last comma. */
static bool parse_line(tl_sv line, tl_profile_row *row) {
  size_t comma = line.n;
  while (comma && line.p[comma - 1] != ',')
    comma--;
  if (comma < 2)
    return false;
  row->name = tl_sv_trim((tl_sv){line.p, comma - 1});
  tl_sv us = tl_sv_trim((tl_sv){line.p + comma, line.n - comma});
  return row->name.n && tl_parse_f64(us, &row->us) && isfinite(row->us) && row->us >= 0;
}

static tl_status read_lines(tl_diag *d, const char *path, tl_sv text, profile_rows *rows) {
  tl_location where = {.file = path, .column = 1};
  for (tl_sv rest = text; rest.p;) {
    tl_sv line = tl_sv_trim(tl_sv_split(&rest, '\n'));
    tl_profile_row row = {0};
    where.line++;
    if (line.n == 0 || line.p[0] == '#' || tl_sv_is(line, "name,us"))
      continue;
    if (!parse_line(line, &row))
      return tl_fail_code(d, TL_INVALID_ARGUMENT, "E-PROFILE", where,
                          "'%.*s' is not 'name,us' with a time of at least 0",
                          TL_SV_ARG(tl_sv_shown(line)));
    if (!profile_rows_push(rows, row))
      return tl_fail_memory(d, where);
  }
  return TL_OK;
}

tl_status tl_costs_read_profile(tl_diag *d, tl_costs *c, const char *path, tl_sv text) {
  profile_rows rows = {0};
  tl_status status = read_lines(d, path, text, &rows);
  if (rows.n)
    qsort(rows.at, rows.n, sizeof *rows.at, by_name);
  for (uint32_t i = 1; status == TL_OK && i < rows.n; i++)
    if (tl_sv_eq(rows.at[i].name, rows.at[i - 1].name))
      status = tl_fail_code(d, TL_INVALID_ARGUMENT, "E-PROFILE", TL_AT_FILE(path),
                            "'%.*s' has two times", TL_SV_ARG(tl_sv_shown(rows.at[i].name)));
  if (status != TL_OK) {
    profile_rows_release(&rows);
    return status;
  }
  release_profile(c);
  c->profile = rows.at;
  c->n_profile = rows.n;
  return TL_OK;
}

bool tl_cost_profile_find(const tl_costs *c, tl_sv name, double *us) {
  tl_profile_row key = {.name = name};
  const tl_profile_row *row =
      c->n_profile && name.n ? bsearch(&key, c->profile, c->n_profile, sizeof key, by_name) : NULL;
  if (row)
    *us = row->us;
  return row != NULL;
}
