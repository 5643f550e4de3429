// SPDX-License-Identifier: MIT
/*
 * The files of debugfs in amdkfd's format, which is hex. mqds: the memory queue descriptors of all
 * processes; hqds: the registers of each hardware slot; rls: the run list of the hardware
 * scheduler; mem_limit: the host memory in use; hang_hws: its usage.
 *
 * The emulated hardware has neither descriptors nor registers: they are derived from the queue, as
 * far as amdkfd sets them and the packet processor changes them; all other words are 0. First a
 * snapshot of all queues is taken, node by node, then text is written without a lock.
 */
#include "emu/kfd/debugfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/kfd/call.h"
#include "emu/kfd/memfd.h"
#include "emu/kfd/node.h"
#include "emu/kfd/queue.h"

#define MQD_WORDS 512
#define SDMA_MQD_WORDS 128
#define LINE_WORDS 8

/*
 * Words of a compute queue's descriptor. From the base address on they are registers as well, in
 * the same order.
 */
enum {
	MQD_HEADER = 0,
	MQD_PIPELINESTAT_ENABLE = 11,
	MQD_CU_MASK_SE0 = 23,
	MQD_CU_MASK_SE1 = 24,
	MQD_CU_MASK_SE2 = 26,
	MQD_CU_MASK_SE3 = 27,
	MQD_BASE = 128,
	MQD_ACTIVE = 130,
	MQD_PERSISTENT_STATE = 132,
	MQD_PIPE_PRIORITY = 133,
	MQD_QUEUE_PRIORITY = 134,
	MQD_QUANTUM = 135,
	MQD_PQ_BASE = 136,
	MQD_PQ_RPTR = 138,
	MQD_PQ_RPTR_REPORT = 139,
	MQD_PQ_WPTR_POLL = 141,
	MQD_PQ_DOORBELL = 143,
	MQD_PQ_CONTROL = 145,
	MQD_EOP_BASE = 165,
	MQD_EOP_CONTROL = 167,
	MQD_SAVE_BASE = 171,
	MQD_STACK_OFFSET = 174,
	MQD_STACK_SIZE = 175,
	MQD_RECORDS_OFFSET = 176,
	MQD_SAVE_SIZE = 177,
	MQD_AQL_CONTROL = 181,
	MQD_PQ_WPTR = 182,
	MQD_REGISTERS_END = 184,
};
#define MQD_HEADER_VALUE 0xc0310800
#define PQ_RPTR_BLOCK_SIZE (5u << 8)
#define PQ_NO_UPDATE_RPTR (1u << 27)
#define PQ_UNORD_DISPATCH (1u << 28)
#define PRELOAD (1u | 0x53u << 8)
#define EOP_SIZE_MAX 10
#define DOORBELL_SHIFT 2

enum {
	SDMA_RB_CNTL = 0,
	SDMA_RB_BASE = 1,
	SDMA_RB_RPTR = 3,
	SDMA_RB_WPTR = 5,
	SDMA_RPTR_ADDR_HI = 8,
	SDMA_RPTR_ADDR_LO = 9,
	SDMA_DOORBELL_OFFSET = 22,
	SDMA_DUMMY = 27,
	SDMA_REGISTERS_END = 42,
	SDMA_ENGINE_ID = 126,
	SDMA_QUEUE_ID = 127,
};
#define SDMA_DUMMY_VALUE 0xf
#define SDMA_ENABLED 1u /* in a slot */
#define SDMA_WRITEBACK (1u << 12 | 6u << 16)

/* Byte addresses of registers. */
#define CP_MQD_BASE_REGISTER 0xc914
#define SDMA_REGISTER(engine, queue) (4 * (0x1260 + (engine)*0x600 + 0x140 + (queue)*0x60))

#define CP_PIPES 4
#define CP_PIPE_FIRST_QUEUE 2 /* the first ones are the graphics driver's */
#define CP_PIPE_QUEUES (EMU_CP_QUEUES / CP_PIPES)

#define PM4_HEADER(opcode, words) (3u << 30 | ((words)-2) << 16 | (opcode) << 8)
#define IT_MAP_PROCESS 0xa1
#define IT_MAP_QUEUES 0xa2
#define MAP_PROCESS_WORDS 21
#define MAP_QUEUES_WORDS 7

/* A snapshot of a queue. */
struct shot {
	pid_t pid;
	uint32_t pasid, node, gpu_id, id, type, ring_size, priority, doorbell;
	uint32_t sdma_engine, sdma_id;
	bool active, mapped, is_gws, is_masked;
	uint64_t ring, read_pointer, write_pointer, rptr, wptr, eop, eop_size, save_area;
	uint64_t tba, tma;
	uint32_t save_size, ctl_stack_size;
	uint32_t cu_mask[EMU_CUS_MAX / 32];
	uint32_t stack_used[EMU_XCCS_MAX];
	uint32_t records_used[EMU_XCCS_MAX];
};

struct view {
	struct emu_machine *m;
	struct shot *shot;
	uint32_t nr, room;
	FILE *out;
};

static void look_at(struct emu_queue *q, struct shot *s)
{
	struct emu_process_node *pn = &q->process->node[q->node->index];

	*s = (struct shot){
		.pid = q->process->pid,
		.pasid = q->process->pasid,
		.node = q->node->index,
		.gpu_id = q->node->gpu_id,
		.id = q->id,
		.type = q->type,
		.ring_size = q->ring_size,
		.priority = q->priority,
		.doorbell = q->doorbell,
		.sdma_engine = q->sdma_engine,
		.sdma_id = q->sdma_id,
		.active = q->active,
		.mapped = q->mapped,
		.is_gws = q->is_gws,
		.is_masked = q->is_masked,
		.ring = q->ring,
		.read_pointer = q->read_pointer,
		.write_pointer = q->write_pointer,
		.rptr = q->rptr,
		.wptr = q->wptr,
		.eop = q->eop,
		.eop_size = q->eop_size,
		.save_area = q->save_area,
		.tba = pn->tba,
		.tma = pn->tma,
		.save_size = q->save_size,
		.ctl_stack_size = q->ctl_stack_size,
	};
	memcpy(s->cu_mask, q->cu_mask, sizeof(s->cu_mask));
	/* While a queue is mapped, they may change at any moment. */
	for (uint32_t i = 0; !q->mapped && !emu_queue_is_sdma(q) && i < EMU_XCCS_MAX; i++) {
		struct emu_save_header h;

		q->node->engine->queue_saved(q->hw, i, &h);
		s->stack_used[i] = h.ctl_bytes;
		s->records_used[i] = h.records_bytes;
	}
}

static bool look_at_node(struct view *v, struct emu_node *n)
{
	bool has_room = true;

	pthread_mutex_lock(&n->lock);
	if (v->nr + n->nr_queues > v->room) {
		uint32_t room = v->nr + n->nr_queues;
		struct shot *more = realloc(v->shot, room * sizeof(*more));

		has_room = more != NULL;
		if (more) {
			v->shot = more;
			v->room = room;
		}
	}
	if (has_room) {
		emu_node_enter(n);
		for (struct emu_queue *q = n->queues; q; q = q->next)
			look_at(q, &v->shot[v->nr++]);
		emu_node_leave(n);
	}
	pthread_mutex_unlock(&n->lock);
	return has_room;
}

/* By process, and the newest queue first. */
static int compare(const void *a, const void *b)
{
	const struct shot *x = a, *y = b;

	if (x->pasid != y->pasid)
		return x->pasid < y->pasid ? -1 : 1;
	return x->id > y->id ? -1 : x->id < y->id;
}

static bool look_around(struct view *v)
{
	for (uint32_t i = 0; i < v->m->config.nr_gpus; i++) {
		if (!look_at_node(v, v->m->node[i]))
			return false;
	}
	if (v->nr)
		qsort(v->shot, v->nr, sizeof(*v->shot), compare);
	return true;
}

/*
 * Words
 */

static bool is_sdma(const struct shot *s)
{
	return s->type == GP_KFD_QUEUE_SDMA || s->type == GP_KFD_QUEUE_SDMA_XGMI;
}

static void put64(uint32_t *words, uint64_t value)
{
	words[0] = (uint32_t)value;
	words[1] = (uint32_t)(value >> 32);
}

/* The exponent of a power of two. */
static uint32_t order(uint64_t n)
{
	return n ? (uint32_t)__builtin_ctzll(n) : 0;
}

/* The address that amdkfd would have used. */
static uint64_t mqd_address(const struct shot *s)
{
	return (uint64_t)0x7fff << 32 | (uint64_t)s->pasid << 22 | s->id << 12;
}

static void put_cu_mask(const struct emu_config *c, const struct shot *s, uint32_t xcc,
			uint32_t *mqd)
{
	static const uint32_t at[] = { MQD_CU_MASK_SE0, MQD_CU_MASK_SE1, MQD_CU_MASK_SE2,
				       MQD_CU_MASK_SE3 };
	uint32_t arrays = c->chip->nr_arrays;
	uint32_t per_array = (c->xcc_cus + arrays - 1) / arrays;

	for (uint32_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		mqd[at[i]] = s->is_masked ? 0 : ~0u;
	for (uint32_t cu = 0; s->is_masked && cu < c->xcc_cus; cu++) {
		uint32_t bit = xcc * c->xcc_cus + cu, array = cu / per_array;

		if (array < sizeof(at) / sizeof(at[0]) && s->cu_mask[bit / 32] >> bit % 32 & 1)
			mqd[at[array]] |= 1u << cu % per_array;
	}
}

static void put_save_area(const struct shot *s, uint32_t xcc, uint32_t *mqd)
{
	put64(mqd + MQD_SAVE_BASE, s->save_area + (uint64_t)xcc * s->save_size);
	mqd[MQD_SAVE_SIZE] = s->save_size;
	mqd[MQD_STACK_SIZE] = s->ctl_stack_size;
	mqd[MQD_STACK_OFFSET] = s->ctl_stack_size - s->stack_used[xcc];
	mqd[MQD_RECORDS_OFFSET] = s->ctl_stack_size + (uint32_t)s->records_used[xcc];
}

static void put_compute(const struct emu_config *c, const struct shot *s, uint32_t xcc,
			uint32_t mqd[MQD_WORDS])
{
	bool is_aql = s->type == GP_KFD_QUEUE_COMPUTE_AQL;
	uint32_t eop_order = order(s->eop_size / 4);

	memset(mqd, 0, MQD_WORDS * sizeof(*mqd));
	mqd[MQD_HEADER] = MQD_HEADER_VALUE;
	mqd[MQD_PIPELINESTAT_ENABLE] = 1;
	put_cu_mask(c, s, xcc, mqd);
	put64(mqd + MQD_BASE, mqd_address(s));
	mqd[MQD_ACTIVE] = s->mapped;
	mqd[MQD_PERSISTENT_STATE] = PRELOAD;
	mqd[MQD_PIPE_PRIORITY] = (uint32_t)emu_pipe_priority(s->priority);
	mqd[MQD_QUEUE_PRIORITY] = s->priority;
	mqd[MQD_QUANTUM] = 1 | 1 << 4 | 1 << 8;
	put64(mqd + MQD_PQ_BASE, s->ring >> 8);
	mqd[MQD_PQ_RPTR] = (uint32_t)s->rptr * (is_aql ? 16 : 1);
	put64(mqd + MQD_PQ_RPTR_REPORT, s->read_pointer);
	put64(mqd + MQD_PQ_WPTR_POLL, s->write_pointer);
	mqd[MQD_PQ_DOORBELL] = s->doorbell << DOORBELL_SHIFT;
	mqd[MQD_PQ_CONTROL] = PQ_RPTR_BLOCK_SIZE | PQ_UNORD_DISPATCH |
			      (is_aql ? PQ_NO_UPDATE_RPTR : 0) | (order(s->ring_size / 4) - 1);
	put64(mqd + MQD_EOP_BASE, s->eop >> 8);
	if (eop_order)
		mqd[MQD_EOP_CONTROL] = eop_order - 1 < EOP_SIZE_MAX ? eop_order - 1 : EOP_SIZE_MAX;
	if (c->cwsr && s->save_area)
		put_save_area(s, xcc, mqd);
	mqd[MQD_AQL_CONTROL] = is_aql;
	put64(mqd + MQD_PQ_WPTR, s->wptr);
}

static void put_sdma(const struct shot *s, uint32_t mqd[SDMA_MQD_WORDS])
{
	memset(mqd, 0, SDMA_MQD_WORDS * sizeof(*mqd));
	mqd[SDMA_RB_CNTL] = order(s->ring_size / 4) << 1 | SDMA_WRITEBACK;
	put64(mqd + SDMA_RB_BASE, s->ring >> 8);
	put64(mqd + SDMA_RB_RPTR, s->rptr);
	put64(mqd + SDMA_RB_WPTR, s->wptr);
	mqd[SDMA_RPTR_ADDR_LO] = (uint32_t)s->read_pointer;
	mqd[SDMA_RPTR_ADDR_HI] = (uint32_t)(s->read_pointer >> 32);
	mqd[SDMA_DOORBELL_OFFSET] = s->doorbell << DOORBELL_SHIFT;
	mqd[SDMA_DUMMY] = SDMA_DUMMY_VALUE;
	mqd[SDMA_ENGINE_ID] = s->sdma_engine;
	mqd[SDMA_QUEUE_ID] = s->sdma_id;
}

/*
 * Text
 */

/* As seq_hex_dump(): 32 bytes a line, after their offset. */
static void dump(FILE *out, const char *indent, const uint32_t *words, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (i % LINE_WORDS == 0)
			fprintf(out, "%s%08x:", indent, 4 * i);
		fprintf(out, " %08x%s", words[i],
			i % LINE_WORDS == LINE_WORDS - 1 || i == nr - 1 ? "\n" : "");
	}
}

/* Consecutive registers. */
static void dump_registers(FILE *out, uint32_t address, const uint32_t *words, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (i % LINE_WORDS == 0)
			fprintf(out, "%s    %08x: %08x", i ? "\n" : "", address + 4 * i, words[i]);
		else
			fprintf(out, " %08x", words[i]);
	}
	fputs("\n", out);
}

static void write_mqd(struct view *v, const struct shot *s)
{
	uint32_t mqd[MQD_WORDS];

	fprintf(v->out, "  %s queue on device %x\n", is_sdma(s) ? "SDMA" : "Compute", s->gpu_id);
	if (is_sdma(s)) {
		put_sdma(s, mqd);
		dump(v->out, "    ", mqd, SDMA_MQD_WORDS);
		return;
	}
	for (uint32_t xcc = 0; xcc < v->m->config.nr_xccs; xcc++) {
		put_compute(&v->m->config, s, xcc, mqd);
		dump(v->out, "    ", mqd, MQD_WORDS);
	}
}

struct person {
	pid_t pid;
	uint32_t pasid;
};

/* The processes that have the device open. NULL: out of memory. */
static struct person *list_processes(struct emu_machine *m, uint32_t *nr)
{
	struct person *list;

	*nr = 0;
	pthread_mutex_lock(&m->lock);
	for (struct emu_process *p = m->processes; p; p = p->next)
		*nr += p->opened && p->refs;
	list = calloc(*nr + 1, sizeof(*list));
	*nr = 0;
	for (struct emu_process *p = m->processes; list && p; p = p->next) {
		if (p->opened && p->refs)
			list[(*nr)++] = (struct person){ p->pid, p->pasid };
	}
	pthread_mutex_unlock(&m->lock);
	return list;
}

static int write_mqds(struct view *v)
{
	uint32_t nr;
	struct person *list = list_processes(v->m, &nr);

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		fprintf(v->out, "Process %d PASID 0x%x:\n", (int)list[i].pid, list[i].pasid);
		for (uint32_t j = 0; j < v->nr; j++) {
			if (v->shot[j].pasid == list[i].pasid)
				write_mqd(v, &v->shot[j]);
		}
	}
	free(list);
	return 0;
}

/* The queue in the n-th slot of a node; NULL: it is free. */
static const struct shot *in_slot(const struct view *v, uint32_t node, uint32_t slot)
{
	for (uint32_t i = 0; i < v->nr; i++) {
		const struct shot *s = &v->shot[i];

		if (s->node == node && s->mapped && !is_sdma(s) && !slot--)
			return s;
	}
	return NULL;
}

static void write_cp_slots(struct view *v, uint32_t node, uint32_t xcc)
{
	uint32_t mqd[MQD_WORDS] = { 0 };

	fprintf(v->out, "   Inst %u, HIQ on MEC 2 Pipe 0 Queue 0\n", xcc);
	dump_registers(v->out, CP_MQD_BASE_REGISTER, mqd + MQD_BASE, MQD_REGISTERS_END - MQD_BASE);
	for (uint32_t slot = 0; slot < EMU_CP_QUEUES; slot++) {
		const struct shot *s = in_slot(v, node, slot);

		memset(mqd, 0, sizeof(mqd));
		if (s)
			put_compute(&v->m->config, s, xcc, mqd);
		fprintf(v->out, " Inst %u,  CP Pipe %u, Queue %u\n", xcc, slot / CP_PIPE_QUEUES,
			CP_PIPE_FIRST_QUEUE + slot % CP_PIPE_QUEUES);
		dump_registers(v->out, CP_MQD_BASE_REGISTER, mqd + MQD_BASE,
			       MQD_REGISTERS_END - MQD_BASE);
	}
}

static const struct shot *in_sdma_slot(const struct view *v, uint32_t node, uint32_t engine,
				       uint32_t slot)
{
	for (uint32_t i = 0; i < v->nr; i++) {
		const struct shot *s = &v->shot[i];

		if (s->node == node && s->mapped && is_sdma(s) && s->sdma_engine == engine &&
		    !slot--)
			return s;
	}
	return NULL;
}

static void write_sdma_slots(struct view *v, uint32_t node)
{
	uint32_t mqd[SDMA_MQD_WORDS];

	for (uint32_t engine = 0; engine < EMU_SDMA_ENGINES + EMU_SDMA_XGMI_ENGINES; engine++) {
		for (uint32_t slot = 0; slot < EMU_SDMA_ENGINE_QUEUES; slot++) {
			const struct shot *s = in_sdma_slot(v, node, engine, slot);

			memset(mqd, 0, sizeof(mqd));
			if (s) {
				put_sdma(s, mqd);
				mqd[SDMA_RB_CNTL] |= SDMA_ENABLED;
			}
			fprintf(v->out, "  SDMA Engine %u, RLC %u\n", engine, slot);
			dump_registers(v->out, SDMA_REGISTER(engine, slot), mqd,
				       SDMA_REGISTERS_END);
		}
	}
}

static int write_hqds(struct view *v)
{
	for (uint32_t i = 0; i < v->m->config.nr_gpus; i++) {
		fprintf(v->out, "Node %u, gpu_id %x:\n", v->m->node[i]->topology_node,
			v->m->node[i]->gpu_id);
		for (uint32_t xcc = 0; xcc < v->m->config.nr_xccs; xcc++)
			write_cp_slots(v, i, xcc);
		write_sdma_slots(v, i);
	}
	return 0;
}

static void put_map_process(const struct shot *s, uint32_t nr_queues,
			    uint32_t packet[MAP_PROCESS_WORDS])
{
	memset(packet, 0, MAP_PROCESS_WORDS * sizeof(*packet));
	packet[0] = PM4_HEADER(IT_MAP_PROCESS, MAP_PROCESS_WORDS);
	packet[1] = (s->pasid & 0xffff) | 10u << 25;
	put64(packet + 6, s->tba >> 8);
	put64(packet + 8, s->tma >> 8);
	packet[13] = 1u << 7 | nr_queues << 22;
}

static void put_map_queues(const struct shot *s, uint32_t packet[MAP_QUEUES_WORDS])
{
	uint32_t engine = 0;

	if (is_sdma(s))
		engine = s->sdma_engine < 2 ? (2 + s->sdma_engine) << 26
					    : s->sdma_engine << 26 | 1u << 2;
	packet[0] = PM4_HEADER(IT_MAP_QUEUES, MAP_QUEUES_WORDS);
	packet[1] = 1u << 4 | (uint32_t)s->is_gws << 12 | engine | 1u << 29;
	packet[2] = s->doorbell << DOORBELL_SHIFT;
	put64(packet + 3, mqd_address(s));
	put64(packet + 5, s->write_pointer);
}

/* The queues of one process on one node from @first on; returns how many words they take. */
static uint32_t put_process(const struct view *v, uint32_t first, uint32_t *words)
{
	const struct shot *s = &v->shot[first];
	uint32_t n = MAP_PROCESS_WORDS, queues = 0;

	for (uint32_t i = first; i < v->nr && v->shot[i].pasid == s->pasid; i++) {
		if (v->shot[i].node != s->node || !v->shot[i].active)
			continue;
		put_map_queues(&v->shot[i], words + n);
		n += MAP_QUEUES_WORDS;
		queues++;
	}
	put_map_process(s, queues, words);
	return n;
}

static int write_run_list(struct view *v, uint32_t node)
{
	uint32_t *words = calloc(v->nr + 1, 4 * (MAP_PROCESS_WORDS + MAP_QUEUES_WORDS));
	uint32_t n = 0, last_pasid = 0;

	if (!words)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->nr; i++) {
		const struct shot *s = &v->shot[i];

		if (s->node != node || !s->active || s->pasid == last_pasid)
			continue;
		last_pasid = s->pasid;
		n += put_process(v, i, words + n);
	}
	if (n && v->m->config.sched == EMU_SCHED_HWS)
		dump(v->out, "  ", words, n);
	else
		fputs("  No active runlist\n", v->out);
	free(words);
	return 0;
}

static int write_rls(struct view *v)
{
	int err = 0;

	for (uint32_t i = 0; i < v->m->config.nr_gpus && !err; i++) {
		fprintf(v->out, "Node %u, gpu_id %x:\n", v->m->node[i]->topology_node,
			v->m->node[i]->gpu_id);
		err = write_run_list(v, i);
	}
	return err;
}

/* This would hang the scheduler of a GPU; --fault does that. */
static int write_hang(struct view *v)
{
	fputs("echo gpu_id > hang_hws\n", v->out);
	return 0;
}

static int write_limits(struct view *v)
{
	unsigned long long used = atomic_load(&v->m->gtt_used) >> 20, all = v->m->gtt_bytes >> 20;

	fprintf(v->out, "System mem used %lluM out of %lluM\nTTM mem used %lluM out of %lluM\n",
		used, all, used, all);
	return 0;
}

static const struct {
	const char *path;
	int (*write)(struct view *v);
} files[] = {
	{ EMU_DEBUGFS "/mqds", write_mqds },	    { EMU_DEBUGFS "/hqds", write_hqds },
	{ EMU_DEBUGFS "/rls", write_rls },	    { EMU_DEBUGFS "/hang_hws", write_hang },
	{ EMU_DEBUGFS "/mem_limit", write_limits },
};

static int write_file(struct emu_machine *m, int (*write)(struct view *v))
{
	struct view v = { .m = m };
	char *text = NULL;
	size_t len = 0;
	int err;

	v.out = open_memstream(&text, &len);
	if (!v.out)
		return -ENOMEM;
	err = look_around(&v) ? write(&v) : -ENOMEM;
	free(v.shot);
	if (fclose(v.out) && !err)
		err = -ENOMEM;
	if (!err)
		err = emu_memfd_text(text, len);
	free(text);
	return err;
}

int emu_debugfs_open(struct emu_call *call, const char *path)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!strcmp(path, files[i].path))
			return call->uid ? -EACCES : write_file(call->m, files[i].write);
	}
	return -ENOENT;
}
