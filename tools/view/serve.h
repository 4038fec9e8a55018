/* SPDX-License-Identifier: Apache-2.0 */
/* Serves a page on this machine, its chunks one by one, and opens browsers. */
#ifndef TL_TOOLS_VIEW_SERVE_H
#define TL_TOOLS_VIEW_SERVE_H

#include "tools/cli/cli.h"
#include "tools/page/chunks.h"

/* A port that listens on the loopback interface. */
typedef struct tl_server {
  int socket;
  unsigned port;
  char url[64];
} tl_server;

/* Listens on a port; 0: any that is free. Errors are reported: TL_IO. */
tl_status tl_server_open(tl_server *s, tl_cli *cli, unsigned port) TL_NODISCARD;
/* Answers requests for the page and its chunks, one after the other, until a signal arrives, which
 * is no error. Nothing else is served: no file is opened. */
tl_status tl_server_run(const tl_server *s, tl_cli *cli, const tl_chunks *chunks) TL_NODISCARD;
/* Closes the port. */
void tl_server_close(tl_server *s);

/* Opens a file or an address in a browser where there is a desktop; else says what to open. */
void tl_view_open(tl_cli *cli, const char *what);

#endif
