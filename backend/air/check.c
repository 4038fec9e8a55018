/* SPDX-License-Identifier: Apache-2.0 */
/* Self-check of a finished AIR file: reads its bytes as a loader does and reports any fault.
 * It shares no encoding code with the writer, so that an error there cannot hide itself. It refuses
 * what a loader would reject or silently drop, and what fails only later: cycles, gaps in ids,
 * constants of the wrong size. It is one forward walk: our files are in topological order, so an
 * edge must lead to a node that was seen before. */
#include "backend/air/air.h"
#include "backend/air/check_names.h"
#include "support/hash.h"

/* MAX_DTYPE: greatest serialized element type that is checked. val_type is 1 to 10. */
enum { MAX_NAME = 255, MAX_DTYPE = 41, N_LIST_TYPES = 11, N_GOOD = 256 };

typedef tl_air_bytes bytes;

typedef struct field {
  uint32_t number;
  uint32_t wire;
  uint64_t value; /* varint */
  bytes body;     /* length-delimited */
} field;

TL_VEC(span_vec, bytes);

/* A desc that was checked before. Values share few types, so a small cache saves most checks. */
typedef struct good_desc {
  bytes desc; /* p NULL: free */
  uint64_t bits;
} good_desc;

typedef struct checker {
  tl_diag *diag;
  const char *path;
  tl_air_seen_table seen; /* nodes so far */
  uint32_t graph;         /* number of the graph being read */
  int64_t position;       /* of the node in its graph */
  int64_t n_data;         /* Data nodes so far in the graph */
  uint32_t n_outputs;     /* NetOutput nodes so far in the graph */
  int64_t output_node;    /* position of the last of them */
  span_vec graph_names;
  span_vec subgraphs;           /* names that nodes refer to */
  span_vec inputs;              /* edges of one node */
  bytes node;                   /* name of the node being read, for messages */
  good_desc *good;              /* [N_GOOD], by their first bytes */
  uint16_t bits[MAX_DTYPE + 1]; /* per element, by serialized number; 0: no fixed size */
  bool known[MAX_DTYPE + 1];
} checker;

enum { N_PAIRS = 4, INPUT_KINDS = 3, OUTPUT_KINDS = 5 }; /* among bookkeeping keys */

/* The node being read. */
typedef struct op_def {
  bytes name;
  uint32_t hash; /* of the name */
  bytes type;
  bytes input_desc; /* the first */
  bytes output_desc;
  uint64_t output_bits;
  bytes last_key;
  bytes value; /* AttrDef of "value" */
  int64_t id;
  int64_t index;             /* "index", -1 when absent */
  int64_t length;            /* "length", -1 when absent */
  int64_t unpaired[N_PAIRS]; /* entries of a list of keys minus entries of its list of values */
  uint32_t n_inputs;         /* descs */
  uint32_t n_outputs;
  bool outside; /* has "location" */
  bool has_gap; /* an unconnected slot */
} op_def;

/* Reports a fault. It is TL_INTERNAL, since only an error of this program can cause it. */
static tl_status fault(const checker *c, const char *what) {
  tl_sv node = {(const char *)c->node.p, c->node.p ? (size_t)(c->node.end - c->node.p) : 0};
  return tl_fail(c->diag, TL_INTERNAL, TL_AT_NODE(c->path, node),
                 "the finished file fails its check: %s", what);
}

/* Reads a varint. Most have one byte, so that case comes first. */
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

/* Reads the next field; false at the end or on malformed bytes (then b->p is not b->end). A field
 * number has at most 29 bits, hence no key above 35 bits. */
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
/* Returns the first field of that number in a message; body.p is NULL if there is none. */
static field find_field(bytes message, uint32_t number) {
  field f;
  while (next_field(&message, &f))
    if (f.number == number)
      return f;
  return (field){0};
}

/* ---- edges ---- */

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

/* Checks that an edge leads to an existing output of an earlier node of the same graph. */
static tl_status check_edge(const checker *c, bytes edge, bool control_allowed, bool *control) {
  bytes name;
  int64_t index;
  if (!split_edge(edge, &name, &index) || (index < 0 && !control_allowed))
    return fault(c, "an edge is not NAME:INDEX");
  const tl_air_seen *s = tl_air_seen_find(&c->seen, name);
  if (!s || s->graph != c->graph)
    return fault(c, "an edge names a node that does not come earlier in its graph");
  if (index >= s->n_outputs)
    return fault(c, "an edge names an output beyond the producer's");
  *control = index < 0;
  return TL_OK;
}

/* ---- attributes ---- */

static tl_status check_desc(const checker *c, bytes desc, uint64_t *needed_bits);

/* A list declares its element type and holds elements of that type only. */
static tl_status check_list(const checker *c, bytes list) {
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
  if (type < 1 || type >= N_LIST_TYPES)
    return fault(c, "a list without a valid val_type would be dropped");
  return held && held != fields[type]
             ? fault(c, "the elements of a list do not have its declared kind")
             : TL_OK;
}

/* Checks a TensorDef: its data has exactly the bytes that its desc asks for. If the node has a
 * location, the data is outside and the attribute "length" must have that size. n: NULL if the
 * tensor is not an attribute of a node. */
static tl_status check_tensor(const checker *c, bytes tensor, const op_def *n) {
  field desc = find_field(tensor, TL_TENSORDEF_DESC);
  field data = find_field(tensor, TL_TENSORDEF_DATA);
  uint64_t bits;
  if (!desc.body.p)
    return fault(c, "a tensor without a desc");
  TL_TRY(check_desc(c, desc.body, &bits));
  if (bits == UINT64_MAX)
    return fault(c, "a constant of unknown shape or size");
  uint64_t have = data.body.p ? length_of(data.body) : 0;
  uint64_t needed = bits / 8 + (bits % 8 != 0);
  if (n && n->outside && have)
    return fault(c, "a constant has its data both in the file and outside");
  if (n && n->outside && (needed == 0 || n->length < 0 || (uint64_t)n->length != needed))
    return fault(c, "a constant's length is not the size of its shape");
  if (have != needed && !(n && n->outside))
    return fault(c, "a constant's data does not have the size of its shape");
  return TL_OK;
}

/* Checks a list that describes ports. Loaders drop both lists of a pair if their lengths differ,
 * and all of them for an unknown kind of port. A byte below 0x80 ends a varint: their number is
 * that of the elements. */
static tl_status check_bookkeeping(const checker *c, int which, bytes list, op_def *n) {
  unsigned most = which == INPUT_KINDS ? 2 : which == OUTPUT_KINDS ? 1 : 0xff;
  int64_t count = 0;
  field f;
  while (next_field(&list, &f)) {
    if (f.number == TL_LIST_TYPE && f.value)
      return fault(c, "a bookkeeping list has a val_type");
    count += f.number == TL_LIST_S;
    for (const unsigned char *p = f.body.p; f.number == TL_LIST_I && p < f.body.end; p++) {
      count += *p < 0x80;
      if (*p > most)
        return fault(c, "a malformed list of port kinds");
    }
  }
  if (n && which < 2 * N_PAIRS)
    n->unpaired[which / 2] += which % 2 ? -count : count;
  return list.p == list.end ? TL_OK : fault(c, "a malformed list");
}

/* Checks the value of an attribute: exactly one, of a kind that loaders read. n: the node it
 * belongs to; NULL in other maps. */
static tl_status check_attr(const checker *c, bytes key, bytes value, op_def *n) {
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
  case TL_ATTRDEF_LIST: {
    int which = tl_air_bookkeeping(key);
    return which < 0 ? check_list(c, f.body) : check_bookkeeping(c, which, f.body, n);
  }
  case TL_ATTRDEF_T: return check_tensor(c, f.body, n);
  default: return fault(c, "an attribute of a kind that loaders cannot read");
  }
}

/* Splits a map entry into key and value; false if it is not exactly that. */
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

/* Remembers the attributes that later checks of the node need. */
static void note_attr(op_def *n, bytes key, bytes value) {
  if (length_of(key) < 5 || length_of(key) > 8)
    return;
  if (is_text(key, "value"))
    n->value = value;
  else if (is_text(key, "location"))
    n->outside = true;
  else if (is_text(key, "length"))
    n->length = (int64_t)find_field(value, TL_ATTRDEF_I).value;
  else if (is_text(key, "index"))
    n->index = (int64_t)find_field(value, TL_ATTRDEF_I).value;
}

/* Checks one map entry. Keys must ascend, which also makes them unique. */
static tl_status check_entry(const checker *c, bytes entry, bytes *last, op_def *n) {
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
  return check_attr(c, key, value, n);
}

/* Reads dims; *elements is their product, valid if *known. -1 is an unknown dim, and a single -2 an
 * unknown rank. */
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

/* Checks a desc that is not in the cache. */
static tl_status read_desc(const checker *c, bytes desc, uint64_t *needed_bits) {
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

/* Returns the cache slot of a desc. Its first 16 bytes are dtype and shape, which mostly differ. */
static good_desc *good_slot(const checker *c, bytes desc) {
  size_t n = length_of(desc) < 16 ? length_of(desc) : 16;
  return &c->good[tl_hash_bytes(desc.p, n, 3) % N_GOOD];
}

/* Checks a tensor desc. *needed_bits: size of the data; UINT64_MAX if it is not known. */
static tl_status check_desc(const checker *c, bytes desc, uint64_t *needed_bits) {
  good_desc *good = good_slot(c, desc);
  if (good->desc.p && tl_air_same(good->desc, desc)) {
    *needed_bits = good->bits;
    return TL_OK;
  }
  TL_TRY(read_desc(c, desc, needed_bits));
  *good = (good_desc){desc, *needed_bits};
  return TL_OK;
}

/* ---- nodes ---- */

/* Takes one field of a node. "length" and "location" sort before "value", so they are known when
 * the tensor is checked. */
static tl_status read_field(checker *c, op_def *n, const field *f) {
  uint64_t bits;
  switch (f->number) {
  case TL_NODE_NAME:
    n->name = c->node = f->body;
    n->hash = tl_air_seen_ahead(&c->seen, n->name);
    return TL_OK;
  case TL_NODE_TYPE: n->type = f->body; return TL_OK;
  case TL_NODE_INPUT:
    return span_vec_push(&c->inputs, f->body) ? TL_OK
                                              : tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  case TL_NODE_ID: n->id = (int64_t)f->value; return TL_OK;
  case TL_NODE_ATTR: return check_entry(c, f->body, &n->last_key, n);
  case TL_NODE_INPUT_DESC:
    if (n->n_inputs++ == 0)
      n->input_desc = f->body;
    return check_desc(c, f->body, &bits);
  case TL_NODE_OUTPUT_DESC:
    if (n->n_outputs++)
      return check_desc(c, f->body, &bits);
    n->output_desc = f->body;
    return check_desc(c, f->body, &n->output_bits);
  case TL_NODE_SUBGRAPH:
    return span_vec_push(&c->subgraphs, f->body) ? TL_OK
                                                 : tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  default: return TL_OK;
  }
}

/* Checks all edges of a node: data edges first, one for each input desc, then control edges. An
 * empty edge is an unconnected input. */
static tl_status check_edges(const checker *c, op_def *n) {
  uint32_t slot = 0;
  bool in_controls = false;
  for (uint32_t i = 0; i < c->inputs.n; i++) {
    bytes edge = c->inputs.at[i];
    bool control = false;
    if (edge.p < edge.end)
      TL_TRY(check_edge(c, edge, true, &control));
    else
      n->has_gap = true;
    if (in_controls && !control)
      return fault(c, "a data edge after a control edge");
    in_controls = control;
    slot += !control;
  }
  return slot == n->n_inputs ? TL_OK : fault(c, "edges and input descs differ in number");
}

/* Checks a Data node: both descs are equal, and indexes are 0, 1, 2 ... in file order. */
static tl_status check_data(checker *c, const op_def *n) {
  if (n->n_inputs != 1 || n->n_outputs != 1 || !tl_air_same(n->input_desc, n->output_desc))
    return fault(c, "a Data node needs one input and one output desc, both equal");
  return n->index == c->n_data++ ? TL_OK : fault(c, "Data indexes are not dense");
}

/* Checks that a Const's value and its output have the same desc. */
static tl_status check_const(const checker *c, const op_def *n) {
  field tensor = n->value.p ? find_field(n->value, TL_ATTRDEF_T) : (field){0};
  field desc = tensor.body.p ? find_field(tensor.body, TL_TENSORDEF_DESC) : (field){0};
  if (!desc.body.p || n->n_outputs != 1)
    return fault(c, "a Const without a tensor value or output");
  return tl_air_same(desc.body, n->output_desc)
             ? TL_OK
             : fault(c, "a Const's value and output differ in type");
}

/* Checks that the length of a FileConstant is the size of its output. */
static tl_status check_file_constant(const checker *c, const op_def *n) {
  bool fits = n->n_outputs == 1 && n->outside && n->length > 0 && n->output_bits != UINT64_MAX &&
              (uint64_t)n->length == n->output_bits / 8 + (n->output_bits % 8 != 0);
  return fits ? TL_OK : fault(c, "a FileConstant's length is not the size of its shape");
}

/* Returns the packed kinds of the prototype's inputs; empty if the node does not list them. */
static bytes input_kinds(bytes message) {
  field f;
  while (next_field(&message, &f)) {
    bytes key;
    bytes value;
    if (f.number == TL_NODE_ATTR && open_entry(f.body, &key, &value) &&
        is_text(key, "_ir_inputs_value"))
      return find_field(find_field(value, TL_ATTRDEF_LIST).body, TL_LIST_I).body;
  }
  return (bytes){0};
}

/* Checks that only optional inputs are unconnected. A dynamic port takes the slots that the other
 * ports leave. From a second dynamic port on, slots cannot be assigned, and the check ends. */
static tl_status check_gaps(const checker *c, const op_def *n, bytes message) {
  bytes kinds = input_kinds(message);
  size_t others = kinds.p && kinds.p < kinds.end ? length_of(kinds) - 1 : 0;
  uint32_t slot = 0;
  bool dynamic = false;
  for (const unsigned char *kind = kinds.p; kind < kinds.end && slot < n->n_inputs; kind++) {
    size_t count = 1;
    if (*kind == 2 && dynamic)
      return TL_OK;
    if (*kind == 2)
      count = n->n_inputs > others ? n->n_inputs - others : 0;
    dynamic = dynamic || *kind == 2;
    for (; count && slot < n->n_inputs; count--, slot++)
      if (*kind != 1 && length_of(c->inputs.at[slot]) == 0)
        return fault(c, "a required input is not connected");
  }
  return TL_OK;
}

/* Checks what holds for nodes of one type only. */
static tl_status check_kind(checker *c, const op_def *n, bytes message) {
  if (is_text(n->type, "Data"))
    return check_data(c, n);
  if (is_text(n->type, "Const"))
    return check_const(c, n);
  if (is_text(n->type, "FileConstant"))
    return check_file_constant(c, n);
  if (is_text(n->type, "NetOutput")) {
    c->n_outputs++;
    c->output_node = n->id;
    return n->n_inputs && !n->has_gap ? TL_OK : fault(c, "a graph output is missing");
  }
  return n->has_gap ? check_gaps(c, n, message) : TL_OK;
}

/* Checks one node. Its edges lead to nodes seen before, so the node itself is added last. */
static tl_status check_node(checker *c, bytes message) {
  op_def n = {.index = -1, .length = -1};
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
  for (int i = 0; i < N_PAIRS; i++)
    if (n.unpaired[i])
      return fault(c, "lists of names and positions of unequal length");
  TL_TRY(check_edges(c, &n));
  TL_TRY(check_kind(c, &n, message));
  bool twice;
  if (!tl_air_seen_add(&c->seen, n.name, n.hash, c->graph, n.n_outputs, &twice))
    return tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  return twice ? fault(c, "a node name occurs twice") : TL_OK;
}

/* ---- graphs ---- */

/* Checks the inputs and outputs that a graph lists: inputs are all its Data nodes, outputs are the
 * edges of its NetOutput. That is its last node, so its edges are still in c->inputs. */
static tl_status check_ends(const checker *c, bytes message) {
  uint32_t n_outputs = 0;
  int64_t n_inputs = 0;
  bool control;
  field f;
  while (next_field(&message, &f) && f.number <= TL_GRAPH_OUTPUT) {
    if (f.number == TL_GRAPH_NAME)
      continue;
    TL_TRY(check_edge(c, f.body, false, &control));
    n_inputs += f.number == TL_GRAPH_INPUT;
    if (f.number != TL_GRAPH_OUTPUT)
      continue;
    if (n_outputs == c->inputs.n || !tl_air_same(f.body, c->inputs.at[n_outputs++]))
      return fault(c, "graph outputs and NetOutput differ");
  }
  if (n_inputs != c->n_data)
    return fault(c, "graph inputs and Data nodes differ in number");
  return n_outputs ? TL_OK : fault(c, "a graph without outputs");
}

/* Checks the nodes of a graph, then its inputs and outputs. A second pass over the fields of the
 * graph is needed, because its inputs and outputs stand before the nodes that they name. */
static tl_status check_graph(checker *c, bytes message) {
  bytes rest = message;
  bytes last = {0};
  field f;
  c->graph++;
  c->position = 0;
  c->n_data = 0;
  c->n_outputs = 0;
  while (next_field(&rest, &f)) {
    if (f.number == TL_GRAPH_NAME && !span_vec_push(&c->graph_names, f.body))
      return tl_fail_memory(c->diag, TL_AT_FILE(c->path));
    if (f.number == TL_GRAPH_NODE)
      TL_TRY(check_node(c, f.body));
    if (f.number == TL_MODEL_ATTR)
      TL_TRY(check_entry(c, f.body, &last, NULL));
  }
  c->node = (bytes){0};
  if (rest.p != rest.end || c->graph_names.n != c->graph)
    return fault(c, "a malformed graph, or one without a name");
  if (c->n_outputs != 1 || c->output_node + 1 != c->position)
    return fault(c, "a graph whose last node is not its one NetOutput");
  return check_ends(c, message);
}

/* Checks the whole message. References between graphs are checked last, since a node may refer to a
 * later graph. */
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
  tl_air_spans graphs = {c->graph_names.at, c->graph_names.n};
  tl_air_spans references = {c->subgraphs.at, c->subgraphs.n};
  const char *problem = NULL;
  if (!tl_air_check_subgraphs(graphs, references, &problem))
    return tl_fail_memory(c->diag, TL_AT_FILE(c->path));
  return problem ? fault(c, problem) : TL_OK;
}

tl_status tl_air_check(tl_diag *d, const char *path, const unsigned char *p, uint64_t n) {
  good_desc good[N_GOOD] = {{{NULL, NULL}, 0}};
  checker c = {.diag = d, .path = path, .good = good};
  for (unsigned k = TL_DTYPE_F32; k < TL_N_DTYPES; k++) {
    const tl_dtype_info *info = tl_dtype_get((tl_dtype)k);
    if (info->ge_proto >= 0 && info->ge_proto <= MAX_DTYPE) {
      c.known[info->ge_proto] = true;
      c.bits[info->ge_proto] = info->bits;
    }
  }
  tl_status status = check_model(&c, (bytes){p, p + n});
  tl_air_seen_release(&c.seen);
  span_vec_release(&c.graph_names);
  span_vec_release(&c.subgraphs);
  span_vec_release(&c.inputs);
  return status;
}
