/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between rdma-core's libibverbs and its provider libraries. Programs link some of
 * those libraries (libmlx5, libefa) for their own extras, so every symbol that they import must be
 * here or the program does not start; what they do with them concerns devices that we do not have.
 * Registering a driver is accepted and forgotten, commands to a kernel device answer EOPNOTSUPP.
 *
 * The version node's name changes with rdma-core's releases. One library may carry several, so each
 * symbol is given out under all of them: 25 (releases 25 to 32), 33, 34 (34 to 56), 57 (57, 58),
 * 59 (59 to 63) and 64.
 */
#include "compat/libibverbs/compat.h"

#include <stdarg.h>
#include <stdlib.h>

#define VERSIONED(function, name, version) __asm__(".symver " #function ", " #name version "\n")

#define UNDER_ALL_NODES(function, name)                    \
	VERSIONED(function, name, "@IBVERBS_PRIVATE_25");  \
	VERSIONED(function, name, "@IBVERBS_PRIVATE_33");  \
	VERSIONED(function, name, "@@IBVERBS_PRIVATE_34"); \
	VERSIONED(function, name, "@IBVERBS_PRIVATE_57");  \
	VERSIONED(function, name, "@IBVERBS_PRIVATE_59");  \
	VERSIONED(function, name, "@IBVERBS_PRIVATE_64")

/* ---- commands to a kernel device: int functions of any arguments ---- */

int compat_private_command(void);

__attribute__((used)) int compat_private_command(void)
{
	return EOPNOTSUPP;
}

#define COMMANDS(X)                       \
	X(execute_ioctl)                  \
	X(ibv_cmd_advise_mr)              \
	X(ibv_cmd_alloc_dm)               \
	X(ibv_cmd_alloc_dmah)             \
	X(ibv_cmd_alloc_mw)               \
	X(ibv_cmd_alloc_pd)               \
	X(ibv_cmd_attach_mcast)           \
	X(ibv_cmd_close_xrcd)             \
	X(ibv_cmd_create_ah)              \
	X(ibv_cmd_create_counters)        \
	X(ibv_cmd_create_cq)              \
	X(ibv_cmd_create_cq_ex)           \
	X(ibv_cmd_create_cq_ex2)          \
	X(ibv_cmd_create_flow)            \
	X(ibv_cmd_create_flow_action_esp) \
	X(ibv_cmd_create_qp)              \
	X(ibv_cmd_create_qp_ex)           \
	X(ibv_cmd_create_qp_ex2)          \
	X(ibv_cmd_create_rwq_ind_table)   \
	X(ibv_cmd_create_srq)             \
	X(ibv_cmd_create_srq_ex)          \
	X(ibv_cmd_create_wq)              \
	X(ibv_cmd_dealloc_mw)             \
	X(ibv_cmd_dealloc_pd)             \
	X(ibv_cmd_dereg_mr)               \
	X(ibv_cmd_destroy_ah)             \
	X(ibv_cmd_destroy_counters)       \
	X(ibv_cmd_destroy_cq)             \
	X(ibv_cmd_destroy_flow)           \
	X(ibv_cmd_destroy_flow_action)    \
	X(ibv_cmd_destroy_qp)             \
	X(ibv_cmd_destroy_rwq_ind_table)  \
	X(ibv_cmd_destroy_srq)            \
	X(ibv_cmd_destroy_wq)             \
	X(ibv_cmd_detach_mcast)           \
	X(ibv_cmd_export_dmabuf_fd)       \
	X(ibv_cmd_free_dm)                \
	X(ibv_cmd_free_dmah)              \
	X(ibv_cmd_get_context)            \
	X(ibv_cmd_modify_cq)              \
	X(ibv_cmd_modify_flow_action_esp) \
	X(ibv_cmd_modify_qp)              \
	X(ibv_cmd_modify_qp_ex)           \
	X(ibv_cmd_modify_srq)             \
	X(ibv_cmd_modify_wq)              \
	X(ibv_cmd_open_qp)                \
	X(ibv_cmd_open_xrcd)              \
	X(ibv_cmd_poll_cq)                \
	X(ibv_cmd_post_recv)              \
	X(ibv_cmd_post_send)              \
	X(ibv_cmd_post_srq_recv)          \
	X(ibv_cmd_query_context)          \
	X(ibv_cmd_query_device)           \
	X(ibv_cmd_query_device_any)       \
	X(ibv_cmd_query_device_ex)        \
	X(ibv_cmd_query_mr)               \
	X(ibv_cmd_query_port)             \
	X(ibv_cmd_query_port_speed)       \
	X(ibv_cmd_query_qp)               \
	X(ibv_cmd_query_srq)              \
	X(ibv_cmd_read_counters)          \
	X(ibv_cmd_reg_dm_mr)              \
	X(ibv_cmd_reg_dmabuf_mr)          \
	X(ibv_cmd_reg_mr)                 \
	X(ibv_cmd_reg_mr_ex)              \
	X(ibv_cmd_req_notify_cq)          \
	X(ibv_cmd_rereg_mr)               \
	X(ibv_cmd_resize_cq)              \
	X(ibv_get_fw_ver)

#define X(name) UNDER_ALL_NODES(compat_private_command, name);
COMMANDS(X)
#undef X

/* ---- drivers ---- */

void compat_private_register_driver(const void *ops);
void compat_register_driver(const char *name, void *init_function);

__attribute__((used)) void compat_private_register_driver(const void *ops)
{
	(void)ops;
}

/* The interface of 2006. */
__attribute__((used)) void compat_register_driver(const char *name, void *init_function)
{
	(void)name;
	(void)init_function;
}

VERSIONED(compat_private_register_driver, verbs_register_driver_25, "@@IBVERBS_PRIVATE_25");
VERSIONED(compat_private_register_driver, verbs_register_driver_33, "@@IBVERBS_PRIVATE_33");
VERSIONED(compat_private_register_driver, verbs_register_driver_34, "@@IBVERBS_PRIVATE_34");
VERSIONED(compat_private_register_driver, verbs_register_driver_57, "@@IBVERBS_PRIVATE_57");
VERSIONED(compat_private_register_driver, verbs_register_driver_59, "@@IBVERBS_PRIVATE_59");
VERSIONED(compat_private_register_driver, verbs_register_driver_64, "@@IBVERBS_PRIVATE_64");
VERSIONED(compat_register_driver, ibv_register_driver, "@IBVERBS_1.1");

/* ---- contexts and queues of providers ---- */

void *compat_private_null(void);
void compat_private_nothing(void);
void compat_private_init_cq(struct ibv_cq *cq, struct ibv_context *context,
			    struct ibv_comp_channel *channel, void *cq_context);
unsigned int compat_private_final_num_attrs(unsigned int num_attrs, const void *link);
int compat_private_no_sysfs_file(void);
int compat_private_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
				  unsigned int *type);

__attribute__((used)) void *compat_private_null(void)
{
	return compat_null(-EOPNOTSUPP);
}

__attribute__((used)) void compat_private_nothing(void)
{
}

__attribute__((used)) void compat_private_init_cq(struct ibv_cq *cq, struct ibv_context *context,
						  struct ibv_comp_channel *channel,
						  void *cq_context)
{
	cq->context = context;
	cq->channel = channel;
	cq->cq_context = cq_context;
	cq->comp_events_completed = 0;
	cq->async_events_completed = 0;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
}

__attribute__((used)) unsigned int compat_private_final_num_attrs(unsigned int num_attrs,
								  const void *link)
{
	(void)link;
	return num_attrs;
}

__attribute__((used)) int compat_private_no_sysfs_file(void)
{
	return compat_minus_one(-ENOENT);
}

__attribute__((used)) int compat_private_query_gid_type(struct ibv_context *context,
							uint8_t port_num, unsigned int index,
							unsigned int *type)
{
	return compat_query_gid_type(context, port_num, index, type);
}

UNDER_ALL_NODES(compat_private_null, _verbs_init_and_alloc_context);
UNDER_ALL_NODES(compat_private_null, verbs_open_device);
UNDER_ALL_NODES(compat_private_nothing, verbs_uninit_context);
UNDER_ALL_NODES(compat_private_nothing, verbs_set_ops);
UNDER_ALL_NODES(compat_private_nothing, __verbs_log);
UNDER_ALL_NODES(compat_private_init_cq, verbs_init_cq);
UNDER_ALL_NODES(compat_private_final_num_attrs, __ioctl_final_num_attrs);
UNDER_ALL_NODES(compat_private_no_sysfs_file, ibv_read_ibdev_sysfs_file);
UNDER_ALL_NODES(compat_private_query_gid_type, ibv_query_gid_type);

/* A variable: may objects of a device that has gone be destroyed? */
extern bool compat_private_allow_disassociate;
__attribute__((used)) bool compat_private_allow_disassociate;
UNDER_ALL_NODES(compat_private_allow_disassociate, verbs_allow_disassociate_destroy);

/* ---- public functions of later releases than the headers this is built with ---- */

void *compat_later_null(void);
int compat_later_int(void);
void compat_later_nothing(void);

__attribute__((used)) void *compat_later_null(void)
{
	return compat_null(-EOPNOTSUPP);
}

__attribute__((used)) int compat_later_int(void)
{
	return EOPNOTSUPP;
}

__attribute__((used)) int compat_later_minus_one(void);

int compat_later_minus_one(void)
{
	return compat_minus_one(-EOPNOTSUPP);
}

__attribute__((used)) void compat_later_nothing(void)
{
}

VERSIONED(compat_later_null, ibv_alloc_dmah, "@@IBVERBS_1.15");
VERSIONED(compat_later_int, ibv_dealloc_dmah, "@@IBVERBS_1.15");
VERSIONED(compat_later_null, ibv_reg_mr_ex, "@@IBVERBS_1.15");
VERSIONED(compat_later_minus_one, ibv_dm_export_dmabuf_fd, "@@IBVERBS_1.16");
VERSIONED(compat_later_null, ibv_alloc_buf, "@@IBVERBS_1.17");
VERSIONED(compat_later_nothing, ibv_free_buf, "@@IBVERBS_1.17");
VERSIONED(compat_later_null, ibv_reg_buf_mr, "@@IBVERBS_1.17");
