# A script that calls atc: Tailor first, then atc with what it has to see again.
$ printf 'graph @g(%%x: f32[?,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = Neg(%%t)\n}\n' >m.tir; tailor opt m.tir -o m.onnx --emit=onnx; ls m.onnx
> m.onnx
$ tailor atc --dry-run -- --framework=5 --model=m.onnx --output=m --soc_version=Ascend310P3 --input_shape="x:2,3" --log=error; ls m.air
> atc --framework=1 --model=m.air --output=m --soc_version=Ascend310P3 --precision_mode=must_keep_origin_dtype --log=error --input_shape=x:2,3
! ls: cannot access 'm.air': No such file or directory
? 2
$ printf '#!/bin/sh\nfor a; do echo "$a"; done\nexit 7\n' >fake; chmod +x fake; tailor atc --with=./fake -- --framework=5 --model=m.onnx --output=m --soc_version=Ascend310P3 --input_shape="x:2,3"; echo $?; ls m.air
> --framework=1
> --model=m.air
> --output=m
> --soc_version=Ascend310P3
> --precision_mode=must_keep_origin_dtype
> --input_shape=x:2,3
> 7
> m.air
# Lines that compile no model are none of Tailor's business.
$ tailor atc --with=./fake -- --mode=1 --om="a b.om" --json='$x'; echo $?; tailor atc --dry-run -- --help
> --mode=1
> --om=a b.om
> --json=$x
> 7
> atc --help
# The precision is atc's default; a mode that is given counts.
$ tailor atc --with=true -- --framework=5 --model=m.onnx --output=f --soc_version=Ascend310P3 --input_shape="x:2,3"; tailor convert m.onnx -o g.air -q --soc-version=Ascend310P3 --input-shape="x:2,3" --precision-mode=force_fp16; tailor diff f.air g.air --stat
$ tailor atc --with=true -- --framework=5 --model=gone.onnx --output=f
! gone.onnx: error: cannot open 'gone.onnx': No such file or directory
? 4
$ tailor atc --with=./nothing -- --framework=5 --model=m.onnx --output=f --input_shape="x:2,3" 2>&1 | tail -n 1
> ...
$ tailor atc --framework=5
! tailor: error: '--framework=5' is not an option of 'tailor atc'
!   hint: 'tailor help atc' lists its options
? 1
$ tailor atc m.onnx
! tailor: error: stray argument 'm.onnx'
!   hint: write -- before the options of atc
? 1
$ tailor atc
! tailor: error: no options of atc are given
!   hint: tailor atc -- --framework=5 --model=m.onnx --output=m --soc_version=CHIP
? 1
