/* SPDX-License-Identifier: Apache-2.0 */
/* Self-check: reads finished AIR bytes the way a loader does, with code of its own, and refuses
 * everything that a loader would reject or silently drop (plus what only breaks later: cycles,
 * holes in numbering, constants of the wrong size). One forward walk over the bytes; the file is
 * known to be in topological order, so an edge must lead to a node already seen. */
#include "backend/air/air.h"
#include "support/hash.h"

enum { MAX_NAME = 255, MAX_DTYPE = 41, N_LIST_TYPES = 11 };

typedef struct bytes {
  const unsigned char *p;
  const unsigned char *end;
} bytes;

typedef struct field {
  uint32_t number;
  uint32_t wire;
  uint64_t value; /* varint */
  bytes body;     /* length-delimited */
} field;

/* A node already seen. */
typedef struct seen {
  bytes name; /* p NULL: free slot */
  uint32_t graph;
  uint32_t n_outputs;
} seen;

typedef struct span {
  bytes at;
} span;

TL_VEC(span_vec, span);

typedef struct checker {
  tl_diag *diag;
  const char *path;
  seen *table; /* owned */
  uint32_t n_slots;
  uint32_t n_nodes;
  uint32_t graph;       /* number of the graph being read */
  int64_t position;     /* of the node in its graph */
  int64_t n_data;       /* Data nodes so far in the graph */
  uint32_t n_outputs;   /* NetOutput nodes so far in the graph */
  span_vec graph_names;
  span_vec subgraphs;   /* names that nodes refer to */
  span_vec inputs;      /* edges of one node */
  bytes node;           /* name of the node being read, for messages */
  uint16_t bits[MAX_DTYPE + 1]; /* per element, by serialized number; 0: no fixed size */
  bool known[MAX_DTYPE + 1];
} checker;

static tl_status fault(const checker *c, const char *what) {
  tl_sv node = {(const char *)c->node.p, c->node.p ? (size_t)(c->node.end - c->node.p) : 0};
  return tl_fail(c->diag, TL_INTERNAL, TL_AT_NODE(c->path, node),
                 "the finished file fails its check: %s", what);
}

static tl_status no_memory(const checker *c) {
  return tl_fail(c->diag, TL_NO_MEMORY, TL_AT_FILE(c->path), "out of memory");
}

static inline bool read_varint(bytes *b, uint64_t *out) {
  uint64_t v = 0;
  if (b->p < b->end && *b->p < 0x80) {
    *out = *b->p++;
    return true;
  }
  for (unsigned shift = 0; shift < 64 && b->p < b->end; shift += 7) {
    unsigned char byte = *b->p++;
    v |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = v;
      return true;
    }
  }
  return false;
}

/* Next field; false at the end or on malformed bytes (then b->p is not b->end). */
static inline bool next_field(bytes *b, field *f) {
  uint64_t key;
  if (b->p == b->end || !read_varint(b, &key))
    return false;
  f->number = (uint32_t)(key >> 3);
  f->wire = (uint32_t)(key & 7);
  f->body = (bytes){b->p, b->p};
  if (f->number == 0 || key >> 35)
    return b->p = b->end - 1, false;
  if (f->wire == TL_WIRE_VARINT)
    return read_varint(b, &f->value);
  uint64_t n = 4;
  if (f->wire != TL_WIRE_FIXED32 && (f->wire != TL_WIRE_LENGTH || !read_varint(b, &n)))
    return b->p = b->end - 1, false;
  if (n > (uint64_t)(b->end - b->p))
    return b->p = b->end - 1, false;
  f->body = (bytes){b->p, b->p + n};
  b->p += n;
  return true;
}

static size_t length_of(bytes b) { return (size_t)(b.end - b.p); }
static bool is_text(bytes b, const char *z) {
  return length_of(b) == strlen(z) && memcmp(b.p, z, length_of(b)) == 0;
}
static bool same(bytes a, bytes b) {
  return length_of(a) == length_of(b) && memcmp(a.p, b.p, length_of(a)) == 0;
}

/* First field of that number in a message; body.p NULL when there is none. */
static field find_field(bytes message, uint32_t number) {
  field f;
  while (next_field(&message, &f))
    if (f.number == number)
      return f;
  return (field){0};
}

/* ---- nodes by name ---- */

static seen *find_node(const checker *c, bytes name) {
  uint32_t i = (uint32_t)tl_hash_bytes(name.p, length_of(name), 1) & (c->n_slots - 1);
  while (c->table[i].name.p && !same(c->table[i].name, name))
    i = (i + 1) & (c->n_slots - 1);
  return &c->table[i];
}

static tl_status widen(checker *c) {
  if (c->n_slots && c->n_nodes < c->n_slots / 2)
    return TL_OK;
  checker wide = *c;
  wide.n_slots = c->n_slots ? c->n_slots * 2 : 1024;
  wide.table = wide.n_slots ? calloc(wide.n_slots, sizeof *wide.table) : NULL;
  if (!wide.table)
    return no_memory(c);
  for (uint32_t i = 0; i < c->n_slots; i++)
    if (c->table[i].name.p)
      *find_node(&wide, c->table[i].name) = c->table[i];
  free(c->table);
  *c = wide;
  return TL_OK;
}

static tl_status add_node(checker *c, bytes name, uint32_t n_outputs) {
  TL_TRY(widen(c));
  seen *s = find_node(c, name);
  if (s->name.p)
    return fault(c, "a node name occurs twice");
  *s = (seen){name, c->graph, n_outputs};
  c->n_nodes++;
  return TL_OK;
}

/* Splits "name:index"; false when it is not of that form. */
static bool split_edge(bytes edge, bytes *name, int64_t *index) {
  const unsigned char *colon = edge.end;
  while (colon > edge.p && colon[-1] != ':')
    colon--;
  if (colon == edge.p)
    return false;
  *name = (bytes){edge.p, colon - 1};
  return tl_parse_i64((tl_sv){(const char *)colon, (size_t)(edge.end - colon)}, index) &&
         *index >= -1;
}

/* The edge leads to an output of an earlier node of this graph. */
static tl_status check_edge(const checker *c, bytes edge, bool control_allowed, bool *control) {
  bytes name;
  int64_t index;
  if (!split_edge(edge, &name, &index) || (index < 0 && !control_allowed))
    return fault(c, "an edge is not NAME:INDEX");
  const seen *s = c->n_slots ? find_node(c, name) : NULL;
  if (!s || !s->name.p || s->graph != c->graph)
    return fault(c, "an edge names a node that does not come earlier in its graph");
  if (index >= s->n_outputs)
    return fault(c, "an edge names an output beyond the producer's");
  *control = index < 0;
  return TL_OK;
}

/* ---- attributes ---- */

static tl_status check_desc(const checker *c, bytes desc, uint64_t *needed_bits);

static tl_status check_list(const checker *c, bytes list, bool bookkeeping) {
  static const uint8_t fields[N_LIST_TYPES] = {0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12};
  field f;
  uint64_t type = 0;
  uint32_t held = 0;
  while (next_field(&list, &f)) {
    if (f.number == TL_LIST_TYPE)
      type = f.value;
    else
      held = f.number;
  }
  if (list.p != list.end)
    return fault(c, "a malformed list");
  if (bookkeeping)
    return type ? fault(c, "a bookkeeping list has a val_type") : TL_OK;
  if (type < 1 || type >= N_LIST_TYPES)
    return fault(c, "a list without a valid val_type would be dropped");
  return held && held != fields[type] ? fault(c, "a list holds another kind than it says") : TL_OK;
}

/* TensorDef: the data has exactly the bytes its desc asks for, or is empty when it is elsewhere. */
static tl_status check_tensor(const checker *c, bytes tensor, bool outside) {
  field desc = find_field(tensor, TL_TENSORDEF_DESC);
  field data = find_field(tensor, TL_TENSORDEF_DATA);
  uint64_t bits;
  if (!desc.body.p)
    return fault(c, "a tensor without a desc");
  TL_TRY(check_desc(c, desc.body, &bits));
  if (bits == UINT64_MAX)
    return fault(c, "a constant of unknown shape or size");
  uint64_t have = data.body.p ? length_of(data.body) : 0;
  if (have != bits / 8 + (bits % 8 != 0) && !(outside && have == 0))
    return fault(c, "a constant's data has not the size of its shape");
  return TL_OK;
}

static bool is_bookkeeping(bytes key) {
  static const char *const keys[] = {
      "_input_name_key",  "_input_name_value", "_ir_attr_names",    "_ir_inputs_key",
      "_ir_inputs_value", "_ir_outputs_key",   "_ir_outputs_value", "_opt_input",
      "_output_name_key", "_output_name_value"};
  if (length_of(key) < 2 || key.p[0] != '_' || (key.p[1] != 'i' && key.p[1] != 'o'))
    return false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (is_text(key, keys[i]))
      return true;
  return false;
}

static tl_status check_attr(const checker *c, bytes key, bytes value, bool outside) {
  field f;
  field extra;
  if (!next_field(&value, &f))
    return fault(c, "an attribute without a value would be dropped");
  if (next_field(&value, &extra) || value.p != value.end)
    return fault(c, "an attribute with two values");
  switch (f.number) {
  case TL_ATTRDEF_S:
  case TL_ATTRDEF_I:
  case TL_ATTRDEF_F:
  case TL_ATTRDEF_B:
  case TL_ATTRDEF_LIST_LIST_INT:
  case TL_ATTRDEF_LIST_LIST_FLOAT:
  case TL_ATTRDEF_DT: return TL_OK;
  case TL_ATTRDEF_LIST: return check_list(c, f.body, is_bookkeeping(key));
  case TL_ATTRDEF_T: return check_tensor(c, f.body, outside);
  default: return fault(c, "an attribute of a kind that loaders cannot read");
  }
}

/* Key and value of a map entry. */
static bool open_entry(bytes entry, bytes *key, bytes *value) {
  field f;
  if (!next_field(&entry, &f) || f.number != 1)
    return false;
  *key = f.body;
  if (!next_field(&entry, &f) || f.number != 2)
    return false;
  *value = f.body;
  return entry.p == entry.end;
}

typedef struct node {
  bytes name;
  bytes type;
  bytes input_desc;  /* the first */
  bytes output_desc;
  bytes last_key;
  bytes value;       /* AttrDef of "value" */
  int64_t id;
  int64_t index;     /* "index", -1 when absent */
  uint32_t n_inputs; /* descs */
  uint32_t n_outputs;
  bool outside;      /* has "location" */
  bool has_gap;      /* an unconnected slot */
} node;

/* The three attributes that the check of a node looks at. */
static void note_attr(node *n, bytes key, bytes value) {
  if (length_of(key) < 5 || length_of(key) > 8)
    return;
  if (is_text(key, "value"))
    n->value = value;
  else if (is_text(key, "location"))
    n->outside = true;
  else if (is_text(key, "index"))
    n->index = (int64_t)find_field(value, TL_ATTRDEF_I).value;
}

/* One map entry; keys ascend, which also makes them unique. */
static tl_status check_entry(const checker *c, bytes entry, bytes *last, node *n) {
  bytes key;
  bytes value;
  if (!open_entry(entry, &key, &value))
    return fault(c, "a malformed attribute entry");
  if (n)
    note_attr(n, key, value);
  tl_sv a = {(const char *)last->p, last->p ? length_of(*last) : 0};
  if (last->p && tl_sv_compare(a, (tl_sv){(const char *)key.p, length_of(key)}) >= 0)
    return fault(c, "attributes out of order");
  *last = key;
  return check_attr(c, key, value, n && n->outside);
}

static tl_status check_shape(const checker *c, bytes shape, uint64_t *elements, bool *known) {
  field f = find_field(shape, 1);
  bytes dims = f.body;
  uint64_t n_dims = 0;
  bool unknown_rank = false;
  *elements = 1;
  *known = true;
  while (dims.p < dims.end) {
    uint64_t v;
    if (!read_varint(&dims, &v))
      return fault(c, "a malformed shape");
    n_dims++;
    if ((int64_t)v < -2)
      return fault(c, "a dim below -2");
    unknown_rank = unknown_rank || (int64_t)v == -2;
    *known = *known && (int64_t)v >= 0;
    if (*known && __builtin_mul_overflow(*elements, v, elements))
      return fault(c, "a shape beyond 64 bits");
  }
  return unknown_rank && n_dims != 1 ? fault(c, "unknown rank among dims") : TL_OK;
}

/* *needed_bits: of the data, UINT64_MAX when that is not known. */
static tl_status check_desc(const checker *c, bytes desc, uint64_t *needed_bits) {
  bytes last = {0};
  uint64_t dtype = 0;
  uint64_t elements = 1;
  bool known = true;
  bool layout = false;
  field f;
  while (next_field(&desc, &f)) {
    if (f.number == TL_DESC_DTYPE)
      dtype = f.value;
    else if (f.number == TL_DESC_SHAPE)
      TL_TRY(check_shape(c, f.body, &elements, &known));
    else if (f.number == TL_DESC_ATTR)
      TL_TRY(check_entry(c, f.body, &last, NULL));
    layout = layout || f.number == TL_DESC_LAYOUT;
  }
  if (desc.p != desc.end || !layout)
    return fault(c, "a malformed tensor desc");
  if (dtype > MAX_DTYPE || (dtype && !c->known[dtype]))
    return fault(c, "an unknown dtype");
  *needed_bits = UINT64_MAX;
  if (known && c->bits[dtype] && __builtin_mul_overflow(elements, c->bits[dtype], needed_bits))
    return fault(c, "a tensor beyond 64 bits");
  return TL_OK;
}

/* ---- nodes ---- */

/* "location" sorts before "value", so `outside` is known when the tensor is looked at. */
static tl_status read_field(checker *c, node *n, const field *f) {
  uint64_t bits;
  switch (f->number) {
  case TL_NODE_NAME: n->name = c->node = f->body; return TL_OK;
  case TL_NODE_TYPE: n->type = f->body; return TL_OK;
  case TL_NODE_INPUT: return span_vec_push(&c->inputs, (span){f->body}) ? TL_OK : no_memory(c);
  case TL_NODE_ID: n->id = (int64_t)f->value; return TL_OK;
  case TL_NODE_ATTR:
    return check_entry(c, f->body, &n->last_key, n);
  case TL_NODE_INPUT_DESC:
    if (n->n_inputs++ == 0)
      n->input_desc = f->body;
    return check_desc(c, f->body, &bits);
  case TL_NODE_OUTPUT_DESC:
    if (n->n_outputs++ == 0)
      n->output_desc = f->body;
    return check_desc(c, f->body, &bits);
  case TL_NODE_SUBGRAPH:
    return span_vec_push(&c->subgraphs, (span){f->body}) ? TL_OK : no_memory(c);
  default: return TL_OK;
  }
}

static tl_status check_edges(const checker *c, node *n) {
  uint32_t slot = 0;
  bool in_controls = false;
  for (uint32_t i = 0; i < c->inputs.n; i++) {
    bytes edge = c->inputs.at[i].at;
    bool control = false;
    if (edge.p < edge.end)
      TL_TRY(check_edge(c, edge, true, &control));
    else
      n->has_gap = true;
    if (in_controls && !control)
      return fault(c, "a data edge behind a control edge");
    in_controls = control;
    slot += !control;
  }
  return slot == n->n_inputs ? TL_OK : fault(c, "edges and input descs differ in number");
}

/* Data: both descs equal, indexes 0, 1, 2 ... in file order. */
static tl_status check_data(checker *c, const node *n) {
  if (n->n_inputs != 1 || n->n_outputs != 1 || !same(n->input_desc, n->output_desc))
    return fault(c, "a Data node needs one input and one output desc, both equal");
  return n->index == c->n_data++ ? TL_OK : fault(c, "Data indexes are not dense");
}

static tl_status check_const(const checker *c, const node *n) {
  field tensor = n->value.p ? find_field(n->value, TL_ATTRDEF_T) : (field){0};
  field desc = tensor.body.p ? find_field(tensor.body, TL_TENSORDEF_DESC) : (field){0};
  if (!desc.body.p || n->n_outputs != 1)
    return fault(c, "a Const without a tensor value or output");
  return same(desc.body, n->output_desc) ? TL_OK
                                         : fault(c, "a Const's value and output differ in type");
}

/* A required input of the prototype must be connected. The bookkeeping says which slot is which
 * when no port is dynamic: slots are then ports. */
static tl_status check_gaps(const checker *c, bytes message) {
  field f;
  bytes kinds = {0};
  while (next_field(&message, &f)) {
    bytes key;
    bytes value;
    if (f.number == TL_NODE_ATTR && open_entry(f.body, &key, &value) &&
        is_text(key, "_ir_inputs_value"))
      kinds = find_field(find_field(value, TL_ATTRDEF_LIST).body, TL_LIST_I).body;
  }
  for (uint32_t slot = 0; slot < c->inputs.n && kinds.p < kinds.end; slot++) {
    uint64_t kind;
    if (!read_varint(&kinds, &kind) || kind > 2)
      return fault(c, "a malformed list of input kinds");
    if (kind == 2)
      return TL_OK;
    if (kind == 0 && length_of(c->inputs.at[slot].at) == 0)
      return fault(c, "a required input is not connected");
  }
  return TL_OK;
}

static tl_status check_kind(checker *c, const node *n, bytes message) {
  if (is_text(n->type, "Data"))
    return check_data(c, n);
  if (is_text(n->type, "Const"))
    return check_const(c, n);
  if (is_text(n->type, "NetOutput")) {
    c->n_outputs++;
    return n->n_inputs && !n->has_gap ? TL_OK : fault(c, "a graph output is missing");
  }
  return n->has_gap ? check_gaps(c, message) : TL_OK;
}

static tl_status check_node(checker *c, bytes message) {
  node n = {.index = -1};
  bytes rest = message;
  field f;
  c->inputs.n = 0;
  while (next_field(&rest, &f))
    TL_TRY(read_field(c, &n, &f));
  if (rest.p != rest.end)
    return fault(c, "a malformed node");
  if (length_of(n.name) == 0 || length_of(n.name) > MAX_NAME || length_of(n.type) == 0)
    return fault(c, "a node without a name or type, or with a name beyond 255 bytes");
  if (n.id != c->position++)
    return fault(c, "a node's id is not its position");
  TL_TRY(check_edges(c, &n));
  TL_TRY(check_kind(c, &n, message));
  return add_node(c, n.name, n.n_outputs);
}

/* ---- graphs ---- */

static tl_status check_graph(checker *c, bytes message) {
  bytes rest = message;
  bytes last = {0};
  uint32_t n_refs = 0;
  field f;
  c->graph++;
  c->position = 0;
  c->n_data = 0;
  c->n_outputs = 0;
  while (next_field(&rest, &f)) {
    if (f.number == TL_GRAPH_NAME && !span_vec_push(&c->graph_names, (span){f.body}))
      return no_memory(c);
    if (f.number == TL_GRAPH_NODE)
      TL_TRY(check_node(c, f.body));
    if (f.number == TL_MODEL_ATTR)
      TL_TRY(check_entry(c, f.body, &last, NULL));
  }
  c->node = (bytes){0};
  if (rest.p != rest.end || c->graph_names.n != c->graph || c->n_outputs != 1)
    return fault(c, "a graph without a name, or without exactly one NetOutput");
  for (rest = message; next_field(&rest, &f) && f.number <= TL_GRAPH_OUTPUT;) {
    bool control;
    if (f.number != TL_GRAPH_NAME)
      TL_TRY(check_edge(c, f.body, false, &control));
    n_refs += f.number == TL_GRAPH_OUTPUT;
  }
  return n_refs ? TL_OK : fault(c, "a graph without outputs");
}

static uint64_t hash_of(bytes b) { return tl_hash_bytes(b.p, length_of(b), 2); }

/* Every subgraph name is the name of exactly one graph and the other way round, the root apart. A
 * table by name, so that many branches stay linear. */
static tl_status check_subgraphs(const checker *c) {
  uint32_t n_slots = 64;
  while (n_slots / 2 < c->graph_names.n)
    n_slots *= 2;
  uint32_t *slots = calloc(n_slots, sizeof *slots); /* 0 free, graph number, ~0 taken */
  tl_status status = slots ? TL_OK : no_memory(c);
  uint32_t used = 0;
  for (uint32_t i = 0; status == TL_OK && i < c->graph_names.n; i++) {
    uint32_t k = (uint32_t)hash_of(c->graph_names.at[i].at) & (n_slots - 1);
    for (; slots[k] && status == TL_OK; k = (k + 1) & (n_slots - 1))
      if (same(c->graph_names.at[slots[k] - 1].at, c->graph_names.at[i].at))
        status = fault(c, "a graph name occurs twice");
    slots[k] = i + 1;
  }
  for (uint32_t i = 0; status == TL_OK && i < c->subgraphs.n; i++) {
    bytes name = c->subgraphs.at[i].at;
    uint32_t k = (uint32_t)hash_of(name) & (n_slots - 1);
    while (slots[k] && !same(c->graph_names.at[slots[k] - 1].at, name))
      k = (k + 1) & (n_slots - 1);
    if (slots[k] < 2)
      status = fault(c, "a node refers to a subgraph that is not in the file");
    used++;
  }
  free(slots);
  if (status == TL_OK && used + 1 != c->graph_names.n)
    return fault(c, "subgraphs and references to them differ in number");
  return status;
}

static tl_status check_model(checker *c, bytes message) {
  bytes last = {0};
  field f;
  if (length_of(message) > INT32_MAX)
    return fault(c, "the file is beyond 2 GiB - 1");
  while (next_field(&message, &f)) {
    if (f.number == TL_MODEL_GRAPH)
      TL_TRY(check_graph(c, f.body));
    else if (f.number == TL_MODEL_ATTR)
      TL_TRY(check_entry(c, f.body, &last, NULL));
  }
  if (message.p != message.end || c->graph_names.n == 0)
    return fault(c, "a malformed model, or one without a graph");
  return check_subgraphs(c);
}

tl_status tl_air_check(tl_diag *d, const char *path, const unsigned char *p, uint64_t n) {
  checker c = {.diag = d, .path = path};
  for (unsigned k = TL_DTYPE_F32; k < TL_N_DTYPES; k++) {
    const tl_dtype_info *info = tl_dtype_get((tl_dtype)k);
    if (info->ge_proto >= 0 && info->ge_proto <= MAX_DTYPE) {
      c.known[info->ge_proto] = true;
      c.bits[info->ge_proto] = info->bits;
    }
  }
  tl_status status = check_model(&c, (bytes){p, p + n});
  free(c.table);
  span_vec_release(&c.graph_names);
  span_vec_release(&c.subgraphs);
  span_vec_release(&c.inputs);
  return status;
}
