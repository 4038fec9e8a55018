# --freeze: an input becomes a constant, in every command that reads a model. What it decides is then
# gone: the other branch, and what only fed it.
$ printf '%s\n' 'graph @g(%x: f32[n,4], %mode: i64[], %mask: f32[1,4]) -> (%y) {' '  const %one: i64[] = 1' '  %c = Equal(%mode, %one)' '  %y = If(%c) {' '    then_branch=graph @t() -> (%a) {' '      %a = Add(%x, %mask)' '    },' '    else_branch=graph @e() -> (%b) {' '      %b = MatMul(%x, %x)' '    }' '  }' '}' >m.tir
$ tailor opt m.tir -o - --freeze mode=1 -q
> graph @g(%x: f32[n,4], %mask: f32[1,4]) -> (%y) {
>   %y = Add(%x, %mask) : f32[n,4]
> }
$ tailor opt m.tir -o - --freeze mode=0 -q
> graph @g(%x: f32[n,4], %mask: f32[1,4]) -> (%y) {
>   %y = MatMul(%x, %x) : f32[n,4]
> }
# several: repeated, or joined by ';'; from a .npy file
$ tailor opt m.tir -o - --freeze mode=1 --freeze 'mask=[[0,1,0,1]]' -q
> graph @g(%x: f32[n,4]) -> (%y) {
>   const %mask: f32[1,4] = [0.0, 1.0, 0.0, 1.0]
>   %y = Add(%x, %mask) : f32[n,4]
> }
$ tailor opt m.tir -o - --freeze 'mode=1; mask=[[0,1,0,1]]' -q
> graph @g(%x: f32[n,4]) -> (%y) {
>   const %mask: f32[1,4] = [0.0, 1.0, 0.0, 1.0]
>   %y = Add(%x, %mask) : f32[n,4]
> }
$ printf 'graph @k() -> (%%v) {\n  const %%c: f32[1,4] = [0.5, 1.0, 2.0, 3.0]\n  %%v = Add(%%c, %%c)\n}\n' >k.tir; tailor run k.tir -o . --format npy >run.txt; tailor opt m.tir -o - --freeze 'mode=1;mask=output_0.npy' -q
> graph @g(%x: f32[n,4]) -> (%y) {
>   const %mask: f32[1,4] = [1.0, 2.0, 4.0, 6.0]
>   %y = Add(%x, %mask) : f32[n,4]
> }
$ tailor convert m.tir -o m.air --freeze mask=output_0.npy --depfile m.d --summary=none; cat m.d
> m.air: \
>  m.tir \
>  output_0.npy
# a branch that cannot run stops nothing; one that can does, and the options are named
$ tailor convert m.tir -o m.air --freeze mode=1 --input-shape=x:3,4 --summary=none
! m.tir: warning: node If->y: the else branch cannot run, since the condition is always true; in it "MatMul->b": the inner sizes are 4 and 3, expected the same ("x": f32[3,4], "x": f32[3,4])
!   hint: this depends on options: --input-shape sets "x", --freeze sets "mode"
$ tailor convert m.tir -o n.air --freeze mode=0 --input-shape=x:3,4 --summary=none
! m.tir: error: node MatMul->b: the inner sizes are 4 and 3, expected the same ("x": f32[3,4], "x": f32[3,4])
!   hint: this depends on options: --input-shape sets "x", --freeze sets "mode"
? 2
$ ls n.air 2>&1
> ls: cannot access 'n.air': No such file or directory
? 2
$ tailor run m.tir --freeze mode=1 --input-shape=x:3,4 -q | grep -o '"y".*4]'
> "y"     f32[3,4]
$ tailor run m.tir --input-shape=x:2,4 --freeze 'mode=[1,2]'
! m.tir: error: node mode: --freeze: the input is i64[], the value given is [2] [E10049]
? 1
$ tailor run m.tir --input mode=random --freeze mode=1
! tailor: error: --input: --freeze makes input 'mode' a constant
!   hint: give one of the options
? 1
$ tailor verify m.tir --npu --freeze mode=1 --input-shape=x:3,4 -q
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.192e-07 max|b| (1 rounding to f32)
> equal   "y": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
> 1 tensors have the same name, 0 of them differ
# a second model that was made with the option lacks the input, another one has it
$ tailor opt m.tir -o n.onnx --freeze mode=1 -q; tailor verify m.tir n.onnx --freeze mode=1 -q
> 2 of 2 inputs are random (seed 0); dims without a size are 1 (--dim)
> tolerance 1e-07 + 0.001 |b| + 1.192e-07 max|b| (1 rounding to f32)
> equal   "y": 0 of 4 elements differ, max abs 0, max rel 0, cosine 1
> 1 tensors have the same name, 0 of them differ
$ tailor verify m.tir m.tir --freeze mode=1 --input-shape=x:1,4 -q
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 1.192e-07 max|b| (1 rounding to f32)
> equal   "y": 0 of 4 elements differ, max abs 0, max rel 0, cosine 1
> 2 tensors have the same name, 0 of them differ
$ tailor verify m.tir n.onnx --freeze mood=1 -q
! m.tir: error: node mood: --freeze: the model has no input named 'mood' [E10016]
!   hint: the inputs are: "x", "mode", "mask"
? 1
$ tailor info m.tir --freeze mode=1 | grep -e input -e NPU -e Add
> input    x: f32[n,4]
> input    mask: f32[1,4]
>          1  Add
> NPU types (after clean-up and expansion)
>          1  Add
> every op has an NPU form
$ tailor info m.tir --freeze x=1
! m.tir: error: node x: --freeze: the input is f32[n,4], the value given is [] [E10049]
? 1
$ tailor explain m.tir --freeze mode=1 --expand
> nothing was expanded, and there was no near miss
# what is refused before a model is read
$ tailor convert m.onnx -o m.air --dry-run --freeze 'a=1;b=[1,2];c=[[1,2],[3,4]];d=[]'
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --freeze mode
! tailor: error: --freeze: 'mode' is not of the form NAME=VALUE [E10002]
!   hint: several inputs are joined by ';'
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze =1
! tailor: error: --freeze: '=1' is not of the form NAME=VALUE [E10002]
!   hint: several inputs are joined by ';'
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze mode=
! tailor: error: --freeze: 'mode=' is not of the form NAME=VALUE [E10002]
!   hint: the value is a number, a list such as [1,2,3], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze mode=mask.pb
! tailor: error: --freeze: 'mask.pb' in the value of input 'mode' is no number [E10002]
!   hint: write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze 'mode=${MODE}'
! tailor: error: --freeze: '${MODE}' in the value of input 'mode' is no number [E10002]
!   hint: this looks like a placeholder that was not replaced
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze mode=1 --freeze mode=2
! tailor: error: --freeze: input 'mode' is named twice [E10002]
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze 'mode=[1,2'
! tailor: error: --freeze: the value of input 'mode' lacks ']' [E10002]
!   hint: write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze 'mode=[1,,2]'
! tailor: error: --freeze: the value of input 'mode' lacks an element [E10002]
!   hint: write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze 'mode=[[1,2],[3]]'
! tailor: error: --freeze: the value of input 'mode' has lists of different lengths [E10002]
!   hint: write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze 'mode=[1,[2]]'
! tailor: error: --freeze: the value of input 'mode' mixes numbers and lists [E10002]
!   hint: write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze 'mode=[1]]'
! tailor: error: --freeze: the value of input 'mode' goes on behind its end [E10002]
!   hint: write a number, a list such as [1,2,3] or [[1,2],[3,4]], or the path of a .npy file
? 1
$ tailor convert m.onnx -o m.air --dry-run --freeze mode=absent.npy
! absent.npy: error: cannot open 'absent.npy': No such file or directory
? 4
$ tailor run m.tir --freeze mode=1 --input mode=2
! tailor: error: --input: --freeze makes input 'mode' a constant
!   hint: give one of the options
? 1
$ /usr/bin/python3 -c 'import struct; h = "{\"descr\": \"<f8\", \"fortran_order\": False, \"shape\": (1, 4), }".ljust(117) + "\n"; open("f8.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(h)) + h.encode() + bytes(32))'; tailor run m.tir --freeze mode=1 --freeze mask=f8.npy
! m.tir: error: node mask: --freeze: the input is f32[1,4], the value given is f64[1,4] [E10049]
!   hint: save the array in f32
? 1
$ tailor ops Add --freeze mode=1
! tailor: error: '--freeze' is not an option of 'tailor ops'
!   hint: 'tailor help ops' lists its options
! tailor: error: stray argument 'mode=1'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
