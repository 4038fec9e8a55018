# What atc checks of the inputs of AIR, checked here first.
$ printf 'graph @g(%%"onnx::x": f32[?,4], %%b: f32[4]) -> (%%y) {\n  %%y = Add(%%"onnx::x", %%b)\n}\n' >m.tir
# --input_shape names Data nodes, whose names are those of AIR
$ tailor convert m.tir -o m.air '--input-shape=onnx::x:2,4;b:4' 2>&1 | tail -1
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype --input_shape='onnx__x:2,4;b:4'
$ tailor convert m.tir -o m.air '--input-shape=onnx::x:-1,4' --dynamic-batch-size=1,2 --summary=json 2>&1 | grep -o '"next.*'
> "next": "atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype --input_shape=onnx__x:-1,4 --dynamic_batch_size=1,2"}
$ tailor convert m.air -o n.air '--input-shape=nobody:2,4'
! m.air: error: node nobody: --input-shape: the model has no input named 'nobody' [E10016]
? 1
$ tailor convert m.air -o n.air '--input-shape=onnx::x:2,4'
! m.air: error: node onnx::x: --input-shape: the model has no input named 'onnx::x' [E10016]
!   hint: did you mean 'onnx__x'?
? 1
# indexes of Data nodes
$ printf 'name: "m"\ngraph {\n  name: "g"\n  op { name: "p" type: "Data" attr { key: "index" value { i: 1 } } output_desc { dtype: DT_FLOAT shape { dim: [2] } } }\n  op { name: "q" type: "Data" attr { key: "index" value { i: 0 } } output_desc { dtype: DT_FLOAT shape { dim: [2] } } }\n  op { name: "s" type: "Sub" input: "p:0" input: "q:0" input_desc { dtype: DT_FLOAT shape { dim: [2] } } input_desc { dtype: DT_FLOAT shape { dim: [2] } } output_desc { dtype: DT_FLOAT shape { dim: [2] } } }\n  op { name: "out" type: "NetOutput" input: "s:0" input_desc { dtype: DT_FLOAT shape { dim: [2] } } }\n}\n' >good.txt; tailor info good.txt | grep input
> input    q: f32[2]
> input    p: f32[2]
$ sed 's/i: 1/i: 0/' good.txt >twice.txt; tailor info twice.txt | grep input
> input    p: f32[2]
> input    q: f32[2]
! twice.txt: warning: the indexes of the 2 inputs are not 0 to 1, so they count for nothing: the inputs are taken in the order of the file, as atc does
$ sed 's/i: 1/i: 7/' good.txt >gap.txt; tailor info gap.txt | grep input
> input    p: f32[2]
> input    q: f32[2]
! gap.txt: warning: the indexes of the 2 inputs are not 0 to 1, so they count for nothing: the inputs are taken in the order of the file, as atc does
$ tailor convert gap.txt -o gap.air -q; tailor info gap.air | grep input
> input    p: f32[2]
> input    q: f32[2]
# more than protobuf's 2 GiB: read, and repaired when it is written
$ printf 'graph @g(%%x: f32[4]) -> (%%y) {\n  %%y = Relu(%%x)\n}\n' >r.tir; tailor convert r.tir -o r.air -q; printf 'def v(x): return bytes([x]) if x < 128 else bytes([x & 127 | 128]) + v(x >> 7)\nn = (2 << 30) + 64\nd = open("r.air", "rb").read() + v(1000 << 3 | 2) + v(n)\nwith open("big.air", "wb") as o:\n    o.write(d)\n    o.truncate(len(d) + n)\n' >grow.py; python3 grow.py; tailor info big.air | head -2; tailor convert big.air -o small.air -q -O0; cmp small.air r.air; rm big.air
> model    big.air
> form     npu
! big.air: warning: the file has 2147485338 bytes, and GE reads at most 2147483647
!   hint: convert it to AIR again: large weights then lie in files beside it
# A result has the type of the operands that must have the same, and no type without one: that of the condition is not guessed.
$ printf 'graph @g(%%m: bool[2], %%a, %%b) -> (%%y) {\n  %%y = Where(%%m, %%a, %%b) @w\n}\n' >u.tir; tailor convert u.tir -o u.air --summary=none; tailor opt u.air --passes= | grep Select | sed 's/ meta.*//'
>   %y = npu::SelectV2(%m, %a, %b) @w {original_type="ai.onnx::21::Where"}
! u.tir: warning: input 'a' has no element type, and what is computed from it may have none
!   hint: declare the type of the input in the model
! u.tir: warning: input 'b' has no element type, and what is computed from it may have none
!   hint: declare the type of the input in the model
