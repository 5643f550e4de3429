// SPDX-License-Identifier: MIT
#include "gate.h"

#include <unistd.h>

#include "../unit/test.h"

#define PACKETS 64
#define PATIENCE_MS 20000

void gate_begin(struct gate *g, const char *path)
{
	struct gp__kfd_node node[GP__KFD_NODES_MAX];
	char *at;

	*g = (struct gate){ .u = { .kfd = -1 } };
	assert_true(gp__kfd_nodes(node) > 0);
	assert_int_equal(gp__kfd_open(&g->u, &node[0]), 0);
	assert_int_equal(gp__object_read(&g->object, path), 0);
	assert_int_equal(gp__kfd_alloc(&g->u, &g->code, gp__object_bytes(&g->object),
				       GP_KFD_MEM_GTT | GP_KFD_MEM_EXECUTABLE),
			 0);
	gp__object_load(&g->object, g->code.at);
	assert_int_equal(gp__kfd_alloc(&g->u, &g->data, 4096, GP_KFD_MEM_GTT | GP_KFD_MEM_COHERENT),
			 0);
	at = g->data.at;
	g->signal = (void *)at;
	g->signal->kind = GP__KFD_SIGNAL_USER;
	g->args = (void *)(at + 128);
	g->arrived = (void *)(at + 256);
	g->open = g->arrived + 1;
	g->args->arrived = (uint64_t)g->arrived;
	g->args->open = (uint64_t)g->open;
	g->args->left = (uint64_t)(g->arrived + 2);
	g->args->turn = (uint64_t)(g->arrived + 3);
	assert_int_equal(gp__kfd_queue_create(&g->u, &g->q, PACKETS), 0);
}

void gate_end(struct gate *g)
{
	assert_int_equal(gp__kfd_queue_destroy(&g->q), 0);
	gp__kfd_free(&g->u, &g->data);
	gp__kfd_free(&g->u, &g->code);
	gp__object_free(&g->object);
	gp__kfd_close(&g->u);
}

void gate_close(struct gate *g, bool with_signal)
{
	struct gp__kfd_dispatch d = { .kernarg = g->args, .grid = 64, .group = 64 };
	uint64_t offset;

	assert_true(gp__object_symbol(&g->object, "gate.kd", &offset));
	d.kernel = (uint64_t)g->code.at + offset;
	atomic_store(g->arrived, 0);
	atomic_store(g->open, 0);
	atomic_store(g->arrived + 2, 0);
	atomic_store(&g->signal->value, 1);
	gp__kfd_launch(&g->q, &d, with_signal ? g->signal : NULL);
	for (int i = 0; i < PATIENCE_MS && !atomic_load(g->arrived); i++)
		usleep(1000);
	assert_int_equal(atomic_load(g->arrived), 1);
}

void gate_open(struct gate *g)
{
	atomic_store(g->open, 1);
}
