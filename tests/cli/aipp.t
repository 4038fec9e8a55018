# Preprocessing of images (AIPP): --insert-op-conf is read, checked against the model and recorded.
$ printf 'graph @g(%%x: f32[1,3,4,4]) -> (%%y) {\n  %%y = Relu(%%x)\n}\n' >m.tir
$ printf '# as exporters of classifiers write it\naipp_op{\n    aipp_mode:static\n    input_format : RGB888_U8\n    src_image_size_w : 6\n    src_image_size_h : 6\n    crop: true\n    load_start_pos_h : 1\n    load_start_pos_w : 1\n    crop_size_w : 4\n    crop_size_h: 4\n    min_chn_0 : 123.675\n    min_chn_1 : 116.28\n    min_chn_2 : 103.53\n    var_reci_chn_0: 0.0171247538316637\n    var_reci_chn_1: 0.0175070028011204\n    var_reci_chn_2: 0.0174291938997821\n}\n' >a.cfg
$ tailor convert m.tir -o m.air --insert_op_conf=a.cfg 2>&1 | tail -3
>   recorded ge.insertOpFile = a.cfg
> go on with:
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype --insert_op_conf=a.cfg
$ tailor verify m.tir --aipp=a.cfg --tensors=0
> AIPP makes 'x' from random bytes of RGB888_U8
> tolerance 1e-07 + 0.001 |b| + 0.0009766 max|b| (1 rounding to f16)
> equal   "x": 0 of 48 elements differ, max abs 0.00118, max rel 0.008182, cosine 1
> equal   "y": 0 of 48 elements differ, max abs 0.000957, max rel 0.008182, cosine 1
> 1 tensors have the same name, 0 of them differ
$ tailor verify m.tir --aipp=a.cfg --npu --tensors=0 | grep '^equal' | cut -c1-11
> equal   "x"
> equal   "y"
# Spellings that protobuf takes: quotes, commas, a colon before the brace, one line.
$ printf 'aipp_op: { aipp_mode: static, input_format: RGB888_U8; related_input_name: "x" crop: 0 }' >b.cfg; tailor convert m.tir -q -o m.air --insert-op-conf=b.cfg
$ printf 'aipp_op { aipp_mode: dynamic related_input_rank: 0 max_src_image_size: 752640 }' >d.cfg; tailor convert m.tir -q -o m.air --insert-op-conf=d.cfg; tailor verify m.tir --aipp=d.cfg
! d.cfg:1:1: error: aipp_mode: dynamic has its parameters only at run time, so --aipp cannot compute it
!   hint: give --aipp a file with aipp_mode: static and the parameters of one run
? 3
# What the file alone tells: line, column, field, and what to do.
$ for t in 'aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_v: 4 }' 'aipp_op { aipp_mode: static input_format: RGB888 }' 'aipp_op { aipp_mode: fixed }' 'aipp_op { input_format: RGB888_U8 }' 'aipp_op { aipp_mode: static }' 'aipp_op { aipp_mode: static input_format: RGB888_U8 crop: yes }' 'aipp_op { aipp_mode: static input_format: RGB888_U8 mean_chn_0: 123.7 }' 'aipp_op { aipp_mode: static input_format: RGB888_U8 mean_chn_0: 300 }' 'aipp_op { aipp_mode: static aipp_mode: static }' 'aipp_op { aipp_mode static }' 'aipp_op { aipp_mode: static input_format: RGB888_U8' 'aipp { }' '' '# nothing' 'aipp_op { aipp_mode: dynamic }' 'aipp_op { aipp_mode: static input_format: "RGB888_U8" }' 'aipp_op { aipp_mode: static input_format: RGB888_U8 related_input_name: x }'; do echo "$t" >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg; done
! e.cfg:1:53: error: aipp_op has no field 'src_image_size_v'
!   hint: did you mean 'src_image_size_w'?
! e.cfg:1:43: error: input_format: 'RGB888' is no format of images
!   hint: did you mean RGB888_U8?
! e.cfg:1:22: error: aipp_mode: 'fixed' is not static or dynamic
! e.cfg:1:1: error: aipp_mode is missing
!   hint: write aipp_mode: static, or dynamic
! e.cfg:1:1: error: input_format is missing
!   hint: write for example input_format: RGB888_U8
! e.cfg:1:59: error: crop: 'yes' is not true or false
! e.cfg:1:65: error: mean_chn_0: '123.7' is not a whole number
! e.cfg:1:65: error: mean_chn_0: 300 is not within 0 to 255
! e.cfg:1:29: error: aipp_mode is given twice, first in line 1
! e.cfg:1:21: error: expected ':', found 'static'
! e.cfg:2:1: error: expected '}', found the end
! e.cfg:1:1: error: expected aipp_op, found 'aipp'
! e.cfg: error: there is no aipp_op in the file
!   hint: write aipp_op { aipp_mode: static ... }
! e.cfg: error: there is no aipp_op in the file
!   hint: write aipp_op { aipp_mode: static ... }
! e.cfg:1:1: error: max_src_image_size is missing
!   hint: aipp_mode: dynamic needs the bytes of the largest image
! e.cfg:1:43: error: input_format: '"RGB888_U8"' is no format of images
!   hint: did you mean RGB888_U8?
! e.cfg:1:73: error: related_input_name: expected a name in quotes
? 1
$ printf 'aipp_op {\n aipp_mode: static\n input_format: YUV420SP_U8\n src_image_size_w: 5\n src_image_size_h: 4\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:4:2: error: src_image_size_w is 5; with YUV420SP_U8 it has to be even
? 1
$ printf 'aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n src_image_size_w: 6\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:4:2: error: src_image_size_w and src_image_size_h go together
!   hint: give both, or neither if images have the size of the input
? 1
$ printf 'aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n ax_swap_switch: true\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:4:2: error: ax_swap_switch is for XRGB8888_U8, ARGB8888_U8 and AYUV444_U8, not for RGB888_U8
? 1
$ printf 'aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n src_image_size_w: 6\n src_image_size_h: 6\n crop: true\n load_start_pos_w: 3\n crop_size_w: 4\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:8:2: error: the part that crop takes ends at 7, but src_image_size_w is 6
? 1
$ printf 'aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n}\naipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:5:1: error: input 0 is described twice, first in line 1
!   hint: related_input_rank says which input an aipp_op is for
? 1
$ printf 'aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n}\naipp_op {\n aipp_mode: dynamic\n related_input_rank: 1\n max_src_image_size: 9\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:5:1: error: aipp_mode: static and dynamic cannot be together, line 1 is static
? 1
$ tailor convert m.tir --dry-run -o m.air --insert-op-conf=missing.cfg
! missing.cfg: error: cannot open the AIPP configuration: No such file or directory
? 4
# Fields that switches make useless.
$ printf 'aipp_op {\n aipp_mode: static\n input_format: RGB888_U8\n crop_size_w: 4\n left_padding_size: 2\n matrix_r0c0: 256\n}\n' >e.cfg; tailor convert m.tir -q -o m.air --insert-op-conf=e.cfg; tailor convert m.tir -o m.air --insert-op-conf=e.cfg 2>&1 | grep warning
> e.cfg:4:2: warning: crop_size_w has no effect: crop is false
> e.cfg:5:2: warning: left_padding_size has no effect: padding is false
# What the model tells: names, numbers, dtypes, channels, sizes.
$ printf 'printf "aipp_op {\\n aipp_mode: static\\n input_format: %%s\\n}\\n" "$2" >e.cfg\nprintf "graph @g(%%s) -> (%%%%y) {\\n  %%%%y = Relu(%%%%x)\\n}\\n" "$1" >e.tir\ntailor convert e.tir -q -o e.air --insert-op-conf=e.cfg\n' >check
$ check() { sh ./check "$@"; }; check '%x: f32[1,3,4,4]' 'RGB888_U8 related_input_rank: 1'; check '%x: f32[1,3,4,4]' 'RGB888_U8 related_input_name: "z"'; check '%image: f32[1,3,4,4], %x: f32[1,3,4,4]' 'RGB888_U8 related_input_name: "imagge"'; check '%image: f32[1,3,4,4], %x: f32[1,3,4,4]' 'RGB888_U8 related_input_name: "x" related_input_rank: 0'; check '%x: i64[1,3,4,4]' RGB888_U8; check '%x: f32[3,4,4]' RGB888_U8; check '%x: f32[1,1,4,4]' RGB888_U8; check '%x: f32[1,4,4,3]' RGB888_U8; check '%x: f32[1,3,4,4]' YUV400_U8; check '%x: f32[1,3,4,5]' YUV420SP_U8; check '%x: f32[1,3,4,4]' 'RGB888_U8 src_image_size_w: 8 src_image_size_h: 6'; check '%x: f32[1,3,4,4]' 'RGB888_U8 padding: true left_padding_size: 3 right_padding_size: 1'; check '%x: f32[1,3,4,4]' 'RGB888_U8 src_image_size_w: 5 src_image_size_h: 5 crop: true load_start_pos_w: 2'; check '%x: f32[1,3,h,w]' 'RGB888_U8 src_image_size_w: 8 src_image_size_h: 6'
! e.cfg:1:1: error: related_input_rank: there is no input 1; the model has 1, counted from 0
! e.cfg:1:1: error: related_input_name: the model has no input 'z'
!   hint: did you mean 'x'?
! e.cfg:1:1: error: related_input_name: the model has no input 'imagge'
!   hint: did you mean 'image'?
! e.cfg:1:1: error: related_input_rank 0 and related_input_name 'x' are different inputs
!   hint: give one of them
! e.cfg:1:1: error: input 'x' is i64; AIPP makes images of f16, f32 or u8
! e.cfg:1:1: error: input 'x' has 3 dims; AIPP makes images of 4 dims, NCHW
! e.cfg:1:1: error: input_format: RGB888_U8 makes 3 channels here, input 'x' has 1
!   hint: a matrix of one row, the others 0, without biases makes gray images
! e.cfg:1:1: error: input 'x' has its 3 channels in the last dim (NHWC); AIPP makes NCHW
!   hint: put a Transpose in front of the model's first node, and the input in NCHW
! e.cfg:1:1: error: input_format: YUV400_U8 makes 1 channel here, input 'x' has 3
! e.cfg:1:1: error: images of YUV420SP_U8 have even sizes, this one has 5 x 4 (width x height)
! e.cfg:1:1: error: it makes images of 8 x 6 (width x height), input 'x' takes 4 x 4
!   hint: crop the image: crop: true, crop_size_w, crop_size_h
! e.cfg:1:1: error: the padding is larger than the input, nothing is left for the image
! e.cfg:1:1: error: crop takes 4 x 4 at (2, 0), the image is 5 x 5 (width x height)
! e.cfg:1:1: error: height and width of input 'x' are open, so crop, padding, resize and src_image_size_w and _h have to be off
!   hint: or fix the sizes with --input-shape
? 1
# What fits: gray images by a matrix of one row, sizes that come with each image, crop and padding.
$ check() { sh ./check "$@"; }; check '%x: f32[1,1,4,4]' 'YUV400_U8'; check '%x: f32[1,3,h,w]' RGB888_U8; check '%x: f16[n,3,4,4]' 'XRGB8888_U8 ax_swap_switch: true'; check '%x: f32[1,1,4,4]' 'RGB888_U8 csc_switch: true matrix_r0c0: 76 matrix_r0c1: 150 matrix_r0c2: 30 matrix_r1c0: 0 matrix_r1c1: 0 matrix_r1c2: 0 matrix_r2c0: 0 matrix_r2c1: 0 matrix_r2c2: 0 output_bias_0: 0 output_bias_1: 0 output_bias_2: 0'; check '%x: f32[1,3,8,8]' 'RGB888_U8 src_image_size_w: 9 src_image_size_h: 9 crop: true padding: true left_padding_size: 3 top_padding_size: 1'
$ printf 'graph @g(%%x: f32[1,4,4,3]) -> (%%y) {\n  %%y = Relu(%%x)\n}\n' >h.tir; tailor verify h.tir --aipp=b.cfg
! b.cfg:1:1: error: input 'x' has its 3 channels in the last dim (NHWC); AIPP makes NCHW
!   hint: put a Transpose in front of the model's first node, and the input in NCHW
? 1
$ tailor verify m.tir folder --aipp=a.cfg; mkdir folder; tailor verify m.tir folder --aipp=a.cfg
! folder: error: cannot open 'folder': No such file or directory
! tailor: error: --aipp: cannot be combined with a folder of outputs
!   hint: give the image and the floats with --input NAME=FILE
? 1
# Without a file --aipp takes that of --insert-op-conf, else the one that the AIR file records.
$ tailor verify m.tir --aipp --insert_op_conf=a.cfg --tensors=0 | tail -1
> 1 tensors have the same name, 0 of them differ
$ tailor verify m.air --aipp --tensors=0 | grep -v '^equal'; tailor convert m.tir -q -o plain.air
> AIPP makes 'x' from random bytes of RGB888_U8
> tolerance 1e-07 + 0.001 |b| + 0.0009766 max|b| (1 rounding to f16)
> 1 tensors have the same name, 0 of them differ
$ tailor verify plain.air --aipp
! tailor: error: --aipp: 'plain.air' names no description of preprocessing
!   hint: write --aipp=FILE, or --insert-op-conf=FILE
? 1
$ tailor verify m.tir --insert-op-conf=a.cfg
! tailor: error: --insert-op-conf: has no effect without --aipp
!   hint: add --aipp: images go through the description
? 1
$ tailor verify m.tir --aipp=a.cfg --insert-op-conf=b.cfg
! tailor: error: --insert-op-conf: --aipp=FILE names a description as well
!   hint: give one of them
? 1
$ tailor verify m.tir --aipp --insert-op-conf=missing.cfg
! missing.cfg: error: cannot open the AIPP configuration: No such file or directory
? 4
# Dynamic preprocessing: a static file holds the parameters of one run.
$ tailor convert m.tir -q -o dyn.air --insert-op-conf=d.cfg; tailor verify dyn.air --aipp; tailor verify dyn.air --aipp=a.cfg --tensors=0 | tail -1
> 1 tensors have the same name, 0 of them differ
! d.cfg:1:1: error: aipp_mode: dynamic has its parameters only at run time, so --aipp cannot compute it
!   hint: give --aipp a file with aipp_mode: static and the parameters of one run
# Formats of bytes that other chips take; a resize to what the input takes.
$ for f in ARGB8888_U8 YUYV_U8 YUV422SP_U8 AYUV444_U8; do echo "aipp_op { aipp_mode: static input_format: $f }" >e.cfg; tailor verify m.tir --aipp=e.cfg --tensors=0 | sed '1!{$!d}'; done
> AIPP makes 'x' from random bytes of ARGB8888_U8
> 1 tensors have the same name, 0 of them differ
> AIPP makes 'x' from random bytes of YUYV_U8
> 1 tensors have the same name, 0 of them differ
> AIPP makes 'x' from random bytes of YUV422SP_U8
> 1 tensors have the same name, 0 of them differ
> AIPP makes 'x' from random bytes of AYUV444_U8
> 1 tensors have the same name, 0 of them differ
$ printf 'aipp_op {\n aipp_mode: static\n input_format: YUYV_U8\n src_image_size_w: 6\n src_image_size_h: 8\n crop: true\n load_start_pos_w: 1\n}\n' >e.cfg; tailor convert m.tir --dry-run -o m.air --insert-op-conf=e.cfg
! e.cfg:7:2: error: load_start_pos_w is 1; with YUYV_U8 it has to be even
? 1
$ printf 'aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 9 src_image_size_h: 7 resize: true }' >e.cfg; tailor verify m.tir --aipp=e.cfg --tensors=0 | tail -1
> 1 tensors have the same name, 0 of them differ
! e.cfg:1:1: warning: resize is computed as bilinear with the centres of pixels on each other; that the device interpolates is known, where it takes its samples is not
# What cannot be computed is refused by name.
$ for t in 'single_line_mode: true' 'input_format: RAW16' ; do case "$t" in input*) ;; *) t="input_format: RGB888_U8 $t" ;; esac; echo "aipp_op { aipp_mode: static $t }" >e.cfg; tailor verify m.tir --aipp=e.cfg; done
! e.cfg:1:1: error: what single_line_mode does is not documented, so --aipp cannot compute it
!   hint: leave single_line_mode out
! e.cfg:1:29: warning: input_format: how RAW16 becomes pixels is not known here, so only names are checked
! e.cfg:1:1: error: the evaluator does not know this input_format, so --aipp cannot compute it
!   hint: give --aipp a file that describes the same image as RGB888_U8 or YUV420SP_U8
? 3
