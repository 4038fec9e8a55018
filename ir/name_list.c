/* SPDX-License-Identifier: Apache-2.0 */
/* Implements lists of names (name_list.h). */
#include "ir/name_list.h"

#include "ir/lex.h"
#include "support/hash.h"

enum {
  SHORT_LIST = 1024, /* faster searched than hashed */
  FEW_SEARCHES = 8   /* in a list that was copied whole */
};

/* True for a text in which every quote is one that begins or ends an item. */
bool tl_list_is_plain(tl_sv text) {
  return text.n && !memchr(text.p, '\\', text.n) && !memchr(text.p, '\n', text.n);
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
  if (inside.n && tl_list_is_plain(tl_buf_view(list)) && !tl_sv_is(inside, ", "))
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

void tl_name_list_init(tl_name_list *l) {
  *l = (tl_name_list){0};
  tl_buf_init(&l->text);
}

void tl_name_list_release(tl_name_list *l) {
  tl_buf_release(&l->text);
  tl_map_release(&l->places);
}

static uint64_t item_key(tl_sv inside, uint64_t salt) {
  return tl_hash_bytes(inside.p, inside.n, salt);
}

/* Finds the item, or the key under which it may be added: hashes that meet take the next. */
static bool find_item(const tl_name_list *l, tl_sv inside, uint64_t *key) {
  uint32_t place;
  for (uint64_t salt = 0;; salt++) {
    *key = item_key(inside, salt);
    if (!tl_map_find(&l->places, *key, &place))
      return false;
    if (l->text.n - place > inside.n && l->text.p[place + inside.n] == '"' &&
        memcmp(l->text.p + place, inside.p, inside.n) == 0)
      return true;
  }
}

/* Enters the items that came since the last time. */
static bool enter_items(tl_name_list *l) {
  tl_lexer lexer = tl_lex_start((tl_sv){l->text.p + l->known, l->text.n - l->known});
  for (tl_token t = tl_lex_next(&lexer); t.kind != TL_TOKEN_END; t = tl_lex_next(&lexer)) {
    uint64_t key;
    if (t.kind == TL_TOKEN_STRING && !find_item(l, t.text, &key) &&
        !tl_map_set(&l->places, key, (uint32_t)(t.text.p - l->text.p)))
      return false;
    if (t.kind != TL_TOKEN_STRING && t.kind != TL_TOKEN_PUNCT)
      break;
  }
  l->known = l->text.n;
  return true;
}

/* Notes the item; returns false if it was certainly not noted before. */
static bool may_be_known(tl_name_list *l, tl_sv inside) {
  uint64_t hash = item_key(inside, 0);
  uint64_t *word = &l->seen[hash >> 6 & 3], bit = UINT64_C(1) << (hash & 63);
  bool known = *word & bit;
  *word |= bit;
  return known;
}

/* Returns true if the item is in names; the caller adds it otherwise. */
bool tl_name_list_has(tl_name_list *l, tl_sv inside) {
  uint64_t key;
  if (!may_be_known(l, inside))
    return false;
  if (l->text.n < SHORT_LIST || (l->known == 0 && l->searches++ < FEW_SEARCHES) || !enter_items(l))
    return has_item(&l->text, inside);
  return find_item(l, inside, &key);
}

/* Appends an item given as it stands between quotes. */
void tl_list_add(tl_buf *out, tl_sv inside) {
  if (out->n > TL_LONGEST_LIST)
    return;
  tl_buf_add_z(out, out->n ? ", \"" : "[\"");
  tl_buf_add_sv(out, inside);
  tl_buf_add_char(out, '"');
}

void tl_name_list_begin(tl_name_list *l, tl_sv list) {
  tl_buf_add(&l->text, list.p, list.n - 1);
  memset(l->seen, 0xff, sizeof l->seen);
}

void tl_name_list_add(tl_name_list *l, tl_sv name) { tl_list_add(&l->text, name); }
