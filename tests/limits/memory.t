# Limits of memory count what AddressSanitizer takes for itself, so these commands are not sanitized.
# Each process of a batch gets its share, and one that lacks memory runs again alone, with all of it.
$ for i in 1 2; do printf 'graph @g(%%x: f32[%s,3]) -> (%%y) {\n  %%t = Exp(%%x)\n  %%y = Neg(%%t)\n}\n' $i >m$i.tir; done; mkdir out
$ tailor convert m1.tir m2.tir -o 'out/{}.air' -q -j 2 --memory-limit=400M; ls out
> m1.air
> m2.air
$ /usr/bin/python3 -c 'print("graph @g(%x: f32[1,400000]) -> (%y) {\n  const %w: f32[400000] = [" + ", ".join(["0.5", "1.25"] * 200000) + "]\n  %y = Add(%x, %w)\n}")' >big.tir; tailor convert m1.tir big.tir -o 'out/{}.air' -q -j 2 --memory-limit=3M; echo $?
> 70
! big.tir: error: out of memory while reading 'big.tir'
$ tailor convert m1.tir big.tir -o 'out/{}.air' -q -j 2 --memory-limit=60M; echo $?
> 0
$ tailor convert big.tir -o big.air -q --memory-limit=3M; echo $?; ls big.air
> 70
! big.tir: error: out of memory while reading 'big.tir'
! ls: cannot access 'big.air': No such file or directory
? 2
