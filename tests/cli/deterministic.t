# deterministic=1: nodes whose kernels may add up in any order ask for the fixed one, in bodies too;
# others do not, whatever they compute.
$ printf 'module {\n  form npu\n}\ngraph @g(%%x: f32[2,3], %%w: f32[3,4], %%p: bool[]) -> (%%y, %%z) {\n  %%m = npu::MatMulV2(%%x, %%w, _, _) : f32[2,4]\n  %%y = npu::Relu(%%m) : f32[2,4]\n  %%z = npu::If(%%p, %%y) {then_branch=graph (%%a: f32[2,4]) -> (%%b) { const %%one = i64[1] [1] %%b = npu::ReduceSum(%%a, %%one) : f32[2] }, else_branch=graph (%%c: f32[2,4]) -> (%%d) { const %%two = i64[1] [1] %%d = npu::ReduceMax(%%c, %%two) : f32[2] }} : f32[2]\n}\n' >m.tir
$ echo '{"deterministic": 1}' >one.json; echo '{"deterministic": 0}' >zero.json
$ tailor opt m.tir --passes=deterministic-kernels --run-config=one.json -o y.tir; grep -o 'npu::[A-Z][A-Za-z0-9]*([^)]*) *{_det[^}]*}' y.tir
> npu::MatMulV2(%x, %w, _, _) {_deterministic="1"}
> npu::ReduceSum(%a, %one) {_deterministic="1"}
$ grep -c _deterministic y.tir
> 2
$ tailor opt m.tir --passes=deterministic-kernels --run-config=zero.json | grep -c _deterministic
> 0
? 1
# A second time changes nothing.
$ tailor opt y.tir --passes=deterministic-kernels --run-config=one.json | cmp - y.tir
# The AIR file has both, the option without a run configuration too; ONNX needs neither.
$ printf 'graph @g(%%x: f32[2,3], %%w: f32[3,4]) -> (%%y) {\n  %%y = MatMul(%%x, %%w)\n}\n' >n.tir
$ tailor convert n.tir -o n.air --deterministic=1 -q; grep -aoE '(ge|_)\.?deterministic' n.air
> _deterministic
> ge.deterministic
$ tailor convert n.tir -o n.air --deterministic=0 -q; grep -aoE '_deterministic' n.air
? 1
# An op without a kernel of a fixed order is told of, once for all of its nodes.
$ printf 'module {\n  form npu\n}\ngraph @g(%%x: f32[1,1,2,2], %%o: f32[1,1,4,4]) -> (%%y, %%z) {\n  %%y = npu::ResizeGradD(%%x) @first : f32[1,1,4,4]\n  %%z = npu::ResizeGradD(%%x) @second : f32[1,1,4,4]\n}\n' >r.tir
$ tailor opt r.tir --passes=deterministic-kernels --run-config=one.json -o r2.tir
! r.tir: warning: node first: ResizeGradD sums in any order and has no kernel with a fixed order, so results of 2 nodes may differ between runs despite deterministic=1 [W-DET-OP]
$ grep -c _deterministic r2.tir
> 0
? 1
