# Training model and optimizer model of ONNX Runtime's artifacts (docs/training.md).
$ printf 'graph @train(%%x: f32[8,3], %%w: f32[3,4], %%b: f32[4], %%w_grad.accumulation.buffer: f32[3,4], %%b_grad.accumulation.buffer: f32[4], %%lazy: bool[1]) -> (%%loss, %%w_done, %%b_done) {\n  const %%axes = i64[1] [0]\n  %%h = MatMul(%%x, %%w)\n  %%y = Add(%%h, %%b)\n  %%loss = ReduceMean(%%y) {keepdims=0}\n  %%xt = Transpose(%%x) {perm=[1, 0]}\n  %%w_grad = MatMul(%%xt, %%y)\n  %%b_grad = ReduceSum(%%y, %%axes) {keepdims=0}\n  %%w_done = com.microsoft::InPlaceAccumulatorV2(%%w_grad.accumulation.buffer, %%w_grad, %%lazy)\n  %%b_done = com.microsoft::InPlaceAccumulatorV2(%%b_grad.accumulation.buffer, %%b_grad, %%lazy)\n}\n' >train.tir
$ printf 'graph @adamw(%%learning_rate: f32[1], %%step: i64[1], %%params: seq(f32[*]), %%gradients: seq(f32[*]), %%m: seq(f32[*]), %%v: seq(f32[*])) -> (%%updated) {\n  %%updated = com.microsoft::AdamWOptimizer(%%learning_rate, %%step, %%params, %%gradients, %%m, %%v) @AdamW : bool[1]\n}\n' >optim.tir
$ tailor info --train --train-model train.tir --optim-model optim.tir
> form     artifacts
> loss     loss
> seed     -
> params   2 with a gradient, 0 frozen; gradients 64 bytes
>      0  dense   b: f32[4]  gradient b_grad (ReduceSum)  update b.out (AdamWOptimizer)  states b.m, b.v
>      1  dense   w: f32[3,4]  gradient w_grad (MatMul)  update w.out (AdamWOptimizer)  states w.m, w.v
>   state   w_grad.accumulation.buffer -> w_grad.accumulation.buffer.out
>   state   b_grad.accumulation.buffer -> b_grad.accumulation.buffer.out
> nodes    3 forward, 3 backward, 10 update, 3 other
# The same from ONNX, for several ranks.
$ tailor opt train.tir -o train.onnx -q; tailor opt optim.tir -o optim.onnx -q
$ tailor opt --train-model train.onnx --optim-model=optim.onnx --passes=infer-shapes,train-detect,grad-allreduce --is-distributed=true --rank-size=2 | grep -c '= npu.hcom::HcomAllReduce'
> 2
$ tailor opt --train-model train.tir --optim-model=optim.onnx --passes= | grep -c AdamWOptimizer
> 1
$ tailor convert --train-model train.onnx --optim-model optim.onnx -o step.onnx --verify-each --depfile step.d -q; tailor info step.onnx --train | head -n 1; cat step.d
> form     plain
> step.onnx: \
>  train.onnx \
>  optim.onnx
$ tailor convert --train-model train.onnx --optim-model optim.onnx -o step.air --verify-each -q
# what was written is compared with both together
$ tailor convert --train-model train.onnx --optim-model optim.onnx -o step.air --verify -q | sed -n '1p; /differs/p'
> step.air against train.onnx
$ tailor simulate-ranks --train-model train.tir --optim-model optim.tir -n 2 --steps 2 | tail -n 2
> states are the same bits on all ranks
> initial values of 2 states: those of rank 0 on all ranks
# Each model alone is a half.
$ tailor info --train --train-model train.tir | tail -n 3
>      0  dense   b: f32[4]  gradient b_grad (ReduceSum)  update - (-)
>      1  dense   w: f32[3,4]  gradient w_grad (MatMul)  update - (-)
> nodes    3 forward, 3 backward, 2 update, 0 other
$ tailor opt --optim-model optim.tir
! optim.tir: error: lists of parameters are updated, and it is not known which parameters they hold [E-TRN-NONE]
!   hint: give the training model, too: --train-model FILE --optim-model FILE
? 2
# Which parameters the lists are of, in which order, can be said.
$ printf '{"params": ["b"]}' >b.json; tailor info --train --train-model train.tir --optim-model optim.tir --train-spec=b.json | grep -e dense -e state
>      0  dense   b: f32[4]  gradient b_grad (ReduceSum)  update b.out (AdamWOptimizer)  states b.m, b.v
>   state   w_grad.accumulation.buffer -> w_grad.accumulation.buffer.out
>   state   b_grad.accumulation.buffer -> b_grad.accumulation.buffer.out
$ printf '{"params": ["b", "w"]}' >bw.json; tailor opt --train-model train.tir --optim-model optim.tir --train-spec=bw.json --passes= | grep params.list | head -n 1
>   %params.list = SequenceConstruct(%b, %w) @params.list : seq(f32[*])
$ printf '{"params": ["c"]}' >c.json; tailor info --train --train-model train.tir --optim-model optim.tir --train-spec=c.json
! train.tir: error: tailor.train.params: the training model has no gradient of 'c' [E-TRN-NOTENSOR]
? 2
$ printf '{"params": ["b", "b"]}' >bb.json; tailor info --train --train-model train.tir --optim-model optim.tir --train-spec=bb.json
! train.tir: error: tailor.train.params: 'b' is given twice [E-TRN-DUP]
? 2
# One input, no other.
$ tailor info train.tir --train --train-model train.tir
! tailor: error: --train-model: names the input, and so does 'train.tir' [E-OPT-CONFLICT]
!   hint: --train-model FILE --optim-model FILE are the whole step
? 1
$ tailor convert --model=train.onnx --optim-model optim.onnx -o step.onnx
! tailor: error: --optim-model: names the input, and so does 'train.onnx' [E-OPT-CONFLICT]
!   hint: --train-model FILE --optim-model FILE are the whole step
? 1
$ tailor run --train-model train.onnx
! tailor: error: '--train-model' is not an option of 'tailor run'
!   hint: 'tailor help run' lists its options
? 1
# The optimizer model goes wrong.
$ tailor convert --train-model train.onnx --optim-model none.onnx -o never.onnx; test ! -e never.onnx
! none.onnx: error: cannot open 'none.onnx': No such file or directory
$ printf 'abc' >bad.onnx; tailor convert --train-model train.onnx --optim-model bad.onnx -o never.onnx; test ! -e never.onnx
! bad.onnx: error: malformed ModelProto (at byte 1)
!   hint: the file is damaged, truncated, or not an ONNX model
$ tailor info --train --train-model train.tir --optim-model train.tir
! train.tir: error: the optimizer model has no node that updates parameters, such as AdamWOptimizer or SGDOptimizerV2 [E-TRN-LINK]
!   hint: name others by update_ops of --train-spec
? 2
$ tailor info --train --train-model optim.tir --optim-model optim.tir
! optim.tir: error: the training model has no gradients [E-TRN-LINK]
!   hint: expected inputs named PARAMETER_grad.accumulation.buffer, or outputs called PARAMETER_grad
? 2
$ sed 's/params: seq(f32/params: seq(f64/' optim.tir >f64.tir; tailor info --train --train-model train.tir --optim-model f64.tir
! f64.tir: error: node w: is f64 in the optimizer model and f32 in the training model [E-TRN-DTYPE]
? 2
$ sed 's/^graph/module {\n  opset "" 22\n}\ngraph/' optim.tir >newer.tir; tailor opt newer.tir -o newer.onnx -q; tailor opt --train-model train.onnx --optim-model newer.onnx --passes=
! newer.onnx: error: the two models have opset 22 and 21 after they were lifted
!   hint: export both with the same opset, at most 21
? 3
$ tailor opt --train-model train.tir --optim-model newer.tir --passes=
! newer.tir:2:12: error: opset 22 contradicts opset 21, which the same domain has in the other model
? 3
$ sed 's/AdamWOptimizer(%learning_rate/SGDOptimizerV2(%learning_rate/; s/, %gradients, %m, %v)/)/; s/%step, //' optim.tir >few.tir; tailor info --train --train-model train.tir --optim-model few.tir
! few.tir: error: node AdamW: has 2 operands, needs 3 to 4 (counts check)
? 2
