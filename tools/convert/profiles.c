/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/convert/profiles.h"

#include "passes/train/time/cost.h"
#include "support/measure.h"
#include "tools/convert/device_memory.h"
#include "tools/convert/summary.h"

/* ---- gathering ------------------------------------------------------------------------------- */

typedef struct gatherer {
  tl_cli *cli;
  tl_profile_facts_vec *out;
} gatherer;

static char *copy_text(tl_cli *cli, tl_sv s) {
  return tl_arena_copy(&cli->settings.arena, s.n ? s.p : "", s.n);
}

static bool describe_port(tl_cli *cli, const tl_module *m, tl_value_id v, tl_profile_port *out) {
  const tl_type *t = tl_type_get(m, tl_value_type(m, v));
  tl_sv name = tl_value_name(m, v);
  tl_buf type;
  tl_buf_init(&type);
  tl_type_print(m, tl_value_type(m, v), &type);
  out->rank = t->kind == TL_KIND_TENSOR ? t->rank : TL_RANK_UNKNOWN;
  size_t n = out->rank > 0 ? (size_t)out->rank : 0;
  int64_t *dims = tl_arena_calloc(&cli->settings.arena, n, sizeof *dims);
  for (size_t i = 0; dims && i < n; i++)
    dims[i] = tl_dim_is_static(t->dims[i]) ? t->dims[i] : -1;
  out->dims = dims;
  out->name = (tl_sv){copy_text(cli, name), name.n};
  out->type = copy_text(cli, tl_buf_view(&type));
  bool ok = dims && out->name.p && out->type && !type.failed;
  tl_buf_release(&type);
  return ok;
}

/* Describes inputs or outputs; NULL when memory is out. */
static const tl_profile_port *describe_ports(tl_cli *cli, const tl_module *m, bool outputs,
                                             uint32_t *n) {
  const tl_graph *g = tl_module_main(m);
  *n = outputs ? tl_graph_n_outputs(m, g) : g->inputs.n;
  tl_profile_port *ports = tl_arena_calloc(&cli->settings.arena, *n, sizeof *ports);
  for (uint32_t i = 0; ports && i < *n; i++) {
    tl_value_id v = outputs ? tl_graph_output(m, g, i) : g->inputs.at[i];
    if (!describe_port(cli, m, v, &ports[i]))
      return NULL;
  }
  return ports;
}

static double count_macs(const tl_module *m) {
  double macs = 0;
  const tl_graph *g = tl_module_main(m);
  TL_FOR_NODES(m, g, n)
    macs += tl_cost_macs(m, n);
  return macs;
}

static tl_status gather(void *user, const tl_profile *p, const tl_module *m) {
  gatherer *x = user;
  tl_profile_facts facts = {.profile = p, .works = m != NULL};
  if (m) {
    facts.nodes = tl_module_count_nodes(m);
    facts.macs = count_macs(m);
    facts.inputs = describe_ports(x->cli, m, false, &facts.n_inputs);
    facts.outputs = describe_ports(x->cli, m, true, &facts.n_outputs);
    TL_TRY(tl_device_memory_measure(x->cli, m, &facts.memory));
    if (!facts.inputs || !facts.outputs)
      return tl_fail_memory(&x->cli->diag, TL_NOWHERE);
  }
  return tl_profile_facts_vec_push(x->out, facts) ? TL_OK
                                                  : tl_fail_memory(&x->cli->diag, TL_NOWHERE);
}

tl_status tl_profiles_try(tl_cli *cli, const tl_module *m, tl_stage stage,
                          tl_profile_facts_vec *out) {
  gatherer x = {cli, out};
  tl_profile_run run = {.stage = stage, .fn = gather, .user = &x};
  return tl_session_try_profiles(&cli->session, m, &run);
}

/* ---- showing --------------------------------------------------------------------------------- */

/* "1.82 G" multiplications. */
static void add_count(tl_buf *out, double n) {
  static const char *const units[] = {"", " k", " M", " G", " T"};
  int unit = 0;
  for (; n >= 1000 && unit < 4; unit++)
    n /= 1000;
  tl_buf_printf(out, unit ? "%.2f%s" : "%.0f%s", n, units[unit]);
}

static void add_ports(tl_buf *out, const tl_profile_port *at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    tl_buf_printf(out, "%s%.*s %s", i ? ", " : "", TL_SV_ARG(tl_sv_shown(at[i].name)), at[i].type);
}

static void add_profile(const tl_cli *cli, tl_buf *out, const tl_profile_facts *f) {
  tl_buf_printf(out, "  profile  %.*s: ", TL_SV_ARG(f->profile->text));
  if (!f->works) {
    tl_buf_add_z(out, "the model cannot work with these\n");
    return;
  }
  add_ports(out, f->inputs, f->n_inputs);
  tl_buf_add_z(out, " -> ");
  add_ports(out, f->outputs, f->n_outputs);
  tl_buf_printf(out, "\n           MACs %s", f->memory.n_unsized ? "at least " : "");
  add_count(out, f->macs);
  tl_buf_add_z(out, ", ");
  tl_device_memory_parts(&f->memory, out);
  if (f->memory.n_unsized)
    tl_buf_printf(out, " and %llu values of open size", (unsigned long long)f->memory.n_unsized);
  tl_buf_add_z(out, "\n           ");
  tl_device_memory_total(cli, &f->memory, out);
  tl_buf_add_char(out, '\n');
}

void tl_profiles_text(const tl_cli *cli, const tl_profile_facts_vec *v, bool all, tl_buf *out) {
  uint64_t least = UINT64_MAX, most = 0;
  uint32_t works = 0;
  for (uint32_t i = 0; i < v->n; i++) {
    if (all)
      add_profile(cli, out, &v->at[i]);
    if (!v->at[i].works)
      continue;
    works++;
    least = v->at[i].memory.peak < least ? v->at[i].memory.peak : least;
    most = v->at[i].memory.peak > most ? v->at[i].memory.peak : most;
  }
  if (all || works == 0)
    return;
  tl_buf_printf(out, "  profiles %u of %u work%s, activations ", works, v->n,
                works == 1 ? "s" : "");
  tl_add_bytes(out, least);
  tl_buf_add_z(out, " to ");
  tl_add_bytes(out, most);
  tl_buf_add_z(out, " (--profile-report)\n");
}

const tl_profile_facts *tl_profiles_largest(const tl_profile_facts_vec *v) {
  const tl_profile_facts *largest = NULL;
  for (uint32_t i = 0; i < v->n; i++)
    if (v->at[i].works &&
        (!largest || tl_memory_total(&v->at[i].memory) > tl_memory_total(&largest->memory)))
      largest = &v->at[i];
  return largest;
}

static void json_ports(tl_json_writer *w, const char *key, const tl_profile_port *at, uint32_t n) {
  tl_put_key(w, key);
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    tl_put_object(w);
    tl_member_sv(w, "name", at[i].name);
    tl_member_z(w, "type", at[i].type);
    tl_put_key(w, "shape");
    if (at[i].rank == TL_RANK_UNKNOWN) {
      tl_put_null(w);
    } else {
      tl_put_array(w);
      for (int k = 0; k < at[i].rank; k++)
        tl_put_i64(w, at[i].dims[k]);
      tl_put_end(w);
    }
    tl_put_end(w);
  }
  tl_put_end(w);
}

void tl_profiles_json(const tl_cli *cli, const tl_profile_facts_vec *v, tl_json_writer *w) {
  tl_put_array(w);
  for (uint32_t i = 0; i < v->n; i++) {
    const tl_profile_facts *f = &v->at[i];
    tl_put_object(w);
    tl_member_sv(w, "profile", f->profile->text);
    tl_member_bool(w, "works", f->works);
    if (f->works) {
      json_ports(w, "inputs", f->inputs, f->n_inputs);
      json_ports(w, "outputs", f->outputs, f->n_outputs);
      tl_member_u64(w, "nodes", f->nodes);
      tl_member_fixed(w, "macs", f->macs, 0);
      tl_put_key(w, "device");
      tl_device_memory_json(cli, &f->memory, w);
    }
    tl_put_end(w);
  }
  tl_put_end(w);
}

tl_status tl_profiles_write(tl_cli *cli, const tl_profile_facts_vec *v) {
  const char *path = tl_cli_get(cli, TL_OPTION_PROFILE_REPORT);
  if (!tl_cli_has(cli, TL_OPTION_PROFILE_REPORT))
    return TL_OK;
  if (cli->settings.options.n_profiles == 0)
    return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                   tl_at_option(&cli->settings, TL_OPTION_PROFILE_REPORT),
                   "there are no profiles to report\vgive --dynamic-batch-size, "
                   "--dynamic-image-size, --dynamic-dims, or bounds in --input-shape");
  if (strcmp(path, "-") == 0)
    return TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  if (tl_sv_ends_with(tl_sv_from(path), ".json")) {
    tl_json_writer w = tl_json_to(&text);
    tl_profiles_json(cli, v, &w);
    tl_json_finish(&w);
  } else {
    tl_profiles_text(cli, v, true, &text);
  }
  tl_status status = tl_session_save_text(&cli->session, path, &text);
  tl_buf_release(&text);
  return status;
}
