/* SPDX-License-Identifier: Apache-2.0 */
/* Image preprocessing in front of a model (AIPP), as a file of --insert-op-conf describes it. The
 * device does it: swap channels, crop, convert colours, resize, normalize, pad, in this order. */
#ifndef TL_IR_OPTIONS_AIPP_H
#define TL_IR_OPTIONS_AIPP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tl_aipp_mode {
  TL_AIPP_UNSAID,
  TL_AIPP_STATIC, /* parameters are in the file */
  TL_AIPP_DYNAMIC /* parameters come with each image */
} tl_aipp_mode;

/* Formats of images of bytes; others are of other types or chips. */
typedef enum tl_aipp_format {
  TL_AIPP_NO_FORMAT,
  TL_AIPP_YUV420SP, /* a plane of Y, then one of U and V in turns, of half the size each way */
  TL_AIPP_YUV422SP, /* the same, of half the width only */
  TL_AIPP_YUYV,     /* pairs of pixels: Y, U, Y, V */
  TL_AIPP_AYUV,     /* four bytes a pixel, of which one is ignored: Y, U, V */
  TL_AIPP_XRGB,     /* four bytes a pixel, of which one is ignored: R, G, B; also ARGB */
  TL_AIPP_RGB,      /* three bytes a pixel */
  TL_AIPP_YUV400,   /* one byte a pixel */
  TL_AIPP_OTHER     /* known by name only */
} tl_aipp_format;

/* One aipp_op. Numbers have the defaults of the device compiler; a size of 0 is not said. */
typedef struct tl_aipp_op {
  const char *file; /* for messages */
  uint32_t line;
  uint32_t column;
  const char *format_name;  /* as written; NULL: none */
  const char *related_name; /* of the input; NULL: none */
  bool has_rank;            /* related_rank is given */
  int32_t related_rank;     /* number of the input */
  int32_t mode;             /* tl_aipp_mode */
  int32_t format;           /* tl_aipp_format */
  int32_t max_size;         /* dynamic: most bytes of an image */
  int32_t src_w, src_h;     /* of the image */
  bool crop, resize, padding, csc, rbuv_swap, ax_swap, single_line, rotation;
  int32_t crop_x, crop_y, crop_w, crop_h;
  int32_t resize_w, resize_h;
  int32_t left, right, top, bottom; /* padding */
  double padding_value, c_padding_value;
  int32_t mean[4];
  double min[4], var[4]; /* (pixel - mean - min) * var */
  int32_t matrix[9];     /* of colours, in 256ths, row by row */
  int32_t in_bias[3], out_bias[3];
  int32_t ignored; /* fields without effect on this device */
} tl_aipp_op;

typedef struct tl_aipp_config {
  const tl_aipp_op *ops;
  uint32_t n;
} tl_aipp_config;

/* Returns true for formats whose pixels are Y, U and V. */
static inline bool tl_aipp_is_yuv(int32_t format) {
  return format >= TL_AIPP_YUV420SP && format <= TL_AIPP_AYUV;
}

/* Returns true for formats of four bytes a pixel, of which one is ignored. */
static inline bool tl_aipp_is_wide(int32_t format) {
  return format == TL_AIPP_AYUV || format == TL_AIPP_XRGB;
}

#endif
