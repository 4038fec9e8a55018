# tailor bisect: the rewrite that breaks a model, found by numbers or by a command.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Exp(%%x) @a\n  %%b = Exp(%%x) @b\n  %%s = Add(%%a, %%b) @s\n  %%t = Sub(%%s, %%x) @t\n  %%r = Sqrt(%%t) @r\n  %%y = Relu(%%r) @y\n}\n' >m.tir
$ printf 'rules 1\nrule WrongSub : graph numerics exact {\n  match { %%y = Sub(%%a, %%b) }\n  replace {\n    %%d = Mul(%%a, %%a)\n    %%e = Mul(%%d, %%b)\n    %%y = Abs(%%e)\n  }\n}\n' >wrong.tlr
# nothing is wrong with the built-in rules
$ tailor bisect m.tir | sed 's/all [0-9]*/all N/'
> the check passes behind all N rewrites: there is nothing to find
> inputs: 1 of 1 inputs are random (seed 0)
# a wrong rule is found by what it computes
$ tailor bisect m.tir --rules=wrong.tlr >out; echo $?; sed 's/ of [0-9]* breaks.*/ breaks the model/; /^inputs/d' out
> 5
> rewrite 2 breaks the model
>   pass   graph-fusion
>   rule   WrongSub
>   nodes  t
>   what   WrongSub: `t` became Abs
>
> --- before
> +++ after
> @@ -3,5 +3,7 @@
>    %b = Exp(%x) @b : f32[2,3]
>    %s = Add(%a, %b) @s : f32[2,3]
> -  %t = Sub(%s, %x) @t : f32[2,3]
> +  %t/Mul = Mul(%s, %s) @t/Mul_1 : f32[2,3]
> +  %t/Mul_2 = Mul(%t/Mul, %x) @t/Mul_3 : f32[2,3]
> +  %t = Abs(%t/Mul_2) @t/Abs : f32[2,3]
>    %r = Sqrt(%t) @r : f32[2,3]
>    %y = Relu(%r) @y : f32[2,3]
> again: tailor bisect m.tir --rules=wrong.tlr --rewrite=2
> without it: --fusion=WrongSub:off
# the command that it prints shows the rewrite again; another one is good
$ sh -c "$(sed -n 's/^again: //p' out)" | cmp - out
$ tailor bisect m.tir --rules=wrong.tlr --rewrite=1 | head -2 | sed 's/ of [0-9]*//'
> rewrite 1: good before, good after
>   pass   infer-shapes
$ tailor bisect m.tir --rules=wrong.tlr --fusion=WrongSub:off >/dev/null
$ tailor bisect m.tir --rules=wrong.tlr --json | python3 -c "import json, sys; d = json.load(sys.stdin); print(d['found'], d['pass'], d['rule'], d['nodes'], d['bad'] - d['last_good'], d['monotone']); print(len(d['before'].splitlines()), len(d['after'].splitlines()), d['command'])"
> rewrite graph-fusion WrongSub ['t'] 1 True
> 8 10 tailor bisect m.tir --rules=wrong.tlr --rewrite=2
# several processes find the same
$ tailor bisect m.tir --rules=wrong.tlr -j 7 | sed 's/ -j 7//' | cmp - out
# a command decides: it gets a file of the form that -o names, which is not written
$ tailor bisect m.tir -o x.onnx --rules=wrong.tlr --check='! grep -q Abs {}' | grep -E 'breaks|rule|again'
> rewrite 1 of 3 breaks the model: the command ended with status 1
>   rule   WrongSub
> again: tailor bisect m.tir -o x.onnx --rules=wrong.tlr '--check=! grep -q Abs {}' --rewrite=1
$ test ! -e x.onnx
$ tailor bisect m.tir -o x.air --rules=wrong.tlr --check='! grep -q Abs {}' | grep '^  rule'
>   rule   WrongSub
# which node gets a narrow dtype is a rewrite, too
$ tailor bisect m.tir -o x.tir --precision-mode=force_fp16 --check='test $(grep -c "f16.*[^o]$" {}) -lt 3' | grep -E 'pass|what'
>   pass   precision
>   what   f32 becomes f16
# what is told apart from a rewrite that is found
$ tailor bisect m.tir --check='exit 125 {}'
> no rewrite breaks the model, but its last form cannot be checked: the command ended with status 125
? 5
$ tailor bisect m.tir --check='false {}'
> the model with no rewrite but those that its form cannot do without fails the check, so no rewrite is to blame: the command ended with status 1
? 5
$ tailor bisect m.tir --check='kill -9 $$ {}'
> the model with no rewrite but those that its form cannot do without fails the check, so no rewrite is to blame: the command was stopped by signal 9
? 5
$ tailor bisect m.tir -o x.tir --rules=wrong.tlr --check='n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) >count; case $n in 0|2) exit 1;; esac # {}' 2>&1 | sed 's/answers about.*/answers/'
> the check is flaky: asked twice, it gave two answers
>   make the command give the same answer each time
# a failure that comes and goes: one rule breaks the model, another mends it, then f16 is too coarse
$ printf 'rules 1\nrule Breaks : graph numerics exact {\n  match { %%y = Sub(%%a, %%b) }\n  replace { %%y = Mul(%%a, %%b) }\n}\nrule Mends : late numerics exact {\n  match { %%y = Mul(%%a, %%b) }\n  replace { %%y = Sub(%%a, %%b) }\n}\n' >comes.tlr
$ tailor bisect m.tir --rules=comes.tlr --precision-mode=force_fp16 --cosine=0.999999999 | grep -E '^  pass|monotone' | sed 's/rewrite [0-9]* /rewrite N /'
>   pass   graph-fusion
> note: the failure is not monotone: behind rewrite N (pass late-fusion) the model is good again; this is one rewrite that breaks it
# mistakes in the command line
$ tailor bisect m.tir --rules=wrong.tlr --rewrite=99
! tailor: error: --rewrite: the passes make 13 rewrites, so there is no rewrite 99
? 1
$ tailor bisect m.tir --check=true
! tailor: error: --check: does not say where the model goes
!   hint: write {} for its path: --check='CMD {}'
? 1
$ tailor bisect m.tir --check='true {}' --verify
! tailor: error: --check: cannot be combined with --verify: there is one check
? 1
$ tailor bisect -
! tailor: error: the model is read several times: it must be a file
? 1
$ tailor bisect
! tailor: error: no model was given
? 1
$ tailor bisect missing.onnx 2>&1 | sed 's/:.*//'
> missing.onnx
$ tailor convert m.tir -o x.air --check='true {}'
! tailor: error: '--check=true {}' is not an option of 'tailor convert'
!   hint: 'tailor help convert' lists its options
? 1
# options of convert that would change nothing here are named
$ tailor bisect m.tir --time-passes --depfile=m.d 2>&1 >/dev/null; test -e m.d || echo 'no file'
> tailor: warning: --depfile, --time-passes: no effect in bisect
>   hint: give them to 'tailor convert'
> no file
$ tailor reduce m.tir --rules=wrong.tlr -o s.tir --trace=s.json 2>&1 >/dev/null; test -e s.json || echo 'no file'
> tailor: warning: --trace: no effect in reduce
>   hint: give it to 'tailor convert'
> no file
