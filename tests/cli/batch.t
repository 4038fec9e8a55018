# Several conversions in one call: the bytes and messages of one after the other, in their order.
$ for i in 1 2 3; do printf 'graph @g(%%x: f32[%s,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = Neg(%%t)\n}\n' $i >m$i.tir; done; mkdir out one
$ tailor convert m1.tir m2.tir m3.tir -o 'out/{}.air' -o 'out/{}.onnx' --depfile='out/{}.d' -q -j 2; ls out; cat out/m2.d
> m1.air
> m1.d
> m1.onnx
> m2.air
> m2.d
> m2.onnx
> m3.air
> m3.d
> m3.onnx
> out/m2.air out/m2.onnx: \
>  m2.tir
$ for i in 1 2 3; do tailor convert m$i.tir -o one/m$i.air -o one/m$i.onnx -q; cmp one/m$i.air out/m$i.air; cmp one/m$i.onnx out/m$i.onnx; done
$ tailor convert m3.tir m1.tir m2.tir -o 'out/{}.air' -j 3 2>&1 | grep -o '^m..tir$'
> m3.tir
> m1.tir
> m2.tir
$ tailor convert m3.tir -o 'one/{}-alone.air' --depfile='one/{}.d' -q; ls one/*alone* one/*.d; rm one/*alone* one/*.d
> one/m3-alone.air
> one/m3.d
# A file of jobs, each of the form that --options-json writes; options beside it count for all.
$ printf '[{"model": "m1.tir", "outputs": ["a.air"]}, {"model": "m2.tir", "outputs": ["b.onnx"], "options": {"opt-level": "0", "depfile": "b.d"}}]' >jobs.json; tailor convert --batch jobs.json -j 2 -q; ls a.air b.onnx; cat b.d
> a.air
> b.onnx
> b.onnx: \
>  m2.tir \
>  jobs.json
$ printf '{"jobs": [{"model": "m1.tir", "outputs": ["c.air"], "options": {"precision-mode": "force_fp16", "quiet": true}}]}' >jobs2.json; tailor convert --batch=jobs2.json; tailor convert m1.tir -o d.air -q --precision-mode=force_fp16; cmp c.air d.air
# The exit status is that of the first failure; without --keep-going the rest is left out.
$ printf 'graph @g(' >bad.tir; rm -f out/*; tailor convert bad.tir m1.tir m2.tir -o 'out/{}.air' -q; echo $?; ls out
> 2
! bad.tir:1:10: error: ...
$ rm -f out/*; tailor convert bad.tir m1.tir gone.tir m2.tir -o 'out/{}.air' -q -k -j 2; echo $?; ls out
> 2
> m1.air
> m2.air
! bad.tir:1:10: error: expected a value (%name), found the end of the text
! gone.tir: error: cannot open 'gone.tir': No such file or directory
$ tailor convert bad.tir m1.tir -o 'out/{}.air' --keep-going --atc-exit -q 2>e; echo $?
> 255
# What cannot be a batch.
$ tailor convert m1.tir m2.tir -o 'out/x.air' -o 'out/{}.air'
! tailor: error: --output: 'out/x.air' would be the output of 2 models
!   hint: write {} where the name of the model goes, for example -o 'out/{}.air'
? 1
$ tailor convert m1.tir one/../m1.tir -o '{}.air'
! one/../m1.tir: error: has the same name as 'm1.tir', so that {} is the same for both
!   hint: name each output in a file for --batch
? 1
$ tailor convert --batch jobs.json m1.tir
! tailor: error: --batch: names models and outputs, and so does the command line
? 1
$ printf '[]' >none.json; tailor convert --batch none.json
! none.json: error: the list has no jobs
? 1
$ printf '{}' >none.json; tailor convert --batch none.json
! none.json: error: a list of jobs was expected
!   hint: [{"model": FILE, "outputs": [FILE], "options": {"NAME": VALUE}}, ...]
? 1
$ printf '[{"model": "m1.tir", "output": "a.air"}]' >typo.json; tailor convert --batch typo.json
! typo.json: error: output: unknown member
!   hint: known are model, outputs, options, command
? 1
$ printf '[{"model": "m1.tir"' >half.json; tailor convert --batch half.json
! half.json:1:20: error: this is no JSON: ...
? 1
$ tailor convert --batch gone.json
! gone.json: error: cannot open 'gone.json': No such file or directory
? 4
# Two jobs that write one file: the one that ends last would win.
$ printf '[{"model": "m1.tir", "outputs": ["e.air"]}, {"model": "m2.tir", "outputs": ["./e.air"]}]' >same.json; tailor convert --batch same.json; test -e e.air || echo 'no file'
> no file
! tailor: error: jobs 1 and 2 both write './e.air' (--output)
!   hint: give each job a name of its own
$ printf '[{"model": "m1.tir", "outputs": ["one/../e.air"]}, {"model": "m2.tir", "outputs": ["e.air"]}]' >same.json; tailor convert --batch same.json; ln -s one two; sed 's#"e.air"#"two/f.air"#; s#one/../e.air#one/f.air#' same.json >links.json; tailor convert --batch links.json; test -e e.air || echo 'no file'; rm two
> no file
! tailor: error: jobs 1 and 2 both write 'e.air' (--output)
!   hint: give each job a name of its own
! tailor: error: jobs 1 and 2 both write 'two/f.air' (--output)
!   hint: give each job a name of its own
# A job that reads what another one writes would read the old file, or none.
$ printf '[{"model": "m1.tir", "outputs": ["g.tir"]}, {"model": "./g.tir", "outputs": ["h.air"]}]' >chain.json; tailor convert --batch chain.json
! tailor: error: job 2 reads './g.tir' (--model), which job 1 writes
!   hint: jobs run side by side: put the second one into another batch
? 1
$ tailor convert m1.tir m2.tir -o 'm{}.tir' -q; printf '[{"model": "m1.tir", "outputs": ["e.air"], "options": {"rules": "r.tlr"}}, {"model": "m2.tir", "outputs": ["r.tlr"], "options": {"emit": "tir"}}]' >chain.json; tailor convert --batch chain.json; ls e.air; rm mm1.tir mm2.tir
! tailor: error: job 1 reads 'r.tlr' (--rules), which job 2 writes
!   hint: jobs run side by side: put the second one into another batch
! ls: cannot access 'e.air': No such file or directory
# A batch writes one log for tools, not one of each job.
$ tailor convert bad.tir m1.tir gone.tir -o 'out/{}.air' -k --diagnostics=sarif 2>log.sarif; echo $?; grep -c . log.sarif; grep -o '"uri": "[a-z.]*"' log.sarif
> 2
> 1
> "uri": "bad.tir"
> "uri": "gone.tir"
# The same name in two folders is no conflict.
$ mkdir three; printf '[{"model": "m1.tir", "outputs": ["e.air"]}, {"model": "m2.tir", "outputs": ["three/e.air"]}]' >two.json; tailor convert --batch two.json -q && ls e.air three/*; rm -r e.air three
> e.air
> three/e.air
# A list of jobs is no response file.
$ tailor convert @same.json
! same.json: error: is a list of jobs, and a response file has arguments
!   hint: tailor convert --batch same.json runs the jobs
? 1
$ tailor convert m1.tir m2.tir -o 'out/{}.air' --depfile all.d
! tailor: error: jobs 1 and 2 both write 'all.d' (--depfile)
!   hint: give each job a name of its own, with {} in it
? 1
# The list of external weights in a folder is that of all models in it, whoever asks for weights
# outside, an option or a run configuration, and whether the models come from the cache or not.
$ mkdir w w/option w/config; for i in 1 2; do head -c 8192 /dev/zero | tr '\0' "\\7$i" >w/w$i.bin; printf 'graph @g(%%x: f32[2048]) -> (%%y) {\n  const %%w: f32[2048] = file("w'$i'.bin", 0, 8192)\n  %%y = Mul(%%x, %%w)\n}\n' >w/w$i.tir; done; echo '{"external_weight": 1}' >w/rc.json
$ tailor convert w/w1.tir w/w2.tir -o 'w/option/{}.air' --external-weight=1 -q -j 2; (cd w/option; python3 -c 'import hashlib, json; print([hashlib.sha256(open(v["file"], "rb").read()).hexdigest() == k for k, v in json.load(open("weight/meta.json")).items()])'; ls weight | wc -l)
> [True, True]
> 3
$ tailor convert w/w1.tir w/w2.tir -o 'w/config/{}.air' --run-config=w/rc.json --graph-run-mode=0 -q -j 2; grep -c weight_ w/config/weight/meta.json
> 2
$ for i in 1 2 3; do rm -f w/option/weight/meta.json; tailor convert w/w2.tir w/w1.tir -o 'w/option/{}.air' --external-weight=1 -q --cache-dir=w/cache; md5sum <w/option/weight/meta.json; done | uniq | wc -l; tailor cache stats --cache-dir=w/cache | grep hits
> 1
> hits        4
# It is left alone, if that is asked for, where it says the same; a job that fails is not in it.
$ touch -d 2001-01-01 w/option/weight/meta.json; tailor convert w/w1.tir w/w2.tir -o 'w/option/{}.air' --external-weight=1 -q --write-if-changed; stat -c %y w/option/weight/meta.json | cut -c1-4
> 2001
$ tailor convert w/w1.tir w/gone.tir -o 'w/option/{}.air' --external-weight=1 -q; grep -c weight_ w/option/weight/meta.json
> 1
! w/gone.tir: error: cannot open 'w/gone.tir': No such file or directory
# Names that jobs make themselves are known when they have ended.
$ printf '[{"model": "w/w1.tir", "outputs": ["w/z.a"]}, {"model": "w/w2.tir", "outputs": ["w/z.b"]}]' >w/same.json; tailor convert --batch w/same.json --emit=air --external-weight=2 -q
! w/weight/z_weight_combined: error: jobs 1 and 2 have both written this file, which is now that of one of them [E_BATCH]
!   hint: give each job names and a folder of its own
? 1
# A report may have the name of the list; it is no list, and none is made of it.
$ mkdir w/r w/r/weight; printf '[{"model": "w/w1.tir", "outputs": ["w/r/a.tir"], "options": {"options-json": "w/r/weight/meta.json"}}]' >w/report.json; tailor convert --batch w/report.json -q; grep -c '"model": "w/w1.tir"' w/r/weight/meta.json
> 1
$ printf '[{"model": "w/w1.tir", "outputs": ["w/r/a.tir"], "options": {"options-json": "w/r/weight/meta.json"}}, {"model": "w/w2.tir", "outputs": ["w/r/b.air"], "options": {"external-weight": "1"}}]' >w/report.json; tailor convert --batch w/report.json -q; grep -c '"model": "w/w1.tir"' w/r/weight/meta.json
> 1
! w/r/weight/meta.json: error: jobs 1 and 2 have both written this file, which is now that of one of them [E_BATCH]
!   hint: give each job names and a folder of its own
$ printf '[{"model": "m1.tir", "outputs": ["w/z"]}, {"model": "m2.tir", "outputs": ["w/z.air"]}]' >w/same.json; tailor convert --batch w/same.json -q; rm -r w
! w/z.air: error: jobs 1 and 2 have both written this file, which is now that of one of them [E_BATCH]
!   hint: give each job names and a folder of its own
$ mkdir m1 m2; tailor convert m1.tir m2.tir -o '{}/{}.air' --external-weight=1 -q && ls -d m?/*; rm -r m1 m2
> m1/m1.air
> m2/m2.air
# In an option that takes JSON {} is an empty object.
$ tailor convert m1.tir m2.tir -o '{}.air' --graph-run-mode=0 --mix_compile_mode=true --distribute '{"strategy":"ParameterServerStrategy","cluster":{}}' -q; ls m1.air m2.air; rm -f m1.air m2.air
> m1.air
> m2.air
# A failure says which job it is of.
$ printf '[{"model": "m1.tir", "outputs": ["f.air"]}, {"model": "m2.tir", "outputs": ["g.air"], "options": {"soc-versoin": "x"}}]' >option.json; tailor convert --batch option.json -q 2>&1; test -e f.air && echo 'f.air'
> tailor: error: unknown option '--soc-versoin=x'
>   hint: did you mean --soc-version?
> option.json: error: job 2 of 2 ended with exit code 1 [E_BATCH]
> f.air
# Limits of memory: tests/limits.
$ tailor convert m1.tir -o n.air -q --memory-limit=nothing
! tailor: error: --memory-limit: 'nothing' is not a size
!   hint: write a number of bytes, or for example 512M or 2G
? 1
# What a batch prints and cannot be written is an error, as for a single model.
$ printf '[{"model": "m1.tir", "outputs": ["full.air"], "options": {"print-inputs": true}}]' >full.json; tailor convert --batch full.json >/dev/full
! tailor: error: cannot write to standard output: No space left on device
? 4
