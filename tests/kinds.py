# SPDX-License-Identifier: Apache-2.0
"""Kinds of tests that are one script over one build of the command: a row each. tests/groups.py
puts them into groups; tests/run.py has a method for each kind that needs more."""

# name: script, build ('gcc': release, 'asan': sanitized), what it tests, and what makes it a sample
# unless all is wanted (--full)
SCRIPTS = {
    'aipp': ('tests/cli/test_aipp.py', 'asan',
        'preprocessing of images against its formulas, sanitized'),
    'air_foreign': ('tests/air/foreign.py', 'asan',
        'AIR files of other tools, binary and text: they stay what they are, and compute in their '
        'order of dims, sanitized'),
    'air_hostile': ('tests/air/hostile.py', 'asan',
        'AIR files that are wrong in their structure, sanitized'),
    'air_ops': ('tests/air/foreign_ops.py', 'gcc',
        'NPU ops that other tools write, against their formulas'),
    'air_options': ('tests/cli/test_air_options.py', 'asan',
        'options and what they leave in AIR files, sanitized'),
    'air_sample': ('tests/air/sample.py', 'asan',
        "a file of GE's own library, put together from its description, sanitized"),
    'atc_lines': ('tests/cli/test_atc_lines.py', 'gcc',
        'atc command lines as users wrote them'),
    'builds': ('tests/builds/run.py', 'gcc',
        'example projects for Make, Ninja, CMake, Meson and Bazel, built twice; the jobserver'),
    'cache': ('tests/cache/run.py', 'gcc',
        'the cache of conversions: hits, misses, damage, many processes with kills among them'),
    'commands': ('tests/hunt/commands.py', 'asan',
        'files that commands read back, and command lines, changed at random, sanitized',
        '--n', '12', '--lines', '75'),
    'deps': ('tests/cli/deps.py', 'gcc',
        'files that a build is told of against those that the kernel saw opened'),
    'diff': ('tests/cli/test_diff.py', 'gcc',
        'tailor diff over random graphs: other orders and names, planted changes, 100,000 '
        'nodes'),
    'estimates': ('tests/train/estimates.py', 'gcc',
        'a step with a scaled loss never takes less than the plain one, by the cost model'),
    'formulas': ('tests/train/formulas.py', 'gcc',
        'optimizers in kernel, expansion, update pass and NPU form against one formula'),
    'fusion_names': ('tests/rules/fusion_names.py', 'gcc',
        'public names of fusions that have rules, and those that have none yet'),
    'gradients': ('tests/train/gradients.py', 'gcc',
        'gradient ops of ONNX Runtime and their NPU forms against finite differences; AIR'),
    'large': ('tests/endurance/large.py', 'gcc',
        'forty processes at once; a model with 20 GB of sparse weights'),
    'growth': ('tests/speed/growth.py', 'gcc',
        'instructions of conversions of awkward graphs against their size'),
    'hostile': ('tests/hostile/run.py', 'asan',
        'malformed and malicious inputs, sanitized'),
    'instructions': ('tests/speed/instructions.py', 'gcc',
        'instructions of whole commands against their limits'),
    'json_outputs': ('tests/cli/json_outputs.py', 'gcc',
        'what commands print with --json against docs/json.md; models of more than 2 GiB'),
    'opsets': ('tests/reader/opsets.py', 'gcc',
        'nodes as old opsets wrote them, and sparse weights, against their formulas'),
    'orders': ('tests/hunt/orders.py', 'gcc',
        'passes in orders that no pipeline has, verified after each'),
    'origins': ('tests/air/origins.py', 'gcc',
        'each node of AIR says which nodes of the model it comes from, and explain finds '
        'it'),
    'pages': ('tests/cli/pages.py', 'gcc',
        'pages of explain and verify against what they say as JSON'),
    'parts': ('tests/extract/parts.py', 'gcc',
        'parts of models, ONNX and AIR, compute what the models compute there (every '
        '40th)'),
    'precision_files': ('tests/precision/real_files.py', 'asan',
        'precision files of real projects: what they ask for is done, sanitized'),
    'recognised': ('tests/train/recognised.py', 'asan',
        'updates written in many ways: recognised, or refused by name'),
    'recurrent': ('tests/conformance/recurrent.py', 'asan',
        'recurrent layers against the nodes and loops they become, sanitized'),
    'rule_numbers': ('tests/rules/verify_numerics.py', 'gcc',
        'opt --verify-numerics over what each rule takes'),
    'run_config': ('tests/cli/test_run_config.py', 'gcc',
        'every key of run configurations: legal and illegal values, conflicts'),
    'scaffold': ('tests/test_scaffold.py', 'gcc',
        'what scripts/new-pass, new-op and new-rule write is accepted'),
    'select_rows': ('tests/select/run.py', 'gcc',
        'every row of operator selection: candidates, judged types, columns'),
    'dumps': ('tests/debug/dumps.py', 'asan',
        'verify --layers with what a device recorded: .npy, .bin, wrong folders and lists'),
    'precision_search': ('tests/precision/search.py', 'gcc',
        'networks that break in f16: few nodes that must stay wide, minimal; files; refusals'),
    'shares': ('tests/conformance/shares.py', 'gcc',
        'share of the corpus that becomes AIR, and why the rest does not'),
    'step_files': ('tests/train/step_files.py', 'gcc',
        'report, trace and page of a training step'),
    'tail_random': ('tests/train/tail_random.py', 'gcc',
        'tails of random training steps'),
    'train_air': ('tests/train/air.py', 'gcc',
        'training steps to AIR in every other combination of modes (--full: all), independently '
        'checked', '--every', '2'),
    'test_rules': ('tests/rules/test_rules.py', 'gcc',
        'test-rules finds every wrong rule, and says nothing of right ones (some files)'),
    'training_info': ('tests/train/training_info.py', 'asan',
        'training steps of training_info'),
    'view_data': ('tests/view/data.py', 'gcc',
        'what tailor view writes: passes replayed, rewrites, hostile names, sizes, the server'),
    'view': ('tests/view/run.py', 'gcc',
        'the page of tailor view in a browser'),
    'traps': ('tests/precision/traps.py', 'gcc',
        'networks in miniature that lose their numbers in f16 or bf16, and their table'),
}


def kind_of(name, python, counted):
    """The method of a row for the class of tests/run.py."""
    script, build, about, *sample = SCRIPTS[name]

    def method(tests):
        return counted([python, script, '--tailor', tests.tool(build),
                        *([] if tests.args.full else sample)], env=tests.quick_end)
    method.__doc__ = about
    return method
