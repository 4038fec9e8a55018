/* SPDX-License-Identifier: Apache-2.0 */
/* The call of atc that goes on with an AIR file (atc_line.h). */
#include "tools/convert/atc_line.h"

#include "backend/air/emit.h"

/* Adds text as one word of a shell command. */
static void add_shell_word(tl_buf *out, const char *text) {
  if (*text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_-+=./,:@%")] == '\0') {
    tl_buf_add_z(out, text);
    return;
  }
  tl_buf_add_char(out, '\'');
  for (const char *c = text; *c; c++) {
    if (*c == '\'')
      tl_buf_add_z(out, "'\\''");
    else
      tl_buf_add_char(out, *c);
  }
  tl_buf_add_char(out, '\'');
}

void tl_atc_line_as_is(const char *program, char *const *arguments, int n, tl_buf *out) {
  add_shell_word(out, program);
  for (int i = 0; i < n; i++) {
    tl_buf_add_char(out, ' ');
    add_shell_word(out, arguments[i]);
  }
}

/* Adds " --name=" in atc's spelling. */
static void add_atc_name(tl_buf *out, const char *name) {
  tl_buf_add_z(out, " --");
  for (const char *c = name; *c; c++)
    tl_buf_add_char(out, *c == '-' ? '_' : *c);
  tl_buf_add_char(out, '=');
}

static void add_atc_option(tl_buf *out, const char *name, const char *value) {
  add_atc_name(out, name);
  add_shell_word(out, value);
}

/* Returns the value with which atc has to see a given option again; NULL if it need not. */
static const char *atc_value(const tl_cli *cli, tl_option_id id) {
  const tl_option_row *row = tl_option_row_get(id);
  const char *value = cli->settings.value[id];
  const char *key = tl_option_shared_key(id);
  if (cli->atc && id == TL_OPTION_LOG) /* the line of the user was meant for atc */
    return value;
  bool shared = key || row->fate == TL_FATE_CARRY || row->fate == TL_FATE_WARN;
  if (!shared || row->group >= TL_OPTIONS_TRAIN /* atc knows no run configuration */ ||
      id == TL_OPTION_SOC_VERSION /* said already */)
    return NULL;
  if (id == TL_OPTION_OUTPUT_TYPE && strchr(value, ':'))
    return NULL; /* of single outputs: needs --out-nodes, which means nothing for AIR */
  if (id == TL_OPTION_OO_LEVEL) /* atc knows two levels */
    return cli->settings.fusion.functional_only ? "O1" : "O3";
  return value;
}

/* Adds an option whose value is given from the folder where the user stands, to a call in another
 * one. */
static void add_atc_path(tl_buf *out, const char *name, const char *path, bool elsewhere) {
  add_atc_name(out, name);
  if (elsewhere && path[0] != '/')
    tl_buf_add_z(out, "\"$OLDPWD\"/");
  add_shell_word(out, path);
}

/* Returns the name that a value has in the AIR file; the value's own if it is not known. */
static tl_sv written_name(tl_module *m, const tl_sv *names, tl_sv own) {
  const tl_graph *g = tl_module_main(m);
  for (uint32_t i = 0; names && i < g->inputs.n; i++)
    if (tl_sv_eq(tl_value_name(m, g->inputs.at[i]), own) && names[g->inputs.at[i]].n)
      return names[g->inputs.at[i]];
  return own;
}

/* Adds "NAME:...;NAME:...". atc looks for Data nodes of these names, and AIR does not have every
 * character that a name in ONNX has. A name may have colons: the last one counts. */
static void add_named_shapes(tl_cli *cli, tl_module *m, const char *value, tl_buf *out) {
  tl_sv rest = tl_sv_from(value);
  tl_arena *arena = &cli->settings.arena;
  tl_sv *nodes = tl_arena_calloc(arena, tl_module_node_end(m), sizeof *nodes);
  tl_sv *names = tl_arena_calloc(arena, tl_module_value_end(m), sizeof *names);
  bool known = nodes && names && m->form == TL_FORM_NPU &&
               tl_air_list_names(m, &cli->settings.options, arena, nodes, names) == TL_OK;
  tl_buf text;
  tl_buf_init(&text);
  while (rest.p) {
    tl_sv entry = tl_sv_split(&rest, ';');
    size_t n = entry.n;
    while (n && entry.p[n - 1] != ':')
      n--;
    tl_sv own = {entry.p, n ? n - 1 : 0};
    tl_buf_add_sv(&text, own.n ? written_name(m, known ? names : NULL, own) : own);
    tl_buf_add(&text, entry.p + own.n, entry.n - own.n);
    tl_buf_add_z(&text, rest.p ? ";" : "");
  }
  tl_buf_add_char(&text, '\0');
  out->failed = out->failed || text.failed;
  if (!text.failed)
    add_shell_word(out, text.p);
  tl_buf_release(&text);
}

/* Precision is decided already, so the call tells atc to keep the dtypes; atc would decide again by
 * default. GE opens files of FileConstant from the folder where atc runs, and they are named from
 * that of the model, so atc runs there. */
void tl_atc_line(tl_cli *cli, tl_module *m, const char *path, tl_buf *out) {
  const char *soc = cli->settings.options.soc_version;
  const char *slash = strrchr(path, '/');
  bool elsewhere = slash && cli->settings.options.external_weight != TL_WEIGHTS_INSIDE;
  if (elsewhere) {
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    const char *folder = tl_arena_copy(&cli->settings.arena, path, n);
    tl_buf_add_z(out, "(cd ");
    add_shell_word(out, folder ? folder : ".");
    tl_buf_add_z(out, " && ");
    path = slash + 1;
  }
  tl_sv stem = tl_sv_from(path);
  if (tl_sv_ends_with(stem, ".air"))
    stem.n -= 4;
  char *name = tl_arena_copy(&cli->settings.arena, stem.p, stem.n);
  if (cli->atc && elsewhere && strchr(cli->atc->program, '/') && cli->atc->program[0] != '/')
    tl_buf_add_z(out, "\"$OLDPWD\"/");
  add_shell_word(out, cli->atc ? cli->atc->program : "atc");
  tl_buf_add_z(out, " --framework=1");
  add_atc_option(out, "model", path);
  add_atc_option(out, "output", name ? name : path);
  add_atc_option(out, "soc_version", soc ? soc : "Ascend910B1");
  add_atc_option(out, "precision_mode", "must_keep_origin_dtype");
  if (cli->settings.options.memory_order && !tl_cli_has(cli, TL_OPTION_TOPO_SORTING_MODE))
    add_atc_option(out, "topo_sorting_mode", "3"); /* else atc makes another order */
  for (unsigned i = 0; i < TL_N_OPTION_ROWS; i++) {
    const char *value = cli->settings.value[i] ? atc_value(cli, (tl_option_id)i) : NULL;
    const tl_option_row *row = tl_option_row_get((tl_option_id)i);
    if (value && (i == TL_OPTION_INPUT_SHAPE || i == TL_OPTION_INPUT_SHAPE_RANGE)) {
      add_atc_name(out, row->name);
      add_named_shapes(cli, m, value, out);
    } else if (value)
      add_atc_path(out, row->name, value, elsewhere && row->kind == TL_OPTION_PATH);
  }
  if (elsewhere)
    tl_buf_add_char(out, ')');
}
