/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What on this machine decides how long a grace period takes. */
#ifndef LAZYFAULT_RCU_H
#define LAZYFAULT_RCU_H

#include "model.h"

/* Reads the knobs and whether the kernel is PREEMPT_RT; the rest stays as it is. */
void rcu_look(struct rcu_state *rcu);
/* The same with other files under `root` in place of /, and uname's version: for tests. */
void rcu_look_under(struct rcu_state *rcu, const char *root, const char *version);

/*
 * A knob that makes this kernel wait in another way than its code asks for:
 * "rcu_normal" or "rcu_expedited"; NULL: none does.
 */
const char *rcu_overruling_knob(const struct rcu_state *rcu);

#endif
