# Formats of foreign AIR that the IR lacks: dims in another order are not computed with.
$ printf 'name: "m"\ngraph {\n  name: "g"\n  op { name: "x" type: "Data" attr { key: "index" value { i: 0 } } output_desc { dtype: DT_FLOAT shape { dim: [1, 2, 5, 5] } layout: "NCHW" } }\n  op { name: "w" type: "Data" attr { key: "index" value { i: 1 } } output_desc { dtype: DT_FLOAT shape { dim: [2, 2, 2, 2] } layout: "HWCN" } }\n  op { name: "conv" type: "Conv2D" input: "x:0" input: "w:0" attr { key: "strides" value { list { i: [1, 1, 1, 1] val_type: VT_LIST_INT } } } attr { key: "pads" value { list { i: [0, 0, 0, 0] val_type: VT_LIST_INT } } } attr { key: "data_format" value { s: "NCHW" } } input_desc { dtype: DT_FLOAT shape { dim: [1, 2, 5, 5] } layout: "NCHW" } input_desc { dtype: DT_FLOAT shape { dim: [2, 2, 2, 2] } layout: "HWCN" } output_desc { dtype: DT_FLOAT shape { dim: [1, 2, 4, 4] } layout: "NCHW" } }\n  op { name: "out" type: "NetOutput" input: "conv:0" input_desc { dtype: DT_FLOAT shape { dim: [1, 2, 4, 4] } layout: "NCHW" } }\n}\n' >hwcn.txt
$ tailor run hwcn.txt
! hwcn.txt: error: node conv: input 1 is HWCN, a format that Tailor does not compute with, so the model cannot be run (1 such node)
!   hint: read files before the device compiler has chosen formats; info, diff and textual IR show this one
? 3
$ tailor convert hwcn.txt -o x.air
! hwcn.txt: error: node conv: input 1 is HWCN, a format that Tailor does not compute with, so the model cannot be written (1 such node)
!   hint: read files before the device compiler has chosen formats; info, diff and textual IR show this one
? 3
$ tailor convert hwcn.txt -o x.onnx
! hwcn.txt: error: node conv: input 1 is HWCN, a format that Tailor does not compute with, so the model cannot be run (1 such node)
!   hint: read files before the device compiler has chosen formats; info, diff and textual IR show this one
? 3
$ ls x.air x.onnx 2>/dev/null
? 2
$ tailor info hwcn.txt | head -2
> model    hwcn.txt
> form     npu
$ tailor opt hwcn.txt --passes=infer-shapes | grep -c 'tailor.format'
> 1
# the same dims in the order that the IR means
$ sed 's/HWCN/NCHW/' hwcn.txt >nchw.txt; tailor run nchw.txt >/dev/null; tailor convert nchw.txt -o y.air --summary=none
