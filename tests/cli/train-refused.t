# Training steps that cannot be: each is refused with what is wrong, and nothing is written.
$ printf 'graph @g(%%x: f32[1,2], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[] = 0.1) -> (%%L, %%w_new) {\n  %%y = MatMul(%%x, %%w)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%gw = Transpose(%%x) {perm=[1, 0]}\n  %%d = Mul(%%gw, %%lr)\n  %%w_new = Sub(%%w, %%d)\n}\n' >step.tir
$ tailor convert step.tir -o out.air -q --is-distributed=true --rank-size=4 && ls out.* && rm out.*
> out.air
> out.init.air
# Control edges in a circle, in a file where an edge may name what comes later.
$ sed 's/  %d = Mul(%gw, %lr)/  %d = Mul(%gw, %lr) @d meta "tailor.ctrl_in" "last"/; s/Sub(%w, %d)/Sub(%w, %d) @last/' step.tir >cycle.tir; tailor opt -O0 cycle.tir -o cycle.onnx; tailor convert cycle.onnx -o out.air --is-distributed=true --rank-size=4
! cycle.onnx: error: nodes depend on each other in a cycle: d -> last -> d
? 2
# Gradients of an integer type, and of another shape; tensors and states that are not there, or twice.
$ sed 's/f32/i32/g; s/1\.0/1/g; s/0\.1/1/' step.tir >int.tir; printf '{"grads": {"w": "gw"}}' >gw.json; tailor convert int.tir -o out.air --is-distributed=true --rank-size=4 --train-spec=gw.json
! int.tir: error: node w: its gradient 'gw' has element type i32, gradients are floats [E-TRN-DTYPE]
? 2
$ printf '{"grads": {"w": "L"}}' >shape.json; tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --train-spec=shape.json
! step.tir: error: node w: its gradient 'L' has another shape [E-TRN-SHAPE]
? 2
$ printf '{"grads": {"w": "nothing"}}' >none.json; tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --train-spec=none.json
! step.tir: error: tailor.train.grads: the graph has no tensor 'nothing' [E-TRN-NOTENSOR]
? 2
$ printf '{"state": [["w", "w_next"]]}' >state.json; tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --train-spec=state.json
! step.tir: error: tailor.train.state: the graph has no tensor 'w_next' [E-TRN-NOTENSOR]
!   hint: do you mean 'w_new'?
? 2
$ printf '{"state": [["w", "w_new"], ["w", "L"]]}' >twice.json; tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --train-spec=twice.json
! step.tir: error: tailor.train.state: 'w' is given twice [E-TRN-DUP]
? 2
# Numbers of ranks.
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=-1
! tailor: error: --rank-size: rank_size is an integer in 0..1048576, not '-1' [E-OPT-RANGE]
? 1
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=99999999999999999999
! tailor: error: --rank-size: rank_size is an integer in 0..1048576, not '99999999999999999999' [E-OPT-RANGE]
? 1
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=2 --verify-ranks=1000000
! tailor: error: --verify-ranks: verify_ranks is an integer in 0..64, not '1000000' [E-OPT-RANGE]
? 1
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --verify-ranks=3
! step.tir: error: verify_ranks is 3, but rank_size, the divisor of means, is 4 [E-OPT-CONFLICT]
? 1
$ tailor simulate-ranks step.tir -n 1000000
! tailor: error: --ranks: '1000000' is not an integer in 1..64 [E10001]
? 1
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --wus=1
! step.tir: error: 4 ranks cannot share the updates of 1 gradients [E-WUS-RANKS]
? 1
# Groups of more than 127 bytes: by option, and in the model.
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --group=$(printf 'g%.0s' $(seq 128))
! tailor: error: --group: the name has 128 bytes, more than 127 [E-OPT-RANGE]
? 1
$ sed "s/= Mul(%gw, %lr)/= Mul(%s, %lr)/; s/  %d =/  %s = npu.hcom::HcomAllReduce(%gw) @long {group=\"$(printf 'g%.0s' $(seq 128))\", reduction=\"sum\"}\n  %d =/" step.tir >long.tir; tailor convert long.tir -o out.air --is-distributed=true --rank-size=4
! long.tir: error: node long: the name of the group of ranks has 128 bytes, expected 1 to 127 [E-AR-GROUP]
? 2
# Options that contradict each other.
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --is-tailing-optimization=true --optimizer-is-tailing-optimization=false
! tailor: error: --optimizer-is-tailing-optimization: is false in NPUOptimizer and true in NPURunConfig [E-TAIL-MISMATCH]
!   hint: write the same in both
? 1
$ tailor convert step.tir -o out.air --is-loss-scale=true
! tailor: error: --is-loss-scale: needs loss_scale_manager [E-LS-NOMGR]
? 1
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --bucket-strategy=size
! tailor: error: --bucket-strategy: size needs --bucket-sizes [E-OPT-CONFLICT]
? 1
$ tailor convert step.tir -o out.air --is-distributed=true --rank-size=4 --stream-sync-timeout=5
! tailor: error: --stream-sync-timeout: 5 milliseconds do not exceed hccl_timeout, which is in seconds [E-OPT-CONFLICT]
!   hint: give more, or -1 for no limit
? 1
$ tailor convert step.tir -o out.air --iterations-per-loop=3 --total-step=10
! tailor: error: --iterations-per-loop: the number of all steps, 10, is not a multiple of the 3 steps of a run [E-LOOP-DIV]
? 1
$ ls | grep -c "^out"
> 0
? 1
# A gradient that is not told reaches a parameter: refused by name, until a line of --train-spec tells of it.
$ printf 'graph @g(%%x: f32[8,3], %%t: f32[8,2], %%v: f32[3,4] = hex("%s"), %%w: f32[4,2] = hex("%s"), %%lr: f32[] = 0.1) -> (%%L, %%w.new, %%v.new) {\n  const %%k: f32[] = 0.125\n  %%h = MatMul(%%x, %%v)\n  %%y = MatMul(%%h, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%ge = Mul(%%e, %%k)\n  %%ht = Transpose(%%h) {perm=[1, 0]}\n  %%gw = MatMul(%%ht, %%ge)\n  %%wt = Transpose(%%w) {perm=[1, 0]}\n  %%gh = MatMul(%%ge, %%wt)\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%gv = MatMul(%%xt, %%gh)\n  %%dw = Mul(%%gw, %%lr)\n  %%w.new = Sub(%%w, %%dw)\n  %%v.new = com.acme::Step(%%v, %%gv, %%lr) : f32[3,4]\n}\n' $(printf '0000803f%.0s' $(seq 12)) $(printf '0000003f%.0s' $(seq 8)) >acme.tir; tailor convert acme.tir -o out.onnx -q --is-distributed=true --rank-size=4
! acme.tir: error: node v: a gradient that is not summed over ranks reaches its next value 'v.new', which would differ between ranks: x -> h -> y -> e -> ge -> gh -> gv -> v.new [E-TRN-LOCAL]
!   hint: name its gradient in --train-spec: {"state": [["v", "v.new"]], "grads": {"v": "gv"}}; if each rank is to have its own, list the parameters without it: {"params": ...}
? 3
$ tailor convert acme.tir -o out.onnx -q --is-distributed=true --rank-size=4 --train-spec=$(printf '{"grads": {"v": "gv"}}' >v.json; echo v.json) && tailor opt out.onnx --passes= | grep -c AllReduce; rm out.onnx out.init.onnx
> 3
$ tailor convert acme.tir -o out.onnx -q --is-distributed=true --rank-size=4 --train-spec=$(printf '{"params": ["w"]}' >w.json; echo w.json) && tailor opt out.onnx --passes= | grep -c AllReduce; rm out.onnx out.init.onnx
> 2
$ sed 's/%v.new = com.*/%n = ReduceSumSquare(%gh) {keepdims=0}\n  %q = Div(%gv, %n)\n  %u = Mul(%q, %lr)\n  %v.new = Sub(%v, %u)/' acme.tir >norm.tir; tailor convert norm.tir -o out.onnx -q --is-loss-scale=true --loss-scale-manager=torch_amp
! norm.tir: error: node v: the scaled loss reaches its next value 'v.new' without being unscaled: tlr.ls.scale -> tlr.ls.seed -> gh -> n -> q -> u -> v.new [E-TRN-SCALED]
!   hint: its gradient 'gv' is divided by the scale; compute the rest from gradients of parameters, too, or name another gradient of it in --train-spec: {"grads": ...}
? 3
# A list as the next value of a tensor: no pass can step it.
$ printf 'graph @g(%%x: f32[2], %%w: f32[2]) -> (%%L, %%u) {\n  %%y = Mul(%%x, %%w)\n  %%L = ReduceSum(%%y) {keepdims=0}\n  %%u = Sub(%%w, %%x)\n  %%s = SequenceConstruct(%%u, %%w)\n  state %%w -> %%s\n}\n' >list.tir; tailor info list.tir --train
! list.tir: error: node w: it and its declared next value, 's', are not both tensors [E-TRN-NOTENSOR]
? 2
