$ tailor ops LeakyRelu
> LeakyRelu (versions 1, 6, 16)
>   operand  X: T
>   result   Y: T
>   types    T: f32 f16 bf16 f64
>   attr     alpha: float = 0.01
>   chip     Ascend910B1, of the family Ascend910B
>   npu      LeakyRelu: always, attributes change
>            judged as LeakyRelu
>            gray under mixed precision; kernel ElemWise; pattern formatAgnostic; any shape
>            dtypes: f16>f16 f32>f32 bf16>bf16
>            from: ascend910b, legacy ops
>   from     leaky_relu_onnx_plugin.cpp (candidates and guards)
> npu::LeakyRelu
>   operand  x: float
>   result   y: float
>   types    float: f32 f16 bf16 f64
>   attr     negative_slope: float = 0.0
>   means    LeakyRelu (passes/definitions/npu_nn.tlr)
> LeakyRelu on Ascend910B1
>   input    x: f16 f32 bf16
>   output   y: f16 f32 bf16
>   attr     negative_slope: f = 0.0
>   gray under mixed precision; kernel ElemWise; pattern formatAgnostic; any shape
>   dtypes: f16>f16 f32>f32 bf16>bf16
>   from: ascend910b, legacy ops
$ tailor ops LeakyRelu --json
> [
>  {"domain": "", "name": "LeakyRelu", "since": [1, 6, 16], "npu": [{"type": "LeakyRelu", "guard": "always", "lowering": "attributes change", "judged": "LeakyRelu", "on_chip": true, "from": "leaky_relu_onnx_plugin.cpp", "info": {"type": "LeakyRelu", "colour": "gray", "inputs": [{"name": "x", "kind": "required", "dtypes": ["f16", "f32", "bf16"]}], "outputs": [{"name": "y", "kind": "required", "dtypes": ["f16", "f32", "bf16"]}], "attributes": [{"name": "negative_slope", "kind": "f", "required": false, "default": "0.0"}], "pattern": "formatAgnostic", "kernel": "ElemWise", "heavy": false, "dynamic_shape": true, "no_kernel": false, "table": "ascend910b", "file": "legacy", "dtypes_from": "the published operator library"}}]},
>  {"domain": "npu", "name": "LeakyRelu", "since": [], "npu": []},
>  {"type": "LeakyRelu", "colour": "gray", "inputs": [{"name": "x", "kind": "required", "dtypes": ["f16", "f32", "bf16"]}], "outputs": [{"name": "y", "kind": "required", "dtypes": ["f16", "f32", "bf16"]}], "attributes": [{"name": "negative_slope", "kind": "f", "required": false, "default": "0.0"}], "pattern": "formatAgnostic", "kernel": "ElemWise", "heavy": false, "dynamic_shape": true, "no_kernel": false, "table": "ascend910b", "file": "legacy", "dtypes_from": "the published operator library"}
> ]
$ tailor ops Leakyrelu
! tailor: error: the op table has no 'Leakyrelu'
!   hint: did you mean LeakyRelu?
? 1
$ tailor ops | grep -c .  >n; test $(cat n) -gt 150
$ tailor ops --json | /usr/bin/python3 -c 'import json,sys; print(len(json.load(sys.stdin)) > 150)'
> True
$ tailor passes --json | /usr/bin/python3 -c 'import json,sys; print([p["name"] for p in json.load(sys.stdin)][:3])'
> ['op-names', 'input-shapes', 'freeze-inputs']
$ tailor --version | head -1
> tailor 0.1.0
$ for d in man bash zsh markdown passes ops; do tailor --generate=$d >out && test -s out || echo $d; done
$ tailor --generate=bash >out && bash -n out
# Completion offers the options used most as long as no letter of one is typed, then all of them.
$ tailor --generate=bash >script
$ bash -c '. ./script; COMP_WORDS=(tailor convert "$0"); COMP_CWORD=2; _tailor 2>/dev/null; echo ${COMPREPLY[@]}' --
> --model= --output= --framework= --soc-version= --input-shape= --input-format= --out-nodes= --dynamic-dims= --insert-op-conf= --enable-small-channel= --precision-mode= --op-select-implmode= --output-type= --fusion-switch-file= --log= --help-all
$ bash -c '. ./script; COMP_WORDS=(tailor convert "$0"); COMP_CWORD=2; _tailor 2>/dev/null; echo ${COMPREPLY[@]}' --dep
> --depfile= --deps-json=
# Values that are names of something: chips, passes, fusions, ops; the last one of a list. Names of
# options may be spelled with underscores.
$ printf '. ./script\nCOMP_WORDS=(tailor "$@"); COMP_CWORD=$#; _tailor 2>/dev/null; printf "%%s\\n" "${COMPREPLY[@]}"\n' >complete; bash complete convert --soc-version = Ascend310P | tr '\n' ' '
> Ascend310P Ascend310P1 Ascend310P2 Ascend310P3 Ascend310P4 Ascend310P5 Ascend310P7
$ bash complete convert --soc_version = Ascend910B4 | tr '\n' ' '
> Ascend910B4 Ascend910B4-1
$ bash complete convert --soc_ver
> --soc_version=
$ bash complete convert --precision_mode = allow_mix | tr '\n' ' '
> allow_mix_precision allow_mix_precision_fp16 allow_mix_precision_bf16
$ bash complete opt --passes = fold-constants,dead | tr '\n' ' '
> fold-constants,dead-nodes
$ bash complete opt --print-after = infer
> infer-shapes
$ bash complete passes --fusion = AABiasadd
> AABiasaddConvFusion
$ bash complete convert --disable-scope-fusion-passes = Scope | head -1
> ScopeBasicLSTMCellPass
$ bash complete ops Conv | tr '\n' ' '
> Conv ConvInteger ConvTranspose Conv2D Conv2DBackpropFilter Conv2DBackpropInput Conv2DTranspose Conv2DTransposeD Conv3D Conv3DTranspose Conv3DTransposeD Conv3DTransposeV2
$ bash complete explain --type = Relu,Conv | tr '\n' ' '
> Relu,Conv Relu,ConvInteger Relu,ConvTranspose
$ bash complete convert --soc-version = nochip
>
$ bash complete convert --no_such
>
# A value may follow a blank; that of an option which needs none does not. Types of NPU ops.
$ bash complete convert --soc_version Ascend310P3; bash complete opt --passes dead-nodes,fold-c; bash complete convert --precision_mode_v2 mixed_f; bash complete convert --optypelist-for-implmode = SoftmaxV; bash complete ops MatMulV
> Ascend310P3
> dead-nodes,fold-constants
> mixed_float16
> SoftmaxV2
> SoftmaxV2WithDropOutDoMaskV3D
> MatMulV2
> MatMulV3
$ touch file.onnx; bash complete explain --print-after file; bash complete run --npu file
> file.onnx
> file.onnx
$ cd /; bash -c '. "$0"/script; COMP_WORDS=(tailor convert --op-name-map = /et); COMP_CWORD=4; _tailor 2>/dev/null; echo ${COMPREPLY[@]}' "$OLDPWD"
> /etc
$ tailor --generate=man | sed -n '/^.SS The options of convert used most/,/^.SS Input/p' | grep -c '^.TP'
> 15
# Help on an option is about that option, wherever the row stands.
$ for c in convert opt explain run verify simulate-ranks; do tailor help $c --help-all; done | tr -s ' \n' ' ' | grep -oiE 'the (next|previous) (one|option|key)|that report'
? 1
