/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hashes kernel pointers, on which the verifier allows no arithmetic but the
 * difference of two.
 */
#ifndef LAZYFAULT_HASH_BPF_H
#define LAZYFAULT_HASH_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

static __u64 anchor __attribute__((aligned(64)));

/*
 * Spreads a pointer's bits. The verifier allows no arithmetic on a pointer
 * but the difference of two, which is a plain number: taken from a fixed
 * place it is as good as the address.
 */
static __always_inline __u64 mix(void *pointer)
{
	__u64 number = (__u64)pointer;

	asm volatile("%0 -= %1" : "+r"(number) : "r"(&anchor));
	return (number >> 4) * 0x9e3779b97f4a7c15ULL;
}

/* The fixed place's own address: a pointer that was stored is a number when it is loaded. */
static __u64 anchor_number;

static __always_inline __u64 number_of_anchor(void)
{
	*(volatile __u64 *)&anchor_number = (__u64)&anchor;
	return *(volatile __u64 *)&anchor_number;
}

/* The same as mix(), of an address that is a number already. */
static __always_inline __u64 mix_number(__u64 number)
{
	return ((number - number_of_anchor()) >> 4) * 0x9e3779b97f4a7c15ULL;
}

/* A pointer's address as a number, which is all that a function that is not static may take. */
static __always_inline __u64 number_of(void *pointer)
{
	__u64 number = (__u64)pointer;

	asm volatile("%0 -= %1" : "+r"(number) : "r"(&anchor));
	return number + number_of_anchor();
}

/*
 * A place of a pointer in a table of 2^bits elements in .bss, cheaper: 32 bits
 * are mixed, of which the upper ones are spread best, and the fixed place is
 * the table. The barriers keep the compiler from computing it once more at each
 * use.
 */
static __always_inline void *place_in(void *table, void *pointer, __u32 bits, __u32 bytes)
{
	__u64 number = (__u64)pointer;

	asm volatile("" : "+r"(table));
	asm volatile("%0 -= %1" : "+r"(number) : "r"(table));
	table += (__u64)((__u32)number * 0x9e3779b1U >> (32 - bits)) * bytes;
	asm volatile("" : "+r"(table));
	return table;
}

#endif
