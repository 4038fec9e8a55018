# SPDX-License-Identifier: Apache-2.0
"""Command lines whose allocations and system calls fail (memory.py, files.py), and the files of the
folder in which each runs: these, the models beside this file, and what `prepare` makes of them."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
MIXED = '--soc-version=Ascend910B1 --precision-mode=allow_mix_precision'
LOSS = ('--is-loss-scale=true --loss-scale-manager='
        '\'{"type":"FixedLossScaleManager","loss_scale":1024}\'')
TRAIN = '--graph-run-mode=1 --is-distributed=true --rank-size=4 --soc-version=Ascend910A'
# Training steps, weights of some size, and a model that is evaluated at once.
STEP = ('graph @g(%x: f32[4,4], %lr: f32[], %w: f32[4,4], %v: f32[4,4]) -> (%y, %z) {\n'
        '  %g = MatMul(%x, %w) @B1\n'
        '  %r = npu.hcom::HcomAllReduce(%g) @AR1 {reduction="sum", group="g", fusion=1}'
        ' : f32[4,4]\n'
        '  %d = Mul(%r, %lr) @S1\n  %y = Sub(%w, %d) @U1\n  %h = MatMul(%g, %v) @B2\n'
        '  %s = npu.hcom::HcomAllReduce(%h) @AR2 {reduction="sum", group="g", fusion=1}'
        ' : f32[4,4]\n'
        '  %e = Mul(%s, %lr) @S2\n  %z = Sub(%v, %e) @U2\n  state %w -> %y\n  state %v -> %z\n'
        '  gradient %w -> %g\n  gradient %v -> %h\n}\n')
COUNTED = ('graph @g(%x: f32[2,4], %w: f32[4,4], %step: i64[]) -> (%loss, %w.out, %next) {\n'
           '  const %lr: f32[] = 0.125\n  const %one: i64[] = 1\n  %y = MatMul(%x, %w)\n'
           '  %loss = ReduceMean(%y) {keepdims=0}\n  %xt = Transpose(%x) {perm=[1, 0]}\n'
           '  %g = MatMul(%xt, %y)\n  %d = Mul(%g, %lr)\n  %w.out = Sub(%w, %d)\n'
           '  %next = Add(%step, %one)\n  state %w -> %w.out\n  state %step -> %next\n}\n')
WEIGHTS = ('graph @g(%x: f32[2,300]) -> (%y, %z) {\n'
           + ''.join(f'  const %w{k}: f32[300] = '
                     f'[{", ".join(str(k + i / 4) for i in range(300))}]\n' for k in range(3))
           + '  %a = Mul(%x, %w0)\n  %y = Add(%a, %w1)\n  %z = Sub(%a, %w2)\n}\n')
# Open sizes, of which profiles are tried.
PROFILES = '--input-shape=x:-1,3,8,8 --dynamic-batch-size=1,2 --profile-report'
# 2 MiB of numbers, which threads compute.
COMPUTED = ('graph @g(%x: f32[64,4]) -> (%y, %z) {\n'
            '  const %w: f32[64,8192] = view(f32[1] [1.5], 0, [64,8192], [0,0])\n'
            '  %y = Add(%w, %w)\n  %z = Relu(%x)\n}\n')
# A layer normalization as scopes of exporters spell it.
NORM = ('graph @g(%x: f32[2,3,4], %gamma: f32[4], %beta: f32[4]) -> (%y) {\n'
        '  const %axes: i64[1] = [-1]\n  const %eps: f32[] = 0.001\n'
        '  %m = ReduceMean(%x, %axes) @enc/ln/moments/mean {keepdims=1}\n'
        '  %d = Sub(%x, %m) @enc/ln/moments/SquaredDifference\n'
        '  %p = Mul(%d, %d) @enc/ln/moments/SquaredDifference__7\n'
        '  %v = ReduceMean(%p, %axes) @enc/ln/moments/variance {keepdims=1}\n'
        '  %e = Add(%v, %eps) @enc/ln/batchnorm/add\n'
        '  %s = Sqrt(%e) @enc/ln/batchnorm/Rsqrt\n'
        '  %r = Reciprocal(%s) @enc/ln/batchnorm/Rsqrt__8\n'
        '  %k = Mul(%r, %gamma) @enc/ln/batchnorm/mul\n'
        '  %n = Mul(%x, %k) @enc/ln/batchnorm/mul_1\n'
        '  %t = Mul(%m, %k) @enc/ln/batchnorm/mul_2\n'
        '  %o = Sub(%beta, %t) @enc/ln/batchnorm/sub\n'
        '  %y = Add(%n, %o) @enc/ln/batchnorm/add_1\n}\n')
IMAGE = 'graph @g(%x: f32[1,3,4,4]) -> (%y) {\n  %y = Relu(%x)\n}\n'
# Products of numbers whose squares f16 does not hold.
WIDE = ('graph @g(%x: f32[2,2]) -> (%y) {\n  const %w: f32[2,2] = [3e4, 1.0, 1.0, 3e4]\n'
        '  %a = MatMul(%x, %w) @big\n  %b = MatMul(%a, %w) @bigger\n'
        '  const %s: f32[] = 1e-9\n  %y = Mul(%b, %s)\n}\n')
MODELS = {'computed.tir': COMPUTED, 'scheduled.tir': STEP, 'counted.tir': COUNTED,
          'weights.tir': WEIGHTS, 'norm.tir': NORM, 'image.tir': IMAGE, 'wide.tir': WIDE,
          'small.tir': 'graph @g(%x: f32[2,3]) -> (%y) {\n  %t = Exp(%x)\n  %y = Relu(%t)\n}\n'}
FILES = {
    'switch.cfg': '{"Switch":{"GraphFusion":{"ALL":"off","NoSuchPass":"on"}}}',
    'switch.txt': 'SoftmaxFusionPass:off\nNoSuchPass:on\n',
    'mix.json': '{"black-list":{"to-add":["Relu"]}}',
    'keep.cfg': 'OpType::Relu\nnode\n',
    'custom.cfg': 'OpType::Relu::InputDtype:float16,OutputDtype:float16\n',
    'impl.ini': '[ByOpType]\nSoftmaxV2=high_precision\n',
    'map.txt': 'Relu:Relu6\n',
    'ranges.json': '{"tensors":[{"name":"x","min":-1,"max":1}]}',
    'run.json': '{"NPURunConfig":{"precision_mode":"allow_mix_precision","hcom_parallel":true}}',
    'own.tlr': ('rules 1\n\n'
                'rule OwnTwoExps : graph numerics exact about "a clamp of a clamp is one" {\n'
                '  match {\n    %t = Relu(%x)\n    %y = Relu(%t)\n  }\n'
                '  replace {\n    %y = Relu(%x)\n  }\n}\n'),
    # It is wrong, which bisect and reduce find.
    'wrong.tlr': ('rules 1\n\nrule SinIsCos : graph numerics exact about "wrong" {\n'
                  '  match {\n    %y = Exp(%x)\n  }\n  replace {\n    %y = Cos(%x)\n  }\n}\n'),
    'aipp.cfg': ('aipp_op { aipp_mode: static input_format: RGB888_U8 src_image_size_w: 4 '
                 'src_image_size_h: 4 min_chn_0: 1.5 var_reci_chn_0: 0.5 }\n'),
    'op.json': ('{"Relu": {"input0": {"name": "x", "dtype": "float16", "paramType": "required"}, '
                '"output0": {"name": "y", "dtype": "float16", "paramType": "required"}}}'),
    'half.json': '[{"model": "small.tir", "outputs": ["out.onnx"]},'
                 ' {"model": "missing.tir", "outputs": ["out.air"]}]',
    'words.rsp': 'convert small.tir -o out.onnx\n',
    'wrong.json': '{"a": [1, 2',
    'jobs.json': '[{"model": "weights.tir", "outputs": ["out.air"]},'
                 ' {"model": "small.tir", "outputs": ["out.onnx"]}]',
    'old.air': 'old', 'old.onnx': 'old', **MODELS,
}
# Each command, and each family of options of convert.
COMMANDS = [
    'convert model.tir -o out.air',
    'convert model.tir -o out.onnx',
    'convert model.tir -o out.tir -q',
    'convert model.tir -o out.pbtxt --summary=json',
    'convert model.tir -o out.air -o out.onnx -o old.air --depfile=out.d',
    f'convert model.tir -o out.air {PROFILES}=out.json --order=memory',
    f'convert model.tir -o out.onnx {PROFILES} --summary=json',
    'info model.tir --memory --input-shape=x:1~4,3,8,8',
    'info loops.tir --memory --order=memory --json',
    'convert model.tir -o out.onnx --external-weight=1',
    'convert model.tir -o out.air --external-weight=2',
    'convert model.tir -o out.air --fusion-switch-file=switch.cfg --fusion-result=out.json',
    'convert model.tir -o out.air --fusion-switch-file=switch.txt --fusion=NoSuchPass:off',
    'convert model.tir -o out.air --rules=own.tlr --op-name-map=map.txt',
    f'convert model.tir -o out.air {MIXED} --modify-mixlist=mix.json --keep-dtype=keep.cfg',
    f'convert model.tir -o out.onnx {MIXED} --customize-dtypes=custom.cfg',
    f'convert model.tir -o out.air {MIXED} --precision-policy=range --ranges=ranges.json',
    'convert model.tir -o out.air --soc-version=Ascend310P3 --op-precision-mode=impl.ini',
    'convert counted.tir -o out.onnx --run-config=run.json --soc-version=Ascend910B1',
    'convert weights.tir -o out.onnx --external-weight=1',
    'convert computed.tir -O0 -o out.onnx',
    'convert weights.tir -o out.air --external-weight=2',
    'convert --batch jobs.json --external-weight=1',
    'convert loops.tir -o out.air',
    'convert quantized.tir -o out.air',
    f'convert counted.tir -o out.onnx {TRAIN} --trace=out.json --timeline=out.html',
    f'convert counted.tir -o out.air {TRAIN} --schedule-report=report.json',
    'opt scheduled.tir --passes=infer-shapes,schedule --graph-run-mode=1 --is-distributed=true '
    '--rank-size=8 --hw-preset=unit -o out.tir --trace=out.json --tail-explain=tail.json',
    'opt scheduled.tir --passes=infer-shapes,ar-bucket,schedule --graph-run-mode=1 '
    '--is-distributed=true --rank-size=8 --hw-preset=unit --bucket-strategy=auto -o out.tir',
    f'convert counted.tir -o out.onnx {LOSS}',
    'convert --train-model step.tir --optim-model=optim.tir -o out.onnx',
    'convert counted.tir -o out.onnx --accelerate-train-mode="fast|step|0.9" '
    '--observe-step=step --total-step=10000',
    'convert model.tir -o out.air --accelerate-train-mode=fast',
    'convert model.tir --dry-run -o out.air',
    'convert missing.onnx -o out.air',
    'convert model.tir -o out.air --no-such-option',
    'opt model.tir',
    'opt model.tir -o out.tir --verify-each --stats',
    'opt model.tir --print-changed --time-passes -o out.tir',
    'opt model.tir --print-changed --print-changed-form=full --print-only=y -o out.tir',
    'opt model.tir --npu --dump-dir=states -o out.tir',
    'convert model.tir --dump-dir=states --dump-form=pbtxt -o out.air',
    'opt model.tir --stats=json --trace-compiler=trace.out -o out.tir',
    'convert model.tir --stats --trace-compiler=trace.out -o out.air',
    'opt model.tir --verify-numerics -o out.tir',
    'explain model.tir --fusion',
    'explain model.tir --why-not=graph-fusion --node=e',
    'explain model.tir --why-not=NegNeg --node=e --json',
    'explain model.tir --fusion --json',
    'explain model.tir --fusion=NoSuchPass',
    'explain model.tir --expand',
    f'explain model.tir --precision {MIXED}',
    f'explain model.tir --precision --json {MIXED}',
    f'explain model.tir --page=out.html {MIXED}',
    f'view model.tir -o out.html {MIXED}',
    'view model.tir small.tir -o out.html', 'view model.tir --against=-O0 -o out.html',
    'verify model.tir model.tir --layers --page=out.html',
    f'explain model.tir --suggest-mixlist=mix.out {MIXED}',
    'info model.tir', 'info model.tir --json', 'info step.tir --train',
    'run model.tir', 'run model.tir --output out --record-ranges=out.json',
    'verify model.tir model.tir', 'verify model.tir --npu',
    'simulate-ranks counted.tir -n 2', 'info counted.tir --train --json',
    'passes', 'passes --fusion', 'passes --fusion --json', 'passes --rules',
    'passes --fusion --fusion-switch-file=switch.cfg',
    'ops', 'ops --json', 'ops Conv', 'ops Conv --soc-version=Ascend910B1', 'ops NoSuchOp',
    'options', 'options --json', 'help', 'help convert', '--version', 'no-such-command',
    'diff-precision a.json b.json',
    'diff model.tir loops.tir', 'diff model.tir model.tir --names --json',
    'diff small.tir loops.tir --stat',
    'extract small.tir --from t --to y -o out.onnx -o out.air --data out',
    'extract small.tir --from nothing --to y -o out.onnx',
    'explain model.tir --origins', 'explain model.tir --origins --json --node=y',
    # What is read: ONNX with weights beside it, AIR, a file of words, standard input.
    'convert given.onnx -o out.air', 'convert given.onnx --read -o out.tir',
    'convert given.air -o out.onnx', 'convert small.tir -o out.air --freeze=x=given.npy',
    'convert image.tir -o out.air --insert-op-conf=aipp.cfg', '@words.rsp',
    'convert model.tir -o - --emit=tir', 'convert model.tir -o out.air -o out.tir --print-inputs',
    'convert model.tir -o out.air --deps-json=out.json --options-json=options.out',
    'convert model.tir -o old.air --write-if-changed',
    'convert norm.tir -o out.air --fusion-result=out.json '
    '--enable-scope-fusion-passes=ScopeLayerNormPass',
    'convert norm.tir -o out.air --out-nodes=enc/ln/moments/mean:0 --soc-version=Ascend310P3',
    'convert model.tir -o out.air --op-info=op.json --remarks --order=memory',
    'convert model.tir -o out.air --device-memory=1MiB --input-shape=x:1,3,8,8',
    'convert model.tir -o out.pbtxt --input-shape=x:1~4,3,8,8 --optimization-switch=Relu:off',
    'convert small.tir -o out.onnx --verify', 'convert small.tir -o out.air --verify',
    'convert small.tir -o out.air --sandbox --memory-limit=1GiB',
    'convert small.tir -o out.air --reproducer=made', 'replay made-before',
    f'convert counted.tir -o out.onnx -o out.air {TRAIN} --init-graph=1 --wus=0',
    'convert counted.tir -o out.onnx --is-distributed=true --rank-size=2 --verify-ranks=2',
    f'convert norm.tir -o out.air {MIXED} --to-float="*=float16" --keep-io-types',
    'convert wide.tir -o out.air --precision-mode-v2=mixed_bfloat16 --op-block-list=Mul',
    # A job that fails beside one that does not, and messages in other forms.
    'convert --batch half.json', 'convert --batch jobs.json -j 2 --cache-dir=cache',
    'convert missing.onnx -o out.air --diagnostics=json',
    'convert missing.onnx -o out.air --diagnostics=sarif',
    'convert model.tir -o out.air --diagnostics=sarif --summary=json',
    'convert small.tir -o out.air --atc-exit --run-config=wrong.json',
    # The cache: something new, something known, and the command that looks after it.
    'convert model.tir -o out.air --cache-dir=cache',
    'convert small.tir -o out.air --cache-dir=cache',
    'convert small.tir -o out.air --cache-dir=new', 'cache stats --cache-dir=cache',
    'cache stats --json --cache-dir=cache', 'cache verify --cache-dir=cache',
    'cache trim --cache-size=1 --cache-dir=cache', 'cache clear --cache-dir=cache',
    # Searches.
    'bisect small.tir --rules=wrong.tlr', 'bisect small.tir --rules=wrong.tlr --json -j 2',
    'bisect small.tir --rules=wrong.tlr --check="grep -q Exp {}"', 'bisect small.tir',
    'reduce small.tir --rules=wrong.tlr -o out.onnx',
    'reduce small.tir --check="grep -q Exp {} && exit 1 || exit 0" -o out.tir',
    'precision-search wide.tir', 'precision-search wide.tir -o found --json',
    'test-rules own.tlr --count=4', 'test-rules wrong.tlr --count=4 --json --failures=made',
    'test-rules own.tlr small.tir --count=2',
    'atc --with=./atc.sh -- --model=given.onnx --framework=5 --output=out '
    '--soc_version=Ascend910B1',
    'atc --dry-run -- --model=given.onnx --framework=5 --output=out --soc_version=Ascend910B1',
    'simulate-ranks counted.tir -n 2 --json', 'diff model.tir loops.tir --json',
    'run model.tir --dim=n=2 --json', 'run small.tir --input=x=given.npy --output=out --format=npy',
    'run small.tir --runner=./runner.sh', 'run small.tir --emulate=f16 --dump-tensors=dump',
    'verify small.tir data', 'verify model.tir model.tir --json --dim=n=2',
    'verify image.tir --aipp=aipp.cfg', 'verify small.tir small.tir --layers',
    'view small.tir -o out.html --errors=errors.json', 'info given.onnx', 'info given.air --json',
    'ops Relu --op-info=op.json', 'ops Conv --json', 'options precision_mode',
    'help convert --help-all', '--version-key', '--help', '',
    *(f'--generate={what}' for what in ('man', 'bash', 'zsh', 'markdown', 'passes', 'ops',
                                        'rule-functions', 'npu-ops', 'fusions')),
]


# Programs that commands start.
SCRIPTS = {
    'atc.sh': '#!/bin/sh\nexit 0\n',
    'runner.sh': '#!/bin/sh\nexec env -u LD_PRELOAD "$TAILOR" run "$1" -q --input="$2" -o "$3"\n',
}


def prepare(tailor, folder):
    """Puts everything into a folder: files, and what the command makes of them."""
    for model in os.listdir(HERE):
        if model.endswith('.tir'):
            shutil.copy(os.path.join(HERE, model), folder)
    for name, text in {**FILES, **SCRIPTS}.items():
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.write(text)
        if name in SCRIPTS:
            os.chmod(os.path.join(folder, name), 0o755)

    def made(*words):
        p = subprocess.run([tailor, *words], cwd=folder, stdout=subprocess.PIPE, check=False,
                           stderr=subprocess.DEVNULL)
        return p.stdout
    made('convert', 'weights.tir', '-q', '-o', 'given.onnx', '--external-weight=1')
    made('convert', 'weights.tir', '-q', '-o', 'given.air')
    made('convert', 'small.tir', '-q', '-o', 'out.air', '--cache-dir=cache')
    made('convert', 'small.tir', '-q', '-o', 'out.air', '--reproducer=made-before')
    made('run', 'small.tir', '-q', '-o', 'data')
    made('run', 'small.tir', '-q', '-o', 'arrays', '--format=npy')
    os.remove(os.path.join(folder, 'out.air'))
    shutil.move(os.path.join(folder, 'arrays', 'input_0.npy'), os.path.join(folder, 'given.npy'))
    shutil.rmtree(os.path.join(folder, 'arrays'))
    outputs = {'errors.json': made('verify', 'small.tir', 'small.tir', '--layers', '--json')}
    for name, mode in (('a.json', 'force_fp16'), ('b.json', 'allow_mix_precision')):
        outputs[name] = made('explain', 'model.tir', '--precision', '--json',
                             '--soc-version=Ascend910B1', '--precision-mode=' + mode)
    for name, text in outputs.items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(text)
