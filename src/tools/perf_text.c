/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `uroce perf` shows: the two sides in a line each, a row a size as soon as it is measured, of
 * a single latency its histogram, and hints. All of it is told from the record.
 */
#include "tools/perf.h"
#include "verify/kind.h"
#include "verify/lines.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#define ROWS_MAX       12
#define BAR_WIDTH      40
#define TAIL	       0.99 /* what is slower is one row of the histogram */
#define WIPE_LINE      "\r\033[K"
#define GOVERNOR_FAST  "performance"
#define TRANSPORT_TEXT 8
#define INTERRUPTED_MS 500

/* ---- what is asked of a record ---- */

static const json_t *facts_of(const struct roce_verify_record *record, int side)
{
	return json_object_get(record->facts[side], "facts");
}

static const json_t *detail_of(const struct roce_verify_outcome *o, int side, const char *name)
{
	const json_t *its =
		json_object_get(o->detail, roce_verify_side_str((enum roce_verify_side)side));

	return json_object_get(its, name);
}

static double value_of(const struct roce_verify_outcome *o, const char *name)
{
	return json_number_value(json_object_get(o->values, name));
}

/* The last outcome that has figures; NULL: none. */
static const struct roce_verify_outcome *last_measured(const struct roce_verify_record *record)
{
	for (uint32_t i = record->outcome_count; i-- > 0;) {
		if (record->outcomes[i].has_value)
			return &record->outcomes[i];
	}
	return NULL;
}

static unsigned long long size_of(const struct roce_verify_outcome *o)
{
	return (unsigned long long)json_integer_value(json_object_get(o->c->parameters, "size"));
}

/* An IPv4 address without what makes a GID of it. */
static const char *short_gid(const char *gid)
{
	return strncmp(gid, "::ffff:", 7) == 0 && strchr(gid, '.') ? gid + 7 : gid;
}

static const json_t *device_of(const json_t *facts, const char *name)
{
	const json_t *devices = json_object_get(facts, "devices");

	for (size_t i = 0; i < json_array_size(devices); i++) {
		const json_t *device = json_array_get(devices, i);

		if (strcmp(roce_json_text(device, "name"), name) == 0)
			return device;
	}
	return NULL;
}

/* ---- the head ---- */

/* A peer's words: only what can be printed. */
static void print_text(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(isprint((unsigned char)*text) ? *text : '?', out);
}

static void print_side(const struct roce_perf_text *t, const struct roce_verify_record *record,
		       const struct roce_verify_outcome *o, int side)
{
	const json_t *facts = facts_of(record, side);
	const json_t *path = detail_of(o, side, "path");
	const char *device = roce_json_text(path, "device");
	const json_t *netdev = json_object_get(device_of(facts, device), "netdev");
	char line[400];

	if (*device)
		snprintf(line, sizeof(line),
			 "  %-10s%s: %s port %.0f, GID %.0f %s, %s MTU %.0f; Linux %s, %s x %.0f\n",
			 roce_verify_side_str((enum roce_verify_side)side),
			 roce_json_text(facts, "host"), device, roce_json_number(path, "port"),
			 roce_json_number(path, "gid_index"),
			 short_gid(roce_json_text(path, "gid")), roce_json_text(netdev, "name"),
			 roce_json_number(netdev, "mtu"), roce_json_text(facts, "kernel"),
			 roce_json_text(facts, "cpu"), roce_json_number(facts, "cpus"));
	else
		snprintf(line, sizeof(line), "  %-10s%s\n",
			 roce_verify_side_str((enum roce_verify_side)side),
			 roce_json_text(facts, "host"));
	line[strcspn(line, "\n")] = '\0';
	print_text(t->outlet.text, line);
	fputc('\n', t->outlet.text);
}

/* "XRC" */
static const char *transport_text(const struct roce_perf_options *o, char out[TRANSPORT_TEXT])
{
	size_t i = 0;

	for (; o->transport[i] && i + 1 < TRANSPORT_TEXT; i++)
		out[i] = (char)toupper((unsigned char)o->transport[i]);
	out[i] = '\0';
	return out;
}

static const char *method(const struct roce_perf_options *o)
{
	if (roce_perf_is_bandwidth(o))
		return o->is_both ? "both directions together" : "one direction";
	return roce_perf_is_to_completion(o) ? "from post to completion"
					     : "in turn, half of each round trip";
}

static void print_head(struct roce_perf_text *t, const struct roce_verify_record *record,
		       const struct roce_verify_outcome *o)
{
	const struct roce_perf_options *options = t->o;
	bool is_inline = json_is_true(detail_of(o, ROCE_VERIFY_INITIATOR, "inline"));
	char transport[TRANSPORT_TEXT];

	fprintf(t->outlet.text, "uroce perf %s: %s, %s\n", options->test->name,
		transport_text(options, transport), method(options));
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		print_side(t, record, o, side);
	fprintf(t->outlet.text, "  path MTU %.0f",
		json_number_value(detail_of(o, ROCE_VERIFY_INITIATOR, "mtu")));
	if (roce_perf_is_bandwidth(options))
		fprintf(t->outlet.text, ", %llu queue pair%s, %llu requests under way on each",
			(unsigned long long)options->qps, options->qps == 1 ? "" : "s",
			(unsigned long long)options->depth);
	if (is_inline)
		fprintf(t->outlet.text, ", inline up to %llu B",
			(unsigned long long)options->inline_max);
	fprintf(t->outlet.text, "\n\n");
	if (roce_perf_is_bandwidth(options))
		fprintf(t->outlet.text, "%9s %10s %14s%s\n", "bytes", "Gb/s", "messages/s",
			roce_perf_is_reliable(options) ? "" : "     lost %");
	else
		fprintf(t->outlet.text, "%9s %9s %9s %9s %9s %9s %9s %9s  us\n", "bytes",
			"messages", "min", "p50", "p90", "p99", "p99.9", "max");
	t->has_head = true;
}

/* ---- rows ---- */

/* Three digits that matter, and columns that stay below each other. */
static void print_time(FILE *out, double us)
{
	fprintf(out, " %9.*f", us < 9.995 ? 2 : us < 1000 ? 1 : 0, us);
}

static void print_latency(FILE *out, const struct roce_verify_outcome *o)
{
	static const char *const names[] = {"min", "p50", "p90", "p99", "p99.9", "max"};

	fprintf(out, "%9llu %9lld", size_of(o),
		(long long)json_integer_value(detail_of(o, ROCE_VERIFY_INITIATOR, "samples")));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		print_time(out, value_of(o, names[i]));
	fputc('\n', out);
}

static void print_bandwidth(const struct roce_perf_text *t, const struct roce_verify_outcome *o)
{
	fprintf(t->outlet.text, "%9llu %10.4g %14.0f", size_of(o), value_of(o, "rate"),
		value_of(o, "messages"));
	/* of WRITEs of UC nobody knows what was lost */
	if (!roce_perf_is_reliable(t->o) && json_object_get(o->values, "lost"))
		fprintf(t->outlet.text, " %10.3g", value_of(o, "lost"));
	else if (!roce_perf_is_reliable(t->o))
		fprintf(t->outlet.text, " %10s", "-");
	fputc('\n', t->outlet.text);
}

static void wipe(struct roce_perf_text *t)
{
	if (t->is_drawn && roce_verify_outlet_has_room(stderr))
		fprintf(stderr, WIPE_LINE);
	t->is_drawn = false;
}

static void push(struct roce_perf_text *t)
{
	if (!roce_verify_outlet_can_push(&t->outlet))
		return;
	wipe(t);
	roce_verify_outlet_push(&t->outlet);
}

static void on_progress(void *context, const struct roce_verify_record *record, double part)
{
	struct roce_perf_text *t = context;
	const struct roce_verify_outcome *o =
		record->outcome_count ? &record->outcomes[record->outcome_count - 1] : NULL;

	push(t);
	if (!t->has_progress || part < 0 || part > 1 || !o || !roce_verify_outlet_has_room(stderr))
		return;
	fprintf(stderr, WIPE_LINE "%9llu B: %.0f %%", size_of(o), part * 100);
	fflush(stderr);
	t->is_drawn = true;
}

static void on_ended(void *context, const struct roce_verify_record *record,
		     const struct roce_verify_outcome *outcome)
{
	struct roce_perf_text *t = context;

	if (outcome->has_value && !t->has_head)
		print_head(t, record, outcome);
	/* of a run that was interrupted the end says so */
	if (outcome->verdict == ROCE_VERIFY_FAIL && !record->broken_off) {
		t->failed = outcome;
	} else if (outcome->verdict == ROCE_VERIFY_SKIPPED) {
		fprintf(t->outlet.text, "%9llu not measured: %s\n", size_of(outcome),
			outcome->reason);
	} else if (outcome->has_value && roce_perf_is_bandwidth(t->o)) {
		print_bandwidth(t, outcome);
	} else if (outcome->has_value) {
		print_latency(t->outlet.text, outcome);
	}
	push(t);
}

void roce_perf_text_init(struct roce_perf_text *text, const struct roce_perf_options *o, FILE *out)
{
	*text = (struct roce_perf_text){.o = o, .has_progress = isatty(STDERR_FILENO)};
	roce_verify_outlet_init(&text->outlet, out);
}

struct roce_verify_watcher roce_perf_text_watcher(struct roce_perf_text *text)
{
	return (struct roce_verify_watcher){
		.context = text,
		.progress = on_progress,
		.ended = on_ended,
	};
}

/* ---- the histogram ---- */

struct row {
	double from;
	double to;
	double count;
};

static double bucket_number(const json_t *buckets, size_t i, size_t k)
{
	return json_number_value(json_array_get(json_array_get(buckets, i), k));
}

/* How many buckets hold all but the slowest. */
static size_t count_before_tail(const json_t *buckets, double all)
{
	double sum = 0;
	size_t n = 0;

	while (n < json_array_size(buckets) && sum < all * TAIL)
		sum += bucket_number(buckets, n++, 2);
	return n;
}

/* Neighbours together, so many that rows are left; then one row for the slowest. */
static size_t make_rows(const json_t *buckets, double all, struct row rows[ROWS_MAX + 1])
{
	size_t body = count_before_tail(buckets, all);
	size_t together = (body + ROWS_MAX - 1) / ROWS_MAX;
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(buckets); i++) {
		bool is_new = i < body ? i % together == 0 : i == body;

		if (is_new)
			rows[count++] = (struct row){.from = bucket_number(buckets, i, 0)};
		rows[count - 1].to = bucket_number(buckets, i, 1);
		rows[count - 1].count += bucket_number(buckets, i, 2);
	}
	return count;
}

static void print_histogram(FILE *out, const json_t *histogram)
{
	const json_t *buckets = json_object_get(histogram, "buckets");
	struct row rows[ROWS_MAX + 1];
	double all = 0;
	double most = 0;
	size_t count;

	for (size_t i = 0; i < json_array_size(buckets); i++)
		all += bucket_number(buckets, i, 2);
	count = make_rows(buckets, all, rows);
	for (size_t i = 0; i < count; i++)
		most = rows[i].count > most ? rows[i].count : most;
	if (all <= 0 || most <= 0) /* what a peer may send */
		return;
	fprintf(out, "\n%10s %9s\n", "from us", "below");
	for (size_t i = 0; i < count; i++) {
		int width = (int)(rows[i].count / most * BAR_WIDTH + 0.5);

		print_time(out, rows[i].from);
		print_time(out, rows[i].to);
		fprintf(out, "  %-*.*s %6.2f %%  %.0f\n", BAR_WIDTH, width,
			"########################################", 100 * rows[i].count / all,
			rows[i].count);
	}
}

/* ---- hints ---- */

__attribute__((format(printf, 2, 3))) static void add(json_t *hints, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *p = text; *p; p++)
		*p = isprint((unsigned char)*p) ? *p : '?';
	json_array_append_new(hints, json_string(text));
}

static void hint_at_machine(json_t *hints, const struct roce_verify_record *record, int side)
{
	const char *name = roce_verify_side_str((enum roce_verify_side)side);
	const json_t *facts = facts_of(record, side);
	const char *governor = roce_json_text(facts, "governor");
	double load = roce_json_number(facts, "load");
	double cpus = roce_json_number(facts, "cpus");

	if (*governor && strcmp(governor, GOVERNOR_FAST) != 0)
		add(hints, "%s: CPUs run with governor %s; cpupower frequency-set -g performance",
		    name, governor);
	if (cpus > 0 && load > cpus)
		add(hints, "%s: other programs compete for its %.0f CPUs (load %.1f)", name, cpus,
		    load);
}

static bool is_loopback(const char *gid)
{
	return strcmp(gid, "::1") == 0 || strncmp(short_gid(gid), "127.", 4) == 0;
}

static void hint_at_path(json_t *hints, const struct roce_perf_options *options,
			 const struct roce_verify_record *record,
			 const struct roce_verify_outcome *o)
{
	const char *gids[ROCE_VERIFY_SIDES];
	double mtu = json_number_value(detail_of(o, ROCE_VERIFY_INITIATOR, "mtu"));

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		gids[side] = roce_json_text(detail_of(o, side, "path"), "gid");
	if (is_loopback(gids[0]) || strcmp(gids[0], gids[1]) == 0)
		add(hints,
		    "both ends are addresses of one host (loopback): nothing goes over a wire");
	else if (options->is_local && !options->sides.is_system)
		add(hints, "both sides share this machine's %.0f CPUs, and no wire is between them",
		    roce_json_number(facts_of(record, 0), "cpus"));
	if (mtu > 0 && mtu < 4096 && !options->mtu && (double)size_of(o) > mtu)
		add(hints,
		    "path MTU %.0f: links and switches with an MTU of 4200 and more allow 4096%s",
		    mtu, options->is_local ? " (-m 4096 makes such a link)" : "");
}

static void hint_at_figures(json_t *hints, const struct roce_perf_options *options,
			    const struct roce_verify_outcome *o)
{
	char transport[TRANSPORT_TEXT];

	if (roce_perf_is_bandwidth(options) && value_of(o, "lost") > 0)
		add(hints,
		    "%.3g %% of the messages were lost: the receiver or a buffer between cannot "
		    "follow, and %s does not repeat them",
		    value_of(o, "lost"), transport_text(options, transport));
	if (roce_perf_is_bandwidth(options) && strcmp(options->transport, "uc") == 0 &&
	    !json_object_get(o->values, "lost"))
		add(hints, "UC WRITE: the figures are of what was sent; nobody sees what arrives");
	if (!roce_perf_is_bandwidth(options) && value_of(o, "lost") > 0)
		add(hints,
		    "%.3g %% of the messages, or their answers, were lost, and are in none of the "
		    "figures",
		    value_of(o, "lost"));
	if (!roce_perf_is_bandwidth(options) && value_of(o, "p99") > 10 * value_of(o, "p50"))
		add(hints,
		    "p99 is %.0f times p50: something interrupts (other programs, power "
		    "saving); taskset and isolated CPUs help",
		    value_of(o, "p99") / value_of(o, "p50"));
}

json_t *roce_perf_hints(const struct roce_perf_options *o, const struct roce_verify_record *record)
{
	const struct roce_verify_outcome *outcome = last_measured(record);
	json_t *hints = json_array();

	if (!outcome)
		return hints;
	hint_at_machine(hints, record, ROCE_VERIFY_INITIATOR);
	if (record->peer)
		hint_at_machine(hints, record, ROCE_VERIFY_TARGET);
	hint_at_path(hints, o, record, outcome);
	hint_at_figures(hints, o, outcome);
	return hints;
}

static void tell_why(const struct roce_perf_text *t, const struct roce_verify_record *record)
{
	if (t->failed)
		fprintf(stderr, "uroce perf: %llu B: %s\n", size_of(t->failed), t->failed->reason);
	else if (record->broken_off)
		fprintf(stderr, "uroce perf: broken off: %s\n", record->broken_off);
}

void roce_perf_text_summary(struct roce_perf_text *text, const struct roce_verify_record *record)
{
	const struct roce_verify_outcome *o = last_measured(record);
	json_t *hints = roce_perf_hints(text->o, record);

	wipe(text);
	if (o && o->histogram && !text->o->has_all_sizes)
		print_histogram(text->outlet.text, o->histogram);
	if (json_array_size(hints))
		fputc('\n', text->outlet.text);
	for (size_t i = 0; i < json_array_size(hints); i++)
		fprintf(text->outlet.text, "hint: %s\n",
			json_string_value(json_array_get(hints, i)));
	json_decref(hints);
	push(text);
	tell_why(text, record);
}

void roce_perf_text_end(struct roce_perf_text *text, bool was_interrupted)
{
	roce_verify_outlet_end(&text->outlet, was_interrupted ? INTERRUPTED_MS : -1);
}
