/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects, agrees, then runs seed after seed: draw the program, fill memory, make the objects,
 * exchange their names, run the phases with barriers between them, compare all memory, tear down.
 * The first fault ends the session, and the other side is told.
 */
#include "tools/verbs_check/session.h"

#include "tools/verbs_check/agree.h"
#include "tools/verbs_check/open_phases.h"
#include "tools/verbs_check/rc_phases.h"
#include "tools/verbs_check/run.h"
#include "tools/verbs_check/scenario.h"

struct session {
	struct vc_control control;
	struct vc_device device;
	struct vc_peer peer;
	struct vc_limits limits;
	struct vc_program program;
	struct vc_memory memory;
	struct vc_endpoint endpoint;
};

static enum vc_verdict set_up_seed(struct session *session, uint32_t side, struct vc_run *run,
				   struct vc_report *report)
{
	const struct vc_program *program = &session->program;
	enum vc_verdict verdict = vc_memory_prepare(&session->memory, program, side, report);

	if (verdict == VC_RIGHT)
		verdict = vc_endpoint_create(&session->endpoint, &session->device, program, side,
					     &session->memory, report);
	if (verdict == VC_RIGHT)
		verdict = vc_endpoint_exchange(&session->endpoint, program, side, &session->control,
					       report);
	if (verdict == VC_RIGHT)
		verdict = vc_datagram_create(&session->endpoint, &session->device, program, side,
					     &session->peer, report);
	if (verdict == VC_RIGHT)
		verdict = vc_endpoint_connect(&session->endpoint, &session->device, program, side,
					      &session->peer, report);
	if (verdict == VC_RIGHT)
		verdict = vc_window_bind_all(&session->endpoint, program, side, &session->memory,
					     report);
	if (verdict == VC_RIGHT)
		verdict = vc_arrival_prepare(run);
	if (verdict == VC_RIGHT)
		verdict = vc_run_prepost(run);
	if (verdict == VC_RIGHT)
		verdict = vc_limit_arm_all(run);
	return verdict;
}

static enum vc_verdict run_seed(struct session *session, const struct vc_options *options,
				uint32_t side, const struct vc_scenario *scenario, uint64_t seed,
				struct vc_report *report)
{
	struct vc_run run = {
		.program = &session->program,
		.endpoint = &session->endpoint,
		.memory = &session->memory,
		.control = &session->control,
		.report = report,
		.side = side,
		.stall_s = options->stall_s,
		.device = &session->device,
		.peer_gid = session->peer.gid,
	};
	enum vc_verdict verdict;

	report->seed = seed;
	report->seed_valid = true;
	if (scenario)
		vc_scenario_write(&session->program, &session->limits, scenario, seed);
	else
		vc_program_draw(&session->program, &session->limits, seed);
	verdict = set_up_seed(session, side, &run, report);
	if (verdict == VC_RIGHT)
		verdict = session->program.is_open ? vc_open_phases_run(&run)
						   : vc_rc_phases_run(&run);
	if (verdict == VC_RIGHT)
		verdict = vc_run_check_empty(&run);
	if (verdict == VC_RIGHT)
		verdict = vc_async_take(&run);
	if (verdict == VC_RIGHT)
		verdict = vc_region_fetch(&session->endpoint, &session->program.sides[side],
					  &session->memory, report);
	if (verdict == VC_RIGHT)
		verdict = vc_memory_check_all(&session->memory, &session->program, side,
					      &run.arrivals, report);
	if (verdict != VC_RIGHT)
		vc_control_fail(&session->control, report);
	vc_arrival_fini(&run);
	verdict = vc_endpoint_destroy(&session->endpoint, &session->program, side, report);
	if (verdict == VC_RIGHT)
		vc_report_count(report, &session->program, side);
	return verdict;
}

static enum vc_verdict run_seeds(struct session *session, const struct vc_options *options,
				 uint32_t side, const struct vc_scenario *scenario,
				 struct vc_report *report)
{
	enum vc_verdict verdict = VC_RIGHT;

	for (uint64_t i = 0; i < options->seed_count && verdict == VC_RIGHT; i++) {
		vc_report_progress(report, options->seed_count, vc_now_ns());
		verdict = run_seed(session, options, side, scenario, options->seed + i, report);
	}
	return verdict;
}

static enum vc_verdict run_scenarios(struct session *session, const struct vc_options *options,
				     uint32_t side, struct vc_report *report)
{
	bool print = !options->json && !(options->loopback && side == 0);
	const struct vc_scenario *scenario;
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t i = 0; verdict == VC_RIGHT && (scenario = vc_scenario_at(i)); i++) {
		const char *refusal = vc_scenario_refusal(scenario, &session->limits);

		if (!vc_scenario_set_has(&options->scenarios, i))
			continue;
		report->scenario = scenario->name;
		if (!refusal)
			verdict = run_seeds(session, options, side, scenario, report);
		if (verdict == VC_RIGHT)
			vc_report_scenario(report, scenario->name, refusal, print);
	}
	return verdict;
}

static enum vc_verdict open_session(struct session *session, struct vc_options *options,
				    uint32_t side, int fd, struct vc_report *report)
{
	enum vc_verdict verdict;

	session->control = (struct vc_control){.fd = -1, .timeout_s = options->stall_s + 10};
	verdict = vc_device_open(&session->device, options, report);
	/* The connection comes first if there is one, so that the other side learns of a refusal.
	 */
	if (fd >= 0) {
		enum vc_verdict attached = vc_control_attach(&session->control, fd, report);

		if (verdict == VC_RIGHT)
			verdict = attached;
	} else if (verdict == VC_RIGHT) {
		verdict = options->host ? vc_control_connect(&session->control, options->host,
							     options->control_port, report)
					: vc_control_listen(&session->control,
							    options->control_port, report);
	}
	if (verdict == VC_RIGHT)
		verdict = vc_agree(options, &session->device, side, &session->control,
				   &session->limits, &session->peer, report);
	if (verdict != VC_RIGHT)
		vc_control_fail(&session->control, report);
	return verdict;
}

enum vc_verdict vc_session_run(struct vc_options *options, uint32_t side, int fd,
			       struct vc_report *report)
{
	struct session session = {0};
	enum vc_verdict verdict = open_session(&session, options, side, fd, report);

	if (verdict == VC_RIGHT)
		verdict = vc_scenario_set_is_empty(&options->scenarios)
				  ? run_seeds(&session, options, side, NULL, report)
				  : run_scenarios(&session, options, side, report);
	if (verdict == VC_RIGHT && !session.limits.lossy)
		verdict = vc_report_check_arrivals(report);
	if (verdict != VC_RIGHT)
		vc_control_fail(&session.control, report);
	/* The other side's last comparison counts too. */
	if (verdict == VC_RIGHT)
		verdict = vc_control_barrier(&session.control, UINT64_MAX, report);
	vc_program_fini(&session.program);
	vc_memory_fini(&session.memory);
	vc_device_close(&session.device);
	vc_control_close(&session.control);
	return report->verdict;
}
