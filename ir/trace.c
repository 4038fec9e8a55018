/* SPDX-License-Identifier: Apache-2.0 */
/* The trace of fused nodes: reading the lists in metadata, and recording them. */
#include "ir/trace.h"

#include "ir/marks.h"
#include "support/hash.h"
#include "support/map.h"

/* A chain of fusions names what it is made of, but not all of a deep network: lists stop growing
 * here. */
enum { LONGEST_LIST = 16384 };

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

/* True for a text in which every quote is one that begins or ends an item. */
static bool has_no_escapes(tl_sv text) {
  return text.n && !memchr(text.p, '\\', text.n) && !memchr(text.p, '\n', text.n);
}

/* True for a list as written here, without escapes. Nearly all are, and this is asked for each node
 * that a fusion takes. */
static bool is_plain_list(tl_sv text) {
  const char *at = text.p, *end = text.p + text.n;
  if (text.n < 2 || *at++ != '[' || !has_no_escapes(text))
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

tl_lexer tl_trace_start(tl_sv list) { return tl_lex_start(list); }

/* Gives the next item where it has no escapes, without copying it; false otherwise. */
static bool next_plain(tl_lexer *lexer, tl_sv *item) {
  const char *at = lexer->at;
  while (at < lexer->end && (*at == '[' || *at == ',' || *at == ' '))
    at++;
  if (at == lexer->end || *at != '"')
    return false;
  at++;
  const char *end = memchr(at, '"', (size_t)(lexer->end - at));
  if (!end || !has_no_escapes((tl_sv){at, (size_t)(end - at)}))
    return false;
  *item = (tl_sv){at, (size_t)(end - at)};
  lexer->at = end + 1;
  return true;
}

bool tl_trace_next(tl_lexer *at, tl_buf *room, tl_sv *item) {
  if (next_plain(at, item))
    return true;
  tl_token t;
  do
    t = tl_lex_next(at);
  while (t.kind == TL_TOKEN_PUNCT);
  if (t.kind != TL_TOKEN_STRING)
    return false;
  tl_buf_clear(room);
  tl_lex_unquote(t.text, room);
  *item = tl_buf_view(room);
  return !room->failed;
}

/* ---- recording ------------------------------------------------------------------------------ */

static void add_item(tl_buf *out, tl_sv text) {
  if (out->n > LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", " : "[");
  tl_buf_add_quoted(out, text);
}

/* Appends the items of a list, as they are quoted. */
static void splice(tl_buf *out, tl_sv list) {
  if (list.n <= 2 || out->n > LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", " : "[");
  tl_buf_add(out, list.p + 1, list.n - 2);
}

/* True when the text stands between quotes in the list, as an item or as a part of one. Most items
 * are not in a list yet. */
static bool may_have(const tl_buf *list, tl_sv text) {
  if (list->n == 0)
    return false;
  const char *end = list->p + list->n, *at = list->p;
  while (text.n && (at = memmem(at, (size_t)(end - at), text.p, text.n)) != NULL) {
    if (at > list->p && at[-1] == '"' && at + text.n < end && at[text.n] == '"')
      return true;
    at++;
  }
  return text.n == 0;
}

/* True when the item, as it stands between quotes, is in the list. */
static bool has_item(const tl_buf *list, tl_sv inside) {
  if (!may_have(list, inside))
    return false;
  /* Without escapes only what stands between two items could be taken for one. */
  if (inside.n && has_no_escapes(tl_buf_view(list)) && !tl_sv_is(inside, ", "))
    return true;
  tl_lexer lexer = tl_lex_start((tl_sv){list->p, list->n});
  for (tl_token t = tl_lex_next(&lexer); list->n && t.kind != TL_TOKEN_END;
       t = tl_lex_next(&lexer)) {
    if (t.kind == TL_TOKEN_STRING && tl_sv_eq(t.text, inside))
      return true;
    if (t.kind != TL_TOKEN_STRING && t.kind != TL_TOKEN_PUNCT)
      return false;
  }
  return false;
}

/* As tl_trace_origins; *plain: the list has no escapes. */
static tl_sv origins_of(const tl_module *m, tl_node_id n, bool *inserted, bool *plain) {
  uint32_t slot = tl_node_get(m, n)->extra;
  *inserted = *plain = false;
  if (!slot)
    return TL_SV("");
  tl_sv names = get(m, n, TL_TRACE_NAMES, plain);
  if (names.n > 2)
    return names;
  names = get(m, n, TL_TRACE_FOR, plain);
  *inserted = names.n || m->extras.at[slot].inserted;
  if (names.n)
    return names;
  *plain = m->extras.at[slot].plain_origins;
  return tl_sym(m, m->extras.at[slot].origins);
}

/* What a node is made of, while it is listed. Items of a long list are found by their hash. */
typedef struct origins {
  tl_buf names, types;
  tl_map places;     /* hash of an item: its place in names, plus one */
  size_t known;      /* how much of names is in places */
  uint64_t seen[4];  /* a bit for each item of names, by its hash: most items are new */
  uint32_t searches; /* of names that were copied whole, whose items are not in places */
  bool names_only;   /* types are not wanted */
} origins;

enum {
  SHORT_LIST = 1024, /* faster searched than hashed */
  FEW_SEARCHES = 8   /* in a list that was copied whole */
};

static void origins_init(origins *o) {
  *o = (origins){0};
  tl_buf_init(&o->names);
  tl_buf_init(&o->types);
}

/* Frees what lists of names and types leave. */
static void origins_release(origins *o) {
  tl_buf_release(&o->names);
  tl_buf_release(&o->types);
  tl_map_release(&o->places);
}

static uint64_t item_key(tl_sv inside, uint64_t salt) {
  return tl_hash_bytes(inside.p, inside.n, salt);
}

/* Finds the item, or the key under which it may be added: hashes that meet take the next. */
static bool find_item(const origins *o, tl_sv inside, uint64_t *key) {
  uint32_t place;
  for (uint64_t salt = 0;; salt++) {
    *key = item_key(inside, salt);
    if (!tl_map_find(&o->places, *key, &place))
      return false;
    if (o->names.n - place > inside.n && o->names.p[place + inside.n] == '"' &&
        memcmp(o->names.p + place, inside.p, inside.n) == 0)
      return true;
  }
}

/* Enters the items that came since the last time. */
static bool enter_items(origins *o) {
  tl_lexer lexer = tl_lex_start((tl_sv){o->names.p + o->known, o->names.n - o->known});
  for (tl_token t = tl_lex_next(&lexer); t.kind != TL_TOKEN_END; t = tl_lex_next(&lexer)) {
    uint64_t key;
    if (t.kind == TL_TOKEN_STRING && !find_item(o, t.text, &key) &&
        !tl_map_set(&o->places, key, (uint32_t)(t.text.p - o->names.p)))
      return false;
    if (t.kind != TL_TOKEN_STRING && t.kind != TL_TOKEN_PUNCT)
      break;
  }
  o->known = o->names.n;
  return true;
}

/* Notes the item; returns false if it was certainly not noted before. */
static bool may_be_known(origins *o, tl_sv inside) {
  uint64_t hash = item_key(inside, 0);
  uint64_t *word = &o->seen[hash >> 6 & 3], bit = UINT64_C(1) << (hash & 63);
  bool known = *word & bit;
  *word |= bit;
  return known;
}

/* Returns true if the item is in names; the caller adds it otherwise. */
static bool has_origin(origins *o, tl_sv inside) {
  uint64_t key;
  if (!may_be_known(o, inside))
    return false;
  if (o->names.n < SHORT_LIST || (o->known == 0 && o->searches++ < FEW_SEARCHES) || !enter_items(o))
    return has_item(&o->names, inside);
  return find_item(o, inside, &key);
}

/* Appends an item given as it stands between quotes. */
static void add_inside(tl_buf *out, tl_sv inside) {
  if (out->n > LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", \"" : "[\"");
  tl_buf_add_sv(out, inside);
  tl_buf_add_char(out, '"');
}

/* A walk over the items of a list, as they stand between quotes. */
typedef struct items {
  tl_lexer lexer;
  const char *at; /* in a list without escapes: behind the last item; else NULL */
  const char *end;
} items;

/* plain: the list has no escapes */
static items start_items(tl_sv list, bool plain) {
  return (items){.lexer = tl_lex_start(list), .at = plain ? list.p : NULL, .end = list.p + list.n};
}

/* Gives the next item; false behind the last one. */
static bool next_item(items *i, tl_sv *inside) {
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

static size_t count_quotes(tl_sv list) {
  size_t n = 0;
  for (size_t i = 0; i < list.n; i++)
    n += list.p[i] == '"';
  return n;
}

/* Begins with a list as it is, without the bracket behind it: a chain of rewrites appends to the
 * list of the node before it again and again. False where the items must be looked at. */
static bool copy_whole(origins *o, tl_sv names, bool plain, tl_sv types, bool plain_types) {
  if (o->names.n || !plain)
    return false;
  if (!o->names_only && (!plain_types || count_quotes(names) != count_quotes(types)))
    return false;
  tl_buf_add(&o->names, names.p, names.n - 1);
  if (!o->names_only)
    tl_buf_add(&o->types, types.p, types.n - 1);
  memset(o->seen, 0xff, sizeof o->seen);
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
  items names = start_items(made_of, plain);
  items kinds = start_items(of, plain_types);
  tl_sv name, type;
  while (next_item(&names, &name)) {
    bool typed = next_item(&kinds, &type);
    if (has_origin(o, name))
      continue;
    add_inside(&o->names, name);
    if (o->names_only)
      continue;
    if (typed)
      add_inside(types, type);
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
static void add_own(tl_module *m, tl_node_id n, tl_sv inside, origins *o) {
  if (has_origin(o, inside))
    return;
  add_inside(&o->names, inside);
  if (!o->names_only)
    add_item(&o->types, tl_op_name(m, tl_node_get(m, n)->op));
}

/* Appends what the node was made from, or the node itself. */
static void add_node(tl_module *m, tl_node_id n, origins *o) {
  tl_buf *names = &o->names;
  bool inserted, plain;
  tl_sv made_of = origins_of(m, n, &inserted, &plain);
  if (made_of.n) {
    splice_pairs(m, n, made_of, plain, o);
    return;
  }
  tl_sv given = tl_sym(m, tl_node_get(m, n)->name);
  if (given.n && is_plain_name(given)) {
    add_own(m, n, given, o);
    return;
  }
  tl_buf name, own;
  tl_buf_init(&name);
  tl_buf_init(&own);
  tl_trace_own(m, n, &own);
  tl_buf_add_quoted(&name, tl_buf_view(&own));
  name.failed = name.failed || own.failed;
  tl_buf_release(&own);
  names->failed = names->failed || name.failed;
  if (!name.failed)
    add_own(m, n, (tl_sv){name.p + 1, name.n - 2}, o);
  tl_buf_release(&name);
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
  to->plain = to->plain && has_no_escapes(tl_buf_view(list));
  tl_status status = list->failed ? TL_NO_MEMORY : put(m, to, what, tl_buf_view(list));
  tl_buf_release(list);
  return status;
}

static tl_status put_origins(tl_module *m, const tl_node_id *taken, uint32_t n, noted *to) {
  origins o;
  origins_init(&o);
  for (uint32_t i = 0; i < n; i++)
    add_node(m, taken[i], &o);
  tl_status status = put_list(m, &o.names, TL_TRACE_NAMES, to);
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

tl_sv tl_trace_origins(const tl_module *m, tl_node_id n, bool *inserted) {
  bool plain;
  return origins_of(m, n, inserted, &plain);
}

/* As list_origins of one node that no metadata speaks of, which most are. */
static tl_symbol list_one(tl_module *m, tl_node_id n) {
  tl_symbol known = m->extras.at[tl_node_get(m, n)->extra].origins;
  if (known)
    return known;
  tl_buf own, list;
  tl_buf_init(&own);
  tl_buf_init(&list);
  tl_trace_own(m, n, &own);
  tl_buf_add_char(&list, '[');
  tl_buf_add_quoted(&list, tl_buf_view(&own));
  tl_buf_add_char(&list, ']');
  tl_symbol s = own.failed || list.failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(&list));
  tl_buf_release(&own);
  tl_buf_release(&list);
  return s;
}

/* Returns the derived list of a node that no metadata speaks of, if nothing can be added to it;
 * else 0. */
static tl_symbol full_list(const tl_module *m, tl_node_id n) {
  const tl_extra *e = &m->extras.at[n ? tl_node_get(m, n)->extra : 0];
  bool full = e->origins && e->n_metadata == 0 && tl_sym(m, e->origins).n > LONGEST_LIST + 1;
  return full ? e->origins : 0;
}

/* Interns the list of what nodes come from; TL_NO_SYMBOL when memory is out, 0 for no node. */
static tl_symbol list_origins(tl_module *m, const tl_node_id *from, uint32_t n) {
  if (n && full_list(m, from[0]))
    return full_list(m, from[0]);
  if (n == 1 && from[0] && tl_node_get(m, from[0])->op != TL_OP_RETURN &&
      m->extras.at[tl_node_get(m, from[0])->extra].n_metadata == 0)
    return list_one(m, from[0]);
  origins o;
  origins_init(&o);
  o.names_only = true;
  for (uint32_t i = 0; i < n; i++)
    if (from[i] && tl_node_get(m, from[i])->op != TL_OP_RETURN)
      add_node(m, from[i], &o);
  if (o.names.n)
    tl_buf_add_char(&o.names, ']');
  bool failed = o.names.failed || o.types.failed;
  tl_symbol s = failed ? TL_NO_SYMBOL : tl_module_intern(m, tl_buf_view(&o.names));
  origins_release(&o);
  return s;
}

bool tl_trace_derive(tl_module *m, tl_node_id made, const tl_node_id *from, uint32_t n,
                     bool inserted) {
  bool known;
  if (tl_trace_origins(m, made, &known).n)
    return true;
  tl_symbol list = list_origins(m, from, n);
  tl_extra *e = list == TL_NO_SYMBOL ? NULL : tl_module_extra(m, &tl_node_get(m, made)->extra);
  if (!e)
    return false;
  e->origins = list;
  e->plain_origins = list && has_no_escapes(tl_sym(m, list));
  e->inserted = inserted || !list;
  return true;
}
