# Formats of foreign AIR: orders of dims are computed with and kept, layouts of the device are refused
# where numbers would be needed.
$ printf 'name: "m"\ngraph {\n  name: "g"\n  op { name: "x" type: "Data" attr { key: "index" value { i: 0 } } output_desc { dtype: DT_FLOAT shape { dim: [1, 2, 5, 5] } layout: "NCHW" } }\n  op { name: "w" type: "Data" attr { key: "index" value { i: 1 } } output_desc { dtype: DT_FLOAT shape { dim: [2, 2, 2, 2] } layout: "HWCN" } }\n  op { name: "conv" type: "Conv2D" input: "x:0" input: "w:0" attr { key: "strides" value { list { i: [1, 1, 1, 1] val_type: VT_LIST_INT } } } attr { key: "pads" value { list { i: [0, 0, 0, 0] val_type: VT_LIST_INT } } } attr { key: "data_format" value { s: "NCHW" } } input_desc { dtype: DT_FLOAT shape { dim: [1, 2, 5, 5] } layout: "NCHW" } input_desc { dtype: DT_FLOAT shape { dim: [2, 2, 2, 2] } layout: "HWCN" } output_desc { dtype: DT_FLOAT shape { dim: [1, 2, 4, 4] } layout: "NCHW" } }\n  op { name: "out" type: "NetOutput" input: "conv:0" input_desc { dtype: DT_FLOAT shape { dim: [1, 2, 4, 4] } layout: "NCHW" } }\n}\n' >hwcn.txt
$ tailor opt hwcn.txt --passes=infer-shapes | grep -o 'meta "desc.*'
> meta "desc.out0" "HWCN"
> meta "desc.in1" "HWCN"
$ tailor convert hwcn.txt -o x.air -q; tailor convert x.air -o again.txt.air -q -O0; cmp x.air again.txt.air
$ tailor convert hwcn.txt -o x.onnx -q; tailor verify x.onnx x.air --tensors=0 | tail -1
> 2 tensors have the same name, 0 of them differ
# a layout of the device
$ sed 's/HWCN/FRACTAL_Z/' hwcn.txt >device.txt; tailor run device.txt
! device.txt: error: node conv: input 1 of Conv2D has the format FRACTAL_Z, a layout of the device: the node cannot be run
!   hint: read files from before the device compiler has chosen formats; info, diff, textual IR and AIR work with this one
? 3
$ tailor convert device.txt -o y.onnx
! device.txt: error: node conv: input 1 of Conv2D has the format FRACTAL_Z, a layout of the device: the node cannot be run
!   hint: read files from before the device compiler has chosen formats; info, diff, textual IR and AIR work with this one
? 3
$ ls y.onnx 2>/dev/null
? 2
$ tailor info device.txt | head -2
> model    device.txt
> form     npu
$ tailor convert device.txt -o y.air -q; tailor diff device.txt y.air
# a dump that does not say of which order the filter is, and one that contradicts itself
$ sed 's/s: "NCHW"/s: "NHWC"/; s/layout: "NCHW"/layout: "NHWC"/g; s/HWCN/ND/' hwcn.txt >unsaid.txt; tailor run unsaid.txt
! unsaid.txt: error: node conv: the desc of the filter does not say its format, which with data_format NHWC may be any
!   hint: set layout of input_desc[1] to NCHW, HWCN or NHWC
? 3
$ sed 's/s: "NCHW"/s: "NHWC"/' hwcn.txt >other.txt; tailor run other.txt
! other.txt: error: node conv: input 0 of Conv2D has the format NCHW, but data_format says another: the node cannot be run
!   hint: read files from before the device compiler has chosen formats; info, diff, textual IR and AIR work with this one
? 3
# the same dims in the order that the IR means
$ sed 's/HWCN/NCHW/' hwcn.txt >nchw.txt; tailor run nchw.txt >/dev/null; tailor convert nchw.txt -o z.air --summary=none
