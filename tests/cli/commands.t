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
>   convert         convert an ONNX model for an NPU
>   opt             run passes and print the result
>   passes          list the passes
>   explain         tell what fusion, expansion or precision did to a model, and why
>   ops             list the ops, or describe one
>   info            describe a model
>   run             evaluate a model
>   verify          compare what two models compute
>   simulate-ranks  train on several ranks and compare with one
>   diff-precision  compare two explanations of dtypes
>   options         list the keys of run configurations
>   help            explain a command
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
>   convert         convert an ONNX model for an NPU
>   opt             run passes and print the result
>   passes          list the passes
>   explain         tell what fusion, expansion or precision did to a model, and why
>   ops             list the ops, or describe one
>   info            describe a model
>   run             evaluate a model
>   verify          compare what two models compute
>   simulate-ranks  train on several ranks and compare with one
>   diff-precision  compare two explanations of dtypes
>   options         list the keys of run configurations
>   help            explain a command
>
> exit status: 0 done, 1 wrong usage, 2 bad input, 3 not supported, 4 cannot read or
> write, 5 a comparison differs, 70 internal error or out of memory, 128 + N stopped
> by signal N.
>
> 'tailor help COMMAND' lists the options of a command, 'tailor --version' what this
> build knows.
# The groups of options, and how one of them is shown; the whole of it comes from the option table.
$ tailor opt --help | grep -E '^(usage|[A-Z][a-z]+( and [a-z]+)?:$)'
> usage: tailor opt [MODEL|-] [-o OUTPUT] [OPTION...]
> Input and output:
> Model:
> Passes:
> Evaluation:
> General:
> Precision:
> Fusion:
$ tailor opt --help | grep -A2 -e '--is-weight-clip='
>       --is-weight-clip=0|1  1: elements of constants beyond the range of f16 or
>                             bf16 become its limit; 0: they become infinite
>                             (default: 1)
$ tailor passes extra
! tailor: error: stray argument 'extra'
!   hint: write --name=value without blanks around '=', and quote values that contain ';' or blanks
? 1
