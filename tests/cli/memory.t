# What a model takes of a device's memory. Of 256 elements are x, w and a (1 KiB each), of 512 b
# (2 KiB); y has one. x and y are the caller's, w is a weight, and a lies beside b while b is made.
$ head -c 1024 /dev/zero >w
$ printf 'graph @g(%%x: f32[256]) -> (%%y) {\n  const %%w: f32[256] = file("w", 0, 1024)\n  %%a = Softmax(%%x) @a\n  %%s = Mul(%%a, %%w) @s\n  %%b = Concat(%%s, %%x) @b {axis=0}\n  %%y = ReduceMax(%%b) @y\n}\n' >m.tir
$ tailor info m.tir --memory
> weights     1.0 KiB
> inputs      1.0 KiB
> outputs     4 bytes
> activations 3.0 KiB at their peak, at the Concat `b`
> any order   at least 3.0 KiB of activations
> in all      5.0 KiB; fits into 64.0 GiB of Ascend910B1
$ tailor info m.tir --memory --json
> {"chip": "Ascend910B1", "weights": 1024, "inputs": 1024, "outputs": 4, "activations": 3072, "activations_at_least": 3072, "total": 5124, "values_without_size": 0, "device_memory": 68719476736, "fits": true}
# Whether it fits.
$ tailor info m.tir --memory --device-memory=6K | tail -1
> in all      5.0 KiB; fits into 6.0 KiB
$ tailor info m.tir --memory --device-memory=4K | tail -1
> in all      5.0 KiB; does not fit into 4.0 KiB
$ tailor info m.tir --memory --device-memory=4K --json | tail -3
> {"chip": "Ascend910B1", "weights": 1024, "inputs": 1024, "outputs": 4, "activations": 3072, "activations_at_least": 3072, "total": 5124, "values_without_size": 0, "device_memory": 4096, "fits": false}
$ tailor info m.tir --memory --device-memory=much
! tailor: error: --device-memory: 'much' is not a size
!   hint: write a number of bytes, or for example 512M or 32G
? 1
# The summary of a conversion has the same figures.
$ tailor convert m.tir -o m.air --device-memory=32G 2>&1 | grep -A1 '^  device'
>   device   weights 1.0 KiB, inputs 1.0 KiB, outputs 4 bytes, activations 3.0 KiB
>            5.0 KiB in all; fits into 32.0 GiB
$ tailor convert m.tir -o m.air --summary=json 2>&1 | /usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin)["device"]; print(d["weights"], d["activations"], d["fits"])'
> 1028 3072 True
# A device that is known to be too small is a warning.
$ tailor convert m.tir -o m.air --device-memory=4K 2>&1 | grep 'warning\|hint\|4.0 KiB'
> m.tir: warning: the model needs 5.0 KiB of the device's memory, which has 4.0 KiB
>   hint: 'tailor info --memory' says what for; smaller batches, --order=memory or a lower precision need less
>            5.0 KiB in all; does not fit into 4.0 KiB
# Sizes that are open.
$ printf 'graph @g(%%x: f32[n,256]) -> (%%y) {\n  %%a = Softmax(%%x) @a\n  %%y = Exp(%%a) @y\n}\n' >open.tir
$ tailor info open.tir --memory
> weights     0 bytes
> inputs      0 bytes
> outputs     0 bytes
> activations 0 bytes
> any order   at least 0 bytes of activations
> in all      0 bytes and what has no fixed size: 3 values, the first `x` of type f32[n,256]
$ tailor info open.tir --memory --input-shape=x:4,256 | tail -1
> in all      12.0 KiB; fits into 64.0 GiB of Ascend910B1
# Another order of the nodes: each wide value is reduced before the next one is made.
$ printf 'graph @g(%%x: f32[256]) -> (%%y) {\n  %%a = Softmax(%%x) @a\n  %%b = Exp(%%x) @b\n  %%p = ReduceMax(%%a) @p\n  %%q = ReduceMax(%%b) @q\n  %%y = Add(%%p, %%q) @y\n}\n' >two.tir
$ tailor info two.tir --memory | grep -E "activations"
> activations 2.0 KiB at their peak, at the ReduceMax `p`
> any order   at least 1.0 KiB of activations
$ tailor info two.tir --memory --order=memory | grep -E "activations"
> activations 1.0 KiB at their peak, at the ReduceMax `q`
> any order   at least 1.0 KiB of activations
$ tailor convert two.tir -o two.air --order=memory --remarks 2>&1 | grep -E 'memory-order|topo'
> remark: memory-order: activations of graph 'g' need 1032 bytes, not 2052
>   pass     memory-order             1 rewrite
>   atc --framework=1 --model=two.air --output=two --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype --topo_sorting_mode=3
$ tailor convert two.tir -o given.onnx -q && tailor convert two.tir -o two.onnx -q --order=memory
$ tailor verify given.onnx two.onnx | tail -1
> 5 tensors have the same name, 0 of them differ
