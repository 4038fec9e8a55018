/* SPDX-License-Identifier: Apache-2.0 */
/* Hidden files beside an output that a killed process has left, and folders that served their time.
 * Nothing here takes memory, so that it is removed also where memory is out. */
#ifndef TL_SUPPORT_LITTER_H
#define TL_SUPPORT_LITTER_H

#include <stdbool.h>
#include <stddef.h>

/* How much of a name is in the names of its hidden files. */
enum { TL_LITTER_NAME = 200 };

/* Returns true if `entry` is the name of a hidden file of a process that no longer runs, made for a
 * file called `name`: ".NAME.PID-N.tmp", which would have become it, or ".NAME.PID-N.old", which it
 * replaced. */
bool tl_is_litter(const char *entry, const char *name);
/* Removes such files beside each of n files; paths of one folder may follow each other in any
 * order. A path that is NULL is skipped. What cannot be removed stays: nothing is reported. One
 * look at each folder. Takes no memory of the allocator of a program. */
void tl_litter_remove(const char *const *paths, size_t n);
/* Removes a folder with the files in it, and in folders in it. What cannot be removed stays.
 * Returns false if the folder itself stays. */
bool tl_folder_erase(const char *path);

#endif
