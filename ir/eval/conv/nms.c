/* SPDX-License-Identifier: Apache-2.0 */
/* Computes NonMaxSuppression. Boxes are compared in f32, as runtimes do: whether a box is
 * suppressed can be a matter of the last bit. */
#include <stdlib.h>

#include "ir/eval/kernel/kernel.h"

/* Corners, the lesser ones first. */
typedef struct box {
  float x1, y1, x2, y2;
} box;

/* A box of one class. */
typedef struct candidate {
  float score;
  uint64_t index;
} candidate;

/* The operands, and room for one class at a time. */
typedef struct suppression {
  const float *boxes;
  const float *scores;
  uint64_t batches;
  uint64_t classes;
  uint64_t n;    /* boxes of an image */
  uint64_t most; /* selected per class */
  float overlap;
  const float *least; /* score; NULL: any */
  bool center;
  candidate *order; /* [n] */
  box *kept;        /* [most] of the class at hand */
  int64_t *out;     /* [batches * classes * most][3] */
  uint64_t selected;
} suppression;

static float lesser(float a, float b) { return a < b ? a : b; }
static float greater(float a, float b) { return a > b ? a : b; }

/* Reads box i as corners. Without center_point_box it is y1, x1, y2, x2, with the corners in any
 * order. */
static box read_box(const suppression *s, uint64_t i) {
  const float *v = s->boxes + i * 4;
  if (s->center) {
    float w = v[2] / 2, h = v[3] / 2;
    return (box){v[0] - w, v[1] - h, v[0] + w, v[1] + h};
  }
  return (box){lesser(v[1], v[3]), lesser(v[0], v[2]), greater(v[1], v[3]), greater(v[0], v[2])};
}

/* Returns true when intersection over union exceeds the threshold. Empty boxes overlap nothing. */
static bool overlaps(box a, box b, float threshold) {
  float w = lesser(a.x2, b.x2) - greater(a.x1, b.x1);
  float h = lesser(a.y2, b.y2) - greater(a.y1, b.y1);
  if (!(w > 0 && h > 0))
    return false;
  float first = (a.x2 - a.x1) * (a.y2 - a.y1), second = (b.x2 - b.x1) * (b.y2 - b.y1);
  float both = w * h, whole = first + second - both;
  return first > 0 && second > 0 && whole > 0 && both / whole > threshold;
}

/* Orders candidates: higher scores first, then lower indices; NaN last. No two compare equal, so
 * qsort gives one order everywhere. */
static int compare(const void *a, const void *b) {
  const candidate *p = a, *q = b;
  bool pn = p->score != p->score, qn = q->score != q->score;
  if (pn != qn)
    return pn ? 1 : -1;
  if (!pn && p->score != q->score)
    return p->score > q->score ? -1 : 1;
  return p->index < q->index ? -1 : 1;
}

/* Takes boxes by falling score; one that overlaps a box taken before is dropped. */
static void select_class(suppression *s, uint64_t batch, uint64_t class) {
  const float *scores = s->scores + (batch * s->classes + class) * s->n;
  uint64_t n = 0, kept = 0;
  for (uint64_t i = 0; i < s->n; i++)
    if (!s->least || scores[i] > *s->least)
      s->order[n++] = (candidate){scores[i], i};
  qsort(s->order, (size_t)n, sizeof *s->order, compare);
  for (uint64_t i = 0; i < n && kept < s->most; i++) {
    box b = read_box(s, batch * s->n + s->order[i].index);
    uint64_t k = 0;
    while (k < kept && !overlaps(b, s->kept[k], s->overlap))
      k++;
    if (k < kept)
      continue;
    s->kept[kept++] = b;
    int64_t *out = s->out + 3 * s->selected++;
    out[0] = (int64_t)batch;
    out[1] = (int64_t) class;
    out[2] = (int64_t)s->order[i].index;
  }
}

/* The results of all classes have room, since nobody knows how many are selected. */
static tl_status make_room(tl_eval *ctx, suppression *s) {
  uint64_t all;
  s->order = tl_eval_scratch(ctx, s->n, sizeof *s->order);
  s->kept = tl_eval_scratch(ctx, s->most, sizeof *s->kept);
  if (__builtin_mul_overflow(s->batches * s->classes, s->most, &all))
    return tl_eval_no_memory(ctx);
  s->out = tl_eval_scratch(ctx, all, 3 * sizeof *s->out);
  return s->order && s->kept && s->out ? TL_OK : tl_eval_no_memory(ctx);
}

/* Without max_output_boxes_per_class nothing is selected, as the standard says. */
static tl_status read_limits(tl_eval *ctx, suppression *s, float *least) {
  int64_t most;
  double overlap, score;
  TL_TRY(tl_eval_operand_int(ctx, 2, 0, &most));
  TL_TRY(tl_eval_operand_float(ctx, 3, 0, &overlap));
  TL_TRY(tl_eval_operand_float(ctx, 4, 0, &score));
  if (!(overlap >= 0 && overlap <= 1))
    return tl_eval_fail(ctx, "iou_threshold is %g, expected 0 to 1", overlap);
  s->most = most < 0 ? 0 : (uint64_t)most > s->n ? s->n : (uint64_t)most;
  s->overlap = (float)overlap;
  *least = (float)score;
  s->least = tl_eval_in(ctx, 4) ? least : NULL;
  return TL_OK;
}

/* boxes [B,N,4], scores [B,C,N] -> [selected,3]: batch, class, box. */
tl_status tl_eval_nms(tl_eval *ctx) {
  TL_TRY(tl_eval_need_rank(ctx, 0, 3, 3));
  TL_TRY(tl_eval_need_rank(ctx, 1, 3, 3));
  const tl_host *boxes = tl_eval_in(ctx, 0), *scores = tl_eval_in(ctx, 1);
  if (boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
    return tl_eval_fail(ctx, "boxes and scores do not fit together");
  suppression s = {.boxes = boxes->data, .scores = scores->data};
  float least;
  s.batches = (uint64_t)scores->dims[0];
  s.classes = (uint64_t)scores->dims[1];
  s.n = (uint64_t)scores->dims[2];
  s.center = tl_eval_int(ctx, TL_SYM_center_point_box, 0) != 0;
  TL_TRY(read_limits(ctx, &s, &least));
  if (scores->n) {
    TL_TRY(make_room(ctx, &s));
    for (uint64_t b = 0; b < s.batches; b++)
      for (uint64_t c = 0; c < s.classes; c++)
        select_class(&s, b, c);
  }
  tl_host *out;
  int64_t dims[2] = {(int64_t)s.selected, 3};
  TL_TRY(tl_eval_result(ctx, 0, TL_DTYPE_I64, 2, dims, &out));
  if (s.selected)
    memcpy(out->data, s.out, (size_t)s.selected * 3 * sizeof *s.out);
  return TL_OK;
}
