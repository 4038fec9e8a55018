# Inputs and outputs that are no tensors become tensors for the NPU; a warning says what changes.
$ printf 'graph @g(%%q: seq(f32[2]), %%r: seq(i64[n]), %%o: optional(f32[3]), %%i: i64[]) -> (%%s, %%n, %%p) {\n  %%s = SequenceErase(%%q, %%i)\n  %%n = SequenceLength(%%r)\n  %%p = OptionalGetElement(%%o)\n}\n' >m.tir
$ tailor convert m.tir -o m.air --summary=none
! m.tir: warning: input 'q' is a sequence: the NPU takes f32[?,2], its elements stacked along a new first dim [W_PLAIN_INPUT]
! m.tir: warning: input 'r' is a sequence: the NPU takes i64[?,n], its elements, which must have one shape, stacked along a new first dim [W_PLAIN_INPUT]
! m.tir: warning: input 'o' is optional: the NPU takes f32[3], which must be given [W_PLAIN_INPUT]
! m.tir: warning: output 's' is a sequence: the NPU gives one tensor, the elements stacked along a new first dim [W_PLAIN_OUTPUT]
# info has them as the model does
$ tailor info m.tir -q | grep put
> input    q: seq(f32[2])
> input    r: seq(i64[n])
> input    o: optional(f32[3])
> input    i: i64[]
> output   s: seq(f32[2])
> output   n: i64[]
> output   p: f32[3]
# one output for each element where their number is known, of shapes of their own
$ printf 'graph @g(%%x: f32[4], %%y: f32[2,4]) -> (%%s, %%z) {\n  %%s = SequenceConstruct(%%x, %%y, %%x)\n  %%z = ai.onnx.ml::ZipMap(%%y) {classlabels_strings=["a", "b", "c", "d"]} : seq(map(str,f32[]))\n}\n' >outputs.tir
$ tailor convert outputs.tir -o m.air --summary=none; tailor opt m.air -o - | grep "^graph"
> graph @g(%x: f32[4], %y: f32[2,4]) -> (%s_0, %s_1, %s_2, %z) {
! outputs.tir: warning: output 's' is a sequence: the NPU gives 3 outputs, one for each element: 's_0', 's_1', 's_2' [W_PLAIN_OUTPUT]
! outputs.tir: warning: output 'z' is a list of maps: the NPU gives the tensor of their values, a row for each map, in the order of the keys "a", "b", "c", "d" [W_PLAIN_OUTPUT]
# ONNX output has them as they are, without a word
$ tailor convert m.tir -o m.onnx --summary=none; tailor opt m.onnx -o - | grep '^graph'
> graph @g(%q: seq(f32[2]), %r: seq(i64[n]), %o: optional(f32[3]), %i: i64[]) -> (%s, %n, %p) {
# maps and matrices
$ printf 'graph @g(%%x: map(i64,f32[]), %%a: sparse(f32[3,4]), %%b: f32[4,2]) -> (%%y, %%z) {\n  %%y = ai.onnx.ml::DictVectorizer(%%x) {int64_vocabulary=[7, 9]}\n  %%z = com.microsoft::SparseToDenseMatMul(%%a, %%b)\n}\n' >maps.tir
$ tailor convert maps.tir -o m.air --summary=none
! maps.tir: warning: input 'x' is a map: the NPU takes f32[1,2], the values of the keys 7, 9, 0 where there is none [W_PLAIN_INPUT]
! maps.tir: warning: input 'a' is sparse: the NPU takes f32[3,4], with the zeros [W_PLAIN_INPUT]
# what no tensor can hold is refused by name: elements that grow, a value that may be absent
$ printf 'graph @g(%%n: i64[], %%x: f32[5], %%o: optional(f32[2])) -> (%%s, %%p) {\n  const %%yes: bool[] = true\n  %%e = SequenceEmpty()\n  %%s = Loop(%%n, %%yes, %%e) @grow {\n    body=graph @b(%%i: i64[], %%c: bool[], %%q: seq(f32[*])) -> (%%c, %%r) {\n      const %%zero: i64[1] = [0]\n      %%to = Unsqueeze(%%i, %%zero)\n      %%t = Slice(%%x, %%zero, %%to)\n      %%r = SequenceInsert(%%q, %%t)\n    }\n  }\n  %%p = SequenceEmpty()\n}\n' >no.tir
$ tailor convert no.tir -o m.air --summary=none 2>&1 | grep error
> no.tir: error: output 'p' is no tensor: sequences, optionals and maps cannot enter or leave a model on the NPU [E10501]
> no.tir: error: 1 op type has no NPU form: Loop x1 ('grow'): needs expansion into several NPU ops, for which no rule fits [E10501]
# integers of four bits are bytes
$ printf 'graph @g(%%x: f32[3,4], %%s: f32[], %%z: u4[]) -> (%%y, %%i) {\n  %%y = QuantizeLinear(%%x, %%s, %%z)\n  %%i = Cast(%%y) {to=6}\n}\n' >nibbles.tir
$ tailor convert nibbles.tir -o m.air --summary=none
! nibbles.tir: warning: input 'z' is u4: the NPU takes u8, a byte for each number [W_NIBBLES]
! nibbles.tir: warning: output 'y' is u4: the NPU gives u8, a byte for each number [W_NIBBLES]
$ tailor info nibbles.tir -q | grep -E '^(in|out)put'
> input    x: f32[3,4]
> input    s: f32[]
> input    z: u4[]
> output   y: u4[3,4]
> output   i: i32[3,4]
$ printf 'graph @g(%%x: i8[4]) -> (%%y) {\n  %%y = Cast(%%x) {to=22}\n}\n' >narrow.tir; tailor convert narrow.tir -o m.air --summary=none 2>&1 | grep error
> narrow.tir: error: node Cast->y: Cast has no kernel for x i8, y i4 on Ascend910B [P0205]
# both forms compute the same
$ tailor verify nibbles.tir --npu | grep equal
> equal   "y": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
> equal   "i": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
! nibbles.tir: warning: input 'z' is u4: the NPU takes u8, a byte for each number [W_NIBBLES]
! nibbles.tir: warning: output 'y' is u4: the NPU gives u8, a byte for each number [W_NIBBLES]
$ printf 'graph @g(%%x: f32[n,2], %%t: f32[2]) -> (%%s, %%l) {\n  const %%yes: bool[] = true\n  const %%zero: i64[] = 0\n  %%d = Shape(%%x)\n  %%n = Gather(%%d, %%zero)\n  %%e = SplitToSequence(%%x) {keepdims=0}\n  %%s = Loop(%%n, %%yes, %%e) {\n    body=graph @b(%%j: i64[], %%c: bool[], %%q: seq(f32[2])) -> (%%c, %%r) {\n      %%f = Cast(%%j) {to=1}\n      %%u = Mul(%%t, %%f)\n      %%r = SequenceInsert(%%q, %%u)\n    }\n  }\n  %%l = SequenceConstruct(%%t, %%x)\n}\n' >loop.tir; tailor verify loop.tir --npu --dim n=3
> 2 of 2 inputs are random (seed 0)
> tolerance 1e-07 + 0.001 |b| + 2.065e-07 max|b| (3 roundings to f32)
> equal   "s": 0 of 12 elements differ, max abs 0, max rel 0, cosine 1
> equal   "l_0": 0 of 2 elements differ, max abs 0, max rel 0, cosine 1
> equal   "l_1": 0 of 6 elements differ, max abs 0, max rel 0, cosine 1
> 2 tensors have the same name, 0 of them differ
! loop.tir: warning: output 's' is a sequence: the NPU gives one tensor, the elements stacked along a new first dim [W_PLAIN_OUTPUT]
! loop.tir: warning: output 'l' is a sequence: the NPU gives 2 outputs, one for each element: 'l_0', 'l_1' [W_PLAIN_OUTPUT]
# A layer over a sequence without steps keeps the size of its batch, which only the input tells.
$ printf 'graph @g(%%x: f32[0,n,3], %%w: f32[2,16,3], %%r: f32[2,16,4], %%h: f32[2,n,4], %%c: f32[2,n,4]) -> (%%y, %%yh, %%yc) {\n  %%y, %%yh, %%yc = LSTM(%%x, %%w, %%r, _, _, %%h, %%c) {hidden_size=4, clip=3.0, direction="bidirectional"}\n}\n' >steps.tir; tailor verify steps.tir --npu --dim n=2 --tensors=0 | grep '"y'
> equal   "y": 0 of 0 elements differ, max abs 0, max rel 0, cosine 1
> equal   "yh": 0 of 16 elements differ, max abs 0, max rel 0, cosine 1
> equal   "yc": 0 of 16 elements differ, max abs 0, max rel 0, cosine 1

# Maxima of windows that hold minus infinity and padding: the place is that of the first element, as in run.
$ printf 'graph @g(%%x: f32[1,1,3,3]) -> (%%y, %%i) {\n  const %%low: f32[] = -inf\n  %%p = Abs(%%x)\n  %%n = Mul(%%p, %%low)\n  %%y, %%i = MaxPool(%%n) {kernel_shape=[2, 2], pads=[1, 1, 1, 1]}\n}\n' >places.tir; tailor verify places.tir --npu | grep '"i"'
> equal   "i": 0 of 16 elements differ, max abs 0, max rel 0, cosine 1

# Windows in the padding have no element: the place is -1, by rows and by columns.
$ printf 'graph @g(%%x: f32[1,1,2,2]) -> (%%y, %%i, %%j) {\n  %%y, %%i = MaxPool(%%x) {kernel_shape=[2, 2], pads=[3, 0, 0, 0]}\n  %%z, %%j = MaxPool(%%x) {kernel_shape=[2, 2], pads=[3, 0, 0, 0], storage_order=1}\n}\n' >far.tir; tailor verify far.tir --npu | grep '"[ij]"'
> equal   "i": 0 of 4 elements differ, max abs 0, max rel 0, cosine 1
> equal   "j": 0 of 4 elements differ, max abs 0, max rel 0, cosine 1
$ tailor run far.tir -q | grep '"[ij]"' | cut -c1-34
> "i"     i64[1,1,4,1]  -1      2
> "j"     i64[1,1,4,1]  -1      2
