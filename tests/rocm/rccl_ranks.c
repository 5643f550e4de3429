/* SPDX-License-Identifier: MIT */
/*
 * A rank of two that sum numbers with RCCL, each on a GPU of its own, and check the sums. If a sum
 * takes longer than the watchdog allows, the program ends. It loads RCCL and HIP at run time, from
 * another release of Debian than that of the build.
 *
 *	rccl_ranks RANK FOLDER SECONDS WATCHDOG		the ranks exchange RCCL's id through FOLDER
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 256, TO_DEVICE = 1, TO_HOST = 2, FLOAT = 7, SUM = 0 };

struct id {
	char bytes[128];
};

static struct {
	int (*set_device)(int);
	int (*malloc)(void **, size_t);
	int (*copy)(void *, const void *, size_t, int);
	int (*stream)(void **);
	int (*wait)(void *);
	int (*id)(struct id *);
	int (*init)(void **, int, struct id, int);
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
} call;

static _Atomic time_t began;
static int watchdog;

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void must(int status, const char *what)
{
	if (!status)
		return;
	printf("%s: status %d\n", what, status);
	exit(1);
}

static void *open_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);

	if (library)
		return library;
	printf("%s\n", dlerror());
	exit(77);
}

static void find(void *library, const char *name, void *function)
{
	*(void **)function = dlsym(library, name);
	must(!*(void **)function, name);
}

static void load(void)
{
	void *hip = open_library("libamdhip64.so.5"), *rccl = open_library("librccl.so.1");

	find(hip, "hipSetDevice", &call.set_device);
	find(hip, "hipMalloc", &call.malloc);
	find(hip, "hipMemcpy", &call.copy);
	find(hip, "hipStreamCreate", &call.stream);
	find(hip, "hipStreamSynchronize", &call.wait);
	find(rccl, "ncclGetUniqueId", &call.id);
	find(rccl, "ncclCommInitRank", &call.init);
	find(rccl, "ncclAllReduce", &call.all_reduce);
}

/* Rank 0 makes the id, the other one waits for it. */
static void exchange(int rank, const char *folder, struct id *id)
{
	char path[512], made[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s/id", folder);
	snprintf(made, sizeof(made), "%s.new", path);
	if (!rank) {
		must(call.id(id), "ncclGetUniqueId");
		f = fopen(made, "w");
		must(!f || fwrite(id, sizeof(*id), 1, f) != 1 || fclose(f), made);
		must(rename(made, path), path);
		return;
	}
	while (!(f = fopen(path, "r")))
		usleep(10000);
	must(fread(id, sizeof(*id), 1, f) != 1, path);
	fclose(f);
}

static void *watch(void *data)
{
	for (;;) {
		usleep(100000);
		if (seconds() - began <= watchdog)
			continue;
		printf("watchdog: a sum takes longer than %d s\n", watchdog);
		fflush(stdout);
		_exit(4);
	}
	return data;
}

/* True: another round follows, which rank 0 says with its first number. */
static int sum(int rank, int round, int last, float *device, void *comm, void *stream)
{
	float host[COUNT] = { rank ? 0 : (float)last };

	for (int i = 1; i < COUNT; i++)
		host[i] = (float)(rank + round % 1000 + i);
	must(call.copy(device, host, sizeof(host), TO_DEVICE), "hipMemcpy");
	must(call.all_reduce(device, device, COUNT, FLOAT, SUM, comm, stream), "ncclAllReduce");
	must(call.wait(stream), "hipStreamSynchronize");
	must(call.copy(host, device, sizeof(host), TO_HOST), "hipMemcpy");
	for (int i = 1; i < COUNT; i++)
		must(host[i] != (float)(2 * (round % 1000 + i) + 1), "a sum is wrong");
	return host[0] == 0;
}

int main(int argc, char **argv)
{
	int rank = argc == 5 ? atoi(argv[1]) : 2, round = 0;
	void *comm, *stream, *device;
	pthread_t dog;
	struct id id;
	time_t end;

	must(rank != 0 && rank != 1, "usage: rccl_ranks 0|1 FOLDER SECONDS WATCHDOG");
	load();
	must(call.set_device(rank), "hipSetDevice");
	exchange(rank, argv[2], &id);
	must(call.init(&comm, 2, id, rank), "ncclCommInitRank");
	must(call.malloc(&device, COUNT * sizeof(float)), "hipMalloc");
	must(call.stream(&stream), "hipStreamCreate");
	end = seconds() + atoi(argv[3]);
	watchdog = atoi(argv[4]);
	began = seconds();
	must(pthread_create(&dog, NULL, watch, NULL), "pthread_create");
	while (sum(rank, round, seconds() >= end, device, comm, stream)) {
		began = seconds();
		printf("turn %d\n", ++round);
		fflush(stdout);
	}
	printf("ended after %d turns\n", round);
	return 0;
}
