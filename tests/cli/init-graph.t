# Graphs of initial values beside steps of several ranks; loops of steps read back from ONNX.
$ printf 'graph @s(%%x: f32[1,2], %%t: f32[1,1], %%w: f32[2,1] = [1.0, 1.0], %%v: f32[2,1] = [0.0, 0.0], %%lr: f32[] = 0.125) -> (%%L, %%w.out, %%v.out) {\n  const %%two: f32[] = 2.0\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%ge = Mul(%%e, %%two)\n  %%xt = Transpose(%%x)\n  %%gw = MatMul(%%xt, %%ge)\n  %%vm = Mul(%%v, %%lr)\n  %%v.out = Add(%%vm, %%gw)\n  %%d = Mul(%%lr, %%v.out)\n  %%w.out = Sub(%%w, %%d)\n}\n' >s.tir
# One beside each file, whatever its form, and named in the summary.
$ tailor convert s.tir -o a.tir -o a.onnx -o a.air -o a.pbtxt --is-distributed=true --rank-size=2 --verify-each 2>&1 | grep -o 'wrote    [a-z.]*'; cat a.init.tir; grep -o 'op_type: "ge:Hcom.*' a.init.pbtxt
> wrote    a.tir
> wrote    a.onnx
> wrote    a.air
> wrote    a.pbtxt
> wrote    a.init.tir
> wrote    a.init.onnx
> wrote    a.init.air
> wrote    a.init.pbtxt
> module {
>   opset "" 21
>   opset "npu.hcom" 1
> }
>
> graph @s(%w: f32[2,1] = [1.0, 1.0]) -> (%w.out) {
>   %w.out = npu.hcom::HcomBroadcast(%w) @NPUOptimizer_Broadcast/w {group="hccl_world_group", fusion=2, fusion_id=0, root_rank=0} : f32[2,1]
>   state %w -> %w.out param
> }
> op_type: "ge:HcomBroadcast"
# All states; in the ONNX file they are states too, and what is read back is such a graph again.
$ tailor convert s.tir -o b.onnx --is-distributed=true --rank-size=2 --broadcast-states=1 --summary=none; tailor convert b.init.onnx -o c.tir --is-distributed=true --rank-size=2 --summary=none; ls c.*; grep -o 'Broadcast/.*fusion=2\|state.*' c.tir
> c.tir
> Broadcast/w {group="hccl_world_group", fusion=2
> Broadcast/v {group="hccl_world_group", fusion=2
> state %w -> %w.out param
> state %v -> %v.out
# None: one rank, no distribution, not wanted, no file, a parameter that nobody updates.
$ mkdir none; tailor convert s.tir -o none/1.onnx --is-distributed=true --rank-size=1 --summary=none; tailor convert s.tir -o none/2.onnx --graph-run-mode=1 --summary=none; tailor convert s.tir -o none/3.onnx --is-distributed=true --rank-size=4 --init-graph=0 --summary=none; tailor convert s.tir -o - --emit=tir --is-distributed=true --rank-size=4 --summary=none | grep -c Hcom; ls none
> 2
> 1.onnx
> 2.onnx
> 3.onnx
$ printf 'graph @g(%%w: f32[2], %%x: f32[2]) -> (%%g) {\n  %%g = Mul(%%w, %%x)\n  gradient %%w -> %%g\n}\n' >half.tir; tailor convert half.tir -o half.onnx --is-distributed=true --rank-size=4 --summary=none; ls half.*
> half.onnx
> half.tir
# Ranks that are known at run time only, and one rank that is told to.
$ tailor convert s.tir -o n.onnx --is-distributed=true --rank-size=0 --summary=none; tailor convert s.tir -o f.onnx --is-distributed=true --rank-size=1 --force-allreduce=1 --summary=none; ls [nf].init.onnx
> f.init.onnx
> n.init.onnx
# Names that are taken, inputs that would be overwritten; nothing is left of what fails.
$ tailor convert s.tir -o a.onnx -o a.init.onnx --is-distributed=true --rank-size=2
! tailor: error: --output: 'a.init.onnx' is named twice, once as the graph of initial values
? 1
$ cp a.onnx z.init.onnx; tailor convert z.init.onnx -o z.onnx --is-distributed=true --rank-size=2
! tailor: error: --output: 'z.init.onnx' is an input of this conversion and would be overwritten
? 1
$ printf 'graph @g(%%w: f32[2] = [1.0, 2.0], %%x: f32[2], %%s: str[] = "a") -> (%%w.out, %%s.out) {\n  %%g = Mul(%%w, %%x)\n  %%w.out = Sub(%%w, %%g)\n  %%s.out = Identity(%%s)\n  gradient %%w -> %%g\n  state %%w -> %%w.out\n  state %%s -> %%s.out\n}\n' >text.tir; tailor convert text.tir -o text.onnx --is-distributed=true --rank-size=4 --broadcast-states=1; ls text.*
> text.tir
! text.tir: error: node s: this state cannot be broadcast, because it is not a numeric tensor [E-INIT-TYPE]
!   hint: set --broadcast-states=0 and give it the same start value on all ranks
# Both variants have one graph of initial values.
$ sed 's/%lr: f32\[\] = 0.125)/%lr: f32[] = 0.125, %step: i64[])/' s.tir >v.tir; tailor convert v.tir -o v.onnx --is-distributed=true --rank-size=2 --accelerate-train-mode='fast|step|0.9' --observe-step=step --total-step=100 --summary=none; ls v.*
> v.high.onnx
> v.init.onnx
> v.low.onnx
> v.switch.json
> v.tir
! v.tir: warning: mixed_float16 lowers 2 nodes that may lose accuracy: `Sub->e` (`Square` takes differences of it), `Square->sq` (it squares numbers)
!   hint: --precision-policy=range keeps them in f32 and 'tailor explain' with it names them all; --precision-policy=none leaves this warning out
# A loop of steps that was written to ONNX is one when it is read; its initial values are those of the step.
$ tailor convert s.tir -o loop.onnx --is-distributed=true --rank-size=2 --iterations-per-loop=3 --summary=none; tailor convert loop.onnx -o again.onnx --is-distributed=true --rank-size=2 --iterations-per-loop=3 --summary=none; cmp loop.init.onnx again.init.onnx && tailor opt --passes=infer-shapes loop.onnx -o 1.tir && tailor opt --passes=infer-shapes again.onnx -o 2.tir && cmp 1.tir 2.tir; tailor convert loop.onnx -o loop.air --is-distributed=true --rank-size=2 --iterations-per-loop=3 --summary=none; ls loop*.air
> loop.air
> loop.init.air
