/* SPDX-License-Identifier: Apache-2.0 */
/* A list of names as trace.h writes it, ["a", "b"], that is being made and has each name once. A
 * name is given as it stands between the quotes. */
#ifndef TL_IR_NAME_LIST_H
#define TL_IR_NAME_LIST_H

#include "support/map.h"
#include "support/str.h"

/* A chain of fusions names what it is made of, but not all of a deep network: lists stop growing
 * at so many bytes. */
enum { TL_LONGEST_LIST = 16384 };

/* The list. Names of a long one are found by their hash. */
typedef struct tl_name_list {
  tl_buf text;       /* without the bracket behind it */
  tl_map places;     /* hash of a name: its place in the text, plus one */
  size_t known;      /* how much of the text is in places */
  uint64_t seen[4];  /* a bit for each name, by its hash: most names are new */
  uint32_t searches; /* in a text that was copied whole, whose names are not in places */
} tl_name_list;

void tl_name_list_init(tl_name_list *l);
void tl_name_list_release(tl_name_list *l);
/* Begins with a list as it is, which has no escapes. */
void tl_name_list_begin(tl_name_list *l, tl_sv list);
/* Returns true if the name is in the list; the caller adds it otherwise. */
bool tl_name_list_has(tl_name_list *l, tl_sv name);
void tl_name_list_add(tl_name_list *l, tl_sv name);

/* Appends to a list that may have a name twice. */
void tl_list_add(tl_buf *list, tl_sv name);
/* Returns true for a text in which every quote is one that begins or ends a name. */
bool tl_list_is_plain(tl_sv text);

#endif
