# Clean-up and expansions under public names: the switches of those passes reach them.
$ printf 'graph @g(%%x: f16[2,3]) -> (%%y) {\n  %%c = Cast(%%x) @wide {to=1}\n  %%y = Cast(%%c) @wider {to=11}\n}\n' >cast.tir
$ tailor opt cast.tir --fusion-result=result.json | grep -c Cast; grep -A2 Cast result.json
> 1
>             "CastCastFusionPass": {
>                 "effect_times": "1",
>                 "match_times": "1"
$ tailor explain cast.tir --fusion=CastCastFusionPass
> CastCastFusionPass: 1 fused, 0 not
>   fused  CastCast: `wide`, `wider` became Cast
# A switch file, ALL, and the command line switch it off; level O1 is about fusions and does not.
$ printf '{"Switch":{"GraphFusion":{"CastCastFusionPass":"off"}}}' >off.cfg; tailor opt cast.tir --fusion_switch_file=off.cfg | grep -c Cast
> 2
$ printf '{"Switch":{"GraphFusion":{"ALL":"off"}}}' >all.cfg; tailor opt cast.tir --fusion_switch_file=all.cfg | grep -c Cast
> 2
$ tailor opt cast.tir --optimization_switch=CastCastFusionPass:off | grep -c Cast
> 2
$ tailor opt cast.tir --fusion=CastCast:off | grep -c Cast
> 2
$ tailor opt cast.tir -O1 | grep -c Cast
> 1
$ tailor opt cast.tir -O0 | grep -c Cast
> 2
# What the NPU has no op for is spelled out under the name of a pass, which a file cannot close.
$ printf 'graph @g(%%a: f32[2,3], %%b: f32[3,4]) -> (%%y) {\n  %%y = Gemm(%%a, %%b) @gm {alpha=0.5}\n}\n' >gemm.tir
$ printf '{"Switch":{"GraphFusion":{"GemmToMatmulFusionPass":"off"}}}' >gemm.cfg; tailor convert gemm.tir -q -o gemm.air --fusion_switch_file=gemm.cfg && ls gemm.air
> gemm.air
$ tailor explain gemm.tir --expand=GemmToMatmulFusionPass
> GemmToMatmulFusionPass: 1 expanded, 0 not
>   expanded  ExpandGemmAlpha: `gm` became 2 nodes, Mul the last
# Asked for by name, it goes, and the node has nothing to become.
$ tailor convert gemm.tir -o gemm.air --optimization_switch=GemmToMatmulFusionPass:off
! gemm.tir: error: 1 op type has no NPU form: Gemm x1 ('gm'): needs expansion into several NPU ops, for which no rule fits [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
$ tailor passes --fusion --json | grep -E '"(GemmToMatmul|CastCast)FusionPass"'
>  {"name": "CastCastFusionPass", "kind": "graph", "default": true, "may_be_off": true, "rules": 2, "on": true, "why": "on by default"},
>  {"name": "GemmToMatmulFusionPass", "kind": "graph", "default": true, "may_be_off": false, "rules": 5, "on": true, "why": "cannot be switched off"},
