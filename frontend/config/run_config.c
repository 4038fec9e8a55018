/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the table of run configuration and its lookups. */
#include "frontend/config/run_config.h"

static const tl_run_key keys[] = {
#define ROW(id, name, section, kind, values, fallback, consumer, key, help, shared)                \
  {{name, values, TL_OPTION_##kind}, fallback, key, help, TL_OPTION_##id, TL_RUN_##section,        \
   TL_CONSUMER_##consumer,           shared},
#define KEY(id, name, section, kind, values, fallback, consumer, key, help)                        \
  ROW(id, name, section, kind, values, fallback, consumer, key, help, false)
#define SAME(id, name, section, kind, values, fallback, consumer, key, help)                       \
  ROW(id, name, section, kind, values, fallback, consumer, key, help, true)
#include "frontend/config/run_config.tbl"
};

static const tl_run_member members[] = {
#define MEMBER(id, name, kind, values, key, help)                                                  \
  {{name, values, TL_OPTION_##kind}, key, help, TL_OPTION_##id},
#include "frontend/config/run_config.tbl"
};

enum { N_KEYS = sizeof keys / sizeof *keys, N_MEMBERS = sizeof members / sizeof *members };

static const char *const section_names[TL_N_RUN_SECTIONS] = {"NPURunConfig", "ExperimentalConfig",
                                                             "NPUOptimizer", "tailor"};

const tl_run_key *tl_run_keys(uint32_t *n) {
  *n = N_KEYS;
  return keys;
}

const tl_run_member *tl_run_members(uint32_t *n) {
  *n = N_MEMBERS;
  return members;
}

const char *tl_run_section_name(tl_run_section section) { return section_names[section]; }

const char *tl_run_spelled(const char *name, char out[TL_RUN_NAME_BYTES]) {
  size_t n = 0;
  for (; n < TL_RUN_NAME_BYTES - 1 && name[n]; n++)
    out[n] = name[n] == '-' ? '_' : name[n];
  out[n] = '\0';
  return out;
}

const tl_run_key *tl_run_key_of(tl_option_id id) {
  for (uint32_t i = 0; i < N_KEYS; i++)
    if (keys[i].option == id)
      return &keys[i];
  return NULL;
}

/* Returns true if a name of a file is `b`, which has dashes; underscores count as dashes. */
static bool same_name(tl_sv a, const char *b) {
  size_t i = 0;
  for (; i < a.n && b[i]; i++)
    if ((a.p[i] == '_' ? '-' : a.p[i]) != b[i])
      return false;
  return i == a.n && !b[i];
}

const tl_run_member *tl_run_member_find(tl_option_id id, tl_sv name) {
  for (uint32_t i = 0; i < N_MEMBERS; i++)
    if (members[i].option == id && same_name(name, members[i].type.name))
      return &members[i];
  return NULL;
}

/* Returns the name of a key as its section writes it. Keys of NPUOptimizer that other sections
 * have, too, carry a prefix in the table. */
static const char *plain_name(const tl_run_key *key) {
  bool prefixed = key->section == TL_RUN_OPTIMIZER &&
                  tl_sv_starts_with(tl_sv_from(key->type.name), "optimizer-");
  return key->type.name + (prefixed ? strlen("optimizer-") : 0);
}

const tl_run_key *tl_run_key_find(tl_sv name, tl_run_section section) {
  const tl_run_key *other = NULL;
  for (uint32_t i = 0; i < N_KEYS; i++) {
    if (keys[i].section == section && same_name(name, plain_name(&keys[i])))
      return &keys[i];
    if (same_name(name, keys[i].type.name))
      other = &keys[i];
  }
  return other;
}

const char *tl_run_key_nearest(tl_sv name) {
  char plain[64];
  size_t n = name.n < sizeof plain ? name.n : sizeof plain;
  const char *best = NULL;
  /* A name that differs in more than a quarter of its letters is another word, not a typo. */
  size_t limit = n / 4 + 2;
  for (size_t i = 0; i < n; i++)
    plain[i] = name.p[i] == '_' ? '-' : name.p[i];
  for (uint32_t i = 0; i < N_KEYS; i++) {
    size_t distance = tl_edit_distance((tl_sv){plain, n}, tl_sv_from(keys[i].type.name), limit);
    if (distance < limit) {
      limit = distance;
      best = keys[i].type.name;
    }
  }
  return best;
}
