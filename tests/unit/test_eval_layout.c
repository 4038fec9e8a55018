/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move, select and make elements. */
#include "tests/unit/eval_check.h"

#define X6 "const %x = i32[2,3] [1, 2, 3, 4, 5, 6]\n"

static void reshape_copies_and_infers_dims(void) {
  eval_same(X6 "const %s = i64[2] [0, -1]  %z = Reshape(%x, %s)\n"
               "const %want = i32[2,3] [1, 2, 3, 4, 5, 6]");
  eval_same(X6 "const %s = i64[3] [3, -1, 1]  %z = Reshape(%x, %s)\n"
               "const %want = i32[3,2,1] [1, 2, 3, 4, 5, 6]");
  eval_same("const %x = f32[0,3] []  const %s = i64[2] [3, 0]\n"
            "%z = Reshape(%x, %s) {allowzero=1}  const %want = f32[3,0] []");
  eval_same("const %x = f32[1,1] [7.0]  const %s = i64[0] []  %z = Reshape(%x, %s)\n"
            "const %want = f32[] 7.0");
  eval_refused(X6 "const %s = i64[2] [-1, -1]  %z = Reshape(%x, %s)", "more than one dim -1");
  eval_refused(X6 "const %s = i64[2] [4, -1]  %z = Reshape(%x, %s)", "cannot be inferred");
  eval_refused(X6 "const %s = i64[3] [2, 3, 0]  %z = Reshape(%x, %s)", "copies dim 2");
  eval_refused(X6 "const %s = i64[2] [-2, -3]  %z = Reshape(%x, %s)", "the dim -2");
  eval_refused("const %x = f32[0] []  const %s = i64[2] [9223372036854775807, 3]\n"
               "%z = Reshape(%x, %s)",
               "does not have 0 elements");
}

static void squeeze_and_unsqueeze_take_negative_axes(void) {
  eval_same("const %x = i32[1,2,1] [1, 2]  const %a = i64[1] [-1]  %z = Squeeze(%x, %a)\n"
            "const %want = i32[1,2] [1, 2]");
  eval_same("const %x = i32[1,2,1] [1, 2]  %z = Squeeze(%x)  const %want = i32[2] [1, 2]");
  eval_same("const %x = i32[2] [1, 2]  const %a = i64[2] [-1, 0]  %z = Unsqueeze(%x, %a)\n"
            "const %want = i32[1,2,1] [1, 2]");
  eval_same("const %x = i32[2] [1, 2]  const %a = i32[] -1\n"
            "%z = com.microsoft::ExpandDims(%x, %a)  const %want = i32[2,1] [1, 2]");
  eval_refused(X6 "const %a = i64[1] [1]  %z = Squeeze(%x, %a)", "its dim is 3");
  eval_refused(X6 "const %a = i64[2] [1, 1]  %z = Unsqueeze(%x, %a)", "given twice");
  eval_refused(X6 "const %a = i64[1] [-4]  %z = Unsqueeze(%x, %a)", "outside [-3, 2]");
}

static void shape_clamps_start_and_end(void) {
  eval_same(X6 "%z = Shape(%x) {start=-1}  const %want = i64[1] [3]");
  eval_same(X6 "%z = Shape(%x) {start=-9, end=9}  const %want = i64[2] [2, 3]");
  eval_same(X6 "%z = Shape(%x) {start=1, end=0}  const %want = i64[0] []");
  eval_same(X6 "%z = Size(%x)  const %want = i64[] 6");
  eval_same(X6 "%z = Flatten(%x) {axis=-2}  const %want = i32[1,6] [1, 2, 3, 4, 5, 6]");
}

static void transpose_moves_any_element_size(void) {
  eval_same(X6 "%z = Transpose(%x)  const %want = i32[3,2] [1, 4, 2, 5, 3, 6]");
  eval_same("const %x = i4[2,3] hex(\"21c365\")  %z = Transpose(%x)\n"
            "const %want = i4[3,2] hex(\"c15263\")");
  eval_same("const %x = str[2,2] [\"a\", \"b\", \"c\", \"d\"]  %z = Transpose(%x)\n"
            "const %want = str[2,2] [\"a\", \"c\", \"b\", \"d\"]");
  eval_same("const %x = f32[] 1.5  %z = Transpose(%x)  const %want = f32[] 1.5");
  eval_refused(X6 "%z = Transpose(%x) {perm=[0, 0]}", "given twice");
  eval_refused(X6 "%z = Transpose(%x) {perm=[0]}", "1 entries");
}

static void slice_clamps_as_the_spec_says(void) {
  eval_same("const %x = i32[5] [0, 1, 2, 3, 4]  const %s = i64[1] [-1]  const %e = i64[1] [-99]\n"
            "const %a = i64[1] [0]  const %t = i64[1] [-2]  %z = Slice(%x, %s, %e, %a, %t)\n"
            "const %want = i32[3] [4, 2, 0]");
  eval_same("const %x = i32[5] [0, 1, 2, 3, 4]  const %s = i64[1] [1]\n"
            "const %e = i64[1] [9223372036854775807]  %z = Slice(%x, %s, %e)\n"
            "const %want = i32[4] [1, 2, 3, 4]");
  eval_same("const %x = i32[5] [0, 1, 2, 3, 4]  const %s = i64[1] [2]  const %a = i64[1] [0]\n"
            "const %e = i64[1] [-9223372036854775808]\n"
            "const %t = i64[1] [-9223372036854775808]  %z = Slice(%x, %s, %e, %a, %t)\n"
            "const %want = i32[1] [2]");
  eval_same("const %x = i32[5] [0, 1, 2, 3, 4]  const %s = i64[1] [4]  const %e = i64[1] [2]\n"
            "%z = Slice(%x, %s, %e)  const %want = i32[0] []");
  eval_refused("const %x = i32[5] [0, 1, 2, 3, 4]  const %s = i64[1] [4]  const %e = i64[1] [2]\n"
               "const %t = i64[1] [0]  const %a = i64[1] [0]  %z = Slice(%x, %s, %e, %a, %t)",
               "the step of axis 0 is 0");
}

static void split_gives_the_last_part_less(void) {
  eval_same_pairs("const %x = i32[5] [0, 1, 2, 3, 4]  %z0, %z1 = Split(%x) {num_outputs=2}\n"
                  "const %want0 = i32[3] [0, 1, 2]  const %want1 = i32[2] [3, 4]",
                  2);
  eval_same_pairs("const %x = i32[3] [0, 1, 2]  const %s = i64[2] [0, 3]\n"
                  "%z0, %z1 = Split(%x, %s)\n"
                  "const %want0 = i32[0] []  const %want1 = i32[3] [0, 1, 2]",
                  2);
  eval_refused("const %x = i32[3] [0, 1, 2]  const %s = i64[2] [1, 1]  %z, %y = Split(%x, %s)",
               "add up to 2");
}

static void concat_puts_parts_side_by_side(void) {
  eval_same(X6 "const %y = i32[2,1] [7, 8]  %z = Concat(%x, %y) {axis=-1}\n"
               "const %want = i32[2,4] [1, 2, 3, 7, 4, 5, 6, 8]");
  eval_refused(X6 "const %y = i32[2,1] [7, 8]  %z = Concat(%x, %y) {axis=0}", "does not fit");
}

static void gathers_check_every_index(void) {
  eval_same(X6 "const %i = i64[2] [-1, 0]  %z = Gather(%x, %i) {axis=1}\n"
               "const %want = i32[2,2] [3, 1, 6, 4]");
  eval_same(X6 "const %i = i32[] 1  %z = Gather(%x, %i)  const %want = i32[3] [4, 5, 6]");
  eval_same(X6 "const %i = i64[1,3] [1, 0, -1]  %z = GatherElements(%x, %i)\n"
               "const %want = i32[1,3] [4, 2, 6]");
  eval_same(X6 "const %i = i64[2,2] [0, -1, 1, 0]  %z = GatherND(%x, %i)\n"
               "const %want = i32[2] [3, 4]");
  eval_same(X6 "const %i = i64[2,1] [2, 0]  %z = GatherND(%x, %i) {batch_dims=1}\n"
               "const %want = i32[2] [3, 4]");
  eval_refused(X6 "const %i = i64[1] [2]  %z = Gather(%x, %i)", "index 2 at 0 is outside [-2, 1]");
  eval_refused("const %x = f32[0] []  const %i = i64[1] [0]  %z = Gather(%x, %i)", "outside");
  eval_refused(X6 "const %i = i64[1,3] [1, 0, 2]  %z = GatherElements(%x, %i)", "outside");
  eval_refused(X6 "const %i = i64[1,2] [1, 3]  %z = GatherND(%x, %i)", "index 3");
}

static void fills_and_ranges_count_exactly(void) {
  eval_same("const %s = i64[2] [2, 2]  %z = ConstantOfShape(%s) {value=i32[1] [7]}\n"
            "const %want = i32[2,2] [7, 7, 7, 7]");
  eval_same("const %s = i64[] 3  const %e = i64[] -2  const %d = i64[] -2\n"
            "%z = Range(%s, %e, %d)  const %want = i64[3] [3, 1, -1]");
  eval_same("const %s = f32[] 0.0  const %e = f32[] 1.0  const %d = f32[] 0.25\n"
            "%z = Range(%s, %e, %d)  const %want = f32[4] [0.0, 0.25, 0.5, 0.75]");
  eval_same("const %s = i64[] -9223372036854775808  const %e = i64[] 9223372036854775807\n"
            "const %d = i64[] 9223372036854775807  %z = Range(%s, %e, %d)\n"
            "const %want = i64[3] [-9223372036854775808, -1, 9223372036854775806]");
  eval_refused("const %s = i64[2] [4611686018427387904, 4]  %z = ConstantOfShape(%s)", "counted");
  eval_refused("const %s = i64[2] [1073741824, 1024]  %z = ConstantOfShape(%s)", "memory limit");
  eval_refused("const %s = i64[1] [-1]  %z = ConstantOfShape(%s)", "the dim -1");
}

static void pads_scatters_and_selections(void) {
  eval_same("const %x = i32[3] [1, 2, 3]  const %p = i64[2] [-1, 2]  %z = Pad(%x, %p)\n"
            "const %want = i32[4] [2, 3, 0, 0]");
  eval_same("const %x = i32[2] [1, 2]  const %p = i64[2] [3, 3]\n"
            "%z = Pad(%x, %p) {mode=\"reflect\"}\n"
            "const %want = i32[8] [2, 1, 2, 1, 2, 1, 2, 1]");
  eval_same("const %x = f16[2] [1.0, 2.0]  const %i = i64[2] [0, 0]\n"
            "const %u = f16[2] [0.5, 0.25]  %z = ScatterElements(%x, %i, %u) {reduction=\"add\"}\n"
            "const %want = f16[2] [1.75, 2.0]");
  eval_same("const %x = i8[2] [100, -3]  const %i = i64[2,1] [0, 1]  const %u = i8[2] [100, 2]\n"
            "%z = ScatterND(%x, %i, %u) {reduction=\"max\"}  const %want = i8[2] [100, 2]");
  eval_same("const %x = f32[2,2] [0.0, -0.0, nan, 1.0]  %z = NonZero(%x)\n"
            "const %want = i64[2,2] [1, 1, 0, 1]");
  eval_same_pairs("const %x = f32[4] [2.0, 1.0, 2.0, 3.0]\n"
                  "%z0, %z1, %z2, %z3 = Unique(%x) {sorted=0}\n"
                  "const %want0 = f32[3] [2.0, 1.0, 3.0]  const %want1 = i64[3] [0, 1, 3]\n"
                  "const %want2 = i64[4] [0, 1, 0, 2]  const %want3 = i64[3] [2, 1, 1]",
                  4);
  eval_same("const %x = i32[2,3] [1, 2, 3, 4, 5, 6]  const %n = i64[2] [2, 3]\n"
            "%z = ReverseSequence(%x, %n) {time_axis=1, batch_axis=0}\n"
            "const %want = i32[2,3] [2, 1, 3, 6, 5, 4]");
  eval_refused("const %x = i32[3] [1, 2, 3]  const %p = i64[2] [-2, -2]  %z = Pad(%x, %p)",
               "remove more");
  eval_refused("const %x = i32[0] []  const %p = i64[2] [1, 0]  %z = Pad(%x, %p) {mode=\"edge\"}",
               "no elements to pad with");
  eval_refused("const %x = i32[1] [1]  const %p = i64[2] [9223372036854775807, 5]\n"
               "%z = Pad(%x, %p)",
               "counted");
  eval_refused("const %x = i32[1] [1]  const %i = i64[1] [1]  %z = ScatterElements(%x, %i, %x)",
               "outside [-1, 0]");
}

static void microsoft_token_kernels(void) {
  eval_same_pairs("const %x = f32[2,2,1] [1.0, 9.0, 2.0, 3.0]  const %n = i32[2] [1, 2]\n"
                  "%z0, %z1, %z2, %z3 = com.microsoft::RemovePadding(%x, %n)\n"
                  "%z4 = com.microsoft::RestorePadding(%z0, %z1)\n"
                  "const %want0 = f32[3,1] [1.0, 2.0, 3.0]\n"
                  "const %want1 = i32[2,2] [0, 2, 3, 1]  const %want2 = i32[3] [0, 1, 3]\n"
                  "const %want3 = i32[1] [2]  const %want4 = f32[2,2,1] [1.0, 0.0, 2.0, 3.0]",
                  5);
  /* the reference implementation: "hello" gives 0x248bfa47 */
  eval_same("const %x = str[1] [\"hello\"]  %z = com.microsoft::MurmurHash3(%x)\n"
            "const %want = u32[1] [613153351]");
  eval_same("const %i = i64[1,4] [1, 2, 3, 1]  const %s = f32[1,4] [0.0, 0.0, 0.0, 0.0]\n"
            "%z = com.microsoft::NGramRepeatBlock(%i, %s) {ngram_size=2}\n"
            "const %want = f32[1,4] [0.0, 0.0, -inf, 0.0]");
  eval_same("const %x = f32[1,1,2,2] [1.0, 2.0, 3.0, 4.0]\n"
            "const %r = f32[1,4] [0.0, 0.0, 1.0, 1.0]\n"
            "const %b = i32[1] [0]  const %s = i32[2] [1, 3]\n"
            "%z = com.microsoft::CropAndResize(%x, %r, %b, %s)\n"
            "const %want = f32[1,1,1,3] [2.0, 2.5, 3.0]");
  /* bytes of two 4-bit values, low first, around the zero point 8; blocks of 2 */
  eval_same("const %d = u8[2,2] [152, 186, 0, 255]  const %i = i64[1] [0]\n"
            "const %s = f32[2,2] [1.0, 0.5, 1.0, 1.0]\n"
            "%z = com.microsoft::GatherBlockQuantized(%d, %i, %s) {block_size=2}\n"
            "const %want = f32[1,4] [0.0, 1.0, 1.0, 1.5]");
}

static const unit_test tests[] = {
    {"Reshape copies and infers dims", reshape_copies_and_infers_dims},
    {"Squeeze and Unsqueeze take negative axes", squeeze_and_unsqueeze_take_negative_axes},
    {"Shape clamps start and end", shape_clamps_start_and_end},
    {"Transpose moves any element size", transpose_moves_any_element_size},
    {"Slice clamps as the spec says", slice_clamps_as_the_spec_says},
    {"Split gives the last part less", split_gives_the_last_part_less},
    {"Concat puts parts side by side", concat_puts_parts_side_by_side},
    {"gathers check every index", gathers_check_every_index},
    {"fills and ranges count exactly", fills_and_ranges_count_exactly},
    {"pads, scatters and selections", pads_scatters_and_selections},
    {"token kernels of com.microsoft", microsoft_token_kernels},
    {NULL, NULL},
};

const unit_suite unit_suite_eval_layout = {"eval_layout", tests};
