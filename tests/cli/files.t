# Outputs appear complete or not at all, and never over an input.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%u = Exp(%%t)\n  %%y = Neg(%%t)\n}\n' >a.tir
$ tailor opt a.tir
> graph @g(%x: f32[2,3]) -> (%y) {
>   %t = Exp(%x) : f32[2,3]
>   %y = Neg(%t) : f32[2,3]
> }
$ tailor opt < a.tir
> graph @g(%x: f32[2,3]) -> (%y) {
>   %t = Exp(%x) : f32[2,3]
>   %y = Neg(%t) : f32[2,3]
> }
$ tailor opt a.tir -o b.tir -o c.tir --depfile=d.mk && cat b.tir d.mk && cmp b.tir c.tir
> graph @g(%x: f32[2,3]) -> (%y) {
>   %t = Exp(%x) : f32[2,3]
>   %y = Neg(%t) : f32[2,3]
> }
> b.tir c.tir: \
>  a.tir
$ tailor opt a.tir -o a.tir
! tailor: error: --output: 'a.tir' is an input of this conversion and would be overwritten
? 1
$ ln -s a.tir link.tir; tailor opt a.tir -o link.tir
! tailor: error: --output: 'link.tir' is an input of this conversion and would be overwritten
? 1
# Whatever option names the file, and also what is written twice.
$ printf 'rules 1\n' >own.tlr; cp a.tir kept.tir; cp own.tlr kept.tlr
$ tailor opt a.tir -o n.tir --depfile=a.tir
! a.tir: error: 'a.tir' is an input of this command and would be overwritten
? 1
$ tailor opt a.tir -o n.tir --rules=own.tlr --deps-json=./own.tlr
! ./own.tlr: error: './own.tlr' is an input of this command and would be overwritten
? 1
$ echo a.tir >in.rsp; tailor convert @in.rsp -o n.air -q --options-json=in.rsp
! in.rsp: error: 'in.rsp' is an input of this command and would be overwritten
? 1
$ tailor opt a.tir -o n.tir --depfile=n.tir
! n.tir: error: two files of this command have the name 'n.tir'
!   hint: give each a name of its own
? 1
# A file that is written twice with the same bytes loses nothing.
$ tailor opt a.tir -o n.tir -o ./n.tir; cmp n.tir b.tir; rm n.tir
$ ls n.tir n.air; cmp a.tir kept.tir; cmp own.tlr kept.tlr; cat in.rsp; rm in.rsp kept.* own.tlr
> a.tir
! ls: cannot access 'n.tir': No such file or directory
! ls: cannot access 'n.air': No such file or directory
$ tailor opt a.tir -o /dev/null --depfile=/dev/null -q
$ tailor opt a.tir -o none/b.tir
! none/b.tir: error: cannot create a temporary file for 'none/b.tir': No such file or directory
? 4
$ mkdir folder; tailor opt a.tir -o folder
! folder: error: 'folder' is a folder, a file name was expected
? 4
$ chmod 640 b.tir; tailor opt b.tir -o c.tir; tailor opt a.tir -o b.tir; stat -c %a b.tir
> 640
$ tailor opt a.tir -o /dev/full
! /dev/full: error: cannot write '/dev/full': No space left on device
? 4
$ tailor opt missing.tir
! missing.tir: error: cannot open 'missing.tir': No such file or directory
? 4
$ tailor opt folder
! folder: error: 'folder' is a folder, a file was expected
!   hint: name a file in it
? 4
$ tailor opt a.tir --passes=nothing
! tailor: error: unknown pass 'nothing'
!   hint: 'tailor passes' lists them
? 1
$ tailor opt a.tir --passes=dead-nodes --rewrite-limit=1 --stats -o /dev/null
! dead-nodes               1 rewrites, nodes 3 -> 2
! all                      1 rewrites
$ tailor opt a.tir --print-after=nothing -o e.tir
! tailor: error: --print-after: 'nothing' is not a pass
!   hint: 'tailor passes' lists them
? 1
$ head -c 20 a.tir >short.tir; tailor opt short.tir -o f.tir -q | wc -c
> 0
! short.tir:1:21: error: expected ',', found the end of the text
$ printf '\010\010' >bad.onnx; tailor convert bad.onnx -o g.onnx 2>&1 | head -c 16
> bad.onnx: error:
# Opening the pipe to write waits until the command has it open to read. A signal before the read
# begins stops nothing until the next one, as somebody at a keyboard sends it.
$ mkfifo pipe; sh -c 'tailor opt pipe -o h.tir & p=$!; exec 3>pipe; while kill -INT $p 2>/dev/null; do sleep 0.2; done; wait $p; echo $?'
> 130
$ tailor info a.tir
> model    a.tir
> ir       10
> opset    ai.onnx 21
> input    x: f32[2,3]
> output   y: f32[2,3]
> weights  0 constants, 0 bytes
> nodes    3 in 1 graph
> ops
>          2  Exp
>          1  Neg
> NPU types (after clean-up and expansion)
>          1  Exp
>          1  Neg
> every op has an NPU form
$ ls -A
> a.tir
> b.tir
> bad.onnx
> c.tir
> d.mk
> folder
> link.tir
> pipe
> short.tir
