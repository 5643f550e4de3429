// SPDX-License-Identifier: MIT
/*
 * DS_GWS: the wave records its request. The compute unit that runs it has the resources, and
 * decides whether the wave waits.
 */
#include "emu/gfx9/wave.h"

#define M0_RESOURCE(m0) ((m0) >> 16 & 0x3f)

static bool has_data(uint8_t op)
{
	return op == GFX9_GWS_INIT || op == GFX9_GWS_BARRIER || op == GFX9_GWS_SEMA_BR;
}

static bool data_exists(const struct gfx9_wave *w, unsigned int code)
{
	return code >= GFX9_AGPR ? code - GFX9_AGPR < w->nr_agprs : code - GFX9_VGPR < w->nr_vgprs;
}

/* The data of the first active lane; if no lane is active, of the first lane. */
static enum gfx9_stop request(struct gfx9_wave *w, const struct gfx9_inst *in, uint8_t op)
{
	uint64_t exec = gfx9_exec(w);

	if (!in->gds || (has_data(op) && !data_exists(w, in->src[0])))
		return GFX9_ILLEGAL;
	w->gws = (struct gfx9_gws_request){
		.op = op,
		.resource = (uint8_t)((M0_RESOURCE(w->s[GFX9_M0]) + (uint32_t)in->offset) %
				      GFX9_GWS_RESOURCES),
		.value = has_data(op) ? gfx9_row(w, in->src[0])[exec ? __builtin_ctzll(exec) : 0]
				      : 0,
	};
	return GFX9_GLOBAL_SYNC;
}

#define GWS_OP(name, op)                                                                   \
	enum gfx9_stop gfx9_ds_gws_##name(struct gfx9_wave *w, const struct gfx9_inst *in) \
	{                                                                                  \
		return request(w, in, op);                                                 \
	}

GWS_OP(init, GFX9_GWS_INIT)
GWS_OP(barrier, GFX9_GWS_BARRIER)
GWS_OP(sema_v, GFX9_GWS_SEMA_V)
GWS_OP(sema_br, GFX9_GWS_SEMA_BR)
GWS_OP(sema_p, GFX9_GWS_SEMA_P)
GWS_OP(sema_release_all, GFX9_GWS_SEMA_RELEASE_ALL)
