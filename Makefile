# SPDX-License-Identifier: Apache-2.0
# The two commands of the README are `make demo` and `make test`; meson does the building.
BUILD  ?= build
PREFIX ?= /usr/local
MODEL  ?=
FUZZ_SECONDS ?= 600
MUTANTS ?= 1100
SEED ?= 1
KILLED ?= 80

.PHONY: all demo check test install bench fuzz oom random endurance update format clean dist sbom deb static \
	check-deb check-aarch64 check-armhf check-i386 check-musl check-s390x \
	check-compilers mutate coverage analyze deep

all:
	@sh scripts/install-deps build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX) -Dtests=false >/dev/null
	@ninja -C $(BUILD) --quiet

# Converts a realistic model, or yours: make demo MODEL=path.onnx
demo:
	@sh scripts/install-deps demo
	@$(MAKE) --no-print-directory all
	@sh scripts/demo $(BUILD)/tools/tailor demo-out $(if $(MODEL),"$(MODEL)")

# Before each commit: layout, style, unit and golden tests of one build, in less than a minute.
check:
	@sh scripts/install-deps check
	@/usr/bin/python3 tests/run.py --quick

# Everything, or make test ONLY=golden,cli: groups and kinds are in tests/groups.py.
test:
	@sh scripts/install-deps test
	@/usr/bin/python3 tests/run.py $(if $(ONLY),--only $(ONLY))

install: all
	@meson configure $(BUILD) --prefix=$(abspath $(PREFIX)) >/dev/null
	@ninja -C $(BUILD) --quiet
	@meson install -C $(BUILD) --quiet --no-rebuild
	@[ "$$(id -u)" != 0 ] || [ -n "$(DESTDIR)" ] || ldconfig
	@echo "installed under $(abspath $(PREFIX))"

bench: all
	@sh scripts/install-deps demo
	@/usr/bin/python3 bench/run $(BENCH_ARGS)

# Longer fuzzing than CI does: FUZZ_SECONDS for each target.
fuzz:
	@sh scripts/install-deps test
	@/usr/bin/python3 tests/run.py --only fuzz --fuzz-seconds $(FUZZ_SECONDS)

# Ten times the random graphs of CI and more: patterns and near misses of every rule; models changed
# at random, whose two forms must compute the same; dtypes and casts; kernels of several nodes;
# training steps and their tails.
random:
	@sh scripts/install-deps test
	@test -f build-random/build.ninja || meson setup build-random -Dbuildtype=release >/dev/null
	@ninja -C build-random --quiet tests/rule-probe tools/tailor
	@/usr/bin/python3 tests/rules/random_graphs.py --n 20000 --probe build-random/tests/rule-probe
	@/usr/bin/python3 tests/hunt/hunt.py --part onnx --n 8000 --quiet --tailor build-random/tools/tailor --ort tests/ort
	@/usr/bin/python3 tests/hunt/hunt.py --part npu --n 8000 --quiet --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/hunt/train.py --n 4000 --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/hunt/grammar.py --most 400 --tailor build-random/tools/tailor --ort tests/ort
	@/usr/bin/python3 tests/rules/random_scopes.py --n 1000 --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/precision/random_graphs.py --n 20000 --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/ub/random_groups.py --n 100000 --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/train/random_train.py --n 10000 --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/train/tail_random.py --graphs 10000 --tailor build-random/tools/tailor
	@/usr/bin/python3 tests/hunt/commands.py --n 1000 --lines 5000 --tailor build-random/tools/tailor

# 100,000 conversions in one process: its memory and its open files must not grow. 200 processes at
# once, and a million nodes with 100 GB of sparse weights.
endurance:
	@sh scripts/install-deps test
	@test -f build-random/build.ninja || meson setup build-random -Dbuildtype=release >/dev/null
	@ninja -C build-random --quiet tests/endurance tools/tailor
	@mkdir -p build-random/endurance && build-random/tests/endurance build-random/endurance 100000
	@/usr/bin/python3 tests/endurance/large.py --tailor build-random/tools/tailor --processes 200 \
	  --nodes 1000000 --gigabytes 100

# Every allocation of every command failing, and every call that writes: CI takes a sample.
oom:
	@sh scripts/install-deps test
	@/usr/bin/python3 tests/run.py --only oom,oom_commands,oom_python,file_faults,kills,disks --full

# Mutants of the rule engine, the precision decision, loss scaling and tail optimization, and how many
# of them the tests notice: make mutate MUTANTS=100 SEED=2. Takes an hour of processor time for 1,100.
mutate:
	@sh scripts/install-deps test
	@/usr/bin/python3 tests/run.py --only build_gcc,build_sanitized
	@/usr/bin/python3 tests/mutate/mutate.py --build build-test/gcc --sanitized build-test/asan \
	  --n $(MUTANTS) --seed $(SEED) --jobs 2 --ledger build-mutate/ledger.tsv --least $(KILLED)

# Lines and branches of each room that tests run, against tests/coverage/floors.tsv: 25 minutes.
coverage:
	@sh scripts/install-deps coverage
	@test -f build-coverage/build.ninja || CC=clang meson setup build-coverage -Dbuildtype=plain \
	  -Doptimization=1 -Db_ndebug=true -Dc_link_args=-fprofile-instr-generate \
	  "-Dc_args=-fprofile-instr-generate -fcoverage-mapping" >/dev/null
	@LLVM_PROFILE_FILE=/dev/null ninja -C build-coverage --quiet tests/unit-tests tests/oom-test \
	  tests/oom-extend tests/libfaults.so tests/libstarted.so tools/tailor
	@/usr/bin/python3 tests/coverage/run.py --build build-coverage

# Four static analysers over the program, and integer and bounds checks while tests run.
analyze:
	@sh scripts/install-deps analyze
	@/usr/bin/python3 tests/run.py --only build_gcc
	@/usr/bin/python3 tests/analyze/run.py --build build-test/gcc
	@/usr/bin/python3 tests/analyze/integers.py --build build-integers

# The long forms of what CI samples: hours.
deep: random oom fuzz mutate coverage analyze check-aarch64 check-armhf check-i386 \
	check-musl check-s390x check-compilers

# Rewrites golden outputs and generated documents; review the diff.
update: all
	@/usr/bin/python3 tests/golden_runner.py --tailor $(BUILD)/tools/tailor --update tests/golden
	@sh scripts/generated-docs $(BUILD)/tools/tailor write

# The sources of the last commit as a tarball, the same bytes each time; the libraries that are linked.
dist:
	@sh scripts/dist

# Debian packages of the last commit, checked by lintian; and installed in a system of their own, in
# which the sessions of the READMEs are run (as root, by debootstrap). So is the Dockerfile.
deb:
	@sh scripts/install-deps deb
	@sh scripts/deb

check-deb:
	@sh scripts/install-deps deb
	@/usr/bin/python3 tests/packages/chroot.py
	@/usr/bin/python3 tests/packages/dockerfile.py

# The command as one file without shared libraries.
static:
	@sh scripts/install-deps build
	@sh scripts/static

# The program for another machine, run by qemu: units, golden files, 200 conversions and evaluations
# with the bytes of this machine. armhf and i386 have 32 bits, s390x the other byte order. Half an hour
# each; i386, and musl instead of glibc, do without qemu.
check-aarch64 check-armhf check-i386 check-musl check-s390x: check-%: all
	@sh scripts/install-deps $*
	@/usr/bin/python3 tests/packages/machine.py --machine $* --tailor $(BUILD)/tools/tailor --build build-$*

# The same by the oldest and newest gcc and clang of Debian, 40 conversions each: an hour.
check-compilers: all
	@sh scripts/install-deps compilers
	@/usr/bin/python3 tests/packages/compilers.py --tailor $(BUILD)/tools/tailor --build build-compilers

sbom: all
	@mkdir -p dist
	@/usr/bin/python3 scripts/sbom $(BUILD)/tools/tailor >dist/tailor.cdx.json
	@echo dist/tailor.cdx.json

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD) build-* demo-out
