# Names with characters that a format gives a meaning to.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = Relu(%%t)\n}\n' >'a b#c:d$e\f%g.tir'
# Make and Ninja read the rule alike: the file behind it is the one that is there.
$ tailor convert 'a b#c:d$e\f%g.tir' -q -o 'o $1:2 #x.air' --depfile=o.d; cat o.d
> o\ $$1\:2\ \#x.air: \
>  a\ b\#c\:d$$e\f%g.tir
$ printf 'all: o\\ $$1\\:2\\ \\#x.air\n%%.air:\n\t@echo stale\ninclude o.d\n' >Makefile; make -s; touch -d '2 hours ago' o*x.air; make -s
> stale
# What one of the two cannot take is refused, and nothing is written.
$ cp a*.tir "$(printf 'two\nlines.tir')"; tailor convert "$(printf 'two\nlines.tir')" -q -o new.air --depfile=n.d; ls new.air n.d
! tailor: error: --depfile: 'two\x0alines.tir' cannot be written into a Makefile rule: it has a control character, ';', or '\' before a blank, '#', ':', '\' or the end
!   hint: rename the file, or use --deps-json
! ls: cannot access 'new.air': No such file or directory
! ls: cannot access 'n.d': No such file or directory
? 2
$ cp a*.tir "$(printf 'tab\tx.tir')"; tailor convert "$(printf 'tab\tx.tir')" -q -o new.air --depfile=n.d; ls new.air n.d
! tailor: error: --depfile: 'tab\x09x.tir' cannot be written into a Makefile rule: it has a control character, ';', or '\' before a blank, '#', ':', '\' or the end
!   hint: rename the file, or use --deps-json
! ls: cannot access 'new.air': No such file or directory
! ls: cannot access 'n.d': No such file or directory
? 2
$ cp a*.tir 'semi;colon.tir'; tailor convert 'semi;colon.tir' -q -o new.air --depfile=n.d
! tailor: error: --depfile: 'semi;colon.tir' cannot be written into a Makefile rule: it has a control character, ';', or '\' before a blank, '#', ':', '\' or the end
!   hint: rename the file, or use --deps-json
? 1
$ cp a*g.tir m.tir; tailor convert m.tir -q --emit=onnx -o 'end\' --depfile=n.d; tailor convert m.tir -q -o 'a\ b.air' --depfile=n.d
! tailor: error: --depfile: 'end\' cannot be written into a Makefile rule: it has a control character, ';', or '\' before a blank, '#', ':', '\' or the end
!   hint: rename the file, or use --deps-json
! tailor: error: --depfile: 'a\ b.air' cannot be written into a Makefile rule: it has a control character, ';', or '\' before a blank, '#', ':', '\' or the end
!   hint: rename the file, or use --deps-json
? 1
# Node names go through every format as they are, or escaped where the format asks for it.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x) @"a\\n\\"b\\"\\\\<c>&</script>\\t$d;#"\n  %%y = Relu(%%t)\n}\n' >n.tir; tailor convert n.tir -q -o n.onnx -o n2.tir -o n.pbtxt; tailor opt n.onnx; grep -n script n.pbtxt; wc -l <n.pbtxt; tailor opt n2.tir -o - | cmp - n2.tir
> module {
>   source_opset 21
> }
>
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Exp(%x) @"a\n\"b\"\\<c>&</script>\t$d;#" : f32[2,3]
> }
> 28:    output: "a__b___c___/script___d__:0"
> 29:    name: "a__b___c___/script___d__"
> 65:    input: "a__b___c___/script___d__:0"
> 77
$ tailor explain n.tir --precision --json --soc-version=Ascend910B1 --precision-mode=force_fp16 >n.json; python3 -c 'import json; print([n["node"] for n in json.load(open("n.json"))["nodes"]][:1])'
> ['a\n"b"\\<c>&</script>\t$d;#']
$ tailor explain n.tir --page=n.html --soc-version=Ascend910B1 --precision-mode=force_fp16; test $(grep -o '<script' n.html | wc -l) = $(grep -o '</script>' n.html | wc -l) && echo 'as many begin as end'; grep -cF '&</script>' n.html
> as many begin as end
> 0
? 1
# The index of weights is JSON whatever the output is called.
$ head -c 8192 /dev/zero >w.bin; printf 'graph @g(%%x: f32[2048]) -> (%%y) {\n  const %%w: f32[2048] = file("w.bin", 0, 8192)\n  %%y = Mul(%%x, %%w)\n}\n' >w.tir; tailor convert w.tir -q -o 'q"uo\te.air' --external-weight=2; python3 -c 'import json; print([v["file"] for v in json.load(open("weight/meta.json")).values()])'
> ['weight/q"uo\\te_weight_combined']
# A list with a line for each file cannot tell a name of two lines.
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Exp(%%x)\n}\n' >"$(printf 'two\nlines.tir')"; tailor convert "$(printf 'two\nlines.tir')" --print-inputs -o q.air; echo $?
> 1
! tailor: error: --print-inputs: 'two\x0alines.tir' has a line feed, so it is no line of a list
!   hint: rename the file, or use --deps-json
