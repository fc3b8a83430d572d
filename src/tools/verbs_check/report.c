/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts go to standard error, the result to standard output. Called by every part; the first fault
 * stays, for those that follow are its consequences.
 */
#include "tools/verbs_check/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/verbs_check/open_program.h"

/* Sockets overflow on a busy machine, so that a good share may be missing. */
enum { ARRIVALS_MANY = 200, ARRIVALS_SHARE = 10 };

static enum vc_verdict record(struct vc_report *report, enum vc_verdict verdict, const char *format,
			      va_list args)
{
	if (report->verdict == VC_RIGHT) {
		report->verdict = verdict;
		(void)vsnprintf(report->text, sizeof(report->text), format, args);
	}
	return report->verdict;
}

enum vc_verdict vc_report_wrong(struct vc_report *report, const char *format, ...)
{
	enum vc_verdict verdict;
	va_list args;

	va_start(args, format);
	verdict = record(report, VC_WRONG, format, args);
	va_end(args);
	return verdict;
}

enum vc_verdict vc_report_unusable(struct vc_report *report, const char *format, ...)
{
	enum vc_verdict verdict;
	va_list args;

	va_start(args, format);
	verdict = record(report, VC_UNUSABLE, format, args);
	va_end(args);
	return verdict;
}

enum vc_verdict vc_report_remote(struct vc_report *report, enum vc_verdict verdict,
				 const char *text)
{
	if (report->verdict == VC_RIGHT) {
		report->verdict = verdict;
		report->remote = true;
		(void)snprintf(report->text, sizeof(report->text), "the other side: %s", text);
	}
	return report->verdict;
}

void vc_report_add(struct vc_report *report, const char *format, ...)
{
	size_t used = strlen(report->text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(report->text + used, sizeof(report->text) - used, format, args);
	va_end(args);
}

/* What may have come to `side` in an open seed. */
static void count_awaited(struct vc_report *report, const struct vc_program *program, uint32_t side)
{
	bool by_queue = program->transport == VC_TRANSPORT_XRC;
	uint32_t ends = by_queue ? program->sides[side].pool_count : program->qp_count;

	for (uint32_t from = 0; from < VC_SIDES; from++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			const struct vc_lane *lane = &program->sides[from].lanes[q];

			for (uint32_t i = 0; i < lane->request_count * ends; i++) {
				const struct vc_request *request = &lane->requests[i / ends];

				if (!vc_open_is_for(program, from, request, q, side, i % ends))
					continue;
				if (request->flags & VC_MULTICAST)
					report->awaited_group++;
				else if (!(request->flags & VC_REPLY))
					report->awaited[program->transport]++;
			}
		}
	}
}

enum vc_verdict vc_report_check_arrivals(struct vc_report *report)
{
	for (uint32_t t = 0; t < VC_TRANSPORT_COUNT; t++)
		if (report->awaited[t] > ARRIVALS_MANY &&
		    report->arrived[t] < report->awaited[t] / ARRIVALS_SHARE)
			return vc_report_wrong(report,
					       "%s: only %" PRIu64 " of %" PRIu64
					       " messages came; if the network loses so many say "
					       "--link loss",
					       vc_transport_str(t), report->arrived[t],
					       report->awaited[t]);
	if (report->awaited_group > ARRIVALS_MANY &&
	    report->arrived_group < report->awaited_group / ARRIVALS_SHARE)
		return vc_report_wrong(report,
				       "multicast: only %" PRIu64 " of %" PRIu64
				       " copies came; if the network loses so many say --link loss",
				       report->arrived_group, report->awaited_group);
	return VC_RIGHT;
}

void vc_report_count(struct vc_report *report, const struct vc_program *program, uint32_t side)
{
	report->seed_count++;
	report->request_count += program->request_count;
	report->byte_count += program->byte_count;
	report->skipped += program->skipped;
	report->fault_counts[program->fault]++;
	report->transport_counts[program->transport]++;
	for (uint32_t f = 0; f < VC_FEATURE_COUNT; f++)
		report->feature_counts[f] += vc_program_has(program, f);
	if (program->is_open)
		count_awaited(report, program, side);
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			const struct vc_lane *lane = &program->sides[s].lanes[q];

			for (uint32_t i = 0; i < lane->request_count; i++)
				if (lane->requests[i].status == IBV_WC_SUCCESS)
					report->op_counts[lane->requests[i].op]++;
		}
	}
}

void vc_report_failed(enum ibv_wc_status *failed, enum ibv_wc_status status)
{
	if (*failed == IBV_WC_SUCCESS || *failed == IBV_WC_WR_FLUSH_ERR)
		*failed = status;
}

static void print_failed(const char *what, enum ibv_wc_status status)
{
	if (status != IBV_WC_SUCCESS)
		printf("; %s: %s", what, ibv_wc_status_str(status));
}

void vc_report_scenario(struct vc_report *report, const char *name, const char *reason, bool print)
{
	if (reason) {
		report->scenarios_skipped++;
		report->skip_reason = reason;
	} else {
		report->scenarios_right++;
	}
	if (report->result_count < VC_SCENARIO_RESULTS_MAX)
		report->results[report->result_count++] = (struct vc_scenario_result){
			.name = name,
			.reason = reason,
			.failed_request = report->failed_request,
			.failed_receive = report->failed_receive,
		};
	if (print) {
		printf("%-24s %s%s", name, reason ? "skipped: " : "right", reason ? reason : "");
		print_failed("request", report->failed_request);
		print_failed("receive", report->failed_receive);
		putchar('\n');
		(void)fflush(stdout);
	}
	report->failed_request = report->failed_receive = IBV_WC_SUCCESS;
}

void vc_report_progress(struct vc_report *report, uint64_t seed_count, uint64_t now_ns)
{
	if (!isatty(STDERR_FILENO) || now_ns - report->progress_ns < 100000000)
		return;
	report->progress_ns = now_ns;
	(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " operations\033[K",
		      report->seed_count, seed_count, report->request_count);
	(void)fflush(stderr);
}

static void print_counts(const struct vc_report *report)
{
	for (uint32_t op = 0; op < VC_OP_COUNT; op++)
		printf("  %-12s %" PRIu64 "\n", vc_op_str((enum vc_op)op), report->op_counts[op]);
	for (uint32_t t = 0; t < VC_TRANSPORT_COUNT; t++)
		printf("  %-12s %" PRIu64 " seeds; %" PRIu64 " of %" PRIu64
		       " messages came to shared or unreliable receives here\n",
		       vc_transport_str(t), report->transport_counts[t], report->arrived[t],
		       report->awaited[t]);
	printf("  %-12s %" PRIu64 " of %" PRIu64 " copies came\n", "multicast",
	       report->arrived_group, report->awaited_group);
	for (uint32_t f = 0; f < VC_FEATURE_COUNT; f++)
		printf("  %-12s %" PRIu64 " seeds\n", vc_feature_str(f), report->feature_counts[f]);
	for (uint32_t f = VC_FAULT_NONE + 1; f < VC_FAULT_COUNT; f++)
		if (report->fault_counts[f])
			printf("  fault: %s %" PRIu64 "\n", vc_fault_str((enum vc_fault)f),
			       report->fault_counts[f]);
}

static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text >= 0x20)
			putchar(*text);
	}
	putchar('"');
}

static void print_json_status(const char *what, enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS)
		return;
	printf(",\"%s\":", what);
	print_string(ibv_wc_status_str(status));
}

static void print_json_results(const struct vc_report *report)
{
	printf(",\"results\":[");
	for (uint32_t i = 0; i < report->result_count; i++) {
		const struct vc_scenario_result *r = &report->results[i];

		printf("%s{\"scenario\":", i ? "," : "");
		print_string(r->name);
		printf(",\"result\":\"%s\"", r->reason ? "skipped" : "right");
		if (r->reason) {
			printf(",\"reason\":");
			print_string(r->reason);
		}
		print_json_status("request", r->failed_request);
		print_json_status("receive", r->failed_receive);
		putchar('}');
	}
	putchar(']');
}

static void print_json(const struct vc_report *report, const char *name)
{
	printf("{\"program\":\"verbs-check\",\"side\":");
	print_string(name);
	printf(",\"right\":%s,\"seeds\":%" PRIu64 ",\"operations\":%" PRIu64 ",\"bytes\":%" PRIu64
	       ",\"skipped\":%" PRIu64,
	       report->verdict == VC_RIGHT ? "true" : "false", report->seed_count,
	       report->request_count, report->byte_count, report->skipped);
	printf(",\"succeeded\":{");
	for (uint32_t op = 0; op < VC_OP_COUNT; op++)
		printf("%s\"%s\":%" PRIu64, op ? "," : "", vc_op_str((enum vc_op)op),
		       report->op_counts[op]);
	printf("},\"faults\":{");
	for (uint32_t f = VC_FAULT_NONE + 1; f < VC_FAULT_COUNT; f++)
		printf("%s\"%s\":%" PRIu64, f > 1 ? "," : "", vc_fault_str((enum vc_fault)f),
		       report->fault_counts[f]);
	putchar('}');
	if (report->scenarios_right || report->scenarios_skipped)
		printf(",\"scenarios\":%u,\"scenarios_skipped\":%u", report->scenarios_right,
		       report->scenarios_skipped);
	if (report->result_count)
		print_json_results(report);
	if (report->skip_reason) {
		printf(",\"skip_reason\":");
		print_string(report->skip_reason);
	}
	if (report->verdict != VC_RIGHT && report->scenario) {
		printf(",\"scenario\":");
		print_string(report->scenario);
	}
	if (report->verdict != VC_RIGHT) {
		printf("%s,\"status\":%d,\"found\":",
		       report->not_offered ? ",\"not_offered\":true" : "", (int)report->verdict);
		print_string(report->text);
		if (report->seed_valid)
			printf(",\"seed\":%" PRIu64, report->seed);
	}
	printf("}\n");
}

void vc_report_print(const struct vc_report *report, const char *name, const char *replay,
		     bool json, bool verbose)
{
	if (isatty(STDERR_FILENO) && report->progress_ns)
		(void)fprintf(stderr, "\r\033[K");
	if (json)
		print_json(report, name);
	if (report->verdict == VC_UNUSABLE) {
		(void)fprintf(stderr, "verbs-check: %s: %s\n", name, report->text);
		return;
	}
	if (report->verdict == VC_WRONG) {
		(void)fprintf(stderr, "verbs-check: %s: %s%sseed %" PRIu64 ": %s\n", name,
			      report->scenario ? report->scenario : "",
			      report->scenario ? ", " : "", report->seed, report->text);
		(void)fprintf(stderr, "verbs-check: replay: %s\n", replay);
		return;
	}
	if (json)
		return;
	if (report->scenarios_right || report->scenarios_skipped)
		printf("verbs-check: %u scenarios, %u skipped\n", report->scenarios_right,
		       report->scenarios_skipped);
	printf("verbs-check: %" PRIu64 " seeds, %" PRIu64 " operations, %" PRIu64
	       " bytes, all right",
	       report->seed_count, report->request_count, report->byte_count);
	if (report->skipped)
		printf(" (%" PRIu64 " skipped: not offered by the device)", report->skipped);
	putchar('\n');
	if (verbose)
		print_counts(report);
}
