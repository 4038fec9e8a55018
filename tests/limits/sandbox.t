# --sandbox: the kernel denies what a model that found a defect would try. A library in the process
# tries it at its end: other files, other programs, the network.
$ mkdir in out other && echo secret >other/secret && printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  const %%w: f32[2,3] = [1, 2, 3, 4, 5, 6]\n  %%y = Add(%%x, %%w)\n}\n' >in/m.tir
$ printf '%s\n' '#define _GNU_SOURCE' '#include <errno.h>' '#include <fcntl.h>' '#include <stdio.h>' '#include <sys/socket.h>' '#include <unistd.h>' 'static void say(const char *what, int got) { fprintf(stderr, "%s: %s\n", what, got >= 0 ? "allowed" : errno == EPERM || errno == EACCES ? "denied" : "failed"); }' '__attribute__((destructor)) static void probe(void) {' '  char *args[] = {"/bin/true", NULL};' '  say("read beside the model", open("in/m.tir", O_RDONLY));' '  say("write over the model", open("in/m.tir", O_WRONLY));' '  say("read elsewhere", open("other/secret", O_RDONLY));' '  say("write beside the output", open("out/new", O_WRONLY | O_CREAT, 0600));' '  say("write elsewhere", open("other/new", O_WRONLY | O_CREAT, 0600));' '  say("remove elsewhere", unlink("other/secret"));' '  say("socket", socket(AF_INET, SOCK_STREAM, 0));' '  say("program", execv(args[0], args)); }' >probe.c && cc -shared -fPIC -o probe.so probe.c && echo made
> made
$ LD_PRELOAD=$PWD/probe.so tailor convert in/m.tir -o out/m.onnx --sandbox --summary=none
! read beside the model: allowed
! write over the model: denied
! read elsewhere: denied
! write beside the output: allowed
! write elsewhere: denied
! remove elsewhere: denied
! socket: denied
! program: denied
$ cat other/secret && ls out
> secret
> m.onnx
> new
# The same bytes as without, for every kind of file that a command writes or reads.
$ tailor convert in/m.tir -o plain.onnx -o plain.air --depfile plain.d --summary=none
$ tailor convert in/m.tir -o out/m.onnx -o out/m.air --depfile out/m.d --dump-dir out/passes --trace-compiler out/t.json --sandbox --summary=none && cmp plain.onnx out/m.onnx && cmp plain.air out/m.air && test -s out/m.d -a -s out/t.json -a -d out/passes && echo same
> same
$ for i in 1 2; do tailor convert in/m.tir -o out/again.air --cache-dir out/cache --sandbox --summary=none && cmp plain.air out/again.air && echo same; done; tailor cache stats --cache-dir out/cache | grep -c '^hits *1$'
> same
> same
> 1
$ tailor convert - -o - --sandbox --summary=none <plain.onnx >s1; tailor convert - -o - --summary=none <plain.onnx | cmp - s1 && test -s s1 && echo same
> same
$ for c in info explain 'run --seed=1' 'verify out/m.onnx' 'diff out/m.onnx'; do tailor ${c%% *} in/m.tir $(echo "$c" | sed 's/^[^ ]* *//') --sandbox >with 2>&1; a=$?; tailor ${c%% *} in/m.tir $(echo "$c" | sed 's/^[^ ]* *//') >without 2>&1; test $a = $? && sed 's/^time .*//' with >w && sed 's/^time .*//' without | cmp - w && echo same; done
> same
> same
> same
> same
> same
# A folder of the cache that is yet to be made is made.
$ TAILOR_CACHE_DIR=$PWD/far/away/cache tailor convert in/m.tir -o out/far.air --sandbox --summary=none && cmp plain.air out/far.air && tailor cache stats --cache-dir far/away/cache | grep -c '^entries *1$'
> 1
# Jobs of a batch are in the sandbox one by one.
$ tailor convert in/m.tir plain.onnx -o 'out/{}.w.onnx' --sandbox --summary=none -j2 2>&1; ls out | grep -c w.onnx
> 2
# What starts programs is no part of it, and says so.
$ tailor run in/m.tir --runner=true --sandbox
! tailor: error: --sandbox: --runner starts a program, which nothing in a sandbox can
!   hint: leave one of the two out
? 1
$ tailor bisect in/m.tir --sandbox 2>&1 | head -1
> tailor: error: '--sandbox' is not an option of 'tailor bisect'
