# What fused nodes say of their origin: metadata in textual IR and ONNX, attributes in AIR.
$ printf 'rules 1\nrule One : graph "AFusionPass" numerics exact {\n  match { %%a = Softsign(%%x)  %%y = Tanh(%%a) }\n  replace { %%y = Mish(%%x) }\n}\nrule Two : graph "BFusionPass" numerics exact {\n  match { %%a = Mish(%%x)  %%y = Elu(%%a) }\n  replace { %%t = Relu(%%x)  %%y = Sigmoid(%%t) }\n}\n' >r.tlr
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Softsign(%%x) @"first \\"one\\""\n  %%b = Tanh(%%a) @second\n  %%y = Elu(%%b)\n}\n' >m.tir
$ tailor opt m.tir --rules r.tlr --fusion=BFusionPass:off
> graph @g(%x: f32[2,3]) -> (%y) {
>   %b = Mish(%x) @second/Mish : f32[2,3] meta "_datadump_original_op_names" "[\"first \\\"one\\\"\", \"second\"]" meta "_datadump_original_op_types" "[\"Softsign\", \"Tanh\"]" meta "pass_name" "[\"AFusionPass\"]"
>   %y = Elu(%b) : f32[2,3]
> }
# A chain names the nodes of the model.
$ tailor opt m.tir --rules r.tlr
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y/Relu = Relu(%x) : f32[2,3] meta "_datadump_original_op_names" "[\"first \\\"one\\\"\", \"second\", \"Elu->y\"]" meta "_datadump_original_op_types" "[\"Softsign\", \"Tanh\", \"Elu\"]" meta "pass_name" "[\"AFusionPass\", \"BFusionPass\"]" meta "_datadump_is_multiop" "true"
>   %y = Sigmoid(%y/Relu) : f32[2,3] meta "_datadump_original_op_names" "[\"first \\\"one\\\"\", \"second\", \"Elu->y\"]" meta "_datadump_original_op_types" "[\"Softsign\", \"Tanh\", \"Elu\"]" meta "pass_name" "[\"AFusionPass\", \"BFusionPass\"]" meta "_datadump_is_multiop" "true"
> }
$ tailor opt m.tir --rules r.tlr -o m.onnx; tailor opt m.onnx --rules r.tlr | grep -c meta
> 2
$ tailor convert m.tir --rules r.tlr -o m.air --quiet; grep -aoE '_datadump_(original|is)[a-z_]*|pass_name|[AB]FusionPass|Softsign' m.air | sort | uniq -c | sed 's/^ *//'
> 2 AFusionPass
> 2 BFusionPass
> 2 Softsign
> 2 _datadump_is_multiop
> 2 _datadump_original_op_names
> 2 _datadump_original_op_types
> 4 pass_name
# Where two nodes come from the same ones, what both become names these once.
$ printf 'rules 1\nrule Two : graph "BFusionPass" numerics exact {\n  match { %%a = Softsign(%%x)  %%y = Tanh(%%a) }\n  replace { %%t = Relu(%%x)  %%y = Sigmoid(%%t) }\n}\nrule Three : graph "CFusionPass" numerics exact {\n  match { %%t = Relu(%%x)  %%y = Sigmoid(%%t) }\n  replace { %%y = Erf(%%x) }\n}\n' >twice.tlr
$ tailor opt m.tir --rules twice.tlr | grep -o 'Erf.*'
> Erf(%x) @second/Sigmoid/Erf : f32[2,3] meta "_datadump_original_op_names" "[\"first \\\"one\\\"\", \"second\"]" meta "_datadump_original_op_types" "[\"Softsign\", \"Tanh\"]" meta "pass_name" "[\"BFusionPass\", \"BFusionPass\", \"CFusionPass\"]"
# Metadata of somebody's model that only looks like ours.
$ printf 'graph @g(%%x: f32[2,3]) -> (%%y) {\n  %%a = Softsign(%%x) @n meta "_datadump_original_op_names" "[\\"un"\n  %%y = Tanh(%%a) @m meta "_datadump_original_op_names" "[\\"p\\", \\"q\\"]" meta "pass_name" "x"\n}\n' | tailor opt --rules r.tlr
> graph @g(%x: f32[2,3]) -> (%y) {
>   %y = Mish(%x) @m/Mish : f32[2,3] meta "_datadump_original_op_names" "[\"n\", \"p\", \"q\"]" meta "_datadump_original_op_types" "[\"Softsign\", \"Tanh\", \"Tanh\"]" meta "pass_name" "[\"AFusionPass\"]"
> }
