# The text dump in GE's form: each kind of attribute, an open size as -1, an unknown rank as -2, bodies.
$ printf 'module {\n  opset "" 21\n  opset "d" 1\n}\ngraph @g(%%x: f32[2,n], %%u, %%c: bool[]) -> (%%y, %%z) {\n  %%y = d::Op(%%x, _, %%u) {f=0.5, fs=[1.5, -2.0], ss=["a", "b"], t=i64[2] [3, 4], is=[1, 2], s="text"} : f32[2,n]\n  %%z = If(%%c) {then_branch=graph() -> (%%a) {\n    %%a = Relu(%%x)\n  }, else_branch=graph() -> (%%b) {\n    %%b = Neg(%%x)\n  }}\n}\n' >p.tir; tailor convert p.tir -q --allow-custom-ops=Op -o p.pbtxt; tr -s ' \n' ' ' <p.pbtxt | sed 's/ attribute {/\n&/g' >lines; grep -A6 '"f"' lines | sed 's/^ //; s/ *$//'
> attribute { name: "f" f: 0.5 type: FLOAT }
> attribute { name: "fs" floats: 1.5 floats: -2.0 type: FLOATS }
> attribute { name: "ss" strings: "a" strings: "b" type: STRINGS }
> attribute { name: "t_desc_dtype" s: "DT_INT64" type: STRING }
> attribute { name: "t_desc_shape" ints: 2 type: INTS }
> attribute { name: "is" ints: 1 ints: 2 type: INTS }
> attribute { name: "s" s: "text" type: STRING }
$ grep 'input_desc.*:[012]"' lines | head -n 4 | sed 's/^ //; s/ *$//; s/ } .*/ }/'
> attribute { name: "input_desc_dtype:0" s: "DT_FLOAT" type: STRING }
> attribute { name: "input_desc_shape:0" ints: 2 ints: -1 type: INTS }
> attribute { name: "input_desc_dtype:2" s: "DT_UNDEFINED" type: STRING }
> attribute { name: "input_desc_shape:2" ints: -2 type: INTS }
$ grep -o 'name: "[a-z]*_branch" g {' lines; grep -c 'op_type: "ge:NetOutput"' lines
> name: "then_branch" g {
> name: "else_branch" g {
> 3
