// SPDX-License-Identifier: MIT
// Checks join/hsa/abi.h against the runtime's own headers. It is only compiled.
// Their names of one another, as Debian installs them.
#define AMD_INTERNAL_BUILD
#include <cstddef>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_api_trace.h>

#define _Atomic
#include "join/hsa/abi.h"

#define SAME(a, b) static_assert((a) == (b), #a " is not " #b)
#define SAME_FN(table, ours, index, theirs) \
	SAME(offsetof(ours, fn) + (index) * sizeof(gp__hsa_fn *), offsetof(table, theirs##_fn))
#define CORE(index, theirs) SAME_FN(CoreApiTable, gp__hsa_core, GP__HSA_##index, theirs)

CORE(SYSTEM_GET_INFO, hsa_system_get_info);
CORE(QUEUE_CREATE, hsa_queue_create);
CORE(QUEUE_DESTROY, hsa_queue_destroy);
CORE(LOAD_READ_SCACQUIRE, hsa_queue_load_read_index_scacquire);
CORE(LOAD_READ_RELAXED, hsa_queue_load_read_index_relaxed);
CORE(LOAD_WRITE_SCACQUIRE, hsa_queue_load_write_index_scacquire);
CORE(LOAD_WRITE_RELAXED, hsa_queue_load_write_index_relaxed);
CORE(STORE_WRITE_RELAXED, hsa_queue_store_write_index_relaxed);
CORE(STORE_WRITE_SCRELEASE, hsa_queue_store_write_index_screlease);
CORE(CAS_WRITE_SCACQ_SCREL, hsa_queue_cas_write_index_scacq_screl);
CORE(CAS_WRITE_SCACQUIRE, hsa_queue_cas_write_index_scacquire);
CORE(CAS_WRITE_RELAXED, hsa_queue_cas_write_index_relaxed);
CORE(CAS_WRITE_SCRELEASE, hsa_queue_cas_write_index_screlease);
CORE(ADD_WRITE_SCACQ_SCREL, hsa_queue_add_write_index_scacq_screl);
CORE(ADD_WRITE_SCACQUIRE, hsa_queue_add_write_index_scacquire);
CORE(ADD_WRITE_RELAXED, hsa_queue_add_write_index_relaxed);
CORE(ADD_WRITE_SCRELEASE, hsa_queue_add_write_index_screlease);
CORE(SIGNAL_CREATE, hsa_signal_create);
CORE(SIGNAL_DESTROY, hsa_signal_destroy);
CORE(SIGNAL_STORE_RELAXED, hsa_signal_store_relaxed);
CORE(SIGNAL_STORE_SCRELEASE, hsa_signal_store_screlease);
CORE(SIGNAL_WAIT_RELAXED, hsa_signal_wait_relaxed);
CORE(SIGNAL_WAIT_SCACQUIRE, hsa_signal_wait_scacquire);
CORE(SIGNAL_SUBTRACT_SCRELEASE, hsa_signal_subtract_screlease);
SAME(offsetof(gp__hsa_table, core), offsetof(HsaApiTable, core_));
SAME(sizeof(gp__hsa_version), sizeof(ApiTableVersion));
SAME(offsetof(gp__hsa_version, bytes), offsetof(ApiTableVersion, minor_id));

SAME(offsetof(gp__hsa_queue, ring), offsetof(amd_queue_t, hsa_queue.base_address));
SAME(offsetof(gp__hsa_queue, doorbell), offsetof(amd_queue_t, hsa_queue.doorbell_signal));
SAME(offsetof(gp__hsa_queue, size), offsetof(amd_queue_t, hsa_queue.size));
SAME(offsetof(gp__hsa_queue, write_index), offsetof(amd_queue_t, write_dispatch_id));
SAME(offsetof(gp__hsa_queue, read_index), offsetof(amd_queue_t, read_dispatch_id));

SAME(offsetof(gp__hsa_signal, kind), offsetof(amd_signal_t, kind));
SAME(offsetof(gp__hsa_signal, value), offsetof(amd_signal_t, value));
SAME(GP__HSA_SIGNAL_USER, AMD_SIGNAL_KIND_USER);
SAME(offsetof(gp__hsa_signal, queue), offsetof(amd_signal_t, queue_ptr));
static_assert(AMD_SIGNAL_KIND_DOORBELL < 0 && AMD_SIGNAL_KIND_LEGACY_DOORBELL < 0 &&
		      AMD_SIGNAL_KIND_USER > 0,
	      "a doorbell is known by its sign");

SAME(GP__HSA_INFO_TICKS_PER_S, int(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY));
SAME(int(GP__HSA_EQ), int(HSA_SIGNAL_CONDITION_EQ));
SAME(int(GP__HSA_NE), int(HSA_SIGNAL_CONDITION_NE));
SAME(int(GP__HSA_LT), int(HSA_SIGNAL_CONDITION_LT));
SAME(int(GP__HSA_GTE), int(HSA_SIGNAL_CONDITION_GTE));
SAME(int(GP__HSA_WAIT_BLOCKED), int(HSA_WAIT_STATE_BLOCKED));
SAME(int(GP__HSA_WAIT_ACTIVE), int(HSA_WAIT_STATE_ACTIVE));
