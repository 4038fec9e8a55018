/* SPDX-License-Identifier: Apache-2.0 */
/* Runs two conversions of one model side by side (variants.h). Both go through the whole pipeline,
 * each with its own precision. They share files of weights, the plan and the check that their
 * interfaces are the same. */
#include "tools/convert/variants.h"

#include <sys/stat.h>

#include "backend/weight_files.h"
#include "frontend/config/accelerate.h"
#include "passes/train/step/variants.h"
#include "support/json_writer.h"
#include "tools/cli/deps.h"
#include "tools/convert/conversion.h"
#include "tools/convert/init_graph.h"
#include "tools/convert/switch_plan.h"
#include "tools/step/files.h"
#include "tools/watch/watch.h"

enum { LOW, HIGH, N_VARIANTS };
static const char *const variant_names[N_VARIANTS] = {"low", "high"};

/* Files of one -o beside its two models. */
typedef struct model_set {
  const char *plan;      /* path */
  tl_weight_files files; /* weights that both models share */
} model_set;

/* State of both conversions. */
typedef struct variants {
  tl_cli *cli;
  const tl_output_vec *wanted;
  tl_conversion sides[N_VARIANTS]; /* outputs in the order of `wanted` */
  model_set *sets;                 /* [wanted->n], in the settings' arena */
  uint32_t n_sets;                 /* those that were made */
  tl_output_vec inits;             /* graphs of initial values, the same for both */
} variants;

/* Returns the path of the plan, "<stem>.switch.json", or NULL if memory is out. */
static const char *plan_of(tl_cli *cli, const char *path) {
  tl_buf text;
  tl_buf_init(&text);
  tl_buf_add(&text, path, tl_output_stem(path));
  tl_buf_add_z(&text, ".switch.json");
  const char *copy = text.failed ? NULL : tl_arena_copy(&cli->settings.arena, text.p, text.n);
  tl_buf_release(&text);
  return copy;
}

static tl_status refuse(tl_cli *cli, const char *what, const char *hint) {
  return tl_fail(&cli->diag, TL_UNSUPPORTED,
                 tl_at_option(&cli->settings, TL_OPTION_ACCELERATE_TRAIN_MODE), "%s\v%s", what,
                 hint);
}

tl_status tl_variants_check(tl_cli *cli, const tl_output_vec *wanted) {
  if (strcmp(cli->word, "-") == 0)
    return refuse(cli,
                  "the model is read once for each variant, which standard input does not allow",
                  "give a file");
  if (tl_session_fusion_report(&cli->session))
    return refuse(cli, "a fusion report describes one variant, and there are two",
                  "convert once without --accelerate-train-mode for the report");
  if (tl_cli_has(cli, TL_OPTION_PROFILE_REPORT))
    return refuse(cli, "a report of profiles describes one variant, and there are two",
                  "convert once without --accelerate-train-mode for the report");
  if (tl_step_files_wanted(cli))
    return refuse(cli, "a schedule report describes one variant, and there are two",
                  "convert once without --accelerate-train-mode for the report");
  for (uint32_t i = 0; i < wanted->n; i++) {
    if (strcmp(wanted->at[i].path, "-") == 0)
      return refuse(cli, "several files are written, which is impossible on standard output",
                    "give the output a name");
    for (uint32_t k = 0; k < i; k++) {
      /* model.air and model.onnx would have one plan and could have one file of weights. */
      size_t n = tl_output_stem(wanted->at[i].path);
      if (n == tl_output_stem(wanted->at[k].path) &&
          memcmp(wanted->at[i].path, wanted->at[k].path, n) == 0)
        return tl_fail(&cli->diag, TL_INVALID_ARGUMENT,
                       tl_at_option(&cli->settings, TL_OPTION_OUTPUT),
                       "'%s' and '%s' would have the same plan '%.*s.switch.json'\vgive them names "
                       "that differ before the suffix",
                       wanted->at[k].path, wanted->at[i].path, (int)n, wanted->at[i].path);
    }
  }
  return TL_OK;
}

/* ---- what is to be written ------------------------------------------------------------------- */

/* Returns true if both models of this output refer to one file of weights. */
static bool shares_weights(const variants *v, const tl_output *o) {
  bool outside = v->cli->settings.options.external_weight != TL_WEIGHTS_INSIDE;
  return outside && (o->format == TL_FORMAT_AIR || o->format == TL_FORMAT_ONNX);
}

/* Names the plan and the shared weights of one output. */
static tl_status plan_set(variants *v, const tl_output *o, model_set *set) {
  tl_cli *cli = v->cli;
  bool separate = cli->settings.options.external_weight == TL_WEIGHTS_SEPARATE;
  tl_weight_files_init(&set->files, o->path);
  v->n_sets++;
  set->plan = plan_of(cli, o->path);
  if (!set->plan)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  if (!shares_weights(v, o))
    return TL_OK;
  tl_status status = o->format == TL_FORMAT_AIR ? tl_weight_files_for_air(&set->files, separate)
                                                : tl_weight_files_for_onnx(&set->files);
  return status == TL_OK ? TL_OK : tl_fail_memory(&cli->diag, TL_NOWHERE);
}

/* Replaces each wanted output by one of each variant. */
static tl_status plan_outputs(variants *v) {
  tl_cli *cli = v->cli;
  v->sets = tl_arena_calloc(&cli->settings.arena, v->wanted->n, sizeof *v->sets);
  if (!v->sets)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  for (uint32_t i = 0; i < v->wanted->n; i++) {
    const tl_output *o = &v->wanted->at[i];
    TL_TRY(plan_set(v, o, &v->sets[i]));
    for (int side = 0; side < N_VARIANTS; side++) {
      tl_output own = {.path = tl_output_derive(cli, o->path, variant_names[side]),
                       .format = o->format,
                       .shared = shares_weights(v, o) ? &v->sets[i].files : NULL};
      if (!own.path || !tl_output_vec_push(&v->sides[side].outputs, own))
        return tl_fail_memory(&cli->diag, TL_NOWHERE);
    }
  }
  return tl_init_graph_plan(cli, v->wanted, &v->inits);
}

/* Checks that no file is written over one that is read: models, plans, files of weights. */
static tl_status check_paths(variants *v) {
  tl_module *m = v->sides[LOW].m;
  for (int side = 0; side < N_VARIANTS; side++)
    TL_TRY(tl_output_check(v->cli, m, &v->sides[side].outputs));
  TL_TRY(tl_output_check(v->cli, m, &v->inits));
  for (uint32_t i = 0; i < v->n_sets; i++) {
    model_set *set = &v->sets[i];
    TL_TRY(tl_output_spares_inputs(v->cli, m, set->plan, TL_OPTION_OUTPUT));
    if (!set->files.combined.p)
      continue;
    const char *path = tl_weight_files_path(&set->files, set->files.combined);
    TL_TRY(path ? tl_output_spares_inputs(v->cli, m, path, TL_OPTION_OUTPUT)
                : tl_fail_memory(&v->cli->diag, TL_NOWHERE));
  }
  return TL_OK;
}

/* ---- both conversions ------------------------------------------------------------------------ */

/* Sets the options to those of one variant. Every step must choose first, since both sides share
 * them. */
static tl_status choose(variants *v, int side) {
  return tl_accelerate_choose(&v->cli->settings, &v->cli->diag, side == LOW);
}

typedef tl_status (*step_fn)(tl_cli *cli, tl_conversion *c);

/* Runs one step of both conversions, each under its own options. */
static tl_status both(variants *v, step_fn step) {
  for (int side = 0; side < N_VARIANTS; side++) {
    TL_TRY(choose(v, side));
    TL_TRY(step(v->cli, &v->sides[side]));
  }
  return TL_OK;
}

/* Requires the same inputs, outputs and states of both models, so that training can switch. */
static tl_status check_alike(variants *v) {
  return tl_variants_same_interface(&v->cli->diag, v->sides[LOW].m, v->sides[HIGH].m);
}

/* Writes the models of one form, then the weights that they share, while both modules exist: shared
 * files refer to the tensors of both. */
static tl_status write_form(variants *v, bool npu) {
  tl_cli *cli = v->cli;
  for (int side = 0; side < N_VARIANTS; side++) {
    TL_TRY(choose(v, side));
    TL_TRY(tl_conversion_write(cli, &v->sides[side], npu));
  }
  for (uint32_t i = 0; i < v->n_sets; i++)
    if (tl_format_is_npu(v->wanted->at[i].format) == npu)
      TL_TRY(tl_weight_files_write(&v->sets[i].files, &cli->diag, cli->signal, &cli->changes));
  return TL_OK;
}

/* Writes one plan for each wanted output. Interfaces are equal, so the states of either module
 * fit. */
static tl_status write_plans(variants *v) {
  tl_cli *cli = v->cli;
  for (uint32_t i = 0; i < v->n_sets; i++) {
    tl_buf text;
    tl_buf_init(&text);
    tl_switch_plan_json(&cli->settings, v->sides[LOW].m, v->sides[LOW].outputs.at[i].path,
                        v->sides[HIGH].outputs.at[i].path, &text);
    tl_status status = tl_session_save_text(&cli->session, v->sets[i].plan, &text);
    tl_buf_release(&text);
    TL_TRY(status);
  }
  return TL_OK;
}

/* Converts both variants in step: each form of both is written before the next form replaces it. */
static tl_status convert(variants *v) {
  tl_cli *cli = v->cli;
  TL_TRY(both(v, tl_conversion_load));
  TL_TRY(check_paths(v));
  TL_TRY(both(v, tl_conversion_try_profiles));
  TL_TRY(both(v, tl_conversion_run_canonical));
  TL_TRY(tl_variants_observable(&cli->diag,
                                tl_at_option(&cli->settings, TL_OPTION_ACCELERATE_TRAIN_MODE),
                                v->sides[LOW].m, &cli->settings.accelerate));
  TL_TRY(check_alike(v));
  TL_TRY(write_form(v, false));
  if (tl_conversion_wants(v->wanted, true)) {
    TL_TRY(both(v, tl_conversion_run_npu));
    TL_TRY(check_alike(v));
    TL_TRY(write_form(v, true));
  }
  TL_TRY(both(v, tl_conversion_measure));
  TL_TRY(write_plans(v));
  TL_TRY(tl_init_graph_write(cli, v->sides[LOW].m, &v->inits));
  return tl_watch_end(cli);
}

/* ---- what the user hears --------------------------------------------------------------------- */

/* Adds both summaries, the plans and the graphs of initial values. */
static tl_status add_text(variants *v, tl_buf *out) {
  for (int side = 0; side < N_VARIANTS; side++) {
    TL_TRY(choose(v, side));
    tl_buf_printf(out, "%s: ", variant_names[side]);
    tl_conversion_describe(v->cli, &v->sides[side], out);
  }
  for (uint32_t i = 0; i < v->n_sets; i++)
    tl_buf_printf(out, "plan: %s\n", v->sets[i].plan);
  for (uint32_t i = 0; i < v->inits.n; i++)
    tl_buf_printf(out, "initial values: %s\n", v->inits.at[i].path);
  return TL_OK;
}

/* Adds {"low": summary, "high": summary, "plans": [...], "inits": [...]}. */
static tl_status add_json(variants *v, tl_buf *out) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_object(w);
  for (int side = 0; side < N_VARIANTS; side++) {
    TL_TRY(choose(v, side));
    tl_put_key(w, variant_names[side]);
    tl_put_made(w, TL_SV("")); /* the summary itself follows */
    tl_conversion_describe(v->cli, &v->sides[side], out);
  }
  tl_put_key(w, "plans");
  tl_put_array(w);
  for (uint32_t i = 0; i < v->n_sets; i++)
    tl_put_z(w, v->sets[i].plan);
  tl_put_end(w);
  tl_put_key(w, "inits");
  tl_put_array(w);
  for (uint32_t i = 0; i < v->inits.n; i++)
    tl_put_z(w, v->inits.at[i].path);
  tl_json_finish(w);
  return TL_OK;
}

/* Makes the summary, lets the files appear, and shows the summary only if they have. */
static tl_status apply(variants *v) {
  const char *form = tl_cli_get(v->cli, TL_OPTION_SUMMARY);
  tl_buf text;
  tl_status status = TL_OK;
  tl_buf_init(&text);
  if (strcmp(form, "text") == 0)
    status = add_text(v, &text);
  else if (strcmp(form, "json") == 0)
    status = add_json(v, &text);
  if (status == TL_OK)
    status = tl_cli_apply(v->cli);
  if (status == TL_OK) {
    tl_watch_report(v->cli);
    tl_cli_note(v->cli, &text);
  }
  tl_buf_release(&text);
  return status;
}

/* Writes the file of dependencies: every file that was written is a target of its rule. */
static tl_status write_depfile(variants *v) {
  tl_output_vec all = {0};
  bool ok = true;
  for (uint32_t i = 0; i < v->n_sets && ok; i++) {
    tl_output plan = {.path = v->sets[i].plan};
    for (int side = 0; side < N_VARIANTS && ok; side++)
      ok = tl_output_vec_push(&all, v->sides[side].outputs.at[i]);
    ok = ok && tl_output_vec_push(&all, plan);
  }
  for (uint32_t i = 0; i < v->inits.n && ok; i++)
    ok = tl_output_vec_push(&all, v->inits.at[i]);
  tl_status status = ok ? tl_deps_write(v->cli, &all) : tl_fail_memory(&v->cli->diag, TL_NOWHERE);
  tl_output_vec_release(&all);
  return status;
}

tl_status tl_variants_convert(tl_cli *cli, const tl_output_vec *wanted) {
  variants v = {.cli = cli, .wanted = wanted};
  tl_status status = plan_outputs(&v);
  if (status == TL_OK)
    status = convert(&v);
  if (status == TL_OK)
    status = write_depfile(&v);
  if (status == TL_OK)
    status = apply(&v);
  tl_output_vec_release(&v.inits);
  for (uint32_t i = 0; i < v.n_sets; i++)
    tl_weight_files_release(&v.sets[i].files);
  for (int side = 0; side < N_VARIANTS; side++)
    tl_conversion_release(&v.sides[side]);
  return status;
}
