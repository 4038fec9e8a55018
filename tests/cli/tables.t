$ tailor ops LeakyRelu
> LeakyRelu (versions 1, 6, 16)
>   operand  X: T
>   result   Y: T
>   types    T: f32 f16 bf16 f64
>   attr     alpha: float = 0.01
>   npu      LeakyRelu: always, attrs
> npu::LeakyRelu
>   operand  x: float
>   result   y: float
>   types    float: f32 f16 bf16 f64
>   attr     negative_slope: float = 0.0
$ tailor ops LeakyRelu --json
> [
>  {"domain": "", "name": "LeakyRelu", "since": [1, 6, 16], "npu": [{"type": "LeakyRelu", "guard": "always", "lowering": "attrs"}]},
>  {"domain": "npu", "name": "LeakyRelu", "since": [], "npu": []}
> ]
$ tailor ops Leakyrelu
! tailor: error: the op table has no 'Leakyrelu'
!   hint: did you mean LeakyRelu?
? 1
$ tailor ops | grep -c .  >n; test $(cat n) -gt 150
$ tailor ops --json | /usr/bin/python3 -c 'import json,sys; print(len(json.load(sys.stdin)) > 150)'
> True
$ tailor passes --json | /usr/bin/python3 -c 'import json,sys; print([p["name"] for p in json.load(sys.stdin)][:3])'
> ['op-names', 'input-shapes', 'out-nodes']
$ tailor --version | head -1
> tailor 0.1.0
$ for d in man bash zsh markdown passes ops; do tailor --generate=$d >out && test -s out || echo $d; done
$ tailor --generate=bash >out && bash -n out
