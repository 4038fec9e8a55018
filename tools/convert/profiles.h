/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of dynamic sizes: what becomes of the model with each of them. */
#ifndef TL_TOOLS_CONVERT_PROFILES_H
#define TL_TOOLS_CONVERT_PROFILES_H

#include "passes/memory/memory.h"
#include "support/json_writer.h"
#include "tools/cli/cli.h"

/* An input or an output. Texts are in the settings' arena. */
typedef struct tl_profile_port {
  tl_sv name;
  const char *type;    /* "f32[1,3,736,960]" */
  int rank;            /* TL_RANK_UNKNOWN: of unknown shape, or no tensor */
  const int64_t *dims; /* [rank]; -1: not known */
} tl_profile_port;

/* What a profile makes of the model, in the form that is written. */
typedef struct tl_profile_facts {
  const tl_profile *profile;
  bool works; /* a bound that does not has no more members */
  const tl_profile_port *inputs;
  const tl_profile_port *outputs;
  uint32_t n_inputs;
  uint32_t n_outputs;
  uint32_t nodes;
  double macs; /* multiplications of matrix products and convolutions; of a loop one iteration */
  tl_memory memory;
} tl_profile_facts;

TL_VEC(tl_profile_facts_vec, tl_profile_facts);

/* Tries a model that was just loaded with every profile of the options. The first that fails is an
 * error. stage: of the pipeline that each goes through. */
tl_status tl_profiles_try(tl_cli *cli, const tl_module *m, tl_stage stage,
                          tl_profile_facts_vec *out) TL_NODISCARD;
/* Writes the file of --profile-report, if it names one; nothing without profiles. */
tl_status tl_profiles_write(tl_cli *cli, const tl_profile_facts_vec *v) TL_NODISCARD;
/* Adds a line for the summary, or with `all` one for each profile. */
void tl_profiles_text(const tl_cli *cli, const tl_profile_facts_vec *v, bool all, tl_buf *out);
/* Returns the profile that needs most of the device's memory; NULL if none works. */
const tl_profile_facts *tl_profiles_largest(const tl_profile_facts_vec *v);
/* Adds an array. */
void tl_profiles_json(const tl_cli *cli, const tl_profile_facts_vec *v, tl_json_writer *w);

#endif
