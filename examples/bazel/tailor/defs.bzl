# SPDX-License-Identifier: Apache-2.0
"""tailor_model converts a model; tailor_toolchain says with which program.

The action is hermetic: its inputs are the model, its data and the program, nothing of the environment
gets into the output. So it runs in the sandbox, on remote workers, and its result may come from a
remote cache."""

TailorInfo = provider("How to run Tailor.", fields = ["program"])

def _toolchain_impl(ctx):
    return [platform_common.ToolchainInfo(tailor = TailorInfo(program = ctx.executable.program))]

tailor_toolchain = rule(
    implementation = _toolchain_impl,
    attrs = {
        "program": attr.label(
            mandatory = True,
            executable = True,
            cfg = "exec",
            allow_single_file = True,
            doc = "the program tailor, a static one for remote workers",
        ),
    },
)

def _model_impl(ctx):
    tailor = ctx.toolchains["//tailor:toolchain_type"].tailor
    outputs = [ctx.actions.declare_file(ctx.label.name + "." + f) for f in ctx.attr.formats]
    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = False)
    args.set_param_file_format("shell")
    args.add(ctx.file.model)
    args.add_all(outputs, before_each = "-o")
    args.add_all(ctx.files.rules, format_each = "--rules=%s")
    args.add_all([ctx.expand_location(o, ctx.attr.data) for o in ctx.attr.options])
    args.add("-q")
    args.add("--no-cache")
    ctx.actions.run(
        mnemonic = "Tailor",
        progress_message = "Converting %{label}",
        executable = tailor.program,
        arguments = ["convert", args],
        inputs = [ctx.file.model] + ctx.files.rules + ctx.files.data,
        outputs = outputs,
        env = {},
    )
    return [DefaultInfo(files = depset(outputs))]

tailor_model = rule(
    implementation = _model_impl,
    attrs = {
        "model": attr.label(mandatory = True, allow_single_file = [".onnx", ".tir", ".air"]),
        "data": attr.label_list(
            allow_files = True,
            doc = "weights beside the model, files of options; $(location LABEL) in options",
        ),
        "rules": attr.label_list(allow_files = [".tlr"]),
        "formats": attr.string_list(default = ["air"]),
        "options": attr.string_list(),
    },
    toolchains = ["//tailor:toolchain_type"],
)
