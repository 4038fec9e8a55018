# --input-shape
$ tailor convert m.onnx -o m.air --dry-run --input-shape='a:1,3,224,224; b: -1, 2~8 ; c:;d:e:7;'
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --input-shape=1,3
! tailor: error: --input-shape: '1,3' is not of the form NAME:D,D,... [E10002]
!   hint: several inputs are joined by ';'
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:1,0
! tailor: error: --input-shape: dim '0' of input 'a' is not a positive integer, -1 or A~B [E10011]
!   hint: write a size such as 224, or 1~8 for bounds
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:1,99999999999999999999
! tailor: error: --input-shape: dim '99999999999999999999' of input 'a' is not a positive integer, -1 or A~B [E10011]
!   hint: write a size such as 224, or 1~8 for bounds
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape='image:{batch size},3'
! tailor: error: --input-shape: dim '{batch size}' of input 'image' is not a positive integer, -1 or A~B [E10011]
!   hint: this looks like a placeholder that was not replaced
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape='image:$｛bs｝,3'
! tailor: error: --input-shape: dim '$｛bs｝' of input 'image' is not a positive integer, -1 or A~B [E10011]
!   hint: this looks like a placeholder that was not replaced
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape='image：1,3'
! tailor: error: --input-shape: 'image：1,3' is not of the form NAME:D,D,... [E10002]
!   hint: it contains a full-width character; ASCII ':' ',' ';' and digits are expected
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape='a:1;a:2'
! tailor: error: --input-shape: input 'a' is named twice [E10002]
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:8~2
! tailor: error: --input-shape: dim '8~2' of input 'a' is not a positive integer, -1 or A~B [E10011]
!   hint: write a size such as 224, or 1~8 for bounds
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape-range='image:[1~32,3,1~1500,-1]'
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:1 --input-shape-range='a:[1]'
! tailor: error: --input-shape: cannot be combined with --input-shape-range [E10047]
? 1
# --out-nodes, --op-name-map, --soc-version
$ tailor convert m.onnx -o m.air --dry-run --out-nodes='/a/Conv:0;b:1'
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --out-nodes='dets;labels'
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --out-nodes='dets;b:0'
! tailor: error: --out-nodes: 'b:0' mixes the forms NODE:INDEX and NAME [E10001]
!   hint: use one form for all
? 1
$ printf 'MyConv:Conv\r\n# note\n\nA : B' >map; tailor convert m.onnx -o m.air --dry-run --op-name-map=map
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
$ printf 'MyConv:Conv\nfoo\n' >map; tailor convert m.onnx -o m.air --dry-run --op-name-map=map
! map:2:1: error: 'foo' is not of the form FROM:TO [E10003]
? 1
$ tailor convert m.onnx -o m.air --dry-run --op-name-map=missing
! missing: error: cannot open 'missing': No such file or directory
? 4
$ tailor convert m.onnx -o m.air --dry-run --soc-version='Ascend${chip}'
! tailor: error: --soc-version: 'Ascend${chip}' is not the name of a chip [E10001]
!   hint: this looks like a placeholder that was not replaced
? 1
$ tailor convert m.onnx -o m.air --dry-run --soc-version=A100
! tailor: error: --soc-version: 'A100' is not the name of a chip [E10001]
!   hint: 'npu-smi info' shows it; examples: Ascend910B1, Ascend310P3
? 1
$ tailor convert m.onnx -o m.air --dry-run --soc-version=AscendXYZ
! tailor: error: --soc-version: 'AscendXYZ' is not the name of a chip [E10001]
!   hint: 'npu-smi info' shows it; examples: Ascend910B1, Ascend310P3
? 1
$ tailor convert m.onnx -o m.air --dry-run --soc-version=310P3
! tailor: error: --soc-version: '310P3' is not the name of a chip [E10001]
!   hint: did you mean Ascend310P3? 'npu-smi info' shows it
? 1
$ tailor convert m.onnx -o m.air --dry-run --soc-version=ascend910b4-1
! options are valid: m.onnx -> m.air (air); 1 recorded for the device compiler
# dynamic profiles
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,3 --dynamic-batch-size=1,2,4
! options are valid: m.onnx -> m.air (air); 2 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:1,3 --dynamic-batch-size=1,2,4
! tailor: error: --dynamic-batch-size: --input-shape has no dim of -1 that the profiles could fill [E10031]
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,3 --dynamic-batch-size=1
! tailor: error: --dynamic-batch-size: number of profiles is 1, 2 to 256 are possible [E10035]
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,3 --dynamic-batch-size=1,x
! tailor: error: --dynamic-batch-size: 'x' is not a list of positive integers [E10018]
!   hint: items are joined by ','
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,-1 --input-format=ND --dynamic-dims='1,2; 3,4;'
! options are valid: m.onnx -> m.air (air); 2 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,-1 --dynamic-dims='1,2;3,4'
! tailor: error: --dynamic-dims: needs --input-format=ND, the format is NCHW [E10003]
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,-1 --input-format=ND --dynamic-dims='1,2;3'
! tailor: error: --dynamic-dims: profile '3' has 1 value(s), 2 expected: one for each -1 of --input-shape [E10045]
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:-1,-1 --input-format=ND --dynamic-dims='1,2;1,2'
! tailor: error: --dynamic-dims: profile '1,2' occurs twice [E10039]
? 1
$ tailor convert m.onnx -o m.air --dry-run --input-shape=a:1,3,-1,-1 --dynamic-image-size='1,2;3,4' --dynamic-dims='1;2'
! tailor: error: --dynamic-image-size: cannot be combined with --dynamic-dims [E10009]
? 1
