/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a run: files that are complete but have no name yet. When the journal is applied,
 * they appear all together or none of them does. Until then what was there before keeps its
 * content, and it gets it back when one of the names cannot be given. */
#ifndef TL_SUPPORT_CHANGES_H
#define TL_SUPPORT_CHANGES_H

#include "support/file.h"
#include "support/vec.h"

typedef enum tl_change_kind {
  TL_CHANGE_HELD,   /* a writer holds the bytes, which have no name */
  TL_CHANGE_HIDDEN, /* they have a hidden name */
  TL_CHANGE_SAME,   /* the old file has the same bytes and stays */
  TL_CHANGE_REMOVAL,
  TL_CHANGE_ASIDE, /* the old file goes first, the new one comes later */
  TL_CHANGE_FOLDER /* a new folder; it is there already */
} tl_change_kind;

/* One entry of the journal. */
typedef struct tl_change {
  tl_change_kind kind;
  tl_writer *writer; /* owned; HELD */
  char *path;        /* owned; name to give; NULL: the writer knows it */
  char *given;       /* owned; HIDDEN: the name as the caller spelled it, or NULL */
  char *hidden;      /* owned; the new file before it is named, the old one afterwards, or NULL */
  bool done;         /* the name was given */
  bool replaced;     /* and the old file has the hidden name */
} tl_change;

TL_VEC(tl_change_vec, tl_change);

/* Zero-initialise; released by tl_changes_apply or tl_changes_undo. */
typedef struct tl_changes {
  tl_change_vec list;
  uint32_t n_held;
  bool keeps_same; /* a file that has the same bytes already is left alone, with its time */
} tl_changes;

/* Creates the folder (one level) unless it exists; undo removes it. Reports TL_IO, TL_NO_MEMORY. */
tl_status tl_changes_folder(tl_changes *c, tl_diag *d, const char *path) TL_NODISCARD;
/* Brings what was written to the disk and takes the writer over in every case. With c NULL the file
 * appears at once. Reports what the writer reports. */
tl_status tl_changes_commit(tl_changes *c, tl_diag *d, tl_writer *w) TL_NODISCARD;
/* Notes that the file `path` refers to the file `other`, which changes with it: from here on the
 * old one is out of the way until the new one has its name. A process that is killed meanwhile
 * leaves no old file beside what a new one needs. Nothing happens unless both exist and a new one
 * comes. Reports TL_NO_MEMORY. */
tl_status tl_changes_aside(tl_changes *c, tl_diag *d, const char *path,
                           const char *other) TL_NODISCARD;
/* Notes a file to remove, if it exists; with c NULL removes it at once. Reports TL_IO,
 * TL_NO_MEMORY. */
tl_status tl_changes_remove(tl_changes *c, tl_diag *d, const char *path) TL_NODISCARD;
/* Takes a new file of this name out of the journal and hands its bytes over, for what several parts
 * of a run write together. *out: the caller's; NULL where no such file is in the journal, or c is
 * NULL. Reports TL_IO, TL_NO_MEMORY. */
tl_status tl_changes_withdraw(tl_changes *c, tl_diag *d, const char *path,
                              tl_file **out) TL_NODISCARD;
/* Adds the file behind a descriptor itself under another name: a hard link. Returns false with
 * errno, and reports nothing, where that is impossible. */
bool tl_changes_link(tl_changes *c, int fd, const char *path) TL_NODISCARD;
/* Returns the name of an entry as the caller spelled it. */
const char *tl_change_path(const tl_change *change);
/* Opens the bytes of a new file, which has no name yet. The caller closes the descriptor. -1 with
 * errno for others, and for what goes into a stream. */
int tl_change_open(const tl_change *change);
/* Sets *same to whether two new files, which have no names yet, hold the same bytes. A stream
 * agrees with none. TL_IO, TL_NO_MEMORY, reported. */
tl_status tl_changes_agree(tl_diag *d, const tl_change *a, const tl_change *b,
                           bool *same) TL_NODISCARD;
/* Returns the bytes of the file that was committed last; 0 for a stream, or without one. */
uint64_t tl_changes_last_size(const tl_changes *c);
/* Feeds pipes and standard output, then gives all names. Reports TL_IO, TL_NO_MEMORY, and then has
 * undone everything but what went into pipes. The journal is empty afterwards in either case. */
tl_status tl_changes_apply(tl_changes *c, tl_diag *d) TL_NODISCARD;
/* Drops all files, and new folders that are empty, in reverse order. The journal is empty
 * afterwards. */
void tl_changes_undo(tl_changes *c);
/* Removes hidden names and new folders and frees nothing, for a process that ends at once: safe in
 * a signal handler. */
void tl_changes_abandon(const tl_changes *c);

#endif
