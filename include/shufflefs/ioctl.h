/* SPDX-License-Identifier: MIT */
/* ioctl - a mount forwards one of its streams as batches of tensors.
 *
 * On an open stream file of a mount (epochs/0.tar, ...), FORWARD starts a session: the
 * mount starts `shufflefs-sidecar send`, and gives it the bytes of the stream.  A file
 * has one session at a time; closing it ends the session.  shufflefs-ioctl(4) is the
 * manual.
 *
 *	struct shufflefs_forward f = {.size = sizeof f, .batch = 256};
 *	strcpy(f.target, "tcp://gpu1:18515");
 *	strcpy(f.fields, "jpg:rgb,224,rrc,flip;cls:i4");
 *	ioctl(fd, SHUFFLEFS_FORWARD, &f);
 *
 * Every structure begins with its size and flags, which the caller sets, contains no
 * pointers, and is the same for 32 and 64 bits.  Texts end with a NUL.  What is not used
 * is 0.  Errors: ENOTTY: no stream of a mount, or no such command; EINVAL: a wrong size,
 * an unknown flag, or a value that is not possible; others with the commands.
 */
#ifndef SHUFFLEFS_IOCTL_H
#define SHUFFLEFS_IOCTL_H

#include <stdint.h>
#include <sys/ioctl.h>

#define SHUFFLEFS_IOCTL_TYPE 0xEF
#define SHUFFLEFS_IOCTL_ABI  1

enum shufflefs_state {
	SHUFFLEFS_NONE,	      /* no session was started */
	SHUFFLEFS_CONNECTING, /* started; no batch was sent yet */
	SHUFFLEFS_STREAMING,
	SHUFFLEFS_DRAINING, /* all batches were sent, and not all have arrived */
	SHUFFLEFS_DONE,	    /* ended, and all have */
	SHUFFLEFS_FAILED,   /* ended with an error */
	SHUFFLEFS_STOPPED   /* ended by STOP */
};

/* VERSION: of the mount. */
struct shufflefs_version {
	uint32_t size, flags;
	uint32_t ret_abi;      /* SHUFFLEFS_IOCTL_ABI */
	uint32_t ret_commands; /* bit N: command N is known */
	char ret_text[48];     /* "1.2.3" */
};

/* FORWARD: start a session.  EPERM: the caller is neither the user who mounted it nor
 * root.  EBUSY: there is a session that has not ended.  EOPNOTSUPP: the mount was built
 * without the sidecar.  Others: the sidecar cannot be started; ret_error says why. */
#define SHUFFLEFS_DROP_LAST 1U /* flag: no short last batch */
#define SHUFFLEFS_CRC	    2U /* flag: of tcp: checksums */

enum { SHUFFLEFS_ON_ERROR_FAIL, SHUFFLEFS_ON_ERROR_SKIP };
enum { SHUFFLEFS_ON_DEATH_FAIL, SHUFFLEFS_ON_DEATH_REDELIVER, SHUFFLEFS_ON_DEATH_DROP };

struct shufflefs_forward {
	uint32_t size, flags;

	/* Sample of the stream to begin with; 0: where the file does, or where SEEK said. */
	uint64_t first;
	uint64_t seed;		    /* of random crops and flips */
	uint32_t batch;		    /* samples in a batch */
	uint32_t workers;	    /* threads that decode; 0: one a core */
	uint32_t slots;		    /* batches that may wait; 0: the sidecar's default */
	uint32_t on_error;	    /* SHUFFLEFS_ON_ERROR_... */
	uint32_t on_consumer_death; /* SHUFFLEFS_ON_DEATH_..., of local: */
	uint32_t ret_session;	    /* 1, 2, ... of this mount */

	/* "local:PATH", "tcp://HOST:PORT", "zpush://...", ...; or "samples:PATH" for
	 * samples as they are: then fields is "", and batch, workers, slots, seed and
	 * flags are 0. */
	char target[1024];
	char fields[1792];     /* "jpg:rgb,224;cls:i4" */
	char secret_file[256]; /* an absolute path, of the receiver's secret; "": none */
	char ret_error[456];

	/* With on_error SKIP: how many of a million samples may be broken; 0: 10,000, which
	 * is 1 %. */
	uint32_t max_skip;
	uint32_t unused;
};

/* STATUS: of the last session of this file.  Any time. */
struct shufflefs_status {
	uint32_t size, flags;
	uint32_t ret_session;
	uint32_t ret_state;
	uint64_t ret_batches, ret_samples, ret_skipped, ret_bytes; /* sent */
	uint64_t ret_next; /* the sample of the stream after the last batch */
	int32_t ret_pid;   /* of the sidecar; 0: it has ended */
	int32_t ret_exit;  /* its exit status; -N: signal N has killed it */
	uint64_t ret_ns;   /* since the session began */
	uint64_t ret_rate; /* bytes a second, of the last second or so */

	/* For how long it has waited so far: for the stream, for decoders, and for the
	 * target to take a batch (of samples: for trainers). */
	uint64_t ret_reader_ns, ret_decoder_ns, ret_target_ns;

	/* Of batches: "host"; in a GPU "dma-buf", "peermem", "staged"; "": not known, or not
	 * yet. */
	char ret_placement[24];
	char ret_error[384]; /* of FAILED: why */
};

/* WAIT: until the session has ended, at most timeout_ms (< 0: for ever; 0: not at all).
 * 0, with the state at that time.  EINTR: a signal came.  ENODATA: no session was
 * started.  ECONNABORTED: the mount is being unmounted. */
struct shufflefs_wait {
	uint32_t size, flags;
	int32_t timeout_ms;
	uint32_t ret_state;
};

/* SEEK: the next session begins with this sample of the stream.  EBUSY: stop first. */
struct shufflefs_seek {
	uint32_t size, flags;
	uint64_t first;
};

/* STOP: end the session, within 5 seconds; or, with the flag, at once.  Does not wait:
 * see WAIT.  Fine if there is none. */
#define SHUFFLEFS_STOP_KILL 1U

struct shufflefs_stop {
	uint32_t size, flags;
};

/* RING: where trainers attach (shufflefs/ring.h; to samples: shufflefs.Samples in
 * Python).  ENODATA: no session was started, or its target is not on this host. */
struct shufflefs_ring_path {
	uint32_t size, flags;
	char ret_path[120];
};

#define SHUFFLEFS_VERSION _IOWR(SHUFFLEFS_IOCTL_TYPE, 0, struct shufflefs_version)
#define SHUFFLEFS_FORWARD _IOWR(SHUFFLEFS_IOCTL_TYPE, 1, struct shufflefs_forward)
#define SHUFFLEFS_STATUS  _IOWR(SHUFFLEFS_IOCTL_TYPE, 2, struct shufflefs_status)
#define SHUFFLEFS_WAIT	  _IOWR(SHUFFLEFS_IOCTL_TYPE, 3, struct shufflefs_wait)
#define SHUFFLEFS_SEEK	  _IOWR(SHUFFLEFS_IOCTL_TYPE, 4, struct shufflefs_seek)
#define SHUFFLEFS_STOP	  _IOWR(SHUFFLEFS_IOCTL_TYPE, 5, struct shufflefs_stop)
#define SHUFFLEFS_RING	  _IOWR(SHUFFLEFS_IOCTL_TYPE, 6, struct shufflefs_ring_path)

#if defined __cplusplus && __cplusplus >= 201103L
#define SHUFFLEFS_SIZE_IS(type, n) static_assert(sizeof(struct type) == (n), #type)
#elif !defined __cplusplus && __STDC_VERSION__ >= 201112L
#define SHUFFLEFS_SIZE_IS(type, n) _Static_assert(sizeof(struct type) == (n), #type)
#else
#define SHUFFLEFS_SIZE_IS(type, n) struct type
#endif
SHUFFLEFS_SIZE_IS(shufflefs_version, 64);
SHUFFLEFS_SIZE_IS(shufflefs_forward, 3584);
SHUFFLEFS_SIZE_IS(shufflefs_status, 512);
SHUFFLEFS_SIZE_IS(shufflefs_wait, 16);
SHUFFLEFS_SIZE_IS(shufflefs_seek, 16);
SHUFFLEFS_SIZE_IS(shufflefs_stop, 8);
SHUFFLEFS_SIZE_IS(shufflefs_ring_path, 128);
#undef SHUFFLEFS_SIZE_IS

#endif
