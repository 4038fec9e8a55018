# SPDX-License-Identifier: Apache-2.0
# Buckets by measured times of gradients (docs/training.md). The first two tensors are there long
# before the last: sent together they cost one start, whatever the links are.
$ printf 'graph @g(%%g0: f32[900], %%g1: f32[60], %%g2: f32[40]) -> (%%s0, %%s1, %%s2) {\n  %%s0 = npu.hcom::HcomAllReduce(%%g0) @ar0 {group="hccl_world_group", reduction="sum"}\n  %%s1 = npu.hcom::HcomAllReduce(%%g1) @ar1 {group="hccl_world_group", reduction="sum"}\n  %%s2 = npu.hcom::HcomAllReduce(%%g2) @ar2 {group="hccl_world_group", reduction="sum"}\n}\n' >g.tir
$ printf '[{"modelhash": "0", "modelvalue": {"gradientTime": [5], "gradientSize": [4]}}, {"modelhash": "%s", "modelvalue": {"gradientTime": [0, 0, 1000000000], "gradientSize": [3600, 240, 160]}}]' "$(sha256sum <g.tir | cut -c1-64)" >lib.json
$ tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json && grep -o 'HcomAllReduce(.*) @ar.' out.tir
> HcomAllReduce(%g0, %g1) @ar0
> HcomAllReduce(%g2) @ar2
# One time more than sizes: the first is when the step started. Now the last two come together.
$ printf '[{"modelhash": "0", "modelvalue": {"gradientTime": [5], "gradientSize": [4]}}, {"modelhash": "%s", "modelvalue": {"gradientTime": [7, 7, 1000000007, 1000000007], "gradientSize": [3600, 240, 160]}}]' "$(sha256sum <g.tir | cut -c1-64)" >lib.json
$ tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json && grep -o 'HcomAllReduce(.*) @ar.' out.tir
> HcomAllReduce(%g0) @ar0
> HcomAllReduce(%g1, %g2) @ar1
# All at once would be one bucket: the default, which here is [1, 2], counts instead.
$ printf '[{"modelhash": "0", "modelvalue": {"gradientTime": [5], "gradientSize": [4]}}, {"modelhash": "%s", "modelvalue": {"gradientTime": [9, 9, 9], "gradientSize": [3600, 240, 160]}}]' "$(sha256sum <g.tir | cut -c1-64)" >lib.json
$ tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json && grep -o 'HcomAllReduce(.*) @ar.' out.tir
> HcomAllReduce(%g0, %g1) @ar0
> HcomAllReduce(%g2) @ar2
# By name, and without the file.
$ tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json --bucket-strategy=library && grep -c HcomAllReduce out.tir
> 2
$ tailor opt g.tir -o out.tir --passes=ar-bucket --graph-run-mode=1 --bucket-strategy=library
! tailor: error: --bucket-strategy: library needs --bucket-library [E-OPT-CONFLICT]
? 1
# Measured of something else: the default.
$ printf '[{"modelhash": "0", "modelvalue": {"gradientTime": [5], "gradientSize": [4]}}, {"modelhash": "%s", "modelvalue": {"gradientTime": [1, 2], "gradientSize": [4, 4]}}]' "$(sha256sum <g.tir | cut -c1-64)" >lib.json
$ tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json && grep -o 'HcomAllReduce(.*) @ar.' out.tir
> HcomAllReduce(%g0, %g1) @ar0
> HcomAllReduce(%g2) @ar2
! lib.json: warning: 2 gradients were measured, and 3 are reduced: buckets as with bucket_strategy=default [W-BKT-LIB]
$ printf '[]' >lib.json
$ tailor opt - -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --bucket-pad=0 --bucket-library=lib.json <g.tir && grep -c HcomAllReduce out.tir
> 2
! lib.json: warning: no entry with modelhash '': buckets as with bucket_strategy=default [W-BKT-LIB]
!   hint: it is the SHA-256 of the model's file, which standard input is not
# Files that are wrong.
$ printf '{}' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:1: error: the file is not a list of entries [E-BKT-LIB]
? 1
$ printf '[' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:2: error: expected a value [E-BKT-LIB]
? 1
$ printf '[1]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:2: error: an entry is not an object with a string modelhash and an object modelvalue [E-BKT-LIB]
? 1
$ printf '[{"modelhash": 1, "modelvalue": {}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:2: error: an entry is not an object with a string modelhash and an object modelvalue [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": []}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:2: error: an entry is not an object with a string modelhash and an object modelvalue [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [1]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:21: error: modelvalue needs the lists gradientTime and gradientSize [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [], "gradientSize": []}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:21: error: gradientTime has to have as many entries as gradientSize, or one more for the start of the step [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [1, 2, 3], "gradientSize": [4]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:21: error: gradientTime has to have as many entries as gradientSize, or one more for the start of the step [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [2, 1], "gradientSize": [4, 4]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:56: error: the times of gradientTime do not ascend [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": ["x"], "gradientSize": [4]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:53: error: a time of gradientTime is not a number of nanoseconds [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [1], "gradientSize": [-4]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:74: error: a size of gradientSize is not a number of bytes [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [1], "gradientSize": [1.5]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:74: error: a size of gradientSize is not a number of bytes [E-BKT-LIB]
? 1
$ printf '[{"modelhash": "a", "modelvalue": {"gradientTime": [1], "gradientSize": [1e300]}}]' >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:74: error: a size of gradientSize is not a number of bytes [E-BKT-LIB]
? 1
# One model twice.
$ H=$(sha256sum <g.tir | cut -c1-64); printf '[{"modelhash": "%s", "modelvalue": {"gradientTime": [1], "gradientSize": [4]}}, {"modelhash": "%s", "modelvalue": {"gradientTime": [1], "gradientSize": [4]}}]' $H $H >lib.json && tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json:1:143: error: a second entry of this model [E-BKT-LIB]
? 1
$ rm lib.json; tailor opt g.tir -o out.tir --passes=infer-shapes,ar-bucket --graph-run-mode=1 --hw-preset=ascend910b --rank-size=8 --bucket-pad=0 --bucket-library=lib.json
! lib.json: error: cannot open the library of gradients: No such file or directory [E-BKT-LIB]
? 4
