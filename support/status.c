/* SPDX-License-Identifier: Apache-2.0 */
/* The table of result codes as functions. */
#include "support/status.h"

typedef struct row {
  const char *name;
  int code;
  const char *words;
} row;

static const row rows[] = {
#define ROW(name, code, words) [name] = {#name, code, words},
    TL_STATUSES(ROW)
#undef ROW
};

int tl_status_exit_code(tl_status status) { return rows[status].code; }

const char *tl_status_name(tl_status status) { return rows[status].name; }

const char *tl_status_words(tl_status status) { return rows[status].words; }
