# The number of rules that implement a pass is not what these tests are about.
$ printf '%s\n' 's/ +[0-9]+ +(on|off) / \1 /;s/  +/ /g' >tidy
# The switch file: what cannot be read (docs/fusion-switch.md).
$ tailor passes --fusion --fusion_switch_file=missing.cfg
! missing.cfg: error: cannot open the switch file: No such file or directory [E21001]
? 4
$ : >empty.cfg; tailor passes --fusion --fusion_switch_file=empty.cfg
! empty.cfg: error: the switch file is empty [E21001]
? 1
$ printf ' \n\t\r\n' >blank.cfg; tailor passes --fusion --fusion_switch_file=blank.cfg
! blank.cfg: error: the switch file is empty [E21001]
? 1
$ mkdir folder; tailor passes --fusion --fusion_switch_file=folder
! folder: error: cannot read the switch file: it is a folder [E21002]
? 4
$ printf 'a:off' >'odd+name.cfg'; tailor passes --fusion --fusion_switch_file=odd+name.cfg 2>&1 | sed "s,$PWD,HERE,g"
> tailor: error: --fusion-switch-file: the path 'HERE/odd+name.cfg' has a character that atc does not allow in paths, after 'HERE/odd' [E10001]
>   hint: use letters, digits, '_', '-', '.', '/' and Chinese characters
$ printf 'SoftmaxFusionPass:off' >'融合.cfg'; tailor passes --fusion --fusion_switch_file=融合.cfg | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes off switch file
$ printf 'SoftmaxFusionPass:off' >m.cfg; mkdir link+; ln -s ../m.cfg link+/good.cfg; tailor passes --fusion --fusion_switch_file=link+/good.cfg | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes off switch file
$ tailor passes --fusion --fusion_switch_file=/dev/null
! /dev/null: error: cannot read the switch file: it is no regular file [E21002]
? 4
$ tailor passes --fusion --fusion_switch_file= | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes on on by default
$ tailor convert m.onnx -o m.air --dry-run --fusion_switch_file=missing.cfg
! missing.cfg: error: cannot open the switch file: No such file or directory [E21001]
? 4
# JSON that is not a switch file.
$ printf '[]' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: the top level must be an object, it is an array [E21002]
? 1
$ printf '"on"' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: the top level must be an object, it is a string [E21002]
? 1
$ printf '17' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: the top level must be an object, it is a number [E21002]
? 1
$ printf 'true' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: the top level must be an object, it is a truth value [E21002]
? 1
$ printf 'null' >f; tailor passes --fusion --fusion_switch_file=f | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes on on by default
$ printf '{}' >f; tailor passes --fusion --fusion_switch_file=f | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes on on by default
$ printf '{"Switch":{},\n "OtherType":{}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:2: error: unknown key 'OtherType' at the top level [E21002]
!   hint: expected Switch, Priority or ExceptionalPassOfO1Level
? 1
$ printf '{"Switch":[]}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:2: error: Switch must be an object, it is an array [E21002]
? 1
$ printf '{"Priority":"Top"}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:2: error: Priority must be an object, it is a string [E21002]
? 1
$ printf '{"Switch":{"GraphFusion":"off"}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:12: error: Switch.GraphFusion must be an object, it is a string [E21002]
? 1
$ printf '{"Priority":{"UBFusion":null}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:14: error: Priority.UBFusion must be an object, it is null [E21002]
? 1
$ printf '{"Switch":{"BufferFusion":{}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:12: error: unknown key 'BufferFusion' in Switch [E21002]
!   hint: expected GraphFusion or UBFusion
? 1
$ printf '{"Priority":{"Graph":{}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:14: error: unknown key 'Graph' in Priority [E21002]
!   hint: expected GraphFusion or UBFusion
? 1
$ printf '{"Switch":{"GraphFusion":{\n"SoftmaxFusionPass":"ON"}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:1: error: 'ON' is not on or off, for pass 'SoftmaxFusionPass' [E21002]
? 1
$ printf '{"Switch":{"UBFusion":{"P":""}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:24: error: '' is not on or off, for pass 'P' [E21002]
? 1
$ printf '{"Switch":{"UBFusion":{"P":true}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:24: error: UBFusion.P must be "on" or "off", it is a truth value [E21002]
? 1
$ printf '{"Switch":{"UBFusion":{"P":1}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:24: error: UBFusion.P must be "on" or "off", it is a number [E21002]
? 1
$ printf '{"Switch":{"UBFusion":{"P":{"Q":"on"}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:24: error: UBFusion.P must be "on" or "off", it is an object [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Bottom":{}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:29: error: unknown key 'Bottom' among the levels of Priority [E21002]
!   hint: expected Top, Main or Down
? 1
$ printf '{"Priority":{"GraphFusion":{"Top":[]}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:29: error: GraphFusion.Top must be an object, it is an array [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Top":{"P":5}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:36: error: Top.P must be a number in double quotes, it is a number [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Top":{"P":"first"}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:36: error: 'first' is not a priority of level Top, which has 0 to 999, for pass 'P' [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Main":{"P":"999"}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:37: error: '999' is not a priority of level Main, which has 1000 to 1999, for pass 'P' [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Down":{"P":"3000"}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:37: error: '3000' is not a priority of level Down, which has 2000 to 2999, for pass 'P' [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Top":{"P":"-1"}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:36: error: '-1' is not a priority of level Top, which has 0 to 999, for pass 'P' [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Top":{"MulAddFusionPass":"1"},\n"Down":{"MulAddFusionPass":"2000"}}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:9: error: 'MulAddFusionPass' is given twice, in lines 1 and 2 [E21002]
? 1
$ printf '{"Priority":{"GraphFusion":{"Top":{"MulAddFusionPass":"1"}},"UBFusion":{"Top":{"TbeEltwiseFusionPass":"1"}}}}' >f; tailor passes --fusion --fusion_switch_file=f | grep '^MulAddFusionPass ' | sed -Ef tidy
> MulAddFusionPass graph on yes on on by default
$ printf '{"ExceptionalPassOfO1Level":{}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:2: error: ExceptionalPassOfO1Level must be an array, it is an object [E21002]
? 1
$ printf '{"ExceptionalPassOfO1Level":["P",1]}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:34: error: ExceptionalPassOfO1Level has to hold names of passes, this is a number [E21002]
? 1
# Neither JSON nor lines.
$ printf 'SoftmaxFusionPass off\n' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: 'SoftmaxFusionPass off' has no ':' between pass and on or off [E20003]
? 1
$ printf 'SoftmaxFusionPass:off\n  \nMulAddFusionPass:on' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:1: error: the line has only blanks; remove the line or the blanks [E20003]
? 1
$ printf 'SoftmaxFusionPass:off\n\nMulAddFusionPass:offf' >f; tailor passes --fusion --fusion_switch_file=f
! f:3:1: error: 'offf' is not on or off, for pass 'MulAddFusionPass' [E20003]
? 1
$ printf 'SoftmaxFusionPass:ON' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: 'ON' is not on or off, for pass 'SoftmaxFusionPass' [E20003]
? 1
$ printf 'SoftmaxFusionPass:off:on' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: 'off:on' is not on or off, for pass 'SoftmaxFusionPass' [E20003]
? 1
$ printf 'MulAddFusionPass:off\nSoftmaxFusionPass:off\nMulAddFusionPass:off' >f; tailor passes --fusion --fusion_switch_file=f
! f:3:1: error: 'MulAddFusionPass' is given twice, in lines 1 and 3 [E20003]
? 1
$ printf 'ALL:off\nALL:off' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:1: error: 'ALL' is given twice [E20003]
? 1
$ printf '{\n "Switch":{\n  "GraphFusion":{\n   "SoftmaxFusionPass":"off"\n  }\n }\n' >f; tailor passes --fusion --fusion_switch_file=f
! f:7:1: error: not JSON: expected ',' or '}' at 7:1; nor lines of the form PASS:on or PASS:off: in line 1, '{' has no ':' between pass and on or off [E20003]
? 1
$ printf '{"Switch":{} // no comments\n}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:14: error: not JSON: expected ',' or '}' at 1:14; nor lines of the form PASS:on or PASS:off: in line 1, '{} // no comments' is not on or off, for pass '{"Switch"' [E20003]
? 1
$ printf '{"Switch":{},}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:14: error: not JSON: expected a name in double quotes at 1:14; nor lines of the form PASS:on or PASS:off: in line 1, '{},}' is not on or off, for pass '{"Switch"' [E20003]
? 1
$ printf '{"Switch":{"GraphFusion":{"\377":"off"}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:28: error: not JSON: a byte that is not UTF-8 at 1:28; nor lines of the form PASS:on or PASS:off: in line 1, '{"GraphFusion":{"' is not on or off, for pass '{"Switch"' [E20003]
? 1
$ printf 'Soft\377:off' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: 'Soft' has a byte that is not text [E20003]
? 1
$ printf 'Soft\000max:off' >f; tailor passes --fusion --fusion_switch_file=f
! f:1:1: error: 'Soft' has a byte that is not text [E20003]
? 1
# Lines: blanks, Windows line ends, entries without a name; each entry is about both kinds.
$ printf '  SoftmaxFusionPass \t: off \r\n\n:nonsense\n : on\nTbeEltwiseFusionPass:off\r\n' >f; tailor passes --fusion --fusion_switch_file=f | grep -E '^(SoftmaxFusionPass|TbeEltwiseFusionPass) ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes off switch file
> TbeEltwiseFusionPass ub on yes off switch file
$ printf 'ALL:off\nSoftmaxFusionPass:on' >f; tailor passes --fusion --fusion_switch_file=f | grep -E '^(SoftmaxFusionPass|MulAddFusionPass|TbeEltwiseFusionPass|TfMergeSubFusionPass|PrunePass) ' | sed -Ef tidy
> MulAddFusionPass graph on yes off ALL of the switch file
> PrunePass cleanup on yes on on by default; no rules: the pass dead-nodes does it, whatever a switch says
> SoftmaxFusionPass graph on yes on switch file
> TbeEltwiseFusionPass ub on yes off ALL of the switch file
> TfMergeSubFusionPass graph on no on cannot be switched off; no rules: TensorFlow only: exporters write such weights subtracted
$ printf '\357\273\277SoftmaxFusionPass:off' >f; tailor passes --fusion --fusion_switch_file=f | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes off switch file
# Blanks in JSON strings do not count; a byte order mark does no harm.
$ printf '\357\273\277{"Switch":{"GraphFusion":{" ALL ":" off ","SoftmaxFusionPass ":"on"}}}' >f; tailor passes --fusion --fusion_switch_file=f | grep -E '^(SoftmaxFusionPass|MulAddFusionPass|TbeEltwiseFusionPass) ' | sed -Ef tidy
> MulAddFusionPass graph on yes off ALL of the switch file
> SoftmaxFusionPass graph on yes on switch file
> TbeEltwiseFusionPass ub on yes on on by default
# A key given twice.
$ printf '{"Switch":{"GraphFusion":{\n"SoftmaxFusionPass":"off",\n"MulAddFusionPass":"off",\n"SoftmaxFusionPass":"on"}}}' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(SoftmaxFusionPass|MulAddFusionPass|f:)' | sed -Ef tidy
> f:4:1: warning: 'SoftmaxFusionPass' is given twice, in lines 2 and 4; the latter counts [W_FUSION_DUP_KEY]
> MulAddFusionPass graph on yes off switch file
> SoftmaxFusionPass graph on yes on switch file
$ printf '{"Switch":{"GraphFusion":{"ALL":"off"}},\n"Switch":{}}' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(SoftmaxFusionPass |f:)' | sed -Ef tidy
> f:2:1: warning: 'Switch' is given twice, in lines 1 and 2; the latter counts [W_FUSION_DUP_KEY]
> SoftmaxFusionPass graph on yes on on by default
# Names: unknown, of the wrong section, closed without effect, aliases.
$ printf '{"Switch":{"GraphFusion":{"SoftmxFusionPass":"off",\n"Nonsense":"off"}}}' >f; tailor passes --fusion --fusion_switch_file=f >out
! f:1:27: warning: no fusion pass is named 'SoftmxFusionPass' [W_FUSION_UNKNOWN_PASS]
!   hint: did you mean SoftmaxFusionPass?
! f:2:1: warning: no fusion pass is named 'Nonsense' [W_FUSION_UNKNOWN_PASS]
!   hint: 'tailor passes --fusion' lists them
$ printf '{"Switch":{"UBFusion":{"SoftmaxFusionPass":"off"},"GraphFusion":{"PrunePass":"off"}}}' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(SoftmaxFusionPass |PrunePass |f:|  hint)' | sed -Ef tidy
> f:1:66: warning: 'PrunePass' is a cleanup pass, which a switch file cannot switch [W_FUSION_WRONG_SECTION]
>  hint: --fusion=PrunePass:off switches it off
> f:1:24: warning: 'SoftmaxFusionPass' has no effect in section UBFusion [W_FUSION_WRONG_SECTION]
>  hint: it belongs in section GraphFusion
> PrunePass cleanup on yes on on by default; no rules: the pass dead-nodes does it, whatever a switch says
> SoftmaxFusionPass graph on yes on on by default
$ printf 'ScopeLayerNormPass:off' >f; tailor passes --fusion --fusion_switch_file=f >out
! f:1:1: warning: 'ScopeLayerNormPass' is a scope pass, which a switch file cannot switch [W_FUSION_WRONG_SECTION]
!   hint: --fusion=ScopeLayerNormPass:off switches it off
$ printf '{"Switch":{"GraphFusion":{"TfMergeSubFusionPass":"off","ZConcatExt2FusionPass":"off"}}}' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(TfMergeSubFusionPass |ZConcatExt2FusionPass |f:)' | sed -Ef tidy
> f:1:27: warning: 'TfMergeSubFusionPass' cannot be switched off by a switch file; it stays on [W_FUSION_CANNOT_CLOSE]
> f:1:56: warning: 'ZConcatExt2FusionPass' cannot be switched off by a switch file; it stays on [W_FUSION_CANNOT_CLOSE]
> TfMergeSubFusionPass graph on no on cannot be switched off; no rules: TensorFlow only: exporters write such weights subtracted
> ZConcatExt2FusionPass graph on no, not at O1 on cannot be switched off, not even by level O1
$ printf '{"ExceptionalPassOfO1Level":["SoftmaxFusionPass"],"Switch":{"GraphFusion":{"SoftmaxFusionPass":"off"}}}' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(SoftmaxFusionPass |f:)' | sed -Ef tidy
> f:1:76: warning: 'SoftmaxFusionPass' cannot be switched off by a switch file; it stays on [W_FUSION_CANNOT_CLOSE]
> SoftmaxFusionPass graph on yes on ExceptionalPassOfO1Level of the switch file
$ printf 'RequantFusionPass:off' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(V[12]00RequantFusionPass |f:)' | sed -Ef tidy
> V100RequantFusionPass graph on yes off switch file
> V200RequantFusionPass graph on yes off switch file
$ printf 'RequantFusionPass:off\nV100RequantFusionPass:off' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(V[12]00RequantFusionPass |f:)' | sed -Ef tidy
> V100RequantFusionPass graph on yes off switch file
> V200RequantFusionPass graph on yes off switch file
$ printf 'RequantFusionPass:off\nV100RequantFusionPass:on' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:1: error: 'V100RequantFusionPass' and 'RequantFusionPass' of line 1 name the same pass and have different values [E20003]
!   hint: keep one of them
? 1
$ printf '{"Switch":{"GraphFusion":{"RequantFusionPass":"off",\n"V200RequantFusionPass":"on"}}}' >f; tailor passes --fusion --fusion_switch_file=f
! f:2:1: error: 'V200RequantFusionPass' and 'RequantFusionPass' of line 1 name the same pass and have different values [E21002]
!   hint: keep one of them
? 1
$ printf '{"Switch":{"UBFusion":{"TbeCommonRules0FusionPass":"off","FusionVirtualOpSetSwitch":"off"}}}' >f; tailor passes --fusion --fusion_switch_file=f 2>&1 | grep -E '^(TbeConvCommonRules0FusionPass |f:)' | sed -Ef tidy
> f:1:24: warning: 'TbeCommonRules0FusionPass' cannot be switched off by a switch file; it stays on [W_FUSION_CANNOT_CLOSE]
> TbeConvCommonRules0FusionPass ub on no on cannot be switched off
# Precedence: --fusion, --optimization-switch, level, file, defaults.
$ printf 'ALL:off' >off.cfg; tailor passes --fusion --fusion_switch_file=off.cfg --optimization_switch='SoftmaxFusionPass:on;TfMergeSubFusionPass:off;PrunePass:off' | grep -E '^(SoftmaxFusionPass|TfMergeSubFusionPass|PrunePass|SplitConvFusionPass) ' | sed -Ef tidy
> PrunePass cleanup on yes off --optimization-switch; no rules: the pass dead-nodes does it, whatever a switch says
> SoftmaxFusionPass graph on yes on --optimization-switch
> SplitConvFusionPass graph off yes off off by default; no rules: no operator information has its op
> TfMergeSubFusionPass graph on no off --optimization-switch; no rules: TensorFlow only: exporters write such weights subtracted
$ tailor passes --fusion='SoftmaxFusionPass:off' --optimization_switch='SoftmaxFusionPass:on' | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes off --fusion
$ tailor passes --fusion=ALL:off | grep -E '^(SoftmaxFusionPass|TfMergeSubFusionPass|TbeEltwiseFusionPass|PrunePass) ' | sed -Ef tidy
> PrunePass cleanup on yes on on by default; no rules: the pass dead-nodes does it, whatever a switch says
> SoftmaxFusionPass graph on yes off --fusion=ALL
> TbeEltwiseFusionPass ub on yes off --fusion=ALL
> TfMergeSubFusionPass graph on no on cannot be switched off; no rules: TensorFlow only: exporters write such weights subtracted
$ printf 'SoftmaxFusionPass:on' >on.cfg; tailor passes --fusion --fusion_switch_file=on.cfg --oo_level=O1 | grep -E '^(SoftmaxFusionPass|TfMergeSubFusionPass|ZConcatExt2FusionPass|PrunePass|ConstantFoldingPass) ' | sed -Ef tidy
> ConstantFoldingPass cleanup on no on cannot be switched off; no rules: the pass fold-constants does it, whatever a switch says
> PrunePass cleanup on yes off level below O2; no rules: the pass dead-nodes does it, whatever a switch says
> SoftmaxFusionPass graph on yes off level below O2
> TfMergeSubFusionPass graph on no on cannot be switched off; no rules: TensorFlow only: exporters write such weights subtracted
> ZConcatExt2FusionPass graph on no, not at O1 on cannot be switched off, not even by level O1
$ tailor passes --fusion -O1 | grep '^SoftmaxFusionPass ' | sed -Ef tidy
> SoftmaxFusionPass graph on yes off level below O2
$ tailor passes --fusion --oo_level=O3 | grep -E '^(SoftmaxFusionPass|SplitConvFusionPass|ScopeROIAlignPass) ' | sed -Ef tidy
> ScopeROIAlignPass scope off yes off off by default; no rules: TensorFlow control flow only: exporters write CropAndResize as a loop over boxes
> SoftmaxFusionPass graph on yes on on by default
> SplitConvFusionPass graph off yes off off by default; no rules: no operator information has its op
$ tailor passes --fusion --oo_level=O3 -O2
! tailor: error: --oo-level: cannot be combined with --opt-level [E10047]
? 1
$ tailor passes --fusion --oo_level=O4
! tailor: error: --oo-level: 'O4' is not one of O0|O1|O2|O3 [E10001]
? 1
# --optimization-switch skips what does not fit; --fusion refuses it.
$ tailor passes --fusion --optimization_switch='SoftmaxFusionPass;:on;MulAddFusionPass:ON;ge.oo.level:on;forbidden_close_pass:off;SoftmaxFusionPas:off;PrunePass:off;PrunePass:on' 2>&1 | grep -E '^(SoftmaxFusionPass|MulAddFusionPass|PrunePass|tailor:|  hint)' | sed -Ef tidy
> tailor: warning: --optimization-switch: 'SoftmaxFusionPass' is skipped: it has no ':' [W_FUSION_SKIPPED]
> tailor: warning: --optimization-switch: ':on' is skipped: it names no pass [W_FUSION_SKIPPED]
> tailor: warning: --optimization-switch: 'MulAddFusionPass:ON' is skipped: it does not end with :on or :off [W_FUSION_SKIPPED]
> tailor: warning: --optimization-switch: 'ge.oo.level:on' is skipped: it names an option, not a pass [W_FUSION_SKIPPED]
> tailor: warning: --optimization-switch: forbidden_close_pass:off has no effect: atc sets it to on itself [W_FUSION_CANNOT_CLOSE]
> tailor: warning: --optimization-switch: no fusion pass is named 'SoftmaxFusionPas' [W_FUSION_UNKNOWN_PASS]
>  hint: did you mean SoftmaxFusionPass?
> MulAddFusionPass graph on yes on on by default
> PrunePass cleanup on yes on --optimization-switch; no rules: the pass dead-nodes does it, whatever a switch says
> SoftmaxFusionPass graph on yes on on by default
$ tailor passes --fusion=SoftmaxFusionPass
! tailor: error: --fusion: 'SoftmaxFusionPass' has no ':' [E10001]
!   hint: write --fusion=PASS:off or --fusion=PASS:on
? 1
$ tailor convert m.onnx -o m.air --dry-run --fusion=SoftmaxFusionPass:Off
! tailor: error: --fusion: 'SoftmaxFusionPass:Off' does not end with :on or :off [E10001]
!   hint: write --fusion=PASS:off or --fusion=PASS:on
? 1
$ tailor convert m.onnx -o m.air --dry-run --fusion=SoftmaxFusionPass:off --fusion=MulAddFusionPass:on --fusion=Sofmax:off
! tailor: warning: --fusion: no fusion pass is named 'Sofmax' [W_FUSION_UNKNOWN_PASS]
!   hint: did you mean SoftmaxFusionPass?
! options are valid: m.onnx -> m.air (air); 0 recorded for the device compiler
# Elsewhere.
$ tailor passes --oo_level=O1
! tailor: error: --oo-level: has no effect on the list of passes
!   hint: add --fusion for the list of fusion passes, --rules for that of rules
? 1
$ tailor passes --fusion --json | /usr/bin/python3 -c 'import json,sys; r=json.load(sys.stdin); print(len(r) > 380, [r[0][k] for k in sorted(r[0]) if k != "rules"])'
> True [True, 'graph', False, 'AABiasaddConvFusion', True, 'cannot be switched off']
$ tailor convert m.onnx -o m.air --dry-run --fusion_switch_file=on.cfg --export_compile_stat=1 --oo_level=O1
! options are valid: m.onnx -> m.air (air); 3 recorded for the device compiler
$ tailor convert m.onnx -o m.air --dry-run --export_compile_stat=3
! tailor: error: --export-compile-stat: '3' is not one of 0|1|2 [E10001]
? 1
$ tailor convert m.onnx -o m.air --dry-run --export_compile_stat=0 --fusion-result=r.json
! tailor: error: --export-compile-stat: 0 cannot be combined with --fusion-result [E10047]
? 1
# What the switches do to a model, and the report of it.
$ printf '%s\n' 'graph @g(%x: f32[2,3]) -> (%y) {' 'const %a: f32[] = 1.4142135' 'const %b: f32[] = 1.0' 'const %c: f32[] = 0.5' '%d = Div(%x, %a)' '%e = Erf(%d)' '%s = Add(%e, %b)' '%m = Mul(%x, %s)' '%y = Mul(%m, %c)' '}' >gelu.tir
$ tailor opt gelu.tir --fusion-result=r.json | grep -c ' Gelu('; cat r.json
> 1
> {
>     "session_and_graph_id_0_0": {
>         "graph_fusion": {
>             "GeluONNXFusionPass": {
>                 "effect_times": "1",
>                 "match_times": "1"
>             }
>         }
>     }
> }
$ tailor opt gelu.tir --fusion=ALL:off --fusion-result=r.json | grep -c ' Gelu('; ls r.json
> 0
! ls: cannot access 'r.json': No such file or directory
? 2
$ printf 'ALL:off' >off.cfg; tailor opt gelu.tir --fusion_switch_file=off.cfg | grep -c ' Gelu('
> 0
? 1
$ tailor opt gelu.tir --oo_level=O1 | grep -c ' Gelu('
> 0
? 1
# Level O1 closes what may be closed: passes asked for by name run, and those that have to.
$ tailor opt gelu.tir -O1 --fusion=GeluONNXFusionPass:on | grep -c ' Gelu('
> 1
$ tailor opt gelu.tir --oo_level=O1 --optimization_switch=GeluONNXFusionPass:on | grep -c ' Gelu('
> 1
$ printf '{"ExceptionalPassOfO1Level":["GeluONNXFusionPass"]}' >o1.cfg; tailor opt gelu.tir --oo_level=O1 --fusion_switch_file=o1.cfg | grep -c ' Gelu('
> 1
$ printf 'GeluONNXFusionPass:on' >on1.cfg; tailor opt gelu.tir --oo_level=O1 --fusion_switch_file=on1.cfg | grep -c ' Gelu('
> 0
? 1
$ printf '%s\n' 'graph @g(%x: f32[1,2,4,4], %w: f32[3,2,1,1]) -> (%y) {' 'const %b: f32[3,1,1] = [1.0, 2.0, 3.0]' '%c = Conv(%x, %w)' '%y = Add(%c, %b)' '}' >bias.tir; tailor opt bias.tir --oo_level=O1 --fusion=ALL:off | grep -c ' Add('
> 0
? 1
$ tailor opt bias.tir --oo_level=O1 --optimization_switch=AABiasaddConvFusion:off | grep -c ' Add('
> 1
$ tailor opt bias.tir --oo_level=O0 | grep -c ' Add('
> 1
$ tailor opt gelu.tir -O0 --fusion=GeluONNXFusionPass:on | grep -c ' Gelu('
> 0
? 1
$ tailor passes --fusion -O0 | grep '^TfMergeSubFusionPass ' | sed -Ef tidy
> TfMergeSubFusionPass graph on no off level O0; no rules: TensorFlow only: exporters write such weights subtracted
$ tailor opt gelu.tir --fusion=ALL:off --optimization_switch=GeluONNXFusionPass:on | grep -c ' Gelu('
> 1
$ tailor convert gelu.tir -o g.onnx --summary=none --export_compile_stat=2 --depfile=d --fusion_switch_file=on.cfg; grep -c GeluONNX fusion_result.json; cat d
> 1
> g.onnx: \
>  gelu.tir \
>  on.cfg
$ tailor convert gelu.tir -o g.onnx --summary=none --fusion-result=gelu.tir
! tailor: error: --fusion-result: 'gelu.tir' is an input of this conversion and would be overwritten
? 1
$ tailor convert gelu.tir -o g.onnx --summary=none --fusion-result=missing/r.json; ls missing
! missing/r.json: error: cannot create a temporary file for 'missing/r.json': No such file or directory
! ls: cannot access 'missing': No such file or directory
? 2
