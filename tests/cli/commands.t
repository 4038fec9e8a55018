# Finding the command.
$ tailor
! tailor: error: no command was given
!   hint: 'tailor help' lists the commands
? 1
$ tailor convrt
! tailor: error: unknown command 'convrt'
!   hint: did you mean 'convert'?
? 1
$ tailor zzz -o x
! tailor: error: unknown command 'zzz'
!   hint: 'tailor help' lists the commands
? 1
$ tailor help convrt
! tailor: error: unknown command 'convrt'
!   hint: 'tailor help' lists the commands
? 1
$ tailor --nonsense
! tailor: error: unknown option '--nonsense'
!   hint: 'tailor help' lists the options
? 1
$ tailor help
> usage: tailor COMMAND [ARGUMENT...]
>
> Compiles ONNX models for NPUs: takes the graph apart, rewrites it, puts it together
> again.
>
> commands:
>   convert   convert an ONNX model for an NPU
>   opt       run passes and print the result
>   passes    list the passes
>   explain   tell what fusion did to a model, and why not more
>   ops       list the ops, or describe one
>   info      describe a model
>   run       evaluate a model
>   verify    compare what two models compute
>   help      explain a command
>
> exit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot read or
> write, 5 a comparison differs, 70 internal error or out of memory, 128 + N stopped
> by signal N.
>
> 'tailor help COMMAND' lists the options of a command, 'tailor --version' what this
> build knows.
$ tailor --help
> usage: tailor COMMAND [ARGUMENT...]
>
> Compiles ONNX models for NPUs: takes the graph apart, rewrites it, puts it together
> again.
>
> commands:
>   convert   convert an ONNX model for an NPU
>   opt       run passes and print the result
>   passes    list the passes
>   explain   tell what fusion did to a model, and why not more
>   ops       list the ops, or describe one
>   info      describe a model
>   run       evaluate a model
>   verify    compare what two models compute
>   help      explain a command
>
> exit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot read or
> write, 5 a comparison differs, 70 internal error or out of memory, 128 + N stopped
> by signal N.
>
> 'tailor help COMMAND' lists the options of a command, 'tailor --version' what this
> build knows.
$ tailor opt --help
> usage: tailor opt [MODEL|-] [-o OUTPUT] [OPTION...]
>
> Runs the pipeline, or the passes that --passes names, over a model and prints
> textual IR. Without MODEL, or with '-', textual IR is read from standard input;
> without -o it goes to standard output.
>
> Input and output:
>       --model=FILE          the input model; the same as naming it without an
>                             option
>   -o, --output=FILE         write FILE; may be given several times. '-' is
>                             standard output. convert: the suffix .air, .onnx,
>                             .tir or .pbtxt decides the format, any other name
>                             gets .air appended
>       --emit=air|onnx|tir|pbtxt
>                             format of every output, whatever its suffix
>       --depfile=FILE        write a Makefile rule: outputs depend on every file
>                             that was read
>       --read                read files into memory instead of mapping them:
>                             immune to changes meanwhile
>       --allow-unmapped      AIR: write ops that have no NPU form under their own
>                             name instead of refusing the model
>
> Model:
>       --input-shape=NAME:D,D,...;NAME:...
>                             fix input shapes. A dim is a size, -1 (stays
>                             dynamic) or A~B (dynamic within bounds); 'NAME:' is
>                             a scalar
>       --out-nodes=NODE:INDEX;... or NAME;...
>                             make these the outputs: results of nodes, or value
>                             names
>       --op-name-map=FILE    lines 'FROM:TO': take op type FROM for TO
>       --npu                 bring the model to NPU form, as for AIR. opt writes
>                             that form, run evaluates it, verify compares it with
>                             the model itself or with a folder of outputs
>       --soc-version=CHIP    target chip, e.g. Ascend910B1, Ascend910_9362,
>                             Ascend310P3 (default: Ascend910B1)
>       --op-info=FILE|DIR    op information of your own CANN, over what is built
>                             in: an aic-*-ops-info*.json, or a folder with those
>                             of the chip; may be given several times, later ones
>                             count
>
> Passes:
>       --passes=NAME,NAME,...
>                             run exactly these passes in this order; 'tailor
>                             passes' lists them
>   -O, --opt-level=0|1|2     optimization level: 0 what is needed, 1 clean-up, 2
>                             also fusions and common subexpressions (default: 2)
>       --print-before[=PASS]
>                             print the module before PASS, or every pass, on
>                             standard error
>       --print-after[=PASS]  print the module after PASS, or every pass, on
>                             standard error
>       --print-changed[=PASS]
>                             print the module after PASS, or every pass, if it
>                             changed something
>       --verify-each         verify the module before the first and after every
>                             pass
>       --stats               print what each pass changed
>       --time-passes[=text|json]
>                             print the time each pass took
>       --remarks             print what passes did or declined to do, and where
>       --fold-limit=N        fold a computation of constants if its result has at
>                             most this many bytes, or no more than its operands
>                             (default: 65536)
>       --unroll-limit=N      lay out loops and recurrent layers of at most this
>                             many iterations; others become While (default: 64)
>       --oo-constant-folding=true|false
>                             compute what depends on constants only (default:
>                             true)
>       --oo-dead-code-elimination=true|false
>                             erase nodes whose results nobody uses (default:
>                             true)
>       --verify-numerics     evaluate the model before and after each rewrite by
>                             a rule, on random inputs (see --input, --dim,
>                             --seed), and stop at one that changes results more
>                             than its numerics class allows
>       --rewrite-limit=N     let passes make this many rewrites in all (for
>                             bisecting); 0 is no bound
>
> Evaluation:
>       --input=NAME=SOURCE|FOLDER
>                             give an input its value; may be given several times.
>                             SOURCE is a .pb or .npy file, or random or
>                             random:SEED; a FOLDER holds input_0.pb, input_1.pb
>                             ... in the order of the inputs. Inputs that are not
>                             named are random
>       --dim=NAME=SIZE       size of a symbolic dim of random inputs; may be
>                             given several times. Without it: 1
>       --seed=N              seed of random inputs and of random ops without a
>                             seed of their own (default: 0)
>
> General:
>   -h, --help                print help and exit
>       --version             print what this build knows and exit
>   -q, --quiet               print errors only
>       --log=null|debug|info|warning|error
>                             least severity printed; null means warning, info and
>                             debug add notes (default: null)
>       --color=auto|always|never
>                             colour messages; auto: on a terminal (default: auto)
>       --atc-exit            exit with 255 on every failure, as atc does
>
> Precision:
>       --precision-mode=force_fp16|force_fp32|cube_fp16in_fp32out|allow_fp32_to_fp16|must_keep_origin_dtype|allow_mix_precision|allow_mix_precision_fp16|allow_mix_precision_bf16|allow_fp32_to_bf16
>                             dtypes of the whole model, in the words of atc;
>                             without it and the next one the model keeps its own
>       --precision-mode-v2=fp16|origin|cube_fp16in_fp32out|mixed_float16|mixed_bfloat16|cube_hif8|mixed_hif8
>                             the same in the newer words
>       --atc-compat          defaults are those of atc: force_fp16 when no
>                             precision mode is given
>       --modify-mixlist=FILE
>                             changes to the white, black and gray lists of mixed
>                             modes: the JSON file of atc
>       --keep-dtype=FILE     nodes that keep their dtype: a name or OpType::TYPE
>                             a line
>       --customize-dtypes=FILE
>                             dtypes of single nodes or op types; goes before
>                             everything else
>       --to-float=GLOB=DTYPE
>                             nodes whose name or scope fits run in float16,
>                             bfloat16 or float32; may be given several times
>       --strict-mix-low      white ops take the low dtype of the mode, not the
>                             first one below f32 of their table
>       --output-type=TYPE or NODE:INDEX:TYPE;...
>                             dtype of all outputs, or of those that --out-nodes
>                             names: FP32, FP16, UINT8, INT32 ...
>       --input-fp16-nodes=NAME;NAME;...
>                             inputs that become f16
>       --is-weight-clip=0|1  1: elements of constants beyond the range of f16 or
>                             bf16 become its limit; 0: they become infinite
>                             (default: 1)
>
> Fusion:
>       --fusion-switch-file=FILE
>                             fusion passes on and off, and their priorities; the
>                             file of atc
>       --optimization-switch=PASS:on;PASS:off
>                             passes on and off; reaches passes that a switch file
>                             cannot switch off
>       --fusion=PASS:on|off  switch one fusion pass, or ALL, on or off, whatever
>                             else is said; may be given several times
>       --rules=FILE          read rewrite rules from FILE (docs/rules.md); may be
>                             given several times. A rule whose name is known
>                             takes the place of the known one
>       --numerics=exact|reassociating|approximate
>                             how far rules may change results: exact not at all,
>                             reassociating by rounding, approximate within the
>                             tolerance that a rule states (default:
>                             reassociating)
>       --oo-level=O0|O1|O2|O3
>                             level in atc's words: O0 and O1 are -O0 and -O1, O2
>                             and O3 are -O2; fusion from O2 on (default: O3)
>       --export-compile-stat=0|1|2
>                             1, 2: write fusion_result.json, how often each
>                             fusion pass matched and took effect, into the
>                             working folder (default: 0)
>       --fusion-result=FILE  write that report to FILE
$ tailor passes extra
! tailor: error: stray argument 'extra'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
