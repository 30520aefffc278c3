# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the fuzz targets, libFuzzer's with both sanitizers, and runs them:
# included by the Makefile.

FUZZ := $(BUILD)/fuzz
FUZZ_SECONDS ?= 20
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer

# What reads what others wrote, and all that prints it; nothing that needs a kernel.
FUZZ_SOURCES := balance capture dist errors events foreign held html html_draw json kernel_btf model openmetrics \
	options output packed place printable rcu replace report rows similar sink sinks text text_draw text_updates \
	update_sums update_table update_verdict verdict vma_table

$(FUZZ)/src/%.o: src/%.c
	$(say) CC-FUZZ $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP -c $< -o $@

$(FUZZ)/%.o: tests/fuzz/%.c
	$(say) CC-FUZZ $@
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP -c $< -o $@

# A library, as a target may put a part of its own in the place of one.
$(FUZZ)/lazyfault.a: $(FUZZ_SOURCES:%=$(FUZZ)/src/%.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(FUZZ)/fuzz_%: $(FUZZ)/fuzz_%.o $(FUZZ)/strict.o $(FUZZ)/lazyfault.a
	$(say) LINK $@
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer $(filter %.o %.a,$^) -o $@ $(LIB_LIBS)

.PHONY: fuzz-targets
fuzz-targets: $(FUZZ_TARGETS:%=$(FUZZ)/fuzz_%)

.PHONY: check-fuzz
check-fuzz:
	$(Q)tools/setup build check
	$(Q)$(MAKE) -j"$$(nproc)" fuzz-targets
	$(Q)FUZZ='$(FUZZ)' FUZZ_SECONDS='$(FUZZ_SECONDS)' $(PROVE) $(PROVE_FLAGS) tests/fuzz/fuzz.t

-include $(wildcard $(FUZZ)/*.d $(FUZZ)/src/*.d)
