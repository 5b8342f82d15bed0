// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/*
 * The gates and lines of all egresses, by port, shared by all programs that open, close or read one.
 */
#ifndef WEIR_LINES_BPF_H
#define WEIR_LINES_BPF_H

#include "weir_abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WEIR_PORTS_MAX);
	__type(key, __u32);
	__type(value, struct weir_line);
} weir_lines SEC(".maps");

#endif
