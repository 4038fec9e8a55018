# SPDX-License-Identifier: Apache-2.0
# What a training step takes (docs/training.md).
$ printf 'graph @g(%%x: f32[4,4], %%lr: f32[], %%w: f32[4,4], %%v: f32[4,4]) -> (%%y, %%z) {\n  %%g = MatMul(%%x, %%w) @B1\n  %%r = npu.hcom::HcomAllReduce(%%g) @AR1 {reduction="sum", group="g", fusion=1} : f32[4,4]\n  %%d = Mul(%%r, %%lr) @S1\n  %%y = Sub(%%w, %%d) @U1\n  %%h = MatMul(%%g, %%v) @B2\n  %%s = npu.hcom::HcomAllReduce(%%h) @AR2 {reduction="sum", group="g", fusion=1} : f32[4,4]\n  %%e = Mul(%%s, %%lr) @S2\n  %%z = Sub(%%v, %%e) @U2\n  state %%w -> %%y\n  state %%v -> %%z\n  gradient %%w -> %%g\n  gradient %%v -> %%h\n}\n' >net.tir
$ printf 'name,us\nB1,10\nB2,10\nAR1,8\nAR2,8\nS1,1\nS2,1\nU1,4\nU2,4\n' >net.csv
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 --hw-preset=unit --profile=net.csv net.tir -o out.tir --schedule-report=-
> {"version": 1, "machine": "unit", "ranks": 8,
>  "step_time": 33.000, "compute_busy": 30.000, "comm_busy": 16.000, "exposed_comm": 3.000, "overlap_ratio": 0.8125, "tail": 13.000, "lower_bound": 33.000, "efficiency": 1.0000, "bounds": {"critical_path": 33.000, "total_compute": 30.000, "total_communication": 33.000, "bucket_free": 27.000}, "edges_added": 0, "edges_removed": 0, "edges_rejected": 0, "hazard_edges": 0, "splits": 0,
>  "buckets": [
>   {"name": "AR1", "tensors": 1, "bytes": 64, "ready": 10.000, "start": 10.000, "end": 18.000, "exposed": 0.000},
>   {"name": "AR2", "tensors": 1, "bytes": 64, "ready": 20.000, "start": 20.000, "end": 28.000, "exposed": 3.000}],
>  "stages": [
>   {"name": "given", "step_time": 46.000, "compute_busy": 30.000, "comm_busy": 16.000, "exposed_comm": 16.000, "overlap_ratio": 0.0000, "tail": 13.000, "lower_bound": 33.000, "efficiency": 0.7174, "bounds": {"critical_path": 33.000, "total_compute": 30.000, "total_communication": 33.000, "bucket_free": 27.000}},
>   {"name": "streams", "step_time": 33.000, "compute_busy": 30.000, "comm_busy": 16.000, "exposed_comm": 3.000, "overlap_ratio": 0.8125, "tail": 13.000, "lower_bound": 33.000, "efficiency": 1.0000, "bounds": {"critical_path": 33.000, "total_compute": 30.000, "total_communication": 33.000, "bucket_free": 27.000}},
>   {"name": "scheduled", "step_time": 33.000, "compute_busy": 30.000, "comm_busy": 16.000, "exposed_comm": 3.000, "overlap_ratio": 0.8125, "tail": 13.000, "lower_bound": 33.000, "efficiency": 1.0000, "bounds": {"critical_path": 33.000, "total_compute": 30.000, "total_communication": 33.000, "bucket_free": 27.000}}]}
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 --hw-preset=unit --profile=net.csv net.tir -o out.tir --trace=-
> {"traceEvents":[
> {"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"given"}},
> {"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"M"}},
> {"name":"thread_name","ph":"M","pid":0,"tid":1,"args":{"name":"C:g"}},
> {"name":"thread_name","ph":"M","pid":0,"tid":2,"args":{"name":"U"}},
> {"name":"B1","cat":"bwd","ph":"X","ts":0.000,"dur":10.000,"pid":0,"tid":0,"args":{"op":"MatMul","bytes":192}},
> {"name":"S1","cat":"update","ph":"X","ts":18.000,"dur":1.000,"pid":0,"tid":0,"args":{"op":"Mul","bytes":132}},
> {"name":"U1","cat":"update","ph":"X","ts":19.000,"dur":4.000,"pid":0,"tid":0,"args":{"op":"Sub","bytes":192}},
> {"name":"B2","cat":"bwd","ph":"X","ts":23.000,"dur":10.000,"pid":0,"tid":0,"args":{"op":"MatMul","bytes":192}},
> {"name":"S2","cat":"update","ph":"X","ts":41.000,"dur":1.000,"pid":0,"tid":0,"args":{"op":"Mul","bytes":132}},
> {"name":"U2","cat":"update","ph":"X","ts":42.000,"dur":4.000,"pid":0,"tid":0,"args":{"op":"Sub","bytes":192}},
> {"name":"AR1","cat":"comm","ph":"X","ts":10.000,"dur":8.000,"pid":0,"tid":1,"args":{"op":"HcomAllReduce","bytes":64,"bucket":0}},
> {"name":"AR2","cat":"comm","ph":"X","ts":33.000,"dur":8.000,"pid":0,"tid":1,"args":{"op":"HcomAllReduce","bytes":64,"bucket":1}},
> {"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"scheduled"}},
> {"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"M"}},
> {"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"C:g"}},
> {"name":"thread_name","ph":"M","pid":1,"tid":2,"args":{"name":"U"}},
> {"name":"B1","cat":"bwd","ph":"X","ts":0.000,"dur":10.000,"pid":1,"tid":0,"args":{"op":"MatMul","bytes":192}},
> {"name":"B2","cat":"bwd","ph":"X","ts":10.000,"dur":10.000,"pid":1,"tid":0,"args":{"op":"MatMul","bytes":192}},
> {"name":"AR1","cat":"comm","ph":"X","ts":10.000,"dur":8.000,"pid":1,"tid":1,"args":{"op":"HcomAllReduce","bytes":64,"bucket":0}},
> {"name":"AR2","cat":"comm","ph":"X","ts":20.000,"dur":8.000,"pid":1,"tid":1,"args":{"op":"HcomAllReduce","bytes":64,"bucket":1}},
> {"name":"S1","cat":"update","ph":"X","ts":20.000,"dur":1.000,"pid":1,"tid":2,"args":{"op":"Mul","bytes":132}},
> {"name":"U1","cat":"update","ph":"X","ts":21.000,"dur":4.000,"pid":1,"tid":2,"args":{"op":"Sub","bytes":192}},
> {"name":"S2","cat":"update","ph":"X","ts":28.000,"dur":1.000,"pid":1,"tid":2,"args":{"op":"Mul","bytes":132}},
> {"name":"U2","cat":"update","ph":"X","ts":29.000,"dur":4.000,"pid":1,"tid":2,"args":{"op":"Sub","bytes":192}}
> ],"displayTimeUnit":"ms"}
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 --hw-preset=unit net.tir -o out.tir --timeline=page.html && grep -c '<rect class="t' page.html
> 16
# Compute beside a collective runs at two thirds: B2 does 5.333 in 8 us and ends at 22.667, AR2 at
# 30.667, U2 5 later.
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 --profile=net.csv net.tir -o out.tir --schedule-report=- --hw-preset=unit:interference=1.5 | grep -o '"scheduled", "step_time": [0-9.]*'
> "scheduled", "step_time": 35.667
# Two nodes on the AICORE at a time: no order takes less than half of the work.
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 --profile=net.csv net.tir -o out.tir --schedule-report=- --hw-preset=unit --stream-max-parallel-num=AIcoreEngine:2 | grep -o '"scheduled".*' | grep -o '"total_compute": [0-9.]*'
> "total_compute": 15.000
# The split of gradients, as bucket_strategy=index takes it.
$ mkdir work && tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 --profile=net.csv net.tir -o out.tir --hw-preset=unit --aoe-mode=4 --work-path=work && cat work/gradient_split.json
> {"version": 1, "bucket_strategy": "index", "bucket_indices": [0, 1],
>  "buckets": [
>   {"name": "AR1", "tensors": 1, "bytes": 64, "ready": 10.000, "start": 10.000, "end": 18.000, "exposed": 0.000},
>   {"name": "AR2", "tensors": 1, "bytes": 64, "ready": 20.000, "start": 20.000, "end": 28.000, "exposed": 3.000}]}
# Nothing is noted of the main stream.
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true --rank-size=8 net.tir | grep -o '%y = .*'
> %y = Sub(%w, %d) @U1 : f32[4,4] stream 2 meta "tailor.stream" "U"
# Mistakes
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=0 net.tir -o out.tir --trace=t.json; ls t.json
! tailor: error: --trace: no training step was recognised, so nothing was scheduled [E-SCHED-NONE]
!   hint: give --graph_run_mode=1 and a model with updates; 'tailor info --train' shows what is recognised
! ls: cannot access 't.json': No such file or directory
? 2
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --hw-preset=ascend net.tir -o out.tir
! tailor: error: hw_preset: no machine is named 'ascend' [E-HW-PRESET]
!   hint: the machines are ascend910, ascend910b, ascend910_93, unit
? 1
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --hw-preset=ascend910b:cub=1 net.tir -o out.tir
! tailor: error: hw_preset: 'cub=1' is not field=value with a number from 0 to 1e18, 0 only for times, interference from 1 on [E-HW-PRESET]
!   hint: fields are cube, cube_f32, vector, hbm, eta_cube, eta_vector, eta_memory, launch, event, mhz, vector_lanes, server, rate0, latency0, rate1, latency1, interference, bitwise
? 1
$ printf 'B1,10\nB2,-1\n' >bad.csv; tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --profile=bad.csv net.tir -o out.tir
! bad.csv:2:1: error: 'B2,-1' is not 'name,us' with a time of at least 0 [E-PROFILE]
? 1
$ printf 'B1,10\nB1,11\n' >bad.csv; tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --profile=bad.csv net.tir -o out.tir
! bad.csv: error: 'B1' has two times [E-PROFILE]
? 1
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 --profile=none.csv net.tir -o out.tir
! none.csv: error: cannot open 'none.csv': No such file or directory
? 4
$ tailor opt --passes=infer-shapes,schedule --graph-run-mode=1 net.tir -o out.tir --schedule-report=net.tir
! tailor: error: --schedule-report: 'net.tir' is an input of this conversion and would be overwritten
? 1
