# The options of a conversion, recorded and given again.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = Neg(%%t)\n}\n' >m.tir; printf '{"precision_mode": "force_fp16", "graph_run_mode": 0}' >run.json
$ tailor convert m.tir -o m.air -O1 -q --run-config=run.json --allow-custom-ops=A --allow-custom-ops=B --options-json=o.json; grep -v version_key o.json
> {
>   "command": "convert",
>   "model": "m.tir",
>   "outputs": ["m.air"],
>   "options": {
>     "quiet": true,
>     "allow-custom-ops": ["A", "B"],
>     "opt-level": "1",
>     "toolkit": "2022",
>     "run-config": "run.json"},
>   "decided": {
>     "precision-mode": "force_fp16",
>     "graph-run-mode": "0"}
> }
$ mv m.air first.air; tailor convert @o.json --options-json=p.json; cmp m.air first.air && cmp o.json p.json && echo same
> same
# A file of options is a file that was read.
$ tailor convert @o.json --print-inputs
> m.tir
> run.json
> o.json
# Values may be numbers and booleans, as people write them.
$ printf '{"model": "m.tir", "outputs": ["n.air", "n.onnx"], "options": {"opt-level": 1, "quiet": true, "verify-each": false}}' >w.json; tailor convert @w.json; ls n.*
> n.air
> n.onnx
# An argument in it is never a file of arguments, nor an option.
$ printf '{"model": "@o.json", "outputs": ["n.air"]}' >at.json; tailor convert @at.json
! @o.json: error: cannot open '@o.json': No such file or directory
? 4
$ printf '{"options": {"no-such": 1}}' >u.json; tailor convert @u.json
! tailor: error: unknown option '--no-such=1'
!   hint: 'tailor help convert' lists the options
? 1
$ printf '{"options": {"quiet": "yes"}}' >f.json; tailor convert @f.json
! f.json: error: quiet: is a flag: true or false was expected
? 1
$ printf '{"command": "opt"}' >c.json; tailor convert @c.json
! c.json: error: command: options of 'convert' were expected
? 1
$ printf '{"options": {"freeze": null}}' >z.json; tailor convert @z.json
! z.json: error: freeze: has a value that is no string, number, true or false
? 1
$ printf '{"model" "m"}' >j.json; tailor convert @j.json
! j.json:1:10: error: this is no JSON: ...
? 1
