// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

json_t *gp__json_envelope(void)
{
	return json_pack("{s:i}", "schema", GP__JSON_SCHEMA);
}

json_t *gp__json_text(const char *text)
{
	json_t *string = json_string(text);
	char *copy;

	if (string || !text)
		return string;
	copy = strdup(text);
	for (char *s = copy; s && *s; s++) {
		if ((unsigned char)*s >= 0x80)
			*s = '?';
	}
	string = json_string(copy);
	free(copy);
	return string;
}

void gp__json_set_u64(json_t *object, const char *key, bool known, uint64_t value)
{
	/* jansson's integers are signed; beyond them a real keeps the size right. */
	if (!known)
		json_object_set_new(object, key, json_null());
	else if (value > INT64_MAX)
		json_object_set_new(object, key, json_real((double)value));
	else
		json_object_set_new(object, key, json_integer((json_int_t)value));
}

void gp__json_set_real(json_t *object, const char *key, bool known, double value)
{
	json_t *number = known ? json_real(value) : NULL;

	json_object_set_new(object, key, number ? number : json_null());
}

void gp__json_set_quantile_us(json_t *object, const char *key, const struct gp__hist *ns, double q)
{
	uint64_t value = 0;
	bool known = !gp__hist_quantile(ns, q, &value);

	gp__json_set_real(object, key, known, (double)value / 1e3);
}

void gp__json_set_latency(json_t *object, const struct gp__hist *ns)
{
	double mean = 0;
	bool known = !gp__hist_mean(ns, &mean);

	gp__json_set_u64(object, "count", true, ns->count);
	gp__json_set_real(object, "mean_us", known, mean / 1e3);
	gp__json_set_quantile_us(object, "p50_us", ns, 0.5);
	gp__json_set_quantile_us(object, "p99_us", ns, 0.99);
	gp__json_set_quantile_us(object, "p999_us", ns, 0.999);
	gp__json_set_quantile_us(object, "max_us", ns, 1);
}

int gp__json_print(struct gp__env *env, json_t *root)
{
	int err = 0;

	if (!root)
		return -ENOMEM;
	if (json_dumpf(root, env->out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) ||
	    fputc('\n', env->out) == EOF)
		err = -EIO;
	json_decref(root);
	return err;
}

int gp__json_print_error(struct gp__env *env, int status, const char *message, const char *remedy)
{
	json_t *root = gp__json_envelope();

	json_object_set_new(root, "error",
			    json_pack("{s:o, s:o?, s:i}", "message", gp__json_text(message),
				      "remedy", gp__json_text(remedy), "status", status));
	return gp__json_print(env, root);
}
