/* SPDX-License-Identifier: Apache-2.0 */
/* Implements tailor ops, which shows the op table. */
#include "ir/op.h"
#include "tools/cli/cli.h"
#include "support/json_writer.h"
#include "tools/tables/meanings.h"
#include "tools/tables/op_chip.h"
#include "tools/tables/ops.h"

static bool is_npu(const tl_op *op) { return strcmp(op->domain, "npu") == 0; }

static void add_name(tl_buf *out, const tl_op *op) {
  if (*op->domain)
    tl_buf_printf(out, "%s::", op->domain);
  tl_buf_add_z(out, op->name);
}

static void add_versions(tl_buf *out, const tl_op *op) {
  for (uint8_t i = 0; i < op->n_since; i++)
    tl_buf_printf(out, "%s%d", i ? ", " : "", op->since[i]);
}

/* Adds the NPU types that an op may become, each once. */
static void add_npu_types(tl_buf *out, const tl_op *op) {
  bool any = false;
  for (uint8_t i = 0; i < op->n_npu; i++) {
    bool repeated = *op->npu[i].npu_type == '\0';
    for (uint8_t k = 0; k < i; k++)
      repeated |= strcmp(op->npu[k].npu_type, op->npu[i].npu_type) == 0;
    if (repeated)
      continue;
    tl_buf_printf(out, "%s%s", any ? ", " : "", op->npu[i].npu_type);
    any = true;
  }
}

/* Adds the operands or results of an op with their type variables. */
static void add_ports(tl_buf *out, const char *what, const tl_op_port *ports, uint8_t n,
                      const tl_op *op) {
  static const char *const kinds[] = {[TL_PORT_REQUIRED] = "",
                                      [TL_PORT_OPTIONAL] = " (optional)",
                                      [TL_PORT_VARIADIC] = " (any number)"};
  for (uint8_t i = 0; i < n; i++)
    tl_buf_printf(out, "  %-9s%s: %s%s\n", what, ports[i].name,
                  ports[i].var == TL_ANY_TYPE ? "any" : op->vars[ports[i].var].name,
                  kinds[ports[i].kind]);
}

/* Adds the dtypes that each type variable of the op may stand for. */
static void add_vars(tl_buf *out, const tl_op *op) {
  for (uint8_t i = 0; i < op->n_vars; i++) {
    const tl_type_var *var = &op->vars[i];
    tl_buf_printf(out, "  types    %s:", var->name);
    for (unsigned d = 0; d < TL_N_DTYPES; d++) {
      if (var->dtypes & TL_DTYPE_BIT(d))
        tl_buf_printf(out, " %s", tl_dtype_get((tl_dtype)d)->name);
    }
    tl_buf_add_char(out, '\n');
  }
}

void tl_op_add_default(tl_buf *out, const tl_op_attr *a) {
  if (!a->has_default)
    return;
  if (a->value.kind == TL_ATTR_INT)
    tl_buf_add_i64(out, a->value.u.i);
  if (a->value.kind == TL_ATTR_BOOL)
    tl_buf_add_z(out, a->value.u.i ? "true" : "false");
  if (a->value.kind == TL_ATTR_FLOAT)
    tl_buf_add_f32(out, a->value.u.f);
  if (a->value.kind == TL_ATTR_STRING && a->value.u.s)
    tl_buf_printf(out, "\"%s\"", tl_seeds[a->value.u.s - 1].text);
}

/* Adds the attributes of an op with their kinds and defaults. */
static void add_attrs(tl_buf *out, const tl_op *op) {
  for (uint8_t i = 0; i < op->n_attrs; i++) {
    const tl_op_attr *a = &op->attrs[i];
    /* Names in the table are symbols of the seed strings: symbol n is seed n - 1. */
    tl_buf_printf(out, "  attr     %s: %s%s", tl_seeds[a->value.name - 1].text,
                  a->flag ? "flag" : tl_attr_kind_name((tl_attr_kind)a->value.kind),
                  a->required ? " (required)" : "");
    tl_buf value;
    tl_buf_init(&value);
    tl_op_add_default(&value, a);
    if (value.n)
      tl_buf_printf(out, " = %.*s", TL_SV_ARG(tl_buf_view(&value)));
    out->failed = out->failed || value.failed;
    tl_buf_release(&value);
    tl_buf_add_char(out, '\n');
  }
}

void tl_op_describe(tl_buf *out, const tl_op *op) {
  add_name(out, op);
  if (op->n_since) {
    tl_buf_add_z(out, " (versions ");
    add_versions(out, op);
    tl_buf_add_char(out, ')');
  }
  tl_buf_add_char(out, '\n');
  add_ports(out, "operand", op->operands, op->n_operand_ports, op);
  add_ports(out, "result", op->results, op->n_result_ports, op);
  add_vars(out, op);
  add_attrs(out, op);
}

/* Adds all that is known of an op. */
static void describe(tl_buf *out, const tl_op_chip *chip, const tl_op *op) {
  tl_op_describe(out, op);
  tl_add_meaning(out, op);
  tl_op_chip_candidates(out, chip, op);
}

static void describe_json(tl_json_writer *w, const tl_op_chip *chip, const tl_op *op) {
  tl_put_object(w);
  tl_member_z(w, "domain", op->domain);
  tl_member_z(w, "name", op->name);
  tl_put_key(w, "since");
  tl_put_array(w);
  for (uint8_t i = 0; i < op->n_since; i++)
    tl_put_i64(w, op->since[i]);
  tl_put_end(w);
  tl_put_key(w, "npu");
  tl_op_chip_candidates_json(w, chip, op);
  tl_put_end(w);
}

/* Returns true if the word names the op, with or without its domain. */
static bool is_named(const tl_op *op, const char *word) {
  size_t n = strlen(op->domain);
  if (strcmp(op->name, word) == 0)
    return true;
  return n && strncmp(word, op->domain, n) == 0 && strncmp(word + n, "::", 2) == 0 &&
         strcmp(word + n + 2, op->name) == 0;
}

/* Returns the op whose name is nearest, NULL if none is near. */
static const char *nearest_op(const char *word) {
  const char *best = NULL;
  size_t best_distance = 4;
  for (uint32_t i = 0; i < tl_n_op_rows; i++) {
    size_t distance =
        tl_edit_distance(tl_sv_from(word), tl_sv_from(tl_op_rows[i].name), best_distance);
    if (distance < best_distance) {
      best_distance = distance;
      best = tl_op_rows[i].name;
    }
  }
  return best;
}

/* Adds one line of the list: the name, padded to 40 columns, and the NPU types. */
static void add_row(tl_buf *out, const tl_op *op) {
  size_t start = out->n;
  add_name(out, op);
  tl_buf_printf(out, "%*s ", out->n - start < 40 ? (int)(40 - (out->n - start)) : 0, "");
  if (op->n_npu)
    add_npu_types(out, op);
  else
    tl_buf_add_char(out, '-');
  tl_buf_add_char(out, '\n');
}

/* Returns the op information that the word names, with or without "npu::". */
static tl_op_info named_info(const tl_op_chip *chip, const char *word) {
  size_t prefix = strncmp(word, "npu::", 5) == 0 ? 5 : 0;
  return tl_op_info_find(chip->info, tl_sv_from(word + prefix));
}

/* Shows every op and NPU type of this name: a name may occur in several domains. */
static tl_status show_named(tl_cli *cli, const tl_op_chip *chip, bool json, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  bool any = false;
  if (json)
    tl_put_array(&w);
  for (uint32_t i = 0; i < tl_n_op_rows; i++) {
    if (!is_named(&tl_op_rows[i], cli->word))
      continue;
    any = true;
    tl_json_line(&w, 1);
    if (json)
      describe_json(&w, chip, &tl_op_rows[i]);
    else
      describe(out, chip, &tl_op_rows[i]);
  }
  tl_op_info info = named_info(chip, cli->word);
  if (info.row) {
    any = true;
    tl_json_line(&w, 1);
    if (json)
      tl_op_chip_type_json(&w, info);
    else
      tl_op_chip_type(out, chip, info);
  }
  tl_json_line(&w, 0);
  if (json)
    tl_json_finish(&w);
  if (any)
    return TL_OK;
  const char *nearest = nearest_op(cli->word);
  return tl_fail(&cli->diag, TL_INVALID_ARGUMENT, TL_NOWHERE, "the op table has no '%s'\v%s%s%s",
                 cli->word, nearest ? "did you mean " : "'tailor ops' lists the ops",
                 nearest ? nearest : "", nearest ? "?" : "");
}

/* Lists all ops but the NPU prototypes, which only a name shows. */
static void show_all(const tl_op_chip *chip, bool json, tl_buf *out) {
  tl_json_writer w = tl_json_to(out);
  if (json)
    tl_put_array(&w);
  for (uint32_t i = 0; i < tl_n_op_rows; i++) {
    if (is_npu(&tl_op_rows[i]))
      continue;
    tl_json_line(&w, 1);
    if (json)
      describe_json(&w, chip, &tl_op_rows[i]);
    else
      add_row(out, &tl_op_rows[i]);
  }
  tl_json_line(&w, 0);
  if (json)
    tl_json_finish(&w);
}

tl_status tl_command_ops(tl_cli *cli) {
  bool json = tl_cli_has(cli, TL_OPTION_AS_JSON);
  tl_op_chip chip;
  tl_buf out;
  TL_TRY(tl_settings_resolve(&cli->settings, &cli->diag));
  if (!tl_op_chip_init(&chip, &cli->settings.options, &cli->diag))
    return tl_fail_memory(&cli->diag, TL_NOWHERE);
  tl_buf_init(&out);
  tl_status status = TL_OK;
  if (cli->word)
    status = show_named(cli, &chip, json, &out);
  else
    show_all(&chip, json, &out);
  tl_op_chip_release(&chip);
  if (status == TL_OK)
    return tl_cli_print(cli, &out);
  tl_buf_release(&out);
  return status;
}
