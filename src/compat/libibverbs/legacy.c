/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of libibverbs 1.0 (2006), whose structs differ from today's. A program of that time
 * finds no device: ibv_get_device_list@IBVERBS_1.0 answers NULL with ENOSYS, so it never has an
 * object to call the other functions with; they are there to be linked, and answer the same.
 */
#include "compat/libibverbs/compat.h"

#define VERSION_1_0(function, name) __asm__(".symver " #function ", " #name "@IBVERBS_1.0\n")

struct ibv_device **compat_1_0_device_list(int *num_devices);
void *compat_1_0_null(void);
int compat_1_0_errno(void);
int compat_1_0_minus_one(void);
uint64_t compat_1_0_zero(void);
void compat_1_0_nothing(void);

__attribute__((used)) struct ibv_device **compat_1_0_device_list(int *num_devices)
{
	if (num_devices)
		*num_devices = 0;
	return compat_null(-ENOSYS);
}

__attribute__((used)) void *compat_1_0_null(void)
{
	return compat_null(-ENOSYS);
}

__attribute__((used)) int compat_1_0_errno(void)
{
	return ENOSYS;
}

__attribute__((used)) int compat_1_0_minus_one(void)
{
	return compat_minus_one(-ENOSYS);
}

__attribute__((used)) uint64_t compat_1_0_zero(void)
{
	return 0;
}

__attribute__((used)) void compat_1_0_nothing(void)
{
}

VERSION_1_0(compat_1_0_device_list, ibv_get_device_list);
VERSION_1_0(compat_1_0_nothing, ibv_free_device_list);
VERSION_1_0(compat_1_0_null, ibv_get_device_name);
VERSION_1_0(compat_1_0_zero, ibv_get_device_guid);
VERSION_1_0(compat_1_0_null, ibv_open_device);
VERSION_1_0(compat_1_0_errno, ibv_close_device);
VERSION_1_0(compat_1_0_minus_one, ibv_get_async_event);
VERSION_1_0(compat_1_0_nothing, ibv_ack_async_event);
VERSION_1_0(compat_1_0_errno, ibv_query_device);
VERSION_1_0(compat_1_0_errno, ibv_query_port);
VERSION_1_0(compat_1_0_minus_one, ibv_query_gid);
VERSION_1_0(compat_1_0_minus_one, ibv_query_pkey);
VERSION_1_0(compat_1_0_null, ibv_alloc_pd);
VERSION_1_0(compat_1_0_errno, ibv_dealloc_pd);
VERSION_1_0(compat_1_0_null, ibv_reg_mr);
VERSION_1_0(compat_1_0_errno, ibv_dereg_mr);
VERSION_1_0(compat_1_0_null, ibv_create_cq);
VERSION_1_0(compat_1_0_errno, ibv_resize_cq);
VERSION_1_0(compat_1_0_errno, ibv_destroy_cq);
VERSION_1_0(compat_1_0_minus_one, ibv_get_cq_event);
VERSION_1_0(compat_1_0_nothing, ibv_ack_cq_events);
VERSION_1_0(compat_1_0_null, ibv_create_srq);
VERSION_1_0(compat_1_0_errno, ibv_modify_srq);
VERSION_1_0(compat_1_0_errno, ibv_query_srq);
VERSION_1_0(compat_1_0_errno, ibv_destroy_srq);
VERSION_1_0(compat_1_0_null, ibv_create_qp);
VERSION_1_0(compat_1_0_errno, ibv_query_qp);
VERSION_1_0(compat_1_0_errno, ibv_modify_qp);
VERSION_1_0(compat_1_0_errno, ibv_destroy_qp);
VERSION_1_0(compat_1_0_null, ibv_create_ah);
VERSION_1_0(compat_1_0_errno, ibv_destroy_ah);
VERSION_1_0(compat_1_0_errno, ibv_attach_mcast);
VERSION_1_0(compat_1_0_errno, ibv_detach_mcast);
