/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the summary of a conversion, as text and as JSON. */
#include "tools/convert/summary.h"

#include <sys/resource.h>

#include "passes/train/step/state.h"
#include "support/json_writer.h"
#include "support/measure.h"
#include "tools/convert/atc_line.h"
#include "tools/convert/device_memory.h"

tl_weights tl_count_weights(const tl_module *m) {
  tl_weights w = {0, 0};
  for (uint32_t g = 0; g < m->graphs.n; g++) {
    const tl_graph *graph = m->graphs.at[g];
    for (uint32_t i = 0; !graph->erased && i < graph->constants.n; i++) {
      tl_value_id v = graph->constants.at[i];
      if (!v)
        continue;
      w.constants++;
      w.bytes += tl_tensor_get(m, tl_value_get(m, v)->tensor)->bytes;
    }
  }
  return w;
}

/* Returns the peak of resident memory of this process; Linux gives it in KiB. */
static uint64_t peak_bytes(void) {
  struct rusage u;
  return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_maxrss * 1024 : 0;
}

/* Adds one line for each pass that changed something. */
static void add_passes(tl_buf *out, const tl_pipeline_report *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    const tl_pass_result *p = &r->at[i];
    if (p->changed == 0)
      continue;
    tl_buf_printf(out, "  pass     %-24s %llu rewrite%s", p->row->name,
                  (unsigned long long)p->changed, p->changed == 1 ? "" : "s");
    if (p->nodes_after != p->nodes_before)
      tl_buf_printf(out, ", nodes %u -> %u", p->nodes_before, p->nodes_after);
    tl_buf_add_char(out, '\n');
  }
}

/* Adds the weights before and, if passes changed them, after. */
static void add_weights(tl_buf *out, const tl_summary *s) {
  tl_buf_printf(out, "  weights  %llu constants, ",
                (unsigned long long)s->weights_before.constants);
  tl_add_bytes(out, s->weights_before.bytes);
  if (s->weights_before.constants != s->weights_after.constants ||
      s->weights_before.bytes != s->weights_after.bytes) {
    tl_buf_printf(out, " -> %llu constants, ", (unsigned long long)s->weights_after.constants);
    tl_add_bytes(out, s->weights_after.bytes);
  }
  tl_buf_add_char(out, '\n');
}

static void add_kernels(tl_buf *out, const tl_ub_totals *k) {
  if (k->groups == 0)
    return;
  tl_buf_printf(out, "  kernels  %u of several nodes (%u), which save ", k->groups, k->nodes);
  tl_add_bytes(out, k->saved);
  tl_buf_add_z(out, " of ");
  tl_add_bytes(out, k->traffic);
  tl_buf_add_z(out, " of memory traffic\n");
}

/* Adds times and memory. */
static void add_costs(tl_buf *out, const tl_summary *s) {
  tl_buf_add_z(out, "  time     ");
  tl_add_duration(out, s->load_ns + s->pass_ns + s->write_ns);
  tl_buf_add_z(out, " (read ");
  tl_add_duration(out, s->load_ns);
  tl_buf_add_z(out, ", passes ");
  tl_add_duration(out, s->pass_ns);
  tl_buf_add_z(out, ", write ");
  tl_add_duration(out, s->write_ns);
  tl_buf_add_z(out, ")\n  memory   peak ");
  tl_add_bytes(out, peak_bytes());
  tl_buf_add_z(out, ", of which the graph ");
  tl_add_bytes(out, s->module_bytes);
  tl_buf_add_char(out, '\n');
}

/* What the model takes of the device's memory; of profiles the one that takes most. */
static void add_device(const tl_cli *cli, const tl_module *m, const tl_summary *s, tl_buf *out) {
  const tl_profile_facts *largest = tl_profiles_largest(&s->profiles);
  const tl_memory *t = largest ? &largest->memory : &s->device;
  tl_buf_add_z(out, "  device   ");
  if (largest)
    tl_buf_printf(out, "profile %.*s: ", TL_SV_ARG(largest->profile->text));
  tl_device_memory_parts(t, out);
  tl_buf_add_z(out, "\n           ");
  tl_add_bytes(out, tl_memory_total(t));
  tl_buf_add_z(out, t->n_unsized ? " in all " : " in all; ");
  tl_device_memory_fit(cli, m, t, out);
  tl_buf_add_char(out, '\n');
}

/* Returns the first AIR file among the outputs, or NULL. */
static const char *find_air(const tl_output_vec *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    if (v->at[i].format == TL_FORMAT_AIR && strcmp(v->at[i].path, "-") != 0)
      return v->at[i].path;
  }
  return NULL;
}

/* Adds the files that were written, with their sizes. */
static void add_outputs(const tl_output_vec *v, tl_buf *out) {
  for (uint32_t i = 0; i < v->n; i++) {
    tl_buf_printf(out, "  wrote    %s", v->at[i].path);
    if (v->at[i].bytes) {
      tl_buf_add_z(out, " (");
      tl_add_bytes(out, v->at[i].bytes);
      tl_buf_add_char(out, ')');
    }
    tl_buf_add_char(out, '\n');
  }
}

/* Returns where a mode comes from that no option names. */
static const char *default_of(const tl_cli *cli) {
  if (tl_cli_has(cli, TL_OPTION_AMP_LEVEL))
    return "";
  return tl_cli_has(cli, TL_OPTION_ATC_COMPAT) ? ", the default of atc"
                                               : ", the default of the run configuration";
}

/* Returns the chip as the user named it, or the default chip. */
static const char *chip_name(const tl_cli *cli) {
  const tl_options *o = &cli->settings.options;
  return o->soc_version ? o->soc_version : "Ascend910B1";
}

/* Adds type and name of the first node that was counted. */
static void add_first(tl_buf *out, const tl_module *m, const tl_node_count *c) {
  tl_buf_printf(out, "%.*s", TL_SV_ARG(tl_sym(m, c->type)));
  if (c->name)
    tl_buf_printf(out, " `%.*s`", TL_SV_ARG(tl_sv_shown(tl_sym(m, c->name))));
}

static const char *plural(uint32_t n) { return n == 1 ? "" : "s"; }

/* Adds the nodes whose dtype the chip forced, without an option that asks for it. */
static void add_lowered(const tl_cli *cli, const tl_module *m, tl_buf *out) {
  const tl_node_count *c = &m->chip_fit.lowered;
  if (c->n == 0)
    return;
  tl_buf_printf(out, "; as allow_fp32_to_fp16 f16 in %u node%s, for which %s has no f32: ", c->n,
                plural(c->n), chip_name(cli));
  add_first(out, m, c);
  tl_buf_add_z(out, c->n == 1 ? "" : " the first");
}

/* Adds the nodes that the AI cores cannot run. */
static void add_host(const tl_cli *cli, const tl_module *m, tl_buf *out) {
  const tl_node_count *c = &m->chip_fit.host;
  if (c->n == 0)
    return;
  tl_buf_printf(out,
                "  AI CPU   %u node%s, as the AI cores of %s have no kernel for the dtypes: ", c->n,
                plural(c->n), chip_name(cli));
  add_first(out, m, c);
  tl_buf_printf(out, " with %s%s\n", tl_dtype_get((tl_dtype)c->dtype)->name,
                c->n == 1 ? "" : " the first");
}

/* Returns true if neither an option nor a default selects a mode. */
static bool has_no_mode(const tl_cli *cli) {
  const tl_precision_config *c = cli->settings.options.precision;
  return !c || (c->mode == TL_PRECISION_ORIGIN && !c->mode_name);
}

/* Adds the mode, who chose it, and what the chip forced. */
static void add_precision(const tl_cli *cli, const tl_module *m, tl_buf *out) {
  const tl_precision_config *c = cli->settings.options.precision;
  if (has_no_mode(cli)) {
    tl_buf_printf(out, "  dtypes   the model's own%s",
                  !c || tl_precision_is_inert(c) ? "" : " with exceptions");
    add_lowered(cli, m, out);
    tl_buf_add_char(out, '\n');
  } else
    tl_buf_printf(out, "  dtypes   %s%s: %s\n", c->mode_name,
                  cli->settings.accelerate.text || tl_cli_has(cli, TL_OPTION_PRECISION_MODE) ||
                          tl_cli_has(cli, TL_OPTION_PRECISION_MODE_V2)
                      ? ""
                      : default_of(cli),
                  tl_precision_mode_get(c->mode)->meaning);
  add_host(cli, m, out);
}

bool tl_is_audit(const tl_carried_option *o) { return tl_sv_starts_with(o->key, "tailor.run."); }

void tl_summary_text(tl_cli *cli, tl_module *m, const tl_summary *s, const tl_output_vec *v,
                     tl_buf *out) {
  const tl_options *o = &cli->settings.options;
  tl_buf_printf(out, "%s", cli->word);
  if (m->source_opset)
    tl_buf_printf(out, " (opset %lld)", (long long)m->source_opset);
  tl_buf_printf(out, "\n  nodes    %u -> %u", s->nodes_before, s->nodes_after);
  if (s->nodes_npu)
    tl_buf_printf(out, ", %u for the NPU", s->nodes_npu);
  tl_buf_add_char(out, '\n');
  add_weights(out, s);
  add_passes(out, &s->canonical);
  add_passes(out, &s->npu);
  add_kernels(out, &s->kernels);
  if (tl_cli_has(cli, TL_OPTION_NUMERICS))
    tl_buf_printf(out, "  numerics %s\n", tl_cli_get(cli, TL_OPTION_NUMERICS));
  if (s->nodes_npu && !cli->settings.options.soc_version)
    tl_buf_printf(out, "  chip     %s, since --soc-version names none\n", chip_name(cli));
  add_precision(cli, m, out);
  tl_profiles_text(cli, &s->profiles, tl_cli_has(cli, TL_OPTION_PROFILE_REPORT), out);
  add_device(cli, m, s, out);
  add_costs(out, s);
  add_outputs(v, out);
  bool run = false; /* what was in force, for later questions: too much to list */
  for (uint32_t i = 0; i < o->n_carried; i++) {
    bool audit = tl_is_audit(&o->carried[i]);
    run = run || audit;
    if (!audit)
      tl_buf_printf(out, "  recorded %.*s = %.*s\n", TL_SV_ARG(o->carried[i].key),
                    TL_SV_ARG(tl_step_carried(m, &o->carried[i])));
  }
  if (tl_step_state_of(m)->no_update_stream)
    tl_buf_add_z(out, "  streams  hcom_parallel is off: with a stream for updates the step would "
                      "take longer (--remarks)\n");
  if (tl_step_state_of(m)->no_tail)
    tl_buf_add_z(out, "  tail     is_tailing_optimization is off: with each of its changes the "
                      "step would take longer (--remarks)\n");
  if (run)
    tl_buf_add_z(out, "  recorded the run configuration (tailor.run.*)\n");
  const char *air = find_air(v);
  if (!air)
    return;
  if (m->chip_fit.unmapped) {
    tl_buf_printf(out, "%s is for inspection: %u node%s without an NPU form, and atc refuses %s\n",
                  air, m->chip_fit.unmapped, m->chip_fit.unmapped == 1 ? " is" : "s are",
                  m->chip_fit.unmapped == 1 ? "it" : "them");
    return;
  }
  tl_buf_add_z(out, "go on with:\n  ");
  tl_atc_line(cli, m, air, out);
  tl_buf_add_char(out, '\n');
  if (cli->settings.options.n_profiles && !cli->settings.options.profiles[0].bound)
    tl_buf_add_z(out, "  (atc up to CANN 8.1 refuses profiles for AIR; 8.5 takes them)\n");
}

static void json_weights(tl_json_writer *w, const char *key, tl_weights weights) {
  tl_put_key(w, key);
  tl_put_object(w);
  tl_member_u64(w, "constants", weights.constants);
  tl_member_u64(w, "bytes", weights.bytes);
  tl_put_end(w);
}

static void json_kernels(tl_json_writer *w, const tl_ub_totals *k) {
  const tl_count_member counts[] = {{"groups", k->groups},
                                    {"nodes", k->nodes},
                                    {"saved_bytes", k->saved},
                                    {"traffic_bytes", k->traffic}};
  tl_put_key(w, "kernels");
  tl_put_object(w);
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_put_end(w);
}

/* Adds the passes of one pipeline, also those that changed nothing. */
static void json_passes(tl_json_writer *w, const tl_pipeline_report *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    tl_put_object(w);
    tl_member_z(w, "pass", r->at[i].row->name);
    const tl_count_member counts[] = {{"rewrites", r->at[i].changed},
                                      {"nodes_before", r->at[i].nodes_before},
                                      {"nodes_after", r->at[i].nodes_after},
                                      {"nanoseconds", r->at[i].nanoseconds}};
    tl_member_counts(w, counts, sizeof counts / sizeof *counts);
    tl_put_end(w);
  }
}

static void json_outputs(tl_json_writer *w, const tl_output_vec *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    tl_put_object(w);
    tl_member_z(w, "path", v->at[i].path);
    tl_member_z(w, "format", tl_format_name(v->at[i].format));
    tl_member_u64(w, "bytes", v->at[i].bytes);
    tl_put_end(w);
  }
}

/* Adds a count of nodes with the first node as an example. */
static void json_count(tl_json_writer *w, const tl_module *m, const char *key,
                       const tl_node_count *c) {
  tl_put_key(w, key);
  tl_put_object(w);
  tl_member_u64(w, "nodes", c->n);
  if (c->n) {
    tl_member_sv(w, "first_type", tl_sym(m, c->type));
    tl_member_sv(w, "first_node", c->name ? tl_sym(m, c->name) : TL_SV(""));
    tl_member_z(w, "dtype", tl_dtype_get((tl_dtype)c->dtype)->name);
  }
  tl_put_end(w);
}

/* Adds the mode, what the chip forced where no mode was chosen, and the nodes its AI cores cannot
 * run. */
static void json_precision(const tl_cli *cli, const tl_module *m, tl_json_writer *w) {
  bool no_mode = has_no_mode(cli);
  tl_put_key(w, "dtypes");
  tl_put_object(w);
  tl_member_z(w, "mode", no_mode ? "" : cli->settings.options.precision->mode_name);
  tl_member_z(w, "chip", chip_name(cli));
  json_count(w, m, "lowered_by_chip", &m->chip_fit.lowered);
  json_count(w, m, "ai_cpu", &m->chip_fit.host);
  tl_put_end(w);
}

static void json_carried(tl_json_writer *w, const tl_options *o) {
  for (uint32_t i = 0; i < o->n_carried; i++) {
    tl_put_key_sv(w, o->carried[i].key);
    tl_put_sv(w, o->carried[i].value);
  }
}

void tl_summary_json(tl_cli *cli, tl_module *m, const tl_summary *s, const tl_output_vec *v,
                     tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  tl_member_z(w, "model", cli->word);
  tl_put_key(w, "opset");
  tl_put_i64(w, m->source_opset);
  const tl_count_member nodes[] = {{"nodes_before", s->nodes_before},
                                   {"nodes_after", s->nodes_after},
                                   {"nodes_npu", s->nodes_npu}};
  tl_member_counts(w, nodes, sizeof nodes / sizeof *nodes);
  if (s->nodes_npu)
    json_kernels(w, &s->kernels);
  json_weights(w, "weights_before", s->weights_before);
  json_weights(w, "weights_after", s->weights_after);
  const tl_count_member costs[] = {{"read_ns", s->load_ns},
                                   {"passes_ns", s->pass_ns},
                                   {"write_ns", s->write_ns},
                                   {"peak_bytes", peak_bytes()},
                                   {"graph_bytes", s->module_bytes}};
  tl_member_counts(w, costs, sizeof costs / sizeof *costs);
  tl_member_z(w, "numerics", tl_cli_get(cli, TL_OPTION_NUMERICS));
  json_precision(cli, m, w);
  tl_put_key(w, "device");
  tl_device_memory_json(cli, &s->device, w);
  tl_put_key(w, "profiles");
  tl_profiles_json(cli, &s->profiles, w);
  tl_put_key(w, "passes");
  tl_put_array(w);
  json_passes(w, &s->canonical);
  json_passes(w, &s->npu);
  tl_put_end(w);
  tl_put_key(w, "outputs");
  tl_put_array(w);
  json_outputs(w, v);
  tl_put_end(w);
  tl_put_key(w, "recorded");
  tl_put_object(w);
  json_carried(w, &cli->settings.options);
  tl_put_end(w);
  const char *air = find_air(v);
  if (s->nodes_npu)
    tl_member_u64(w, "unmapped", m->chip_fit.unmapped);
  if (air && !m->chip_fit.unmapped) {
    tl_buf call;
    tl_buf_init(&call);
    tl_atc_line(cli, m, air, &call);
    tl_member_sv(w, "next", tl_buf_view(&call));
    tl_buf_release(&call);
  }
  tl_json_finish(w);
}

void tl_summary_atc(tl_cli *cli, tl_module *m, const tl_output_vec *v, tl_buf *out) {
  const char *air = find_air(v);
  if (air && !m->chip_fit.unmapped)
    tl_atc_line(cli, m, air, out);
}
