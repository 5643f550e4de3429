// SPDX-License-Identifier: MIT
/*
 * Buffers, and where GPUs see them.
 *
 * Memory (struct emu_shared) is a memfd, part of one (arena.h), or what a client shares with us. A
 * memfd is mapped here when it is first needed. A buffer is memory at an address, and one client's
 * buffer may be another's too.
 * A client has the descriptors as well. It can write what it likes where it likes, but it cannot
 * make memory go away under our feet: ours is sealed, as its own is if it can be, and what is cut
 * short all the same is replaced (cut.h).
 *
 * The process's lock guards its buffers; a space's lock what is mapped to a GPU, as its waves and
 * engines look for pages there at any time.
 */
#include "emu/kfd/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "emu/kfd/arena.h"
#include "emu/kfd/buffer.h"
#include "emu/kfd/call.h"
#include "emu/kfd/cut.h"
#include "emu/kfd/doorbell.h"
#include "emu/kfd/guest.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/process.h"
#include "emu/kfd/report.h"
#include "emu/kfd/topology.h"
#include "emu/protocol.h"
#include "gpreempt/uapi/gpreempt_kfd.h"

#define BUFFERS_MAX (1 << 20) /* of a process on a GPU */
#define REMEMBERED_MAX 1024 /* exports without a buffer */
#define WATCHES_MAX 16 /* places where a program has its doorbells */
#define PIECES_MAX 4096 /* of memory that a client shares */
#define MMAP_GPU_SHIFT 46
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((1ULL << ADDRESS_BITS) - 1)
#define HANDLE_ID_MASK 0xffffffffu
/* What is left of VRAM is told in such units. */
#define VRAM_UNIT (2ULL << 20)
#define MMIO_BYTES 4096

static uint64_t page_align(uint64_t n)
{
	return (n + GFX9_PAGE - 1) & ~(GFX9_PAGE - 1);
}

/*
 * Memory
 */

/* Counts @bytes in *@used, unless that makes more than @limit. */
static bool account(_Atomic uint64_t *used, uint64_t bytes, uint64_t limit)
{
	uint64_t old = atomic_load(used);

	do {
		if (old > limit || bytes > limit - old)
			return false;
	} while (!atomic_compare_exchange_weak(used, &old, old + bytes));
	return true;
}

static struct emu_shared *new_memory(struct emu_machine *m, uint32_t node, uint32_t flags,
				     uint64_t bytes)
{
	bool vram = flags & GP_KFD_MEM_VRAM, gtt = flags & (GP_KFD_MEM_GTT | GP_KFD_MEM_USERPTR);
	struct emu_shared *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct emu_shared){ .m = m,
				  .refs = 1,
				  .fd = -1,
				  .token_fd = -1,
				  .bytes = bytes,
				  .flags = flags,
				  .node = node };
	if (vram || gtt) {
		s->account = vram ? &m->node[node]->vram_used : &m->gtt_used;
		if (!account(s->account, bytes, vram ? m->config.vram_bytes : m->gtt_bytes)) {
			free(s);
			return NULL;
		}
		s->counted = bytes;
	}
	return s;
}

/* Gives back what the memory takes; the description of it stays. Memory of an arena needs the
 * shared_lock. */
static void let_go(struct emu_shared *s)
{
	uint8_t *host = atomic_load(&s->host);

	if (s->token_fd >= 0)
		close(s->token_fd);
	if (s->arena) {
		emu_arena_give_back(s->arena, s->offset, s->bytes);
	} else {
		if (host && s->flags & GP_KFD_MEM_USERPTR)
			emu_cut_remove(host, s->bytes);
		if (host)
			munmap(host, s->bytes);
		if (s->fd >= 0) {
			close(s->fd);
			atomic_fetch_sub(&s->m->nr_memory_files, 1);
		}
	}
	if (s->account)
		atomic_fetch_sub(s->account, s->counted);
	atomic_store(&s->host, NULL);
	s->fd = s->token_fd = -1;
}

static void unlink_exported(struct emu_shared *s)
{
	struct emu_shared **link = &s->m->shared;

	while (*link != s)
		link = &(*link)->next;
	*link = s->next;
}

/* Nobody says when the last descriptor of memory is closed: only the latest ones are remembered. */
static void limit_remembered(struct emu_machine *m)
{
	struct emu_shared **link = &m->shared, **oldest = NULL, *s;
	unsigned int nr = 0;

	for (; *link; link = &(*link)->next) {
		if ((*link)->refs)
			continue;
		nr++;
		oldest = link;
	}
	if (nr <= REMEMBERED_MAX)
		return;
	s = *oldest;
	*oldest = s->next;
	free(s);
}

/* Memory of an arena is not remembered: its descriptor outside the machine keeps no bytes. */
void emu_shared_put(struct emu_shared *s)
{
	struct emu_machine *m = s->m;
	bool last, remembered = false;

	pthread_mutex_lock(&m->shared_lock);
	last = !--s->refs;
	if (last && s->arena) {
		if (s->exported)
			unlink_exported(s);
		let_go(s);
	} else if (last && s->exported) {
		remembered = true;
		let_go(s);
		limit_remembered(m);
	}
	pthread_mutex_unlock(&m->shared_lock);
	if (!last || remembered)
		return;
	if (!s->arena)
		let_go(s);
	free(s);
}

void emu_shared_forget(struct emu_machine *m)
{
	while (m->shared) {
		struct emu_shared *s = m->shared;

		m->shared = s->next;
		free(s);
	}
}

uint8_t *emu_shared_host(struct emu_shared *s)
{
	uint8_t *host = atomic_load_explicit(&s->host, memory_order_acquire);

	if (host)
		return host;
	pthread_mutex_lock(&s->m->shared_lock);
	host = atomic_load(&s->host);
	if (!host) {
		void *at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
				s->fd, 0);

		if (at != MAP_FAILED) {
			host = at;
			atomic_store_explicit(&s->host, host, memory_order_release);
		}
	}
	pthread_mutex_unlock(&s->m->shared_lock);
	return host;
}

/* A file of its own for the memory; false: there is none to be had. @fd may be -errno. */
static bool use_file(struct emu_shared *s, int fd)
{
	if (fd < 0)
		return false;
	s->fd = fd;
	atomic_fetch_add(&s->m->nr_memory_files, 1);
	return true;
}

static bool use_arena(struct emu_process *p, struct emu_shared *s)
{
	struct emu_machine *m = s->m;

	pthread_mutex_lock(&m->shared_lock);
	s->arena = emu_arena_take(&p->memory.arena, s->bytes, &s->offset);
	pthread_mutex_unlock(&m->shared_lock);
	if (!s->arena)
		return false;
	s->fd = s->arena->fd;
	atomic_store(&s->host, s->arena->host + s->offset);
	return true;
}

/*
 * The memory of a GTT or VRAM buffer. A file of its own is what a program can hand to others as it
 * is, so the first buffers have one.
 */
static bool use_new(struct emu_process *p, struct emu_shared *s, const char *name)
{
	if (atomic_load(&s->m->nr_memory_files) >= s->m->max_memory_files && use_arena(p, s))
		return true;
	return use_file(s, emu_memfd(name, s->bytes));
}

/* A memfd that cannot become smaller. */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK || !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
}

/*
 * A piece of a client's memory is of a file that has it, and which may not be cut short, or that is
 * seen to (cut.h). Huge pages can be missing where there seem to be some.
 */
static int check_piece(int fd, const struct emu_piece *piece, bool *can_be_cut)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fs.f_type == HUGETLBFS_MAGIC)
		return -EPERM;
	*can_be_cut = !is_sealed(fd);
	/* Its size is looked at when it cannot become less, if it is so. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    piece->offset + piece->length > page_align((uint64_t)st.st_size))
		return -EFAULT;
	return 0;
}

/* Puts the pieces one behind the other at @host. */
static int map_pieces(uint8_t *host, const struct emu_piece *piece, const int *fds, int n,
		      bool write)
{
	int prot = write ? PROT_READ | PROT_WRITE : PROT_READ;

	for (int i = 0; i < n; i++) {
		bool can_be_cut;
		int err = check_piece(fds[i], &piece[i], &can_be_cut);
		void *at;

		if (!err && can_be_cut)
			err = emu_cut_add(host, piece[i].length);
		if (err)
			return err == -ENOSPC ? -ENOMEM : err;
		at = mmap(host, piece[i].length, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
			  fds[i], (off_t)piece[i].offset);
		if (at == MAP_FAILED)
			return errno == ENOMEM ? -ENOMEM : -EFAULT;
		host += piece[i].length;
	}
	return 0;
}

/* The client's memory at @va, as memory of ours. */
static int share_user(struct emu_call *call, struct emu_shared *s, uint64_t va, bool write)
{
	struct emu_piece *piece = malloc(PIECES_MAX * sizeof(*piece));
	int *fds = malloc(PIECES_MAX * sizeof(*fds));
	void *host =
		mmap(NULL, s->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int n = -ENOMEM, err;

	if (piece && fds && host != MAP_FAILED)
		n = emu_call_share(call, va, s->bytes, write, piece, fds, PIECES_MAX);
	err = n < 0 ? n : map_pieces(host, piece, fds, n, write);
	if (err && n >= 0)
		emu_call_unshare(call, va, s->bytes);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	if (!err)
		atomic_store(&s->host, host);
	else if (host != MAP_FAILED) {
		emu_cut_remove(host, s->bytes);
		munmap(host, s->bytes);
	}
	free(piece);
	free(fds);
	return err == -E2BIG ? -ENOMEM : err;
}

/*
 * What is mapped to a GPU
 */

/* Addresses have 48 bits, of which the highest is repeated above them, or is not. False: neither.
 */
static bool strip(uint64_t *va)
{
	uint64_t high = *va >> ADDRESS_BITS;

	if (high && (high != 0xffff || !(*va >> (ADDRESS_BITS - 1) & 1)))
		return false;
	*va &= ADDRESS_MASK;
	return true;
}

/* The first range that ends behind @va, or their number. */
static uint32_t locate(const struct emu_space *s, uint64_t va)
{
	uint32_t low = 0, high = s->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->range[middle].end > va)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Where @va is, and how many bytes from there lie together; NULL: nowhere. The space's lock is
 * held. */
static uint8_t *look_up(struct emu_space *s, uint64_t va, bool write, uint64_t *len)
{
	const struct emu_buffer *b;
	uint64_t offset, left;
	uint8_t *host;
	uint32_t i;

	if (!strip(&va))
		return NULL;
	i = locate(s, va);
	if (i == s->nr || s->range[i].start > va)
		return NULL;
	b = s->range[i].buffer;
	if (write && !(b->flags & GP_KFD_MEM_WRITABLE))
		return NULL;
	host = emu_shared_host(b->memory);
	if (!host)
		return NULL;
	offset = (va - b->va) % b->memory->bytes;
	left = b->memory->bytes - offset;
	if (left > s->range[i].end - va)
		left = s->range[i].end - va;
	if (*len > left)
		*len = left;
	return host + offset;
}

/* For waves, by whichever thread they run on. */
static void *find_page(void *ctx, uint64_t va, bool write)
{
	struct emu_space *s = ctx;
	uint64_t len = GFX9_PAGE;
	void *host;

	pthread_rwlock_rdlock(&s->lock);
	host = look_up(s, va, write, &len);
	pthread_rwlock_unlock(&s->lock);
	return len == GFX9_PAGE ? host : NULL;
}

void *emu_memory_at(struct emu_process *p, uint32_t node, uint64_t va, bool write, size_t *len)
{
	struct emu_space *s = &p->memory.space[node];
	uint64_t n = *len;
	void *host;

	pthread_rwlock_rdlock(&s->lock);
	host = look_up(s, va, write, &n);
	pthread_rwlock_unlock(&s->lock);
	*len = host ? n : 0;
	return host;
}

/* Copies with the space's lock, so that nothing goes away meanwhile. */
static bool copy(struct emu_process *p, uint32_t node, uint64_t va, uint8_t *to,
		 const uint8_t *from, size_t len, uint64_t *bad)
{
	struct emu_space *s = &p->memory.space[node];
	bool good = true;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t done = 0; done < len && good;) {
		uint64_t n = len - done;
		uint8_t *host = look_up(s, va + done, from != NULL, &n);

		good = host != NULL;
		if (!good)
			*bad = va + done;
		else if (from)
			emu_guest_copy(host, from + done, n);
		else
			emu_guest_copy(to + done, host, n);
		done += n;
	}
	pthread_rwlock_unlock(&s->lock);
	return good;
}

bool emu_memory_read(struct emu_process *p, uint32_t node, uint64_t va, void *to, size_t len,
		     uint64_t *bad)
{
	return copy(p, node, va, to, NULL, len, bad);
}

bool emu_memory_write(struct emu_process *p, uint32_t node, uint64_t va, const void *from,
		      size_t len, uint64_t *bad)
{
	return copy(p, node, va, NULL, from, len, bad);
}

/* -EINVAL: something is there, or nothing can be. */
static int insert(struct emu_space *s, struct emu_buffer *b)
{
	uint64_t start = b->va, end = b->va + b->size;
	int err = 0;
	uint32_t i;

	if (start & (GFX9_PAGE - 1) || end <= start || end > ADDRESS_MASK)
		return -EINVAL;
	pthread_rwlock_wrlock(&s->lock);
	i = locate(s, start);
	if (i < s->nr && s->range[i].start < end) {
		err = -EINVAL;
	} else if (s->nr == s->room) {
		uint32_t room = s->room ? 2 * s->room : 64;
		struct emu_range *more = realloc(s->range, room * sizeof(*more));

		if (more) {
			s->range = more;
			s->room = room;
		} else {
			err = -ENOMEM;
		}
	}
	if (!err) {
		memmove(&s->range[i + 1], &s->range[i], (s->nr - i) * sizeof(*s->range));
		s->range[i] = (struct emu_range){ start, end, b };
		s->nr++;
	}
	pthread_rwlock_unlock(&s->lock);
	return err;
}

static void take_out(struct emu_space *s, const struct emu_buffer *b)
{
	uint32_t i;

	pthread_rwlock_wrlock(&s->lock);
	i = locate(s, b->va);
	if (i < s->nr && s->range[i].buffer == b) {
		s->nr--;
		memmove(&s->range[i], &s->range[i + 1], (s->nr - i) * sizeof(*s->range));
	}
	pthread_rwlock_unlock(&s->lock);
}

/*
 * Buffers
 */

int emu_memory_init(struct emu_process *p)
{
	struct emu_memory *mem = &p->memory;

	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		pthread_rwlock_init(&mem->space[i].lock, NULL);
		mem->vm[i].page = find_page;
		mem->vm[i].ctx = &mem->space[i];
		gfx9_code_init(&mem->code[i], p->m->config.target);
		mem->code[i].approximate = emu_report_approximate;
		mem->code[i].ctx = p;
	}
	return 0;
}

static void free_buffer(struct emu_buffer *b)
{
	emu_shared_put(b->memory);
	free(b);
}

void emu_memory_destroy(struct emu_process *p)
{
	struct emu_memory *mem = &p->memory;

	while (mem->own) {
		struct emu_buffer *b = mem->own;

		mem->own = b->next;
		free_buffer(b);
	}
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		for (uint32_t id = 0; id < mem->buffers[i].room; id++) {
			if (mem->buffers[i].entry[id])
				free_buffer(mem->buffers[i].entry[id]);
		}
		emu_table_destroy(&mem->buffers[i]);
		free(mem->space[i].range);
		pthread_rwlock_destroy(&mem->space[i].lock);
		gfx9_code_destroy(&mem->code[i]);
	}
	pthread_mutex_lock(&p->m->shared_lock);
	emu_arena_put(mem->arena);
	pthread_mutex_unlock(&p->m->shared_lock);
}

struct emu_buffer *emu_memory_install(struct emu_process *p, uint32_t node, uint64_t va,
				      uint64_t size, bool write, void **host)
{
	struct emu_buffer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	*b = (struct emu_buffer){ .va = va,
				  .size = size,
				  .node = node,
				  .flags = GP_KFD_MEM_GTT | (write ? GP_KFD_MEM_WRITABLE : 0),
				  .memory = new_memory(p->m, node, GP_KFD_MEM_GTT, size) };
	if (!b->memory)
		goto free_it;
	if (!use_file(b->memory, emu_memfd("kernel", size)))
		goto put_it;
	*host = emu_shared_host(b->memory);
	if (!*host || insert(&p->memory.space[node], b))
		goto put_it;
	b->next = p->memory.own;
	p->memory.own = b;
	return b;

put_it:
	emu_shared_put(b->memory);
free_it:
	free(b);
	return NULL;
}

struct emu_buffer *emu_buffer_find(struct emu_process *p, uint64_t handle)
{
	uint32_t node;

	if (!emu_process_node(p, (uint32_t)(handle >> 32), &node))
		return NULL;
	return emu_table_find(&p->memory.buffers[node], handle & HANDLE_ID_MASK);
}

int emu_memory_hold(struct emu_process *p, uint64_t handle, void **host, uint64_t *size)
{
	struct emu_buffer *b = emu_buffer_find(p, handle);

	if (!b || !(b->flags & GP_KFD_MEM_GTT) || b->memory->bytes < *size)
		return -EINVAL;
	*host = emu_shared_host(b->memory);
	if (!*host)
		return -ENOMEM;
	*size = b->memory->bytes;
	b->held = true;
	return 0;
}

/*
 * ALLOC and FREE
 */

/* Doorbells and registers are there once for a process, and this is another descriptor of them. */
static int open_special(struct emu_process *p, uint32_t node, uint32_t flags)
{
	int fd;

	if (flags & GP_KFD_MEM_DOORBELL)
		fd = emu_process_doorbells(p, node);
	else
		fd = emu_process_mmio(p, node);
	return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

static int check_alloc(const struct gp_kfd_alloc_memory *args)
{
	uint32_t flags = args->flags;

	if (flags & (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT))
		return 0;
	if (flags & GP_KFD_MEM_USERPTR)
		return args->mmap_offset && !(args->mmap_offset & (GFX9_PAGE - 1)) ? 0 : -EINVAL;
	if (flags & GP_KFD_MEM_DOORBELL)
		return args->size == emu_doorbell_bytes() ? 0 : -EINVAL;
	if (flags & GP_KFD_MEM_MMIO_REMAP)
		return args->size == MMIO_BYTES ? 0 : -EINVAL;
	return -EINVAL;
}

/* The memory of a new buffer. A client's is asked for later, without a lock. */
static int make_memory(struct emu_process *p, struct emu_buffer *b, uint64_t size)
{
	uint64_t bytes = page_align(b->flags & GP_KFD_MEM_AQL_QUEUE_MEM ? size / 2 : size);
	struct emu_shared *s;

	if (!bytes || size > ADDRESS_MASK)
		return -ENOMEM;
	s = new_memory(p->m, b->node, b->flags, bytes);
	if (!s)
		return -ENOMEM;
	b->memory = s;
	b->size = b->flags & GP_KFD_MEM_AQL_QUEUE_MEM ? 2 * bytes : bytes;
	if (b->flags & GP_KFD_MEM_USERPTR)
		return 0;
	if (b->flags & (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT)) {
		if (use_new(p, s, b->flags & GP_KFD_MEM_VRAM ? "vram" : "gtt"))
			return 0;
	} else if (use_file(s, open_special(p, b->node, b->flags))) {
		return 0;
	}
	emu_shared_put(s);
	return -ENOMEM;
}

/* Only one of the kinds counts, in this order. */
static uint32_t one_kind(uint32_t flags)
{
	static const uint32_t kinds[] = { GP_KFD_MEM_VRAM, GP_KFD_MEM_GTT, GP_KFD_MEM_USERPTR,
					  GP_KFD_MEM_DOORBELL, GP_KFD_MEM_MMIO_REMAP };
	uint32_t all = 0, kind = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		all |= kinds[i];
		if (!kind)
			kind = flags & kinds[i];
	}
	return (flags & ~all) | kind;
}

int emu_buffer_publish(struct emu_process *p, struct emu_buffer *b)
{
	int64_t id;

	if (p->memory.nr_buffers >= p->m->max_buffers)
		return -ENOMEM;
	id = emu_table_add(&p->memory.buffers[b->node], b, BUFFERS_MAX);
	if (id < 0)
		return -EFAULT;
	b->id = (uint32_t)id;
	p->memory.nr_buffers++;
	if (b->flags & GP_KFD_MEM_VRAM && !b->imported) {
		atomic_fetch_add(&p->node[b->node].vram_used, b->memory->bytes);
		emu_topology_set_vram(p, b->node);
	}
	return 0;
}

static uint64_t mmap_offset(const struct emu_buffer *b, const struct gp_kfd_alloc_memory *args)
{
	if (b->flags & (GP_KFD_MEM_VRAM | GP_KFD_MEM_GTT))
		return (uint64_t)(b->id + 1) << EMU_MMAP_SHIFT;
	if (b->flags & GP_KFD_MEM_MMIO_REMAP)
		return (uint64_t)args->gpu_id << MMAP_GPU_SHIFT;
	return args->mmap_offset;
}

static int prepare(struct emu_process *p, const struct gp_kfd_alloc_memory *args,
		   struct emu_buffer *b)
{
	int err = emu_process_bind(p, args->gpu_id, &b->node);

	if (!err)
		err = check_alloc(args);
	if (err)
		return err;
	b->va = args->va_addr;
	b->flags = one_kind(args->flags);
	return make_memory(p, b, args->size);
}

int emu_alloc_memory(struct emu_call *call, struct gp_kfd_alloc_memory *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer *b;
	int err;

	if (!args->size)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	pthread_mutex_lock(&p->lock);
	err = prepare(p, args, b);
	pthread_mutex_unlock(&p->lock);
	if (err) {
		free(b);
		return err;
	}
	if (b->flags & GP_KFD_MEM_USERPTR) {
		b->user_va = args->mmap_offset;
		err = share_user(call, b->memory, b->user_va, b->flags & GP_KFD_MEM_WRITABLE);
	}
	if (!err) {
		pthread_mutex_lock(&p->lock);
		err = emu_buffer_publish(p, b);
		pthread_mutex_unlock(&p->lock);
		if (err && b->flags & GP_KFD_MEM_USERPTR)
			emu_call_unshare(call, b->user_va, b->memory->bytes);
	}
	if (err) {
		free_buffer(b);
		return err;
	}
	args->handle = (uint64_t)args->gpu_id << 32 | b->id;
	args->mmap_offset = mmap_offset(b, args);
	return 0;
}

/* Takes the buffer away from the process, which it must not be mapped in. */
static int withdraw(struct emu_process *p, uint64_t handle, struct emu_buffer **buffer)
{
	struct emu_buffer *b = emu_buffer_find(p, handle);

	if (!b)
		return -EINVAL;
	if (b->held)
		return -EPERM;
	if (b->mapped)
		return -EBUSY;
	emu_table_remove(&p->memory.buffers[b->node], b->id);
	p->memory.nr_buffers--;
	if (b->flags & GP_KFD_MEM_VRAM && !b->imported) {
		atomic_fetch_sub(&p->node[b->node].vram_used, b->memory->bytes);
		emu_topology_set_vram(p, b->node);
	}
	*buffer = b;
	return 0;
}

int emu_free_memory(struct emu_call *call, struct gp_kfd_free_memory *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer *b;
	int err;

	pthread_mutex_lock(&p->lock);
	err = withdraw(p, args->handle, &b);
	pthread_mutex_unlock(&p->lock);
	if (err)
		return err;
	/* That the program has the memory to itself again is its own business; it can fail. */
	if (b->flags & GP_KFD_MEM_USERPTR &&
	    emu_call_unshare(call, b->user_va, b->memory->bytes) == -ECONNRESET)
		err = -ECONNRESET;
	free_buffer(b);
	return err;
}

/*
 * MAP and UNMAP
 */

/* The GPUs that a request names; the caller frees them. */
static int read_devices(struct emu_call *call, const struct gp_kfd_map_memory *args, uint32_t **ids)
{
	int err;

	if (!args->n_devices || args->n_success > args->n_devices)
		return -EINVAL;
	/* There are no more than 8, but a program may name one twice. */
	if (args->n_devices > BUFFERS_MAX)
		return -ENOMEM;
	*ids = malloc(args->n_devices * sizeof(**ids));
	if (!*ids)
		return -ENOMEM;
	err = emu_copy_from_user(call, *ids, args->device_ids_array_ptr,
				 args->n_devices * sizeof(**ids));
	if (err)
		free(*ids);
	return err;
}

static int map_one(struct emu_process *p, struct emu_buffer *b, uint32_t gpu_id)
{
	uint32_t node;
	int err = emu_process_bind(p, gpu_id, &node);

	if (err || b->mapped >> node & 1)
		return err;
	err = insert(&p->memory.space[node], b);
	if (!err)
		b->mapped |= 1u << node;
	return err;
}

static int map_all(struct emu_process *p, struct gp_kfd_map_memory *args, const uint32_t *ids,
		   struct emu_buffer *mapped)
{
	struct emu_buffer *b;
	uint32_t node;
	int err = emu_process_bind(p, (uint32_t)(args->handle >> 32), &node);

	if (err)
		return err;
	b = emu_buffer_find(p, args->handle);
	if (!b)
		return -ENOMEM;
	for (uint32_t i = args->n_success; i < args->n_devices && !err; i++) {
		err = map_one(p, b, ids[i]);
		if (!err)
			args->n_success = i + 1;
	}
	*mapped = *b;
	return err;
}

bool emu_memory_has_doorbells(const struct emu_process *p, uint32_t node)
{
	const struct emu_table *t = &p->memory.buffers[node];

	for (uint32_t id = 0; id < t->room; id++) {
		const struct emu_buffer *b = t->entry[id];

		if (b && b->flags & GP_KFD_MEM_DOORBELL)
			return true;
	}
	return false;
}

/* A program that maps its doorbells to the GPU has them mapped itself: from now on it is noticed
 * when it rings one. */
static int watch_doorbells(struct emu_call *call, const struct emu_buffer *b)
{
	int uffd;

	if (atomic_fetch_add(&call->process->node[b->node].nr_watches, 1) >= WATCHES_MAX)
		return -ENOSPC;
	uffd = emu_call_watch(call, b->va, b->size);
	if (uffd == -ECONNRESET)
		return uffd;
	return emu_doorbell_watch(call->process, b->node, uffd < 0 ? -1 : uffd, b->va, b->size);
}

int emu_map_memory(struct emu_call *call, struct gp_kfd_map_memory *args)
{
	struct emu_process *p = call->process;
	struct emu_buffer b;
	uint32_t *ids;
	int err = read_devices(call, args, &ids);

	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	err = map_all(p, args, ids, &b);
	pthread_mutex_unlock(&p->lock);
	free(ids);
	if (!err && b.flags & GP_KFD_MEM_DOORBELL)
		err = watch_doorbells(call, &b);
	return err;
}

/* *@nodes: the GPUs it is no longer mapped to. */
static int unmap_all(struct emu_process *p, struct gp_kfd_map_memory *args, const uint32_t *ids,
		     uint32_t *nodes)
{
	struct emu_buffer *b;
	uint32_t node;

	if (!emu_process_node(p, (uint32_t)(args->handle >> 32), &node))
		return -EINVAL;
	b = emu_buffer_find(p, args->handle);
	if (!b)
		return -ENOMEM;
	for (uint32_t i = args->n_success; i < args->n_devices; i++) {
		if (!emu_process_node(p, ids[i], &node) || !(b->mapped >> node & 1))
			return -EINVAL;
		take_out(&p->memory.space[node], b);
		b->mapped &= ~(1u << node);
		*nodes |= 1u << node;
		args->n_success = i + 1;
	}
	return 0;
}

/* What was unmapped before this may go after it. */
static void quiesce(struct emu_process *p, uint32_t nodes)
{
	for (uint32_t i = 0; i < p->m->config.nr_gpus; i++) {
		if (!(nodes >> i & 1))
			continue;
		atomic_fetch_add(&p->memory.vm[i].generation, 1);
		emu_node_quiesce(p->m->node[i]);
	}
}

int emu_unmap_memory(struct emu_call *call, struct gp_kfd_map_memory *args)
{
	struct emu_process *p = call->process;
	uint32_t nodes = 0, *ids;
	int err = read_devices(call, args, &ids);

	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	err = unmap_all(p, args, ids, &nodes);
	/* With the lock, or another thread could free what waves still use. */
	quiesce(p, nodes);
	pthread_mutex_unlock(&p->lock);
	free(ids);
	return err;
}

int emu_available_memory(struct emu_call *call, struct gp_kfd_get_available_memory *args)
{
	struct emu_node *n = emu_machine_node(call->m, args->gpu_id);
	uint64_t used, all = call->m->config.vram_bytes;

	if (!n)
		return -EINVAL;
	used = atomic_load(&n->vram_used);
	args->available = used < all ? (all - used) / VRAM_UNIT * VRAM_UNIT : 0;
	return 0;
}
