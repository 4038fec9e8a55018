# Scope fusion (docs/rules.md, "Scopes"): switches, a scope of one's own, what is told of it.
$ printf 'graph @g(%%x: f32[2,3,4], %%gamma: f32[4], %%beta: f32[4]) -> (%%y) {\n  const %%axes: i64[1] = [-1]\n  const %%eps: f32[] = 0.001\n  %%m = ReduceMean(%%x, %%axes) @enc/ln/moments/mean {keepdims=1}\n  %%d = Sub(%%x, %%m) @enc/ln/moments/SquaredDifference\n  %%p = Mul(%%d, %%d) @enc/ln/moments/SquaredDifference__7\n  %%v = ReduceMean(%%p, %%axes) @enc/ln/moments/variance {keepdims=1}\n  %%e = Add(%%v, %%eps) @enc/ln/batchnorm/add\n  %%s = Sqrt(%%e) @enc/ln/batchnorm/Rsqrt\n  %%r = Reciprocal(%%s) @enc/ln/batchnorm/Rsqrt__8\n  %%k = Mul(%%r, %%gamma) @enc/ln/batchnorm/mul\n  %%n = Mul(%%x, %%k) @enc/ln/batchnorm/mul_1\n  %%t = Mul(%%m, %%k) @enc/ln/batchnorm/mul_2\n  %%o = Sub(%%beta, %%t) @enc/ln/batchnorm/sub\n  %%y = Add(%%n, %%o) @enc/ln/batchnorm/add_1\n}\n' >ln.tir; grep -c @enc ln.tir
> 12
$ tailor opt ln.tir --verify-numerics -o out.onnx --fusion-result=result.json; cat result.json
> {
>     "session_and_graph_id_0_0": {
>         "scope_fusion": {
>             "ScopeLayerNormPass": {
>                 "effect_times": "1",
>                 "match_times": "1"
>             }
>         }
>     }
> }
! verified 2 rewrites by rules: none changes results more than its class allows
$ tailor verify ln.tir out.onnx
> 3 of 3 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 3.954e-07 max|b| (11 roundings to f32)
> equal   "y": 0 of 24 elements differ, max abs 1.192e-07, max rel 1.082e-06, cosine 1
> 1 tensors have the same name, 0 of them differ
> tensor  op                  off  max abs    max rel    cosine  verdict
> "y"     LayerNormalization  0    1.192e-07  1.082e-06  1       equal
# A general pass runs, and runs at level O1 too; it is off when it is named.
$ tailor explain ln.tir --fusion=ScopeLayerNormPass
> ScopeLayerNormPass: 1 fused, 0 not
>   fused  ScopeLayerNorm: `enc/ln/moments/mean`, `enc/ln/moments/SquaredDifference` ..., `enc/ln/batchnorm/add_1` (11 nodes) became LayerNormalization
$ tailor explain ln.tir --fusion=ScopeLayerNormPass -O1 | head -1
> ScopeLayerNormPass: 1 fused, 0 not
$ tailor explain ln.tir --fusion=ScopeLayerNormPass --disable_scope_fusion_passes=ScopeLayerNormPass
> ScopeLayerNormPass: 0 fused, 1 not
>   not    ScopeLayerNorm: `enc/ln/batchnorm/add_1`: SWITCH_OFF: the pattern fits, but the rule is off: --disable-scope-fusion-passes
$ tailor explain ln.tir --fusion=ScopeLayerNormPass --fusion-switch-file=none.cfg
! none.cfg: error: cannot open the switch file: No such file or directory [E21001]
? 4
$ printf 'ALL:off\nScopeLayerNormPass:off\n' >none.cfg; tailor explain ln.tir --fusion=ScopeLayerNormPass --fusion-switch-file=none.cfg
> ScopeLayerNormPass: 1 fused, 0 not
>   fused  ScopeLayerNorm: `enc/ln/moments/mean`, `enc/ln/moments/SquaredDifference` ..., `enc/ln/batchnorm/add_1` (11 nodes) became LayerNormalization
! none.cfg:2:1: warning: 'ScopeLayerNormPass' is a scope pass, which a switch file cannot switch [W_FUSION_WRONG_SECTION]
!   hint: --fusion=ScopeLayerNormPass:off switches it off
$ sed 's,enc/ln,enc/resblock,' ln.tir >res.tir; tailor explain res.tir --fusion=ScopeLayerNormPass
> ScopeLayerNormPass: 0 fused, 1 not
>   not    ScopeLayerNorm: `enc/resblock/batchnorm/add_1`: SCOPE: `/enc/resblock` has a name that the rule excepts
$ sed 's,/moments/,/statistics/,' ln.tir >other.tir; tailor explain other.tir --fusion=ScopeLayerNormPass
> ScopeLayerNormPass: 0 fused, 1 not
>   not    ScopeLayerNorm: `enc/ln/batchnorm/add_1`: SCOPE: `/enc/ln` has no scope `moments` with these nodes right inside
$ tailor explain ln.tir --fusion=ScopeLayerNormPass --json
> [
>  {"pass": "ScopeLayerNormPass", "fused": 1, "not": 0, "events": [
>   {"rule": "ScopeLayerNorm", "effect": true, "node": "enc/ln/LayerNormalization", "made": "LayerNormalization", "pattern_nodes": 11, "nodes": ["enc/ln/moments/mean", "enc/ln/moments/SquaredDifference", "enc/ln/moments/SquaredDifference__7", "enc/ln/moments/variance", "enc/ln/batchnorm/add", "enc/ln/batchnorm/Rsqrt", "enc/ln/batchnorm/mul", "enc/ln/batchnorm/mul_1", "enc/ln/batchnorm/mul_2", "enc/ln/batchnorm/sub", "enc/ln/batchnorm/add_1"]}]}
> ]
# Names: blanks and empty items do not count, a general pass may be named, unknown ones are told.
$ tailor passes --fusion --enable_scope_fusion_passes=' ScopeInstanceNormPass,, ScopeLayerNormPass' | grep -E 'Scope(Instance|Layer)NormPass '
> ScopeInstanceNormPass                                        scope    off      yes            1      on    --enable-scope-fusion-passes
> ScopeLayerNormPass                                           scope    on       no             1      on    --enable-scope-fusion-passes; general
$ tailor passes --fusion --ge.exec.enableScopeFusionPasses=ScopeInstanceNormPas | grep 'ScopeInstanceNormPass '
> ScopeInstanceNormPass                                        scope    off      yes            1      off   off by default
! tailor: warning: --enable-scope-fusion-passes: no scope fusion is named 'ScopeInstanceNormPas' [W_FUSION_UNKNOWN_PASS]
!   hint: did you mean ScopeInstanceNormPass?
$ tailor convert ln.tir -o ln.air --dry-run --enable_scope_fusion_passes=ScopeClipBoxPass,ConvBatchnormFusionPass,Elephant
! tailor: warning: --enable-scope-fusion-passes: no scope fusion is named 'ConvBatchnormFusionPass' [W_FUSION_UNKNOWN_PASS]
!   hint: it is a graph pass: use --fusion
! tailor: warning: --enable-scope-fusion-passes: no scope fusion is named 'Elephant' [W_FUSION_UNKNOWN_PASS]
!   hint: 'tailor passes --fusion' lists them
! tailor: warning: --enable-scope-fusion-passes: no scope fusion is named 'ScopeClipBoxPass' [W_FUSION_UNKNOWN_PASS]
!   hint: did you mean ScopeClipBoxesPass?
! options are valid: ln.tir -> ln.air (air); 0 recorded for the device compiler
$ tailor convert --strict ln.tir -o ln.air --dry-run --enable_scope_fusion_passes=Elephant
! tailor: error: --enable-scope-fusion-passes: no scope fusion is named 'Elephant' [E10001]
!   hint: 'tailor passes --fusion' lists them
? 1
$ tailor convert ln.tir -o ln.air --dry-run --enable_scope_fusion_passes=Elephant --strict 1
! tailor: error: --enable-scope-fusion-passes: no scope fusion is named 'Elephant' [E10001]
!   hint: 'tailor passes --fusion' lists them
? 1
$ tailor convert ln.tir -o ln.air --dry-run --enable_scope_fusion_passes=
! tailor: error: --enable-scope-fusion-passes: the value is empty [E10054]
!   hint: write --enable-scope-fusion-passes=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
$ printf '{"enable_scope_fusion_passes": ["ScopeInstanceNormPass", "Elephant"]}' >run.json; tailor convert ln.tir -o ln.air --dry-run --run-config=run.json
! run.json:1:2: warning: enable_scope_fusion_passes: no scope fusion is named 'Elephant' [W_FUSION_UNKNOWN_PASS]
!   hint: 'tailor passes --fusion' lists them
! options are valid: ln.tir -> ln.air (air); 0 recorded for the device compiler
$ tailor convert ln.tir -o ln.air --dry-run --enable_scope_fusion_passes=ScopeROIAlignPass
! tailor: warning: --enable-scope-fusion-passes: this version has no rule for 'ScopeROIAlignPass': TensorFlow control flow only: exporters write CropAndResize as a loop over boxes [W_FUSION_NO_RULES]
!   hint: a rule file can capture a scope as an op of your own: docs/rules.md
! options are valid: ln.tir -> ln.air (air); 0 recorded for the device compiler
$ tailor passes --fusion | grep -E 'Scope(LayerNorm|ROIAlign|LayerNormGrad)Pass '
> ScopeLayerNormGradPass                                       scope    on       no             0      on    cannot be switched off; general; no rules: TensorFlow training graphs only, which no exporter writes; steps have graph passes
> ScopeLayerNormPass                                           scope    on       no             1      on    cannot be switched off; general
> ScopeROIAlignPass                                            scope    off      yes            0      off   off by default; no rules: TensorFlow control flow only: exporters write CropAndResize as a loop over boxes
$ tailor passes --fusion --json | grep -E 'Scope(LayerNorm|ROIAlign)Pass"'
>  {"name": "ScopeLayerNormPass", "kind": "scope", "default": true, "may_be_off": false, "rules": 1, "on": true, "why": "cannot be switched off", "general": true},
>  {"name": "ScopeROIAlignPass", "kind": "scope", "default": false, "may_be_off": true, "rules": 0, "on": false, "why": "off by default", "general": false, "lacks": "TensorFlow control flow only: exporters write CropAndResize as a loop over boxes"},
# Worked example 44: a fusion that is not general runs when it is named, on chips that have its op, for dtypes that it takes.
$ printf 'graph @g(%%b: f32[n,4]) -> (%%y) {\n  const %%zero: f32[] = 0.0\n  const %%edge: f32[4] = [1333.0, 800.0, 1333.0, 800.0]\n  %%m = Max(%%b, %%zero) @fastrcnn/clip_boxes/Maximum\n  %%y = Min(%%m, %%edge) @fastrcnn/clip_boxes/fastrcnn_all_boxes\n}\n' >boxes.tir; tailor opt boxes.tir --soc-version=Ascend310P3 | grep -c ClipBoxes
> 0
? 1
$ tailor opt boxes.tir --soc-version=Ascend310P3 --enable_scope_fusion_passes=ScopeClipBoxesPass | grep -o 'tl::.*) @[^ ]*'
> tl::ClipBoxes(%b, %y/const) @fastrcnn/clip_boxes/ClipBoxes
$ tailor opt boxes.tir --npu --soc-version=Ascend310P3 --precision-mode=force_fp16 --enable_scope_fusion_passes=ScopeClipBoxesPass | grep -o 'npu::ClipBoxes.*) @[^ ]*'
> npu::ClipBoxes(%b_to_float16, %y/const) @fastrcnn/clip_boxes/ClipBoxes
$ tailor opt boxes.tir --npu --soc-version=Ascend310P3 --enable_scope_fusion_passes=ScopeClipBoxesPass | grep -o 'npu::[A-Z][A-Za-z]*('
> npu::Maximum(
> npu::Minimum(
$ tailor explain boxes.tir --fusion=ScopeClipBoxesPass --soc-version=Ascend910B1 --enable_scope_fusion_passes=ScopeClipBoxesPass
> ScopeClipBoxesPass: 0 fused, 1 not
>   not    ScopeClipBoxesFixed: `fastrcnn/clip_boxes/fastrcnn_all_boxes`: UNSUPPORTED: the pattern fits, but the rule is off: the chip of --soc-version is not of the Ascend910 line
$ tailor convert boxes.tir -q -o boxes.air --soc-version=Ascend310P3 --precision-mode=force_fp16 --enable_scope_fusion_passes=ScopeClipBoxesPass,ScopeClipBoxPass; test -s boxes.air
# A scope of one's own becomes a node whose meaning is the scope.
$ printf 'graph @g(%%x: f32[n,2]) -> (%%y) {\n  const %%w: f32[2,2] = [1.0, 2.0, 3.0, 4.0]\n  const %%v: f32[2,2] = [4.0, 3.0, 2.0, 1.0]\n  const %%half: f32[] = 0.5\n  %%a = MatMul(%%x, %%w) @l0/attn/q\n  %%b = Mul(%%a, %%half) @l0/attn/scale\n  %%c = Softmax(%%b) @l0/attn/softmax\n  %%d = Add(%%c, %%x) @l0/add\n  %%e = MatMul(%%d, %%v) @l1/attn/q\n  %%f = Mul(%%e, %%half) @l1/attn/scale\n  %%g = Softmax(%%f) @l1/attn/softmax\n  %%y = Add(%%g, %%d) @l1/add\n}\n' >attn.tir; printf 'rules 1\nscope "*/attn" : MyAttention about "one kernel" {\n  types { MatMul 1, Softmax 1, Erf 0 }\n  boundary (%%hidden, const %%weight) -> (%%context)\n} -> my::Attention\n' >attn.tlr
$ tailor passes --rules=attn.tlr | grep MyAttention
> MyAttention                        capture                                   exact          off   attn.tlr:2; not named by --enable-scope-fusion-passes
$ tailor passes --fusion --rules=attn.tlr | grep MyAttention
> MyAttention                                                  scope    off      yes            1      off   off by default
$ tailor passes --fusion --rules=attn.tlr --enable-scope-fusion-passes=MyAttention | grep MyAttention
> MyAttention                                                  scope    off      yes            1      on    --enable-scope-fusion-passes
$ tailor explain attn.tir --rules=attn.tlr --fusion=MyAttention
> MyAttention: 0 fused, 2 not
>   not    `l0/attn/q`: SWITCH_OFF: the scope fits, but the rule is off: not named by --enable-scope-fusion-passes
>   not    `l1/attn/q`: SWITCH_OFF: the scope fits, but the rule is off: not named by --enable-scope-fusion-passes
$ tailor explain attn.tir --rules=attn.tlr --fusion=MyAttention --enable-scope-fusion-passes=MyAttention
> MyAttention: 2 fused, 0 not
>   fused  `l0/attn/q`, `l0/attn/scale`, `l0/attn/softmax` became Attention
>   fused  `l1/attn/q`, `l1/attn/scale`, `l1/attn/softmax` became Attention
$ tailor opt attn.tir --rules=attn.tlr --enable-scope-fusion-passes=MyAttention --verify-numerics -o attn.onnx --fusion-result=result.json; cat result.json
> {
>     "session_and_graph_id_0_0": {
>         "scope_fusion": {
>             "MyAttention": {
>                 "effect_times": "2",
>                 "match_times": "2"
>             }
>         }
>     }
> }
! verified 2 rewrites by rules: none changes results more than its class allows
$ tailor verify attn.tir attn.onnx
> 1 of 1 inputs are random (seed 0); dims without a size are 1 (--dim)
> tolerance 1e-07 + 0.001 |b| + 3.372e-07 max|b| (8 roundings to f32)
> equal   "y": 0 of 2 elements differ, max abs 0, max rel 0, cosine 1
> 4 tensors have the same name, 0 of them differ
$ tailor opt attn.tir --rules=attn.tlr --enable-scope-fusion-passes=MyAttention --rewrite-limit=2 | grep -c my::Attention
> 1
$ tailor opt attn.onnx -O0 | grep -E 'call|scope'
>   call "l0/attn/Attention" "my::Attention"
>   call "l1/attn/Attention" "my::Attention"
>   %l0/attn/Attention/v = MatMul(%x, %w) : f32[n,2] scope "l0/attn/Attention"
>   %l0/attn/Attention/v_1 = Mul(%l0/attn/Attention/v, %l0/attn/Attention/c) : f32[n,2] scope "l0/attn/Attention"
>   %c = Softmax(%l0/attn/Attention/v_1) : f32[n,2] scope "l0/attn/Attention"
>   %l1/attn/Attention/v = MatMul(%d, %v) : f32[n,2] scope "l1/attn/Attention"
>   %l1/attn/Attention/v_1 = Mul(%l1/attn/Attention/v, %l1/attn/Attention/c) : f32[n,2] scope "l1/attn/Attention"
>   %g = Softmax(%l1/attn/Attention/v_1) : f32[n,2] scope "l1/attn/Attention"
# The calls of the model that was written are scopes with a class.
$ printf 'rules 1\nscope "*" : MyCall general {\n  class "my::*"\n  boundary (%%x, const %%w) -> (%%y)\n} -> my::Again\n' >call.tlr; tailor opt attn.onnx --rules=call.tlr | grep -o 'my::Again(.*) @[^ ]*'
> my::Again(%x, %w) @l0/attn/Attention/Again
> my::Again(%d, %v) @l1/attn/Attention/Again
$ tailor convert attn.tir --rules=attn.tlr --enable-scope-fusion-passes=MyAttention -o attn.air
! attn.tir: error: 1 op type has no NPU form: my::Attention x2 ('l0/attn/Attention', 'l1/attn/Attention'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
$ tailor convert attn.tir --rules=attn.tlr --enable-scope-fusion-passes=MyAttention --allow-unmapped -q -o attn.air; test -s attn.air
# What is wrong with a rule is told where it is.
$ bad() { printf 'rules 1\n%b\n' "$1" >f; tailor passes --rules=f; }; bad 'scope "" : X { boundary (%x) -> (%y) } -> my::X'
! f:2:7: error: the pattern of a name is empty
? 1
$ bad() { printf 'rules 1\n%b\n' "$1" >f; tailor passes --rules=f; }; bad 'scope "*" : X { } -> my::X'; bad 'scope "*" : X { boundary (%x) -> () } -> my::X'; bad 'scope "*" : X { boundary (%x) -> (%x) } -> my::X'; bad 'scope "*" : X { boundary (%x, %x) -> (%y) } -> my::X'; bad 'scope "*" : X { boundary (%x..., %z) -> (%y) } -> my::X'
! f:2:7: error: rule 'X': the inputs and outputs of the scope are not declared: boundary (%x) -> (%y)
! f:2:26: error: the scope has no output
! f:2:26: error: a value is both an input and an output of the boundary
! f:2:31: error: %x is named twice
! f:2:34: error: a list takes all operands, so no port can follow it
? 1
$ bad() { printf 'rules 1\n%b\n' "$1" >f; tailor passes --rules=f; }; bad 'scope "*" : X { boundary (%x) -> (%y) } -> Relu'; bad 'scope "*" : X { boundary (%x) -> (%y) } -> npu::Relu'; bad 'scope "*" : X { boundary (%x) -> (%y) }'; bad 'scope "*" : X { boundary (%x) -> (%y) } -> Elephant'; bad 'scope * : X { }'
! f:2:44: error: 'Relu' is a known op: add 'verify {}' to compare the scope with it, or capture the scope as an op of your own domain, such as my::Block
! f:2:44: error: no scope can become 'Relu'
! f:3:1: error: expected '->', but the text ends
! f:2:44: error: unknown op 'Elephant'
! f:2:7: error: expected a name in quotes, with * for any text, found '*'
? 1
$ bad() { printf 'rules 1\n%b\n' "$1" >f; tailor passes --rules=f; }; bad 'scope "*" : X { types { Sub -1 } }'; bad 'scope "*" : X { types { Sub 5 to 2 } }'; bad 'scope "*" : X { types { Sub times 0 } }'; bad 'scope "*" : X { types { Sub 1 or less } }'; bad 'scope "*" : X { types { Suub 1 } }'; bad 'scope "*" : X { types { Sub 0.5 } }'; bad 'scope "*" : X { child ln { Sub 1 } }'
! f:2:29: error: a number of nodes is an integer from 0 to 1000000
! f:2:29: error: the range from 5 to 2 is empty
! f:2:29: error: 'times' needs a number above 0
! f:2:34: error: expected 'more', found 'less'
! f:2:25: error: unknown op 'Suub'
! f:2:29: error: a number of nodes is an integer from 0 to 1000000
! f:2:23: error: expected the name of a scope inside, in quotes, found 'ln'
? 1
$ bad() { printf 'rules 1\n%b\n' "$1" >f; tailor passes --rules=f; }; bad 'rule X : scope { match { %y = Relu(%x) } replace { %y = Abs(%x) } }'; bad 'rule X : scope { in "*" boundary (%x) -> (%y) match { %y = Relu(%x) } replace { %y = Abs(%x) } }'; bad 'rule X : graph general { match { %y = Relu(%x) } replace { %y = Abs(%x) } }'; bad 'scope "a","b","c","d","e","f","g","h","i" : X { }'
! f:2:6: error: rule 'X': no scope is named; in "*" means every scope
! f:2:6: error: rule 'X': the boundary of a scope is for rules that capture it: scope "..."
! f:2:24: error: 'general' is for scope fusions
! f:2:39: error: more than 8 names
? 1
$ bad() { printf 'rules 1\n%b\n' "$1" >f; tailor passes --rules=f; }; bad 'scope "*" : X { attrs { Softmax axis=1 } }'; bad 'scope "*" : X { attrs { Softmax {axis} } }'; bad 'scope "*" : X { attrs { Softmax {axis=[1]} } }'; bad 'scope "*" : X { attrs { Softmaxx {axis=1} } }'; bad 'scope "*" : X { boundary (%x rank times 2) -> (%y) }'; bad 'scope "*" : X { boundary (%x) -> (%y rank 2) }'
! f:2:33: error: expected '{', found 'axis'
! f:2:38: error: expected '=', found '}'
! f:2:39: error: expected a number, found '['
! f:2:25: error: unknown op 'Softmaxx'
! f:2:35: error: a rank is no multiple
! f:2:38: error: expected ')', found 'rank'
? 1
