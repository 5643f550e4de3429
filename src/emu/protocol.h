/* SPDX-License-Identifier: MIT */
/*
 * The protocol between an emulated machine and the preload in its clients.
 *
 * A client connects to the machine's socket (SOCK_SEQPACKET), with a connection for each thread
 * that is in a call. It sends one request and then answers the machine's requests until the reply
 * comes: the machine reads and writes the client's memory through it, in the order a kernel would,
 * so a client does not need to know what an ioctl's argument points to. Every message is a struct
 * emu_message followed by its data; descriptors accompany it (SCM_RIGHTS).
 *
 * A connection belongs to the process with its pid (SO_PEERCRED) and the cookie of its hello, which
 * a program draws anew after fork and exec.
 */
#ifndef GP__EMU_PROTOCOL_H
#define GP__EMU_PROTOCOL_H

#include <stdint.h>

#include "base/emulated.h"

#define EMU_PROTOCOL_VERSION 1
/* The environment of a client: the machine's folder, which has the socket and the files below. */
#define EMU_DIR_VARIABLE GP__EMULATED_VARIABLE
#define EMU_SOCKET "socket"
/*
 * A tree that represents the machine's part of /sys, and its list of prefixes, one per line: paths
 * under one of them are looked up in the tree, all others are the host's. A prefix outside /sys is
 * looked up beside it (/proc/modules in proc/modules, the names in /dev/dri in dev/dri). Under a
 * prefix with a ! before it, the tree has the names, but files are opened through the machine
 * (EMU_OPEN), whose reply has a descriptor to read and no file; so are counters of a process under
 * /sys/class/kfd/kfd/proc.
 *
 * /dev/kfd, and a render node if the tree has /sys/dev/char/226:MINOR, are always opened through
 * the machine.
 */
#define EMU_SYSFS "sys"
#define EMU_SYSFS_PREFIXES "prefixes"
/* The device numbers that clients see, and that the tree shows as well. */
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
		      flags: EMU_TAKES_DATA, EMU_SERVES; offset: that of the reply to the thread's
		      last call, or the greatest one if this is its first; 0: none. data: what the
		      argument points to, as far as the client has sent it along, which spares a
		      question */
	EMU_MMAP, /* file, address, length, offset; flags, prot. Reply: a descriptor, offset, flags,
		     prot. Without a file, request is the number of a dmabuf's descriptor */
	EMU_ANSWER, /* to the question; result or -errno, data, a descriptor */
	EMU_CANCEL, /* a signal came: end the wait, and reply. One that comes when the reply is
		       under way is ignored */
	/* From the machine. */
	EMU_REPLY, /* result or -errno. To an ioctl: offset: how often events of the process were
		      set so far; to one that takes data: address, data to write there */
	EMU_ASK, /* request: enum emu_question */
	/*
	 * From the client: a thread that answers EMU_SHARE at any time, so that memory can be
	 * converted when it is first needed. address: its cookie, by which the machine sees whether
	 * it may read and write the program's memory. The reply comes when it may not, or no longer
	 * serves.
	 */
	EMU_SERVE,
};

/* Requests of a machine to the client that is in a call. */
enum emu_question {
	EMU_READ = 1, /* length bytes at address. Answer: data, or -EFAULT */
	EMU_WRITE, /* data to address. Answer: 0 or -EFAULT */
	EMU_GET_FILE, /* address: a descriptor's number. Answer: file, or -EBADF where it is none of
			 ours */
	EMU_GET_FD, /* address: a descriptor's number. Answer: a duplicate beside it, or -EBADF */
	EMU_PUT_FD, /* beside it: a descriptor; flags: O_CLOEXEC. Answer: its number */
	/*
	 * Converts memory of the program at address, length bytes, page-aligned, to memory that the
	 * machine can map as well; its content stays. flags: 1 if a GPU will write to it. Answer:
	 * descriptors and pieces (struct emu_piece) in order from its start, or -EFAULT; if they
	 * cover only a part, the rest is requested next. A descriptor must be of a memfd that
	 * cannot shrink, or that can be sealed against it. EMU_UNSHARE undoes it: a page that was
	 * unshared as often as it was shared is private memory of the program again.
	 */
	EMU_SHARE,
	EMU_UNSHARE,
	/*
	 * Doorbells are mapped at address: answer with a userfaultfd that has them registered for
	 * write protection, or -errno where that is not possible.
	 */
	EMU_WATCH,
	/*
	 * Whether the program has access to length bytes of memory at address, flags as for
	 * EMU_SHARE. Answer: 1 if all of it is private memory that is not shared yet, else 0; or
	 * -EFAULT.
	 */
	EMU_CHECK,
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

/*
 * A piece of shared memory: so many bytes from this offset of the n-th descriptor of the message.
 */
struct emu_piece {
	uint64_t address, length, offset;
	uint32_t fd, pad;
};

#define EMU_FDS_MAX 16

/* The client writes the argument of its ioctl back from the reply, up to so many bytes. */
#define EMU_TAKES_DATA 1
/* The program has, or will have at once, a thread that serves (EMU_SERVE). */
#define EMU_SERVES 2
#define EMU_ARGUMENT_MAX 512
/* Smaller memory is converted when it is registered. */
#define EMU_DEFERRED_MIN (1u << 20)

/* A dmabuf that has no memory of its own is a memfd with exactly these seals (fcntl.h). */
#define EMU_TOKEN_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

#endif
