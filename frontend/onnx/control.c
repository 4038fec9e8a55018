/* SPDX-License-Identifier: Apache-2.0 */
/* Restores control edges from the metadata that our ONNX writer gives to nodes.
 * tailor.ctrl_in names the nodes that run before, tailor.ctrl_origin the reason of each edge. */
#include "frontend/onnx/control.h"
#include "ir/marks.h"
#include "ir/text/parse.h"

/* Returns the symbol of a name in which %2C stands for ',' and %25 for '%'; TL_NO_SYMBOL if the
 * model has no such name, or memory is out. */
static tl_symbol unescape(tl_onnx_names *names, tl_sv name) {
  tl_buf out;
  tl_buf_init(&out);
  for (size_t i = 0; i < name.n; i++) {
    bool comma = i + 2 < name.n && memcmp(name.p + i, "%2C", 3) == 0;
    bool percent = i + 2 < name.n && memcmp(name.p + i, "%25", 3) == 0;
    tl_buf_add_char(&out, (char)(comma ? ',' : percent ? '%' : name.p[i]));
    i += comma || percent ? 2 : 0;
  }
  tl_symbol s = out.failed ? TL_NO_SYMBOL
                           : tl_symbol_find(&names->r->m->symbols, tl_buf_view(&out));
  tl_buf_release(&out);
  return s;
}

static tl_control_origin origin_of(tl_sv word) {
  for (int i = 0; i < TL_N_CONTROL_ORIGINS; i++)
    if (tl_sv_is(word, tl_control_origin_name((tl_control_origin)i)))
      return (tl_control_origin)i;
  return TL_CONTROL_USER;
}

static tl_status add_edge(tl_onnx_names *names, tl_node_id n, tl_sv name, tl_sv origin) {
  tl_symbol s = unescape(names, name);
  tl_node_id from = s == TL_NO_SYMBOL ? TL_NO_NODE : tl_slot_get(&names->mark, s);
  if (!from || from == n ||
      tl_node_get(names->r->m, from)->graph != tl_node_get(names->r->m, n)->graph) {
    tl_warn_code(names->r->d, "W-TRN-CTRL", tl_node_where(names->r->m, n),
                 "is to run after '%.*s', which is not a node of its graph",
                 TL_SV_ARG(tl_sv_shown(name)));
    return TL_OK;
  }
  return tl_control_add(names->r->m, from, n, origin_of(origin)) ? TL_OK : TL_NO_MEMORY;
}

static tl_status read_edges(tl_onnx_names *ctx, tl_node_id n) {
  tl_sv names = tl_node_note(ctx->r->m, n, TL_NOTE_CONTROL);
  tl_sv origins = tl_node_note(ctx->r->m, n, TL_NOTE_ORIGIN);
  if (!names.n)
    return TL_OK;
  while (names.p) {
    tl_sv origin = origins.p ? tl_sv_split(&origins, ',') : TL_SV("");
    TL_TRY(add_edge(ctx, n, tl_sv_split(&names, ','), origin));
  }
  bool ok = tl_node_set_note(ctx->r->m, n, TL_NOTE_CONTROL, TL_SV("")) &&
            tl_node_set_note(ctx->r->m, n, TL_NOTE_ORIGIN, TL_SV(""));
  return ok ? TL_OK : TL_NO_MEMORY;
}

static bool is_live(const tl_module *m, tl_node_id n) {
  tl_op_id op = tl_node_get(m, n)->op;
  return op != TL_OP_ERASED && op != TL_OP_RETURN;
}

/* Maps names to nodes in the scratch table `mark`; `clear` sets it to zero again for the next user.
 */
static tl_status index_nodes(tl_onnx_names *names, bool clear) {
  for (tl_node_id n = 1; n < tl_module_node_end(names->r->m); n++) {
    tl_symbol name = is_live(names->r->m, n) ? tl_node_get(names->r->m, n)->name : 0;
    if (name)
      TL_TRY(tl_slot_set(&names->mark, name, clear ? 0 : n));
  }
  return TL_OK;
}

tl_status tl_onnx_control(tl_onnx_names *names) {
  bool any = false;
  for (tl_node_id n = 1; n < tl_module_node_end(names->r->m) && !any; n++)
    any = is_live(names->r->m, n) && tl_node_note(names->r->m, n, TL_NOTE_CONTROL).n;
  if (!any)
    return TL_OK;
  TL_TRY(index_nodes(names, false));
  for (tl_node_id n = 1; n < tl_module_node_end(names->r->m); n++)
    if (is_live(names->r->m, n))
      TL_TRY(read_edges(names, n));
  TL_TRY(index_nodes(names, true));
  for (uint32_t i = 0; i < names->r->m->graphs.n; i++)
    if (!names->r->m->graphs.at[i]->erased)
      TL_TRY(tl_graph_sort(names->r->m, names->r->m->graphs.at[i]->id));
  return TL_OK;
}
