/* SPDX-License-Identifier: Apache-2.0 */
/* A server for one page: HTTP/1.1 with a connection for each request, on loopback alone. A page of
 * another host that is called by a name for this machine sends its own name as Host, and is
 * refused. */
#include "tools/view/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/page/file.h"

enum {
  BACKLOG = 16,
  MOST_REQUEST = 16384, /* bytes of a request with its headers */
  PATIENCE = 2000,      /* ms for a client to go on */
  LOOK_UP = 200         /* ms between looks at the signal */
};

/* One answer. */
typedef struct answer {
  const char *status;
  const char *type;
  tl_sv body;
  bool page; /* with the policy of the page */
} answer;

/* ---- connections ----------------------------------------------------------------------------- */

static bool is_ready(int fd, short what, int ms) {
  struct pollfd p = {.fd = fd, .events = what};
  return poll(&p, 1, ms) == 1 && (p.revents & what);
}

/* Sends all bytes, or gives up on a client that does not take them. */
static bool send_all(int fd, tl_sv bytes) {
  while (bytes.n) {
    if (!is_ready(fd, POLLOUT, PATIENCE))
      return false;
    ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
      return false;
    n = n < 0 ? 0 : n;
    bytes = (tl_sv){bytes.p + n, bytes.n - (size_t)n};
  }
  return true;
}

/* Reads up to the empty line behind the headers. Returns false if there is none. */
static bool read_request(int fd, tl_buf *request) {
  char block[2048];
  while (request->n < MOST_REQUEST) {
    ssize_t n = is_ready(fd, POLLIN, PATIENCE) ? recv(fd, block, sizeof block, 0) : 0;
    if (n <= 0)
      return false;
    tl_buf_add(request, block, (size_t)n);
    if (!request->failed && memmem(request->p, request->n, "\r\n\r\n", 4))
      return true;
  }
  return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns the value of a header, without blanks; empty without one. */
static tl_sv header(tl_sv request, const char *name) {
  size_t n = strlen(name);
  while (request.p) {
    tl_sv line = tl_sv_trim(tl_sv_split(&request, '\n'));
    if (line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0)
      return tl_sv_trim((tl_sv){line.p + n + 1, line.n - n - 1});
  }
  return TL_SV("");
}

/* Returns true for the names that this machine has for itself. */
static bool is_own_host(tl_sv host, unsigned port) {
  static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
  char text[64];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(text, sizeof text, "%s:%u", names[i], port);
    if (tl_sv_is(host, text))
      return true;
  }
  return false;
}

static answer refusal(const char *status) {
  return (answer){.status = status, .type = "text/plain", .body = tl_sv_from(status)};
}

/* Finds what a path names: the page, or a chunk. */
static answer find(const tl_chunks *chunks, const tl_buf *page, tl_sv path) {
  static const char folder[] = "/chunk/";
  if (tl_sv_is(path, "/"))
    return (answer){"200 OK", "text/html; charset=utf-8", tl_buf_view(page), true};
  if (!tl_sv_starts_with(path, folder))
    return refusal("404 Not Found");
  tl_sv name = {path.p + sizeof folder - 1, path.n - sizeof folder + 1};
  const tl_chunk *c = tl_chunks_find(chunks, name);
  if (!c)
    return refusal("404 Not Found");
  return (answer){.status = "200 OK",
                  .type = c->deflated ? "application/octet-stream" : "application/json",
                  .body = tl_buf_view(&c->data)};
}

static answer judge(const tl_server *s, const tl_chunks *chunks, const tl_buf *page, tl_sv request,
                    bool *body) {
  tl_sv rest = request;
  tl_sv line = tl_sv_split(&rest, '\n');
  tl_sv method = tl_sv_split(&line, ' ');
  tl_sv path = tl_sv_split(&line, ' ');
  *body = tl_sv_is(method, "GET");
  if (!is_own_host(header(rest, "Host"), s->port))
    return refusal("421 Misdirected Request");
  if (!*body && !tl_sv_is(method, "HEAD"))
    return refusal("405 Method Not Allowed");
  return find(chunks, page, path);
}

static void reply(int fd, const answer *a, bool body) {
  tl_buf head;
  tl_buf_init(&head);
  tl_buf_printf(&head,
                "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n"
                "%sConnection: close\r\n\r\n",
                a->status, a->type, a->body.n,
                a->page ? "X-Frame-Options: DENY\r\n"
                          "Content-Security-Policy: frame-ancestors 'none'\r\n"
                        : "");
  if (!head.failed && send_all(fd, tl_buf_view(&head)) && body)
    (void)send_all(fd, a->body);
  tl_buf_release(&head);
}

/* Lets the client read its answer: a connection that is closed with bytes unread is reset. */
static void part(int fd) {
  char block[4096];
  size_t n = 0;
  shutdown(fd, SHUT_WR);
  while (n < 8 * MOST_REQUEST && is_ready(fd, POLLIN, LOOK_UP)) {
    ssize_t got = recv(fd, block, sizeof block, 0);
    if (got <= 0)
      return;
    n += (size_t)got;
  }
}

static void serve(const tl_server *s, int fd, const tl_chunks *chunks, const tl_buf *page) {
  tl_buf request;
  bool body = true;
  tl_buf_init(&request);
  answer a = read_request(fd, &request) ? judge(s, chunks, page, tl_buf_view(&request), &body)
                                        : refusal("400 Bad Request");
  reply(fd, &a, body);
  part(fd);
  tl_buf_release(&request);
}

/* ---- the server ------------------------------------------------------------------------------ */

tl_status tl_server_open(tl_server *s, tl_cli *cli, unsigned port) {
  int on = 1;
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof at;
  s->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s->socket < 0 || setsockopt(s->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(s->socket, (struct sockaddr *)&at, sizeof at) != 0 || listen(s->socket, BACKLOG) != 0 ||
      getsockname(s->socket, (struct sockaddr *)&at, &n) != 0) {
    tl_status status =
        tl_fail(&cli->diag, TL_IO, tl_at_option(&cli->settings, TL_OPTION_SERVE),
                "cannot serve on port %u: %s\v--serve without a number takes a port that is free",
                port, strerror(errno));
    tl_server_close(s);
    return status;
  }
  s->port = ntohs(at.sin_port);
  snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u/", s->port);
  return TL_OK;
}

tl_status tl_server_run(const tl_server *s, tl_cli *cli, const tl_chunks *chunks) {
  tl_buf page;
  tl_buf_init(&page);
  tl_view_served_page(&page);
  tl_status status = page.failed ? tl_fail_memory(&cli->diag, TL_NOWHERE) : TL_OK;
  while (status == TL_OK && !*cli->signal) {
    if (!is_ready(s->socket, POLLIN, LOOK_UP))
      continue;
    int fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
      continue;
    serve(s, fd, chunks, &page);
    close(fd);
  }
  tl_buf_release(&page);
  return status;
}

void tl_server_close(tl_server *s) {
  if (s->socket >= 0)
    close(s->socket);
  s->socket = -1;
}
