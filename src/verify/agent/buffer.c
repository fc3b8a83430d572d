/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory from mmap(), so that nothing else is in its pages. */
#include "verify/agent/buffer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TARGET_SEED UINT64_C(0x7a7a7a7a7a7a7a7a)

static size_t mapped_size(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page + (bytes ? 0 : page);
}

bool va_buffer_try(struct va_device *device, size_t bytes, unsigned int access,
		   struct va_buffer *out)
{
	void *at = mmap(NULL, mapped_size(bytes), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*out = (struct va_buffer){.bytes = bytes};
	if (at == MAP_FAILED)
		return false;
	out->at = at;
	out->mr = ibv_reg_mr(device->pd, at, bytes, access);
	return out->mr != NULL;
}

void va_buffer_create(struct va_run *run, struct va_device *device, size_t bytes,
		      unsigned int access, struct va_buffer *out)
{
	bool is_made = va_buffer_try(device, bytes, access, out);

	va_need(run, is_made, out->at ? "ibv_reg_mr" : "mmap");
}

void va_buffer_destroy(struct va_run *run, struct va_buffer *buffer)
{
	int rc = ibv_dereg_mr(buffer->mr);

	if (rc)
		va_fail(run, "ibv_dereg_mr: %s", strerror(rc));
	(void)munmap(buffer->at, mapped_size(buffer->bytes));
	*buffer = (struct va_buffer){0};
}

void va_buffer_exchange(struct va_run *run, const struct va_buffer *own, struct va_remote *out)
{
	json_t *theirs = va_exchange(
		run, json_pack("{s:I, s:I, s:I}", "address", (json_int_t)(uintptr_t)own->at, "rkey",
			       (json_int_t)own->mr->rkey, "bytes", (json_int_t)own->bytes));

	*out = (struct va_remote){
		.address = (uint64_t)roce_json_integer(theirs, "address"),
		.rkey = (uint32_t)roce_json_integer(theirs, "rkey"),
		.bytes = (uint64_t)roce_json_integer(theirs, "bytes"),
	};
	json_decref(theirs);
}

uint64_t va_seed(const struct va_run *run, bool is_own)
{
	return run->is_initiator == is_own ? run->seed : run->seed ^ TARGET_SEED;
}

/* Eight bytes of the pattern at once: a mix of seed and place. */
static uint64_t word(uint64_t seed, uint64_t index)
{
	uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15) + seed;

	z = (z ^ (z >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return z ^ (z >> 29);
}

uint8_t va_pattern_byte(uint64_t seed, uint64_t offset)
{
	return (uint8_t)(word(seed, offset / 8) >> offset % 8 * 8);
}

void va_pattern_fill(uint8_t *at, size_t length, uint64_t seed, uint64_t offset)
{
	size_t i = 0;

	for (; i < length && (offset + i) % 8; i++)
		at[i] = va_pattern_byte(seed, offset + i);
	for (; length - i >= 8; i += 8) {
		uint64_t w = word(seed, (offset + i) / 8);

		for (unsigned int b = 0; b < 8; b++)
			at[i + b] = (uint8_t)(w >> 8 * b);
	}
	for (; i < length; i++)
		at[i] = va_pattern_byte(seed, offset + i);
}

size_t va_pattern_check(const uint8_t *at, size_t length, uint64_t seed, uint64_t offset)
{
	uint8_t right[4096];

	for (size_t i = 0; i < length; i += sizeof(right)) {
		size_t n = length - i < sizeof(right) ? length - i : sizeof(right);

		va_pattern_fill(right, n, seed, offset + i);
		if (memcmp(at + i, right, n) == 0)
			continue;
		for (size_t j = 0; j < n; j++) {
			if (at[i + j] != right[j])
				return i + j;
		}
	}
	return length;
}

void va_pattern_must(struct va_run *run, const uint8_t *at, size_t length, uint64_t seed,
		     uint64_t offset, const char *what)
{
	size_t right = va_pattern_check(at, length, seed, offset);

	if (right < length)
		va_fail(run, "%s: byte %zu of %zu is 0x%02x, expected 0x%02x", what, right, length,
			at[right], va_pattern_byte(seed, offset + right));
}

void va_filler_must(struct va_run *run, const uint8_t *at, size_t length, uint8_t filler,
		    const char *what)
{
	for (size_t i = 0; i < length; i++) {
		if (at[i] != filler)
			va_fail(run, "%s: byte %zu of %zu was 0x%02x and became 0x%02x", what, i,
				length, filler, at[i]);
	}
}
