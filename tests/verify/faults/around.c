/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults around the adapter, in what verification itself relies on: harm to packets that is asked
 * for by UROCE_IMPAIR and not done, a line that `tc` does not shape, or shapes to less, and one
 * that `uroce sim` simulates slower than it should. They are in front of libc instead of
 * libibverbs.
 */
#include "plant.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT	      __attribute__((visibility("default")))
#define WORDS_MAX     32
#define SCENARIO_MAX  4096
#define LINE_PERCENT  90
#define REAL(name)    ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define RATE_OF_SCENE "{rate: "

/* Also the wrapper's question, in libibverbs. */
EXPORT char *getenv(const char *name)
{
	static __typeof__(&getenv) real; /* asked often */
	char *value;

	if (!real)
		real = REAL(getenv);
	value = real(name);

	return value && strcmp(name, "UROCE_IMPAIR") == 0 && plant_draw(PLANT_IDLE_WRAPPER) ? NULL
											    : value;
}

/* ---- tc ---- */

/* The word behind `name`; 0: none. */
static int find_value(char *const argv[], const char *name)
{
	for (int i = 0; argv[i] && argv[i + 1]; i++) {
		if (strcmp(argv[i], name) == 0)
			return i + 1;
	}
	return 0;
}

static bool is_shaping(char *const argv[])
{
	return strcmp(argv[0], "tc") == 0 && find_value(argv, "tbf") && find_value(argv, "rate");
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char *nothing[] = {(char *)(uintptr_t) "true", NULL};
	char *words[WORDS_MAX + 1] = {NULL};
	char rate[32];

	if (is_shaping(argv) && plant_draw(PLANT_UNSHAPED_LINE))
		return REAL(posix_spawnp)(pid, "true", actions, attr, nothing, envp);
	if (!is_shaping(argv) || !plant_draw(PLANT_SLOW_LINE))
		return REAL(posix_spawnp)(pid, file, actions, attr, argv, envp);
	for (int i = 0; i < WORDS_MAX && argv[i]; i++)
		words[i] = argv[i];
	snprintf(rate, sizeof(rate), "%llubit",
		 strtoull(words[find_value(argv, "rate")], NULL, 10) * LINE_PERCENT / 100);
	words[find_value(argv, "rate")] = rate;
	return REAL(posix_spawnp)(pid, file, actions, attr, words, envp);
}

/* ---- uroce sim ---- */

/* Digits in their place, so that the scenario stays as long. */
static void slow_scenario(const char *path)
{
	char text[SCENARIO_MAX + 1] = "";
	char number[32];
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *rate;
	size_t width;

	if (fd < 0)
		return;
	if (pread(fd, text, SCENARIO_MAX, 0) > 0 && (rate = strstr(text, RATE_OF_SCENE)) &&
	    plant_draw(PLANT_SLOW_LINE)) {
		rate += strlen(RATE_OF_SCENE);
		width = strspn(rate, "0123456789");
		snprintf(number, sizeof(number), "%*llu", (int)width,
			 strtoull(rate, NULL, 10) * LINE_PERCENT / 100);
		(void)!pwrite(fd, number, width, rate - text);
	}
	close(fd);
}

EXPORT int execv(const char *path, char *const argv[])
{
	if (argv[0] && argv[1] && argv[2] && strcmp(argv[1], "sim") == 0 &&
	    plant_is(PLANT_SLOW_LINE))
		slow_scenario(argv[2]);
	return REAL(execv)(path, argv);
}
