# Files that are no ONNX models are named, with what to do.
$ printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >m.onnx; tailor convert m.onnx -o m.air
! m.onnx: error: this is a Git LFS pointer, which stands for a file that was not downloaded
!   hint: run 'git lfs pull' in the repository that it is from
? 2
$ printf '\n<!DOCTYPE html>\n<html><body>404</body></html>\n' >m.onnx; tailor convert m.onnx -o m.air
! m.onnx: error: this is a web page
!   hint: download the file itself; a login or an error page may have come instead
? 2
$ printf '{"layers": []}\n' >m.onnx; tailor convert m.onnx -o m.air
! m.onnx: error: this is JSON text
!   hint: name the model; files of options belong behind their option, such as --fusion-switch-file or --run-config
? 2
$ printf '\357\273\277{"layers": []}\n' >m.json; tailor info m.json
! m.json: error: this is JSON text
!   hint: name the model; files of options belong behind their option, such as --fusion-switch-file or --run-config
? 2
$ printf 'graph @g(%%x: f32[2]) -> (%%y) {\n  %%y = Relu(%%x)\n}\n' >m.tir; gzip -c m.tir >m.onnx; tailor info m.onnx
! m.onnx: error: this is a gzip archive
!   hint: unpack it with 'gunzip' or 'tar xzf'
? 2
$ printf '\0\0\0\0TFL3\0\0\0\0' >m.tflite; tailor info m.tflite
! m.tflite: error: this is a TFLite model
!   hint: convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx
? 2
$ printf '\211HDF\r\n\032\n\0\0\0\0' >m.h5; tailor info m.h5
! m.h5: error: this is an HDF5 file, as Keras writes models and weights
!   hint: load it in Keras, save it as a SavedModel, and convert that: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx
? 2
$ printf 'IMOD\0\1\0\0\1\0\0\0' >m.om; tailor run m.om
! m.om: error: this is an offline model (.om), which is compiled already
!   hint: give Tailor the ONNX model that it was made from
? 2
$ /usr/bin/python3 -c 'import zipfile; zipfile.ZipFile("m.pt", "w").writestr("archive/data.pkl", "x")'; tailor verify m.pt m.onnx
! m.pt: error: this is a PyTorch file
!   hint: export the model: torch.onnx.export(model, example_inputs, 'model.onnx')
? 2
$ /usr/bin/python3 -c 'import zipfile; zipfile.ZipFile("m.keras", "w").writestr("config.json", "x")'; tailor info m.keras
! m.keras: error: this is a Keras model (.keras)
!   hint: load it in Keras and export it: model.export('model.onnx', format='onnx')
? 2
$ /usr/bin/python3 -c 'import zipfile; zipfile.ZipFile("m.zip", "w").writestr("readme", "x")'; tailor info m.zip
! m.zip: error: this is a zip archive
!   hint: unpack it with 'unzip'
? 2
$ /usr/bin/python3 -c 'import pickle; pickle.dump({"w": 1}, open("m.pkl", "wb"), protocol=2)'; tailor info m.pkl
! m.pkl: error: this is a Python pickle, such as an older PyTorch checkpoint
!   hint: load it in PyTorch and export the model: torch.onnx.export(model, example_inputs, 'model.onnx')
? 2
$ /usr/bin/python3 -c 'import json, struct; h = json.dumps({"w": {"dtype": "F32"}}).encode(); open("m.safetensors", "wb").write(struct.pack("<Q", len(h)) + h)'; tailor info m.safetensors
! m.safetensors: error: this is a safetensors file, which holds weights without a graph
!   hint: load the weights into their model and export that: torch.onnx.export(model, example_inputs, 'model.onnx')
? 2
$ printf 'name: "LeNet"\n# data\nlayer {\n  name: "data"\n}\n' >m.prototxt; tailor info m.prototxt
! m.prototxt: error: this is a Caffe model
!   hint: 'atc --framework=0 --model=FILE.prototxt --weight=FILE.caffemodel' reads it without Tailor; or convert it to ONNX
? 2
$ printf 'node {\n  name: "x"\n  op: "Placeholder"\n}\n' >m.pbtxt; tailor info m.pbtxt
! m.pbtxt: error: this is a TensorFlow graph (GraphDef)
!   hint: convert it: python -m tf2onnx.convert --graphdef FILE --inputs NAME:0 --outputs NAME:0 --output model.onnx; 'atc --framework=3' reads it without Tailor
? 2
$ printf 'ir_version: 8\ngraph {\n  name: "g"\n  node { op_type: "Relu" name: "r" input: "x" output: "y" }\n}\n' >m.txt; tailor info m.txt
! m.txt:4: error: node r: the op type 'Relu' does not begin with 'ge:'
!   hint: of ONNX as text only the dumps of GE are read; 'protoc --encode=onnx.ModelProto' makes an .onnx file of others
? 2
$ printf '<\n  ir_version: 8,\n  opset_import: ["" : 21]\n>\nagraph (float[N] x) => (float[N] y) { y = Relu(x) }\n' >m.onnx; tailor info m.onnx
! m.onnx: error: this is a model in ONNX's textual syntax
!   hint: write it as binary, in Python: onnx.save(onnx.parser.parse_model(open(FILE).read()), 'model.onnx')
? 2
$ printf '<?xml version="1.0"?>\n<net name="m" version="11">\n' >m.xml; tailor info m.xml
! m.xml: error: this is an OpenVINO model, or another XML file
!   hint: start from the model that it was made from; if the file was downloaded, look into it: it may be an error message
? 2
# protobuf: what the outermost fields are. GraphDef {node {name: "x" op: "Relu"} versions {}},
# SavedModel {saved_model_schema_version: 1 meta_graphs {meta_info_def {}}},
# NetParameter {name: "n" layer {}}, ProgramDesc {blocks {idx: 0 parent_idx: 0}},
# ModelProto of MindSpore {ir_version: "1" producer_name: "M" graph {}}, TensorProto {dims: 2
# data_type: 1}
$ printf '\012\011\012\001x\022\004Relu\042\000' >m.pb; tailor info m.pb
! m.pb: error: this is a TensorFlow graph (GraphDef)
!   hint: convert it: python -m tf2onnx.convert --graphdef FILE --inputs NAME:0 --outputs NAME:0 --output model.onnx; 'atc --framework=3' reads it without Tailor
? 2
$ printf '\010\001\022\004\012\002\052\000' >saved_model.pb; tailor info saved_model.pb
! saved_model.pb: error: this is a TensorFlow SavedModel
!   hint: convert its folder: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx
? 2
$ printf '\012\001n\242\006\002\012\000' >m.caffemodel; tailor info m.caffemodel
! m.caffemodel: error: this is a Caffe model
!   hint: 'atc --framework=0 --model=FILE.prototxt --weight=FILE.caffemodel' reads it without Tailor; or convert it to ONNX
? 2
$ printf '\012\004\010\000\020\000' >m.pdmodel; tailor info m.pdmodel
! m.pdmodel: error: this is a PaddlePaddle model
!   hint: convert it: paddle2onnx --model_dir FOLDER --model_filename FILE --params_filename FILE --save_file model.onnx
? 2
$ printf '\012\0011\022\001M\072\002\012\000' >m.mindir; tailor info m.mindir
! m.mindir: error: this is a MindIR model
!   hint: export it from MindSpore with file_format='ONNX'
? 2
$ printf '\010\002\020\001' >m.pb; tailor info m.pb
! m.pb: error: this is a tensor (TensorProto), not a model
!   hint: values of inputs are given by 'run --input NAME=FILE', or with a folder of them
? 2
$ tailor convert m.tir -o m.air --summary=none; cp m.air m.onnx; tailor convert m.onnx -o n.air
! m.onnx: error: this is an AIR model under the name of an ONNX model
!   hint: give it the suffix .air; 'atc --framework=1 --model=FILE' goes on with it
? 2
$ tailor run m.tir -o . --format npy >log; tailor info output_0.npy
! output_0.npy: error: this is a NumPy array
!   hint: values of inputs are given by 'run --input NAME=FILE'
? 2
# from standard input
$ gzip -c m.tir | tailor info -
! -: error: this is a gzip archive
!   hint: unpack it with 'gunzip' or 'tar xzf'
? 2
# near misses: textual IR without its suffix, a model in a file of any name, garbage
$ cp m.tir m; tailor opt m -o -
> graph @g(%x: f32[2]) -> (%y) {
>   %y = Relu(%x) : f32[2]
> }
$ printf 'module {\n  ir_version 8\n}\n\n' | cat - m.tir | tailor opt - -o - | head -2
> module {
>   ir_version 8
$ tailor opt m.tir -o m.onnx -q; cp m.onnx m.pb; tailor info m.pb | grep opset
> opset    21 in the file; now ai.onnx 21
$ head -c 40 m.onnx >cut.onnx; tailor info cut.onnx
! cut.onnx: error: malformed ModelProto (at byte 4)
!   hint: the file is damaged, truncated, or not an ONNX model
? 2
$ printf '\012\377' >m.onnx; tailor info m.onnx
! m.onnx: error: malformed ModelProto (at byte 2)
!   hint: the file is damaged, truncated, or not an ONNX model
? 2
$ printf 'some words\n' >m.onnx; tailor info m.onnx
! m.onnx: error: malformed ModelProto (at byte 1)
!   hint: the file is damaged, truncated, or not an ONNX model
? 2
$ : >m.onnx; tailor info m.onnx
! m.onnx: error: the file is empty
? 2
# Neighbours of these: other spellings, answers of servers, formats of other runtimes.
$ for t in '<!-- x -->\n<html>' '<head><title>' '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code>' '<Error>' '404: Not Found' 'Entry not found' 'Invalid username or password.'; do printf "$t" >m.onnx; tailor info m.onnx; done
! m.onnx: error: this is a web page
!   hint: download the file itself; a login or an error page may have come instead
! m.onnx: error: this is a web page
!   hint: download the file itself; a login or an error page may have come instead
! m.onnx: error: this is an OpenVINO model, or another XML file
!   hint: start from the model that it was made from; if the file was downloaded, look into it: it may be an error message
! m.onnx: error: this is what a server answered in place of a file
!   hint: download the file itself: the address may be wrong, or need a login
! m.onnx: error: this is what a server answered in place of a file
!   hint: download the file itself: the address may be wrong, or need a login
! m.onnx: error: this is what a server answered in place of a file
!   hint: download the file itself: the address may be wrong, or need a login
! m.onnx: error: this is what a server answered in place of a file
!   hint: download the file itself: the address may be wrong, or need a login
? 2
$ for t in 'name: "l"\nlayers { name: "data" type: DATA }\n' 'name: "vgg"\ninput: "data"\ninput_shape { dim: 1 }\n' 'net: "train.prototxt"\nbase_lr: 0.01\n' 'saved_model_schema_version: 1\nmeta_graphs {\n' 'meta_info_def {\n'; do printf "$t" >m.txt; tailor info m.txt; done
! m.txt: error: this is a Caffe model
!   hint: 'atc --framework=0 --model=FILE.prototxt --weight=FILE.caffemodel' reads it without Tailor; or convert it to ONNX
! m.txt: error: this is a Caffe model
!   hint: 'atc --framework=0 --model=FILE.prototxt --weight=FILE.caffemodel' reads it without Tailor; or convert it to ONNX
! m.txt: error: this is a Caffe model
!   hint: 'atc --framework=0 --model=FILE.prototxt --weight=FILE.caffemodel' reads it without Tailor; or convert it to ONNX
! m.txt: error: this is a TensorFlow SavedModel
!   hint: convert its folder: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx
! m.txt: error: this is the graph of a TensorFlow checkpoint (.meta)
!   hint: convert it: python -m tf2onnx.convert --checkpoint FILE --inputs NAME:0 --outputs NAME:0 --output model.onnx
? 2
$ printf '\200\003}q\0.' >m.pth; tailor info m.pth; printf '\034\0\0\0ORTM\0\0\0\0' >m.ort; tailor info m.ort; printf '\211PNG\r\n\032\n' >m.onnx; tailor info m.onnx
! m.pth: error: this is a Python pickle, such as an older PyTorch checkpoint
!   hint: load it in PyTorch and export the model: torch.onnx.export(model, example_inputs, 'model.onnx')
! m.ort: error: this is a model in ONNX Runtime's own format (.ort)
!   hint: give Tailor the ONNX model that it was made from
! m.onnx: error: this is an image
!   hint: name the model; values of inputs are given by 'run --input NAME=FILE.npy'
? 2
$ printf '\012\013\022\011\012\007\012\005Const\022\005\012\003\012\001x\032\002\012\000' >m.meta; tailor info m.meta
! m.meta: error: this is the graph of a TensorFlow checkpoint (.meta)
!   hint: convert it: python -m tf2onnx.convert --checkpoint FILE --inputs NAME:0 --outputs NAME:0 --output model.onnx
? 2
$ mkdir saved; tailor convert saved -o m.air
! saved: error: 'saved' is a folder, a file was expected
!   hint: name a file in it
? 4
# Files called .air that are none; an ONNX model there is no empty AIR model.
$ tailor convert m.tir -q -o r.onnx; cp r.onnx r.air; tailor info r.air; gzip -c m.tir >g.air; tailor info g.air; cp m.tflite t.air; tailor run t.air
! r.air: error: this is an ONNX model under the name of an AIR model
!   hint: give it the suffix .onnx
! g.air: error: this is a gzip archive
!   hint: unpack it with 'gunzip' or 'tar xzf'
! t.air: error: this is a TFLite model
!   hint: convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx
? 2
# AIR under a name without a suffix is read.
$ tailor convert m.tir -q -o r.air; cp r.air plain; tailor info plain | grep form
> form     npu
> every op has an NPU form
