/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of a cache: everything that one conversion wrote, with what it said. */
#ifndef TL_TOOLS_CACHE_ENTRY_H
#define TL_TOOLS_CACHE_ENTRY_H

#include <cjson/cJSON.h>

#include "tools/cache/copy.h"

/* One change of the journal. */
typedef struct tl_entry_file {
  tl_change_kind kind; /* HIDDEN: a file; REMOVAL; FOLDER */
  const char *path;    /* owned by the journal or the index */
  uint64_t size;
  int64_t modified_ns; /* when it was hashed */
  tl_checksum sum;
  bool proved; /* in the state `seen` its bytes are those of the sum */
  tl_file_state seen;
} tl_entry_file;

TL_VEC(tl_entry_file_vec, tl_entry_file);

/* What has become of a fetch. */
typedef enum tl_fetched {
  TL_FETCHED,
  TL_FETCH_NONE,    /* there is no such entry, or it went away meanwhile */
  TL_FETCH_UNREAD,  /* it cannot be read now, with errno */
  TL_FETCH_DAMAGED, /* it is not what was stored; *why says what is wrong */
  TL_FETCH_FAILED   /* an output could not be written, which was reported, or memory is out */
} tl_fetched;

/* An entry that is read or made. Zero-initialise with the first members; release it. */
typedef struct tl_entry {
  const tl_store *store;
  tl_copy_mode mode;
  const volatile int *cancel;
  tl_entry_file_vec files;
  tl_buf index;    /* text of the index */
  cJSON *root;     /* of an entry that was read: the index */
  uint64_t bytes;  /* that a new one takes on the disk */
  bool linked;     /* a file was linked, so that others can change it */
  bool proved;     /* a large file was hashed, and is right */
  const char *why; /* static */
  char path[TL_STORE_PATH];
} tl_entry;

/* Copies the files of a journal, none of which has its name yet, into a folder of tl_store_begin.
 * False with errno; EINVAL: one of them goes into a stream. */
bool tl_entry_take(tl_entry *e, const tl_changes *changes, const char *temporary);
/* Writes the index with its messages (JSON values with commas between), and gives the folder the
 * place of the key. False with errno, and the folder is removed; EEXIST, ENOTEMPTY: another process
 * was first. */
bool tl_entry_finish(tl_entry *e, const char *temporary, const char *key, tl_sv messages);

/* Reads the index of a key. */
tl_fetched tl_entry_find(tl_entry *e, const char *key);
/* Puts all files into the journal, each checked. What it put there is dropped again unless the
 * result is TL_FETCHED. */
tl_fetched tl_entry_give(tl_entry *e, tl_changes *changes, tl_diag *d);
/* Checks all files of an entry that was found. */
tl_fetched tl_entry_check(tl_entry *e);
/* The journal was applied: notes the state of linked files and of large ones, so that the next use
 * need not hash them unless they were changed. */
void tl_entry_note_seen(tl_entry *e);
void tl_entry_release(tl_entry *e);

#endif
