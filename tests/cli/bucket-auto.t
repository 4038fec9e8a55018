# SPDX-License-Identifier: Apache-2.0
# `auto` takes as many buckets as end first: twelve gradients of 64 us, one every 61 us, keep the link
# busy only if none waits for another. GE has room for eight.
$ awk 'BEGIN { n = 12; f = "f32[4,4]"; printf "graph @g(%%x: %s, %%lr: f32[]", f; for (i = 0; i < n; i++) printf ", %%w%d: %s", i, f; printf ") -> ("; for (i = 0; i < n; i++) printf "%s%%o%d", i ? ", " : "", i; print ") {"; p = "%x"; for (i = 0; i < n; i++) { printf "  %%f%d = MatMul(%s, %%w%d)\n", i, p, i; p = "%f" i } for (i = n - 1; i >= 0; i--) { printf "  %%g%d = MatMul(%s, %%f%d) @B%d\n", i, p, i, i; p = "%g" i } for (i = 0; i < n; i++) printf "  %%d%d = Mul(%%g%d, %%lr)\n  %%o%d = Sub(%%w%d, %%d%d)\n", i, i, i, i, i; for (i = 0; i < n; i++) printf "  state %%w%d -> %%o%d\n", i, i; for (i = n - 1; i >= 0; i--) printf "  gradient %%w%d -> %%g%d\n", i, i; print "}" }' >step.tir
$ { echo name,us; for i in 0 1 2 3 4 5 6 7 8 9 10 11; do echo B$i,61; done; } >times.csv
$ tailor opt step.tir --passes=infer-shapes,train-detect,grad-allreduce,ar-bucket --graph-run-mode=1 --is-distributed=true --rank-size=8 --hw-preset=unit --profile=times.csv --bucket-strategy=auto --bucket-pad=0 | grep -c '= npu.hcom::HcomAllReduce('
> 12
$ tailor opt step.tir --passes=infer-shapes,train-detect,grad-allreduce,ar-bucket --graph-run-mode=1 --is-distributed=true --rank-size=8 --hw-preset=unit --profile=times.csv --bucket-strategy=auto --bucket-pad=0 --bucket-compat=ge | grep -c '= npu.hcom::HcomAllReduce('
> 8
