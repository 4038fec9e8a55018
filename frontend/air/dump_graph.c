/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs and nodes of GE's dumps in the shape of ONNX. Subgraphs are nodes of the type "subgraph"
 * there; which node owns one is said by its name alone. */
#include "frontend/air/dump.h"

#include "frontend/wire/build.h"
#include "ir/graph.h"
#include "ir/ops_gen.h"

static bool is_subgraph(const tl_dump_node *n) { return tl_sv_is(n->type, "subgraph"); }

/* ---- reading nodes --------------------------------------------------------------------------- */

/* Returns the number behind the last colon of "NODE:INDEX", -1 for none. */
static int64_t edge_index(tl_sv edge) {
  int64_t index;
  size_t colon = edge.n;
  while (colon && edge.p[colon - 1] != ':')
    colon--;
  return colon && tl_parse_i64((tl_sv){edge.p + colon, edge.n - colon}, &index) ? index : -1;
}

static tl_status read_node(tl_dump *d, tl_proto body, tl_dump_node *out) {
  tl_field f;
  tl_sv type = {"", 0};
  *out = (tl_dump_node){.name = {"", 0}, .body = body};
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD)
    switch (f.number) {
    case TL_DUMP_NODE_NAME: out->name = tl_proto_sv(f.body); break;
    case TL_DUMP_NODE_TYPE: type = tl_proto_sv(f.body); break;
    case TL_DUMP_NODE_LINE: out->line = (uint32_t)f.value; break;
    case TL_DUMP_NODE_INPUT: {
      tl_sv edge = tl_proto_sv(f.body);
      out->n_inputs += edge.n == 0 || edge_index(edge) >= 0;
      break;
    }
    case TL_DUMP_NODE_OUTPUT: {
      int64_t index = edge_index(tl_proto_sv(f.body));
      if (index >= out->n_outputs && index < UINT16_MAX)
        out->n_outputs = (uint32_t)index + 1;
      break;
    }
    default: break;
    }
  bool ge = tl_sv_starts_with(type, "ge:");
  out->type = ge ? (tl_sv){type.p + 3, type.n - 3} : type;
  if (!ge && !is_subgraph(out))
    return tl_fail(
        d->r->d, TL_INVALID_MODEL, tl_dump_at(d, out),
        "the op type '%.*s' does not begin with 'ge:'\vof ONNX as text only the dumps of "
        "GE are read; 'protoc --encode=onnx.ModelProto' makes an .onnx file of others",
        TL_SV_ARG(tl_sv_shown(type)));
  return TL_OK;
}

static const tl_op *row_of(const tl_dump *d, tl_sv type) {
  tl_symbol s = tl_symbol_find(&d->r->m->symbols, type);
  tl_op_id op = s == TL_NO_SYMBOL ? UINT32_MAX : tl_op_find(TL_SYM_npu, s);
  return op == UINT32_MAX ? NULL : tl_op_row(op);
}

static bool owns_graphs(const tl_op *row) {
  for (uint32_t i = 0; row && i < row->n_attrs; i++)
    if (row->attrs[i].value.kind == TL_ATTR_GRAPH || row->attrs[i].value.kind == TL_ATTR_GRAPHS)
      return true;
  return false;
}

/* Returns the symbol of a name, which is copied: the bytes of the dump do not stay. */
static tl_symbol name_symbol(tl_dump *d, tl_sv name) {
  return name.n ? tl_module_intern(d->r->m, name) : 0;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* Takes a name that no graph has yet. */
static tl_status take_name(tl_dump *d, tl_sv wanted, tl_sv *out) {
  tl_symbol s = name_symbol(d, wanted);
  if (s != TL_NO_SYMBOL && (s == 0 || tl_slot_get(&d->taken, s)))
    s = tl_module_fresh_name(d->r->m, wanted.n ? wanted : TL_SV("graph"));
  if (s == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  *out = tl_sym(d->r->m, s);
  return tl_slot_set(&d->taken, s, 1);
}

static tl_sv graph_name(tl_proto body) {
  tl_field f;
  tl_sv name = {"", 0};
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD)
    if (f.number == TL_DUMP_GRAPH_NAME)
      name = tl_proto_sv(f.body);
  return name;
}

/* Adds a graph that an attribute of a node holds; *name is what it is called from now on. */
static tl_status add_held(tl_dump *d, tl_proto body, tl_sv *name) {
  TL_TRY(take_name(d, graph_name(body), name));
  tl_dump_graph_row row = {.name = *name, .body = body, .next = TL_DUMP_NO_GRAPH};
  return tl_dump_graph_vec_push(&d->graphs, row) ? TL_OK : TL_NO_MEMORY;
}

/* Lists a node that stands for a graph. */
static tl_status add_subgraph(tl_dump *d, const tl_dump_node *n) {
  TL_TRY(tl_dump_read_attrs(d, n));
  const tl_dump_attr *graph = tl_dump_find(d, TL_SV("graph"), "");
  tl_symbol s = name_symbol(d, n->name);
  if (!graph || graph->type != TL_DUMP_GRAPH || n->name.n == 0)
    return tl_fail(d->r->d, TL_INVALID_MODEL, tl_dump_at(d, n),
                   "a subgraph without a name or an attribute 'graph'");
  if (s == TL_NO_SYMBOL)
    return TL_NO_MEMORY;
  if (tl_slot_get(&d->taken, s))
    return tl_fail(d->r->d, TL_INVALID_MODEL, tl_dump_at(d, n), "two graphs have this name");
  TL_TRY(tl_slot_set(&d->taken, s, 1));
  tl_dump_graph_row row = {.name = n->name, .body = graph->g, .next = TL_DUMP_NO_GRAPH};
  return tl_dump_graph_vec_push(&d->graphs, row) ? TL_OK : TL_NO_MEMORY;
}

static tl_status list_subgraphs(tl_dump *d, tl_proto graph) {
  tl_field f;
  tl_dump_node n;
  while (tl_proto_next(&graph, &f) == TL_STEP_FIELD) {
    if (f.number != TL_DUMP_GRAPH_NODE)
      continue;
    TL_TRY(read_node(d, f.body, &n));
    if (is_subgraph(&n))
      TL_TRY(add_subgraph(d, &n));
  }
  return TL_OK;
}

/* ---- which node owns a graph ----------------------------------------------------------------- */

/* Notes the nodes of a graph that own graphs. *count, *last: how many there are, and the last
 * one. */
static tl_status note_owners(tl_dump *d, tl_proto graph, uint32_t *count, tl_sv *last) {
  tl_field f;
  tl_dump_node n;
  while (tl_proto_next(&graph, &f) == TL_STEP_FIELD) {
    if (f.number != TL_DUMP_GRAPH_NODE)
      continue;
    TL_TRY(read_node(d, f.body, &n));
    if (n.name.n == 0 || !owns_graphs(row_of(d, n.type)))
      continue;
    tl_symbol s = name_symbol(d, n.name);
    if (s == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    TL_TRY(tl_slot_set(&d->owners, s, TL_DUMP_NO_GRAPH));
    ++*count;
    *last = n.name;
  }
  return TL_OK;
}

/* Returns true for "_<k>_<attribute>", which GE puts behind the name of a node. */
static bool is_numbered(tl_sv rest) {
  size_t i = 1;
  while (i < rest.n && rest.p[i] >= '0' && rest.p[i] <= '9')
    i++;
  return rest.p[0] == '_' && i > 1 && i + 1 < rest.n && rest.p[i] == '_' &&
         !(rest.p[i + 1] >= '0' && rest.p[i + 1] <= '9');
}

/* Returns the longest name of an owner that a graph's name begins with; TL_NO_SYMBOL for none. */
static tl_symbol owner_before(const tl_dump *d, tl_sv graph, bool numbered) {
  enum { LONGEST = 1024 };
  for (size_t n = graph.n < LONGEST ? graph.n : 0; n > 1; n--) {
    tl_sv rest = {graph.p + n - 1, graph.n - n + 1};
    if (!memchr("_/.-", rest.p[0], 4) || (numbered && !is_numbered(rest)))
      continue;
    tl_symbol s = tl_symbol_find(&d->r->m->symbols, (tl_sv){graph.p, n - 1});
    if (s != TL_NO_SYMBOL && tl_slot_get(&d->owners, s))
      return s;
  }
  return TL_NO_SYMBOL;
}

/* GE names the graphs of a node "<node>_0_then_branch"; others do "<node>/body" or so. The form
 * with a number comes first: "If_1_else_branch" is of the node If, although there may be an
 * If_1. */
static tl_symbol owner_of(const tl_dump *d, tl_sv graph) {
  tl_symbol s = owner_before(d, graph, true);
  return s != TL_NO_SYMBOL ? s : owner_before(d, graph, false);
}

/* Returns the first graph of an owner, NO_GRAPH for none. */
static uint32_t chain_of(const tl_dump *d, tl_symbol owner) {
  uint32_t slot = owner == TL_NO_SYMBOL ? 0 : tl_slot_get(&d->owners, owner);
  return slot == 0 || slot == TL_DUMP_NO_GRAPH ? TL_DUMP_NO_GRAPH : slot - 1;
}

/* Finds the owner of each graph, last graph first, so that an owner's chain begins at the first. */
static tl_status find_owners(tl_dump *d, tl_proto main) {
  uint32_t count = 0;
  tl_sv last = {"", 0};
  TL_TRY(note_owners(d, main, &count, &last));
  for (uint32_t i = 0; i < d->graphs.n; i++)
    TL_TRY(note_owners(d, d->graphs.at[i].body, &count, &last));
  for (uint32_t i = d->graphs.n; i-- > 0;) {
    tl_dump_graph_row *row = &d->graphs.at[i];
    tl_symbol s = owner_of(d, row->name);
    if (s == TL_NO_SYMBOL && count == 1)
      s = tl_symbol_find(&d->r->m->symbols, last);
    if (s == TL_NO_SYMBOL)
      return tl_fail(d->r->d, TL_UNSUPPORTED, TL_AT_FILE(d->r->path),
                     "the dump does not say which node the graph '%.*s' belongs to\va graph is "
                     "found by its name, which begins with that of its node; the dump "
                     "ge_proto_*.txt beside it says it, as does the .air file",
                     TL_SV_ARG(tl_sv_shown(row->name)));
    row->next = chain_of(d, s);
    TL_TRY(tl_slot_set(&d->owners, s, i + 1));
  }
  return TL_OK;
}

/* ---- writing nodes --------------------------------------------------------------------------- */

/* Returns the graph of a chain whose name ends as the attribute is called, else NO_GRAPH. */
static uint32_t graph_for(const tl_dump *d, uint32_t chain, tl_sv key) {
  for (; chain != TL_DUMP_NO_GRAPH; chain = d->graphs.at[chain].next) {
    tl_sv name = d->graphs.at[chain].name;
    if (name.n > key.n && memcmp(name.p + name.n - key.n, key.p, key.n) == 0)
      return chain;
  }
  return TL_DUMP_NO_GRAPH;
}

/* Names the graphs that attributes of the node hold. *any: there are some. */
static tl_status put_held(tl_dump *d, const tl_op *row, bool *any) {
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const tl_dump_attr *a = tl_dump_find(d, tl_sym(d->r->m, row->attrs[i].value.name), "");
    tl_sv name;
    if (!a || a->type != TL_DUMP_GRAPH)
      continue;
    *any = true;
    TL_TRY(add_held(d, a->g, &name));
    tl_build_bytes(d->out, TL_NODE_SUBGRAPH, name);
  }
  return TL_OK;
}

/* Names the graphs of a node in the order of the prototype: those that its attributes hold, else
 * those whose names end as the attributes do, else all in the order of the dump. */
static tl_status put_owned(tl_dump *d, const tl_dump_node *n, const tl_op *row) {
  tl_symbol s = tl_symbol_find(&d->r->m->symbols, n->name);
  uint32_t chain = chain_of(d, s);
  bool held = false;
  bool named = true;
  TL_TRY(put_held(d, row, &held));
  if (held || chain == TL_DUMP_NO_GRAPH)
    return TL_OK;
  TL_TRY(tl_slot_set(&d->owners, s, TL_DUMP_NO_GRAPH)); /* another node of this name has none */
  for (uint32_t i = 0; i < row->n_attrs; i++)
    named = named && row->attrs[i].value.kind != TL_ATTR_GRAPHS &&
            (row->attrs[i].value.kind != TL_ATTR_GRAPH ||
             graph_for(d, chain, tl_sym(d->r->m, row->attrs[i].value.name)) != TL_DUMP_NO_GRAPH);
  for (uint32_t i = 0; named && i < row->n_attrs; i++)
    if (row->attrs[i].value.kind == TL_ATTR_GRAPH) {
      uint32_t at = graph_for(d, chain, tl_sym(d->r->m, row->attrs[i].value.name));
      tl_build_bytes(d->out, TL_NODE_SUBGRAPH, d->graphs.at[at].name);
    }
  for (; !named && chain != TL_DUMP_NO_GRAPH; chain = d->graphs.at[chain].next)
    tl_build_bytes(d->out, TL_NODE_SUBGRAPH, d->graphs.at[chain].name);
  return TL_OK;
}

static void put_edges(tl_buf *out, tl_proto body) {
  tl_field f;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD)
    if (f.number == TL_DUMP_NODE_INPUT)
      tl_build_bytes(out, TL_NODE_INPUT, tl_proto_sv(f.body));
}

static void put_number(tl_dump *d, const char *name, uint32_t field) {
  const tl_dump_attr *a = tl_dump_find(d, tl_sv_from(name), "");
  if (a && a->type == TL_DUMP_INT)
    tl_build_int(d->out, field, a->i);
}

static tl_status put_node(tl_dump *d, const tl_dump_node *n) {
  const tl_op *row = row_of(d, n->type);
  TL_TRY(tl_dump_read_attrs(d, n));
  size_t op = tl_build_open(d->out, TL_GRAPH_NODE);
  tl_build_int(d->out, TL_NODE_LINE, n->line);
  tl_build_bytes(d->out, TL_NODE_NAME, n->name);
  tl_build_bytes(d->out, TL_NODE_TYPE, n->type);
  put_edges(d->out, n->body);
  TL_TRY(tl_dump_put_attrs(d, n, row));
  put_number(d, "id", TL_NODE_ID);
  put_number(d, "stream_id", TL_NODE_STREAM);
  TL_TRY(tl_dump_put_descs(d, n));
  if (owns_graphs(row))
    TL_TRY(put_owned(d, n, row));
  tl_build_close(d->out, op);
  return d->out->failed ? TL_NO_MEMORY : TL_OK;
}

/* ---- the whole model ------------------------------------------------------------------------- */

/* Without a NetOutput the outputs of the graph are nodes, of which the dump says no more. */
static tl_status put_outputs(tl_dump *d, tl_proto body) {
  tl_field f, part;
  while (tl_proto_next(&body, &f) == TL_STEP_FIELD) {
    tl_buf edge;
    if (f.number != TL_DUMP_GRAPH_OUTPUT)
      continue;
    tl_buf_init(&edge);
    for (tl_proto walk = f.body; tl_proto_next(&walk, &part) == TL_STEP_FIELD;)
      if (part.number == 1)
        tl_buf_add_sv(&edge, tl_proto_sv(part.body));
    tl_buf_add_z(&edge, ":0");
    tl_build_bytes(d->out, TL_GRAPH_OUTPUT, tl_buf_view(&edge));
    d->out->failed = d->out->failed || edge.failed;
    tl_buf_release(&edge);
  }
  return TL_OK;
}

static tl_status put_graph(tl_dump *d, tl_sv name, tl_proto body) {
  tl_proto walk = body;
  tl_field f;
  tl_dump_node n;
  bool has_output = false;
  size_t graph = tl_build_open(d->out, TL_MODEL_GRAPH);
  tl_build_bytes(d->out, TL_GRAPH_NAME, name);
  while (tl_proto_next(&walk, &f) == TL_STEP_FIELD) {
    if (f.number != TL_DUMP_GRAPH_NODE)
      continue;
    TL_TRY(read_node(d, f.body, &n));
    has_output = has_output || tl_sv_is(n.type, "NetOutput");
    if (!is_subgraph(&n))
      TL_TRY(put_node(d, &n));
  }
  if (!has_output)
    TL_TRY(put_outputs(d, body));
  tl_build_close(d->out, graph);
  return TL_OK;
}

static tl_status put_model(tl_dump *d, tl_proto model) {
  tl_field f;
  tl_proto main = {model.end, model.end};
  tl_sv name;
  bool found = false;
  while (tl_proto_next(&model, &f) == TL_STEP_FIELD)
    switch (f.number) {
    case TL_DUMP_MODEL_NAME: tl_build_bytes(d->out, TL_MODEL_NAME, tl_proto_sv(f.body)); break;
    case TL_DUMP_MODEL_VERSION: tl_build_int(d->out, TL_MODEL_VERSION, (int64_t)f.value); break;
    case TL_DUMP_MODEL_GRAPH:
      main = f.body;
      found = true;
      break;
    default: break;
    }
  if (!found)
    return tl_fail(d->r->d, TL_INVALID_MODEL, TL_AT_FILE(d->r->path), "the model has no graph");
  TL_TRY(take_name(d, graph_name(main), &name));
  TL_TRY(list_subgraphs(d, main));
  TL_TRY(find_owners(d, main));
  TL_TRY(put_graph(d, name, main));
  for (uint32_t i = 0; i < d->graphs.n; i++) { /* grows while graphs are written */
    tl_dump_graph_row row = d->graphs.at[i];
    TL_TRY(put_graph(d, row.name, row.body));
  }
  return d->out->failed ? TL_NO_MEMORY : TL_OK;
}

tl_status tl_air_from_dump(tl_air_reader *r, tl_proto model, tl_buf *out) {
  tl_dump d = {.r = r, .out = out};
  tl_status status = put_model(&d, model);
  tl_dump_graph_vec_release(&d.graphs);
  tl_u32_vec_release(&d.taken);
  tl_u32_vec_release(&d.owners);
  tl_dump_attr_vec_release(&d.attrs);
  tl_dump_part_vec_release(&d.parts);
  return status;
}
