/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that give the library wrong things: what it said, and what it must say. */
#ifndef TL_TESTS_LIBRARY_SAID_H
#define TL_TESTS_LIBRARY_SAID_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tailor/tailor.h>

/* Ends the program when something is not as it should be. */
#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, said.last);   \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
/* The call ends with a code, and the last error has these words. */
#define REFUSED(call, code, words)                                                                 \
  do {                                                                                             \
    int errors = said.errors;                                                                      \
    NEED((call) == (code) && said.errors > errors && strstr(said.last, words));                    \
  } while (0)

typedef struct heard {
  int errors;
  char last[1024];
} heard;

static heard said; /* a test with one thread may have it */

static void hear(void *user, const tl_message *m) {
  heard *h = user;
  if (m->severity != TL_SEVERITY_ERROR)
    return;
  h->errors++;
  snprintf(h->last, sizeof h->last, "%s", m->text);
}

static tl_context *make_context(void) {
  tl_context *c = tl_context_create();
  NEED(c);
  tl_context_on_message(c, hear, &said);
  return c;
}

static tl_model *load(tl_context *c, const char *text) {
  tl_model *m = NULL;
  NEED(tl_model_load_bytes(c, "own.tir", text, strlen(text), &m) == TL_SUCCESS);
  return m;
}

#endif
