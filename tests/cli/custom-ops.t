# Ops that Tailor does not know and the user's package has a kernel of. In textual IR an op of the
# default domain that is none of ONNX is written with that domain.
$ printf 'graph @g(%%x: f32[2,4], %%m: f32[4]) -> (%%z) {\n  %%y = ai.onnx::Fake(%%x, %%m) {k=3, axes=[0, 1], mode="a"} : f32[2,4]\n  %%z = Relu(%%y)\n}\n' >m.tir; tailor opt m.tir -o m.onnx -q; tailor opt m.tir -o - -q
> graph @g(%x: f32[2,4], %m: f32[4]) -> (%z) {
>   %y = ai.onnx::Fake(%x, %m) {k=3, axes=[0, 1], mode="a"} : f32[2,4]
>   %z = Relu(%y) : f32[2,4]
> }
# an op of the default domain is refused unless the user vouches for it
$ tailor convert m.onnx -o m.air
! m.onnx: error: node Fake->y: domain ai.onnx has no op 'Fake'
!   hint: did you mean 'Cast'? If your package has an NPU kernel of it: --allow-custom-ops=Fake
? 2
$ tailor convert m.onnx -o m.air --allow-custom-ops=Other
! m.onnx: error: node Fake->y: domain ai.onnx has no op 'Fake'
!   hint: did you mean 'Cast'? If your package has an NPU kernel of it: --allow-custom-ops=Fake
? 2
$ tailor convert m.onnx -o m.air --allow-custom-ops=Fake,Other 2>&1 | grep -e : -e atc | grep -v time
> m.onnx: warning: domain ai.onnx has no op 'Fake', which is carried as it is [W_CUSTOM_OP]
> m.onnx: warning: 1 op type outside of Tailor's tables: Fake x1 ('Fake->y'): kernel of the user's package [W_CUSTOM_OP]
>   hint: atc needs the package installed
> go on with:
>   atc --framework=1 --model=m.air --output=m --soc_version=Ascend910B1 --precision_mode=must_keep_origin_dtype
$ tailor convert m.onnx -o m.air --allow-custom-ops=Other --allow-custom-ops=Fake --summary=json 2>&1 | grep -o -e '"unmapped": 0' -e '"next"'
> "unmapped": 0
> "next"
$ tailor convert m.onnx -o n.onnx --allow-custom-ops=Fake --summary=none; tailor info n.onnx --allow-custom-ops=ai.onnx::Fake -q | grep Fake
>          1  Fake
! m.onnx: warning: domain ai.onnx has no op 'Fake', which is carried as it is [W_CUSTOM_OP]
# without the promise a file for inspection, as before: no atc line
$ tailor convert m.onnx -o m.air --allow-unmapped 2>&1 | grep -e : -e atc -e inspection | grep -v time
> m.onnx: warning: domain ai.onnx has no op 'Fake', which is carried as it is [W_CUSTOM_OP]
> m.onnx: warning: 1 op type without an NPU form stays as it is: Fake x1 ('Fake->y'): has no NPU form [W_UNMAPPED]
>   hint: a file with them is for inspection: atc refuses them
> m.air is for inspection: 1 node is without an NPU form, and atc refuses it
# types, operands and attributes reach AIR as they are
$ tailor convert m.onnx -o m.pbtxt --allow-custom-ops=Fake --summary=none -q; sed -n '/op_type: "ge:Fake"/,/op_type: "ge:Relu"/p' m.pbtxt | grep -o -e 'ge:Fake' -e 'name: "k"' -e 'name: "axes"' -e 'name: "mode"'
> ge:Fake
> name: "k"
> name: "axes"
> name: "mode"
$ tailor convert m.onnx -o m.air --allow-custom-ops=Fake --summary=none -q; /usr/bin/python3 -c 'd = open("m.air", "rb").read(); print([n for n in ("x0", "x1", "y0", "data") if bytes([len(n)]) + n.encode() in d])'
> ['x0', 'x1', 'y0']
# a domain of its own
$ sed 's/ai.onnx::Fake/com.acme::Fake/' m.tir >d.tir; tailor convert d.tir -o d.air --summary=none
! d.tir: error: 1 op type has no NPU form: com.acme::Fake x1 ('Fake->y'): has no NPU form [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
$ tailor convert d.tir -o d.air --allow-custom-ops=Fake --summary=none
! d.tir: warning: 1 op type outside of Tailor's tables: com.acme::Fake x1 ('Fake->y'): kernel of the user's package [W_CUSTOM_OP]
!   hint: atc needs the package installed
$ tailor convert d.tir -o d.air --allow-custom-ops=com.acme::Fake --summary=none -q; ls d.air
> d.air
# named by --op-name-map
$ printf 'Fake:MyKernel\n' >map; tailor convert m.onnx -o n.air --op-name-map=map --summary=none; grep -c MyKernel n.air
> 3
! m.onnx: warning: domain ai.onnx has no op 'MyKernel', which is carried as it is [W_CUSTOM_OP]
! m.onnx: warning: 1 op type outside of Tailor's tables: MyKernel x1 ('MyKernel->y'): kernel of the user's package [W_CUSTOM_OP]
!   hint: atc needs the package installed
# known from the operator information of a package: ports have its names
$ printf '{"Fake": {"input0": {"name": "data", "dtype": "float16,float", "paramType": "required"}, "input1": {"name": "mask", "dtype": "float16,float", "paramType": "optional"}, "output0": {"name": "out", "dtype": "float16,float", "paramType": "required"}}}' >info.json; tailor convert m.onnx -o i.air --op-info=info.json --summary=none; /usr/bin/python3 -c 'd = open("i.air", "rb").read(); print([n for n in ("data", "mask", "out", "x0", "y0") if bytes([len(n)]) + n.encode() in d])'
> ['data', 'mask', 'out']
! m.onnx: warning: domain ai.onnx has no op 'Fake', which is carried as it is [W_CUSTOM_OP]
! m.onnx: warning: 1 op type outside of Tailor's tables: Fake x1 ('Fake->y'): kernel of the user's package [W_CUSTOM_OP]
!   hint: atc needs the package installed
$ printf '{"Fake": {"input0": {"name": "data", "dtype": "float16,float", "paramType": "required"}, "output0": {"name": "out", "dtype": "float16,float", "paramType": "required"}}}' >one.json; tailor convert m.onnx -o i.air --op-info=one.json --summary=none
! m.onnx: warning: domain ai.onnx has no op 'Fake', which is carried as it is [W_CUSTOM_OP]
! m.onnx: error: 1 op type has no NPU form: Fake x1 ('Fake->y'): it has more operands or results than its operator information (--op-info) says [E10501]
!   hint: --allow-unmapped writes them under their ONNX names; 'tailor ops NAME' shows what an op needs, 'tailor explain MODEL --expand' why no expansion matches
? 3
$ printf '{"Fake": {"input0": {"name": "data", "dtype": "float16,float", "paramType": "dynamic"}, "output0": {"name": "out", "dtype": "float16,float", "paramType": "required"}}}' >many.json; tailor convert m.onnx -o i.air --op-info=many.json --summary=none -q; /usr/bin/python3 -c 'd = open("i.air", "rb").read(); print([n for n in ("data0", "data1", "mask", "out") if bytes([len(n)]) + n.encode() in d])'
> ['data0', 'data1', 'out']
# an op of ONNX that the NPU lacks is no custom op
$ printf 'graph @g(%%x: str[2]) -> (%%y) {\n  %%y = StringNormalizer(%%x)\n}\n' >s.tir; tailor convert s.tir -o s.air --allow-custom-ops=StringNormalizer --summary=none 2>&1 | grep -o 'E10501'
> E10501
> E10501
> E10501
$ tailor convert m.onnx -o m.air --dry-run --allow-custom-ops='Fa ke'
! tailor: error: --allow-custom-ops: 'Fa ke' is not the name of an op [E10001]
!   hint: names are joined by ','
? 1
$ tailor convert m.onnx -o m.air --dry-run --allow-custom-ops='${OPS}'
! tailor: error: --allow-custom-ops: '${OPS}' is not the name of an op [E10001]
!   hint: this looks like a placeholder that was not replaced
? 1
# products in dtypes that ONNX does not have: how to lift them
$ for op in MatMul Gemm; do printf 'graph @g(%%x: f32[2,4], %%w: f32[4,3]) -> (%%y) {\n  %%y = '$op'(%%x, %%w)\n}\n' >f.tir; tailor opt f.tir -o f.onnx -q --opt-level=0; /usr/bin/python3 -c 'd = open("f.onnx", "rb").read(); open("i8.onnx", "wb").write(d.replace(b"\x08\x01\x12", b"\x08\x03\x12"))'; tailor convert i8.onnx -o i8.air --summary=none; done
! i8.onnx: error: node MatMul->y: operand 0 has dtype i8, which MatMul does not allow for 'A', but f32, f16, bf16, f64, i32, i64, u32, u64 ("x": i8[2,4], "w": i8[4,3])
!   hint: use MatMulInteger, which takes i8 and u8 and gives i32, or Cast the operands to f32 and the result back
! i8.onnx: error: node Gemm->y: operand 0 has dtype i8, which Gemm does not allow for 'A', but f32, f16, bf16, f64, i32, i64, u32, u64 ("x": i8[2,4], "w": i8[4,3])
!   hint: Cast the operands to f32, and the result back: exact up to 16777216
? 2
# Written as ONNX, an op that ONNX lacks is named, once; an op that ended too, and the import is that of
# the newest op.
$ tailor opt m.tir -o m.onnx
! m.tir: warning: domain ai.onnx has no op 'Fake', which is written as it is [W_CUSTOM_OP]
!   hint: Tailor reads the file with --allow-custom-ops=Fake
$ printf 'graph @g(%%x: f32[1,1,2,2]) -> (%%z) {\n  const %%s: f32[4] = [1.0, 1.0, 2.0, 2.0]\n  %%y = Upsample(%%x, %%s)\n  %%z = Swish(%%y)\n}\n' >u.tir; tailor opt u.tir -o u.onnx; tailor info u.onnx | grep opset
> opset    24 in the file; now ai.onnx 24
! u.tir: warning: op 'Upsample' is deprecated, and opset 21 of ai.onnx lacks it: other readers refuse the file [W_DEPRECATED_OP]
# Of ai.onnx.ml as well.
$ printf 'graph @g(%%x: str[2]) -> (%%y) {\n  %%y = ai.onnx.ml::LabelEncoder(%%x) {keys_strings=["a", "b"], values_int64s=[1, 2]} : i64[2]\n}\n' >l.tir; tailor opt l.tir -o l.onnx; tailor opt l.onnx -o - | grep ai.onnx.ml..
>   opset "ai.onnx.ml" 4
>   %y = ai.onnx.ml::LabelEncoder(%x) {keys_strings=["a", "b"], values_int64s=[1, 2]} : i64[2]
# Textual IR has the meanings of opset 21: an older import would let readers take them for others.
$ printf 'module {\n  opset "" 11\n}\ngraph @g(%%x: f32[2,3,4]) -> (%%y) {\n  %%y = Softmax(%%x) {axis=1}\n}\n' >o.tir; tailor opt o.tir -o o.onnx
! o.tir:2:12: error: opset 11 is not between 21 and 28
!   hint: nodes in textual IR mean what they mean in opset 21; the opset that the model was written for is a source_opset
? 2
