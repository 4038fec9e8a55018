/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/convert/device_memory.h"

#include "support/measure.h"

tl_status tl_device_memory_measure(tl_cli *cli, const tl_module *m, tl_memory *out) {
  if (tl_memory_measure(m, tl_options_op_info(&cli->settings.options), out) == TL_OK)
    return TL_OK;
  return tl_fail_memory(&cli->diag, TL_NOWHERE);
}

void tl_device_memory_warn(tl_cli *cli, const tl_memory *t) {
  uint64_t room = cli->settings.options.device_memory;
  if (!room || tl_memory_total(t) <= room)
    return;
  tl_buf need, has;
  tl_buf_init(&need);
  tl_buf_init(&has);
  tl_add_bytes(&need, tl_memory_total(t));
  tl_add_bytes(&has, room);
  if (!need.failed && !has.failed)
    tl_warn(&cli->diag, TL_AT_FILE(cli->word),
            "the model needs %s of the device's memory, which has %s\v'tailor info --memory' says "
            "what for; smaller batches, --order=memory or a lower precision need less",
            need.p, has.p);
  tl_buf_release(&need);
  tl_buf_release(&has);
}

void tl_device_memory_parts(const tl_memory *t, tl_buf *out) {
  tl_buf_add_z(out, "weights ");
  tl_add_bytes(out, t->weights);
  tl_buf_add_z(out, ", inputs ");
  tl_add_bytes(out, t->inputs);
  tl_buf_add_z(out, ", outputs ");
  tl_add_bytes(out, t->outputs);
  tl_buf_add_z(out, ", activations ");
  tl_add_bytes(out, t->peak);
  if (t->bound + t->peak / 100 < t->peak) { /* what rounding would show as equal is */
    tl_buf_add_z(out, " (any order: at least ");
    tl_add_bytes(out, t->bound);
    tl_buf_add_char(out, ')');
  }
}

static const char *chip_of(const tl_cli *cli) {
  const char *soc = cli->settings.options.soc_version;
  return soc ? soc : "Ascend910B1";
}

/* Adds whether the device has so much. */
static void add_verdict(const tl_cli *cli, const tl_memory *t, tl_buf *out) {
  uint64_t room = cli->settings.options.device_memory;
  if (!room) {
    tl_buf_printf(out, "the memory of %s is not known (--device-memory)", chip_of(cli));
    return;
  }
  tl_buf_add_z(out, tl_memory_total(t) <= room ? "fits into " : "does not fit into ");
  tl_add_bytes(out, room);
  if (!tl_cli_has(cli, TL_OPTION_DEVICE_MEMORY))
    tl_buf_printf(out, " of %s", chip_of(cli));
}

void tl_device_memory_total(const tl_cli *cli, const tl_memory *t, tl_buf *out) {
  uint64_t room = cli->settings.options.device_memory;
  tl_buf_add_z(out, t->n_unsized ? "in all at least " : "in all ");
  tl_add_bytes(out, tl_memory_total(t));
  if (t->n_unsized && (!room || tl_memory_total(t) <= room))
    return; /* what has no size may be too large */
  tl_buf_add_z(out, ", ");
  add_verdict(cli, t, out);
}

void tl_device_memory_fit(const tl_cli *cli, const tl_module *m, const tl_memory *t, tl_buf *out) {
  uint64_t room = cli->settings.options.device_memory;
  if (t->n_unsized) {
    tl_buf_printf(out, "and what has no fixed size: %llu value%s, the first `%.*s` of type ",
                  (unsigned long long)t->n_unsized, t->n_unsized == 1 ? "" : "s",
                  TL_SV_ARG(tl_sv_shown(tl_value_name(m, t->first_unsized))));
    tl_type_print(m, tl_value_type(m, t->first_unsized), out);
    if (!room || tl_memory_total(t) <= room)
      return;
    tl_buf_add_z(out, "; ");
  }
  add_verdict(cli, t, out);
}

static void add_line(tl_buf *out, const char *what, uint64_t bytes) {
  tl_buf_printf(out, "%-12s", what);
  tl_add_bytes(out, bytes);
  tl_buf_add_char(out, '\n');
}

void tl_device_memory_text(const tl_cli *cli, const tl_module *m, const tl_memory *t, tl_buf *out) {
  add_line(out, "weights", t->weights);
  add_line(out, "inputs", t->inputs);
  add_line(out, "outputs", t->outputs);
  tl_buf_add_z(out, "activations ");
  tl_add_bytes(out, t->peak);
  if (t->at) {
    const tl_node *node = tl_node_get(m, t->at);
    tl_sv name = node->name || !node->n_results ? tl_sym(m, node->name)
                                                : tl_value_name(m, node->results);
    tl_buf_printf(out, " at their peak, at the %.*s `%.*s`", TL_SV_ARG(tl_op_name(m, node->op)),
                  TL_SV_ARG(tl_sv_shown(name)));
  }
  tl_buf_add_z(out, "\nany order   at least ");
  tl_add_bytes(out, t->bound);
  tl_buf_add_z(out, " of activations\nin all      ");
  tl_add_bytes(out, tl_memory_total(t));
  tl_buf_add_z(out, t->n_unsized ? " " : "; ");
  tl_device_memory_fit(cli, m, t, out);
  tl_buf_add_char(out, '\n');
}

void tl_device_memory_json(const tl_cli *cli, const tl_memory *t, tl_json_writer *w) {
  uint64_t room = cli->settings.options.device_memory;
  const tl_count_member counts[] = {{"weights", t->weights},
                                    {"inputs", t->inputs},
                                    {"outputs", t->outputs},
                                    {"activations", t->peak},
                                    {"activations_at_least", t->bound},
                                    {"total", tl_memory_total(t)},
                                    {"values_without_size", t->n_unsized}};
  tl_put_object(w);
  tl_member_z(w, "chip", chip_of(cli));
  tl_member_counts(w, counts, sizeof counts / sizeof *counts);
  tl_put_key(w, "device_memory");
  if (room)
    tl_put_u64(w, room);
  else
    tl_put_null(w);
  tl_put_key(w, "fits");
  if (!room || (t->n_unsized && tl_memory_total(t) <= room))
    tl_put_null(w);
  else
    tl_put_bool(w, tl_memory_total(t) <= room);
  tl_put_end(w);
}
