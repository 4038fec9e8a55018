# Spellings: dashes, underscores, one dash or two, value attached or not.
$ tailor convert m.onnx -o m.air --dry-run
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert --model=m.onnx --output=m --framework=5 --soc_version=Ascend310P3 --dry-run
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
$ tailor convert -model m.onnx -output m -soc_version=Ascend310P3 --input-shape 'x:1,3' --dry-run
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
$ tailor convert m.onnx -o a.air -o b.onnx -ob.tir -o=c.pbtxt --dry-run
! options are valid: m.onnx -> a.air (air), b.onnx (onnx), b.tir (tir), c.pbtxt (pbtxt); 0 recorded for the device compiler
$ tailor convert m.onnx -o net_v1.5 -O2 --dry-run
! options are valid: m.onnx -> net_v1.5.air (air); 0 recorded for the device compiler
$ tailor convert m.onnx -o x --emit=onnx --dry-run
! options are valid: m.onnx -> x (onnx); 0 recorded for the device compiler
$ tailor convert --dry-run -o m.air -- -odd-name.onnx
! options are valid: -odd-name.onnx -> m.air (air); 0 recorded for the device compiler
# Mistakes.
$ tailor convert
! tailor: error: no input model is named [E10004]
!   hint: tailor convert MODEL -o OUTPUT
? 1
$ tailor convert m.onnx
! tailor: error: no output is named [E10004]
!   hint: add -o OUTPUT, for example -o model.air
? 1
$ tailor convert m.onnx -o
! tailor: error: --output: needs a value [E10054]
!   hint: write --output=FILE
? 1
$ tailor convert m.onnx -o out/
! tailor: error: --output: 'out/' names a folder, a file name must follow [E10022]
? 1
$ tailor convert m.onnx -o a.air -o a.air --dry-run
! tailor: error: --output: 'a.air' is named twice
? 1
$ tailor convert m.onnx -o m.air --input_shap=x:1
! tailor: error: unknown option '--input_shap=x:1'
!   hint: did you mean --input-shape?
? 1
$ tailor convert m.onnx -o m.air --op_precision=x --out_node=y
! tailor: error: unknown option '--op_precision=x'
!   hint: did you mean --op-precision-mode?
! tailor: error: unknown option '--out_node=y'
!   hint: did you mean --out-nodes?
? 1
$ tailor convert m.onnx -o m.air --passes=cse
! tailor: error: '--passes=cse' is not an option of 'tailor convert'
!   hint: 'tailor help convert' lists its options
? 1
$ tailor convert m.onnx -o m.air --dry-run=1
! tailor: error: --dry-run: takes no value, '1' was given
? 1
$ tailor convert m.onnx -o m.air --emit=om
! tailor: error: --emit: 'om' is not one of air|onnx|tir|pbtxt [E10001]
? 1
$ tailor convert m.onnx -o m.air -O3
! tailor: error: --opt-level: '3' is not one of 0|1|2 [E10001]
? 1
$ tailor convert m.onnx -o m.air --rewrite-limit=-1
! tailor: error: --rewrite-limit: '-1' is not an integer in 0..9223372036854775807 [E10001]
? 1
$ tailor convert m.onnx other.onnx -o m.air
! tailor: error: stray argument 'other.onnx'
!   hint: one model is read at a time; outputs are named with -o: -o other.onnx, and of several models with -o 'DIR/{}.air'
? 1
$ tailor convert --model=m.onnx --output= m --soc_version= Ascend310
! tailor: error: --output: the value is empty [E10054]
!   hint: write --output=VALUE without blanks around '=', and quote values that contain ';' or blanks
! tailor: error: --soc-version: the value is empty [E10054]
!   hint: write --soc-version=VALUE without blanks around '=', and quote values that contain ';' or blanks
! tailor: error: stray argument 'm'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
! tailor: error: stray argument 'Ascend310'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor convert m.onnx -o m.air --log=loud --dry-run
! tailor: error: --log: 'loud' is not one of null|debug|info|warning|error [E10010]
? 1
$ tailor opt --print-after=nothing m.tir
! tailor: error: --print-after: 'nothing' is not a pass
!   hint: 'tailor passes' lists them
? 1
$ tailor opt m.tir -o m.air
! tailor: error: --output: opt writes tir and onnx, 'm.air' would be air
!   hint: use 'tailor convert'
? 1
# Artefacts of scripts.
$ tailor convert --model=m.onnx --output=m --soc_version=Ascend310P3"$(printf '\r')" ' ' --dry-run
! tailor: warning: ignored an argument of blanks
!   hint: a line of the script has a blank after '\', or Windows line ends
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
$ tailor convert --model=m.onnx --output=m --log=debug --log=error --dry-run
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert --model=m.onnx --output=m --log=warning --input_format=ND --input_format=NCHW --dry-run
! tailor: warning: --input-format: given twice; 'NCHW' counts, 'ND' does not
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.onnx -o m.air --atc-exit --passes=cse
! tailor: error: '--passes=cse' is not an option of 'tailor convert'
!   hint: 'tailor help convert' lists its options
? 255
