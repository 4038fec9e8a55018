# A user's own op information goes over what is built in.
$ echo '{"Add": {"input0": {"name": "x1", "dtype": "float16,float", "paramType": "required"}, "input1": {"name": "x2", "dtype": "float16, float"}, "output0": {"name": "y", "dtype": "float16,float", "paramType": "required"}, "precision_reduce": {"flag": "false"}, "op": {"pattern": "broadcast"}}}' >one.json
$ tailor ops npu::Add --op-info one.json | tail -n 7
> Add on Ascend910B1
>   input    x1: f16 f32
>   input    x2: f16 f32
>   output   y: f16 f32
>   black under mixed precision; pattern broadcast
>   dtypes: f16,f16>f16 f32,f32>f32
>   from: one.json
$ tailor ops npu::Add --soc-version=Ascend910A | tail -n 7
> Add on Ascend910A
>   input    x1: f16 f32 i8 i32 u8 i16 i64 bool
>   input    x2: f16 f32 i8 i32 u8 i16 i64 bool
>   output   y: f16 f32 i8 i32 u8 i16 i64 bool
>   gray under mixed precision; kernel undefined; any shape
>   dtypes: f16,f16>f16 f32,f32>f32 i8,i8>i8 i32,i32>i32 u8,u8>u8 i16,i16>i16 i64,i64>i64 bool,bool>bool
>   from: ascend910, legacy ops; inferred from a newer chip
# a custom op that nobody knew, with everything that can be said
$ echo '{"MyTopK": {"attr": {"list": "k,axes,extra"}, "attr_k": {"type": "int", "paramType": "required"}, "attr_axes": {"type": "listInt", "paramType": "optional", "defaultValue": "[0]"}, "input0": {"name": "x", "dtype": "bfloat16,float8_e4m3fn", "paramType": "dynamic"}, "input1": {"name": "mask", "dtype": "bool,bool", "paramType": "optional"}, "output0": {"name": "y", "dtype": "int64,int64"}, "heavyOp": {"flag": "true"}, "dynamicShapeSupport": {"flag": "True"}, "prebuildPattern": {"value": "Opaque"}, "opFile": {"value": "Null"}, "precision_reduce": {"flag": "true"}, "fancy": 3}}' >my.json
$ tailor ops MyTopK --op-info=my.json --op-info=one.json
> MyTopK on Ascend910B1
>   input    x: bf16 f8e4m3fn (any number)
>   input    mask: bool bool (optional)
>   output   y: i64 i64
>   attr     k: i (required)
>   attr     axes: is = [0]
>   attr     extra
>   white under mixed precision; kernel Opaque; any shape; layout-heavy; no kernel
>   dtypes: bf16>i64 f8e4m3fn>i64
>   from: my.json
# dtypes left to the op's code are those that are built in; columns with a strange dtype go
$ echo '{"Mul": {"input0": {"name": "x1"}, "input1": {"name": "x2"}, "output0": {"name": "y"}}, "Exp": {"input0": {"name": "x", "dtype": "flaot16,float4_e1m2,float,float"}, "output0": {"name": "y", "dtype": "float16,float,float,float"}}}' >open.json
$ tailor ops npu::Mul --op-info=open.json | tail -n 3
>   gray under mixed precision
>   dtypes: f16,f16>f16 f32,f32>f32 bf16,bf16>bf16 i8,i8>i8 i32,i32>i32 u8,u8>u8 i16,i16>i16 u16,u16>u16 i64,i64>i64 bool,bool>bool
>   from: open.json; dtypes from published tables, since the library leaves the op to its code
! open.json:1:97: warning: op 'Exp': 'flaot16' is not a dtype; its signatures are ignored
$ tailor ops npu::Exp --op-info=open.json | tail -n 3
>   gray under mixed precision
>   dtypes: f32>f32
>   from: open.json
! open.json:1:97: warning: op 'Exp': 'flaot16' is not a dtype; its signatures are ignored
# an op given twice: the last counts, also across files
$ echo '{"Exp": {"precision_reduce": {"flag": "true"}}, "Exp": {"precision_reduce": {"flag": "false"}}}' >twice.json
$ tailor ops npu::Exp --op-info=open.json --op-info=twice.json -q | tail -n 3
>   black under mixed precision
>   dtypes: those it has
>   from: twice.json
# folders: the files of the chip, custom ops over those of CANN
$ mkdir -p opp/built-in/op_impl/config/ascend910b opp/vendors/a/op_impl/config/ascend910b opp/old
$ cp one.json opp/vendors/a/op_impl/config/ascend910b/aic-ascend910b-ops-info-math.json
$ sed s/false/true/ one.json >opp/built-in/op_impl/config/ascend910b/aic-ascend910b-ops-info.json
$ echo nonsense >opp/old/aic-ascend910-ops-info.json; echo nonsense >opp/notes.json
$ tailor ops npu::Add --op-info=opp --soc-version=Ascend910B3 | tail -n 3
>   black under mixed precision; pattern broadcast
>   dtypes: f16,f16>f16 f32,f32>f32
>   from: opp/vendors/a/op_impl/config/ascend910b/aic-ascend910b-ops-info-math.json
$ tailor ops npu::Add --op-info=opp --soc-version=Ascend310P3
! opp: error: no file aic-ascend310p-ops-info*.json below this folder
!   hint: it has operator information of another chip, such as aic-ascend910-ops-info.json
? 1
$ rm opp/old/aic-ascend910-ops-info.json; mkdir empty; ln -s .. empty/up
$ tailor ops npu::Add --op-info=empty --soc-version=Ascend310P3
! empty: error: no file aic-ascend310p-ops-info*.json below this folder
!   hint: it has operator information of another chip, such as aic-ascend910b-ops-info-math.json
? 1
$ tailor ops npu::Add --op-info=opp/old
! opp/old: error: no file aic-ascend910b-ops-info*.json below this folder
!   hint: name the op_impl folder of CANN, or a file
? 1
# what is wrong, where and in which op
$ tailor ops npu::Add --op-info=missing.json
! missing.json: error: cannot open the op information: No such file or directory
? 4
$ echo '[1]' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:1: error: op information must be an object with one member an op, it is an array
? 1
$ echo '{"Add": 1}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:2: error: op 'Add' must be an object, it is a number
? 1
$ echo '{"": {}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:2: error: an op without a name
? 1
$ printf '{"Add": {\n  "input0": {"name": "x",\n' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:3:1: error: this is not op information: expected a name in double quotes
!   hint: op information is JSON, as in aic-ascend910b-ops-info.json of CANN
? 1
$ echo '{"Add": {"input0": 5}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:10: error: op 'Add': input0 must be an object, it is a number
? 1
$ echo '{"Add": {"input0": {"name": 5}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:21: error: op 'Add': name of input0 must be a string, it is a number
? 1
$ echo '{"Add": {"input0": {"dtype": "float"}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:10: error: op 'Add': input0 has no name
? 1
$ echo '{"Add": {"input1": {"name": "x"}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:2: error: op 'Add': input0 is missing, but a later one is there
? 1
$ echo '{"Add": {"output999": {"name": "x"}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:10: error: op 'Add': 'output999' is not one of the 127 slots that an op may have
? 1
$ echo '{"Add": {"input0": {"name": "x", "paramType": "needed"}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:10: error: op 'Add': paramType of input0 is 'needed', not required, optional or dynamic
? 1
$ echo '{"Add": {"input0": {"name": "x", "dtype": "float"}, "output0": {"name": "y", "dtype": "float,int8"}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:53: error: op 'Add': output0 has 2 dtypes, input0 has 1
? 1
$ echo '{"Add": {"precision_reduce": {"flag": "maybe"}}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:10: error: op 'Add': the flag of precision_reduce is 'maybe', not true or false
? 1
$ echo '{"Add": {"attr": {"list": "a"}, "attr_a": []}}' >bad.json; tailor ops npu::Add --op-info=bad.json
! bad.json:1:33: error: op 'Add': attr_a must be an object, it is an array
? 1
