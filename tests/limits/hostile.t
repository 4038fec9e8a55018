# What a small file may make of itself: outputs that are far larger are refused, or warned about by
# name. Limits of memory count what AddressSanitizer takes, so these commands are not sanitized.
$ printf 'graph @g(%%x: f32[1,64]) -> (%%y) {\n  const %%s: i64[2] = [64, 100000]\n  %%w = ConstantOfShape(%%s)\n  %%y = MatMul(%%x, %%w)\n}\n' >fill.tir
$ tailor convert fill.tir -o fill.air -o fill.onnx --summary=none
! fill.tir: warning: 24 MiB of constants are computed for a model of 119 bytes, the largest of them 'w' with 24 MiB [W_GROWTH]
!   hint: --fold-limit=0 leaves what fills weights to the device, and --max-tensor refuses such models
# The remedy that the hint names.
$ tailor convert fill.tir -o small.air --summary=none --fold-limit=0; test $(wc -c <small.air) -lt 10000 && echo small
> small
$ tailor convert fill.tir -o no.air --max-tensor=16M; ls no.air
! fill.tir: error: 'w' is computed and would take 24 MiB, more than one tensor may (16 MiB)
!   hint: raise that with --max-tensor, or leave it to the device with --fold-limit=0
! ls: cannot access 'no.air': No such file or directory
? 2
# A weight that a file holds is as large as its file, and no growth.
$ tailor convert fill.onnx -o again.air --summary=none --max-tensor=16M && echo taken
> taken
$ tailor run fill.tir --max-tensor=16M
! fill.tir: error: node ConstantOfShape->w: result 0 needs 25600000 bytes, more than one tensor may take (16777216)
!   hint: raise it with --max-tensor
? 2
$ for c in verify 'simulate-ranks' 'extract --to=y -o p.tir --data=d'; do tailor ${c%% *} fill.tir $(test "$c" = verify && echo fill.tir) $(echo "$c" | sed 's/^[^ ]*//') --max-tensor=16M 2>&1 | grep -c 'more than one tensor may take'; done
> 1
> 0
> 1
$ tailor convert fill.tir -o no.air --max-tensor=much
! tailor: error: --max-tensor: 'much' is not a size
!   hint: write a number of bytes, or for example 512M or 32G
? 1
# What copies one number many times stays an op of the device, however much may be folded.
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  const %%s: i64[2] = [4096, 2048]\n  const %%c: f32[1] = [1.5]\n  %%w = Expand(%%c, %%s)\n  %%y = Mul(%%w, %%x)\n}\n' >expand.tir
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  const %%s: i64[1] = [8000000]\n  const %%c: f32[1] = [1.5]\n  %%w = Tile(%%c, %%s)\n  %%y = Mul(%%w, %%x)\n}\n' >tile.tir
$ printf 'graph @g(%%x: f32[1]) -> (%%y) {\n  const %%a: f32[] = 0.0\n  const %%b: f32[] = 8000000.0\n  const %%d: f32[] = 1.0\n  %%w = Range(%%a, %%b, %%d)\n  %%y = Mul(%%w, %%x)\n}\n' >range.tir
$ for m in expand tile range; do tailor convert $m.tir -o $m.air -o $m.onnx --summary=none --fold-limit=1073741824; test $(wc -c <$m.air) -lt 10000 && test $(wc -c <$m.onnx) -lt 10000 && echo $m is small; done
> expand is small
> tile is small
> range is small
# As weights, too.
$ sed 's/Mul(%w, %x)/MatMul(%x, %w)/; s/%x: f32.1./%x: f32[1,4096]/' expand.tir >weight.tir; tailor convert weight.tir -o weight.air --summary=none && test $(wc -c <weight.air) -lt 10000 && echo small
> small
# Loops in loops: each is unrolled, up to a bound.
$ /usr/bin/python3 -c 'd=3; print("graph @g(%x: f32[1,4]) -> (%y) {" + "".join("\n const %%n%d: i64[] = 40\n const %%c%d: bool[] = true\n %%%s = Loop(%%n%d, %%c%d, %%%s) { body=graph @b%d(%%i%d: i64[], %%k%d: bool[], %%a%d: f32[1,4]) -> (%%k%d, %%z%d) {" % (i, i, "y" if i == 0 else "z%d" % (i - 1), i, i, "x" if i == 0 else "a%d" % (i - 1), i, i, i, i, i, i) for i in range(d)) + "\n %%z%d = Exp(%%a%d)" % (d - 1, d - 1) + "} }" * d + "\n}")' >loops.tir
$ tailor convert loops.tir -o loops.air --summary=none 2>&1 | sed 's/^\(.*warning: \)[0-9]*/\1N/'
> loops.tir: warning: N nodes are made of a model of 505 bytes [W_GROWTH]
>   hint: --unroll-limit=0 unrolls no loops, and --max-nodes refuses such models
$ tailor convert loops.tir -o no.air --max-nodes=10000 2>&1 | sed 's/makes [0-9]* nodes of [0-9]*/makes N nodes of M/'
> loops.tir: error: pass 'unroll-loops' makes N nodes of M, more than 10000
>   hint: --max-nodes allows up to 4000000, and --unroll-limit=0 unrolls no loops
$ tailor convert loops.tir -o few.air --max-nodes=10000 --unroll-limit=0 --summary=none && echo taken
> taken
# A list of an attribute is written anew for each copy of its node: 20,000 numbers, 1,600 times.
$ /usr/bin/python3 -c 'import re; t = open("loops.tir").read(); w = ", ".join(str(i % 10) for i in range(20000)); print(re.sub(r"%z1 = Loop.*?} }", "%z1 = acme::Wide(%a1) { table=[" + w + "] }", t, flags=re.S))' >wide.tir
$ tailor convert wide.tir -o wide.air --summary=none --allow-unmapped 2>&1 | grep -A1 GROWTH
> wide.tir: warning: node Wide->z1_1_1: 1601 nodes with 30 MiB of attributes are made of a model of 60421 bytes; this one has 20000 bytes of them [W_GROWTH]
>   hint: --unroll-limit=0 unrolls no loops, and --max-nodes refuses such models
$ tailor convert wide.tir -o wide.onnx --summary=none --allow-unmapped --unroll-limit=0 && test $(wc -c <wide.onnx) -lt 70000 && echo small
> small
# Every command that reads a model counts its nodes.
$ for c in 'convert -o a.air' opt info explain run 'verify fill.tir' 'diff fill.tir' 'view -o v.html' 'extract --to=y -o p.tir' 'bisect --verify' simulate-ranks; do tailor ${c%% *} fill.tir $(echo "$c" | sed 's/^[^ ]*//') --max-nodes=1 2>&1 | grep -c 'the model has 2 nodes, more than 1$'; done | sort | uniq -c | sed 's/^ *//'
> 11 1
# Processor time: the command ends, at whatever it is, and leaves no file. Three million
# nodes take any machine longer than a second.
$ sed "s/ = 40\$/ = 150/" loops.tir >long.tir
$ tailor convert long.tir -o late.air --max-nodes=4000000 --unroll-limit=150 --max-time=1 -q --verify-each --dump-dir=d1 >/dev/null; ls late.air
! tailor: error: --max-time: the command takes more processor time than it may
!   hint: allow more seconds with --max-time, 0 for no bound, if the model is worth it
! ls: cannot access 'late.air': No such file or directory
? 2
# Programs read the message in the form that they asked for.
$ tailor convert long.tir -o late.air --max-nodes=4000000 --unroll-limit=150 --max-time=1 -q --verify-each --dump-dir=d1 --diagnostics=json >/dev/null
! {"severity": "error", "code": "TL_LIMIT", "attribute": "--max-time", "message": "the command takes more processor time than it may", "hint": "allow more seconds with --max-time, 0 for no bound, if the model is worth it"}
? 2
$ tailor convert long.tir -o late.air --max-nodes=4000000 --unroll-limit=150 --max-time=1 -q --verify-each --dump-dir=d1 --diagnostics=sarif 2>&1 >/dev/null | /usr/bin/python3 -c 'import json, sys; r = json.load(sys.stdin)["runs"][0]["results"]; print(len(r), r[0]["ruleId"], r[0]["message"]["text"])'
> 1 TL_LIMIT --max-time: the command takes more processor time than it may
$ tailor convert fill.tir -o a.air -q --max-time=-1
! tailor: error: --max-time: '-1' is not an integer in 0..4294967295 [E10001]
? 1
# Memory, of commands that evaluate nothing.
$ for c in opt info explain 'diff big.tir' 'view -o v.html' 'extract --to=y -o p.tir' 'convert -o a.air'; do test -e big.tir || /usr/bin/python3 -c 'print("graph @g(%x: f32[1,400000]) -> (%y) {\n  const %w: f32[400000] = [" + ", ".join(["0.5", "1.25"] * 200000) + "]\n  %y = Add(%x, %w)\n}")' >big.tir; tailor ${c%% *} big.tir $(echo "$c" | sed 's/^[^ ]*//') --memory-limit=3M 2>&1 >/dev/null | head -1; done
> big.tir: error: out of memory while reading 'big.tir'
> big.tir: error: out of memory while reading 'big.tir'
> big.tir: error: out of memory while reading 'big.tir'
> big.tir: error: out of memory while reading 'big.tir'
> big.tir: error: out of memory while reading 'big.tir'
> big.tir: error: out of memory while reading 'big.tir'
> big.tir: error: out of memory while reading 'big.tir'
