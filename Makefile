# SPDX-License-Identifier: GPL-2.0-or-later
# Builds lazyfault: BPF objects by clang, skeletons by bpftool, the program by
# any C11 compiler. `make help` lists the targets, `make V=1` shows the commands.

VERSION := 0.1.0

CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG_CONFIG ?= pkg-config
INSTALL ?= install
prefix ?= /usr/local
sbindir ?= $(prefix)/sbin
mandir ?= $(prefix)/share/man
bashcompdir ?= $(prefix)/share/bash-completion/completions

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes
LIBS := libbpf json-c libcap

BUILD := build
GEN := $(BUILD)/gen

ifeq ($(V),1)
Q :=
say := @:
else
Q := @
say := @printf '  %-8s %s\n'
endif

BPF_ARCH := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/')
BPF_OBJECTS := $(patsubst bpf/%.bpf.c,%,$(wildcard bpf/*.bpf.c))
SKELETONS := $(BPF_OBJECTS:%=$(GEN)/%.skel.h)
SOURCES := $(filter-out src/main.c,$(wildcard src/*.c))
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/src/%.o)

# What the machine's libraries ask for; empty if they are missing, which `all` reports.
LIB_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(LIBS) 2>/dev/null)
LIB_LIBS := $(shell $(PKG_CONFIG) --libs $(LIBS) 2>/dev/null)
PROGRAM_CFLAGS := -std=gnu11 $(WARNINGS) -D_GNU_SOURCE -DLAZYFAULT_VERSION='"$(VERSION)"' \
	-Isrc -Ibpf -I$(GEN) $(LIB_CFLAGS)

## make                builds build/lazyfault
.PHONY: all
all: $(BUILD)/lazyfault

.PHONY: help
help:
	@sed -n 's/^## //p' Makefile

# ---- the kernel's side ----

BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Ivmlinux -Ibpf \
	$(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null) -Wall

$(BUILD)/bpf/%.unlinked.o: bpf/%.bpf.c | $(BUILD)/tools
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/bpf/%.o: $(BUILD)/bpf/%.unlinked.o
	$(say) GEN-OBJ $@
	$(Q)$(BPFTOOL) gen object $@ $<

$(GEN)/%.skel.h: $(BUILD)/bpf/%.o
	$(say) GEN-SKEL $@
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.new && mv $@.new $@

# ---- the user's side ----

$(BUILD)/src/%.o: src/%.c | $(SKELETONS)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/lazyfault: $(BUILD)/src/main.o $(OBJECTS)
	$(say) LINK $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ -o $@ $(LIB_LIBS)

# A first look at what a build needs, so that a missing tool is named and not guessed.
$(BUILD)/tools: tools/need-tools
	@mkdir -p $(BUILD)
	$(Q)CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' PKG_CONFIG='$(PKG_CONFIG)' LIBS='$(LIBS)' \
		tools/need-tools && touch $@

# ---- programs that run in the guest ----

GUEST := $(BUILD)/guest
GUEST_PROGRAMS := $(GUEST)/workload $(GUEST)/mapinmap-update $(GUEST)/bpfstats
GUEST_CFLAGS := -std=gnu11 -O2 -g $(WARNINGS) -D_GNU_SOURCE -pthread -static

$(GUEST)/workload: $(wildcard tools/workload/*.c) $(wildcard tools/workload/*.h)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(GUEST_CFLAGS) $(filter %.c,$^) -o $@

$(GUEST)/bpfstats: tools/oracle/bpfstats.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(GUEST_CFLAGS) $< -o $@

$(GUEST)/arraymap-mmap $(GUEST)/mapinmap-update: $(GUEST)/%: tools/bench/%.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(GUEST_CFLAGS) $< -o $@

# The yardstick of bench-overhead is a tracer of its own, built as the product is.
$(BUILD)/bench/%.bpf.o: tools/bench/%.bpf.c | $(BUILD)/tools
	$(say) BPF $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(BUILD)/bench/%.skel.h: $(BUILD)/bench/%.bpf.o
	$(say) GEN-SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf >$@.new && mv $@.new $@

$(BUILD)/bench/empty-pair: tools/bench/empty-pair.c $(BUILD)/bench/empty-pair.skel.h
	$(say) CC $@
	$(Q)$(CC) -std=gnu11 -O2 -g $(WARNINGS) -D_GNU_SOURCE -I$(@D) $(LIB_CFLAGS) $< -o $@ $(LIB_LIBS)

$(BUILD)/bench/overhead: tools/bench/overhead.c
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(GUEST_CFLAGS) $< -o $@

# ---- checks ----

# The sanitizers' own objects: every unit test links them all.
SAN := $(BUILD)/san
SAN_CFLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
UNIT_TESTS := $(patsubst tests/unit/%.c,$(SAN)/%,$(wildcard tests/unit/test_*.c))

$(SAN)/src/%.o: src/%.c | $(SKELETONS)
	$(say) CC-SAN $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(SAN_CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP -c $< -o $@

$(SAN)/test_%: tests/unit/test_%.c $(SOURCES:src/%.c=$(SAN)/src/%.o)
	$(say) TEST $@
	$(Q)$(CLANG) $(SAN_CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP $< $(filter %.o,$^) -o $@ \
		-lcmocka $(LIB_LIBS) $(TEST_LDFLAGS)

# One test lets allocations fail.
$(SAN)/test_allocations: TEST_LDFLAGS = \
	$(addprefix -Wl$(comma)--wrap=,malloc calloc realloc strdup vasprintf open_memstream)
comma := ,

# Runs every test by prove; PROVE_FLAGS=-v shows each. Guest tests boot one
# guest each, with the kernel that KERNEL names (see tools/vm/kernel).
PROVE ?= prove
PROVE_FLAGS ?=
KERNEL ?= 7.3
KERNELS := 6.1 6.12 7.2 7.3
CHECK_KERNELS := PROVE='$(PROVE)' PROVE_FLAGS='$(PROVE_FLAGS)' BUILD='$(abspath $(BUILD))' tools/check-kernels
GUEST_TESTS := $(wildcard tests/guest/*.t)
AROUND_TESTS := $(wildcard tests/around/*.t)
HOST_TESTS := $(wildcard tests/unit/*.t tests/man/*.t tests/completion/*.t)

## make check          installs what is missing, builds, runs unit tests and the guest tests on 7.3
.PHONY: check
check:
	$(Q)tools/setup build check vm bench
	$(Q)$(MAKE) -j"$$(nproc)" check-programs
	$(Q)$(MAKE) check-unit check-guest

# What make check runs, built in one go.
.PHONY: check-programs
check-programs: $(BUILD)/lazyfault $(GUEST_PROGRAMS) $(UNIT_TESTS)

# A locale whose decimal point is a comma: no number may change in it.
COMMA_LOCALE := $(BUILD)/locale/de_DE.UTF-8
$(COMMA_LOCALE):
	@mkdir -p $(@D)
	$(Q)localedef -i de_DE -f UTF-8 $(abspath $@)

.PHONY: check-unit
check-unit: $(BUILD)/lazyfault $(GUEST)/arraymap-mmap $(GUEST)/mapinmap-update $(UNIT_TESTS) $(COMMA_LOCALE)
	$(Q)LOCPATH=$(abspath $(BUILD)/locale) LSAN_OPTIONS=suppressions=tests/unit/lsan.supp:print_suppressions=0 \
		CMOCKA_MESSAGE_OUTPUT=TAP $(PROVE) $(PROVE_FLAGS) --exec '' $(UNIT_TESTS)
	$(Q)$(PROVE) $(PROVE_FLAGS) $(HOST_TESTS)

## make check-fuzz     fuzzes what reads records, captures and options: FUZZ_SECONDS (20) for each
include tests/fuzz/fuzz.mk

## make check-reports  HTML in Chromium, metrics by Prometheus, the Debian package in a clean chroot
.PHONY: check-reports
check-reports:
	$(Q)tools/setup build check html deb
	$(Q)$(MAKE) $(BUILD)/lazyfault
	$(Q)$(PROVE) $(PROVE_FLAGS) $(wildcard tests/html/*.t tests/metrics/*.t tests/deb/*.t)

## make check-guest    the guest tests alone, on the kernel that KERNEL= names
.PHONY: check-guest
check-guest: $(BUILD)/lazyfault $(GUEST_PROGRAMS)
	$(Q)$(CHECK_KERNELS) $(KERNEL) -- $(GUEST_TESTS)

## make check-kernels  the guest tests on each kernel of the matrix, and those of fault-around
.PHONY: check-kernels
check-kernels:
	$(Q)tools/setup build check vm bench kernel
	$(Q)$(MAKE) $(BUILD)/lazyfault $(GUEST_PROGRAMS)
	$(Q)$(CHECK_KERNELS) $(KERNELS) -- $(GUEST_TESTS)
	$(if $(strip $(AROUND_TESTS)),$(Q)$(MAKE) check-around)

## make check-clang    what the newest clang of this Debian makes, on the oldest kernel and the newest
.PHONY: check-clang
check-clang:
	$(Q)tools/setup build check vm bench clang
	$(Q)clang=$$(ls /usr/bin/clang-[0-9]* | sort -V | tail -1) && $$clang --version | head -1 && \
		$(MAKE) check-kernels BUILD=$(BUILD)/newest-clang CLANG=$$clang KERNELS='6.1 7.3' AROUND_TESTS= \
			GUEST_TESTS='tests/guest/check.t tests/guest/filters.t'

## make check-around   the tests of fault-around, on a kernel of our own that has it
.PHONY: check-around
check-around:
	$(Q)tools/setup build check vm kernel
	$(Q)$(MAKE) $(BUILD)/lazyfault $(GUEST_PROGRAMS)
	$(Q)tools/kernel/build
	$(Q)$(CHECK_KERNELS) fault-around -- $(AROUND_TESTS)

## make check-lockdep  lazyfault under a storm on a kernel with lockdep, which is built for it
.PHONY: check-lockdep
check-lockdep:
	$(Q)tools/setup build check vm kernel
	$(Q)$(MAKE) $(BUILD)/lazyfault $(GUEST_PROGRAMS)
	$(Q)tools/kernel/build --debug
	$(Q)$(CHECK_KERNELS) fault-around-debug -- $(wildcard tests/lockdep/*.t)

## make check-vm       the tests of what fetches kernels, boots guests and installs packages
.PHONY: check-vm
check-vm:
	$(Q)tools/setup build check vm
	$(Q)$(PROVE) $(PROVE_FLAGS) $(wildcard tests/vm/*.t)

## make bench-mmap     what mmap of an array map costs: eager, lazy and with fault-around, in guests
.PHONY: bench-mmap
bench-mmap: $(GUEST)/arraymap-mmap
	$(Q)tools/setup build vm kernel
	$(Q)tools/kernel/build >/dev/null
	$(Q)tools/bench/run-mmap

## make bench-updates  what map-in-map updates cost where they wait normally and expedited, in guests
.PHONY: bench-updates
bench-updates: $(BUILD)/lazyfault $(GUEST)/mapinmap-update
	$(Q)tools/setup build vm
	$(Q)BUILD='$(abspath $(BUILD))' tools/bench/run-updates

BENCH_OVERHEAD := $(BUILD)/lazyfault $(BUILD)/bench/overhead $(BUILD)/bench/empty-pair

## make bench-overhead what tracing adds to a fault, in instructions, beside other tracers, in guests
.PHONY: bench-overhead
bench-overhead:
	$(Q)tools/setup build vm bench
	$(Q)$(MAKE) $(BENCH_OVERHEAD)
	$(Q)BUILD='$(abspath $(BUILD))' tools/bench/run-overhead --around fault-around

## make check-overhead the same with its limits, without the slow part
.PHONY: check-overhead
check-overhead:
	$(Q)tools/setup build vm bench
	$(Q)$(MAKE) $(BENCH_OVERHEAD) $(GUEST_PROGRAMS)
	$(Q)BUILD='$(abspath $(BUILD))' tools/bench/run-overhead --check --around fault-around
	$(Q)BUILD='$(abspath $(BUILD))' $(PROVE) $(PROVE_FLAGS) --exec tools/vm/run-test $(wildcard tests/overhead/*.t)

## make check-readme   runs README's commands as written and compares what they print
.PHONY: check-readme
check-readme:
	$(Q)tools/setup build vm
	$(Q)$(MAKE) $(BUILD)/lazyfault $(GUEST_PROGRAMS)
	$(Q)tools/check-readme

## make demo           installs what is missing, builds, boots a 7.3 kernel and traces a workload
.PHONY: demo
demo:
	$(Q)tools/setup build vm
	$(Q)$(MAKE) $(BUILD)/lazyfault $(GUEST_PROGRAMS)
	$(Q)tools/vm/run --add $(BUILD)/lazyfault:/root/bin/lazyfault --add $(GUEST)/workload:/root/bin/workload \
		-- sh -c 'lazyfault -- workload --quiet --pages 2048 --threads 2 | grep -v "^{"'

.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)

## make install        DESTDIR and prefix (/usr/local) are honoured
.PHONY: install
install: all
	$(INSTALL) -D -m 755 $(BUILD)/lazyfault $(DESTDIR)$(sbindir)/lazyfault
	$(INSTALL) -D -m 644 man/lazyfault.8 $(DESTDIR)$(mandir)/man8/lazyfault.8
	$(INSTALL) -D -m 644 packaging/lazyfault.bash $(DESTDIR)$(bashcompdir)/lazyfault

## make uninstall      removes what install put there, with the same DESTDIR and prefix
.PHONY: uninstall
uninstall:
	rm -f $(DESTDIR)$(sbindir)/lazyfault $(DESTDIR)$(mandir)/man8/lazyfault.8 \
		$(DESTDIR)$(bashcompdir)/lazyfault

## make deb            builds a Debian package of it under build/deb
.PHONY: deb
deb:
	$(Q)tools/setup build deb
	$(Q)VERSION='$(VERSION)' packaging/build-deb $(BUILD)/deb

.SECONDARY:
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/san/*.d $(BUILD)/san/*/*.d)
