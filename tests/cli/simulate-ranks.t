# tailor simulate-ranks: steps of several ranks against one on all batches.
$ printf 'graph @s(%%x: f32[n,2], %%t: f32[n,1], %%w: f32[2,1] = [1.0, 1.0], %%lr: f32[] = 0.125) -> (%%L, %%w.out) {\n  const %%two: f32[] = 2.0\n  const %%r: i64[1] = [0]\n  const %%one: f32[] = 1.0\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%sh = Shape(%%sq)\n  %%n = ReduceProd(%%sh) {keepdims=0}\n  %%nf = Cast(%%n) {to=1}\n  %%k = Div(%%two, %%nf)\n  %%ge = Mul(%%e, %%k)\n  %%xt = Transpose(%%x)\n  %%gw = MatMul(%%xt, %%ge)\n  %%d = Mul(%%lr, %%gw)\n  %%w.out = Sub(%%w, %%d)\n}\n' >s.tir
$ tailor simulate-ranks s.tir -n 2 --exact --steps 2 --dim n=4
> 2 ranks, 2 steps
> state  kind       largest  max abs  relative  verdict
> "w"    parameter  0.9376   0        0         identical
> loss 1.258 -> 1.099, relative to the joined batch off by 2.369e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
$ tailor simulate-ranks s.tir -n 4 --exact --dim n=2 --json
> {"schema": 1, "equal": true, "ranks": 4, "steps": 1, "skipped": 0,
>  "ranks_identical": true, "states_broadcast": 1, "loss": {"first": 1.8994272015988827, "last": 1.8994272015988827, "max_rel": 1.3728892807942988e-08},
>  "states": [
>   {"name": "w", "parameter": true, "equal": true, "step": 0, "largest": 0.8614264130592346, "max_abs": 0.0, "relative": 0.0}]}
$ tailor simulate-ranks s.tir -n 1 --exact --rtol=0 --atol=0 --is-loss-scale=true --loss-scale-manager=torch_amp
> 1 rank, 1 step
> state  kind       largest  max abs  relative  verdict
> "w"    parameter  1.029    0        0         identical
> loss 0.03183 -> 0.03183, relative to the joined batch off by 0
> states are the same bits on all ranks
$ tailor simulate-ranks s.tir -n 2 --exact --steps 2 --atol=0 --is-loss-scale=true --loss-scale-manager='{"type":"torch_amp","init_scale":3e38}'
> 2 ranks, 2 steps, 2 of them skipped for overflow
> state  kind       largest  max abs  relative  verdict
> "w"    parameter  1        0        0         identical
> loss 0.8291 -> 1.995, relative to the joined batch off by 2.987e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
# The size of the batch is a constant of the model: the joined batch needs a model of its own.
$ sed 's/%nf = Cast.*/%nf = Identity(%two)/; s/%L = ReduceMean(%sq) {keepdims=0}/%s = ReduceSum(%sq) {keepdims=0}\n  %L = Div(%s, %two)/' s.tir >two.tir; tailor simulate-ranks two.tir -n 2 --exact --dim n=2; sed 's/const %two: f32\[\] = 2.0/const %two: f32[] = 2.0\n  const %four: f32[] = 4.0/; s/Identity(%two)/Identity(%four)/; s/Div(%s, %two)/Div(%s, %four)/' two.tir >four.tir; tailor simulate-ranks two.tir -n 2 --exact --dim n=2 --joined four.tir
> 2 ranks, 1 step
> state  kind       largest  max abs  relative  verdict
> "w"    parameter  0.7879   0.1128   0.1431    differs from step 1 on
> loss 1.652 -> 1.652, differs from the joined batch by 0.5
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
> the loss of the joined batch is 2 times that of a rank: the model seems to have a constant batch size; give the step for the joined batch with --joined
> 2 ranks, 1 step
> state  kind       largest  max abs   relative   verdict
> "w"    parameter  0.894    5.96e-08  6.667e-08  equal
> loss 1.652 -> 1.652, relative to the joined batch off by 3.608e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
$ tailor simulate-ranks
! tailor: error: no model is named
!   hint: tailor simulate-ranks MODEL -n RANKS
? 1
$ tailor simulate-ranks s.tir -n 65
! tailor: error: --ranks: '65' is not an integer in 1..64 [E10001]
? 1
$ tailor simulate-ranks s.tir -n 2 --exact --rank-size=4
! tailor: error: --rank-size: is not the number of ranks that -n asks for [E-OPT-CONFLICT]
? 1
$ tailor simulate-ranks s.tir -n 2 --exact --is-distributed=false
! tailor: error: --is-distributed: is false, so the ranks would not communicate [E-OPT-CONFLICT]
? 1
$ tailor simulate-ranks s.tir --graph-run-mode=0
! tailor: error: --graph-run-mode: is 0: a graph for inference has no steps [E-OPT-CONFLICT]
? 1
$ tailor simulate-ranks s.tir --average=none
! tailor: error: --average: is none, so sums over ranks are not means of their batches [E-OPT-CONFLICT]
? 1
$ tailor simulate-ranks s.tir --iterations-per-loop=2
! s.tir: error: verify_ranks needs one step a run, iterations_per_loop is 2 [E-OPT-CONFLICT]
? 1
$ tailor simulate-ranks s.tir --rtol=-1
! tailor: error: --rtol: '-1' is not a number of at least 0
? 1
$ tailor simulate-ranks s.tir --steps=0
! tailor: error: --steps: '0' is not an integer in 1..1000000 [E10001]
? 1
# No states, gradients of integers, a joined model of another batch.
$ printf 'graph @s(%%x: f32[2]) -> (%%y) {\n  %%y = Neg(%%x)\n}\n' >none.tir; tailor simulate-ranks none.tir
! none.tir: error: no parameter with a gradient and an update was recognised [E-TRN-NONE]
!   hint: declare them: metadata tailor.train.*, or --train-spec; a model for inference is converted with --graph-run-mode=0
? 2
$ printf 'graph @s(%%x: i32[2], %%w: i32[2]) -> (%%w.out) {\n  %%g = Mul(%%x, %%x)\n  %%w.out = Sub(%%w, %%g)\n  gradient %%w -> %%g\n  state %%w -> %%w.out\n}\n' >int.tir; tailor simulate-ranks int.tir
! int.tir: error: node w: its gradient 'g' has element type i32, gradients are floats [E-TRN-DTYPE]
? 2
$ sed 's/f32\[n,/f32[3,/g' s.tir >three.tir; tailor simulate-ranks s.tir -n 2 --exact --dim n=2 --joined three.tir
! tailor: error: --joined: input 'x' of 'three.tir' does not take the batches of 2 ranks
? 1
# Gradients of several batches are accumulated before the update: the buffers of ranks are alike, or each rank has its own, of which the update reads the mean.
$ printf 'graph @s(%%x: f32[n,2], %%t: f32[n,1], %%w: f32[2,1] = [1.0, 1.0], %%acc: f32[2,1] = [0.0, 0.0], %%v: f32[2,1] = [0.0, 0.0], %%count: i64[] = 0) -> (%%L, %%w.out, %%acc.out, %%v.out, %%count.out) {\n  const %%two: f32[] = 2.0\n  const %%four: i64[] = 4\n  const %%one: i64[] = 1\n  const %%zero: f32[] = 0.0\n  const %%lr: f32[] = 0.125\n  %%y = MatMul(%%x, %%w)\n  %%e = Sub(%%y, %%t)\n  %%sq = Mul(%%e, %%e)\n  %%L = ReduceMean(%%sq) {keepdims=0}\n  %%sh = Shape(%%sq)\n  %%n = ReduceProd(%%sh) {keepdims=0}\n  %%nf = Cast(%%n) {to=1}\n  %%k = Div(%%two, %%nf)\n  %%ge = Mul(%%e, %%k)\n  %%xt = Transpose(%%x)\n  %%gw = MatMul(%%xt, %%ge)\n  %%quarter = Mul(%%gw, %%lr)\n  %%sum = Add(%%acc, %%quarter)\n  %%count.out = Add(%%count, %%one)\n  %%left = Mod(%%count.out, %%four)\n  %%last = Equal(%%left, %%one)\n  %%acc.out = Where(%%last, %%zero, %%sum)\n  %%vm = Mul(%%v, %%lr)\n  %%vn = Add(%%vm, %%sum)\n  %%v.out = Where(%%last, %%vn, %%v)\n  %%d = Mul(%%lr, %%v.out)\n  %%wn = Sub(%%w, %%d)\n  %%w.out = Where(%%last, %%wn, %%w)\n  gradient %%w -> %%gw\n  state %%w -> %%w.out\n  state %%acc -> %%acc.out\n  state %%v -> %%v.out\n  state %%count -> %%count.out\n  loss %%L\n}\n' >acc.tir; for s in accum boundary; do tailor simulate-ranks acc.tir -n 4 --exact --dim n=2 --steps 9 --ar-site=$s; done; tailor simulate-ranks acc.tir -n 2 --exact --dim n=2 --steps 9 --ar-site=boundary --accumulation-steps=4 --is-loss-scale=true --loss-scale-manager='{"type":"torch_amp","init_scale":3e38}' --is-distributed=true --rank-size=2 --is-tailing-optimization=true
> 4 ranks, 9 steps
> state    kind       largest  max abs  relative  verdict
> "w"      parameter  0.9827   0        0         identical
> "acc"    state      0        0        0         identical
> "v"      state      0.1523   0        0         identical
> "count"  state      1        0        0         identical
> loss 1.899 -> 1.017, relative to the joined batch off by 7.325e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
> 4 ranks, 9 steps
> state    kind       largest  max abs   relative  verdict
> "w"      parameter  0.9827   0         0         identical
> "acc"    mean       0.2329   2.98e-08  1.28e-07  equal
> "v"      state      0.1523   0         0         identical
> "count"  state      1        0         0         identical
> loss 1.899 -> 1.017, relative to the joined batch off by 7.325e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
> 2 ranks, 9 steps, 1 of them skipped for overflow
> state    kind       largest  max abs    relative   verdict
> "w"      parameter  1        0          0          identical
> "acc"    mean       0.09077  7.451e-09  8.208e-08  equal
> "v"      state      0.1927   1.49e-08   7.732e-08  equal
> "count"  state      0        0          0          identical
> loss 1.652 -> 0.8885, relative to the joined batch off by 4.448e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
# Outputs that are no states: rows of a batch, a mean, a sum, and a norm, which each rank has of its own batch. What may be the next value of an input has to be the same on all ranks.
$ sed 's/%w.out) {/%w.out, %e, %mean, %rows, %norm) {/; s/  %d = Mul/  %mean = ReduceMean(%e) {keepdims=0}\n  %rows = ReduceSum(%e) {keepdims=0}\n  %norm = ReduceL2(%e) {keepdims=0}\n  %d = Mul/' s.tir >out.tir; tailor simulate-ranks out.tir -n 2 --exact --steps 2 --dim n=4; sed 's/%lr: f32\[\] = 0.125/%lr: f32[] = 0.125, %held: f32[2,2] = [0.0, 0.0, 0.0, 0.0]/; s/%norm) {/%square) {/; s/  %norm = .*/  %u = Transpose(%x)\n  %square = MatMul(%u, %x)/' out.tir >alike.tir; tailor simulate-ranks alike.tir -n 2 --exact --dim n=4
> 2 ranks, 2 steps
> state   kind       largest  max abs    relative   verdict
> "w"     parameter  0.9376   0          0          identical
> "e"     output     1.794    0          0          identical
> "mean"  output     0.4331   2.98e-08   6.881e-08  equal
> "rows"  output     3.465    2.384e-07  6.881e-08  equal
> "norm"  output     3.172    0.9474     0.2987     each rank's own
> loss 1.258 -> 1.099, relative to the joined batch off by 2.369e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
> 2 ranks, 1 step
> state     kind       largest  max abs  relative  verdict
> "w"       parameter  0.9376   0        0         identical
> "e"       output     1.794    0        0         identical
> "mean"    output     0.1484   0        0         identical
> "rows"    output     1.187    0        0         identical
> "square"  output     2.956    1.883    0.6369    differs from step 1 on
> loss 1.258 -> 1.258, relative to the joined batch off by 2.369e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
? 5
# A step that overflows leaves counters and buffers as they were, and the next one goes on from there.
$ sed 's/%lr: f32\[\] = 0.125/%lr: f32[] = 0.125, %micro: i64[] = 3, %acc: f32[2,1] = [0.5, 0.25]/; s/%w.out) {/%w.out, %count, %sum) {\n  const %next: i64[] = 1\n  const %four: i64[] = 4\n  const %none: i64[] = 0\n  const %zeros: f32[2,1] = [0.0, 0.0]/; s/  %d = Mul(%lr, %gw)/  %m = Add(%micro, %next)\n  %due = Equal(%m, %four)\n  %count = Where(%due, %none, %m)\n  %all = Add(%acc, %gw)\n  %sum = Where(%due, %zeros, %all)\n  %d = Mul(%lr, %all)/; s/%w.out = Sub(%w, %d)/%w1 = Sub(%w, %d)\n  %w.out = Where(%due, %w1, %w)/' s.tir >acc.tir; tailor simulate-ranks acc.tir -n 2 --exact --steps 3 --dim n=4 --is-loss-scale=true --loss-scale-manager='{"type":"torch_amp","init_scale":3e38}'; tailor simulate-ranks acc.tir -n 2 --exact --steps 6 --dim n=4 --is-loss-scale=true --loss-scale-manager=torch_amp
> 2 ranks, 3 steps, 1 of them skipped for overflow
> state    kind       largest  max abs  relative  verdict
> "w"      parameter  1        0        0         identical
> "micro"  state      3        0        0         identical
> "acc"    state      0.5      0        0         identical
> loss 1.258 -> 0.4508, relative to the joined batch off by 4.874e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
> 2 ranks, 6 steps
> state    kind       largest  max abs   relative   verdict
> "w"      parameter  0.8751   0         0          identical
> "micro"  state      0        0         0          identical
> "acc"    state      0.06496  1.49e-08  2.294e-07  equal
> loss 1.258 -> 0.2159, relative to the joined batch off by 5.331e-08
> states are the same bits on all ranks
> initial values of 1 state: those of rank 0 on all ranks
# Options that name inputs: a frozen rate gives what the rate as default gave above; shapes are those of one rank.
$ sed 's/%lr: f32\[\] = 0.125/%lr: f32[]/' s.tir >rate.tir; tailor simulate-ranks rate.tir -n 2 --exact --steps 2 --dim n=4 --freeze lr=0.125 | sed -n 3,4p; tailor simulate-ranks rate.tir -n 2 --exact --steps 2 --input-shape='x:4,2;t:4,1' --freeze lr=0.125 | sed -n 3,4p
> "w"    parameter  0.9376   0        0         identical
> loss 1.258 -> 1.099, relative to the joined batch off by 2.369e-08
> "w"    parameter  0.9376   0        0         identical
> loss 1.258 -> 1.099, relative to the joined batch off by 2.369e-08
$ tailor simulate-ranks rate.tir -n 2 --freeze rate=0.1
! rate.tir: error: node rate: --freeze: the model has no input named 'rate' [E10016]
!   hint: the inputs are: "x", "t", "w", "lr"
? 1
