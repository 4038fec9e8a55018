# Weights beside the model: what appears, what a failure takes back, what it leaves alone.
# The smaller one is written first: its hash sorts first.
$ head -c 4096 /dev/zero >z.bin; head -c 102400 /dev/zero | tr '\0' '\5' >o.bin; printf 'graph @g(%%x: f32[1024]) -> (%%y) {\n  const %%a: f32[1024] = file("z.bin", 0, 4096)\n  const %%b: f32[25,1024] = file("o.bin", 0, 102400)\n  const %%c: f32[1024] = file("z.bin", 0, 4096)\n  %%p = Add(%%x, %%a)\n  %%q = Mul(%%p, %%b)\n  %%y = Sub(%%q, %%c)\n}\n' >m.tir; mkdir in; mv m.tir *.bin in
# One file a content, named by it.
$ mkdir one; tailor convert in/m.tir -o one/m.air --external-weight=1 --summary=none -O0; (cd one; find . -type f | sort; cd weight; sha256sum weight_* | sed 's/^\(.*\)  weight_\1$/same/')
> ./m.air
> ./weight/meta.json
> ./weight/weight_ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7
> ./weight/weight_d123558be5d70d30d768475373216ffcdca9031af8c6e783f659d6dd94a09aa1
> same
> same
# One file for all, every weight at a multiple of 512 bytes.
$ mkdir two; tailor convert in/m.tir -o two/m.air --external_weight=2 --summary=none -O0; (cd two; find . -type f | sort; stat -c %s weight/m_weight_combined; cat weight/meta.json)
> ./m.air
> ./weight/m_weight_combined
> ./weight/meta.json
> 106496
> {
>   "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7": {"file": "weight/m_weight_combined", "offset": 0, "length": 4096},
>   "d123558be5d70d30d768475373216ffcdca9031af8c6e783f659d6dd94a09aa1": {"file": "weight/m_weight_combined", "offset": 4096, "length": 102400}
> }
# The same bytes in another folder.
$ mkdir again; tailor convert in/m.tir -o again/m.air --external-weight=1 --summary=none -O0; diff -r one again
# Two models in one folder share weights and their list, which tells of a content once.
$ mkdir both; tailor convert in/m.tir -o both/m.air -o both/../both/n.air --external-weight=1 --summary=none -O0; cmp one/weight/meta.json both/weight/meta.json; ls both/weight | wc -l
> 3
# What the command has written itself is none of its inputs.
$ tailor convert in/m.tir -o both/m.air -o both/n.air --external-weight=1 --summary=none -O0 --depfile=both/d; cat both/d; rm both/d
> both/m.air both/n.air: \
>  in/m.tir \
>  in/z.bin \
>  in/o.bin
$ tailor convert in/m.tir -o both/m.air -o both/n.air --external-weight=2 --summary=none -O0; cmp two/weight/meta.json both/weight/meta.json; ls both/weight | grep combined; rm -r both
> m_weight_combined
> n_weight_combined
# A later output fails: what this run made is gone, its folders too.
$ mkdir late; tailor convert in/m.tir -o late/m.air -o none/b.pbtxt --external-weight=1 --summary=none -O0; ls -A late
! none/b.pbtxt: error: cannot create a temporary file for 'none/b.pbtxt': No such file or directory
$ tailor convert in/m.tir -o late/m.air -o none/b.pbtxt --external-weight=2 --summary=none -O0; ls -A late
! none/b.pbtxt: error: cannot create a temporary file for 'none/b.pbtxt': No such file or directory
$ tailor convert in/m.tir -o late/m.onnx -o none/b.pbtxt --external-weight=1 --summary=none -O0; ls -A late
! none/b.pbtxt: error: cannot create a temporary file for 'none/b.pbtxt': No such file or directory
# What was there stays: the model, its weights, strangers in the folder.
$ tailor convert in/m.tir -o one/m.air -o none/b.pbtxt --external-weight=1 --summary=none -O0 2>/dev/null; diff -r one again
$ tailor convert in/m.tir -o one/n.air -o none/b.pbtxt --external-weight=1 --summary=none -O0 2>/dev/null; diff -r one again
$ mkdir -p late/weight; echo mine >late/weight/mine; tailor convert in/m.tir -o late/m.air -o none/b.pbtxt --external-weight=1 --summary=none -O0 2>/dev/null; find late -type f
> late/weight/mine
# The weights themselves fail half way: nothing is replaced.
$ echo old >two/weight/m_weight_combined; echo old >two/weight/meta.json; echo old >two/m.air; (ulimit -f 64; tailor convert in/m.tir -o two/m.air --external-weight=2 --summary=none -O0); echo $?; cat two/m.air two/weight/*; ls -A two/weight
> 4
> old
> old
> old
> m_weight_combined
> meta.json
! two/weight/m_weight_combined: error: cannot write 'two/weight/m_weight_combined': File too large
$ mkdir full; (ulimit -f 64; tailor convert in/m.tir -o full/m.air --external-weight=1 --summary=none -O0); echo $?; find full -mindepth 1 | sort
> 4
! full/weight/weight_d123558be5d70d30d768475373216ffcdca9031af8c6e783f659d6dd94a09aa1: error: cannot write 'full/weight/weight_d123558be5d70d30d768475373216ffcdca9031af8c6e783f659d6dd94a09aa1': File too large
$ (ulimit -f 4; tailor convert in/m.tir -o full/m.air --external-weight=1 --summary=none -O0); echo $?; ls -A full
> 4
! full/m.air: error: cannot write 'full/m.air': File too large
$ (ulimit -f 4; tailor convert in/m.tir -o full/m.onnx --external-weight=1 --summary=none -O0); echo $?; ls -A full
> 4
! full/m.onnx.data: error: cannot write 'full/m.onnx.data': File too large
# Weights inside: a full disk is no internal error, whatever follows the weight that does not fit.
$ head -c 300000 /dev/zero >in/w.bin; printf 'graph @g(%%x: f32[75000]) -> (%%y) {\n  const %%w: f32[75000] = file("w.bin", 0, 300000)\n  %%a = Add(%%x, %%w)\n  %%b = Relu(%%a)\n  %%y = Tanh(%%b)\n}\n' >in/i.tir; (ulimit -f 64; tailor convert in/i.tir -o full/i.onnx --summary=none -O0); echo $?; (ulimit -f 64; tailor convert in/i.tir -o full/i.air --summary=none -O0); echo $?; ls -A full
> 4
> 4
! full/i.onnx: error: cannot write 'full/i.onnx': File too large
! full/i.air: error: cannot write 'full/i.air': File too large
# Overwriting everything works.
$ tailor convert in/m.tir -o two/m.air --external-weight=2 --summary=none -O0; stat -c '%n %s' two/weight/*; ls -A two/weight
> two/weight/m_weight_combined 106496
> two/weight/meta.json 282
> m_weight_combined
> meta.json
$ tailor convert in/m.tir -o - --external-weight=1 --summary=none | wc -c
> 0
! -: error: external weights need an output file, not standard output
# FileConstant names its file from the folder where atc runs: the summary's line runs it there. A
# stand-in for atc says which of the files that the model names it can open.
$ mkdir bin 'a b'; printf '#!/bin/sh\nfor o; do case $o in --model=*) m=${o#*=};; --insert_op_conf=*) cat "${o#*=}";; esac; done\nfor w in $(grep -ao "weight/[a-z0-9_]*" "$m" | sort -u); do test -f "$w" && echo opens || echo lacks "$w"; done\n' >bin/atc; chmod +x bin/atc
$ tailor convert in/m.tir -o 'a b/m.air' --external-weight=2 -O0 2>&1 | tail -1 | tee line; PATH=$PWD/bin:$PATH sh line
>   (cd 'a b' && atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype)
> opens
$ tailor convert in/m.tir -o m.air --external-weight=1 -O0 2>&1 | tail -1 | tee line; PATH=$PWD/bin:$PATH sh line
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
> opens
> opens
# without FileConstant nodes the model may be named from anywhere
$ tailor convert in/m.tir -o 'a b/n.air' -O0 2>&1 | tail -1
>   atc --framework=1 --model='a b/n.air' --output='a b/n' --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
# files that options name are found from there too
$ head -c 2400 /dev/zero >in/w.bin; printf 'graph @g(%%x: f32[1,3,4,4]) -> (%%y) {\n  const %%w: f32[600] = file("in/w.bin", 0, 2400)\n  %%r = Relu(%%x)\n  %%s = ReduceSum(%%w)\n  %%y = Add(%%r, %%s)\n}\n' >i.tir; printf 'aipp_op {\n  aipp_mode: static\n  input_format: RGB888_U8\n  src_image_size_w: 4\n  src_image_size_h: 4\n}\n' >p.cfg; tailor convert i.tir -o 'a b/i.air' --external-weight=2 --insert-op-conf=p.cfg -O0 2>&1 | tail -1 | tee line; PATH=$PWD/bin:$PATH sh line | head -1; rm -r bin 'a b' m.air weight line i.tir p.cfg
>   (cd 'a b' && atc --framework=1 --model=i.air --output=i --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype --insert_op_conf="$OLDPWD"/p.cfg)
> aipp_op {
$ rm -r one two again late full in; ls -A
# Holes of sparse weights stay holes, at the start, in between and at the end: 64 MiB take no room.
$ truncate -s 64M s.bin; for at in 8 30; do head -c 4000 /dev/zero | tr '\0' '\5' | dd of=s.bin bs=1M seek=$at conv=notrunc status=none; done; printf 'graph @g(%%i: i64[4]) -> (%%y) {\n  const %%w: f32[16384,1024] = file("s.bin", 0, 67108864)\n  %%y = Gather(%%w, %%i)\n}\n' >s.tir
$ tailor convert s.tir -o thin.onnx --external-weight=1 --summary=none && cmp s.bin thin.onnx.data && test $(du -k thin.onnx.data | cut -f1) -lt 4096 && echo thin
> thin
