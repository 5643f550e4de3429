/* SPDX-License-Identifier: MIT */
/*
 * What an emulated machine and the preload in its clients say to each other.
 *
 * A client connects to the machine's socket (SOCK_SEQPACKET), as often as it has threads inside a
 * call at a time. It asks for one thing and then answers the machine's questions until the reply
 * comes: the machine reads and writes the client's memory through it, in the order a kernel would,
 * so a client needs to know nothing about what an ioctl's argument points to. Every message is one
 * struct emu_message with its data behind it; descriptors travel beside it (SCM_RIGHTS).
 *
 * Which process a connection belongs to: its pid (SO_PEERCRED) and the cookie of its hello, which a
 * program draws anew after fork and exec.
 */
#ifndef GP__EMU_PROTOCOL_H
#define GP__EMU_PROTOCOL_H

#include <stdint.h>

#define EMU_PROTOCOL_VERSION 1
/* The environment of a client: the machine's folder, which has the socket and the files below. */
#define EMU_DIR_VARIABLE "GPREEMPT_EMU_DIR"
#define EMU_SOCKET "socket"
/*
 * A tree that stands for /sys as far as the machine has something there, and its list of prefixes,
 * one a line: paths under one of them are looked up in the tree, all others are the host's. A
 * prefix outside /sys is looked up beside it (/proc/modules in proc/modules, the names in /dev/dri
 * in dev/dri). Under a prefix with a ! before it, the tree says what there is, but what is no
 * folder is opened at the machine (EMU_OPEN), whose reply has a descriptor to read and no file; so
 * are counters of a process under /sys/class/kfd/kfd/proc.
 *
 * /dev/kfd, and a render node where the tree has /sys/dev/char/226:MINOR, are opened at the machine
 * in any case.
 */
#define EMU_SYSFS "sys"
#define EMU_SYSFS_PREFIXES "prefixes"
/* The device numbers that clients see, and that the tree should show as well. */
#define EMU_KFD_MAJOR 511
#define EMU_KFD_MINOR 0
#define EMU_DRM_MAJOR 226
#define EMU_RENDER_MINOR 128 /* of the first render node */

#define EMU_DATA_MAX 32768

enum emu_type {
	/* From the client. */
	EMU_HELLO = 1, /* length: protocol version; address: cookie. Reply: 0, -EPROTO */
	EMU_OPEN, /* data: the path; flags: open(2)'s. Reply: a descriptor, file */
	EMU_IOCTL, /* file, request, address: the argument; length: the thread that calls, or 0;
		      flags: EMU_TAKES_DATA. data: what the argument points to, as far as the
		      client has sent it along, which spares a question */
	EMU_MMAP, /* file, address, length, offset; flags, prot. Reply: a descriptor, offset, flags,
		     prot. Without a file, request is the number of a dmabuf's descriptor */
	EMU_ANSWER, /* to the question; result or -errno, data, a descriptor */
	EMU_CANCEL, /* a signal came: end the wait, and reply. One that comes when the reply is
		       under way is ignored */
	/* From the machine. */
	EMU_REPLY, /* result or -errno. To an ioctl that takes data: address, data to write there */
	EMU_ASK, /* request: enum emu_question */
};

/* What a machine asks the client that is in a call. */
enum emu_question {
	EMU_READ = 1, /* length bytes at address. Answer: data, or -EFAULT */
	EMU_WRITE, /* data to address. Answer: 0 or -EFAULT */
	EMU_GET_FILE, /* address: a descriptor's number. Answer: file, or -EBADF where it is none of
			 ours */
	EMU_GET_FD, /* address: a descriptor's number. Answer: a duplicate beside it, or -EBADF */
	EMU_PUT_FD, /* beside it: a descriptor; flags: O_CLOEXEC. Answer: its number */
	/*
	 * Memory of the program at address, length bytes, page-aligned, becomes memory that the
	 * machine can map as well; what it holds stays. flags: 1 where a GPU will write to it.
	 * Answer: descriptors and pieces (struct emu_piece) in order from its start, or -EFAULT; if
	 * they cover a part only, the rest is asked for next. A descriptor must be of a memfd that
	 * cannot shrink, or that can be sealed against it. EMU_UNSHARE undoes it: a page that was
	 * shared as often as that was undone is memory of the program's own again.
	 */
	EMU_SHARE,
	EMU_UNSHARE,
	/* Doorbells are mapped at address: answer with a userfaultfd that has them registered for
	 * write protection, or -errno where there is none to be had. */
	EMU_WATCH,
};

struct emu_message {
	uint32_t type; /* enum emu_type */
	uint32_t request; /* an ioctl's number, a question */
	int64_t result;
	uint64_t file; /* id of an open file; 0: none */
	uint64_t address, length, offset;
	uint32_t flags, prot;
	uint32_t data_len;
	uint32_t nr_fds; /* that come with it */
};
_Static_assert(sizeof(struct emu_message) == 64, "the same on both sides");

/* A piece of shared memory: so many bytes from this offset of the n-th descriptor of the message.
 */
struct emu_piece {
	uint64_t address, length, offset;
	uint32_t fd, pad;
};

#define EMU_FDS_MAX 16

/* The client writes the argument of its ioctl back when the reply brings it, up to so many bytes.
 */
#define EMU_TAKES_DATA 1
#define EMU_ARGUMENT_MAX 512

/* A dmabuf that has no memory of its own is a memfd with exactly these seals (fcntl.h). */
#define EMU_TOKEN_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

#endif
