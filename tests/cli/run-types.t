# What is written of each kind of value: NumPy's codes of element types, and ONNX's messages, which are read back.
$ printf 'graph @g(%%x: f32[2]) -> (%%a, %%b, %%c, %%d, %%e, %%f, %%h, %%i, %%j, %%k, %%l) {\n  %%a = Cast(%%x) {to=10}\n  %%b = Cast(%%x) {to=11}\n  %%c = Cast(%%x) {to=3}\n  %%d = Cast(%%x) {to=5}\n  %%e = Cast(%%x) {to=6}\n  %%f = Cast(%%x) {to=7}\n  %%h = Cast(%%x) {to=2}\n  %%i = Cast(%%x) {to=4}\n  %%j = Cast(%%x) {to=12}\n  %%k = Cast(%%x) {to=13}\n  %%l = Cast(%%x) {to=9}\n}\n' >types.tir; tailor run types.tir -q --format=npy -o n | awk 'NR > 2 && NR < 14 { print $2 }' | paste -sd ' '
> f16[2] f64[2] i8[2] i16[2] i32[2] i64[2] u8[2] u16[2] u32[2] u64[2] bool[2]
$ for i in 0 1 2 3 4 5 6 7 8 9 10; do head -c 128 n/output_$i.npy | grep -ao "'[<|][a-z][0-9]'"; done | paste -sd ' '
> '<f2' '<f8' '|i1' '<i2' '<i4' '<i8' '|u1' '<u2' '<u4' '<u8' '|b1'
$ tailor verify types.tir n --atol=0 --rtol=0 | grep -c '^equal .* 0 of 2 elements differ'
> 11
# sequences, text, optionals with a value and without
$ printf 'graph @g(%%x: f32[2]) -> (%%s, %%e, %%w, %%o, %%n, %%ss) {\n  %%s = SequenceConstruct(%%x, %%x)\n  %%e = SequenceEmpty()\n  const %%w: str[2] = ["a", "b"]\n  %%o = Optional(%%x)\n  %%n = Optional() {type=type(f32[2])}\n  %%ss = Optional(%%s)\n}\n' >kinds.tir; tailor run kinds.tir -q -o k | sed '/^time/d'
> 1 of 1 inputs are random (seed 0)
> output  type           min      max     mean    nan  inf
> "s"     sequence of 2  -        -       -       0    0
> "e"     sequence of 0  -        -       -       0    0
> "w"     str[2]         -        -       -       0    0
> "o"     f32[2]         -0.9643  0.3744  -0.295  0    0
> "n"     nothing        -        -       -       0    0
> "ss"    sequence of 2  -        -       -       0    0
$ tailor verify kinds.tir k | grep -c '^equal .* max abs 0, '
> 6
$ printf 'graph @g(%%s: seq(f32[*]), %%t: optional(f32[2]), %%w: str[2]) -> (%%y, %%p, %%q) {\n  %%g = OptionalGetElement(%%t)\n  %%y = SequenceInsert(%%s, %%g)\n  %%p = OptionalHasElement(%%t)\n  %%q = Identity(%%w)\n}\n' >reads.tir; tailor run reads.tir --input s=k/output_0.pb --input t=k/output_3.pb --input w=k/output_2.pb -q | sed '/^time/d'
> output  type           min  max  mean  nan  inf
> "y"     sequence of 3  -    -    -     0    0
> "p"     bool[]         1    1    1     0    0
> "q"     str[2]         -    -    -     0    0
$ tailor run kinds.tir -q --format=npy -o none
! none/output_0.npy: error: 's' cannot be written: sequences and optionals have no .npy form
!   hint: --format pb writes it
? 3
$ printf 'graph @g(%%w: str[2]) -> (%%q) {\n  %%q = Identity(%%w)\n}\n' >text.tir; tailor run text.tir --input w=k/output_2.pb -q --format=npy -o none
! none/input_0.npy: error: 'w' cannot be written: strings have no portable .npy form
!   hint: --format pb writes it
? 3
$ printf 'graph @g(%%x: f32[2]) -> (%%q) {\n  %%q = Cast(%%x) {to=16}\n}\n' >bf16.tir; tailor run bf16.tir -q --format=npy -o none
! none/output_0.npy: error: 'q' cannot be written: the element type has no .npy form
!   hint: --format pb writes it
? 3
# A function imports the domains of its nodes, each once.
$ printf 'rules 1\ndefine my::Act(%%x) {\n  %%a = com.microsoft::FastGelu(%%x)\n  %%b = com.microsoft::FastGelu(%%a)\n  %%y = Relu(%%b)\n  return %%y\n}\n' >act.tlr; printf 'module {\n  opset "" 21\n  opset "my" 1\n}\ngraph @g(%%x: f32[2]) -> (%%y) {\n  %%y = my::Act(%%x) : f32[2]\n}\n' >act.tir; tailor convert act.tir -o act.onnx --rules act.tlr -q; /usr/bin/python3 -c "import onnx; print([(i.domain, i.version) for i in onnx.load('act.onnx').functions[0].opset_import])"
> [('', 21), ('com.microsoft', 1)]
$ tailor opt act.onnx --passes= | grep -o '[A-Za-z.:]*(' | paste -sd ' '
> g( ( com.microsoft::FastGelu( com.microsoft::FastGelu( Relu(
