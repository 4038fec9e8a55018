/* SPDX-License-Identifier: Apache-2.0 */
/* Prints diagnostics to standard error: as text for people, as an object a line for programs, or as
 * one SARIF 2.1.0 log for tools that show results of compilers. */
#ifndef TL_TOOLS_CLI_MESSAGES_H
#define TL_TOOLS_CLI_MESSAGES_H

#include "support/diag.h"
#include "support/map.h"

typedef enum tl_message_form {
  TL_MESSAGES_TEXT,
  TL_MESSAGES_JSON, /* one object a line */
  TL_MESSAGES_SARIF /* one log, when the command ends */
} tl_message_form;

/* How messages are printed, and what was printed. */
typedef struct tl_messages {
  tl_message_form form;
  tl_severity threshold; /* least severity printed */
  bool colour;           /* of text */
  bool memory_said;      /* that it ran out */
  bool is_done;          /* all files have their names: lack of memory is no error any more */
  tl_map said;           /* warnings that were printed, by hash */
  tl_buf results;        /* of a log: elements of its list, with commas between */
  char lack[1024]; /* JSON or result of a log that says that memory ran out; see memory_said */
  int log;         /* descriptor that gets the elements instead of a log; 0: none */
} tl_messages;

/* Makes messages as text, from warnings on. */
void tl_messages_init(tl_messages *m);
/* Prints a message, or keeps it for the log. A warning that was printed before is not repeated: a
 * pass that runs once for each output or variant would do that. Without memory, lack of memory is
 * printed once, whatever the message is. */
void tl_messages_add(tl_messages *m, const tl_diagnostic *d);
/* Adds the elements that another process has written to its descriptor. */
void tl_messages_take(tl_messages *m, int log);
/* Prints the log, if there is one to print. */
void tl_messages_end(tl_messages *m);
void tl_messages_release(tl_messages *m);

#endif
