# SPDX-License-Identifier: MIT
# Wraps meson: each target installs and builds what it needs.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
SOAK_ROUNDS ?= 1000
ROUNDS ?= 100
POC_SECONDS ?= 600
PROGRAMS ?= 10000
SECONDS ?= 600
KERNELS ?= 6.12 7.2
ROCM ?= sid
SUITES ?= bookworm trixie sid
DEBS = build-deb

NINJA = ninja -C $(BUILD) -j $(JOBS)
GPREEMPT = $(BUILD)/src/cli/gpreempt

all: $(BUILD)/build.ninja
	@scripts/reconfigure $(BUILD)
	@$(NINJA)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { \
		echo "make: meson is not installed; run 'scripts/deps demo'" >&2; \
		exit 1; }
	meson setup $(BUILD) --prefix=$(PREFIX)
	@scripts/reconfigure --note $(BUILD)

# A build that was set up before the test packages were installed has no tests.
$(BUILD)/.tests-enabled: | $(BUILD)/build.ninja
	meson setup --reconfigure $(BUILD) -Dtests=enabled
	@scripts/reconfigure --note $(BUILD)
	@touch $@

demo:
	@scripts/deps demo
	@$(MAKE) --no-print-directory all
	$(GPREEMPT) demo --report $(BUILD)/demo.html

demo-llm:
	@scripts/deps demo
	@$(MAKE) --no-print-directory all
	$(GPREEMPT) demo --llm=$(BUILD)/llama --download --report $(BUILD)/demo-llm.html

test:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/run-tests $(BUILD)

bench: all
	@scripts/run-benches $(GPREEMPT)

bench-nvidia-pack:
	@scripts/deps demo
	@scripts/pack-nvidia build-nvidia/pack

lint:
	@scripts/deps lint
	@scripts/lint

sanitize:
	@scripts/deps test
	@scripts/sanitize $(JOBS)

fuzz:
	@scripts/deps fuzz
	@scripts/fuzz $(FUZZ_SECONDS) $(JOBS)

mutation:
	@scripts/deps test
	@scripts/mutation

kernel-handler-test:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/gfx9-kernel-handler $(BUILD)/kernel-handler
	@scripts/run-tests $(BUILD) --suite kernel-handler

kernel-probe:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/kernel-probe $(BUILD) 6.12
	@scripts/may-skip $@ scripts/kernel-probe $(BUILD) 6.1

kernel-kasan:
	@KASAN=1 $(MAKE) --no-print-directory kernel-test

kernel-test kernel-series kernel-posting:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@for linux in $(if $(filter kernel-posting,$@),6.12,$(KERNELS)); do \
		JOBS=$(JOBS) scripts/may-skip $@ scripts/kernel-test $(BUILD) build-kernel/$$linux $$linux \
			$(if $(filter kernel-series,$@),--each)$(if $(filter kernel-posting,$@),--posting) || exit; \
	done

dkms-package:
	@scripts/may-skip $@ scripts/dkms-package $(BUILD)

dkms-test:
	@scripts/deps test
	@scripts/may-skip $@ scripts/dkms-test $(BUILD)/dkms

dkms-boot:
	@JOBS=$(JOBS) scripts/may-skip $@ scripts/dkms-boot build-kernel/dkms

deb:
	@scripts/deps deb
	@scripts/may-skip $@ scripts/deb $(if $(CHECK),--check) $(DEBS) $(SUITES)

deb-test:
	@scripts/deps deb
	@scripts/deps systemd
	@scripts/may-skip $@ scripts/deb $(DEBS) $(SUITES)
	@for suite in $(SUITES); do \
		scripts/may-skip $@ scripts/deb-test $(DEBS) $$suite && \
		scripts/may-skip $@ scripts/deb-boot $(DEBS) $$suite || exit; \
	done

abi-check: all
	@scripts/deps abi
	@scripts/may-skip $@ scripts/abi-check $(BUILD)

dist: all
	meson dist -C $(BUILD) --formats xztar

rocr6-sid:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@ROCR6_SUITE=sid scripts/run-tests $(BUILD) rocr6

arm64:
	@scripts/deps test
	@scripts/deps arm64
	@scripts/may-skip $@ scripts/arm64 $(JOBS)

emu-soak:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	tests/rocm/kills.py $(GPREEMPT) $(BUILD)/tests/rocm --rounds $(SOAK_ROUNDS)

failopen-soak:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	tests/failopen/soak.py $(GPREEMPT) $(BUILD)/src/daemon/gpreemptd $(BUILD)/src/demo \
		--rounds $(ROUNDS)

compat-test:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/compat-test $(BUILD)

hostile-soak:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ tests/hostile/soak.py $(GPREEMPT) $(BUILD)/src/daemon/gpreemptd \
		$(BUILD)/tests/hostile $(BUILD)/src/demo --seconds $(SECONDS) --out $(BUILD)/hostile \
		$(if $(JUDGE),--judge)

systemd-test:
	@scripts/deps test
	@scripts/deps systemd
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/systemd-test $(BUILD)

container-test:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/container-test $(BUILD)

metrics-test:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/metrics-test $(BUILD)

trace-test:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/trace-test $(BUILD)

poc-soak:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/poc-cases $(BUILD) gpreempt frequent --seconds $(POC_SECONDS)
	@scripts/poc-cases $(BUILD) 6.12 frequent --seconds $(POC_SECONDS)

hsa-soak:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/hsa-soak $(BUILD) $(PROGRAMS)

opencl-soak:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/opencl-soak $(BUILD) $(PROGRAMS)

rocm-suite:
	@scripts/deps test
	@$(MAKE) --no-print-directory $(BUILD)/.tests-enabled all
	@scripts/may-skip $@ scripts/rocm-suite --build $(BUILD) --rocm $(ROCM) $(SUITE)

install: all
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	@$(NINJA)
	DESTDIR=$(abspath $(DESTDIR)) meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) build-nvidia build-asan-ubsan build-tsan build-fuzz build-clang build-mutation \
		build-arm64 build-rocm $(DEBS)

help:
	@echo 'make            build into $(BUILD)/'
	@echo 'make demo       install packages, build, and run two programs on one emulated GPU'
	@echo 'make demo-llm   the same with two llama.cpp servers; downloads 480 MB of packages, once'
	@echo 'make test       install packages, build, and run the unit and end-to-end tests'
	@echo 'make bench      run every benchmark of this build'
	@echo 'make bench-nvidia-pack'
	@echo '                collect the files of the NVIDIA benchmark in build-nvidia/pack'
	@echo 'make lint       check format, layers, unused functions, spelling, scripts and manual pages'
	@echo 'make sanitize   run the unit tests under address, undefined and thread sanitizers'
	@echo 'make fuzz       run every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make mutation   disable each guard of the core in turn; a test must fail'
	@echo 'make kernel-handler-test'
	@echo '                fetch the Linux kernel source and save contexts with its trap handlers'
	@echo 'make kernel-probe'
	@echo '                compare the emulated /dev/kfd with those of kernels of Debian in QEMU'
	@echo 'make kernel-test'
	@echo '                build Linux $(KERNELS) with the series in kernel/ and run its tests in QEMU'
	@echo 'make kernel-kasan'
	@echo '                the same with KASAN, in kernels of their own'
	@echo 'make kernel-series'
	@echo '                build each patch of that series and run checkpatch.pl on it'
	@echo 'make kernel-posting'
	@echo '                the same for the patches in kernel/posting'
	@echo 'make dkms-package'
	@echo '                package the amdgpu module with that series for Debian, in $(BUILD)/'
	@echo 'make dkms-test  install and remove that package with dkms of Debian 12 and 13'
	@echo 'make dkms-boot  compile it in a Debian 13, boot its kernel in QEMU, and test the driver'
	@echo 'make deb        package it for Debian SUITES="$(SUITES)", in $(DEBS)/; with CHECK=1, build'
	@echo '                the packages twice and compare them'
	@echo 'make deb-test   install, upgrade and purge these packages, in fresh systems, also under systemd'
	@echo 'make abi-check  compare the libraries with those of released versions'
	@echo 'make dist       make a source tarball in $(BUILD)/meson-dist, and build and test what is in it'
	@echo 'make rocr6-sid  fetch ROCm 6.4 from Debian sid and run the tests of ROCm 6 with it'
	@echo 'make arm64      build for arm64 and run the unit tests in QEMU'
	@echo 'make emu-soak   kill programs and emulated machines SOAK_ROUNDS=$(SOAK_ROUNDS) times'
	@echo 'make failopen-soak'
	@echo '                kill and stop gpreemptd, programs and the machine ROUNDS=$(ROUNDS) times'
	@echo 'make compat-test'
	@echo '                build released versions from history; run them with the current gpreemptd'
	@echo 'make hostile-soak'
	@echo '                attack gpreemptd in every known way for SECONDS=$(SECONDS); plot what other users'
	@echo '                notice; with JUDGE=1, compare times as well'
	@echo 'make systemd-test'
	@echo '                start gpreemptd by its unit under a real systemd, in a container'
	@echo 'make container-test'
	@echo '                fetch podman, runc, crun and an image from Debian (60 MB) and run containers'
	@echo '                around gpreempt-oci on one emulated GPU; needs root'
	@echo 'make metrics-test'
	@echo '                fetch Prometheus (19 MB), have it scrape gpreemptd, and ask it all questions'
	@echo '                of the dashboard and of the alerts'
	@echo 'make trace-test fetch protoc and Perfetto'"'"'s schema (19 MB), and decode a trace with them'
	@echo 'make poc-soak   preempt a trainer every 100 ms, for POC_SECONDS=$(POC_SECONDS) on two kernels'
	@echo 'make hsa-soak   hold PROGRAMS=$(PROGRAMS) random programs of the HSA runtime at random moments'
	@echo 'make opencl-soak'
	@echo '                hold PROGRAMS=$(PROGRAMS) random OpenCL programs at random moments, and cut kernels'
	@echo '                short 1000 times'
	@echo 'make rocm-suite'
	@echo '                run the test programs of ROCm libraries, of Debian ROCM=$(ROCM), on emulated'
	@echo '                machines; SUITE= has options of scripts/rocm-suite'
	@echo 'make install    install under PREFIX=$(PREFIX), below DESTDIR'
	@echo 'make clean      remove everything that was built'

.PHONY: all demo demo-llm test bench bench-nvidia-pack lint sanitize fuzz mutation kernel-handler-test \
	kernel-probe kernel-test kernel-kasan kernel-series kernel-posting dkms-package dkms-test dkms-boot deb deb-test abi-check dist rocr6-sid arm64 \
	emu-soak failopen-soak compat-test hostile-soak systemd-test container-test metrics-test trace-test poc-soak \
	hsa-soak opencl-soak rocm-suite install clean help
