# Kernels of several nodes (docs/ub-fusion.md): what the commands say of them.
$ printf 'graph @g(%%x: f32[1,16,8,8], %%z: f32[1,16,8,8], %%n: f32[N,4], %%k: f32[16,16,1,1]) -> (%%y, %%w, %%v, %%u) {\n  %%c = Conv(%%x, %%k) @conv\n  %%y = Relu(%%c) @relu\n  %%a = Exp(%%z) @exp\n  %%w = Neg(%%a) @neg\n  %%b = Tanh(%%n) @tanh\n  %%v = Abs(%%b) @abs\n  %%p = Sqrt(%%z) @sqrt\n  %%q = Transpose(%%p) @move {perm=[0, 1, 3, 2]}\n  %%u = Add(%%p, %%q) @cross\n}\n' >m.tir
$ tailor explain m.tir
> ConvToFullyConnectionFusionPass: 0 fused, 1 not
>   not    ConvOfWhole: `conv`: SHAPE: `slice(shape(%x), 1, 4) == slice(shape(%w), 1, 4)` does not hold: slice(shape(%x), 1, 4) is [16, 8, 8], slice(shape(%w), 1, 4) is [16, 1, 1], %x is `x`: f32[1,16,8,8], %w is `k`: f32[16,16,1,1]
> TbeConvSingleInFusionPass: 0 fused, 1 not
>   not    `conv`: UNSUPPORTED: the chip has separate cores for cube and vector nodes
> TbeEltwiseFusionPass: 1 fused, 0 not
>   fused  `exp`, `neg` are kernel 1, which saves 8.0 KiB
> TbeMultiOutputByWayFusionPass: 0 fused, 1 not
>   not    `tanh`: DYNAMIC: `tanh`: it has sizes that are not known (0 of 3 nodes fit)
> TbeMultiOutputFusionPass: 0 fused, 2 not
>   not    `sqrt`: MULTI_CONSUMER: `sqrt`: nodes outside the kernel use its results (1 of 2 nodes fit)
>   not    `sqrt`: CYCLE: a path leaves the kernel and comes back to it
$ tailor explain m.tir --soc-version=Ascend910A --fusion=TbeConvSingleInFusionPass --json
> [
>  {"pass": "TbeConvSingleInFusionPass", "fused": 1, "not": 0, "events": [
>   {"rule": "TbeConvSingleInFusionPass", "effect": true, "node": "conv", "fusion_scope": 1, "saved_bytes": 4096, "pattern_nodes": 2, "nodes": ["conv", "conv_0_to_float"]}]}
> ]
$ tailor explain m.tir --fusion=TbeEltwiseFusionPass --node=tanh
> TbeEltwiseFusionPass: 0 fused, 2 not
>   not    `tanh`: DYNAMIC: `tanh`: it has sizes that are not known (0 of 3 nodes fit)
>   not    `tanh`: DYNAMIC: `tanh`: it has sizes that are not known (0 of 2 nodes fit)
# A pass that is off says so; one that is not there, and one without chains.
$ tailor explain m.tir --fusion=TbeEltwiseFusionPass --optimization-switch='TbeEltwiseFusionPass:off;AutomaticUbFusion:off'
> TbeEltwiseFusionPass: 0 fused, 4 not
>   not    `exp`: SWITCH_OFF: --optimization-switch
>   not    `tanh`: DYNAMIC: `tanh`: it has sizes that are not known (0 of 3 nodes fit)
>   not    `tanh`: DYNAMIC: `tanh`: it has sizes that are not known (0 of 2 nodes fit)
>   not    `sqrt`: MULTI_CONSUMER: `sqrt`: nodes outside the kernel use its results (1 of 2 nodes fit)
$ tailor explain m.tir --fusion=TbeEltwiseFusionPas
! tailor: error: --fusion: no fusion pass or rule is named 'TbeEltwiseFusionPas'
!   hint: 'tailor passes --rules' lists them
? 1
$ tailor explain m.tir --fusion=AutoSingleNormFusionPass
! tailor: error: --fusion: this version has no rules for 'AutoSingleNormFusionPass'
? 3
# A model without an NPU form: graph fusions are explained all the same.
$ printf 'graph @g(%%s: str[2]) -> (%%y) {\n  %%y = StringConcat(%%s, %%s) @join\n}\n' >s.tir; tailor explain s.tir
> nothing was fused, and there was no near miss
$ tailor explain s.tir --fusion=TbeEltwiseFusionPass
> nothing was fused, and there was no near miss
# The summary, the report, the file.
$ tailor convert m.tir -o m.air --soc-version=Ascend910A 2>&1 | grep kernels
>   kernels  2 of several nodes (4), which save 12.0 KiB of 70.0 KiB of memory traffic
$ tailor convert m.tir -o m.air --soc-version=Ascend910A --summary=json 2>&1 | grep -o '"kernels": {[^}]*}'
> "kernels": {"groups": 2, "nodes": 4, "saved_bytes": 12288, "traffic_bytes": 71696}
$ tailor convert m.tir -o m.air --soc-version=Ascend910A --fusion-result=- -q
> {
>     "session_and_graph_id_0_0": {
>         "graph_fusion": {
>             "ConvToFullyConnectionFusionPass": {
>                 "effect_times": "0",
>                 "match_times": "1"
>             }
>         },
>         "ub_fusion": {
>             "TbeConvSingleInFusionPass": {
>                 "effect_times": "1",
>                 "match_times": "1",
>                 "repository_hit_times": "0"
>             },
>             "TbeEltwiseFusionPass": {
>                 "effect_times": "1",
>                 "match_times": "1",
>                 "repository_hit_times": "0"
>             },
>             "TbeMultiOutputFusionPass": {
>                 "effect_times": "0",
>                 "match_times": "1",
>                 "repository_hit_times": "0"
>             }
>         }
>     }
> }
$ tailor convert m.tir -o m.air --soc-version=Ascend950PR_9599 --fusion-result=r.json -q; test -e r.json || echo none
$ tailor convert m.tir -o m.air --soc-version=Ascend950PR_9599 2>&1 | grep -c kernels
> 0
? 1
$ tailor convert m.tir -o m.onnx 2>&1 | grep -c kernels
> 0
? 1
$ tailor opt m.tir --npu --soc-version=Ascend910A | grep -o '@[a-z]* .*fusion_scope.*' | sed 's/{.*fusion/{fusion/'
> @conv {fusion_scope=1, pass_name_ub="TbeConvSingleInFusionPass"} : f16[1,16,8,8]
> @exp {fusion_scope=2, pass_name_ub="TbeEltwiseFusionPass"} : f32[1,16,8,8]
> @neg {fusion_scope=2, pass_name_ub="TbeEltwiseFusionPass"} : f32[1,16,8,8]
# Switches: the line format is about both kinds, JSON about one.
$ printf 'TbeEltwiseFusionPass:off\n' >f; tailor opt m.tir --npu --fusion_switch_file=f | grep -o 'fusion_scope=[0-9]*, pass_name_ub="[A-Za-z]*"' | sort -u
> fusion_scope=1, pass_name_ub="AutomaticUbFusion"
$ printf '{"Switch": {"UBFusion": {"ALL": "off"}}}' >f; tailor opt m.tir --npu --fusion_switch_file=f | grep -c fusion_scope
> 0
? 1
$ printf '{"Switch": {"GraphFusion": {"ALL": "off"}}}' >f; tailor opt m.tir --npu --fusion_switch_file=f | grep -c fusion_scope
> 2
$ tailor opt m.tir --npu --oo_level=O1 | grep -c fusion_scope
> 0
? 1
$ tailor opt m.tir --npu --rewrite-limit=0 --remarks 2>&1 >/dev/null | grep ub-fusion
> remark: ub-fusion: "exp": TbeEltwiseFusionPass: `exp`, `neg` are kernel 1, which saves 8192 bytes of traffic
$ tailor passes --fusion | grep -E '^(TbeEltwiseFusionPass|AutomaticUbFusion|TbeConv2dAddRelu6MulMulFusionPass|AutoSingleNormFusionPass) ' | sed -E 's/ +/ /g'
> AutoSingleNormFusionPass ub off yes 0 off off by default; no rules: it replaces the kernel of a single node
> AutomaticUbFusion ub on yes 1 on on by default
> TbeConv2dAddRelu6MulMulFusionPass ub on yes 2 on on by default
> TbeEltwiseFusionPass ub on yes 2 on on by default
# What a file says of groups is not trusted: numbers of no group, huge ones, other kinds of values.
$ printf 'module {\n  form npu\n}\n\ngraph @g(%%x: f32[4]) -> (%%y) {\n  %%a = npu::Relu(%%x) @a {fusion_scope=-3} : f32[4]\n  %%b = npu::Exp(%%a) @b {fusion_scope="x"} : f32[4]\n  %%y = npu::Neg(%%b) @c {pass_name_ub=1} : f32[4]\n}\n' >h.tir; tailor opt h.tir --passes=ub-fusion --verify-each | grep -o '@.*{.*}'
> @a {fusion_scope=-3}
> @b {fusion_scope=1, pass_name_ub="TbeEltwiseFusionPass"}
> @c {pass_name_ub="TbeEltwiseFusionPass", fusion_scope=1}
$ printf 'module {\n  form npu\n}\n\ngraph @g(%%x: f32[4]) -> (%%y) {\n  %%a = npu::Relu(%%x) @a {fusion_scope=9223372036854775807} : f32[4]\n  %%y = npu::Neg(%%a) @c\n}\n\ngraph @h(%%x: f32[4]) -> (%%y) {\n  %%a = npu::Relu(%%x) @d : f32[4]\n  %%y = npu::Neg(%%a) @e : f32[4]\n}\n' >h.tir; tailor opt h.tir --passes=ub-fusion --verify-each | grep -o '@.*{.*}'
> @a {fusion_scope=9223372036854775807}
# A kernel of the library that is not opaque joins what feeds it: AddRmsNormFusionPass needs op information that says so.
$ printf 'module {\n form npu\n}\ngraph @g(%%x: f16[4,64], %%z: f16[4,64], %%g: f16[64]) -> (%%a, %%y) {\n  %%a = npu::Add(%%x, %%z) @a : f16[4,64]\n  %%y, %%r = npu::RmsNorm(%%a, %%g) @y {epsilon=1e-06} : f16[4,64], f32[4,1]\n}\n' >rms.tir; tailor opt rms.tir --passes=ub-fusion --soc-version=Ascend310P3 | grep -c fusion_scope
> 0
? 1
$ printf '{"RmsNorm": {"input0": {"name": "x", "dtype": "float16", "paramType": "required"}, "input1": {"name": "gamma", "dtype": "float16", "paramType": "required"}, "output0": {"name": "y", "dtype": "float16", "paramType": "required"}, "output1": {"name": "rstd", "dtype": "float", "paramType": "required"}, "prebuildPattern": {"value": "undefined"}}}' >rms.json; tailor opt rms.tir --passes=ub-fusion --soc-version=Ascend310P3 --op-info=rms.json | grep -o 'npu::[A-Za-z]*\|pass_name_ub="[A-Za-z]*"'
> npu::Add
> pass_name_ub="AddRmsNormFusionPass"
> npu::RmsNorm
> pass_name_ub="AddRmsNormFusionPass"
$ tailor opt rms.tir --passes=ub-fusion --soc-version=Ascend910B1 --op-info=rms.json | grep -c fusion_scope
> 2
# Between two nodes lies more than a search for a cycle may meet: they stay apart, and that is told.
$ far() { echo 'graph @g(%x: f16[4,64]) -> (%y, %s'$1') {'; echo ' %s0 = Relu(%x) @head'; i=0; while [ $i -lt $1 ]; do echo " %s$((i + 1)) = Softmax(%s$i)"; i=$((i + 1)); done; echo ' %y = Neg(%s0) @tail'; echo '}'; }; far 4200 >far.tir; tailor explain far.tir --soc-version=Ascend310P3 --fusion=TbeMultiOutputFusionPass --node=head | tail -1; far 3000 >far.tir; tailor explain far.tir --soc-version=Ascend310P3 --fusion=TbeMultiOutputFusionPass --node=head
>   not    `head`: BUDGET: there are too many nodes in between to rule out a cycle
> TbeMultiOutputFusionPass: 1 fused, 0 not
>   fused  `head`, `tail` are kernel 1, which saves 512 bytes
# Of eight in a row, chains take six and two: they matched, and the automatic fusion has the kernel in the end.
$ printf 'graph @g(%%x: f32[1,16,8,8]) -> (%%h) {\n  %%a = Relu(%%x) @a\n  %%b = Exp(%%a) @b\n  %%c = Neg(%%b) @c\n  %%d = Tanh(%%c) @d\n  %%e = Abs(%%d) @e\n  %%f = Sqrt(%%e) @f\n  %%g = Erf(%%f) @g\n  %%h = Sigmoid(%%g) @h\n}\n' >r.tir
$ tailor convert r.tir -o r.air --fusion-result=- -q
> {
>     "session_and_graph_id_0_0": {
>         "ub_fusion": {
>             "AutomaticUbFusion": {
>                 "effect_times": "1",
>                 "match_times": "1",
>                 "repository_hit_times": "0"
>             },
>             "TbeEltwiseFusionPass": {
>                 "effect_times": "0",
>                 "match_times": "2",
>                 "repository_hit_times": "0"
>             }
>         }
>     }
> }
$ tailor explain r.tir
> AutomaticUbFusion: 1 fused, 0 not
>   fused  `a`, `b` ..., `h` (8 nodes) are kernel 1, which saves 56.0 KiB
$ tailor explain r.tir --fusion=TbeEltwiseFusionPass
> TbeEltwiseFusionPass: 0 fused, 2 not
>   not    `a`: OVERLAP: its kernel is part of a larger one
>   not    `g`: OVERLAP: its kernel is part of a larger one
