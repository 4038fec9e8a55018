/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the public fusion passes and which are on (tailor passes --fusion). */
#include <stdlib.h>

#include "support/json_writer.h"
#include "tools/cli/rules.h"

static const char *close_name(const tl_fusion_name *row) {
  static const char *const names[] = {"yes", "no", "no, not at O1"};
  return names[row->close];
}

/* A name that stands for one or several passes; its state is that of these passes. */
typedef struct alias {
  const tl_fusion_name *row; /* of the first */
  tl_sv name;
  uint32_t n; /* passes */
  uint32_t on;
  uint32_t rules;
} alias;

/* Fills alias i with the state of its passes; false behind the last one. */
static bool get_alias(tl_cli *cli, uint32_t i, alias *out) {
  const char *name = tl_fusion_alias_at(i), *pass;
  *out = (alias){.name = tl_sv_from(name ? name : "")};
  if (!name)
    return false;
  out->row = tl_fusion_name_find(tl_sv_from(tl_fusion_alias_get(out->name, 0)));
  for (; (pass = tl_fusion_alias_get(out->name, out->n)); out->n++) {
    const char *why;
    tl_fusion_kind kind = (tl_fusion_kind)out->row->kind;
    out->on += tl_fusion_is_on(&cli->settings.fusion, tl_sv_from(pass), kind, &why);
    out->rules += tl_count_rules(cli, tl_sv_from(pass), kind);
  }
  return true;
}

/* Adds the aliases as JSON; an alias is on if all its passes are. */
static void add_json_aliases(tl_cli *cli, tl_json_writer *w) {
  alias a;
  for (uint32_t i = 0; get_alias(cli, i, &a); i++) {
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_sv(w, "name", a.name);
    tl_member_z(w, "kind", tl_fusion_kind_name((tl_fusion_kind)a.row->kind));
    tl_member_u64(w, "rules", a.rules);
    tl_member_bool(w, "on", a.on == a.n);
    tl_put_key(w, "stands_for");
    tl_put_array(w);
    for (uint32_t k = 0; k < a.n; k++)
      tl_put_z(w, tl_fusion_alias_get(a.name, k));
    tl_put_end(w);
    tl_put_end(w);
  }
}

/* Adds one line for each alias; "part" means that some of its passes are on. */
static void add_aliases(tl_cli *cli, tl_buf *out) {
  alias a;
  for (uint32_t i = 0; get_alias(cli, i, &a); i++) {
    tl_buf_printf(out, "%-60.*s %-8s %-8s %-14s %-6u %-5s stands for", TL_SV_ARG(a.name),
                  tl_fusion_kind_name((tl_fusion_kind)a.row->kind), a.row->on ? "on" : "off",
                  close_name(a.row), a.rules,
                  a.on == a.n ? "on"
                  : a.on      ? "part"
                              : "off");
    for (uint32_t k = 0; k < a.n; k++)
      tl_buf_printf(out, "%s %s", k ? "," : "", tl_fusion_alias_get(a.name, k));
    tl_buf_add_char(out, '\n');
  }
}

/* Returns true if a pass is on. Scope fusions of rule files are off unless they are named or are
 * general. */
static bool is_on(const tl_cli *cli, const tl_fusion_name *row, const char **why) {
  const tl_fusion_config *c = &cli->settings.fusion;
  tl_sv name = tl_sv_from(row->name);
  bool on = tl_fusion_is_on(c, name, (tl_fusion_kind)row->kind, why);
  if (!on || row->on || tl_fusion_name_find(name) ||
      tl_fusion_is_named(c, name, (tl_fusion_kind)row->kind))
    return on;
  *why = "off by default";
  return false;
}

/* Returns why no rule has the name; NULL if some have, or if the reason is unknown. */
static const char *lacks(tl_cli *cli, const tl_fusion_name *row) {
  tl_sv name = tl_sv_from(row->name);
  return tl_count_rules(cli, name, (tl_fusion_kind)row->kind) ? NULL : tl_fusion_name_lacks(name);
}

/* Adds further facts. A scope fusion that runs without being named is general, which is a property
 * of this build and not of the fusion. */
static void add_json_notes(tl_cli *cli, tl_json_writer *w, const tl_fusion_name *row) {
  const char *why = lacks(cli, row);
  if (row->kind == TL_FUSION_SCOPE) {
    tl_member_bool(w, "general", row->on);
  }
  if (why) {
    tl_member_z(w, "lacks", why);
  }
}

/* Adds the passes as JSON, the aliases behind them. */
static void add_json(tl_cli *cli, tl_buf *out, const tl_fusion_name *rows, uint32_t n) {
  tl_json_writer writer = tl_json_to(out), *w = &writer;
  tl_put_array(w);
  for (uint32_t i = 0; i < n; i++) {
    const char *why;
    tl_fusion_kind kind = (tl_fusion_kind)rows[i].kind;
    bool on = is_on(cli, &rows[i], &why);
    tl_json_line(w, 1);
    tl_put_object(w);
    tl_member_z(w, "name", rows[i].name);
    tl_member_z(w, "kind", tl_fusion_kind_name(kind));
    tl_member_bool(w, "default", rows[i].on);
    tl_member_bool(w, "may_be_off", rows[i].close == TL_CLOSE_MAY);
    tl_member_u64(w, "rules", tl_count_rules(cli, tl_sv_from(rows[i].name), kind));
    tl_member_bool(w, "on", on);
    tl_member_z(w, "why", why);
    add_json_notes(cli, w, &rows[i]);
    tl_put_end(w);
  }
  add_json_aliases(cli, w);
  tl_json_line(w, 0);
  tl_json_finish(w);
}

/* Adds one line for each pass, with the reason for its state. */
static void add_text(tl_cli *cli, tl_buf *out, const tl_fusion_name *rows, uint32_t n) {
  tl_buf_printf(out, "%-60s %-8s %-8s %-14s %-6s %-5s %s\n", "fusion pass", "kind", "default",
                "may be off", "rules", "state", "because");
  for (uint32_t i = 0; i < n; i++) {
    const char *why;
    tl_fusion_kind kind = (tl_fusion_kind)rows[i].kind;
    bool on = is_on(cli, &rows[i], &why);
    const char *lack = lacks(cli, &rows[i]);
    tl_buf_printf(out, "%-60s %-8s %-8s %-14s %-6u %-5s %s%s%s%s\n", rows[i].name,
                  tl_fusion_kind_name(kind), rows[i].on ? "on" : "off", close_name(&rows[i]),
                  tl_count_rules(cli, tl_sv_from(rows[i].name), kind), on ? "on" : "off", why,
                  kind == TL_FUSION_SCOPE && rows[i].on ? "; general" : "",
                  lack ? "; no rules: " : "", lack ? lack : "");
  }
}

/* Adds public names of rules that the table lacks, each once, behind the rows of the table. */
static tl_status add_rule_names(tl_cli *cli, tl_fusion_name *rows, uint32_t *n, uint32_t room) {
  for (uint32_t i = 0; i < cli->rules->set.rules.n; i++) {
    const tl_rule *rule = cli->rules->set.rules.at[i];
    tl_sv name = tl_sym(cli->rules->m, rule->pass);
    bool seen = !tl_rule_is_pass(rule) || tl_fusion_name_find(name) != NULL;
    for (uint32_t k = 0; k < *n && !seen; k++)
      seen = tl_sv_is(name, rows[k].name);
    if (seen || *n == room)
      continue;
    const char *copy = tl_arena_copy(&cli->settings.arena, name.p, name.n);
    if (!copy)
      return tl_fail_memory(&cli->diag, TL_NOWHERE);
    bool on = rule->pass_kind != TL_FUSION_SCOPE || rule->general;
    rows[(*n)++] = (tl_fusion_name){copy, rule->pass_kind, TL_CLOSE_MAY, on};
  }
  return TL_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const tl_fusion_name *)a)->name, ((const tl_fusion_name *)b)->name);
}

tl_status tl_list_fusions(tl_cli *cli) {
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  uint32_t n;
  const tl_fusion_name *table = tl_fusion_names(&n);
  TL_TRY(tl_cli_load_rules(cli));
  uint32_t room = n + cli->rules->set.rules.n;
  tl_fusion_name *rows = tl_arena_calloc(&cli->settings.arena, room, sizeof *rows);
  if (!rows)
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  memcpy(rows, table, n * sizeof *rows);
  TL_TRY(add_rule_names(cli, rows, &n, room));
  qsort(rows, n, sizeof *rows, by_name);
  tl_buf out;
  tl_buf_init(&out);
  if (tl_cli_has(cli, TL_OPTION_AS_JSON)) {
    add_json(cli, &out, rows, n);
  } else {
    add_text(cli, &out, rows, n);
    add_aliases(cli, &out);
  }
  return tl_cli_print(cli, &out);
}
