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
> Compiles ONNX models for Ascend NPUs: reads a model, optimizes its graph, and writes AIR
> or ONNX.
>
> commands:
>   convert           convert an ONNX model for an NPU
>   opt               run passes and print the result
>   passes            list the passes
>   explain           explain what fusion, expansion or precision did to a model
>   ops               list the ops, or describe one
>   info              describe a model
>   run               evaluate a model
>   verify            compare what two models compute
>   simulate-ranks    train on several ranks and compare with one
>   diff-precision    compare two explanations of dtypes
>   diff              show where two models differ
>   view              show a model on its way through the passes, in the browser
>   extract           write a part of a model
>   bisect            find the rewrite that breaks a model
>   reduce            make a model that fails small
>   replay            run what a reproducer holds
>   precision-search  find the nodes that low precision has to spare
>   test-rules        test rewrite rules on graphs made for them
>   atc               convert a model, then let atc compile it
>   cache             look after a cache of conversions
>   options           list the keys of run configurations
>   help              explain a command
>
> exit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot read or
> write, 5 a comparison differs, 70 internal error or out of memory, 128 + N stopped
> by signal N.
>
> 'tailor help COMMAND' explains a command, with --help-all every option of it;
> 'tailor --version' says what this build supports.
$ tailor --help
> usage: tailor COMMAND [ARGUMENT...]
>
> Compiles ONNX models for Ascend NPUs: reads a model, optimizes its graph, and writes AIR
> or ONNX.
>
> commands:
>   convert           convert an ONNX model for an NPU
>   opt               run passes and print the result
>   passes            list the passes
>   explain           explain what fusion, expansion or precision did to a model
>   ops               list the ops, or describe one
>   info              describe a model
>   run               evaluate a model
>   verify            compare what two models compute
>   simulate-ranks    train on several ranks and compare with one
>   diff-precision    compare two explanations of dtypes
>   diff              show where two models differ
>   view              show a model on its way through the passes, in the browser
>   extract           write a part of a model
>   bisect            find the rewrite that breaks a model
>   reduce            make a model that fails small
>   replay            run what a reproducer holds
>   precision-search  find the nodes that low precision has to spare
>   test-rules        test rewrite rules on graphs made for them
>   atc               convert a model, then let atc compile it
>   cache             look after a cache of conversions
>   options           list the keys of run configurations
>   help              explain a command
>
> exit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot read or
> write, 5 a comparison differs, 70 internal error or out of memory, 128 + N stopped
> by signal N.
>
> 'tailor help COMMAND' explains a command, with --help-all every option of it;
> 'tailor --version' says what this build supports.
# The options used most, and the way to the others.
$ tailor help convert | sed -n '/^The options/,$p' | grep -oE '^(      |  -[a-z], )--[a-z-]+|^.tailor help.*options' | sed 's/^ *//;s/all [0-9]* options/all N options/'
> --model
> -o, --output
> --framework
> --soc-version
> --input-shape
> --input-format
> --out-nodes
> --dynamic-dims
> --insert-op-conf
> --enable-small-channel
> --precision-mode
> --op-select-implmode
> --output-type
> --fusion-switch-file
> --log
> 'tailor help convert --help-all' lists all N options
$ tailor help convert >a; tailor convert --help >b; tailor convert -h >c; cmp a b && cmp a c
$ tailor help convert --help-all >a; tailor convert --help-all >b; cmp a b; grep -c '^ .*--depfile=FILE' a
> 1
$ test $(tailor help convert --help-all | grep -cE '^(      |  -[a-zA-Z], )--[a-zA-Z]') = $(tailor help convert | sed -n 's/.*lists all \([0-9]*\) options.*/\1/p')
# A command with few options shows them all, and so it does when asked for all.
$ tailor help run >a; tailor help run --help-all >b; cmp a b; grep -c 'options used most' a
> 0
? 1
$ tailor --help-all >a; tailor help >b; cmp a b
$ tailor help convrt --help-all
! tailor: error: unknown command 'convrt'
!   hint: 'tailor help' lists the commands
? 1
# The groups of options, and how one of them is shown; the whole of it comes from the option table.
$ tailor opt --help-all | grep -E '^(usage|[A-Z][a-z]+( and [a-z]+)?:$)'
> usage: tailor opt [MODEL|-] [-o OUTPUT] [OPTION...]
> Input and output:
> Model:
> Passes:
> Evaluation:
> General:
> Precision:
> Fusion:
$ tailor opt --help-all | grep -A2 -e '--is-weight-clip='
>       --is-weight-clip=0|1  1: elements of constants beyond the range of f16 or
>                             bf16 become its largest number; 0: they become
>                             infinite (default: 1)
$ tailor passes extra
! tailor: error: stray argument 'extra'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
