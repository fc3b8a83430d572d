/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP for the control connection, over IPv4 and IPv6. */
#ifndef ROCE_VERIFY_NETWORK_H
#define ROCE_VERIFY_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_VERIFY_ADDRESS_SIZE 64

/* "host", "host:port", "[v6]:port", "v6". False: no such form. */
bool roce_verify_address_parse(const char *text, char *host, size_t host_size, uint16_t *port);

/* A descriptor, or -1 with one line in `err`. */
int roce_verify_connect(const char *host, uint16_t port, char *err, size_t err_size);
int roce_verify_listen(const char *bind_to, uint16_t port, char *err, size_t err_size);

/* What a connection that has come needs: an end when the other host has vanished. */
void roce_verify_socket_tune(int fd);
/* The addresses of its ends, without port. */
void roce_verify_socket_names(int fd, char own[ROCE_VERIFY_ADDRESS_SIZE],
			      char peer[ROCE_VERIFY_ADDRESS_SIZE]);
/* Which port it has. */
uint16_t roce_verify_socket_port(int fd);

#endif
