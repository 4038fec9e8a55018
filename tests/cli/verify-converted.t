# convert --verify: what was written is read back and compared with the model.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Abs(%%x)\n  %%b = Exp(%%a)\n  %%y = Add(%%b, %%x)\n}\n' >m.tir
$ tailor convert m.tir -o m.air -o m.onnx --verify --summary=none | grep -v tolerance
> m.air against m.tir
> 1 of 1 inputs are random (seed 0)
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> 1 tensors have the same name, 0 of them differ
> m.onnx against m.tir
> 1 of 1 inputs are random (seed 0)
> equal   "y": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> 3 tensors have the same name, 0 of them differ
# 60000 + 60000 is more than a half holds: the files are there, the exit status says that they differ.
$ sed 's/Exp(%a)/Add(%a, %k)/; s/%y = Add(%b, %x)/%y = Add(%b, %b)/; s/  %a =/  const %k: f32[] = 60000.0\n&/' m.tir >big.tir
$ tailor convert big.tir -o big.air --verify --summary=none --precision-mode=force_fp16 >log; echo $?; grep -c 'differs "y"' log; ls big.air
> 5
> 1
> big.air
$ tailor convert m.tir -o n.air --verify --dry-run
! options are valid: m.tir -> n.air (air); 0 recorded for the device compiler
$ tailor convert m.tir -o - --verify
! tailor: error: --verify: needs files: the model is read again, and so is what was written
? 1
$ tailor convert m.tir -o n.air --verify --accelerate-train-mode='fast|step' --observe-step=step --total-step=5; ls n.air
! tailor: error: --verify: cannot be combined with --accelerate-train-mode, which writes two models
!   hint: compare each by tailor verify
! ls: cannot access 'n.air': No such file or directory
? 2
# An op of the user's has no meaning here: the file is there, and the message says why it was not
# compared.
$ printf 'graph @g(%%x: f32[2,4]) -> (%%y) {\n  %%a = Relu(%%x)\n  %%y = ai.onnx::Thing(%%a) @t {k=1} : f32[2,4]\n}\n' >cu.tir; tailor convert cu.tir -o cu.air --summary=none --allow-custom-ops=Thing --verify
> cu.air against cu.tir
! cu.tir: warning: 1 op type outside of Tailor's tables: Thing x1 ('t'): kernel of the user's package [W_CUSTOM_OP]
!   hint: atc needs the package installed
! cu.tir: error: the evaluator has no kernel for Thing ('t')
!   hint: hand the model to another runtime (tailor verify --runner)
! cu.air: warning: the file is complete; it was not compared, since not all ops can be run here
!   hint: a file of --rules may define what they mean (docs/rules.md), for the model and for npu:: ops of AIR; without --verify the command ends with 0
? 3
$ sed 's/ai.onnx::Thing/acme::Thing/' cu.tir >ac.tir; printf 'rules 1\n\ndefine acme::Thing(%%x) {$_k} { %%y = Mul(%%x, const 2.0) return %%y }\ndefine npu::Thing(%%x) {$_k} { %%y = Mul(%%x, const 2.0) return %%y }\n' >thing.tlr; tailor convert ac.tir -o ac.air -q --allow-unmapped; tailor verify ac.tir ac.air --rules=thing.tlr | grep equal
> equal   "y": 0 of 8 elements differ, max abs 0, max rel 0, cosine 1
# a scalar is clipped by a list of one element, which ONNX allows: it stays a scalar
$ printf 'graph @g(%%x: f32[], %%lo: f32[1]) -> (%%y) {\n  const %%hi: f32[1] = [2.0]\n  %%y = Clip(%%x, %%lo, %%hi) : f32[]\n}\n' >scalar.tir; tailor convert scalar.tir -o scalar.air -q; tailor verify scalar.tir scalar.air | grep equal
> equal   "y": 0 of 1 elements differ, max abs 0, max rel 0, cosine 1
