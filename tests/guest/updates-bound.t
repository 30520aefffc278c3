# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of updates-lost.t where no LSM runs BPF programs: the loss is a bound, never too low.
# vm: smp=2 memory=1024 timeout=900 append="lsm=lockdown,capability"
. ./updates-lost.t
