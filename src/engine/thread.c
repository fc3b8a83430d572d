/* SPDX-License-Identifier: BSD-2-Clause */
/* The mask is inherited, so it is set around the creation. */
#include "engine/thread.h"

#include <signal.h>

int roce_thread_create(pthread_t *out, const char *name, void *(*run)(void *), void *arg)
{
	sigset_t most, old;
	int err;

	sigfillset(&most);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGILL);
	sigdelset(&most, SIGFPE);
	sigdelset(&most, SIGTRAP);
	sigdelset(&most, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &most, &old);
	err = pthread_create(out, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err == 0)
		(void)pthread_setname_np(*out, name);
	return -err;
}
