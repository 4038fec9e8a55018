/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the page of a training step: two timelines at one scale, and figures below. Tasks of a lane
 * that are too narrow to be seen are drawn as one, so that the page stays small for any graph. */
#include <math.h>

#include "support/json_writer.h"
#include "tools/step/files.h"

/* Sizes in pixels, and the number of ticks to aim at. */
enum { LEFT = 190, WIDTH = 1200, LANE = 30, GAP = 6, TOP = 24, AXIS = 24, TICKS = 10 };

static const double NARROW = 1.0; /* px */

static const struct {
  const char *css;
  const char *label;
} phases[TL_N_PHASES] = {{"fwd", "forward"},
                         {"bwd", "backward"},
                         {"com", "collective"},
                         {"upd", "update"},
                         {"chk", "overflow check"}};

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Training step</title>\n"
    "<style>\n"
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--line:#d5d9de;--soft:#5c6570;"
    "--fwd:#3b78c4;--bwd:#2a9d74;--com:#d9822b;--upd:#8a63c7;--chk:#c43b5e}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e6e8eb;--line:#343a41;"
    "--soft:#9aa4af;--fwd:#6aa5ee;--bwd:#52c79b;--com:#f0a050;--upd:#b295ea;--chk:#ee7290}}\n"
    "body{margin:24px;background:var(--bg);color:var(--fg);font:14px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:22px 0 4px}\n"
    "p{margin:0 0 8px;color:var(--soft)}\n"
    "svg{display:block;max-width:100%;height:auto}\n"
    "svg text{fill:var(--fg);font:12px system-ui,sans-serif}\n"
    ".s{fill:var(--soft)}.g{stroke:var(--line)}.l{fill:var(--line);opacity:.35}\n"
    ".fwd{fill:var(--fwd)}.bwd{fill:var(--bwd)}.com{fill:var(--com)}.upd{fill:var(--upd)}"
    ".chk{fill:var(--chk)}\n"
    "rect.t{stroke:var(--bg);stroke-width:.5}rect.t:hover{stroke:var(--fg);stroke-width:1.5}\n"
    ".k span{display:inline-block;margin-right:16px}"
    ".k i{display:inline-block;width:12px;height:12px;margin-right:5px;vertical-align:-1px}\n"
    "table{border-collapse:collapse;margin:4px 0 12px}"
    "th,td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right}"
    "th:first-child,td:first-child{text-align:left}\n"
    "</style>\n</head>\n<body>\n<h1>Training step</h1>\n";

/* Adds text as HTML. Malformed UTF-8 and control characters become U+FFFD. */
static void add_text(tl_buf *out, tl_sv s) {
  while (s.n) {
    size_t n = tl_utf8_length(s);
    char c = s.p[0];
    if (n == 0 || ((unsigned char)c < 0x20 && n == 1))
      tl_buf_add_z(out, "&#xfffd;");
    else if (c == '<')
      tl_buf_add_z(out, "&lt;");
    else if (c == '&')
      tl_buf_add_z(out, "&amp;");
    else if (c == '"')
      tl_buf_add_z(out, "&quot;");
    else
      tl_buf_add(out, s.p, n);
    n = n ? n : 1;
    s = (tl_sv){s.p + n, s.n - n};
  }
}

static void add_z(tl_buf *out, const char *text) { tl_buf_add_z(out, text); }

static void add_number(tl_buf *out, const char *before, double v, int digits) {
  add_z(out, before);
  tl_buf_add_fixed(out, v, digits);
}

/* ---- timeline -------------------------------------------------------------------------------- */

/* Neighbouring tasks that are drawn as one. */
typedef struct block {
  const tl_ran_task *first;
  uint32_t n;
  double start;
  double end;
} block;

/* Draws one block; its title appears when the pointer is over it. A minimum width keeps it
 * visible. */
static void draw_block(tl_buf *out, const block *b, double scale, int y) {
  double width = fmax((b->end - b->start) * scale, 0.5);
  tl_buf_printf(out, "<rect class=\"t %s\" y=\"%d\" height=\"%d\"", phases[b->first->phase].css, y,
                LANE - GAP);
  add_number(out, " x=\"", LEFT + b->start * scale, 2);
  add_number(out, "\" width=\"", width, 2);
  add_z(out, "\"><title>");
  if (b->n == 1) {
    add_text(out, b->first->name);
    add_z(out, " (");
    add_text(out, b->first->op);
    add_z(out, ")");
  } else {
    tl_buf_printf(out, "%u nodes from ", b->n);
    add_text(out, b->first->name);
  }
  tl_buf_printf(out, "\n%s", phases[b->first->phase].label);
  add_number(out, ", ", b->start, 3);
  add_number(out, " to ", b->end, 3);
  add_number(out, " us, ", b->end - b->start, 3);
  add_z(out, " us");
  if (b->n == 1 && b->first->phase == TL_PHASE_COMM) {
    add_z(out, "\n");
    tl_buf_add_u64(out, b->first->bytes);
    add_z(out, " bytes");
  }
  add_z(out, "</title></rect>\n");
}

/* Returns true if a task joins the block before it: the same phase, no visible gap, and one of them
 * narrow. */
static bool joins(const block *b, const tl_ran_task *t, double scale) {
  return b->n && b->first->phase == t->phase && (t->start - b->end) * scale < NARROW / 2 &&
         ((t->end - t->start) * scale < NARROW || (b->end - b->start) * scale < NARROW);
}

/* Draws the tasks of one stream, in the order of their starts. */
static void draw_lane(tl_buf *out, const tl_step_stage *s, uint16_t stream, double scale, int y) {
  block b = {0};
  tl_buf_printf(out,
                "<rect class=\"l\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n"
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">",
                LEFT, y, WIDTH, LANE - GAP, LEFT - 8, y + 16);
  tl_sv name = s->streams[stream];
  add_text(out, name.n > 26 ? (tl_sv){name.p, 26} : name);
  add_z(out, "</text>\n");
  for (uint32_t i = 0; i < s->n; i++) {
    const tl_ran_task *t = &s->tasks[i];
    if (t->stream != stream || t->end <= t->start)
      continue;
    if (joins(&b, t, scale)) {
      b.end = fmax(b.end, t->end);
      b.n++;
      continue;
    }
    if (b.n)
      draw_block(out, &b, scale, y);
    b = (block){t, 1, t->start, t->end};
  }
  if (b.n)
    draw_block(out, &b, scale, y);
}

/* Returns a round number of microseconds (1, 2 or 5 times a power of ten) with which about TICKS
 * ticks fill the axis. */
static double tick_of(double span) {
  double power = pow(10, floor(log10(fmax(span, 1e-6) / TICKS)));
  double few = span / TICKS / power;
  return power * (few <= 1 ? 1 : few <= 2 ? 2 : few <= 5 ? 5 : 10);
}

static bool is_used(const tl_step_stage *s, uint16_t stream) {
  for (uint32_t i = 0; i < s->n; i++)
    if (s->tasks[i].stream == stream)
      return true;
  return false;
}

/* Draws ticks and their labels. The upper bound on their number keeps the loop finite for any
 * span. */
static void draw_axis(tl_buf *out, double span, double scale, int y) {
  double tick = tick_of(span);
  for (int i = 0; i * tick <= span * 1.0001 && i <= 2 * TICKS; i++) {
    double x = LEFT + i * tick * scale;
    add_number(out, "<line class=\"g\" x1=\"", x, 2);
    add_number(out, "\" x2=\"", x, 2);
    tl_buf_printf(out, "\" y1=\"%d\" y2=\"%d\"/><text class=\"s\" text-anchor=\"middle\" y=\"%d\"",
                  TOP - 8, y, y + 14);
    add_number(out, " x=\"", x, 2);
    add_number(out, "\">", i * tick, tick < 1 ? 3 : 0);
    add_z(out, "</text>\n");
  }
}

/* Draws one stage. span: microseconds of the axis, the same for both stages. */
static void draw_stage(tl_buf *out, const tl_step_stage *s, const char *title, double span) {
  double scale = span > 0 ? WIDTH / span : 0;
  int lanes = 0;
  for (uint16_t i = 0; i < s->n_streams; i++)
    lanes += is_used(s, i);
  int bottom = TOP + lanes * LANE;
  tl_buf_printf(out, "<h2>%s</h2>\n<p>", title);
  add_number(out, "step ", s->report.step, 3);
  add_number(out, " us, exposed communication ", s->report.exposed_comm, 3);
  add_number(out, " us, efficiency ", s->report.efficiency, 3);
  tl_buf_printf(out,
                "</p>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"%s\">\n",
                LEFT + WIDTH + 40, bottom + AXIS, LEFT + WIDTH + 40, title);
  draw_axis(out, span, scale, bottom);
  int y = TOP;
  for (uint16_t i = 0; i < s->n_streams; i++)
    if (is_used(s, i)) {
      draw_lane(out, s, i, scale, y);
      y += LANE;
    }
  add_z(out, "</svg>\n");
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Adds a number; v - v is not 0 for infinities and NaN, which have no figure. */
static void add_cell(tl_buf *out, double v, int digits) {
  add_z(out, "<td>");
  if (v - v != 0)
    add_z(out, "-");
  else
    tl_buf_add_fixed(out, v, digits);
  add_z(out, "</td>");
}

/* Adds the figures of all stages. */
static void stage_table(tl_buf *out, const tl_step_record *r) {
  add_z(out, "<h2>Stages</h2>\n<table><tr><th>stage</th><th>step, us</th><th>exposed, us</th>"
             "<th>overlap</th><th>tail, us</th><th>critical path</th><th>total compute</th>"
             "<th>total communication</th><th>bound</th><th>bound / step</th></tr>\n");
  for (uint32_t i = 0; i < r->n; i++) {
    const tl_step_report *s = &r->stages[i].report;
    const double times[] = {s->critical_path, s->total_compute, s->last_comm, s->bound};
    tl_buf_printf(out, "<tr><td>%s</td>", r->stages[i].name);
    add_cell(out, s->step, 3);
    add_cell(out, s->exposed_comm, 3);
    add_cell(out, s->overlap, 3);
    add_cell(out, s->tail, 3);
    for (size_t k = 0; k < sizeof times / sizeof *times; k++)
      add_cell(out, times[k], 3);
    add_cell(out, s->efficiency, 3);
    add_z(out, "</tr>\n");
  }
  add_z(out, "</table>\n");
}

/* Adds the buckets of the last stage; nothing if there are none. */
static void bucket_table(tl_buf *out, const tl_step_stage *s) {
  if (!s->n_buckets)
    return;
  add_z(out, "<h2>Buckets</h2>\n<table><tr><th>bucket</th><th>gradients</th><th>bytes</th>"
             "<th>ready, us</th><th>start</th><th>end</th><th>exposed</th></tr>\n");
  for (uint32_t i = 0; i < s->n_buckets; i++) {
    const tl_ran_bucket *b = &s->buckets[i];
    add_z(out, "<tr><td>");
    add_text(out, b->name);
    tl_buf_printf(out, "</td><td>%u</td><td>", b->tensors);
    tl_buf_add_u64(out, b->bytes);
    add_z(out, "</td>");
    add_cell(out, b->ready, 3);
    add_cell(out, b->start, 3);
    add_cell(out, b->end, 3);
    add_cell(out, b->exposed, 3);
    add_z(out, "</tr>\n");
  }
  add_z(out, "</table>\n");
}

void tl_step_page_html(const tl_step_record *r, tl_buf *out) {
  const tl_step_stage *before = &r->stages[0];
  const tl_step_stage *after = &r->stages[r->n - 1];
  double span = fmax(before->report.step, after->report.step);
  add_z(out, head);
  add_z(out, "<p>simulated on ");
  add_text(out, tl_sv_from(r->machine));
  tl_buf_printf(out, " with %u ranks; microseconds</p>\n<p class=\"k\">", r->ranks);
  for (int i = 0; i < TL_N_PHASES; i++)
    tl_buf_printf(out, "<span><i style=\"background:var(--%s)\"></i>%s</span>", phases[i].css,
                  phases[i].label);
  add_z(out, "</p>\n");
  draw_stage(out, before, "before", span);
  draw_stage(out, after, "after", span);
  stage_table(out, r);
  bucket_table(out, after);
  add_z(out, "</body>\n</html>\n");
}
