/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor options, which lists the keys of run configurations. */
#include "frontend/config/run_config.h"
#include "tools/cli/cli.h"
#include "support/json_writer.h"

static const char *kind_name(const tl_run_type *t) {
  static const char *const names[] = {
      [TL_OPTION_BIT] = "bit",      [TL_OPTION_BOOL] = "bool", [TL_OPTION_CHOICE] = "choice",
      [TL_OPTION_INT] = "int",      [TL_OPTION_TEXT] = "text", [TL_OPTION_PATH] = "path",
      [TL_OPTION_REAL] = "real",    [TL_OPTION_SIZE] = "size", [TL_OPTION_LIST] = "list",
      [TL_OPTION_OBJECT] = "object"};
  return names[t->kind];
}

static const char *consumer_name(const tl_run_key *key) {
  static const char *const names[] = {[TL_CONSUMER_COMPILE] = "compiler",
                                      [TL_CONSUMER_ATTR] = "runtime",
                                      [TL_CONSUMER_BOTH] = "compiler, runtime",
                                      [TL_CONSUMER_HOST] = "host framework",
                                      [TL_CONSUMER_GONE] = "removed"};
  return names[key->consumer];
}

/* Returns what values a key may have: its own list, or that of the option that it stands for. */
static const char *values_of(const tl_run_key *key) {
  if (*key->type.values)
    return key->type.values;
  if (key->type.kind == TL_OPTION_BOOL)
    return "true|false";
  return tl_option_row_get((tl_option_id)key->option)->values;
}

/* Returns the name of a key as its section writes it. */
static const char *name_in_file(const tl_run_key *key, char out[TL_RUN_NAME_BYTES]) {
  static const char prefix[] = "optimizer-";
  bool prefixed = key->section == TL_RUN_OPTIMIZER &&
                  strncmp(key->type.name, prefix, sizeof prefix - 1) == 0;
  return tl_run_spelled(key->type.name + (prefixed ? sizeof prefix - 1 : 0), out);
}

static void add_string(tl_json_writer *w, const char *name, const char *value) {
  tl_member_z(w, name, value);
}

/* Adds the members of a key that takes an object. */
static void add_members_json(tl_json_writer *w, const tl_run_key *key) {
  uint32_t n;
  bool any = false;
  const tl_run_member *members = tl_run_members(&n);
  for (uint32_t i = 0; i < n; i++) {
    char name[TL_RUN_NAME_BYTES];
    if (members[i].option != key->option)
      continue;
    if (!any) {
      tl_json_line(w, 2);
      tl_put_key(w, "members");
      tl_put_array(w);
    }
    any = true;
    tl_json_line(w, 3);
    tl_put_object(w);
    add_string(w, "name", tl_run_spelled(members[i].type.name, name));
    add_string(w, "type", kind_name(&members[i].type));
    add_string(w, "values",
               members[i].type.kind == TL_OPTION_BOOL ? "true|false" : members[i].type.values);
    add_string(w, "ge", members[i].key);
    add_string(w, "help", members[i].help);
    tl_put_end(w);
  }
  if (any)
    tl_put_end(w);
}

/* Adds the keys as JSON, each with its members. */
static void add_json(tl_buf *out, const tl_run_key *keys, uint32_t n) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    const tl_run_key *key = &keys[i];
    char name[TL_RUN_NAME_BYTES];
    tl_json_line(w, 1);
    tl_put_object(w);
    add_string(w, "section", tl_run_section_name((tl_run_section)key->section));
    add_string(w, "name", name_in_file(key, name));
    add_string(w, "option", tl_option_row_get((tl_option_id)key->option)->name);
    add_string(w, "type", kind_name(&key->type));
    add_string(w, "values", values_of(key));
    add_string(w, "default", key->fallback);
    add_string(w, "consumer", consumer_name(key));
    add_string(w, "ge", key->key);
    add_string(w, "help", key->help);
    add_members_json(w, key);
    tl_put_end(w);
  }
  tl_json_line(w, 0);
  tl_json_finish(w);
}

/* Adds one entry for each member of a key that takes an object. */
static void add_members(tl_buf *out, const tl_run_key *key) {
  uint32_t n;
  const tl_run_member *members = tl_run_members(&n);
  for (uint32_t i = 0; i < n; i++) {
    const tl_run_type *t = &members[i].type;
    char name[TL_RUN_NAME_BYTES];
    if (members[i].option != key->option)
      continue;
    tl_buf_printf(out, "    .%s  %s", tl_run_spelled(t->name, name), kind_name(t));
    if (*t->values)
      tl_buf_printf(out, " %s", t->values);
    if (*members[i].key)
      tl_buf_printf(out, "; %s", members[i].key);
    tl_buf_printf(out, "\n        %s\n", members[i].help);
  }
}

/* Adds the lines of one key. */
static void add_key(tl_buf *out, const tl_run_key *key) {
  char name[TL_RUN_NAME_BYTES];
  tl_buf_printf(out, "  %s  %s %s", name_in_file(key, name), kind_name(&key->type), values_of(key));
  if (*key->fallback)
    tl_buf_printf(out, " (default: %s)", key->fallback);
  tl_buf_printf(out, "; %s", consumer_name(key));
  if (*key->key)
    tl_buf_printf(out, "; %s", key->key);
  tl_buf_printf(out, "\n      %s\n", key->help);
  add_members(out, key);
}

/* Adds the keys by section. */
static void add_text(tl_buf *out, const tl_run_key *keys, uint32_t n) {
  tl_buf_add_z(out, "Keys of --run-config, each also an option of 'tailor convert'.\n"
                    "key  type values (default); who consumes it; GE's key\n");
  for (unsigned section = 0; section < TL_N_RUN_SECTIONS; section++) {
    bool titled = false;
    for (uint32_t i = 0; i < n; i++) {
      if (keys[i].section != section)
        continue;
      if (!titled)
        tl_buf_printf(out, "\n%s\n", tl_run_section_name((tl_run_section)section));
      titled = true;
      add_key(out, &keys[i]);
    }
  }
}

tl_status tl_command_options(tl_cli *cli) {
  uint32_t n;
  const tl_run_key *keys = tl_run_keys(&n);
  tl_buf out;
  if (cli->word) {
    const tl_run_key *one = tl_run_key_find(tl_sv_from(cli->word), TL_N_RUN_SECTIONS);
    const char *nearest = tl_run_key_nearest(tl_sv_from(cli->word));
    char name[TL_RUN_NAME_BYTES];
    if (!one)
      return tl_fail_code(&cli->diag, TL_INVALID_ARGUMENT, "E-OPT-UNKNOWN", TL_NOWHERE,
                          "'%s' is not a key of a run configuration%s%s%s", cli->word,
                          nearest ? "\vdid you mean '" : "",
                          nearest ? tl_run_spelled(nearest, name) : "", nearest ? "'?" : "");
    keys = one;
    n = 1;
  }
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON))
    add_json(&out, keys, n);
  else if (cli->word)
    add_key(&out, keys);
  else
    add_text(&out, keys, n);
  return tl_cli_print(cli, &out);
}
