/* SPDX-License-Identifier: BSD-2-Clause */
/* The guest's last process to start and its PID 1: runs commands for the host, as many at a time as
 * it is asked for, and writes files. It speaks frames over a virtio port, so the guest has no
 * network but the one under test:
 *
 *     type, 1 byte | id, 4 bytes | length, 4 bytes | data           (numbers little endian)
 *
 *     from the host   'R' run data by sh -c, output through pipes; 'T' through a terminal, so that
 *                     the program writes line by line; 'K' data: a signal to the command's session
 *                     'W' write the file named by data; 'D' its next bytes; 'C' close it
 *     to the host     'H' hello, data: kernel release; 'O' and 'E' output; 'X' end of a command or
 * a file, data: exit status, or minus the signal, or minus errno of a file
 *
 * A command's end is reported when the process ends, with what it had written by then; children
 * that live on keep running unheard. When the host is gone the guest goes too. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { JOBS_MAX = 64, FRAME_MAX = 1 << 16 };

struct frame_head {
	uint8_t type;
	uint32_t id;
	uint32_t length;
} __attribute__((packed));

struct job {
	bool used;
	uint32_t id;
	pid_t pid;  /* 0: a file */
	int out[2]; /* standard output (or the terminal, or the file) and standard error; -1: none
		     */
};

static struct job jobs[JOBS_MAX];
static int port = -1;
static char frame_data[FRAME_MAX + 1];

static void power_off(const char *why)
{
	fprintf(stderr, "agent: %s: %s\n", why, strerror(errno));
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void read_port(void *to, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = read(port, (char *)to + done, length - done);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			power_off("the host is gone");
	}
}

static void write_port(const void *from, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(port, (const char *)from + done, length - done);
		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			power_off("the host is gone");
	}
}

static void send_frame(char type, uint32_t id, const void *data, size_t length)
{
	struct frame_head head = {.type = (uint8_t)type, .id = id, .length = (uint32_t)length};

	write_port(&head, sizeof(head));
	write_port(data, length);
}

static void send_end(uint32_t id, int32_t status)
{
	send_frame('X', id, &status, sizeof(status));
}

static struct job *find_job(uint32_t id)
{
	for (struct job *job = jobs; job < jobs + JOBS_MAX; job++)
		if (job->used && job->id == id)
			return job;
	return NULL;
}

static struct job *new_job(uint32_t id)
{
	for (struct job *job = jobs; job < jobs + JOBS_MAX; job++)
		if (!job->used) {
			*job = (struct job){.used = true, .id = id, .out = {-1, -1}};
			return job;
		}
	send_end(id, -EAGAIN);
	return NULL;
}

static void end_job(struct job *job, int32_t status)
{
	for (int i = 0; i < 2; i++)
		if (job->out[i] >= 0)
			close(job->out[i]);
	job->used = false;
	send_end(job->id, status);
}

/* What is there now; false at the end of the stream. */
static bool pass_output(struct job *job, int which)
{
	char buffer[16384];
	ssize_t n = read(job->out[which], buffer, sizeof(buffer));

	if (n > 0)
		send_frame(which == 0 ? 'O' : 'E', job->id, buffer, (size_t)n);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return n > 0;
	close(job->out[which]); /* a terminal's end is EIO */
	job->out[which] = -1;
	return false;
}

static int open_terminal(int *child)
{
	struct termios mode;
	int main_end = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	if (main_end < 0 || unlockpt(main_end) < 0 || ptsname_r(main_end, name, sizeof(name)) != 0)
		power_off("no terminal");
	*child = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*child < 0 || tcgetattr(*child, &mode) < 0)
		power_off(name);
	cfmakeraw(&mode);
	tcsetattr(*child, TCSANOW, &mode);
	return main_end;
}

static void become(const char *command, int out, int err)
{
	int nothing = open("/dev/null", O_RDONLY);
	sigset_t none;

	setsid();
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(nothing, 0);
	dup2(out, 1);
	dup2(err, 2);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static void start_job(uint32_t id, bool on_terminal, const char *command)
{
	struct job *job = new_job(id);
	int out[2], err[2] = {-1, -1};

	if (!job)
		return;
	if (on_terminal)
		out[0] = open_terminal(&out[1]);
	else if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		power_off("pipe");
	job->pid = fork();
	if (job->pid < 0)
		power_off("fork");
	if (job->pid == 0)
		become(command, out[1], on_terminal ? out[1] : err[1]);
	job->out[0] = out[0];
	job->out[1] = err[0];
	close(out[1]);
	if (!on_terminal)
		close(err[1]);
	for (int i = 0; i < 2; i++)
		if (job->out[i] >= 0)
			fcntl(job->out[i], F_SETFL, O_NONBLOCK);
}

static void open_file(uint32_t id, const char *path)
{
	struct job *job = new_job(id);

	if (!job)
		return;
	unlink(path); /* it may be a program that runs */
	job->out[0] = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (job->out[0] < 0)
		end_job(job, -errno);
}

static void write_file(struct job *job, const char *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n = write(job->out[0], data + done, length - done);
		if (n < 0) {
			end_job(job, -errno);
			return;
		}
		done += (size_t)n;
	}
}

static void on_frame(void)
{
	struct frame_head head;
	struct job *job;
	int sig;

	read_port(&head, sizeof(head));
	errno = EMSGSIZE;
	if (head.length > FRAME_MAX)
		power_off("frame");
	read_port(frame_data, head.length);
	frame_data[head.length] = '\0';
	job = find_job(head.id);
	switch (head.type) {
	case 'R':
	case 'T':
		start_job(head.id, head.type == 'T', frame_data);
		break;
	case 'K':
		memcpy(&sig, frame_data, sizeof(sig));
		if (job && job->pid) {
			if (kill(-job->pid, sig) < 0)
				kill(job->pid, sig); /* it has no session yet */
		}
		break;
	case 'W':
		open_file(head.id, frame_data);
		break;
	case 'D':
		if (job && !job->pid)
			write_file(job, frame_data, head.length);
		break;
	case 'C':
		if (job && !job->pid)
			end_job(job, 0);
		break;
	default:
		power_off("frame of no type");
	}
}

/* As PID 1 it also buries what others have left. */
static void bury(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (struct job *job = jobs; job < jobs + JOBS_MAX; job++)
			if (job->used && job->pid == pid) {
				for (int i = 0; i < 2; i++)
					while (job->out[i] >= 0 && pass_output(job, i))
						;
				end_job(job, WIFEXITED(status) ? WEXITSTATUS(status)
							       : -WTERMSIG(status));
			}
}

static void on_child(int sig)
{
	(void)sig; /* it ends ppoll(), that is all */
}

int main(int argc, char **argv)
{
	struct pollfd fds[1 + 2 * JOBS_MAX];
	struct utsname system;
	sigset_t blocked, open_to_all;

	port = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (port < 0)
		power_off("usage: agent PORT");
	sigemptyset(&open_to_all);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child}, NULL);
	uname(&system);
	send_frame('H', 0, system.release, strlen(system.release));
	for (;;) {
		fds[0] = (struct pollfd){.fd = port, .events = POLLIN};
		for (int i = 0; i < 2 * JOBS_MAX; i++) {
			struct job *job = &jobs[i / 2];
			bool heard = job->used && job->pid;

			fds[1 + i] = (struct pollfd){.fd = heard ? job->out[i % 2] : -1,
						     .events = POLLIN};
		}
		if (ppoll(fds, 1 + 2 * JOBS_MAX, NULL, &open_to_all) > 0) {
			for (int i = 0; i < 2 * JOBS_MAX; i++)
				if (fds[1 + i].revents)
					pass_output(&jobs[i / 2], i % 2);
			if (fds[0].revents)
				on_frame();
		}
		bury();
	}
}
