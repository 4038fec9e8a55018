/* SPDX-License-Identifier: Apache-2.0 */
/* Resize, sampling by a grid, regions, boxes. */
#include "tests/unit/eval_check.h"

#define FOUR "const %x = f32[1,1,1,4] [1.0, 2.0, 3.0, 4.0]\n"
#define TWICE "const %s = f32[4] [1.0, 1.0, 1.0, 2.0]\n"

static void resize_places_its_taps(void) {
  eval_same(FOUR TWICE "%z = Resize(%x, _, %s)\n"
                       "const %want = f32[1,1,1,8] [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]");
  eval_same(FOUR TWICE "%z = Resize(%x, _, %s) {mode=\"linear\"}\n"
                       "const %want = f32[1,1,1,8] [1.0, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4.0]");
  eval_near(FOUR "const %n = i64[4] [1, 1, 1, 7]\n"
                 "%z = Resize(%x, _, _, %n)\n"
                 "  {mode=\"linear\", coordinate_transformation_mode=\"align_corners\"}\n"
                 "const %want = f32[1,1,1,7] [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]",
            1e-6, 0);
  /* halved with a filter: weights 1/8 3/8 3/8 1/8, the edge repeated */
  eval_near(FOUR "const %n = i64[1] [2]\n"
                 "%z = Resize(%x, _, _, %n) {mode=\"linear\", antialias=1, axes=[-1]}\n"
                 "const %want = f32[1,1,1,2] [1.625, 3.375]",
            1e-6, 0);
  eval_same("const %x = str[2] [\"a\", \"b\"]  const %n = i64[1] [4]\n"
            "%z = Resize(%x, _, _, %n)  const %want = str[4] [\"a\", \"a\", \"b\", \"b\"]");
  eval_same("const %x = u8[2] [0, 255]  const %n = i64[1] [4]\n"
            "%z = Resize(%x, _, _, %n) {mode=\"linear\"}\n"
            "const %want = u8[4] [0, 63, 191, 255]");
  eval_same(FOUR "const %n = i64[4] [1, 1, 0, 4]  %z = Resize(%x, _, _, %n)\n"
                 "const %want = f32[1,1,0,4] []");
}

static void resize_crops_and_extrapolates(void) {
  eval_same("const %x = f32[3] [1.0, 2.0, 3.0]  const %r = f32[2] [0.5, 1.5]\n"
            "const %n = i64[1] [3]\n"
            "%z = Resize(%x, %r, _, %n) {mode=\"linear\", extrapolation_value=9.0,\n"
            "  coordinate_transformation_mode=\"tf_crop_and_resize\"}\n"
            "const %want = f32[3] [2.0, 3.0, 9.0]");
}

static void resize_refuses_what_makes_no_sense(void) {
  eval_refused(FOUR "%z = Resize(%x)", "exactly one of scales and sizes");
  eval_refused(FOUR "const %s = f32[1] [2.0]  %z = Resize(%x, _, %s)", "expected 4");
  eval_refused(FOUR "const %s = f32[1] [-2.0]  %z = Resize(%x, _, %s) {axes=[3]}",
               "not a positive number");
  eval_refused(FOUR "const %s = f32[1] [1e30]  %z = Resize(%x, _, %s) {axes=[3]}", "would have");
  eval_refused(FOUR "const %n = i64[1] [4000000000000]\n"
                    "%z = Resize(%x, _, _, %n) {axes=[3]}",
               "memory limit");
  eval_refused(FOUR "const %n = i64[2] [4, 4]  %z = Resize(%x, _, _, %n) {axes=[3, -1]}",
               "given twice");
  eval_refused("const %x = f32[0] []  const %n = i64[1] [4]  %z = Resize(%x, _, _, %n)",
               "not possible");
}

#define IMAGE "const %x = f32[1,1,2,2] [1.0, 2.0, 3.0, 4.0]\n"

static void grids_sample_between_pixels(void) {
  eval_same(IMAGE "const %g = f32[1,1,2,2] [0.0, 0.0, 1.0, -1.0]\n"
                  "%z = GridSample(%x, %g) {align_corners=1}\n"
                  "const %want = f32[1,1,1,2] [2.5, 2.0]");
  eval_same(IMAGE "const %g = f32[1,1,1,2] [9.0, 0.0]  %z = GridSample(%x, %g)\n"
                  "const %want = f32[1,1,1,1] [0.0]");
  eval_same(IMAGE "const %g = f32[1,1,1,2] [9.0, 0.0]\n"
                  "%z = GridSample(%x, %g) {padding_mode=\"border\"}\n"
                  "const %want = f32[1,1,1,1] [3.0]");
  eval_same(IMAGE "const %g = f32[1,1,1,2] [nan, 1e30]\n"
                  "%z = GridSample(%x, %g)  const %want = f32[1,1,1,1] [0.0]");
  eval_same("const %t = f32[1,2,3] [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]  const %s = i64[4] [1, 1, 2, 1]\n"
            "%z = AffineGrid(%t, %s)  const %want = f32[1,2,1,2] [0.0, -0.5, 0.0, 0.5]");
  eval_refused(IMAGE "const %g = f32[2,1,1,2] [0.0, 0.0, 0.0, 0.0]  %z = GridSample(%x, %g)",
               "does not fit");
}

static void regions_are_pooled(void) {
  eval_same(IMAGE "const %r = f32[1,4] [0.0, 0.0, 2.0, 2.0]  const %b = i64[1] [0]\n"
                  "%z = RoiAlign(%x, %r, %b)  const %want = f32[1,1,1,1] [2.5]");
  eval_same(IMAGE "const %r = f32[1,5] [0.0, 0.0, 0.0, 1.0, 1.0]\n"
                  "%z = MaxRoiPool(%x, %r) {pooled_shape=[1, 2]}\n"
                  "const %want = f32[1,1,1,2] [3.0, 4.0]");
  eval_refused(IMAGE "const %r = f32[1,4] [0.0, 0.0, 2.0, 2.0]  const %b = i64[1] [1]\n"
                     "%z = RoiAlign(%x, %r, %b)",
               "image 1");
  eval_refused(IMAGE "const %r = f32[1,5] [-1.0, 0.0, 0.0, 1.0, 1.0]\n"
                     "%z = MaxRoiPool(%x, %r) {pooled_shape=[1, 1]}",
               "image -1");
}

#define BOXES                                                                                      \
  "const %b = f32[1,3,4] [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.1, 5.0, 5.0, 6.0, 6.0]\n"           \
  "const %s = f32[1,1,3] [0.5, 0.9, 0.5]\n"

static void boxes_suppress_what_they_overlap(void) {
  eval_same(BOXES
            "const %n = i64[1] [9]  const %t = f32[1] [0.5]\n"
            "%z = NonMaxSuppression(%b, %s, %n, %t)  const %want = i64[2,3] [0, 0, 1, 0, 0, 2]");
  eval_same(BOXES "const %n = i64[1] [1]  const %t = f32[1] [0.5]\n"
                  "%z = NonMaxSuppression(%b, %s, %n, %t)  const %want = i64[1,3] [0, 0, 1]");
  eval_same(BOXES "%z = NonMaxSuppression(%b, %s)  const %want = i64[0,3] []");
  eval_refused(BOXES "const %n = i64[1] [1]  const %t = f32[1] [1.5]\n"
                     "%z = NonMaxSuppression(%b, %s, %n, %t)",
               "expected 0 to 1");
}

static const unit_test tests[] = {
    {"Resize places its taps", resize_places_its_taps},
    {"Resize crops and extrapolates", resize_crops_and_extrapolates},
    {"Resize refuses what makes no sense", resize_refuses_what_makes_no_sense},
    {"grids sample between pixels", grids_sample_between_pixels},
    {"regions are pooled", regions_are_pooled},
    {"boxes suppress what they overlap", boxes_suppress_what_they_overlap},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_image = {"eval_image", tests};
