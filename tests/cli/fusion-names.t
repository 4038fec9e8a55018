# Names of the device compiler's tables, one by one: what a switch file cannot close, what is off by
# default. Where the rows of its other tables are tested (in fusion.t unless a file is named):
#   errors of a switch file   "what cannot be read", "JSON that is not a switch file", "Neither JSON
#                             nor lines"; a key twice: "A key given twice"; unknown names, wrong
#                             sections: "Names"; damage and size: tests/hostile/switch_cases.py
#   what decides              "Precedence", "Level O1 closes", tests/unit/test_fusion.c
#   priorities                tests/unit/test_fusion.c (order, order of custom passes)
#   aliases                   "Names"
#   real switch files         tests/hostile/switch_cases.py
# check: the names of the file f that do not stay on, and how many were asked for.
$ printf '%s\n' 'tailor passes --fusion --fusion_switch_file=f 2>/dev/null >state' 'sed s/:off// f | while read n; do grep -q "^$n .* no.* on  *cannot be switched off" state || echo "$n is off"; done' 'wc -l <f' >check
# Not to be closed: layout and legal forms.
$ printf '%s:off\n' ArgMaxWithFusionPass COPYPass ADeformableConv2dPass MapIndexFusionPass NormalizeFusionPass PassThroughFusionPass PassThroughSecondFusionPass PriorBoxPass ProposalFusionPass SpatialTransformerDPass SPPPass YoloPass YoloV2DetectionOutputPass YoloV3DetectionOutputV2Pass PermuteFusionPass EinsumPass PackFusionPass UnpackFusionPass Globalavgpoolpass TransposedUpdateFusionPass TransdataCastFusionPass clip_by_norm_nodivsquaresum >f; sh ./check
> 22
# Not to be closed: recurrent nets.
$ printf '%s:off\n' DynamicGRUV2GradFusionPass DynamicRNNFusionPass DynamicRNNSeqFusionPass DynamicRNNInsertTransposePass DynamicRNNGradFusionPass DynamicRNNGradAFusionPass DynamicRNNGradAlignFusionPass DynamicRNNGradDFusionPass DynamicRNNGradDAlignFusionPass ALSTMFusionPass CommonLSTMFusionPass RNNFusionPass >f; sh ./check
> 12
# Not to be closed: norms and reductions.
$ printf '%s:off\n' HostBNFusionPass BatchNormBnInferFusionPass BatchNormGradInfGradFusion BatchNormGradBnInferGradFusion FusedBatchnormFusionPass FusedBatchNormGradFusionPass FusedBatchNormBertFusionPass SingleBatchNormFusion AReduceMeanFusionPass AReduceSumFusionPass ConstToAttrReduceSumFusion SoftmaxGradExtFusion ZConfusionSoftmaxGradFusionPass >f; sh ./check
> 13
# Not to be closed: constants as attributes, counts of operands.
$ printf '%s:off\n' ConstToAttrPass ConstToAttrGatherV2Fusion ConstToAttrResizeNearestNeighborGradFusion AddNFusionPass ZConcatDFusionPass ZSplitVFusionPass ZSplitVDFusionPass ApplyAddOutputPass >f; sh ./check
> 8
# Not to be closed: convolutions and pooling.
$ printf '%s:off\n' DepthwiseFusionPass ADepthwiseFusionPass DepthwiseToConv2dFusionPass DepthwiseDfFusionPass DepthwiseDwMulFusionPass DepthwiseInsertTransDataFusionPass DeformableOffsetsFusionPass AABiasaddConvFusion AvgPool3DFusionPass AvgPool3DGradFusionPass AvgPoolGradFusionPass MaxPoolWithArgmaxFusionPass PReluGradFusionPass DreluFusionPass >f; sh ./check
> 14
# Not to be closed: quantization.
$ printf '%s:off\n' AvgPoolQuantProcessFusionPass Conv2DQuantProcessFusionPass GroupConv2DQuantProcessFusionPass Conv2DTDQuantProcessFusionPass DeConvQuantProcessFusionPass DWConv2DQuantProcessFusionPass FCQuantProcessFusionPass MatmulV2QuantProcessFusionPass PoolingQuantProcessFusionPass BatchMatmulV2QuantProcessFusionPass V100NotRequantFusionPass V200NotRequantFusionPass >f; sh ./check
> 12
# Not to be closed: TensorFlow.
$ printf '%s:off\n' TfTagNoConstFoldingFusionPass TfMergeConv2DBackpropInputFusionPass TfMergeSubFusionPass >f; sh ./check
> 3
# Not to be closed: buffer fusion.
$ printf '%s:off\n' TbeConvCommonRules0FusionPass TbeConvCommonRules2FusionPass TbeAntiquantMaxpoolingFusionPass TbeConvRequantFusionPass TbeConvDequantS16FusionPass >f; sh ./check
> 5
# Nor by level O1.
$ printf '%s:off\n' LayerNormV4FusionPass WeightQuantBatchMatmulV2TransposeFusionPass SxpyFusionPass ARefreshCubeC0FusionPass DeleteNoConstFolding ZConcatExt2FusionPass MapIndexFusionPass >f; sed -i 's/--fusion /--fusion --oo_level=O1 /' check; sh ./check
> 7
# Off by default; ALL:on does not turn them on, their own entry does.
$ printf '%s\n' MulFusionOptimizeFusionPass SplitConvFusionPass BatchMultiClassNonMaxSuppressionEnableSubgraphFusionPass BatchMultiClassNonMaxSuppressionInsertNMSBucketizeFusionPass BatchMultiClassNonMaxSuppressionRefreshSubgraphConstNodeFusionPass BatchNormBnInferOnlyFusionPass ConcatCOptimize GatherV2ConcatV2FusionPass Conv2DBackpropInputTransdataToFixpipeFusionPass Conv2DbpFilterMulFusionPass ReduceMeanDTransnodeFusionPass StridedSliceConcatFusionPass MatmulNzInNdOutTransdataFusionPass StridedSliceDToSplitFusionPass MatmulWeightPrefetchFusionPass MatmulAllReduceAddRmsNormFusionPass MoeDistributeDispatchV2FusionPass MoeDistributeCombineV2FusionPass MoeDistributeCombineAddRmsNormFusionPass ZConcatExt3FusionPass GridSampler2DFusionPass WeightQuantBmmV2WeightPrefetchFusionPass SubMulConcatFusionPass ConvToSplitConvDequantConcatFusionPass SoftmaxSmallOpFusionPass MatmulReshapeFusionPass MatmulToMatMulV3UBFusionPass TbeConvDequantSigmoidMulAddFusionPass AutoSingleNormFusionPass AutoSingleReduceFusionPass >names; printf 'ALL:on\n' >f; tailor passes --fusion --fusion_switch_file=f >state; while read n; do grep -q "^$n .* off  *off by default" state || echo "$n is on"; done <names; wc -l <names
> 30
$ sed s/$/:on/ names >f; tailor passes --fusion --fusion_switch_file=f >state; while read n; do grep -q "^$n .* on  *switch file" state || echo "$n is off"; done <names; grep -c ' switch file' state
> 30
# The sample of the documents: eleven names, one of them off; aliases count as what they stand for.
$ printf '{"Switch":{"GraphFusion":{"RequantFusionPass":"on","ConvToFullyConnectionFusionPass":"off","SoftmaxFusionPass":"on","NotRequantFusionPass":"on","ConvConcatFusionPass":"on","MatMulBiasAddFusionPass":"on","PoolingFusionPass":"on","ZConcatv2dFusionPass":"on","ZConcatExt2FusionPass":"on","TfMergeSubFusionPass":"on"},"UBFusion":{"TbePool2dQuantFusionPass":"on"}}}' >sample.cfg; tailor passes --fusion --fusion_switch_file=sample.cfg | grep -E ' switch file$|^(ZConcatExt2|TfMergeSub|V[12]00NotRequant)FusionPass ' | sed -E 's/ +[0-9]+ +(on|off) / \1 /;s/  +/ /g'
> ConvConcatFusionPass graph on yes on switch file
> ConvToFullyConnectionFusionPass graph on yes off switch file
> MatMulBiasAddFusionPass graph on yes on switch file
> SoftmaxFusionPass graph on yes on switch file
> TbePool2dQuantFusionPass ub on yes on switch file
> TfMergeSubFusionPass graph on no on cannot be switched off; no rules: TensorFlow only: exporters write such weights subtracted
> V100NotRequantFusionPass graph on no on cannot be switched off
> V100RequantFusionPass graph on yes on switch file
> V200NotRequantFusionPass graph on no on cannot be switched off
> V200RequantFusionPass graph on yes on switch file
> ZConcatExt2FusionPass graph on no, not at O1 on cannot be switched off, not even by level O1
> ZConcatv2dFusionPass graph on yes on switch file
# A preset; an entry of the switch file beats it.
$ tailor passes --fusion --fusion_preset=quant_compare | grep -E ' --fusion-preset(;|$)' | cut -d' ' -f1
> ConvConcatFusionPass
> SplitConvConcatFusionPass
> TbeConv2DAddMulQuantPass
> TbeConvDequantQuantFusionPass
> TbeConvDequantVaddReluFusionPass
> TbeConvDequantVaddReluQuantFusionPass
> TbeDepthwiseConvDequantFusionPass
> TbeEltwiseQuantFusionPass
> TbeFullyconnectionElemwiseDequantFusionPass
> TbePool2dQuantFusionPass
> V100RequantFusionPass
> V200RequantFusionPass
$ printf 'V100RequantFusionPass:on' >f; tailor passes --fusion --fusion_preset=quant_compare --fusion_switch_file=f | grep -E '^(V[12]00RequantFusionPass|TbeConvCommonRules0FusionPass) ' | sed -E 's/ +[0-9]+ +(on|off) / \1 /;s/  +/ /g'
> TbeConvCommonRules0FusionPass ub on no on cannot be switched off
> V100RequantFusionPass graph on yes on switch file
> V200RequantFusionPass graph on yes off --fusion-preset
$ tailor passes --fusion --fusion_preset=other
! tailor: error: --fusion-preset: 'other' is not one of quant_compare [E10001]
? 1
$ tailor passes --fusion_preset=quant_compare
! tailor: error: --fusion-preset: has no effect on the list of passes
!   hint: add --fusion for the list of fusion passes, --rules for that of rules
? 1
# Names that documents use stand behind the passes, with the state of all that they stand for.
$ tailor passes --fusion --fusion=V100RequantFusionPass:off 2>/dev/null | grep -E '^(Not|Vxxx|)Requant' | sed -E 's/ +[0-9]+ +(on|off|part) / \1 /;s/  +/ /g'
> NotRequantFusionPass graph on no on stands for V100NotRequantFusionPass, V200NotRequantFusionPass
> RequantFusionPass graph on yes part stands for V100RequantFusionPass, V200RequantFusionPass
> VxxxRequantFusionPass graph on yes part stands for V100RequantFusionPass, V200RequantFusionPass
$ tailor passes --fusion --json --optimization-switch="V100RequantFusionPass:off;V200RequantFusionPass:off" 2>/dev/null | /usr/bin/python3 -c 'import json,sys; print([(r["kind"], r["on"], r["stands_for"]) for r in json.load(sys.stdin) if r["name"] == "RequantFusionPass"])'
> [('graph', False, ['V100RequantFusionPass', 'V200RequantFusionPass'])]
