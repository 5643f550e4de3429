// SPDX-License-Identifier: MIT
/* How a library for collectives is recognised: by its file's name, or by what an object exports. */
#include "test.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "join/ranks.h"
#include "join/symbol.h"

static void *load(const char *variable)
{
	const char *path = getenv(variable);
	void *library;

	if (!path)
		skip();
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	return library;
}

/* The other one calls it, and does not have it. */
static void an_object_that_contains_nccl_is_recognised(void **state)
{
	void *caller, *contains;

	(void)state;
	assert_false(gp__rank_has_library());
	caller = load("CALLS_NCCL");
	assert_false(gp__rank_has_library());
	contains = load("CONTAINS_NCCL");
	assert_true(gp__rank_has_library());
	dlclose(contains);
	assert_false(gp__rank_has_library());
	dlclose(caller);
}

struct question {
	const char *symbol;
	int nr; /* of objects that export it */
};

static int count(struct dl_phdr_info *info, size_t size, void *data)
{
	struct question *q = data;

	(void)size;
	q->nr += gp__object_exports(info, q->symbol);
	return 0;
}

static int nr_exporting(const char *symbol)
{
	struct question q = { symbol, 0 };

	dl_iterate_phdr(count, &q);
	return q.nr;
}

static void the_tables_of_all_objects_are_read(void **state)
{
	(void)state;
	assert_int_equal(nr_exporting("dlopen") > 0, dlsym(RTLD_DEFAULT, "dlopen") != NULL);
	assert_int_not_equal(nr_exporting("malloc"), 0);
	assert_int_not_equal(nr_exporting("qsort"), 0);
	assert_int_equal(nr_exporting("no_such_function"), 0);
	assert_int_equal(nr_exporting(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_that_contains_nccl_is_recognised),
		cmocka_unit_test(the_tables_of_all_objects_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
