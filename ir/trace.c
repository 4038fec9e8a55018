/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of fused nodes: reading the lists in metadata, and recording them. */
#include "ir/trace.h"

#include "ir/marks.h"
#include "ir/name_list.h"
#include "ir/origins.h"

/* Keys with their lengths, since they are compared with all metadata. */
#define KEY(text)                                                                                  \
  { text, sizeof text - 1 }
static const tl_sv keys[TL_N_TRACES] = {KEY("_datadump_original_op_names"),
                                        KEY("_datadump_original_op_types"), KEY("pass_name"),
                                        KEY("_datadump_is_multiop"), KEY("_tailor_inserted_for")};

const char *tl_trace_key(tl_trace what) { return keys[what].p; }

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_punct(tl_token t, const char *text) {
  return t.kind == TL_TOKEN_PUNCT && tl_sv_is(t.text, text);
}

/* True for a list as written here, without escapes. Nearly all are, and this is asked for each node
 * that a fusion takes. */
static bool is_plain_list(tl_sv text) {
  const char *at = text.p, *end = text.p + text.n;
  if (text.n < 2 || *at++ != '[' || !tl_list_is_plain(text))
    return false;
  while (end - at > 1 && *at == '"') {
    at = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (!at || ++at == end)
      return false;
    if (*at == ']')
      return at + 1 == end;
    if (end - at < 2 || at[0] != ',' || at[1] != ' ')
      return false;
    at += 2;
  }
  return false;
}

/* Anybody's file may have metadata of that name, so lists are checked in full. *plain: it has no
 * escapes. */
static bool is_list(tl_sv text, bool *plain) {
  *plain = is_plain_list(text);
  if (*plain)
    return true;
  tl_lexer lexer = tl_lex_start(text);
  bool more = is_punct(tl_lex_next(&lexer), "[");
  if (!more)
    return false;
  if (tl_sv_is(text, "[]")) /* inserted: it comes from no node */
    return true;
  while (more) {
    if (tl_lex_next(&lexer).kind != TL_TOKEN_STRING)
      return false;
    tl_token t = tl_lex_next(&lexer);
    more = is_punct(t, ",");
    if (!more && !is_punct(t, "]"))
      return false;
  }
  return tl_lex_next(&lexer).kind == TL_TOKEN_END;
}

static tl_sv get(const tl_module *m, tl_node_id n, tl_trace what, bool *plain) {
  const tl_extra *e = &m->extras.at[tl_node_get(m, n)->extra];
  *plain = false;
  for (uint32_t i = 0; i < e->n_metadata; i++) {
    tl_sv value = tl_sym(m, e->metadata[i].value);
    if (!tl_sv_eq(tl_sym(m, e->metadata[i].key), keys[what]))
      continue;
    if (e->plain == e->metadata) {
      *plain = what != TL_TRACE_MULTI;
      return value;
    }
    bool good = what == TL_TRACE_MULTI ? tl_sv_is(value, "true") : is_list(value, plain);
    return good ? value : TL_SV("");
  }
  return TL_SV("");
}

tl_sv tl_trace_get(const tl_module *m, tl_node_id n, tl_trace what) {
  bool plain;
  return get(m, n, what, &plain);
}

/* plain: the list has no escapes */
static tl_trace_items start_items(tl_sv list, bool plain) {
  return (tl_trace_items){
      .lexer = tl_lex_start(list), .at = plain ? list.p : NULL, .end = list.p + list.n};
}

tl_trace_items tl_trace_start(tl_sv list) { return start_items(list, tl_list_is_plain(list)); }

/* Gives the next item as it stands between quotes; false behind the last one. */
static bool next_item(tl_trace_items *i, tl_sv *inside) {
  if (i->at) {
    const char *from = memchr(i->at, '"', (size_t)(i->end - i->at));
    const char *to = from ? memchr(from + 1, '"', (size_t)(i->end - from - 1)) : NULL;
    if (!to)
      return false;
    *inside = (tl_sv){from + 1, (size_t)(to - from - 1)};
    i->at = to + 1;
    return true;
  }
  tl_token t;
  do
    t = tl_lex_next(&i->lexer);
  while (t.kind == TL_TOKEN_PUNCT);
  *inside = t.text;
  return t.kind == TL_TOKEN_STRING;
}

bool tl_trace_next(tl_trace_items *i, tl_buf *room, tl_sv *item) {
  if (!next_item(i, item))
    return false;
  if (i->at)
    return true;
  tl_buf_clear(room);
  tl_lex_unquote(*item, room);
  *item = tl_buf_view(room);
  return !room->failed;
}

/* ---- recording ------------------------------------------------------------------------------ */

static void add_item(tl_buf *out, tl_sv text) {
  if (out->n > TL_LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", " : "[");
  tl_buf_add_quoted(out, text);
}

/* Appends the items of a list, as they are quoted. */
static void splice(tl_buf *out, tl_sv list) {
  if (list.n <= 2 || out->n > TL_LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", " : "[");
  tl_buf_add(out, list.p + 1, list.n - 2);
}

/* Returns the list of what a node comes from that metadata has. *plain: it has no escapes.
 * *inserted: as tl_trace_origins. */
static tl_sv noted_origins(const tl_module *m, tl_node_id n, bool *inserted, bool *plain) {
  *inserted = *plain = false;
  if (m->extras.at[tl_node_get(m, n)->extra].n_metadata == 0)
    return TL_SV("");
  tl_sv names = get(m, n, TL_TRACE_NAMES, plain);
  if (names.n > 2)
    return names;
  names = get(m, n, TL_TRACE_FOR, plain);
  *inserted = names.n;
  return names;
}

/* Returns the reference of a node that a pass made; 0 for others. */
static tl_origin derived(const tl_module *m, tl_node_id n) {
  return m->extras.at[tl_node_get(m, n)->extra].origins;
}

/* What a node is made of, while it is listed. */
typedef struct origins {
  tl_name_list names;
  tl_buf types;
  bool names_only; /* types are not wanted */
} origins;

static void origins_init(origins *o) {
  *o = (origins){0};
  tl_name_list_init(&o->names);
  tl_buf_init(&o->types);
}

/* Frees what lists of names and types leave. */
static void origins_release(origins *o) {
  tl_name_list_release(&o->names);
  tl_buf_release(&o->types);
}

static size_t count_quotes(tl_sv list) {
  size_t n = 0;
  for (size_t i = 0; i < list.n; i++)
    n += list.p[i] == '"';
  return n;
}

/* Begins with a list as it is, without the bracket behind it: a chain of rewrites appends to the
 * list of the node before it again and again. False where the items must be looked at. */
static bool copy_whole(origins *o, tl_sv names, bool plain, tl_sv types, bool plain_types) {
  if (o->names.text.n || !plain)
    return false;
  if (!o->names_only && (!plain_types || count_quotes(names) != count_quotes(types)))
    return false;
  tl_name_list_begin(&o->names, names);
  if (!o->names_only)
    tl_buf_add(&o->types, types.p, types.n - 1);
  return true;
}

/* Appends names and the types beside them; a node that several others were made from stands there
 * once. */
static void splice_pairs(const tl_module *m, tl_node_id n, tl_sv made_of, bool plain, origins *o) {
  tl_buf *types = &o->types;
  bool plain_types = false;
  tl_sv of = o->names_only ? TL_SV("") : get(m, n, TL_TRACE_TYPES, &plain_types);
  if (copy_whole(o, made_of, plain, of, plain_types))
    return;
  tl_trace_items names = start_items(made_of, plain);
  tl_trace_items kinds = start_items(of, plain_types);
  tl_sv name, type;
  while (next_item(&names, &name)) {
    bool typed = next_item(&kinds, &type);
    if (tl_name_list_has(&o->names, name))
      continue;
    tl_name_list_add(&o->names, name);
    if (o->names_only)
      continue;
    if (typed)
      tl_list_add(types, type);
    else /* somebody's list of names alone */
      add_item(types, tl_op_name(m, tl_node_get(m, n)->op));
  }
}

/* Returns the type that a node had in the model: the text behind the last colon of
 * "ai.onnx::13::Slice". */
static tl_sv model_type(const tl_module *m, tl_node_id n) {
  tl_symbol key = tl_symbol_find(&m->symbols, TL_SV("original_type"));
  tl_sv type = key == TL_NO_SYMBOL || !key ? TL_SV("") : tl_node_attr_string(m, n, key);
  size_t i = type.n;
  while (i && type.p[i - 1] != ':')
    i--;
  return type.n ? (tl_sv){type.p + i, type.n - i} : tl_op_name(m, tl_node_get(m, n)->op);
}

void tl_trace_own(const tl_module *m, tl_node_id n, tl_buf *out) {
  const tl_node *node = tl_node_get(m, n);
  tl_sv value = {"", 0};
  if (node->name) {
    tl_buf_add_sv(out, tl_sym(m, node->name));
    return;
  }
  tl_buf_add_sv(out, model_type(m, n));
  for (uint32_t i = 0; i < node->n_results && value.n == 0; i++)
    value = tl_value_name(m, node->results + i);
  if (value.n) {
    tl_buf_add_z(out, "->");
    tl_buf_add_sv(out, value);
  }
}

/* True for a text that needs no escape between quotes. */
static bool is_plain_name(tl_sv text) {
  bool plain = true;
  for (size_t i = 0; i < text.n; i++) {
    unsigned char c = (unsigned char)text.p[i];
    plain = plain && c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  }
  return plain;
}

/* Appends a node that was in the model, by its name as it stands between quotes. */
static void add_own(const tl_module *m, tl_node_id n, tl_sv inside, origins *o) {
  if (tl_name_list_has(&o->names, inside))
    return;
  tl_name_list_add(&o->names, inside);
  if (!o->names_only)
    add_item(&o->types, tl_op_name(m, tl_node_get(m, n)->op));
}

/* Appends a name of a node of the model, with the type of node n. */
static void add_name(const tl_module *m, tl_node_id n, tl_sv name, origins *o) {
  if (is_plain_name(name)) {
    add_own(m, n, name, o);
    return;
  }
  tl_buf quoted;
  tl_buf_init(&quoted);
  tl_buf_add_quoted(&quoted, name);
  o->names.text.failed = o->names.text.failed || quoted.failed;
  if (!quoted.failed)
    add_own(m, n, (tl_sv){quoted.p + 1, quoted.n - 2}, o);
  tl_buf_release(&quoted);
}

/* Appends the names behind the reference of node n, until the list is long. */
static void add_derived(const tl_module *m, tl_node_id n, origins *o) {
  tl_origin_walk walk;
  tl_origin_kind kind;
  tl_symbol symbol;
  tl_origin_start(&walk, m, derived(m, n));
  while (o->names.text.n <= TL_LONGEST_LIST && tl_origin_next(&walk, &kind, &symbol)) {
    tl_sv text = tl_sym(m, symbol);
    if (kind == TL_ORIGIN_LIST)
      splice_pairs(m, n, text, tl_list_is_plain(text), o);
    else
      add_name(m, n, text, o);
  }
  o->names.text.failed = o->names.text.failed || walk.failed;
  tl_origin_end(&walk);
}

/* Appends what the node was made from, or the node itself. */
static void add_node(const tl_module *m, tl_node_id n, origins *o) {
  bool inserted, plain;
  tl_sv list = noted_origins(m, n, &inserted, &plain);
  if (list.n) {
    splice_pairs(m, n, list, plain, o);
    return;
  }
  if (derived(m, n)) {
    add_derived(m, n, o);
    return;
  }
  tl_sv given = tl_sym(m, tl_node_get(m, n)->name);
  if (given.n) {
    add_name(m, n, given, o);
    return;
  }
  tl_buf own;
  tl_buf_init(&own);
  tl_trace_own(m, n, &own);
  o->names.text.failed = o->names.text.failed || own.failed;
  if (!own.failed)
    add_name(m, n, tl_buf_view(&own), o);
  tl_buf_release(&own);
}

/* Metadata being written. plain: no list in it has escapes. */
typedef struct noted {
  tl_pair *at; /* arena */
  uint32_t n;
  bool plain;
} noted;

static tl_status put(tl_module *m, noted *to, tl_trace what, tl_sv value) {
  tl_pair p = {tl_module_intern(m, tl_sv_from(tl_trace_key(what))), tl_module_intern(m, value)};
  to->at[to->n++] = p;
  return p.key == TL_NO_SYMBOL || p.value == TL_NO_SYMBOL ? TL_NO_MEMORY : TL_OK;
}

static tl_status put_list(tl_module *m, tl_buf *list, tl_trace what, noted *to) {
  tl_buf_add_char(list, ']');
  to->plain = to->plain && tl_list_is_plain(tl_buf_view(list));
  tl_status status = list->failed ? TL_NO_MEMORY : put(m, to, what, tl_buf_view(list));
  tl_buf_release(list);
  return status;
}

static tl_status put_origins(tl_module *m, const tl_node_id *taken, uint32_t n, noted *to) {
  origins o;
  origins_init(&o);
  for (uint32_t i = 0; i < n; i++)
    add_node(m, taken[i], &o);
  tl_status status = put_list(m, &o.names.text, TL_TRACE_NAMES, to);
  tl_status other = put_list(m, &o.types, TL_TRACE_TYPES, to);
  origins_release(&o);
  return status != TL_OK ? status : other;
}

static tl_status put_passes(tl_module *m, const tl_node_id *taken, uint32_t n, tl_sv pass,
                            noted *to) {
  tl_buf list;
  tl_buf_init(&list);
  for (uint32_t i = 0; i < n; i++)
    splice(&list, tl_trace_get(m, taken[i], TL_TRACE_PASSES));
  add_item(&list, pass);
  return put_list(m, &list, TL_TRACE_PASSES, to);
}

/* The nodes taken agree in their marks, so that one of them tells. */
static tl_status inherit_marks(tl_module *m, tl_node_id from, noted *to) {
  for (uint32_t i = 0; i < TL_N_MARKS; i++) {
    tl_sv mark = tl_node_mark(m, from, i);
    if (mark.n == 0)
      continue;
    tl_symbol key = tl_module_intern(m, tl_sv_from(tl_mark_key(i)));
    tl_symbol value = tl_module_intern(m, mark);
    if (key == TL_NO_SYMBOL || value == TL_NO_SYMBOL)
      return TL_NO_MEMORY;
    to->at[to->n++] = (tl_pair){key, value};
  }
  return TL_OK;
}

tl_status tl_trace_record(tl_module *m, tl_node_id made, const tl_node_id *taken, uint32_t n,
                          tl_sv pass, bool several) {
  uint32_t slot = tl_node_get(m, made)->extra;
  noted to = {.at = tl_arena_calloc(&m->arena, TL_N_TRACES + TL_N_MARKS, sizeof *to.at),
              .plain = true};
  if (!to.at || n == 0)
    return to.at ? TL_OK : TL_NO_MEMORY;
  TL_TRY(put_origins(m, taken, n, &to));
  TL_TRY(put_passes(m, taken, n, pass, &to));
  if (several)
    TL_TRY(put(m, &to, TL_TRACE_MULTI, TL_SV("true")));
  TL_TRY(inherit_marks(m, taken[n - 1], &to));
  tl_extra *e = tl_module_extra(m, &slot);
  if (!e)
    return TL_NO_MEMORY;
  e->metadata = to.at;
  e->n_metadata = to.n;
  e->plain = to.plain ? to.at : NULL;
  tl_node_get(m, made)->extra = slot;
  return TL_OK;
}

/* ---- nodes that passes make ------------------------------------------------------------------ */

/* Writes the names behind the reference of a node as a list. */
static tl_sv write_origins(const tl_module *m, tl_node_id n, tl_buf *room) {
  origins o;
  origins_init(&o);
  o.names_only = true;
  add_derived(m, n, &o);
  tl_buf_add_char(&o.names.text, ']');
  tl_buf_clear(room);
  tl_buf_add_sv(room, tl_buf_view(&o.names.text));
  room->failed = room->failed || o.names.text.failed;
  origins_release(&o);
  return room->failed ? TL_SV("") : tl_buf_view(room);
}

tl_sv tl_trace_origins(const tl_module *m, tl_node_id n, tl_buf *room, bool *inserted) {
  bool plain;
  tl_sv list = noted_origins(m, n, inserted, &plain);
  if (list.n)
    return list;
  *inserted = m->extras.at[tl_node_get(m, n)->extra].inserted;
  return derived(m, n) ? write_origins(m, n, room) : TL_SV("");
}

tl_sv tl_trace_origin(const tl_module *m, tl_node_id n) {
  tl_origin_walk walk;
  tl_origin_kind kind;
  tl_symbol symbol;
  bool inserted, plain;
  if (noted_origins(m, n, &inserted, &plain).n)
    return TL_SV("");
  tl_origin_start(&walk, m, derived(m, n));
  bool one = walk.one && tl_origin_next(&walk, &kind, &symbol) && kind == TL_ORIGIN_NAME;
  tl_origin_end(&walk);
  return one ? tl_sym(m, symbol) : TL_SV("");
}

/* Returns a reference to what one node comes from, or to the node; TL_NO_ORIGIN without memory. */
static tl_origin origin_of_node(tl_module *m, tl_node_id n) {
  bool inserted, plain;
  tl_sv list = noted_origins(m, n, &inserted, &plain);
  if (!list.n && derived(m, n))
    return derived(m, n);
  tl_symbol name = tl_node_get(m, n)->name;
  if (list.n) {
    name = tl_module_intern(m, list);
  } else if (!name) {
    tl_buf own;
    tl_buf_init(&own);
    tl_trace_own(m, n, &own);
    name = own.failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(&own));
    tl_buf_release(&own);
  }
  return tl_origin_of(list.n ? TL_ORIGIN_LIST : TL_ORIGIN_NAME, name);
}

/* Joins what the nodes come from; 0 among them is no node. */
static tl_origin join_origins(tl_module *m, const tl_node_id *from, uint32_t n) {
  enum { AT_ONCE = 64 };
  tl_origin some[AT_ONCE];
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!from[i] || tl_node_get(m, from[i])->op == TL_OP_RETURN)
      continue;
    if (k == AT_ONCE) {
      some[0] = tl_origin_join(m, some, k);
      k = 1;
    }
    some[k++] = origin_of_node(m, from[i]);
  }
  return k == 1 ? some[0] : tl_origin_join(m, some, k);
}

bool tl_trace_derive(tl_module *m, tl_node_id made, const tl_node_id *from, uint32_t n,
                     bool inserted) {
  bool known, plain;
  if (noted_origins(m, made, &known, &plain).n || derived(m, made))
    return true;
  tl_origin from_all = join_origins(m, from, n);
  tl_extra *e = from_all == TL_NO_ORIGIN ? NULL : tl_module_extra(m, &tl_node_get(m, made)->extra);
  if (!e)
    return false;
  e->origins = from_all;
  e->inserted = inserted || !from_all;
  return true;
}
