# What people type, and what it is answered with.
$ printf 'graph @g(%%x: f32[n,4]) -> (%%y) {\n  %%y = Relu(%%x)\n}\n' >m.tir
$ printf 'graph @g(%%x: f32[n,4]) -> (%%z) {\n  %%y = Relu(%%x)\n  %%z = com.acme::Fake(%%y) {k=1}\n}\n' >u.tir
# an empty shape, as scripts leave it, is as good as none
$ tailor convert m.tir -o m.air --dry-run --input_shape=
! options are valid: m.tir -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.tir -o m.air --dry-run --input_shape= --input-shape-range='x:[1~4,4]'
! options are valid: m.tir -> m.air (air); 1 recorded for the device compiler
$ tailor convert m.tir -o m.air --dry-run --input_shape=" "
! options are valid: m.tir -> m.air (air); 0 recorded for the device compiler
$ tailor convert m.tir -o m.air --dry-run --out-nodes=
! tailor: error: --out-nodes: the value is empty [E10054]
!   hint: write --out-nodes=VALUE without blanks around '=', and quote values that contain ';' or blanks
? 1
# an offline model takes two steps
$ tailor convert m.tir -o out/net.om
! tailor: error: --output: 'out/net.om' is an offline model, which takes two steps: Tailor writes AIR, and atc compiles it
!   hint: write -o out/net.air here, then run: atc --framework=1 --model=out/net.air --output=out/net --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
? 3
$ tailor convert m.tir --output=net.om --soc_version=Ascend310P3
! tailor: error: --output: 'net.om' is an offline model, which takes two steps: Tailor writes AIR, and atc compiles it
!   hint: write -o net.air here, then run: atc --framework=1 --model=net.air --output=net --soc_version=Ascend310P3 --precision_mode=must_keep_origin_dtype
? 3
$ tailor convert m.tir -o net.om --emit air --summary=none; ls net.om
> net.om
$ tailor convert m.tir -o net.omx --summary=none; ls net.omx.air
> net.omx.air
# the output named without -o
$ tailor convert m.tir m.air
! tailor: error: stray argument 'm.air'
!   hint: one model is read at a time; outputs are named with -o: -o m.air, and of several models with -o 'DIR/{}.air'
? 1
$ tailor convert --model=m.tir m.onnx
! tailor: error: stray argument 'm.onnx'
!   hint: one model is read at a time; outputs are named with -o: -o m.onnx, and of several models with -o 'DIR/{}.air'
? 1
$ tailor opt m.tir n.tir
! tailor: error: stray argument 'n.tir'
!   hint: one model is read at a time; outputs are named with -o: -o n.tir
? 1
$ tailor convert m.tir n
! tailor: error: stray argument 'n'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor info m.tir n.air
! tailor: error: stray argument 'n.air'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ tailor convert m.tir m.om
! tailor: error: stray argument 'm.om'
!   hint: outputs are named with -o; an offline model takes two steps: -o m.air here, then atc
? 1
$ tailor --model=m.tir --framework=5 --output=m
! tailor: error: '--model=m.tir' needs a command in front
!   hint: 'tailor convert' takes the options of atc
! tailor: error: '--framework=5' needs a command in front
!   hint: 'tailor convert' takes the options of atc
! tailor: error: '--output=m' needs a command in front
!   hint: 'tailor convert' takes the options of atc
? 1
# the kind of the input as atc counts it
$ tailor convert m.tir -o k.air -q; tailor convert k.air --framework=1 -o n.air -q; tailor convert m.tir --framework=1 -o n.air; tailor convert m.tir --framework=0 -o n.air
! tailor: error: --framework: 1 is AIR, and 'm.tir' is none
!   hint: write --framework=5, or leave it out
! tailor: error: --framework: framework 0 is not supported; this version reads ONNX (5) and AIR (1) [E10007]
!   hint: export the model to ONNX first
? 3
$ tailor convert - --framework=1 -o n.air <m.tir
! tailor: error: --framework: 1 is AIR, and '-' is none
!   hint: write --framework=5, or leave it out
? 1
# the chip that was taken, if none was named
$ tailor convert m.tir -o m.air 2>&1 | grep -e chip -e atc
>   chip     Ascend910B1, since --soc-version names none
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
$ tailor convert m.tir -o m.air --soc-version=Ascend310P3 2>&1 | grep -e chip -e atc
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend310P3 --precision_mode=must_keep_origin_dtype
$ tailor convert m.tir -o m.onnx 2>&1 | grep -e chip -e atc
? 1
# a file for inspection is not for atc
$ tailor convert u.tir -o u.air
! u.tir: error: 1 op type has no NPU form: com.acme::Fake x1 ('Fake->z'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
$ tailor convert u.tir -o u.air --allow-unmapped 2>&1 | grep -v -e time -e memory -e pass -e device -e in.all
> u.tir: warning: 1 op type without an NPU form stays as it is: com.acme::Fake x1 ('Fake->z'): has no NPU form [W_UNMAPPED]
>   hint: a file with them is for inspection: atc refuses them
> u.tir
>   nodes    2 -> 2, 2 for the NPU
>   weights  0 constants, 0 bytes
>   chip     Ascend910B1, since --soc-version names none
>   dtypes   the model's own
>   wrote    u.air (2.3 KiB)
> u.air is for inspection: 1 node is without an NPU form, and atc refuses it
$ tailor convert u.tir -o u.air --allow-unmapped --summary=json 2>&1 | grep -o -e '"unmapped": 1' -e '"next"' -e W_UNMAPPED
> W_UNMAPPED
> "unmapped": 1
$ tailor convert m.tir -o m.air --allow-unmapped --summary=json 2>&1 | grep -o -e '"unmapped": 0' -e '"next"' -e W_UNMAPPED
> "unmapped": 0
> "next"
$ tailor convert u.tir -o u.onnx --allow-unmapped --summary=none
$ tailor convert m.tir -o m.air --dry-run --auto_tune_mode="RL,GA"
! tailor: error: --auto-tune-mode: not supported here: atc dropped it too, and AOE tunes now: leave the option out, and give the model to 'aoe --job_type=2', whose results atc finds by itself [E10055]
? 3
$ tailor convert m.tir -o m.air --dry-run --auto_tune_mode=; tailor convert m.tir -o m.air --dry-run --auto_tune_mode
! options are valid: m.tir -> m.air (air); 0 recorded for the device compiler
! tailor: error: --auto-tune-mode: not supported here: atc dropped it too, and AOE tunes now: leave the option out, and give the model to 'aoe --job_type=2', whose results atc finds by itself [E10055]
? 3
# What takes more than two seconds says on a terminal what it does, and leaves no trace of it; elsewhere
# and with --quiet it says nothing.
$ printf '#!/bin/sh\nsleep 3\nexec tailor run "$1" --input "$2" -o "$3" -q >log\n' >slow; chmod +x slow; printf 'import os, pty, re, sys\npid, fd = pty.fork()\nif pid == 0:\n    os.execvp(sys.argv[1], sys.argv[1:])\nout = b""\nwhile True:\n    try:\n        data = os.read(fd, 65536)\n    except OSError:\n        break\n    if not data:\n        break\n    out += data\nlines = out.decode().replace("\\r\\n", "\\n").split("\\r\\x1b[K")\nprint(sorted(set(re.sub(r" .[0-9]+ s.$", "", x) for x in lines[:-1])))\nprint(lines[-1], end="")\n' >terminal.py
$ /usr/bin/python3 terminal.py tailor run m.tir --dim n=2 --runner ./slow | grep -v -e time -e random
> ['', 'evaluating m.tir by ./slow']
> output  type      min  max     mean    nan  inf
> "y"     f32[2,4]  0    0.6267  0.2578  0    0
$ /usr/bin/python3 terminal.py tailor run m.tir --dim n=2 --runner ./slow -q | grep "^."  | sed 2,9d
> []
$ tailor run m.tir --dim n=2 --runner ./slow | grep -v -e time -e random
> output  type      min  max     mean    nan  inf
> "y"     f32[2,4]  0    0.6267  0.2578  0    0
