# Attributes whose bytes go into an AIR file as they are: an AIR file has right ones, text can have
# any. What loaders would drop or misread is refused before a file is written.
$ printf 'module {\n  ir_version 0\n  form npu\n}\ngraph @g(%%x: f32[2]) -> (%%y) {\n  %%y = npu.custom::Foo(%%x) {zz=carried("\\x0a\\x02\\x12\\x00")} : f32[2]\n}\n' >no-type.tir; tailor convert no-type.tir --allow-unmapped -q -o x.air
! no-type.tir: error: node Foo->y: zz: the attribute is carried as bytes that are no value of AIR
!   hint: write its value, or remove it
? 3
$ sed 's/zz=carried([^)]*)/zz=carried("\\x18\\x01\\x18\\x02")/' no-type.tir >two.tir; tailor convert two.tir --allow-unmapped -q -o x.air
! two.tir: error: node Foo->y: zz: the attribute is carried as bytes that are no value of AIR
!   hint: write its value, or remove it
? 3
$ sed 's/zz=carried([^)]*)/zz=carried("\\x7a\\x00")/' no-type.tir >other.tir; tailor convert other.tir --allow-unmapped -q -o x.air
! other.tir: error: node Foo->y: zz: the attribute is carried as bytes that are no value of AIR
!   hint: write its value, or remove it
? 3
# a tensor, in text, has its type and its numbers
$ sed 's/zz=carried([^)]*)/zz=carried("\\x62\\x00")/' no-type.tir >tensor.tir; tailor convert tensor.tir --allow-unmapped -q -o x.air
! tensor.tir: error: node Foo->y: zz: the attribute is a tensor as bytes
!   hint: write its type and its numbers, which can be checked
? 3
# lists of ports
$ sed 's/zz=carried([^)]*)/_input_name_key=carried("\\x0a\\x03\\x12\\x01a")/' no-type.tir >pair.tir; tailor convert pair.tir --allow-unmapped -q -o x.air
! pair.tir: error: node Foo->y: _input_name_key: the attribute is not as long as the list of numbers that belongs to it
!   hint: remove both, the file gets them from the graph
? 3
$ sed 's/npu.custom::Foo/npu::Relu/; s/zz=carried([^)]*)/_opt_input=["a"]/' no-type.tir >own.tir; tailor convert own.tir -o x.air
! own.tir: error: node Relu->y: _opt_input: the attribute has the name of a list of ports, which AIR files have of their own
!   hint: remove it, or give it another name
? 3
$ ls x.air 2>/dev/null
? 2
# right ones are kept: a list of two floats, and an empty name of a function
$ sed 's/zz=carried([^)]*)/zz=carried("\\x52\\x02\\x0a\\x00")/' no-type.tir >good.tir; tailor convert good.tir --allow-unmapped -q -o x.air; tailor convert x.air -q -o again.tir; grep -o 'zz=.*)' again.tir
> zz=carried("R\x02\n\x00")
