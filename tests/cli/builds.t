# What a step in a build needs: every file that was read, files left alone, response files.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = Neg(%%t)\n}\n' >m.tir
$ printf '{"black-list":{"to-add":["Exp"]}}' >mix.json; printf 'Exp' >keep.cfg; printf '{}' >run.json; printf '{"Switch":{"GraphFusion":{"ALL":"on"}}}' >on.cfg
# The model comes first, though files of options are read before it.
$ tailor convert m.tir -o m.air -q --precision-mode=allow_mix_precision --modify-mixlist=mix.json --keep-dtype=keep.cfg --fusion-switch-file=on.cfg --run-config=run.json --graph-run-mode=0 --depfile=d --deps-json=j; cat d j
> m.air: \
>  m.tir \
>  run.json \
>  on.cfg \
>  mix.json \
>  keep.cfg
> {
>   "outputs": [
>     "m.air"],
>   "inputs": [
>     "m.tir",
>     "run.json",
>     "on.cfg",
>     "mix.json",
>     "keep.cfg"]
> }
# A report of the files alone: no output is written, none need be named.
$ rm -f m.air d j; tailor convert m.tir --print-inputs --run-config=run.json --graph-run-mode=0; ls *.air d j
> m.tir
> run.json
! ls: cannot access '*.air': No such file or directory
! ls: cannot access 'd': No such file or directory
! ls: cannot access 'j': No such file or directory
? 2
$ tailor convert m.tir -o m.air --depfile=d --print-inputs; ls m.air d
> m.tir
! ls: cannot access 'm.air': No such file or directory
! ls: cannot access 'd': No such file or directory
? 2
$ tailor opt m.tir --print-inputs
> m.tir
$ tailor opt --print-inputs <m.tir
$ tailor convert m.tir -o m.air --print-inputs --dry-run
! tailor: error: --print-inputs: needs the model, which --dry-run does not read
!   hint: leave out --dry-run: --print-inputs writes no file either
? 1
# A file with the same bytes keeps its time, and its inode.
$ tailor convert m.tir -o m.air -q; ls -i m.air >before; tailor convert m.tir -o m.air -q --write-if-changed; ls -i m.air | cmp - before && echo kept
> kept
$ tailor convert m.tir -o m.air -q; ls -i m.air | cmp -s - before || echo new
> new
$ ls -i m.air >before; tailor convert m.tir -o m.air -o n.onnx -q --write-if-changed --precision-mode=force_fp16; ls -i m.air | cmp -s - before || echo new
> new
$ ls -A | grep -c tmp
> 0
? 1
$ ln -s m.air link.air; tailor convert m.tir -o link.air -q --write-if-changed --precision-mode=force_fp16; readlink link.air
> m.air
# Response files: arguments, quotes, files in files; a file that is read is a dependency.
$ printf -- '-o "a b.air"\r\n@more' >args; printf -- "--depfile='d' -q\n" >more; tailor convert m.tir @args; ls *.air; cat d
> a b.air
> link.air
> m.air
> a\ b.air: \
>  m.tir \
>  args \
>  more
$ printf 'opt m.tir' >all; tailor @all --print-inputs
> m.tir
> all
$ printf '%s' 'C:\\x "a\"b\c" '"'d\\e'"' f\ g' >quotes; tailor convert m.tir -q @quotes 2>&1 | grep -o "stray argument '.*'"
> stray argument 'C:\x'
> stray argument 'a"b\c'
> stray argument 'd\e'
> stray argument 'f g'
$ echo '@loop' >loop; tailor convert @loop
! loop: error: response files name each other more than 16 deep
!   hint: one of them names itself
? 1
$ tailor convert @missing
! missing: error: cannot open 'missing': No such file or directory
? 4
$ printf "x 'abc" >open; tailor convert @open
! open:1: error: this argument has no closing '
? 1
$ printf 'a\n\0b' >zero; tailor convert @zero
! zero:2: error: the response file has a NUL byte, so it is no text
? 1
$ printf '' >empty; tailor opt @empty m.tir | head -n 1
> graph @g(%x: f32[2,3]) -> (%y) {
$ tailor opt m.tir -o out.tir -- @all
! tailor: error: stray argument '@all'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
$ cp m.tir @all; tailor opt -- @all | head -n 1
> graph @g(%x: f32[2,3]) -> (%y) {
# Messages for programs: an object a line, or one log; the summary only when it is asked for.
$ tailor convert nothere.onnx -o x.air --diagnostics=json
! {"severity": "error", "code": "TL_IO", "file": "nothere.onnx", "message": "cannot open 'nothere.onnx': No such file or directory"}
? 4
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%y = Nonsense(%%x)\n}\n' >bad.tir; tailor convert bad.tir -o x.air --diagnostics=json
! {"severity": "error", "code": "TL_INVALID_MODEL", "file": "bad.tir", "line": 2, "column": 8, "message": "unknown op 'Nonsense'", "hint": "ops of other domains are written domain::Name"}
? 2
$ tailor convert m.tir -o x.air --diagnostics=json
$ tailor convert m.tir -o x.air --diagnostics=json --summary=json 2>&1 | grep -c '"nodes_after"'
> 1
$ tailor convert m.tir --diagnostics=json --colour=always --wrong
! {"severity": "error", "code": "TL_INVALID_ARGUMENT", "message": "unknown option '--wrong'", "hint": "'tailor help convert' lists the options"}
? 1
$ tailor convert 'no such.onnx' -o x.air --diagnostics=sarif
! {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [{"tool": {"driver": {"name": "tailor", "version": "0.1.0"}}, "results": [{"ruleId": "TL_IO", "level": "error", "message": {"text": "cannot open 'no such.onnx': No such file or directory"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "no%20such.onnx"}}}]}]}]}
? 4
$ tailor convert m.tir -o x.air --diagnostics=sarif
! {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [{"tool": {"driver": {"name": "tailor", "version": "0.1.0"}}, "results": []}]}
$ tailor convert m.tir -o x.air --diagnostics=xml
! tailor: error: --diagnostics: 'xml' is not one of text|json|sarif [E10001]
? 1
# What a cache needs to know of the program.
$ tailor --version-key | grep -cE '^tailor-[0-9.]+-[0-9a-f]{16}$'
> 1
