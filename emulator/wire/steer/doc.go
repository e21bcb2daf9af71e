// Package steer is the part of the wire that lives in the kernel: an XDP
// program on each port of a pair that sends frames to the engine, straight
// to the other port, or nowhere. Programs, maps and attachments are pinned
// under a directory of the BPF file system, so they outlive every process
// and a restart takes them over with the physical link staying up.
package steer

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -type config -type count -type trial program steer.bpf.c -- -O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu
